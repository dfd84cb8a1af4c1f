/* Point-to-point communication as MPI 4.1 chapter 3 has it; every case holds under any MPI. */
#include "check.h"
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

enum { LARGE = 1 << 18 };

/* A large message that is still under way is not overtaken by a small one sent after it. */
static void overtaking(void)
{
    int *large = calloc(LARGE, sizeof *large), small = 7;
    if (rank == 0) {
        MPI_Request request;
        large[LARGE - 1] = 42;
        MPI_Isend(large, LARGE, MPI_INT, 1, 5, WORLD, &request);
        MPI_Send(&small, 1, MPI_INT, 1, 6, WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(large, LARGE, MPI_INT, 1, 5, WORLD, &request);
        MPI_Send(&small, 1, MPI_INT, 1, 5, WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int wild = 0; wild < 2; wild++) {
            MPI_Status status;
            int count, source = wild ? MPI_ANY_SOURCE : 0;
            large[LARGE - 1] = 0;
            MPI_Recv(large, LARGE, MPI_INT, source, wild ? 5 : MPI_ANY_TAG, WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == LARGE && status.MPI_TAG == 5 && large[LARGE - 1] == 42);
            MPI_Recv(large, LARGE, MPI_INT, source, MPI_ANY_TAG, WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == 1 && large[0] == 7 && status.MPI_TAG == (wild ? 5 : 6));
            large[0] = 0;
        }
    }
    free(large);
}

/* A wildcard posted before a named receive takes the first message. */
static void wildcard_first(void)
{
    if (rank == 0) {
        int wild = 0, named = 0;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(&wild, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, &requests[0]);
        MPI_Irecv(&named, 1, MPI_INT, 1, 0, WORLD, &requests[1]);
        MPI_Barrier(WORLD);
        MPI_Waitall(2, requests, statuses);
        CHECK(wild == 1 && statuses[0].MPI_SOURCE == 1);
        CHECK(named == 2 && statuses[1].MPI_SOURCE == 1);
    } else {
        MPI_Barrier(WORLD);
        for (int i = 1; rank == 1 && i <= 2; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 0, WORLD);
    }
}

/* A named receive waits for its own source while others' messages are there. */
static void named_among_others(void)
{
    if (rank == 0) {
        for (int source = size - 1; source > 0; source--)
            for (int i = 0; i < 3; i++) {
                int got;
                MPI_Recv(&got, 1, MPI_INT, source, 0, WORLD, MPI_STATUS_IGNORE);
                CHECK(got == source * 10 + i);
            }
    } else {
        for (int i = 0; i < 3; i++) {
            int sent = rank * 10 + i;
            MPI_Send(&sent, 1, MPI_INT, 0, 0, WORLD);
        }
    }
}

static void to_oneself(void)
{
    int sent[3] = { 1, 2, 3 }, got[3] = { 0, 0, 0 };
    MPI_Request requests[3];
    MPI_Status status;
    for (int i = 0; i < 3; i++)
        MPI_Isend(&sent[i], 1, MPI_INT, rank, i, WORLD, &requests[i]);
    for (int i = 2; i >= 0; i--)
        MPI_Recv(&got[i], 1, MPI_INT, i ? rank : MPI_ANY_SOURCE, i, WORLD, &status);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(status.MPI_SOURCE == rank && got[0] == 1 && got[1] == 2 && got[2] == 3);
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 9, &got[0], 1, MPI_INT, 0, 9, MPI_COMM_SELF, &status);
    CHECK(got[0] == rank && status.MPI_SOURCE == 0 && status.MPI_TAG == 9);
}

static void exchange(int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm))
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1;
    if (rank % 2 == 0) {
        MPI_Barrier(WORLD);
        send(&rank, 1, MPI_INT, next, 3, WORLD);
        MPI_Recv(&got, 1, MPI_INT, previous, 3, WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, previous, 3, WORLD, &request);
        MPI_Barrier(WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, next, 3, WORLD);
    }
    CHECK(got == previous);
}

