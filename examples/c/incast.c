/*
 * All ranks send to rank 0 at once, then one rank alone: what sharing the last link costs.
 *
 *     xsim run -n 16 --mn fattree:m=4,n=3,level=packet --compute none examples/c/incast.c
 *
 * The argument is the number of bytes that each rank sends (1 MiB). On a packet network the links into rank 0
 * carry one message after the other: expect a ratio of the number of senders, within 2 percent. Where message
 * times are a formula nobody shares anything: without level=packet expect a ratio of about 1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Every rank from `first` to `last` sends; the time from the first send to the last arrival, at rank 0. */
static double receive(char *buffer, int bytes, int first, int last, int rank)
{
    double start = 0, earliest = 1e30;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank >= first && rank <= last) {
        start = MPI_Wtime();
        MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        MPI_Send(&start, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
    if (rank != 0)
        return 0;
    for (int i = first; i <= last; i++)
        MPI_Recv(buffer, bytes, MPI_CHAR, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double end = MPI_Wtime();
    for (int i = first; i <= last; i++) {
        MPI_Recv(&start, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (start < earliest)
            earliest = start;
    }
    return end - earliest;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int bytes = argc > 1 ? atoi(argv[1]) : 1 << 20;
    if (size < 2 || bytes < 1) {
        if (rank == 0)
            fprintf(stderr, "incast: at least 2 ranks and 1 byte are needed\n");
        MPI_Finalize();
        return 1;
    }
    char *buffer = calloc(bytes, 1);
    double all = receive(buffer, bytes, 1, size - 1, rank);
    double one = receive(buffer, bytes, 1, 1, rank);
    if (rank == 0) {
        printf("one sender %.3f us, %d senders %.3f us\n", one * 1e6, size - 1, all * 1e6);
        printf("ratio %.4f\n", all / one);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
