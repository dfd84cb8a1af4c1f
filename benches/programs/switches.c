/*
 * One integer goes round the ring of ranks: a switch of ranks for each message.
 * Of SEGMENT bytes of globals each rank wrote the first DIRTY, and writes one word more in each lap.
 */
#include <mpi.h>
#include <stdlib.h>

int data[SEGMENT / sizeof(int)];

int main(int argc, char **argv)
{
    int rank, size, token = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (size_t k = 0; k < DIRTY / sizeof(int); k++)
        data[k] = rank + (int)k + 1;
    for (int lap = argc > 1 ? atoi(argv[1]) : 1; lap > 0; lap--) {
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        data[lap % (DIRTY / sizeof(int))] = rank + lap;
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
