/*
 * One MPI call after another, each of which gives the processor to other ranks. A program defines `change`
 * and `check`: before each call a rank changes all its state, behind it it finds what it left.
 */
#include <mpi.h>
#include <stdio.h>

static int failures;

#define HOLDS(kind, condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "rank %d: %s is shared, seen behind %s\n", rank, kind, call); \
            failures++; \
        } \
    } while (0)

static void change(int rank, int step);
static void check(int rank, int step, const char *call);

#define CALL(function, ...) \
    do { \
        change(rank, ++step); \
        function(__VA_ARGS__); \
        check(rank, step, #function); \
    } while (0)

static void all_calls(int rank, int size, int laps)
{
    int step = 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int lap = 0; lap < laps; lap++) {
        int out = rank, in = -1, sum = 0, all[64], flag = 0;
        MPI_Request requests[2];
        MPI_Comm comm;
        CALL(MPI_Barrier, MPI_COMM_WORLD);
        CALL(MPI_Sendrecv, &out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
        CALL(MPI_Send, &out, 1, MPI_INT, left, 2, MPI_COMM_WORLD);
        CALL(MPI_Probe, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(MPI_Recv, &in, 1, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(MPI_Irecv, &in, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[0]);
        CALL(MPI_Issend, &out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]);
        CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
        while (!flag)
            CALL(MPI_Test, &requests[1], &flag, MPI_STATUS_IGNORE);
        CALL(MPI_Bcast, &sum, 1, MPI_INT, lap % size, MPI_COMM_WORLD);
        CALL(MPI_Allreduce, &out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CALL(MPI_Allgather, &out, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        CALL(MPI_Comm_split, MPI_COMM_WORLD, rank % 2, -rank, &comm);
        CALL(MPI_Ibarrier, comm, &requests[0]);
        CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
        CALL(MPI_Scan, &out, &sum, 1, MPI_INT, MPI_SUM, comm);
        CALL(MPI_Comm_free, &comm);
        if (in != left || all[size - 1] != size - 1)
            failures++;
    }
}
