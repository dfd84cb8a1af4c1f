/* Makes random epochs on random windows and checks what they find. Prints what must not depend on how it is
 * run.
 *
 *     random_windows SEED [EPOCHS [KINDS [PROGRAMS]]]
 *
 * Each rank has a slice of every member's memory to itself, of which origin and target keep a model. Behind
 * the slices lie counters that all ranks use at once: what an atomic access finds there is the order of the
 * accesses. A second window with such counters is open to all from begin to end. Each rank prints a digest of
 * data, which depends on no machine, and one of orders and times. KINDS is the sum of 1 fences, 2 groups, 4
 * locks, 8 locks of all. PROGRAMS with the seeds from SEED on run one after the other (1 unless told). */
#include "check.h"
#include <unistd.h>

enum { MAX_RANKS = 32, COUNTERS = 4, LONG = 900, SHORT = 12, PENDING = 4096 };
typedef unsigned long long u64;

static u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static u64 key_of(u64 key, u64 what) { return mix(mix(key) ^ (what * 0x9e3779b97f4a7c15u + 77)); }
/* A number below `below` that all ranks draw alike. */
static int draw(u64 key, u64 what, int below) { return (int)(key_of(key, what) % (u64)below); }

static u64 found, order = 1;
static void note_order(long value) { order = mix(order ^ (u64)value); }
static void note_time(void) { note_order((long)(MPI_Wtime() * 1e12 + 0.5)); }
static void compute(u64 key)
{
    u64 drawn = key_of(key, 900 + (u64)rank);
    if (drawn % 3 == 0) usleep((useconds_t)(drawn >> 8) % 5);
}

/* The window of a few epochs, and its members. */
static MPI_Comm comm;
static MPI_Win win, aux;
static int me, n, slice, flavor;
static long *memory, *aux_memory, *in, *out, expected[COUNTERS], fixed[MAX_RANKS * SHORT + COUNTERS];
static MPI_Aint *bases;

/* What comes back later: where to, and what it must be, or none if it is the order of accesses. */
static struct Pending { long *got, *wanted; int count; } pending[PENDING];
static int waiting;
static long *expect(const long *wanted, int count)
{
    struct Pending *p = &pending[waiting++];
    CHECK(waiting < PENDING);
    p->got = calloc((size_t)count, sizeof(long));
    p->wanted = NULL;
    size_t bytes = (size_t)count * sizeof(long);
    if (wanted) memcpy(p->wanted = malloc(bytes), wanted, bytes);
    p->count = count;
    return p->got;
}
static void settle(void)
{
    for (int i = 0; i < waiting; i++) {
        for (int j = 0; j < pending[i].count; j++) {
            if (!pending[i].wanted) note_order(pending[i].got[j]);
            else CHECK(pending[i].got[j] == pending[i].wanted[j]);
            if (pending[i].wanted) found += mix((u64)pending[i].got[j] + (u64)j);
        }
        free(pending[i].got);
        free(pending[i].wanted);
    }
    waiting = 0;
}

static MPI_Request requests[PENDING];
static int asked;
static void complete_requests(void)
{
    MPI_Waitall(asked, requests, MPI_STATUSES_IGNORE);
    asked = 0;
}

static MPI_Aint at(int target, long index)
{
    return flavor == 4 ? MPI_Aint_add(bases[target], 8 * index) : (MPI_Aint)index;
}

/* Buffers are given back when the epoch is over. */
static void *given[PENDING];
static int lent;
static long *lend(int count)
{
    CHECK(lent < PENDING);
    return given[lent++] = malloc(((size_t)count + 1) * sizeof(long));
}
static void take_back(void)
{
    while (lent) free(given[--lent]);
}

