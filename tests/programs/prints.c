/* Every rank prints many lines without a call of MPI in between, by functions that take turns, and says on
 * stderr how many KiB of memory the process gained. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long resident(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld", &kib);
    if (status)
        fclose(status);
    return kib;
}

int main(int argc, char **argv)
{
    int rank, lines = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = resident();
    for (int i = 0; i < lines; i++) {
        char line[128];
        snprintf(line, sizeof line, "%d %d %90s\n", rank, i, "");
        switch (i % 5) {
        case 0: printf("%d %d %90s\n", rank, i, ""); break;
        case 1: fputs(line, stdout); break;
        case 2: fwrite(line, 1, strlen(line), stdout); break;
        case 3: line[strlen(line) - 1] = 0; puts(line); break;
        default:
            for (char *at = line; *at; at++)
                putc_unlocked(*at, stdout);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "%ld\n", resident() - before);
    MPI_Finalize();
    return 0;
}
