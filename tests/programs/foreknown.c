/* A wait that a later message could end: at one instant rank 1 tests for a message of rank 3, and rank 3
 * waits for any of two messages, of which one is there and the other, from rank 0 and sent 1 us later,
 * decides that nothing more can come. Who knows of that already goes on no earlier: rank 1 is answered first,
 * and finds nothing. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, flag = 0, index = -1;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(1);
        MPI_Send(NULL, 0, MPI_BYTE, 3, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_BYTE, 3, 0, MPI_COMM_WORLD);
        MPI_Irecv(NULL, 0, MPI_BYTE, 3, 0, MPI_COMM_WORLD, requests);
        MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
        printf("rank 1 finds %d\n", flag);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    } else if (rank == 3) {
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, requests);
        MPI_Irecv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, requests + 1);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        printf("rank 3 gets %d at %.0f ps\n", index, MPI_Wtime() * 1e12);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
