// One rank throws what nobody catches.
#include <mpi.h>
#include <stdexcept>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        throw std::runtime_error("nobody expects this");
    MPI_Finalize();
    return 0;
}
