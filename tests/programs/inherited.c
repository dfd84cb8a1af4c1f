/* Attributes that communicators and datatypes have and inherit, error handlers, and groups by ranges: for
 * traces and what is made of them. */
#include "check.h"

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state;
    *(void **)out = in;
    copies++;
    return *flag = 1, MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    deletes++;
    return MPI_SUCCESS;
}

static void go_on(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

int main(int argc, char **argv)
{
    int own, given, of_types, flag, sum;
    void *value;
    MPI_Errhandler handler, same;
    MPI_Comm made, part;
    MPI_Datatype pair;
    MPI_Group all, some;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm_create_keyval(copy, delete, &own, &copies);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &given, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_types, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, own, &own);
    if (rank % 2) MPI_Comm_set_attr(MPI_COMM_WORLD, given, NULL);
    else MPI_Comm_set_attr(MPI_COMM_WORLD, given, (void *)7);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_attr(pair, of_types, &pair);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Comm_get_attr(made, own, &value, &flag);
        CHECK(flag && value == &own);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
        MPI_Comm_free(&made);
    }
    CHECK(copies == 3 && deletes == 3);
    MPI_Type_delete_attr(pair, of_types);
    MPI_Type_free(&pair);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, own);
    MPI_Comm_free_keyval(&own);
    MPI_Comm_free_keyval(&given);
    MPI_Type_free_keyval(&of_types);
    CHECK(own == MPI_KEYVAL_INVALID);

    MPI_Comm_create_errhandler(go_on, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    /* Another handle of the same handler, which is freed by itself. */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &same);
    MPI_Errhandler_free(&same);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Errhandler_free(&handler);

    /* Even ranks and then odd ones from the last on, and all but the first of each. */
    int last = size - 1 - size % 2, ranges[2][3] = { { 0, size - 1, 2 }, { last, 1, -2 } };
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, size > 1 ? 2 : 1, ranges, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &part);
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    MPI_Comm_free(&part);
    MPI_Group_free(&some);
    int first[1][3] = { { 0, size > 1, 1 } };
    MPI_Group_range_excl(all, 1, first, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Barrier(part);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
