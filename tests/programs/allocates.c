/* Memory of the program, of MPI and of the C library comes and goes on every rank. With an argument, rank 1
 * reads behind a block. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks, sum;
    void *memory;
    MPI_Win window;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < 20; round++) {
        size_t bytes = 40 + 300 * round;
        int *mine = malloc(bytes);
        memset(mine, rank + 1, bytes);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Type_vector(round + 1, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
        memset(memory, rank, bytes);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == ranks * (ranks - 1) / 2);
        mine = realloc(mine, 2 * bytes);
        for (size_t i = 0; i < bytes; i++)
            CHECK(((char *)mine)[i] == (char)(rank + 1));
        MPI_Free_mem(memory);
        MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &memory, &window);
        MPI_Win_free(&window);
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
        char *copy = strdup("a copy");
        free(copy);
        free(mine);
    }
    int *block = malloc(10 * sizeof *block);
    memset(block, 0, 10 * sizeof *block);
    volatile int at = 8 + argc;
    if (rank == 1)
        CHECK(block[at] == 0);
    free(block);
    MPI_Finalize();
    puts("ok");
    return 0;
}
