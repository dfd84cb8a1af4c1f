/* Every collective with messages from nothing to long ones, results compared with what they must be. */

#include "check.h"

#define WORLD MPI_COMM_WORLD
#define SIZES 5
static const int sizes[SIZES] = {0, 1, 7, 600, 5000};

/* Members that rooted collectives are tried with. */
static int next_root(int root) { return root + (size > 3 ? size / 3 : 1); }

static int *ints(int count) { return calloc(count + 1, sizeof(int)); }

/* Composition of x -> p x + q: associative, not commutative. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    unsigned *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++, a += 2, b += 2) {
        unsigned p = a[0] * b[0], q = a[0] * b[1] + a[1];
        b[0] = p;
        b[1] = q;
    }
}

/* What a rank contributes to element i, and the composition of ranks 0 to last - 1. */
static void map_of(int r, int i, unsigned *map)
{
    map[0] = 2 * r + 3;
    map[1] = r + i;
}

static int is_composition(const unsigned *maps, int count, int last)
{
    for (int i = 0; i < count; i++) {
        unsigned whole[2], next[2];
        MPI_Datatype none = MPI_DATATYPE_NULL;
        int one = 1;
        map_of(last - 1, i, whole);
        for (int r = last - 2; r >= 0; r--) {
            map_of(r, i, next);
            compose(next, whole, &one, &none);
        }
        if (maps[2 * i] != whole[0] || maps[2 * i + 1] != whole[1])
            return 0;
    }
    return 1;
}

static int total(void) { return size * (size - 1) / 2; }

static void bcast(void)
{
    for (int s = 0; s < SIZES; s++)
        for (int root = 0; root < size; root = next_root(root)) {
            int count = sizes[s], *data = ints(count);
            for (int i = 0; i < count; i++)
                data[i] = rank == root ? 3 * i + root : -1;
            MPI_Bcast(data, count, MPI_INT, root, WORLD);
            for (int i = 0; i < count; i++)
                CHECK(data[i] == 3 * i + root);
            free(data);
        }
}

static void gather(void)
{
    for (int s = 0; s < SIZES; s++)
        for (int root = 0; root < size; root = next_root(root)) {
            int count = sizes[s], *mine = ints(count), *all = ints(size * count);
            for (int i = 0; i < count; i++)
                mine[i] = 10000 * rank + i;
            MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, root, WORLD);
            for (int i = 0; rank == root && i < size * count; i++)
                CHECK(all[i] == 10000 * (i / count) + i % count);
            free(mine);
            free(all);
        }
}

static void scatter(void)
{
    for (int s = 0; s < SIZES; s++)
        for (int root = 0; root < size; root = next_root(root)) {
            int count = sizes[s], *mine = ints(count), *all = ints(size * count);
            for (int i = 0; rank == root && i < size * count; i++)
                all[i] = i;
            MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, root, WORLD);
            for (int i = 0; i < count; i++)
                CHECK(mine[i] == rank * count + i);
            free(mine);
            free(all);
        }
}

static void allgather(void)
{
    for (int s = 0; s < SIZES; s++) {
        int count = sizes[s], *mine = ints(count), *all = ints(size * count);
        for (int i = 0; i < count; i++)
            mine[i] = 10000 * rank + i;
        MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, WORLD);
        for (int i = 0; i < size * count; i++)
            CHECK(all[i] == 10000 * (i / count) + i % count);
        free(mine);
        free(all);
    }
}

static void alltoall(void)
{
    for (int s = 0; s < SIZES; s++) {
        int count = sizes[s], *out = ints(size * count), *in = ints(size * count);
        for (int i = 0; i < size * count; i++)
            out[i] = 1000 * rank + i / count;
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, WORLD);
        for (int i = 0; i < size * count; i++)
            CHECK(in[i] == 1000 * (i / count) + rank);
        free(out);
        free(in);
    }
}

/* Lengths that differ, some of them 0, and where their blocks begin; the sum. */
static int layout(int count, int *lengths, int *places)
{
    int end = 0;
    for (int r = 0; r < size; r++) {
        lengths[r] = count * ((r * 5 + 1) % 3);
        places[r] = end;
        end += lengths[r];
    }
    return end;
}

static void varying(void)
{
    int *lengths = ints(size), *places = ints(size);
    for (int s = 0; s < SIZES; s++) {
        int sum = layout(sizes[s], lengths, places), *mine = ints(sum), *all = ints(sum), root = size - 1;
        for (int i = 0; i < lengths[rank]; i++)
            mine[i] = places[rank] + i;
        MPI_Allgatherv(mine, lengths[rank], MPI_INT, all, lengths, places, MPI_INT, WORLD);
        for (int i = 0; i < sum; i++)
            CHECK(all[i] == i);
        memset(all, 0, sum * sizeof(int));
        MPI_Gatherv(mine, lengths[rank], MPI_INT, all, lengths, places, MPI_INT, root, WORLD);
        for (int i = 0; rank == root && i < sum; i++)
            CHECK(all[i] == i);
        memset(mine, 0, sum * sizeof(int));
        MPI_Scatterv(all, lengths, places, MPI_INT, mine, lengths[rank], MPI_INT, root, WORLD);
        for (int i = 0; i < lengths[rank]; i++)
            CHECK(mine[i] == places[rank] + i);
        free(mine);
        free(all);
    }
    free(lengths);
    free(places);
}

