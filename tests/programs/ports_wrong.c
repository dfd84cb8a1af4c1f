/* Ports and names: wrong calls, by name. With a second argument errors are returned, and each rank prints the
 * class. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, returning;
static char mine[MPI_MAX_PORT_NAME], first[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
static MPI_Comm inter;

static int connect_to(const char *port)
{ return MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); }
static int accept_at(const char *port)
{ return MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); }

static int no_port(void) { return connect_to("somewhere"); }
static int null_port(void) { return connect_to(NULL); }
static int never_opened(void) { return connect_to("xsim-port:1.7"); }
static int accept_never_opened(void) { return accept_at("xsim-port:0.7"); }
static int closed(void) { return MPI_Close_port(mine), MPI_Barrier(MPI_COMM_WORLD), connect_to(first); }
static int closed_meanwhile(void)
{
    /* Rank 1 waits at a port that rank 0 closes. */
    if (rank == 1) return MPI_Comm_connect(first, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    MPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Close_port(first);
    return MPI_ERR_PORT;
}
static int close_twice(void) { return MPI_Close_port(mine), MPI_Close_port(mine); }
static int close_another(void) { return MPI_Close_port(rank == 0 ? "xsim-port:1.0" : first); }
static int close_nothing(void) { return MPI_Close_port(""); }
static int look_for_nothing(void) { return MPI_Lookup_name("nothing", MPI_INFO_NULL, found); }
static int unpublish_nothing(void) { return MPI_Unpublish_name("nothing", MPI_INFO_NULL, mine); }
static int unpublish_another(void)
{
    if (rank == 0) MPI_Publish_name("service", MPI_INFO_NULL, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Unpublish_name("service", MPI_INFO_NULL, "another");
}
static int look_for_unpublished(void)
{
    if (rank == 0)
        MPI_Publish_name("service", MPI_INFO_NULL, mine), MPI_Unpublish_name("service", MPI_INFO_NULL, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Lookup_name("service", MPI_INFO_NULL, found);
}
static int publish_twice(void)
{
    if (rank == 0) MPI_Publish_name("service", MPI_INFO_NULL, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Publish_name("service", MPI_INFO_NULL, mine);
}
static int bad_root(void) { return MPI_Comm_connect(first, MPI_INFO_NULL, size, MPI_COMM_WORLD, &inter); }
static int bad_info(void) { return MPI_Comm_accept(first, (MPI_Info)0x777770, 0, MPI_COMM_WORLD, &inter); }
static int bad_comm(void) { return MPI_Comm_accept(first, MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter); }
static int two_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 0, &both);
    if (returning) MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    return MPI_Comm_accept(first, MPI_INFO_NULL, 0, both, &inter);
}
static int bad_socket(void) { return MPI_Comm_join(999, &inter); }
static int no_socket(void) { return MPI_Comm_join(1, &inter); }
static int nobody_connects(void) { return accept_at(first); }
static int nobody_accepts(void) { return connect_to(first); }

static const struct { const char *name; int (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(no_port),
    CASE(null_port),
    CASE(never_opened),
    CASE(accept_never_opened),
    CASE(closed),
    CASE(closed_meanwhile),
    CASE(close_twice),
    CASE(close_another),
    CASE(close_nothing),
    CASE(look_for_nothing),
    CASE(unpublish_nothing),
    CASE(unpublish_another),
    CASE(look_for_unpublished),
    CASE(publish_twice),
    CASE(bad_root),
    CASE(bad_info),
    CASE(bad_comm),
    CASE(two_groups),
    CASE(bad_socket),
    CASE(no_socket),
    CASE(nobody_connects),
    CASE(nobody_accepts),
};

static const char *name_of(int class)
{
    switch (class) {
#define NAME(class) case class: return #class
        NAME(MPI_SUCCESS);
        NAME(MPI_ERR_PORT);
        NAME(MPI_ERR_NAME);
        NAME(MPI_ERR_SERVICE);
        NAME(MPI_ERR_ROOT);
        NAME(MPI_ERR_INFO);
        NAME(MPI_ERR_COMM);
        NAME(MPI_ERR_ARG);
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    returning = argc > 2;
    if (returning) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    MPI_Open_port(MPI_INFO_NULL, mine);
    strcpy(first, mine);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            int code = cases[i].run(), class = code;
            MPI_Error_class(code, &class);
            printf("%s\n", name_of(class));
            MPI_Finalize();
            return 0;
        }
    return 1;
}
