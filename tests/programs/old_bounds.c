/* Datatypes as MPI 1 made them, with markers of their bounds: compiled with -include mpi_removed.h. */
#include "check.h"
#include <stddef.h>

typedef struct {
    char kind;
    double value[2];
    int count;
} Record;

int main(int argc, char **argv)
{
    Record mine[3], theirs[3];
    int lengths[] = {1, 1, 2, 1, 1};
    MPI_Aint places[] = {-8, offsetof(Record, kind), offsetof(Record, value), offsetof(Record, count),
                         sizeof(Record)};
    MPI_Datatype types[] = {MPI_LB, MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_UB}, record, with_hole;
    MPI_Aint lower, extent;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_struct(4, lengths + 1, places + 1, types + 1, &record);
    MPI_Type_commit(&record);
    MPI_Type_get_extent(record, &lower, &extent);
    CHECK(lower == 0 && extent == sizeof(Record));
    MPI_Type_create_struct(5, lengths, places, types, &with_hole);
    MPI_Type_get_extent(with_hole, &lower, &extent);
    CHECK(lower == -8 && extent == sizeof(Record) + 8);
    int integers, addresses, datatypes, combiner;
    MPI_Type_get_envelope(record, &integers, &addresses, &datatypes, &combiner);
    switch (combiner) {
    case MPI_COMBINER_RESIZED: break; /* It has an upper bound of its own. */
    case MPI_COMBINER_STRUCT_INTEGER:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_HVECTOR_INTEGER:
    default: CHECK(!"the combiner of a type with bounds");
    }
    memset(mine, 0, sizeof mine);
    memset(theirs, 0, sizeof theirs);
    for (int i = 0; i < 3; i++)
        mine[i] = (Record){'a' + i, {rank + 0.5, i}, 100 * rank + i};
    MPI_Sendrecv(mine, 3, record, (rank + 1) % size, 0, theirs, 3, record, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int from = (rank + size - 1) % size;
    for (int i = 0; i < 3; i++)
        CHECK(theirs[i].kind == 'a' + i && theirs[i].value[0] == from + 0.5 && theirs[i].value[1] == i &&
              theirs[i].count == 100 * from + i);
    MPI_Type_free(&record);
    MPI_Type_free(&with_hole);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
