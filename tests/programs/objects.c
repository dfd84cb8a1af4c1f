/* Groups, info objects, attributes, error handlers and codes. */
#include "fails.h"

static int me;

static void groups_are_sets_in_order(void)
{
    MPI_Group world, even, rest, both, none;
    int range[1][3] = {{0, size - 1, 2}}, i, n, rank, result, ranks[1] = {0}, translated[1];

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &n);
    CHECK(n == size);
    MPI_Group_range_incl(world, 1, range, &even);
    MPI_Group_rank(even, &rank);
    CHECK(rank == (me % 2 == 0 ? me / 2 : MPI_UNDEFINED));
    MPI_Group_difference(world, even, &rest);
    MPI_Group_union(rest, even, &both);
    MPI_Group_compare(world, both, &result);
    CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    MPI_Group_intersection(rest, even, &none);
    CHECK(none == MPI_GROUP_EMPTY);
    for (i = 0; i < size; i++) {
        ranks[0] = i;
        MPI_Group_translate_ranks(world, 1, ranks, even, translated);
        CHECK(translated[0] == (i % 2 == 0 ? i / 2 : MPI_UNDEFINED));
    }
    ranks[0] = size;
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 1, ranks, &none));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &n));
    MPI_Group_free(&both);
    MPI_Group_free(&rest);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL);
}

static void info_objects_keep_their_order(void)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY], value[16];
    int n, flag, length;

    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "red");
    MPI_Info_set(info, "size", "twelve");
    MPI_Info_dup(info, &copy);
    MPI_Info_set(copy, "colour", "blue");
    MPI_Info_get_nkeys(copy, &n);
    CHECK(n == 2);
    MPI_Info_get_nthkey(copy, 1, key);
    CHECK(strcmp(key, "size") == 0);
    length = 4;
    MPI_Info_get_string(info, "size", &length, value, &flag);
    CHECK(flag && length == 7 && strcmp(value, "twe") == 0);
    MPI_Info_get(copy, "colour", 15, value, &flag);
    CHECK(flag && strcmp(value, "blue") == 0);
    MPI_Info_get(info, "weight", 15, value, &flag);
    CHECK(!flag);
    FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "weight"));
    MPI_Info_delete(info, "size");
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
    FAILS(MPI_ERR_INFO, MPI_Info_set(info, "a", "b"));
    MPI_Info_get_nkeys(MPI_INFO_ENV, &n);
    CHECK(n > 0);
}

static int copies, deletions;

static int copy_it(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    CHECK(rank == me && key != MPI_KEYVAL_INVALID && extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int refuse_to_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

static int delete_it(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    deletions++;
    return value == (void *)99 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static int chain[3], chain_calls[3];

/* Deletes the attributes beside its own, and sets one again if it is the last. */
static int delete_beside(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)extra;
    for (int i = 0; i < 3; i++) {
        void *there;
        int flag;
        if (chain[i] == key) {
            chain_calls[i]++;
            continue;
        }
        MPI_Comm_get_attr(comm, chain[i], &there, &flag);
        if (flag && value)
            MPI_Comm_delete_attr(comm, chain[i]);
    }
    return MPI_SUCCESS;
}

static int copy_and_delete(MPI_Comm comm, int key, void *extra, void *value, void *to, int *flag)
{
    (void)extra;
    for (int i = 0; i < 3; i++)
        if (chain[i] != key && value)
            MPI_Comm_delete_attr(comm, chain[i]);
    *(void **)to = value;
    *flag = 1;
    return MPI_SUCCESS;
}

/* Each delete function is called once for each value, whichever function deletes which attribute. */
static void attribute_functions_may_delete_other_attributes(void)
{
    for (int which = 0; which < 3; which++) {
        MPI_Comm comm, twin;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        for (int i = 0; i < 3; i++) {
            chain_calls[i] = 0;
            MPI_Comm_create_keyval(copy_and_delete, delete_beside, &chain[i], NULL);
            MPI_Comm_set_attr(comm, chain[i], i == which ? &chain[i] : NULL);
        }
        MPI_Comm_free(&comm);
        for (int i = 0; i < 3; i++)
            CHECK(chain_calls[i] == 1);
        /* What a copy function has deleted is not copied any more. */
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        for (int i = 0; i < 3; i++)
            MPI_Comm_set_attr(comm, chain[i], i == which ? &chain[i] : NULL);
        MPI_Comm_dup(comm, &twin);
        for (int i = which; i < 3; i++) {
            void *value;
            int flag;
            MPI_Comm_get_attr(twin, chain[i], &value, &flag);
            CHECK(flag == (i == which));
        }
        MPI_Comm_free(&twin);
        MPI_Comm_free(&comm);
        for (int i = 0; i < 3; i++)
            MPI_Comm_free_keyval(&chain[i]);
    }
}

static void attributes_follow_their_functions(void)
{
    int key, plain, typekey, flag, *bound;
    void *value;
    MPI_Comm twin;
    MPI_Datatype type, same;

    MPI_Comm_create_keyval(copy_it, delete_it, &key, &copies);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)(MPI_Aint)(10 * me));
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, (void *)5);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    CHECK(copies == 1 && deletions == 0);
    MPI_Comm_get_attr(twin, key, &value, &flag);
    CHECK(flag && value == (void *)(MPI_Aint)(10 * me + 1));
    MPI_Comm_get_attr(twin, plain, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&twin);
    CHECK(deletions == 1);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)99);
    CHECK(deletions == 2);
    FAILS(MPI_ERR_OTHER, MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(flag && deletions == 3);
    MPI_Comm_free_keyval(&plain);
    CHECK(plain == MPI_KEYVAL_INVALID);
    MPI_Comm_create_keyval(refuse_to_copy, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, (void *)5);
    FAILS(MPI_ERR_OTHER, MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    CHECK(twin == MPI_COMM_NULL);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, plain);
    MPI_Comm_free_keyval(&plain);
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, plain, NULL));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &bound, &flag);
    CHECK(flag && *bound == size);

    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete_type, &typekey, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, typekey, &key);
    MPI_Type_dup(type, &same);
    MPI_Type_get_attr(same, typekey, &value, &flag);
    CHECK(flag && value == &key);
    deletions = 0;
    MPI_Type_free(&same);
    MPI_Type_free(&type);
    CHECK(deletions == 2);
    MPI_Type_free_keyval(&typekey);
}

