#define _POSIX_C_SOURCE 199309L
#include "main.h"
#include "util.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int rank, ranks;
MPI_Comm comms[COMMS];
MPI_Datatype types[TYPES];
MPI_Op ops[OPS];
MPI_Group groups[GROUPS];
MPI_Info infos[INFOS];
MPI_Errhandler errhandlers[ERRHANDLERS];
MPI_Message messages[MESSAGES];
MPI_Status probed[MESSAGES];
MPI_Request requests[REQUESTS], picked[REQUESTS];
int flag, done, answer[SCALARS], answers[ARRAYS][ANSWERS], indices[REQUESTS];
MPI_Aint answer_aint[SCALARS];
MPI_Count answer_count[SCALARS];
MPI_Offset answer_offset[SCALARS];
MPI_Comm no_comm;
void *address;
char text[8192];
MPI_Status statuses[REQUESTS], *no_statuses = MPI_STATUSES_IGNORE;

/* Under xsim computation is virtual, and the helpers' own calls are in no trace. */
#ifdef __GNUC__
extern int xsim_compute(double seconds) __attribute__((weak));
extern int xsim_trace_on(void) __attribute__((weak));
extern int xsim_trace_off(void) __attribute__((weak));
#else
static int (*const xsim_compute)(double) = NULL;
static int (*const xsim_trace_on)(void) = NULL;
static int (*const xsim_trace_off)(void) = NULL;
#endif

static void quietly(int begins)
{
    if (xsim_trace_on && xsim_trace_off) {
        if (begins)
            xsim_trace_off();
        else
            xsim_trace_on();
    }
}

