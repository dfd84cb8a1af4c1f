/* Memory that ranks share, blocks that are sampled: xsim.h, and SMPI's names for the same. */
#include "check.h"
#include <smpi/smpi.h>
#include <stdint.h>

static int block(int number, void **other)
{
    /* Two places in the program are two blocks. */
    char *scratch = XSIM_SHARED_MALLOC(1 << 20);
    char *more = SMPI_SHARED_MALLOC(1 << 20);
    CHECK(scratch && more && scratch != more && (uintptr_t)scratch % 64 == 0);
    *other = more;
    if (rank == 0)
        scratch[number] = 42;
    MPI_Barrier(MPI_COMM_WORLD);
    int seen = scratch[number];
    MPI_Barrier(MPI_COMM_WORLD);
    xsim_shared_free(scratch);
    return seen;
}

static void shared_memory(void)
{
    void *kept[2];
    CHECK(block(7, &kept[0]) == 42);
    /* Freed by all in between: zero again. */
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(block(8, &kept[1]) == 42 && kept[0] == kept[1]);
    unsigned long long mine = (uintptr_t)kept[0], least, greatest;
    MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &greatest, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == greatest);
    SMPI_SHARED_FREE(kept[0]);
    SMPI_SHARED_FREE(kept[1]);
    xsim_shared_free(NULL);
}

/* Each size is a block of its own. */
static void *sized(size_t bytes) { return XSIM_SHARED_MALLOC(bytes); }

static void sizes(void)
{
    void *small = sized(10), *large = sized(100000);
    CHECK(small != large && sized(10) == small);
    memset(large, 1, 100000);
    xsim_shared_free(small);
    xsim_shared_free(small);
    xsim_shared_free(large);
}

static void wrong_free(void)
{
    xsim_shared_free(&rank);
}

/* Virtual seconds from `start` on, in whole microseconds. */
static long since(double start) { return (long)((MPI_Wtime() - start) * 1e6 + 0.5); }

static void samples(void)
{
    int runs = 0, tagged = 0, global = 0, delayed = 0, i;
    double start = MPI_Wtime();
    for (i = 0; i < 10; i++)
        XSIM_SAMPLE(0, 4, 0.0) {
            runs++;
            xsim_compute(i * 1e-3);
        }
    /* 0 + 1 + 2 + 3 ms, then six times their mean of 1.5 ms. */
    CHECK(runs == 4 && since(start) == 6000 + 9000);

    start = MPI_Wtime();
    SMPI_SAMPLE_LOCAL_TAG(int k = 0, k < 100, k++, 3, 0.01, "work") { tagged++; xsim_compute(1e-3); }
    CHECK(tagged == 3 && since(start) == 100000);

    /* Each tag is a loop of its own, also one that is made while the program runs. */
    start = MPI_Wtime();
    tagged = 0;
    for (int pass = 0; pass < 4; pass++) {
        char tag[8] = { (char)('a' + pass / 2) };
        SMPI_SAMPLE_LOCAL_TAG(int k = 0, k < 100, k++, 3, 0.01, tag) { tagged++; xsim_compute(1e-3); }
    }
    CHECK(tagged == 6 && since(start) == 400000);
    TRACE_smpi_set_category("the rest");

    /* All ranks together run it so often; in this run they do so one after the other. */
    start = MPI_Wtime();
    SMPI_SAMPLE_GLOBAL(i = 0, i < 5, i++, 3, -1) { global++; xsim_compute(2e-3); }
    CHECK(i == 5 && since(start) == 10000);
    int all;
    MPI_Allreduce(&global, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 3);

    start = MPI_Wtime();
    SMPI_SAMPLE_DELAY(0.5) delayed++;
    CHECK(delayed == 0 && since(start) == 500000);
    smpi_execute(0.25);
    CHECK(since(start) == 750000);
}

/* What a block waits for inside MPI is not its cost. */
static void waits(void)
{
    int runs = 0, token = 0, peer = rank ^ 1;
    CHECK(size % 2 == 0);
    for (int i = 0; i < 3; i++)
        XSIM_SAMPLE(0, 3, 0.0) {
            xsim_compute(1e-3);
            if (rank < peer)
                xsim_compute(8e-3);
            MPI_Sendrecv_replace(&token, 1, MPI_INT, peer, 0, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            runs++;
        }
    CHECK(runs == 3);
    double start = MPI_Wtime();
    for (int i = 0; i < 2; i++)
        XSIM_SAMPLE_AS("other", 1, 0, 1, 0.0) xsim_compute(rank < peer ? 9e-3 : 1e-3);
    CHECK(since(start) == (rank < peer ? 18000 : 2000));
}

/* With measured computation: 200 blocks of which two run cost about as much as 200 that run. */
static void measured(void)
{
    volatile double x = 1;
    double start, all, sampled;
    for (int warm = 0; warm < 20000; warm++)
        x = x * 0.999 + 1;
    start = MPI_Wtime();
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < 20000; k++)
            x = x * 0.999 + 1;
    all = MPI_Wtime() - start;
    start = MPI_Wtime();
    for (int i = 0; i < 200; i++)
        XSIM_SAMPLE(0, 5, 0.0)
            for (int k = 0; k < 20000; k++)
                x = x * 0.999 + 1;
    sampled = MPI_Wtime() - start;
    if (!(sampled > all / 4 && sampled < all * 4))
        fprintf(stderr, "%g s sampled, %g s run\n", sampled, all);
    CHECK(sampled > all / 4 && sampled < all * 4);
}

static const Case cases[] = {
    { "shared_memory", shared_memory }, { "sizes", sizes }, { "wrong_free", wrong_free },
    { "samples", samples }, { "waits", waits }, { "measured", measured },
};

int main(int argc, char **argv) { return run_case(argc, argv, cases, (int)(sizeof cases / sizeof *cases)); }
