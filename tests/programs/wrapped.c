/* Computation that histograms have to tell apart: one function makes all exchanges ("wrapper"), those of a
 * multigrid's levels ("levels") or of two phases ("phases"), all ranks are slow in the same steps ("steps"),
 * or the first iteration is slow ("first"). */
#include <mpi.h>
#include <string.h>
#include <xsim.h>

static int rank, ranks;

enum { LEVELS = 6 };

static void exchange_many(int distance, int count)
{
    static int out[1 << LEVELS], in[1 << LEVELS];
    MPI_Sendrecv(out, count, MPI_INT, (rank + distance) % ranks, 0, in, count, MPI_INT,
                 (rank + ranks - distance) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(int distance)
{
    exchange_many(distance, 1);
}

/* Goes from the finest level to the coarsest and back. */
static void cycle(void)
{
    for (int level = LEVELS; level > 0; level--) {
        xsim_compute(10e-6 * (1 << level));
        exchange_many(1, 1 << level);
    }
    for (int level = 1; level <= LEVELS; level++) {
        exchange_many(1, 1 << level);
        xsim_compute(5e-6 * (1 << level));
    }
}

/* One phase computes before its exchanges, the other behind them. */
static void phases(void)
{
    for (int k = 0; k < 30; k++) {
        xsim_compute(100e-6);
        exchange(1);
        exchange(2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 20; k++) {
        exchange(2);
        exchange(1);
        exchange(1);
        xsim_compute(50e-6);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "wrapper";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int step = 0; step < 50; step++) {
        if (!strcmp(mode, "levels")) {
            cycle();
            continue;
        }
        if (!strcmp(mode, "phases")) {
            phases();
            continue;
        }
        double time = 200e-6;
        if (!strcmp(mode, "steps") && step * 7 % 10 < 3)
            time = 2e-3;
        if (!strcmp(mode, "first") && step == 0)
            time = 20e-3;
        xsim_compute(time);
        exchange(1);
        if (!strcmp(mode, "wrapper")) {
            exchange(2);
            exchange(3);
        }
    }
    MPI_Finalize();
    return 0;
}
