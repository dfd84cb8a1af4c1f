#include <iostream>
#include <mpi.h>
#include <vector>

int main(int argc, char **argv) {
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> all(size);
    MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    sum = 0;
    for (int each : all) sum += each;
    if (rank == 0) std::cout << "C++: " << size << " ranks, sum " << sum << std::endl;
    return MPI_Finalize();
}
