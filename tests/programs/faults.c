// Programs that end badly.
#include <mpi.h>
#include <stdio.h>
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
    if (!strcmp(fault, "abort_alone")) {
        volatile int forever = 1;
        for (int to = 0; last && to < size; to++)
            MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        if (last)
            MPI_Abort(MPI_COMM_WORLD, 7);
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (forever)
            ;
    }
    if (!strcmp(fault, "computes")) {
        volatile int forever = 1;
        if (last)
            fclose(fopen(argv[2], "w"));
        while (forever && last)
            ;
    }
    if (!strcmp(fault, "exit") && last)
        exit(5);
    while (!strcmp(fault, "forever"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(fault, "exit"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
