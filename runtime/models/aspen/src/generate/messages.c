
/* Messages that are under way, all of a step. */
enum { MOST = 52 };
static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static char *buffers[MOST];
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
