// Threads of C++, POSIX and C11 beside the one that calls MPI.
#include "check.h"

#include <future>
#include <pthread.h>
#include <thread>
#include <threads.h>
#include <unistd.h>
#include <vector>

static int table[100];
static thread_local int mine = 5;
static thread_local int *where = table + 3;

static long worked(int from) {
    long sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += (from + i) % 7;
    return sum;
}

struct Counted {
    static int ended;
    ~Counted() { __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED); }
    int value = 1;
};
int Counted::ended = 0;
static thread_local Counted counted;

// A thread of the rank works on its globals while the main thread waits for other ranks.
static void beside() {
    long sum = 0;
    volatile bool stop = false;
    int wrong = 0, ended = Counted::ended;
    std::thread thread([&] {
        wrong += mine != 5 || where != table + 3 || counted.value != 1;
        mine = rank;
        do
            for (int &value : table)
                value = rank + 1;
        while (!stop);
        for (int &value : table)
            sum += value;
        wrong += mine != rank;
    });
    for (int i = 0; i < 20; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    stop = true;
    thread.join();
    CHECK(!wrong && sum == 100 * (rank + 1) && Counted::ended == ended + 1);
}

static int plain(void *argument) { return *static_cast<int *>(argument) + 1; }
static void *posix(void *argument) { pthread_exit(argument); }

// Each way to start a thread and to get its result.
static void ways() {
    auto later = std::async(std::launch::async, worked, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(later.get() == worked(rank));
    thrd_t c11;
    int result;
    CHECK(thrd_create(&c11, plain, &rank) == thrd_success);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(thrd_join(c11, &result) == thrd_success && result == rank + 1);
    pthread_t thread;
    void *answer;
    CHECK(pthread_create(&thread, nullptr, posix, &rank) == 0);
    CHECK(pthread_join(thread, &answer) == 0 && answer == &rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The call that a second thread makes, and the run ends at.
static void call() {
    std::thread([] { MPI_Barrier(MPI_COMM_WORLD); }).join();
}
static void query() {
    std::thread([] { MPI_Comm_rank(MPI_COMM_WORLD, &rank); }).join();
}
static void leave() {
    std::thread([] { exit(3); }).join();
}

// A thread that outlives its rank.
static void detached() {
    std::thread([] {
        for (;;)
            table[0]++;
    }).detach();
    MPI_Barrier(MPI_COMM_WORLD);
}

static const Case cases[] = {
    {"beside", beside}, {"ways", ways},   {"call", call},
    {"query", query},   {"leave", leave}, {"detached", detached},
};
RUN_CASES(cases)
