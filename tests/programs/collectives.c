/* Collective operations as MPI 4.1 chapter 6 has them; every case holds under any MPI. */
#include "check.h"

#define WORLD MPI_COMM_WORLD
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static const int counts[] = { 0, 1, 3, 17, 1000, 20000 };

static int *ints(size_t count)
{
    int *p = malloc((count + 1) * sizeof *p);
    for (size_t i = 0; i <= count; i++)
        p[i] = -1;
    return p;
}

static int roots[3];
static int root_count(void)
{
    roots[0] = 0;
    roots[1] = size - 1;
    roots[2] = size / 2;
    return size == 1 ? 1 : 3;
}

static void barrier(void)
{
    /* Nobody leaves before the last has come: the token was sent before. */
    for (int i = 0; size > 1 && i < 3; i++) {
        int flag = 1, token = i;
        if (rank == size - 1)
            MPI_Send(&token, 1, MPI_INT, 0, 0, WORLD);
        MPI_Barrier(WORLD);
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, WORLD, MPI_STATUS_IGNORE);
            MPI_Iprobe(size - 1, 0, WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(token == i && !flag);
        }
        MPI_Barrier(WORLD);
    }
    MPI_Barrier(MPI_COMM_SELF);
}

static void broadcast(void)
{
    for (int c = 0; c < LENGTH(counts); c++)
        for (int r = 0; r < root_count(); r++) {
            int count = counts[c], root = roots[r], *data = ints(count);
            for (int i = 0; rank == root && i < count; i++)
                data[i] = root * 7 + i;
            MPI_Bcast(data, count, MPI_INT, root, WORLD);
            for (int i = 0; i < count; i++)
                CHECK(data[i] == root * 7 + i);
            CHECK(data[count] == -1);
            free(data);
        }
}

static void gather_scatter(void)
{
    for (int c = 0; c < LENGTH(counts) - 1; c++)
        for (int r = 0; r < root_count(); r++) {
            int count = counts[c], root = roots[r];
            int *mine = ints(count), *all = ints((size_t)count * size);
            for (int i = 0; i < count; i++)
                mine[i] = rank * 1000 + i;
            MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, root, WORLD);
            for (int s = 0; rank == root && s < size; s++)
                for (int i = 0; i < count; i++)
                    CHECK(all[s * count + i] == s * 1000 + i);
            for (int i = 0; rank == root && i < count * size; i++)
                all[i] = i * 3;
            MPI_Scatter(all, count, MPI_INT, rank == root ? MPI_IN_PLACE : (void *)mine, count, MPI_INT, root,
                        WORLD);
            for (int i = 0; rank != root && i < count; i++)
                CHECK(mine[i] == (rank * count + i) * 3);
            free(mine);
            free(all);
        }
}

/* Rank r contributes r % 4 items, at places with a gap of one between them. */
static void varying(void)
{
    int *lengths = ints(size), *places = ints(size), total = 0;
    for (int s = 0; s < size; s++) {
        lengths[s] = s % 4;
        places[s] = total;
        total += lengths[s] + 1;
    }
    for (int r = 0; r < root_count(); r++) {
        int root = roots[r], *all = ints(total), *everybody = ints(total), *mine = ints(4), *back = ints(4);
        for (int i = 0; i < lengths[rank]; i++)
            mine[i] = rank * 10 + i;
        MPI_Gatherv(mine, lengths[rank], MPI_INT, all, lengths, places, MPI_INT, root, WORLD);
        MPI_Allgatherv(mine, lengths[rank], MPI_INT, everybody, lengths, places, MPI_INT, WORLD);
        for (int s = 0; s < size; s++) {
            for (int i = 0; i < lengths[s]; i++)
                CHECK(everybody[places[s] + i] == s * 10 + i &&
                      (rank != root || all[places[s] + i] == s * 10 + i));
            CHECK(everybody[places[s] + lengths[s]] == -1);
        }
        MPI_Scatterv(all, lengths, places, MPI_INT, back, lengths[rank], MPI_INT, root, WORLD);
        for (int i = 0; i < lengths[rank]; i++)
            CHECK(back[i] == mine[i]);
        free(all);
        free(everybody);
        free(mine);
        free(back);
    }
    free(lengths);
    free(places);
}

