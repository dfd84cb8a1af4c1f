/*
 * Latency and bandwidth between the first and the last rank, for messages of 0 B to 4 MiB.
 *
 *     xsim run -n 2 --mn star:l=25us,b=1Gbps --compute none examples/c/pingpong.c
 *
 * Expect half a round trip of L = hops * l + size / b: on this star (2 hops) 50 us for an empty
 * message, 33,604 us for 4 MiB, and a bandwidth that approaches 125 MB/s. Ranks between
 * the two take no part. The argument is the number of round trips for each size.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double round_trips(char *buffer, int bytes, int count, int rank, int last)
{
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    const int largest = 4 << 20;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int count = argc > 1 ? atoi(argv[1]) : 10;
    if (size < 2 || count < 1) {
        if (rank == 0)
            fprintf(stderr, "pingpong: at least 2 ranks and 1 round trip are needed\n");
        MPI_Finalize();
        return 1;
    }
    if (rank == 0)
        printf("%10s %14s %12s\n", "bytes", "latency (us)", "MB/s");
    if (rank == 0 || rank == size - 1) {
        char *buffer = calloc(largest, 1);
        for (int bytes = 0; bytes <= largest; bytes = bytes ? bytes * 4 : 1) {
            double half = round_trips(buffer, bytes, count, rank, size - 1) / (2.0 * count);
            if (rank == 0)
                printf("%10d %14.3f %12.2f\n", bytes, half * 1e6, half > 0 ? bytes / half / 1e6 : 0.0);
        }
        free(buffer);
    }
    MPI_Finalize();
    return 0;
}
