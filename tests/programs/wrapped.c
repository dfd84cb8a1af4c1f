/* Computation that histograms have to tell apart: one function makes all exchanges ("wrapper"), all ranks
 * are slow in the same steps ("steps"), or the first iteration is slow ("first"). */
#include <mpi.h>
#include <string.h>
#include <xsim.h>

static int rank, ranks;

static void exchange(int distance)
{
    int in;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + distance) % ranks, 0, &in, 1, MPI_INT,
                 (rank + ranks - distance) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "wrapper";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int step = 0; step < 50; step++) {
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
