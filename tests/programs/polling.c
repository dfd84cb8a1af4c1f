/* Ranks that ask again and again: how often, when they learn, and what they do in between. */
#include "check.h"
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

static const MPI_Aint second = 1000000000;

static MPI_Aint now(void)
{
    return (MPI_Aint)(MPI_Wtime() * 1e9 + 0.5);
}

/* Rank 0 asks six questions in turn; the others answer one each, at whole seconds. */
static void any_of_several(void)
{
    enum { KINDS = 6 };
    int values[2 * KINDS], out[2] = { 1, 2 };
    if (rank > 0 && rank <= KINDS) {
        sleep((unsigned)((rank + 2) % KINDS + 1)); /* not in the order in which rank 0 asks */
        MPI_Send(&out[0], 1, MPI_INT, 0, rank, WORLD);
        MPI_Send(&out[1], 1, MPI_INT, 0, 10 + rank, WORLD);
    }
    if (rank != 0)
        return;
    MPI_Request one, all[2], any[2], some[2], status;
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 1, WORLD, &one);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&values[2 + i], 1, MPI_INT, 2, 2 + 10 * i, WORLD, &all[i]);
        MPI_Irecv(&values[4 + i], 1, MPI_INT, 3, 3 + 10 * i, WORLD, &any[i]);
        MPI_Irecv(&values[6 + i], 1, MPI_INT, MPI_ANY_SOURCE, 4 + 10 * i, WORLD, &some[i]);
    }
    MPI_Irecv(&values[8], 1, MPI_INT, 5, 5, WORLD, &status);
    int seen[KINDS] = { 0 }, left = KINDS, polls = 0, index, count, indices[2];
    while (left > 0) {
        for (int kind = 0; kind < KINDS; kind++) {
            int flag = 0;
            if (seen[kind])
                continue;
            switch (kind) {
            case 0: MPI_Test(&one, &flag, MPI_STATUS_IGNORE); break;
            case 1: MPI_Testall(2, all, &flag, MPI_STATUSES_IGNORE); break;
            case 2: MPI_Testany(2, any, &index, &flag, MPI_STATUS_IGNORE); break;
            case 3: MPI_Testsome(2, some, &count, indices, MPI_STATUSES_IGNORE); flag = count > 0; break;
            case 4: MPI_Request_get_status(status, &flag, MPI_STATUS_IGNORE); break;
            case 5: MPI_Iprobe(6, MPI_ANY_TAG, WORLD, &flag, MPI_STATUS_IGNORE); break;
            }
            polls++;
            if (flag) {
                MPI_Aint due = ((kind + 3) % KINDS + 1) * second;
                CHECK(now() >= due && now() < due + second / 1000);
                seen[kind] = 1;
                left--;
            }
        }
    }
    CHECK(polls < KINDS * 500);
    MPI_Wait(&status, MPI_STATUS_IGNORE);
    while (any[0] != MPI_REQUEST_NULL || any[1] != MPI_REQUEST_NULL)
        MPI_Waitany(2, any, &index, MPI_STATUS_IGNORE);
    MPI_Waitall(2, some, MPI_STATUSES_IGNORE);
    MPI_Recv(&values[9], 1, MPI_INT, 6, 6, WORLD, MPI_STATUS_IGNORE);
    for (int from = 1; from <= KINDS; from++)
        if (from == 1 || from == 5 || from == 6)
            MPI_Recv(&values[10], 1, MPI_INT, from, 10 + from, WORLD, MPI_STATUS_IGNORE);
}

/* A message under way for a second costs few polls, whatever asks for it. */
static void few(void)
{
    int value = 0, flag = 0, polls = 0;
    MPI_Message message;
    if (rank % 2 == 1) {
        sleep(1);
        for (int tag = 0; tag < 3; tag++)
            MPI_Send(&rank, 1, MPI_INT, rank - 1, tag, WORLD);
    } else if (rank + 1 < size) {
        for (; !flag; polls++)
            MPI_Iprobe(rank + 1, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(polls < 200 && now() >= second && now() < second + second / 1000);
        MPI_Recv(&value, 1, MPI_INT, rank + 1, 0, WORLD, MPI_STATUS_IGNORE);
        for (flag = 0; !flag; polls++)
            MPI_Improbe(MPI_ANY_SOURCE, 1, WORLD, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, WORLD, &request);
        for (flag = 0; !flag; polls++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(value == rank + 1 && polls < 400);
    }
}

/* What rank 1 waits for is sent between two polls in vain, after many of them. */
static void work_between(void)
{
    int flag = 0, value = 0, polls = 0;
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 1, WORLD);
    } else if (rank == 0 && size > 1) {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 1, 1, WORLD, &request);
        for (; !flag; polls++) {
            if (polls == 5000)
                MPI_Send(&polls, 1, MPI_INT, 1, 0, WORLD);
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        CHECK(value == 5000 && polls > 5000 && polls < 6100);
    }
}

