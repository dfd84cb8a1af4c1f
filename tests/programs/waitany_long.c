/*
 * Long arrays of requests that are waited for one by one, into whose places behind the program new requests
 * are put: each is completed once, in time, and in an order that does not depend on who ran first.
 *
 *     waitany_long [SEED]
 *
 * Each rank prints a hash of the order and of the times, and "wrong" with what is.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 300
#define ROUNDS 4

static unsigned state;
static unsigned drawn(unsigned below) { return (state = state * 1103515245u + 12345u) / 65536u % below; }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, values[COUNT], expected = 0;
    MPI_Request requests[COUNT];
    unsigned long hash = 14695981039346656037ul;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1u;
    for (int round = 0; round < ROUNDS; round++) {
        /* All ranks draw alike how far message `k` of the round goes, and then each for itself. */
        state = 1000u * seed + (unsigned)round;
        int total = COUNT + (int)drawn(COUNT), posted = 0, got = 0, seen[2 * COUNT] = { 0 },
            distance[2 * COUNT];
        for (int k = 0; k < total; k++)
            distance[k] = (int)drawn((unsigned)size);
        state += (unsigned)rank;
        int tests = (int)drawn(2);
        for (; posted < COUNT; posted++)
            MPI_Irecv(&values[posted], 1, MPI_INT, (rank + size - distance[posted]) % size, posted,
                      MPI_COMM_WORLD, &requests[posted]);
        int of[COUNT];
        for (int k = 0; k < COUNT; k++)
            of[k] = k;
        MPI_Request send;
        for (int k = 0; k < total; k++) {
            int value = 1000 * round + k;
            MPI_Isend(&value, 1, MPI_INT, (rank + distance[k]) % size, k, MPI_COMM_WORLD, &send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        }
        while (got < total) {
            int index, flag = 1;
            double before = MPI_Wtime();
            if (tests && drawn(3) == 0)
                MPI_Testany(COUNT, requests, &index, &flag, MPI_STATUS_IGNORE);
            else
                MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
            if (!flag)
                continue;
            if (index < 0 || index >= COUNT || seen[of[index]]++ ||
                values[index] != 1000 * round + of[index]) {
                printf("rank %d: wrong: round %d, request %d of place %d\n", rank, round,
                       index >= 0 && index < COUNT ? of[index] : -1, index);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            hash = (hash ^ (unsigned long)of[index]) * 1099511628211ul;
            hash = (hash ^ (unsigned long)((MPI_Wtime() - before) * 1e12)) * 1099511628211ul;
            got++, expected++;
            /* Sometimes the place gets another, sometimes one before it, that is free, does. */
            if (posted < total && drawn(3) != 0) {
                int place = index;
                for (int back = (int)drawn(40);
                     back > 0 && place > 0 && requests[place - 1] == MPI_REQUEST_NULL; back--)
                    place--;
                of[place] = posted;
                MPI_Irecv(&values[place], 1, MPI_INT, (rank + size - distance[posted]) % size, posted,
                          MPI_COMM_WORLD, &requests[place]);
                posted++;
            } else if (posted < total && got == posted) {
                of[0] = posted;
                MPI_Irecv(&values[0], 1, MPI_INT, (rank + size - distance[posted]) % size, posted,
                          MPI_COMM_WORLD, &requests[0]);
                posted++;
            }
        }
        int index;
        MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);
        if (index != MPI_UNDEFINED)
            printf("rank %d: wrong: round %d ends with request %d\n", rank, round, index);
    }
    printf("rank %d: %d requests, hash %016lx\n", rank, expected, hash);
    MPI_Finalize();
    return 0;
}
