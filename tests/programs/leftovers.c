/* Leaves things behind: `leftovers` some of each kind, `leftovers clean` nothing. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0, clean = argc > 1 && strcmp(argv[1], "clean") == 0;
    MPI_Comm comm, copies[2];
    MPI_Datatype pair, predefined;
    MPI_Group group;
    MPI_Info info;
    MPI_Win window;
    MPI_Request pending, persistent, done;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, copies + i);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_f90_integer(9, &predefined);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    MPI_Win_create(&value, sizeof value, 1, info, MPI_COMM_WORLD, &window);
    MPI_Recv_init(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &persistent);
    MPI_Start(&persistent);
    MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    /* What is completed, and freed, is not left behind. */
    MPI_Irecv(&value, 1, MPI_INT, last, 2, MPI_COMM_WORLD, &done);
    MPI_Isend(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &pending);
    MPI_Wait(&done, MPI_STATUS_IGNORE);
    if (clean) {
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
        MPI_Request_free(&persistent);
        MPI_Win_free(&window);
        MPI_Info_free(&info);
        MPI_Group_free(&group);
        MPI_Type_free(&pair);
        MPI_Comm_free(&comm);
    } else if (rank != 0) {
        long late[2] = {0};
        MPI_Send(late, rank, MPI_LONG, 0, 40 + rank, comm);
    }
    MPI_Comm_free(copies);
    if (clean || rank == 1)
        MPI_Comm_free(copies + 1);
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
