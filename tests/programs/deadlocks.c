/* Programs that wait for what never comes; the first argument says how. Line numbers are the tests'. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, value;
static char big[1 << 20];

static void ring_of_receives(void) {
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ring_of_sends(void) {
    MPI_Send(big, sizeof big, MPI_BYTE, (rank + 1) % size, 3, MPI_COMM_WORLD);
}

static void synchronous(void) {
    MPI_Request request;
    if (rank == 0) MPI_Ssend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Issend(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void other_tags(void) {
    if (rank == 0) {
        for (int to = 1; to < size; to++)
            for (int tag = 7; tag < 7 + to; tag++) MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
        return;
    }
    int from = rank == 2 ? MPI_ANY_SOURCE : 0;
    if (rank == 3) MPI_Probe(from, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, from, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other_sources(void) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 2, 9, copy);
    }
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 3, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_destination(void) {
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(how, "receives")) ring_of_receives();
    if (!strcmp(how, "sends")) ring_of_sends();
    if (!strcmp(how, "synchronous")) synchronous();
    if (!strcmp(how, "tags")) other_tags();
    if (!strcmp(how, "sources")) other_sources();
    if (!strcmp(how, "destination")) wrong_destination();
    if (!strcmp(how, "exit")) exit(3);
    return MPI_Finalize();
}
