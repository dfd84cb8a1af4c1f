/*
 * An integer goes round the ring of ranks: 0 to 1, 1 to 2, ..., n-1 to 0; each rank adds one.
 *
 *     xsim run -n 100000 examples/c/ring.c             # 3 laps, 300,000 messages
 *     xsim run -n 128 --mn mesh:8x16,l=1us,b=1Gbps examples/c/ring.c 128
 *
 * The argument is the number of laps. With as many laps as ranks this is the `ring` program of
 * Jones and Engelmann, "Simulation of Large-Scale HPC Architectures", section V: n^2 messages.
 *
 * Expect the counter to be laps * ranks, and a mean hop that is the mean latency between
 * neighbours of the simulated machine: on a star with link latency l and bandwidth b it is
 * 2 l + 32 bit / b for every message, so 1.00032 us with 0.5 us and 100 Gbps
 * (plus what the ranks compute in between, unless --compute none).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, counter = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int laps = argc > 1 ? atoi(argv[1]) : 3;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    double start = MPI_Wtime();
    for (int lap = 0; lap < laps; lap++) {
        if (rank == 0 && size > 1) {
            counter++;
            MPI_Send(&counter, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
            MPI_Recv(&counter, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (size > 1) {
            MPI_Recv(&counter, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            counter++;
            MPI_Send(&counter, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        } else {
            /* A rank alone sends to itself; the receive must be there or the send might wait for it. */
            int sent = counter + 1;
            MPI_Sendrecv(&sent, 1, MPI_INT, 0, 0, &counter, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    }
    double elapsed = MPI_Wtime() - start;

    if (rank == 0) {
        printf("counter %d after %d laps of %d ranks\n", counter, laps, size);
        printf("mean hop %.6f us\n", laps > 0 ? elapsed * 1e6 / laps / size : 0.0);
    }
    MPI_Finalize();
    return rank == 0 && counter != laps * size;
}
