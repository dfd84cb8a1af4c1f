/* getopt, strtok, rand, errno and argv belong to each rank. */
#include "ranks.h"
#include <errno.h>
#include <getopt.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank = rank_(), a = 0, seen = 0, option;
    const char *b = "";
    CHECK(optind == 1);
    if (rank % 2) yield_();
    while ((option = getopt(argc, argv, "ab:c")) != -1) {
        if (option == 'a') a++;
        if (option == 'b') b = optarg;
        seen++;
    }
    CHECK(a == 2 && !strcmp(b, "value") && seen == 4 && optind == 4);
    yield_();
    CHECK(optind == 4 && !strcmp(argv[optind], "rest"));
    argv[optind][0] = 'A' + rank;
    yield_();
    CHECK(argv[optind][0] == 'A' + rank);

    char words[] = "one two three";
    CHECK(!strcmp(strtok(words, " "), "one"));
    yield_();
    CHECK(!strcmp(strtok(NULL, " "), "two"));
    yield_();
    CHECK(!strcmp(strtok(NULL, " "), "three"));

    CHECK(rand() == 1804289383);
    yield_();
    CHECK(rand() == 846930886);
    srand(rank + 1);
    int expected[3];
    for (int k = 0; k < 3; k++) expected[k] = rand();
    srand(rank + 1);
    for (int k = 0; k < 3; k++) {
        yield_();
        CHECK(rand() == expected[k]);
    }
    srand48(rank);
    double x = drand48();
    yield_();
    double y = drand48();
    srand48(rank);
    CHECK(drand48() == x && drand48() == y);

    errno = rank + 1;
    yield_();
    CHECK(errno == rank + 1);
    return 0;
}
