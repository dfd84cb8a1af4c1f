/* Patterns of communication whose traces at some rank counts tell those at others; the arguments say
 * which. */
#include <mpi.h>
#include <xsim.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void ring(void)
{
    int out = rank, in;
    for (int step = 0; step < 10; step++) {
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 5, &in, 1, MPI_INT, (rank + size - 1) % size, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 6, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void stencil(int dimensions, int periodic)
{
    int dims[3] = {0, 0, 0}, periods[3] = {periodic, periodic, periodic};
    MPI_Dims_create(size, dimensions, dims);
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &grid);
    double in[6][100], out[6][100], sum = 0, all;
    for (int step = 0; step < 20; step++) {
        MPI_Request requests[12];
        int n = 0;
        for (int d = 0; d < dimensions; d++) {
            int before, after;
            MPI_Cart_shift(grid, d, 1, &before, &after);
            MPI_Irecv(in[2 * d], 100, MPI_DOUBLE, before, d, grid, &requests[n++]);
            MPI_Irecv(in[2 * d + 1], 100, MPI_DOUBLE, after, d, grid, &requests[n++]);
            MPI_Isend(out[2 * d], 100, MPI_DOUBLE, before, d, grid, &requests[n++]);
            MPI_Isend(out[2 * d + 1], 100, MPI_DOUBLE, after, d, grid, &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
    }
    MPI_Comm_free(&grid);
}

/* Neighbours that are not there are left out, and one call is all of them. */
static void bordered(void)
{
    int side = (int)lround(cbrt(size)), z = rank % side, y = rank / side % side, x = rank / side / side;
    int place[3] = {x, y, z}, stride[3] = {side * side, side, 1}, neighbours[6], n = 0;
    double in[6][50], out[6][50];
    for (int d = 0; d < 3; d++) {
        if (place[d] > 0) neighbours[n++] = rank - stride[d];
        if (place[d] < side - 1) neighbours[n++] = rank + stride[d];
    }
    for (int step = 0; step < 5; step++) {
        MPI_Request requests[12];
        MPI_Status statuses[12];
        for (int i = 0; i < n; i++)
            MPI_Irecv(in[i], 50, MPI_DOUBLE, neighbours[i], 1, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < n; i++)
            MPI_Isend(out[i], 50, MPI_DOUBLE, neighbours[i], 1, MPI_COMM_WORLD, &requests[n + i]);
        MPI_Waitall(2 * n, requests, statuses);
    }
}

static void collectives(void)
{
    double *buffer = calloc(4096, sizeof *buffer), sum[64] = {0};
    MPI_Bcast(buffer, 4096, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 7; i++) MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(buffer, sum, 64, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    free(buffer);
    /* Strong scaling, and an array as long as there are ranks. */
    int total = 1728000, mine = total / size, *counts = malloc(size * sizeof *counts),
        *from = malloc(size * sizeof *from);
    for (int i = 0; i < size; i++) { counts[i] = 2; from[i] = 2 * i; }
    char *all = malloc(mine);
    MPI_Bcast(all, mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    int *send = calloc(2 * size, sizeof *send), *receive = calloc(2 * size, sizeof *receive);
    MPI_Alltoallv(send, counts, from, MPI_INT, receive, counts, from, MPI_INT, MPI_COMM_WORLD);
    free(all); free(send); free(receive); free(counts); free(from);
}

static void tree(void)
{
    int value = 0, mask;
    for (int step = 0; step < 3; step++) {
        for (mask = 1; mask < size; mask <<= 1) {
            if (rank & mask) {
                MPI_Recv(&value, 1, MPI_INT, rank - mask, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                break;
            }
        }
        for (mask >>= 1; mask > 0; mask >>= 1) MPI_Send(&value, 1, MPI_INT, rank + mask, 2, MPI_COMM_WORLD);
    }
}

static void butterfly(void)
{
    char *mine = malloc(size * 8), *other = malloc(size * 8);
    for (int mask = 1, length = 8; mask < size; mask <<= 1, length <<= 1)
        MPI_Sendrecv(mine, length, MPI_CHAR, rank ^ mask, 3, other, length, MPI_CHAR, rank ^ mask, 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(mine);
    free(other);
}

static void everyone(void)
{
    int value = 0, other;
    for (int i = 1; i < size; i++)
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + i) % size, 4, &other, 1, MPI_INT, (rank - i + size) % size,
                     4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void rows(void)
{
    int side = (int)lround(sqrt(size));
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / side, rank % side, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % side, rank / side, &column);
    int value = 0, sum, me;
    MPI_Comm_rank(row, &me);
    MPI_Bcast(&value, 1, MPI_INT, 0, row);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, column);
    MPI_Sendrecv(&value, 1, MPI_INT, (me + 1) % side, 7, &sum, 1, MPI_INT, (me + side - 1) % side, 7, row,
                 MPI_STATUS_IGNORE);
    /* The transpose. */
    MPI_Sendrecv(&value, 1, MPI_INT, rank % side * side + rank / side, 8, &sum, 1, MPI_INT,
                 rank % side * side + rank / side, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
}

/* The master has something of each worker in order, or of whoever comes. */
static void master(int any)
{
    int value = 0;
    if (rank == 0) {
        for (int i = 1; i < size; i++) MPI_Send(&value, 1, MPI_INT, i, 9, MPI_COMM_WORLD);
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, any ? MPI_ANY_SOURCE : i, 9, MPI_COMM_WORLD, &status);
        }
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
}

/* Messages whose lengths follow no rule. */
static void lengths(void)
{
    char out[64], in[64];
    MPI_Sendrecv(out, (rank * 7919 + size) % 61, MPI_CHAR, (rank + 1) % size, 5, in, 64, MPI_CHAR,
                 (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* All ranks compute, each less the more there are. */
static void computing(void)
{
    for (int step = 0; step < 4; step++) {
        xsim_compute(1.0 / size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "ring")) ring();
        else if (!strcmp(argv[i], "square")) stencil(2, 1);
        else if (!strcmp(argv[i], "plate")) stencil(2, 0);
        else if (!strcmp(argv[i], "torus")) stencil(3, 1);
        else if (!strcmp(argv[i], "cube")) stencil(3, 0);
        else if (!strcmp(argv[i], "bordered")) bordered();
        else if (!strcmp(argv[i], "collectives")) collectives();
        else if (!strcmp(argv[i], "tree")) tree();
        else if (!strcmp(argv[i], "butterfly")) butterfly();
        else if (!strcmp(argv[i], "everyone")) everyone();
        else if (!strcmp(argv[i], "rows")) rows();
        else if (!strcmp(argv[i], "master")) master(0);
        else if (!strcmp(argv[i], "any")) master(1);
        else if (!strcmp(argv[i], "lengths")) lengths();
        else if (!strcmp(argv[i], "computing")) computing();
    }
    MPI_Finalize();
}
