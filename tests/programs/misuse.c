/*
 * Mistakes, one a case. Under MPI_ERRORS_ARE_FATAL the run must end with a sentence; with "return" as
 * the second argument errors come back, and the case prints the error's class by name.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

static int rank, size, value, values[64];

static int bad_count(void) { return MPI_Send(values, -1, MPI_INT, 0, 0, WORLD); }
static int bad_tag(void) { return MPI_Send(values, 1, MPI_INT, 0, -5, WORLD); }
static int any_tag_sent(void) { return MPI_Send(values, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD); }
static int bad_rank(void) { return MPI_Send(values, 1, MPI_INT, size, 0, WORLD); }
static int negative_rank(void) { return MPI_Recv(values, 1, MPI_INT, -77, 0, WORLD, MPI_STATUS_IGNORE); }
static int bad_root(void) { return MPI_Bcast(values, 1, MPI_INT, size, WORLD); }
static int bad_datatype(void) { return MPI_Send(values, 1, MPI_DATATYPE_NULL, 0, 0, WORLD); }
static int bad_comm(void) { return MPI_Send(values, 1, MPI_INT, 0, 0, MPI_COMM_NULL); }
static int bad_op(void) { return MPI_Allreduce(values, values + 1, 1, MPI_INT, MPI_OP_NULL, WORLD); }
static int op_for_type(void) { return MPI_Allreduce(values, values + 2, 1, MPI_DOUBLE, MPI_BAND, WORLD); }
static int garbage_comm(void) { return MPI_Barrier((MPI_Comm)(size_t)0x7654320); }
static int garbage_datatype(void)
{ return MPI_Send(values, 1, (MPI_Datatype)(size_t)0x7654320, 0, 0, WORLD); }

/* Buffers that are no memory. */
static int null_send(void) { return MPI_Send(NULL, 3, MPI_INT, rank, 0, WORLD); }
static int null_receive(void)
{ return MPI_Recv(NULL, 3, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE); }
static int in_place_send(void) { return MPI_Send(MPI_IN_PLACE, 3, MPI_INT, rank, 0, WORLD); }
static int in_place_bcast(void) { return MPI_Bcast(MPI_IN_PLACE, 3, MPI_INT, 0, WORLD); }
static int in_place_result(void) { return MPI_Allreduce(values, MPI_IN_PLACE, 3, MPI_INT, MPI_SUM, WORLD); }
static int null_result(void)
{
    MPI_Allreduce(values, values + 8, 3, MPI_INT, MPI_SUM, WORLD);
    return MPI_Allreduce(values, NULL, 3, MPI_INT, MPI_SUM, WORLD);
}
static int null_blocks(void)
{
    int *counts = values + 8;
    for (int i = 0; i < size; i++)
        counts[i] = 1;
    return MPI_Allgatherv(values, 1, MPI_INT, NULL, counts, values + 16, MPI_INT, WORLD);
}
/* A text of a given length needs memory; a length of 0 asks for the length alone. */
static int null_text(void)
{
    MPI_Info info;
    int length = 0, there;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    if (MPI_Info_get_string(info, "key", &length, NULL, &there) != MPI_SUCCESS || length != 6)
        return MPI_ERR_OTHER;
    return MPI_Info_get_string(info, "key", &length, NULL, &there);
}
static int null_scatter(void)
{
    /* Only the root's buffer is looked at. */
    return MPI_Scatter(NULL, 1, MPI_INT, values, 1, MPI_INT, 0, rank == 0 ? WORLD : MPI_COMM_SELF);
}
/* Nothing is asked for, or the datatype has the address. */
static int no_memory_is_needed(void)
{
    MPI_Aint at;
    MPI_Datatype type;
    int one = 1;
    MPI_Get_address(values, &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(NULL, 0, MPI_INT, 0, WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, WORLD);
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, WORLD);
    MPI_Sendrecv(MPI_BOTTOM, 1, type, rank, 0, MPI_BOTTOM, 1, type, rank, 0, WORLD, MPI_STATUS_IGNORE);
    return MPI_Type_free(&type);
}
static int scan_between(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, rank > 0 ? 0 : 1, 0, &both);
    return MPI_Scan(values, values + 8, 1, MPI_INT, MPI_SUM, both);
}
static int in_place_elsewhere(void)
{
    return MPI_Reduce(rank == 2 ? MPI_IN_PLACE : values, values + 8, 3, MPI_INT, MPI_SUM, 0, WORLD);
}
static int gather_in_place_elsewhere(void)
{
    return MPI_Gather(rank == 2 ? MPI_IN_PLACE : values, 1, MPI_INT, values + 8, 1, MPI_INT, 0, WORLD);
}
static int gatherv_in_place_elsewhere(void)
{
    int counts[] = {1, 1, 1}, offsets[] = {0, 1, 2};
    void *send = rank == 2 ? MPI_IN_PLACE : values;
    return MPI_Gatherv(send, 1, MPI_INT, values + 8, counts, offsets, MPI_INT, 0, WORLD);
}
static int scatter_in_place_elsewhere(void)
{
    return MPI_Scatter(values, 1, MPI_INT, rank == 2 ? MPI_IN_PLACE : values + 8, 1, MPI_INT, 0, WORLD);
}
static int in_place_between(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, rank > 0 ? 0 : 1, 0, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_ARE_FATAL);
    return MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, both);
}
static int dup_and_split(void)
{
    MPI_Comm made;
    return rank ? MPI_Comm_dup(WORLD, &made) : MPI_Comm_split(WORLD, 0, rank, &made);
}
static int no_function(void)
{
    MPI_Op op;
    MPI_Op_create((MPI_User_function *)16, 1, &op);
    return MPI_Allreduce(values, values + 8, 1, MPI_INT, op, WORLD);
}
static int sleeps_long(void)
{
    for (int i = 0; i < 3; i++)
        sleep(10000000);
    return MPI_Barrier(WORLD);
}
static int many_calls(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Comm_rank(WORLD, &rank);
    return MPI_Barrier(WORLD);
}
static int many_messages(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(values, 1, MPI_INT, (rank + 1) % size, 0, values + 1, 1, MPI_INT,
                     (rank + size - 1) % size, 0, WORLD, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}
static int many_barriers(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Barrier(WORLD);
    return MPI_SUCCESS;
}

static int uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    return MPI_Send(values, 1, type, 0, 0, WORLD);
}

