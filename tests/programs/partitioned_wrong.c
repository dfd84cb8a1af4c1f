/* Partitioned communication: wrong calls, by name. With a second argument errors are returned, and each rank
 * prints the class. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, data[4], room[4], flag;
static MPI_Request send, receive;

static int not_started(void) { return MPI_Pready(0, send); }
static int started(void) { return MPI_Start(&send); }
static int twice(void)
{
    started();
    MPI_Pready(1, send);
    return MPI_Pready(1, send);
}
static int twice_in_a_list(void)
{
    started();
    int code = MPI_Pready_list(3, (int[]){0, 2, 0}, send);
    /* None of them was made ready. */
    if (MPI_Pready_range(0, 3, send) != MPI_SUCCESS) return MPI_ERR_OTHER;
    return code;
}
static int beyond(void) { return started(), MPI_Pready(4, send); }
static int below(void) { return started(), MPI_Pready(-1, send); }
static int range_beyond(void) { return started(), MPI_Pready_range(2, 2147483647, send); }
static int range_backwards(void) { return started(), MPI_Pready_range(2, 1, send); }
static int list_beyond(void) { return started(), MPI_Pready_list(2, (int[]){0, 9}, send); }
static int of_a_receive(void) { return MPI_Start(&receive), MPI_Pready(0, receive); }
static int of_another(void)
{
    MPI_Request other;
    MPI_Send_init(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &other);
    return MPI_Pready(0, other);
}
static int of_null(void) { return MPI_Pready(0, MPI_REQUEST_NULL); }
static int arrived_of_a_send(void) { return MPI_Parrived(send, 0, &flag); }
static int arrived_beyond(void) { return MPI_Start(&receive), MPI_Parrived(receive, 4, &flag); }
static int started_twice(void) { return started(), MPI_Start(&send); }
static int free_active(void) { return started(), MPI_Request_free(&send); }
static int any_source(void)
{ return MPI_Precv_init(room, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive); }
static int any_tag(void)
{ return MPI_Precv_init(room, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &receive); }
static int bad_rank(void)
{ return MPI_Psend_init(data, 1, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int bad_tag(void)
{ return MPI_Psend_init(data, 1, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int bad_count(void)
{ return MPI_Psend_init(data, 1, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int bad_partitions(void)
{ return MPI_Psend_init(data, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int too_many(void)
{
    return MPI_Psend_init_c(data, 2147483647, (MPI_Count)1 << 62, MPI_INT, 0, 0, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &send);
}
static int bad_type(void)
{ return MPI_Psend_init(data, 1, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int bad_comm(void)
{ return MPI_Precv_init(room, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL, &receive); }
static int no_buffer(void)
{ return MPI_Psend_init(NULL, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send); }
static int truncated(void)
{
    MPI_Request short_one, long_one;
    MPI_Psend_init(data, 2, 2, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &long_one);
    MPI_Precv_init(room, 3, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &short_one);
    MPI_Start(&long_one);
    MPI_Start(&short_one);
    MPI_Pready_range(0, 1, long_one);
    MPI_Wait(&long_one, MPI_STATUS_IGNORE);
    return MPI_Wait(&short_one, MPI_STATUS_IGNORE);
}
static int waits_for_itself(void)
{ return started(), MPI_Pready(0, send), MPI_Wait(&send, MPI_STATUS_IGNORE); }
static int waits_for_nothing(void) { return MPI_Start(&receive), MPI_Wait(&receive, MPI_STATUS_IGNORE); }
static int waits_for_the_rest(void) { return started(), MPI_Pready(0, send), waits_for_nothing(); }

static const struct { const char *name; int (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(not_started),
    CASE(twice),
    CASE(twice_in_a_list),
    CASE(beyond),
    CASE(below),
    CASE(range_beyond),
    CASE(range_backwards),
    CASE(list_beyond),
    CASE(of_a_receive),
    CASE(of_another),
    CASE(of_null),
    CASE(arrived_of_a_send),
    CASE(arrived_beyond),
    CASE(started_twice),
    CASE(free_active),
    CASE(any_source),
    CASE(any_tag),
    CASE(bad_rank),
    CASE(bad_tag),
    CASE(bad_count),
    CASE(bad_partitions),
    CASE(too_many),
    CASE(bad_type),
    CASE(bad_comm),
    CASE(no_buffer),
    CASE(truncated),
    CASE(waits_for_itself),
    CASE(waits_for_nothing),
    CASE(waits_for_the_rest),
};

static const char *name_of(int class)
{
    switch (class) {
#define NAME(class) case class: return #class
        NAME(MPI_SUCCESS);
        NAME(MPI_ERR_COUNT);
        NAME(MPI_ERR_TYPE);
        NAME(MPI_ERR_RANK);
        NAME(MPI_ERR_TAG);
        NAME(MPI_ERR_ARG);
        NAME(MPI_ERR_REQUEST);
        NAME(MPI_ERR_COMM);
        NAME(MPI_ERR_BUFFER);
        NAME(MPI_ERR_TRUNCATE);
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    MPI_Psend_init(data, 4, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(room, 4, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
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