static void allgather(void)
{
    for (int c = 0; c < LENGTH(counts) - 1; c++) {
        int count = counts[c], *mine = ints(count), *all = ints((size_t)count * size);
        for (int place = 0; place < 2; place++) {
            for (int i = 0; i < count; i++)
                mine[i] = all[rank * count + i] = rank * 100 + i + place;
            MPI_Allgather(place ? MPI_IN_PLACE : (void *)mine, count, MPI_INT, all, count, MPI_INT, WORLD);
            for (int s = 0; s < size; s++)
                for (int i = 0; i < count; i++)
                    CHECK(all[s * count + i] == s * 100 + i + place);
        }
        free(mine);
        free(all);
    }
}

static void alltoall(void)
{
    for (int c = 0; c < LENGTH(counts) - 1; c++) {
        int count = counts[c], *out = ints((size_t)count * size), *in = ints((size_t)count * size);
        for (int to = 0; to < size; to++)
            for (int i = 0; i < count; i++)
                out[to * count + i] = rank * 10000 + to * 100 + i;
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, WORLD);
        for (int from = 0; from < size; from++)
            for (int i = 0; i < count; i++)
                CHECK(in[from * count + i] == from * 10000 + rank * 100 + i);
        MPI_Alltoall(MPI_IN_PLACE, count, MPI_INT, out, count, MPI_INT, WORLD);
        CHECK(memcmp(in, out, (size_t)count * size * sizeof *in) == 0);
        free(out);
        free(in);
    }
    /* From s to r go (s + r) % 3 items. */
    int *sends = ints(size), *recvs = ints(size), *from = ints(size), *to = ints(size);
    MPI_Datatype *types = malloc(size * sizeof(MPI_Datatype));
    int *out = ints(3 * (size_t)size), *in = ints(3 * (size_t)size), *other = ints(3 * (size_t)size);
    for (int s = 0; s < size; s++) {
        sends[s] = recvs[s] = (s + rank) % 3;
        from[s] = to[s] = 3 * s;
        types[s] = MPI_INT;
        for (int i = 0; i < sends[s]; i++)
            out[3 * s + i] = rank * 100 + s * 3 + i;
    }
    MPI_Alltoallv(out, sends, to, MPI_INT, in, recvs, from, MPI_INT, WORLD);
    for (int s = 0; s < size; s++)
        from[s] = to[s] = 3 * s * (int)sizeof(int);
    MPI_Alltoallw(out, sends, to, types, other, recvs, from, types, WORLD);
    for (int s = 0; s < size; s++)
        for (int i = 0; i < 3; i++) {
            int expected = i < recvs[s] ? s * 100 + rank * 3 + i : -1;
            CHECK(in[3 * s + i] == expected && other[3 * s + i] == expected);
        }
    free(sends);
    free(recvs);
    free(from);
    free(to);
    free(types);
    free(out);
    free(in);
    free(other);
}

/* 2x2 matrices modulo a prime: associative, not commutative. */
static void matmul(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int m = 0; m < *length; m++) {
        int *a = (int *)in + 4 * m, *b = (int *)inout + 4 * m, c[4];
        for (int i = 0; i < 4; i++)
            c[i] = (a[i / 2 * 2] * b[i % 2] + a[i / 2 * 2 + 1] * b[2 + i % 2]) % 9973;
        memcpy(b, c, sizeof c);
    }
}

static void matrix(int r, int i, int *m)
{
    m[0] = 1 + (r + i) % 5;
    m[1] = r % 3;
    m[2] = i % 2;
    m[3] = 2 + r % 7;
}

/* The product of the matrices of ranks first to last in rank order. */
static void product(int first, int last, int i, int *m)
{
    int one = 1, next[4];
    MPI_Datatype none = MPI_DATATYPE_NULL;
    matrix(last, i, m);
    for (int r = last - 1; r >= first; r--) {
        matrix(r, i, next);
        matmul(next, m, &one, &none);
    }
}

