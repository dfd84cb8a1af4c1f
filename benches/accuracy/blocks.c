/* Times what Bruck's all-to-all of 64 members copies, as Open MPI does it: per round a datatype of the blocks
 * that move, which is packed, unpacked and copied back, and a copy of each block in the end. That is 190
 * copies of runs of blocks here. For the machine's Open MPI, one process:
 *
 *     mpicc -O2 blocks.c -o blocks && mpirun -n 1 ./blocks
 *
 * Prints "block bytes nanoseconds" for one copy, the best of 20. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEMBERS = 64, COPIES = 190, REPEATS = 200, AREA = 1 << 20 };

static void collective(int bytes, char *from, char *into, char *packed)
{
    int starts[MEMBERS], lengths[MEMBERS], at;
    for (int distance = 1; distance < MEMBERS; distance *= 2) {
        int count = 0;
        for (int block = 1; block < MEMBERS; block++)
            if (block & distance) {
                starts[count] = block * bytes;
                lengths[count++] = bytes;
            }
        MPI_Datatype blocks;
        MPI_Type_indexed(count, lengths, starts, MPI_CHAR, &blocks);
        MPI_Type_commit(&blocks);
        MPI_Pack(from, 1, blocks, packed, AREA, (at = 0, &at), MPI_COMM_SELF);
        MPI_Unpack(packed, AREA, (at = 0, &at), into, 1, blocks, MPI_COMM_SELF);
        MPI_Pack(into, 1, blocks, packed, AREA, (at = 0, &at), MPI_COMM_SELF);
        MPI_Type_free(&blocks);
    }
    for (int block = 0; block < MEMBERS; block++)
        MPI_Pack(from + block * bytes, bytes, MPI_CHAR, packed, AREA, (at = 0, &at), MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char *from = calloc(1, AREA), *into = calloc(1, AREA), *packed = calloc(1, AREA);
    for (int bytes = 1; bytes <= 64; bytes *= 4) {
        double best = 1;
        for (int trial = 0; trial < 20; trial++) {
            double start = MPI_Wtime();
            for (int i = 0; i < REPEATS; i++)
                collective(bytes, from, into, packed);
            double took = (MPI_Wtime() - start) / REPEATS;
            best = took < best ? took : best;
        }
        printf("block %d %.1f\n", bytes, best / COPIES * 1e9);
    }
    MPI_Finalize();
    return 0;
}
