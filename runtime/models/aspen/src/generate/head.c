#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
