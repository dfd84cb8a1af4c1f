/* Files: what they hold after each kind of access. The second argument is a file's name. */
#include "check.h"
#include <unistd.h>

static MPI_File fh;
static const char *name;

static void reopen(int amode)
{
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
}

static int bytes_of(MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes;
}

/* Each rank writes its own block, and reads that of the next. */
static void offsets(void)
{
    int mine[100], got[100];
    MPI_Status status;
    MPI_Offset length;
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int i = 0; i < 100; i++) mine[i] = 1000 * rank + i;
    CHECK(MPI_File_write_at(fh, rank * sizeof mine, mine, 100, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(bytes_of(&status) == 400);
    MPI_File_sync(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(fh, &length);
    CHECK(length == 400 * size);
    int next = (rank + 1) % size;
    MPI_File_read_at(fh, next * sizeof mine, got, 100, MPI_INT, &status);
    CHECK(bytes_of(&status) == 400);
    for (int i = 0; i < 100; i++) CHECK(got[i] == 1000 * next + i);
    /* Behind the end there is nothing, and at it a part. */
    MPI_File_read_at(fh, length - 8, got, 100, MPI_INT, &status);
    CHECK(bytes_of(&status) == 8 && got[1] == 1000 * (size - 1) + 99);
    MPI_File_read_at(fh, length + 5, got, 100, MPI_INT, &status);
    CHECK(bytes_of(&status) == 0);
    MPI_File_close(&fh);
    CHECK(fh == MPI_FILE_NULL);
}

/* Columns of a matrix of size columns, one a rank; memory with gaps too. */
static void views(void)
{
    enum { ROWS = 50 };
    MPI_Datatype vector, column, every_second;
    MPI_Type_vector(ROWS, 1, size, MPI_INT, &vector);
    /* Without this a second column would begin behind the last row's element. */
    MPI_Type_create_resized(vector, 0, ROWS * size * sizeof(int), &column);
    MPI_Type_free(&vector);
    MPI_Type_vector(ROWS, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&column);
    MPI_Type_commit(&every_second);
    int mine[2 * ROWS], whole[ROWS * 16];
    for (int i = 0; i < 2 * ROWS; i++) mine[i] = i % 2 ? -1 : 100 * rank + i / 2;
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_set_view(fh, 12 + rank * sizeof(int), MPI_INT, column, "native", MPI_INFO_NULL);
    MPI_File_write_all(fh, mine, 1, every_second, MPI_STATUS_IGNORE);
    MPI_Offset disp, at;
    MPI_Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_File_get_view(fh, &disp, &etype, &filetype, representation);
    CHECK(disp == 12 + (MPI_Offset)(rank * sizeof(int)) && etype == MPI_INT &&
          !strcmp(representation, "native"));
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_RESIZED);
    MPI_Type_free(&filetype);
    MPI_File_get_position(fh, &at);
    CHECK(at == ROWS);
    MPI_File_get_byte_offset(fh, 3, &at);
    CHECK(at == disp + 3 * size * (MPI_Offset)sizeof(int));
    /* The end, as this rank sees it; the shared pointer of another view is at its beginning. */
    MPI_File_sync(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(fh, 0, MPI_SEEK_END);
    MPI_File_get_position(fh, &at);
    CHECK(at == ROWS);
    MPI_File_seek(fh, -2, MPI_SEEK_CUR);
    int last[4] = {0};
    MPI_Status status;
    MPI_File_read(fh, last, 4, MPI_INT, &status);
    CHECK(bytes_of(&status) == 8 && last[0] == 100 * rank + ROWS - 2 && last[1] == 100 * rank + ROWS - 1);
    MPI_File_set_view(fh, 12, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL);
    MPI_File_read_at_all(fh, 0, whole, ROWS * size, MPI_INT, &status);
    CHECK(bytes_of(&status) == ROWS * size * (int)sizeof(int));
    for (int row = 0; row < ROWS; row++)
        for (int from = 0; from < size; from++) CHECK(whole[row * size + from] == 100 * from + row);
    MPI_File_close(&fh);
    MPI_Type_free(&column);
    MPI_Type_free(&every_second);
}

/* Big-endian values of the standard's sizes. */
static void external(void)
{
    int ints[3] = {1, 0x01020304, -2};
    long longs[2] = {-5, 7};
    double half = 0.5;
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
    if (rank == 0) MPI_File_write(fh, ints, 3, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Aint extent;
    MPI_File_get_type_extent(fh, MPI_LONG, &extent);
    CHECK(extent == 4);
    MPI_File_set_view(fh, 12, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
    if (rank == 0) MPI_File_write(fh, longs, 2, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_set_view(fh, 20, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL);
    if (rank == 0) MPI_File_write(fh, &half, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    unsigned char raw[28],
        want[28] = {0, 0, 0, 1, 1, 2, 3, 4, 255, 255, 255, 254, 255, 255, 255, 251, 0, 0, 0, 7, 0x3f, 0xe0};
    MPI_File_read_all(fh, raw, 28, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(!memcmp(raw, want, 28));
    MPI_File_set_view(fh, 12, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
    MPI_Status status;
    int count;
    memset(longs, 0, sizeof longs);
    MPI_File_read_at(fh, 1, longs, 1, MPI_LONG, &status);
    MPI_Get_count(&status, MPI_LONG, &count);
    CHECK(longs[0] == 7 && count == 1);
    MPI_File_close(&fh);
}

/* A representation of the program's own, without conversions. */
static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    MPI_Aint bound;
    (void)state;
    return MPI_Type_get_extent(datatype, &bound, extent);
}

static void registered(void)
{
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    int value = rank, got = -1;
    CHECK(MPI_Register_datarep("mine", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, 0) ==
          MPI_SUCCESS);
    CHECK(MPI_Register_datarep("mine", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, 0) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, 0) ==
          MPI_ERR_DUP_DATAREP);
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_File_get_view(fh, &disp, &etype, &filetype, representation);
    CHECK(!strcmp(representation, "mine"));
    MPI_File_write_at(fh, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(fh, rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got == rank);
    MPI_File_close(&fh);
}

/* In the file an int has eight bytes, and is more by the extra state; other datatypes are not known. */
static int wide_extent(MPI_Datatype datatype, MPI_Aint *extent, void *state)
{
    (void)state;
    *extent = 8;
    return datatype == MPI_INT ? MPI_SUCCESS : MPI_ERR_TYPE;
}

/* How many ints lie between two in memory: the datatypes of the test are MPI_INT and every other one of
 * three. */
static int stride_of(MPI_Datatype datatype)
{
    int integers, addresses, datatypes, combiner;
    MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
    return combiner == MPI_COMBINER_NAMED ? 1 : 2;
}

static int widen(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(position == 0);
    for (int i = 0, stride = stride_of(datatype); i < count; i++) {
        long long value = ((int *)user)[i * stride];
        if (value < 0) return MPI_ERR_OTHER;
        value += *(int *)state;
        memcpy((char *)file + 8 * i, &value, 8);
    }
    return MPI_SUCCESS;
}

static int narrow(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state)
{
    CHECK(position == 0);
    for (int i = 0, stride = stride_of(datatype); i < count; i++) {
        long long value;
        memcpy(&value, (char *)file + 8 * i, 8);
        if (value == 0) return MPI_ERR_OTHER;
        ((int *)user)[i * stride] = (int)(value - *(int *)state);
    }
    return MPI_SUCCESS;
}

/* A representation with conversions: blocking, nonblocking, collective and atomic, of memory side by side and
 * with gaps. */
static void converting(void)
{
    static int more = 1000;
    MPI_Datatype gaps;
    MPI_Aint extent;
    MPI_Status status;
    MPI_Request request;
    int error, class;
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 6 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    CHECK(MPI_Register_datarep("wide", narrow, widen, wide_extent, &more) == MPI_SUCCESS);
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "wide", MPI_INFO_NULL) == MPI_ERR_CONVERSION);
    CHECK(MPI_File_set_view(fh, 48 * rank, MPI_INT, MPI_INT, "wide", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_File_get_type_extent(fh, MPI_INT, &extent);
    CHECK(extent == 8);
    MPI_File_get_type_extent(fh, gaps, &extent);
    CHECK(extent == 6 * sizeof(int)); /* As the program has resized it. */
    int with_gaps[12] = {rank, -1, 10 + rank, -1, 20 + rank, -1, 30 + rank, -1, 40 + rank, -1, 50 + rank, -1},
        got[12];
    CHECK(MPI_File_write_all(fh, with_gaps, 2, gaps, &status) == MPI_SUCCESS && bytes_of(&status) == 24);
    MPI_File_iread_at(fh, 0, got, 6, MPI_INT, &request);
    MPI_Wait(&request, &status);
    CHECK(bytes_of(&status) == 24);
    for (int i = 0; i < 6; i++) CHECK(got[i] == 10 * i + rank);
    memset(got, 0, sizeof got);
    MPI_File_read_at_all(fh, 3, got, 1, gaps, &status);
    CHECK(bytes_of(&status) == 12 && got[0] == 30 + rank && got[1] == 0 && got[4] == 50 + rank);
    MPI_File_set_atomicity(fh, 1);
    int one = 7 + rank;
    MPI_File_write_at(fh, 1, &one, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(fh, 0, got, 3, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got[0] == rank && got[1] == 7 + rank && got[2] == 20 + rank);
    MPI_File_set_atomicity(fh, 0);
    /* What is there: the last rank's view ends after six. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(fh, 4, got, 12, MPI_INT, &status);
    CHECK(rank != size - 1 || bytes_of(&status) == 8);
    /* Functions that fail. */
    error = MPI_File_write_at(fh, 0, with_gaps + 1, 1, MPI_INT, &status);
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_CONVERSION);
    MPI_Barrier(MPI_COMM_WORLD);
    long long raw[6];
    CHECK(MPI_File_set_view(fh, 48 * rank, MPI_LONG_LONG, MPI_LONG_LONG, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    MPI_File_read_at(fh, 0, raw, 6, MPI_LONG_LONG, MPI_STATUS_IGNORE);
    for (int i = 0; i < 6; i++) CHECK(raw[i] == 1000 + (i == 1 ? 7 : 10 * i) + rank);
    raw[0] = 0;
    MPI_File_write_at(fh, 0, raw, 1, MPI_LONG_LONG, MPI_STATUS_IGNORE);
    CHECK(MPI_File_set_view(fh, 48 * rank, MPI_INT, MPI_INT, "wide", MPI_INFO_NULL) == MPI_SUCCESS);
    error = MPI_File_read_at(fh, 0, got, 1, MPI_INT, &status);
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_CONVERSION);
    MPI_File_close(&fh);
    MPI_Type_free(&gaps);
}

/* The shared pointer: every record is somewhere, once; in the order of ranks where that is asked for. */
static void shared(void)
{
    enum { TURNS = 10 };
    long record[2], all[16 * TURNS * 2];
    MPI_Offset at;
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "native", MPI_INFO_NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        record[0] = rank, record[1] = turn;
        MPI_File_write_shared(fh, record, 2, MPI_LONG, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(fh, &at);
    CHECK(at == 2 * TURNS * size);
    MPI_File_read_at_all(fh, 0, all, 2 * TURNS * size, MPI_LONG, MPI_STATUS_IGNORE);
    int next[16] = {0};
    for (int i = 0; i < TURNS * size; i++) CHECK(all[2 * i + 1] == next[all[2 * i]]++);
    MPI_File_seek_shared(fh, 0, MPI_SEEK_SET);
    record[0] = 100 + rank;
    MPI_File_write_ordered(fh, record, rank % 2 + 1, MPI_LONG, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(fh, 0, MPI_SEEK_SET);
    record[0] = record[1] = -1;
    MPI_File_read_ordered_begin(fh, record, rank % 2 + 1, MPI_LONG);
    MPI_Status status;
    MPI_File_read_ordered_end(fh, record, &status);
    CHECK(record[0] == 100 + rank && bytes_of(&status) == 8 * (rank % 2 + 1));
    MPI_File_get_position_shared(fh, &at);
    CHECK(at == size + size / 2);
    MPI_File_seek_shared(fh, -1, MPI_SEEK_END);
    MPI_Request request;
    long last = -1;
    if (rank == size - 1) {
        MPI_File_iread_shared(fh, &last, 1, MPI_LONG, &request);
        MPI_Wait(&request, &status);
        CHECK(last >= 0 && bytes_of(&status) == 8);
    }
    MPI_File_close(&fh);
}

/* Records of any length at the shared pointer, in views behind a header of their own, with and without holes:
 * each is whole, those of a rank in their order. */
static void records(void)
{
    enum { TURNS = 6, MAX_LENGTH = 100 };
    static const int lengths[TURNS] = {2, 5, 64, MAX_LENGTH, 3, 1};
    MPI_Datatype pair, second;
    MPI_Type_contiguous(1, MPI_LONG, &pair);
    MPI_Type_create_resized(pair, 0, 2 * sizeof(long), &second);
    MPI_Type_commit(&second);
    int total = 0;
    for (int turn = 0; turn < TURNS; turn++) total += lengths[turn];
    for (int holes = 0; holes < 2; holes++) {
        long record[MAX_LENGTH], *all = malloc(sizeof(long) * total * size);
        MPI_Status status;
        MPI_Offset at;
        reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
        MPI_File_set_view(fh, 24, MPI_LONG, holes ? second : MPI_LONG, "native", MPI_INFO_NULL);
        for (int turn = 0; turn < TURNS; turn++) {
            for (int i = 0; i < lengths[turn]; i++) record[i] = i ? 1000 * rank + i : rank * TURNS + turn;
            CHECK(MPI_File_write_shared(fh, record, lengths[turn], MPI_LONG, &status) == MPI_SUCCESS);
            CHECK(bytes_of(&status) == 8 * lengths[turn]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_get_position_shared(fh, &at);
        CHECK(at == total * size);
        MPI_File_get_size(fh, &at);
        CHECK(at == 24 + 8 * (holes ? 2 * total * size - 1 : total * size));
        MPI_File_read_at_all(fh, 0, all, total * size, MPI_LONG, MPI_STATUS_IGNORE);
        int next[16] = {0};
        for (int i = 0; i < total * size;) {
            int from = (int)(all[i] / TURNS), turn = (int)(all[i] % TURNS);
            CHECK(from >= 0 && from < size && turn == next[from]++);
            for (int j = 1; j < lengths[turn]; j++) CHECK(all[i + j] == 1000 * from + j);
            i += lengths[turn];
        }
        MPI_File_close(&fh);
        free(all);
    }
    MPI_Type_free(&second);
    MPI_Type_free(&pair);
}

/* Requests of all kinds, and split collectives. */
static void requests(void)
{
    int mine[4] = {rank, rank + 1, rank + 2, rank + 3}, got[4] = {-1, -1, -1, -1}, flag = 0;
    MPI_Request request[2];
    MPI_Status status[2];
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_iwrite_at(fh, 16 * rank, mine, 2, MPI_INT, &request[0]);
    MPI_File_iwrite_at(fh, 16 * rank + 8, mine + 2, 2, MPI_INT, &request[1]);
    MPI_Waitall(2, request, status);
    CHECK(bytes_of(&status[0]) == 8 && bytes_of(&status[1]) == 8);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_iread_at_all(fh, 16 * ((rank + 1) % size), got, 4, MPI_INT, request);
    while (!flag) MPI_Test(request, &flag, status);
    CHECK(got[3] == (rank + 1) % size + 3 && bytes_of(status) == 16);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(fh, 16 * rank, MPI_SEEK_SET);
    MPI_File_write_all_begin(fh, got, 4, MPI_INT);
    MPI_File_write_all_end(fh, got, status);
    CHECK(bytes_of(status) == 16);
    MPI_File_read_at_all_begin(fh, 16 * rank, mine, 4, MPI_INT);
    MPI_File_read_at_all_end(fh, mine, status);
    CHECK(mine[0] == (rank + 1) % size && bytes_of(status) == 16);
    MPI_File_iread(fh, mine, 4, MPI_INT, request);
    MPI_Wait(request, status);
    CHECK(bytes_of(status) == (rank == size - 1 ? 0 : 16));
    MPI_File_close(&fh);
}

/* Atomic counters: each rank reads, adds, and passes on; blocks that all write are of one rank. */
static void atomic(void)
{
    int block[1000], flag;
    reopen(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_get_atomicity(fh, &flag);
    CHECK(!flag);
    MPI_File_set_atomicity(fh, 1);
    MPI_File_get_atomicity(fh, &flag);
    CHECK(flag);
    for (int i = 0; i < 1000; i++) block[i] = rank;
    MPI_File_write_at(fh, 0, block, 1000, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Status status;
    MPI_File_read_at(fh, 0, block, 1000, MPI_INT, &status);
    CHECK(bytes_of(&status) == 4000);
    for (int i = 1; i < 1000; i++) CHECK(block[i] == block[0]);
    MPI_Request request;
    MPI_File_iwrite_at_all(fh, 4 * rank, &rank, 1, MPI_INT, &request);
    MPI_Wait(&request, &status);
    int before = -1;
    MPI_File_read_at_all(fh, 4 * ((rank + 1) % size), &before, 1, MPI_INT, &status);
    CHECK(before == (rank + 1) % size);
    MPI_File_close(&fh);
}

static void objects(void)
{
    int amode, members;
    MPI_Offset length;
    MPI_Group group;
    MPI_Info info, used;
    char value[64];
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) == MPI_ERR_NO_SUCH_FILE &&
          fh == MPI_FILE_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "2");
    MPI_File_open(MPI_COMM_WORLD, name,
                  MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh);
    MPI_File_get_amode(fh, &amode);
    CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    MPI_File_get_group(fh, &group);
    MPI_Group_size(group, &members);
    CHECK(members == size);
    MPI_Group_free(&group);
    MPI_File_get_info(fh, &used);
    int found, room = 64;
    MPI_Info_get_string(used, "cb_nodes", &room, value, &found);
    CHECK(found && !strcmp(value, "2"));
    MPI_Info_free(&info);
    MPI_Info_free(&used);
    MPI_File_set_size(fh, 1000);
    MPI_File_get_size(fh, &length);
    CHECK(length == 1000);
    MPI_File_preallocate(fh, 500);
    MPI_File_get_size(fh, &length);
    CHECK(length == 1000);
    MPI_File_preallocate(fh, 2000);
    MPI_File_get_size(fh, &length);
    CHECK(length == 2000);
    MPI_File_close(&fh);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(name, F_OK) != 0);
    /* A file of each rank's own. */
    char own[4200];
    snprintf(own, sizeof own, "%s.%d", name, rank);
    MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    MPI_File_write_shared(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_ordered(fh, &size, 1, MPI_INT, MPI_STATUS_IGNORE);
    int pair[2];
    MPI_File_read_at_all(fh, 0, pair, 2, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(pair[0] == rank && pair[1] == size);
    MPI_File_close(&fh);
    /* Behind what is there. */
    MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &fh);
    MPI_File_write(fh, &size, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_size(fh, &length);
    CHECK(length == 12);
    MPI_File_close(&fh);
    CHECK(MPI_File_delete(own, MPI_INFO_NULL) == MPI_SUCCESS &&
          MPI_File_delete(own, MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS);
}

static const Case cases[] = {
    {"offsets", offsets},       {"views", views},     {"external", external}, {"registered", registered},
    {"converting", converting}, {"shared", shared},   {"records", records},   {"requests", requests},
    {"atomic", atomic},         {"objects", objects},
};

int main(int argc, char **argv)
{
    name = argv[2];
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
