/* Groups without a common communicator meet: ports, published names, sockets. */
#include "check.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xsim.h>

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }

/* All that an intercommunicator is for: messages, collectives, one group of both. */
static void use(MPI_Comm inter, int mine, int theirs, int server)
{
    int is_inter, local, remote, me, value, sum;
    MPI_Comm_test_inter(inter, &is_inter);
    MPI_Comm_size(inter, &local);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(is_inter && local == mine && remote == theirs);
    int out = 100 * server + me, peer = me % remote;
    if (me < remote) {
        MPI_Sendrecv(&out, 1, MPI_INT, peer, 3, &value, 1, MPI_INT, peer, 3, inter, MPI_STATUS_IGNORE);
        CHECK(value == 100 * !server + me);
    }
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == theirs);
    MPI_Comm both;
    MPI_Intercomm_merge(inter, !server, &both);
    MPI_Comm_size(both, &sum);
    MPI_Comm_rank(both, &value);
    CHECK(sum == mine + theirs && value == (server ? me : theirs + me));
    MPI_Comm_free(&both);
}

/* Servers and clients, each a part of the world, meet twice at one port; its name is known to the clients'
 * root alone. */
static void halves(void)
{
    int server = rank < (size + 1) / 2, me, mine;
    if (size == 1) return;
    MPI_Comm part, inter;
    MPI_Comm_split(MPI_COMM_WORLD, server, -rank, &part);
    MPI_Comm_rank(part, &me);
    MPI_Comm_size(part, &mine);
    int root = mine - 1;
    char port[MPI_MAX_PORT_NAME];
    if (server && me == root) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("halves", MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!server && me == root) MPI_Lookup_name("halves", MPI_INFO_NULL, port);
    for (int round = 0; round < 2; round++) {
        char *name = me == root ? port : NULL;
        if (server) MPI_Comm_accept(name, MPI_INFO_NULL, root, part, &inter);
        else MPI_Comm_connect(name, MPI_INFO_NULL, root, part, &inter);
        use(inter, mine, size - mine, server);
        MPI_Comm_disconnect(&inter);
        CHECK(inter == MPI_COMM_NULL);
    }
    if (server && me == root) {
        MPI_Unpublish_name("halves", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    MPI_Comm_free(&part);
}

/* Everybody else connects to rank 0, the last first; then all at one time. */
static void queue(void)
{
    char port[MPI_MAX_PORT_NAME];
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int together = 0; together < 2; together++) {
        double base, start = MPI_Wtime();
        MPI_Allreduce(&start, &base, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Comm inter;
        if (rank == 0) {
            for (int i = 1; i < size; i++) {
                int who;
                MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
                MPI_Recv(&who, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
                CHECK(who == (together ? i : size - i));
                MPI_Comm_disconnect(&inter);
            }
        } else {
            xsim_compute(base + 1e-3 - MPI_Wtime() + (together ? 0 : (size - rank) * 50e-6));
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
            MPI_Send(&rank, 1, MPI_INT, 0, 0, inter);
            MPI_Comm_disconnect(&inter);
        }
    }
    if (rank == 0) MPI_Close_port(port);
}

/* Each rank has a port to which the next one connects: who waits where does not matter. */
static void around(void)
{
    char mine[MPI_MAX_PORT_NAME], theirs[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, mine);
    MPI_Sendrecv(mine, sizeof mine, MPI_CHAR, (rank + 1) % size, 0, theirs, sizeof theirs, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (size > 1) {
        MPI_Comm left, right;
        if (rank != 0) MPI_Comm_connect(theirs, MPI_INFO_NULL, 0, MPI_COMM_SELF, &left);
        MPI_Comm_accept(mine, MPI_INFO_NULL, 0, MPI_COMM_SELF, &right);
        if (rank == 0) MPI_Comm_connect(theirs, MPI_INFO_NULL, 0, MPI_COMM_SELF, &left);
        int value = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &value, 0, MPI_INT, MPI_PROC_NULL, 0, right, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, left, MPI_STATUS_IGNORE);
        CHECK(value == (rank + size - 1) % size);
        MPI_Comm_disconnect(&left);
        MPI_Comm_disconnect(&right);
    }
    MPI_Close_port(mine);
}

/* Ranks 0 and 1 are the ends of a socket. The kernel connects them before rank 0 looks, so that nobody waits
 * in the system. */
static void join(void)
{
    if (size < 2 || rank > 1) return;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0), listener = fd;
    MPI_Comm inter;
    if (rank == 0) {
        CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
        CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
        MPI_Send(&address, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK((fd = accept(listener, NULL, NULL)) >= 0);
        close(listener);
    } else {
        MPI_Recv(&address, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_join(fd, &inter);
    use(inter, 1, 1, rank == 0);
    MPI_Comm_disconnect(&inter);
    /* The socket is as it was: nothing was read and nothing written. */
    char byte = 'a' + rank;
    CHECK(write(fd, &byte, 1) == 1);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, !rank, 0, NULL, 0, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(read(fd, &byte, 1) == 1 && byte == 'a' + !rank);
    close(fd);
}

/* Rank 2 connects to the port of rank 0 five microseconds after rank 0 waits there. */
static void times(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    double start = MPI_Wtime(), base;
    MPI_Allreduce(&start, &base, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    xsim_compute(base + 1e-3 - MPI_Wtime());
    long long begin = now();
    if (rank == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        printf("accepted %lld\n", now() - begin);
    } else if (rank == 2) {
        xsim_compute(5e-6);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        printf("connected %lld\n", now() - begin);
    } else if (rank == 1) {
        MPI_Publish_name("times", MPI_INFO_NULL, port);
        printf("published %lld\n", now() - begin);
    }
    if (rank != 1) MPI_Comm_disconnect(&inter);
}

static const Case cases[] = {
    {"halves", halves}, {"queue", queue}, {"around", around}, {"join", join}, {"times", times},
};
RUN_CASES(cases)
