/*
 * Every rank says hello after a barrier.
 *
 *     xsim run -n 8 examples/c/hello.c
 *
 * Expect one whole line from each rank. The lines of one rank keep their order; ranks come in no
 * particular order. With -q only rank 0 speaks, which is what to use with a million ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 || argc < 2 || strcmp(argv[1], "-q") != 0)
        printf("hello from rank %d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
