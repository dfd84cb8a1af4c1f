/* A stencil of puts on a grid of ranks: between fences, in epochs of groups, under shared locks. */
#include "check.h"

enum { CELLS = 1000, STEPS = 100 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int grid[2] = {0, 0}, neighbors[4], members[4], count = 0;
    MPI_Dims_create(size, 2, grid);
    int x = rank / grid[1], y = rank % grid[1];
    for (int i = 0; i < 4; i++) {
        int there_x = x + (i == 0) - (i == 1), there_y = y + (i == 2) - (i == 3);
        int inside = there_x >= 0 && there_y >= 0 && there_x < grid[0] && there_y < grid[1];
        neighbors[i] = inside ? there_x * grid[1] + there_y : MPI_PROC_NULL;
        if (inside) members[count++] = neighbors[i];
    }
    double *memory, *edge = calloc(CELLS, sizeof *edge);
    MPI_Win win;
    MPI_Win_allocate(4 * CELLS * sizeof *edge, sizeof *edge, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, members, &group);
    MPI_Win_fence(0, win);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 4; i++)
            MPI_Put(edge, CELLS, MPI_DOUBLE, neighbors[i], i * CELLS, CELLS, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int step = 0; step < STEPS; step++) {
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        for (int i = 0; i < 4; i++)
            MPI_Put(edge, CELLS, MPI_DOUBLE, neighbors[i], i * CELLS, CELLS, MPI_DOUBLE, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 4; i++) {
            if (neighbors[i] == MPI_PROC_NULL) continue;
            MPI_Win_lock(MPI_LOCK_SHARED, neighbors[i], 0, win);
            MPI_Put(edge, CELLS, MPI_DOUBLE, neighbors[i], i * CELLS, CELLS, MPI_DOUBLE, win);
            MPI_Win_unlock(neighbors[i], win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    printf("rank %d: ok\n", rank);
    MPI_Finalize();
    return 0;
}
