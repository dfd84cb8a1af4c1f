/*
 * Messages that a rank starts one after the other and then waits for: in loops that begin with a wait, end
 * with a receive or go on in the middle, with partners that send or receive in other ways, and as many as an
 * exchange of a few neighbours has and more.
 */
#include <mpi.h>

enum { MAX_MESSAGES = 400 };

static int rank, size;
static char bytes[2 * MAX_MESSAGES];
static MPI_Request requests[2 * MAX_MESSAGES];

/* With `width` ranks on either side, which may be the rank itself. */
static void exchange(MPI_Comm comm, int turns, int width)
{
    int me, members;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    for (int i = 0; i < turns; i++) {
        int count = 0;
        for (int k = 1; k <= width; k++) {
            MPI_Irecv(bytes, k, MPI_CHAR, (me + k) % members, k, comm, &requests[count++]);
            MPI_Isend(bytes, k, MPI_CHAR, (me + members * width - k) % members, k, comm, &requests[count++]);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

/* Each turn waits for what the one before has started. */
static void ahead(int turns)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < turns; i++) {
        if (i > 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Isend(bytes, 20, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(bytes, 20, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Rank 0 receives first where `turned`. */
static void ring(int turns, int turned)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < turns; i++) {
        if (turned && rank == 0 && size > 1) {
            MPI_Recv(bytes, 30, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, i, MPI_CHAR, to, 1, MPI_COMM_WORLD);
        } else {
            MPI_Send(bytes, i, MPI_CHAR, to, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, 30, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* Rank 0 sends with answers, receives what comes, and looks at it first; all others do not. */
static void one_among_others(int turns)
{
    MPI_Status status;
    for (int i = 0; i < turns; i++)
        if (rank == 0) {
            for (int k = 1; k < size; k++)
                MPI_Issend(bytes, 9, MPI_CHAR, k, 2, MPI_COMM_WORLD, &requests[k]);
            for (int k = 1; k < size; k++) {
                MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
                MPI_Recv(bytes, 99, MPI_CHAR, status.MPI_SOURCE, k % 3 ? 3 : MPI_ANY_TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            }
            for (int k = 1; k < size; k++)
                MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(bytes, 9, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(bytes, 70 + rank, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
}

/* What others have sent lies there by the hundreds, and is received backwards a few at a time. */
static void backlog(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < MAX_MESSAGES; i++)
        MPI_Send(bytes, 2, MPI_CHAR, to, i, MPI_COMM_WORLD);
    for (int i = MAX_MESSAGES; i > 0; i -= 10) {
        for (int k = 1; k <= 10; k++)
            MPI_Irecv(bytes, 3, MPI_CHAR, from, i - k, MPI_COMM_WORLD, &requests[k - 1]);
        MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm odd;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd);
    exchange(MPI_COMM_WORLD, 20, 3);
    exchange(MPI_COMM_SELF, 4, 2);
    exchange(odd, 6, 4);
    exchange(MPI_COMM_WORLD, 3, 40);
    ahead(12);
    ring(25, 0);
    ring(25, 1);
    one_among_others(8);
    backlog();
    for (int i = 0; i < 9; i++) {
        exchange(MPI_COMM_WORLD, 2, 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&odd);
    MPI_Finalize();
    return 0;
}
