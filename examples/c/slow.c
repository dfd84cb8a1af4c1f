/*
 * A program that is slower than it need be: docs/tutorials/slow-program.md finds out why, and what would
 * help.
 *
 *     xsim run -n 16 --compute none --mn star:l=10us,b=10Gbps examples/c/slow.c
 *     xsim run -n 16 --compute none --mn star:l=10us,b=10Gbps examples/c/slow.c sides even
 *
 * Ranks own strips of a field, one beside the other, and smooth it in steps: each computes, gives its edges
 * to its neighbours, and adds up with all others how much has changed. The first argument says how a rank
 * gets on with its neighbours: "chain" (the default) takes the left neighbour's edge before it gives its own
 * to the right one, and then the other way round; "sides" does both at once. The second one says who works
 * how much: of "uneven" strips (the default) the last has half as much again to do, of "even" ones all have
 * as much.
 *
 * How long a rank computes is said by xsim_compute, so that everybody's times are those of the tutorial; the
 * field itself is left out. Expect 10 steps: "changed 160 in 10 steps".
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <xsim.h>

enum { STEPS = 10, EDGE = 1000 };

static int rank, size, left, right;
static double edge[EDGE], halo[2][EDGE];

static void smooth(int uneven)
{
    double whole = 200e-6;
    xsim_compute(uneven && rank == size - 1 ? 1.5 * whole : whole);
}

/* Of a rank at the end of the row one neighbour is MPI_PROC_NULL, which takes and gives nothing. */
static void exchange_one_by_one(void)
{
    MPI_Recv(halo[0], EDGE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(edge, EDGE, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    MPI_Recv(halo[1], EDGE, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(edge, EDGE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD);
}

static void exchange_both_sides(void)
{
    MPI_Request requests[4];
    MPI_Irecv(halo[0], EDGE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo[1], EDGE, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(edge, EDGE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(edge, EDGE, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static int all_changes(void)
{
    int changed = 1, sum;
    MPI_Allreduce(&changed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    int sides = argc > 1 && strcmp(argv[1], "sides") == 0;
    int uneven = !(argc > 2 && strcmp(argv[2], "even") == 0);
    int changes = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int step = 0; step < STEPS; step++) {
        xsim_region_begin("smooth");
        smooth(uneven);
        xsim_region_end("smooth");
        xsim_region_begin("exchange");
        if (sides)
            exchange_both_sides();
        else
            exchange_one_by_one();
        xsim_region_end("exchange");
        changes += all_changes();
    }
    if (rank == 0)
        printf("changed %d in %d steps\n", changes, STEPS);
    MPI_Finalize();
    return 0;
}