static int handled, handled_code;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int rank;

    MPI_Comm_rank(*comm, &rank);
    CHECK(rank == me);
    handled++;
    handled_code = *code;
}

static void error_handlers_are_called_and_inherited(void)
{
    MPI_Errhandler own, found;
    MPI_Comm twin;
    int class, code, other, length, x;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_get_errhandler(twin, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(twin, own);
    MPI_Comm_get_errhandler(twin, &found);
    CHECK(found == own);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&own);
    CHECK(own == MPI_ERRHANDLER_NULL);
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, size, 0, twin));
    CHECK(handled == 1 && handled_code == MPI_ERR_RANK);
    MPI_Comm_call_errhandler(twin, MPI_ERR_TAG);
    CHECK(handled == 2 && handled_code == MPI_ERR_TAG);

    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the tank is empty");
    MPI_Error_class(code, &other);
    CHECK(other == class && class > MPI_ERR_LASTCODE);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "the tank is empty") == 0);
    MPI_Comm_call_errhandler(twin, code);
    CHECK(handled == 3 && handled_code == code);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    CHECK(strncmp(text, "MPI_ERR_TRUNCATE", 16) == 0 && length == (int)strlen(text));
    FAILS(MPI_ERR_ARG, MPI_Error_string(-3, text, &length));
    MPI_Comm_free(&twin);
}

static int delete_last(MPI_Comm comm, int key, void *value, void *extra)
{
    int done;

    (void)comm, (void)key, (void)extra;
    MPI_Finalized(&done);
    if (!done && value == (void *)7)
        printf("ok\n");
    return MPI_SUCCESS;
}

/* Communicators from groups alone, of all ranks and between halves; and the ways to compare and split that
 * few programs use. */
static void communicators_come_from_groups(void)
{
    MPI_Group world, half, other, self;
    MPI_Comm comm, inter;
    int result, n, sum, left = size / 2, low = rank < left;
    int ranges[2][3] = {{0, left - 1, 1}, {left, size - 1, 1}};

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_create_from_group(world, "all of us", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&comm);
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    CHECK(comm == MPI_COMM_NULL);
    if (size > 1) {
        MPI_Group_range_incl(world, 1, &ranges[!low], &half);
        MPI_Group_range_incl(world, 1, &ranges[low], &other);
        MPI_Intercomm_create_from_groups(half, 0, other, 0, "two halves", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                         &inter);
        MPI_Comm_remote_size(inter, &n);
        CHECK(n == (low ? size - left : left));
        /* Who takes no part may name any operation. */
        if (low)
            MPI_Reduce(NULL, &sum, rank == 0 ? 1 : 0, rank == 0 ? MPI_INT : MPI_BYTE, MPI_SUM,
                       rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        else
            MPI_Reduce(&rank, NULL, 1, MPI_INT, MPI_SUM, 0, inter);
        if (rank == 0)
            CHECK(sum == size * (size - 1) / 2 - left * (left - 1) / 2);
        MPI_Comm_free(&inter);
        MPI_Group_free(&half);
        MPI_Group_free(&other);
    }
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_create_group(MPI_COMM_SELF, self, 5, &comm);
    MPI_Comm_compare(MPI_COMM_SELF, comm, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Comm_free(&comm);
    MPI_Group_free(&self);
    MPI_Group_free(&world);

    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &inter);
    MPI_Comm_compare(comm, inter, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&inter);
    MPI_Info_free(&info);
}

static void names_are_bytes_and_may_be_cut(void)
{
    char name[MPI_MAX_OBJECT_NAME], given[2 * MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm comm;

    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_name(comm, name, &length);
    CHECK(name[0] == 0 && length == 0);
    /* Latin-1, which is no UTF-8. */
    MPI_Comm_set_name(comm, "caf\xe9");
    MPI_Comm_get_name(comm, name, &length);
    CHECK(strcmp(name, "caf\xe9") == 0 && length == 4);
    MPI_Type_set_name(MPI_INT, "na\xefve");
    MPI_Type_get_name(MPI_INT, name, &length);
    CHECK(strcmp(name, "na\xefve") == 0 && length == 5);
    memset(given, 'x', sizeof given);
    given[sizeof given - 1] = 0;
    MPI_Comm_set_name(comm, given);
    MPI_Comm_get_name(comm, name, &length);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && name[length] == 0 && strncmp(name, given, length) == 0);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int key;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    me = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    groups_are_sets_in_order();
    info_objects_keep_their_order();
    attributes_follow_their_functions();
    attribute_functions_may_delete_other_attributes();
    error_handlers_are_called_and_inherited();
    communicators_come_from_groups();
    names_are_bytes_and_may_be_cut();
    /* MPI_Finalize deletes the attributes of MPI_COMM_SELF first: that prints the answer. */
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_last, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)7);
    MPI_Finalize();
    return 0;
}
