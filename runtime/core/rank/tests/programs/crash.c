/* One rank does what argv[1] says after the others have printed. */
#include "ranks.h"
#include <assert.h>
#include <string.h>

static int *volatile nowhere;
static volatile int nothing;
__attribute__((noinline)) int touch(void) { return *nowhere; }
__attribute__((noinline)) int deeper(int n) {
    volatile char frame[1000];
    frame[0] = (char)n;
    return n < 0 ? 0 : deeper(n + 1) + frame[0];
}

int main(int argc, char **argv) {
    (void)argc;
    printf("hello from %d\nunfinished %d", rank_(), rank_());
    yield_();
    if (rank_() == 2) {
        if (!strcmp(argv[1], "memory")) return touch();
        if (!strcmp(argv[1], "stack")) return deeper(0);
        if (!strcmp(argv[1], "division")) return 1000 / nothing;
        if (!strcmp(argv[1], "abort")) abort();
        if (!strcmp(argv[1], "assert")) assert(nothing);
        if (!strcmp(argv[1], "busy")) /* Divisions, of which no processor does a billion a second. */
            for (volatile double n = 1.5, i = 0; i < 1e8; i++) n = 3 / n;
    }
    yield_();
    printf(" and done\n");
    return 0;
}
