/* Long messages that are sent before anybody receives them: what they carry, and that they do not all wait in
 * memory. */
#include "check.h"
#include <xsim.h>

enum { WINDOW = 32, BYTES = 1 << 20, LAPS = 3 };

static long peak(void)
{
    char line[200];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1)
            break;
    fclose(status);
    return kilobytes;
}

static char *out, *in;

/* In one process. What crosses between processes goes when it is sent, and how much of it waits depends on
 * their pace. */
static void fits(long kilobytes)
{
    if (xsim_real_size() == 1)
        CHECK(peak() < kilobytes);
}

/* Each rank sends a window to the right, overwrites what it sent, and only then receives from the left. */
static void around(void (*send)(int to, int lap))
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int lap = 0; lap < LAPS; lap++) {
        memset(out, 10 * lap + rank, BYTES);
        send(right, lap);
        memset(out, 255, BYTES);
        for (int i = 0; i < WINDOW; i++) {
            MPI_Recv(in, BYTES, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(in[0] == 10 * lap + left && in[BYTES / 2] == 10 * lap + left &&
                  in[BYTES - 1] == 10 * lap + left);
        }
    }
    /* All windows would take size * WINDOW MiB. */
    fits(1024 * (size * WINDOW / 2));
}

static void send_all(int to, int lap)
{
    (void)lap;
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(out, BYTES, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* Blocking, one by one, persistent. */
static void send_each(int to, int lap)
{
    MPI_Request request;
    MPI_Send_init(out, BYTES / 4, MPI_FLOAT, to, WINDOW - 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < WINDOW - 1; i++)
        if ((i + lap) % 2)
            MPI_Send(out, BYTES / 8, MPI_DOUBLE, to, i, MPI_COMM_WORLD);
        else {
            MPI_Request now;
            MPI_Isend(out, BYTES, MPI_BYTE, to, i, MPI_COMM_WORLD, &now);
            MPI_Wait(&now, MPI_STATUS_IGNORE);
        }
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void all(void) { around(send_all); }
static void each(void) { around(send_each); }

/* Both send and expect windows at once. */
static void both(void)
{
    MPI_Request sends[WINDOW], receives[WINDOW];
    int partner = rank ^ 1;
    for (int lap = 0; lap < LAPS; lap++) {
        memset(out, 10 * lap + rank, BYTES);
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in, BYTES, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &receives[i]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(out, BYTES, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &sends[i]);
        MPI_Waitall(WINDOW, sends, MPI_STATUSES_IGNORE);
        MPI_Waitall(WINDOW, receives, MPI_STATUSES_IGNORE);
        CHECK(in[BYTES - 1] == 10 * lap + partner);
    }
    fits(1024 * (size * WINDOW / 4));
}

/* Memory that is freed and taken again, larger than what the C library keeps of its own accord. */
static void again(void)
{
    long faults = 0;
    for (int lap = 0; lap < 20; lap++) {
        char *blocks[10];
        FILE *stat = fopen("/proc/self/stat", "r");
        long now;
        CHECK(fscanf(stat, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %ld", &now) == 1);
        fclose(stat);
        if (lap == 1)
            faults = now;
        if (lap == 19)
            CHECK(now - faults < 2000);
        for (int i = 0; i < 10; i++)
            memset(blocks[i] = malloc(4000000), lap, 4000000);
        for (int i = 9; i >= 0; i--)
            free(blocks[i]);
    }
}

static const Case cases[] = { { "all", all }, { "each", each }, { "both", both }, { "again", again } };

int main(int argc, char **argv)
{
    out = malloc(BYTES);
    in = malloc(BYTES);
    return run_case(argc, argv, cases, (int)(sizeof cases / sizeof *cases));
}
