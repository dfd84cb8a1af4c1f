// C++'s standard streams, of which each rank has its own: formats, state, buffers and ties, whatever another
// rank does to its own.
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <sstream>

#include <mpi.h>

static int rank;

static int shared(const char *what, const char *call)
{
    std::fprintf(stderr, "rank %d: %s is shared, seen behind %s\n", rank, what, call);
    return 1;
}

static int formats()
{
    int failures = 0;
    for (int step = 1; step <= 20; step++) {
        if (rank) {
            std::cout << std::setprecision(rank + step) << std::setfill(char('a' + rank))
                      << (rank % 2 ? std::hex : std::oct);
            std::cerr.width(rank + step);
            std::wcout.setstate(std::ios::failbit);
            std::cin.setstate(rank % 2 ? std::ios::eofbit : std::ios::badbit);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (std::cout.precision() != (rank ? rank + step : 6) ||
            std::cout.fill() != (rank ? char('a' + rank) : ' '))
            failures += shared("a format of cout", "MPI_Barrier");
        if (std::cerr.width() != (rank ? rank + step : 0))
            failures += shared("the width of cerr", "MPI_Barrier");
        if (std::wcout.good() == (rank > 0) || std::cin.bad() != (rank && rank % 2 == 0) ||
            std::cin.eof() != (rank % 2 == 1))
            failures += shared("a state", "MPI_Barrier");
    }
    return failures;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::string how = argv[1];
    std::ostringstream text;
    auto *buffer = std::cout.rdbuf();
    int failures = 0;
    if (how == "formats")
        failures = formats();
    if (how == "unsynchronised")
        std::ios::sync_with_stdio(false);
    if (rank && how == "state")
        std::cout.setstate(std::ios::failbit);
    if (rank && how == "nothing")
        std::cout.rdbuf(nullptr);
    if (rank && how == "text")
        std::cout.rdbuf(text.rdbuf());
    MPI_Barrier(MPI_COMM_WORLD);
    if (how != "formats")
        std::cout << "rank " << rank << " prints\n";
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank && how == "text" && text.str() != "rank " + std::to_string(rank) + " prints\n")
        failures += shared("a buffer", "MPI_Barrier");
    if (rank && (how == "text" || how == "nothing"))
        std::cout.rdbuf(buffer);
    MPI_Finalize();
    return failures != 0;
}
