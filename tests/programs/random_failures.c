/* Random programs whose ranks fail while the others go on (-xsim-ft): steps of messages and collectives,
 * after each of which all agree whether it went well and those that are left go on by themselves if not. Each
 * rank that is left prints a hash of what its calls gave and when.
 *
 *     random_failures SEED STEPS [KINDS [FILE [LOG]]]
 *
 * KINDS: which kinds of steps, a bit each (default 31, 1023 are all); FILE: how names of files begin (kind
 * 128); with LOG each call is printed */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xsim.h>

#if !OMPI_HAVE_MPI_EXT_FTMPI
#error "programs made for Open MPI take this for a library without ULFM"
#endif

static uint64_t common, own, hash = 14695981039346656037u;
static int rank, verbose, broken;
static const char *name;
static MPI_Comm comm;

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % below);
}
/* The same on all ranks, and each its own. */
static unsigned shared(unsigned below) { return draw(&common, below); }
static unsigned mine(unsigned below) { return draw(&own, below); }

static void note(uint64_t word)
{
    hash = (hash ^ word) * 1099511628211u;
}
/* A call has ended: with what, and when. */
static int ended(const char *what, int code)
{
    int class;
    uint64_t now = (uint64_t)(xsim_time() * 1e12 + 0.5);
    MPI_Error_class(code, &class);
    note(class);
    note(now);
    if (verbose)
        printf("%d %s %d at %.6f us\n", rank, what, class, now * 1e-6);
    broken |= class != MPI_SUCCESS;
    return class;
}
static void compute(void) { xsim_compute(mine(9) * 1.3e-6); }

/* Each with a partner, in ways that one draws for all. */
static void pairs(int me, int size)
{
    int way = shared(4), offset = 1 + shared(size - 1), to = (me + offset) % size,
        from = (me + size - offset) % size, in = -1;
    MPI_Request requests[2];
    if (way == 0) {
        ended("sendrecv",
              MPI_Sendrecv(&me, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE));
    } else if (way == 1) {
        ended("send", MPI_Send(&me, 1, MPI_INT, to, 2, comm));
        compute();
        ended("recv", MPI_Recv(&in, 1, MPI_INT, from, 2, comm, MPI_STATUS_IGNORE));
    } else {
        requests[0] = requests[1] = MPI_REQUEST_NULL;
        ended("irecv", MPI_Irecv(&in, 1, MPI_INT, from, 3, comm, &requests[0]));
        if (way == 2)
            ended("isend", MPI_Isend(&me, 1, MPI_INT, to, 3, comm, &requests[1]));
        else
            ended("issend", MPI_Issend(&me, 1, MPI_INT, to, 3, comm, &requests[1]));
        compute();
        for (int i = 0; i < 2; i++)
            ended("wait", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    }
    note(in);
}

/* All send to one, which does not ask from whom. */
static void incast(int me, int size)
{
    int root = shared(size), ways = shared(3), in = -1;
    if (me != root) {
        ended("send", ways == 2 ? MPI_Ssend(&me, 1, MPI_INT, root, 4, comm)
                                : MPI_Send(&me, 1, MPI_INT, root, 4, comm));
        return;
    }
    for (int i = 1; i < size && !broken; i++) {
        MPI_Status status;
        if (ways == 1) {
            if (ended("probe", MPI_Probe(MPI_ANY_SOURCE, 4, comm, &status)) != MPI_SUCCESS)
                break;
            ended("recv", MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, 4, comm, &status));
        } else {
            MPI_Request request;
            ended("irecv", MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, comm, &request));
            while (request != MPI_REQUEST_NULL &&
                   ended("wait any", MPI_Wait(&request, &status)) != MPI_SUCCESS &&
                   request != MPI_REQUEST_NULL) {
                int acknowledged;
                ended("ack", MPIX_Comm_ack_failed(comm, size, &acknowledged));
                note(acknowledged);
                MPI_Cancel(&request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
        note(in);
    }
}

static void collectives(int me, int size)
{
    int root = shared(size), kind = shared(9), in = me + 1, out = 0, all[64] = {0}, mine_[64];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < size; i++)
        mine_[i] = me + i;
    switch (kind) {
    case 0: ended("barrier", MPI_Barrier(comm)); break;
    case 1: ended("bcast", MPI_Bcast(&in, 1, MPI_INT, root, comm)); break;
    case 2: ended("reduce", MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, root, comm)); break;
    case 3: ended("allreduce", MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm)); break;
    case 4: ended("gather", MPI_Gather(&in, 1, MPI_INT, all, 1, MPI_INT, root, comm)); break;
    case 5: ended("alltoall", MPI_Alltoall(mine_, 1, MPI_INT, all, 1, MPI_INT, comm)); break;
    case 6: ended("scan", MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, comm)); break;
    case 7:
        ended("ibarrier", MPI_Ibarrier(comm, &request));
        compute();
        ended("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    default:
        ended("iallreduce", MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request));
        compute();
        ended("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    note(broken ? 0 : out);
}

