
static void begin_receive(int from, int bytes)
{
    buffers[under_way] = room(bytes);
    MPI_Irecv(buffers[under_way], bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[under_way]);
    under_way++;
}
