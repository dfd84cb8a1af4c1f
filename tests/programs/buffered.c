/* Works here and is not promised by MPI: sends that need a buffer, requests that were completed before,
   buffers that are not left alone. `buffered safe` has nothing of it. Each line that is a finding says so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 100000

static int rank, size, next, last, one, *data, *room;

static void ring(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Send(data, MANY, MPI_INT, next, 1, MPI_COMM_WORLD); /* all send first */
        MPI_Recv(room, MANY, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void waits(void)
{
    MPI_Request two[2];
    MPI_Isend(data, 1, MPI_INT, next, 2, MPI_COMM_WORLD, two); /* all wait first */
    MPI_Isend(data, 2, MPI_INT, last, 3, MPI_COMM_WORLD, two + 1);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Recv(room, 1, MPI_INT, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(room, 2, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(void)
{
    if (rank == 0)
        MPI_Send(&one, 1, MPI_INT, size - 1, 4, MPI_COMM_WORLD); /* its receive is behind the barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        MPI_Recv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void itself(void)
{
    MPI_Send(&one, 1, MPI_INT, rank, 5, MPI_COMM_WORLD); /* to itself */
    MPI_Recv(room, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void copies(void)
{
    MPI_Request request, copy, two[2];
    MPI_Irecv(room, 2, MPI_INT, last, 6, MPI_COMM_WORLD, two);
    MPI_Isend(data, 2, MPI_INT, next, 6, MPI_COMM_WORLD, &request);
    copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    two[1] = copy;
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE); /* for a copy */
}

static void changed(void)
{
    MPI_Request four[4];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(room + 2000 * i, 2000, MPI_INT, last, 7, MPI_COMM_WORLD, four + i);
    MPI_Isend(data, 2000, MPI_INT, next, 7, MPI_COMM_WORLD, four + 2); /* is overwritten */
    MPI_Isend(data + 2000, 2000, MPI_INT, next, 7, MPI_COMM_WORLD, four + 3);
    memset(data, 7, 2000 * sizeof(int));
    MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
    memset(data, 0, 4000 * sizeof(int));
}

static void freed(void)
{
    MPI_Request three[3];
    int *sent = calloc(MANY, sizeof(int)), *got = malloc(64), *grown = malloc(64);
    grown[0] = rank;
    MPI_Irecv(got, 2, MPI_INT, next, 8, MPI_COMM_WORLD, three); /* is freed */
    MPI_Isend(sent, MANY, MPI_INT, rank, 9, MPI_COMM_WORLD, three + 1); /* is freed */
    MPI_Isend(grown, 1, MPI_INT, rank, 10, MPI_COMM_WORLD, three + 2); /* is moved */
    free(got);
    free(sent);
    grown = realloc(grown, 1 << 20);
    MPI_Recv(room, MANY, MPI_INT, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(room, 1, MPI_INT, rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, three + 1, MPI_STATUSES_IGNORE);
    MPI_Cancel(three);
    MPI_Wait(three, MPI_STATUS_IGNORE);
    free(grown);
}

static void safe(void)
{
    MPI_Request two[2];
    char *buffer = malloc(MPI_BSEND_OVERHEAD + MANY * sizeof(int));
    int got;
    /* A receive that is posted. */
    MPI_Irecv(room, MANY, MPI_INT, last, 1, MPI_COMM_WORLD, two);
    MPI_Send(data, MANY, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Wait(two, MPI_STATUS_IGNORE);
    /* A chain, which ends. */
    if (rank < size - 1)
        MPI_Send(data, MANY, MPI_INT, next, 1, MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Recv(room, MANY, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* A send and a receive in one call, and a buffer of the program. */
    MPI_Sendrecv(data, 9, MPI_INT, next, 1, room, 9, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(buffer, MPI_BSEND_OVERHEAD + MANY * sizeof(int));
    MPI_Bsend(data, 9, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(room, 9, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &got);
    free(buffer);
    /* Nonblocking ones of a ring, and one to nobody. */
    MPI_Isend(data, 9, MPI_INT, next, 1, MPI_COMM_WORLD, two);
    MPI_Irecv(room, 9, MPI_INT, last, 1, MPI_COMM_WORLD, two + 1);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; i++) {
        MPI_Request four[4];
        for (int j = 0; j < 2; j++)
            MPI_Irecv(room + 99 * j, 99, MPI_INT, j ? next : last, 1, MPI_COMM_WORLD, four + j);
        for (int j = 0; j < 2; j++)
            MPI_Isend(data, 99, MPI_INT, j ? next : last, 1, MPI_COMM_WORLD, four + 2 + j);
        MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
    }
    MPI_Send(data, 9, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    /* Any source, a probe, a loop of tests. */
    if (rank == 0) {
        MPI_Status status;
        for (int i = 1; i < size; i++)
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i < size; i++) {
            MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
            MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 1, flag; i < size; i++) {
            do
                MPI_Iprobe(i, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            while (!flag);
            MPI_Recv(&got, 1, MPI_INT, i, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        for (int tag = 2; tag < 5; tag++)
            MPI_Send(&rank, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
    /* What was freed before its operation began, or after it was complete, is nobody's. */
    int *old = malloc(64), *young = calloc(16, sizeof(int));
    free(old);
    MPI_Irecv(room, 16, MPI_INT, rank, 5, MPI_COMM_WORLD, two);
    MPI_Isend(young, 16, MPI_INT, rank, 5, MPI_COMM_WORLD, two + 1);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    young[0] = 1;
    free(young);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    data = calloc(MANY, sizeof(int));
    room = calloc(MANY, sizeof(int));
    struct { const char *name; void (*run)(void);
    } cases[] = {
        {"ring", ring},     {"waits", waits},     {"barrier", barrier}, {"itself", itself},
        {"copies", copies}, {"changed", changed}, {"freed", freed},     {"safe", safe},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fprintf(stderr, "ended at %.9f us\n", MPI_Wtime() * 1e6);
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
