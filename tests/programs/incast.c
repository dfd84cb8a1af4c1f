/* All ranks send a megabyte to the one that is named. */
#include <mpi.h>
#include <stdlib.h>

enum { BYTES = 1000000 };

int main(int argc, char **argv)
{
    static char data[BYTES];
    int rank, size, root = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == root)
        for (int from = 1; from < size; from++)
            MPI_Recv(data, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(data, BYTES, MPI_CHAR, root, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
