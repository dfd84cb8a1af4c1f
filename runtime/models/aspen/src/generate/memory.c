
/* Room for bytes; what is in it does not matter. */
static char *room(size_t bytes)
{
    char *memory = calloc(bytes > 0 ? bytes : 1, 1);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}
