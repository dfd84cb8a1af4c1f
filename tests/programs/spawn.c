/* Ranks that start while the program runs. With a parent a rank is a child, and plays its part of the
 * case. */
#include "check.h"
#include <xsim.h>

static const char *self;
static int counter = 7;

static long long now(void) { return (long long)(MPI_Wtime() * 1e12 + 0.5); }

static int attribute(int key)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    return flag ? *value : -1;
}

static int parents(MPI_Comm *parent)
{
    MPI_Comm_get_parent(parent);
    return *parent != MPI_COMM_NULL;
}

/* All that an intercommunicator is for. */
static void use(MPI_Comm inter, int child)
{
    int local, remote, me, value = -1, sum;
    MPI_Comm_size(inter, &local);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &remote);
    int out = 100 * child + me;
    if (me < remote && me < local) {
        MPI_Sendrecv(&out, 1, MPI_INT, me, 3, &value, 1, MPI_INT, me, 3, inter, MPI_STATUS_IGNORE);
        CHECK(value == 100 * !child + me);
    }
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == 100 * !child * remote + remote * (remote - 1) / 2);
    MPI_Comm both;
    MPI_Intercomm_merge(inter, child, &both);
    MPI_Comm_size(both, &sum);
    MPI_Comm_rank(both, &value);
    CHECK(sum == local + remote && value == (child ? remote + me : me));
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, both);
    CHECK(value == sum - 1);
    MPI_Comm_free(&both);
}

/* The ring of the world, by messages and by a collective. */
static void use_world(void)
{
    int value = -1, sum, one = 1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == (rank + size - 1) % size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == (size + 1 - rank % 2) / 2);
    MPI_Comm_free(&half);
}

static void spawn(char *name, int count, int root, MPI_Comm comm, MPI_Comm *inter)
{
    int codes[64] = {0}, me;
    char *arguments[] = {name, "more", NULL};
    for (int i = 0; i < count; i++) codes[i] = 99;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_spawn(me == root ? self : NULL, me == root ? arguments : NULL, me == root ? count : -5,
                   MPI_INFO_NULL, root, comm, inter, codes);
    for (int i = 0; i < count; i++) CHECK(codes[i] == MPI_SUCCESS);
}

/* The world spawns four, who have a world, globals and arguments of their own; then four more. */
static void workers(void)
{
    MPI_Comm inter;
    CHECK(attribute(MPI_UNIVERSE_SIZE) >= 4 && counter == 7);
    if (parents(&inter)) {
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        MPI_Comm_get_name(inter, name, &length);
        CHECK(size == 4 && attribute(MPI_APPNUM) == 0 && strcmp(name, "MPI_COMM_PARENT") == 0);
        counter = 100 + rank;
        use_world();
        CHECK(counter == 100 + rank);
        use(inter, 1);
        MPI_Comm_disconnect(&inter);
        CHECK(!parents(&inter));
        return;
    }
    for (int round = 0; round < 2; round++) {
        counter = rank;
        spawn("workers", 4, size - 1, MPI_COMM_WORLD, &inter);
        use_world();
        use(inter, 0);
        CHECK(counter == rank);
        MPI_Comm_disconnect(&inter);
        counter = 7;
    }
}

/* Each rank has a child of its own. */
static void each(void)
{
    MPI_Comm inter;
    int value;
    if (parents(&inter)) {
        CHECK(size == 1);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        value++;
        MPI_Send(&value, 1, MPI_INT, 0, 0, inter);
    } else {
        spawn("each", 1, 0, MPI_COMM_SELF, &inter);
        value = 10 * rank;
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 0, 0, 0, inter, MPI_STATUS_IGNORE);
        CHECK(value == 10 * rank + 1);
    }
    MPI_Comm_disconnect(&inter);
}

/* Children have children. */
static void generations(void)
{
    MPI_Comm parent, child;
    int age = 0;
    int is_child = parents(&parent);
    if (is_child) MPI_Bcast(&age, 1, MPI_INT, 0, parent);
    if (age < 2) {
        spawn("generations", 2, 0, MPI_COMM_WORLD, &child);
        int next = age + 1;
        MPI_Bcast(&next, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, child);
        int sum;
        MPI_Allreduce(&next, &sum, 1, MPI_INT, MPI_SUM, child);
        CHECK(sum == 2 * (age + 1));
        MPI_Comm_disconnect(&child);
    }
    if (is_child) {
        int sum;
        MPI_Allreduce(&age, &sum, 1, MPI_INT, MPI_SUM, parent);
        MPI_Comm_disconnect(&parent);
    }
}

