/* Wait states with times known in advance: ranks compute for a while before they call. A message is meant to take 2 us (star:l=1us),
   and nothing else any time. */
#include "check.h"
#include "xsim.h"

static void compute_us(double us) { xsim_compute(us * 1e-6); }

/* Rank 1 receives at once what rank 0 sends after 50 us. */
static void late_sender(void)
{
    if (rank == 0) {
        compute_us(50);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 waits from 5 us on for what rank 1 sends at 10 us and rank 2 at 30 us, and any other at once. */
static void late_senders(void)
{
    if (rank == 0) {
        MPI_Request requests[16];
        for (int from = 1; from < size; from++)
            MPI_Irecv(NULL, 0, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[from - 1]);
        compute_us(5);
        MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
    } else {
        compute_us(rank == 1 ? 10 : rank == 2 ? 30 : 0);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* Each rank computes for 10 us when the one before it has: of two ranks each computes for half the time even if messages take none. */
static void chain(void)
{
    if (rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute_us(10);
    if (rank < size - 1)
        MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
}

/* The message was sent long before the receive is posted, but 1.5 us before that it was not. */
static void under_way(void)
{
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        compute_us(0.5);
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 sends at once what rank 1 receives after 40 us: the acknowledgement is there at 42 us. */
static void late_receiver(void)
{
    if (rank == 0) {
        MPI_Ssend(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        compute_us(40);
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The same of a standard send above the eager limit: its payload leaves at 42 us. */
static void rendezvous(void)
{
    static int data[1000];
    if (rank == 0) {
        MPI_Send(data, 1000, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        compute_us(40);
        MPI_Recv(data, 1000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Each of them is entered by rank r after 10 r us: the last one of four ranks at 30 us. */
static void barrier(void)
{
    compute_us(10 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    int value = rank, sum;
    compute_us(10 * rank);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
}

static void reduce(void)
{
    int value = rank, sum;
    compute_us(10 * rank);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* The root is rank 1, after 25 us. */
static void bcast(void)
{
    int value = rank;
    if (rank == 1)
        compute_us(25);
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    CHECK(value == 1);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Everything, several times and in communicators, with calls that go different ways inside. */
static void all(void)
{
    MPI_Comm half;
    MPI_Op op;
    int large[3000] = {0}, result[3000];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Op_create(add, 1, &op);
    for (int turn = 0; turn < 5; turn++) {
        late_sender();
        late_senders();
        late_receiver();
        barrier();
        allreduce();
        reduce();
        bcast();
        compute_us((rank * 7 + turn * 3) % 11);
        MPI_Allreduce(large, result, 3000, MPI_INT, op, half);
        MPI_Gather(large, 10, MPI_INT, rank == 1 ? result : NULL, 10, MPI_INT, 1, MPI_COMM_WORLD);
        int number;
        MPI_Comm_rank(half, &number);
        MPI_Scatter(number == 0 ? large : NULL, 5, MPI_INT, result, 5, MPI_INT, 0, half);
        MPI_Sendrecv(large, 2000, MPI_INT, (rank + 1) % size, 7, result, 2000, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    static const Case cases[] = {{"late_sender", late_sender}, {"late_senders", late_senders}, {"under_way", under_way}, {"chain", chain},
                                 {"late_receiver", late_receiver}, {"rendezvous", rendezvous}, {"barrier", barrier}, {"allreduce", allreduce},
                                 {"reduce", reduce}, {"bcast", bcast}, {"all", all}};
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
