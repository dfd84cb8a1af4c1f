/* Timers send a rank signals at virtual times, and end its sleep. Each rank has its own.
 *
 *     timers            what each kind of timer sends, and when
 *     timers unhandled  rank 1 has an alarm without a handler */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, others;
static double last;

static void rings(int number)
{
    last = MPI_Wtime();
    number == SIGALRM ? alarms++ : others++;
}

static int is_near(double took, double expected) { return fabs(took - expected) < 1e-4; }

static void handle(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = rings;
    CHECK(sigaction(number, &action, NULL) == 0);
}

static struct timeval micro(long us) { return (struct timeval){ us / 1000000, us % 1000000 }; }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) {
        if (rank == 1)
            alarm(2);
        sleep(3);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    handle(SIGALRM);
    handle(SIGUSR1);
    handle(SIGPROF);

    /* A sleep ends at the alarm, and says what was left. */
    double start = MPI_Wtime();
    alarm(1 + (unsigned)rank);
    CHECK(sleep(10) == 9 - (unsigned)rank);
    CHECK(alarms == 1 && is_near(last - start, 1 + rank) && is_near(MPI_Wtime() - start, 1 + rank));
    CHECK(alarm(5) == 0 && alarm(0) == 5);
    CHECK(sleep(7) == 0 && alarms == 1);

    /* A repeated one merges what a call slept through, and keeps its phase. */
    struct itimerval every = { micro(10000), micro(25000) }, now, off = { micro(0), micro(0) };
    struct timespec length = { 0, 100000000 }, left;
    start = MPI_Wtime();
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    CHECK(nanosleep(&length, &left) == -1 && errno == EINTR && left.tv_nsec == 75000000);
    CHECK(alarms == 2 && is_near(MPI_Wtime() - start, 0.025));
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 1) {
        for (double until = start + 0.05; MPI_Wtime() < until;)
            usleep(100000);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    CHECK(getitimer(ITIMER_REAL, &now) == 0 && now.it_interval.tv_usec == 10000);
    CHECK(setitimer(ITIMER_REAL, &off, &now) == 0 && now.it_value.tv_usec > 0);
    CHECK(rank > 1 || alarms >= 3);

    /* Timers by number, with a signal of their own. */
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec once = { { 0, 0 }, { 2, 0 } }, found;
    CHECK(timer_settime(timer, 0, &once, NULL) == 0);
    CHECK(timer_gettime(timer, &found) == 0 && found.it_value.tv_sec == 2);
    start = MPI_Wtime();
    CHECK(pause() == -1 && errno == EINTR && others == 1 && is_near(MPI_Wtime() - start, 2));
    CHECK(timer_delete(timer) == 0 && timer_gettime(timer, &found) == -1 && errno == EINVAL);

    /* A rank's processor time is its virtual time. A blocked signal waits. */
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_BLOCK, &set, &before);
    struct itimerval profiling = { micro(0), micro(1000) };
    CHECK(setitimer(ITIMER_PROF, &profiling, NULL) == 0);
    usleep(5000);
    CHECK(others == 1);
    sigprocmask(SIG_SETMASK, &before, NULL);
    CHECK(others == 2);

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
