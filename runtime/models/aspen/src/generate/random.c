
static unsigned long long mix(unsigned long long x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* To whom a rank sends in a step: SplitMix64, and the high half of a product for a number below size. */
static int drawn(unsigned long long step, int from)
{
    unsigned long long state =
        mix(((step * 0x9e3779b97f4a7c15ull) ^ (unsigned long long)from) + 0xd1b54a32d192ed03ull);
    unsigned long long value = mix(state + 0x9e3779b97f4a7c15ull), below = (unsigned long long)size;
    return (int)(((value >> 32) * below + ((value & 0xffffffffull) * below >> 32)) >> 32);
}

/* A message to a rank that is drawn; who draws itself sends none. */
static void random_message(int bytes)
{
    static unsigned long long step;
    int to = drawn(step, rank), expected = 0;
    for (int from = 0; from < size; from++)
        expected += from != rank && drawn(step, from) == rank;
    if (to != rank)
        begin_send(to, bytes);
    char *memory = room(bytes);
    for (; expected > 0; expected--)
        MPI_Recv(memory, bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(memory);
    finish();
    step++;
    /* A message of the next step must not be taken for one of this. */
    MPI_Barrier(MPI_COMM_WORLD);
}
