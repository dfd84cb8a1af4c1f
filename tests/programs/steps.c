/* Two ranks compute for 1 ms and exchange 1 kB, three times. */
#include <mpi.h>
#include <xsim.h>
int main(int argc, char **argv) {
    char out[1000], in[1000];
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        xsim_compute(1e-3);
        MPI_Isend(out, 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
