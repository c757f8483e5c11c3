/* Factors: the packed panels of L (and U), pivots, scalings, and the values that refinement needs.
 *
 * Reads   analysis, the user's values.
 * Writes  the streams; once factored they are immutable until tristar_refactor.
 * Factor order. Row k of L, in the order that the pivots inside the panels make of the final one; for an
 * imported factor the order in which it was given.
 *
 * Invariants
 *   - lower (and upper for LU) hold panel p at panel_values[p] of their structure, every entry finite;
 * TSI_STREAM_PAD zeros at the end. A triangular matrix imported alone has only one of them.
 *   - pivot_order[k] is the final row that comes k-th in factor order, position the inverse; both NULL if
 * that is the same; of a triangle by rows they are the arrays of analysis->symbolic
 *   - of a factor that many processes make each has a part: the panels of its supernodes. Those with a
 * negative place are in `passing`, each from its packing on: others will hold them, and it lives until they
 * do
 *   - generation counts successful factorizations; valid is false from the start of one until its success */
#pragma once

#include <math.h>

#include "runtime/factor/analysis.h"
#include "runtime/factor/residents.h"

/* Pivots below this share of the largest entry of their column are looked at. */
#define TSI_WEAK 0x1p-10

struct tristar_factor_s {
  atomic_int references;
  bool valid;
  bool adjoint;                   /* LLT, LDLT: mirror images are conjugates (complex Hermitian) */
  bool has_matrix;                /* values are there */
  bool moves_rows, moves_columns; /* a triangular matrix with row_order, column_order (tristar.h) */
  bool pivoted;                   /* some interchange happened */
  bool doubtful;  /* of an import with its matrix: trial solves are to look at it, as pivots are far apart */
  bool dependent; /* the latest factorization failed as nothing was left of a row (tsi_numeric_dependent) */
  bool surely_singular; /* stats.singular: changes of the entries by rounding errors make A singular */
  bool misfit; /* A looks singular as the analysis scales it, but is regular: no row of a solution counts as
                  rounding errors */
  bool alone;  /* one thread factors it: with tasks it would exceed the limit of the context */
  bool fixed;  /* after a row without a pivot: factored without interchanges */
  /* 64 + k, if units or weak pivots alone made solves with the latest judged values lose digits: their
   * stats.solve_error was at most 2^k. Else 0. */
  int8_t loss;
  bool loses_by_weakness; /* loss: weak pivots did */
  bool released;          /* a copy of a plan has taken the streams over (storage.h): nobody reads them */
  tristar_t *ts;
  tristar_analysis_t *analysis;
  int64_t generation;
  size_t user_bytes;   /* of a scalar of values, b and x */
  size_t scalar_bytes; /* of a scalar of the factors */
  void *values;        /* the user's, copied; NULL: imported without the matrix */
  double *row_scale;   /* n, by the user's row; NULL: ones (most LLT), see scaling.h */
  double *col_scale;   /* n, by the user's column */
  /* n each: scalings of the matrix of an import whose units are far apart (tsi_scaling_weigh), for residuals
   * alone: solves do not use them. NULL: row_scale and col_scale serve. */
  double *row_weight, *col_weight;
  void *lower, *upper; /* upper is NULL but for LU */
  void *schur; /* the Schur complement of rows that are not eliminated: all of it, by columns, scaled; the
                  panels of their supernode are those of a unit matrix. NULL: there are none */
  void **passing[2]; /* by panel, of the lower and upper stream, see above; NULL: there are none */
  struct tsi_row_factor
      *rows;         /* a triangular matrix without supernodes (row_factor.h): the streams are empty */
  tsi_index *pivots; /* n; NULL for LLT */
  void *inverse;     /* LDLT: D^-1, two scalars a column (tsi_pivoting); else NULL */
  tsi_index *pivot_order, *position; /* n */
  tsi_residents residents;           /* subtrees that devices have */
  double weakest_pivot;              /* of tsi_pivot_figures (numeric.h): INFINITY unless below TSI_WEAK */
  tsi_index weakest_row;             /* the same: its row */
  int part_spread; /* Of a part of a factor (team_factor.h): tsi_scaling_spread of the whole one; else 0. */
  double inherited_error; /* relative, of a pivot: what earlier ones may leave (factorize.c), in epsilons */
  double inverse_growth;  /* Largest inverse_growth (front.h) of a diagonal block; 0: none is inverted. */
  double scaled_error;    /* Backward error of trial solves in the scaling of the factors; 0: none was made.
                             stats.solve_error judges rows in their own units, too, and what trials miss. */
  /* The plan of trial solves, kept from one refactorization to the next; its share of the factor is not
   * counted. NULL: there is none. */
  tristar_plan_t *trial_plan;
  void (*destroy_trial_plan)(tristar_plan_t **plan);
  double low_rank_error;     /* Sum of the relative errors that terms of low rank have left (low_rank.h). */
  double low_rank_growth;    /* The growth of terms of L D L^T by such terms; 1, or 0: none. */
  struct tsi_update *update; /* What changes of few entries need (update.h); NULL: none were prepared. */
  tristar_factor_stats stats;
};

