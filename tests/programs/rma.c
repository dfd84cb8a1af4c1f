/* One-sided communication: what windows hold after each kind of epoch. */
#include "check.h"

static MPI_Win win;
static long global[64];

/* A window of n longs on each rank, in the heap, in globals or on the stack. */
enum where { HEAP, GLOBALS, STACK };

static void fence_puts(long *memory)
{
    for (int i = 0; i < 64; i++) memory[i] = -1;
    MPI_Win_create(memory, 64 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    long mine[2] = {rank, rank * rank};
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Put(mine, 2, MPI_LONG, next, 3, 2, MPI_LONG, win);
    mine[0] = mine[1] = -7;
    MPI_Win_fence(0, win);
    CHECK(memory[3] == before && memory[4] == (long)before * before && memory[2] == -1 && memory[5] == -1);
    long got[2] = {0, 0};
    MPI_Get(got, 2, MPI_LONG, next, 3, 2, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(got[0] == rank && got[1] == (long)rank * rank);
    /* All to rank 0: a sum, and what a fetch finds in the order of arrivals. */
    memory[10] = 100;
    MPI_Win_fence(0, win);
    long one = rank + 1;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 10, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0) CHECK(memory[10] == 100 + (long)size * (size + 1) / 2);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
}

static void fences(void)
{
    long stack[64];
    long *heap = malloc(sizeof stack);
    fence_puts(heap);
    fence_puts(global);
    fence_puts(stack);
    free(heap);
}

/* Every second element of a matrix's column, from a vector into an indexed type. */
static void datatypes(void)
{
    int *memory;
    MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 100; i++) CHECK(memory[i] == 0);
    MPI_Datatype column, picks;
    MPI_Type_vector(5, 1, 10, MPI_INT, &column);
    MPI_Type_indexed(2, (int[]){2, 3}, (int[]){1, 7}, MPI_INT, &picks);
    MPI_Type_commit(&column);
    MPI_Type_commit(&picks);
    int source[50];
    for (int i = 0; i < 50; i++) source[i] = 1000 * rank + i;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Win_fence(0, win);
    MPI_Put(source, 1, column, to, 20, 1, picks, win);
    MPI_Accumulate(source, 1, picks, to, 50, 1, column, MPI_SUM, win);
    MPI_Accumulate(source, 1, picks, to, 50, 1, column, MPI_SUM, win);
    MPI_Win_fence(0, win);
    int places[5] = {21, 22, 27, 28, 29}, picked[5] = {1, 2, 7, 8, 9};
    for (int i = 0; i < 5; i++) {
        CHECK(memory[places[i]] == 1000 * from + 10 * i);
        CHECK(memory[50 + 10 * i] == 2 * (1000 * from + picked[i]));
    }
    CHECK(memory[20] == 0 && memory[23] == 0 && memory[51] == 0);
    int back[50] = {0};
    MPI_Get(back, 1, column, to, 20, 1, picks, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 5; i++) CHECK(back[10 * i] == 1000 * rank + 10 * i);
    struct { double value; int index; } pair = {rank % 3, rank}, *pairs = malloc(16);
    MPI_Win other;
    memset(pairs, 0, 16);
    pairs->value = -1;
    MPI_Win_create(pairs, 16, 16, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_fence(0, other);
    MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, size - 1, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, other);
    MPI_Win_fence(0, other);
    int best = size > 2 ? 2 : size - 1;
    if (rank == size - 1) CHECK(pairs->value == best && pairs->index == best);
    MPI_Win_free(&other);
    free(pairs);
    MPI_Type_free(&column);
    MPI_Type_free(&picks);
    MPI_Win_free(&win);
}

