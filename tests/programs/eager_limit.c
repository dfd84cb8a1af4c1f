/* Messages above an eager limit on shared networks: CASE BYTES LATE, where the receive is posted LATE
 * nanoseconds after the run's begin. Prints picoseconds. */
#include "check.h"
#include <time.h>

enum { MOST = 4000000 };
static char out[MOST], in[MOST];
static int bytes;
static long late;

static double now(void) { return MPI_Wtime() * 1e12; }

static void pause_for(long nanoseconds)
{
    struct timespec span = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    if (nanoseconds > 0)
        nanosleep(&span, NULL);
}

static void fill(int seed)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(i * 7 + seed);
}

static void check(int seed)
{
    for (int i = 0; i < bytes; i++)
        CHECK(in[i] == (char)(i * 7 + seed));
}

/* One message, alone. */
static void alone(void)
{
    if (rank == 0) {
        fill(1);
        MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        memset(out, 0, bytes);
        printf("sent %.0f\n", now());
    } else if (rank == 1) {
        pause_for(late);
        MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("received %.0f\n", now());
        check(1);
    }
}

/* Two messages leave rank 0: one for a receive that is posted late, one of a quarter of the bytes that is
 * awaited. */
static void beside(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(out, bytes, MPI_CHAR, 2, 0, MPI_COMM_WORLD, &request);
        MPI_Send(out, bytes / 4, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("sent %.0f\n", now());
    } else {
        if (rank == 2)
            pause_for(late);
        MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("received %d %.0f\n", rank, now());
    }
}

/* Every rank is a partner of the next: persistent and nonblocking sends, receives for any source, probes,
 * cancels, an intercommunicator. */
static void kinds(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, found, cancelled;
    MPI_Request requests[3], persistent, receive;
    MPI_Status status;
    MPI_Message message;
    MPI_Comm half, inter;
    fill(rank);
    MPI_Send_init(out, bytes, MPI_CHAR, next, 1, MPI_COMM_WORLD, &persistent);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&persistent);
        pause_for(rank * late % 5000);
        if (round == 0) {
            MPI_Recv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        } else if (round == 1) {
            MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            printf("%d probes %d of %d at %.0f\n", rank, status.MPI_SOURCE, size, now());
            MPI_Recv(in, bytes, MPI_CHAR, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
        } else {
            do
                MPI_Improbe(previous, 1, MPI_COMM_WORLD, &found, &message, &status);
            while (!found);
            printf("%d has its message at %.0f\n", rank, now());
            MPI_Mrecv(in, bytes, MPI_CHAR, &message, &status);
        }
        check(previous);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        printf("%d ends round %d at %.0f\n", rank, round, now());
    }
    MPI_Request_free(&persistent);

    /* Two messages for each rank at once, in the order of sending. */
    MPI_Isend(out, bytes, MPI_CHAR, next, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes / 2, MPI_CHAR, next, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, bytes, MPI_CHAR, previous, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &found);
    CHECK(found == bytes);
    MPI_Recv(in, bytes, MPI_CHAR, previous, 2, MPI_COMM_WORLD, &status);
    MPI_Irecv(in, bytes, MPI_CHAR, next, 3, MPI_COMM_WORLD, &receive);
    while (MPI_Test(&receive, &found, &status), !found)
        ;
    printf("%d tests at %.0f\n", rank, now());
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    printf("%d waits until %.0f\n", rank, now());

    /* A receive that is cancelled before its request to send arrives gives the message back. */
    MPI_Isend(out, bytes, MPI_CHAR, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, bytes, MPI_CHAR, previous, 4, MPI_COMM_WORLD, &receive);
    pause_for(rank % 3 * late);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, &status);
    MPI_Test_cancelled(&status, &cancelled);
    printf("%d cancels: %d at %.0f\n", rank, cancelled, now());
    if (cancelled)
        MPI_Recv(in, bytes, MPI_CHAR, previous, 4, MPI_COMM_WORLD, &status);
    check(previous);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    if (rank / 2 * 2 + 1 < size) {
        MPI_Sendrecv(out, bytes, MPI_CHAR, rank / 2, 5, in, bytes, MPI_CHAR, rank / 2, 5, inter, &status);
        check(rank ^ 1);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Allreduce(out, in, bytes, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
    printf("%d ends at %.0f\n", rank, now());
}

static const Case CASES[] = {{"alone", alone}, {"beside", beside}, {"kinds", kinds}};

int main(int argc, char **argv)
{
    bytes = argc > 2 ? atoi(argv[2]) : 0;
    late = argc > 3 ? atol(argv[3]) : 0;
    return bytes > MOST ? 97 : run_case(argc, argv, CASES, sizeof CASES / sizeof *CASES);
}
