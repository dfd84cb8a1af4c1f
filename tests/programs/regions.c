/* Regions whose times are known: rank r computes 10 + 10 r us in one, waits for all, computes 5 us in one
 * within another, and 7 us at a level. */
#include <mpi.h>
#include "xsim.h"

static void compute_us(double us) { xsim_compute(us * 1e-6); }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    compute_us(1);
    if (xsim_region_begin("solve") != 0)
        return 3;
    compute_us(10 + 10 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Only to end what was not begun last is wrong, and only a profile knows. */
    xsim_region_begin("write");
    compute_us(5);
    int wrong = xsim_region_end("solve");
    if (argc > 1 && wrong != -1)
        return 4;
    if (argc > 1)
        xsim_region_end("write");
    xsim_region_end("solve");
    MPI_Pcontrol(3);
    compute_us(7);
    MPI_Pcontrol(1);
    compute_us(1);
    MPI_Finalize();
    return 0;
}
