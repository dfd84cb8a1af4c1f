/* Ranks make a grid and a window, synchronise the window, and rank 0 sends 100 bytes. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int size, rank, dims[2] = { 0, 0 }, periods[2] = { 1, 1 }, cell = 0;
    char bytes[100] = { 0 };
    MPI_Comm grid;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, grid, &window);
    if (rank == 0)
        MPI_Send(bytes, 100, MPI_BYTE, 1, 0, grid);
    else if (rank == 1)
        MPI_Recv(bytes, 100, MPI_BYTE, 0, 0, grid, MPI_STATUS_IGNORE);
    MPI_Win_free(&window);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
