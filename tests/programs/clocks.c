/* Prints when things happened on the rank's clock, in picoseconds, for comparison with the network's
 * formula. */
#include "check.h"
#include <unistd.h>

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }

/* One message of the given bytes from rank 0 to the last. */
static void message(int bytes)
{
    char *data = calloc(bytes + 1, 1);
    if (rank == 0)
        MPI_Send(data, bytes, MPI_CHAR, size - 1, 0, MPI_COMM_WORLD);
    if (rank == size - 1)
        MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 || rank == size - 1)
        printf("rank %d at %lld\n", rank, now());
    free(data);
}

/* Once round the ring. */
static void ring(void)
{
    int token = 0;
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d at %lld\n", rank, now());
}

/* A synchronous send comes back when the match's empty answer does. */
static void synchronous(void)
{
    if (rank == 0)
        MPI_Ssend(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("at %lld\n", now());
}

/* Everybody sends to rank 0 at time 0; in which order do the messages come? */
static void ties(void)
{
    MPI_Status status;
    if (rank > 0)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        printf("%d%c", status.MPI_SOURCE, i == size - 1 ? '\n' : ' ');
    }
}

/* The message that arrives first is received first, whoever ran first: rank r sends after (size - r)
 * seconds. */
static void arrivals(void)
{
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            int got;
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            printf("%d%c", status.MPI_SOURCE, i == size - 1 ? '\n' : ' ');
        }
    } else {
        sleep(size - rank);
        MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    }
}

/* A large message sent at 0 and a small one sent later, which would arrive earlier. */
static void overtaken(void)
{
    static char data[1000000];
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Send(data, 4, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 2; i++) {
            MPI_Recv(data, sizeof data, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            printf("tag %d at %lld\n", status.MPI_TAG, now());
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1);
    if (strcmp(argv[1], "message") == 0)
        message(atoi(argv[2]));
    else if (strcmp(argv[1], "ring") == 0)
        ring();
    else if (strcmp(argv[1], "synchronous") == 0)
        synchronous();
    else if (strcmp(argv[1], "ties") == 0)
        ties();
    else if (strcmp(argv[1], "arrivals") == 0)
        arrivals();
    else if (strcmp(argv[1], "overtaken") == 0)
        overtaken();
    else
        return 98;
    MPI_Finalize();
    return 0;
}
