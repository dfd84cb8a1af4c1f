/* Errors of calls that name requests alone go to the error handler of the object that a request is of, once a
 * call. MPI_COMM_WORLD and MPI_COMM_SELF end the run. The second half has ranks that fail (-xsim-ft). */
#include "survives.h"

static const char *name;
static int on_comm, on_win, on_file;
static MPI_Comm mine;

static void comm_handler(MPI_Comm *comm, int *code, ...) { on_comm += *comm == mine && *code != MPI_SUCCESS; }
static void win_handler(MPI_Win *win, int *code, ...) { (void)win, on_win += *code != MPI_SUCCESS; }
static void file_handler(MPI_File *file, int *code, ...) { (void)file, on_file += *code != MPI_SUCCESS; }

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void have_comm(void)
{
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_create_errhandler(comm_handler, &handler);
    MPI_Comm_set_errhandler(mine, handler);
    MPI_Errhandler_free(&handler);
}

/* Two receives from the rank itself, the first too short for its message; all of the calls that complete. */
static void truncated(void)
{
    enum { WAIT, TEST, WAITANY, TESTANY, WAITSOME, TESTSOME, WAITALL, TESTALL, COUNT };
    static const char *const names[COUNT] = {"wait",     "test",     "waitany", "testany",
                                             "waitsome", "testsome", "waitall", "testall"};
    have_comm();
    for (int kind = 0; kind < 2 * COUNT; kind++) {
        int out[4] = {1, 2, 3, 4}, in[2][4], persistent = kind % 2, call = kind / 2, flag = 0,
            code = MPI_SUCCESS, index = 7, indices[2], count;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        for (int i = 0; i < 2; i++) {
            if (persistent) {
                MPI_Recv_init(in[i], i ? 4 : 1, MPI_INT, rank, i, mine, &requests[i]);
                MPI_Start(&requests[i]);
            } else {
                MPI_Irecv(in[i], i ? 4 : 1, MPI_INT, rank, i, mine, &requests[i]);
            }
            MPI_Send(out, 4, MPI_INT, rank, i, mine);
        }
        xsim_compute(1e-3);
        switch (call) {
        case WAIT: code = MPI_Wait(&requests[0], statuses); break;
        case TEST: code = MPI_Test(&requests[0], &flag, statuses); break;
        case WAITANY: code = MPI_Waitany(2, requests, &index, statuses); break;
        case TESTANY: code = MPI_Testany(2, requests, &index, &flag, statuses); break;
        case WAITSOME: code = MPI_Waitsome(2, requests, &count, indices, statuses); break;
        case TESTSOME: code = MPI_Testsome(2, requests, &count, indices, statuses); break;
        case WAITALL: code = MPI_Waitall(2, requests, statuses); break;
        default: code = MPI_Testall(2, requests, &flag, statuses);
        }
        if (class_of(code) != (call < WAITSOME ? MPI_ERR_TRUNCATE : MPI_ERR_IN_STATUS) || on_comm != kind + 1)
            printf("%d %s %d: class %d, the handler was called %d times\n", rank, names[call], persistent,
                   class_of(code), on_comm);
        /* The request that failed is named. */
        if ((call == WAITANY || call == TESTANY) && index != 0)
            printf("%d %s %d: index %d\n", rank, names[call], persistent, index);
        if (call == TESTANY && !flag)
            printf("%d %s %d: no flag\n", rank, names[call], persistent);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2; i++)
            if (requests[i] != MPI_REQUEST_NULL)
                MPI_Request_free(&requests[i]);
    }
}

/* Rank 1 fails at 100 us. */
static void failed(void)
{
    MPI_Request requests[6];
    int in[4], one = 1, flag = 0, count = 0;
    have_comm();
    if (rank == 1)
        fails();
    until(50e-6);
    MPI_Irecv(&in[0], 1, MPI_INT, 1, 1, mine, &requests[count++]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, mine, &requests[count++]);
    MPI_Issend(&one, 1, MPI_INT, 1, 3, mine, &requests[count++]);
    MPI_Recv_init(&in[2], 1, MPI_INT, 1, 4, mine, &requests[count]);
    MPI_Start(&requests[count++]);
    MPI_Ibarrier(mine, &requests[count++]);
    MPI_Precv_init(&in[3], 1, 1, MPI_INT, 1, 5, mine, MPI_INFO_NULL, &requests[count]);
    MPI_Start(&requests[count++]);
    for (int i = 0; i < count; i++) {
        int class = class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK(class == (i == 1 ? MPIX_ERR_PROC_FAILED_PENDING : MPIX_ERR_PROC_FAILED));
        CHECK(on_comm == i + 1);
    }
    MPI_Start(&requests[5]);
    CHECK(class_of(MPI_Parrived(requests[5], 0, &flag)) == MPIX_ERR_PROC_FAILED && on_comm == count + 1);
    MPI_Wait(&requests[5], MPI_STATUS_IGNORE);
    on_comm = 0;
    CHECK(class_of(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)) == MPI_ERR_IN_STATUS && on_comm == 1);
}

/* As `failed`, of what is under way on a window and on a file. */
static void failed_beside(void)
{
    MPI_Request request;
    int got, *memory;
    MPI_Win win;
    MPI_File file;
    MPI_Errhandler handler;
    have_comm();
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, mine, &memory, &win);
    MPI_Win_create_errhandler(win_handler, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_File_open(mine, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_create_errhandler(file_handler, &handler);
    MPI_File_set_errhandler(file, handler);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Put(&rank, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        fails();
    }
    until(50e-6);
    CHECK(MPI_File_iread_at_all(file, 0, &got, 1, MPI_INT, &request) == MPI_SUCCESS);
    if (rank == 3) {
        MPI_Request access;
        MPI_Win_lock_all(0, win);
        MPI_Rget(&got, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &access);
        CHECK(class_of(MPI_Wait(&access, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED && on_win == 1);
    }
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED && on_file == 1 &&
          on_comm == 0);
}

static const Case cases[] = {{"truncated", truncated}, {"failed", failed}, {"beside", failed_beside}};

int main(int argc, char **argv)
{
    name = argc > 2 ? argv[2] : "file";
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