/* What one access does, at the origin; `by_request` in epochs of locks. */
static void issue(int what, MPI_Op op, long *data, long *got, int count, int stride, int target, long index,
                  int by_request)
{
    MPI_Datatype type = MPI_LONG;
    int elements = count;
    if (stride > 1) {
        MPI_Type_vector(count, 1, stride, MPI_LONG, &type);
        MPI_Type_commit(&type);
        elements = 1;
    }
    MPI_Request *request = &requests[asked];
    if (by_request) asked++;
    MPI_Aint place = at(target, index);
    if (what == 0) {
        if (by_request) MPI_Rput(data, count, MPI_LONG, target, place, elements, type, win, request);
        else MPI_Put(data, count, MPI_LONG, target, place, elements, type, win);
    } else if (what == 1) {
        if (by_request) MPI_Rget(got, count, MPI_LONG, target, place, elements, type, win, request);
        else MPI_Get(got, count, MPI_LONG, target, place, elements, type, win);
    } else if (what == 2) {
        if (by_request)
            MPI_Raccumulate(data, count, MPI_LONG, target, place, elements, type, op, win, request);
        else MPI_Accumulate(data, count, MPI_LONG, target, place, elements, type, op, win);
    } else {
        if (by_request)
            MPI_Rget_accumulate(data, count, MPI_LONG, got, count, MPI_LONG, target, place, elements, type,
                                op, win, request);
        else
            MPI_Get_accumulate(data, count, MPI_LONG, got, count, MPI_LONG, target, place, elements, type, op,
                               win);
    }
    if (stride > 1) MPI_Type_free(&type);
}

/* What `origin` does to its slice at `target`: to its model there, and if it is this rank to the memory. */
static void use_slice(u64 key, int origin, int target, long *model, int locks)
{
    int mine = origin == me && model == out + (size_t)target * slice;
    int mode = draw(key, 1, 3), count = 1 + draw(key, 2, 4);
    for (int i = 0; i < count; i++) {
        u64 k = key_of(key, 10 + (u64)i);
        int stride = 1 + (draw(k, 1, 4) == 0), part = slice / count, first = i * part;
        /* Accumulates of one origin keep their order wherever they go; puts and gets must not meet. */
        if (mode == 1) {
            part = slice;
            first = 0;
        }
        int length = 1 + draw(k, 2, draw(k, 3, 3) ? (part < 5 ? part : 5) : part);
        if (length * stride > part) stride = 1;
        first += draw(k, 4, part - length * stride + 1);
        int fetches = draw(k, 5, 3) == 0, by_request = locks && draw(k, 6, 3) == 0;
        long *data = mine ? lend(length) : NULL, index = (long)origin * slice + first, *got = NULL;
        MPI_Op op = mode == 1 ? (MPI_Op[]){MPI_SUM, MPI_REPLACE, MPI_MAX}[draw(key, 7, 3)] : MPI_REPLACE;
        if (mine && (mode == 2 || (mode == 1 && fetches))) {
            long *wanted = lend(length);
            for (int j = 0; j < length; j++) wanted[j] = model[first + j * stride];
            got = expect(wanted, length);
        }
        for (int j = 0; j < length; j++) {
            long value = (long)(key_of(k, 50 + (u64)j) >> 40), *cell = &model[first + j * stride];
            if (mine) data[j] = value;
            if (mode == 2) continue;
            if (op == MPI_SUM) *cell += value;
            else if (op == MPI_REPLACE || value > *cell) *cell = value;
        }
        if (!mine) continue;
        issue(mode == 0   ? 0
              : mode == 2 ? 1
              : fetches   ? 3
                          : 2,
              op, data, got, length, stride, target, index, by_request);
        if (draw(k, 8, 4) == 0) compute(k);
        if (locks && draw(k, 9, 4) == 0) MPI_Win_flush(target, win);
        if (locks && draw(k, 9, 4) == 1) MPI_Win_flush_local(target, win);
    }
}

/* What `origin` does to the counters at `target`, which this rank is if it only adds up. */
static void use_counters(u64 key, int origin, int target, int locks)
{
    int mine = origin == me, count = draw(key, 101, 4);
    for (int i = 0; i < count; i++) {
        u64 k = key_of(key, 110 + (u64)i);
        int what = draw(k, 1, 5), cell = draw(k, 2, COUNTERS - 1);
        if (target == me && what < 4) expected[cell] += 1 + what;
        if (!mine) continue;
        long *data = lend(2), index = (long)n * slice + cell;
        data[0] = 1 + what;
        MPI_Aint place = at(target, index);
        if (what == 0) MPI_Accumulate(data, 1, MPI_LONG, target, place, 1, MPI_LONG, MPI_SUM, win);
        if (what == 1 || what == 2)
            MPI_Fetch_and_op(data, expect(NULL, 1), MPI_LONG, target, place, MPI_SUM, win);
        if (what == 3) issue(3, MPI_SUM, data, expect(NULL, 1), 1, 1, target, index, locks && draw(k, 3, 2));
        if (what == 4) {
            data[0] = origin + 1 + i;
            data[1] = draw(k, 4, 3);
            MPI_Aint swapped = at(target, (long)n * slice + COUNTERS - 1);
            MPI_Compare_and_swap(data, data + 1, expect(NULL, 1), MPI_LONG, target, swapped, win);
        }
        if (locks && draw(k, 5, 2)) {
            MPI_Win_flush(target, win);
            note_time();
        }
    }
}

