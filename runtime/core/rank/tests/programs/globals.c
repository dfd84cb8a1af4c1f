/* Every kind of global state in C, written by ranks that interleave. */
#include "ranks.h"
#include <string.h>

int initialised = 5;
static int zero;
int *pointer_to_global = &initialised;
static char large[300000];
static double table[4][100] = {{1.0}};
static __thread int local = 7;
static __thread long local_zero[40];
static const char *text = "initial";
struct list { struct list *next; int value; } first = {&first, 1};
extern int *pointers[3];
int targets[3] = {10, 20, 30};
int *pointers[3] = {&targets[0], &targets[1], &targets[2]};
int (*function)(void);

static int counter(void) { static int n; return ++n; }
static int one(void) { return 1; }
static int two(void) { return 2; }

int main(void) {
    int rank = rank_(), size = size_();
    CHECK(initialised == 5 && zero == 0 && local == 7 && local_zero[39] == 0 && large[299999] == 0);
    CHECK(pointer_to_global == &initialised && first.next == &first && strcmp(text, "initial") == 0);
    function = rank % 2 ? one : two;
    for (int step = 1; step <= 6; step++) {
        initialised += rank;
        *pointer_to_global += 1;
        zero += 2 * rank;
        local += rank;
        local_zero[39] -= rank;
        large[5000 + rank * 4096 % 250000] += 1;
        memset(large + 290000, rank, 10000);
        table[3][99] += 0.5 * rank;
        *pointers[2] += rank;
        first.value += rank;
        text = rank % 2 ? "odd" : "even";
        int n = counter();
        yield_();
        CHECK(n == step);
        CHECK(initialised == 5 + step * (rank + 1) && zero == 2 * rank * step);
        CHECK(local == 7 + rank * step && local_zero[39] == -rank * step);
        CHECK(large[299999] == (char)rank && large[289999] == 0);
        for (int r = 0; r < size; r++)
            CHECK(large[5000 + r * 4096 % 250000] == (r == rank ? step : 0));
        CHECK(table[0][0] == 1.0 && table[3][99] == 0.5 * rank * step);
        CHECK(targets[2] == 30 + rank * step && pointers[2] == &targets[2]);
        CHECK(first.next == &first && first.next->next->value == 1 + rank * step);
        CHECK(strcmp(text, rank % 2 ? "odd" : "even") == 0);
        CHECK(function() == (rank % 2 ? 1 : 2));
        if (rank % 3 == 1)
            yield_();
    }
    printf("rank %d: %d %d\n", rank, initialised, zero);
    return 0;
}