static void reductions(void)
{
    for (int c = 0; c < LENGTH(counts); c++)
        for (int r = 0; r < root_count(); r++) {
            int count = counts[c], root = roots[r], *mine = ints(count), *sum = ints(count),
                *most = ints(count);
            for (int i = 0; i < count; i++)
                mine[i] = rank + i;
            MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, root, WORLD);
            MPI_Allreduce(mine, most, count, MPI_INT, MPI_MAX, WORLD);
            for (int i = 0; i < count; i++) {
                CHECK(rank != root || sum[i] == size * (size - 1) / 2 + size * i);
                CHECK(most[i] == size - 1 + i && mine[i] == rank + i);
            }
            MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_INT, MPI_SUM, WORLD);
            for (int i = 0; i < count; i++)
                CHECK(mine[i] == size * (size - 1) / 2 + size * i);
            free(mine);
            free(sum);
            free(most);
        }
    struct { double value; int where; } mine = { (rank + 1) % size, rank }, least;
    MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, WORLD);
    CHECK(least.value == 0 && least.where == size - 1);
    int bits = 1 << (rank % 20), all = 0;
    MPI_Allreduce(&bits, &all, 1, MPI_INT, MPI_BOR, WORLD);
    CHECK(all == (size >= 20 ? (1 << 20) - 1 : (1 << size) - 1));
    int truth = rank != 0;
    MPI_Allreduce(&truth, &all, 1, MPI_INT, MPI_LAND, WORLD);
    CHECK(all == 0);
}

static void user_operations(void)
{
    MPI_Op op;
    MPI_Datatype type;
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(matmul, 0, &op);
    const int lengths[] = { 1, 5, 600 };
    for (int c = 0; c < LENGTH(lengths); c++) {
        int count = lengths[c], *mine = ints(4 * (size_t)count), *got = ints(4 * (size_t)count), expected[4];
        for (int i = 0; i < count; i++)
            matrix(rank, i, mine + 4 * i);
        for (int r = 0; r < root_count(); r++) {
            MPI_Reduce(mine, got, count, type, op, roots[r], WORLD);
            for (int i = 0; rank == roots[r] && i < count; i++) {
                product(0, size - 1, i, expected);
                CHECK(memcmp(got + 4 * i, expected, sizeof expected) == 0);
            }
        }
        MPI_Allreduce(mine, got, count, type, op, WORLD);
        for (int i = 0; i < count; i++) {
            product(0, size - 1, i, expected);
            CHECK(memcmp(got + 4 * i, expected, sizeof expected) == 0);
        }
        MPI_Scan(mine, got, count, type, op, WORLD);
        for (int i = 0; i < count; i++) {
            product(0, rank, i, expected);
            CHECK(memcmp(got + 4 * i, expected, sizeof expected) == 0);
        }
        MPI_Exscan(mine, got, count, type, op, WORLD);
        for (int i = 0; rank > 0 && i < count; i++) {
            product(0, rank - 1, i, expected);
            CHECK(memcmp(got + 4 * i, expected, sizeof expected) == 0);
        }
        free(mine);
        free(got);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    CHECK(op == MPI_OP_NULL && type == MPI_DATATYPE_NULL);
}

static void scans(void)
{
    int sum, before = -1, product = rank + 1;
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, WORLD);
    MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, WORLD);
    CHECK(sum == rank * (rank + 1) / 2 && (rank == 0 || before == rank * (rank - 1) / 2));
    MPI_Scan(MPI_IN_PLACE, &product, 1, MPI_INT, MPI_MAX, WORLD);
    CHECK(product == rank + 1);
}

static void reduce_scatter(void)
{
    int *lengths = ints(size), total = 0, offset = 0;
    for (int s = 0; s < size; s++) {
        lengths[s] = s % 3 + (s == size - 1);
        offset += s < rank ? lengths[s] : 0;
        total += lengths[s];
    }
    int *all = ints(total), *mine = ints(lengths[rank]), *block = ints(2 * (size_t)size), two[2];
    for (int i = 0; i < total; i++)
        all[i] = rank + i;
    MPI_Reduce_scatter(all, mine, lengths, MPI_INT, MPI_SUM, WORLD);
    for (int i = 0; i < lengths[rank]; i++)
        CHECK(mine[i] == size * (size - 1) / 2 + size * (offset + i));
    for (int i = 0; i < 2 * size; i++)
        block[i] = rank * i;
    MPI_Reduce_scatter_block(block, two, 2, MPI_INT, MPI_SUM, WORLD);
    CHECK(two[0] == size * (size - 1) / 2 * 2 * rank && two[1] == size * (size - 1) / 2 * (2 * rank + 1));
    free(lengths);
    free(all);
    free(mine);
    free(block);
}

