/*
 * Rank 0 sleeps for 10 s of real time while the others wait for it in a barrier.
 */
#include <mpi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The real clock, not the rank's. */
static double now(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double start = now();
    while (rank == 0 && now() < start + 10) {
        usleep(0);
        syscall(SYS_nanosleep, &(struct timespec){ 0, 100000000 }, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
