/* Sessions: with and without the world of MPI_Init, before and after it. Each case is a program of its
 * own. */
#include "check.h"

static MPI_Session open_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS &&
          session != MPI_SESSION_NULL);
    return session;
}

/* A communicator of all ranks, and who this rank is. */
static MPI_Comm all_of(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    return comm;
}

/* Messages, a collective, a window and a datatype. */
static void use(MPI_Comm comm)
{
    int mine, count, sum = 0, got = -1;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &count);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == count * (count - 1) / 2);
    MPI_Sendrecv(&mine, 1, MPI_INT, (mine + 1) % count, 3, &got, 1, MPI_INT, (mine + count - 1) % count, 3,
                 comm, MPI_STATUS_IGNORE);
    CHECK(got == (mine + count - 1) % count);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int memory[2] = {-1, -1}, put[2] = {mine, count};
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(put, 1, pair, (mine + 1) % count, 0, 1, pair, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == got && memory[1] == count);
    MPI_Win_free(&win);
    MPI_Type_free(&pair);
}

static int flag_of(int (*ask)(int *))
{
    int flag = -1;
    ask(&flag);
    return flag;
}

/* No MPI_Init at all, twice in a row. */
static void alone(void)
{
    for (int i = 0; i < 2; i++) {
        MPI_Session session = open_session();
        CHECK(!flag_of(MPI_Initialized) && !flag_of(MPI_Finalized));
        MPI_Comm comm = all_of(session, "alone");
        use(comm);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
        CHECK(session == MPI_SESSION_NULL);
    }
}

/* Two at a time, with communicators of their own and ones that follow from these. */
static void several(void)
{
    MPI_Session one = open_session(), two = open_session();
    CHECK(one != two);
    MPI_Comm first = all_of(one, "first"), second = all_of(two, "second"), half, again;
    int value = rank, got = -1;
    MPI_Request request;
    /* A message in one is none in the other. */
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, second, &request);
    MPI_Send(&(int){1000}, 1, MPI_INT, (rank + 1) % size, 0, first);
    MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, second);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, first, MPI_STATUS_IGNORE);
    CHECK(got == 1000);
    MPI_Comm_split(first, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &again);
    use(again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&half);
    MPI_Comm_free(&first);
    MPI_Session_finalize(&one);
    use(second);
    MPI_Comm_free(&second);
    MPI_Session_finalize(&two);
}

/* Before MPI_Init, in the world, and after MPI_Finalize. */
static void with_world(void)
{
    MPI_Session before = open_session();
    MPI_Comm comm = all_of(before, "before");
    use(comm);
    MPI_Init(NULL, NULL);
    CHECK(flag_of(MPI_Initialized) && !flag_of(MPI_Finalized));
    MPI_Group mine, worlds;
    int result;
    MPI_Comm_group(comm, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &worlds);
    MPI_Group_compare(mine, worlds, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&mine);
    MPI_Group_free(&worlds);
    use(MPI_COMM_WORLD);
    MPI_Session within = open_session();
    MPI_Finalize();
    CHECK(flag_of(MPI_Finalized));
    use(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&before);
    comm = all_of(within, "within");
    use(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&within);
}

/* A session that is opened when the world is over. */
static void after(void)
{
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    alone_again:;
    MPI_Session session = open_session();
    MPI_Comm comm = all_of(session, "after");
    use(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    static int times;
    if (times++ == 0) goto alone_again;
}

static void process_sets(void)
{
    MPI_Session session = open_session();
    MPI_Comm comm = all_of(session, "sets");
    int count, length, found = 0, flag;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    CHECK(count >= 2);
    for (int n = 0; n < count; n++) {
        char name[MPI_MAX_PSET_NAME_LEN], shorter[5] = "####", value[16];
        length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL);
        CHECK(length > 1);
        int whole = length;
        length = sizeof name;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name);
        CHECK(length == whole && (int)strlen(name) == whole - 1);
        length = 4;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, shorter);
        CHECK(length == whole && strcmp(shorter, "mpi") == 0);
        int world = strcmp(name, "mpi://WORLD") == 0, self = strcmp(name, "mpi://SELF") == 0;
        found += world + 2 * self;
        MPI_Info info;
        MPI_Session_get_pset_info(session, name, &info);
        length = sizeof value;
        MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
        CHECK(flag && atoi(value) == (world ? size : 1));
        MPI_Info_free(&info);
        MPI_Group group;
        int members, mine;
        MPI_Group_from_session_pset(session, name, &group);
        MPI_Group_size(group, &members);
        MPI_Group_rank(group, &mine);
        CHECK(members == (world ? size : 1) && mine == (world ? rank : 0));
        MPI_Group_free(&group);
    }
    CHECK(found == 3);
    /* A communicator of a rank alone, and who is in no group has none. */
    MPI_Group group;
    MPI_Comm self, none;
    MPI_Group_from_session_pset(session, "mpi://self", &group);
    MPI_Comm_create_from_group(group, "self", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &self);
    use(self);
    MPI_Comm_free(&self);
    MPI_Group_free(&group);
    MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &none);
    CHECK(none == MPI_COMM_NULL);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

static void infos(void)
{
    const char *levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_MULTIPLE"};
    const char *given[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_FUNNELED"};
    for (int i = 0; i < 3; i++) {
        MPI_Info info, used;
        MPI_Session session;
        char value[64];
        int length = sizeof value, flag;
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", levels[i]);
        MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
        MPI_Info_free(&info);
        MPI_Session_get_info(session, &used);
        MPI_Info_get_string(used, "thread_level", &length, value, &flag);
        CHECK(flag && strcmp(value, given[i]) == 0);
        length = sizeof value;
        MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &length, value, &flag);
        CHECK(flag && strstr(value, "system") != NULL);
        MPI_Info_free(&used);
        MPI_Session_finalize(&session);
    }
}

