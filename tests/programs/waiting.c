/* Wait states with times known in advance: ranks compute for a while before they call. A message is meant to
   take 2 us (star:l=1us), and nothing else any time. */
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

/* Rank 0 receives first what rank 2 sends at 30 us, then what rank 1 has sent at 10 us, then what rank 3
 * sends at 50 us. */
static void wrong_order(void)
{
    static const int from[3] = {2, 1, 3};
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Recv(NULL, 0, MPI_INT, from[i], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank < 4) {
        compute_us(rank == 1 ? 10 : rank == 2 ? 30 : 50);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* Rank 0 receives with tag 1 what rank 1 sends at 20 us, and then with tag 0 what it has sent at 5 us. */
static void wrong_tags(void)
{
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        compute_us(5);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        compute_us(15);
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

/* Each rank computes for 10 us when the one before it has: of two ranks each computes for half the time even
 * if messages take none. */
static void chain(void)
{
    if (rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute_us(10);
    if (rank < size - 1)
        MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
}

/* Two ranks send each other 3 MB. */
static void exchange(void)
{
    static char sent[3000000], got[3000000];
    MPI_Sendrecv(sent, 3000000, MPI_CHAR, 1 - rank, 0, got, 3000000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Rank 0 computes for 50 us before it sends; rank 1 hands on what it gets 5 us later; rank 2 waits for that
 * since 10 us. */
static void handed_on(void)
{
    if (rank == 0) {
        compute_us(50);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute_us(5);
        MPI_Ssend(NULL, 0, MPI_INT, 2, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        compute_us(10);
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The last rank computes for 50 us, and each sends at once to the one before it. */
static void relay(void)
{
    if (rank == size - 1)
        compute_us(50);
    else
        MPI_Recv(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0)
        MPI_Send(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
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

/* What ranks do to a window of eight integers on each of them, which all have at one instant. */
static void with_window(void (*use)(MPI_Win win, MPI_Group world))
{
    int *memory;
    MPI_Win win;
    MPI_Group world;
    MPI_Win_allocate(8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Barrier(MPI_COMM_WORLD);
    use(win, world);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
}

static void put(MPI_Win win, int target)
{
    static int value;
    value = rank;
    MPI_Put(&value, 1, MPI_INT, target, rank % 8, 1, MPI_INT, win);
}

/* An access epoch of rank 0 to ranks 1 and 2, which expose their memory after `post` us of them; rank 0
 * completes `complete` us after it has started. */
static void epoch(MPI_Win win, MPI_Group world, const int post[3], int complete)
{
    static const int origin[1] = {0}, targets[2] = {1, 2};
    MPI_Group group;
    if (rank == 0) {
        MPI_Group_incl(world, 2, targets, &group);
        MPI_Win_start(group, 0, win);
        put(win, 1);
        put(win, 2);
        compute_us(complete);
        MPI_Win_complete(win);
        MPI_Group_free(&group);
    } else if (rank < 3) {
        MPI_Group_incl(world, 1, origin, &group);
        compute_us(post[rank]);
        MPI_Win_post(group, 0, win);
        MPI_Win_wait(win);
        MPI_Group_free(&group);
    }
}

/* Rank 0 starts at once; rank 1 posts after 10 us and rank 2 after 35. */
static void post_late(MPI_Win win, MPI_Group world)
{
    static const int post[3] = {0, 10, 35};
    epoch(win, world, post, 0);
}

/* Both post at once: rank 0, which knows at 2 us, completes at 42 us. */
static void wait_early(MPI_Win win, MPI_Group world)
{
    static const int post[3] = {0, 0, 0};
    epoch(win, world, post, 40);
}

/* Rank r enters the second fence after 10 r us. */
static void fence_late(MPI_Win win, MPI_Group world)
{
    (void)world;
    MPI_Win_fence(0, win);
    put(win, (rank + 1) % size);
    compute_us(10 * rank);
    MPI_Win_fence(0, win);
}

/* Rank 1 has the lock of rank 0's memory first and keeps it for 30 us after it has been granted at 4 us; rank
 * 2 asks for it at 1 us. */
static void lock_held(MPI_Win win, MPI_Group world)
{
    (void)world;
    if (rank == 1 || rank == 2) {
        compute_us(rank == 1 ? 0 : 1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        put(win, 0);
        compute_us(rank == 1 ? 30 : 0);
        MPI_Win_unlock(0, win);
    }
}

/* The same where rank 2 takes the lock with its first access and waits for that. */
static void lock_all_held(MPI_Win win, MPI_Group world)
{
    (void)world;
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        compute_us(30);
        MPI_Win_unlock(0, win);
    } else if (rank == 2) {
        compute_us(1);
        MPI_Win_lock_all(0, win);
        put(win, 0);
        MPI_Win_unlock_all(win);
    }
}

static void late_post(void) { with_window(post_late); }
static void early_wait(void) { with_window(wait_early); }
static void fence(void) { with_window(fence_late); }
static void lock(void) { with_window(lock_held); }
static void lock_all(void) { with_window(lock_all_held); }

/* Windows one after the other, the second of which has the place of the first. */
static void locks(void)
{
    lock();
    lock_all();
}

/* Rank 0 sends 1,492 bytes, which are 1,500 with a header of 8, and both wait until 50 us are over. */
static void long_before(void)
{
    static char bytes[1492];
    if (rank == 0) {
        MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        compute_us(50);
    } else if (rank == 1) {
        MPI_Recv(bytes, sizeof bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* One collective each, which all enter at once. */
static int many[1000], more[1000];
static void allreduce_at_once(void) { MPI_Allreduce(many, more, 24, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void bcast_at_once(void) { MPI_Bcast(many, 24, MPI_INT, size - 1, MPI_COMM_WORLD); }
static void alltoall_at_once(void) { MPI_Alltoall(many, 5, MPI_INT, more, 5, MPI_INT, MPI_COMM_WORLD); }
static void reduce_scatter_at_once(void)
{ MPI_Reduce_scatter_block(many, more, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void barrier_at_once(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Among all and among halves, of two sizes, waited for and not, of blocks that differ. */
static void kinds(void)
{
    int counts[16], begins[16];
    MPI_Comm half;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int turn = 0; turn < 6; turn++)
        MPI_Allreduce(many, more, turn < 4 ? 4 : 7, MPI_INT, MPI_SUM, turn < 5 ? MPI_COMM_WORLD : half);
    MPI_Iallreduce(many, more, 100, MPI_INT, MPI_SUM, half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        counts[i] = 1, begins[i] = i;
    MPI_Alltoallv(many, counts, begins, MPI_INT, more, counts, begins, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_free(&half);
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
        wrong_order();
        late_post();
        early_wait();
        fence();
        lock();
        lock_all();
        compute_us((rank * 7 + turn * 3) % 11);
        MPI_Allreduce(large, result, 3000, MPI_INT, op, half);
        MPI_Gather(large, 10, MPI_INT, rank == 1 ? result : NULL, 10, MPI_INT, 1, MPI_COMM_WORLD);
        int number;
        MPI_Comm_rank(half, &number);
        MPI_Scatter(number == 0 ? large : NULL, 5, MPI_INT, result, 5, MPI_INT, 0, half);
        MPI_Sendrecv(large, 2000, MPI_INT, (rank + 1) % size, 7, result, 2000, MPI_INT, MPI_ANY_SOURCE, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    static const Case cases[] = {{"late_sender", late_sender},
                                 {"late_senders", late_senders},
                                 {"under_way", under_way},
                                 {"chain", chain},
                                 {"exchange", exchange},
                                 {"handed_on", handed_on},
                                 {"relay", relay},
                                 {"late_receiver", late_receiver},
                                 {"rendezvous", rendezvous},
                                 {"barrier", barrier},
                                 {"allreduce", allreduce},
                                 {"reduce", reduce},
                                 {"bcast", bcast},
                                 {"wrong_order", wrong_order},
                                 {"wrong_tags", wrong_tags},
                                 {"late_post", late_post},
                                 {"early_wait", early_wait},
                                 {"fence", fence},
                                 {"lock", lock},
                                 {"lock_all", lock_all},
                                 {"locks", locks},
                                 {"all", all},
                                 {"long_before", long_before},
                                 {"allreduce_at_once", allreduce_at_once},
                                 {"bcast_at_once", bcast_at_once},
                                 {"alltoall_at_once", alltoall_at_once},
                                 {"reduce_scatter_at_once", reduce_scatter_at_once},
                                 {"barrier_at_once", barrier_at_once},
                                 {"kinds", kinds}};
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