/* A communicator is made and used. */
static void splits(int me, int size)
{
    MPI_Comm next;
    int colors = 1 + shared(2), sum = 0;
    (void)size;
    if (ended("split", MPI_Comm_split(comm, me % colors, 0, &next)) != MPI_SUCCESS)
        return;
    MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
    if (ended("allreduce", MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, next)) != MPI_SUCCESS)
        MPIX_Comm_revoke(next);
    MPI_Comm_free(&next);
}

/* A window is made, used in one of three ways and freed. */
static void windows(int me, int size)
{
    int way = shared(3), to = (me + 1 + mine(size - 1)) % size, one = 1, got = 0, *memory;
    MPI_Win win;
    if (ended("win_allocate", MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                                               &win)) != MPI_SUCCESS)
        return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    compute();
    if (way == 0) {
        ended("fence", MPI_Win_fence(0, win));
        compute();
        if (!broken) {
            MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win);
            ended("fence", MPI_Win_fence(0, win));
        }
        got = broken ? 0 : *memory;
    } else if (way == 1) {
        if (ended("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win)) == MPI_SUCCESS) {
            MPI_Fetch_and_op(&one, &got, MPI_INT, to, 0, MPI_SUM, win);
            compute();
            if (ended("unlock", MPI_Win_unlock(to, win)) != MPI_SUCCESS)
                got = 0;
        }
    } else {
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(&one, &got, MPI_INT, to, 0, MPI_SUM, win);
        if (ended("flush", MPI_Win_flush(to, win)) != MPI_SUCCESS)
            got = 0;
        compute();
        ended("unlock_all", MPI_Win_unlock_all(win));
    }
    note(got);
    ended("win_free", MPI_Win_free(&win));
}

