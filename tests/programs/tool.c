/* The tool information interface: variables, handles, sessions, categories, enumerations and sources. Each
 * case is a program of its own. */
#include "check.h"
#include <xsim.h>

static char name[200], text[2000];
static int length, other, index_of, count, provided;

static void begin(void)
{ CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_SINGLE); }

static int cvar(const char *called)
{
    CHECK(MPI_T_cvar_get_index(called, &index_of) == MPI_SUCCESS);
    return index_of;
}

/* What an option is, as text. */
static const char *option(const char *called)
{
    MPI_T_cvar_handle handle;
    CHECK(MPI_T_cvar_handle_alloc(cvar(called), NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(handle, text) == MPI_SUCCESS && (int)strlen(text) + 1 == count);
    CHECK(MPI_T_cvar_write(handle, "else") == MPI_T_ERR_CVAR_SET_NEVER);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
    return text;
}

/* Before MPI_Init, within, and after MPI_Finalize. */
static void options(void)
{
    for (int i = 0; i < 3; i++) {
        begin();
        CHECK(atoi(option("xsim_np")) > 0 && strcmp(option("xsim_trace_times"), "histogram") == 0);
        CHECK(MPI_T_finalize() == MPI_SUCCESS);
        if (i == 0) MPI_Init(NULL, NULL);
        if (i == 1) MPI_Finalize();
    }
    CHECK(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED);
}

/* Every variable has a name that leads to it, texts that are cut where there is no room, and a category. */
static void tables(void)
{
    int cvars, pvars, categories, class, verbosity, bind, scope, readonly, continuous, atomic,
        in_categories = 0;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    MPI_Init(NULL, NULL);
    begin();
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    MPI_T_category_get_num(&categories);
    CHECK(cvars > 20 && pvars == 7 && categories == 6);
    for (int i = 0; i < cvars; i++) {
        length = other = 0;
        CHECK(MPI_T_cvar_get_info(i, NULL, &length, &verbosity, &datatype, &enumtype, NULL, &other, &bind,
                                  &scope) == MPI_SUCCESS);
        CHECK(length > 1 && other > 1 && bind == MPI_T_BIND_NO_OBJECT &&
              (datatype == MPI_CHAR || datatype == MPI_INT));
        int whole = length;
        char shorter[5] = "####";
        length = 4;
        MPI_T_cvar_get_info(i, shorter, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        CHECK(strcmp(shorter, "xsi") == 0 && length == whole);
        length = sizeof name;
        MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        CHECK(length == whole && cvar(name) == i);
    }
    for (int i = 0; i < pvars; i++) {
        length = sizeof name;
        MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &datatype, &enumtype, NULL, NULL, &bind,
                            &readonly, &continuous, &atomic);
        CHECK(MPI_T_pvar_get_index(name, class, &index_of) == MPI_SUCCESS && index_of == i &&
              readonly == continuous);
        CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_PERCENTAGE, &index_of) == MPI_T_ERR_INVALID_NAME);
    }
    for (int i = 0; i < categories; i++) {
        int held_cvars, held_pvars, held, indices[100];
        length = sizeof name;
        MPI_T_category_get_info(i, name, &length, NULL, NULL, &held_cvars, &held_pvars, &held);
        CHECK(MPI_T_category_get_index(name, &index_of) == MPI_SUCCESS && index_of == i);
        CHECK(MPI_T_category_get_num_events(i, &count) == MPI_SUCCESS && count == (held_pvars > 0 ? 4 : 0));
        in_categories += held_cvars + held_pvars;
        MPI_T_category_get_cvars(i, 100, indices);
        for (int k = 1; k < held_cvars; k++) CHECK(indices[k - 1] < indices[k] && indices[k] < cvars);
        MPI_T_category_get_categories(i, 100, indices);
        CHECK(held == (i == 0 ? categories - 1 : 0) && (held == 0 || indices[held - 1] == categories - 1));
        indices[0] = -7;
        MPI_T_category_get_pvars(i, 0, indices);
        CHECK(indices[0] == -7);
    }
    CHECK(in_categories == cvars + pvars);
    CHECK(MPI_T_category_changed(&count) == MPI_SUCCESS && MPI_T_event_get_num(&count) == MPI_SUCCESS &&
          count == 4);
    MPI_T_finalize();
    MPI_Finalize();
}

