// What a program may ask of xsim itself. Made from cabi/extension.rs; do not edit. In Fortran the
// functions have the same names; declare them integer or double precision, and external.

#ifndef XSIM_H
#define XSIM_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Always 1. Declared weak by a program that also runs elsewhere, it tells whether xsim is there.
int xsim_running(void);

// Virtual seconds since the calling rank's start: MPI_Wtime, without need of MPI_Init.
double xsim_time(void);

// Lets the calling rank compute for this many seconds of virtual time, as if its processor had
// been busy. Answers 0, or -1 if `seconds` is negative, no number, or beyond 213 days.
int xsim_compute(double seconds);

// The calling virtual rank: its rank in MPI_COMM_WORLD, without need of MPI_Init.
int xsim_rank(void);

// How many virtual ranks the run has.
int xsim_size(void);

// The native process that the calling virtual rank runs in, from 0.
int xsim_real_rank(void);

// How many native processes the run has.
int xsim_real_size(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* XSIM_H */
