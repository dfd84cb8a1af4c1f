
/* Messages that are under way, all of a step. */
enum { MAX_UNDER_WAY = 52 };
static MPI_Request requests[MAX_UNDER_WAY];
static MPI_Status statuses[MAX_UNDER_WAY];
static char *buffers[MAX_UNDER_WAY];
static int under_way;

static void begin_send(int to, int bytes)
{
    buffers[under_way] = room(bytes);
    MPI_Isend(buffers[under_way], bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[under_way]);
    under_way++;
}

static void finish(void)
{
    MPI_Waitall(under_way, requests, statuses);
    while (under_way > 0)
        free(buffers[--under_way]);
}
