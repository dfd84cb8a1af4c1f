/*
 * A random program: phases drawn from a seed, the same on every rank, of messages, wildcards, probes,
 * collectives of every kind, blocking and not, on communicators that come and go.
 *
 *     random_program SEED PHASES
 *
 * Every rank prints a checksum of all that it received (with statuses, and the order in which wildcards
 * matched) and of its clock after each phase, and its clock at the end. However the simulator runs it, the
 * output must be the same.
 */
#include "check.h"
#include <math.h>
#include <stdint.h>
#include <unistd.h>

enum {
    SLOTS = 6,
    MAX_MESSAGES = 40,
    MAX_RANKS = 20,
    MAX_COUNT = 400,
    BYTES = MAX_RANKS * MAX_COUNT * 16
};

static uint64_t seed, checksum = 1;
static int phase;
static MPI_Comm comms[SLOTS];
/* Private data of each rank, which every way of keeping globals apart must keep apart. */
static uint64_t history[32];
static __thread uint32_t steps = 1;
/* What the function below did on this rank: when it is called is the simulator's choice, how often is not. */
static uint64_t products;
#ifdef LARGE
static char ballast[200000];
#endif

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Number `k` of what all ranks draw in this phase, and of what rank `who` draws. */
static uint64_t shared(int k) { return mix(mix(seed * 1000003 + (uint64_t)phase) + (uint64_t)k); }
static uint64_t of(int who, int k) { return mix(shared(k) ^ mix((uint64_t)who + 77)); }

static void note(uint64_t value)
{
    checksum = mix(checksum ^ value);
    history[steps++ % 32] += value;
#ifdef LARGE
    ballast[checksum % sizeof ballast] += (char)value;
#endif
}

static void note_bytes(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = bytes;
    for (size_t i = 0; i < bytes; i++)
        h = h * 31 + at[i];
    note(h);
}

static void note_status(const MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    note((uint64_t)status->MPI_SOURCE << 32 ^ (uint64_t)status->MPI_TAG << 16 ^ (uint64_t)count);
}

static void note_clock(void) { note((uint64_t)llround(MPI_Wtime() * 1e12)); }

static void fill(void *data, size_t bytes, uint64_t with)
{
    char *at = data;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = mix(with + i);
        memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static int bytes_of(int k)
{
    static const int sizes[] = { 0, 1, 4, 16, 17, 64, 500, 3000, 20000 };
    return sizes[shared(k) % 9];
}

/* A communicator that this rank may not be in. */
static MPI_Comm draw_comm(int k)
{
    return comms[shared(k) % SLOTS];
}

/* Messages between random pairs: receives first, then sends of several kinds, completed in several ways. */
static void messages(void)
{
    MPI_Comm comm = draw_comm(0);
    if (comm == MPI_COMM_NULL)
        return;
    int me, members, many = 1 + (int)(shared(1) % MAX_MESSAGES), pending = 0, received = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    static MPI_Request requests[2 * MAX_MESSAGES];
    static MPI_Status statuses[2 * MAX_MESSAGES];
    char *in[MAX_MESSAGES], *out[MAX_MESSAGES];
    int sizes[MAX_MESSAGES], sent = 0;
    for (int m = 0; m < many; m++) {
        int from = (int)(shared(100 + m) % (uint64_t)members),
            to = (int)(shared(200 + m) % (uint64_t)members), bytes = bytes_of(300 + m);
        if (to != me)
            continue;
        in[received] = calloc(1, (size_t)bytes + 1);
        sizes[received++] = bytes;
        int tag = (int)(shared(400 + m) % 3);
        MPI_Irecv(in[received - 1], bytes, MPI_BYTE, from, tag, comm, &requests[pending++]);
    }
    if (of(rank, 2) % 3 == 0)
        usleep((useconds_t)(of(rank, 3) % 50));
    for (int m = 0; m < many; m++) {
        int from = (int)(shared(100 + m) % (uint64_t)members),
            to = (int)(shared(200 + m) % (uint64_t)members), bytes = bytes_of(300 + m);
        if (from != me)
            continue;
        int tag = (int)(shared(400 + m) % 3);
        char *data = out[sent++] = malloc((size_t)bytes + 1);
        fill(data, (size_t)bytes, shared(500 + m));
        switch (of(rank, 600 + m) % 4) {
        case 0: MPI_Send(data, bytes, MPI_BYTE, to, tag, comm); break;
        case 1: MPI_Issend(data, bytes, MPI_BYTE, to, tag, comm, &requests[pending++]); break;
        default: MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, &requests[pending++]);
        }
    }
    int done, index, flag = 0;
    switch (of(rank, 4) % 5) {
    case 0: MPI_Waitall(pending, requests, of(rank, 5) % 2 ? statuses : MPI_STATUSES_IGNORE); break;
    case 1:
        for (;;) {
            MPI_Waitany(pending, requests, &index, &statuses[0]);
            if (index == MPI_UNDEFINED)
                break;
            note((uint64_t)index);
            note_clock();
        }
        break;
    case 2:
        for (;;) {
            int indices[2 * MAX_MESSAGES];
            MPI_Waitsome(pending, requests, &done, indices, statuses);
            if (done == MPI_UNDEFINED)
                break;
            for (int i = 0; i < done; i++)
                note((uint64_t)indices[i]);
        }
        break;
    case 3:
        while (!flag) {
            MPI_Testall(pending, requests, &flag, statuses);
            if (!flag)
                usleep(1);
        }
        break;
    default:
        for (int i = 0; i < pending; i++)
            MPI_Wait(&requests[i], &statuses[i]);
    }
    note_clock();
    for (int i = 0; i < received; i++) {
        note_bytes(in[i], (size_t)sizes[i]);
        free(in[i]);
    }
    for (int i = 0; i < sent; i++)
        free(out[i]);
}

