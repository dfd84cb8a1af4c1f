/* What the recorder of real runs needs of the machine's own MPI, which only a file that is compiled against
 * its mpi.h knows: handles as bits, what objects say, and the way of what was recorded to rank 0. The
 * wrappers of the functions are generated. All calls go through PMPI. Calls of Fortran are in fortran.h. */

#define _GNU_SOURCE
#include "xsimtrace_has.h"
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a constant that this MPI does not have. */
#define XSIMTRACE_NONE INT64_MIN
#define EXPORTED __attribute__((visibility("default")))
/* A handle as a word: an int in MPICH, an address in Open MPI. */
#define BITS(handle) bits(&(handle), sizeof(handle))

static inline uint64_t bits(const void *handle, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, handle, size);
    return word;
}

static inline MPI_Comm comm_of(uint64_t word)
{
    MPI_Comm comm;
    memcpy(&comm, &word, sizeof comm);
    return comm;
}

int xsimtrace_open(uint32_t function, int large, uint64_t *words, void *site);
void xsimtrace_close(int told, uint64_t *words, int code);

/* Of lib.rs: what is named here is taken out of the archive, and seen by the program. */
int xsim_trace_on(void), xsim_trace_off(void), xsim_trace_on_(void), xsim_trace_off_(void);
__attribute__((used)) static int (*const xsimtrace_switches[])(void) = { xsim_trace_on, xsim_trace_off,
                                                                         xsim_trace_on_, xsim_trace_off_ };

#include "fortran.h"
#include "xsimtrace_wrappers.h"

/* Sizes of what is in arrays of the program. A file's handle is an address everywhere. */
const uint64_t xsimtrace_handle_size = sizeof(MPI_Comm);
const uint64_t xsimtrace_file_size = sizeof(MPI_File);
const uint64_t xsimtrace_status_size = sizeof(MPI_Status);

/* Addresses with a meaning, in the order of host.rs. */
void xsimtrace_sentinels(uint64_t *to)
{
    to[0] = (uint64_t)(uintptr_t)MPI_IN_PLACE;
    to[1] = (uint64_t)(uintptr_t)MPI_STATUS_IGNORE;
    to[2] = (uint64_t)(uintptr_t)MPI_STATUSES_IGNORE;
    to[3] = (uint64_t)(uintptr_t)MPI_UNWEIGHTED;
    to[4] = (uint64_t)(uintptr_t)MPI_WEIGHTS_EMPTY;
    to[5] = (uint64_t)(uintptr_t)MPI_ERRCODES_IGNORE;
}

/* An address within the MPI library's own code. */
uint64_t xsimtrace_code(void)
{
    return (uint64_t)(uintptr_t)dlsym(RTLD_NEXT, "PMPI_Send");
}

/* Source, tag, bytes and whether it was cancelled, of the kth status. */
void xsimtrace_status(const void *at, uint64_t k, int64_t *to)
{
    const MPI_Status *status = (const MPI_Status *)at + k;
    MPI_Count bytes = 0;
    int cancelled = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    PMPI_Test_cancelled(status, &cancelled);
    to[0] = status->MPI_SOURCE;
    to[1] = status->MPI_TAG;
    to[2] = bytes;
    to[3] = cancelled;
}

/* Size, ranks that messages go to, own rank, whether it has two groups, neighbours in and out (-1: no
 * topology), dimensions (-1: no grid). */
int xsimtrace_comm(uint64_t word, int64_t *to)
{
    MPI_Comm comm = comm_of(word);
    int size, peers, rank, inter, topology = MPI_UNDEFINED, in = -1, out = -1, dimensions = -1, weighted;
    if (PMPI_Comm_size(comm, &size) || PMPI_Comm_rank(comm, &rank) || PMPI_Comm_test_inter(comm, &inter))
        return 0;
    peers = size;
    if (inter)
        PMPI_Comm_remote_size(comm, &peers);
    else
        PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &dimensions);
        in = out = 2 * dimensions;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, rank, &in);
        out = in;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    }
    to[0] = size;
    to[1] = peers;
    to[2] = rank;
    to[3] = inter;
    to[4] = in;
    to[5] = out;
    to[6] = dimensions;
    return 1;
}

