/*
 * Ranks that wait in a barrier. UNUSED bytes of globals are read and never written; with an argument each rank writes
 * a number of its own into another.
 */
#include <mpi.h>
#include <stdio.h>

#ifndef UNUSED
#define UNUSED 1
#endif

static volatile char unused[UNUSED];
static volatile int written = -1;

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        written = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    if (unused[rank % UNUSED] != 0 || written != (argc > 1 ? rank : -1))
        printf("rank %d has another's globals\n", rank);
    MPI_Finalize();
    return 0;
}
