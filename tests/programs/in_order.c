/*
 * Messages at random times to random ranks, received from any source between the sends.
 *
 *     in_order SEED ROUNDS double|made
 *
 * What a rank receives must have been sent in the order of time, and at one time in the order of ranks: all
 * messages are equal, and the network takes equally long between any two ranks. In which order the simulator
 * runs the ranks may not show. `made` sends the same bytes as a type of the program's own. Each rank prints
 * when it ends.
 */
#include "check.h"

enum { WINDOW = 8 };

static unsigned long long seed;

/* A number below `below`, the same on all ranks. */
static unsigned draw(int what, int round, int who, unsigned below)
{
    unsigned long long x = seed * 1000003 + (unsigned)what;
    x = (x ^ (unsigned)round) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29 ^ (unsigned)who) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 32) * 0x94d049bb133111ebull;
    return (unsigned)(x >> 40) % below;
}

enum { TO, PAUSE, RECEIVED, HOW };

static double last = -1;
static int last_source;

static void came(double sent, int source)
{
    CHECK(sent > last || (sent == last && source >= last_source));
    last = sent;
    last_source = source;
}

static void receive(int count, int at_once, MPI_Datatype type)
{
    double sent[WINDOW];
    MPI_Status statuses[WINDOW];
    MPI_Request requests[WINDOW];
    while (count > 0) {
        int some = at_once ? (count < WINDOW ? count : WINDOW) : 1;
        if (at_once) {
            for (int i = 0; i < some; i++)
                MPI_Irecv(&sent[i], 1, type, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);
            MPI_Waitall(some, requests, statuses);
        } else {
            MPI_Recv(sent, 1, type, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, statuses);
        }
        for (int i = 0; i < some; i++)
            came(sent[i], statuses[i].MPI_SOURCE);
        count -= some;
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 3);
    seed = strtoull(argv[1], NULL, 10);
    int rounds = atoi(argv[2]), sent_to_me = 0, received = 0;
    MPI_Datatype type = MPI_DOUBLE;
    if (strcmp(argv[3], "made") == 0) {
        MPI_Type_contiguous(2, MPI_FLOAT, &type);
        MPI_Type_commit(&type);
    }
    static char pause[4096];
    for (int round = 0; round < rounds; round++) {
        /* What was sent to this rank in earlier rounds is on its way whatever the ranks wait for. */
        int some = (int)draw(RECEIVED, round, rank, (unsigned)(sent_to_me - received) + 1);
        receive(some, draw(HOW, round, rank, 2) == 0, type);
        received += some;
        MPI_Sendrecv_replace(pause, (int)draw(PAUSE, round, rank, sizeof pause), MPI_BYTE, rank, 1, rank, 1,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int to = (int)draw(TO, round, rank, (unsigned)size);
        double now = MPI_Wtime();
        if (to != rank)
            MPI_Send(&now, 1, type, to, 0, MPI_COMM_WORLD);
        for (int sender = 0; sender < size; sender++)
            sent_to_me += sender != rank && (int)draw(TO, round, sender, (unsigned)size) == rank;
    }
    receive(sent_to_me - received, 0, type);
    printf("%d received %d, ends at %.12f\n", rank, sent_to_me, MPI_Wtime());
    if (type != MPI_DOUBLE)
        MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
