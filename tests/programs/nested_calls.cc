// Calls within calls: functions that MPI calls call MPI, throw, and jump away.
//
//     nested_calls TURNS [left]
//
// Each rank makes so many calls of each kind; with a second argument some of them are left. Rank 0 prints
// "ok" if all gave what they must.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <stdexcept>

static int rank, size, bad;
static jmp_buf way_out;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    bad += extent != sizeof(int);
    for (int i = 0; i < *count; i++)
        static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
}

static int copied(MPI_Comm comm, int, void *, void *value, void *to, int *flag)
{
    int members;
    MPI_Comm_size(comm, &members);
    bad += members != size;
    *static_cast<void **>(to) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int, void *, void *)
{
    int own;
    MPI_Comm_rank(comm, &own);
    bad += own != rank;
    return MPI_SUCCESS;
}

static int asked(void *, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int freed(void *) { return MPI_SUCCESS; }
static int cancelled(void *, int) { return MPI_SUCCESS; }

static void throws(MPI_Comm *, int *code, ...)
{
    int kind;
    MPI_Error_class(*code, &kind);
    throw std::runtime_error("left");
}

static void jumps(MPI_Comm *, int *code, ...)
{
    int kind;
    MPI_Error_class(*code, &kind);
    longjmp(way_out, 1);
}

static void throwing(MPI_Comm comm)
{
    try {
        MPI_Send(&rank, 1, MPI_INT, size, 0, comm);
        bad++;
    } catch (const std::runtime_error &) {
    }
}

// Out of line: nothing of its frame lives across the jump.
__attribute__((noinline)) static void jumping(MPI_Comm comm)
{
    if (setjmp(way_out) == 0) {
        MPI_Ssend(&rank, 1, MPI_INT, size, 0, comm);
        bad++;
    }
}

int main(int argc, char **argv)
{
    int turns = argc > 1 ? atoi(argv[1]) : 3, all, key, sums[2], ones[2] = {1, 1};
    bool is_left = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(copied, deleted, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &turns);
    for (int turn = 0; turn < turns; turn++) {
        MPI_Request request;
        MPI_Comm comm;
        MPI_Allreduce(ones, sums, 2, MPI_INT, op, MPI_COMM_WORLD);
        bad += sums[1] != size;
        MPI_Exscan(ones, sums, 2, MPI_INT, op, MPI_COMM_WORLD);
        MPI_Iallreduce(ones, sums, 2, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        bad += sums[1] != size;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
        if (is_left) {
            MPI_Grequest_start(asked, freed, cancelled, nullptr, &request);
            MPI_Grequest_complete(request);
            MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        }
    }
    if (is_left) {
        MPI_Comm comm, other;
        MPI_Errhandler handler;
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &other);
        MPI_Comm_create_errhandler(throws, &handler);
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Errhandler_free(&handler);
        MPI_Comm_create_errhandler(jumps, &handler);
        MPI_Comm_set_errhandler(other, handler);
        MPI_Errhandler_free(&handler);
        for (int turn = 0; turn < turns; turn++) {
            throwing(comm);
            jumping(other);
        }
        MPI_Comm_free(&comm);
        MPI_Comm_free(&other);
    }
    MPI_Op_free(&op);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "%d wrong\n" : "ok\n", all);
    MPI_Finalize();
    return 0;
}
