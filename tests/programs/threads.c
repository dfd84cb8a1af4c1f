// Threads of one rank that call MPI, one at a time.
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 25 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

static void init(int level) {
    int provided, main_thread;
    MPI_Init_thread(NULL, NULL, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == level);
    MPI_Query_thread(&provided);
    CHECK(provided == level);
    MPI_Is_thread_main(&main_thread);
    CHECK(main_thread);
}

// Each thread has a tag, and sends around the ring.
static void *around(void *argument) {
    int tag = *(int *)argument, main_thread, value;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        MPI_Is_thread_main(&main_thread);
        CHECK(!main_thread);
        value = tag * 1000 + round * 10 + rank;
        MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value % 10 == (rank + size - 1) % size);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

// Asks for the time without a lock, as any thread may.
static void *watch(void *argument) {
    double last = 0;
    int flag;
    while (!stop) {
        double now = MPI_Wtime();
        CHECK(now >= last);
        last = now;
        MPI_Initialized(&flag);
        CHECK(flag);
    }
    return argument;
}

static void serialized(void) {
    pthread_t threads[THREADS], watcher;
    int tags[THREADS];
    pthread_create(&watcher, NULL, watch, NULL);
    for (int i = 0; i < THREADS; i++) {
        tags[i] = i;
        pthread_create(&threads[i], NULL, around, &tags[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    stop = 1;
    pthread_join(watcher, NULL);
}

static volatile int waiting;

static void *wait_for_ever(void *argument) {
    waiting = 1;
    MPI_Recv(argument, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

// Two threads in MPI at once, on rank 0.
static void crossed(void) {
    static int value;
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, wait_for_ever, &value);
        while (!waiting)
            usleep(1000);
        usleep(300000);
    } else {
        // Keeps the first thread waiting: a deadlock would be found before.
        sleep(20);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Work of another thread while the main thread waits for it is the rank's.
static void *burn(void *argument) {
    volatile double x = 1;
    for (long i = 0; i < 60000000; i++)
        x += 1e-9;
    return argument;
}

static void charged(void) {
    pthread_t thread;
    double before = MPI_Wtime();
    pthread_create(&thread, NULL, burn, NULL);
    pthread_join(thread, NULL);
    double worked = MPI_Wtime() - before;
    CHECK(worked > 0.01);
    before = MPI_Wtime();
    usleep(200000);
    CHECK(MPI_Wtime() - before < 0.1);
}

int main(int argc, char **argv) {
    init(argc > 2 && !strcmp(argv[2], "funneled") ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED);
    CHECK(argc >= 2);
    if (!strcmp(argv[1], "serialized"))
        serialized();
    if (!strcmp(argv[1], "crossed"))
        crossed();
    if (!strcmp(argv[1], "charged"))
        charged();
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
