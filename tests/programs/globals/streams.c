/* Standard streams that ranks but the first close, put elsewhere or assign, and input that each has for
 * itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int saved = -1;
static FILE *own;

static void leave_out(const char *how)
{
    int null = open("/dev/null", O_WRONLY);
    if (!strcmp(how, "dup2"))
        dup2(null, 1);
    else if (!strcmp(how, "dup3"))
        dup3(null, 1, O_CLOEXEC);
    else if (!strcmp(how, "close"))
        close(1);
    else if (!strcmp(how, "dup")) /* the lowest free number */
        close(1), dup(null);
    else if (!strcmp(how, "fclose"))
        fclose(stdout);
    else if (!strcmp(how, "freopen"))
        freopen("/dev/null", "w", stdout) == NULL ? abort() : (void)0;
    else if (!strcmp(how, "assign"))
        stdout = own = fopen("/dev/null", "w");
    else if (!strcmp(how, "restore"))
        fflush(stdout), saved = dup(1), dup2(null, 1);
    else
        abort();
    close(null);
}

static void output(int rank, const char *how)
{
    if (rank)
        leave_out(how);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d prints\n", rank);
    fflush(stdout);
    if (rank && strcmp(how, "assign") && strcmp(how, "fclose")) {
        const char line[] = "rank writes\n";
        if ((write(1, line, strlen(line)) < 0) != !strcmp(how, "close"))
            fprintf(stderr, "rank %d: write answers otherwise\n", rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (saved >= 0) {
        if (write(saved, "aside\n", 6) != 6 || dup2(saved, 1) != 1 || close(saved))
            abort();
        printf("rank %d is back\n", rank);
    }
}

/* Each rank reads the lines of a file of its own, a little at a time, through the stream and through the
 * descriptor. */
static void input(int rank, const char *how)
{
    char path[64], line[16], want[16];
    snprintf(path, sizeof path, "input.%d", rank);
    FILE *file = fopen(path, "w");
    for (int k = 0; k < 2000; k++)
        fprintf(file, "%d\n", 10000 * rank + k);
    fclose(file);
    if (!strcmp(how, "assign")) {
        stdin = fopen(path, "r");
    } else if (!strcmp(how, "freopen")) {
        if (!freopen(path, "r", stdin))
            abort();
    } else {
        int descriptor = open(path, O_RDONLY);
        dup2(descriptor, 0);
        close(descriptor);
    }
    for (int k = 0; k < 2000; k++) {
        if (k % 100 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        snprintf(want, sizeof want, "%d\n", 10000 * rank + k);
        if (!fgets(line, sizeof line, stdin) || strcmp(line, want)) {
            printf("rank %d reads %s for %s", rank, line, want);
            return;
        }
    }
    if (fgets(line, sizeof line, stdin) == NULL)
        puts("ok");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (argv[1][0] == 'o' ? output : input)(rank, argv[2]);
    MPI_Finalize();
    return 0;
}
