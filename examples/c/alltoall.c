/*
 * Everybody sends to everybody: the pattern that shows how many links a network has in its middle.
 *
 *     xsim run -n 64 --mn torus:8x8,level=packet --compute none examples/c/alltoall.c
 *
 * The arguments are the bytes for each pair (4096) and the number of repetitions (4). Expect "exchanged
 * correctly" and the time of one exchange, which is at least that of size - 1 blocks over one link; the torus
 * above takes longer than that, because packets share its rings, and `fattree:m=8,n=3,level=packet` comes
 * closer to it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, anywhere;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int bytes = argc > 1 ? atoi(argv[1]) : 4096, count = argc > 2 ? atoi(argv[2]) : 4;
    if (bytes < 1 || count < 1) {
        if (rank == 0)
            fprintf(stderr, "alltoall: at least 1 byte and 1 repetition are needed\n");
        MPI_Finalize();
        return 1;
    }
    unsigned char *out = malloc((size_t)size * bytes), *in = malloc((size_t)size * bytes);
    for (int to = 0; to < size; to++)
        for (int i = 0; i < bytes; i++)
            out[(size_t)to * bytes + i] = (unsigned char)(7 * rank + 3 * to + i);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), slowest;
    for (int i = 0; i < count; i++)
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    double elapsed = (MPI_Wtime() - start) / count;

    for (int from = 0; from < size; from++)
        for (int i = 0; i < bytes; i++)
            wrong += in[(size_t)from * bytes + i] != (unsigned char)(7 * from + 3 * rank + i);
    MPI_Reduce(&wrong, &anywhere, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s\n", anywhere ? "DAMAGED" : "exchanged correctly");
        printf("%d bytes for each pair: %.3f us\n", bytes, slowest * 1e6);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return wrong != 0;
}
