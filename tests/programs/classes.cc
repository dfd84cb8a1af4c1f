// C++ on virtual ranks: constructors and destructors run once a rank, statics are a rank's own,
// and exceptions unwind across MPI calls of other ranks.
#include <mpi.h>
#include <cstdio>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Counter {
    int value;
    std::string name;
    Counter() : value(1), name("made") {}
    ~Counter() { std::printf("destroyed %d %s\n", value, name.c_str()); }
};

static Counter global;
inline std::vector<int> shared_name{1, 2, 3};
static thread_local std::string local = "thread";
template <typename T> struct Holder { static T value; };
template <typename T> T Holder<T>::value = T(7);

static std::map<int, int> &table()
{
    static std::map<int, int> instance{{0, 0}};
    return instance;
}

static int throws(int depth, int rank)
{
    if (depth == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        throw std::runtime_error("rank " + std::to_string(rank));
    }
    return throws(depth - 1, rank) + 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bool good = global.value == 1 && global.name == "made";
    for (int i = 0; i < 5; i++) {
        global.value += rank;
        shared_name.push_back(rank);
        local += std::to_string(rank % 10);
        Holder<int>::value += rank;
        table()[rank] += i;
        MPI_Barrier(MPI_COMM_WORLD);
        try {
            throws(3, rank);
            good = false;
        } catch (const std::runtime_error &error) {
            MPI_Barrier(MPI_COMM_WORLD);
            good = good && error.what() == "rank " + std::to_string(rank);
        }
    }
    good = good && global.value == 1 + 5 * rank && shared_name.size() == 8 && shared_name.back() == rank;
    good = good && local == "thread" + std::string(5, char('0' + rank % 10)) &&
           Holder<int>::value == 7 + 5 * rank;
    good = good && table()[rank] == 10 && table().size() == (rank == 0 ? 1u : 2u);
    global.name = "of rank " + std::to_string(rank);
    MPI_Finalize();
    std::cout << (good ? "ok" : "wrong") << std::endl;
    return good ? 0 : 1;
}
