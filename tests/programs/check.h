/* What the test programs share: a check that names its place, and cases chosen by name. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "rank %d, %s:%d: not %s\n", rank, __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                 \
        }                                                                                  \
    } while (0)

typedef struct {
    const char *name;
    void (*run)(void);
} Case;

/* Runs the case named by the first argument between MPI_Init and MPI_Finalize; each rank then says ok. */
static inline int run_case(int argc, char **argv, const Case *cases, int count)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            MPI_Finalize();
            printf("ok\n");
            return 0;
        }
    fprintf(stderr, "no case %s\n", argc > 1 ? argv[1] : "given");
    MPI_Abort(MPI_COMM_WORLD, 98);
    return 98;
}

#define RUN_CASES(cases) \
    int main(int argc, char **argv) { return run_case(argc, argv, cases, sizeof cases / sizeof *cases); }

#endif