static int freed_datatype(void)
{
    MPI_Datatype type, copy;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    copy = type;
    MPI_Type_free(&type);
    return MPI_Send(values, 1, copy, 0, 0, WORLD);
}

static int freed_comm(void)
{
    MPI_Comm comm, copy;
    MPI_Comm_dup(WORLD, &comm);
    copy = comm;
    MPI_Comm_free(&comm);
    return MPI_Barrier(copy);
}

static int truncated(void)
{
    MPI_Request request;
    MPI_Isend(values, 8, MPI_INT, rank, 0, WORLD, &request);
    return MPI_Recv(values + 16, 2, MPI_INT, rank, 0, WORLD, MPI_STATUS_IGNORE);
}

static int request_twice(void)
{
    MPI_Request request, copy;
    MPI_Irecv(&value, 1, MPI_INT, rank, 0, WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, rank, 0, WORLD);
    copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Wait(&copy, MPI_STATUS_IGNORE);
}

static int start_active(void)
{
    MPI_Request request;
    MPI_Recv_init(&value, 1, MPI_INT, rank, 0, WORLD, &request);
    MPI_Start(&request);
    return MPI_Start(&request);
}

static int mismatched_collectives(void)
{
    return rank == 0 ? MPI_Barrier(WORLD) : MPI_Bcast(values, 1, MPI_INT, 0, WORLD);
}

