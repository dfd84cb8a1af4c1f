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

/* Parts of a block are one memory for all ranks, in whole pages; the rest is a rank's own. */
static void partial(void)
{
    enum { PAGE = 4096, BYTES = 8 * PAGE + 100 };
    /* Pages 0 and 1; nothing whole; page 5 of 4.5 to 6; from page 7 to the end. */
    const size_t parts[] = { 0,        2 * PAGE, 3 * PAGE + 1, 4 * PAGE + 1, 4 * PAGE + PAGE / 2,
                             6 * PAGE, 7 * PAGE, BYTES };
    for (int pass = 0; pass < 2; pass++) {
        char *block = XSIM_PARTIAL_SHARED_MALLOC(BYTES, parts, 4);
        char *other = SMPI_PARTIAL_SHARED_MALLOC(BYTES, parts, 4);
        CHECK(block && other && block != other && (uintptr_t)block % PAGE == 0);
        for (int i = 0; i < BYTES; i++)
            CHECK(block[i] == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(block, 1 + rank, BYTES);
        MPI_Barrier(MPI_COMM_WORLD);
        int shared = 0, own = 0, last = 0;
        char first = block[0];
        for (int i = 0; i < BYTES; i++) {
            int page = i / PAGE;
            if (page < 2 || page == 5 || page >= 7)
                shared += block[i] == first;
            else
                own += block[i] == 1 + rank;
            last += other[i];
        }
        CHECK(shared == 4 * PAGE + 100 && own == 4 * PAGE && last == 0);
        char greatest;
        MPI_Allreduce(&first, &greatest, 1, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
        CHECK(first == greatest);
        /* Messages go from and to both kinds. */
        int to = (rank + 1) % size, from = (rank + size - 1) % size;
        MPI_Sendrecv(block + 2 * PAGE, PAGE, MPI_CHAR, to, 0, other + 2 * PAGE, PAGE, MPI_CHAR, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(other[2 * PAGE] == 1 + from && other[3 * PAGE - 1] == 1 + from);
        MPI_Barrier(MPI_COMM_WORLD);
        xsim_shared_free(block);
        SMPI_SHARED_FREE(other);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void wrong_parts(void)
{
    const size_t parts[] = { 0, 8192, 4096, 12288 };
    (void)XSIM_PARTIAL_SHARED_MALLOC(16384, parts, 2);
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

/* With -xsim-flops 2Gflops. */
static void flops(void)
{
    int ran = 0;
    double start = MPI_Wtime();
    CHECK(xsim_compute_flops(2e6) == 0 && since(start) == 1000);
    SMPI_SAMPLE_FLOPS(4e6) ran++;
    CHECK(ran == 0 && since(start) == 3000);
    smpi_execute_flops(1e6);
    smpi_execute_flops_benched(1e6);
    smpi_execute_benched(1e-3);
    CHECK(since(start) == 5000);
    CHECK(xsim_compute_flops(-1) == -1 && xsim_compute_flops(0.0 / 0.0) == -1 &&
          xsim_compute_flops(1e30) == -1);
    CHECK(since(start) == 5000);
}

static void no_flops(void) { smpi_execute_flops(1e6); }

static void wrong_delay(void) { smpi_execute(-1); }

static int made;

static void *make(int number)
{
    int *result = malloc(sizeof *result);
    made++;
    *result = number;
    return result;
}

SMPI_VARINIT_GLOBAL(counter, int)
SMPI_VARINIT_GLOBAL_AND_SET(start_at, long, 5)

static int *visits(void)
{
    SMPI_VARINIT_STATIC_AND_SET(visited, int, 3);
    SMPI_VARGET_STATIC(visited)++;
    return &visited;
}

/* One rank makes a call for all; variables and pointers are each rank's own. */
static void names(void)
{
    int *first = SMPI_SHARED_CALL(make, "first", 7), *second = SMPI_SHARED_CALL(make, "second", 8);
    CHECK(*first == 7 && *second == 8 && first == SMPI_SHARED_CALL(make, "first", 9));
    int all;
    MPI_Allreduce(&made, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 2);

    SMPI_VARGET_GLOBAL(counter) = rank;
    SMPI_VARGET_GLOBAL(start_at) += rank;
    smpi_process_set_user_data(&counter);
    visits();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(counter == rank && start_at == 5 + rank && smpi_process_get_user_data() == &counter &&
          *visits() == 5);
    CHECK(smpi_process_index() == rank && smpi_global_size() == size);
    CHECK(smpi_process_comm_self() == MPI_COMM_SELF && smpi_process_info_env() == MPI_INFO_ENV);

    unsigned long long before = smpi_rastro_timestamp();
    smpi_execute(2.5);
    CHECK(smpi_rastro_timestamp() - before == 2500000000 && smpi_rastro_resolution() == 1000000000);
    smpi_init_options();
    smpi_trace_set_call_location(__FILE__, __LINE__, "MPI_Send");
}

/* With measured computation: what runs between the end and the beginning of the bench costs nothing. */
static void unmeasured(void)
{
    volatile double x = 1;
    double start = MPI_Wtime();
    for (int k = 0; k < 2000000; k++)
        x = x * 0.999 + 1;
    double all = MPI_Wtime() - start;
    start = MPI_Wtime();
    smpi_bench_end();
    for (int k = 0; k < 2000000; k++)
        x = x * 0.999 + 1;
    smpi_bench_begin();
    double left = MPI_Wtime() - start;
    CHECK(all > 0 && left < all / 4);
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
    { "shared_memory", shared_memory },
    { "sizes", sizes },
    { "wrong_free", wrong_free },
    { "partial", partial },
    { "wrong_parts", wrong_parts },
    { "samples", samples },
    { "flops", flops },
    { "no_flops", no_flops },
    { "wrong_delay", wrong_delay },
    { "names", names },
    { "unmeasured", unmeasured },
    { "waits", waits },
    { "measured", measured },
};

int main(int argc, char **argv) { return run_case(argc, argv, cases, (int)(sizeof cases / sizeof *cases)); }
