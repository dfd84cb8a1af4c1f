/* Ranks that poll: their own memory with MPI_Win_sync, and the end of an epoch with MPI_Win_test. Then
 * accesses by address in a dynamic window. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long *memory, got[8];
    MPI_Win win, dynamic;
    MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    volatile long *step = memory;
    *step = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (long i = 1; i <= 5; i++) {
        if (rank != 0) {
            while (*step < i) MPI_Win_sync(win);
            continue;
        }
        usleep((useconds_t)(20 * i));
        for (int to = 1; to < size; to++)
            MPI_Accumulate(&i, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush_all(win);
    }
    MPI_Win_unlock_all(win);
    MPI_Group world, first, others;
    int zero = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &others);
    for (int i = 0; i < 5; i++) {
        if (rank != 0) {
            MPI_Win_post(first, 0, win);
            for (int over = 0; !over;) MPI_Win_test(win, &over);
            continue;
        }
        usleep(30);
        MPI_Win_start(others, 0, win);
        for (int to = 1; to < size; to++) MPI_Put(got, 1, MPI_LONG, to, 1, 1, MPI_LONG, win);
        usleep(10);
        MPI_Win_complete(win);
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    long *attached = malloc(800);
    MPI_Win_attach(dynamic, attached, 800);
    MPI_Aint own, all[64];
    MPI_Get_address(attached, &own);
    MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_fence(0, dynamic);
    int next = (rank + 1) % size;
    for (int i = 0; i < 10; i++) MPI_Get(got, 8, MPI_LONG, next, all[next] + 8, 8, MPI_LONG, dynamic);
    MPI_Win_fence(0, dynamic);
    MPI_Win_detach(dynamic, attached);
    MPI_Win_free(&dynamic);
    MPI_Win_free(&win);
    printf("rank %d: ok\n", rank);
    MPI_Finalize();
    return 0;
}
