// Threads of one rank that are in MPI at once (MPI_THREAD_MULTIPLE): each case some hundred rounds, with all
// data looked at.
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200, BIG = 20000 };

static void start(void *(*function)(void *), pthread_t *threads, int *numbers, int count) {
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, function, &numbers[i]) == 0);
    }
}

// Runs a function on so many threads, each with its number.
static void on_threads(void *(*function)(void *), int count) {
    pthread_t threads[16];
    int numbers[16];
    start(function, threads, numbers, count);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static int right(void) {
    return (rank + 1) % size;
}

static int left(void) {
    return (rank + size - 1) % size;
}

// Each thread has a tag; even ones send to the right and receive from the left, odd ones the other way round.
static void *both_ways(void *argument) {
    int tag = *(int *)argument, there = tag % 2 ? left() : right(), from = tag % 2 ? right() : left();
    int *out = malloc(BIG * sizeof *out), *in = malloc(BIG * sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 10 == 9 ? BIG : 1 + round % 7;
        MPI_Status status;
        for (int i = 0; i < count; i++)
            out[i] = rank * 1000000 + tag * 100000 + round + i;
        if (round % 3 == 0) {
            MPI_Request request;
            MPI_Isend(out, count, MPI_INT, there, tag, MPI_COMM_WORLD, &request);
            MPI_Recv(in, BIG, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (round % 3 == 1) {
            MPI_Sendrecv(out, count, MPI_INT, there, tag, in, BIG, MPI_INT, from, tag, MPI_COMM_WORLD,
                         &status);
        } else {
            MPI_Request request;
            MPI_Irecv(in, BIG, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
            MPI_Ssend(out, count, MPI_INT, there, tag, MPI_COMM_WORLD);
            MPI_Wait(&request, &status);
        }
        int got;
        MPI_Get_count(&status, MPI_INT, &got);
        CHECK(got == count && status.MPI_SOURCE == from && status.MPI_TAG == tag);
        for (int i = 0; i < count; i++)
            CHECK(in[i] == from * 1000000 + tag * 100000 + round + i);
    }
    free(out);
    free(in);
    return NULL;
}

static MPI_Comm comms[THREADS];

static void *collectives(void *argument) {
    int number = *(int *)argument;
    MPI_Comm comm = comms[number];
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank + number + round, sum = 0, all[64], root = round % size,
            value = rank == root ? round * 7 + number : -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2 + size * (number + round));
        MPI_Bcast(&value, 1, MPI_INT, root, comm);
        CHECK(value == round * 7 + number);
        MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == i + number + round);
        if (round % 4 == 0) {
            MPI_Request request;
            MPI_Ibarrier(comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(comm);
        }
    }
    return NULL;
}

// Blocked in a receive until the main thread, which computes meanwhile, sends.
static void *receiver(void *argument) {
    int value;
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status);
        CHECK(value == round * 100 + left() && status.MPI_SOURCE == left());
    }
    return argument;
}

static void computes_and_sends(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, receiver, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        volatile double x = 1;
        for (int i = 0; i < 20000; i++)
            x += 1e-9;
        if (round % 50 == 0)
            usleep(20000);
        int value = round * 100 + rank;
        MPI_Send(&value, 1, MPI_INT, right(), round, MPI_COMM_WORLD);
    }
    pthread_join(thread, NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int got[THREADS * ROUNDS];

// Whoever finds a message takes it: each comes once.
static void *probing(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Message message;
        MPI_Status status;
        int value, flag = 0;
        if (*(int *)argument % 2) {
            MPI_Mprobe(left(), MPI_ANY_TAG, comms[0], &message, &status);
        } else {
            while (!flag)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[0], &flag, &message, &status);
        }
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
        CHECK(status.MPI_SOURCE == left() && status.MPI_TAG == value % 97);
        pthread_mutex_lock(&lock);
        CHECK(value >= 0 && value < THREADS * ROUNDS && !got[value]);
        got[value] = 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void probes(void) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    start(probing, threads, numbers, THREADS);
    for (int i = 0; i < THREADS * ROUNDS; i++)
        MPI_Send(&i, 1, MPI_INT, right(), i % 97, comms[0]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS * ROUNDS; i++)
        CHECK(got[i]);
}

