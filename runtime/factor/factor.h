/* Factors: the packed panels of L (and U), pivots, scalings, and the values that refinement needs.
 *
 * Reads   analysis, the user's values.
 * Writes  the streams; after a factorization they are immutable until tristar_refactor.
 * Factor order. The order of the rows of L: the final order, permuted by the pivots inside the panels. For an
 * imported factor it is the given order.
 *
 * Invariants
 *   - lower (and upper for LU) store panel p at panel_values[p] of their structure, every entry finite, with
 *     TSI_STREAM_PAD zeros at the end. A triangular matrix imported alone has only one of them.
 *   - pivot_order[k] is the final row of row k in factor order, and position is the inverse. Both are NULL if
 *     the two orders are equal. For a triangle by rows they are the arrays of analysis->symbolic.
 *   - If many processes make a factor, each has a part: the panels of its supernodes. Those with a negative
 *     place are not stored here as a whole: they are in `passing` from their packing until they are sent.
 *   - generation counts successful factorizations; valid is false from the start of one until its success. */
#pragma once

#include <math.h>

#include "runtime/factor/analysis.h"
#include "runtime/factor/residents.h"

/* Pivots below this share of the largest entry of their column are examined. */
#define TSI_WEAK 0x1p-10

struct tristar_factor_s {
  atomic_int references;
  bool valid;
  bool adjoint;                   /* LLT, LDLT: mirror images are conjugates (complex Hermitian). */
  bool has_matrix;                /* `values` exist. */
  bool moves_rows, moves_columns; /* A triangular matrix with row_order, column_order (tristar.h). */
  bool pivoted;                   /* Pivoting interchanged rows. */
  bool doubtful;  /* Import with its matrix: trial solves must examine it, as its pivots are far apart. */
  bool dependent; /* The latest factorization failed because nothing was left of a row
                     (tsi_numeric_dependent). */
  bool surely_singular; /* stats.singular: changes of the entries by rounding errors make A singular. */
  bool misfit; /* A looks singular in the scaling of the analysis, but is regular: no row of a solution counts
                  as rounding errors. */
  bool alone;  /* One thread factors it, because tasks would exceed the memory limit of the context. */
  bool fixed;  /* Factored without interchanges, after a row without a pivot. */
  /* 64 + k if units or weak pivots were the only reason that solves with the latest judged values lost
   * digits: their stats.solve_error was at most 2^k. Else 0. */
  int8_t loss;
  bool loses_by_weakness; /* The reason for `loss` was weak pivots. */
  bool released; /* A copy of a plan has taken the streams over (storage.h); nothing may read them. */
  tristar_t *ts;
  tristar_analysis_t *analysis;
  int64_t generation;
  size_t user_bytes;   /* Bytes of a scalar of values, b and x. */
  size_t scalar_bytes; /* Bytes of a scalar of the factors. */
  void *values;        /* Copy of the user's values; NULL: imported without the matrix. */
  double *row_scale;   /* n, by the user's row; NULL: ones (most LLT), see scaling.h. */
  double *col_scale;   /* n, by the user's column. */
  /* n each: scalings of an imported matrix whose units are far apart (tsi_scaling_weigh). Only residuals use
   * them, solves do not. NULL: row_scale and col_scale serve. */
  double *row_weight, *col_weight;
  void *lower, *upper; /* upper is NULL except for LU. */
  void *schur; /* Schur complement of the rows that are not eliminated: the whole square, by columns, scaled.
                  The panels of their supernode are a unit matrix. NULL: none. */
  void **passing[2]; /* By panel, of the lower and the upper stream (see above); NULL: none. */
  struct tsi_row_factor
      *rows;         /* A triangular matrix without supernodes (row_factor.h); the streams are empty. */
  tsi_index *pivots; /* n; NULL for LLT. */
  void *inverse;     /* LDLT: D^-1, two scalars a column (tsi_pivoting); else NULL. */
  tsi_index *pivot_order, *position; /* n */
  tsi_residents residents;           /* Subtrees that are stored on devices. */
  double weakest_pivot;  /* As in tsi_pivot_figures (numeric.h): INFINITY unless below TSI_WEAK. */
  tsi_index weakest_row; /* Row of the weakest pivot. */
  int part_spread; /* Part of a factor (team_factor.h): tsi_scaling_spread of the whole factor; else 0. */
  double inherited_error; /* Relative error that a pivot may inherit from earlier ones (factorize.c), in
                             epsilons. */
  double inverse_growth;  /* Largest inverse_growth (front.h) of a diagonal block; 0: none is inverted. */
  double scaled_error;    /* Backward error of trial solves in the scaling of the factors; 0: no trial.
                             stats.solve_error also judges rows in their own units, and allows for errors that
                             trials miss. */
  /* Plan of the trial solves, kept for the next refactorization. Its reference to the factor is not counted.
   * NULL: none. */
  tristar_plan_t *trial_plan;
  void (*destroy_trial_plan)(tristar_plan_t **plan);
  double low_rank_error;     /* Sum of the relative errors that updates of low rank have left (low_rank.h). */
  double low_rank_growth;    /* Growth of the terms of L D L^T by such updates; 1, or 0: none. */
  struct tsi_update *update; /* State for changes of few entries (update.h); NULL: not prepared. */
  tristar_factor_stats stats;
};

