/* Ways to end a rank; argv[1] chooses. */
#include "ranks.h"
#include <string.h>
#include <unistd.h>

static void first(void) { printf("rank %d: first\n", rank_()); }
static void second(void) { yield_(); printf("rank %d: second\n", rank_()); }
static void quick(void) { printf("rank %d: quick\n", rank_()); }
static void status(int code, void *argument) {
    printf("rank %d: status %d %s\n", rank_(), code, (char *)argument);
}
__attribute__((constructor)) static void begin(int argc, char **argv) {
    printf("rank %d: begin %d %s\n", rank_(), argc, argv[1]);
}
__attribute__((destructor)) static void end(void) { printf("rank %d: end\n", rank_()); }

int main(int argc, char **argv) {
    (void)argc;
    atexit(first);
    atexit(second);
    on_exit(status, "argument");
    at_quick_exit(quick);
    yield_();
    if (!strcmp(argv[1], "exit")) exit(rank_() + 3);
    if (!strcmp(argv[1], "_exit")) _exit(rank_() + 3);
    if (!strcmp(argv[1], "quick")) quick_exit(rank_() + 3);
    return rank_() + 3;
}