static void varying_alltoall(void)
{
    int *sends = ints(size), *recvs = ints(size), *to = ints(size + 1), *from = ints(size + 1);
    for (int s = 0; s < SIZES; s++) {
        for (int r = 0; r < size; r++) {
            sends[r] = sizes[s] * ((rank + 2 * r) % 3);
            recvs[r] = sizes[s] * ((r + 2 * rank) % 3);
            to[r + 1] = to[r] + sends[r];
            from[r + 1] = from[r] + recvs[r];
        }
        int *out = ints(to[size]), *in = ints(from[size]);
        for (int r = 0; r < size; r++)
            for (int i = to[r]; i < to[r + 1]; i++)
                out[i] = 1000 * rank + r;
        MPI_Alltoallv(out, sends, to, MPI_INT, in, recvs, from, MPI_INT, WORLD);
        for (int r = 0; r < size; r++)
            for (int i = from[r]; i < from[r + 1]; i++)
                CHECK(in[i] == 1000 * r + rank);
        free(out);
        free(in);
    }
    free(sends);
    free(recvs);
    free(to);
    free(from);
}

/* Sums, which commute, and compositions, which do not. */
static void reductions(int scans)
{
    MPI_Datatype map;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &map);
    MPI_Type_commit(&map);
    MPI_Op_create(compose, 0, &op);
    for (int s = 0; s < SIZES; s++) {
        int count = sizes[s], *mine = ints(count), *sum = ints(count);
        unsigned *maps = (unsigned *)ints(2 * count), *got = (unsigned *)ints(2 * count);
        for (int i = 0; i < count; i++) {
            mine[i] = rank + i;
            map_of(rank, i, maps + 2 * i);
        }
        if (scans) {
            MPI_Scan(maps, got, count, map, op, WORLD);
            CHECK(is_composition(got, count, rank + 1));
            MPI_Exscan(maps, got, count, map, op, WORLD);
            CHECK(rank == 0 || is_composition(got, count, rank));
        } else {
            for (int root = 0; root < size; root = next_root(root)) {
                MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, root, WORLD);
                for (int i = 0; rank == root && i < count; i++)
                    CHECK(sum[i] == total() + size * i);
                MPI_Reduce(maps, got, count, map, op, root, WORLD);
                CHECK(rank != root || is_composition(got, count, size));
            }
            memset(sum, 0, count * sizeof(int));
            MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, WORLD);
            for (int i = 0; i < count; i++)
                CHECK(sum[i] == total() + size * i);
            MPI_Allreduce(maps, got, count, map, op, WORLD);
            CHECK(is_composition(got, count, size));
        }
        free(mine);
        free(sum);
        free(maps);
        free(got);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&map);
}

static void reduce(void) { reductions(0); }
static void scan(void) { reductions(1); }

static void reduce_scatter(void)
{
    int *lengths = ints(size), *places = ints(size);
    for (int s = 0; s < SIZES; s++) {
        int count = sizes[s], sum = layout(count, lengths, places),
            most = sum > size * count ? sum : size * count;
        int *all = ints(most), *mine = ints(most);
        for (int i = 0; i < most; i++)
            all[i] = rank + i;
        MPI_Reduce_scatter(all, mine, lengths, MPI_INT, MPI_SUM, WORLD);
        for (int i = 0; i < lengths[rank]; i++)
            CHECK(mine[i] == total() + size * (places[rank] + i));
        MPI_Reduce_scatter_block(all, mine, count, MPI_INT, MPI_SUM, WORLD);
        for (int i = 0; i < count; i++)
            CHECK(mine[i] == total() + size * (rank * count + i));
        free(all);
        free(mine);
    }
    free(lengths);
    free(places);
}

static void barrier(void)
{
    for (int i = 0; i < 3; i++)
        MPI_Barrier(WORLD);
}

/* The other group's contributions arrive, also when members that know no root come first. */
static void between_groups(void)
{
    int low = rank < size / 2, half = size / 2, far = low ? size - half : half, want = 0,
        first = low ? half : 0;
    MPI_Comm group, inter;
    MPI_Comm_split(WORLD, low, rank, &group);
    MPI_Intercomm_create(group, 0, WORLD, first, 3, &inter);
    for (int r = first; r < first + far; r++)
        want += r + 1;
    for (int root = 0; root < half; root++) {
        int role = !low ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
        int mine = rank + 1, got = 0, *all = ints(size);
        MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, inter);
        CHECK(got == want);
        got = 0;
        MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_SUM, role, inter);
        CHECK(got == (rank == root ? want : 0));
        got = rank == root ? 77 : 0;
        MPI_Bcast(&got, 1, MPI_INT, role, inter);
        CHECK(got == (!low || rank == root ? 77 : 0));
        MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, role, inter);
        for (int i = 0; rank == root && i < far; i++)
            CHECK(all[i] == first + i + 1);
        got = 0;
        MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, role, inter);
        CHECK(got == (low ? 0 : rank + 1));
        MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, inter);
        for (int i = 0; i < far; i++)
            CHECK(all[i] == first + i + 1);
        free(all);
    }
    MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&group);
}

static const Case cases[] = {
    {"barrier", barrier},
    {"bcast", bcast},
    {"gather", gather},
    {"scatter", scatter},
    {"allgather", allgather},
    {"alltoall", alltoall},
    {"reduce", reduce},
    {"allreduce", reduce},
    {"scan", scan},
    {"exscan", scan},
    {"reduce_scatter", reduce_scatter},
    {"varying", varying},
    {"varying_alltoall", varying_alltoall},
    {"between_groups", between_groups},
};

RUN_CASES(cases)