/* Bytes of the streams, and of the Schur complement. */
size_t tsi_factor_stream_bytes(const tristar_factor_t *factor);
/* An empty factor with one share. Errors: MEMORY, RUNTIME. */
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

/* Where panel p of a stream is. */
static inline char *tsi_factor_panel(const tristar_factor_t *factor, bool upper, tsi_index p) {
  const tsi_count at = factor->analysis->panel_values[p];
  if (at < 0) return factor->passing[upper][p];
  return (char *)(upper ? factor->upper : factor->lower) + (size_t)at * factor->scalar_bytes;
}
/* Room for a panel that is in `passing`, unless it is there. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_need_passing(const tristar_factor_t *factor, bool upper,
                                                       tsi_index p);

/* Does a trial show that solves without refinement lose digits? */
static inline bool tsi_factor_loses_digits(const tristar_factor_t *factor) {
  if (!factor->stats.judged) return false;
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return !(factor->stats.solve_error <= tsi_acceptable_error(epsilon));
}
/* Do products with inverted diagonal blocks possibly lose as many digits? */
static inline bool tsi_factor_inverts_badly(const tristar_factor_t *factor) {
  const double epsilon = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
  return factor->inverse_growth * cbrt(epsilon) > 1;
}
/* Does such a factor need refinement for each solve? If A is singular, null vectors in x may be large. */
static inline bool tsi_factor_needs_refinement(const tristar_factor_t *factor) {
  return factor->stats.perturbed_pivots > 0 || factor->stats.singular || tsi_factor_loses_digits(factor);
}

/* Errors: STALE (its last refactorization failed, or, with entries: a copy of a plan has taken them over). */
TRISTAR_CHECKED tristar_status tsi_factor_need_valid(const tristar_factor_t *factor);
TRISTAR_CHECKED tristar_status tsi_factor_need_values(const tristar_factor_t *factor);
/* Errors: UNSUPPORTED (rows of the matrix are not eliminated). */
TRISTAR_CHECKED tristar_status tsi_analysis_need_whole(const tristar_analysis_t *analysis);

/* A stream of `size` scalars of the factor's type and its pad of zeros. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_allocate_stream(tsi_env *env, const tristar_factor_t *factor,
                                                          tsi_count size, void **out);

/* Scales, and runs the numerical factorization into factor's streams. */
TRISTAR_CHECKED tristar_status tsi_factorize(tristar_factor_t *factor);

/* tristar_factor and tristar_refactor without the verdict on suspicious pivots (judge.h). *out is NULL after
 * a failure, unless nothing was left of a row (dependent). Errors: theirs. */
TRISTAR_CHECKED tristar_status tsi_factor_make(tristar_analysis_t *analysis, const void *values,
                                               tristar_factor_t **out);
TRISTAR_CHECKED tristar_status tsi_factor_renew(tristar_factor_t *factor, const void *values);
/* The same values, factored by an analysis of its own with a matching, whose scaling counts however far units
 * are apart, and with SINGULAR_PERTURB. Errors: those of tristar_analyze and tristar_factor. */
