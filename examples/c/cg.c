/*
 * A small conjugate gradient: -laplace(u) = 1 on a square, with the five-point matrix.
 *
 *     xsim run -n 64 examples/c/cg.c 256
 *
 * The argument is the number of points in each direction. Rows of the grid are dealt to ranks in
 * blocks; each iteration exchanges one row with each neighbour and does two MPI_Allreduce of one
 * double, which is what bounds it on many ranks. Expect "converged", a maximum of the solution near
 * 0.0737, and the same number of iterations for any number of ranks (one more or less, as sums
 * are rounded in another order).
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int n, rows;      /* points in a row; rows of this rank */
    int above, below; /* neighbours, or MPI_PROC_NULL */
} Part;

static double dot(const Part *part, const double *x, const double *y)
{
    double sum = 0, all;
    for (size_t i = (size_t)part->n; i < (size_t)(part->rows + 1) * part->n; i++)
        sum += x[i] * y[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* y = A x; x has a row above and a row below that belong to the neighbours. */
static void multiply(const Part *part, double *x, double *y)
{
    int n = part->n, rows = part->rows;
    MPI_Sendrecv(x + n, n, MPI_DOUBLE, part->above, 0, x + (size_t)(rows + 1) * n, n, MPI_DOUBLE, part->below,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(x + (size_t)rows * n, n, MPI_DOUBLE, part->below, 1, x, n, MPI_DOUBLE, part->above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < n; j++) {
            size_t c = (size_t)i * n + j;
            double left = j > 0 ? x[c - 1] : 0, right = j < n - 1 ? x[c + 1] : 0;
            y[c] = 4 * x[c] - x[c - n] - x[c + n] - left - right;
        }
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? atoi(argv[1]) : 128;
    if (n < size) {
        if (rank == 0)
            fprintf(stderr, "cg: %d ranks need at least %d points in each direction, not %d\n", size, size,
                    n);
        MPI_Finalize();
        return 1;
    }
    Part part = { n, n / size + (rank < n % size), rank > 0 ? rank - 1 : MPI_PROC_NULL,
                  rank < size - 1 ? rank + 1 : MPI_PROC_NULL };

    size_t cells = (size_t)(part.rows + 2) * n;
    double *u = calloc(cells, sizeof *u), *r = calloc(cells, sizeof *r);
    double *p = calloc(cells, sizeof *p), *q = calloc(cells, sizeof *q);
    double h = 1.0 / (n + 1);
    for (size_t i = (size_t)n; i < (size_t)(part.rows + 1) * n; i++)
        r[i] = p[i] = h * h;

    double start = MPI_Wtime(), rho = dot(&part, r, r), goal = rho * 1e-16;
    int iterations = 0;
    while (rho > goal && iterations < 10 * n) {
        multiply(&part, p, q);
        double alpha = rho / dot(&part, p, q);
        for (size_t i = (size_t)n; i < (size_t)(part.rows + 1) * n; i++) {
            u[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double before = rho;
        rho = dot(&part, r, r);
        for (size_t i = (size_t)n; i < (size_t)(part.rows + 1) * n; i++)
            p[i] = r[i] + rho / before * p[i];
        iterations++;
    }
    double elapsed = MPI_Wtime() - start;

    double greatest = 0, maximum;
    for (size_t i = (size_t)n; i < (size_t)(part.rows + 1) * n; i++)
        greatest = fmax(greatest, u[i]);
    MPI_Reduce(&greatest, &maximum, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s after %d iterations, maximum %.6f\n", rho <= goal ? "converged" : "not converged",
               iterations, maximum);
        printf("time of an iteration %.3f us\n", iterations > 0 ? elapsed * 1e6 / iterations : 0.0);
    }
    free(u);
    free(r);
    free(p);
    free(q);
    MPI_Finalize();
    return rho > goal;
}
