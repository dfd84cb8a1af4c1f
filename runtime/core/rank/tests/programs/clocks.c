/* Time is virtual: the test library has one clock for all ranks, moved by sleeping. */
#include "ranks.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    struct timespec now, length = {0, 250000001};
    struct timeval day, limit = {0, 300};
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(now.tv_sec == 0 && now.tv_nsec == 0);
    CHECK(sleep(86400) == 0 && usleep(500000) == 0 && nanosleep(&length, NULL) == 0);
    CHECK(select(0, NULL, NULL, NULL, &limit) == 0 && poll(NULL, 0, 5) == 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(now.tv_sec == 86400 && now.tv_nsec == 755300001);
    now.tv_sec += 10;
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL) == 0);
    struct timespec later;
    clock_gettime(CLOCK_MONOTONIC, &later);
    CHECK(later.tv_sec == now.tv_sec && later.tv_nsec == now.tv_nsec);
    gettimeofday(&day, NULL);
    CHECK(day.tv_sec == 1767225600 + 86410 && day.tv_usec == 755300);
    CHECK(time(NULL) == day.tv_sec);
    CHECK(clock() == 86410755300L);
    struct tms t;
    CHECK(times(&t) == 8641075 && t.tms_utime == 8641075);
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_utime.tv_sec == 86410);
    length.tv_nsec = -1;
    CHECK(nanosleep(&length, NULL) == -1);
    return 0;
}