static double many[3000];
static int mismatched_counts(void)
{ return MPI_Allreduce(many, many + 1500, 1000 + (rank == 1), MPI_DOUBLE, MPI_SUM, WORLD); }
static int mismatched_operations(void)
{
    return rank == 1 ? MPI_Reduce(many, many + 1500, 1000, MPI_FLOAT, MPI_SUM, 0, WORLD)
                     : MPI_Reduce(many, many + 1500, 500, MPI_DOUBLE, MPI_SUM, 0, WORLD);
}
/* Rank 1 sends fewer elements than it says itself that everybody receives from it. */
static int mismatched_own_count(void)
{
    int counts[64], displacements[64];
    for (int i = 0; i < size; i++)
        counts[i] = 10, displacements[i] = 10 * i;
    return MPI_Allgatherv(many, 10 - (rank == 1), MPI_DOUBLE, many + 100, counts, displacements, MPI_DOUBLE,
                          WORLD);
}
static int mismatched_blocks(void)
{ return MPI_Alltoall(many, 8 + (rank == 1), MPI_DOUBLE, many + 1500, 8 + (rank == 1), MPI_DOUBLE, WORLD); }
static int mismatched_roots(void) { return MPI_Bcast(values, 1, MPI_INT, rank == 1, WORLD); }

static int deadlock(void)
{
    return MPI_Recv(values, 1, MPI_INT, (rank + size - 1) % size, 0, WORLD, MPI_STATUS_IGNORE);
}

static int deadlock_mixed(void)
{
    if (rank == 0)
        return MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, 42, WORLD, MPI_STATUS_IGNORE);
    return MPI_Barrier(WORLD);
}

static int missing_partner(void)
{
    return rank == 0 ? MPI_Recv(values, 1, MPI_INT, 1, 3, WORLD, MPI_STATUS_IGNORE) : MPI_SUCCESS;
}

static int init_twice(void) { return MPI_Init(NULL, NULL); }

static int aborts(void)
{
    printf("rank %d was here\n", rank);
    fflush(stdout);
    MPI_Barrier(WORLD);
    return rank == 1 ? MPI_Abort(WORLD, 7) : MPI_Barrier(WORLD);
}

/* The others make no call after the abort, or none that takes time. */
static int aborts_alone(void)
{
    volatile int forever = 1;
    int number, size;
    MPI_Comm_size(WORLD, &size);
    if (rank == 1) {
        for (int to = 0; to < size; to++)
            MPI_Send(&rank, to != 1, MPI_INT, to, 0, WORLD);
        MPI_Abort(WORLD, 7);
    }
    MPI_Recv(&number, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
    while (forever)
        if (rank == 2)
            MPI_Comm_rank(WORLD, &number);
    return 0;
}

static int exits_early(void)
{
    printf("rank %d was here\n", rank);
    if (rank == 1)
        exit(0);
    return MPI_SUCCESS;
}

static int crashes(void)
{
    printf("rank %d was here\n", rank);
    MPI_Barrier(WORLD);
    if (rank == 1)
        *(volatile int *)16 = 1;
    return MPI_Barrier(WORLD);
}

static int calls_abort(void)
{
    if (rank == 1)
        abort();
    return MPI_Barrier(WORLD);
}

static volatile int bottom = 1 << 30;

static int recurse(int depth)
{
    volatile char frame[512];
    frame[depth % 512] = 1;
    return depth < bottom ? recurse(depth + 1) + frame[depth % 512] : 0;
}

/* Each rank writes 256 KiB: more than any machine has for a million ranks. */
static int takes_much(void)
{
    char *memory = malloc(256 << 10);
    memset(memory, 1, 256 << 10);
    return memory ? MPI_Barrier(WORLD) : 1;
}
static int overflows(void) { return rank == 1 ? recurse(0) : MPI_Barrier(WORLD); }

static int spins(void)
{
    volatile int on = 1;
    while (rank == 1 && on)
        ;
    return MPI_Barrier(WORLD);
}

static int spins_before_abort(void)
{
    volatile int on = 1;
    while (rank != 1 && on)
        ;
    return MPI_Abort(WORLD, 3);
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"bad_count", bad_count},
    {"bad_tag", bad_tag},
    {"any_tag_sent", any_tag_sent},
    {"bad_rank", bad_rank},
    {"negative_rank", negative_rank},
    {"bad_root", bad_root},
    {"bad_datatype", bad_datatype},
    {"bad_comm", bad_comm},
    {"bad_op", bad_op},
    {"op_for_type", op_for_type},
    {"garbage_comm", garbage_comm},
    {"garbage_datatype", garbage_datatype},
    {"uncommitted", uncommitted},
    {"freed_datatype", freed_datatype},
    {"freed_comm", freed_comm},
    {"truncated", truncated},
    {"request_twice", request_twice},
    {"start_active", start_active},
    {"mismatched_collectives", mismatched_collectives},
    {"mismatched_counts", mismatched_counts},
    {"mismatched_operations", mismatched_operations},
    {"mismatched_own_count", mismatched_own_count},
    {"mismatched_blocks", mismatched_blocks},
    {"mismatched_roots", mismatched_roots},
    {"deadlock", deadlock},
    {"deadlock_mixed", deadlock_mixed},
    {"missing_partner", missing_partner},
    {"init_twice", init_twice},
    {"aborts", aborts},
    {"aborts_alone", aborts_alone},
    {"exits_early", exits_early},
    {"crashes", crashes},
    {"calls_abort", calls_abort},
    {"overflows", overflows},
    {"takes_much", takes_much},
    {"spins", spins},
    {"spins_before_abort", spins_before_abort},
    {"null_send", null_send},
    {"null_receive", null_receive},
    {"in_place_send", in_place_send},
    {"in_place_bcast", in_place_bcast},
    {"in_place_result", in_place_result},
    {"null_result", null_result},
    {"null_blocks", null_blocks},
    {"null_scatter", null_scatter},
    {"null_text", null_text},
    {"no_memory_is_needed", no_memory_is_needed},
    {"scan_between", scan_between},
    {"in_place_elsewhere", in_place_elsewhere},
    {"gather_in_place_elsewhere", gather_in_place_elsewhere},
    {"gatherv_in_place_elsewhere", gatherv_in_place_elsewhere},
    {"scatter_in_place_elsewhere", scatter_in_place_elsewhere},
    {"in_place_between", in_place_between},
    {"dup_and_split", dup_and_split},
    {"no_function", no_function},
    {"sleeps_long", sleeps_long},
    {"many_calls", many_calls},
    {"many_messages", many_messages},
    {"many_barriers", many_barriers},
};