/* Each with a partner, in partitions. */
static void partitions(int me, int size)
{
    int offset = 1 + shared(size - 1), to = (me + offset) % size, from = (me + size - offset) % size,
        out[3] = {me, me, me}, in[3] = {-1, -1, -1};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (ended("precv_init", MPI_Precv_init(in, 3, 1, MPI_INT, from, 6, comm, MPI_INFO_NULL, &requests[0])) ==
        MPI_SUCCESS)
        ended("start", MPI_Start(&requests[0]));
    if (ended("psend_init", MPI_Psend_init(out, 3, 1, MPI_INT, to, 6, comm, MPI_INFO_NULL, &requests[1])) ==
        MPI_SUCCESS) {
        ended("start", MPI_Start(&requests[1]));
        for (int i = 0; i < 3; i++) {
            compute();
            ended("pready", MPI_Pready(i, requests[1]));
        }
    }
    for (int i = 0; i < 2; i++)
        if (requests[i] != MPI_REQUEST_NULL) {
            ended("wait", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            MPI_Request_free(&requests[i]);
        }
    note(broken ? 0 : in[2]);
}

/* A file is opened, used in one of several ways and closed. */
static void files(int me, int size, int step)
{
    int way = shared(8), keeps = shared(2), in[4] = {-1, -1, -1, -1}, out[4] = {me, me + 1, me + 2, me + 3},
        bytes = sizeof out;
    char path[4096];
    MPI_File file;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset at = -1;
    snprintf(path, sizeof path, "%s.%d", name, step);
    if (ended("open", MPI_File_open(comm, path,
                                    MPI_MODE_CREATE | MPI_MODE_RDWR | (keeps ? 0 : MPI_MODE_DELETE_ON_CLOSE),
                                    MPI_INFO_NULL, &file)) != MPI_SUCCESS)
        return;
    compute();
    switch (way) {
    case 0:
        ended("write_at_all", MPI_File_write_at_all(file, me * bytes, out, 4, MPI_INT, MPI_STATUS_IGNORE));
        compute();
        ended("read_at_all",
              MPI_File_read_at_all(file, (me + 1) % size * bytes, in, 4, MPI_INT, MPI_STATUS_IGNORE));
        break;
    case 1:
        ended("set_view", MPI_File_set_view(file, me * bytes, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
        compute();
        ended("write_all", MPI_File_write_all(file, out, 4, MPI_INT, MPI_STATUS_IGNORE));
        break;
    case 2:
        ended("write_ordered", MPI_File_write_ordered(file, out, 1 + mine(4), MPI_INT, MPI_STATUS_IGNORE));
        break;
    case 3:
        ended("iwrite_at_all",
              MPI_File_iwrite_at_all(file, (size - 1 - me) * bytes, out, 4, MPI_INT, &request));
        compute();
        ended("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        ended("iread_at_all", MPI_File_iread_at_all(file, me * bytes, in, 4, MPI_INT, &request));
        ended("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    case 4:
        if (ended("write_at_all_begin", MPI_File_write_at_all_begin(file, me * bytes, out, 4, MPI_INT)) ==
            MPI_SUCCESS) {
            compute();
            ended("write_at_all_end", MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE));
        }
        break;
    case 5:
        ended("set_size", MPI_File_set_size(file, 100));
        ended("preallocate", MPI_File_preallocate(file, 200));
        compute();
        ended("sync", MPI_File_sync(file));
        break;
    case 6:
        ended("set_atomicity", MPI_File_set_atomicity(file, 1));
        ended("write_at", MPI_File_write_at(file, me * bytes, out, 4, MPI_INT, MPI_STATUS_IGNORE));
        compute();
        ended("read_at", MPI_File_read_at(file, me * bytes, in, 4, MPI_INT, MPI_STATUS_IGNORE));
        note(in[3]);
        break;
    default:
        for (int i = 0; i < 3; i++) {
            ended("write_shared", MPI_File_write_shared(file, out, 1 + mine(3), MPI_BYTE, MPI_STATUS_IGNORE));
            ended("get_position_shared", MPI_File_get_position_shared(file, &at));
            note(at);
            compute();
        }
    }
    note(broken ? 0 : in[3]);
    ended("close", MPI_File_close(&file));
    note(file == MPI_FILE_NULL);
}

/* The odd and the even meet, by leaders or at a port, agree among themselves and go on as those that are
 * left. */
static void groups(int me, int size)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int side = me % 2, way = shared(3), root = way == 1 ? 0 : (size + !side) / 2 - 1, good, sum = 0, members,
        code;
    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL, left = MPI_COMM_NULL;
    if (way > 0 && me == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    ended("bcast", MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, comm));
    if (ended("split", MPI_Comm_split(comm, side, 0, &half)) == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
        compute();
        if (way == 0)
            ended("intercomm_create", MPI_Intercomm_create(half, 0, comm, !side, 8, &inter));
        else if (port[0])
            ended(side ? "connect" : "accept",
                  (side ? MPI_Comm_connect : MPI_Comm_accept)(port, MPI_INFO_NULL, root, half, &inter));
    }
    if (inter != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        ended("allreduce", MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter));
        note(broken ? 0 : sum);
    }
    compute();
    if (broken)
        MPIX_Comm_revoke(comm);
    good = inter != MPI_COMM_NULL;
    code = MPIX_Comm_agree(comm, &good);
    ended("agree", code);
    /* Only if all have it somebody can be waited for there. */
    if (good && code == MPI_SUCCESS) {
        if (broken)
            ended("revoke", MPIX_Comm_revoke(inter));
        compute();
        good = (8 | side << 1 | 1) << (me & 3);
        ended("agree", MPIX_Comm_agree(inter, &good));
        note(good);
        if (ended("shrink", MPIX_Comm_shrink(inter, &left)) == MPI_SUCCESS && left != MPI_COMM_NULL) {
            MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
            MPI_Comm_size(left, &members);
            note(members);
            MPI_Comm_remote_size(left, &members);
            note(members);
            sum = 0;
            ended("allreduce", MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, left));
            note(broken ? 0 : sum);
        }
        note(left == MPI_COMM_NULL);
    }
    if (way > 0 && me == 0)
        MPI_Close_port(port);
    if (left != MPI_COMM_NULL)
        MPI_Comm_free(&left);
    if (inter != MPI_COMM_NULL)
        MPI_Comm_disconnect(&inter);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
}

/* A send that nobody may ever receive: it is asked for a few times and then freed. */
static void let_go(MPI_Request *request)
{
    int done = 0;
    for (int i = 0; i < 4 && !done && *request != MPI_REQUEST_NULL; i++) {
        ended("test send", MPI_Test(request, &done, MPI_STATUS_IGNORE));
        compute();
    }
    note(done);
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
}

/* A receive that has not come to its end, maybe because somebody has failed: cancelled, freed, or asked for
 * again. */
static void give_up(MPI_Request *request)
{
    MPI_Status status;
    int way = mine(5), done = 0, gone = 0, known;
    if (way & 1) {
        ended("ack", MPIX_Comm_ack_failed(comm, 64, &known));
        note(known);
    }
    for (int i = 0; way > 1 && i < 3 && !done && *request != MPI_REQUEST_NULL; i++) {
        compute();
        ended("test", MPI_Test(request, &done, &status));
    }
    if (*request != MPI_REQUEST_NULL && way == 4 && mine(2)) {
        MPI_Request_free(request);
    } else if (*request != MPI_REQUEST_NULL) {
        ended("cancel", MPI_Cancel(request));
        ended("wait cancelled", MPI_Wait(request, &status));
        MPI_Test_cancelled(&status, &gone);
    }
    note(done << 1 | gone);
}

/* Receives for any source and named ones, probes, and sends that may have no receive. Whoever lives has sent
 * before it waits, so that only a failure keeps a message away; who has acknowledged one waits for nothing
 * without an end. */
static void sources(int me, int size)
{
    static int out[64], in[64][2];
    static unsigned next;
    int rounds = 1 + shared(4), revokes = shared(6) == 0, polite = 0;
    for (int round = 0; round < rounds; round++) {
        int tag = 100 + 10 * (next / 4) + round, ways = shared(4), mode = mine(5);
        int offsets[2] = {1 + shared(size - 1), 1 + shared(size - 1)}, *got = in[next % 64], done = 0;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL},
                    sends[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        MPI_Message message;
        got[0] = got[1] = -1;
        compute();
        if (mine(30) == 0)
            xsim_fail();
        for (int i = 0; i < 2 && mode < 3; i++) {
            int from = mine(3) ? MPI_ANY_SOURCE : (me + size - offsets[i]) % size;
            ended("irecv",
                  MPI_Irecv(&got[i], 1, MPI_INT, from, tag + 5 * (ways & 1 & i), comm, &requests[i]));
        }
        for (int i = 0; i < 2; i++) {
            int to = (me + offsets[i]) % size, *value = &out[next % 32 * 2 + i];
            *value = me * 2 + i;
            ended("isend", (ways & 2 ? MPI_Issend : MPI_Isend)(value, 1, MPI_INT, to,
                                                               tag + 5 * (ways & 1 & i), comm, &sends[i]));
        }
        compute();
        next++;
        if (mode == 0 && !polite) {
            ended("waitall", MPI_Waitall(2, requests, statuses));
        } else if (mode == 1 && !polite) {
            int which = -1;
            ended("waitany", MPI_Waitany(2, requests, &which, statuses));
            note(which);
            if (!broken)
                ended("wait", MPI_Wait(&requests[!which], statuses));
        } else if (mode < 3) {
            for (int i = 0; i < 2 && !polite; i++)
                ended("wait", MPI_Wait(&requests[i], statuses));
        } else if (mode == 3) {
            for (int i = 0; i < 4 && !done; i++) {
                compute();
                ended("improbe", MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &done, &message, statuses));
            }
            if (done)
                ended("mrecv", MPI_Mrecv(&got[0], 1, MPI_INT, &message, statuses));
        } else if (!polite && ended("probe", MPI_Probe(MPI_ANY_SOURCE, tag, comm, statuses)) == MPI_SUCCESS) {
            ended("recv", MPI_Recv(&got[0], 1, MPI_INT, statuses->MPI_SOURCE, tag, comm, statuses));
        }
        for (int i = 0; i < 2; i++) {
            if (requests[i] != MPI_REQUEST_NULL) {
                give_up(&requests[i]);
                polite = 1;
            }
        }
        for (int i = 0; i < 2; i++)
            let_go(&sends[i]);
        note(got[0]);
        note(got[1]);
        if (revokes && broken)
            ended("revoke", MPIX_Comm_revoke(comm));
    }
}

