/*
 * A receive is cancelled at many times around those at which its sender's request and its payload arrive: the
 * cancelling succeeds before the request is there and at no time after it, and the sender, which waits for
 * the match, learns of the one that counts.
 */
#include "check.h"
#include <unistd.h>

enum { LATEST = 24 };

/* How long what rank 1 sends is on its way until it is there to be matched, in nanoseconds, on rank 0. */
static long long way(void)
{
    MPI_Status status;
    double sent[2] = { 0 };
    if (rank == 1) {
        /* Rank 0 waits by then. */
        usleep(50);
        sent[0] = MPI_Wtime();
        MPI_Send(sent, 2, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
    if (rank != 0)
        return 0;
    MPI_Probe(1, 1, MPI_COMM_WORLD, &status);
    double now = MPI_Wtime();
    MPI_Recv(sent, 2, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &status);
    return (long long)((now - sent[0]) * 1e9 + 0.5);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long arrives = way();
    int given_back = 0;
    for (int later = 0; later < LATEST; later++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            usleep(3);
            double sent[2] = { MPI_Wtime(), later };
            MPI_Send(sent, 2, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
            double through = MPI_Wtime();
            MPI_Send(&through, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
        } else if (rank == 0) {
            double got[2] = { -1, -1 }, through;
            int flag, cancelled;
            MPI_Request request;
            MPI_Status status;
            MPI_Irecv(got, 2, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &request);
            for (int i = 0; i < later; i++) {
                usleep(1);
                MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &status);
            }
            double now = MPI_Wtime();
            MPI_Cancel(&request);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &cancelled);
            if (cancelled)
                MPI_Recv(got, 2, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &status);
            MPI_Recv(&through, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &status);
            CHECK(got[1] == later);
            long long early = arrives - (long long)((now - got[0]) * 1e9 + 0.5);
            CHECK(cancelled == (early > 0));
            given_back += cancelled;
            printf("%d us: %s, the sender is through %.3f us after it sent\n", later,
                   cancelled ? "cancelled" : "too late", (through - got[0]) * 1e6);
        }
    }
    CHECK(rank != 0 || (given_back > 0 && given_back < LATEST));
    MPI_Finalize();
    return 0;
}
