// Programs that end badly.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *fault = argc > 1 ? argv[1] : "";
    int last = rank == size - 1;
    if (!strcmp(fault, "deadlock") && (last || rank == 2))
        MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(fault, "crash") && last)
        *(volatile int *)8 = 1;
    if (!strcmp(fault, "abort") && last)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(fault, "exit") && last)
        exit(5);
    while (!strcmp(fault, "forever"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(fault, "exit"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