/* All send some messages to one, who takes them as they come. */
static void wildcards(void)
{
    MPI_Comm comm = draw_comm(0);
    if (comm == MPI_COMM_NULL)
        return;
    int me, members;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int master = (int)(shared(1) % (uint64_t)members), each = 1 + (int)(shared(2) % 4);
    if (me != master) {
        for (int m = 0; m < each; m++) {
            char data[600];
            int bytes = (int)(of(me, 10 + m) % 600);
            fill(data, (size_t)bytes, of(me, 20 + m));
            if (of(me, 30 + m) % 2)
                usleep((useconds_t)(of(me, 40 + m) % 20));
            MPI_Send(data, bytes, MPI_BYTE, master, (int)(of(me, 50 + m) % 3), comm);
        }
    }
    for (int m = 0; me == master && m < each * (members - 1); m++) {
        char data[600];
        MPI_Status status;
        MPI_Message message;
        int flag = 0, bytes;
        switch (shared(60 + m) % 5) {
        case 0:
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            MPI_Recv(data, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
            break;
        case 1:
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            MPI_Mrecv(data, bytes, MPI_BYTE, &message, &status);
            break;
        case 2:
            while (!flag) {
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
                if (!flag)
                    usleep(1);
            }
            MPI_Recv(data, 600, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
            break;
        default: MPI_Recv(data, 600, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        }
        note_status(&status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        note_bytes(data, (size_t)bytes);
        note_clock();
    }
    /* Nobody's later messages come in between. */
    MPI_Barrier(comm);
}

/* A function of the program: associative, not commutative (2 x 2 matrices). */
static void multiply(void *left, void *right, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    uint32_t *a = left, *b = right;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        uint32_t product[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3] };
        memcpy(b, product, sizeof product);
    }
    products += (uint64_t)*count;
}

static MPI_Op product;
static MPI_Datatype matrix;

/* Neighbours of a communicator with a topology, -1 for those that do not exist: how many send to this rank,
 * and how many it sends to. */
static int neighbours(MPI_Comm comm, int kind, int *from, int *to, int *receivers)
{
    int senders = 0, weighted, weights[MAX_RANKS];
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, &senders);
        for (int i = 0; i < senders; i++) {
            int back, forth;
            MPI_Cart_shift(comm, i, 1, &back, &forth);
            from[2 * i] = to[2 * i] = back == MPI_PROC_NULL ? -1 : back;
            from[2 * i + 1] = to[2 * i + 1] = forth == MPI_PROC_NULL ? -1 : forth;
        }
        senders *= 2, *receivers = senders;
        return senders;
    }
    MPI_Dist_graph_neighbors_count(comm, &senders, receivers, &weighted);
    MPI_Dist_graph_neighbors(comm, senders, from, weights, *receivers, to, weights);
    return senders;
}