/* Several at once, waited for in another order, with point-to-point messages between. */
static void nonblocking(void)
{
    enum { MANY = 9 };
    MPI_Request requests[MANY];
    int a = rank == 0 ? 5 : -1, b = rank, sum = -1, first = -1, prefix = -1, before = -1, block = -1;
    int *all = ints(size), *out = ints(size), *in = ints(size), *gathered = ints(size),
        *contribution = ints(size);
    for (int i = 0; i < size; i++) {
        out[i] = rank * size + i;
        contribution[i] = i;
    }
    MPI_Ibcast(&a, 1, MPI_INT, 0, WORLD, &requests[0]);
    MPI_Iallreduce(&b, &sum, 1, MPI_INT, MPI_SUM, WORLD, &requests[1]);
    MPI_Iallgather(&b, 1, MPI_INT, all, 1, MPI_INT, WORLD, &requests[2]);
    MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, WORLD, &requests[3]);
    MPI_Ireduce(&b, &first, 1, MPI_INT, MPI_MAX, 0, WORLD, &requests[4]);
    MPI_Igather(&b, 1, MPI_INT, gathered, 1, MPI_INT, size - 1, WORLD, &requests[5]);
    MPI_Iscan(&b, &prefix, 1, MPI_INT, MPI_SUM, WORLD, &requests[6]);
    MPI_Ireduce_scatter_block(contribution, &block, 1, MPI_INT, MPI_SUM, WORLD, &requests[7]);
    MPI_Iexscan(&b, &before, 1, MPI_INT, MPI_SUM, WORLD, &requests[8]);

    int got, token = rank;
    MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                 WORLD, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    for (int i = MANY - 1; i >= 0; i -= 2)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);

    CHECK(a == 5 && sum == size * (size - 1) / 2 && prefix == rank * (rank + 1) / 2 && block == size * rank);
    CHECK((rank != 0 || first == size - 1) && (rank == 0 || before == rank * (rank - 1) / 2));
    for (int s = 0; s < size; s++)
        CHECK(all[s] == s && in[s] == s * size + rank && (rank != size - 1 || gathered[s] == s));

    int flag = 0;
    MPI_Request request;
    MPI_Ibarrier(WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    free(all);
    free(out);
    free(in);
    free(gathered);
    free(contribution);
}

/* A root leaves a broadcast before the others come: 0: Bcast, Send(1); 1: Recv(0), Bcast. */
static void root_leaves_early(void)
{
    int value = rank == 0 ? 11 : 0, token = 3;
    if (rank == 0) {
        MPI_Bcast(&value, 1, MPI_INT, 0, WORLD);
        MPI_Send(&token, 1, MPI_INT, 1, 0, WORLD);
    } else {
        if (rank == 1)
            MPI_Recv(&token, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(&value, 1, MPI_INT, 0, WORLD);
    }
    CHECK(value == 11 && token == 3);
}

/* Of the group that has the root, who is not the root (MPI_PROC_NULL) is through before anybody else comes: 1
   completes all its calls and sends to 0, the root, which the others need. */
static void bystanders_of_the_root_leave_early(void)
{
    int word = 0, flag = 0;
    int left = rank < 2;
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? 2 : 0, 3, &inter);
    int root = !left ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Iscatter(&rank, 0, MPI_INT, &word, 0, MPI_INT, root, inter, &request);
    if (rank == 1) {
        double before = MPI_Wtime();
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(flag);
        MPI_Bcast(&word, 1, MPI_INT, root, inter);
        MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, root, inter);
        CHECK(MPI_Wtime() == before);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        word = rank == 0 ? 17 : 0;
        MPI_Bcast(&word, 1, MPI_INT, root, inter);
        CHECK(word == 17);
        int sum = 0;
        MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, inter);
        CHECK(rank != 0 || sum == size * (size - 1) / 2 - 1);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* A contributor leaves a reduction before the root comes: 1: Reduce, Send(0); 0: Recv(1), Reduce. */
