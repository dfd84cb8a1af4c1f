/* Requests of the program's own, persistent requests and their datatypes, errors in statuses, and
 * communicators after MPI_Comm_free. */
#include "fails.h"

static int queries, frees, cancels;

static int query(void *extra, MPI_Status *status)
{
    queries++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancels += !complete;
    return MPI_SUCCESS;
}

static void generalized_requests_call_the_program(void)
{
    MPI_Request request, both[2];
    MPI_Status status;
    int elements = 5, count, flag, x = 0;

    MPI_Grequest_start(query, release, cancel, &elements, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queries == 0);
    MPI_Cancel(&request);
    CHECK(cancels == 1);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(request == MPI_REQUEST_NULL && count == 5 && status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    CHECK(queries == 1 && frees == 1);

    MPI_Grequest_start(query, release, cancel, &elements, &both[0]);
    MPI_Irecv(&x, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &both[1]);
    MPI_Grequest_complete(both[0]);
    MPI_Send(&elements, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    /* A status says that a request is complete: its data is there, the request too. */
    do
        MPI_Request_get_status_all(2, both, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    CHECK(x == 5 && both[1] != MPI_REQUEST_NULL);
    x = 6;
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(x == 6 && frees == 2);
    MPI_Request_get_status_any(2, both, &count, &flag, &status);
    CHECK(flag && count == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
}

static void persistent_requests_keep_their_datatype(void)
{
    MPI_Datatype type;
    MPI_Request send, receive;
    int out[6] = {1, 2, 3, 4, 5, 6}, in[3], i;

    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(out, 1, type, (rank + 1) % size, 2, MPI_COMM_WORLD, &send);
    MPI_Recv_init(in, 3, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &receive);
    MPI_Type_free(&type);
    for (i = 0; i < 3; i++) {
        in[0] = in[1] = in[2] = 0;
        MPI_Start(&receive);
        MPI_Start(&send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        CHECK(in[0] == 1 && in[1] == 3 && in[2] == 5);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void statuses_tell_which_message_was_too_long(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int a[2] = {0}, b[2] = {0}, out[2] = {7, 8}, count, indices[2];

    MPI_Irecv(a, 2, MPI_INT, rank, 20, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(b, 1, MPI_INT, rank, 21, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(out, 2, MPI_INT, rank, 20, MPI_COMM_WORLD);
    MPI_Send(out, 2, MPI_INT, rank, 21, MPI_COMM_WORLD);
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && a[1] == 8);
    CHECK(statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_TAG == 21 &&
          statuses[1].MPI_SOURCE == rank);

    MPI_Irecv(b, 1, MPI_INT, rank, 22, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Send(out, 2, MPI_INT, rank, 22, MPI_COMM_WORLD);
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitsome(2, requests, &count, indices, statuses));
    CHECK(count == 1 && indices[0] == 0 && statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE);
}

static void a_freed_communicator_is_none_for_its_rank_alone(void)
{
    MPI_Comm twin, copy;
    int x = rank;

    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    copy = twin;
    if (rank == 0) {
        MPI_Comm_free(&twin);
        FAILS(MPI_ERR_COMM, MPI_Comm_free(&copy));
        FAILS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, 0, 0, copy));
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Sendrecv_replace(&x, 1, MPI_INT, rank, 3, rank, 3, twin, MPI_STATUS_IGNORE);
        MPI_Comm_free(&twin);
    }
    CHECK(twin == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    generalized_requests_call_the_program();
    persistent_requests_keep_their_datatype();
    statuses_tell_which_message_was_too_long();
    a_freed_communicator_is_none_for_its_rank_alone();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
