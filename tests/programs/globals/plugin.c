/* A library that a rank loads: data, zeros, a thread-local variable and what a constructor made, all each
 * rank's own. */
#include <mpi.h>

static int own = -1, zeros[9000], constructed;
static __thread int local = 5;
static const char *text = "initial";

__attribute__((constructor)) static void construct(void)
{
    constructed++;
    zeros[8000] = 77;
}

void plugin_set(int rank)
{
    own = rank;
    zeros[4] = zeros[8999] = rank;
    local += rank;
    text = rank % 2 ? "odd" : "even";
}

/* The number of what another rank has changed. */
int plugin_check(int rank)
{
    int sum, size, wrong = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2;
    wrong += own != rank || zeros[4] != rank || zeros[8999] != rank || zeros[8000] != 77;
    wrong += local != 5 + rank || constructed != 1 || text[0] != (rank % 2 ? 'o' : 'e');
    return wrong;
}

int plugin_is_fresh(void)
{ return own == -1 && zeros[4] == 0 && zeros[8000] == 77 && local == 5 && text[0] == 'i'; }
