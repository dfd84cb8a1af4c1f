
/* A wave over a square: wait for those before, then send to those behind; `way` is 1 for up and -1 for
 * down. */
static void sweep(int way, int bytes)
{
    lay(2);
    for (int receives = 1; receives >= 0; receives--) {
        int step = receives ? -way : way;
        int peers[2] = { away(step, 0, 0, 0), away(0, step, 0, 0) };
        for (int peer = 0; peer < 2; peer++)
            if (peers[peer] != MPI_PROC_NULL)
                (receives ? begin_receive : begin_send)(peers[peer], bytes);
        finish();
    }
}
