/* Every kind of state that C has, and that of a shared library of the program's own. */
#include <string.h>

#include "calls.h"

extern int library_value;
int library_calls(void);
int *library_local(void);
int *library_pointer(void);

int global = 5;
static int file_static;
static char large[200000]; /* more than is compared whole at a switch */
static const char *text = "initial";
static int targets[3] = {10, 20, 30};
static int *pointers[3] = {&targets[0], &targets[1], &targets[2]};
struct node { struct node *next; int value; } first = {&first, 1};
static __thread int local = 7;
static _Thread_local long local_zero[40];
static int (*function)(void);

static int counted;
static int counter(void)
{
    static int n;
    return ++n;
}
static int even(void) { return 0; }
static int odd(void) { return 1; }

static void change(int rank, int step)
{
    global += rank;
    file_static = 100 * rank + step;
    large[rank * 4096] = (char)(step + rank);
    memset(large + 190000, rank + 1, 10000);
    text = rank % 2 ? "odd" : "even";
    *pointers[2] += rank;
    first.next->value += rank;
    local += rank;
    local_zero[39] -= rank;
    function = rank % 2 ? odd : even;
    counted = counter();
    library_value += rank;
    *library_local() += rank;
    *library_pointer() += rank;
}

static void check(int rank, int step, const char *call)
{
    HOLDS("global", global == 5 + rank * step);
    HOLDS("file static", file_static == 100 * rank + step);
    for (int r = 0; r < 40; r++)
        HOLDS("large array", large[r * 4096] == (r == rank ? (char)(step + rank) : 0));
    HOLDS("large array", large[199999] == rank + 1);
    HOLDS("pointer to a text", strcmp(text, rank % 2 ? "odd" : "even") == 0);
    HOLDS("pointer to a global in a global", pointers[2] == &targets[2] && targets[2] == 30 + rank * step);
    HOLDS("pointer of a structure to itself", first.next == &first && first.value == 1 + rank * step);
    HOLDS("thread-local variable", local == 7 + rank * step && local_zero[39] == -(long)rank * step);
    HOLDS("function pointer", function() == rank % 2);
    HOLDS("function static", counted == step);
    HOLDS("library's global", library_value == 3 + rank * step);
    HOLDS("library's thread-local variable", *library_local() == 4 + rank * step);
    HOLDS("library's pointer to a static", *library_pointer() == 6 + rank * step);
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *call = "MPI_Init";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    HOLDS("library's static", library_calls() == 1);
    all_calls(rank, size, 3);
    HOLDS("library's static", library_calls() == 2);
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
