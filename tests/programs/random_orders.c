/*
 * A random program whose ranks depend on each other's order and time as much as MPI lets them: messages in
 * every mode, receives for any source beside named ones, probes, tests, waits for any and some, cancelling,
 * nonblocking collectives, all interleaved.
 *
 *     random_orders SEED SCENES [KINDS [PROGRAMS]]
 *
 * Each scene is a plan that all ranks draw alike: events at steps of one time line, where what blocks needs
 * only events at earlier steps of other ranks. So no order of running the ranks leads to a deadlock. KINDS is
 * a sum of 1 (messages), 2 (any source), 4 (collectives), 8 (cancelling), 16 (probes), 32 (computation), 64
 * (with 8: also receives whose sender waits for the match); all unless told.
 *
 * Each rank prints a hash of what MPI determines, one of orders and clocks, and its clock: `rank 3: values
 * ... orders ... at ... ps`. PROGRAMS with the seeds from SEED on run one after the other, each on
 * communicators of its own (1 unless told).
 */
#include "check.h"
#include <math.h>
#include <stdint.h>
#include <unistd.h>

enum { MAX_EVENTS = 4000, MAX_OPEN = 400, MAX_BYTES = 6000, LAST = 100000, MAX_RANKS = 256 };
enum Kind { SEND, RECEIVE, COMPLETE, COLLECTIVE, PROBED, POST, CANCEL, FETCH, SLEEP, BOTH };
enum Mode { STANDARD, SYNCHRONOUS, BUFFERED };
enum {
    MESSAGES = 1,
    WILD = 2,
    COLLECTIVES = 4,
    CANCELLING = 8,
    PROBES = 16,
    COMPUTING = 32,
    CANCELLING_WAITED = 64
};

/* What a rank does at a step. `open` is the request that it starts or completes. */
typedef struct {
    int step, kind, rank, peer, tag, bytes, mode, open, number;
    MPI_Comm comm;
} Event;

/* A request under way. */
typedef struct {
    MPI_Request request;
    char *buffer, *input;
    int bytes, wild, number, cancelled;
} Open;

static uint64_t drawn, own, values, orders = 1;
static Event events[MAX_EVENTS];
static int count, opens, next_tag;
static Open open[MAX_OPEN];
static int under_way[MAX_OPEN], many_under_way, kinds;
static MPI_Comm named, wild, half;

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
/* Below `n`, alike on all ranks. */
static int draw(int n) { return (int)((drawn = mix(drawn + 1)) % (uint64_t)n); }
/* Below `n`, this rank's own. */
static int pick(int n) { return (int)((own = mix(own + 1)) % (uint64_t)n); }
static void value(uint64_t key, uint64_t what) { values += mix(mix(key) ^ what); }
static void order(uint64_t what) { orders = mix(orders ^ what); }
static void look_at_clock(void) { order((uint64_t)llround(MPI_Wtime() * 1e12)); }

static uint64_t hash(const char *data, int bytes)
{
    uint64_t h = (uint64_t)bytes;
    for (int i = 0; i < bytes; i++)
        h = h * 31 + (unsigned char)data[i];
    return mix(h);
}

static char *filled(int bytes, int number)
{
    char *data = malloc((size_t)bytes + 1);
    for (int i = 0; i < bytes; i++)
        data[i] = (char)(mix((uint64_t)number) >> i % 57);
    return data;
}

/* A step after `low`. */
static int after(int low) { return low + 1 + draw(low < LAST ? (LAST - low) / (1 + draw(6)) + 1 : 100); }

static Event *plan(int step, int kind, int who)
{
    CHECK(count < MAX_EVENTS);
    events[count] = (Event){ .step = step, .kind = kind, .rank = who, .number = count, .comm = named };
    return &events[count++];
}
static int started(void)
{
    CHECK(opens < MAX_OPEN);
    return opens++;
}
static void completed(int step, int who, int which) { plan(step, COMPLETE, who)->open = which; }

static int size_drawn(void)
{
    static const int sizes[] = { 0, 4, 16, 17, 300, 1000, 1001, 6000 };
    return sizes[draw(8)];
}

/* A send at some step after `low`: when it is posted. Nonblocking, it is completed after `receive`, the step
 * at which its receive is there. */
