// What tests/programs/spawn_another.c spawns: a C++ program with static objects, exceptions that pass through
// it, and its own streams. Arguments as another.c's.
#include <mpi.h>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<std::string> names(100, "a name that is too long to be kept inside its string");
static int destroyed = 0;
struct Last {
    int rank = -1;
    ~Last()
    {
        if (++destroyed != 1 || names.size() != 101 + static_cast<size_t>(rank)) std::abort();
    }
};
static Last last;

static int thrown(int depth)
{
    if (depth == 0) throw std::runtime_error("thrown");
    return thrown(depth - 1) + 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i <= rank; i++) names.push_back(std::to_string(rank));
    last.rank = rank;
    bool caught = false;
    try {
        MPI_Barrier(MPI_COMM_WORLD);
        thrown(5);
    } catch (const std::runtime_error &error) {
        // Others throw theirs meanwhile.
        MPI_Barrier(MPI_COMM_WORLD);
        caught = std::string("thrown") == error.what();
    }
    if (!caught || names.size() != 101u + static_cast<size_t>(rank) || argc < 3) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Comm_get_parent(&parent);
    int out[] = {std::atoi(argv[2]) ? std::atoi(argv[2]) : 7, rank, size};
    MPI_Send(out, 3, MPI_INT, 0, 5, parent);
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    std::cout << "another " << rank << " of " << size << ": " << out[0] << std::endl;
    MPI_Finalize();
}
