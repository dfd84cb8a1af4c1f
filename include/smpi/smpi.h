/*
 * The macros of SimGrid's SMPI for folded memory and sampled computation, for programs that were ported to it:
 * the same names, by way of xsim.h. A block's cost is its computation; SMPI_SAMPLE_FLOPS and what controls SimGrid itself are
 * not here.
 */
#ifndef XSIM_SMPI_H
#define XSIM_SMPI_H

#include <mpi.h>
#include <xsim.h>

/* One block of memory for all ranks that come to this line. */
#define SMPI_SHARED_MALLOC(size) XSIM_SHARED_MALLOC(size)
#define SMPI_SHARED_FREE(data) xsim_shared_free(data)

/* Every rank calls the function: what it gives is not shared. */
#define SMPI_SHARED_CALL(func, input, ...) (func(__VA_ARGS__))

/*
 * A loop whose body runs `iters` times, or more until the standard error of its mean cost is below `thres` times the mean;
 * from then on the mean is charged for each iteration. LOCAL: each rank by itself; GLOBAL: all ranks together.
 */
#define SMPI_SAMPLE_LOCAL(loop_init, loop_end, loop_iter, iters, thres) \
    for (loop_init; loop_end; loop_iter) XSIM_SAMPLE(0, iters, thres)
#define SMPI_SAMPLE_GLOBAL(loop_init, loop_end, loop_iter, iters, thres) \
    for (loop_init; loop_end; loop_iter) XSIM_SAMPLE(1, iters, thres)
/* A line with another tag, any string, is another loop. */
#define SMPI_SAMPLE_LOCAL_TAG(loop_init, loop_end, loop_iter, iters, thres, tag) \
    for (loop_init; loop_end; loop_iter) XSIM_SAMPLE_AS(tag, __LINE__, 0, iters, thres)
#define SMPI_SAMPLE_GLOBAL_TAG(loop_init, loop_end, loop_iter, iters, thres, tag) \
    for (loop_init; loop_end; loop_iter) XSIM_SAMPLE_AS(tag, __LINE__, 1, iters, thres)

/* The block that follows does not run; it costs `duration` seconds. */
#define SMPI_SAMPLE_DELAY(duration) for (xsim_compute(duration); 0;)

#define smpi_execute(duration) ((void)xsim_compute(duration))

/* Marks what follows in SimGrid's traces of resources, of which there are none. A function, as programs declare it themselves. */
static inline void TRACE_smpi_set_category(const char *category)
{
    (void)category;
}

#endif
