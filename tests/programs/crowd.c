// Teams of so many ranks that not all can keep their workers; there are no thread-local variables.
#include "check.h"

#include <omp.h>

static void many(void) {
    int sum = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(8) reduction(+ : sum)
        sum += omp_get_num_threads();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(sum == 3 * 64);
}

static const Case cases[] = {{"many", many}};
RUN_CASES(cases)
