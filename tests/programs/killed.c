/* A ring of twenty turns in a communicator of its own, after which the process is killed: nothing of it can
 * do anything about that. */
#include <mpi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm self, ring;
    if (rank == 1)
        MPI_Comm_dup(MPI_COMM_SELF, &self); /* so that rank 1 has another number for the next */
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &ring);
    MPI_Comm_rank(ring, &rank);
    for (int turn = 0; turn < 20; turn++) {
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, ring);
        MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 0, ring, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        syscall(SYS_kill, getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
