/*
 * Work that a histogram of two call sites does not tell apart: of three sizes between the same calls, as that
 * of a multigrid, and three times as long on rank 2.
 */
#include <mpi.h>
#include <xsim.h>

static double there[4096], here[4096];

int main(int argc, char **argv)
{
    int rank, size;
    double sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 30; step++) {
        for (int length = 4096; length > 0; length /= 64) {
            xsim_compute(1e-8 * length * (rank == 2 ? 3 : 1));
            MPI_Sendrecv(there, length, MPI_DOUBLE, (rank + 1) % size, 0, here, length, MPI_DOUBLE,
                         (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        /* Chance, which any rank may have. */
        xsim_compute(1e-6 * (1 + (rank * 7 + step * 5) % 11));
        MPI_Allreduce(here, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
