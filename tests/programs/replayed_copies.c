/* Communicators that MPI_Comm_idup makes, for replays: several under way at once, one of a part of the ranks,
 * others made and used meanwhile, completed alone, together with messages and by tests, freed or not. With
 * an argument one that is never used. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum, done = 0, from = -1;
    MPI_Comm first, second, half, third, plain;
    MPI_Request requests[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    if (argc > 1) { /* Never used, and never freed. */
        MPI_Comm_idup(MPI_COMM_WORLD, &first, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    /* Two under way, and one that waits is made and used before them. */
    MPI_Comm_idup(MPI_COMM_WORLD, &first, &requests[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_idup(half, &second, &requests[1]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Irecv(&from, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(half, &plain);
    MPI_Barrier(plain);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, second);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 7, &from, 1, MPI_INT, before, 7, first, MPI_STATUS_IGNORE);

    /* One in each turn of a loop. */
    for (int i = 0; i < 3; i++) {
        MPI_Comm_idup(half, &third, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(third);
        MPI_Comm_free(&third);
    }

    /* A copy of a copy, which tests find. */
    MPI_Comm_idup_with_info(first, MPI_INFO_NULL, &third, &requests[0]);
    while (!done)
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Bcast(&sum, 1, MPI_INT, 0, third);
    MPI_Comm_free(&third);
    MPI_Comm_free(&first);
    MPI_Barrier(second);
    MPI_Comm_free(&half);
    MPI_Gather(&rank, 1, MPI_INT, rank == 0 ? (int[64]){ 0 } : NULL, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d from %d\n", sum, from);
    MPI_Finalize();
    return 0;
}