/* Who has failed, as the rank knows. */
static void asks(void)
{
    MPI_Group failed;
    int count, revoked;
    ended("get_failed", MPIX_Comm_get_failed(comm, &failed));
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    MPIX_Comm_is_revoked(comm, &revoked);
    if (verbose)
        printf("%d knows of %d, revoked %d\n", rank, count, revoked);
    note(count);
    note(revoked);
}

int main(int argc, char **argv)
{
    int size, steps, kinds;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    common = strtoull(argv[1], NULL, 10) * 2654435761u + 12345;
    own = common ^ ((uint64_t)(rank + 1) << 20);
    steps = atoi(argv[2]);
    kinds = argc > 3 ? atoi(argv[3]) : 31;
    name = argc > 4 ? argv[4] : "file";
    verbose = argc > 5;
    for (int i = 0; i < 5; i++)
        shared(2), mine(2);
    comm = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int step = 0; step < steps; step++) {
        int me, kind, good, code;
        MPI_Comm next;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &size);
        if (size < 2)
            break;
        do
            kind = shared(kinds > 511 ? 10 : kinds > 255 ? 9 : kinds > 127 ? 8 : kinds > 31 ? 7 : 5);
        while (!(kinds >> kind & 1));
        broken = 0;
        compute();
        if (mine(160) == 0)
            xsim_fail();
        if (mine(400) == 0)
            exit(0);
        switch (kind) {
        case 0: pairs(me, size); break;
        case 1: incast(me, size); break;
        case 2: collectives(me, size); break;
        case 3: splits(me, size); break;
        case 5: windows(me, size); break;
        case 6: partitions(me, size); break;
        case 7: files(me, size, step); break;
        case 8: groups(me, size); break;
        case 9: sources(me, size); break;
        default: asks(); compute(); collectives(me, size);
        }
        if (broken)
            ended("revoke", MPIX_Comm_revoke(comm));
        good = !broken;
        code = MPIX_Comm_agree(comm, &good);
        ended("agree", code);
        note(good);
        if (good && code == MPI_SUCCESS)
            continue;
        ended("shrink", MPIX_Comm_shrink(comm, &next));
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        if (comm != MPI_COMM_WORLD)
            MPI_Comm_free(&comm);
        comm = next;
        /* Who was told earlier may have drawn less. */
        common = strtoull(argv[1], NULL, 10) * 2654435761u + 7919u * step;
        shared(2);
    }
    printf("%d of %d %016llx at %.3f ns\n", rank, size, (unsigned long long)hash, xsim_time() * 1e9);
    MPI_Finalize();
    return 0;
}