/* Writes the ranks in MPI_COMM_WORLD of the first members of a group; 0: an error. */
static int ranks_of(MPI_Group group, int count, int *to)
{
    MPI_Group world;
    int *own = malloc((size_t)count * sizeof *own);
    int code = own == NULL;
    if (!code) {
        for (int k = 0; k < count; k++)
            own[k] = k;
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        code = PMPI_Group_translate_ranks(group, count, own, world, to);
        PMPI_Group_free(&world);
    }
    free(own);
    return code == MPI_SUCCESS;
}

/* The ranks in MPI_COMM_WORLD of the (remote) group's members, of which there are so many; MPI_UNDEFINED of
 * those outside. */
int xsimtrace_members(uint64_t word, int remote, int count, int *to)
{
    MPI_Group group;
    if (remote ? PMPI_Comm_remote_group(comm_of(word), &group) : PMPI_Comm_group(comm_of(word), &group))
        return 0;
    int done = ranks_of(group, count, to);
    PMPI_Group_free(&group);
    return done;
}

/* How many members a group has; their ranks in MPI_COMM_WORLD, if there is room for so many. -1: an error. */
int xsimtrace_group(uint64_t word, int room, int *to)
{
    MPI_Group group;
    int size;
    memcpy(&group, &word, sizeof group);
    if (PMPI_Group_size(group, &size))
        return -1;
    if (room < size || size == 0)
        return size;
    return ranks_of(group, size, to) ? size : -1;
}

/* The bytes in a file; -1 where nobody can say. */
int64_t xsimtrace_size_of_file(uint64_t word)
{
    MPI_File file;
    MPI_Offset size;
    memcpy(&file, &word, sizeof file);
    return PMPI_File_get_size(file, &size) ? -1 : (int64_t)size;
}

/* The size of a datatype and its extent. */
int xsimtrace_datatype(uint64_t word, int64_t *to)
{
    MPI_Datatype datatype;
    MPI_Count size, bound, extent;
    memcpy(&datatype, &word, sizeof datatype);
    if (PMPI_Type_size_x(datatype, &size) || PMPI_Type_get_extent_x(datatype, &bound, &extent))
        return 0;
    to[0] = size;
    to[1] = extent;
    return 1;
}

int xsimtrace_error_class(int code)
{
    int class = code;
    PMPI_Error_class(code, &class);
    return class;
}

/* Of the recorder alone, so that its messages meet no others. */
static MPI_Comm own_comm;

void xsimtrace_begin(int *rank, int *size)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &own_comm);
    PMPI_Comm_set_errhandler(own_comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(own_comm, rank);
    PMPI_Comm_size(own_comm, size);
}

void xsimtrace_abort(void)
{
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* MPI was initialized and no wrapper saw it, as by a call of PMPI_Init in the program. A trace that is not
 * there must be said. */
__attribute__((destructor)) static void say_that_nothing_was_recorded(void)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (initialized && own_comm == 0)
        fprintf(stderr, "xsim: nothing of this process was recorded: it initialized MPI by a function other "
                        "than MPI_Init and MPI_Init_thread\n");
}

/* Bytes of one message: counts are ints. */
enum { PIECE = 1 << 30 };

int xsimtrace_send(const char *data, uint64_t bytes)
{
    int code = PMPI_Send(&bytes, 1, MPI_UINT64_T, 0, 0, own_comm);
    for (uint64_t at = 0; !code && at < bytes; at += PIECE)
        code = PMPI_Send(data + at, bytes - at < PIECE ? (int)(bytes - at) : PIECE, MPI_BYTE, 0, 0, own_comm);
    return code == MPI_SUCCESS;
}

/* How many bytes a rank sends; then these. */
int xsimtrace_receive_size(int rank, uint64_t *bytes)
{
    return PMPI_Recv(bytes, 1, MPI_UINT64_T, rank, 0, own_comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

int xsimtrace_receive(int rank, char *data, uint64_t bytes)
{
    int code = MPI_SUCCESS;
    for (uint64_t at = 0; !code && at < bytes; at += PIECE)
        code = PMPI_Recv(data + at, bytes - at < PIECE ? (int)(bytes - at) : PIECE, MPI_BYTE, rank, 0,
                         own_comm, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS;
}

void xsimtrace_end(void)
{
    /* It stays what says that there was a run. */
    MPI_Comm comm = own_comm;
    PMPI_Comm_free(&comm);
}
