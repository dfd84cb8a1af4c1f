/* What the others can do when ranks fail (-xsim-ft): tests/failures.rs says who fails and when. */
#include <signal.h>
#include "survives.h"

/* Rank 1 fails: what it has sent comes, and nothing else; sends are lost until it is known, and refused
 * then. */
static void messages(void)
{
    int value = 7, more[8] = {0};
    MPI_Request request;
    returns(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        fails();
    }
    if (rank == 0) {
        value = 0;
        say("first", MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == 7);
        say("lost", MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        say("second", MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        say("third", MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        say("send", MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        say("isend", MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request));
        say("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);
        say("sendrecv", MPI_Sendrecv(&value, 1, MPI_INT, 2, 5, more, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE));
    }
    if (rank == 2) {
        say("ssend", MPI_Ssend(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD));
        say("alive", MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        say("probe", MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* One of several requests is of the failed rank 1. */
static void several(void)
{
    int got[3], value = rank;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
        say("waitall", MPI_Waitall(3, requests, statuses));
        for (int i = 0; i < 3; i++)
            say("status", statuses[i].MPI_ERROR);
        CHECK(got[1] == 2 && got[2] == 3);
        MPI_Irecv(&got[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
        int index = -1;
        say("waitany", MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0 || requests[0] == MPI_REQUEST_NULL);
        say("wait", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
    if (rank > 1)
        for (int i = 0; i < 2; i++) {
            xsim_compute(20e-6);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
}

/* Receives for any source go on once the failure is acknowledged. */
static void wildcard(void)
{
    int value = 0, flag;
    MPI_Request request;
    MPI_Group failed;
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    if (rank == 0) {
        say("recv", MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
        say("pending", MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request != MPI_REQUEST_NULL);
        say("iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        MPIX_Comm_failure_ack(MPI_COMM_WORLD);
        MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
        int members, one = 0, world;
        MPI_Group all;
        MPI_Group_size(failed, &members);
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_translate_ranks(failed, 1, &one, all, &world);
        CHECK(members == 1 && world == 1);
        MPI_Send(NULL, 0, MPI_INT, 2, 0, MPI_COMM_WORLD);
        say("resumed", MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL && value == 2);
    }
    if (rank == 2) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* Rank r enters a collective at r * 4 us; rank 1 never does. */
static void collectives(void)
{
    int in = 1, out = 0;
    MPI_Request request;
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    xsim_compute(rank * 4e-6);
    say("barrier", MPI_Barrier(MPI_COMM_WORLD));
    say("again", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say("dup", MPI_Comm_dup(MPI_COMM_WORLD, &(MPI_Comm){MPI_COMM_NULL}));
    int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    say("ibarrier", code);
}

/* A nonblocking collective is under way when rank 1 fails, and one among the others ends as ever. */
static void nonblocking(void)
{
    int in = 1, out = 0;
    MPI_Comm others;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &others);
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Allreduce(MPI_IN_PLACE, &in, 1, MPI_INT, MPI_SUM, others);
    CHECK(in == size - 1);
    say("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm_free(&others);
}

/* Rank 0 revokes what its half of the ranks has begun: they leave and free the communicator, while others
 * that are not told yet enter and need what the first half has to do. */
static void freed(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    returns(comm);
    returns(MPI_COMM_WORLD);
    if (rank >= size / 2)
        until(53e-6);
    int code = MPI_Ibarrier(comm, &request);
    if (rank == 0) {
        until(50e-6);
        MPIX_Comm_revoke(comm);
    }
    say("ibarrier", code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

/* Rank 0 revokes while others wait in different ways. */
static void revoke(void)
{
    int value, flag;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    returns(comm);
    double begin = xsim_time();
    MPIX_Comm_is_revoked(comm, &flag);
    CHECK(!flag);
    if (rank == 0) {
        xsim_compute(begin + 20e-6 - xsim_time());
        say("revoke", MPIX_Comm_revoke(comm));
        say("send", MPI_Send(&value, 1, MPI_INT, 1, 0, comm));
    } else if (rank == 1) {
        say("recv", MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    } else if (rank == 2) {
        say("ssend", MPI_Ssend(&value, 1, MPI_INT, 3, 0, comm));
    } else {
        say("barrier", MPI_Barrier(comm));
    }
    MPIX_Comm_is_revoked(comm, &flag);
    CHECK(flag);
    say("after", MPI_Barrier(comm));
    say("irecv", MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &(MPI_Request){MPI_REQUEST_NULL}));
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

/* What is over when a rank is told that the communicator is revoked is over, and nothing else, though others
 * have run ahead of that. */
static void in_time(void)
{
    int got[3] = {-1, -1, -1}, value = 5;
    MPI_Comm comm;
    MPI_Request requests[3];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    returns(comm);
    returns(MPI_COMM_WORLD);
    if (rank == 0) {
        until(50e-6);
        MPIX_Comm_revoke(comm);
    }
    if (rank == 1) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, 2, i, comm, &requests[i]);
        for (int i = 0; i < 3; i++)
            say("receive", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK(got[0] == 5 && got[1] == 5 && got[2] == -1);
    }
    if (rank == 2) {
        until(46e-6);
        MPI_Issend(&value, 1, MPI_INT, 1, 0, comm, &requests[0]);
        until(49e-6);
        MPI_Issend(&value, 1, MPI_INT, 1, 1, comm, &requests[1]);
        until(51e-6);
        MPI_Issend(&value, 1, MPI_INT, 1, 2, comm, &requests[2]);
        for (int i = 0; i < 3; i++)
            say("send", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
    if (rank == 3) {
        /* Posted and begun by a rank that has been told and has not looked. */
        until(55e-6);
        MPI_Irecv(&got[0], 1, MPI_INT, 2, 0, comm, &requests[0]);
        MPI_Issend(&value, 1, MPI_INT, 2, 0, comm, &requests[1]);
        until(57e-6);
        say("late receive", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        say("late send", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

/* A receive of a rank that has failed when the message comes is none, though it was posted before, and by a
 * rank that waits. */
static void too_late(void)
{
    int value = 5;
    returns(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(!"a rank that has failed goes on");
    }
    if (rank == 0) {
        until(47e-6);
        say("in time", MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        say("too late", MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    }
}

/* Rank 1 fails with one of two partitions to rank 0 ready, and all of those to rank 2; then a communicator is
 * revoked in which rank 2 receives. */
static void partitions(void)
{
    int value[2] = {7, 8}, flag = 0;
    MPI_Comm comm;
    MPI_Request request;
    returns(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    returns(comm);
    if (rank == 1) {
        MPI_Request other;
        MPI_Psend_init(value, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Psend_init(value, 2, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &other);
        MPI_Start(&request);
        MPI_Start(&other);
        MPI_Pready(0, request);
        MPI_Pready_range(0, 1, other);
        fails();
    }
    if (rank == 0 || rank == 2) {
        value[0] = value[1] = 0;
        MPI_Precv_init(value, 2, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        until(30e-6);
        MPI_Parrived(request, 0, &flag);
        CHECK(flag && value[0] == 7);
        say("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request != MPI_REQUEST_NULL && (rank == 0 || value[1] == 8));
        MPI_Start(&request);
        say("again", MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Start(&request);
        until(60e-6);
        say("arrived", MPI_Parrived(request, 1, &flag));
        say("waitall", MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
        CHECK(request != MPI_REQUEST_NULL && MPI_Request_free(&request) == MPI_SUCCESS);
    }
    if (rank == 0) {
        until(80e-6);
        MPIX_Comm_revoke(comm);
    }
    if (rank == 2) {
        MPI_Precv_init(value, 2, 1, MPI_INT, 3, 0, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        say("revoked", MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Request_free(&request);
    }
}

/* Rank 1 fails with the lock of rank 2's memory, without the post that rank 3 and without the complete that
 * rank 2 waits for; who is left goes on with other windows. */
static void windows(void)
{
    enum { COUNT = 3 };
    MPI_Win win[COUNT], next;
    MPI_Group all, one;
    MPI_Comm shrunk;
    MPI_Request request;
    int *memory[COUNT], *more, value = rank + 1, got = -1, members, me;
    returns(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &win[i]);
        MPI_Win_set_errhandler(win[i], MPI_ERRORS_RETURN);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &(int){1}, &one);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win[0]);
        MPI_Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win[0]);
        fails();
    }
    until(90e-6);
    if (rank == 0) {
        say("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win[0]));
    } else if (rank == 2) {
        MPI_Win_post(one, 0, win[1]);
        say("wait", MPI_Win_wait(win[1]));
    } else if (rank == 3) {
        say("start", MPI_Win_start(one, 0, win[1]));
    } else {
        MPI_Win_lock_all(0, win[0]);
        MPI_Rget(&got, 1, MPI_INT, 2, 0, 1, MPI_INT, win[0], &request);
        say("rget", MPI_Wait(&request, MPI_STATUS_IGNORE));
        say("flush", MPI_Win_flush(2, win[0]));
        say("unlock", MPI_Win_unlock_all(win[0]));
        CHECK(got == -1 && request == MPI_REQUEST_NULL);
    }
    say("fence", MPI_Win_fence(0, win[2]));
    for (int i = 0; i < COUNT; i++) {
        CHECK(MPI_Win_free(&win[i]) == MPI_SUCCESS && win[i] == MPI_WIN_NULL);
        *memory[i] = 1;
    }
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    MPI_Comm_size(shrunk, &members);
    MPI_Comm_rank(shrunk, &me);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, shrunk, &more, &next);
    MPI_Win_fence(0, next);
    MPI_Put(&value, 1, MPI_INT, (me + 1) % members, 0, 1, MPI_INT, next);
    MPI_Win_fence(0, next);
    CHECK(*more == (me > 0 ? (me == 1 ? 1 : rank) : size));
    CHECK(MPI_Win_free(&next) == MPI_SUCCESS);
}

/* Rank 1 fails, and the others are in a fence, or free a window, when they get to know. */
static void fences(void)
{
    MPI_Win win[2];
    int memory[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        MPI_Win_create(&memory[i], sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win[i]);
        MPI_Win_set_errhandler(win[i], MPI_ERRORS_RETURN);
    }
    MPI_Win_fence(0, win[0]);
    if (rank == 1)
        fails();
    MPI_Put(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, win[0]);
    if (rank == 0)
        say("free", MPI_Win_free(&win[1]));
    say("fence", MPI_Win_fence(0, win[0]));
    if (rank != 0)
        say("free", MPI_Win_free(&win[1]));
    say("free", MPI_Win_free(&win[0]));
}

/* Agreement: the bits that all have, whoever fails; it fails until all have acknowledged that. */
static void agree(void)
{
    int flag = ~(1 << rank), sum, one = 1, members;
    MPI_Request request;
    MPI_Comm shrunk;
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    xsim_compute(rank * 1e-6);
    say("agree", MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    for (int r = 0; r < size; r++)
        CHECK((flag >> r & 1) == (r == 1));
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &members);
    CHECK(members == 1);
    flag = rank + 8;
    say("iagree", MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &request));
    say("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(flag == 8);
    say("shrink", MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk));
    MPI_Comm_size(shrunk, &members);
    CHECK(members == size - 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk);
    CHECK(sum == members);
    flag = 3;
    CHECK(MPIX_Comm_agree(shrunk, &flag) == MPI_SUCCESS && flag == 3);
    MPI_Comm_free(&shrunk);
}

/* The last rank leaves without MPI_Finalize, or by itself: to the others it has failed. */
static void leaves(void)
{
    returns(MPI_COMM_WORLD);
    if (rank == size - 1) {
        xsim_compute(3e-6);
        exit(3);
    }
    say("barrier", MPI_Barrier(MPI_COMM_WORLD));
}
static void by_itself(void)
{
    returns(MPI_COMM_WORLD);
    if (rank == size - 1) {
        xsim_compute(3e-6);
        xsim_fail();
    }
    say("barrier", MPI_Barrier(MPI_COMM_WORLD));
}

static void killed(void)
{
    returns(MPI_COMM_WORLD);
    if (rank == size - 1) {
        xsim_compute(3e-6);
        raise(SIGKILL);
    }
    say("barrier", MPI_Barrier(MPI_COMM_WORLD));
}

/* Who has not asked for errors ends the run. */
static void fatal(void)
{
    if (rank == 1)
        fails();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Who waits for a failure by asking over and over. */
static void asks(void)
{
    int failed = 0, flag = 0, calls = 0;
    MPI_Group group;
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    while (!failed) {
        MPIX_Comm_get_failed(MPI_COMM_WORLD, &group);
        MPI_Group_size(group, &failed);
        MPI_Group_free(&group);
        calls++;
    }
    CHECK(xsim_time() >= 15e-6 && calls > 1);
    (void)flag;
}

/* Each has a receive for any source that the failure of rank 1 has ended. Rank 0 acknowledges, 2 cancels, 3
 * lets go of its request. What rank 0 acknowledges resumes no receive of the others. */
static void wildcards(void)
{
    MPI_Request request;
    MPI_Status status;
    int got = -1, cancelled = 0, known;
    returns(MPI_COMM_WORLD);
    if (rank == 1)
        fails();
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    say("wait", MPI_Wait(&request, &status));
    if (rank == 0) {
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &known);
        say("resumed", MPI_Wait(&request, &status));
        CHECK(got == 3 && status.MPI_SOURCE == 3);
    } else if (rank == 2) {
        until(40e-6);
        MPI_Cancel(&request);
        say("cancelled", MPI_Wait(&request, &status));
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled && got == -1);
        MPI_Recv(&got, 1, MPI_INT, 3, 1, MPI_COMM_WORLD, &status);
        CHECK(got == 3);
    } else {
        MPI_Request_free(&request);
        until(60e-6);
        for (int to = 0; to < 3; to += 2)
            CHECK(MPI_Send(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* Steps that are begun again with those that are left, whoever fails. */
static void recover(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, next;
    int members, failures = 0;
    returns(comm);
    for (int step = 0; step < 50; step++) {
        int sum = 0, one = 1, good;
        xsim_compute(10e-6);
        int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        good = code == MPI_SUCCESS;
        if (!good)
            MPIX_Comm_revoke(comm);
        MPIX_Comm_agree(comm, &good);
        MPI_Comm_size(comm, &members);
        if (good) {
            CHECK(code == MPI_SUCCESS && sum == members);
            continue;
        }
        CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
        returns(next);
        comm = next;
        failures++;
        step--;
    }
    MPI_Comm_size(comm, &members);
    int me;
    MPI_Comm_rank(comm, &me);
    if (me == 0)
        printf("%d of %d left after %d recoveries at %.0f ns\n", members, size, failures, xsim_time() * 1e9);
}

static const Case cases[] = {{"messages", messages},
                             {"several", several},
                             {"wildcard", wildcard},
                             {"wildcards", wildcards},
                             {"collectives", collectives},
                             {"nonblocking", nonblocking},
                             {"revoke", revoke},
                             {"agree", agree},
                             {"leaves", leaves},
                             {"by_itself", by_itself},
                             {"killed", killed},
                             {"fatal", fatal},
                             {"asks", asks},
                             {"recover", recover},
                             {"freed", freed},
                             {"in_time", in_time},
                             {"too_late", too_late},
                             {"partitions", partitions},
                             {"windows", windows},
                             {"fences", fences}};
RUN_CASES(cases)
