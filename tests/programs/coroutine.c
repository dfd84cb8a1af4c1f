// A call that blocks on a stack of the program's own.
#include <mpi.h>
#include <ucontext.h>

static ucontext_t main_context, other;
static char stack[1 << 16];

static void body(void) { MPI_Barrier(MPI_COMM_WORLD); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = &main_context;
    makecontext(&other, body, 0);
    swapcontext(&main_context, &other);
    MPI_Finalize();
    return 0;
}
