#include "main.h"
#include "util.h"
#include <stdio.h>
#include <stdlib.h>

/* What this rank computes before its calls, one after the other, as in times.txt; NULL: not read yet. */
static char *times;

/* The next of them is had so often more. */
static unsigned long long left;
static double ps;

/* Calls before the rank is known. */
static int owed;

static void wrong(const char *why)
{
    fprintf(stderr, "rank %d: " TIMES " %s; make the benchmark again, or start it where that file is\n", rank,
            why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

void compute_next(void)
{
    if (!times) {
        owed++;
        return;
    }
    if (left == 0) {
        char *end;
        left = strtoull(times, &end, 10);
        if (end == times) {
            wrong("has fewer times than this rank has calls");
            return;
        }
        ps = (double)left;
        if (*end == '*')
            ps = (double)strtoull(end + 1, &end, 10);
        else
            left = 1;
        times = end;
    }
    left--;
    spend(1e-12 * ps);
}

/* The file begins with a line of 20 digits for each rank: where its times are. */
void read_times(void)
{
    unsigned long long begin = 0, end = 0;
    FILE *file = fopen(TIMES, "r");
    if (!file) {
        wrong("cannot be read");
        return;
    }
    int is_read =
        fseek(file, 21L * rank, SEEK_SET) == 0 && fscanf(file, "%llu %llu", &begin, &end) == 2 && begin < end;
    times = is_read ? malloc(end - begin) : NULL;
    is_read =
        times && fseek(file, (long)begin, SEEK_SET) == 0 && fread(times, 1, end - begin, file) == end - begin;
    fclose(file);
    if (!is_read) {
        wrong("is not of this benchmark");
        return;
    }
    times[end - begin - 1] = '\0';
    for (; owed > 0; owed--)
        compute_next();
}