/* A neighbourhood collective; how much goes from a to b is known to both. */
static MPI_Request neighbourhood(MPI_Comm comm, int kind, int k, char *in, char *out,
                                 int counts[4][MAX_RANKS])
{
    MPI_Request r = MPI_REQUEST_NULL;
    int me, from[MAX_RANKS], to[MAX_RANKS], receivers,
        senders = neighbours(comm, kind, from, to, &receivers);
    int late = (int)(shared(k + 2) % 3) == 0, n = (int)(shared(k + 3) % 50);
    MPI_Comm_rank(comm, &me);
    int *mine = counts[0], *where = counts[1], *theirs = counts[2], *whence = counts[3];
    for (int i = 0, at = 0; i < receivers; i++) {
        mine[i] = to[i] < 0 ? 3 : (int)((of(me, k + 10) + of(to[i], k + 11)) % 13);
        where[i] = at, at += mine[i] + (int)(shared(k + 12) % 2);
    }
    for (int i = 0, at = 0; i < senders; i++) {
        theirs[i] = from[i] < 0 ? 2 : (int)((of(from[i], k + 10) + of(me, k + 11)) % 13);
        whence[i] = at, at += theirs[i] + (int)(shared(k + 13) % 2);
    }
    switch (shared(k + 4) % 4) {
    case 0:
        late ? MPI_Ineighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm, &r)
             : MPI_Neighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
        break;
    case 1:
        late ? MPI_Ineighbor_alltoall(in, n, matrix, out, 4 * n, MPI_UINT32_T, comm, &r)
             : MPI_Neighbor_alltoall(in, n, matrix, out, 4 * n, MPI_UINT32_T, comm);
        break;
    case 2:
        late ? MPI_Ineighbor_alltoallv(in, mine, where, MPI_INT, out, theirs, whence, MPI_INT, comm, &r)
             : MPI_Neighbor_alltoallv(in, mine, where, MPI_INT, out, theirs, whence, MPI_INT, comm);
        break;
    default: {
        /* Every neighbour gets what all its others get. */
        int own = (int)(of(me, k + 14) % 13);
        for (int i = 0; i < senders; i++)
            theirs[i] = from[i] < 0 ? 1 : (int)(of(from[i], k + 14) % 13);
        for (int i = 0; i < senders; i++)
            whence[i] = 13 * (senders - i - 1);
        late ? MPI_Ineighbor_allgatherv(in, own, MPI_INT, out, theirs, whence, MPI_INT, comm, &r)
             : MPI_Neighbor_allgatherv(in, own, MPI_INT, out, theirs, whence, MPI_INT, comm);
    }
    }
    return r;
}