static int plan_send(int low, int receive, int from, int to, int tag, int bytes, MPI_Comm comm)
{
    int mode = draw(4) % 3, blocks = draw(3) == 0 && (mode == BUFFERED || receive < LAST), step = after(low);
    if (blocks && mode != BUFFERED && step <= receive)
        step = after(receive);
    Event *send = plan(step, SEND, from);
    send->peer = to, send->tag = tag, send->bytes = bytes, send->mode = mode, send->comm = comm,
    send->open = blocks ? -1 : started();
    if (!blocks)
        completed(after(step > receive ? step : receive), from, send->open);
    return step;
}

static void plan_messages(void)
{
    int many = 2 + draw(3 * size < 60 ? 3 * size : 60);
    for (int i = 0; i < many; i++) {
        int from = draw(size), to = draw(size), posted = after(0), tag = next_tag++, bytes = size_drawn(),
            in_a_row = draw(5) ? 1 : 3;
        int last = 0, blocks = 0;
        for (int j = 0; j < in_a_row; j++) {
            int sent = plan_send(0, posted, from, to, tag, bytes, named);
            last = sent > last ? sent : last;
            /* A receive may block only where its sender does not wait for it. */
            blocks = in_a_row == 1 && events[count - 1].kind == SEND && events[count - 1].mode == BUFFERED &&
                     draw(2);
        }
        for (int j = 0; j < in_a_row; j++) {
            int step = blocks ? after(last) : posted;
            Event *receive = plan(step, RECEIVE, to);
            receive->peer = from, receive->tag = tag, receive->bytes = bytes,
            receive->open = blocks ? -1 : started();
            if (!blocks)
                completed(after(last > step ? last : step), to, receive->open);
        }
    }
}

/* Several senders and a receiver `to` that takes any source; or one sender, and receives that name it beside
 * receives that do not. */
static void plan_wild(int to)
{
    int many = 1 + draw(10), one = draw(3) == 0 ? draw(size) : -1, probed = kinds & PROBES && draw(3) == 0;
    int tag = next_tag++, any_tag = draw(3) == 0, last_post = 0, last_send = 0, sizes[10], froms[10];
    int posts[10];
    for (int i = 0; i < many; i++) {
        posts[i] = after(0);
        last_post = posts[i] > last_post ? posts[i] : last_post;
        sizes[i] = size_drawn();
        froms[i] = one >= 0 ? one : draw(size);
    }
    if (probed)
        last_post = 2 * LAST;
    for (int i = 0; i < many; i++) {
        int sent = plan_send(0, last_post, froms[i], to, tag, sizes[i], wild);
        last_send = sent > last_send ? sent : last_send;
    }
    for (int i = 0; i < many; i++) {
        if (probed) {
            Event *probe = plan(last_send + 1 + draw(LAST), PROBED, to);
            probe->tag = any_tag ? MPI_ANY_TAG : tag, probe->comm = wild;
            continue;
        }
        Event *receive = plan(posts[i], RECEIVE, to);
        receive->peer = one >= 0 && draw(2) ? one : MPI_ANY_SOURCE;
        receive->tag = any_tag && draw(2) ? MPI_ANY_TAG : tag, receive->bytes = MAX_BYTES,
        receive->comm = wild, receive->open = started();
        completed(after(last_send > last_post ? last_send : last_post), to, receive->open);
    }
}

static void plan_collective(void)
{
    MPI_Comm comm = draw(3) ? named : half;
    int step = after(0), which = draw(7), blocks = draw(2), bytes = size_drawn(), root = draw(1 + size / 2),
        request = started();
    int seen = after(step);
    for (int who = 0; who < size; who++) {
        Event *call = plan(step, COLLECTIVE, who);
        call->peer = root, call->mode = which, call->bytes = bytes, call->comm = comm,
        call->open = blocks ? -1 : request;
        if (!blocks)
            completed(after(seen), who, request);
    }
}

static void plan_cancelled(void)
{
    int from = draw(size), to = draw(size), tag = next_tag++, step = after(0), sent = after(0);
    Event *post = plan(step, POST, to);
    post->peer = from, post->tag = tag, post->open = started(), post->comm = named;
    int cancelled = after(step);
    plan(cancelled, CANCEL, to)->open = post->open;
    /* Not drawn, so that the programs without these are what they were before there were any. */
    int mode = kinds & CANCELLING_WAITED ? tag % 3 : BUFFERED;
    Event *send = plan(sent, SEND, from);
    send->peer = to, send->tag = tag, send->bytes = 4, send->mode = mode,
    send->open = mode == BUFFERED ? -1 : started();
    int which = send->open, fetched = after(sent > cancelled ? sent : cancelled);
    Event *fetch = plan(fetched, FETCH, to);
    fetch->peer = from, fetch->tag = tag, fetch->open = post->open;
    if (which >= 0)
        completed(after(fetched), from, which);
}

