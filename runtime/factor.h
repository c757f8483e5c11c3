/* Factors: the packed panels of L (and U), pivots, scalings, and the values that refinement needs.
 *
 * Reads   analysis, the user's values.
 * Writes  the streams; once factored they are immutable until tristar_refactor.
 * Invariants
 *   - lower (and upper for LU) hold panel p at analysis->panel_values[p], every entry finite; TSI_STREAM_PAD
 * zeros at the end
 *   - generation counts successful factorizations; valid is false from the start of one until its success */
#ifndef TSI_RUNTIME_FACTOR_H
#define TSI_RUNTIME_FACTOR_H

#include "runtime/analysis.h"

struct tristar_factor_s {
  atomic_int references;
  tristar_t *ts;
  tristar_analysis_t *analysis;
  bool valid;
  size_t user_bytes;   /* of a scalar of values, b and x */
  size_t scalar_bytes; /* of a scalar of the factors */
  void *values;        /* the user's, copied */
  double *row_scale;   /* n, by the user's row; NULL: ones (LLT) */
  double *col_scale;   /* n, by the user's column */
  void *lower, *upper; /* upper is NULL but for LU */
  tsi_index *pivots;   /* n; NULL for LLT */
  void *inverse;       /* LDLT: D^-1, two scalars a column (tsi_pivoting); else NULL */
  bool pivoted;        /* some interchange happened */
  tristar_factor_stats stats;
};

tristar_factor_t *tsi_factor_share(tristar_factor_t *factor);

/* Runs the numerical factorization into factor's streams. */
TRISTAR_CHECKED tristar_status tsi_factorize(tristar_factor_t *factor);

#endif