/* One collective; the request of its nonblocking form, if it is one. `in` and `out` have BYTES. */
static MPI_Request collective(MPI_Comm comm, int k, char *in, char *out, int counts[4][MAX_RANKS])
{
    int me, members, type_size;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    int kind = (int)(shared(k) % 15), root = (int)(shared(k + 1) % (uint64_t)members),
        late = (int)(shared(k + 2) % 5) / 2;
    int again = late == 2;
    int count = (int)(shared(k + 3) % 4 == 0 ? shared(k + 4) % MAX_COUNT : shared(k + 4) % 9), n = count;
    static const MPI_Datatype types[] = { MPI_INT, MPI_DOUBLE, MPI_UNSIGNED_CHAR, MPI_UINT64_T };
    static const MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD };
    MPI_Datatype type = types[shared(k + 5) % 4];
    MPI_Op op = ops[shared(k + 6) % 4];
    if (shared(k + 7) % 5 == 0)
        type = matrix, op = product;
    MPI_Type_size(type, &type_size);
    fill(in, BYTES, of(me, k + 8));
    int topology;
    MPI_Topo_test(comm, &topology);
    if (topology != MPI_UNDEFINED && shared(k + 20) % 3 != 0)
        return neighbourhood(comm, topology, k + 20, in, out, counts);
    if (type == MPI_DOUBLE)
        for (int i = 0; i < BYTES / 8; i++)
            ((double *)in)[i] = (double)(of(me, k + 9 + i % 5) % 1000) / 7 + i;
    int *mine = counts[0], *where = counts[1], *theirs = counts[2], *whence = counts[3];
    for (int i = 0, at = 0, from = 0; i < members; i++) {
        /* The v forms: what goes from a to b is known to both. */
        mine[i] = (int)((of(me, k + 10) + of(i, k + 11)) % 13);
        theirs[i] = (int)((of(i, k + 10) + of(me, k + 11)) % 13);
        where[i] = at, whence[i] = from;
        at += mine[i], from += theirs[i] + 1;
    }
    MPI_Request r = MPI_REQUEST_NULL;
    /* For those that all members give the same list of: block i is of member i's size. */
    int blocks[MAX_RANKS], starts[MAX_RANKS], total = 0;
    for (int i = 0; i < members; i++)
        blocks[i] = (int)(of(i, k + 12) % 30), starts[i] = total, total += blocks[i];
    if (kind == 5 || kind == 6 || kind == 8 || kind == 11) {
        memcpy(counts[0], blocks, sizeof blocks);
        memcpy(counts[1], starts, sizeof starts);
    }
    if (again && (kind == 0 || kind == 1 || kind == 3 || kind == 5)) {
        if (kind == 1 && me == root)
            memcpy(out, in, (size_t)(n * type_size));
        switch (kind) {
        case 0: MPI_Barrier_init(comm, MPI_INFO_NULL, &r); break;
        case 1: MPI_Bcast_init(out, n, type, root, comm, MPI_INFO_NULL, &r); break;
        case 3: MPI_Allreduce_init(in, out, n, type, op, comm, MPI_INFO_NULL, &r); break;
        default:
            MPI_Gatherv_init(in, blocks[me], type, out, mine, where, type, root, comm, MPI_INFO_NULL, &r);
        }
        MPI_Start(&r);
        return r;
    }
    switch (kind) {
    case 0: late ? MPI_Ibarrier(comm, &r) : MPI_Barrier(comm); break;
    case 1:
        if (me == root)
            memcpy(out, in, (size_t)(n * type_size));
        late ? MPI_Ibcast(out, n, type, root, comm, &r) : MPI_Bcast(out, n, type, root, comm);
        break;
    case 2:
        late ? MPI_Ireduce(in, out, n, type, op, root, comm, &r)
             : MPI_Reduce(in, out, n, type, op, root, comm);
        break;
    case 3:
        late ? MPI_Iallreduce(in, out, n, type, op, comm, &r) : MPI_Allreduce(in, out, n, type, op, comm);
        break;
    case 4:
        late ? MPI_Igather(in, n, type, out, n, type, root, comm, &r)
             : MPI_Gather(in, n, type, out, n, type, root, comm);
        break;
    case 5:
        late ? MPI_Igatherv(in, blocks[me], type, out, mine, where, type, root, comm, &r)
             : MPI_Gatherv(in, blocks[me], type, out, mine, where, type, root, comm);
        break;
    case 6:
        late ? MPI_Iscatterv(in, mine, where, type, out, blocks[me], type, root, comm, &r)
             : MPI_Scatterv(in, mine, where, type, out, blocks[me], type, root, comm);
        break;
    case 7:
        late ? MPI_Iallgather(in, n, type, out, n, type, comm, &r)
             : MPI_Allgather(in, n, type, out, n, type, comm);
        break;
    case 8:
        late ? MPI_Iallgatherv(in, blocks[me], type, out, mine, where, type, comm, &r)
             : MPI_Allgatherv(in, blocks[me], type, out, mine, where, type, comm);
        break;
    case 9:
        late ? MPI_Ialltoall(in, n, type, out, n, type, comm, &r)
             : MPI_Alltoall(in, n, type, out, n, type, comm);
        break;
    case 10:
        if (!late && shared(k + 13) % 2 == 0) {
            /* The same with the places in bytes. */
            MPI_Datatype all[MAX_RANKS];
            for (int i = 0; i < members; i++)
                all[i] = type, where[i] *= type_size, whence[i] *= type_size;
            MPI_Alltoallw(in, mine, where, all, out, theirs, whence, all, comm);
            break;
        }
        late ? MPI_Ialltoallv(in, mine, where, type, out, theirs, whence, type, comm, &r)
             : MPI_Alltoallv(in, mine, where, type, out, theirs, whence, type, comm);
        break;
    case 11:
        late ? MPI_Ireduce_scatter(in, out, mine, type, op, comm, &r)
             : MPI_Reduce_scatter(in, out, mine, type, op, comm);
        break;
    case 12:
        late ? MPI_Ireduce_scatter_block(in, out, n, type, op, comm, &r)
             : MPI_Reduce_scatter_block(in, out, n, type, op, comm);
        break;
    case 13: late ? MPI_Iscan(in, out, n, type, op, comm, &r) : MPI_Scan(in, out, n, type, op, comm); break;
    default: late ? MPI_Iexscan(in, out, n, type, op, comm, &r) : MPI_Exscan(in, out, n, type, op, comm);
    }
    return r;
}

