// C++ state: constructors and destructors once per rank, exceptions across switches.
#include "ranks.h"
#include <map>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

struct Counted {
    std::string name;
    std::vector<int> values;
    Counted(const char *n) : name(n), values(3, 1) { printf("rank %d constructs %s\n", rank_(), n); }
    ~Counted() { printf("rank %d destroys %s with %d\n", rank_(), name.c_str(), values[0]); }
};
static Counted global("global");
inline Counted inline_global("inline");
template <class T> struct Holder { static T value; };
template <class T> T Holder<T>::value = T(40);
thread_local std::string here = "thread";
std::map<std::string, int> table = {{"a", 1}};

static Counted &lazy() { static Counted made("lazy"); return made; }

static int thrower(int depth) {
    if (depth == 0) {
        yield_();
        throw std::runtime_error("from rank " + std::to_string(rank_()));
    }
    std::string guard(100, 'x');
    return thrower(depth - 1) + (int)guard.size();
}

int main() {
    int rank = rank_();
    CHECK(global.values[0] == 1 && table.size() == 1 && here == "thread" && Holder<int>::value == 40);
    global.values[0] += rank;
    inline_global.values[0] += 2 * rank;
    lazy().values[0] += 3 * rank;
    table["rank"] = rank;
    here += std::to_string(rank);
    Holder<int>::value += rank;
    yield_();
    CHECK(global.values[0] == 1 + rank && table["rank"] == rank && here == "thread" + std::to_string(rank));
    CHECK(Holder<int>::value == 40 + rank && lazy().values[0] == 1 + 3 * rank);
    for (int again = 0; again < 3; again++) {
        try {
            thrower(4 + rank);
            CHECK(false);
        } catch (const std::exception &e) {
            yield_();
            CHECK(std::uncaught_exceptions() == 0);
            CHECK(e.what() == "from rank " + std::to_string(rank));
            try {
                thrower(2);
            } catch (...) {
                yield_();
            }
            CHECK(e.what() == "from rank " + std::to_string(rank));
        }
    }
    std::cout << "rank " << rank << " says";
    yield_();
    std::cout << " this" << std::endl;
    return 0;
}