static void *waits(void *argument) {
    enum { REQUESTS = 16 };
    int number = *(int *)argument, in[REQUESTS], out[REQUESTS];
    MPI_Request requests[2 * REQUESTS];
    for (int round = 0; round < ROUNDS / 2; round++) {
        for (int i = 0; i < REQUESTS; i++) {
            in[i] = -1;
            MPI_Irecv(&in[i], 1, MPI_INT, left(), number * REQUESTS + i, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = REQUESTS - 1; i >= 0; i--) {
            out[i] = rank + 10 * i + 1000 * round;
            if (i % 3)
                MPI_Isend(&out[i], 1, MPI_INT, right(), number * REQUESTS + i, MPI_COMM_WORLD,
                          &requests[REQUESTS + i]);
            else
                MPI_Issend(&out[i], 1, MPI_INT, right(), number * REQUESTS + i, MPI_COMM_WORLD,
                           &requests[REQUESTS + i]);
        }
        int left_over = 2 * REQUESTS, index, count, indices[2 * REQUESTS], flag;
        switch ((round + number) % 4) {
        case 0:
            MPI_Waitall(2 * REQUESTS, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (; left_over > 0; left_over--) {
                MPI_Waitany(2 * REQUESTS, requests, &index, MPI_STATUS_IGNORE);
                CHECK(index >= 0 && index < 2 * REQUESTS);
            }
            break;
        case 2:
            for (; left_over > 0; left_over -= count) {
                MPI_Waitsome(2 * REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
                CHECK(count > 0);
            }
            break;
        default:
            do
                MPI_Testall(2 * REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
            while (!flag);
        }
        for (int i = 0; i < REQUESTS; i++)
            CHECK(in[i] == left() + 10 * i + 1000 * round);
    }
    return NULL;
}

// Communicators are made on several threads at once, each from one of its own.
static void *making(void *argument) {
    int number = *(int *)argument;
    for (int round = 0; round < ROUNDS / 4; round++) {
        MPI_Comm made, halves;
        MPI_Group group;
        int mine = rank, sum, ranks;
        MPI_Comm_dup(comms[number], &made);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Comm_split(made, rank % 2, -rank, &halves);
        MPI_Comm_size(halves, &ranks);
        CHECK(ranks == (size + 1 - rank % 2) / 2);
        MPI_Barrier(halves);
        MPI_Comm_free(&halves);
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, number, &halves);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, halves);
        CHECK(sum == size - 1);
        MPI_Group_free(&group);
        MPI_Comm_free(&halves);
        MPI_Comm_free(&made);
    }
    return NULL;
}

// What a thread waits for, another thread of its rank brings.
static void *to_itself(void *argument) {
    int number = *(int *)argument, partner = number ^ 1, value;
    for (int round = 0; round < ROUNDS; round++) {
        value = round * 10 + number;
        if (number % 2) {
            MPI_Ssend(&value, 1, MPI_INT, rank, number, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, rank, partner, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, partner, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == round * 10 + partner);
            value = round * 10 + number;
            MPI_Send(&value, 1, MPI_INT, rank, number, MPI_COMM_WORLD);
        }
        CHECK(value / 10 == round);
    }
    return NULL;
}

static MPI_Win window;

static void *accesses(void *argument) {
    int number = *(int *)argument, one = 1, before;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT, right(), number, MPI_SUM, window);
        MPI_Win_flush(right(), window);
        CHECK(before == round);
    }
    return NULL;
}

static void one_sided(void) {
    int *memory;
    MPI_Win_allocate(THREADS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    for (int i = 0; i < THREADS; i++)
        memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    on_threads(accesses, THREADS);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++)
        CHECK(memory[i] == ROUNDS);
    MPI_Win_free(&window);
}

// The one thread that waits is not taken to wait for ever: another one sends late.
static void *late(void *argument) {
    usleep(300000);
    int value = 5;
    MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    return argument;
}

static void waits_for_a_late_thread(void) {
    pthread_t thread;
    int value;
    pthread_create(&thread, NULL, late, NULL);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == 5);
    pthread_join(thread, NULL);
}

static void *wait_for_ever(void *argument) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, right(), 70 + *(int *)argument, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void deadlock(void) {
    pthread_t threads[2];
    int numbers[2];
    start(wait_for_ever, threads, numbers, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, right(), 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int provided, is_main;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&is_main);
    CHECK(is_main && argc == 2);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    const char *wanted = argv[1];
    if (!strcmp(wanted, "both_ways"))
        on_threads(both_ways, THREADS);
    else if (!strcmp(wanted, "collectives"))
        on_threads(collectives, THREADS);
    else if (!strcmp(wanted, "computes_and_sends"))
        computes_and_sends();
    else if (!strcmp(wanted, "probes"))
        probes();
    else if (!strcmp(wanted, "waits"))
        on_threads(waits, THREADS);
    else if (!strcmp(wanted, "making"))
        on_threads(making, THREADS);
    else if (!strcmp(wanted, "to_itself"))
        on_threads(to_itself, THREADS);
    else if (!strcmp(wanted, "one_sided"))
        one_sided();
    else if (!strcmp(wanted, "late"))
        waits_for_a_late_thread();
    else if (!strcmp(wanted, "deadlock"))
        deadlock();
    else
        CHECK(0);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
