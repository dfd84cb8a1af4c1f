// Knows nothing of MPI: loads a program as a library, as an interpreter loads its modules, and runs its main.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    // Nothing that the library brings may be seen by this program or by libraries loaded later.
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 90;
    }
    if (dlsym(RTLD_DEFAULT, "MPI_Init"))
        return 91;
    void *found = dlsym(library, "main");
    int (*run)(int, char **);
    memcpy(&run, &found, sizeof run);
    return run(argc - 1, argv + 1);
}
