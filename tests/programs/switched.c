/*
 * Parts that are left out of a trace: xsim.h's functions, which are not there where nothing records.
 *
 * With an argument it sleeps for that many milliseconds before its last calls.
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int xsim_trace_on(void) __attribute__((weak));
int xsim_trace_off(void) __attribute__((weak));

int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (xsim_trace_off)
        xsim_trace_off();
    for (int turn = 0; turn < 10; turn++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (xsim_trace_on)
        xsim_trace_on();
    if (argc > 1)
        usleep((useconds_t)atoi(argv[1]) * 1000);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
