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
        /* Each exchange with itself under a lock of its own takes no time; a message to itself neither: time passes by sleeping. */
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

static const Case cases[] = {{"passive", passive}, {"queue", queue}, {"all", all}, {"groups", groups}, {"fence", fence}, {"order", order}};

int main(int argc, char **argv) { return run_case(argc, argv, cases, sizeof cases / sizeof *cases); }