static MPI_T_pvar_session session;

static MPI_T_pvar_handle pvar(const char *called, int class, void *object)
{
    MPI_T_pvar_handle handle;
    CHECK(MPI_T_pvar_get_index(called, class, &index_of) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index_of, object, &handle, &count) == MPI_SUCCESS && count == 1);
    return handle;
}

static unsigned long long number(MPI_T_pvar_handle handle)
{
    unsigned long long value = -1;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

static unsigned level(MPI_T_pvar_handle handle)
{
    unsigned value = -1;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

/* Rank 0 sends to the last: so many messages, so many bytes; they wait there, by communicator. */
static void counters(void)
{
    MPI_Comm dup, world = MPI_COMM_WORLD;
    MPI_Init(NULL, NULL);
    begin();
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_dup(world, &dup);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_T_pvar_handle messages = pvar("xsim_messages_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
    MPI_T_pvar_handle bytes = pvar("xsim_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    MPI_T_pvar_handle in_world = pvar("xsim_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &world);
    MPI_T_pvar_handle in_dup = pvar("xsim_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &dup);
    static char data[1000];
    int last = size - 1;
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    if (rank == 0)
        for (int i = 0; i < 5; i++) MPI_Send(data, 100 * (i + 1), MPI_BYTE, last, 0, i < 3 ? world : dup);
    CHECK(number(messages) == (rank == 0 ? 5 : 0) && number(bytes) == (rank == 0 ? 1500 : 0));
    MPI_T_pvar_stop(session, bytes);
    MPI_Barrier(world);
    if (rank == last) {
        /* By then all have arrived. */
        xsim_compute(1e-3);
        CHECK(level(in_world) == 3 && level(in_dup) == 2);
        MPI_Recv(data, 1000, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE);
        CHECK(level(in_world) == 2 && level(in_dup) == 2);
        for (int i = 1; i < 5; i++)
            MPI_Recv(data, 1000, MPI_BYTE, 0, 0, i < 3 ? world : dup, MPI_STATUS_IGNORE);
        CHECK(level(in_world) == 0 && level(in_dup) == 0);
    }
    MPI_Barrier(world);
    if (rank == 0) {
        MPI_Request request;
        MPI_Isend(data, 7, MPI_BYTE, last, 1, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == last) MPI_Recv(data, 7, MPI_BYTE, 0, 1, world, MPI_STATUS_IGNORE);
    CHECK(number(messages) == (rank == 0 ? 6 : 0) && number(bytes) == (rank == 0 ? 1500 : 0));
    unsigned long long value = 40;
    CHECK(MPI_T_pvar_write(session, messages, &value) == MPI_SUCCESS && number(messages) == 40);
    CHECK(MPI_T_pvar_readreset(session, messages, &value) == MPI_SUCCESS && value == 40 &&
          number(messages) == 0);
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS && number(bytes) == 0);
    CHECK(MPI_T_pvar_handle_free(session, &messages) == MPI_SUCCESS && messages == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_read(session, bytes, &value) == MPI_T_ERR_INVALID_SESSION);
    MPI_Comm_free(&dup);
    MPI_T_finalize();
    MPI_Finalize();
}

/* Two ranks: rank 1 waits 2 us for an empty message of rank 0, which has computed 5 us. */
static void clocks(void)
{
    MPI_Init(NULL, NULL);
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle clock = pvar("xsim_virtual_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle compute = pvar("xsim_compute_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle wait = pvar("xsim_wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_pvar_handle phase = pvar("xsim_phase", MPI_T_PVAR_CLASS_STATE, NULL);
    if (rank == 0) {
        xsim_compute(5e-6);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(number(clock) == (rank ? 7000000 : 5000000) && number(compute) == (rank ? 0 : 5000000) &&
          number(wait) == (rank ? 7000000 : 0));
    MPI_T_enum enumtype;
    int items, value;
    MPI_T_pvar_get_index("xsim_phase", MPI_T_PVAR_CLASS_STATE, &index_of);
    MPI_T_pvar_get_info(index_of, NULL, NULL, NULL, NULL, NULL, &enumtype, NULL, NULL, NULL, NULL, NULL,
                        NULL);
    length = sizeof name;
    MPI_T_enum_get_info(enumtype, &items, name, &length);
    CHECK(items == 4 && strcmp(name, "xsim_phase") == 0);
    length = sizeof name;
    MPI_T_enum_get_item(enumtype, (int)level(phase), &value, name, &length);
    CHECK(value == (int)level(phase) && strcmp(name, "initialized") == 0);
    MPI_T_source_order order;
    MPI_Count ticks, most, stamp;
    MPI_T_source_get_num(&count);
    length = sizeof name;
    CHECK(count == 1 &&
          MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL) == MPI_SUCCESS);
    CHECK(order == MPI_T_SOURCE_ORDERED && ticks == 1000000000000 && most > ticks);
    CHECK(MPI_T_source_get_timestamp(0, &stamp) == MPI_SUCCESS && stamp == (MPI_Count)number(clock));
    MPI_T_finalize();
    MPI_Finalize();
}

/* One rank's calls stay out of the trace for a while. */
static void tracing(void)
{
    MPI_T_cvar_handle handle;
    int value = -1, off = 0;
    MPI_Init(NULL, NULL);
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_cvar_handle_alloc(cvar("xsim_trace_rank"), NULL, &handle, &count);
    CHECK(count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && value == 1);
    if (rank == 0)
        CHECK(MPI_T_cvar_write(handle, &off) == MPI_SUCCESS &&
              MPI_T_cvar_read(handle, &value) == MPI_SUCCESS && value == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_T_cvar_write(handle, &(int){1});
    MPI_T_finalize();
    MPI_Finalize();
}

static void wrong(void)
{
    MPI_T_pvar_handle pvars[2];
    MPI_T_pvar_session other_session;
    MPI_T_cvar_handle handle;
    MPI_Comm null = MPI_COMM_NULL;
    unsigned long long value = 0;
    MPI_Init(NULL, NULL);
    CHECK(MPI_T_pvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED &&
          MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    begin();
    begin();
    CHECK(MPI_T_finalize() == MPI_SUCCESS && MPI_T_cvar_get_num(&count) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_index("MPICH_SOMETHING", &index_of) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count) == MPI_T_ERR_INVALID_INDEX);
    handle = MPI_T_CVAR_HANDLE_NULL;
    CHECK(MPI_T_cvar_read(handle, text) == MPI_T_ERR_INVALID_HANDLE &&
          MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_category_get_info(6, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_source_get_timestamp(1, &(MPI_Count){0}) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("none", &index_of) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS &&
          MPI_T_pvar_session_create(&other_session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, 7, NULL, &pvars[0], &count) == MPI_T_ERR_INVALID_INDEX);
    MPI_T_pvar_get_index("xsim_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &index_of);
    CHECK(MPI_T_pvar_handle_alloc(session, index_of, &null, &pvars[0], &count) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_alloc(session, index_of, NULL, &pvars[0], &count) == MPI_T_ERR_INVALID_HANDLE);
    pvars[0] = pvar("xsim_wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    pvars[1] = pvar("xsim_messages_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CHECK(MPI_T_pvar_start(session, pvars[0]) == MPI_T_ERR_PVAR_NO_STARTSTOP &&
          MPI_T_pvar_stop(session, pvars[0]) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, pvars[0]) == MPI_T_ERR_PVAR_NO_WRITE &&
          MPI_T_pvar_write(session, pvars[0], &value) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, pvars[0], &value) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_read(other_session, pvars[1], &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_start((MPI_T_pvar_session)(size_t)0x77770, pvars[1]) == MPI_T_ERR_INVALID_SESSION);
    /* What is left open goes with the interface. */
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    begin();
    CHECK(MPI_T_pvar_read(session, pvars[1], &value) == MPI_T_ERR_INVALID_SESSION);
    MPI_T_finalize();
    MPI_Finalize();
}

static const Case cases[] = {
    {"options", options}, {"tables", tables},   {"counters", counters},
    {"clocks", clocks},   {"tracing", tracing}, {"wrong", wrong},
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
