// OpenMP in ranks: the main thread calls MPI between regions and inside them (MPI_THREAD_FUNNELED).
#include "check.h"

#include <omp.h>

enum { N = 1200, THREADS = 3 };

static int values[N];
static int kept;
#pragma omp threadprivate(kept)

static int shifted(int value) {
    int from = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return from;
}

// Every construct that a team shares, around calls of its master.
static void region(void) {
    int before = (rank + size - 1) % size;
    for (int round = 0; round < 4; round++) {
        int from = -1, seen = 0, sum = 0, single = 0, tasks = 0, ordered = 0, counted = 0;
#pragma omp parallel num_threads(THREADS)
        {
            CHECK(omp_get_num_threads() == THREADS && omp_get_level() == 1);
#pragma omp for
            for (int i = 0; i < N; i++)
                values[i] = rank + round;
#pragma omp master
            from = shifted(rank + round);
            // The others go on while the master waits.
#pragma omp for schedule(dynamic, 10) reduction(+ : sum)
            for (int i = 0; i < N; i++)
                sum += values[i];
#pragma omp critical
            {
                counted++;
                if (omp_get_thread_num() == 0)
                    CHECK(shifted(rank) == before);
            }
#pragma omp single
            for (int i = 0; i < 20; i++)
#pragma omp task
#pragma omp atomic
                tasks++;
#pragma omp master
            CHECK(shifted(rank) == before);
#pragma omp for ordered
            for (int i = 0; i < 30; i++) {
#pragma omp ordered
                {
                    if (ordered == i)
                        ordered++;
                    if (omp_get_thread_num() == 0 && i == 0)
                        CHECK(shifted(i) == i);
                }
            }
#pragma omp single
            single++;
#pragma omp atomic
            seen += from == before + round;
        }
        CHECK(sum == N * (rank + round));
        CHECK(seen == THREADS && counted == THREADS && tasks == 20 && ordered == 30 && single == 1);
    }
}

// What a team's threads keep from one region to the next.
static void kept_values(void) {
    int team = 2 + rank % 3, wrong = 0;
    omp_set_dynamic(0);
    omp_set_num_threads(team);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(omp_get_max_threads() == team);
#pragma omp parallel
    kept = 1000 * rank + omp_get_thread_num();
    for (int round = 0; round < 5; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel reduction(+ : wrong)
        {
            wrong += omp_get_num_threads() != team || kept != 1000 * rank + 10 * round + omp_get_thread_num();
            kept += 10;
        }
    }
    CHECK(!wrong);
    kept = 7 * rank;
    MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel copyin(kept) reduction(+ : wrong)
    wrong += kept != 7 * rank;
    CHECK(!wrong);
}

static void nested(void) {
    int sum = 0;
    omp_set_max_active_levels(2);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(omp_get_max_active_levels() == 2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += 10 * outer + omp_get_thread_num() + (omp_get_level() == 2 ? 100 : 0) +
               (omp_get_num_threads() == 2 ? 1000 : 0);
#pragma omp master
        CHECK(shifted(rank) == (rank + size - 1) % size);
    }
    CHECK(sum == 4422);
}

// Threads read clocks, print, allocate, and ask what any thread may ask.
static void services(void) {
    int wrong = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    {
        double last = omp_get_wtime(), mpi = MPI_Wtime();
        for (int i = 0; i < 2000; i++) {
            double now = omp_get_wtime(), wtime = MPI_Wtime();
            wrong += now < last || wtime < mpi;
            last = now;
            mpi = wtime;
            int *block = malloc(100);
            wrong += block[20] != 0;
            block[20] = 1;
            free(block);
        }
        int main_thread, level;
        MPI_Is_thread_main(&main_thread);
        MPI_Query_thread(&level);
        wrong += main_thread != (omp_get_thread_num() == 0) || level != MPI_THREAD_FUNNELED;
        printf("rank %d thread %d\n", rank, omp_get_thread_num());
        fflush(stdout);
    }
    CHECK(!wrong);
}

// More threads than a process has room for, all inside a region when their master blocks.
static void too_many(void) {
#pragma omp parallel num_threads(300)
#pragma omp master
    MPI_Barrier(MPI_COMM_WORLD);
}

static const Case cases[] = {
    {"region", region},     {"kept", kept_values},  {"nested", nested},
    {"services", services}, {"too_many", too_many},
};
RUN_CASES(cases)
