/*
 * Ranks that wait in a barrier, with NONBLOCKING in one that they have gone on from, with GATHERED in a
 * gather of blocks that differ. UNUSED bytes of globals are read and never written; with an argument each
 * rank writes a number of its own into another.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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
#if defined NONBLOCKING
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#elif defined GATHERED
    int size, *counts = NULL, *places = NULL, *all = NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        counts = calloc((size_t)size, sizeof *counts);
        places = calloc((size_t)size, sizeof *places);
        all = calloc((size_t)size, sizeof *all);
        for (int i = 1; i < size; i++) {
            counts[i] = i % 2;
            places[i] = i / 2;
        }
    }
    MPI_Gatherv(&rank, rank % 2, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    free(counts);
    free(places);
    free(all);
#else
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    if (unused[rank % UNUSED] != 0 || written != (argc > 1 ? rank : -1))
        printf("rank %d has another's globals\n", rank);
    MPI_Finalize();
    return 0;
}
