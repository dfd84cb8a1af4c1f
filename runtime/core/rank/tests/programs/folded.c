/* scratch and small are folded: one for all ranks. The rest stays private. */
#include "ranks.h"
double scratch[30000] = {1.0};
static int before = 1;
static int small;
static int after[100];

int main(void) {
    int rank = rank_();
    before += rank;
    after[99] += rank;
    small += 1;
    scratch[29999] += 1;
    yield_();
    CHECK(small == size_() && scratch[29999] == size_() && scratch[0] == 1.0);
    CHECK(before == 1 + rank && after[99] == rank);
    yield_();
    return 0;
}