static void contributor_leaves_early(void)
{
    int one = 1, sum = 0, token = 4;
    if (rank == size - 1) {
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
        MPI_Send(&token, 1, MPI_INT, 0, 0, WORLD);
    } else {
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
    }
    CHECK(token == 4 && (rank != 0 || sum == size));
}

/* Data that is not contiguous, and other types on the two sides of one operation. */
static void with_datatypes(void)
{
    int matrix[4][4];
    MPI_Datatype type, resized;
    MPI_Type_vector(4, 1, 4, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    for (int i = 0; i < 16; i++)
        matrix[i / 4][i % 4] = rank == 0 ? i : -1;
    if (rank == 0) {
        MPI_Bcast(matrix, 2, resized, 0, WORLD);
    } else {
        int flat[8];
        MPI_Bcast(flat, 8, MPI_INT, 0, WORLD);
        for (int i = 0; i < 8; i++)
            CHECK(flat[i] == i / 4 + 4 * (i % 4));
    }
    int *all = ints(16 * (size_t)size);
    MPI_Allgather(matrix, 1, resized, all, 4, MPI_INT, WORLD);
    for (int i = 0; i < 4; i++)
        CHECK(all[i] == 4 * i);
    free(all);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
}

/* Collectives on communicators of different sizes at the same time. */
static void on_parts(void)
{
    for (int parts = 1; parts <= 3; parts++) {
        MPI_Comm part;
        int color = rank % parts, sum, there, expected = 0, *all;
        MPI_Comm_split(WORLD, color, -rank, &part);
        MPI_Comm_size(part, &there);
        for (int s = color; s < size; s += parts)
            expected += s;
        for (int i = 0; i < 5; i++) {
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
            CHECK(sum == expected);
        }
        all = ints(there);
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, part);
        for (int i = 1; i < there; i++)
            CHECK(all[i] == all[i - 1] - parts);
        MPI_Barrier(WORLD);
        MPI_Comm_free(&part);
        free(all);
    }
}

/* Arrays of a persistent collective are given back before it starts. */
static void persistent_arrays(void)
{
    int *counts = malloc(2 * size * sizeof *counts), *displs = counts + size;
    int *in = malloc(size * sizeof *in), *out = malloc(size * sizeof *out), own = -1;
    MPI_Request requests[2];

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = size - 1 - i;
        in[i] = 100 * rank + i;
    }
    MPI_Alltoallv_init(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[0]);
    MPI_Reduce_scatter_init(in, &own, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    memset(counts, 0x55, 2 * size * sizeof *counts);
    free(counts);
    for (int k = 0; k < 2; k++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        for (int i = 0; i < size; i++)
            CHECK(out[size - 1 - i] == 100 * i + size - 1 - rank);
    }
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    CHECK(own == 100 * size * (size - 1) / 2 + size * rank);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(in);
    free(out);
}

