/*
 * Sweeps over the cells of a grid on a square of ranks, as BT and SP make them: each rank has a cell in each
 * plane, on a diagonal, and hands faces of its cells on to the rank that has the next one. How large these
 * are goes by rank and by stage, since neither the grid's points nor its edges are spread evenly.
 *
 *     sweeps [POINTS [STEPS]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int side, column, row, points;
static double *faces[2];

static int round_side(int place)
{
    return (place % side + side) % side;
}

static int rank_at(int x, int y)
{
    return round_side(y) * side + round_side(x);
}

/* The points of a cell's edge that are swept: those at the ends of the grid are known. */
static int length(int cell)
{
    return points / side + (cell < points % side) - (cell == 0) - (cell == side - 1);
}

/* The face of the cell that this rank has in a plane across x, y or z. */
static int face(int direction, int plane)
{
    switch (direction) {
    case 0: return length(round_side(column + row - plane)) * length(round_side(plane - column));
    case 1: return length(round_side(column + row - plane)) * length(round_side(row - plane));
    default: return length(round_side(column + plane)) * length(round_side(row - plane));
    }
}

/* From the first plane to the last, or back, each face behind its neighbour's. Each sweep has calls of its
 * own, as in these programs. */
#define SWEEP(name, direction, words, plane, tag) \
    static void name(MPI_Comm comm, int to, int from) \
    { \
        for (int stage = 1; stage < side; stage++) { \
            MPI_Request both[2]; \
            MPI_Status statuses[2]; \
            MPI_Isend(faces[0], words * face(direction, plane), MPI_DOUBLE, to, tag, comm, &both[0]); \
            MPI_Irecv(faces[1], words * points * points, MPI_DOUBLE, direction == 2 ? MPI_ANY_SOURCE : from, \
                      tag, comm, &both[1]); \
            MPI_Waitall(2, both, statuses); \
            if (statuses[1].MPI_SOURCE != from) { \
                printf("direction %d, stage %d: a face of %d, not of %d\n", direction, stage, \
                       statuses[1].MPI_SOURCE, from); \
                MPI_Abort(comm, 1); \
            } \
        } \
    }
SWEEP(x_forth, 0, 22, stage - 1, 1)
SWEEP(x_back, 0, 10, side - stage, 2)
SWEEP(y_forth, 1, 22, stage - 1, 3)
SWEEP(y_back, 1, 10, side - stage, 4)
SWEEP(z_forth, 2, 22, stage - 1, 5)
SWEEP(z_back, 2, 10, side - stage, 6)

/* Each turn with a partner that is farther, and a block of another length. */
static void rotate(MPI_Comm comm)
{
    for (int turn = 1; turn < side; turn++) {
        MPI_Status status;
        int to = rank_at(column + turn, row), from = rank_at(column - turn, row);
        MPI_Sendrecv(faces[0], 1 + round_side(column + turn), MPI_DOUBLE, to, 9, faces[1], side, MPI_DOUBLE,
                     from, 9, comm, &status);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    points = argc > 1 ? atoi(argv[1]) : 23;
    int steps = argc > 2 ? atoi(argv[2]) : 3;
    for (side = 1; (side + 1) * (side + 1) <= ranks;)
        side++;
    if (side * side != ranks || points < 3 * side) {
        printf("%d ranks are no square, or %d points too few\n", ranks, points);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    column = rank % side;
    row = rank / side;
    for (int k = 0; k < 2; k++)
        faces[k] = calloc((size_t)(22 * points) * (size_t)points, sizeof(double));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int step = 0; step < steps; step++) {
        int left = rank_at(column - 1, row), right = rank_at(column + 1, row),
            below = rank_at(column, row - 1), above = rank_at(column, row + 1);
        x_forth(comm, right, left);
        x_back(comm, left, right);
        y_forth(comm, above, below);
        y_back(comm, below, above);
        z_forth(comm, rank_at(column - 1, row - 1), rank_at(column + 1, row + 1));
        z_back(comm, rank_at(column + 1, row + 1), rank_at(column - 1, row - 1));
        rotate(comm);
        for (int k = 0; k < side; k++)
            MPI_Bcast(faces[0], 1 + k, MPI_DOUBLE, k % ranks, comm);
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