/* A token goes around by post, start, complete and wait; each rank also reads and adds. */
static void groups(void)
{
    long memory[4] = {0, 10 * rank, 0, 0};
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Group all, left, right;
    MPI_Win_get_group(win, &all);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Group_incl(all, 1, &next, &right);
    MPI_Group_incl(all, 1, &before, &left);
    for (int turn = 1; turn <= 5; turn++) {
        long value = 100 * turn + rank, got = -1, one = 1, old = -1;
        MPI_Win_post(left, 0, win);
        MPI_Win_start(right, 0, win);
        MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Get(&got, 1, MPI_LONG, next, 1, 1, MPI_LONG, win);
        MPI_Accumulate(&one, 1, MPI_LONG, next, 2, 1, MPI_LONG, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, next, 3, MPI_SUM, win);
        MPI_Win_complete(win);
        CHECK(got == 10 * next && old == turn - 1);
        if (turn % 2) {
            MPI_Win_wait(win);
        } else {
            int flag = 0;
            while (!flag) MPI_Win_test(win, &flag);
        }
        CHECK(memory[0] == 100 * turn + before && memory[2] == turn && memory[3] == turn);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    MPI_Win_free(&win);
}

/* Everybody counts up on rank 0 under an exclusive lock: no count is lost. */
static void exclusive(void)
{
    long memory[2] = {0, 0};
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int turn = 0; turn < 3; turn++) {
        long value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK(memory[0] == 3 * size);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

/* Each of many increments gets another number, and each swap has one winner. */
static void atomics(void)
{
    long *memory;
    MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    long one = 1, minus = -1, mine = rank, sum = 0, got, zero = 0;
    for (int turn = 0; turn < 4; turn++) {
        long ticket;
        MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(ticket >= 0 && ticket < 4 * size);
        sum += ticket;
    }
    MPI_Compare_and_swap(&mine, &zero, &got, MPI_LONG, 0, 1, win);
    MPI_Win_flush_all(win);
    MPI_Accumulate(&sum, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    long all = 4L * size, seen[3];
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(seen, 3, MPI_LONG, 0, 0, 3, MPI_LONG, win);
    MPI_Win_unlock(0, win);
    CHECK(seen[0] == all && seen[2] == all * (all - 1) / 2 && seen[1] >= 0 && seen[1] < size);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Get_accumulate(&minus, 1, MPI_LONG, &got, 1, MPI_LONG, rank, 5, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_flush_local(rank, win);
    CHECK(got == 0);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, &got, 1, MPI_LONG, rank, 5, 1, MPI_LONG, MPI_NO_OP, win);
    /* Nothing is added to nothing, whatever it would be. */
    MPI_Get_accumulate(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE, rank, 5, 0, MPI_BYTE, MPI_SUM, win);
    MPI_Accumulate(NULL, 0, MPI_BYTE, rank, 5, 0, MPI_BYTE, MPI_SUM, win);
    MPI_Win_flush_local_all(win);
    CHECK(got == -1);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* Request-based accesses complete by wait and test. */
static void requests(void)
{
    int memory[4] = {rank, 0, 0, 0}, value = 7 + rank, got[3] = {-1, -1, -1}, next = (rank + 1) % size;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Request list[4];
    MPI_Rput(&value, 1, MPI_INT, next, 1, 1, MPI_INT, win, &list[0]);
    MPI_Rget(&got[0], 1, MPI_INT, next, 0, 1, MPI_INT, win, &list[1]);
    MPI_Raccumulate(&value, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_SUM, win, &list[2]);
    MPI_Rget_accumulate(&value, 1, MPI_INT, &got[1], 1, MPI_INT, next, 2, 1, MPI_INT, MPI_SUM, win, &list[3]);
    MPI_Waitall(4, list, MPI_STATUSES_IGNORE);
    CHECK(got[0] == next && got[1] == value);
    MPI_Request one;
    MPI_Rget(&got[2], 1, MPI_INT, next, 2, 1, MPI_INT, win, &one);
    int flag = 0;
    while (!flag) MPI_Test(&one, &flag, MPI_STATUS_IGNORE);
    CHECK(got[2] == 2 * value && one == MPI_REQUEST_NULL);
    MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int from = 7 + (rank + size - 1) % size;
    CHECK(memory[1] == from && memory[2] == 2 * from);
    MPI_Win_free(&win);
}

/* Memory is attached, and its address told. */
static void dynamic(void)
{
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    long *memory = malloc(4 * sizeof(long)), value = 5 + rank;
    memory[2] = 0;
    MPI_Win_attach(win, memory, 4 * sizeof(long));
    MPI_Aint mine, *all = malloc(size * sizeof *all);
    MPI_Get_address(&memory[2], &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    int next = (rank + 1) % size;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Put(&value, 1, MPI_LONG, next, all[next], 1, MPI_LONG, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[2] == 5 + (rank + size - 1) % size);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    free(memory);
    free(all);
}

/* Ranks of one process load and store each other's memory. */
static void shared(void)
{
    int *memory, *theirs, unit;
    MPI_Aint bytes;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int me, members;
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &members);
    MPI_Win_allocate_shared((me + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &win);
    for (int i = 0; i <= me; i++) memory[i] = 100 * me + i;
    MPI_Win_fence(0, win);
    int next = (me + 1) % members;
    MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
    CHECK(bytes == (MPI_Aint)((next + 1) * sizeof(int)) && unit == sizeof(int) && theirs[next] == 101 * next);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs);
    CHECK(bytes == sizeof(int) && theirs[0] == 0);
    if (me > 0) CHECK(memory - theirs == me * (me + 1) / 2);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

/* What a window tells of itself. */
static void objects(void)
{
    double memory[6];
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, half, &win);
    void *base;
    MPI_Aint *bytes;
    int *unit, *flavor, *model, flag, length;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == sizeof memory);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == sizeof(double));
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0);
    MPI_Win_set_name(win, "here");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "here") == 0);
    MPI_Group of_win, of_comm;
    MPI_Win_get_group(win, &of_win);
    MPI_Comm_group(half, &of_comm);
    MPI_Group_compare(of_win, of_comm, &flag);
    CHECK(flag == MPI_IDENT);
    MPI_Group_free(&of_win);
    MPI_Group_free(&of_comm);
    int key, value = 3, *found;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(flag && found == &value);
    MPI_Win_delete_attr(win, key);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(!flag);
    MPI_Win_free_keyval(&key);
    MPI_Info info;
    char text[32];
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "no_locks", 31, text, &flag);
    CHECK(flag && strcmp(text, "true") == 0);
    MPI_Info_free(&info);
    MPI_Win self;
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &self);
    double put = 2.5;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, self);
    MPI_Put(&put, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, self);
    MPI_Win_unlock(0, self);
    CHECK(memory[0] == 2.5);
    MPI_Win_free(&self);
    MPI_Win_free(&win);
    MPI_Comm_free(&half);
}