/* Bytes of the streams and of the Schur complement. */
size_t tsi_factor_stream_bytes(const tristar_factor_t *factor);
/* Creates an empty factor with one reference. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_factor_begin(tristar_t *ts, tristar_factor_t **out);
tristar_factor_t *tsi_factor_share(tristar_factor_t *factor);

typedef struct tsi_row_factor tsi_row_factor;

/* Is this a triangular matrix imported alone? It is solved by one sweep. */
static inline bool tsi_factor_is_triangle(const tristar_factor_t *factor) {
  return tsi_analysis_is_lu(factor->analysis) && (factor->lower == NULL || factor->upper == NULL);
}

/* Do row k of b and row k of x belong to the same chunk? */
static inline bool tsi_factor_keeps_rows(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  return (!an->stats.matched && !an->imported) ||
         (factor->rows && !factor->moves_rows && !factor->moves_columns);
}

/* Address of panel p of a stream. */
static inline char *tsi_factor_panel(const tristar_factor_t *factor, bool upper, tsi_index p) {
  const tsi_count at = factor->analysis->panel_values[p];
  if (at < 0) return factor->passing[upper][p];
  return (char *)(upper ? factor->upper : factor->lower) + (size_t)at * factor->scalar_bytes;
}
/* Allocates a panel in `passing`, unless it exists. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_need_passing(const tristar_factor_t *factor, bool upper,
                                                       tsi_index p);

/* Does a trial show that solves without refinement lose digits? */
static inline bool tsi_factor_loses_digits(const tristar_factor_t *factor) {
  if (!factor->stats.judged) return false;
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return !(factor->stats.solve_error <= tsi_acceptable_error(epsilon));
}
/* Can products with inverted diagonal blocks lose as many digits? */
static inline bool tsi_factor_inverts_badly(const tristar_factor_t *factor) {
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return factor->inverse_growth * cbrt(epsilon) > 1;
}
/* Does such a factor need refinement for each solve? If A is singular, null vectors in x may be large. */
static inline bool tsi_factor_needs_refinement(const tristar_factor_t *factor) {
  return factor->stats.perturbed_pivots > 0 || factor->stats.singular || tsi_factor_loses_digits(factor);
}

/* Errors: STALE (its last refactorization failed, or, for ..._need_values, a copy of a plan has taken the
 * entries over). */
TRISTAR_CHECKED tristar_status tsi_factor_need_valid(const tristar_factor_t *factor);
TRISTAR_CHECKED tristar_status tsi_factor_need_values(const tristar_factor_t *factor);
/* Errors: UNSUPPORTED (rows of the matrix are not eliminated). */
TRISTAR_CHECKED tristar_status tsi_analysis_need_whole(const tristar_analysis_t *analysis);

/* Allocates a stream of `size` scalars of the factor's type and its pad of zeros. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_allocate_stream(tsi_env *env, const tristar_factor_t *factor,
                                                          tsi_count size, void **out);

/* Computes the scaling, and factors into the streams of the factor. */
TRISTAR_CHECKED tristar_status tsi_factorize(tristar_factor_t *factor);

/* tristar_factor and tristar_refactor without the verdict on suspicious pivots (judge.h). After a failure
 * *out is NULL, unless nothing was left of a row (dependent). Errors: as tristar_factor, tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_factor_make(tristar_analysis_t *analysis, const void *values,
                                               tristar_factor_t **out);
TRISTAR_CHECKED tristar_status tsi_factor_renew(tristar_factor_t *factor, const void *values);
/* Factors the same values with a new analysis (tsi_analysis_match_again): with a matching, whose scaling
 * is used however far units are apart, and with SINGULAR_PERTURB. Errors: as tristar_analyze and
 * tristar_factor. */
