/* Makes random calls on random files: views, pointers of all kinds, collective, nonblocking, split and atomic
 * accesses. Prints a digest of the ranks' clocks.
 *
 *     random_files SEED FILES NAME
 *
 * Files are opened one after the other, by all ranks or by each half, as NAME.0.1 and so on. What a rank
 * finds at the end of a file is as the host has it then: runs in other ways may differ. */
#include "check.h"
#include <unistd.h>

typedef unsigned long long u64;
enum { LONGEST = 6000 };

static u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static u64 shared_state, own_state, digest;
static int draw_from(u64 *state, int below)
{
    *state = mix(*state);
    return (int)((*state >> 20) % (u64)below);
}
/* A number that all members draw alike, and one of the rank's own. */
static int all(int below) { return draw_from(&shared_state, below); }
static int own(int below) { return draw_from(&own_state, below); }
static void note(void) { digest = mix(digest ^ (u64)(MPI_Wtime() * 1e12 + 0.5)); }

static MPI_Comm comm;
static MPI_File fh;
static int me, n;
static long memory[8 * LONGEST];

/* A filetype of longs in which no rank's data lies on another's. */
static MPI_Datatype filetype(void)
{
    MPI_Datatype made, inner;
    int block = 1 + all(40);
    switch (all(7)) {
    case 0: MPI_Type_contiguous(block, MPI_LONG, &made); break;
    case 1: {
        MPI_Type_vector(3, block, block * n, MPI_LONG, &inner);
        MPI_Type_create_resized(inner, 0, (MPI_Aint)sizeof(long) * 3 * block * n, &made);
        MPI_Type_free(&inner);
        break;
    }
    case 2: {
        int sizes[2] = {4, 10 * n}, part[2] = {4, 10}, starts[2] = {0, 10 * me};
        MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_LONG, &made);
        break;
    }
    case 3: {
        int lengths[3] = {1, 2 + me % 3, 1}, places[3] = {0, 8, 30};
        MPI_Type_indexed(3, lengths, places, MPI_LONG, &made);
        break;
    }
    case 4: {
        int sizes[2] = {12, 3 * n}, how[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
        int args[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {1, n};
        MPI_Type_create_darray(n, me, 2, sizes, how, args, grid, MPI_ORDER_C, MPI_LONG, &made);
        break;
    }
    case 5: {
        int lengths[2] = {2, 1};
        MPI_Aint places[2] = {0, 160};
        MPI_Datatype kinds[2] = {MPI_LONG, MPI_LONG};
        MPI_Type_create_struct(2, lengths, places, kinds, &inner);
        MPI_Type_dup(inner, &made);
        MPI_Type_free(&inner);
        break;
    }
    default: {
        MPI_Aint places[2] = {8 * (MPI_Aint)(1 + me), 800};
        MPI_Type_create_hindexed_block(2, 4, places, MPI_LONG, &made);
        break;
    }
    }
    MPI_Type_commit(&made);
    return made;
}

static void set_view(void)
{
    MPI_Datatype made = filetype();
    MPI_Info info = MPI_INFO_NULL;
    if (all(2)) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", all(2) ? "enable" : "disable");
        MPI_Info_set(info, "cb_nodes", all(2) ? "1" : "2");
    }
    MPI_Offset at = 8 * all(100) + (all(2) ? 8 * (MPI_Offset)me : 0);
    CHECK(MPI_File_set_view(fh, at, MPI_LONG, made, all(4) ? "native" : "external32", info) == MPI_SUCCESS);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    MPI_Type_free(&made);
}

static int length(void) { return own(5) ? own(60) : own(LONGEST); }
static MPI_Request open_requests[64];
static int requests;
static void complete(void)
{
    MPI_Waitall(requests, open_requests, MPI_STATUSES_IGNORE);
    requests = 0;
}
static MPI_Request *next(void)
{
    if (requests == 64) complete();
    return &open_requests[requests++];
}