static void plan_rest(void)
{
    for (int i = draw(3); i > 0; i--) {
        int one = draw(size), other = draw(size), step = after(0), tag = next_tag++, bytes = size_drawn();
        if (one == other)
            continue;
        Event *a = plan(step, BOTH, one);
        a->peer = other, a->tag = tag, a->bytes = bytes;
        Event *b = plan(step, BOTH, other);
        b->peer = one, b->tag = tag, b->bytes = bytes;
    }
    for (int i = draw(2 * size); i > 0; i--)
        plan(after(0), SLEEP, draw(size))->bytes = draw(40);
}

static int earlier(const void *one, const void *other)
{
    const Event *a = one, *b = other;
    return a->step != b->step ? (a->step > b->step) - (a->step < b->step)
                              : (a->number > b->number) - (a->number < b->number);
}

/* Request number `which` is complete. */
static void finish(int which, const MPI_Status *status)
{
    Open *done = &open[which];
    int bytes = done->bytes;
    for (int i = 0; i < many_under_way; i++)
        if (under_way[i] == which) {
            under_way[i] = under_way[--many_under_way];
            break;
        }
    if (done->wild && status) {
        MPI_Get_count(status, MPI_BYTE, &bytes);
        order((uint64_t)status->MPI_SOURCE * 1000 + (uint64_t)which);
        value((uint64_t)status->MPI_SOURCE, hash(done->buffer, bytes));
    } else if (done->buffer) {
        value((uint64_t)done->number, hash(done->buffer, bytes));
    }
    free(done->buffer);
    free(done->input);
    done->buffer = done->input = NULL;
    look_at_clock();
}

/* Completes a request in one of many ways, others perhaps as well. */
static void complete(int which)
{
    MPI_Request list[MAX_OPEN];
    MPI_Status statuses[MAX_OPEN];
    int numbers[MAX_OPEN], indices[MAX_OPEN], many = 0, found, flag = 0, how = pick(10);
    if (open[which].request == MPI_REQUEST_NULL)
        return;
    if (how < 3) {
        MPI_Status status;
        if (how == 0)
            while (!flag) {
                MPI_Request_get_status(open[which].request, &flag, MPI_STATUS_IGNORE);
                if (!flag && pick(3) == 0)
                    usleep((useconds_t)pick(3));
            }
        for (flag = 0; how == 1 && !flag;)
            MPI_Test(&open[which].request, &flag, &status);
        if (how != 1)
            MPI_Wait(&open[which].request, &status);
        finish(which, &status);
        return;
    }
    for (int i = 0, from = pick(many_under_way); i < many_under_way; i++) {
        int number = under_way[(i + from) % many_under_way];
        if (number == which || pick(4)) {
            numbers[many] = number;
            list[many++] = open[number].request;
        }
    }
    while (open[which].request != MPI_REQUEST_NULL) {
        found = 1;
        switch (how) {
        case 3: case 4: MPI_Waitany(many, list, &indices[0], &statuses[0]); break;
        case 5: case 6: MPI_Waitsome(many, list, &found, indices, statuses); break;
        case 7:
            MPI_Testany(many, list, &indices[0], &found, &statuses[0]);
            if (!found && pick(2))
                usleep(1);
            break;
        case 8: MPI_Testsome(many, list, &found, indices, statuses); break;
        default:
            for (indices[0] = 0; numbers[indices[0]] != which; indices[0]++)
                ;
            MPI_Wait(&list[indices[0]], &statuses[0]);
        }
        CHECK(found != MPI_UNDEFINED && (!found || indices[0] != MPI_UNDEFINED));
        order((uint64_t)found);
        for (int i = 0; i < found; i++) {
            int number = numbers[indices[i]];
            open[number].request = list[indices[i]];
            order((uint64_t)number);
            finish(number, &statuses[i]);
        }
    }
}

