// Every kind of state that C++ has beyond C's, and exceptions whose way crosses MPI calls.
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls.h"
#include "library.h"

static int constructed, destroyed;

struct Object {
    std::vector<int> values;
    Object() : values(3, 1) { constructed++; }
    ~Object()
    {
        destroyed++;
        if (destroyed == constructed)
            printf("%d constructed and destroyed\n", destroyed);
    }
};

static Object with_constructor;
struct Holder {
    static inline Object member;
    static inline int number = 8;
};
template <class T> struct Template {
    static T value;
};
template <class T> T Template<T>::value = T(40);
static thread_local std::string here = "thread";
static std::map<std::string, int> table = {{"a", 1}};
static std::exception_ptr kept;

static Object &lazy()
{
    static Object made;
    return made;
}

static void change(int rank, int)
{
    with_constructor.values[0] += rank;
    Holder::member.values[1] += rank;
    Holder::number += rank;
    Template<int>::value += rank;
    Template<double>::value += 0.5 * rank;
    here = "thread of " + std::to_string(rank);
    table["rank"] = rank;
    lazy().values[2] += rank;
}

static void check(int rank, int step, const char *call)
{
    HOLDS("static with a constructor", with_constructor.values[0] == 1 + rank * step);
    HOLDS("inline static", Holder::member.values[1] == 1 + rank * step && Holder::number == 8 + rank * step);
    HOLDS("template static",
          Template<int>::value == 40 + rank * step && Template<double>::value == 40 + 0.5 * rank * step);
    HOLDS("thread_local object", here == "thread of " + std::to_string(rank));
    HOLDS("map", table.size() == 2 && table["rank"] == rank);
    HOLDS("function static object", lazy().values[2] == 1 + rank * step);
}

// Unwinds as many frames as its depth says, after a call in which other ranks run.
static int thrower(int rank, int size, int depth)
{
    struct Guard {
        ~Guard() { MPI_Barrier(MPI_COMM_WORLD); } // Others run while this rank unwinds.
    };
    if (depth == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2)
            library_throw(rank);
        throw std::runtime_error("from rank " + std::to_string(rank));
    }
    Guard guard;
    return thrower(rank, size, depth - 1) + 1;
}

static void exceptions(int rank, int size)
{
    const char *call = "an exception";
    for (int again = 0; again < 3; again++) {
        bool caught = false;
        try {
            thrower(rank, size, 4);
        } catch (const LibraryError &error) {
            MPI_Barrier(MPI_COMM_WORLD);
            caught = rank % 2 && error.value == rank;
            kept = std::current_exception();
        } catch (const std::exception &error) {
            MPI_Barrier(MPI_COMM_WORLD);
            caught = rank % 2 == 0 && error.what() == "from rank " + std::to_string(rank);
            kept = std::current_exception();
        }
        MPI_Barrier(MPI_COMM_WORLD);
        HOLDS("exception", caught && std::uncaught_exceptions() == 0);
        try {
            std::rethrow_exception(kept);
        } catch (const LibraryError &error) {
            HOLDS("exception_ptr", rank % 2 && error.value == rank);
        } catch (const std::exception &error) {
            HOLDS("exception_ptr", rank % 2 == 0 && error.what() == "from rank " + std::to_string(rank));
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *call = "MPI_Init";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    HOLDS("constructor", constructed == 2 && destroyed == 0);
    HOLDS("library's object", library_add("a second line, too long to lie inside of the string object") == 2);
    all_calls(rank, size, 3);
    HOLDS("library's object", library_add("a third line, too long to lie inside of the string object") == 3);
    exceptions(rank, size);
    MPI_Finalize();
    return failures != 0;
}