TRISTAR_CHECKED tristar_status tsi_factor_rematch(const tristar_factor_t *factor, tristar_factor_t **out);
/* Does this failure of tsi_factor_rematch end the call? Otherwise there is merely no other factor. */
static inline bool tsi_status_ends_call(tristar_status status) {
  return status == TRISTAR_ERR_MEMORY || status == TRISTAR_ERR_RUNTIME || status == TRISTAR_ERR_CANCELLED ||
         status == TRISTAR_ERR_NO_WORKER || status == TRISTAR_ERR_INTERNAL;
}
/* tsi_factor_rematch without the factorization, for other ways to factor. full: without single_factors.
 * Errors: as tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_prepare_again(const tristar_factor_t *factor, bool full,
                                                        tristar_factor_t **out);
/* Analyzes the values again with the same method, after the verdict STALE, for a factor without plans.
 * Errors: as tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_match_again(tristar_factor_t *factor);
/* The same, and selects factors without inverted diagonal blocks (INVERSE_NONE). An extended analysis is
 * kept. */
TRISTAR_CHECKED tristar_status tsi_factor_substitute(tristar_factor_t *factor);
/* Factors its values, which were checked, with its analysis. Errors: as tristar_factor. */
TRISTAR_CHECKED tristar_status tsi_factor_run(tristar_factor_t *factor);
/* The same for a factor without plans. With PIVOTING_DELAYED and unsuitable pivots, it replaces the analysis
 * by one with another order of pivots (delayed_pivots.c). */
TRISTAR_CHECKED tristar_status tsi_factor_run_stable(tristar_factor_t *factor);
/* Does PIVOTING_DELAYED apply to this factor? LLT has no such pivots. */
static inline bool tsi_factor_delays(const tristar_factor_t *factor) {
  return factor->analysis->options.pivoting == TRISTAR_PIVOTING_DELAYED &&
         factor->analysis->stats.method != TRISTAR_METHOD_LLT;
}
/* Sets stats.unstable_pivots after a factorization. For a part of a factor (team_factor.h), owner holds the
 * process of each supernode, and only the pivots of this process, rank, are tested. owner NULL: all pivots
 * are tested. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_test_pivots(tristar_factor_t *factor, const tsi_index *owner,
                                                      tsi_index rank);
/* Steps of tsi_factor_run_stable between factorizations, for factorizations by several processes. */
#define TSI_PIVOT_ROUNDS 3 /* Largest number of searches in a factorization. */
/* Do the pivots of a factorization with this status require another order? */
bool tsi_factor_needs_order(const tristar_factor_t *factor, tristar_status status);
/* Searches another order of pivots. *changed: an order was found; the factor has an analysis for it, and no
 * streams. Errors: as tristar_analyze, CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_factor_search_order(tristar_factor_t *factor, bool *changed);
/* A factor without values takes over an analysis of the same matrix. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_take_analysis(tristar_factor_t *factor, tristar_analysis_t *again);

/* Steps of tristar_factor before and after this, for factorizations by several processes. */

/* Creates a factor without values and streams, for callers that store the values elsewhere. Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_factor_create_empty(tristar_analysis_t *analysis, tristar_factor_t **out);
/* Creates a factor with the user's values, without streams. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_factor_create(tristar_analysis_t *analysis, const void *values,
                                                 tristar_factor_t **out);
/* Checks that its values are finite and suit the method of the analysis. Errors: NOT_FINITE, ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_factor_check_values(tristar_factor_t *factor);
/* The same; METHOD_AUTO analyzes again if the values need another method. Errors: also as tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_choose_method(tristar_factor_t *factor);
/* Analyzes again for L D L^T, after METHOD_AUTO chose Cholesky (analysis->fallback) and a pivot was not
 * positive. Errors: as tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_fall_back(tristar_factor_t *factor);
/* Did pivoting interchange any rows? */
bool tsi_factor_interchanged(const tristar_factor_t *factor);
/* Computes pivot_order, position and pivoted from the pivots. */
void tsi_factor_order_pivots(tristar_factor_t *factor);
/* Sets the remaining statistics: sizes, and the peak of memory since `before` bytes were in use. seconds
 * include the start of StarPU. */
void tsi_factor_fill_stats(tristar_factor_t *factor, size_t before, double seconds);
/* Status of a failed refactorization; the message gets METHOD_AUTO's explanation if it has one. */
TRISTAR_CHECKED tristar_status tsi_factor_explain(const tristar_factor_t *factor, tristar_status status);
