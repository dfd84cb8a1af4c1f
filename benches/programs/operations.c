/*
 * Operations whose cost at scale is measured: nothing else happens.
 *
 *     operations NAME REPETITIONS
 *
 * hello: one barrier. barrier; allreduce, reduce and scan of 8 bytes; ibarrier, iallreduce: the nonblocking
 * forms, waited for at once; gatherv and scatterv of 0 to 2 numbers of 8 bytes a member; function: an
 * allreduce of 8 bytes with an operation of the program; alltoall of 8 bytes for each member; alltoallv of 0
 * to 2 numbers of 8 bytes for each member; allgatherv of as many from each; neighbor_alltoall,
 * neighbor_allgather and neighbor_alltoallv of 8 bytes (0 to 2 numbers of them) with the neighbours in a
 * periodic 3-D grid, which is made before; split into rows of a power of two, about the square root of the
 * ranks; cart: a 2-D grid; exchange: MPI_Irecv, MPI_Send and MPI_Wait with the neighbours in a ring; rma_put,
 * rma_get and rma_accumulate: 64 accesses of 8 bytes and a flush; rma_fence; file_shared: 8 bytes written at
 * the shared pointer of a file in the working directory; file_plain: as many writes to such a file by rank 0
 * alone, with pwrite; switches: the same as exchange backwards, so that every message costs a switch of
 * ranks, after writing 200 bytes of global data if a third argument is given. Rank 0 checks the result and
 * prints how often the operation was done.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char scratch[256];

static int allreduce(void)
{
    long long mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum == (long long)size * (size - 1) / 2;
}

static int iallreduce(void)
{
    long long mine = rank, sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return sum == (long long)size * (size - 1) / 2;
}

static int ibarrier(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((long long *)inout)[i] += ((long long *)in)[i];
}

static int function(void)
{
    static MPI_Op op = MPI_OP_NULL;
    if (op == MPI_OP_NULL)
        MPI_Op_create(add, 1, &op);
    long long mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, op, MPI_COMM_WORLD);
    return sum == (long long)size * (size - 1) / 2;
}

/* Rank 0 has 0, 1 or 2 numbers of each member in `all`: gathers them, or scatters them. */
static int uneven(int gathers)
{
    long long mine[2] = { rank, rank + 1 }, *all = NULL;
    int *counts = NULL, *places = NULL, total = 0, right = 1;
    if (rank == 0) {
        counts = malloc(sizeof *counts * (size_t)size);
        places = malloc(sizeof *places * (size_t)size);
        for (int i = 0; i < size; i++) {
            counts[i] = i % 3;
            places[i] = total;
            total += counts[i];
        }
        all = malloc(sizeof *all * (size_t)(total + 1));
        for (int i = 0; i < size; i++)
            for (int j = 0; j < counts[i]; j++)
                all[places[i] + j] = gathers ? 0 : i + j;
    }
    if (!gathers)
        mine[0] = mine[1] = -1;
    if (gathers)
        MPI_Gatherv(mine, rank % 3, MPI_LONG_LONG, all, counts, places, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    else
        MPI_Scatterv(all, counts, places, MPI_LONG_LONG, mine, rank % 3, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int j = 0; j < rank % 3; j++)
        right &= mine[j] == rank + j;
    for (int i = 0; gathers && rank == 0 && i < size; i++)
        for (int j = 0; j < counts[i]; j++)
            right &= all[places[i] + j] == i + j;
    free(counts);
    free(places);
    free(all);
    return right;
}

static int reduce(void)
{
    long long mine = rank, sum = 0;
    MPI_Reduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum == (rank == 0 ? (long long)size * (size - 1) / 2 : 0);
}

static int scan(void)
{
    long long mine = rank, sum = 0;
    MPI_Scan(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum == (long long)rank * (rank + 1) / 2;
}

static int alltoall(void)
{
    long long *from = malloc(sizeof *from * (size_t)size), *to = malloc(sizeof *to * (size_t)size);
    for (int i = 0; i < size; i++)
        from[i] = (long long)rank * size + i;
    MPI_Alltoall(from, 1, MPI_LONG_LONG, to, 1, MPI_LONG_LONG, MPI_COMM_WORLD);
    int right = 1;
    for (int i = 0; i < size; i++)
        right &= to[i] == (long long)i * size + rank;
    free(from);
    free(to);
    return right;
}

/* From each rank to each other 0, 1 or 2 numbers. */
static int alltoallv(void)
{
    size_t n = (size_t)size;
    int *counts = malloc(4 * n * sizeof *counts), right = 1;
    int *begins = counts + n, *expected = begins + n, *places = expected + n, given = 0, taken = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = (rank + 2 * i) % 3;
        expected[i] = (i + 2 * rank) % 3;
        begins[i] = given;
        places[i] = taken;
        given += counts[i];
        taken += expected[i];
    }
    long long *from = malloc(sizeof *from * (size_t)(given + 1)),
              *to = malloc(sizeof *to * (size_t)(taken + 1));
    for (int i = 0; i < size; i++)
        for (int j = 0; j < counts[i]; j++)
            from[begins[i] + j] = (long long)rank * size + i + j;
    MPI_Alltoallv(from, counts, begins, MPI_LONG_LONG, to, expected, places, MPI_LONG_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < expected[i]; j++)
            right &= to[places[i] + j] == (long long)i * size + rank + j;
    free(from);
    free(to);
    free(counts);
    return right;
}

/* From each rank 0, 1 or 2 numbers to all. */
static int allgatherv(void)
{
    size_t n = (size_t)size;
    int *counts = malloc(2 * n * sizeof *counts), *places = counts + n, total = 0, right = 1;
    long long mine[2] = { rank, rank + 1 }, *all;
    for (int i = 0; i < size; i++) {
        counts[i] = i % 3;
        places[i] = total;
        total += counts[i];
    }
    all = malloc(sizeof *all * (size_t)(total + 1));
    MPI_Allgatherv(mine, rank % 3, MPI_LONG_LONG, all, counts, places, MPI_LONG_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < counts[i]; j++)
            right &= all[places[i] + j] == i + j;
    free(all);
    free(counts);
    return right;
}

static MPI_Comm grid = MPI_COMM_NULL;

static void make_grid(void)
{
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 };
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
}

