/* Events of the tool interface: each call tells, with the values that it must have. */
#include "check.h"

#include <stdint.h>

enum { KINDS = 4, ELEMENTS = 3, ROUNDS = 3 };

static const char *const NAMES[KINDS] = {"xsim_call_entered", "xsim_call_left", "xsim_call_waited",
                                         "xsim_call_sent"};
static MPI_T_event_registration registered[KINDS];
static int told[KINDS], freed, recv_function, send_function;
static uint64_t waited, sent_bytes;
static MPI_Count last;

/* What an event has, as its displacements say. */
struct values {
    int function;
    unsigned code;
    uint64_t entered;
};

static void tell(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void *user_data)
{
    int kind = *(int *)user_data, source, function, me;
    MPI_Count at, now;
    told[kind]++;
    CHECK(registration == registered[kind] && safety == MPI_T_CB_REQUIRE_NONE);
    CHECK(MPI_T_event_get_source(event, &source) == MPI_SUCCESS && source == 0);
    MPI_T_event_get_timestamp(event, &at);
    MPI_T_source_get_timestamp(0, &now);
    CHECK(at >= last && now == at);
    last = at;
    MPI_T_event_read(event, 0, &function);
    CHECK(MPI_T_event_read(event, 3, &function) == MPI_T_ERR_INVALID_INDEX);
    uint64_t value;
    if (kind == 1) {
        struct values all;
        MPI_T_event_copy(event, &all);
        CHECK(all.function == function && all.code == MPI_SUCCESS && all.entered <= (uint64_t)at);
    }
    if (kind == 2 && function == recv_function) {
        MPI_T_event_read(event, 1, &value);
        waited += value;
    }
    if (kind == 3) {
        CHECK(function == send_function);
        MPI_T_event_read(event, 1, &value);
        CHECK(value == 1);
        MPI_T_event_read(event, 2, &value);
        sent_bytes += value;
    }
    /* What is called here raises nothing. */
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    CHECK(me == rank);
}

static void gone(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    CHECK(registration == registered[*(int *)user_data] && safety == MPI_T_CB_REQUIRE_NONE);
    freed++;
}

static void describe(int index, int kind)
{
    char name[64], description[256];
    int length = sizeof name, room = sizeof description, verbosity, elements = ELEMENTS, bind, items, item;
    MPI_Datatype types[ELEMENTS];
    MPI_Aint places[ELEMENTS];
    MPI_T_enum functions;
    MPI_Info info;
    MPI_T_event_get_info(index, name, &length, &verbosity, types, places, &elements, &functions, &info,
                         description, &room, &bind);
    CHECK(strcmp(name, NAMES[kind]) == 0 && bind == MPI_T_BIND_NO_OBJECT && types[0] == MPI_INT &&
          places[0] == 0);
    CHECK(elements == (kind == 0 ? 1 : kind == 2 ? 2 : 3));
    if (kind == 1)
        CHECK(types[1] == MPI_UNSIGNED && places[1] == 4 && types[2] == MPI_UNSIGNED_LONG_LONG &&
              places[2] == 8);
    MPI_T_enum_get_info(functions, &items, NULL, NULL);
    for (int i = 0; i < items; i++) {
        length = sizeof name;
        MPI_T_enum_get_item(functions, i, &item, name, &length);
        if (strcmp(name, "MPI_Recv") == 0)
            recv_function = item;
        if (strcmp(name, "MPI_Send") == 0)
            send_function = item;
    }
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int provided, kinds, indices[KINDS], numbers[KINDS] = {0, 1, 2, 3}, value = 7, count;
    long got[2];
    MPI_T_event_registration none;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_T_event_get_num(&kinds) == MPI_T_ERR_NOT_INITIALIZED);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_get_num(&kinds);
    CHECK(kinds == KINDS && MPI_T_event_get_index("none", &value) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_handle_alloc(KINDS, NULL, MPI_INFO_NULL, &none) == MPI_T_ERR_INVALID_INDEX);
    int next = (rank + 1) % size, last_rank = (rank + size - 1) % size;
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_T_event_get_index(NAMES[kind], &indices[kind]);
        describe(indices[kind], kind);
        MPI_T_event_handle_alloc(indices[kind], NULL, MPI_INFO_NULL, &registered[kind]);
        CHECK(MPI_T_event_register_callback(registered[kind], 2, MPI_INFO_NULL, NULL, tell) ==
              MPI_T_ERR_INVALID);
    }
    MPI_T_event_callback_get_info(registered[0], MPI_T_CB_REQUIRE_NONE, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Only even ranks listen. */
    if (rank % 2 == 0) {
        for (int kind = KINDS - 1; kind >= 0; kind--)
            MPI_T_event_register_callback(registered[kind], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                          &numbers[kind], tell);
    }
    int entered = told[0], left = told[1];
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Send((long[2]){rank, i}, 2, MPI_LONG, next, 1, MPI_COMM_WORLD);
        MPI_Recv(got, 2, MPI_LONG, last_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got[0] == last_rank && got[1] == i);
    }
    if (rank % 2 == 0) {
        CHECK(told[0] == entered + 2 * ROUNDS && told[1] == left + 2 * ROUNDS);
        /* Two links of a microsecond each, and 16 bytes at 16 GB/s. */
        CHECK(told[3] == ROUNDS && sent_bytes == ROUNDS * 16 && waited == ROUNDS * UINT64_C(2001000));
    } else {
        CHECK(told[0] == 0 && told[1] == 0 && told[2] == 0 && told[3] == 0);
    }
    for (int kind = 0; kind < KINDS; kind++)
        MPI_T_event_handle_free(registered[kind], &numbers[kind], gone);
    count = told[0];
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(freed == KINDS && told[0] == count);
    CHECK(MPI_T_event_handle_free(registered[0], NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_finalize();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
