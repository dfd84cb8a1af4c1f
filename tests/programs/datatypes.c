/* Datatypes: what constructors make, messages with them, packing, envelope and contents. */
#include "fails.h"

static int me;

static void columns_travel_as_columns(void)
{
    double matrix[4][5], column[4];
    MPI_Datatype type;
    MPI_Status status;
    int i, j, count, right = (me + 1) % size, left = (me + size - 1) % size;

    for (i = 0; i < 4; i++)
        for (j = 0; j < 5; j++)
            matrix[i][j] = 100 * me + 10 * i + j;
    MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(&matrix[0][2], 1, type, right, 7, column, 4, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &status);
    for (i = 0; i < 4; i++)
        CHECK(column[i] == 100 * left + 10 * i + 2);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 1);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 4);
    /* And from contiguous to a column. */
    MPI_Sendrecv(column, 4, MPI_DOUBLE, right, 8, &matrix[0][4], 1, type, left, 8, MPI_COMM_WORLD, &status);
    CHECK(matrix[3][3] == 100 * me + 33);
    CHECK(matrix[3][4] == 100 * ((left + size - 1) % size) + 32);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

struct particle {
    char kind;
    double position[3];
    int id;
};

static void structs_travel_as_structs(void)
{
    struct particle out[3] = {{0, {0}, 0}}, in[3];
    int lengths[3] = {1, 3, 1}, i, root = 0;
    MPI_Aint places[3], base, lb, extent;
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, raw, type;

    MPI_Get_address(&out[0], &base);
    MPI_Get_address(&out[0].kind, &places[0]);
    MPI_Get_address(&out[0].position, &places[1]);
    MPI_Get_address(&out[0].id, &places[2]);
    for (i = 0; i < 3; i++)
        places[i] = MPI_Aint_diff(places[i], base);
    MPI_Type_create_struct(3, lengths, places, types, &raw);
    MPI_Type_get_extent(raw, &lb, &extent);
    CHECK(lb == 0 && extent == (MPI_Aint)sizeof(struct particle));
    MPI_Type_create_resized(raw, 0, sizeof(struct particle), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&raw);
    memset(in, 0, sizeof in);
    for (i = 0; i < 3; i++) {
        out[i].kind = 'a' + i;
        out[i].position[2] = me + i * 0.5;
        out[i].position[0] = out[i].position[1] = i;
        out[i].id = 1000 * me + i;
    }
    if (me == root)
        memcpy(in, out, sizeof in);
    MPI_Bcast(in, 3, type, root, MPI_COMM_WORLD);
    CHECK(in[2].kind == 'c' && in[2].position[2] == 1.0 && in[2].id == 2);
    MPI_Type_free(&type);
}

static void types_tell_how_they_were_made(void)
{
    int sizes[2] = {6, 8}, subsizes[2] = {2, 3}, starts[2] = {1, 4}, n, a, d, combiner, ints[8];
    MPI_Count ln, la, ll, ld, counts[3];
    MPI_Datatype part, inner, types[1];
    MPI_Aint lb, extent, true_lb, true_extent;
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &part);
    MPI_Type_get_envelope(part, &n, &a, &d, &combiner);
    CHECK(n == 8 && a == 0 && d == 1 && combiner == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(part, n, a, d, ints, NULL, types);
    CHECK(ints[0] == 2 && ints[1] == 6 && ints[4] == 3 && ints[6] == 4 && ints[7] == MPI_ORDER_C &&
          types[0] == MPI_FLOAT);
    MPI_Type_get_extent(part, &lb, &extent);
    MPI_Type_get_true_extent(part, &true_lb, &true_extent);
    CHECK(lb == 0 && extent == 6 * 8 * 4 && true_lb == (8 + 4) * 4 && true_extent == (8 + 3) * 4);

    MPI_Type_contiguous_c(5, part, &inner);
    MPI_Type_get_envelope_c(inner, &ln, &la, &ll, &ld, &combiner);
    CHECK(ln == 0 && la == 0 && ll == 1 && ld == 1 && combiner == MPI_COMBINER_CONTIGUOUS);
    MPI_Type_get_contents_c(inner, 0, 0, 1, 1, NULL, NULL, counts, types);
    CHECK(counts[0] == 5 && types[0] != MPI_DATATYPE_NULL);
    MPI_Type_get_envelope(types[0], &n, &a, &d, &combiner);
    CHECK(combiner == MPI_COMBINER_SUBARRAY);
    MPI_Type_free(&types[0]);
    FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(inner, &n, &a, &d, &combiner));

    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10);
    /* Of two names of one type, the one that the standard has first. */
    MPI_Type_get_name(MPI_LONG_LONG, name, &length);
    CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0);
    MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
    CHECK(strcmp(name, "MPI_C_COMPLEX") == 0);
    MPI_Type_set_name(part, "a part");
    MPI_Type_get_name(part, name, &length);
    CHECK(strcmp(name, "a part") == 0);
    MPI_Type_get_name(inner, name, &length);
    CHECK(length == 0);
    MPI_Type_free(&inner);
    MPI_Type_free(&part);
}

