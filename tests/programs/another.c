/* What tests/programs/spawn_another.c spawns: another program, with globals, constructors, options and an end
 * of its own. With an argument `-n NUMBER` it says so to its parents. */
#include "another_library.h"
#include "check.h"
#include <unistd.h>

/* Of other sizes than the parent's, and by the same name. */
int counter = 40;
static long table[5000] = {1, 2, 3};
static const char *words[] = {"one", "two", "three"};
static int constructed;

__attribute__((constructor)) static void construct(void) { constructed++; }
static void at_end(void)
{
    if (counter != 41 || table[4999] != rank) abort();
}

static int reads_nothing(const volatile int *nothing) { return *nothing; }

int main(int argc, char **argv)
{
    int number = -1, option;
    MPI_Comm parent;
    CHECK(counter == 40 && constructed == 1 && table[4999] == 0 && table[2] == 3 &&
          strcmp(words[2], "three") == 0);
    MPI_Init(&argc, &argv);
    atexit(at_end);
#ifdef CRASHES
    number = reads_nothing((int *)8);
#else
    (void)reads_nothing;
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    counter++;
    CHECK(library_step() == 6);
    table[4999] = rank;
    /* Others run between two options. */
    while ((option = getopt(argc, argv, "n:m:")) != -1) {
        CHECK(option == 'n' || option == 'm');
        if (option == 'n') number = atoi(optarg);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(optind == argc - 1 && strcmp(argv[optind], "last") == 0);
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL && counter == 41 && table[4999] == rank);
    int out[3] = {number, rank, size}, *appnum, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
    CHECK(flag && *appnum == (number == 7));
    MPI_Send(out, 3, MPI_INT, 0, 5, parent);
    MPI_Barrier(parent);
    CHECK(library_step() == 7);
    CHECK(counter == 41 && table[4999] == rank);
    MPI_Comm_disconnect(&parent);
    printf("another %d of %d: %d\n", rank, size, number);
    MPI_Finalize();
    return 0;
}
