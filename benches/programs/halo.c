/*
 * Halo exchange: each rank of a periodic three-dimensional grid swaps faces with its six neighbours.
 *
 *     halo STEPS BYTES NX NY NZ
 *
 * Neighbours are counted by hand, so that nothing but the exchange is sent. Rank 0 prints how many messages
 * that were.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, side[3], at[3];
    MPI_Request requests[12];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int d = 0; d < 3; d++)
        side[d] = argc == 6 ? atoi(argv[3 + d]) : 0;
    if ((long)side[0] * side[1] * side[2] != size) {
        if (rank == 0)
            fprintf(stderr, "halo STEPS BYTES NX NY NZ: the sides do not make %d ranks\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int steps = atoi(argv[1]), bytes = atoi(argv[2]);
    char *faces = calloc(12, (size_t)bytes);
    at[0] = rank / (side[1] * side[2]), at[1] = rank / side[2] % side[1], at[2] = rank % side[2];
    int stride[3] = {side[1] * side[2], side[2], 1}, neighbors[6];
    for (int d = 0; d < 3; d++) {
        neighbors[2 * d] = rank + ((at[d] + 1) % side[d] - at[d]) * stride[d];
        neighbors[2 * d + 1] = rank + ((at[d] + side[d] - 1) % side[d] - at[d]) * stride[d];
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 6; i++)
            MPI_Irecv(faces + (size_t)i * bytes, bytes, MPI_BYTE, neighbors[i], i ^ 1, MPI_COMM_WORLD,
                      requests + i);
        for (int i = 0; i < 6; i++)
            MPI_Isend(faces + (size_t)(6 + i) * bytes, bytes, MPI_BYTE, neighbors[i], i, MPI_COMM_WORLD,
                      requests + 6 + i);
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        printf("%ld messages of %d bytes\n", 6L * steps * size, bytes);
    free(faces);
    MPI_Finalize();
    return 0;
}
