/* Ranks that fail, as tests/failures.rs has them fail. The cases say what each rank has done, with its
 * virtual time. */
#include "check.h"
#include <xsim.h>

/* What a rank prints is buffered by the rank: a line that ends is out. */
static void say(const char *what, int number)
{ printf("%d %s %d at %.0f ns\n", rank, what, number, xsim_time() * 1e9); }

/* Steps of 10 us and a message around a ring. */
static void ring(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got;
    for (int step = 0; step < 20; step++) {
        xsim_compute(10e-6);
        MPI_Sendrecv(&step, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(got == step);
        say("step", step);
    }
}

/* Ranks that never meet, of which rank r computes r + 1 us at a time. */
static void apart(void)
{
    for (int step = 0; step < 50; step++) {
        xsim_compute((rank + 1) * 1e-6);
        MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        say("step", step);
    }
}

/* The last rank fails by itself in its third step, and the others wait for it. */
static void by_itself(void)
{
    for (int step = 0; step < 5; step++) {
        xsim_compute((size - rank) * 1e-6);
        if (rank == size - 1 && step == 2)
            xsim_fail();
        MPI_Barrier(MPI_COMM_WORLD);
        say("step", step);
    }
}

/* Rank 1 sends before it fails; rank 0 takes that later. */
static void sent_before(void)
{
    int value = 42;
    if (rank == 1) {
        xsim_compute(1e-6);
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        xsim_compute(1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        value = 0;
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("got", value);
    }
}

static const Case cases[] = {
    {"ring", ring}, {"apart", apart}, {"by_itself", by_itself}, {"sent_before", sent_before}};
RUN_CASES(cases)