static void between(void)
{
    MPI_Session session = open_session();
    MPI_Comm comm = all_of(session, "between"), inter, merged;
    CHECK(size > 1);
    MPI_Group group, halves[2];
    MPI_Comm_group(comm, &group);
    MPI_Group_range_incl(group, 1, (int[1][3]){{0, size / 2 - 1, 1}}, &halves[0]);
    MPI_Group_range_incl(group, 1, (int[1][3]){{size / 2, size - 1, 1}}, &halves[1]);
    int side = rank >= size / 2, remote;
    MPI_Intercomm_create_from_groups(halves[side], 0, halves[!side], 0, "between", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &inter);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(remote == (side ? size / 2 : size - size / 2));
    MPI_Intercomm_merge(inter, side, &merged);
    use(merged);
    MPI_Group_free(&group);
    MPI_Group_free(&halves[0]);
    MPI_Group_free(&halves[1]);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* Whether a buffered send on the communicator finds a buffer with room for it. */
static int sends(MPI_Comm comm, int bytes)
{
    char *out = calloc(1, bytes), *in = malloc(bytes);
    int code = MPI_Bsend(out, bytes, MPI_BYTE, 0, 0, comm);
    if (code == MPI_SUCCESS) MPI_Recv(in, bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    return code == MPI_SUCCESS;
}

/* A buffer serves the communicators that come from its session, and no others. */
static void buffers(void)
{
    MPI_Session one = open_session(), two = open_session();
    MPI_Group groups[2];
    MPI_Comm mine, dup, other;
    MPI_Group_from_session_pset(one, "mpi://SELF", &groups[0]);
    MPI_Comm_create_from_group(groups[0], "mine", MPI_INFO_NULL, MPI_ERRORS_RETURN, &mine);
    MPI_Comm_dup(mine, &dup);
    MPI_Group_from_session_pset(two, "mpi://SELF", &groups[1]);
    MPI_Comm_create_from_group(groups[1], "other", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    MPI_Group_free(&groups[0]);
    MPI_Group_free(&groups[1]);
    static char room[2000], less[1000];
    void *was;
    int bytes;
    CHECK(!sends(mine, 100));
    MPI_Session_attach_buffer(one, room, sizeof room);
    CHECK(sends(mine, 1000) && sends(dup, 1000) && !sends(other, 100));
    /* A communicator's own comes first, all the others' last. */
    MPI_Comm_attach_buffer(dup, less, sizeof less);
    MPI_Buffer_attach(less, sizeof less);
    CHECK(sends(mine, 1000) && !sends(dup, 1000) && sends(dup, 100) && sends(other, 100) &&
          !sends(other, 1000));
    MPI_Comm_detach_buffer(dup, &was, &bytes);
    CHECK(was == less && bytes == sizeof less);
    MPI_Buffer_detach(&was, &bytes);
    MPI_Request request;
    MPI_Session_flush_buffer(one);
    MPI_Session_iflush_buffer(one, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(one, &was, &bytes);
    CHECK(was == room && bytes == sizeof room && !sends(mine, 100));
    MPI_Session_attach_buffer(two, MPI_BUFFER_AUTOMATIC, 0);
    CHECK(sends(other, 100000));
    MPI_Session_detach_buffer(two, &was, &bytes);
    CHECK(was == MPI_BUFFER_AUTOMATIC && bytes == 0);
    MPI_Comm_free(&mine);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&other);
    MPI_Session_finalize(&one);
    MPI_Session_finalize(&two);
}

static int heard, heard_code;
static MPI_Session heard_of;
static void hear(MPI_Session *session, int *code, ...)
{
    heard++;
    heard_of = *session;
    heard_code = *code;
}

static void handlers(void)
{
    MPI_Errhandler handler, got;
    MPI_Session session;
    MPI_Info info;
    MPI_Session_create_errhandler(hear, &handler);
    /* What fails in MPI_Session_init is told to the handler that the session would have. */
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "as many as you like");
    CHECK(MPI_Session_init(info, handler, &session) != MPI_SUCCESS && heard == 1);
    MPI_Info_free(&info);
    CHECK(MPI_Session_init(MPI_INFO_NULL, handler, &session) == MPI_SUCCESS);
    MPI_Session_get_errhandler(session, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Group group = MPI_GROUP_NULL;
    int class;
    CHECK(MPI_Group_from_session_pset(session, "mpi://nobody", &group) != MPI_SUCCESS && heard == 2 &&
          heard_of == session);
    MPI_Error_class(heard_code, &class);
    CHECK(class == MPI_ERR_ARG && group == MPI_GROUP_NULL);
    CHECK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS && heard == 3 &&
          heard_code == MPI_ERR_OTHER);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
    MPI_Session_get_errhandler(session, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK(MPI_Session_get_pset_info(session, "mpi://nobody", &info) != MPI_SUCCESS && heard == 3);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);
}

static const Case cases[] = {
    {"alone", alone},     {"several", several},           {"with_world", with_world},
    {"after", after},     {"process_sets", process_sets}, {"infos", infos},
    {"between", between}, {"buffers", buffers},           {"handlers", handlers},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            printf("ok\n");
            return 0;
        }
    return 1;
}
