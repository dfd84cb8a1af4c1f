/* Computation that is measured costs the same in one interval and in many between calls, which are not its
 * time. */
#include "check.h"

enum { INTERVALS = 4000, TRIES = 21, ROUNDS = 5 };

/* Some 200 ns, each step of which waits for the one before. */
static double work(double x)
{
    for (int i = 0; i < 75; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

static double x = 1;

/* Messages to itself on a machine without delays. */
static double apart(void)
{
    double began = MPI_Wtime();
    for (int i = 0; i < INTERVALS; i += 4) {
        MPI_Request request;
        int got = -1;
        x = work(x);
        MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
        x = work(x);
        MPI_Send(&i, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        x = work(x);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        x = work(x);
        CHECK(got == i);
    }
    return MPI_Wtime() - began;
}

static double together(void)
{
    double began = MPI_Wtime();
    for (int i = 0; i < INTERVALS; i++)
        x = work(x);
    return MPI_Wtime() - began;
}

/* What others took of the processor is in the longer ones. */
static double shortest(const double *took)
{
    double least = took[0];
    for (int i = 1; i < TRIES; i++)
        least = took[i] < least ? took[i] : least;
    return least;
}

static double ratio(void)
{
    double one[TRIES], many[TRIES];
    for (int i = 0; i < TRIES; i++) {
        one[i] = together();
        many[i] = apart();
    }
    return shortest(many) / shortest(one);
}

/* Holds in one of a few rounds, since others may take the processor away. */
static void once(void)
{
    double found = 0;
    int holds = 0;
    for (int round = 0; round < ROUNDS && !holds; round++) {
        found = ratio();
        holds = x > 0 && found > 0.75 && found < 1.35;
    }
    if (!holds)
        fprintf(stderr, "intervals between calls cost %.2f of what they cost alone\n", found);
    CHECK(holds);
}

static const Case cases[] = { { "once", once } };

int main(int argc, char **argv) { return run_case(argc, argv, cases, 1); }
