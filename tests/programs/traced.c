/*
 * Calls for the trace: two loops, one in the other, and regions that are left out.
 *
 * Any argument: rank 0 waits for a message that nobody sends, and rank 1 sends one that nobody receives and
 * starts a receive that it does not wait for.
 */
#include <mpi.h>
#include <xsim.h>

static int rank, size, value;

static void ring(void)
{
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 5; step++) {
        for (int turn = 0; turn < 7; turn++)
            ring();
        if (rank > 0)
            MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        for (int from = 1; rank == 0 && from < size; from++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    xsim_trace_off();
    ring();
    MPI_Barrier(MPI_COMM_WORLD);
    xsim_trace_on();
    xsim_compute(1e-3);
    MPI_Pcontrol(0);
    ring();
    MPI_Pcontrol(1);
    if (argc > 1 && rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 1 && rank == 1) {
        MPI_Request request;
        MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
        MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    }
    MPI_Bcast(&value, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
