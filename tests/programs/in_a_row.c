/* Sends and receives that are started one right after the other, of all sizes and kinds: what arrives, and in
 * which order. */
#include "check.h"

enum { MANY = 150, LONGEST = 3000 };

/* The variable changes as soon as each send has returned. */
static void one_variable(void)
{
    for (int bytes = 0; bytes <= 24; bytes += 4) {
        unsigned char value[24], got[24];
        for (int i = 0; i < MANY; i++) {
            memset(value, i + rank, sizeof value);
            MPI_Send(value, bytes, MPI_BYTE, (rank + i) % size, 1, MPI_COMM_WORLD);
            memset(value, 255, sizeof value);
        }
        for (int i = 0; i < MANY; i++) {
            int from = (rank + (size - 1) * (i % size)) % size;
            MPI_Recv(got, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int b = 0; b < bytes; b++)
                CHECK(got[b] == (unsigned char)(i + from));
        }
    }
}

/* Message i of a sender goes i places to the right and is i-th of its tag; its length and kind vary. */
static int length(int i)
{
    return i % 7 == 0 ? 0 : i * i * 37 % LONGEST;
}

static void fill(unsigned char *data, int from, int i)
{
    for (int b = 0; b < length(i); b++)
        data[b] = (unsigned char)(from * 31 + i * 7 + b);
}

static void mixed(int receives_first)
{
    unsigned char *out = malloc(MANY * LONGEST), *in = calloc(MANY, LONGEST), *spread = calloc(2, LONGEST);
    MPI_Request requests[2 * MANY];
    MPI_Datatype every_second;
    MPI_Type_vector(length(5), 1, 2, MPI_BYTE, &every_second);
    MPI_Type_commit(&every_second);
    int room = MANY * (LONGEST + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t)room);
    MPI_Buffer_attach(attached, room);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < MANY; i++) {
            if ((half == 0) == receives_first) {
                int from = (rank + (size - 1) * (i % size)) % size;
                MPI_Irecv(in + i * LONGEST, LONGEST, MPI_BYTE, i % 11 == 3 ? MPI_ANY_SOURCE : from, 2 + i,
                          MPI_COMM_WORLD, &requests[i]);
                continue;
            }
            unsigned char *data = out + i * LONGEST;
            MPI_Request *request = &requests[MANY + i];
            int to = (rank + i) % size;
            fill(data, rank, i);
            if (i == 5) {
                for (int b = 0; b < length(i); b++)
                    spread[2 * b] = data[b];
                MPI_Isend(spread, 1, every_second, to, 2 + i, MPI_COMM_WORLD, request);
            } else if (i % 13 == 2)
                MPI_Issend(data, length(i), MPI_BYTE, to, 2 + i, MPI_COMM_WORLD, request);
            else if (i % 13 == 8)
                MPI_Ibsend(data, length(i), MPI_BYTE, to, 2 + i, MPI_COMM_WORLD, request);
            else
                MPI_Isend(data, length(i), MPI_BYTE, to, 2 + i, MPI_COMM_WORLD, request);
        }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        fill(out, (rank + (size - 1) * (i % size)) % size, i);
        CHECK(memcmp(in + i * LONGEST, out, (size_t)length(i)) == 0);
    }
    MPI_Buffer_detach(&attached, &room);
    MPI_Type_free(&every_second);
    free(attached);
    free(out);
    free(in);
    free(spread);
}

/* Messages of one tag between two ranks keep their order, however each was sent. */
static void in_order(void)
{
    static int data[MANY][200];
    int got[200], to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        data[i][0] = i;
        requests[i] = MPI_REQUEST_NULL;
        if (i % 5 == 0)
            MPI_Send(data[i], 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        else if (i % 5 == 1)
            MPI_Issend(data[i], 1 + i, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[i]);
        else if (i % 5 == 2)
            MPI_Send(data[i], 200, MPI_INT, to, 0, MPI_COMM_WORLD);
        else
            MPI_Isend(data[i], 1 + i, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Recv(got, 200, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == i);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

/* A send whose message was probed and taken out, or whose request was freed or looked at, before it is
 * received. */
static void looked_at(void)
{
    static int data[3][1000], got[1000];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag;
    MPI_Request requests[3];
    MPI_Message message;
    MPI_Status status;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 1000; k++)
            data[i][k] = rank + i + k;
        MPI_Isend(data[i], 1000, MPI_INT, to, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Request_get_status(requests[1], &flag, &status);
    MPI_Cancel(&requests[1]);
    MPI_Request_free(&requests[2]);
    MPI_Mprobe(from, 0, MPI_COMM_WORLD, &message, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    memset(data[0], 255, sizeof data[0]);
    MPI_Mrecv(got, 1000, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(got[0] == from && got[999] == from + 999);
    for (int i = 1; i < 3; i++) {
        MPI_Recv(got, 1000, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == from + i && got[999] == from + i + 999);
    }
    MPI_Wait(&requests[1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && requests[1] == MPI_REQUEST_NULL);
}

/* What a rank started is done although it only reads the clock and then ends. */
static void then_nothing(void)
{
    int value = 7;
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD);
        CHECK(MPI_Wtime() >= 0);
    }
    if (rank == size - 1)
        for (int i = 0; i < 2; i++)
            MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == 7);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    one_variable();
    mixed(1);
    mixed(0);
    in_order();
    looked_at();
    then_nothing();
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
