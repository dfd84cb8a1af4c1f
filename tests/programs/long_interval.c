/* One interval of one rank is long, as if the host had been busy; all others are short and alike. */
#include <mpi.h>

static void spin(long times)
{
    for (volatile long i = 0; i < times; i++)
        ;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 200; step++) {
        spin(rank == 3 && step == 150 ? 20000000 : 500);
        MPI_Barrier(MPI_COMM_WORLD); /* the long one ends here */
    }
    MPI_Finalize();
    return 0;
}
