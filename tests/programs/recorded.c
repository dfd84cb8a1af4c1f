/* Calls of most chapters whose outcome is the same on every MPI: recorded under mpirun and on virtual ranks,
 * they give equal traces. */
#include <mpi.h>
#include <stdlib.h>

enum { STEPS = 5, MANY = 8 };

static int rank, size, next, before;

/* Requests that are complete at once may share one handle; they are started in one variable and waited for in
 * another order. */
static void nonblocking(void)
{
    MPI_Request requests[2 * MANY], one;
    int data[MANY], got[MANY];
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < MANY; k++) {
            data[k] = k;
            MPI_Irecv(&got[k], 1, MPI_INT, before, k, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = 0; k < MANY; k++) {
            MPI_Isend(&data[k], 1, MPI_INT, next, k, MPI_COMM_WORLD, &one);
            requests[MANY + k] = one;
        }
        MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Isend(data, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    requests[0] = MPI_REQUEST_NULL;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    double out = 1, in;
    MPI_Send_init(&out, 1, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    for (int step = 0; step < STEPS; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void probes(void)
{
    MPI_Status status;
    MPI_Message message;
    char text[100] = "";
    int count;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 0 && rank + 1 < size) {
        MPI_Send("probed", 7, MPI_CHAR, rank + 1, 7, MPI_COMM_WORLD);
        MPI_Ssend("matched", 8, MPI_CHAR, rank + 1, 8, MPI_COMM_WORLD);
    } else if (rank % 2 == 1) {
        MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &count);
        MPI_Recv(text, count, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mprobe(rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(text, 100, MPI_CHAR, &message, &status);
    }
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &count, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &status);
    MPI_Sendrecv_replace(&count, 1, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void waits_for_some(void)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int got[3], index, count, indices[3], flag;
    for (int k = 0; k < 3; k++) {
        MPI_Irecv(&got[k], 1, MPI_INT, before, k, MPI_COMM_WORLD, &requests[k]);
    }
    /* One at a time, so that nobody can tell otherwise which comes first. */
    for (int k = 2; k > 0; k--) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&k, 1, MPI_INT, next, k, MPI_COMM_WORLD);
        if (k == 2) {
            MPI_Waitany(3, requests, &index, &statuses[0]);
        } else {
            MPI_Waitsome(3, requests, &count, indices, statuses);
        }
    }
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Test_cancelled(&statuses[0], &flag);
    MPI_Testall(3, requests, &flag, statuses);
    MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    int *all = calloc((size_t)size * 4, sizeof(int)), *counts = calloc((size_t)size, sizeof(int)),
        *displacements = calloc((size_t)size, sizeof(int));
    int one = rank, sum;
    struct { double value; int place; } least = { rank, rank }, found;
    MPI_Request request;
    for (int k = 0; k < size; k++) {
        counts[k] = k % 3;
        displacements[k] = 3 * k;
    }
    MPI_Bcast(&one, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&least, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 1 % size, MPI_COMM_WORLD);
    MPI_Gatherv(all, rank % 3, MPI_INT, all + size, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(all, 1, MPI_INT, all + size, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    free(all);
    free(counts);
    free(displacements);
}

static void communicators(void)
{
    MPI_Comm half, copy, single, grid, both, merged, graph, later;
    MPI_Group world, few;
    MPI_Request request;
    int flag, result, dims[2] = { 0, 0 }, periods[2] = { 1, 0 }, coords[2], low, high,
                      list[2] = { size - 1, 0 }, sum;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : rank % 2, -rank, &half);
    if (half != MPI_COMM_NULL) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
        MPI_Comm_free(&half);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &sum, 1, MPI_INT, before, 1, copy, MPI_STATUS_IGNORE);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size > 1 ? 2 : 1, list, &few);
    MPI_Group_rank(few, &result);
    MPI_Comm_create(copy, few, &single);
    if (single != MPI_COMM_NULL) {
        MPI_Barrier(single);
        MPI_Comm_free(&single);
    }
    MPI_Group_free(&few);
    MPI_Group_free(&world);
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(later);
    MPI_Comm_free(&later);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, coords);
    MPI_Cart_shift(grid, 1, 1, &low, &high);
    MPI_Sendrecv(&rank, 1, MPI_INT, high, 1, &sum, 1, MPI_INT, low, 1, grid, MPI_STATUS_IGNORE);
    MPI_Topo_test(grid, &result);
    int sum4[4] = { 0 };
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, sum4, 1, MPI_INT, grid);
    MPI_Comm_free(&grid);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &sum, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, copy, 1 - rank % 2, 9, &both);
        MPI_Comm_test_inter(both, &flag);
        MPI_Bcast(&sum, 1, MPI_INT, rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, both);
        MPI_Intercomm_merge(both, rank % 2, &merged);
        MPI_Barrier(merged);
        MPI_Comm_free(&merged);
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    MPI_Comm_free(&copy);
}

static void datatypes(void)
{
    MPI_Datatype column, block, structure, wide;
    int blocks[2] = { 1, 2 }, data[64] = { 0 }, sizes[2] = { 8, 8 }, parts[2] = { 2, 3 }, from[2] = { 1, 1 },
        bytes;
    MPI_Aint places[2] = { 0, 8 }, bound, extent;
    MPI_Datatype types[2] = { MPI_DOUBLE, MPI_SHORT };
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_create_subarray(2, sizes, parts, from, MPI_ORDER_C, MPI_INT, &block);
    MPI_Type_create_struct(2, blocks, places, types, &structure);
    MPI_Type_create_resized(structure, 0, 32, &wide);
    MPI_Type_commit(&block);
    MPI_Type_size(wide, &bytes);
    MPI_Type_get_extent(wide, &bound, &extent);
    for (int step = 0; step < STEPS; step++) {
        MPI_Sendrecv(data, 1, column, next, 1, data + 1, 8, MPI_INT, before, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(data, 1, block, next, 1, data, 1, block, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&block);
    MPI_Type_free(&structure);
    MPI_Type_free(&wide);
}

static void least(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *count; k++) {
        if (((int *)in)[k] < ((int *)inout)[k]) {
            ((int *)inout)[k] = ((int *)in)[k];
        }
    }
}

static void others(void)
{
    MPI_Op op;
    int result;
    MPI_Op_create(least, 1, &op);
    MPI_Allreduce(&rank, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    nonblocking();
    persistent();
    probes();
    waits_for_some();
    collectives();
    communicators();
    datatypes();
    others();
    if (argc > 1) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Finalize();
    return 0;
}
