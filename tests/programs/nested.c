/*
 * Receives that are alike at the end of a loop and at the beginning of what is around it, where that is
 * folded in the middle of an exchange.
 */
#include <mpi.h>

static double there[500], here[2][500];
static int other;

static void exchange(int length)
{
    MPI_Request requests[2];
    for (int k = 0; k < 2; k++)
        MPI_Irecv(here[k], 500, MPI_DOUBLE, other, k, MPI_COMM_WORLD, &requests[k]);
    for (int k = 1; k >= 0; k--)
        MPI_Send(there, length, MPI_DOUBLE, other, k, MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++)
        MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const int lengths[] = { 32, 128, 8, 500, 8, 32, 128, 0, 32, 128 };
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = rank ^ 1;
    for (int step = 0; step < 60; step++) {
        int length = lengths[step % 10];
        if (length > 0)
            exchange(length);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
