/*
 * Receives that are waited for together by a rank that does not want their statuses: they are completed while
 * it is blocked, as far as possible. Data, times and errors are as if it had wanted them.
 *
 *     unseen exchange|reused wanted|ignored
 *     unseen truncated|wrong
 */
#include "fails.h"

enum { KINDS = 6, ROUNDS = 20, ROOM = 40 };

/* Of message `kind` in a round: long ones, empty ones. */
static int length(int kind, int round) { return kind == 4 ? 0 : 1 + (kind * 7 + round * 5) % ROOM; }

/* Kinds: 0 and 4 as they are, 1 into every second place, 2 from every second place, 3 to any source, 5 waits
 * for its match. */
static void exchange(int wanted)
{
    static int in[KINDS][2 * ROOM], out[KINDS][2 * ROOM];
    MPI_Datatype every_second;
    MPI_Type_vector(ROOM, 1, 2, MPI_INT, &every_second);
    MPI_Type_create_resized(every_second, 0, 8, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Datatype alternate;
    MPI_Type_create_resized(MPI_INT, 0, 8, &alternate);
    MPI_Type_commit(&alternate);
    for (int round = 0; round < ROUNDS; round++) {
        int on_stack[ROOM], to = (rank + 1 + round) % size, from = (rank + size - (1 + round) % size) % size;
        MPI_Request requests[2 * KINDS + 2];
        MPI_Status statuses[2 * KINDS + 2];
        memset(in, 255, sizeof in);
        /* Early and late ranks, so that some messages are there before the wait. */
        if ((to + round) % 3 == 0)
            MPI_Send(NULL, 0, MPI_INT, to, 99, MPI_COMM_WORLD);
        if ((rank + round) % 3 == 0)
            MPI_Recv(NULL, 0, MPI_INT, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int kind = 0; kind < KINDS; kind++)
            if (kind == 1)
                MPI_Irecv(in[kind], ROOM, alternate, from, kind, MPI_COMM_WORLD, &requests[kind]);
            else
                MPI_Irecv(kind == 0 ? on_stack : in[kind], ROOM, MPI_INT, kind == 3 ? MPI_ANY_SOURCE : from,
                          kind + (kind == 3 ? 10 * round : 0), MPI_COMM_WORLD, &requests[kind]);
        MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[KINDS]);
        for (int kind = 0; kind < KINDS; kind++) {
            int count = length(kind, round), tag = kind + (kind == 3 ? 10 * round : 0);
            MPI_Request *request = &requests[KINDS + 1 + kind];
            for (int i = 0; i < count; i++)
                out[kind][kind == 2 ? 2 * i : i] = rank * 1000 + kind * 100 + i;
            if (kind == 2)
                MPI_Isend(out[kind], count, alternate, to, tag, MPI_COMM_WORLD, request);
            else if (kind == 5)
                MPI_Issend(out[kind], count, MPI_INT, to, tag, MPI_COMM_WORLD, request);
            else
                MPI_Isend(out[kind], count, MPI_INT, to, tag, MPI_COMM_WORLD, request);
        }
        requests[2 * KINDS + 1] = MPI_REQUEST_NULL;
        MPI_Waitall(2 * KINDS + 2, requests, wanted ? statuses : MPI_STATUSES_IGNORE);
        printf("round %d at %.12f\n", round, MPI_Wtime());
        for (int k = 0; k < 2 * KINDS + 2; k++)
            CHECK(requests[k] == MPI_REQUEST_NULL);
        for (int kind = 0; kind < KINDS; kind++)
            for (int i = 0; i < length(kind, round); i++) {
                int got = kind == 0 ? on_stack[i] : in[kind][kind == 1 ? 2 * i : i];
                CHECK(got == from * 1000 + kind * 100 + i);
            }
    }
    MPI_Type_free(&alternate);
    MPI_Type_free(&every_second);
}