/* Who is in direction `i` (back and forth in each dimension). */
static int neighbour(int i)
{
    int back, forth;
    MPI_Cart_shift(grid, i / 2, 1, &back, &forth);
    return i % 2 ? forth : back;
}

static int neighbor_alltoall(void)
{
    long long from[6], to[6] = { 0 };
    int right = 1;
    for (int i = 0; i < 6; i++)
        from[i] = (long long)rank * 6 + i;
    MPI_Neighbor_alltoall(from, 1, MPI_LONG_LONG, to, 1, MPI_LONG_LONG, grid);
    for (int i = 0; i < 6; i++)
        right &= to[i] == (long long)neighbour(i) * 6 + (i ^ 1);
    return right;
}

static int neighbor_allgather(void)
{
    long long from = rank, to[6] = { 0 };
    int right = 1;
    MPI_Neighbor_allgather(&from, 1, MPI_LONG_LONG, to, 1, MPI_LONG_LONG, grid);
    for (int i = 0; i < 6; i++)
        right &= to[i] == neighbour(i);
    return right;
}

static int neighbor_alltoallv(void)
{
    static const int counts[6] = { 0, 1, 2, 0, 1, 2 }, begins[6] = { 0, 0, 1, 3, 3, 4 };
    static const int expected[6] = { 1, 0, 0, 2, 2, 1 }, places[6] = { 0, 1, 1, 1, 3, 5 };
    long long from[6], to[6] = { 0 };
    int right = 1;
    for (int i = 0; i < 6; i++)
        from[i] = (long long)rank * 6 + i;
    MPI_Neighbor_alltoallv(from, counts, begins, MPI_LONG_LONG, to, expected, places, MPI_LONG_LONG, grid);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < expected[i]; j++)
            right &= to[places[i] + j] == (long long)neighbour(i) * 6 + begins[i ^ 1] + j;
    return right;
}

static int split(void)
{
    int columns = 1, row_size, row_rank;
    while ((long long)(2 * columns) * (2 * columns) <= size)
        columns *= 2;
    MPI_Comm row;
    MPI_Comm_split(MPI_COMM_WORLD, rank / columns, rank, &row);
    MPI_Comm_size(row, &row_size);
    MPI_Comm_rank(row, &row_rank);
    MPI_Comm_free(&row);
    return row_rank == rank % columns && row_size <= columns;
}

static int cart(void)
{
    int dims[2] = { 0, 0 }, periods[2] = { 1, 0 }, coordinates[2], back;
    MPI_Comm grid;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, coordinates);
    MPI_Cart_rank(grid, coordinates, &back);
    MPI_Comm_free(&grid);
    return back == rank;
}

