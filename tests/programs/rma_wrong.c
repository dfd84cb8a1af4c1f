/* One-sided communication: wrong calls, by name. With a second argument errors are returned, and each rank
 * prints the class. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, value = 7;
static long memory[16];
static MPI_Win win;
static MPI_Request request;

static int put(int target, MPI_Aint at, int count)
{ return MPI_Put(memory, count, MPI_LONG, target, at, count, MPI_LONG, win); }
static int locked_put(int target, MPI_Aint at, int count)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    int code = put(target, at, count);
    MPI_Win_unlock(1, win);
    return code;
}

static int no_epoch(void) { return put(1, 0, 1); }
static int null_window(void) { return MPI_Win_fence(0, MPI_WIN_NULL); }
static int invented_window(void) { return MPI_Win_unlock(0, (MPI_Win)(size_t)0x123450); }
static int bad_rank(void) { return locked_put(size, 0, 1); }
static int another_target(void) { return locked_put(0, 0, 1); }
static int beyond(void) { return locked_put(1, 15, 2); }
static int before(void) { return locked_put(1, -1, 1); }
static int bad_count(void) { return locked_put(1, 0, -1); }
static int bad_lock(void) { return MPI_Win_lock(77, 1, 0, win); }
static int bad_assert(void) { return MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOSTORE, win); }
static int bad_fence(void) { return MPI_Win_fence(MPI_MODE_NOCHECK, win); }
static int not_locked(void) { return MPI_Win_unlock(1, win); }
static int not_started(void) { return MPI_Win_complete(win); }
static int not_posted(void) { return MPI_Win_wait(win); }
static int not_flushed(void) { return MPI_Win_flush(1, win); }
static int not_all(void) { return MPI_Win_unlock_all(win); }
static int twice(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    int code = MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Win_unlock(1, win);
    return code;
}
static int nested(void)
{
    MPI_Win_lock_all(0, win);
    int code = MPI_Win_fence(0, win);
    MPI_Win_unlock_all(win);
    return code;
}
static int free_locked(void)
{
    MPI_Win copy = win;
    MPI_Win_lock_all(0, win);
    int code = MPI_Win_free(&copy);
    MPI_Win_unlock_all(win);
    return code;
}
static int request_in_fence(void)
{
    MPI_Win_fence(0, win);
    int code = MPI_Rput(memory, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &request);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return code;
}
static int atomic(MPI_Datatype datatype, MPI_Op op)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    int code = MPI_Accumulate(memory, 1, datatype, 1, 0, 1, datatype, op, win);
    MPI_Win_unlock(1, win);
    return code;
}
static void program_op(void *in, void *inout, int *count, MPI_Datatype *datatype)
{ (void)in, (void)inout, (void)count, (void)datatype; }
static int user_op(void)
{
    MPI_Op op;
    MPI_Op_create(program_op, 1, &op);
    return atomic(MPI_LONG, op);
}
static int op_for_type(void) { return atomic(MPI_DOUBLE, MPI_BAND); }
static int op_for_nothing(void) { return atomic(MPI_LONG, MPI_NO_OP); }
static int swap_of_floats(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    int code = MPI_Compare_and_swap(memory, memory, memory, MPI_DOUBLE, 1, 0, win);
    MPI_Win_unlock(1, win);
    return code;
}
static int other_size(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    int code = MPI_Put(memory, 2, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
    return code;
}
static int attached_elsewhere(void) { return MPI_Win_attach(win, memory, 8); }
static int overlap(void)
{
    MPI_Win dynamic;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_attach(dynamic, memory, 16);
    int code = MPI_Win_attach(dynamic, (char *)memory + 8, 16);
    MPI_Win_free(&dynamic);
    return code;
}
static int negative_size(void)
{
    MPI_Win made;
    return MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
}
static int no_unit(void)
{
    MPI_Win made;
    return MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
}
static int no_memory(void)
{
    MPI_Win made;
    return MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
}
static int strange_group(void)
{
    MPI_Comm first;
    MPI_Group all;
    MPI_Win part;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &first);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, first, &part);
    MPI_Win_set_errhandler(part, MPI_ERRORS_RETURN);
    return MPI_Win_post(all, 0, part);
}

/* What never ends. */
static int waits_for_a_lock(void)
{
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_SELF);
    if (rank == 1) {
        extern int usleep(unsigned);
        usleep(1000);
    }
    return rank ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) : 0;
}
static int waits_for_a_post(void)
{
    MPI_Group all, other;
    int partner = rank ? 0 : 1;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &partner, &other);
    return MPI_Win_start(other, 0, win);
}
static int waits_for_a_completion(void)
{
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    MPI_Win_post(all, 0, win);
    return MPI_Win_wait(win);
}

static const struct { const char *name; int (*run)(void);
} cases[] = {
    {"no_epoch", no_epoch},
    {"null_window", null_window},
    {"invented_window", invented_window},
    {"bad_rank", bad_rank},
    {"another_target", another_target},
    {"beyond", beyond},
    {"before", before},
    {"bad_count", bad_count},
    {"bad_lock", bad_lock},
    {"bad_assert", bad_assert},
    {"bad_fence", bad_fence},
    {"not_locked", not_locked},
    {"not_started", not_started},
    {"not_posted", not_posted},
    {"not_flushed", not_flushed},
    {"not_all", not_all},
    {"twice", twice},
    {"nested", nested},
    {"free_locked", free_locked},
    {"request_in_fence", request_in_fence},
    {"user_op", user_op},
    {"op_for_type", op_for_type},
    {"op_for_nothing", op_for_nothing},
    {"swap_of_floats", swap_of_floats},
    {"other_size", other_size},
    {"attached_elsewhere", attached_elsewhere},
    {"overlap", overlap},
    {"negative_size", negative_size},
    {"no_unit", no_unit},
    {"no_memory", no_memory},
    {"strange_group", strange_group},
    {"waits_for_a_lock", waits_for_a_lock},
    {"waits_for_a_post", waits_for_a_post},
    {"waits_for_a_completion", waits_for_a_completion},
};

static const char *name_of(int class)
{
    switch (class) {
#define NAME(class) case class: return #class
        NAME(MPI_SUCCESS);
        NAME(MPI_ERR_COUNT);
        NAME(MPI_ERR_TYPE);
        NAME(MPI_ERR_RANK);
        NAME(MPI_ERR_OP);
        NAME(MPI_ERR_WIN);
        NAME(MPI_ERR_RMA_SYNC);
        NAME(MPI_ERR_RMA_RANGE);
        NAME(MPI_ERR_DISP);
        NAME(MPI_ERR_LOCKTYPE);
        NAME(MPI_ERR_ASSERT);
        NAME(MPI_ERR_RMA_FLAVOR);
        NAME(MPI_ERR_RMA_ATTACH);
        NAME(MPI_ERR_SIZE);
        NAME(MPI_ERR_BASE);
        NAME(MPI_ERR_GROUP);
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (argc > 2) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            int code = cases[i].run(), class = code;
            MPI_Error_class(code, &class);
            printf("%s\n", name_of(class));
            MPI_Finalize();
            return 0;
        }
    return 1;
}
