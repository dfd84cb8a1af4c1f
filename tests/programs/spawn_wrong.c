/* Spawning: wrong calls, by name. With a second argument errors are returned, and each rank prints the
 * class. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, returning, codes[8];
static char *self;
static MPI_Comm inter;

static int spawn(char *command, int count, MPI_Info info)
{ return MPI_Comm_spawn(command, MPI_ARGV_NULL, count, info, 0, MPI_COMM_WORLD, &inter, codes); }
static int spawn_with(char *key, char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return spawn(self, 2, info);
}

static int missing(void) { return spawn("./no-such-program", 2, MPI_INFO_NULL); }
static int missing_in_path(void) { return spawn("no-such-program-anywhere", 2, MPI_INFO_NULL); }
static int another(void) { return spawn("/bin/sh", 2, MPI_INFO_NULL); }
static int by_path(void) { return spawn("sh", 2, MPI_INFO_NULL); }
static int elsewhere(void) { return spawn_with("wdir", "/no/such/directory"); }
static int too_many(void) { return spawn(self, 5, MPI_INFO_NULL); }
static int too_many_together(void)
{
    char *commands[] = {self, self};
    return MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, (int[]){2, 2},
                                   (MPI_Info[]){MPI_INFO_NULL, MPI_INFO_NULL}, 0, MPI_COMM_WORLD, &inter,
                                   codes);
}
static int negative(void) { return spawn(self, -1, MPI_INFO_NULL); }
static int no_list(void) { return spawn_with("soft", "two"); }
static int none_of_them(void) { return spawn_with("soft", "7:9"); }
static int bad_info(void) { return spawn(self, 2, (MPI_Info)0x777770); }
static int bad_root(void)
{ return MPI_Comm_spawn(self, MPI_ARGV_NULL, 2, MPI_INFO_NULL, size, MPI_COMM_WORLD, &inter, codes); }
static int bad_comm(void)
{ return MPI_Comm_spawn(self, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter, codes); }
static int two_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 0, &both);
    if (returning) MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    return MPI_Comm_spawn(self, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, both, &inter, codes);
}
/* What failed is undone: two can still be spawned. */
static int again(void)
{
    too_many();
    if (rank == 0 && codes[0] != MPI_ERR_SPAWN) return MPI_ERR_OTHER;
    return spawn(self, 2, MPI_INFO_NULL);
}

static const struct { const char *name; int (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(missing),  CASE(missing_in_path),   CASE(another),  CASE(by_path),    CASE(elsewhere),
    CASE(too_many), CASE(too_many_together), CASE(negative), CASE(no_list),    CASE(none_of_them),
    CASE(bad_info), CASE(bad_root),          CASE(bad_comm), CASE(two_groups), CASE(again),
};

static const char *name_of(int class)
{
    switch (class) {
#define NAME(class) case class: return #class
        NAME(MPI_SUCCESS);
        NAME(MPI_ERR_SPAWN);
        NAME(MPI_ERR_ARG);
        NAME(MPI_ERR_INFO_VALUE);
        NAME(MPI_ERR_ROOT);
        NAME(MPI_ERR_INFO);
        NAME(MPI_ERR_COMM);
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return MPI_Finalize();
    self = argv[0];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    returning = argc > 2;
    if (returning) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
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
