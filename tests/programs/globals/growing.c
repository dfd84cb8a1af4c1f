// What a rank parks becomes larger from call to call, far beyond a few pages: first its globals, then its
// stack.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP (128 << 10)
#define STEPS 32

static unsigned char table[STEPS * STEP];

static int mine(const unsigned char *at, int len, int value) {
    for (int i = 0; i < len; i++)
        if (at[i] != (unsigned char)(value + i)) return 0;
    return 1;
}

static void fill(unsigned char *at, int len, int value) {
    for (int i = 0; i < len; i++) at[i] = value + i;
}

static void deeper(int depth, int rank) {
    unsigned char frame[STEP];
    fill(frame, STEP, rank + depth);
    MPI_Barrier(MPI_COMM_WORLD);
    if (depth < STEPS) deeper(depth + 1, rank);
    if (!mine(frame, STEP, rank + depth)) abort();
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < STEPS; step++) {
        fill(table + step * STEP, STEP, rank + step);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int step = 0; step < STEPS; step++)
        if (!mine(table + step * STEP, STEP, rank + step)) abort();
    deeper(0, rank);
    MPI_Finalize();
    puts("grown");
}
