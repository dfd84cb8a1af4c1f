/* Lines of several ranks, through stdio and past it. */
#include "ranks.h"
#include <errno.h>
#include <error.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* `error` then prints the text alone. */
static void no_name(void) {}

int main(int argc, char **argv) {
    int rank = rank_();
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("part %d", rank);
    yield_();
    printf(" end\n");
    fflush(stdout);
    printf("raw:");
    (void)!write(1, " yes\n", 5);
    fprintf(stderr, "error %d", rank);
    yield_();
    fprintf(stderr, " end\n");
    errno = ENOENT;
    perror("perror");
    /* glibc flushes standard output and error itself, not through `fflush`. */
    error_print_progname = no_name;
    printf("before ");
    error(0, 0, "error()");
    printf("and after\n");
    char line[100];
    if (fgets(line, sizeof line, stdin)) printf("rank %d read %s", rank, line);
    yield_();
    if (fgets(line, sizeof line, stdin)) printf("rank %d read %s", rank, line);
    CHECK(fileno(stdout) == 1);
    if (argc > 1) {
        /* More than any buffer without a switch. */
        char *large = malloc(6000001);
        memset(large, 'x', 6000000);
        large[6000000] = 0;
        printf("%s\n", large);
        puts("after");
    }
    if (argc > 2) {
        char name[200];
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        CHECK(freopen(name, "w", stdout) == stdout);
        printf("to file %d\n", rank);
        yield_();
        printf("more %d\n", rank);
        return 0;
    }
    printf("no newline %d", rank);
    return 0;
}
