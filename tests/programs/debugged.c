/*
 * A token goes round once, from the last rank on, so that all before it wait until that has begun: what a
 * debugger shows of them is known (tests/debugger.rs).
 */
#include <mpi.h>

int laps = 1;

static int take(int from)
{
    int token, mark = 100 + from;
    MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* takes */
    return token + mark - mark;
}

static void give(int to, int token) { MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD); }

int main(int argc, char **argv)
{
    int rank, size, token = 7; /* begins */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    laps += rank;
    if (rank == size - 1)
        give(0, token);
    token = take((rank + size - 1) % size);
    if (rank < size - 1)
        give(rank + 1, token);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