static Open *start(int which, char *buffer, int bytes, int number)
{
    open[which] = (Open){ .request = MPI_REQUEST_NULL, .buffer = buffer, .bytes = bytes, .number = number };
    under_way[many_under_way++] = which;
    return &open[which];
}

static void send(const Event *e)
{
    char *data = filled(e->bytes, e->number);
    if (e->open < 0) {
        switch (e->mode) {
        case STANDARD: MPI_Send(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm); break;
        case SYNCHRONOUS: MPI_Ssend(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm); break;
        default: MPI_Bsend(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm);
        }
        free(data);
        return;
    }
    MPI_Request *request = &start(e->open, data, e->bytes, e->number)->request;
    switch (e->mode) {
    case STANDARD: MPI_Isend(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm, request); break;
    case SYNCHRONOUS: MPI_Issend(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm, request); break;
    default: MPI_Ibsend(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm, request);
    }
}

static void receive(const Event *e)
{
    char *data = calloc(1, (size_t)e->bytes + 1);
    if (e->open < 0) {
        MPI_Recv(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm, MPI_STATUS_IGNORE);
        value((uint64_t)e->number, hash(data, e->bytes));
        free(data);
        return;
    }
    Open *made = start(e->open, data, e->bytes, e->number);
    made->wild = e->comm == wild;
    MPI_Irecv(data, e->bytes, MPI_BYTE, e->peer, e->tag, e->comm, &made->request);
}

static void probed(const Event *e)
{
    MPI_Status status;
    MPI_Message message;
    int flag = 0, bytes;
    char *data = calloc(1, MAX_BYTES + 1);
    switch (pick(4)) {
    case 0:
        MPI_Mprobe(MPI_ANY_SOURCE, e->tag, e->comm, &message, &status);
        MPI_Mrecv(data, MAX_BYTES, MPI_BYTE, &message, &status);
        break;
    case 1:
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, e->tag, e->comm, &flag, &message, &status);
        MPI_Mrecv(data, MAX_BYTES, MPI_BYTE, &message, &status);
        break;
    case 2:
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, e->tag, e->comm, &flag, &status);
        MPI_Recv(data, MAX_BYTES, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, e->comm, &status);
        break;
    default:
        MPI_Probe(MPI_ANY_SOURCE, e->tag, e->comm, &status);
        MPI_Recv(data, MAX_BYTES, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, e->comm, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    order((uint64_t)status.MPI_SOURCE);
    value((uint64_t)status.MPI_SOURCE, hash(data, bytes));
    free(data);
}

static void collective(const Event *e)
{
    int members, me, root, n = e->bytes / 8;
    MPI_Comm_size(e->comm, &members);
    MPI_Comm_rank(e->comm, &me);
    root = e->peer % members;
    char *in = filled(8 * (n + 1) * members, me), *out = calloc((size_t)(8 * (n + 1)), (size_t)members);
    MPI_Request none, *request = &none;
    if (e->open >= 0)
        request = &start(e->open, out, 8 * (n + 1) * members, e->number)->request;
    int later = e->open >= 0;
    switch (e->mode) {
    case 0: later ? MPI_Ibarrier(e->comm, request) : MPI_Barrier(e->comm); break;
    case 1:
        if (me == root)
            memcpy(out, in, (size_t)(8 * n));
        later ? MPI_Ibcast(out, n, MPI_INT64_T, root, e->comm, request)
              : MPI_Bcast(out, n, MPI_INT64_T, root, e->comm);
        break;
    case 2:
        later ? MPI_Ireduce(in, out, n, MPI_INT64_T, MPI_SUM, root, e->comm, request)
              : MPI_Reduce(in, out, n, MPI_INT64_T, MPI_SUM, root, e->comm);
        break;
    case 3:
        later ? MPI_Iallreduce(in, out, n, MPI_INT64_T, MPI_SUM, e->comm, request)
              : MPI_Allreduce(in, out, n, MPI_INT64_T, MPI_SUM, e->comm);
        break;
    case 4:
        later ? MPI_Igather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, root, e->comm, request)
              : MPI_Gather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, root, e->comm);
        break;
    case 5:
        later ? MPI_Ialltoall(in, n, MPI_INT64_T, out, n, MPI_INT64_T, e->comm, request)
              : MPI_Alltoall(in, n, MPI_INT64_T, out, n, MPI_INT64_T, e->comm);
        break;
    default:
        later ? MPI_Iscan(in, out, n, MPI_INT64_T, MPI_SUM, e->comm, request)
              : MPI_Scan(in, out, n, MPI_INT64_T, MPI_SUM, e->comm);
    }
    if (later) {
        open[e->open].input = in;
    } else {
        value((uint64_t)e->number, hash(out, 8 * (n + 1) * members));
        free(out);
        free(in);
    }
}

