/* Files: wrong calls, by name; each rank prints the class. The second argument is a file's name. With a third
 * the handler is fatal. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, value;
static MPI_File fh, none = MPI_FILE_NULL;
static const char *name;
static MPI_Request request;
static MPI_Status status;

static int open_as(int amode) { return MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &none); }
/* The file, opened again in another way, by a call of its own. */
static int as(int amode, int (*call)(MPI_File))
{
    MPI_File again;
    MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &again);
    int code = call(again);
    MPI_File_close(&again);
    return code;
}
static int write_it(MPI_File file) { return MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status); }
static int read_it(MPI_File file) { return MPI_File_read_at(file, 0, &value, 1, MPI_INT, &status); }
static int seek_it(MPI_File file) { return MPI_File_seek(file, 0, MPI_SEEK_SET); }
static int set_view(MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    return MPI_File_set_view(fh, disp, etype, filetype, datarep, MPI_INFO_NULL);
}

static int null_file(void) { return write_it(MPI_FILE_NULL); }
static int invented_file(void) { return write_it((MPI_File)(size_t)0x123450); }
static int closed(void)
{
    MPI_File copy = fh;
    MPI_File_close(&fh);
    return write_it(copy);
}
static int missing(void)
{
    char other[4200];
    snprintf(other, sizeof other, "%s.missing", name);
    return MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
}
static int missing_directory(void)
{
    return MPI_File_open(MPI_COMM_WORLD, "/missing/file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &none);
}
static int directory(void)
{ return MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &none); }
static int exists(void) { return open_as(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR); }
static int no_way(void) { return open_as(MPI_MODE_CREATE); }
static int two_ways(void) { return open_as(MPI_MODE_RDONLY | MPI_MODE_RDWR); }
static int create_read_only(void) { return open_as(MPI_MODE_RDONLY | MPI_MODE_CREATE); }
static int other_modes(void) { return open_as(rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR); }
static int delete_missing(void)
{
    char other[4200];
    snprintf(other, sizeof other, "%s.missing", name);
    return MPI_File_delete(other, MPI_INFO_NULL);
}
static int write_read_only(void) { return as(MPI_MODE_RDONLY, write_it); }
static int read_write_only(void) { return as(MPI_MODE_WRONLY, read_it); }
static int seek_sequential(void) { return as(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, seek_it); }
static int negative_offset(void) { return MPI_File_write_at(fh, -1, &value, 1, MPI_INT, &status); }
static int negative_count(void) { return MPI_File_write_at(fh, 0, &value, -1, MPI_INT, &status); }
static int no_datatype(void) { return MPI_File_write_at(fh, 0, &value, 1, MPI_DATATYPE_NULL, &status); }
static int null_buffer(void) { return MPI_File_write_at(fh, 0, 0, 1, MPI_INT, &status); }
static int bad_whence(void) { return MPI_File_seek(fh, 0, 7); }
static int seek_before(void) { return MPI_File_seek(fh, -1, MPI_SEEK_SET); }
static int negative_size(void) { return MPI_File_set_size(fh, -1); }
static int other_sizes(void) { return MPI_File_set_size(fh, rank); }
static int one_refused(void) { return MPI_File_set_size(fh, rank ? 10 : -1); }
static int other_calls(void) { return rank ? MPI_File_sync(fh) : MPI_File_set_atomicity(fh, 1); }
static int unknown_datarep(void) { return set_view(0, MPI_INT, MPI_INT, "mine"); }
static int other_datareps(void) { return set_view(0, MPI_INT, MPI_INT, rank ? "native" : "external32"); }
static int negative_disp(void) { return set_view(-5, MPI_INT, MPI_INT, "native"); }
static int current_disp(void) { return set_view(MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native"); }
static int odd_filetype(void) { return set_view(0, MPI_INT, MPI_BYTE, "native"); }
static int uncommitted(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    int code = set_view(0, MPI_INT, pair, "native");
    MPI_Type_free(&pair);
    return code;
}
static int half_an_etype(void)
{
    set_view(0, MPI_DOUBLE, MPI_DOUBLE, "native");
    return write_it(fh);
}
static int begun_twice(void)
{
    MPI_File_write_all_begin(fh, &value, 1, MPI_INT);
    int code = MPI_File_write_all_begin(fh, &value, 1, MPI_INT);
    MPI_File_write_all_end(fh, &value, &status);
    return code;
}
static int not_begun(void) { return MPI_File_read_all_end(fh, &value, &status); }
static int end_of_another(void)
{
    MPI_File_write_all_begin(fh, &value, 1, MPI_INT);
    int code = MPI_File_write_at_all_end(fh, &value, &status);
    MPI_File_write_all_end(fh, &value, &status);
    return code;
}
static int too_wide(void)
{
    long wide = 1L << 40;
    set_view(0, MPI_LONG, MPI_LONG, "external32");
    return MPI_File_write_at(fh, 0, &wide, 1, MPI_LONG, &status);
}
static int to_full_disk(int (*call)(MPI_File))
{
    MPI_File full;
    int code = MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &full);
    if (code) return code;
    code = call(full);
    MPI_File_close(&full);
    return code;
}
static int full_disk(void) { return to_full_disk(write_it); }
static int write_shared(MPI_File file) { return MPI_File_write_shared(file, &value, 1, MPI_INT, &status); }
static int full_disk_shared(void) { return to_full_disk(write_shared); }
static int shared_read_only(void) { return as(MPI_MODE_RDONLY, write_shared); }
static int inter(void)
{
    MPI_Comm between;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
    int code = MPI_File_open(between, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
    MPI_Comm_free(&between);
    return code;
}
static int alone_in_it(void)
{
    if (rank == 0) MPI_File_sync(fh);
    return 0;
}

typedef struct { const char *name; int (*run)(void); } Case;
#define CASE(name) {#name, name}
static const Case cases[] = {
    CASE(null_file),         CASE(invented_file),    CASE(closed),           CASE(missing),
    CASE(missing_directory), CASE(directory),        CASE(exists),           CASE(no_way),
    CASE(two_ways),          CASE(create_read_only), CASE(other_modes),      CASE(delete_missing),
    CASE(write_read_only),   CASE(read_write_only),  CASE(seek_sequential),  CASE(negative_offset),
    CASE(negative_count),    CASE(no_datatype),      CASE(null_buffer),      CASE(bad_whence),
    CASE(seek_before),       CASE(negative_size),    CASE(other_sizes),      CASE(one_refused),
    CASE(other_calls),       CASE(unknown_datarep),  CASE(other_datareps),   CASE(negative_disp),
    CASE(current_disp),      CASE(odd_filetype),     CASE(uncommitted),      CASE(half_an_etype),
    CASE(begun_twice),       CASE(not_begun),        CASE(end_of_another),   CASE(too_wide),
    CASE(full_disk),         CASE(full_disk_shared), CASE(shared_read_only), CASE(inter),
    CASE(alone_in_it),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    name = argv[2];
    if (argc > 3) MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[1])) {
            char text[MPI_MAX_ERROR_STRING];
            int length, class;
            MPI_Error_class(cases[i].run(), &class);
            MPI_Error_string(class, text, &length);
            printf("%.*s\n", (int)strcspn(text, ":"), text);
        }
    if (fh != MPI_FILE_NULL) MPI_File_close(&fh);
    MPI_Finalize();
    (void)request;
    return 0;
}
