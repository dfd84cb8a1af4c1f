/* argv[1] ranks of node 0 send a MiB each to node 1 while the last rank of node 0 exchanges 8 bytes with node
 * 2, four ranks a node. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { A_NODE = 4, LONG = 1 << 20 };

int main(int argc, char **argv)
{
    int rank, senders = atoi(argv[1]), first = 2 * A_NODE, last = A_NODE - 1;
    char *buffer = calloc(LONG, 1), eight[8] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank < senders)
        MPI_Send(buffer, LONG, MPI_BYTE, A_NODE + rank, 0, MPI_COMM_WORLD);
    else if (rank >= A_NODE && rank < A_NODE + senders)
        MPI_Recv(buffer, LONG, MPI_BYTE, rank - A_NODE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == last) {
        MPI_Recv(eight, 8, MPI_BYTE, first, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double begin = MPI_Wtime();
        MPI_Sendrecv(eight, 8, MPI_BYTE, first, 1, eight, 8, MPI_BYTE, first, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        printf("round trip %.3f us\n", (MPI_Wtime() - begin) * 1e6);
    } else if (rank == first) {
        char got[8];
        MPI_Send(eight, 8, MPI_BYTE, last, 0, MPI_COMM_WORLD);
        MPI_Recv(got, 8, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(got, 8, MPI_BYTE, last, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
