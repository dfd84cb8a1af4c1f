/* Frames of a given size on rank 1, of which only the lowest page is touched. Compiled without probes, they
   jump over a guard that is smaller. "neighbour" makes a frame that ends on the stack of another rank, and
   blocks in it. */
#include <alloca.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

__attribute__((noinline)) static int touch(size_t bytes)
{
    volatile char *array = alloca(bytes);
    memset((char *)array, 0x55, 4096);
    return array[100];
}

__attribute__((noinline)) static int block(size_t bytes)
{
    volatile char *array = alloca(bytes);
    *(char *volatile *)array = (char *)array;
    return MPI_Barrier(MPI_COMM_WORLD);
}

/* The distance from this rank's stack down to the next one. */
static size_t distance(void)
{
    int local;
    uintptr_t mine = (uintptr_t)&local, *all = malloc(ranks * sizeof *all), nearest = 0;
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int other = 0; other < ranks; other++)
        if (all[other] < mine && all[other] > nearest)
            nearest = all[other];
    free(all);
    return nearest ? mine - nearest : 0;
}

int main(int argc, char **argv)
{
    volatile int canary[2000];
    int overwritten = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < 2000; i++)
        canary[i] = i;
    size_t bytes = !strcmp(argv[1], "neighbour") ? distance() : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (bytes)
        block(bytes);
    else if (rank == 1)
        touch(strtoull(argv[1], NULL, 0) << 10);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2000; i++)
        overwritten += canary[i] != i;
    if (overwritten)
        printf("%d integers of rank %d were overwritten\n", overwritten, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        puts("done");
    return 0;
}