static void modes(void)
{
    char *buffer = malloc(1 << 16), *back;
    int bytes;
    exchange(MPI_Send);
    exchange(MPI_Ssend);
    MPI_Buffer_attach(buffer, 1 << 16);
    exchange(MPI_Bsend);
    MPI_Buffer_detach(&back, &bytes);
    CHECK(back == buffer && bytes == 1 << 16);
    free(buffer);
    if (size % 2 == 0)
        exchange(MPI_Rsend); /* every receive of an even rank's message is posted before the barrier */

    int got, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Irecv(&got, 1, MPI_INT, previous, 4, WORLD, &requests[0]);
    MPI_Issend(&rank, 1, MPI_INT, next, 4, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(got == previous && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

/* A synchronous send is not complete before its receive has started. */
static void synchronous(void)
{
    if (rank == 0) {
        int flag, got;
        MPI_Request request;
        MPI_Issend(&rank, 1, MPI_INT, 1, 0, WORLD, &request);
        for (int i = 0; i < 100; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Send(&rank, 1, MPI_INT, 1, 1, WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, 1, 2, WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Ssend(&rank, 1, MPI_INT, 0, 2, WORLD);
    }
}

static void persistent(void)
{
    int out, in, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Recv_init(&in, 1, MPI_INT, previous, 0, WORLD, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, next, 0, WORLD, &requests[1]);
    for (int i = 0; i < 5; i++) {
        out = rank * 100 + i;
        in = -1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == previous * 100 + i && requests[0] != MPI_REQUEST_NULL);
    }
    int flag;
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); /* inactive: at once, and empty */
    CHECK(flag);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void probing(void)
{
    if (rank == 0) {
        for (int from = 1; from < size; from++) {
            MPI_Status status;
            int count, values[64];
            MPI_Probe(MPI_ANY_SOURCE, 0, WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == status.MPI_SOURCE % 64);
            MPI_Recv(values, count, MPI_INT, status.MPI_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
        }
        for (int from = 1; from < size; from++) {
            MPI_Status status;
            MPI_Message message;
            int flag = 0, got;
            if (from % 2)
                MPI_Mprobe(MPI_ANY_SOURCE, 1, WORLD, &message, &status);
            else
                while (!flag)
                    MPI_Improbe(MPI_ANY_SOURCE, 1, WORLD, &flag, &message, &status);
            MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            CHECK(got == status.MPI_SOURCE && message == MPI_MESSAGE_NULL);
        }
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    } else {
        int values[64] = { 0 };
        MPI_Send(values, rank % 64, MPI_INT, 0, 0, WORLD);
        MPI_Send(&rank, 1, MPI_INT, 0, 1, WORLD);
    }
}

static void completion(void)
{
    enum { COUNT = 8 };
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    int values[COUNT], indices[COUNT], index, flag, done;
    int previous = (rank + size - 1) % size, next = (rank + 1) % size;

    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, previous, i, WORLD, &requests[i]);
    for (int i = 0; i < COUNT; i++)
        MPI_Send(&i, 1, MPI_INT, next, i, WORLD);
    int seen = 0;
    for (int i = 0; i < 3; i++) {
        MPI_Status status;
        MPI_Waitany(COUNT, requests, &index, &status);
        CHECK(index != MPI_UNDEFINED && values[index] == index && status.MPI_TAG == index);
        CHECK(requests[index] == MPI_REQUEST_NULL);
        seen++;
    }
    while (seen < COUNT) {
        MPI_Waitsome(COUNT, requests, &done, indices, statuses);
        CHECK(done > 0 && done <= COUNT - seen);
        for (int i = 0; i < done; i++)
            CHECK(values[indices[i]] == indices[i] && statuses[i].MPI_TAG == indices[i]);
        seen += done;
    }
    MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    MPI_Waitsome(COUNT, requests, &done, indices, MPI_STATUSES_IGNORE);
    CHECK(done == MPI_UNDEFINED);
    MPI_Testany(COUNT, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    MPI_Testsome(COUNT, requests, &done, indices, MPI_STATUSES_IGNORE);
    CHECK(done == MPI_UNDEFINED);

    /* Nothing is complete before it is sent; then testing alone completes everything. */
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, previous, i, WORLD, &requests[i]);
    MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Barrier(WORLD);
    for (int i = COUNT - 1; i >= 0; i--)
        MPI_Send(&i, 1, MPI_INT, next, i, WORLD);
    for (seen = 0; seen < COUNT / 2;) {
        MPI_Testany(COUNT, requests, &index, &flag, MPI_STATUS_IGNORE);
        seen += flag;
    }
    do
        MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == i && requests[i] == MPI_REQUEST_NULL);
}

static void cancelling(void)
{
    int value = 0, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(WORLD);
    /* The cancelled receive must not take a later message. */
    MPI_Irecv(&value, 1, MPI_INT, rank, 77, WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, rank, 77, WORLD);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && value == rank);
}

/* A message that arrives after the cancelling is there for another receive, though its sender was ahead,
 * before one sent later. */
static void cancelled_in_time(void)
{
    int first = -1, second = -1, go = 0, flag;
    char text[40] = "", again[40] = "";
    MPI_Request requests[2];
    MPI_Status status;
    if (rank == 0) {
        MPI_Irecv(&first, 1, MPI_INT, 1, 3, WORLD, &requests[0]);
        MPI_Irecv(text, sizeof text, MPI_CHAR, 1, 5, WORLD, &requests[1]);
        MPI_Recv(&go, 1, MPI_INT, 1, 4, WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], &status);
            MPI_Test_cancelled(&status, &flag);
            CHECK(flag);
        }
        MPI_Recv(&first, 1, MPI_INT, 1, 3, WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&second, 1, MPI_INT, 1, MPI_ANY_TAG, WORLD, &status);
        CHECK(go == 1 && first == 11 && second == 12 && status.MPI_TAG == 3);
        MPI_Recv(again, sizeof again, MPI_CHAR, 1, 5, WORLD, &status);
        CHECK(strcmp(again, "longer than what fits in a node") == 0);
    } else if (rank == 1) {
        int values[3] = { 1, 11, 12 };
        MPI_Send(&values[0], 1, MPI_INT, 0, 4, WORLD);
        usleep(1000);
        MPI_Send(&values[1], 1, MPI_INT, 0, 3, WORLD);
        MPI_Send(&values[2], 1, MPI_INT, 0, 3, WORLD);
        MPI_Send("longer than what fits in a node", 32, MPI_CHAR, 0, 5, WORLD);
    }
}