TRISTAR_CHECKED tristar_status tsi_factor_match_anew(const tristar_factor_t *factor, tristar_factor_t **out);
/* After such a failure there is no other factor, but does the call itself end with it? */
static inline bool tsi_status_ends_call(tristar_status status) {
  return status == TRISTAR_ERR_MEMORY || status == TRISTAR_ERR_RUNTIME || status == TRISTAR_ERR_CANCELLED;
}
/* That factor before its factorization, for factorizations by several processes. Errors: those of
 * tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_prepare_anew(const tristar_factor_t *factor,
                                                       tristar_factor_t **out);
/* After the failure STALE of that verdict: analyzes the values anew, for a factor without plans. Errors:
 * those of tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_match_again(tristar_factor_t *factor);
/* The same, to factor without inverted diagonal blocks (TSI_INVERSE_NONE). */
TRISTAR_CHECKED tristar_status tsi_factor_substitute(tristar_factor_t *factor);
/* Factors its values, which were checked, with its analysis. Errors: those of tristar_factor. */
TRISTAR_CHECKED tristar_status tsi_factor_run(tristar_factor_t *factor);
/* The same of a factor without plans; with PIVOTING_DELAYED it changes its analysis for another order of
 * pivots where pivots do not serve (delayed_pivots.c). */
TRISTAR_CHECKED tristar_status tsi_factor_run_stable(tristar_factor_t *factor);
/* Has its method pivots that can be delayed, and are they to be? */
static inline bool tsi_factor_delays(const tristar_factor_t *factor) {
  return factor->analysis->options.pivoting == TRISTAR_PIVOTING_DELAYED &&
         factor->analysis->stats.method != TRISTAR_METHOD_LLT;
}
/* After a factorization: sets stats.unstable_pivots. owner: of a part of a factor (team_factor.h), the
 * process of each supernode, and rank: this process, whose pivots alone are tested; NULL: all are. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_test_pivots(tristar_factor_t *factor, const tsi_index *owner,
                                                      tsi_index rank);
/* What tsi_factor_run_stable does between factorizations, for factorizations by several processes. */
#define TSI_PIVOT_ROUNDS 3 /* most searches of a factorization */
/* Do the pivots of a factorization with this status call for another order? */
bool tsi_factor_needs_order(const tristar_factor_t *factor, tristar_status status);
/* Searches another order of pivots. *changed: there is one, and the factor has an analysis for it, and no
 * streams. Errors: those of tristar_analyze, CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_factor_search_order(tristar_factor_t *factor, bool *changed);
/* A factor without values takes over an analysis of the same matrix. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factor_take_analysis(tristar_factor_t *factor, tristar_analysis_t *again);

/* What tristar_factor does before and after that, for factorizations by several processes. */

/* A factor with all but values and streams, for who has the values elsewhere. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_factor_create_empty(tristar_analysis_t *analysis, tristar_factor_t **out);
/* A factor with the user's values, and with all but the streams. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_factor_create(tristar_analysis_t *analysis, const void *values,
                                                 tristar_factor_t **out);
/* Are its values finite, and does the analysis' method hold them? Errors: NOT_FINITE, ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_factor_check_values(tristar_factor_t *factor);
/* The same; METHOD_AUTO analyzes anew where they call for another method. Errors: also those of
 * tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_choose_method(tristar_factor_t *factor);
/* Analyzes anew for L D L^T, where METHOD_AUTO has chosen Cholesky (analysis->fallback) and a pivot is not
 * positive. Errors: those of tristar_analyze. */
TRISTAR_CHECKED tristar_status tsi_factor_fall_back(tristar_factor_t *factor);
/* Did pivoting interchange any rows? */
bool tsi_factor_interchanged(const tristar_factor_t *factor);
/* pivot_order, position and pivoted from the pivots. */
void tsi_factor_order_pivots(tristar_factor_t *factor);
/* What is not known before: sizes, and the peak of memory since there were `before` bytes; seconds with the
 * start of StarPU. */
void tsi_factor_fill_stats(tristar_factor_t *factor, size_t before, double seconds);
/* The status of a refactorization that has failed, with METHOD_AUTO's explanation where it has one. */
TRISTAR_CHECKED tristar_status tsi_factor_explain(const tristar_factor_t *factor, tristar_status status);
