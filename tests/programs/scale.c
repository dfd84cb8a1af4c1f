/* Patterns whose results are known at any number of ranks: each rank checks its own, rank 0 says ok. */
#include "check.h"
#include <stdint.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void ring(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, value = rank;
    for (int lap = 1; lap <= 3; lap++) {
        int got;
        MPI_Sendrecv(&value, 1, MPI_INT, next, lap, &got, 1, MPI_INT, before, lap, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        value = got;
        CHECK(value == (rank + size - lap % size) % size);
    }
}

/* One token all the way round: every rank but one is blocked. */
static void token(void)
{
    long long value = 0;
    if (rank > 0)
        MPI_Recv(&value, 1, MPI_LONG_LONG, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == (long long)rank * (rank - 1) / 2 || rank == 0);
    value += rank;
    MPI_Send(&value, 1, MPI_LONG_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_LONG_LONG, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == (long long)size * (size - 1) / 2);
    }
}

/* All draw the same distances, so each knows who sends what to it. */
static void random_ranks(void)
{
    enum { MESSAGES = 8 };
    MPI_Request requests[MESSAGES];
    uint64_t in[MESSAGES], out[MESSAGES];
    for (int m = 0; m < MESSAGES; m++) {
        int distance = (int)(mix((uint64_t)m + 5) % (uint64_t)size);
        MPI_Irecv(&in[m], 1, MPI_UINT64_T, (rank + size - distance) % size, 0, MPI_COMM_WORLD, &requests[m]);
    }
    for (int m = 0; m < MESSAGES; m++) {
        int distance = (int)(mix((uint64_t)m + 5) % (uint64_t)size);
        out[m] = mix((uint64_t)rank * 64 + (uint64_t)m);
        MPI_Send(&out[m], 1, MPI_UINT64_T, (rank + distance) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < MESSAGES; m++) {
        int distance = (int)(mix((uint64_t)m + 5) % (uint64_t)size), from = (rank + size - distance) % size;
        CHECK(in[m] == mix((uint64_t)from * 64 + (uint64_t)m));
    }
}

static void stencil(void)
{
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 }, neighbour[6], got[6];
    MPI_Comm cube;
    MPI_Request requests[12];
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cube);
    for (int d = 0; d < 3; d++)
        MPI_Cart_shift(cube, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    for (int step = 0; step < 2; step++) {
        for (int f = 0; f < 6; f++)
            MPI_Irecv(&got[f], 1, MPI_INT, neighbour[f], f ^ 1, cube, &requests[f]);
        for (int f = 0; f < 6; f++)
            MPI_Isend(&rank, 1, MPI_INT, neighbour[f], f, cube, &requests[6 + f]);
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
        for (int f = 0; f < 6; f++)
            CHECK(got[f] == neighbour[f]);
    }
    MPI_Comm_free(&cube);
}

static void allreduce(void)
{
    for (int times = 0; times < 2; times++) {
        long long sum, mine = rank + times;
        int greatest;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == (long long)size * (size - 1) / 2 + (long long)times * size);
        MPI_Allreduce(&rank, &greatest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(greatest == size - 1);
        MPI_Barrier(MPI_COMM_WORLD);
        int root = size / 3, value = rank == root ? 77 : 0;
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        CHECK(value == 77);
        long long prefix = -1;
        MPI_Scan(&mine, &prefix, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(prefix == (long long)rank * (rank + 1) / 2 + (long long)times * (rank + 1));
    }
}

/* Collectives that ranks go on from, and blocks that differ. */
static void going_on(void)
{
    long long mine = rank, sum = 0;
    int value = rank == 1 ? 78 : 0, counts_up = 0;
    MPI_Request requests[3];
    MPI_Iallreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == (long long)size * (size - 1) / 2);
    CHECK(value == 78);
    int *counts = NULL, *places = NULL, *all = NULL, some[2] = { rank, rank + 1 }, back[2] = { -1, -1 };
    if (rank == 0) {
        counts = malloc(sizeof *counts * (size_t)size);
        places = malloc(sizeof *places * (size_t)size);
        all = malloc(sizeof *all * 2 * (size_t)size);
        for (int i = 0; i < size; i++) {
            counts[i] = i % 3;
            places[i] = counts_up;
            counts_up += counts[i];
        }
    }
    MPI_Gatherv(some, rank % 3, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        for (int j = 0; j < counts[i]; j++)
            CHECK(all[places[i] + j] == i + j);
    MPI_Scatterv(all, counts, places, MPI_INT, back, rank % 3, MPI_INT, 0, MPI_COMM_WORLD);
    for (int j = 0; j < 2; j++)
        CHECK(back[j] == (j < rank % 3 ? rank + j : -1));
    free(counts);
    free(places);
    free(all);
}

static void comm_split(void)
{
    int columns = 1, me, members;
    while ((long long)columns * columns * 4 <= size)
        columns *= 2;
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / columns, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % columns, -rank, &column);
    MPI_Comm_rank(row, &me);
    MPI_Comm_size(row, &members);
    CHECK(me == rank % columns);
    long long sum, mine = rank;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, row);
    long long first = rank - me;
    CHECK(sum == members * first + (long long)members * (members - 1) / 2);
    MPI_Comm_rank(column, &me);
    MPI_Comm_size(column, &members);
    int rows = (size - rank % columns + columns - 1) / columns;
    CHECK(members == rows && me == rows - 1 - rank / columns);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
}

/* Workers ask whom they find at work, a master hands out one task for each worker and then sends them
 * home. */
static void master_worker(void)
{
    enum { TASK = 1, RESULT, HOME };
    if (rank == 0) {
        long long results = 0, tasks = size - 1, handed = 0;
        for (long long left = 2 * tasks; left > 0; left--) {
            long long result;
            MPI_Status status;
            MPI_Recv(&result, 1, MPI_LONG_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == RESULT)
                results += result;
            long long task = handed;
            int tag = handed < tasks ? TASK : HOME;
            handed++;
            MPI_Send(&task, 1, MPI_LONG_LONG, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
        }
        CHECK(results == tasks * (tasks - 1));
        return;
    }
    long long task = 0;
    MPI_Status status;
    MPI_Send(&task, 1, MPI_LONG_LONG, 0, TASK, MPI_COMM_WORLD);
    for (;;) {
        MPI_Recv(&task, 1, MPI_LONG_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == HOME)
            return;
        task *= 2;
        MPI_Send(&task, 1, MPI_LONG_LONG, 0, RESULT, MPI_COMM_WORLD);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = { { "ring", ring },
              { "token", token },
              { "random", random_ranks },
              { "stencil", stencil },
              { "allreduce", allreduce },
              { "going_on", going_on },
              { "comm_split", comm_split },
              { "master_worker", master_worker } };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int found = 0;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            found = 1;
        }
    CHECK(found);
    if (rank == 0)
        printf("ok\n");
    MPI_Finalize();
    return 0;
}
