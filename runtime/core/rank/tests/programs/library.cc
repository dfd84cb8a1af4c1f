// A C++ library of the program's own: its objects are constructed in each rank.
#include "ranks.h"
#include <string>
#include <vector>

struct Log {
    std::vector<std::string> lines;
    Log() : lines(1, "a first line that is too long for the string object itself") {}
    ~Log() {
        if (rank_() >= 0) printf("rank %d destroys %d lines\n", rank_(), (int)lines.size());
    }
};
static Log log_of_library;
static std::string *pointer = new std::string("made by a constructor of the library, on the heap");

extern "C" int library_add(const char *line) {
    log_of_library.lines.push_back(line);
    pointer->append(line);
    return (int)log_of_library.lines.size();
}
extern "C" int library_length(void) { return (int)pointer->size(); }
