/* Calls that fail and are survived, whose ranks go on in step: arguments that are none, messages that are
 * too long, collectives that are refused to one rank, files that are not there. The argument is a name of no
 * file. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char data[4000] = {0};
    MPI_Request requests[2];
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Send(data, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
        CHECK(MPI_Isend(data, -1, MPI_CHAR, next, 0, MPI_COMM_WORLD, requests) != MPI_SUCCESS);
        usleep(5);
        /* Too long for the receive, and then for one of two. */
        MPI_Isend(data, 3000, MPI_CHAR, next, 1, MPI_COMM_WORLD, requests);
        CHECK(MPI_Recv(data, 100, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        MPI_Irecv(data, 10, MPI_CHAR, before, 2, MPI_COMM_WORLD, requests);
        MPI_Irecv(data, 4000, MPI_CHAR, before, 3, MPI_COMM_WORLD, requests + 1);
        MPI_Send(data, 500, MPI_CHAR, next, 2, MPI_COMM_WORLD);
        MPI_Send(data, 400, MPI_CHAR, next, 3, MPI_COMM_WORLD);
        MPI_Status statuses[2];
        CHECK(MPI_Waitall(2, requests, statuses) != MPI_SUCCESS);
        /* The next message of the channel is the next one again. */
        MPI_Sendrecv(data, 77, MPI_CHAR, next, 1, data, 77, MPI_CHAR, before, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (rank == 1) usleep(20);
        MPI_Bcast(data, 8, MPI_CHAR, rank == 1 ? size : 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File file;
        if (argc > 1)
            CHECK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file) !=
                  MPI_SUCCESS);
        MPI_Win win;
        MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, data, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        CHECK(MPI_Put(data, 1, MPI_LONG, next, 0, 1, MPI_LONG, win) != MPI_SUCCESS);
        MPI_Win_fence(0, win);
        CHECK(MPI_Put(data, 1, MPI_LONG, next, 8, 1, MPI_LONG, win) != MPI_SUCCESS);
        MPI_Put(data, 8, MPI_LONG, next, 0, 8, MPI_LONG, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    printf("rank %d: ok\n", rank);
    MPI_Finalize();
    return 0;
}
