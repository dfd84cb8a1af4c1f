/*
 * A master hands out tasks: each worker asks for one from any, computes 10 us of virtual time and more the
 * higher its rank, and asks again. Every receive of the master needs safe time.
 *
 *     master TASKS -xsim-compute fixed:10us
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, task = 0, tasks = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int given = 0; given < tasks + size - 1; given++) {
            MPI_Recv(&task, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            task = given < tasks ? given : -1;
            MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
        }
        printf("%d tasks in %.9f s\n", tasks, MPI_Wtime());
    } else {
        do {
            for (int i = 0; i < rank % 7; i++)
                MPI_Wtime();
            MPI_Send(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } while (task >= 0);
    }
    return MPI_Finalize();
}
