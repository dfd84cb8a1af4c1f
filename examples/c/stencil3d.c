/*
 * Heat flows through a cube: a 7-point stencil on a three-dimensional grid of ranks.
 *
 *     xsim run -n 1000 --mn torus:10x10x10,l=1us,b=10Gbps examples/c/stencil3d.c 16 20
 *
 * The arguments are the points of a rank's cube in each direction and the number of steps. The domain is
 * periodic, so heat is conserved: expect "heat 1000.000000" whatever the number of ranks, and the
 * same maximum for the same domain. Each step sends six faces, described as derived datatypes,
 * so a rank sends 6 messages of 8 n^2 bytes a step; the time of a step on the torus above
 * is that of the six faces, which all travel at once, plus computation.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    MPI_Comm comm;
    int n;                        /* points in each direction, without the halo */
    int neighbour[6];             /* low and high in each direction */
    MPI_Datatype send[6], recv[6];
} Grid;

static size_t at(int n, int i, int j, int k)
{
    return ((size_t)i * (n + 2) + j) * (n + 2) + k;
}

/* The face of the cube that is sent to a neighbour, and the halo that is received from it. */
static MPI_Datatype face(int n, int direction, int start)
{
    int sizes[3] = { n + 2, n + 2, n + 2 }, part[3] = { n, n, n }, starts[3] = { 1, 1, 1 };
    MPI_Datatype type;
    part[direction] = 1;
    starts[direction] = start;
    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static Grid make_grid(int size, int n)
{
    Grid grid = { .n = n };
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 };
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &grid.comm);
    for (int d = 0; d < 3; d++) {
        MPI_Cart_shift(grid.comm, d, 1, &grid.neighbour[2 * d], &grid.neighbour[2 * d + 1]);
        grid.send[2 * d] = face(n, d, 1);
        grid.recv[2 * d] = face(n, d, 0);
        grid.send[2 * d + 1] = face(n, d, n);
        grid.recv[2 * d + 1] = face(n, d, n + 1);
    }
    return grid;
}

static void exchange(const Grid *grid, double *u)
{
    MPI_Request requests[12];
    for (int f = 0; f < 6; f++)
        MPI_Irecv(u, 1, grid->recv[f], grid->neighbour[f], f ^ 1, grid->comm, &requests[f]);
    for (int f = 0; f < 6; f++)
        MPI_Isend(u, 1, grid->send[f], grid->neighbour[f], f, grid->comm, &requests[6 + f]);
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
}

static void step(int n, const double *u, double *next)
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            for (int k = 1; k <= n; k++) {
                double around = u[at(n, i - 1, j, k)] + u[at(n, i + 1, j, k)] + u[at(n, i, j - 1, k)]
                              + u[at(n, i, j + 1, k)] + u[at(n, i, j, k - 1)] + u[at(n, i, j, k + 1)];
                next[at(n, i, j, k)] = u[at(n, i, j, k)] + 0.1 * (around - 6.0 * u[at(n, i, j, k)]);
            }
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? atoi(argv[1]) : 8, steps = argc > 2 ? atoi(argv[2]) : 10;
    if (n < 1 || steps < 0) {
        fprintf(stderr, "stencil3d: the cube needs at least 1 point and 0 steps\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    Grid grid = make_grid(size, n);
    MPI_Comm_rank(grid.comm, &rank);

    size_t points = (size_t)(n + 2) * (n + 2) * (n + 2);
    double *u = calloc(points, sizeof *u), *next = calloc(points, sizeof *next);
    if (rank == 0)
        u[at(n, 1, 1, 1)] = 1000.0;

    double start = MPI_Wtime();
    for (int s = 0; s < steps; s++) {
        exchange(&grid, u);
        step(n, u, next);
        double *swap = u;
        u = next;
        next = swap;
    }
    double elapsed = MPI_Wtime() - start, slowest;

    double heat = 0, greatest = 0, total, maximum;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++)
            for (int k = 1; k <= n; k++) {
                heat += u[at(n, i, j, k)];
                if (u[at(n, i, j, k)] > greatest)
                    greatest = u[at(n, i, j, k)];
            }
    MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, grid.comm);
    MPI_Reduce(&greatest, &maximum, 1, MPI_DOUBLE, MPI_MAX, 0, grid.comm);
    MPI_Reduce(&elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, grid.comm);
    if (rank == 0) {
        printf("heat %.6f maximum %.6f\n", total, maximum);
        printf("time of a step %.3f us\n", steps > 0 ? slowest * 1e6 / steps : 0.0);
    }

    for (int f = 0; f < 6; f++) {
        MPI_Type_free(&grid.send[f]);
        MPI_Type_free(&grid.recv[f]);
    }
    MPI_Comm_free(&grid.comm);
    free(u);
    free(next);
    MPI_Finalize();
    return 0;
}
