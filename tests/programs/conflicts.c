/* Works here and is not promised by MPI: buffers that overlap in pending operations, and types that do not
 * match. `conflicts none` has nothing of it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, next, last;

/* Each line that is a finding says so. */
static void overlaps(void)
{
    int value[4] = {0}, own = rank;
    MPI_Request two[2];
    MPI_Irecv(value, 2, MPI_INT, last, 1, MPI_COMM_WORLD, two);
    MPI_Irecv(value + 1, 2, MPI_INT, last, 2, MPI_COMM_WORLD,
              two + 1);                                       /* into what the first receives into */
    MPI_Send(value + 2, 1, MPI_INT, next, 3, MPI_COMM_WORLD); /* from what the second receives into */
    MPI_Recv(&own, 1, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(value + 3, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Send(&own, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);

    MPI_Isend(&own, 1, MPI_INT, next, 4, MPI_COMM_WORLD, two);
    MPI_Recv(&own, 1, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* into what is sent */
    MPI_Wait(two, MPI_STATUS_IGNORE);

    MPI_Recv_init(value, 2, MPI_INT, last, 5, MPI_COMM_WORLD, two);
    MPI_Recv_init(value + 1, 2, MPI_INT, last, 6, MPI_COMM_WORLD, two + 1);
    MPI_Startall(2, two); /* the second into what the first receives into */
    MPI_Send(&own, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
    MPI_Send(&own, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Start(two + i);
        MPI_Send(&own, 1, MPI_INT, next, 5 + i, MPI_COMM_WORLD);
        MPI_Wait(two + i, MPI_STATUS_IGNORE);
        MPI_Request_free(two + i);
    }

    MPI_Allreduce(value, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* one buffer for both */
    MPI_Ibcast(value, 4, MPI_INT, 0, MPI_COMM_WORLD, two);
    MPI_Allreduce(&own, value + 3, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD); /* into what the root sends and others receive into */
    MPI_Wait(two, MPI_STATUS_IGNORE);
}

/* Columns of one matrix lie within each other's bounds and do not meet, and sends may share what they
 * send. */
static void apart(void)
{
    double matrix[8][8] = {{0}}, more = rank;
    MPI_Datatype column, shifted;
    MPI_Request four[4];
    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(&matrix[0][0], 1, column, last, 7, MPI_COMM_WORLD, four);
    MPI_Irecv(&matrix[0][7], 1, column, next, 7, MPI_COMM_WORLD, four + 1);
    MPI_Isend(&matrix[0][1], 1, column, last, 7, MPI_COMM_WORLD, four + 2);
    MPI_Isend(&matrix[0][1], 1, column, next, 7, MPI_COMM_WORLD, four + 3);
    MPI_Waitall(4, four, MPI_STATUSES_IGNORE);
    MPI_Type_contiguous(3, column, &shifted);
    MPI_Type_free(&shifted);
    MPI_Type_free(&column);
    MPI_Sendrecv(&more, 1, MPI_DOUBLE, next, 8, &matrix[0][0], 1, MPI_DOUBLE, last, 8, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(matrix, 64, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Columns that meet in one element. */
static void corner(void)
{
    double matrix[8][8] = {{0}}, row[8] = {0};
    MPI_Datatype column;
    MPI_Request two[2];
    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(&matrix[0][3], 1, column, last, 9, MPI_COMM_WORLD, two);
    MPI_Irecv(matrix[5], 8, MPI_DOUBLE, last, 10, MPI_COMM_WORLD,
              two + 1); /* a row that crosses the column */
    MPI_Send(row, 8, MPI_DOUBLE, next, 9, MPI_COMM_WORLD);
    MPI_Send(row, 8, MPI_DOUBLE, next, 10, MPI_COMM_WORLD);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);
}

static void types(void)
{
    int integers[6] = {1, 2, 3, 4, 5, 6};
    float floats[6];
    char bytes[24];
    struct { int i; double d; } records[2] = {{1, 2}, {3, 4}}, sent[2] = {{5, 6}, {7, 8}};
    MPI_Request request;
    MPI_Datatype record, other;
    MPI_Aint at[2] = {0, 8};
    int ones[2] = {1, 1};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, wrong[2] = {MPI_FLOAT, MPI_DOUBLE};
    MPI_Type_create_struct(2, ones, at, parts, &record);
    MPI_Type_create_struct(2, ones, at, wrong, &other);
    MPI_Type_commit(&record);
    MPI_Type_commit(&other);

    MPI_Send(integers, 3, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(floats, 6, MPI_FLOAT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* floats from integers */
    MPI_Irecv(records, 2, other, last, 2, MPI_COMM_WORLD, &request);
    MPI_Send(sent, 2, record, next, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* another record */

    /* What matches: a part of what there is room for, raw bytes, records element by element. */
    MPI_Send(integers, 3, MPI_INT, next, 3, MPI_COMM_WORLD);
    MPI_Recv(integers, 6, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(integers, 6, MPI_INT, next, 4, MPI_COMM_WORLD);
    MPI_Recv(bytes, 24, MPI_BYTE, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(records, 1, record, next, 5, MPI_COMM_WORLD);
    MPI_Recv(records, 2, record, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&record);
    MPI_Type_free(&other);
}

/* Rank 1 differs from the root, from rank 0, from the others. */
static void members(void)
{
    int one[12] = {0}, other[36];
    float real[12] = {0};
    MPI_Datatype four;
    MPI_Request request;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    MPI_Datatype odd = rank == 1 ? MPI_FLOAT : MPI_INT;
    void *buffer = rank == 1 ? (void *)real : one;
    MPI_Bcast(buffer, 4, odd, 0, MPI_COMM_WORLD); /* rank 1 receives floats */
    MPI_Gather(buffer, 4, odd, other, 1, four, 2,
               MPI_COMM_WORLD); /* and sends them; the others' are the root's */
    MPI_Ialltoall(buffer, 4, odd, other, 4, MPI_INT, MPI_COMM_WORLD,
                  &request); /* and sends what nobody receives */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* What matches: the same elements in other datatypes, and what does not count in place or off the
     * root. */
    MPI_Bcast(one, rank == 1 ? 1 : 4, rank == 1 ? four : MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Gather(rank == 2 ? MPI_IN_PLACE : one, 4, rank == 2 ? MPI_DOUBLE : MPI_INT, other, 4,
               rank == 2 ? MPI_INT : MPI_DOUBLE, 2, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, 4, MPI_INT, MPI_COMM_WORLD);
    /* Nothing comes from nobody. */
    MPI_Request two[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(one, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, two + i);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Type_free(&four);
}

static void first(void *in, void *out, int *count, MPI_Datatype *type)
{ (void)in, (void)out, (void)count, (void)type; }

/* Rank 1 reduces in another way than rank 0 or the root. */
static void operations(void)
{
    int one[4] = {0}, other[12] = {0};
    MPI_Request request;
    MPI_Op odd = rank == 1 ? MPI_MAX : MPI_SUM, made;
    MPI_Op_create(first, 1, &made);
    MPI_Allreduce(one, other, 4, MPI_INT, odd, MPI_COMM_WORLD);
    MPI_Reduce(one, other, 4, MPI_INT, odd, size - 1, MPI_COMM_WORLD);
    MPI_Scan(one, other, 4, MPI_INT, odd, MPI_COMM_WORLD);
    MPI_Ireduce_scatter_block(other, one, 4, MPI_INT, odd, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* What matches. */
    MPI_Allreduce(one, other, 4, MPI_INT, made, MPI_COMM_WORLD);
    MPI_Reduce(rank == 2 ? MPI_IN_PLACE : one, rank == 2 ? other : NULL, 4, MPI_INT, MPI_MIN, 2,
               MPI_COMM_WORLD);
    MPI_Op_free(&made);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    const char *what = argc > 1 ? argv[1] : "none";
    if (strcmp(what, "overlaps") == 0)
        overlaps();
    if (strcmp(what, "corner") == 0)
        corner();
    if (strcmp(what, "types") == 0)
        types();
    if (strcmp(what, "members") == 0)
        members();
    if (strcmp(what, "operations") == 0)
        operations();
    apart();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