/* A rank polls its own memory for what another puts there, and reads the data that was put before. */
static void flags(void)
{
    volatile long *memory;
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    int next = (rank + 1) % size;
    long data = 40 + rank, flag = 1;
    MPI_Put(&data, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_flush(next, win);
    MPI_Put(&flag, 1, MPI_LONG, next, 1, 1, MPI_LONG, win);
    MPI_Win_flush(next, win);
    while (!memory[1]) MPI_Win_sync(win);
    CHECK(memory[0] == 40 + (rank + size - 1) % size);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* Short accesses and the ends of epochs follow long accesses, which take longer on their way. */
static void in_order(void)
{
    enum { LONGS = 3000 };
    long *memory, *data = malloc(LONGS * sizeof(long)), *got = malloc(LONGS * sizeof(long)), last = 7;
    MPI_Win_allocate(LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    int next = (rank + 1) % size;
    for (int i = 0; i < LONGS; i++) {
        data[i] = 100 + i;
        memory[i] = 0;
    }
    for (int turn = 0; turn < 2; turn++) {
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
        MPI_Accumulate(data, LONGS, MPI_LONG, next, 0, LONGS, MPI_LONG, MPI_REPLACE, win);
        MPI_Accumulate(&last, 1, MPI_LONG, next, LONGS - 1, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_complete(win);
        int flag = turn == 0;
        if (flag) MPI_Win_wait(win);
        while (!flag) MPI_Win_test(win, &flag);
        for (int i = 0; i < LONGS; i++) {
            CHECK(memory[i] == (i < LONGS - 1 ? 100 + i : 7));
            memory[i] = 0;
        }
    }
    MPI_Win_fence(0, win);
    MPI_Accumulate(data, LONGS, MPI_LONG, next, 0, LONGS, MPI_LONG, MPI_REPLACE, win);
    MPI_Get_accumulate(&last, 1, MPI_LONG, got, 1, MPI_LONG, next, LONGS - 1, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(got[0] == 100 + LONGS - 1);
    for (int i = 0; i < LONGS; i++) {
        CHECK(memory[i] == (i < LONGS - 1 ? 100 + i : 7));
        memory[i] = 0;
        data[i] = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Who has the lock for itself finds nothing half done. */
    for (int turn = 0; turn < 4; turn++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(data, LONGS, MPI_LONG, 0, 0, LONGS, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Get(got, LONGS, MPI_LONG, next, 0, LONGS, MPI_LONG, win);
        MPI_Win_unlock(next, win);
        for (int i = 1; i < LONGS; i++) CHECK(got[i] == got[0]);
    }
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    free(data);
    free(got);
}

static const Case cases[] = {
    {"fences", fences},   {"datatypes", datatypes}, {"groups", groups},     {"exclusive", exclusive},
    {"atomics", atomics}, {"requests", requests},   {"dynamic", dynamic},   {"shared", shared},
    {"objects", objects}, {"flags", flags},         {"in_order", in_order},
};
RUN_CASES(cases)
