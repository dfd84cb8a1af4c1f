/* Sessions: wrong calls, by name. With a second argument errors are returned, and each rank prints the
 * class. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Session session;
static MPI_Info info;
static MPI_Group group;
static MPI_Comm comm;
static int count, length = 20;
static char name[20];

static int null_session(void) { return MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count); }
static int invented_session(void) { return MPI_Session_get_info((MPI_Session)(size_t)0x123450, &info); }
static int finalized_session(void)
{
    MPI_Session was = session;
    MPI_Session_finalize(&session);
    return MPI_Session_finalize(&was);
}
static int no_such_set(void) { return MPI_Group_from_session_pset(session, "mpi://MOON", &group); }
static int no_info_of_it(void) { return MPI_Session_get_pset_info(session, "app://ocean", &info); }
static int set_beyond(void) { return MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &length, name); }
static int set_before(void) { return MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name); }
static int negative_room(void)
{ return length = -1, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name); }
static int null_name(void) { return MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL); }
static int null_handler(void) { return MPI_Session_set_errhandler(session, MPI_ERRHANDLER_NULL); }
static int bad_info(void)
{
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "some");
    MPI_Errhandler handler;
    MPI_Session_get_errhandler(session, &handler);
    return MPI_Session_init(info, handler, &(MPI_Session){MPI_SESSION_NULL});
}
static int nothing_attached(void) { void *at; return MPI_Session_detach_buffer(session, &at, &count); }
static int null_group(void)
{
    MPI_Errhandler handler;
    MPI_Session_get_errhandler(session, &handler);
    return MPI_Comm_create_from_group(MPI_GROUP_NULL, "", MPI_INFO_NULL, handler, &comm);
}
/* The handler that the communicator would have is called, for the communicator that there is not, and
 * MPI_COMM_SELF's is not. */
static int called;
static void handle(MPI_Comm *of, int *code, ...)
{
    (void)code;
    called += *of == MPI_COMM_NULL;
}
static int given_handler(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    int alone = MPI_Comm_create_from_group(MPI_GROUP_NULL, "", MPI_INFO_NULL, handler, &comm);
    int between = MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, MPI_GROUP_NULL, 0, "", MPI_INFO_NULL,
                                                   handler, &comm);
    MPI_Errhandler_free(&handler);
    return called == 2 && between == alone ? alone : MPI_ERR_OTHER;
}
static int call_after_the_last(void)
{
    MPI_Session_finalize(&session);
    return MPI_Comm_size(MPI_COMM_WORLD, &count);
}
static int left_open(void) { return MPI_SUCCESS; }

static const struct { const char *name; int (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(null_session), CASE(invented_session), CASE(finalized_session),
    CASE(no_such_set),  CASE(no_info_of_it),    CASE(set_beyond),
    CASE(set_before),   CASE(negative_room),    CASE(null_name),
    CASE(null_handler), CASE(bad_info),         CASE(nothing_attached),
    CASE(null_group),   CASE(given_handler),    CASE(call_after_the_last),
    CASE(left_open),
};

static const char *name_of(int class)
{
    switch (class) {
#define NAME(class) case class: return #class
        NAME(MPI_SUCCESS);
        NAME(MPI_ERR_SESSION);
        NAME(MPI_ERR_ARG);
        NAME(MPI_ERR_ERRHANDLER);
        NAME(MPI_ERR_INFO_VALUE);
        NAME(MPI_ERR_BUFFER);
        NAME(MPI_ERR_GROUP);
        NAME(MPI_ERR_OTHER);
    default: return "another class";
    }
}

int main(int argc, char **argv)
{
    MPI_Session_init(MPI_INFO_NULL, argc > 2 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL, &session);
    /* Failures of no session are MPI_COMM_SELF's. */
    if (argc > 2) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            int code = cases[i].run(), class = code;
            MPI_Error_class(code, &class);
            printf("%s\n", name_of(class));
            if (cases[i].run != left_open && session != MPI_SESSION_NULL) MPI_Session_finalize(&session);
            return 0;
        }
    return 1;
}
