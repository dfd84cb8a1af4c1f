/* Open MPI declares the functions for failures of processes here, MPICH in mpi.h, and so does xsim: programs
 * made for either find them (docs/reference/failures.md). */
#ifndef XSIM_MPI_EXT_H
#define XSIM_MPI_EXT_H

#include "mpi.h"

/* By these, programs made for Open MPI ask whether it has them. */
#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1

#endif /* XSIM_MPI_EXT_H */
