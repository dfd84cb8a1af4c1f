/* Partitioned communication: what comes where, and when. */
#include "check.h"
#include <xsim.h>

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }
static int next(void) { return (rank + 1) % size; }
static int before(void) { return (rank + size - 1) % size; }

/* To the next rank in `mine` partitions, from the one before in `theirs`, `rounds` times; every partition of
 * a receive is waited for by itself. */
static void exchange(int mine, int theirs, int rounds)
{
    enum { ALL = 24 };
    static int out[ALL], in[ALL];
    MPI_Request requests[2];
    MPI_Psend_init(out, mine, ALL / mine, MPI_INT, next(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, theirs, ALL / theirs, MPI_INT, before(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < rounds; round++) {
        int flag = 0;
        MPI_Parrived(requests[1], 0, &flag);
        CHECK(flag); /* Not active: nothing is missing. */
        for (int i = 0; i < ALL; i++) in[i] = -1;
        MPI_Startall(2, requests);
        /* The last first. */
        for (int p = mine - 1; p >= 0; p--) {
            for (int i = p * (ALL / mine); i < (p + 1) * (ALL / mine); i++)
                out[i] = 1000 * rank + 100 * round + i;
            MPI_Pready(p, requests[0]);
        }
        for (int p = 0; p < theirs; p++) {
            do MPI_Parrived(requests[1], p, &flag); while (!flag);
            for (int i = p * (ALL / theirs); i < (p + 1) * (ALL / theirs); i++)
                CHECK(in[i] == 1000 * before() + 100 * round + i);
            MPI_Parrived(requests[1], p, &flag);
            CHECK(flag);
        }
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        int count;
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        CHECK(statuses[1].MPI_SOURCE == before() && statuses[1].MPI_TAG == 5 && count == ALL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

static void partitions(void)
{
    int counts[] = {1, 2, 3, 4, 8, 24};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) exchange(counts[i], counts[k], 3);
}

static void ranges_and_lists(void)
{
    char out[10], in[10];
    for (int i = 0; i < 10; i++) out[i] = 'a' + rank + i;
    MPI_Request requests[2];
    MPI_Psend_init(out, 10, 1, MPI_CHAR, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 1, 10, MPI_CHAR, before(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(2, 5, requests[0]);
    MPI_Pready_list(5, (int[]){9, 0, 7, 1, 8}, requests[0]);
    MPI_Pready_list(0, NULL, requests[0]);
    MPI_Pready_range(6, 6, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 10; i++) CHECK(in[i] == 'a' + before() + i);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Columns of a matrix on one side, triples with gaps on the other: elements are cut by the partitions. */
static void datatypes(void)
{
    MPI_Datatype column, resized, triple;
    int out[6][6], in[48];
    MPI_Type_vector(6, 1, 6, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_indexed(2, (int[]){1, 2}, (int[]){0, 2}, MPI_INT, &triple);
    MPI_Type_commit(&resized);
    MPI_Type_commit(&triple);
    for (int i = 0; i < 36; i++) out[i / 6][i % 6] = 100 * rank + i;
    for (int i = 0; i < 48; i++) in[i] = -1;
    MPI_Request requests[2];
    MPI_Psend_init(out, 3, 2, resized, next(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 3, triple, before(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    /* The requests keep what they need. */
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    MPI_Type_free(&triple);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 2, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 36; i++) {
        int place = i / 3 * 4 + (int[]){0, 2, 3}[i % 3];
        CHECK(in[place] == 100 * before() + i % 6 * 6 + i / 6);
        CHECK(in[i / 3 * 4 + 1] == -1);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Several with the same envelope are matched in the order of their initialization, whichever is started
 * first; other messages do not meet them. */
static void order(void)
{
    int out[3], in[3], plain = -1, more = 40 + rank;
    MPI_Request sends[3], receives[3];
    for (int i = 0; i < 3; i++) {
        out[i] = 10 * rank + i;
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, next(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, before(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
    }
    for (int i = 2; i >= 0; i--) {
        MPI_Start(&sends[i]);
        MPI_Pready(0, sends[i]);
    }
    MPI_Sendrecv(&more, 1, MPI_INT, next(), 7, &plain, 1, MPI_INT, before(), 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(plain == 40 + before());
    MPI_Startall(3, receives);
    MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++) {
        CHECK(in[i] == 10 * before() + i);
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
}

/* A sender three operations ahead of its receiver; globals, the stack and the heap. */
static int global[4];
static void ahead(void)
{
    int stack[4], *heap = malloc(sizeof stack), *buffers[] = {global, stack, heap};
    for (int b = 0; b < 3; b++) {
        MPI_Request send, receive;
        int out[4];
        MPI_Psend_init(out, 4, 1, MPI_INT, next(), b, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
        MPI_Precv_init(buffers[b], 2, 2, MPI_INT, before(), b, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
        for (int round = 0; round < 3; round++) {
            MPI_Start(&send);
            for (int i = 0; i < 4; i++) out[i] = 100 * rank + 10 * round + i;
            MPI_Pready_range(0, 3, send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        }
        for (int round = 0; round < 3; round++) {
            MPI_Start(&receive);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            for (int i = 0; i < 4; i++) CHECK(buffers[b][i] == 100 * before() + 10 * round + i);
        }
        MPI_Request_free(&send);
        MPI_Request_free(&receive);
    }
    free(heap);
}

/* Nobody on the other side; nothing to send; a partner in MPI_COMM_SELF and in an intercommunicator. */
static void partners(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int flag, value = 3, got = 0;
    MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&got, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Parrived(requests[1], 0, &flag);
    CHECK(flag);
    MPI_Wait(&requests[1], &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && got == 0);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Pready(0, requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    for (int none = 0; none < 2; none++) {
        MPI_Psend_init(NULL, none ? 0 : 3, 0, MPI_INT, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]);
        MPI_Precv_init(NULL, 2, 0, MPI_INT, before(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        if (!none) MPI_Pready_range(0, 2, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    value = rank;
    MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&got, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(got == rank);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (size < 2) return;
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
    int mine, remote, all = -1;
    MPI_Comm_rank(half, &mine);
    MPI_Comm_remote_size(both, &remote);
    if (mine < remote) {
        value = rank;
        MPI_Psend_init(&value, 1, 1, MPI_INT, mine, 0, both, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(&all, 1, 1, MPI_INT, mine, 0, both, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready(0, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(all == 2 * mine + 1 - rank % 2);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&both);
}

/* Rank 0 sends 3000 bytes to rank 1 in 3 partitions of 1000, the last 5 us after the others; rank 1 sees them
 * as 2 partitions of 1500. */
static void times(void)
{
    static char bytes[3000];
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Psend_init(bytes, 3, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 1) MPI_Precv_init(bytes, 2, 1500, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    long long start = now();
    if (rank == 0) {
        MPI_Start(&request);
        MPI_Pready_range(0, 1, request);
        xsim_compute(5e-6);
        MPI_Pready(2, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("sent %lld\n", now() - start);
    } else if (rank == 1) {
        int flag;
        MPI_Start(&request);
        for (int p = 0; p < 2; p++) {
            do {
                MPI_Parrived(request, p, &flag);
                if (!flag) xsim_compute(1e-7);
            } while (!flag);
            printf("arrived %d %lld\n", p, now() - start);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("received %lld\n", now() - start);
    }
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

static const Case cases[] = {
    {"partitions", partitions}, {"ranges_and_lists", ranges_and_lists},
    {"datatypes", datatypes},   {"order", order},
    {"ahead", ahead},           {"partners", partners},
    {"times", times},
};
RUN_CASES(cases)
