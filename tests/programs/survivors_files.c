/* Files of which a member fails: tests/survivors.rs. The second argument is how their names begin, the third
 * who fails. */
#include "survives.h"

static const char *name;
/* The rank that fails at 100 us, which is known at 110 us. */
static int failing;

static int open_file(MPI_Comm comm, const char *what, int more, MPI_File *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-%s", name, what);
    return MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | more, MPI_INFO_NULL, file);
}

/* What is wanted of an access: all of it. */
static void is_whole(MPI_Status *status, int bytes)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK(count == bytes);
}

/* Who waits when the failure is known, and who calls later; what each does by itself goes on, also where the
 * home has failed. */
static void together(void)
{
    MPI_File file, split;
    MPI_Request early, late, more = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Offset at = -1;
    int value = rank, got = -1;
    returns(MPI_COMM_WORLD);
    CHECK(open_file(MPI_COMM_WORLD, "together", 0, &file) == MPI_SUCCESS);
    CHECK(open_file(MPI_COMM_WORLD, "split", 0, &split) == MPI_SUCCESS);
    until(90e-6);
    CHECK(MPI_File_iwrite_at_all(file, rank * 4, &value, 1, MPI_INT, &early) == MPI_SUCCESS);
    if (rank == failing)
        fails();
    CHECK(MPI_File_iread_at_all(file, rank * 4, &got, 1, MPI_INT, &late) == MPI_SUCCESS);
    CHECK(MPI_File_write_all_begin(split, &value, 1, MPI_INT) == MPI_SUCCESS);
    say("early", MPI_Wait(&early, &status));
    is_whole(&status, 4);
    if (rank % 2)
        until(105e-6);
    say("write_ordered", MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    say("late", MPI_Wait(&late, MPI_STATUS_IGNORE));
    CHECK(got == -1 && late == MPI_REQUEST_NULL);
    until(120e-6);
    say("write_all_end", MPI_File_write_all_end(split, &value, MPI_STATUS_IGNORE));
    say("set_view", MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    say("set_size", MPI_File_set_size(file, 100));
    say("preallocate", MPI_File_preallocate(file, 100));
    say("set_atomicity", MPI_File_set_atomicity(file, 1));
    say("sync", MPI_File_sync(file));
    say("seek_shared", MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    say("read_all", MPI_File_read_all(file, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    say("iread_all", MPI_File_iread_all(file, &got, 1, MPI_INT, &more));
    say("read_ordered_begin", MPI_File_read_ordered_begin(file, &got, 1, MPI_INT));
    CHECK(more == MPI_REQUEST_NULL && got == -1);
    say("read_at", MPI_File_read_at(file, failing * 4, &got, 1, MPI_INT, &status));
    is_whole(&status, 4);
    CHECK(got == failing);
    say("write_shared", MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    is_whole(&status, 4);
    say("get_position_shared", MPI_File_get_position_shared(file, &at));
    CHECK(at > 0 && at % 4 == 0);
    say("close", MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    say("close", MPI_File_close(&split));
    CHECK(split == MPI_FILE_NULL);
}

static int heard, heard_of_none;

static void hears(MPI_File *file, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    *file == MPI_FILE_NULL ? heard_of_none++ : heard++;
}

/* Files can be closed, in a split collective too, by which their own error handler hears of it, and those
 * that are left open others. */
static void closing(void)
{
    MPI_Comm shrunk;
    MPI_File waits, later, split, next;
    MPI_Errhandler handler;
    MPI_Status status;
    int value = rank, got = -1, me, members;
    returns(MPI_COMM_WORLD);
    MPI_File_create_errhandler(hears, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    CHECK(open_file(MPI_COMM_WORLD, "waits", MPI_MODE_DELETE_ON_CLOSE, &waits) == MPI_SUCCESS);
    CHECK(open_file(MPI_COMM_WORLD, "later", 0, &later) == MPI_SUCCESS);
    CHECK(open_file(MPI_COMM_WORLD, "split", 0, &split) == MPI_SUCCESS);
    if (rank == failing)
        fails();
    until(90e-6);
    CHECK(MPI_File_write_all_begin(split, &value, 1, MPI_INT) == MPI_SUCCESS);
    say("close", MPI_File_close(&waits));
    say("later", MPI_File_close(&later));
    say("split", MPI_File_close(&split));
    say("open", open_file(MPI_COMM_WORLD, "never", 0, &next));
    CHECK(waits == MPI_FILE_NULL && later == MPI_FILE_NULL && split == MPI_FILE_NULL &&
          next == MPI_FILE_NULL);
    CHECK(heard == 3 && heard_of_none == 1);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    MPI_Comm_rank(shrunk, &me);
    MPI_Comm_size(shrunk, &members);
    CHECK(open_file(shrunk, "later", MPI_MODE_DELETE_ON_CLOSE, &next) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(next, me * 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(next, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(next, (me + 1) % members * 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_File_read_all(next, &got, 1, MPI_INT, &status) == MPI_SUCCESS);
    is_whole(&status, 4);
    CHECK(got != failing && (got == (rank + 1) % size || got == (rank + 2) % size));
    CHECK(MPI_File_close(&next) == MPI_SUCCESS && heard == 3);
    MPI_Errhandler_free(&handler);
}

/* Who opens when the failure is known. */
static void opening(void)
{
    MPI_File file;
    if (rank == failing)
        fails();
    until(90e-6);
    say("open", open_file(MPI_COMM_WORLD, "opening", 0, &file));
    CHECK(file == MPI_FILE_NULL);
    say("open", open_file(MPI_COMM_WORLD, "opening", 0, &file));
    CHECK(file == MPI_FILE_NULL);
    CHECK(open_file(MPI_COMM_SELF, rank ? "own" : "mine", 0, &file) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static const Case cases[] = {{"together", together}, {"closing", closing}, {"opening", opening}};

int main(int argc, char **argv)
{
    name = argc > 2 ? argv[2] : "file";
    failing = argc > 3 ? atoi(argv[3]) : 0;
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