static void packing_keeps_a_position(void)
{
    char buffer[64];
    int position = 0, need, i = 42, j = 0;
    MPI_Aint place = 0;
    double x[2] = {1.5, -2.5}, y[2] = {0, 0};
    unsigned char *bytes = (unsigned char *)buffer;

    MPI_Pack_size(2, MPI_DOUBLE, MPI_COMM_WORLD, &need);
    CHECK(need == 16);
    MPI_Pack(&i, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(x, 2, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    CHECK(position == 20);
    if (me == 0)
        MPI_Send(buffer, position, MPI_PACKED, size - 1, 3, MPI_COMM_WORLD);
    if (me == size - 1)
        MPI_Recv(buffer, sizeof buffer, MPI_PACKED, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    position = 0;
    MPI_Unpack(buffer, sizeof buffer, &position, &j, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buffer, sizeof buffer, &position, y, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(j == 42 && y[1] == -2.5 && position == 20);
    FAILS(MPI_ERR_TRUNCATE, MPI_Unpack(buffer, 24, &position, y, 2, MPI_DOUBLE, MPI_COMM_WORLD));

    MPI_Pack_external("external32", &i, 1, MPI_INT, buffer, sizeof buffer, &place);
    CHECK(place == 4 && bytes[0] == 0 && bytes[3] == 42);
    place = 0;
    j = 0;
    MPI_Unpack_external("external32", buffer, 4, &place, &j, 1, MPI_INT);
    CHECK(j == 42 && place == 4);
    FAILS(MPI_ERR_UNSUPPORTED_DATAREP,
          MPI_Pack_external("native", &i, 1, MPI_INT, buffer, sizeof buffer, &place));
}

static void wrong_types_are_refused(void)
{
    MPI_Datatype type, copy = MPI_DATATYPE_NULL;
    int x[4] = {0}, count;
    MPI_Status status;

    FAILS(MPI_ERR_TYPE, MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
    MPI_Type_contiguous(3, MPI_INT, &type);
    FAILS(MPI_ERR_TYPE, MPI_Send(x, 1, type, 0, 0, MPI_COMM_WORLD));
    MPI_Type_commit(&type);
    copy = type;
    MPI_Type_free(&type);
    FAILS(MPI_ERR_TYPE, MPI_Send(x, 1, copy, 0, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&copy));
    copy = MPI_INT;
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&copy));

    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Status_set_elements(&status, type, 4);
    MPI_Get_count(&status, type, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, type, &count);
    CHECK(count == 4);
    MPI_Type_free(&type);
}

static void a_freed_type_lives_until_its_message_is_done(void)
{
    int out[6] = {1, 2, 3, 4, 5, 6}, in[6] = {0};
    MPI_Datatype type;
    MPI_Request request;

    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(in, 1, type, (me + 1) % size, 9, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Send(out, 3, MPI_INT, (me + size - 1) % size, 9, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == 1 && in[1] == 0 && in[2] == 2 && in[4] == 3);
}

static void a_pair_has_an_index(void)
{
    MPI_Datatype pair;

    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    CHECK(pair == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_FLOAT, MPI_LONG, &pair);
    CHECK(pair != MPI_DATATYPE_NULL);
    MPI_Type_get_value_index(MPI_INT, MPI_FLOAT, &pair);
    CHECK(pair == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    me = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    columns_travel_as_columns();
    structs_travel_as_structs();
    types_tell_how_they_were_made();
    packing_keeps_a_position();
    wrong_types_are_refused();
    a_pair_has_an_index();
    a_freed_type_lives_until_its_message_is_done();
    printf("ok\n");
    MPI_Finalize();
    return 0;
}
