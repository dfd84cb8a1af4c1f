/* Uses a C++ library of its own whose objects live on the heap. */
#include "ranks.h"
int library_add(const char *line);
int library_length(void);

int main(void) {
    int rank = rank_(), before = library_length();
    CHECK(before == 49);
    for (int step = 0; step < 50; step++) {
        CHECK(library_add("one more line, which is too long for the string object") == step + 2);
        yield_();
    }
    CHECK(library_length() == before + 50 * 54);
    printf("rank %d is done\n", rank);
    return 0;
}