/* A receive for any source keeps nothing from one behind it that it does not accept. */
static void named_behind_any(void)
{
    int any = -1, named = -1;
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, 5, WORLD, &requests[0]);
        MPI_Irecv(&named, 1, MPI_INT, 1, MPI_ANY_TAG, WORLD, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Send(&named, 1, MPI_INT, 1, 9, WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(named == 7 && any == 8);
    } else if (rank == 1) {
        int value = 7;
        MPI_Send(&value, 1, MPI_INT, 0, 7, WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, 9, WORLD, MPI_STATUS_IGNORE);
        value++;
        MPI_Send(&value, 1, MPI_INT, 0, 5, WORLD);
    }
}

static void nowhere(void)
{
    int value = 5, count;
    MPI_Status status;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(value == 5 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Probe(MPI_PROC_NULL, 0, WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Wait(&request, &status); /* a null request: at once, and empty */
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

static void truncation(void)
{
    int values[4] = { 1, 2, 3, 4 }, got[4] = { 0, 0, 0, 0 }, class;
    MPI_Status status;
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Request request;
    MPI_Isend(values, 4, MPI_INT, rank, 0, WORLD, &request);
    int code = MPI_Recv(got, 2, MPI_INT, rank, 0, WORLD, &status);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE && got[2] == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    CHECK(length > 0 && (int)strlen(text) == length);
}

static void replacing(void)
{
    int value = rank;
    for (int i = 0; i < size; i++)
        MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, i, (rank + size - 1) % size, i, WORLD,
                             MPI_STATUS_IGNORE);
    CHECK(value == rank);
}

static void counting(void)
{
    char bytes[10] = { 0 };
    MPI_Status status;
    int count;
    MPI_Sendrecv(bytes, 10, MPI_CHAR, rank, 0, bytes, 10, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == 10);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, MPI_SHORT, &count);
    CHECK(count == 5);
}

static void tags_backwards(void)
{
    enum { COUNT = 300 };
    int partner = rank ^ 1, got;
    if (partner >= size)
        return;
    for (int i = 0; i < COUNT; i++) {
        int value = rank * COUNT + i;
        MPI_Send(&value, 1, MPI_INT, partner, i, WORLD);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        MPI_Recv(&got, 1, MPI_INT, partner, i, WORLD, MPI_STATUS_IGNORE);
        CHECK(got == partner * COUNT + i);
    }
}

/* Many messages of all sizes between all, received by wildcards: each source's come in its order. */
static void crowd(void)
{
    enum { EACH = 40, MAX_LENGTH = 3000 };
    int *next = calloc(size, sizeof *next), *payload = malloc(MAX_LENGTH * sizeof *payload);
    MPI_Request *sends = malloc((size_t)size * EACH * sizeof *sends);
    int *bodies = malloc((size_t)size * EACH * MAX_LENGTH * sizeof *bodies), sent = 0;
    for (int i = 0; i < EACH; i++)
        for (int to = 0; to < size; to++) {
            int *body = bodies + (size_t)sent * MAX_LENGTH;
            int length = 1 + (rank * 131 + to * 17 + i * 977) % (MAX_LENGTH - 1);
            body[0] = i;
            body[length - 1] = length == 1 ? i : rank;
            MPI_Isend(body, length, MPI_INT, to, i % 3, WORLD, &sends[sent++]);
        }
    for (int i = 0; i < EACH * size; i++) {
        MPI_Status status;
        int length;
        MPI_Recv(payload, MAX_LENGTH, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        int from = status.MPI_SOURCE, expected = next[from]++;
        MPI_Get_count(&status, MPI_INT, &length);
        CHECK(payload[0] == expected && status.MPI_TAG == expected % 3);
        CHECK(length == 1 + (from * 131 + rank * 17 + expected * 977) % (MAX_LENGTH - 1));
        CHECK(payload[length - 1] == (length == 1 ? expected : from));
    }
    MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
    free(next);
    free(payload);
    free(sends);
    free(bodies);
}

/* A program that works only if sends do not wait for receives: small messages are eager. */
static void head_to_head(void)
{
    int partner = rank ^ 1, got;
    if (partner >= size)
        return;
    MPI_Send(&rank, 1, MPI_INT, partner, 0, WORLD);
    MPI_Recv(&got, 1, MPI_INT, partner, 0, WORLD, MPI_STATUS_IGNORE);
    CHECK(got == partner);
}

/* The sender may change its buffer as soon as the send returns, the stack of a finished function included. */
static void send_from_stack(int value)
{
    int local[16];
    for (int i = 0; i < 16; i++)
        local[i] = value + i;
    MPI_Send(local, 16, MPI_INT, (rank + 1) % size, 0, WORLD);
    memset(local, 0, sizeof local);
}

static void buffers_reused(void)
{
    int got[16], from = (rank + size - 1) % size, *heap = malloc(LARGE * sizeof *heap),
                 *in = malloc(LARGE * sizeof *in);
    if (size > 1) {
        for (int round = 0; round < 10; round++)
            send_from_stack(rank * 1000 + round);
        for (int round = 0; round < 10; round++) {
            MPI_Recv(got, 16, MPI_INT, from, 0, WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 16; i++)
                CHECK(got[i] == from * 1000 + round + i);
        }
    }
    MPI_Request request;
    MPI_Irecv(in, LARGE, MPI_INT, from, 1, WORLD, &request);
    for (int i = 0; i < LARGE; i++)
        heap[i] = rank + i;
    MPI_Send(heap, LARGE, MPI_INT, (rank + 1) % size, 1, WORLD);
    memset(heap, 0, LARGE * sizeof *heap);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < LARGE; i++)
        CHECK(in[i] == from + i);
    free(heap);
    free(in);
}

static const Case cases[] = {
    { "overtaking", overtaking },     { "wildcard_first", wildcard_first },
    { "named_among_others", named_among_others }, { "to_oneself", to_oneself },
    { "modes", modes },               { "synchronous", synchronous },
    { "persistent", persistent },     { "probing", probing },
    { "completion", completion },     { "cancelling", cancelling },
    { "cancelled_in_time", cancelled_in_time }, { "named_behind_any", named_behind_any },
    { "nowhere", nowhere },           { "truncation", truncation },
    { "replacing", replacing },       { "counting", counting },
    { "tags_backwards", tags_backwards }, { "crowd", crowd },
    { "head_to_head", head_to_head }, { "buffers_reused", buffers_reused },
};

RUN_CASES(cases)
