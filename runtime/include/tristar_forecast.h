/* TriStar: memory and time before they are spent: forecasts of factorizations and solves, a limit; and
 * the progress of calls, which may be cancelled.
 *
 *   tristar_analysis_forecast(analysis, NULL, &forecast);    bytes and seconds of what follows
 *   tristar_limit_memory(ts, 8000000000);                    no more than 8 GB
 *   tristar_set_progress(ts, follow, NULL);                  `follow` sees shares, and may cancel
 *   tristar_factor(analysis, values, &factor);               MEMORY at once, if that cannot suffice
 *
 * All bytes are those that tristar_get_memory counts (tristar_machine.h): the process has more, such as its
 * libraries, and the tasks of StarPU. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_FORECAST_H
#define TRISTAR_FORECAST_H

#ifdef __cplusplus
extern "C" {
#endif

/* What follows an analysis, with its method. Not included: a second factorization or another method that the
 * values may call for, the larger factors in an order of PIVOTING_DELAYED, refinement, and GPUs. The bytes
 * are exact if one thread factors, no trial solves run, and no other call of the context runs at the same
 * time. Otherwise they are estimates. */
typedef struct tristar_forecast {
  size_t analysis_bytes;    /* Bytes of the analysis. */
  size_t factor_bytes;      /* Bytes of the factor: entries, pivots, scalings, and the copy of the values. */
  size_t factor_peak_bytes; /* Maximum additional bytes during tristar_factor, those of the factor included.
                               factor_peak_bytes includes trial solves if the scaling of the analysis calls
                               for them. It is an upper bound if the pivots make them unnecessary. */
  size_t trial_peak_bytes;  /* The same if the pivots call for trial solves, for an estimate of the condition,
                               or  for another analysis and factorization (tristar_stats.h). */
  size_t search_peak_bytes; /* The same if the values call for the search of PIVOTING_DELAYED and this delays
                               no column. Each delayed column adds to it. 0 without PIVOTING_DELAYED. Not in
                               peak_bytes. */
  size_t
      least_peak_bytes;  /* factor_peak_bytes if one thread factors, as it does if a limit allows no more. */
  size_t plan_bytes;     /* Bytes of the plan, with the workspace of a solve with options->nrhs columns. */
  size_t solve_bytes;    /* Additional bytes of such a solve. */
  size_t singular_bytes; /* Upper bound of the additional bytes of a solve with one column if the matrix is
                            singular (SINGULAR_PERTURB) and has at most four null vectors. The solve refines,
                            and searches them where they spoil x. */
  size_t singular_kept_bytes; /* Part of these that the plan keeps: null vectors, and a workspace. Every
                                 further op keeps less. Not in plan_bytes and peak_bytes. */
  size_t peak_bytes;     /* Maximum bytes of the context from now on, if the next calls are tristar_factor,
                            tristar_plan and tristar_solve: with what it holds now. */
  int workers;           /* Threads that factor. */
  double factor_seconds; /* Seconds of the factorization, by the calibration (tristar_machine.h). */
  double solve_seconds;  /* Seconds of a solve with one column, by the same. */
} tristar_forecast;

/* Forecasts a factorization, a plan with these options, and a solve with options->nrhs columns. The call
 * creates all tasks, but does no arithmetic. It starts StarPU if the plan needs it. With several workers the
 * bytes of the factorization depend on the order in which tasks run. The plan is one on the cores. Errors:
 * ARGUMENT, MEMORY, TOO_LARGE, RUNTIME, NO_WORKER, CANCELLED; UNSUPPORTED (KERNEL_SPMV, a storage other than
 * FULL, an analysis of imported factors, rows of a Schur complement). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_forecast(tristar_analysis_t *analysis,
                                                                     const tristar_plan_options *options,
                                                                     tristar_forecast *forecast);

/* Limits the memory of the context on this process to `bytes`; 0: no limit. Memory that is already allocated
 * stays. A factorization on one process that needs more by the forecast fails with MEMORY before it starts.
 * If one thread needs less than all workers do, that thread factors, with the same result. The forecast does
 * not count trial solves, nor what tristar_update_begin keeps. On many processes a first factorization whose
 * forecast (tristar_layout_forecast) exceeds the limit of one rank fails on all. Any other allocation beyond
 * the limit fails with MEMORY, too. If tristar_refactor fails, the factor has no values (STALE). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_limit_memory(tristar_t *ts, size_t bytes);

/* ---- Progress ---------------------------------------------------------------------------------------- */

/* What a call does. */
typedef enum tristar_phase {
  TRISTAR_PHASE_ANALYSIS, /* tristar_analyze; also in tristar_factor, if it analyzes again. */
  TRISTAR_PHASE_FACTOR,   /* tristar_factor, tristar_refactor and updates (tristar_update.h). */
  TRISTAR_PHASE_PLAN,     /* tristar_plan; also in tristar_factor, for trial solves, and in a solve that first
                             copies new values (tristar_plan_options.storage, .compress). */
  TRISTAR_PHASE_SOLVE,    /* tristar_solve, tristar_solve_refined and others; also for trial solves. */
  TRISTAR_PHASE_READ      /* Files: matrices, right-hand sides, saved objects. */
} tristar_phase;

/* How far a call is. */
typedef struct tristar_progress_point {
  tristar_phase phase; /* What the call does. */
  double share;        /* Share of the phase that is done, 0 to 1: of the rows that are ordered, of the
                          operations of the factorization, of the columns that are solved, of the bytes of
                          the file (a pipe: 0). */
} tristar_progress_point;

/* Receives the state of a call at most ten times a second in each phase: from any thread, one at a time. A
 * result other than 0 cancels the call. The function must not use the context. */
typedef int (*tristar_progress_fn)(void *arg, const tristar_progress_point *point);

/* Sets the function that follows calls of the context; NULL: none. The first argument of the function is arg.
 * Followed are the matching and the ordering of an analysis, each front of a factorization, stages of a plan,
 * each block of columns of a solve, systems of a batch, panels of an inverse, and files that are read. So a
 * solve with one block calls the function once. Not followed: solves on many processes, Krylov methods
 * (tristar_krylov.h has its own function), FSAI.
 *
 * A cancelled call returns CANCELLED. Its output pointers are NULL, and after a solve x is undefined. After
 * tristar_refactor and the functions of tristar_update.h the factor has no values (STALE); after
 * tristar_update_low_rank it has its old values or none. If tristar_plan, or a solve that copies new values,
 * was cancelled while it released the factor (release_factor), the factor has no values either.
 * tristar_refactor computes values again. After tristar_batch_factor the batch has no factors (STALE). All
 * other objects stay as they were. While a function is set, analyses order in a helper process, as with
 * tristar_analysis_options.progress. That function is called, too. No other call of the context may run while
 * the function is set. Errors: ARGUMENT; MEMORY (no function is set).
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_set_progress(tristar_t *ts, tristar_progress_fn progress,
                                                                void *arg);

#ifdef __cplusplus
}
#endif
#endif
