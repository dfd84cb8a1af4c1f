/*
 * Six programs that wait for ever, and their repairs: docs/tutorials/deadlock.md reads what a run reports of
 * each.
 *
 *     xsim run -n 4 examples/c/deadlock.c 1
 *     xsim run -n 4 examples/c/deadlock.c 1 repaired
 *
 * The first argument is the number of an exercise. Expect exit status 1 and a report of the ranks that wait;
 * with "repaired", "exercise 1 is through".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 100000 };

static int rank, size, left, right, repaired;
static int out[MANY], in[MANY];

/* 1: each rank receives before it sends. Repair: rank 0 sends first. */
static void ring(void)
{
    if (repaired && rank == 0)
        MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!(repaired && rank == 0))
        MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
}

/* 2: both send before they receive, which works as long as MPI buffers the messages. Repair: MPI_Sendrecv. */
static void long_exchange(void)
{
    int other = rank ^ 1;
    if (repaired) {
        MPI_Sendrecv(out, MANY, MPI_INT, other, 0, in, MANY, MPI_INT, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else {
        MPI_Send(out, MANY, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Recv(in, MANY, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* 3: the receiver asks for another tag. Repair: the same tag on both sides. */
static void tags(void)
{
    if (rank == 1)
        MPI_Send(out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(in, 1, MPI_INT, 1, repaired ? 7 : 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 4: one rank leaves a collective call out. Repair: all ranks call it. */
static void left_out(void)
{
    if (rank != 2 || repaired)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* 5: the master receives one result more than the workers send. Repair: as many as there are workers. */
static void master(void)
{
    int results = repaired ? size - 1 : size;
    if (rank == 0)
        for (int i = 0; i < results; i++)
            MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

/* 6: two communicators are used in another order by half of the ranks. Repair: one order. */
static void two_orders(void)
{
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    int swap = rank % 2 == 1 && !repaired;
    MPI_Barrier(swap ? second : first);
    MPI_Barrier(swap ? first : second);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

int main(int argc, char **argv)
{
    static void (*const exercises[])(void) = { ring, long_exchange, tags, left_out, master, two_orders };
    int exercise = argc > 1 ? atoi(argv[1]) : 1;
    repaired = argc > 2 && strcmp(argv[2], "repaired") == 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    if (exercise < 1 || exercise > 6) {
        if (rank == 0)
            fprintf(stderr, "deadlock: there are exercises 1 to 6\n");
        MPI_Finalize();
        return 1;
    }
    exercises[exercise - 1]();
    if (rank == 0)
        printf("exercise %d is through\n", exercise);
    MPI_Finalize();
    return 0;
}