/* Counters of the window that is always open, where whoever comes first finds less. */
static void use_aux(u64 key)
{
    if (draw(key_of(key, 300), (u64)rank, 3)) return;
    for (int i = draw(key_of(key, 301), (u64)rank, 3); i >= 0; i--) {
        long one = 1, before = -1;
        int target = draw(key_of(key, 302), (u64)i, 2) ? draw(key_of(key, 303), (u64)(rank + i), size) : rank;
        MPI_Fetch_and_op(&one, &before, MPI_LONG, target, i % 2, MPI_SUM, aux);
        MPI_Win_flush(target, aux);
        note_order(before);
        note_time();
    }
}

static int edge(u64 key, int origin, int target)
{ return draw(key_of(key, 400), (u64)(origin * 64 + target), 3) != 0; }

static void access_all(u64 key, int only, int locks)
{
    for (int i = 0; i < n; i++) {
        int target = (i + me * 3) % n;
        if (!edge(key, me, target) || (only >= 0 && target != only)) continue;
        u64 k = key_of(key, (u64)(me * 64 + target));
        compute(k);
        int first = draw(k, 200, 2);
        if (first) use_counters(k, me, target, locks);
        use_slice(k, me, target, out + (size_t)target * slice, locks);
        if (!first) use_counters(k, me, target, locks);
    }
    if (only < 0 && draw(key_of(key, 401), (u64)me, 3) == 0) use_aux(key);
}

/* The members that this rank has an edge to, or from. */
static MPI_Group partners(u64 key, int from)
{
    int list[MAX_RANKS], count = 0;
    for (int i = 0; i < n; i++)
        if (from ? edge(key, i, me) : edge(key, me, i)) list[count++] = i;
    MPI_Group all, some;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, count, list, &some);
    MPI_Group_free(&all);
    return some;
}

