/* Process topologies of all kinds, their collectives, and communicators that a part of the ranks makes: for
 * replays. */
#include <mpi.h>
#include <stdlib.h>
#include <xsim.h>

#define MAX_RANKS 64

static int rank, size;

/* All neighbourhood collectives, each neighbour with blocks of its own size in the v and w forms. */
static void exchange(MPI_Comm comm, int in, int out, int from[], int to[]) {
    static char sent[MAX_RANKS * 256], received[MAX_RANKS * 256];
    int sends[MAX_RANKS], receives[MAX_RANKS], sent_at[MAX_RANKS], received_at[MAX_RANKS];
    MPI_Aint sent_bytes[MAX_RANKS], received_bytes[MAX_RANKS];
    MPI_Datatype types[MAX_RANKS];
    MPI_Request requests[3];
    int me;
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < MAX_RANKS; i++) {
        /* Both ends of an edge know how long its block is. */
        sends[i] = i < out ? 1 + (me + (to[i] < 0 ? 0 : to[i])) % 7 : 0;
        receives[i] = i < in ? 1 + (me + (from[i] < 0 ? 0 : from[i])) % 7 : 0;
        sent_bytes[i] = sent_at[i] = received_bytes[i] = received_at[i] = 256 * i;
        types[i] = MPI_CHAR;
    }
    MPI_Neighbor_allgather(sent, 20, MPI_INT, received, 20, MPI_INT, comm);
    xsim_compute(1e-6 * (1 + rank % 3));
    MPI_Neighbor_alltoall(sent, 100, MPI_CHAR, received, 100, MPI_CHAR, comm);
    MPI_Neighbor_alltoallv(sent, sends, sent_at, MPI_CHAR, received, receives, received_at, MPI_CHAR, comm);
    xsim_compute(1e-7 * (rank % 5));
    MPI_Neighbor_alltoallw(sent, sends, sent_bytes, types, received, receives, received_bytes, types, comm);
    for (int i = 0; i < in; i++) {
        receives[i] = 7;
    }
    MPI_Neighbor_allgatherv(sent, 7, MPI_CHAR, received, receives, received_at, MPI_CHAR, comm);
    MPI_Ineighbor_alltoall(sent, 50, MPI_CHAR, received, 50, MPI_CHAR, comm, &requests[0]);
    xsim_compute(2e-6);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoall_init(sent, 3, MPI_INT, received, 3, MPI_INT, comm, MPI_INFO_NULL, &requests[0]);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Start(&requests[0]);
        xsim_compute(1e-6 * rank);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
}

static void grid(int periodic) {
    int dims[2] = {0, 0}, periods[2] = {periodic, 0}, remain[2] = {1, 0}, around[4];
    MPI_Comm comm, row, copy;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    MPI_Cart_shift(comm, 0, 1, &around[0], &around[1]);
    MPI_Cart_shift(comm, 1, 1, &around[2], &around[3]);
    exchange(comm, 4, 4, around, around);
    MPI_Cart_sub(comm, remain, &row);
    MPI_Cart_shift(row, 0, 1, &around[0], &around[1]);
    MPI_Comm_dup(row, &copy);
    exchange(copy, 2, 2, around, around);
    MPI_Comm_free(&row);
    MPI_Comm_disconnect(&copy);
    MPI_Comm_free(&comm);
}

/* A ring as a graph that all know. */
static void ring(void) {
    int index[MAX_RANKS], edges[2 * MAX_RANKS], mine[2];
    MPI_Comm comm;
    for (int node = 0; node < size; node++) {
        index[node] = 2 * node + 2;
        edges[2 * node] = (node + size - 1) % size;
        edges[2 * node + 1] = (node + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    mine[0] = edges[2 * rank];
    mine[1] = edges[2 * rank + 1];
    exchange(comm, 2, 2, mine, mine);
    MPI_Comm_free(&comm);
}

/* Each sends to the next and to the one behind that; rank 0 tells of all edges, or each of its own. */
static void circle(int adjacent) {
    int sources[2] = {(rank + size - 1) % size, (rank + size - 2) % size},
        destinations[2] = {(rank + 1) % size, (rank + 2) % size};
    int nodes[MAX_RANKS], degrees[MAX_RANKS], all[2 * MAX_RANKS];
    MPI_Comm comm;
    for (int node = 0; node < size; node++) {
        nodes[node] = node;
        degrees[node] = 2;
        all[2 * node] = (node + 1) % size;
        all[2 * node + 1] = (node + 2) % size;
    }
    if (adjacent) {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    } else {
        MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, nodes, degrees, all, MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 0, &comm);
        MPI_Dist_graph_neighbors(comm, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED);
    }
    exchange(comm, 2, 2, sources, destinations);
    MPI_Comm_free(&comm);
}

/* The odd ranks alone make a communicator, in reverse order. */
static void group(void) {
    int members[MAX_RANKS], count = 0, sum, one = 1;
    MPI_Group world, odd;
    MPI_Comm comm;
    for (int other = size - 1; other >= 0; other--) {
        if (other % 2 == 1) {
            members[count++] = other;
        }
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, members, &odd);
    if (rank % 2 == 1) {
        xsim_compute(1e-6 * rank);
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        MPI_Comm_create_from_group(odd, "odd", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&odd);
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grid(0);
    grid(1);
    ring();
    circle(1);
    circle(0);
    group();
    MPI_Finalize();
    return 0;
}
