/* A stencil that saves its state now and then, and begins again from there when it is started once more: what
 * checkpoints and failures cost.
 *
 *     xsim cc -O2 checkpoint.c -o checkpoint
 *     ./checkpoint state 30000 60 81 360 600 -xsim-np 8 -xsim-compute none \
 *         -xsim-fail exponential:mtbf=80h,seed=1
 *
 * Arguments: a file with the last step that was saved, steps in all, seconds of a step, steps between
 * checkpoints, seconds of a checkpoint and of a restart. A failure ends the run with exit status 75; started
 * again with the next seed it goes on, after a restart, behind the last checkpoint. At the end rank 0 prints
 * the virtual time of the last run. examples/checkpoint.sh does all of that, and docs/reference/failures.md
 * has what comes of it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <xsim.h>

static int saved(const char *path)
{
    int step = 0;
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%d", &step) != 1)
            step = 0;
        fclose(file);
    }
    return step;
}

static void save(const char *path, int step)
{
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%d\n", step) < 0 || fclose(file)) {
        fprintf(stderr, "cannot write %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, size, first = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 7) {
        fprintf(
            stderr,
            "usage: checkpoint FILE STEPS STEP_SECONDS INTERVAL_STEPS CHECKPOINT_SECONDS RESTART_SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int steps = atoi(argv[2]), interval = atoi(argv[4]);
    double step_time = atof(argv[3]), checkpoint_time = atof(argv[5]), restart_time = atof(argv[6]);
    if (rank == 0)
        first = saved(argv[1]);
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (first > 0)
        xsim_compute(restart_time);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double edges[2] = {rank, rank}, ghosts[2];
    for (int step = first; step < steps; step++) {
        xsim_compute(step_time);
        MPI_Sendrecv(&edges[0], 1, MPI_DOUBLE, left, 0, &ghosts[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&edges[1], 1, MPI_DOUBLE, right, 1, &ghosts[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        edges[0] = edges[1] = 0.5 * edges[0] + 0.25 * (ghosts[0] + ghosts[1]);
        if ((step + 1) % interval == 0 && step + 1 < steps) {
            xsim_compute(checkpoint_time);
            /* Saved when all have: a failure before that leaves the checkpoint before. */
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                save(argv[1], step + 1);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("done after %.0f s\n", xsim_time());
    MPI_Finalize();
    return 0;
}
