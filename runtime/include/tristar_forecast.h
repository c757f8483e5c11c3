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

/* What follows an analysis. The factorization has the method of the analysis. Not included: a second
 * factorization or another method that the values may call for, refinement, and GPUs. */
typedef struct tristar_forecast {
  size_t analysis_bytes;    /* Bytes of the analysis. */
  size_t factor_bytes;      /* Bytes of the factor: entries, pivots, scalings, and the copy of the values. */
  size_t factor_peak_bytes; /* Most additional bytes during tristar_factor, those of the factor included. */
  size_t trial_peak_bytes;  /* Most additional bytes if the pivots call for trial solves (tristar_stats.h).
                               factor_peak_bytes contains them if the scaling of the analysis does. */
  size_t
      least_peak_bytes;  /* factor_peak_bytes if one thread factors, as it does if a limit allows no more. */
  size_t plan_bytes;     /* Bytes of the plan, with the workspace of a solve with options->nrhs columns. */
  size_t solve_bytes;    /* Additional bytes of such a solve. */
  size_t peak_bytes;     /* Most bytes of the context from now on, if the next calls are tristar_factor,
                            tristar_plan and tristar_solve: with what it holds now. */
  int workers;           /* Threads that factor. */
  double factor_seconds; /* Seconds of the factorization, if a core makes 25e9 operations a second. */
  double solve_seconds;  /* Seconds of a solve with one column, by the calibration (tristar_machine.h). */
} tristar_forecast;

/* Forecasts a factorization, a plan with these options, and a solve with options->nrhs columns. The call
 * makes the tasks of all of them, but no arithmetic. The bytes are exact if no other call of the context runs
 * at the same time. With several workers those of the factorization depend on the order in which tasks run,
 * and are estimated. The plan is one on the cores. Errors: ARGUMENT, MEMORY, TOO_LARGE, RUNTIME; UNSUPPORTED
 * (KERNEL_SPMV, a storage other than FULL, an analysis of imported factors, rows of a Schur complement). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analysis_forecast(tristar_analysis_t *analysis,
                                                                     const tristar_plan_options *options,
                                                                     tristar_forecast *forecast);

/* Limits the memory of the context to `bytes`; 0: no limit. What it holds already stays. A factorization that
 * needs more by the forecast fails with MEMORY before it starts; if one thread needs less than all workers
 * do, that thread factors, with the same result. Any other allocation beyond the limit fails with MEMORY,
 * too. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_limit_memory(tristar_t *ts, size_t bytes);

/* ---- Progress ---------------------------------------------------------------------------------------- */

/* What a call does. */
typedef enum tristar_phase {
  TRISTAR_PHASE_ANALYSIS, /* tristar_analyze; also in tristar_factor, if it analyzes again. */
  TRISTAR_PHASE_FACTOR,   /* tristar_factor, tristar_refactor. */
  TRISTAR_PHASE_PLAN,     /* tristar_plan; also in tristar_factor, for trial solves. */
  TRISTAR_PHASE_SOLVE     /* tristar_solve, tristar_solve_refined and others; also for trial solves. */
} tristar_phase;

/* How far a call is. */
typedef struct tristar_progress_point {
  tristar_phase phase; /* What the call does. */
  double share;        /* Share of the phase that is done, 0 to 1: of the rows that are ordered, of the
                          operations of the factorization, of the columns that are solved. */
} tristar_progress_point;

/* Receives the state of a call about ten times a second, and when the phase changes: from any thread, one at
 * a time. A result other than 0 cancels the call. The function must not use the context. */
typedef int (*tristar_progress_fn)(void *arg, const tristar_progress_point *point);

/* Sets the function that follows all calls of the context; NULL: none. The first argument of the function is
 * arg. A cancelled call returns CANCELLED. Its output pointers are NULL, after tristar_refactor the factor
 * has no values (STALE), and after a solve x is undefined. All other objects stay as they were. Analyses
 * order in a helper process, as with tristar_analysis_options.progress, which is called, too. No other call
 * of the context may run meanwhile. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_set_progress(tristar_t *ts, tristar_progress_fn progress,
                                                                void *arg);

#ifdef __cplusplus
}
#endif
#endif
