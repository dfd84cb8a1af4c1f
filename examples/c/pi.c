/*
 * Pi by throwing darts: the fraction that falls into the quarter circle.
 *
 *     xsim run -n 1000 examples/c/pi.c 100000
 *
 * The argument is the number of darts a rank. Expect "pi is about 3.14" with an error that falls
 * as 1 / sqrt(ranks * darts), the same digits on every run, and nearly all of the time in
 * computation: this program talks once. `--proc 2` doubles its time, `--compute none` leaves the
 * reduction alone.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long darts = argc > 1 ? atoll(argv[1]) : 100000, inside = 0, all;

    uint64_t state = (uint64_t)rank << 32;
    for (long long i = 0; i < darts; i++) {
        double x = uniform(&state), y = uniform(&state);
        inside += x * x + y * y < 1.0;
    }
    MPI_Reduce(&inside, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && darts > 0) {
        double pi = 4.0 * (double)all / ((double)darts * size);
        printf("pi is about %.6f, off by %.6f\n", pi, fabs(pi - 3.14159265358979323846));
    }
    MPI_Finalize();
    return 0;
}