static void alone(void)
{
    MPI_Status status;
    int count = length();
    MPI_Offset at = own(3000);
    switch (own(12)) {
    case 0: MPI_File_write_at(fh, at, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 1: MPI_File_read_at(fh, at, memory, count, MPI_LONG, &status); break;
    case 2: MPI_File_write(fh, memory, count, MPI_LONG, &status); break;
    case 3: MPI_File_read(fh, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 4: MPI_File_write_shared(fh, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 5: MPI_File_read_shared(fh, memory, count, MPI_LONG, &status); break;
    case 6: MPI_File_iwrite_at(fh, at, memory, count, MPI_LONG, next()); break;
    case 7: MPI_File_iread(fh, memory, count, MPI_LONG, next()); break;
    case 8: MPI_File_iwrite_shared(fh, memory, count, MPI_LONG, next()); break;
    case 9: MPI_File_seek(fh, own(2) ? own(100) : 0, own(3) ? MPI_SEEK_SET : MPI_SEEK_CUR); break;
    case 10: MPI_File_seek(fh, own(50), MPI_SEEK_END); break;
    default: MPI_File_get_position_shared(fh, &at); break;
    }
}

static void together(void)
{
    MPI_Status status;
    int count = length();
    MPI_Offset at = own(3000), end = 0;
    switch (all(16)) {
    case 0: MPI_File_write_at_all(fh, at, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 1: MPI_File_read_at_all(fh, at, memory, count, MPI_LONG, &status); break;
    case 2: MPI_File_write_all(fh, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 3: MPI_File_read_all(fh, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 4: MPI_File_write_ordered(fh, memory, count, MPI_LONG, &status); break;
    case 5: MPI_File_read_ordered(fh, memory, count, MPI_LONG, MPI_STATUS_IGNORE); break;
    case 6: MPI_File_iwrite_at_all(fh, at, memory, count, MPI_LONG, next()); break;
    case 7: MPI_File_iread_all(fh, memory, count, MPI_LONG, next()); break;
    case 8:
        MPI_File_write_all_begin(fh, memory, count, MPI_LONG);
        if (own(2)) usleep((useconds_t)own(9));
        MPI_File_write_all_end(fh, memory, MPI_STATUS_IGNORE);
        break;
    case 9:
        MPI_File_read_at_all_begin(fh, at, memory, count, MPI_LONG);
        MPI_File_read_at_all_end(fh, memory, &status);
        break;
    case 10:
        MPI_File_write_ordered_begin(fh, memory, count, MPI_LONG);
        MPI_File_write_ordered_end(fh, memory, MPI_STATUS_IGNORE);
        break;
    case 11: MPI_File_sync(fh); break;
    case 12:
        /* Where the file ends is to be the same for all. */
        complete();
        MPI_Barrier(comm);
        MPI_File_get_size(fh, &end);
        MPI_Barrier(comm);
        MPI_File_seek_shared(fh, all(30), all(2) ? MPI_SEEK_SET : MPI_SEEK_END);
        break;
    case 13: MPI_File_set_size(fh, 8 * (MPI_Offset)all(9000)); break;
    case 14: MPI_File_preallocate(fh, 8 * (MPI_Offset)all(9000)); break;
    default:
        complete();
        set_view();
        break;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    u64 seed = mix(strtoull(argv[1], NULL, 10));
    int files = atoi(argv[2]), half = size > 3 && draw_from(&seed, 2);
    char name[4096];
    own_state = mix(seed + 1000 + (u64)rank);
    if (half) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    else MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    shared_state = mix(seed + (half ? (u64)(rank % 2) : 7));
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "%s.%d.%d", argv[3], half ? rank % 2 : 2, all(3));
        MPI_Info info = MPI_INFO_NULL;
        if (all(3) == 0) {
            MPI_Info_create(&info);
            MPI_Info_set(info, "cb_buffer_size", all(2) ? "4096" : "65536");
            MPI_Info_set(info, "romio_cb_read", all(2) ? "enable" : "automatic");
        }
        int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | (all(3) ? 0 : MPI_MODE_APPEND);
        CHECK(MPI_File_open(comm, name, mode, info, &fh) == MPI_SUCCESS);
        if (info != MPI_INFO_NULL) MPI_Info_free(&info);
        note();
        if (all(2)) set_view();
        if (all(3) == 0) MPI_File_set_atomicity(fh, 1);
        for (int calls = 10 + all(20); calls > 0; calls--) {
            if (all(3) == 0) together();
            else for (int own_calls = own(4); own_calls > 0; own_calls--) alone();
            if (own(4) == 0) usleep((useconds_t)own(5));
            note();
        }
        complete();
        MPI_File_close(&fh);
        note();
    }
    printf("rank %d: %016llx\n", rank, digest);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
