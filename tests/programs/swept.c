/* Runs whose virtual times are known: computation shared by the ranks (strong) or of each (weak), messages
   there and back again, and a failure on some number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "xsim.h"

static void messages(int rank, int count, int bytes)
{
    char *buffer = calloc(bytes, 1);
    for (int i = 0; i < count && rank < 2; i++) {
        if (rank == i % 2)
            MPI_Send(buffer, bytes, MPI_CHAR, !rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, bytes, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    int rank, size, count, bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "strong") == 0) {
        xsim_compute(atof(argv[2]) * 1e-6 / size);
    } else if (strcmp(argv[1], "weak") == 0) {
        xsim_compute(atof(argv[2]) * 1e-6);
    } else if (sscanf(argv[2], "%dx%d", &count, &bytes) == 2) {
        messages(rank, count, bytes);
    } else if (size == atoi(argv[2])) {
        if (rank == 0)
            fprintf(stderr, "swept: not on %d ranks\n", size);
        exit(3);
    }
    MPI_Finalize();
    return 0;
}
