/* Makes random intercommunicators, and uses them in random ways.
 *
 *     random_bridges SEED [STEPS [named]]
 *
 * In each step the ranks fall into groups at random, of which two and two make an intercommunicator: from
 * their communicators or from groups, or by meeting at a port. What follows there is drawn alike by both
 * sides: messages, collectives, copies, parts and a merged one. With `named` no receive is from any source
 * and no wait is for any of several requests. */
#include "check.h"
#include <unistd.h>

typedef unsigned long long u64;
enum { MAX_RANKS = 64, LONG = 4096 };

static u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static u64 key_of(u64 key, u64 what) { return mix(mix(key) ^ (what * 0x9e3779b97f4a7c15u + 77)); }
static int draw(u64 key, u64 what, int below) { return (int)(key_of(key, what) % (u64)below); }
static void compute(u64 key)
{
    u64 drawn = key_of(key, 900 + (u64)rank);
    if (drawn % 3 == 0) usleep((useconds_t)(drawn >> 8) % 5);
}

/* An intercommunicator, as one side sees it. */
typedef struct { MPI_Comm comm; int side, me, local, remote; } Bridge;

static int in[MAX_RANKS * LONG], out[MAX_RANKS * LONG];
static int sent[MAX_RANKS], got[MAX_RANKS], from[MAX_RANKS], to[MAX_RANKS];
static MPI_Datatype types[MAX_RANKS];
static int named;

static Bridge seen(MPI_Comm comm, int side)
{
    Bridge bridge = { comm, side, 0, 0, 0 };
    MPI_Comm_rank(comm, &bridge.me);
    MPI_Comm_size(comm, &bridge.local);
    MPI_Comm_remote_size(comm, &bridge.remote);
    return bridge;
}

/* How many elements member `member` of a side gives, or gets. */
static int count_of(u64 key, int side, int member)
{
    int kind = draw(key, 1000 + (u64)(2 * member + side), 4), among = kind == 1 ? LONG / 8 : 20;
    return kind ? draw(key, 2000 + (u64)(2 * member + side), among) : 0;
}

static int receiver(u64 key, int sender, int receivers)
{
    return (sender * (1 + draw(key, 3, 5)) + draw(key, 4, 7)) % receivers;
}