static void collectives(void)
{
    MPI_Comm comm = draw_comm(0);
    int many = 1 + (int)(shared(1) % 3);
    if (comm == MPI_COMM_NULL)
        return;
    char *in[3], *out[3];
    MPI_Request requests[3];
    static int counts[3][4][MAX_RANKS];
    if (of(rank, 2) % 2)
        usleep((useconds_t)(of(rank, 3) % 30));
    for (int i = 0; i < many; i++) {
        in[i] = malloc(BYTES);
        out[i] = calloc(1, BYTES);
        requests[i] = collective(comm, 100 * (i + 1), in[i], out[i], counts[i]);
        note_clock();
    }
    if (shared(4) % 3 == 0) {
        /* Something else meanwhile. */
        int me, members, got = -1;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &members);
        MPI_Sendrecv(&rank, 1, MPI_INT, (me + 1) % members, 5, &got, 1, MPI_INT, (me + members - 1) % members,
                     5, comm, MPI_STATUS_IGNORE);
        note((uint64_t)got);
        note_clock();
    }
    int index = 0, flag = 0;
    switch (of(rank, 5) % 5) {
    case 0:
        while (!flag) {
            MPI_Testall(many, requests, &flag, MPI_STATUSES_IGNORE);
            if (!flag)
                usleep(1);
        }
        break;
    case 1:
        while (index != MPI_UNDEFINED) {
            MPI_Waitany(many, requests, &index, MPI_STATUS_IGNORE);
            note((uint64_t)index);
            note_clock();
        }
        break;
    case 2:
        for (int i = many - 1; i >= 0; i--) {
            MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
            note((uint64_t)flag);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            note_clock();
        }
        break;
    default: MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
    }
    note_clock();
    for (int i = 0; i < many; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
        note_bytes(out[i], BYTES);
        free(in[i]);
        free(out[i]);
    }
}

/* What is asked for at once: the root of a broadcast is through with it, the others may not be; a message
 * nobody has sent is not there. */
