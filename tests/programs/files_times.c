/* Files: what comes first, and how long it takes, in picoseconds since the ranks were in step. The second
 * argument is a file's name. */
#include "check.h"
#include <time.h>
#include <unistd.h>

static MPI_File fh;
static const char *name;
static long long start;

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }
static void say(const char *what) { printf("rank %d %s %lld\n", rank, what, now() - start); }

/* The next millisecond but one. */
static void wait_for_others(void)
{
    start += 1000000000;
    struct timespec rest = {0, (start - now()) / 1000};
    nanosleep(&rest, 0);
    CHECK(now() == start);
}

static void in_step(void)
{
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) ==
          MPI_SUCCESS);
    MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "native", MPI_INFO_NULL);
    wait_for_others();
}

/* What needs nobody takes no time; the shared pointer is asked for at its home. */
static void pointers(void)
{
    in_step();
    long record = rank;
    MPI_File_write(fh, &record, 1, MPI_LONG, MPI_STATUS_IGNORE);
    say("wrote");
    MPI_File_write_shared(fh, &record, 1, MPI_LONG, MPI_STATUS_IGNORE);
    say("shared");
    MPI_File_close(&fh);
}

/* The ranks begin one after the other, the last first: so lie their records. */
static void order(void)
{
    in_step();
    for (int i = 0; i < size - 1 - rank; i++) usleep(10);
    long record[64] = {rank};
    MPI_File_write_shared(fh, record, 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(fh, 0, record, size, MPI_LONG, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        if (rank == 0) printf("record %d of rank %ld\n", i, record[i]);
    MPI_File_close(&fh);
}

/* All write the same block, the last rank first: it is that of rank 0 in the end. */
static void atomic(void)
{
    in_step();
    MPI_File_set_atomicity(fh, 1);
    long block[100], seen[2];
    for (int i = 0; i < 100; i++) block[i] = rank;
    for (int i = 0; i < size - 1 - rank; i++) usleep(10);
    MPI_File_read_at(fh, 0, &seen[0], 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_write_at(fh, 0, block, 100, MPI_LONG, MPI_STATUS_IGNORE);
    if (rank != size - 1) printf("rank %d found %ld\n", rank, seen[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(fh, 99, &seen[1], 1, MPI_LONG, MPI_STATUS_IGNORE);
    CHECK(seen[1] == 0);
    MPI_File_close(&fh);
}

/* Rank 1 comes 10 us later: nobody is through before. */
static void together(void)
{
    in_step();
    if (rank == 1) usleep(10);
    MPI_File_set_size(fh, 100);
    say("sized");
    MPI_File_close(&fh);
}

/* Each rank writes its 1000 bytes, then all read all. */
static void servers(void)
{
    in_step();
    long block[1000] = {rank};
    MPI_Status status;
    int count;
    MPI_File_write_at(fh, 125 * rank, block, 125, MPI_LONG, MPI_STATUS_IGNORE);
    say("wrote");
    MPI_File_read_at(fh, 0, block, 125 * size, MPI_LONG, &status);
    say("read");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request request;
    MPI_File_iread_at_all(fh, 0, block, 125 * size, MPI_LONG, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_LONG, &count);
    CHECK(count == 125 * size && block[125 * (size - 1)] == size - 1);
    MPI_File_set_atomicity(fh, 1);
    MPI_File_write_at(fh, 0, block, 125, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(fh, 0, block, 125 * size, MPI_LONG, &status);
    MPI_Get_count(&status, MPI_LONG, &count);
    CHECK(count == 125 * size && block[125 * (size - 1)] == size - 1);
    say("ended");
    MPI_File_close(&fh);
}

/* Every rank has 1000 bytes, in words between those of the others: all aggregators, then one with a buffer
 * that is too small, then each rank for itself. */
static void buffered(void)
{
    in_step();
    MPI_Datatype mine;
    MPI_Type_create_resized(MPI_LONG, 0, size * sizeof(long), &mine);
    MPI_Type_commit(&mine);
    MPI_File_set_view(fh, rank * sizeof(long), MPI_LONG, mine, "native", MPI_INFO_NULL);
    long block[125], seen[125];
    for (int i = 0; i < 125; i++) block[i] = rank + i * size;
    wait_for_others();
    MPI_File_write_at_all(fh, 0, block, 125, MPI_LONG, MPI_STATUS_IGNORE);
    say("wrote");

    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "1200");
    MPI_Info_set(info, "romio_cb_write", "disable");
    MPI_File_set_info(fh, info);
    MPI_Info_free(&info);
    wait_for_others();
    MPI_Status status;
    MPI_Request request;
    MPI_File_iread_at_all(fh, 0, seen, 125, MPI_LONG, &request);
    MPI_Wait(&request, &status);
    say("read");
    int count;
    MPI_Get_count(&status, MPI_LONG, &count);
    CHECK(count == 125 && memcmp(seen, block, sizeof block) == 0);
    wait_for_others();
    MPI_File_write_at_all(fh, 0, block, 125, MPI_LONG, MPI_STATUS_IGNORE);
    say("wrote alone");
    wait_for_others();
    MPI_File_read_at_all(fh, 0, seen, rank == 1 ? 125 : 0, MPI_LONG, &status);
    say("read alone");
    MPI_Type_free(&mine);
    MPI_File_close(&fh);
}

static const Case cases[] = {{"buffered", buffered}, {"servers", servers}, {"pointers", pointers},
                             {"order", order},       {"atomic", atomic},   {"together", together}};

int main(int argc, char **argv)
{
    name = argv[2];
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
