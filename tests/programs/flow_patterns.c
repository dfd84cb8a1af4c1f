/* Exchanges whose time on a star of flows follows from max-min sharing: CASE BYTES. Prints the picoseconds
 * from a barrier to the last rank's end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) {
        fprintf(stderr, "flow_patterns: a case and a number of bytes are needed\n");
        return 2;
    }
    const char *which = argv[1];
    int bytes = atoi(argv[2]);
    char *out = calloc(size, bytes), *in = calloc(size, bytes);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    int started = 0;
    memset(out, rank, (size_t)size * bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (strcmp(which, "alltoall") == 0 || strcmp(which, "halo") == 0) {
        int far = strcmp(which, "halo") == 0 ? 1 : size - 1;
        for (int step = 1; step <= far; step++)
            MPI_Irecv(in + (size_t)step * bytes, bytes, MPI_CHAR, (rank + size - step) % size, 0,
                      MPI_COMM_WORLD, &requests[started++]);
        for (int step = 1; step <= far; step++)
            MPI_Isend(out, bytes, MPI_CHAR, (rank + step) % size, 0, MPI_COMM_WORLD, &requests[started++]);
        if (far == 1) {
            MPI_Irecv(in, bytes, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[started++]);
            MPI_Isend(out, bytes, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                      &requests[started++]);
        }
    } else if (strcmp(which, "incast") == 0 && rank != 0) {
        MPI_Isend(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[started++]);
    } else if (strcmp(which, "incast") == 0) {
        for (int source = 1; source < size; source++)
            MPI_Irecv(in + (size_t)source * bytes, bytes, MPI_CHAR, source, 0, MPI_COMM_WORLD,
                      &requests[started++]);
    } else {
        MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
    }
    MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
    double took = MPI_Wtime() - start, longest;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("took %.0f ps\n", longest * 1e12);
    if (strcmp(which, "alltoall") == 0)
        for (int step = 1; step < size; step++)
            if (in[(size_t)step * bytes + bytes - 1] != (char)((rank + size - step) % size))
                printf("wrong bytes at %d\n", rank);
    free(out), free(in), free(requests);
    MPI_Finalize();
    return 0;
}
