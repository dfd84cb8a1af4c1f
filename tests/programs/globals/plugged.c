/* Loads plugin.c by a plain name, in one rank after the other. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            if (!library) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            void (*set)(int) = (void (*)(int))dlsym(library, "plugin_set");
            int (*is_fresh)(void) = (int (*)(void))dlsym(library, "plugin_is_fresh");
            wrong += !is_fresh();
            set(rank);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    int (*check)(int) = (int (*)(int))dlsym(library, "plugin_check");
    for (int lap = 0; lap < 3; lap++) {
        wrong += check(rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    dlclose(library);
    MPI_Finalize();
    if (wrong)
        printf("rank %d: %d wrong\n", rank, wrong);
    else
        puts("ok");
    return wrong != 0;
}
