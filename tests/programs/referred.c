/* Payloads of nonblocking sends that may stay where they are until the send is completed. */
#include "check.h"

enum { COUNT = 5000 };

static void fill(int *data, int with)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = with + i;
}

static void expect(const int *data, int with)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(data[i] == with + i);
}

/* The send is completed in one of several ways, its buffer overwritten, and only then the message
 * received. */
static void completed_first(int *data, int *got, int left, int right)
{
    for (int way = 0; way < 6; way++) {
        MPI_Request request;
        fill(data, 1000 * rank + way);
        if (way < 4)
            MPI_Isend(data, COUNT, MPI_INT, right, way, MPI_COMM_WORLD, &request);
        else
            MPI_Send_init(data, COUNT, MPI_INT, right, way, MPI_COMM_WORLD, &request);
        if (way >= 4)
            MPI_Start(&request);
        int flag = 0;
        switch (way) {
        case 1:
            while (!flag)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Request_free(&request);
            break;
        case 3: {
            int index;
            MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
            CHECK(index == 0);
            break;
        }
        default: {
            MPI_Status status;
            int count;
            MPI_Wait(&request, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(count == 0);
        }
        }
        fill(data, -1);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(got, 0, COUNT * sizeof *got);
        if (way == 5) {
            MPI_Message message;
            MPI_Mprobe(left, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(got, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else
            MPI_Recv(got, COUNT, MPI_INT, way == 3 ? MPI_ANY_SOURCE : left, way, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        expect(got, 1000 * left + way);
        if (way >= 4)
            MPI_Request_free(&request);
    }
}

/* The message is received while the send is open: into contiguous memory, by a derived type, too short, on
 * the stack. */
static void received_first(int *data, int *got, int left, int right)
{
    for (int way = 0; way < 5; way++) {
        MPI_Request request;
        int here[COUNT];
        fill(data, 1000 * rank + 50 * way);
        MPI_Isend(data, COUNT, MPI_INT, right, way, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(got, 0, 2 * COUNT * sizeof *got);
        if (way == 0 || way == 4) {
            MPI_Recv(got, COUNT, MPI_INT, way == 0 ? left : MPI_ANY_SOURCE, way, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            expect(got, 1000 * left + 50 * way);
        } else if (way == 1) {
            MPI_Datatype every_second;
            MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_second);
            MPI_Type_commit(&every_second);
            MPI_Recv(got, 1, every_second, left, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < COUNT; i++)
                CHECK(got[2 * i] == 1000 * left + 50 * way + i && (i == COUNT - 1 || got[2 * i + 1] == 0));
            MPI_Type_free(&every_second);
        } else if (way == 2) {
            int class;
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            MPI_Error_class(MPI_Recv(got, 10, MPI_INT, left, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
            CHECK(class == MPI_ERR_TRUNCATE);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        } else {
            MPI_Request receive;
            MPI_Irecv(here, COUNT, MPI_INT, left, way, MPI_COMM_WORLD, &receive);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            expect(here, 1000 * left + 50 * way);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int *data = malloc(COUNT * sizeof *data), *got = malloc(2 * COUNT * sizeof *got);
    completed_first(data, got, left, right);
    received_first(data, got, left, right);
    free(data);
    free(got);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
