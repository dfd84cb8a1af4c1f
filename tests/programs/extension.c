/* The simulator's own functions: virtual computation takes exactly its time. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <xsim.h>

int main(int argc, char **argv)
{
    int rank, size;
    double start = xsim_time(), sum;

    if (!xsim_running() || xsim_compute(0.25) != 0 || xsim_time() - start != 0.25)
        return 3;
    if (xsim_compute(-1.0) != -1 || xsim_compute(NAN) != -1 || xsim_compute(1e300) != -1 ||
        xsim_compute(1.8446744e7) != -1)
        return 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (xsim_rank() != rank || xsim_size() != size || xsim_real_rank() >= xsim_real_size())
        return 5;
    xsim_compute(0.001 * rank);
    start = MPI_Wtime();
    MPI_Allreduce(&start, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6f\n", sum);
    MPI_Finalize();
    return 0;
}
