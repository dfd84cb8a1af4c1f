/* Process topologies, and the neighbours that collectives find by them. On 12 ranks. */
#include "fails.h"

static int me;

static void a_grid_knows_its_places(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got[2], wraps[2], rank, n, source, destination,
        status, sum, up[2] = {-1, 0};
    int remain[2] = {0, 1}, one = 1, values[4], i;
    MPI_Comm grid, row, small;

    MPI_Dims_create(size, 2, dims);
    CHECK(dims[0] == 4 && dims[1] == 3);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Topo_test(grid, &status);
    CHECK(status == MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    CHECK(status == MPI_UNDEFINED);
    MPI_Cartdim_get(grid, &n);
    CHECK(n == 2);
    MPI_Cart_get(grid, 2, got, wraps, coords);
    CHECK(got[0] == 4 && wraps[0] && !wraps[1] && coords[0] == me / 3 && coords[1] == me % 3);
    MPI_Cart_rank(grid, up, &rank);
    CHECK(rank == 9);
    MPI_Cart_coords(grid, 7, 2, coords);
    CHECK(coords[0] == 2 && coords[1] == 1);
    MPI_Cart_shift(grid, 0, 1, &source, &destination);
    CHECK(source == (me + 9) % 12 && destination == (me + 3) % 12);
    MPI_Cart_shift(grid, 1, 1, &source, &destination);
    CHECK(source == (me % 3 == 0 ? MPI_PROC_NULL : me - 1) &&
          destination == (me % 3 == 2 ? MPI_PROC_NULL : me + 1));
    FAILS(MPI_ERR_ARG, MPI_Cart_shift(grid, 2, 1, &source, &destination));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, &n));

    MPI_Cart_sub(grid, remain, &row);
    MPI_Comm_size(row, &n);
    MPI_Comm_rank(row, &rank);
    CHECK(n == 3 && rank == me % 3);
    MPI_Cartdim_get(row, &n);
    CHECK(n == 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, row);
    CHECK(sum == 3);

    for (i = 0; i < 4; i++)
        values[i] = -1;
    MPI_Neighbor_allgather(&me, 1, MPI_INT, values, 1, MPI_INT, grid);
    CHECK(values[0] == (me + 9) % 12 && values[1] == (me + 3) % 12);
    CHECK(values[2] == (me % 3 == 0 ? -1 : me - 1) && values[3] == (me % 3 == 2 ? -1 : me + 1));

    dims[0] = 5;
    dims[1] = 2;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &small);
    CHECK((small == MPI_COMM_NULL) == (me >= 10));
    dims[0] = 5;
    dims[1] = 3;
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &row));
    if (small != MPI_COMM_NULL)
        MPI_Comm_free(&small);
    MPI_Comm_free(&grid);
}

static void a_graph_knows_its_edges(void)
{
    /* A ring. */
    int index[12], edges[24], i, n, m, got[2];
    MPI_Comm ring;

    for (i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring);
    MPI_Graphdims_get(ring, &n, &m);
    CHECK(n == size && m == 2 * size);
    MPI_Graph_neighbors_count(ring, me, &n);
    MPI_Graph_neighbors(ring, me, 2, got);
    CHECK(n == 2 && got[0] == (me + size - 1) % size && got[1] == (me + 1) % size);
    MPI_Neighbor_alltoall(got, 1, MPI_INT, edges, 1, MPI_INT, ring);
    CHECK(edges[0] == me && edges[1] == me);
    MPI_Comm_free(&ring);
}

static void a_distributed_graph_is_made_of_everyones_edges(void)
{
    /* Rank 0 gives all edges: i -> i + 1 with weight i, and i -> 0. */
    int sources[11], degrees[11], destinations[22], weights[22], i, n = me == 0 ? 11 : 0, in, out, weighted;
    int from[12], to[12], in_weights[12], out_weights[12], value = 10 * me, values[12];
    MPI_Comm graph, same;

    for (i = 0; i < 11; i++) {
        sources[i] = i;
        degrees[i] = 2;
        destinations[2 * i] = i + 1;
        destinations[2 * i + 1] = 0;
        weights[2 * i] = i;
        weights[2 * i + 1] = 100;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, destinations, n ? weights : MPI_WEIGHTS_EMPTY,
                          MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(weighted && in == (me == 0 ? 11 : 1) && out == (me == 11 ? 0 : 2));
    MPI_Dist_graph_neighbors(graph, 12, from, in_weights, 12, to, out_weights);
    if (me > 0)
        CHECK(from[0] == me - 1 && in_weights[0] == me - 1);
    if (me < 11)
        CHECK(to[0] == me + 1 && to[1] == 0 && out_weights[1] == 100);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, in_weights, out, to, out_weights, MPI_INFO_NULL,
                                   0, &same);
    MPI_Neighbor_allgather(&value, 1, MPI_INT, values, 1, MPI_INT, same);
    for (i = 0; i < in; i++)
        CHECK(values[i] == 10 * from[i]);
    MPI_Comm_free(&same);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    me = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 12);
    a_grid_knows_its_places();
    a_graph_knows_its_edges();
    a_distributed_graph_is_made_of_everyones_edges();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
