/*
 * Integers travel from random ranks to random other ranks.
 *
 *     xsim run -n 128 --mn mesh:8x16,l=1us,b=1Gbps --compute none examples/c/random.c
 *
 * Each rank starts one integer; whoever receives it sends it on to a rank chosen at random, until
 * it has made as many hops as the argument says, by default as many as there are ranks. With
 * that default this sends the n^2 messages of the `random` program of Jones and Engelmann,
 * "Simulation of Large-Scale HPC Architectures", section V. A second argument begins other random numbers.
 *
 * Expect the mean latency of a message between two ranks picked at random (never a rank and
 * itself): on a star 2 l + 32 bit / b; on the 8x16 mesh above near 8.032 us, the mean distance of
 * its pairs (8 hops of 1 us) and 0.032 us for the 32 bit. A rank answers each integer in the order of
 * arrival, so without compute time nothing waits, and the mean is the network's own. The times of different
 * ranks are compared, which virtual clocks allow and real ones do only if they are synchronised.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKEN, ENDED, STOP };

static uint64_t state; /* of this rank's random numbers (splitmix64) */

static int other_rank(int rank, int size)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (rank + 1 + (int)(z % (uint64_t)(size - 1))) % size;
}

static void stop_all(int size)
{
    int nothing = 0;
    for (int r = 0; r < size; r++)
        MPI_Send(&nothing, 1, MPI_INT, r, STOP, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int hops = argc > 1 ? atoi(argv[1]) : size;
    uint64_t seed = argc > 2 ? (uint64_t)atoi(argv[2]) : 0;
    if (size < 2 || hops < 1) {
        if (rank == 0)
            fprintf(stderr, "random: at least 2 ranks and 1 hop are needed\n");
        MPI_Finalize();
        return 1;
    }
    state = ((uint64_t)rank + (seed << 32)) * 0xd1342543de82ef95u + 1;

    double sums[2] = { 0, 0 }, totals[2]; /* of the times of sends and of receives */
    long long received = 0, all = 0;
    int hop = 1, ended = 0;
    sums[0] += MPI_Wtime();
    MPI_Send(&hop, 1, MPI_INT, other_rank(rank, size), TOKEN, MPI_COMM_WORLD);
    for (;;) {
        MPI_Status status;
        MPI_Recv(&hop, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP)
            break;
        if (status.MPI_TAG == TOKEN) {
            double now = MPI_Wtime();
            sums[1] += now;
            received++;
            if (hop < hops) {
                hop++;
                sums[0] += now;
                MPI_Send(&hop, 1, MPI_INT, other_rank(rank, size), TOKEN, MPI_COMM_WORLD);
            } else {
                MPI_Send(&hop, 1, MPI_INT, 0, ENDED, MPI_COMM_WORLD);
            }
        } else if (++ended == size) {
            stop_all(size);
        }
    }

    MPI_Reduce(sums, totals, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&received, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("messages %lld between %d ranks\n", all, size);
        printf("mean latency %.6f us\n", (totals[1] - totals[0]) * 1e6 / (double)all);
    }
    MPI_Finalize();
    return rank == 0 && all != (long long)hops * size;
}