static int exchange(int step, int bytes)
{
    int to = (rank + step + size) % size, from = (rank - step + size) % size, got = -1;
    if (bytes)
        memset(scratch, rank, (size_t)bytes);
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return got == from && (!bytes || scratch[bytes - 1] == (char)rank);
}

static MPI_Win window;
static long long exposed[64];

/* Windows of 64 numbers, and for accesses an epoch of all targets. */
static void make_window(int fences)
{
    MPI_Win_create(exposed, sizeof exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (!fences)
        MPI_Win_lock_all(0, window);
}

/* 64 accesses of 8 bytes to the ranks that follow, each to a place of its own, and a flush. */
static int access64(int kind)
{
    static const long long one = 1;
    long long got[64];
    for (int i = 0; i < 64; i++) {
        int to = (rank + 1 + i) % size;
        if (kind == 0) MPI_Put(&one, 1, MPI_LONG_LONG, to, i, 1, MPI_LONG_LONG, window);
        if (kind == 1) MPI_Get(&got[i], 1, MPI_LONG_LONG, to, i, 1, MPI_LONG_LONG, window);
        if (kind == 2) MPI_Accumulate(&one, 1, MPI_LONG_LONG, to, i, 1, MPI_LONG_LONG, MPI_SUM, window);
    }
    MPI_Win_flush_all(window);
    return kind != 1 || got[63] == 0;
}

static int rma_put(void) { return access64(0); }
static int rma_get(void) { return access64(1); }
static int rma_accumulate(void) { return access64(2); }
static int rma_fence(void) { return MPI_Win_fence(0, window) == MPI_SUCCESS; }

static MPI_File file;

static int file_shared(void)
{
    long long mine = rank;
    return MPI_File_write_shared(file, &mine, 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static int plain = -1;
static off_t at;

static int file_plain(void)
{
    long long mine = rank;
    int right = 1;
    for (int i = 0; rank == 0 && i < size; i++, at += sizeof mine)
        right &= pwrite(plain, &mine, sizeof mine, at) == sizeof mine;
    return right;
}

static int barrier(void) { return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS; }
static int gatherv(void) { return uneven(1); }
static int scatterv(void) { return uneven(0); }
static int written;
static int forwards(void) { return exchange(1, written); }
static int backwards(void) { return exchange(-1, written); }

static const struct {
    const char *name;
    int (*run)(void);
} operations[] = {
    { "rma_put", rma_put },
    { "rma_get", rma_get },
    { "rma_accumulate", rma_accumulate },
    { "rma_fence", rma_fence },
    { "file_shared", file_shared },
    { "file_plain", file_plain },
    { "hello", barrier },
    { "barrier", barrier },
    { "ibarrier", ibarrier },
    { "allreduce", allreduce },
    { "iallreduce", iallreduce },
    { "function", function },
    { "gatherv", gatherv },
    { "scatterv", scatterv },
    { "reduce", reduce },
    { "scan", scan },
    { "alltoall", alltoall },
    { "alltoallv", alltoallv },
    { "allgatherv", allgatherv },
    { "neighbor_alltoall", neighbor_alltoall },
    { "neighbor_allgather", neighbor_allgather },
    { "neighbor_alltoallv", neighbor_alltoallv },
    { "split", split },
    { "cart", cart },
    { "exchange", forwards },
    { "switches", backwards },
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argc > 2 ? argv[1] : "";
    int repetitions = argc > 2 ? atoi(argv[2]) : 0, right = 0;
    written = argc > 3 ? atoi(argv[3]) : 0;
    if (strncmp(name, "neighbor_", 9) == 0)
        make_grid();
    if (strncmp(name, "rma_", 4) == 0)
        make_window(strcmp(name, "rma_fence") == 0);
    if (strcmp(name, "file_shared") == 0)
        MPI_File_open(MPI_COMM_WORLD, "operations.data",
                      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    if (strcmp(name, "file_plain") == 0 && rank == 0) {
        plain = open("operations.plain", O_CREAT | O_WRONLY | O_TRUNC, 0600);
        unlink("operations.plain");
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(name, operations[i].name) == 0) {
            right = 1;
            for (int j = 0; j < repetitions; j++)
                right &= operations[i].run();
        }
    if (!right)
        fprintf(stderr, "rank %d: %s is wrong\n", rank, name);
    if (rank == 0)
        printf("%s %d times\n", name, repetitions);
    if (strcmp(name, "file_shared") == 0)
        MPI_File_close(&file);
    if (strncmp(name, "rma_", 4) == 0) {
        if (strcmp(name, "rma_fence") != 0)
            MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    MPI_Finalize();
    return !right;
}
