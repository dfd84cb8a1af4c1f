/* A rank is a process to its program: its own arguments, globals, output, exit. */
#include "check.h"
#include <time.h>
#include <unistd.h>
#include <stdarg.h>
#include <sys/time.h>

static int counter = 100, zeroed, *pointer = &counter;
static __thread int per_thread = 5;

/* Initialised and zeroed data, statics of functions, pointers into globals, thread-locals. */
static int calls(void)
{
    static int count;
    return ++count;
}

static void globals(void)
{
    for (int i = 0; i < 10; i++) {
        counter += rank;
        zeroed += rank + 1;
        per_thread += rank;
        *pointer += 1;
        CHECK(calls() == i + 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(counter == 100 + 10 * rank + 10 && pointer == &counter);
    CHECK(zeroed == 10 * (rank + 1) && per_thread == 5 + 10 * rank);
}

static const char *expected_letters = "abx";

/* getopt keeps its place in globals of the C library. */
static void options(int argc, char **argv)
{
    int option, seen = 0;
    optind = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    while ((option = getopt(argc, argv, "abx:")) != -1) {
        CHECK(option == expected_letters[seen]);
        CHECK(option != 'x' || strcmp(optarg, "value") == 0);
        seen++;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(seen == 3 && optind == argc - 1 && strcmp(argv[optind], "rest") == 0);
    argv[optind][0] = (char)('A' + rank % 26);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(argv[optind][0] == (char)('A' + rank % 26));
}

/* Only rank 0 gets the standard input, the others its end. */
static void input(void)
{
    char line[64];
    int lines = 0;
    while (fgets(line, sizeof line, stdin)) {
        CHECK(rank == 0 && atoi(line) == lines);
        lines++;
    }
    CHECK(lines == (rank == 0 ? 3 : 0));
}

/* Lines of different ranks never mix, however they are written. */
static void output(void)
{
    for (int i = 0; i < 3; i++) {
        printf("rank %d ", rank);
        MPI_Barrier(MPI_COMM_WORLD);
        printf("line ");
        fflush(stdout);
        MPI_Barrier(MPI_COMM_WORLD);
        printf("%d\n", i);
    }
    printf("rank %d has no newline", rank);
}

static void times(void)
{
    double start = MPI_Wtime();
    struct timespec ts0, ts1, second = { 1, 500000000 };
    struct timeval tv0, tv1;
    clock_gettime(CLOCK_MONOTONIC, &ts0);
    gettimeofday(&tv0, NULL);
    time_t t0 = time(NULL);
    nanosleep(&second, NULL);
    sleep(2);
    usleep(500000);
    clock_gettime(CLOCK_MONOTONIC, &ts1);
    gettimeofday(&tv1, NULL);
    double passed = MPI_Wtime() - start;
    CHECK(passed > 3.999999 && passed < 4.000001);
    double mono = (double)(ts1.tv_sec - ts0.tv_sec) + 1e-9 * (double)(ts1.tv_nsec - ts0.tv_nsec);
    double wall = (double)(tv1.tv_sec - tv0.tv_sec) + 1e-6 * (double)(tv1.tv_usec - tv0.tv_usec);
    CHECK(mono > 3.999999 && mono < 4.000001);
    CHECK(wall > 3.9999 && wall < 4.0001);
    CHECK(time(NULL) - t0 >= 4 && time(NULL) - t0 <= 5);
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
    int flag, *global;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
    CHECK(flag && *global);
}

/* What one rank has freed comes to another as if it were fresh. */
static void heap(void)
{
    static const size_t sizes[] = { 8, 100, 1000, 5000, 100000, 300000 };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            unsigned char *memory[SIZES];
            for (int i = 0; i < SIZES; i++) {
                memory[i] = malloc(sizes[i]);
                for (size_t at = 0; at < sizes[i]; at++)
                    CHECK(memory[i][at] == 0);
                memset(memory[i], 0xab, sizes[i]);
            }
            for (int i = 0; i < SIZES; i++)
                free(memory[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void say_goodbye(void) { printf("rank %d says goodbye\n", rank); }

/* Reads the clock until it moves: virtual time must pass for a rank that only looks at it. */
static void waiting_for_the_clock(void)
{
    double until = MPI_Wtime() + 1e-3;
    while (MPI_Wtime() < until)
        ;
    CHECK(MPI_Wtime() < until + 1e-6);
    int flag = 0;
    MPI_Request request;
    MPI_Irecv(&flag, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    if (rank == 0)
        sleep(1);
    MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    for (flag = 0; !flag;)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(rank != size - 1 || MPI_Wtime() >= 1);
}

/* When rank 1 began, by its own clock. */
static void beginning(double begun)
{
    if (rank == 1)
        printf("%.0f\n", begun * 1e9);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

/* A local array as large as programs have them. */
static void deep(void)
{
    volatile char local[4 << 20];

    local[0] = local[sizeof local - 1] = (char)rank;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(local[0] == (char)rank && local[sizeof local - 1] == (char)rank);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1 && strncmp(argv[argc - 1], "-xsim", 5) != 0);
    MPI_Init(&argc, &argv);
    double begun = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *name = argv[1];
    if (strcmp(name, "globals") == 0)
        globals();
    else if (strcmp(name, "-a") == 0)
        options(argc, argv);
    else if (strcmp(name, "heap") == 0)
        heap();
    else if (strcmp(name, "input") == 0)
        input();
    else if (strcmp(name, "deep") == 0)
        deep();
    else if (strcmp(name, "beginning") == 0) {
        beginning(begun);
        return 0;
    } else if (strcmp(name, "times") == 0)
        times();
    else if (strcmp(name, "waiting_for_the_clock") == 0)
        waiting_for_the_clock();
    else if (strcmp(name, "output") == 0) {
        output();
        MPI_Finalize();
        return 0;
    } else if (strcmp(name, "goodbye") == 0) {
        atexit(say_goodbye);
        MPI_Finalize();
        if (rank % 2)
            exit(0);
        return 0;
    } else if (strcmp(name, "status") == 0) {
        MPI_Finalize();
        return rank == size - 1 ? 3 : 0;
    } else {
        return 98;
    }
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