/* The first and the last message are too long; all are through, and the error is told. */
static void truncated(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, in[3][2] = { { 0 } },
        out[2] = { rank, rank + 1 };
    MPI_Request requests[3];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int *far = calloc(2, sizeof(int));
    MPI_Irecv(in[0], 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(far, 2, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(in[2], 1, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Request go;
    MPI_Irecv(NULL, 0, MPI_INT, from, 3, MPI_COMM_WORLD, &go);
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, to, 3, MPI_COMM_WORLD);
    /* Rank 0 sends when all others have sent, so that rank 1 at least waits; the others' messages are there
     * before. */
    MPI_Wait(&go, MPI_STATUS_IGNORE);
    for (int tag = 0; tag < 3; tag++)
        MPI_Send(out, 2, MPI_INT, to, tag, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Send(NULL, 0, MPI_INT, to, 3, MPI_COMM_WORLD);
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 3; k++)
        CHECK(requests[k] == MPI_REQUEST_NULL);
    CHECK(far[0] == from && far[1] == from + 1);
    free(far);
}

/*
 * The room of a receive that was completed serves another rank's, while the first rank is still blocked: the
 * second's message, which has to be unpacked when that rank runs and comes later, stays its own.
 */
static void reused(int wanted)
{
    enum { FIRST = 0, SECOND = 1, SENDER = 2, MANY = 4, LONG = 1000 };
    static MPI_Status statuses[MANY];
    static int spread[2 * LONG];
    MPI_Request requests[MANY];
    MPI_Datatype every_second;
    int *far[MANY], whole[2] = { 1, 2 };
    for (int i = 0; i < LONG; i++)
        spread[2 * i] = i + 1;
    MPI_Type_vector(LONG, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int k = 0; k < MANY; k++)
        far[k] = calloc(LONG, sizeof(int));
    if (rank == FIRST) {
        for (int k = 0; k < MANY; k++)
            MPI_Irecv(far[k], 2, MPI_INT, SENDER, k, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(MANY, requests, wanted ? statuses : MPI_STATUSES_IGNORE);
    } else if (rank == SECOND) {
        MPI_Recv(NULL, 0, MPI_INT, SENDER, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < MANY; k++)
            MPI_Irecv(far[k], LONG, MPI_INT, SENDER, 10 + k, MPI_COMM_WORLD, &requests[k]);
        MPI_Send(NULL, 0, MPI_INT, SENDER, 21, MPI_COMM_WORLD);
        MPI_Waitall(MANY, requests, wanted ? statuses : MPI_STATUSES_IGNORE);
    } else if (rank == SENDER) {
        for (int k = 0; k < MANY - 1; k++)
            MPI_Send(whole, 2, MPI_INT, FIRST, k, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, SECOND, 20, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, SECOND, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < MANY - 1; k++)
            MPI_Send(spread, 1, every_second, SECOND, 10 + k, MPI_COMM_WORLD);
        MPI_Send(whole, 2, MPI_INT, FIRST, MANY - 1, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, FIRST, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(spread, 1, every_second, SECOND, 10 + MANY - 1, MPI_COMM_WORLD);
    }
    printf("at %.12f\n", MPI_Wtime());
    if (rank == FIRST)
        MPI_Send(NULL, 0, MPI_INT, SENDER, 22, MPI_COMM_WORLD);
    for (int k = 0; k < MANY; k++) {
        CHECK(rank > SECOND ||
              (far[k][0] == 1 && far[k][1] == 2 && (rank == FIRST || far[k][LONG - 1] == LONG)));
        CHECK(rank > SECOND || requests[k] == MPI_REQUEST_NULL);
        free(far[k]);
    }
    MPI_Type_free(&every_second);
}

/* A wait that is refused has not begun to wait for anything: the same requests can be waited for again. */
static void wrong(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, out = rank;
    int *in = calloc(3, sizeof(int));
    MPI_Request requests[4], stale;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(&in[0], 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &requests[0]);
    stale = requests[0];
    MPI_Send(&out, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int k = 0; k < 2; k++)
        MPI_Irecv(&in[k], 1, MPI_INT, from, k, MPI_COMM_WORLD, &requests[k]);
    requests[2] = requests[1];
    FAILS(MPI_ERR_REQUEST, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] == requests[2]);
    MPI_Irecv(&in[2], 1, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[2]);
    requests[3] = (MPI_Request)((char *)stale + 16 * 1000000L);
    FAILS(MPI_ERR_REQUEST, MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 3; k++)
        MPI_Send(&out, 1, MPI_INT, to, k, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; k++)
        CHECK(in[k] == from && requests[k] == MPI_REQUEST_NULL);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    int wanted = argc > 2 && strcmp(argv[2], "wanted") == 0;
    if (strcmp(what, "exchange") == 0)
        exchange(wanted);
    else if (strcmp(what, "truncated") == 0)
        truncated();
    else if (strcmp(what, "reused") == 0)
        reused(wanted);
    else if (strcmp(what, "wrong") == 0)
        wrong();
    else
        MPI_Abort(MPI_COMM_WORLD, 98);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
