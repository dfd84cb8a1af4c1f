/*
 * Communication patterns for comparing simulators: nothing but messages.
 *
 *     patterns PATTERN REPETITIONS
 *
 * ring, backwards: each rank sends an int to a neighbour and receives one, REPETITIONS times.
 * token: one int goes round the ring REPETITIONS times.
 * stencil, faces: six faces of 1 KiB, or of 8 bytes, to the neighbours in a periodic cube, REPETITIONS times.
 * named, any: 20 ints to random ranks, received by source or by MPI_ANY_SOURCE, REPETITIONS times.
 * stream: the first half of the ranks sends an int to the second half, REPETITIONS times.
 * barrier: MPI_Barrier, REPETITIONS times.
 *
 * Rank 0 prints the number of messages sent by all ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACE = 1024, SMALL_FACE = 8, BURST = 20 };

static int rank, size, repetitions;

static long long ring(int step)
{
    int to = (rank + step + size) % size, from = (rank - step + size) % size, value = rank, got;
    for (int i = 0; i < repetitions; i++) {
        MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return (long long)size * repetitions;
}

static long long token(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, value = 0;
    for (int i = 0; i < repetitions; i++) {
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return (long long)size * repetitions;
}

static long long stencil(int face)
{
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 }, neighbour[6];
    char *faces = calloc(12, face);
    MPI_Comm cube;
    MPI_Request requests[12];
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cube);
    for (int d = 0; d < 3; d++)
        MPI_Cart_shift(cube, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    for (int i = 0; i < repetitions; i++) {
        for (int f = 0; f < 6; f++)
            MPI_Irecv(faces + f * face, face, MPI_CHAR, neighbour[f], f ^ 1, cube, &requests[f]);
        for (int f = 0; f < 6; f++)
            MPI_Isend(faces + (6 + f) * face, face, MPI_CHAR, neighbour[f], f, cube, &requests[6 + f]);
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Comm_free(&cube);
    free(faces);
    return 6LL * size * repetitions;
}

/* Every rank draws the same distances, so each knows who sends to it. */
static long long random_ranks(int any)
{
    unsigned state = 12345;
    int value = rank, got, distance[BURST];
    for (int i = 0; i < repetitions; i++) {
        for (int m = 0; m < BURST; m++) {
            state = state * 1664525u + 1013904223u;
            distance[m] = (int)((state >> 8) % (unsigned)size);
            MPI_Send(&value, 1, MPI_INT, (rank + distance[m]) % size, i & 1023, MPI_COMM_WORLD);
        }
        for (int m = 0; m < BURST; m++)
            MPI_Recv(&got, 1, MPI_INT, any ? MPI_ANY_SOURCE : (rank - distance[m] + size) % size, i & 1023,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return (long long)BURST * size * repetitions;
}

static long long stream(void)
{
    int half = size / 2, value = rank;
    for (int i = 0; i < repetitions; i++)
        if (rank < half)
            MPI_Send(&value, 1, MPI_INT, rank + half, 0, MPI_COMM_WORLD);
        else if (rank < 2 * half)
            MPI_Recv(&value, 1, MPI_INT, rank - half, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (long long)half * repetitions;
}

static long long barrier(void)
{
    for (int i = 0; i < repetitions; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return repetitions;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *pattern = argc > 2 ? argv[1] : "";
    repetitions = argc > 2 ? atoi(argv[2]) : 0;
    long long messages = -1;
    if (strcmp(pattern, "ring") == 0)
        messages = ring(1);
    else if (strcmp(pattern, "backwards") == 0)
        messages = ring(-1);
    else if (strcmp(pattern, "token") == 0)
        messages = token();
    else if (strcmp(pattern, "stencil") == 0)
        messages = stencil(FACE);
    else if (strcmp(pattern, "faces") == 0)
        messages = stencil(SMALL_FACE);
    else if (strcmp(pattern, "named") == 0 || strcmp(pattern, "any") == 0)
        messages = random_ranks(pattern[0] == 'a');
    else if (strcmp(pattern, "stream") == 0)
        messages = stream();
    else if (strcmp(pattern, "barrier") == 0)
        messages = barrier();
    if (rank == 0)
        printf("messages %lld\n", messages);
    MPI_Finalize();
    return messages < 0;
}
