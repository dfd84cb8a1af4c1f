/* Every kind of state that the kernel or the C library keeps for a process, changed before each call and
 * found again behind it. */
#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"

static char name[32], directory[300], string[64];
static volatile sig_atomic_t caught;
static volatile double one = 1, three = 3;

static void even(int signal) { caught += signal; }
static void odd(int signal) { caught -= signal; }
static void handler(int rank, int number) { signal(number, rank % 2 ? odd : even); }

static void change(int rank, int step)
{
    char value[32];
    snprintf(value, sizeof value, "%d", 1000 * rank + step);
    if (rank == 2)
        return; /* a rank that changes nothing finds the process's own state */
    setenv("STATE", value, 1);
    setenv(name, value, 0);
    snprintf(string, sizeof string, "PUT=%s", value);
    putenv(string);
    unsetenv(rank % 2 ? "INHERITED" : "MISSING");
    umask(rank % 2 ? 077 : 022);
    fesetround(rank % 2 ? FE_UPWARD : FE_DOWNWARD);
    setlocale(LC_NUMERIC, rank % 2 ? "C.UTF-8" : "C");
    handler(rank + step, SIGUSR1);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, rank % 2 ? SIGUSR2 : SIGURG);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (rank % 2)
        raise(SIGUSR2);
}

static void check(int rank, int step, const char *call)
{
    char value[32], here[300];
    if (rank == 2) {
        HOLDS("the environment", !getenv("STATE") && getenv("INHERITED"));
        HOLDS("the rounding mode", fegetround() == FE_TONEAREST && !strcmp(setlocale(LC_ALL, NULL), "C"));
        HOLDS("the working directory", getcwd(here, sizeof here) && !strcmp(here, directory));
        return;
    }
    snprintf(value, sizeof value, "%d", 1000 * rank + step);
    HOLDS("the environment",
          getenv("STATE") && !strcmp(getenv("STATE"), value) && !strcmp(getenv("PUT"), value));
    HOLDS("a variable of the rank's own", getenv(name) && atoi(getenv(name)) == 1000 * rank + 1);
    HOLDS("an inherited variable", (getenv("INHERITED") == NULL) == rank % 2);
    HOLDS("the working directory", getcwd(here, sizeof here) && !strcmp(here, directory));
    mode_t mask = umask(0);
    umask(mask);
    HOLDS("the mask of file modes", mask == (rank % 2 ? 077 : 022));
    HOLDS("the rounding mode", fegetround() == (rank % 2 ? FE_UPWARD : FE_DOWNWARD));
    double third = one / three;
    HOLDS("arithmetic", rank % 2 ? third * three > 1 : third * three < 1);
    HOLDS("the locale", !strcmp(setlocale(LC_NUMERIC, NULL), rank % 2 ? "C.UTF-8" : "C"));
    int want = (rank + step) % 2 ? -SIGUSR1 : SIGUSR1;
    caught = 0;
    raise(SIGUSR1);
    HOLDS("the handler of raise", caught == want);
    caught = 0;
    kill(getpid(), SIGUSR1);
    HOLDS("the handler of kill", caught == want);
    sigset_t blocked, pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    HOLDS("the signal mask",
          sigismember(&blocked, SIGUSR2) == rank % 2 && sigismember(&blocked, SIGURG) == !(rank % 2));
    HOLDS("a signal that waits", sigismember(&pending, SIGUSR2) == rank % 2);
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    HOLDS("affinity", rank % 2 == 0 || CPU_COUNT(&set) == 1);
}

int main(int argc, char **argv)
{
    int rank, size;
    cpu_set_t all, first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *call = "MPI_Init";
    HOLDS("the environment", getenv("INHERITED") && !getenv("STATE"));
    struct sigaction action;
    sigaction(SIGSEGV, NULL, &action);
    HOLDS("the default of a signal", action.sa_handler == SIG_DFL);
    snprintf(name, sizeof name, "OF_RANK_%d", rank);
    if (rank == 2) {
        HOLDS("getcwd", getcwd(directory, sizeof directory));
    } else {
        snprintf(directory, sizeof directory, "%s/%d", argv[1], rank);
        mkdir(directory, 0700);
        HOLDS("chdir", chdir(directory) == 0);
        handler(0, SIGUSR2);
    }
    sched_getaffinity(0, sizeof all, &all);
    if (rank % 2) {
        CPU_ZERO(&first);
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; cpu++)
            if (CPU_ISSET(cpu, &all))
                CPU_SET(cpu, &first);
        HOLDS("affinity", sched_setaffinity(0, sizeof first, &first) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sched_getaffinity(0, sizeof first, &first);
    HOLDS("affinity of others", rank % 2 || CPU_EQUAL(&first, &all));
    all_calls(rank, size, 1);
    FILE *file = rank == 2 ? NULL : fopen("here", "w");
    MPI_Barrier(MPI_COMM_WORLD);
    if (file) {
        fclose(file);
        HOLDS("a relative path", access("here", F_OK) == 0);
    }
    MPI_File shared;
    int opened =
        MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &shared);
    HOLDS("a file of all ranks", opened == MPI_SUCCESS && MPI_File_close(&shared) == MPI_SUCCESS);
    HOLDS("the first rank's directory", (access("shared", F_OK) == 0) == (rank == 0));
    sigset_t none;
    sigemptyset(&none);
    caught = 0;
    if (rank % 2) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        HOLDS("a signal that waited", caught == SIGUSR2);
    }
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
