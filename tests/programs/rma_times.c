/* One-sided communication: how long it takes, in picoseconds since the ranks were in step. */
#include "check.h"

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }
static MPI_Win win;
static char memory[4096];
static long long start;

static void in_step(void)
{
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    /* All ranks of a power of two leave a barrier at the same time. */
    MPI_Barrier(MPI_COMM_WORLD);
    start = now();
}

static void say(const char *what) { printf("rank %d %s %lld\n", rank, what, now() - start); }

static void out_of_step(void) { MPI_Win_free(&win); }

/* Rank 0 locks rank 1, puts 1000 bytes, gets 1000 and unlocks. */
static void passive(void)
{
    in_step();
    if (rank == 0) {
        static char data[1000];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        say("locked");
        MPI_Put(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, win);
        say("put");
        MPI_Win_flush(1, win);
        say("flushed");
        MPI_Get(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        say("got");
        MPI_Win_unlock(1, win);
        say("unlocked");
    }
    out_of_step();
}

/* All ranks lock rank 0 at the same time: they get it in the order of their numbers. */
static void queue(void)
{
    in_step();
    if (rank != 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        say("locked");
        MPI_Win_unlock(0, win);
    }
    out_of_step();
}

/* In an epoch of all: an 8-byte put, a fetch. */
static void all(void)
{
    in_step();
    long one = 1, got;
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        say("opened");
        MPI_Put(&one, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
        MPI_Win_flush_all(win);
        say("flushed");
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 1, 0, MPI_SUM, win);
        MPI_Win_flush_local(1, win);
        say("fetched");
    }
    MPI_Win_unlock_all(win);
    if (rank == 0) say("closed");
    out_of_step();
}

/* Rank 1 exposes, rank 0 accesses. */
static void groups(void)
{
    in_step();
    MPI_Group world, other;
    int partner = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (rank < 2) MPI_Group_incl(world, 1, &partner, &other);
    if (rank == 0) {
        char data[1000] = {0};
        MPI_Win_start(other, 0, win);
        say("started");
        MPI_Put(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, win);
        MPI_Win_complete(win);
        say("completed");
    } else if (rank == 1) {
        MPI_Win_post(other, 0, win);
        say("posted");
        MPI_Win_wait(win);
        say("waited");
    }
    MPI_Group_free(&world);
    if (rank < 2) MPI_Group_free(&other);
    out_of_step();
}

/* A fence with nothing, and one with a put of 1000 bytes and a get of as many. */
static void fence(void)
{
    in_step();
    char data[1000] = {0};
    MPI_Win_fence(0, win);
    say("first");
    start = now();
    if (rank == 0) MPI_Put(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    say("second");
    MPI_Barrier(MPI_COMM_WORLD);
    start = now();
    if (rank == 0) MPI_Get(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    say("third");
    out_of_step();
}

/* What a fetch finds follows from arrivals: rank r begins r * 10 us late, the last rank first. */
static void order(void)
{
    in_step();
    for (int i = 0; i < size - 1 - rank; i++) {
        /* Each exchange with itself under a lock of its own takes no time; a message to itself neither: time
         * passes by sleeping. */
        struct timespec { long seconds, nanoseconds; } pause = {0, 10000};
        extern int nanosleep(const void *, void *);
        nanosleep(&pause, 0);
    }
    long one = 1, got = -1;
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    printf("rank %d found %ld\n", rank, got);
    out_of_step();
}

/* Rank 1 fetches from its own memory six times before rank 0's only fetch is there. */
static void own(void)
{
    in_step();
    long one = 1, got = -1, *cell;
    MPI_Win heap;
    MPI_Win_allocate(sizeof *cell, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &heap);
    *cell = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, heap);
    for (int i = 0; i < (rank == 0 ? 1 : rank == 1 ? 6 : 0); i++) {
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 1, 0, MPI_SUM, heap);
        MPI_Win_flush(1, heap);
        printf("rank %d found %ld\n", rank, got);
    }
    MPI_Win_unlock_all(heap);
    MPI_Win_free(&heap);
    out_of_step();
}

/* A get of 1000 bytes and a put of 4000, from memory that any rank reaches, and from memory that only its
 * rank does. */
static void local(void)
{
    in_step();
    char *heap, data[4000] = {0};
    MPI_Win anywhere;
    MPI_Win_allocate(4000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &heap, &anywhere);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Win use = turn ? anywhere : win;
        MPI_Barrier(MPI_COMM_WORLD);
        start = now();
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, use);
            MPI_Get(data, 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, use);
            MPI_Put(data, 4000, MPI_BYTE, 1, 0, 4000, MPI_BYTE, use);
            MPI_Win_flush_local(1, use);
            say("data");
            MPI_Win_flush(1, use);
            say("flushed");
            MPI_Win_unlock(1, use);
        }
    }
    MPI_Win_free(&anywhere);
    out_of_step();
}

/* Both ranks accumulate 1000 bytes to both, and look each microsecond whether all is over. */
static void test(void)
{
    struct timespec { long seconds, nanoseconds; } pause = {0, 1000};
    extern int nanosleep(const void *, void *);
    in_step();
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    char data[1000] = {0};
    MPI_Win_post(all, 0, win);
    MPI_Win_start(all, 0, win);
    for (int to = 0; to < size; to++)
        MPI_Accumulate(data, 1000, MPI_BYTE, to, 0, 1000, MPI_BYTE, MPI_BOR, win);
    MPI_Win_complete(win);
    int over = 0, vain = 0;
    for (MPI_Win_test(win, &over); !over; MPI_Win_test(win, &over), vain++) nanosleep(&pause, 0);
    printf("rank %d asked %d times in vain until %lld\n", rank, vain, now() - start);
    MPI_Group_free(&all);
    out_of_step();
}

static const Case cases[] = {{"passive", passive}, {"queue", queue}, {"all", all},
                             {"groups", groups},   {"fence", fence}, {"order", order},
                             {"own", own},         {"local", local}, {"test", test}};

int main(int argc, char **argv) { return run_case(argc, argv, cases, sizeof cases / sizeof *cases); }
