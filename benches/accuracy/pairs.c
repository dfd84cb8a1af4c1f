/* Times messages as osu_latency and osu_mbw_mr do. Without an argument, a ping-pong between the first rank
 * and the last: prints "latency bytes microseconds". With an argument, so many pairs, rank i of the first
 * half of the ranks with rank i of the second half, 64 messages in a row: prints "pairs bytes MB/s", by the
 * mean time of the pairs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 64, MAX_BYTES = 1 << 22, SHORT = 8192 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int pairs = argc > 1 ? atoi(argv[1]) : 0;
    char *buffer = malloc(MAX_BYTES);
    MPI_Request requests[WINDOW];
    for (int bytes = pairs ? 1 : 0; bytes <= MAX_BYTES; bytes = bytes ? 2 * bytes : 1) {
        int half = size / 2, other = rank < half ? rank + half : rank - half, is_first = rank < half;
        int is_in = pairs ? rank % half < pairs : rank == 0 || rank == size - 1;
        if (!pairs)
            other = size - 1 - rank;
        /* Where the interface is full, what it has at the start counts little after some windows. */
        int rounds = bytes > SHORT ? 4 : 20;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (is_in && !pairs) {
            /* The first trip ends what the barrier has left behind. */
            for (int trip = 0; trip < 2; trip++) {
                start = MPI_Wtime();
                if (rank == 0)
                    MPI_Send(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
                MPI_Recv(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rank != 0)
                    MPI_Send(buffer, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
            }
        } else if (is_in) {
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < WINDOW; i++)
                    if (is_first)
                        MPI_Isend(buffer, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &requests[i]);
                    else
                        MPI_Irecv(buffer, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &requests[i]);
                MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
                if (is_first)
                    MPI_Recv(NULL, 0, MPI_CHAR, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                else
                    MPI_Send(NULL, 0, MPI_CHAR, other, 3, MPI_COMM_WORLD);
            }
        }
        double took = MPI_Wtime() - start, sender = is_in && is_first ? took : 0, sum = 0;
        if (pairs)
            MPI_Reduce(&sender, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && pairs)
            printf("pairs %d %.2f\n", bytes, (double)bytes * WINDOW * rounds * pairs / (sum / pairs) / 1e6);
        else if (rank == 0)
            printf("latency %d %.3f\n", bytes, took / 2 * 1e6);
    }
    MPI_Finalize();
    return 0;
}
