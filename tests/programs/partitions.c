/* Partitioned exchanges round a ring, partition by partition, whose receivers look for single ones. */
#include "check.h"
#include <unistd.h>

enum { PARTS = 6, COUNT = 50 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag;
    static double given[PARTS * COUNT], got[PARTS * COUNT];
    MPI_Request requests[2];
    MPI_Psend_init(given, PARTS, COUNT, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
    MPI_Precv_init(got, PARTS / 2, 2 * COUNT, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   requests + 1);
    for (int step = 0; step < 4; step++) {
        MPI_Startall(2, requests);
        for (int i = 0; i < 2; i++) {
            usleep((useconds_t)(3 + rank + step));
            MPI_Pready(PARTS - 1 - i, requests[0]);
        }
        MPI_Pready_range(0, 1, requests[0]);
        int rest[2] = {3, 2};
        MPI_Pready_list(2, rest, requests[0]);
        if (step % 2)
            for (flag = 0; !flag;) MPI_Parrived(requests[1], 2, &flag);
        else
            MPI_Parrived(requests[1], 0, &flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    printf("rank %d: ok\n", rank);
    MPI_Finalize();
    return 0;
}
