// What a program may ask of xsim itself. Made from cabi/extension.rs and cabi/folding.rs; do not edit.
// In Fortran the functions have the same names; declare them integer or double precision, and
// external.

#ifndef XSIM_H
#define XSIM_H

#include <stddef.h>

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

// The calling rank fails: it stops here, at its virtual time, and does not return. What it has sent before
// is delivered. The run ends at that time, unless it is tolerant of failures (-xsim-ft,
// docs/reference/failures.md).
void xsim_fail(void);

// Lets the calling rank compute so many floating-point operations, as many a second as its processor does:
// `-xsim-flops`, or `flops` of the simulated machine. A run of which that is not known ends with a sentence.
// Answers 0, or -1 if `flops` is negative, no number, or would take beyond 213 days.
int xsim_compute_flops(double flops);

// With `on` 0, charges what the calling rank has computed so far; with 1, forgets what it has computed since
// it was last charged. So the program's own bookkeeping between the two costs no virtual time where
// computation is measured (`-xsim-compute measured`), if it makes no MPI call. Answers 0.
int xsim_measure(int on);

// Has the calling rank's calls recorded from now on, if the run records a trace (`-xsim-trace`,
// docs/reference/traces.md). They are from the beginning, until `xsim_trace_off`. Answers 0.
int xsim_trace_on(void);

// Leaves the calling rank's calls out of the trace from now on. Answers 0.
int xsim_trace_off(void);

// The calling rank goes into a region of the program, which profiles tell apart by its name
// (`-xsim-profile`, docs/reference/report.md), within those that it is in. Answers 0.
int xsim_region_begin(const char *name);

// The calling rank leaves the region that it went into last. Answers 0, or -1, with nothing done, if that is
// one of another name.
int xsim_region_end(const char *name);

// Returns the calling virtual rank: its rank in MPI_COMM_WORLD, without need of MPI_Init.
int xsim_rank(void);

// Returns how many virtual ranks the run has.
int xsim_size(void);

// Returns the native process that the calling virtual rank runs in, from 0.
int xsim_real_rank(void);

// Returns how many native processes the run has.
int xsim_real_size(void);

// Returns memory that all ranks share which ask for it at one place of the program: `file` and `line` (see
// XSIM_SHARED_MALLOC) and size. For large arrays whose contents do not matter to the result: they cost their
// size once, however many ranks there are. Aligned to 64 bytes, zero at first; null if there is no memory.
void *xsim_shared_malloc(size_t bytes,
                         const char *file,
                         int line);

// Returns a block of which parts are shared: `ranges` has the first byte and the first byte behind for each
// of `count` parts, ascending and within `bytes`. Whole pages (4 KiB) of these parts are the same memory for
// all ranks that ask at one place (see XSIM_PARTIAL_SHARED_MALLOC) for a block of that size; all else is the
// rank's own. Zero at first. A run that cannot have the block ends with a sentence.
void *xsim_shared_malloc_partial(size_t bytes,
                                 const size_t *ranges,
                                 int count,
                                 const char *file,
                                 int line);

// The calling rank needs a block of xsim_shared_malloc or xsim_shared_malloc_partial no longer; the last
// one's call frees it. Null is allowed.
void xsim_shared_free(void *block);

// Begins a block of computation that is to be sampled (see XSIM_SAMPLE). Returns 1 if the block must run,
// and be ended with xsim_sample_end. Returns 0 if it ran often enough, and its mean cost was charged
// instead. It runs `count` times, or more until the standard error of its mean cost is below `precision`
// times the mean (if that is above 0).
//
// With `global` all ranks share the samples, otherwise each rank has its own. What a block costs is the
// computation charged in it, so that waiting inside MPI calls is left out.
int xsim_sample(const char *file,
                int line,
                int global,
                int count,
                double precision);

// Ends the block that the calling rank began last with xsim_sample. Answers 0.
int xsim_sample_end(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* XSIM_H */

// One block of memory for all ranks that come to this line: xsim_shared_malloc.
#define XSIM_SHARED_MALLOC(bytes) xsim_shared_malloc((bytes), __FILE__, __LINE__)

// The same for a block of which parts are shared: xsim_shared_malloc_partial.
#define XSIM_PARTIAL_SHARED_MALLOC(bytes, ranges, count) \
    xsim_shared_malloc_partial((bytes), (ranges), (count), __FILE__, __LINE__)

// Guards a statement or block, like `if`: XSIM_SAMPLE(0, 10, 0.01) { ... } runs the block until it has run 10
// times and its mean cost is known to 1 %, and charges the mean from then on. Leave the block at its end only
// (no break, no return).
#define XSIM_SAMPLE(global, count, precision) XSIM_SAMPLE_AS(__FILE__, __LINE__, global, count, precision)

// The same for a block that is known by another name than its place in the program.
#define XSIM_SAMPLE_AS(file, line, global, count, precision) \
    for (int xsim_runs = xsim_sample(file, line, global, count, precision); xsim_runs; \
         xsim_runs = xsim_sample_end())