static const char *name_of(int class)
{
    switch (class) {
    case MPI_SUCCESS: return "MPI_SUCCESS";
    case MPI_ERR_ARG: return "MPI_ERR_ARG";
    case MPI_ERR_BUFFER: return "MPI_ERR_BUFFER";
    case MPI_ERR_COUNT: return "MPI_ERR_COUNT";
    case MPI_ERR_TYPE: return "MPI_ERR_TYPE";
    case MPI_ERR_TAG: return "MPI_ERR_TAG";
    case MPI_ERR_COMM: return "MPI_ERR_COMM";
    case MPI_ERR_RANK: return "MPI_ERR_RANK";
    case MPI_ERR_REQUEST: return "MPI_ERR_REQUEST";
    case MPI_ERR_ROOT: return "MPI_ERR_ROOT";
    case MPI_ERR_OP: return "MPI_ERR_OP";
    case MPI_ERR_TRUNCATE: return "MPI_ERR_TRUNCATE";
    case MPI_ERR_OTHER: return "MPI_ERR_OTHER";
    case MPI_ERR_UNSUPPORTED_OPERATION: return "MPI_ERR_UNSUPPORTED_OPERATION";
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 0; /* a program that never calls MPI_Init */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (strcmp(argv[1], "no_finalize") == 0) {
        printf("rank %d was here\n", rank);
        return 0;
    }
    if (strcmp(argv[1], "after_finalize") == 0) {
        MPI_Finalize();
        MPI_Barrier(WORLD);
        return 0;
    }
    if (strcmp(argv[1], "finalize_twice") == 0) {
        MPI_Finalize();
        MPI_Finalize();
        return 0;
    }
    if (argc > 2) {
        MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            int code = cases[i].run(), class = code;
            MPI_Error_class(code, &class);
            printf("%s\n", name_of(class));
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "no case %s\n", argv[1]);
    return 98;
}
