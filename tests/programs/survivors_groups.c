/* Groups that meet at ports, and intercommunicators, of which a member fails: tests/survivors.rs. The third
 * argument is who fails at 100 us, which is known at 110 us. */
#include "survives.h"


static int failing;
static char *itself;

static void none(MPI_Comm comm) { CHECK(comm == MPI_COMM_NULL); }

/* Ranks 0 and 1 accept, 2 and 3 connect, at a port that rank 0 has opened; the others do what `rest` says. */
static MPI_Comm halves(char *port)
{
    MPI_Comm half;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    returns(MPI_COMM_WORLD);
    returns(half);
    return half;
}

/* A side waits at a port when it is known that one of it has failed: all of it end. The other side waits for
 * somebody else. */
static void waits(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half = halves(port), inter = MPI_COMM_NULL, alone;
    if (rank == failing)
        fails();
    until(90e-6);
    if (rank / 2 == failing / 2) {
        say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        none(inter);
        say("again", MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
        none(inter);
        CHECK(MPIX_Comm_shrink(half, &alone) == MPI_SUCCESS);
        /* Who still waits there is none to be met. */
        say("shrunk", MPI_Comm_accept(port, MPI_INFO_NULL, 0, alone, &inter));
    } else {
        until(130e-6);
        say("connect", MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
    }
    if (inter != MPI_COMM_NULL) {
        int members;
        MPI_Comm_remote_size(inter, &members);
        CHECK(members == (rank / 2 == failing / 2 ? 2 : 1));
        CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
        CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
    }
}

/* Who has opened the port fails: nobody is met there any more, and nobody waits there. */
static void owner(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half = halves(port), inter = MPI_COMM_NULL;
    if (rank == failing)
        fails();
    until(rank % 2 ? 105e-6 : 90e-6);
    if (rank / 2 == 1) {
        say("connect", MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
        none(inter);
        say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 1, half, &inter));
        none(inter);
    } else {
        say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        none(inter);
    }
}

/* A member fails that has entered before: its root, which waits, tells the others. */
static void entered(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_NULL;
    halves(port);
    say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    none(inter);
}

/* Who has connected first fails before anybody accepts: the next is met. */
static void passed(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_NULL;
    int value = rank;
    halves(port);
    if (rank == 0) {
        until(120e-6);
        say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 3);
    } else if (rank > 1) {
        until(rank == failing ? 80e-6 : 90e-6);
        say("connect", MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        CHECK(MPI_Send(&value, 1, MPI_INT, 0, 0, inter) == MPI_SUCCESS);
    }
    if (inter != MPI_COMM_NULL)
        CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
}

/* A root waits while its communicator is revoked by another member. */
static void revoked(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half = halves(port), inter = MPI_COMM_NULL;
    if (rank == 1)
        until(50e-6);
    if (rank == 1)
        say("revoke", MPIX_Comm_revoke(half));
    if (rank < 2) {
        say("accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        none(inter);
    }
}

/* All are in a reduction when one that is through revokes its communicator: the others are not. */
static void through(void)
{
    MPI_Comm comm;
    int sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    returns(MPI_COMM_WORLD);
    returns(comm);
    until(50e-6);
    say("reduce", MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
    if (rank == 3) {
        until(50.5e-6);
        say("revoke", MPIX_Comm_revoke(comm));
    }
}

/* Who asks that ranks are spawned when it is known that one of its communicator has failed. */
static void spawns(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    char command[] = "./nothing";
    returns(MPI_COMM_WORLD);
    if (rank == failing)
        fails();
    until(90e-6);
    say("spawn", MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, (failing + 1) % size,
                                MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    none(inter);
}

/* The sides of an intercommunicator with leaders 0 and `other`. */
static MPI_Comm sides(int side, int other)
{
    MPI_Comm local, inter;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : other, 7, &inter);
    returns(MPI_COMM_WORLD);
    returns(inter);
    return inter;
}

/* Two sides of two agree: each learns what the other says, whoever of it is left, and go on as those that are
 * left. */
static void agrees(void)
{
    static const int flags[] = {0xe, 0x7, 0xb, 0xd};
    MPI_Comm inter = sides(rank / 2, 2), left;
    MPI_Request request;
    int side = rank / 2, flag = flags[rank], count, sum = -1;
    until(50e-6);
    say("before", MPIX_Comm_agree(inter, &flag));
    CHECK(flag == (side ? 0x6 : 0x9));
    if (rank == failing)
        fails();
    until(90e-6);
    flag = flags[rank];
    say("agree", MPIX_Comm_agree(inter, &flag));
    CHECK(flag == (side == failing / 2 ? flags[2 - 2 * side] & flags[3 - 2 * side] : flags[failing ^ 1]));
    CHECK(MPIX_Comm_ack_failed(inter, 4, &count) == MPI_SUCCESS && count == 1);
    flag = flags[rank];
    CHECK(MPIX_Comm_iagree(inter, &flag, &request) == MPI_SUCCESS);
    say("acknowledged", MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(flag == (side == failing / 2 ? flags[2 - 2 * side] & flags[3 - 2 * side] : flags[failing ^ 1]));
    CHECK(MPIX_Comm_revoke(inter) == MPI_SUCCESS);
    say("shrink", MPIX_Comm_shrink(inter, &left));
    MPI_Comm_size(left, &count);
    CHECK(count == (side == failing / 2 ? 1 : 2));
    MPI_Comm_remote_size(left, &count);
    CHECK(count == (side == failing / 2 ? 2 : 1));
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, left) == MPI_SUCCESS);
    CHECK(sum == (side == failing / 2 ? 5 - 4 * side : failing ^ 1));
    flag = 3;
    CHECK(MPIX_Comm_agree(left, &flag) == MPI_SUCCESS && flag == 3);
    CHECK(MPI_Comm_free(&left) == MPI_SUCCESS && MPI_Comm_free(&inter) == MPI_SUCCESS);
}

/* All of a side have failed: the other one agrees with nobody, and makes no communicator. */
static void gone(void)
{
    MPI_Comm inter = sides(rank == failing, failing), left = MPI_COMM_WORLD;
    int flag = rank;
    if (rank == failing)
        fails();
    until(90e-6);
    say("agree", MPIX_Comm_agree(inter, &flag));
    CHECK(flag == ~0);
    say("shrink", MPIX_Comm_shrink(inter, &left));
    none(left);
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS);
}

/* Two children, the second of which fails; the others agree and go on. */
static void children(void)
{
    char *arguments[] = {"children", NULL};
    MPI_Comm inter, left;
    int flag, members, is_child;
    MPI_Comm_get_parent(&inter);
    is_child = inter != MPI_COMM_NULL;
    if (!is_child)
        CHECK(MPI_Comm_spawn(itself, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    returns(inter);
    if (is_child && rank == 1)
        fails();
    say(is_child ? "child" : "parent", MPI_Barrier(inter));
    flag = is_child ? 5 : 6;
    say(is_child ? "child agrees" : "parent agrees", MPIX_Comm_agree(inter, &flag));
    CHECK(flag == (is_child ? 6 : 5));
    CHECK(MPIX_Comm_shrink(inter, &left) == MPI_SUCCESS);
    MPI_Comm_remote_size(left, &members);
    CHECK(members == (is_child ? 4 : 1));
    CHECK(MPI_Barrier(left) == MPI_SUCCESS);
}

static const Case cases[] = {{"waits", waits},      {"owner", owner},     {"entered", entered},
                             {"passed", passed},    {"revoked", revoked}, {"through", through},
                             {"spawns", spawns},    {"agrees", agrees},   {"gone", gone},
                             {"children", children}};

int main(int argc, char **argv)
{
    itself = argv[0];
    failing = argc > 3 ? atoi(argv[3]) : 0;
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
