// Functions that MPI calls throw, and the exception reaches the caller of MPI: as under MPICH.
#include "check.h"
#include <exception>
#include <stdexcept>
#include <string>

static int destroyed;

// Counts that a frame was left.
struct Frame {
    ~Frame() { destroyed++; }
};

// What `call` throws says.
template <typename F> static std::string thrown_by(F call)
{
    try {
        call();
    } catch (const std::exception &error) {
        return error.what();
    }
    return "nothing";
}

static void tell(MPI_Comm *, int *code, ...)
{
    int kind;
    MPI_Error_class(*code, &kind);
    Frame frame;
    throw std::runtime_error("class " + std::to_string(kind == MPI_ERR_RANK));
}

static void error_handlers()
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    for (int i = 1; i <= 3; i++) {
        CHECK(thrown_by([&] { MPI_Send(&i, 1, MPI_INT, size, 0, comm); }) == "class 1");
        CHECK(destroyed == i && std::uncaught_exceptions() == 0);
    }
    CHECK(thrown_by([&] { MPI_Comm_call_errhandler(comm, MPI_ERR_TAG); }) == "class 0");
    // Inside a catch block, and what that was about is still there.
    try {
        throw std::logic_error("outside");
    } catch (const std::logic_error &error) {
        MPI_Barrier(comm);
        CHECK(thrown_by([&] { MPI_Send(&rank, 1, MPI_INT, -77, 0, comm); }) == "class 1");
        CHECK(error.what() == std::string("outside"));
    }
    // Ranks that throw while others wait in MPI.
    int sum = 0;
    if (rank % 2)
        CHECK(thrown_by([&] { MPI_Recv(&sum, 1, MPI_INT, size, 0, comm, MPI_STATUS_IGNORE); }) == "class 1");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static int calls;

static void refuses(void *, void *, int *, MPI_Datatype *)
{
    calls++;
    Frame frame;
    throw std::runtime_error("operation of rank " + std::to_string(rank));
}

static void operations()
{
    MPI_Op op;
    MPI_Op_create(refuses, 1, &op);
    const std::string mine = "operation of rank " + std::to_string(rank);
    int a[3] = {rank, 1, 2}, b[3] = {3, 4, 5}, total = 0;
    CHECK(thrown_by([&] { MPI_Reduce_local(a, b, 3, MPI_INT, op); }) == mine);
    CHECK(calls == 1 && destroyed == 1 && b[2] == 5 && std::uncaught_exceptions() == 0);
    // Of two ranks each calls it; of several some do, and all go on.
    std::string said = thrown_by([&] { MPI_Allreduce(a, b, 3, MPI_INT, op, MPI_COMM_WORLD); });
    CHECK(said == (calls > 1 ? mine : "nothing"));
    CHECK(size != 2 || calls == 2);
    MPI_Allreduce(&size, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == size * size && std::uncaught_exceptions() == 0);
    // The rank waits for the request, or is already in another call.
    MPI_Request request;
    calls = 0;
    said = thrown_by([&] {
        MPI_Ireduce(a, b, 3, MPI_INT, op, 0, MPI_COMM_SELF, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Iallreduce(a, b, 3, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    CHECK(said == (calls ? mine : "nothing"));
    CHECK(size != 2 || calls == 1);
    MPI_Op_free(&op);
}

static int delete_calls;

static int no_copy(MPI_Comm, int, void *, void *, void *, int *)
{
    throw std::runtime_error("no copy");
}

static int no_delete(MPI_Comm, int, void *, void *)
{
    if (delete_calls++ == 0)
        throw std::runtime_error("no delete");
    return MPI_SUCCESS;
}

static void attributes()
{
    MPI_Comm comm, other = MPI_COMM_NULL;
    int key, last, found, value;
    void *where;
    MPI_Comm_create_keyval(no_copy, no_delete, &key, nullptr);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, no_delete, &last, nullptr);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, &value);
    CHECK(thrown_by([&] { MPI_Comm_dup(comm, &other); }) == "no copy");
    CHECK(thrown_by([&] { MPI_Comm_delete_attr(comm, key); }) == "no delete");
    MPI_Comm_get_attr(comm, key, &where, &found);
    CHECK(found && where == &value && delete_calls == 1);
    MPI_Comm_free(&comm);
    CHECK(delete_calls == 2 && comm == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, &value);
    delete_calls = 0;
    CHECK(thrown_by([&] { MPI_Comm_set_attr(MPI_COMM_SELF, last, nullptr); }) == "no delete");
    MPI_Comm_free_keyval(&last);
}

static int ask(void *, MPI_Status *)
{
    throw std::runtime_error("no answer");
}

static int let_go(void *)
{
    return MPI_SUCCESS;
}

static int give_up(void *, int)
{
    throw std::runtime_error("no cancel");
}

static void generalized()
{
    MPI_Request request;
    MPI_Grequest_start(ask, let_go, give_up, nullptr, &request);
    CHECK(thrown_by([&] { MPI_Cancel(&request); }) == "no cancel");
    MPI_Grequest_complete(request);
    CHECK(thrown_by([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }) == "no answer");
    CHECK(std::uncaught_exceptions() == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void uncaught()
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const Case cases[] = {
    {"error_handlers", error_handlers}, {"operations", operations}, {"attributes", attributes},
    {"generalized", generalized},       {"uncaught", uncaught},
};
RUN_CASES(cases)
