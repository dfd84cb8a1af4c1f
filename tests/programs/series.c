/*
 * Messages that follow one another and are alike: bursts, exchanges with open ends, in communicators whose
 * ranks do and do not follow one another, and all kinds of waits for them.
 */
#include <mpi.h>

enum { MAX_REQUESTS = 1400, ROOM = 2000 };

static char bytes[ROOM];
static MPI_Request requests[MAX_REQUESTS];

/* With the ranks before and behind; the first and last have nobody on one side. */
static void exchange(MPI_Comm comm, int turns, int length)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, behind = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
        far = (rank + size / 2) % size;
    for (int i = 0; i < turns; i++) {
        MPI_Irecv(bytes, length, MPI_CHAR, before, 1, comm, &requests[0]);
        MPI_Irecv(bytes, length, MPI_CHAR, behind, 2, comm, &requests[1]);
        MPI_Irecv(bytes, length, MPI_CHAR, (rank - size / 2 + size) % size, 3, comm, &requests[2]);
        MPI_Irecv(bytes, length + 5, MPI_CHAR, rank, 4, comm, &requests[3]);
        MPI_Isend(bytes, length, MPI_CHAR, rank, 4, comm, &requests[4]);
        MPI_Isend(bytes, length, MPI_CHAR, behind, 1, comm, &requests[5]);
        MPI_Isend(bytes, length, MPI_CHAR, before, 2, comm, &requests[6]);
        MPI_Isend(bytes, length, MPI_CHAR, far, 3, comm, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    }
}

/* More than a sender may send in a row before others run; received in order, in reverse, and from any
 * source. */
static void burst(int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    /* Who sends first has a receiver that does not: sends may wait for their receives. */
    for (int i = 0; rank % 2 == 0 && i < MAX_REQUESTS; i++)
        MPI_Send(bytes, i % 3, MPI_CHAR, to, 5, MPI_COMM_WORLD);
    for (int i = 0; i < MAX_REQUESTS; i++)
        MPI_Irecv(bytes, 3, MPI_CHAR, i % 100 ? from : MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(MAX_REQUESTS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; rank % 2 == 1 && i < MAX_REQUESTS; i++)
        MPI_Send(bytes, i % 3, MPI_CHAR, to, 5, MPI_COMM_WORLD);
    for (int i = 0; i < MAX_REQUESTS; i++)
        MPI_Isend(bytes, 1, MPI_CHAR, to, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = MAX_REQUESTS; i-- > 0;)
        MPI_Recv(bytes, 1, MPI_CHAR, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(MAX_REQUESTS, requests, MPI_STATUSES_IGNORE);
}

/* Some requests at a time, and sends that stay open while others are waited for. */
static void pieces(int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, index, count, indices[4];
    MPI_Request open;
    for (int i = 0; i < 7; i++) {
        MPI_Isend(bytes, 700, MPI_CHAR, to, 9, MPI_COMM_WORLD, &open);
        for (int k = 0; k < 4; k++)
            MPI_Irecv(bytes, 100, MPI_CHAR, from, k, MPI_COMM_WORLD, &requests[k]);
        for (int k = 0; k < 4; k++)
            MPI_Send(bytes, 25 * k, MPI_CHAR, to, k, MPI_COMM_WORLD);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(bytes, 700, MPI_CHAR, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&open, MPI_STATUS_IGNORE);
        MPI_Irecv(bytes, 8, MPI_CHAR, from, 7, MPI_COMM_WORLD, &open);
        MPI_Send(bytes, 8, MPI_CHAR, to, 7, MPI_COMM_WORLD);
        MPI_Wait(&open, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm halves, odd;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &halves);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd);
    exchange(MPI_COMM_WORLD, 5, 1000);
    exchange(halves, 4, 0);
    exchange(odd, 3, 1400);
    exchange(MPI_COMM_SELF, 2, 10);
    burst(rank, size);
    pieces(rank, size);
    MPI_Comm_free(&odd);
    MPI_Comm_free(&halves);
    MPI_Finalize();
    return 0;
}
