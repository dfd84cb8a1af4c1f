// A random program, the same for all ranks of a seed: point-to-point, receives for any source, probes, tests,
// collectives and communicators. Each rank prints what it received, when, and a sum of everything: any
// difference in order or time shows.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state;

static unsigned any(unsigned below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static unsigned long long sum;

static void note(long value) {
    sum = sum * 1000003 + (unsigned long long)value + (unsigned long long)(MPI_Wtime() * 1e12);
}

static int rank, size;
// Of `exchange` alone, whose messages no receive for any source may take.
static MPI_Comm own;

// Everybody sends to one, which receives from any.
static void gather_any(MPI_Comm comm, int how) {
    int me, n, root, seen = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    root = (int)any(1000) % n;
    int bytes = (int)any(3) * 700 + 4;
    char data[2048] = {0};
    if (me != root) {
        data[0] = (char)me;
        MPI_Send(data, bytes + me % 3, MPI_CHAR, root, 3, comm);
        return;
    }
    for (int i = 1; i < n; i++) {
        MPI_Status status;
        if (how == 0) {
            MPI_Recv(data, sizeof data, MPI_CHAR, MPI_ANY_SOURCE, 3, comm, &status);
        } else if (how == 1) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            MPI_Recv(data, sizeof data, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        } else {
            int flag = 0;
            while (!flag) {
                MPI_Iprobe(MPI_ANY_SOURCE, 3, comm, &flag, &status);
                seen++;
            }
            MPI_Recv(data, sizeof data, MPI_CHAR, status.MPI_SOURCE, 3, comm, &status);
        }
        note(status.MPI_SOURCE * 17 + data[0]);
    }
    note(seen);
}

// Nonblocking messages to random partners, completed in one of four ways.
static void exchange(int how) {
    int shift = 1 + (int)any(1000) % (size > 1 ? size - 1 : 1), count = 1 + (int)any(4);
    int out[4], in[4];
    MPI_Request requests[8];
    for (int i = 0; i < count; i++) {
        out[i] = rank * 10 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, (rank - shift + size) % size, i, own, &requests[i]);
    }
    for (int i = 0; i < count; i++) {
        if (how == 3) {
            MPI_Issend(&out[i], 1, MPI_INT, (rank + shift) % size, i, own, &requests[count + i]);
        } else {
            MPI_Isend(&out[i], 1, MPI_INT, (rank + shift) % size, i, own, &requests[count + i]);
        }
    }
    if (how == 0) {
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    } else if (how == 1) {
        for (int i = 0; i < 2 * count; i++) {
            int index;
            MPI_Waitany(2 * count, requests, &index, MPI_STATUS_IGNORE);
            note(index);
        }
    } else {
        int flag = 0, polls = 0;
        while (!flag) {
            MPI_Testall(2 * count, requests, &flag, MPI_STATUSES_IGNORE);
            polls++;
        }
        note(polls);
    }
    for (int i = 0; i < count; i++) note(in[i]);
}

static void collective(MPI_Comm comm) {
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    int root = (int)any(1000) % n, count = 1 + (int)any(300);
    double *a = calloc((size_t)count * (size_t)n, sizeof *a),
           *b = calloc((size_t)count * (size_t)n, sizeof *b);
    for (int i = 0; i < count; i++) a[i] = me + 0.1 * i;
    switch (any(8)) {
    case 0: MPI_Barrier(comm); break;
    case 1: MPI_Bcast(a, count, MPI_DOUBLE, root, comm); b[0] = a[count - 1]; break;
    case 2: MPI_Reduce(a, b, count, MPI_DOUBLE, MPI_SUM, root, comm); break;
    case 3: MPI_Allreduce(a, b, count, MPI_DOUBLE, MPI_SUM, comm); break;
    case 4: MPI_Allgather(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm); break;
    case 5: MPI_Alltoall(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm); break;
    case 6: MPI_Scan(a, b, count, MPI_DOUBLE, MPI_MAX, comm); break;
    default: {
        MPI_Request request;
        MPI_Iallreduce(a, b, count, MPI_DOUBLE, MPI_PROD, comm, &request);
        gather_any(comm, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    }
    note((long)(b[0] * 1000));
    free(a);
    free(b);
}

static void communicator(void) {
    MPI_Comm part, copy;
    unsigned parts = 1 + any(4), key = any(2);
    MPI_Comm_split(MPI_COMM_WORLD, (int)((unsigned)rank % parts), key ? -rank : rank, &part);
    MPI_Comm_dup(part, &copy);
    // Parts draw different numbers from here on, and meet again below.
    unsigned long long before = state;
    state += (unsigned)rank % parts;
    collective(copy);
    gather_any(part, (int)any(2));
    state = before;
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    state = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
    int steps = 12 + (int)any(12);
    for (int step = 0; step < steps; step++) {
        switch (any(6)) {
        case 0: gather_any(MPI_COMM_WORLD, (int)any(3)); break;
        case 1:
        case 2: exchange((int)any(4)); break;
        case 3: communicator(); break;
        default: collective(MPI_COMM_WORLD);
        }
    }
    MPI_Comm_free(&own);
    printf("%d: %llx at %.12f\n", rank, sum, MPI_Wtime());
    MPI_Finalize();
    return 0;
}
