/* Ranks blocked at different depths, with data on their stacks. */
#include "ranks.h"
#include <string.h>

static long down(int depth, long seed) {
    long frame[20];
    for (int k = 0; k < 20; k++) frame[k] = seed * 31 + k;
    if (depth == 0) yield_();
    else (void)down(depth - 1, seed + 1);
    CHECK(frame[0] == seed * 31);
    for (int k = 0; k < 20; k++) CHECK(frame[k] == frame[0] + k);
    return frame[0] % 7;
}

int main(int argc, char **argv) {
    int rank = rank_();
    char name[64];
    snprintf(name, sizeof name, "rank %d", rank);
    for (int step = 0; step < 8; step++) {
        down((rank * 7 + step * 5) % 60, rank * 1000 + step);
        char expected[64];
        snprintf(expected, sizeof expected, "rank %d", rank);
        CHECK(!strcmp(name, expected) && argc == 2 && !strcmp(argv[1], "depths") && argv[2] == NULL);
    }
    return 0;
}
