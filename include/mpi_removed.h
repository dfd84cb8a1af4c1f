/* What MPI 3.0 removed and programs of before still call (MPI 5.0 chapter 17): thin names for
 * the functions that replaced them. Included by mpi.h. New programs use the names on the right.
 * A program that still has MPI_LB or MPI_UB among the types of a struct is compiled with -include
 * mpi_removed.h. */
#ifndef XSIM_MPI_REMOVED_H
#define XSIM_MPI_REMOVED_H

#ifndef XSIM_MPI_H
#define XSIM_MPI_OLD_BOUNDS
#include "mpi.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef MPI_Comm_errhandler_function MPI_Handler_function;

int MPI_Address(void *location, MPI_Aint *address);                                   /* MPI_Get_address */
int MPI_Errhandler_create(MPI_Handler_function *function,
                          MPI_Errhandler *errhandler);             /* MPI_Comm_create_errhandler */
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler); /* MPI_Comm_get_errhandler */
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);  /* MPI_Comm_set_errhandler */
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent);      /* MPI_Type_get_extent */
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement);    /* MPI_Type_get_extent */
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement);    /* MPI_Type_get_extent */
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                     MPI_Datatype *newtype); /* MPI_Type_create_hvector */
int MPI_Type_hindexed(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype oldtype,
                      MPI_Datatype *newtype); /* MPI_Type_create_hindexed */
int MPI_Type_struct(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype *types,
                    MPI_Datatype *newtype); /* MPI_Type_create_struct */

/* What Fortran's constructors of MPI 1 were told apart by: no datatype has these combiners, programs compare
 * with them. */
#define MPI_COMBINER_HVECTOR_INTEGER  (-101)
#define MPI_COMBINER_HINDEXED_INTEGER (-102)
#define MPI_COMBINER_STRUCT_INTEGER   (-103)

#if defined(XSIM_MPI_OLD_BOUNDS)
#define MPI_LB ((MPI_Datatype)0x2fe)
#define MPI_UB ((MPI_Datatype)0x2ff)
#define MPI_Type_create_struct MPI_Type_struct
#elif defined(__has_attribute)
#if __has_attribute(unavailable)
#define XSIM_MPI_REMOVED \
    "MPI 3.0 removed it: use MPI_Type_create_resized, or compile with -include mpi_removed.h"
extern const MPI_Datatype MPI_LB __attribute__((unavailable(XSIM_MPI_REMOVED)));
extern const MPI_Datatype MPI_UB __attribute__((unavailable(XSIM_MPI_REMOVED)));
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif /* XSIM_MPI_REMOVED_H */
