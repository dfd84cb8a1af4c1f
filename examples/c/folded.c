/*
 * A large application on a small machine: its field is shared by all ranks, its kernel runs a few times.
 *
 *     xsim run -n 10000 examples/c/folded.c
 *
 * Each rank asks for 64 MiB, which all ranks share, and sweeps over it 100 times, of which 3 run. Expect one
 * line from rank 0 with the memory that the ranks believe to have, in a run that takes seconds and 64 MiB.
 * The numbers in the field are those of all ranks mixed: folding is for codes whose control flow does not
 * depend on them.
 */
#include <mpi.h>
#include <stdio.h>
#include <xsim.h>

enum { CELLS = 8 << 20, SWEEPS = 100 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *field = XSIM_SHARED_MALLOC(CELLS * sizeof *field), edge = rank;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        /* All ranks together run the kernel three times; every other sweep costs their mean. */
        XSIM_SAMPLE(1, 3, 0.0)
            for (int i = 1; i < CELLS; i++)
                field[i] = 0.5 * (field[i] + field[i - 1]) + edge;
        MPI_Sendrecv_replace(&edge, 1, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        printf("%d ranks swept %.1f GiB %d times\n", size, (double)size * CELLS * sizeof *field / (1 << 30),
               SWEEPS);
    xsim_shared_free(field);
    MPI_Finalize();
    return 0;
}
