/* Reductions: predefined operations on many types, the program's own, and their errors. */
#include "fails.h"
#include <complex.h>

static int me;

static void predefined_operations_reduce_every_kind_of_type(void)
{
    long double x = 1.0L / (me + 3), sum, want = 0;
    double complex z = 1 + (me + 1) * I, product, expected = 1;
    struct {
        double value;
        int index;
    } own = {(me * 7) % size, me}, best;
    unsigned char bits = (unsigned char)(1 << (me % 8)), all;
    int i, flag = me != 1, every, great;
    float minimum, value = -1.5f * me;

    /* In rank order the sum is exact to a few units in the last place. */
    MPI_Allreduce(&x, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        want += 1.0L / (i + 3);
    CHECK(sum - want < 1e-17L && want - sum < 1e-17L);
    MPI_Allreduce(&z, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        expected *= 1 + (i + 1) * I;
    CHECK(cabs(product - expected) <= 1e-12 * cabs(expected));
    MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    for (i = 0; (i * 7) % size != (int)best.value; i++)
        ;
    CHECK(best.index == i);
    for (i = 0; i < size; i++)
        CHECK((i * 7) % size <= best.value);
    MPI_Allreduce(&bits, &all, 1, MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD);
    CHECK(all == (size >= 8 ? 255 : (1 << size) - 1));
    MPI_Allreduce(&flag, &every, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    CHECK(every == (size < 2));
    MPI_Allreduce(&value, &minimum, 1, MPI_FLOAT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(minimum == -1.5f * (size - 1));
    great = me;
    MPI_Allreduce(MPI_IN_PLACE, &great, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(great == size - 1);
}

/* 2 by 2 matrices do not commute. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    long *a = in, *b = inout;
    int i, n;

    MPI_Type_size(*type, &n);
    CHECK(n == 4 * sizeof(long));
    for (i = 0; i < *count; i++, a += 4, b += 4) {
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void sum_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    MPI_Count i;

    CHECK(*type == MPI_INT);
    for (i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void operations_of_the_program_keep_their_order(void)
{
    MPI_Datatype matrix;
    MPI_Op op, large;
    long own[4] = {1, me + 1, 0, 1}, result[4], want[4] = {1, 0, 0, 1}, next[4];
    int i, commutes, x[3] = {me, 1, 2}, y[3];

    own[2] = me % 2;
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(!commutes);
    MPI_Allreduce(own, result, 1, matrix, op, MPI_COMM_WORLD);
    for (i = 0; i < size; i++) {
        int one = 1;
        next[0] = next[3] = 1;
        next[1] = i + 1;
        next[2] = i % 2;
        multiply(want, next, &one, &matrix);
        memcpy(want, next, sizeof want);
    }
    CHECK(memcmp(want, result, sizeof want) == 0);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    MPI_Type_free(&matrix);
    MPI_Op_create_c(sum_large, 1, &large);
    MPI_Allreduce(x, y, 3, MPI_INT, large, MPI_COMM_WORLD);
    CHECK(y[0] == size * (size - 1) / 2 && y[1] == size && y[2] == 2 * size);
    MPI_Op_free(&large);
}

static void local_reductions_need_no_other_rank(void)
{
    int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    float f = 1;
    MPI_Op op = MPI_SUM;

    MPI_Reduce_local(a, b, 4, MPI_INT, MPI_SUM);
    CHECK(b[0] == 6 && b[3] == 12);
    FAILS(MPI_ERR_OP, MPI_Reduce_local(&f, &f, 1, MPI_FLOAT, MPI_BAND));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(L"a", b, 1, MPI_WCHAR, MPI_SUM));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(a, b, 1, MPI_INT, MPI_OP_NULL));
    FAILS(MPI_ERR_OP, MPI_Op_free(&op));
}

/* MPI does not define this, and other implementations allow it. */
static void characters_are_small_integers(void)
{
    char a[3] = {1, -2, (char)(10 + rank)}, b[3];
    MPI_Allreduce(a, b, 3, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    CHECK(b[0] == size && b[1] == -2 * size && b[2] == 10 * size + size * (size - 1) / 2);
    MPI_Allreduce(a, b, 3, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD);
    CHECK(b[0] == 1 && b[1] == -2 && b[2] == 10);
    MPI_Allreduce(a, b, 3, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_local(a, b, 1, MPI_CHAR, MPI_LAND);
    CHECK(b[0] == 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    me = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "characters") == 0) {
        characters_are_small_integers();
        printf("ok\n");
        MPI_Finalize();
        return 0;
    }
    predefined_operations_reduce_every_kind_of_type();
    operations_of_the_program_keep_their_order();
    local_reductions_need_no_other_rank();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