/* Two commands in one world: who is of which, and what it was given. */
static int words;
static const char *last_word;
static void multiple(void)
{
    MPI_Comm inter;
    int child = parents(&inter);
    if (child) {
        int which = attribute(MPI_APPNUM);
        CHECK(size == 3 && which == (rank > 0));
        CHECK(which ? words == 2 : words == 3 && strcmp(last_word, "first") == 0);
    } else {
        char *one[] = {"multiple", "first", NULL}, *two[] = {"multiple", NULL}, **arguments[] = {one, two};
        char *commands[] = {(char *)self, (char *)self};
        int counts[] = {1, 2}, codes[] = {9, 9, 9};
        MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        if (rank == 0)
            MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes);
        else MPI_Comm_spawn_multiple(2, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &inter, codes);
        for (int i = 0; i < 3; i++) CHECK(codes[i] == MPI_SUCCESS);
    }
    use(inter, child);
    MPI_Comm_disconnect(&inter);
}

/* As many as there are, of those that would do. */
static void soft(void)
{
    MPI_Comm inter;
    if (parents(&inter)) {
        CHECK(size == 3);
    } else {
        int codes[100];
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "soft", "50:90:2,3,1:2");
        MPI_Info_set(info, "host", "anywhere");
        MPI_Comm_spawn(self, (char *[]){"soft", NULL}, 100, info, 0, MPI_COMM_WORLD, &inter, codes);
        MPI_Info_free(&info);
        int spawned;
        MPI_Comm_remote_size(inter, &spawned);
        CHECK(spawned == 3);
        for (int i = 0; i < (rank == 0 ? 100 : 3); i++)
            CHECK(codes[i] == (i < 3 ? MPI_SUCCESS : MPI_ERR_SPAWN));
    }
    MPI_Barrier(inter);
    MPI_Comm_disconnect(&inter);
}

/* Children of two parents, who know nothing of each other, meet at a port. */
static void strangers(void)
{
    MPI_Comm inter, other;
    char port[MPI_MAX_PORT_NAME];
    if (parents(&inter)) {
        int server;
        MPI_Bcast(&server, 1, MPI_INT, 0, inter);
        if (server) {
            if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
            if (rank == 0) MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, inter);
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        } else {
            if (rank == 0) MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE);
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        }
        use(other, !server);
        MPI_Comm_disconnect(&other);
        MPI_Comm_disconnect(&inter);
        return;
    }
    MPI_Comm two[2];
    for (int i = 0; i < 2; i++) {
        spawn("strangers", 2, 0, MPI_COMM_WORLD, &two[i]);
        MPI_Bcast(&i, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, two[i]);
    }
    if (rank == 0) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, two[1], MPI_STATUS_IGNORE);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, two[0]);
    }
    for (int i = 0; i < 2; i++) MPI_Comm_disconnect(&two[i]);
}

/* When children begin, and when their parents go on. */
static void times(void)
{
    MPI_Comm inter;
    if (parents(&inter)) {
        printf("child %lld\n", now());
    } else {
        if (rank == 1)
            MPI_Comm_spawn(self, (char *[]){"times", NULL}, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                           MPI_ERRCODES_IGNORE);
        if (rank == 1) printf("parent %lld\n", now());
        if (rank != 1) return;
    }
    MPI_Comm_disconnect(&inter);
}

/* The children's wait for their parents is told like any other. */
static void stuck(void)
{
    MPI_Comm inter;
    if (parents(&inter)) MPI_Recv(NULL, 0, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
    else spawn("stuck", 2, 0, MPI_COMM_WORLD, &inter);
}

/* A child ends the run. */
static void aborted(void)
{
    MPI_Comm inter;
    if (parents(&inter)) MPI_Abort(MPI_COMM_WORLD, 17);
    spawn("aborted", 2, 0, MPI_COMM_WORLD, &inter);
    MPI_Barrier(inter);
}

/* Many, to be counted and timed. */
static void many(void)
{
    MPI_Comm inter;
    int sum, one = 1;
    if (!parents(&inter))
        MPI_Comm_spawn(self, (char *[]){"many", NULL}, attribute(MPI_UNIVERSE_SIZE) - size, MPI_INFO_NULL, 0,
                       MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    MPI_Comm_disconnect(&inter);
}

static const Case cases[] = {
    {"workers", workers},   {"each", each},   {"generations", generations},
    {"multiple", multiple}, {"soft", soft},   {"strangers", strangers},
    {"times", times},       {"stuck", stuck}, {"aborted", aborted},
    {"many", many},
};

int main(int argc, char **argv)
{
    self = argv[0];
    words = argc;
    last_word = argv[argc - 1];
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
