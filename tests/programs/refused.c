/*
 * A collective call that is refused counts as called: the rank's next one is the others' next one. Who needs
 * its data fails, all others complete. One rank, named by the second argument, makes the wrong calls.
 */
#include "fails.h"

static int wrong, from;

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* An operation of the program that sees nothing but ones and their sums. */
static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        CHECK(((int *)in)[i] > 0 && ((int *)inout)[i] > 0);
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

/* The next collectives are in step. */
static void go_on(MPI_Comm comm)
{
    int sum = -1, word = rank == size - 1 ? 4711 : -1;
    CHECK(MPI_Bcast(&word, 1, MPI_INT, size - 1, comm) == MPI_SUCCESS && word == 4711);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS &&
          sum == size * (size - 1) / 2);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Op sum;
    int word = -1, one = 1, code, all[64] = {0}, others[64];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = argc > 1 ? atoi(argv[1]) : 0;
    from = (wrong + 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    /* Nobody needs the data of a broadcast's last receiver, and in a linear one that of none but the root. */
    word = rank == from ? 17 : -1;
    code = MPI_Bcast(&word, 1, rank == wrong ? MPI_DATATYPE_NULL : MPI_INT, from, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_TYPE : MPI_SUCCESS) &&
          word == (rank == wrong ? -1 : 17));
    go_on(comm);

    /* All need everybody's in a reduction to all. */
    code = MPI_Allreduce(&rank, &word, 1, MPI_INT, rank == wrong ? MPI_OP_NULL : MPI_MAX, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_OP : MPI_ERR_OTHER));
    go_on(comm);

    /* A root needs all, and no other member anything. */
    code = MPI_Gather(&rank, rank == wrong ? -1 : 1, MPI_INT, all, 1, MPI_INT, from, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_COUNT : rank == from ? MPI_ERR_OTHER : MPI_SUCCESS));
    go_on(comm);

    /* What the root refuses, all others are without. */
    code = MPI_Scatter(rank == wrong ? NULL : all, 1, MPI_INT, &word, 1, MPI_INT, wrong, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_BUFFER : MPI_ERR_OTHER));
    go_on(comm);

    /* Blocks of their own size. */
    {
        int counts[64], places[64];
        for (int i = 0; i < size; i++)
            counts[i] = 1, places[i] = i;
        code = MPI_Allgatherv(&rank, 1, MPI_INT, rank == wrong ? NULL : all, counts, places, MPI_INT, comm);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_BUFFER : MPI_ERR_OTHER));
        go_on(comm);
        code = MPI_Gatherv(&rank, rank == wrong ? -1 : 1, MPI_INT, all, counts, places, MPI_INT, from, comm);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_COUNT : rank == from ? MPI_ERR_OTHER : MPI_SUCCESS));
        go_on(comm);
        code = MPI_Scatterv(all, counts, places, MPI_INT, &word, 1,
                            rank == wrong ? MPI_DATATYPE_NULL : MPI_INT, wrong, comm);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_TYPE : MPI_ERR_OTHER));
        go_on(comm);
        code = MPI_Alltoallv(all, counts, places, MPI_INT, rank == wrong ? NULL : others, counts, places,
                             MPI_INT, comm);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_BUFFER : MPI_ERR_OTHER));
        go_on(comm);
        code = MPI_Reduce_scatter(all, &word, counts, MPI_INT, rank == wrong ? MPI_OP_NULL : MPI_SUM, comm);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_OP : MPI_ERR_OTHER));
        go_on(comm);
    }
    code = MPI_Alltoall(all, 1, MPI_INT, rank == wrong ? NULL : others, 1, MPI_INT, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_BUFFER : MPI_ERR_OTHER));
    go_on(comm);

    /* Behind the rank that refuses a scan nobody has all there is; before it a member may have been on the
     * way of its data. */
    code = MPI_Scan(&rank, &word, 1, MPI_INT, rank == wrong ? MPI_OP_NULL : MPI_SUM, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_OP : MPI_ERR_OTHER) ||
          (rank < wrong && code == MPI_SUCCESS));
    go_on(comm);

    /* An operation of the program is not called for what is not there. */
    MPI_Op_create(add, 0, &sum);
    code = MPI_Reduce(&one, &word, 1, rank == wrong ? MPI_DATATYPE_NULL : MPI_INT, sum, from, comm);
    CHECK(class_of(code) == (rank == wrong ? MPI_ERR_TYPE : rank == from ? MPI_ERR_OTHER : MPI_SUCCESS));
    MPI_Op_free(&sum);
    go_on(comm);

    /* A barrier's members need no data; one on a communicator that is no more is none of this one's. */
    {
        MPI_Comm freed = MPI_COMM_NULL;
        CHECK(class_of(rank == wrong ? MPI_Barrier(freed) : MPI_SUCCESS) ==
              (rank == wrong ? MPI_ERR_COMM : MPI_SUCCESS));
        go_on(comm);
    }

    /* Nonblocking: the requests of the others tell, in whichever order they are asked. */
    {
        MPI_Request requests[3];
        int words[3];
        MPI_Datatype type = rank == wrong ? MPI_DATATYPE_NULL : MPI_INT;
        CHECK(class_of(MPI_Iallreduce(&rank, &words[0], 1, type, MPI_SUM, comm, &requests[0])) ==
              (rank == wrong ? MPI_ERR_TYPE : MPI_SUCCESS));
        CHECK(class_of(MPI_Ibcast(&words[1], 1, type, wrong, comm, &requests[1])) ==
              (rank == wrong ? MPI_ERR_TYPE : MPI_SUCCESS));
        CHECK(MPI_Iallreduce(&rank, &words[2], 1, MPI_INT, MPI_MAX, comm, &requests[2]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE) == MPI_SUCCESS && words[2] == size - 1);
        if (rank != wrong)
            for (int i = 1; i >= 0; i--)
                CHECK(class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
        go_on(comm);
    }

    /* Nobody gets a communicator that one member refuses to make. */
    {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Group group;
        int dims[1] = {rank == wrong ? size + 1 : size}, periods[1] = {1};
        code = MPI_Comm_split(comm, rank == wrong ? -7 : rank % 2, 0, &made);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_ARG : MPI_ERR_OTHER));
        go_on(comm);
        code = MPI_Cart_create(comm, 1, dims, periods, 0, &made);
        CHECK(code != MPI_SUCCESS && (rank == wrong || class_of(code) == MPI_ERR_OTHER));
        go_on(comm);
        MPI_Comm_group(comm, &group);
        code = MPI_Comm_create(comm, rank == wrong ? MPI_GROUP_NULL : group, &made);
        CHECK(class_of(code) == (rank == wrong ? MPI_ERR_GROUP : MPI_ERR_OTHER));
        MPI_Group_free(&group);
        go_on(comm);
        CHECK(MPI_Comm_dup(comm, &made) == MPI_SUCCESS);
        go_on(made);
        MPI_Comm_free(&made);
    }

    /* Neighbours miss each other's blocks, and nobody else's. */
    {
        MPI_Comm ring;
        int periods[1] = {1}, dims[1] = {size}, mine[2] = {rank, rank}, theirs[2] = {-1, -1};
        int left = (rank + size - 1) % size, right = (rank + 1) % size;
        MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
        code = MPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, rank == wrong ? MPI_DATATYPE_NULL : MPI_INT,
                                     ring);
        CHECK(class_of(code) == (rank == wrong                     ? MPI_ERR_TYPE
                                 : left == wrong || right == wrong ? MPI_ERR_OTHER
                                                                   : MPI_SUCCESS));
        CHECK(code != MPI_SUCCESS || (theirs[0] == left && theirs[1] == right));
        go_on(ring);
        MPI_Comm_free(&ring);
    }

    /* Between two groups: the calls of both count. */
    if (size > 2) {
        MPI_Comm half, between;
        int other = -1, sum_of_others = 0;
        MPI_Comm_split(comm, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 5, &between);
        code = MPI_Allreduce(&rank, &other, 1, MPI_INT, rank == wrong ? MPI_OP_NULL : MPI_SUM, between);
        CHECK(rank == wrong ? class_of(code) == MPI_ERR_OP
                            : rank % 2 == wrong % 2 || class_of(code) == MPI_ERR_OTHER);
        CHECK(MPI_Allreduce(&rank, &other, 1, MPI_INT, MPI_SUM, between) == MPI_SUCCESS);
        for (int i = 1 - rank % 2; i < size; i += 2)
            sum_of_others += i;
        CHECK(other == sum_of_others);
        go_on(comm);
        MPI_Comm_free(&between);
        MPI_Comm_free(&half);
    }

    /* Refused to all, and several times in a row. */
    for (int i = 0; i < 3; i++)
        CHECK(class_of(MPI_Bcast(&word, 1, MPI_INT, size, comm)) == MPI_ERR_ROOT);
    for (int i = 0; i < 3; i++)
        if (rank == wrong)
            CHECK(class_of(MPI_Bcast(&word, -1, MPI_INT, from, comm)) == MPI_ERR_COUNT);
        else
            CHECK(MPI_Bcast(&word, 1, MPI_INT, from, comm) == MPI_SUCCESS);
    go_on(comm);

    MPI_Comm_free(&comm);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