static void cancel(const Event *e)
{
    Open *posted = &open[e->open];
    MPI_Status status;
    int cancelled;
    MPI_Cancel(&posted->request);
    MPI_Wait(&posted->request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    posted->cancelled = cancelled;
    order((uint64_t)cancelled);
}

static void run(const Event *e)
{
    Open *posted = &open[e->open < 0 ? 0 : e->open];
    switch (e->kind) {
    case SEND: send(e); break;
    case RECEIVE: receive(e); break;
    case COMPLETE: complete(e->open); return;
    case COLLECTIVE: collective(e); break;
    case PROBED: probed(e); break;
    case POST:
        *posted = (Open){ .buffer = calloc(1, 8), .bytes = 4 };
        MPI_Irecv(posted->buffer, 4, MPI_BYTE, pick(2) ? e->peer : MPI_ANY_SOURCE, e->tag, e->comm,
                  &posted->request);
        break;
    case CANCEL: cancel(e); break;
    case FETCH:
        if (posted->cancelled)
            MPI_Recv(posted->buffer, 4, MPI_BYTE, e->peer, e->tag, e->comm, MPI_STATUS_IGNORE);
        value((uint64_t)e->number, hash(posted->buffer, 4));
        free(posted->buffer);
        break;
    case SLEEP: usleep((useconds_t)e->bytes); break;
    default: {
        char *data = filled(e->bytes, e->number), *got = calloc(1, (size_t)e->bytes + 1);
        MPI_Sendrecv(data, e->bytes, MPI_BYTE, e->peer, e->tag, got, e->bytes, MPI_BYTE, e->peer, e->tag,
                     e->comm, MPI_STATUS_IGNORE);
        value((uint64_t)e->number, hash(got, e->bytes));
        free(data);
        free(got);
    }
    }
    look_at_clock();
}

static void run_program(uint64_t seed, int scenes)
{
    int room = 16 << 20, ignored;
    char *attached = malloc((size_t)room);
    MPI_Buffer_attach(attached, room);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_dup(MPI_COMM_WORLD, &wild);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    drawn = mix(seed);
    own = mix(drawn ^ mix((uint64_t)rank));
    for (int scene = 0; scene < scenes; scene++) {
        count = opens = many_under_way = next_tag = 0;
        if (kinds & MESSAGES)
            plan_messages();
        /* One batch a receiver: a receive for any tag must not take another batch's message. */
        for (int i = kinds & WILD ? draw(4) : 0, to = draw(size); i > 0 && i <= size; i--)
            plan_wild((to + i) % size);
        for (int i = kinds & COLLECTIVES ? draw(5) : 0; i > 0 && count + 2 * size < MAX_EVENTS - 200; i--)
            plan_collective();
        for (int i = kinds & CANCELLING ? draw(4) : 0; i > 0; i--)
            plan_cancelled();
        if (kinds & COMPUTING)
            plan_rest();
        qsort(events, (size_t)count, sizeof *events, earlier);
        for (int i = 0; i < count; i++)
            if (events[i].rank == rank)
                run(&events[i]);
        CHECK(many_under_way == 0);
        MPI_Barrier(draw(2) ? wild : MPI_COMM_WORLD);
        if (draw(2))
            MPI_Barrier(wild);
        look_at_clock();
    }
    MPI_Buffer_detach(&attached, &ignored);
    free(attached);
    MPI_Comm_free(&named);
    MPI_Comm_free(&wild);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc >= 3 && size <= MAX_RANKS);
    kinds = argc > 3 ? (int)strtol(argv[3], NULL, 0) : 127;
    for (int program = 0, programs = argc > 4 ? atoi(argv[4]) : 1; program < programs; program++) {
        run_program(strtoull(argv[1], NULL, 10) + (uint64_t)program, atoi(argv[2]));
        printf("rank %d: values %016llx orders %016llx at %lld ps\n", rank, (unsigned long long)values,
               (unsigned long long)orders, llround(MPI_Wtime() * 1e12));
    }
    MPI_Finalize();
    return 0;
}
