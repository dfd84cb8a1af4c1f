/*
 * Collectives whose counts lie in arrays, behind which other numbers lie: only as many are read as MPI reads.
 * Ignored arguments are null, or hold what no array has. 4 ranks.
 */
#include <mpi.h>

#define MANY 64

int main(int argc, char **argv)
{
    int rank, size, counts[MANY], places[MANY] = {0}, from[MANY], to[MANY], *nothing = (int *)4096;
    MPI_Datatype types[MANY];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < MANY; i++) {
        counts[i] = 1000000;
        types[i] = MPI_INT;
        from[i] = rank;
    }
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm ring, half, between;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &ring);
    counts[0] = 2;
    MPI_Neighbor_alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, ring);
    MPI_Aint displacements[MANY] = {0};
    MPI_Neighbor_alltoallw(from, counts, displacements, types, to, counts, displacements, types, ring);
    MPI_Neighbor_allgatherv(from, 2, MPI_INT, to, counts, places, MPI_INT, ring);

    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        places[i] = i * (i + 1) / 2;
    }
    /* The root alone says how long the blocks are. */
    MPI_Scatterv(from, rank ? nothing : counts, rank ? nothing : places, MPI_INT, to, rank + 1, MPI_INT, 0,
                 MPI_COMM_WORLD);
    MPI_Gatherv(from, rank + 1, MPI_INT, to, rank ? nothing : counts, rank ? nothing : places, MPI_INT, 0,
                MPI_COMM_WORLD);
    /* In place the receiving side says it. */
    MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, to, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        counts[i] = 3;
    for (int i = 0; i < size; i++)
        places[i] = 3 * i;
    MPI_Alltoallv(MPI_IN_PLACE, nothing, nothing, MPI_DATATYPE_NULL, to, counts, places, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, MPI_COMM_WORLD);
    /* Empty blocks need no datatype. */
    for (int i = 0; i < size; i++) {
        counts[i] = i == next ? 5 : 0;
        types[i] = i == next ? MPI_SHORT : MPI_DATATYPE_NULL;
        places[i] = 0;
    }
    int expected[MANY];
    MPI_Datatype others[MANY];
    for (int i = 0; i < size; i++) {
        expected[i] = i == before ? 5 : 0;
        others[i] = i == before ? MPI_SHORT : MPI_DATATYPE_NULL;
    }
    MPI_Alltoallw(from, counts, places, types, to, expected, places, others, MPI_COMM_WORLD);

    /* Groups of one and three: counts are those of the other group, or where a group scatters among itself of
     * its own. */
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank ? 0 : 1, 7, &between);
    int others_size = rank ? 1 : 3, own_size = 4 - others_size;
    for (int i = 0; i < MANY; i++)
        counts[i] = i < others_size ? 2 : 1000000;
    for (int i = 0; i < MANY; i++)
        places[i] = i < others_size ? 2 * i : 1000000;
    MPI_Request request;
    MPI_Ialltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, between, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++)
        counts[i] = i < own_size ? 6 / own_size : 1000000;
    MPI_Ireduce_scatter(from, to, counts, MPI_INT, MPI_SUM, between, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
