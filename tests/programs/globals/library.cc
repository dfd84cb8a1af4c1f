// The program's own C++ library: an object with a constructor, and a type of exception.
#include <string>
#include <vector>

#include "library.h"

static std::vector<std::string> lines(1, "a first line that is too long to lie inside of the string object");

int library_add(const char *line)
{
    lines.push_back(line);
    return static_cast<int>(lines.size());
}

void library_throw(int value) { throw LibraryError{value}; }
