/*
 * What a message costs where many are outstanding: each rank has COUNT of them at a time.
 *
 *     outstanding NAME REPETITIONS COUNT
 *
 * any, named: COUNT receives for any source, or by source, are posted, COUNT messages sent to ranks all over,
 * and all waited for. waitany, waitsome: the named receives, of which one or some are waited for until none
 * is left. probe: COUNT messages lie unexpected, and each is probed for and received. persistent: as named
 * with requests made once. Rank 0 prints how often that was done.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, count, *buffer, *indices;
static MPI_Request *requests, *sends;

/* The distance to the rank to which message `i` goes: the same for all ranks, and of 64 kinds. */
static int distance(int i)
{ return 1 + (int)((unsigned)i % 64 * 2654435761u % (unsigned)(size > 1 ? size - 1 : 1)); }
static int to(int i) { return (rank + distance(i)) % size; }
static int from(int i) { return (rank + size - distance(i)) % size; }

static void send_all(void)
{
    for (int i = 0; i < count; i++)
        MPI_Send(&i, 1, MPI_INT, to(i), 0, MPI_COMM_WORLD);
}

static void post_all(int any)
{
    for (int i = 0; i < count; i++)
        MPI_Irecv(buffer + i, 1, MPI_INT, any ? MPI_ANY_SOURCE : from(i), 0, MPI_COMM_WORLD, requests + i);
}

static void wait_all(void) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }

static void wait_any(void)
{
    int index;
    for (int i = 0; i < count; i++)
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
}

static void wait_some(void)
{
    for (int got = 0, some; got < count; got += some)
        MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
}

static void probe_all(void)
{
    MPI_Status status;
    for (int i = count; i-- > 0;) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(buffer, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const char *name = argv[1];
    int repetitions = atoi(argv[2]);
    count = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = malloc(3 * sizeof *buffer * (size_t)count);
    indices = buffer + count;
    requests = malloc(2 * sizeof *requests * (size_t)count);
    sends = requests + count;
    int persistent = strcmp(name, "persistent") == 0, done = 0;
    for (int i = 0; persistent && i < count; i++) {
        MPI_Recv_init(buffer + i, 1, MPI_INT, from(i), 0, MPI_COMM_WORLD, requests + i);
        MPI_Send_init(indices + i, 1, MPI_INT, to(i), 0, MPI_COMM_WORLD, sends + i);
    }
    for (; done < repetitions; done++) {
        if (persistent) {
            MPI_Startall(count, requests);
            MPI_Startall(count, sends);
            MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
        } else if (strcmp(name, "probe") == 0) {
            send_all();
            MPI_Barrier(MPI_COMM_WORLD);
            probe_all();
        } else {
            post_all(strcmp(name, "any") == 0);
            send_all();
            (strcmp(name, "waitany") == 0    ? wait_any
             : strcmp(name, "waitsome") == 0 ? wait_some
                                             : wait_all)();
        }
    }
    if (rank == 0)
        printf("%s of %d outstanding: %d times\n", name, count, done);
    MPI_Finalize();
    return 0;
}