/* Each sends to one of the other side, in both directions. */
static void messages(u64 key, Bridge b)
{
    MPI_Request requests[MAX_RANKS + 1];
    int mode = named ? 3 * draw(key, 5, 2) : draw(key, 5, 5), number = draw(key, 6, 1000), open = 0;
    int length = count_of(key, b.side, 0), expected = count_of(key, !b.side, 0);
    for (int sender = 0; sender < b.remote; sender++) {
        if (receiver(key, sender, b.local) != b.me) continue;
        int source = mode == 1 ? MPI_ANY_SOURCE : sender, tag = mode == 2 ? MPI_ANY_TAG : number;
        if (mode < 4)
            MPI_Irecv(in + open * LONG, expected, MPI_INT, source, tag, b.comm, &requests[open]);
        open++;
    }
    int dest = receiver(key, b.me, b.remote);
    for (int i = 0; i < length; i++) out[i] = b.me;
    if (mode == 3) MPI_Issend(out, length, MPI_INT, dest, number, b.comm, &requests[mode < 4 ? open : 0]);
    else MPI_Isend(out, length, MPI_INT, dest, number, b.comm, &requests[mode < 4 ? open : 0]);
    compute(key);
    if (mode == 4) {
        MPI_Status status;
        MPI_Message message;
        for (int i = 0; i < open; i++) {
            if (i % 2) {
                MPI_Mprobe(MPI_ANY_SOURCE, number, b.comm, &message, &status);
                MPI_Mrecv(in, expected, MPI_INT, &message, MPI_STATUS_IGNORE);
            } else {
                MPI_Probe(MPI_ANY_SOURCE, number, b.comm, &status);
                MPI_Recv(in, expected, MPI_INT, status.MPI_SOURCE, number, b.comm, MPI_STATUS_IGNORE);
            }
            if (expected) CHECK(receiver(key, in[0], b.local) == b.me);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (mode == 2) {
        for (int i = 0, index; i <= open; i++) MPI_Waitany(open + 1, requests, &index, MPI_STATUS_IGNORE);
    } else {
        MPI_Waitall(open + 1, requests, MPI_STATUSES_IGNORE);
    }
}

/* Waits for a collective that has been started, or that can be. */
static void finish(u64 key, MPI_Request *request, int persistent)
{
    if (persistent) MPI_Start(request);
    compute(key);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(request);
}

static int lay_out(u64 key, int side, int members, int *counts, int *places)
{
    int sum = 0;
    for (int i = 0; i < members; i++) {
        counts[i] = count_of(key, side, i);
        places[i] = sum;
        sum += counts[i];
    }
    return sum;
}

#define FORMS(name, ...)                                                                      \
    do {                                                                                      \
        MPI_Request request;                                                                  \
        if (form == 0) { MPI_##name(__VA_ARGS__); }                                           \
        else if (form == 1) { MPI_I##name(__VA_ARGS__, &request); finish(key, &request, 0); } \
        else { MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request); finish(key, &request, 1); } \
    } while (0)
#define Ibarrier ibarrier
#define MPI_IBarrier MPI_Ibarrier
#define MPI_IBcast MPI_Ibcast
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

/* A collective with a root on one side. */
static void rooted(u64 key, Bridge b)
{
    int form = draw(key, 1, 3), side = draw(key, 2, 2), count = count_of(key, 0, 0);
    int leader = draw(key, 3, side == b.side ? b.local : b.remote);
    int root = side != b.side ? leader : leader == b.me ? MPI_ROOT : MPI_PROC_NULL;
    if (root == MPI_ROOT) {
        lay_out(key, !b.side, b.remote, sent, to);
        out[0] = 41;
    }
    int own = side == b.side ? 0 : count_of(key, b.side, b.me);
    switch (draw(key, 4, 6)) {
    case 0:
        FORMS(Bcast, out, count, MPI_INT, root, b.comm);
        if (count && side != b.side) CHECK(out[0] == 41);
        break;
    case 1: FORMS(Gather, out, count, MPI_INT, in, count, MPI_INT, root, b.comm); break;
    case 2: FORMS(Gatherv, out, own, MPI_INT, in, sent, to, MPI_INT, root, b.comm); break;
    case 3: FORMS(Scatter, out, count, MPI_INT, in, count, MPI_INT, root, b.comm); break;
    case 4: FORMS(Scatterv, out, sent, to, MPI_INT, in, own, MPI_INT, root, b.comm); break;
    default: FORMS(Reduce, out, in, count, MPI_INT, MPI_SUM, root, b.comm); break;
    }
}

/* Blocks for the other side: both sides say how many they give. */
static void symmetric(u64 key, Bridge b)
{
    int form = draw(key, 1, 3), gives = count_of(key, b.side, 0), gets = count_of(key, !b.side, 0);
    int both = count_of(key, 0, 1);
    switch (draw(key, 2, 10)) {
    case 0: {
        MPI_Request request;
        if (form == 0) { MPI_Barrier(b.comm); }
        else if (form == 1) { MPI_Ibarrier(b.comm, &request); finish(key, &request, 0); }
        else { MPI_Barrier_init(b.comm, MPI_INFO_NULL, &request); finish(key, &request, 1); }
        break;
    }
    case 1: FORMS(Allgather, out, gives, MPI_INT, in, gets, MPI_INT, b.comm); break;
    case 2:
        lay_out(key, !b.side, b.remote, got, from);
        FORMS(Allgatherv, out, count_of(key, b.side, b.me), MPI_INT, in, got, from, MPI_INT, b.comm);
        break;
    case 3: FORMS(Alltoall, out, gives, MPI_INT, in, gets, MPI_INT, b.comm); break;
    case 4: case 5: {
        int w = draw(key, 6, 2);
        for (int i = 0; i < b.remote; i++) {
            sent[i] = count_of(key_of(key, (u64)i), b.side, b.me) % 300;
            got[i] = count_of(key_of(key, (u64)b.me), !b.side, i) % 300;
            to[i] = from[i] = (w ? 4 : 1) * 300 * i;
            types[i] = MPI_INT;
        }
        if (w) FORMS(Alltoallw, out, sent, to, types, in, got, from, types, b.comm);
        else FORMS(Alltoallv, out, sent, to, MPI_INT, in, got, from, MPI_INT, b.comm);
        break;
    }
    case 6:
        for (int i = 0; i < both; i++) out[i] = b.side + 1;
        FORMS(Allreduce, out, in, both, MPI_INT, MPI_SUM, b.comm);
        if (both) CHECK(in[0] == (2 - b.side) * b.remote);
        break;
    case 7: { /* Both sides have as many elements in all. */
        int all = b.local * b.remote * (1 + draw(key, 7, 9));
        FORMS(Reduce_scatter_block, out, in, all / b.local, MPI_INT, MPI_MAX, b.comm);
        break;
    }
    default: {
        int all = both, left = all;
        for (int i = 0; i < b.local; i++)
            left -= got[i] = i + 1 < b.local ? draw(key, 50 + (u64)i, left + 1) : left;
        FORMS(Reduce_scatter, out, in, got, MPI_INT, MPI_SUM, b.comm);
        break;
    }
    }
}

static void use(u64 key, Bridge bridge, int depth);

/* An intracommunicator that is new. */
static void use_plain(u64 key, MPI_Comm comm)
{
    int me, members, value;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    MPI_Exscan(&rank, &value, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(out, count_of(key, 0, 5), MPI_INT, (me + 1) % members, 9, in, LONG, MPI_INT,
                 (me + members - 1) % members, 9, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

/* Another communicator of an intercommunicator. */
static void derive(u64 key, Bridge b, int depth)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group, part;
    MPI_Request request;
    switch (draw(key, 1, 7)) {
    case 0: MPI_Comm_dup(b.comm, &made); break;
    case 1:
        MPI_Comm_idup(b.comm, &made, &request);
        compute(key);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2: {
        int color = draw(key, 100 + b.side * MAX_RANKS + b.me, 4);
        MPI_Comm_split(b.comm, color ? color % 2 : MPI_UNDEFINED, -b.me * draw(key, 3, 2), &made);
        break;
    }
    case 3: MPI_Comm_split_type(b.comm, MPI_COMM_TYPE_SHARED, b.me, MPI_INFO_NULL, &made); break;
    case 4: {
        int first = draw(key, 200 + (u64)b.side, b.local);
        for (int i = first; i < b.local; i++) got[b.local - 1 - i] = i;
        MPI_Comm_group(b.comm, &group);
        MPI_Group_incl(group, b.local - first, got, &part);
        MPI_Comm_create(b.comm, part, &made);
        MPI_Group_free(&part);
        MPI_Group_free(&group);
        break;
    }
    default:
        MPI_Intercomm_merge(b.comm, draw(key, 4, 3) ? b.side : draw(key, 5, 2), &made);
        use_plain(key, made);
        return;
    }
    if (made == MPI_COMM_NULL) return;
    if (depth < 2) use(key, seen(made, b.side), depth + 1);
    if (draw(key, 6, 3)) MPI_Comm_free(&made);
    else MPI_Comm_disconnect(&made);
}

static void use(u64 key, Bridge bridge, int depth)
{
    int calls = 1 + draw(key, 8, 4 - depth);
    for (int call = 0; call < calls; call++) {
        u64 k = key_of(key, 20 + (u64)call);
        int what = draw(k, 9, 8), turns = draw(k, 10, 3) ? 1 : 2 + draw(k, 11, 7);
        compute(k);
        for (int turn = 0; turn < turns; turn++)
            switch (what) {
            case 0: case 1: messages(k, bridge); break;
            case 2: case 3: rooted(k, bridge); break;
            case 4: case 5: symmetric(k, bridge); break;
            default: derive(k, bridge, depth); break;
            }
    }
}

/* Two groups meet, of those in `local`. */
static Bridge meet(u64 key, MPI_Comm local, int color)
{
    int side = color % 2, me, members;
    MPI_Comm made;
    MPI_Group world, groups[2];
    MPI_Comm_rank(local, &me);
    MPI_Comm_size(local, &members);
    if (draw(key, 1, 3)) {
        /* The first of each group is known to all: the least or the greatest rank of its color. */
        int other = -1, lead = 0, mine;
        for (int i = 0; i < size; i++)
            if (draw(key, 300 + (u64)i, 5) == (color ^ 1)) { other = i; break; }
        for (int i = 0; i < size; i++)
            if (draw(key, 300 + (u64)i, 5) == color) { lead = i; break; }
        mine = rank == lead ? me : 0;
        MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, local);
        MPI_Intercomm_create(local, mine, me == mine ? MPI_COMM_WORLD : MPI_COMM_NULL, other, 11 + color / 2,
                             &made);
        return seen(made, side);
    }
    char text[32];
    int count = 0, own[MAX_RANKS], theirs[MAX_RANKS], others = 0;
    for (int i = 0; i < size; i++) {
        int drawn = draw(key, 300 + (u64)i, 5);
        if (drawn == color) own[count++] = i;
        if (drawn == (color ^ 1)) theirs[others++] = i;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, own, &groups[0]);
    MPI_Group_incl(world, others, theirs, &groups[1]);
    snprintf(text, sizeof text, "bridge %d", color / 2);
    int leaders[2] = { draw(key, 7 + (u64)side, count), draw(key, 7 + (u64)!side, others) };
    MPI_Intercomm_create_from_groups(groups[0], leaders[0], groups[1], leaders[1], text, MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &made);
    MPI_Group_free(&groups[0]);
    MPI_Group_free(&groups[1]);
    MPI_Group_free(&world);
    return seen(made, side);
}

int main(int argc, char **argv)
{
    u64 seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int steps = argc > 2 ? atoi(argv[2]) : 4;
    named = argc > 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm kept = MPI_COMM_NULL;
    int kept_side = 0;
    u64 kept_key = 0;
    for (int step = 0; step < steps; step++) {
        u64 key = key_of(seed, (u64)step);
        /* Colors 0 and 1 make one, 2 and 3 another, 4 none. */
        int color = draw(key, 300 + (u64)rank, 5), present = 0;
        for (int i = 0; i < size; i++) present |= 1 << draw(key, 300 + (u64)i, 5);
        MPI_Comm local;
        int order = draw(key, 2, 2) ? -rank : 0;
        MPI_Comm_split(MPI_COMM_WORLD, color < 4 ? color : MPI_UNDEFINED, order, &local);
        if (local == MPI_COMM_NULL) continue;
        if (present >> color & 1 && present >> (color ^ 1) & 1) {
            u64 k = key_of(key, 5 + (u64)(color / 2));
            Bridge bridge = meet(key, local, color);
            use(k, bridge, 0);
            if (step == 0 && draw(k, 12, 2)) {
                kept = bridge.comm;
                kept_side = bridge.side;
                kept_key = k;
            } else {
                MPI_Comm_free(&bridge.comm);
            }
        }
        MPI_Comm_free(&local);
    }
    if (kept != MPI_COMM_NULL) {
        use(key_of(kept_key, 4), seen(kept, kept_side), 1);
        MPI_Comm_free(&kept);
    }
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
