/* Uses a library of its own: its state is each rank's. */
#include "ranks.h"
extern int library_value;
int library_count(void);
int library_local(void);
int *library_pointer(void);

int main(void) {
    int rank = rank_();
    CHECK(library_value == 3);
    for (int step = 1; step < 5; step++) {
        library_value += rank;
        CHECK(library_count() == step);
        CHECK(library_local() == 4 + step * rank);
        yield_();
        CHECK(library_value == 3 + step * rank && *library_pointer() == library_value);
    }
    return 0;
}
