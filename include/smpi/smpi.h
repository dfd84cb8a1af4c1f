/*
 * What programs that were ported to SimGrid's SMPI call, under the same names: folded memory, sampled and
 * stated computation. What controls SimGrid itself does not compile, and says why.
 */
#ifndef XSIM_SMPI_H
#define XSIM_SMPI_H

#include <mpi.h>
#include <sys/time.h>
#include <unistd.h>
#include <xsim.h>

/* One block of memory for all ranks that come to this line. */
#define SMPI_SHARED_MALLOC(size) XSIM_SHARED_MALLOC(size)
/* The same for parts of a block: first byte and first byte behind of each, in whole pages. */
#define SMPI_PARTIAL_SHARED_MALLOC(size, shared_block_offsets, nb_shared_blocks) \
    XSIM_PARTIAL_SHARED_MALLOC(size, shared_block_offsets, nb_shared_blocks)
#define SMPI_SHARED_FREE(data) xsim_shared_free(data)
#define smpi_shared_malloc(size, file, line) xsim_shared_malloc(size, file, line)
#define smpi_shared_malloc_partial(size, offsets, count) XSIM_PARTIAL_SHARED_MALLOC(size, offsets, count)
#define smpi_shared_free(data) xsim_shared_free(data)

/*
 * A call that one rank makes for all, told apart by the function's name and a text: what the function gives
 * is a pointer, which the other ranks get. It must not point to a stack or to global variables: those are
 * each rank's own.
 */
#define SMPI_SHARED_CALL(func, input, ...) \
    (smpi_shared_known_call(#func, (input)) ? smpi_shared_get_call(#func, (input)) \
                                            : smpi_shared_set_call(#func, (input), ((func)(__VA_ARGS__))))

/*
 * A loop whose body runs `iters` times, or more until the standard error of its mean cost is below `thres`
 * times the mean; from then on the mean is charged for each iteration. LOCAL: each rank by itself; GLOBAL:
 * all ranks together.
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

/* The block that follows does not run; it costs `duration` seconds, or so many floating-point operations
 * (-xsim-flops). */
#define SMPI_SAMPLE_DELAY(duration) for (smpi_execute(duration); 0;)
#define SMPI_SAMPLE_FLOPS(flops) for (smpi_execute_flops(flops); 0;)

/* Variables that were made private by hand: all global and static variables are each rank's own here. */
#define SMPI_VARINIT_GLOBAL(name, type) type name;
#define SMPI_VARINIT_GLOBAL_AND_SET(name, type, expr) type name = expr;
#define SMPI_VARGET_GLOBAL(name) (name)
#define SMPI_VARINIT_STATIC(name, type) static type name;
#define SMPI_VARINIT_STATIC_AND_SET(name, type, expr) static type name = expr;
#define SMPI_VARGET_STATIC(name) (name)

#ifdef __cplusplus
extern "C" {
#endif

/* Computes for so many seconds, or so many floating-point operations. */
void smpi_execute(double duration);
void smpi_execute_benched(double duration);
void smpi_execute_flops(double flops);
void smpi_execute_flops_benched(double flops);

/* What SMPI_SHARED_CALL consists of. */
int smpi_shared_known_call(const char *func, const char *input);
void *smpi_shared_get_call(const char *func, const char *input);
void *smpi_shared_set_call(const char *func, const char *input, void *data);

/* Computation between the end and the next beginning is not charged. */
static inline void smpi_bench_end(void) { xsim_measure(0); }
static inline void smpi_bench_begin(void) { xsim_measure(1); }

/* The calling rank, how many there are, and a pointer that it keeps. */
static inline int smpi_process_index(void) { return xsim_rank(); }
static inline int smpi_global_size(void) { return xsim_size(); }
static inline MPI_Comm smpi_process_comm_self(void) { return MPI_COMM_SELF; }
static inline MPI_Info smpi_process_info_env(void) { return MPI_INFO_ENV; }
__attribute__((weak)) void *xsim_smpi_user_data;
static inline void *smpi_process_get_user_data(void) { return xsim_smpi_user_data; }
static inline void smpi_process_set_user_data(void *data) { xsim_smpi_user_data = data; }

/* Virtual time in nanoseconds. */
static inline unsigned long long smpi_rastro_resolution(void) { return 1000000000; }
static inline unsigned long long smpi_rastro_timestamp(void)
{ return (unsigned long long)(xsim_time() * 1e9 + 0.5); }

/* Marks for SimGrid's traces, of which there are none, and options of SimGrid's that are read early. */
static inline void TRACE_smpi_set_category(const char *category) { (void)category; }
static inline void smpi_trace_set_call_location(const char *file, int line, const char *call)
{
    (void)file, (void)line, (void)call;
}
static inline void smpi_init_options(void) { }

/* What does not exist here: a call is an error of compilation. */
#ifdef __cplusplus
#define XSIM_SMPI_ANY ...
#else
#define XSIM_SMPI_ANY
#endif
#define XSIM_SMPI_NOT_THERE(name, why) \
    int name(XSIM_SMPI_ANY) __attribute__((error("xsim has no " #name ": " why)))
XSIM_SMPI_NOT_THERE(smpi_main, "the program's own main runs on every rank; start it with -xsim-np");
XSIM_SMPI_NOT_THERE(SMPI_init,
                    "the program's own main runs on every rank; there are no actors of SimGrid beside it");
XSIM_SMPI_NOT_THERE(SMPI_finalize,
                    "the program's own main runs on every rank; there are no actors of SimGrid beside it");
XSIM_SMPI_NOT_THERE(SMPI_app_instance_register,
                    "one program runs on all ranks; there are no actors of SimGrid beside it");
XSIM_SMPI_NOT_THERE(SMPI_thread_create, "threads of a rank may compute, but only its first one calls MPI");
XSIM_SMPI_NOT_THERE(smpi_replay_init, "time-independent traces are not replayed");
XSIM_SMPI_NOT_THERE(smpi_replay_main, "time-independent traces are not replayed");
XSIM_SMPI_NOT_THERE(smpi_replay_run, "time-independent traces are not replayed");
XSIM_SMPI_NOT_THERE(smpi_comm_set_copy_data_callback, "messages are copied by the simulator alone");
XSIM_SMPI_NOT_THERE(smpi_get_host_power_peak_at,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");
XSIM_SMPI_NOT_THERE(smpi_get_host_current_power_peak,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");
XSIM_SMPI_NOT_THERE(smpi_get_host_nb_pstates,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");
XSIM_SMPI_NOT_THERE(smpi_get_host_pstate,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");
XSIM_SMPI_NOT_THERE(smpi_set_host_pstate,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");
XSIM_SMPI_NOT_THERE(smpi_get_host_consumed_energy,
                    "processors have one speed and no energy model (-xsim-proc, -xsim-flops)");

#ifdef __cplusplus
}
#endif

#endif