static void epoch(u64 key, int how)
{
    if (how == 0) {
        MPI_Win_fence(draw(key, 1, 2) ? MPI_MODE_NOPRECEDE : 0, win);
        access_all(key, -1, 0);
        compute(key);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    } else if (how == 1) {
        MPI_Group to = partners(key, 0), from = partners(key, 1);
        int unchecked = draw(key, 2, 4) == 0 ? MPI_MODE_NOCHECK : 0;
        compute(key);
        MPI_Win_post(from, unchecked, win);
        if (unchecked) MPI_Barrier(comm);
        MPI_Win_start(to, unchecked, win);
        access_all(key, -1, 0);
        MPI_Win_complete(win);
        settle();
        note_time();
        if (draw(key, 500 + (u64)me, 2)) {
            MPI_Win_wait(win);
        } else {
            int over = 0, sleeps = draw(key, 600 + (u64)me, 2), vain = -1;
            for (; !over; vain++) {
                MPI_Win_test(win, &over);
                if (sleeps && !over) usleep(1);
            }
            if (sleeps) note_order(vain);
        }
        MPI_Group_free(&to);
        MPI_Group_free(&from);
    } else if (how == 2) {
        for (int i = 0; i < n; i++) {
            int target = (me + i * (1 + draw(key, 3, 2) * (n - 2))) % n;
            if (!edge(key, me, target)) continue;
            u64 k = key_of(key, (u64)(me * 64 + target) + 5000);
            MPI_Win_lock(draw(k, 1, 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
            if (draw(k, 2, 2)) note_time();
            access_all(key, target, 1);
            complete_requests();
            if (draw(k, 3, 3) == 0) MPI_Win_flush(target, win);
            MPI_Win_unlock(target, win);
            settle();
        }
        compute(key);
    } else {
        MPI_Win_lock_all(draw(key, 4, 2) ? MPI_MODE_NOCHECK : 0, win);
        access_all(key, -1, 1);
        complete_requests();
        if (draw(key, 5, 2)) MPI_Win_flush_all(win);
        if (draw(key, 6, 3) == 0) compute(key);
        MPI_Win_unlock_all(win);
    }
    settle();
    take_back();
    note_time();
    /* What others have done here. */
    for (int origin = 0; origin < n; origin++) {
        if (!edge(key, origin, me)) continue;
        u64 k = key_of(key, (u64)(origin * 64 + me));
        use_slice(k, origin, me, in + (size_t)origin * slice, 0);
        if (origin != me) use_counters(k, origin, me, 0);
    }
}

static void check_memory(int locks)
{
    if (locks) {
        MPI_Barrier(comm);
        MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    }
    for (int i = 0; i < n * slice; i++) {
        CHECK(memory[i] == in[i]);
        found += mix((u64)memory[i] * 31 + (u64)i);
    }
    for (int i = 0; i < COUNTERS - 1; i++) CHECK(memory[n * slice + i] == expected[i]);
    note_order(memory[n * slice + COUNTERS - 1]);
    if (locks) MPI_Win_unlock(me, win);
}

static void few_epochs(u64 key, int epochs, int kinds)
{
    flavor = draw(key, 1, 5);
    slice = flavor >= 2 && flavor != 4 ? SHORT : draw(key, 2, 2) ? LONG : SHORT;
    if (draw(key, 3, 3)) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else MPI_Comm_split(MPI_COMM_WORLD, draw(key, 40 + (u64)rank, 2), draw(key, 80 + (u64)rank, 9), &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    long on_stack[MAX_RANKS * SHORT + COUNTERS];
    size_t longs = (size_t)n * slice + COUNTERS;
    if (flavor == 0) {
        MPI_Win_allocate((MPI_Aint)(8 * longs), 8, MPI_INFO_NULL, comm, &memory, &win);
    } else {
        memory = flavor == 2 ? fixed : flavor == 3 ? on_stack : malloc(8 * longs);
        if (flavor < 4) MPI_Win_create(memory, (MPI_Aint)(8 * longs), 8, MPI_INFO_NULL, comm, &win);
    }
    if (flavor == 4) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
        MPI_Win_attach(win, memory, (MPI_Aint)(8 * longs));
        MPI_Aint base;
        MPI_Get_address(memory, &base);
        MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, comm);
    }
    memset(memory, 0, 8 * longs);
    memset(expected, 0, sizeof expected);
    in = calloc((size_t)n * slice, 8);
    out = calloc((size_t)n * slice, 8);
    MPI_Barrier(comm);
    int last = -1;
    for (int i = 0; i < epochs; i++) {
        u64 k = key_of(key, 1000 + (u64)i);
        int how = draw(k, 1, 4);
        while (!(kinds >> how & 1)) how = (how + 1) % 4;
        /* Locks may follow a fence at once. After a group's epoch a rank must not be locked before its own is
         * over. */
        if (how >= 2 && last != 0) MPI_Barrier(comm);
        if (last >= 2 && how < 2) MPI_Barrier(comm);
        epoch(k, how);
        if (how >= 2 || i + 1 == epochs || draw(k, 2, 3)) {
            check_memory(how >= 2);
            last = 1;
            if (how != 1 || draw(k, 3, 2)) MPI_Barrier(comm);
        } else {
            last = how;
        }
        use_aux(k);
    }
    if (flavor == 4) {
        MPI_Barrier(comm);
        MPI_Win_detach(win, memory);
    }
    MPI_Win_free(&win);
    if (flavor == 1 || flavor == 4) free(memory);
    free(in);
    free(out);
    MPI_Comm_free(&comm);
}

static void run_program(u64 seed, int epochs, int kinds)
{
    MPI_Win_allocate(16, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &aux_memory, &aux);
    aux_memory[0] = aux_memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(seed % 2 ? MPI_MODE_NOCHECK : 0, aux);
    for (int done = 0, i = 0; done < epochs; i++) {
        u64 key = key_of(seed, (u64)i);
        int some = 1 + draw(key, 0, 3);
        few_epochs(key, some, kinds);
        done += some;
        note_time();
    }
    MPI_Win_unlock_all(aux);
    MPI_Win_free(&aux);
    printf("rank %d found %016llx order %016llx at %.0f\n", rank, found, order, MPI_Wtime() * 1e12);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= MAX_RANKS);
    u64 seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int epochs = argc > 2 ? atoi(argv[2]) : 6, kinds = argc > 3 ? atoi(argv[3]) & 15 : 15;
    if (!kinds) kinds = 15;
    bases = malloc(sizeof(MPI_Aint) * (size_t)size);
    for (int program = 0, programs = argc > 4 ? atoi(argv[4]) : 1; program < programs; program++)
        run_program(seed + (u64)program, epochs, kinds);
    MPI_Finalize();
    return 0;
}
