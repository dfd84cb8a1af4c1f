/* Every wait with a time limit for what does not come takes virtual time up to its limit; what is there is
 * taken at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const double LIMIT = 0.2;
static int wrong;

static struct timespec after(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += 200000000;
    if (at.tv_nsec >= 1000000000)
        at.tv_sec++, at.tv_nsec -= 1000000000;
    return at;
}

static void check(const char *what, double took, double expected, int code, int wanted)
{
    if (fabs(took - expected) > 1e-3 || code != wanted) {
        printf("%s took %.6f s and gave %d\n", what, took, code);
        wrong = 1;
    }
}

#define TAKES(expected, wanted, call)                       \
    do {                                                    \
        struct timespec real = after(CLOCK_REALTIME);       \
        struct timespec steady = after(CLOCK_MONOTONIC);    \
        double start = MPI_Wtime();                         \
        int code = call;                                    \
        (void)real, (void)steady;                           \
        check(#call, MPI_Wtime() - start, expected, code, wanted); \
    } while (0)

static void *posts(void *semaphore)
{
    sem_post(semaphore);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER, steady_cond;
    pthread_condattr_t attributes;
    sem_t empty, full;
    mtx_t lock;
    cnd_t changed;
    struct timespec length = { 0, 200000000 };
    MPI_Init(&argc, &argv);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&steady_cond, &attributes);
    sem_init(&empty, 0, 0);
    sem_init(&full, 0, 2);
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&taken);
    mtx_lock(&lock);
    TAKES(LIMIT, ETIMEDOUT, pthread_cond_timedwait(&cond, &mutex, &real));
    TAKES(LIMIT, ETIMEDOUT, pthread_cond_timedwait(&steady_cond, &mutex, &steady));
    TAKES(LIMIT, ETIMEDOUT, pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &steady));
    TAKES(LIMIT, -1, sem_timedwait(&empty, &real));
    check("errno", 0, 0, errno, ETIMEDOUT);
    TAKES(LIMIT, -1, sem_clockwait(&empty, CLOCK_MONOTONIC, &steady));
    TAKES(0, 0, sem_timedwait(&full, &real));
    TAKES(0, 0, sem_clockwait(&full, CLOCK_MONOTONIC, &steady));
    TAKES(LIMIT, ETIMEDOUT, pthread_mutex_timedlock(&taken, &real));
    TAKES(LIMIT, ETIMEDOUT, pthread_mutex_clocklock(&taken, CLOCK_MONOTONIC, &steady));
    TAKES(LIMIT, thrd_timedout, cnd_timedwait(&changed, &lock, &real));
    TAKES(LIMIT, thrd_timedout, mtx_timedlock(&lock, &real));
    TAKES(LIMIT, 0, ppoll(NULL, 0, &length, NULL));
    TAKES(LIMIT, 0, pselect(0, NULL, NULL, NULL, &length, NULL));
    struct epoll_event event = { .events = EPOLLIN }, got;
    int instance = epoll_create1(0), ends[2];
    TAKES(LIMIT, 0, epoll_wait(instance, &got, 1, 200));
    TAKES(LIMIT, 0, epoll_pwait(instance, &got, 1, 200, NULL));
    TAKES(0, 0, epoll_wait(instance, &got, 1, 0));
    TAKES(0, -1, epoll_wait(instance, &got, 0, 200));
    check("errno", 0, 0, errno, EINVAL);
    TAKES(0, -1, epoll_wait(-1, &got, 1, 200));
    check("errno", 0, 0, errno, EBADF);
    if (pipe(ends) == 0 && write(ends[1], "x", 1) == 1) {
        epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &event);
        TAKES(0, 1, epoll_wait(instance, &got, 1, 200));
        /* A descriptor leaves the instance as it is closed. */
        close(ends[0]);
        TAKES(LIMIT, 0, epoll_wait(instance, &got, 1, 200));
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    TAKES(LIMIT, -1, sigtimedwait(&signals, NULL, &length));
    check("errno", 0, 0, errno, EAGAIN);
    pthread_mutex_unlock(&taken);
    TAKES(0, 0, pthread_mutex_timedlock(&taken, &real));
    /* A thread of the rank ends the wait, whenever the host lets it run. */
    pthread_t thread;
    struct timespec late = after(CLOCK_REALTIME);
    late.tv_sec += 60;
    pthread_create(&thread, NULL, posts, &empty);
    TAKES(0, 0, sem_timedwait(&empty, &late));
    pthread_join(thread, NULL);
    MPI_Finalize();
    return wrong;
}