/* Rank 0 gives up after 5 ms, by the clock, though there is a message after a second. */
static void time_out(void)
{
    int value, flag = 0;
    if (rank == 1) {
        sleep(1);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, WORLD);
    } else if (rank == 0 && size > 1) {
        MPI_Aint limit = 5000000;
        while (!flag && now() < limit)
            MPI_Iprobe(1, 0, WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag && now() >= limit && now() < limit + 100000);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
    }
}

/* With 100 ns between two calls a wait of 100 ms is a million of them. */
static void each_is_charged(void)
{
    int value, flag = 0, polls = 0;
    if (rank == 1) {
        usleep(100000);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, WORLD);
    } else if (rank == 0 && size > 1) {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 1, 0, WORLD, &request);
        MPI_Aint begun = now();
        for (; !flag; polls++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Aint passed = now() - begun;
        CHECK(polls > 900000 && passed >= 100 * (MPI_Aint)polls && passed <= 100 * ((MPI_Aint)polls + 2));
    }
}

/* Nobody sends. */
static void for_ever(void)
{
    int flag = 0, index;
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&flag, 1, MPI_INT, MPI_ANY_SOURCE, i, WORLD, &requests[i]);
    while (!flag) {
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            MPI_Iprobe(0, 7, WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* Messages of all kinds among all, found by polls of all kinds: each rank says how many were in vain, what it
 * got and when. */
static void mixed(void)
{
    enum { ROUNDS = 6 };
    unsigned state = 12345u + 7919u * (unsigned)rank;
    long vain = 0, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int out = rank * 10 + round, in[2] = { 0, 0 }, done[4] = { 0 }, flag, index, count, indices[2];
        int ahead = (rank + 1 + round % 3) % size, behind = (rank + size - (1 + round % 3) % size) % size;
        MPI_Request receives[2], sends[2];
        MPI_Message message;
        MPI_Status status;
        state = state * 1103515245u + 12345u;
        if (state >> 16 & 1)
            usleep(state >> 20 & 7);
        MPI_Irecv(&in[0], 1, MPI_INT, round % 2 ? MPI_ANY_SOURCE : behind, 2 * round, WORLD, &receives[0]);
        MPI_Issend(&out, 1, MPI_INT, ahead, 2 * round, WORLD, &sends[0]);
        MPI_Isend(&out, 1, MPI_INT, ahead, 2 * round + 1, WORLD, &sends[1]);
        while (!(done[0] && done[1] && done[2])) {
            for (int kind = 0; kind < 3; kind++) {
                if (done[kind])
                    continue;
                flag = 0;
                if (kind == 0 && round % 3 == 0)
                    MPI_Testsome(1, receives, &count, indices, &status), flag = count > 0;
                else if (kind == 0)
                    MPI_Testany(1, receives, &index, &flag, &status);
                else if (kind == 1)
                    MPI_Testall(2, sends, &flag, MPI_STATUSES_IGNORE);
                else
                    MPI_Improbe(round % 2 ? behind : MPI_ANY_SOURCE, 2 * round + 1, WORLD, &flag, &message,
                                &status);
                vain += !flag;
                done[kind] = flag;
                if (flag && kind == 2)
                    MPI_Mrecv(&in[1], 1, MPI_INT, &message, &status);
            }
        }
        CHECK(in[1] == behind * 10 + round);
        sum = sum * 31 + in[0] + in[1] * 7;
    }
    printf("rank %d: %ld in vain, %ld, at %.0f ns\n", rank, vain, sum, MPI_Wtime() * 1e9);
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        { "any_of_several", any_of_several },
        { "few", few },
        { "work_between", work_between },
        { "time_out", time_out },
        { "each_is_charged", each_is_charged },
        { "for_ever", for_ever },
        { "mixed", mixed },
    };
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