static void asked_at_once(void)
{
    MPI_Comm pair;
    MPI_Request message, request;
    int value = phase, token = -1, flag, number;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Comm_rank(pair, &number);
    MPI_Irecv(&token, 1, MPI_INT, (rank + size / 2) % size, 21, MPI_COMM_WORLD, &message);
    MPI_Test(&message, &flag, MPI_STATUS_IGNORE);
    note((uint64_t)flag);
    if (number == 1)
        usleep((useconds_t)(of(rank, 1) % 40));
    MPI_Ibcast(&value, 1, MPI_INT, 0, pair, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    note((uint64_t)flag);
    note_clock();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note_clock();
    MPI_Send(&rank, 1, MPI_INT, (rank + size - size / 2) % size, 21, MPI_COMM_WORLD);
    MPI_Wait(&message, MPI_STATUS_IGNORE);
    note((uint64_t)token);
    note_clock();
    MPI_Comm_free(&pair);
}

/* Some leave a collective early and are needed elsewhere. */
static void early_leavers(void)
{
    int value = phase, next = (rank + 1) % size, root = (int)(shared(0) % (uint64_t)size);
    if (size < 2)
        return;
    if (rank == root) {
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, next, 9, MPI_COMM_WORLD);
    } else {
        int token = 0;
        if (rank == (root + 1) % size)
            MPI_Recv(&token, 1, MPI_INT, root, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        note((uint64_t)token);
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    }
    note((uint64_t)value);
    note_clock();
}

/* A communicator in place of another. */
static void communicators(void)
{
    int slot = 1 + (int)(shared(0) % (SLOTS - 1)), from = (int)(shared(1) % SLOTS);
    MPI_Comm parent = comms[from], made = MPI_COMM_NULL;
    if (parent == MPI_COMM_NULL)
        goto replace;
    int me, members;
    MPI_Comm_rank(parent, &me);
    MPI_Comm_size(parent, &members);
    switch (shared(2) % 6) {
    case 0: MPI_Comm_dup(parent, &made); break;
    case 5: {
        /* Edges one to three ahead, the first of them twice; those that come in are listed the other way
         * round. */
        int from[4], to[4], weights[4] = { 1, 1, 2, 3 };
        for (int i = 0; i < 4; i++) {
            int step = i < 2 ? 1 : i;
            to[i] = (me + step) % members;
            from[3 - i] = (me + 3 * members - step) % members;
        }
        MPI_Dist_graph_create_adjacent(parent, 4, from, weights, 4, to, weights, MPI_INFO_NULL, 0, &made);
        break;
    }
    case 1: MPI_Comm_split(parent, (int)(of(me, 3) % 3), (int)(of(me, 4) % 5), &made); break;
    case 2: MPI_Comm_split(parent, of(me, 3) % 4 ? 7 : MPI_UNDEFINED, -me, &made); break;
    case 3: {
        int dims[2] = { 0, 0 }, periods[2] = { (int)(shared(3) % 2), 1 }, got[4] = { -1, -1, -1, -1 };
        MPI_Dims_create(members, 2, dims);
        MPI_Cart_create(parent, 2, dims, periods, 0, &made);
        MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, made);
        note_bytes(got, sizeof got);
        break;
    }
    default: {
        int range[1][3] = { { 0, members - 1, 2 } };
        MPI_Group all, some;
        MPI_Comm_group(parent, &all);
        MPI_Group_range_incl(all, 1, range, &some);
        if (me % 2 == 0)
            MPI_Comm_create_group(parent, some, 5, &made);
        MPI_Group_free(&all);
        MPI_Group_free(&some);
    }
    }
replace:
    if (comms[slot] != MPI_COMM_NULL)
        MPI_Comm_free(&comms[slot]);
    comms[slot] = made;
    if (made != MPI_COMM_NULL) {
        int number;
        MPI_Comm_rank(made, &number);
        note((uint64_t)number);
    }
    note_clock();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3 && size <= MAX_RANKS);
    seed = strtoull(argv[1], NULL, 10);
    MPI_Op_create(multiply, 0, &product);
    MPI_Type_contiguous(4, MPI_UINT32_T, &matrix);
    MPI_Type_commit(&matrix);
    comms[0] = MPI_COMM_WORLD;
    for (int i = 1; i < SLOTS; i++)
        comms[i] = MPI_COMM_NULL;
    for (phase = 0; phase < atoi(argv[2]); phase++) {
        switch (shared(-1) % 9) {
        case 0: case 1: messages(); break;
        case 2: wildcards(); break;
        case 3: early_leavers(); break;
        case 4: communicators(); break;
        case 5: asked_at_once(); break;
        default: collectives();
        }
#ifdef TRACE
        printf("rank %d phase %d kind %d: %016llx at %lld ps\n", rank, phase, (int)(shared(-1) % 9),
               (unsigned long long)checksum, llround(MPI_Wtime() * 1e12));
#endif
    }
    note_bytes(history, sizeof history);
    note(steps);
    note(products);
    printf("rank %d: %016llx at %lld ps\n", rank, (unsigned long long)checksum, llround(MPI_Wtime() * 1e12));
    for (int i = 1; i < SLOTS; i++)
        if (comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&comms[i]);
    MPI_Op_free(&product);
    MPI_Type_free(&matrix);
    MPI_Finalize();
    return 0;
}
