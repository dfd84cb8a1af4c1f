/* Calls of many kinds, for the log: wildcards whose status is ignored, requests, objects that the program
 * makes, arrays, callbacks that call MPI, errors that are returned. Runs on four ranks. With an argument it
 * ends in a deadlock (d), or with MPI_Abort (a). */
#include <mpi.h>
#include <stdio.h>

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void)key, (void)value, (void)extra;
    return MPI_Comm_size(comm, &size);
}

static void messages(int me)
{
    int value = me, got[2];
    MPI_Request requests[2];

    if (me == 0) {
        PMPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (me == 1) {
        MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void objects(int me)
{
    MPI_Comm half;
    MPI_Datatype pair;
    int value[2] = {me, me}, got[2], sum = me, all[4], counts[4] = {1, 1, 1, 1}, starts[4] = {0, 1, 2, 3},
        half_rank, flag;
    MPI_Request request;

    MPI_Comm_split(MPI_COMM_WORLD, me / 2, 0, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(value, 1, pair, 1 - half_rank, 3, got, 1, pair, MPI_ANY_SOURCE, 3, half, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Gatherv(&sum, 1, MPI_INT, all, counts, starts, MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Recv_init(got, 1, MPI_INT, MPI_PROC_NULL, 0, half, &request);
    MPI_Start(&request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Comm_free(&half);
}

static void errors_and_callbacks(void)
{
    int key, x = 0;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &x);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(&x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    MPI_Comm_set_name(MPI_COMM_WORLD, "every \"one\"");
}

int main(int argc, char **argv)
{
    int me, x;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    messages(me);
    objects(me);
    errors_and_callbacks();
    if (argc > 1 && argv[1][0] == 'd')
        MPI_Recv(&x, 1, MPI_INT, (me + 1) % 4, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 1 && argv[1][0] == 'a' && me == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return 0;
}
