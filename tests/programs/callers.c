/* One place that calls MPI, reached through several functions: optimized code without frame pointers must not
   lose the way. Rank 1 receives what rank 0 sends: through "left" after 10 us, through "right" after 30 us,
   twice. */
#include "check.h"
#include "xsim.h"
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static volatile int used;

APART static void exchange(double us)
{
    if (rank == 0) {
        xsim_compute(us * 1e-6);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    used++;
}

/* Its frame has no size that the compiler knows. */
APART static void left(int count)
{
    volatile char *room = __builtin_alloca(count);
    room[0] = room[count - 1] = 1;
    exchange(10);
    used += room[0];
}

APART static void right(int count)
{
    char room[200];
    memset(room, count, sizeof room);
    exchange(30);
    used += room[count];
}

/* What the compiler puts into its caller is a caller all the same. */
__attribute__((always_inline)) static inline void step(int count)
{
    right(count);
    used++;
}

APART static void twice(int count)
{
    for (int turn = 0; turn < 2; turn++)
        step(count);
    used++;
}

static int compare(const void *a, const void *b)
{
    static int done;
    if (!done) {
        done = 1;
        exchange(0);
    }
    return *(const int *)a - *(const int *)b;
}

/* The C library is between the program's functions. */
static void sorted(void)
{
    int two[] = {2, 1};
    qsort(two, 2, sizeof *two, compare);
    CHECK(two[0] == 1);
}

static void chains(void)
{
    left(100 + rank);
    twice(3);
}

int main(int argc, char **argv)
{
    static const Case cases[] = {{"chains", chains}, {"sorted", sorted}};
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
