// Floods a rank on another process: the first rank sends, the last but one takes a message and then passes a
// token to and fro with the last. What waits meanwhile must wait at the sender.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size, bytes = 1024, token = 0;
    long messages = argc > 1 ? atol(argv[1]) : 1000;
    char *data = calloc(1, (size_t)bytes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int taker = size - 2, partner = size - 1;
    for (long i = 0; i < messages; i++) {
        if (rank == 0)
            MPI_Send(data, bytes, MPI_CHAR, taker, 0, MPI_COMM_WORLD);
        if (rank == taker) {
            MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < 4; k++) {
                MPI_Send(&token, 1, MPI_INT, partner, 1, MPI_COMM_WORLD);
                MPI_Recv(&token, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        for (int k = 0; rank == partner && k < 4; k++) {
            MPI_Recv(&token, 1, MPI_INT, taker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&token, 1, MPI_INT, taker, 1, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
