
/* A message to the next rank along an axis. */
static void shift(int x, int y, int z, int periodic, int bytes)
{
    lay(3);
    int to = away(x, y, z, periodic), from = away(-x, -y, -z, periodic);
    if (from != MPI_PROC_NULL)
        begin_receive(from, bytes);
    if (to != MPI_PROC_NULL)
        begin_send(to, bytes);
    finish();
}
