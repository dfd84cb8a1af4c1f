
/* Ranks on a grid: the ceiling of the root, that of the root of what is left, and the rest; x varies
 * fastest. */
static int sides[3];

static int root(int whole, int power)
{
    int n = 1;
    while ((power == 2 ? (long long)n * n : (long long)n * n * n) < whole)
        n++;
    return n;
}

static void lay(int dimensions)
{
    sides[0] = dimensions == 1 ? size : root(size, dimensions);
    sides[1] = dimensions == 1 ? 1 : dimensions == 2 ? size / sides[0] : root(size / sides[0], 2);
    sides[2] = dimensions == 3 ? size / (sides[0] * sides[1]) : 1;
    if (sides[0] * sides[1] * sides[2] != size) {
        if (rank == 0)
            fprintf(stderr, "%d ranks make no grid of %d dimensions\n", size, dimensions);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The rank that is so far away, or MPI_PROC_NULL beyond the ends. */
static int away(int x, int y, int z, int periodic)
{
    int place[3] = { rank % sides[0], rank / sides[0] % sides[1], rank / (sides[0] * sides[1]) };
    int step[3] = { x, y, z };
    for (int axis = 0; axis < 3; axis++) {
        place[axis] += step[axis];
        if (!periodic && (place[axis] < 0 || place[axis] >= sides[axis]))
            return MPI_PROC_NULL;
        place[axis] = (place[axis] + sides[axis]) % sides[axis];
    }
    return place[0] + sides[0] * (place[1] + sides[1] * place[2]);
}