/* Each rank starts its persistent collectives in an order of its own; they match by their initialization. */
static void persistent_orders(void)
{
    enum { KINDS = 5 };
    MPI_Comm comm;
    MPI_Request requests[KINDS], between;
    int root = size / 2, cast = -1, mine = 0, sum = 0, best[2] = { 0, 0 }, all = 0;
    int *gathered = ints((size_t)size), *spread = ints((size_t)size), *received = ints((size_t)size);

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Bcast_init(&cast, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
    /* One more of the same shape: only the order of initialization tells them apart. */
    MPI_Allreduce_init(&mine, &best[0], 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[2]);
    MPI_Gather_init(&mine, 1, MPI_INT, gathered, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[3]);
    MPI_Alltoall_init(spread, 1, MPI_INT, received, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[4]);
    for (int round = 0; round < 4; round++) {
        cast = rank == root ? 1000 + round : -1;
        mine = 10 * rank + round;
        for (int i = 0; i < size; i++)
            spread[i] = 100 * rank + i + round;
        for (int k = 0; k < KINDS; k++) {
            MPI_Start(&requests[(k + rank + round) % KINDS]);
            /* Other collectives keep an order of their own. */
            if (k == 2 && round % 2) {
                MPI_Iallreduce(&mine, &best[1], 1, MPI_INT, MPI_MIN, comm, &between);
                MPI_Wait(&between, MPI_STATUS_IGNORE);
                CHECK(best[1] == round);
            }
        }
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
        if (round == 3 && rank % 2)
            for (int k = KINDS - 1; k >= 0; k--)
                MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        else
            MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
        CHECK(cast == 1000 + round);
        CHECK(sum == 10 * size * (size - 1) / 2 + size * round && all == sum);
        CHECK(best[0] == 10 * (size - 1) + round);
        for (int i = 0; i < size; i++) {
            CHECK(rank != root || gathered[i] == 10 * i + round);
            CHECK(received[i] == 100 * i + rank + round);
        }
    }
    /* One that nobody else has started yet may be ahead of the others by its next start. */
    if (rank == root) {
        cast = 7;
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        cast = 8;
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        for (int round = 0; round < 2; round++) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            CHECK(cast == 7 + round);
        }
    }
    for (int k = 0; k < KINDS; k++)
        MPI_Request_free(&requests[k]);
    MPI_Comm_free(&comm);
    free(gathered);
    free(spread);
    free(received);
}

/* Rank 0 has no block in an all-to-all of uneven blocks, and is through with it before the others can be. */
static void bystander_leaves_early(void)
{
    int *counts = ints(4 * (size_t)size), *places = counts + size, *expected = counts + 2 * size,
        *zeros = counts + 3 * size;
    int token = 0, given[2] = { rank, -1 }, taken[2] = { -1, -1 };

    memset(counts, 0, 4 * (size_t)size * sizeof *counts);
    memset(zeros, 0, (size_t)size * sizeof *zeros);
    if (rank == 1)
        counts[2] = 1;
    if (rank == 2)
        expected[1] = 1;
    if (rank == 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Alltoallv(given, counts, places, MPI_INT, taken, expected, zeros, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    CHECK(taken[0] == (rank == 2 ? 1 : -1) && taken[1] == -1 && token == 0);
    free(counts);
}

/* Who expects less than is sent is told so, and nobody else. */
static void uneven_sizes_must_agree(void)
{
    int *counts = ints(3 * (size_t)size), *expected = counts + size, *places = counts + 2 * size, code, class;
    int *in = ints(2 * (size_t)size), *out = ints(2 * (size_t)size), dims[1] = { size }, periods[1] = { 1 };
    MPI_Comm ring;

    for (int i = 0; i < size; i++) {
        counts[i] = expected[i] = 2;
        places[i] = 2 * i;
    }
    if (rank == 1)
        expected[2] = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Alltoallv(in, counts, places, MPI_INT, out, expected, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(class == (rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    code = MPI_Neighbor_alltoall(in, 2, MPI_INT, out, rank == 1 ? 1 : 2, MPI_INT, ring);
    MPI_Error_class(code, &class);
    CHECK(class == (rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    MPI_Comm_free(&ring);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(in);
    free(out);
    free(counts);
}

static const Case cases[] = {
    { "bystander_leaves_early", bystander_leaves_early },
    { "uneven_sizes_must_agree", uneven_sizes_must_agree },
    { "persistent_orders", persistent_orders },
    { "persistent_arrays", persistent_arrays },
    { "barrier", barrier },
    { "broadcast", broadcast },
    { "gather_scatter", gather_scatter },
    { "varying", varying },
    { "allgather", allgather },
    { "alltoall", alltoall },
    { "reductions", reductions },
    { "user_operations", user_operations },
    { "scans", scans },
    { "reduce_scatter", reduce_scatter },
    { "nonblocking", nonblocking },
    { "root_leaves_early", root_leaves_early },
    { "contributor_leaves_early", contributor_leaves_early },
    { "bystanders_of_the_root_leave_early", bystanders_of_the_root_leave_early },
    { "with_datatypes", with_datatypes },
    { "on_parts", on_parts },
};

RUN_CASES(cases)
