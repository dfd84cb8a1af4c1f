/* Times allreduce, allgather and alltoall by size as the OSU benchmarks do: the mean over ranks of the mean
 * over iterations, in microseconds. Prints "collective bytes microseconds". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALLREDUCE, ALLGATHER, ALLTOALL };
static const char *const NAMES[] = { "allreduce", "allgather", "alltoall" };

static void call(int which, float *from, float *into, int bytes)
{
    switch (which) {
    case ALLREDUCE:
        MPI_Allreduce(from, into, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case ALLGATHER:
        MPI_Allgather(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD);
        break;
    default:
        MPI_Alltoall(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int most = argc > 1 ? atoi(argv[1]) : 1 << 20;
    int iterations = argc > 2 ? atoi(argv[2]) : 2;
    float *from = malloc((size_t)most * size), *into = malloc((size_t)most * size);
    for (int which = ALLREDUCE; which <= ALLTOALL; which++)
        for (int bytes = which == ALLREDUCE ? 4 : 1; bytes <= most; bytes *= 2) {
            double mean = 0, sum;
            call(which, from, into, bytes);
            for (int i = 0; i < iterations; i++) {
                MPI_Barrier(MPI_COMM_WORLD);
                double start = MPI_Wtime();
                call(which, from, into, bytes);
                mean += (MPI_Wtime() - start) / iterations;
            }
            MPI_Reduce(&mean, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            if (rank == 0)
                printf("%s %d %.3f\n", NAMES[which], bytes, sum / size * 1e6), fflush(stdout);
        }
    MPI_Finalize();
    return 0;
}