static void *memory(void *before, size_t bytes)
{
    void *at = realloc(before, bytes ? bytes : 1);
    if (!at) {
        fprintf(stderr, "rank %d has no memory for %lu bytes\n", rank, (unsigned long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* Numbers of a vector: how many, their sum, the one that was asked for and the sum of those before it. */
struct items {
    long length, sum, value, before;
};

/* Reads numbers up to the end of their column or group, and answers where that is. */
static const char *read_items(const char *at, long place, struct items *all)
{
    for (;;) {
        at += strspn(at, " ");
        if (*at == '\0' || *at == ')' || *at == ';')
            return at;
        char *end;
        long number = strtol(at, &end, 10);
        at = end;
        if (*at != 'x') {
            if (all->length == place) {
                all->value = number;
                all->before = all->sum;
            }
            all->length++;
            all->sum += number;
            continue;
        }
        const char *group = at + 2;
        struct items once = {0, 0, 0, 0}, within = {0, 0, 0, 0};
        at = read_items(group, -1, &once) + 1;
        long beyond = place - all->length;
        if (beyond >= 0 && beyond < number * once.length) {
            read_items(group, beyond % once.length, &within);
            all->value = within.value;
            all->before = all->sum + beyond / once.length * once.sum + within.before;
        }
        all->length += number * once.length;
        all->sum += number * once.sum;
    }
}

/* The number in a place of a folded column; *at goes to its end. */
static long read_folded(const char **at, long place, long *length)
{
    struct items all = {0, 0, 0, 0};
    *at += strspn(*at, " ");
    int differences = **at == 'd';
    *at = read_items(*at + differences, place, &all);
    if (length)
        *length = all.length;
    return differences ? all.before + all.value : all.value;
}

/* The number in a place of a column by place; *at goes to its end. */
static long read_placed(const char **at, long place)
{
    char *end;
    long side = strtol(*at, &end, 10), turns = strtol(end, &end, 10);
    long own = place / turns, all = 0;
    const long places[] = {own % side, own / side, place % turns};
    for (*at = end + strspn(end, " "); **at == '('; *at += 1 + strspn(*at + 1, " ")) {
        long within = 0;
        do {
            long sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += strtol(*at + 1, &end, 10) * places[k];
                *at = end;
            }
            long modulus = strtol(*at + 1, &end, 10);
            *at = end;
            within = within * modulus + (sum % modulus + modulus) % modulus;
        } while (**at != ':');
        ++*at;
        all += read_folded(at, within, NULL);
    }
    return all;
}

/* The number in a place of a column; *at goes to its end. */
static long read_column(const char **at, long place)
{
    *at += strspn(*at, " ");
    if (**at != 'g')
        return read_folded(at, place, NULL);
    ++*at;
    return read_placed(at, place);
}

/* The calling rank's numbers, those of each turn side by side. */
static long *read_vector(const char *at, long *length, long *turns)
{
    long *numbers = NULL, room = 0;
    *length = 0;
    *turns = 1;
    if (*at == 'r') {
        const char *end = at + 1;
        read_folded(&end, -1, length);
        numbers = memory(NULL, (size_t)*length * sizeof *numbers);
        for (long k = 0; k < *length; k++) {
            end = at + 1;
            numbers[k] = read_folded(&end, k, NULL);
        }
        return numbers;
    }
    if (*at == 't') {
        char *behind;
        *turns = strtol(at + 1, &behind, 10);
        at = behind;
    }
    long turn = 0, found = 0;
    for (const char *begin = at;;) {
        at += strspn(at, "; ");
        if (*at == '\0') {
            *length = found / ++turn;
            if (turn == *turns)
                return numbers;
            at = begin;
            continue;
        }
        char *behind;
        long count = strtol(at, &behind, 10);
        if (behind != at && *behind == ':')
            at = behind + 1 + strspn(behind + 1, " ");
        else
            count = 1;
        long number = read_column(&at, (long)rank * *turns + turn);
        for (; count > 0; count--) {
            if (found == room)
                numbers = memory(numbers, (size_t)(room = 2 * room + 4) * sizeof *numbers);
            numbers[found++] = number;
        }
    }
}

long value_in(struct vector *vector, long turn)
{
    long turns;
    if (!vector->known)
        vector->known = read_vector(vector->text, &vector->length, &turns);
    return ((long *)vector->known)[turn];
}

long value(struct vector *vector)
{
    return value_in(vector, 0);
}

#define NUMBERS(name, type) \
    const type *name##_in(struct vector *vector, long turn) \
    { \
        if (!vector->known) { \
            long turns, *numbers = read_vector(vector->text, &vector->length, &turns); \
            type *known = memory(NULL, (size_t)(vector->length * turns) * sizeof *known); \
            for (long k = 0; k < vector->length * turns; k++) \
                known[k] = (type)numbers[k]; \
            free(numbers); \
            vector->known = known; \
        } \
        return (type *)vector->known + turn * vector->length; \
    } \
    const type *name(struct vector *vector) \
    { \
        return name##_in(vector, 0); \
    }
NUMBERS(ints, int)
NUMBERS(aints, MPI_Aint)
NUMBERS(counts, MPI_Count)

int constant(long number)
{
    switch (number) {
    case -1: return MPI_ANY_SOURCE;
    case -2: return MPI_ANY_TAG;
    case -3: return MPI_PROC_NULL;
    case -4: return MPI_ROOT;
    case -32766: return MPI_UNDEFINED;
    default: return (int)number;
    }
}

int peer(int comm, long distance)
{
    static struct {
        int rank, peers;
    } known[COMMS];
    if (known[comm].peers == 0) {
        int is_inter;
        quietly(1);
        MPI_Comm_rank(comms[comm], &known[comm].rank);
        MPI_Comm_test_inter(comms[comm], &is_inter);
        if (is_inter)
            MPI_Comm_remote_size(comms[comm], &known[comm].peers);
        else
            MPI_Comm_size(comms[comm], &known[comm].peers);
        quietly(0);
    }
    long peers = known[comm].peers, to = (known[comm].rank + distance) % peers;
    return (int)(to < 0 ? to + peers : to);
}

static struct key {
    long number;
    int key;
} *keys;
static size_t known_keys;

static struct key *find_key(long number)
{
    for (size_t i = 0; i < known_keys; i++)
        if (keys[i].number == number)
            return &keys[i];
    return NULL;
}

int key_of(long number)
{
    struct key *found = find_key(number);
    return found ? found->key : (int)number;
}

int *made_key(long number)
{
    struct key *found = find_key(number);
    if (!found) {
        keys = memory(keys, ++known_keys * sizeof keys[0]);
        found = &keys[known_keys - 1];
        found->number = number;
        found->key = MPI_KEYVAL_INVALID;
    }
    return &found->key;
}

static int copy_value(void *value, void *copy, int *copied)
{
    memcpy(copy, &value, sizeof value);
    *copied = 1;
    return MPI_SUCCESS;
}

int copy_comm(MPI_Comm comm, int key, void *state, void *value, void *copy, int *copied)
{
    (void)comm, (void)key, (void)state;
    return copy_value(value, copy, copied);
}

int copy_type(MPI_Datatype type, int key, void *state, void *value, void *copy, int *copied)
{
    (void)type, (void)key, (void)state;
    return copy_value(value, copy, copied);
}

int forget_comm(MPI_Comm comm, int key, void *attribute, void *state)
{
    (void)comm, (void)key, (void)attribute, (void)state;
    return MPI_SUCCESS;
}

int forget_type(MPI_Datatype type, int key, void *attribute, void *state)
{
    (void)type, (void)key, (void)attribute, (void)state;
    return MPI_SUCCESS;
}

void go_on(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* Memory of each request, to send from and to receive into. */
struct room {
    void *at[2];
    size_t bytes[2];
};
static struct room rooms[REQUESTS];

static void *room_of(int request, int side, size_t bytes)
{
    struct room *room = &rooms[request];
    if (!room->at[side] || room->bytes[side] < bytes) {
        room->at[side] = memory(room->at[side], bytes);
        memset(room->at[side], 0, bytes);
        room->bytes[side] = bytes;
    }
    return room->at[side];
}

void *out(int request, size_t bytes) { return room_of(request, 0, bytes); }
void *in(int request, size_t bytes) { return room_of(request, 1, bytes); }

void *attached(size_t bytes)
{
    static void *at;
    return at = memory(at, bytes);
}

size_t span(size_t count, MPI_Datatype type)
{
    MPI_Aint least, extent, true_least, true_extent;
    quietly(1);
    MPI_Type_get_extent(type, &least, &extent);
    MPI_Type_get_true_extent(type, &true_least, &true_extent);
    quietly(0);
    if (true_least < 0 || extent < 0) {
        fprintf(stderr, "rank %d: a datatype has data before the buffer; generate with --datatypes size\n",
                rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return count ? (size_t)true_least + (size_t)true_extent + (count - 1) * (size_t)extent : 0;
}

size_t spans(int blocks, const int *lengths, const MPI_Aint *places, const MPI_Datatype *of)
{
    size_t all = 0;
    for (int k = 0; k < blocks; k++) {
        size_t end = lengths[k] ? (size_t)places[k] + span((size_t)lengths[k], of[k]) : 0;
        all = end > all ? end : all;
    }
    return all;
}

static int picked_count, picked_numbers[REQUESTS];

void pick(int count, const int *numbers)
{
    picked_count = count;
    for (int k = 0; k < count; k++) {
        picked_numbers[k] = numbers[k];
        picked[k] = requests[numbers[k]];
    }
}

void put_back(void)
{
    for (int k = 0; k < picked_count; k++)
        if (picked_numbers[k] > 0)
            requests[picked_numbers[k]] = picked[k];
}

/* Two requests of a call change places, with their memory. */
static void exchange(MPI_Request *first, int one, int other)
{
    int is_picked = first == picked;
    int a = is_picked ? picked_numbers[one] : (int)(first - requests) + one;
    int b = is_picked ? picked_numbers[other] : (int)(first - requests) + other;
    MPI_Request request = first[one];
    first[one] = first[other];
    first[other] = request;
    struct room room = rooms[a];
    rooms[a] = rooms[b];
    rooms[b] = room;
}

static int is_among(int number, int count, const int *numbers)
{
    for (int k = 0; k < count; k++)
        if (numbers[k] == number)
            return 1;
    return 0;
}

int unsettled(MPI_Request *first, int finished, const int *these, int count, const int *wanted)
{
    static int all, seen[REQUESTS];
    for (int k = 0; finished != MPI_UNDEFINED && k < finished && all < REQUESTS; k++)
        if (these[k] != MPI_UNDEFINED)
            seen[all++] = these[k];
    if (all < count && finished != MPI_UNDEFINED && (finished == 0 || these[0] != MPI_UNDEFINED))
        return 1;
    for (int k = 0, other = 0; k < count; k++) {
        if (is_among(wanted[k], all, seen))
            continue;
        while (other < all && is_among(seen[other], count, wanted))
            other++;
        if (other < all)
            exchange(first, wanted[k], seen[other++]);
    }
    all = 0;
    return 0;
}

MPI_Count probed_count(MPI_Count recorded, int message, MPI_Datatype type)
{
    int count;
    quietly(1);
    MPI_Get_count(&probed[message], type, &count);
    quietly(0);
    return count != MPI_UNDEFINED && count > recorded ? count : recorded;
}

MPI_Status *status_of(int source, int tag)
{
    for (int k = 0; k < REQUESTS; k++)
        if (statuses[k].MPI_SOURCE == source && statuses[k].MPI_TAG == tag)
            return &statuses[k];
    return &statuses[0];
}

void combine(void *from, void *inout, int *length, MPI_Datatype *type)
{
    (void)from;
    (void)inout;
    (void)length;
    (void)type;
}

static const struct path *paths;
static int paths_count;
/* By path: passages of this rank. */
static unsigned long long *passed;

void paths_are(const struct path *all, int count)
{
    paths = all;
    paths_count = count;
    passed = calloc((size_t)count + 1, sizeof *passed);
}

/* A number that looks random, the same for the same two. */
static unsigned long long mixed(unsigned long long one, unsigned long long other)
{
    unsigned long long x = one * 0x9e3779b97f4a7c15ULL ^ (other + 0x2545f4914f6cdd1dULL);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static double part(unsigned long long drawn) { return (double)(drawn >> 11) / 9007199254740992.0; }

/* The least and the greatest time of a bin. */
static void bounds(const struct path *path, int bin, double *low, double *high)
{
    double power = 1e-12;
    for (int bits = 1; bits < path->first + bin; bits++)
        power *= 2;
    *low = path->first + bin == 0 || power < path->least ? path->least : power;
    *high = 2 * power > path->most ? path->most : 2 * power;
}

/* The place of one among so many in an order that looks random, another one for each key. */
static int place_of(int place, int many, unsigned long long key)
{
    int half = 1;
    while (1LL << 2 * half < many)
        half++;
    do {
        int low = place & ((1 << half) - 1), high = place >> half;
        for (unsigned long long round = 0; round < 4; round++) {
            int next = high ^ (int)(mixed((unsigned long long)low << 2 | round, key) & ((1ULL << half) - 1));
            high = low;
            low = next;
        }
        place = high << half | low;
    } while (place >= many);
    return place;
}

/* A time of a path: as many are short and long as were, of what ranks draw for one call and of what they draw
 * in all, with their mean and deviation. */
static double draw(const struct path *path, unsigned long long call, unsigned long long passage)
{
    double of_rank = path->of_rank ? 1e-12 * (double)value(path->of_rank) : path->mean;
    if (!*path->bins)
        return of_rank;
    unsigned long long step = mixed((unsigned long long)path->to, passage),
                       key = (unsigned long long)rank + 1;
    int is_shared = (int)(step % 100) < path->shared;
    if (is_shared) {
        key = 0;
        call = mixed(step, (unsigned long long)path->from);
    }
    unsigned long long drawn = mixed(key, call);
    double left = part(drawn);
    if (is_shared) /* of few draws none should be missing */
        left = (place_of((int)(passage % 16), 16, mixed((unsigned long long)path->to, passage / 16)) + left) /
               16;
    else if (path->passages <= 16.0 * RANKS)
        left = (place_of(rank, RANKS, call) + left) / RANKS;
    left *= path->passages;
    double sum = 0, times = 0, found = -1, low, high;
    int bin = 0;
    for (const char *at = path->bins; *at; bin++) {
        char *end;
        double count = strtod(at, &end);
        at = end + strspn(end, " ");
        bounds(path, bin, &low, &high);
        sum += count * (low + high) / 2;
        times += count;
        if (left >= 0 && left < count)
            found = (low + high) / 2 + (part(mixed(drawn, call)) - 0.5) * (high - low) * path->within;
        left -= count;
    }
    if (found < 0 || sum <= 0)
        return 0;
    double time = path->mean + (found * path->mean * times / sum - path->mean) * path->shrink;
    return path->of_rank ? time * of_rank * path->passages / (path->mean * times) : time;
}

void compute(int place)
{
    static int before;
    static unsigned long long calls;
    int low = 0, high = paths_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (paths[middle].to < place)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < paths_count && paths[low].to == place && paths[low].from != before)
        low++;
    before = place;
    calls++;
    if (low == paths_count || paths[low].to != place)
        return;
    const struct path *path = &paths[low];
    unsigned long long passage = passed ? passed[low]++ : 0;
    if (passage < (unsigned long long)path->firsts)
        path = path->first_times;
    spend(draw(path, calls, passage));
}

void spend(double seconds)
{
    if (seconds <= 0)
        return;
    if (xsim_compute) {
        xsim_compute(seconds);
        return;
    }
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

void started(void)
{
    comms[WORLD] = MPI_COMM_WORLD;
    for (int k = 0; k < REQUESTS; k++)
        requests[k] = MPI_REQUEST_NULL;
    quietly(1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    quietly(0);
    if (ranks != RANKS) {
        if (rank == 0)
            fprintf(stderr, "this benchmark is of %d ranks and was started with %d\n", RANKS, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static unsigned long long calls_of[FUNCTIONS];

void counted(int function) { calls_of[function]++; }

void print_counts(const char *const *names, int functions)
{
    static unsigned long long all[FUNCTIONS];
    quietly(1);
    MPI_Reduce(calls_of, all, functions, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    quietly(0);
    for (int k = 0; rank == 0 && k < functions; k++)
        printf("%-28s %llu\n", names[k], all[k]);
}
