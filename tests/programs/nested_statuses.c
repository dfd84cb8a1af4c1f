/*
 * Ignores the statuses of a wait within which a function of its own waits too, while other ranks do the same:
 * each rank has messages of other lengths.
 */
#include <mpi.h>
#include <stdlib.h>

static int rank, size;

enum { ROOM = 100, OUTER_FIRST = 1, OUTER_LAST = 3, INNER = 10 };

static void pass_on(int count, int tag)
{
    static const int data[ROOM];
    MPI_Send(data, count, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
}

static int query(void *state, MPI_Status *status)
{
    int room[3][ROOM];
    MPI_Request requests[3];
    (void)state;
    /* All but the first wait for the one before them, which is within its own wait then. */
    for (int i = 0; i < 3 && rank == 0; i++)
        pass_on(30 + i, INNER + i);
    for (int i = 0; i < 3; i++)
        MPI_Irecv(room[i], ROOM, MPI_INT, (rank + size - 1) % size, INNER + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3 && rank != 0; i++)
        pass_on(30 + 10 * rank + i, INNER + i);
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int first[ROOM], last[ROOM];
    MPI_Request requests[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 5; turn++) {
        int from = (rank + size - 1) % size;
        MPI_Irecv(first, ROOM, MPI_INT, from, OUTER_FIRST, MPI_COMM_WORLD, &requests[0]);
        MPI_Grequest_start(query, release, cancel, NULL, &requests[1]);
        MPI_Irecv(last, ROOM, MPI_INT, from, OUTER_LAST, MPI_COMM_WORLD, &requests[2]);
        MPI_Grequest_complete(requests[1]);
        pass_on(1 + rank, OUTER_FIRST);
        pass_on(11 + rank, OUTER_LAST);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
