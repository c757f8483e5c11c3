/* Chooses the method and finds the matching: see method.h. */
#include "runtime/factor/method.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "partition/order/matching.h"
#include "partition/order/pairs.h"
#include "runtime/factor/scaling_work.h"

/* Does every diagonal entry of this part exist, and is it positive? */
static bool positive_diagonal(const tsi_entries *a) {
  const double *values = a->item;
  for (tsi_index j = 0; j < a->n; j++) {
    bool positive = false;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++)
      if (a->index[p] == j) positive = values[p] > 0;
    if (!positive) return false;
  }
  return true;
}

tsi_likeness tsi_likeness_declared(tristar_symmetry symmetry, bool is_complex) {
  return symmetry == TRISTAR_HERMITIAN   ? TSI_HERMITIAN
         : symmetry != TRISTAR_SYMMETRIC ? TSI_UNSYMMETRIC
         : is_complex                    ? TSI_SYMMETRIC
                                         : TSI_HERMITIAN;
}

/* Finds whether the matrix is symmetric or Hermitian: as declared or, for a general matrix with values, but
 * for rounding errors. Real symmetric counts as Hermitian. unlike: a pair that shows that it is neither. */
static tristar_status find_structure(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                     tsi_likeness *out, tsi_unlike *unlike) {
  const bool is_complex = tsi_sparse_kernels_select(pattern->scalar)->is_complex;
  *out = tsi_likeness_declared(pattern->symmetry, is_complex);
  if (pattern->symmetry != TRISTAR_GENERAL || values == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_pattern_find_unlike(env, pattern, values, true, unlike));
  if (!unlike->found) *out = TSI_HERMITIAN;
  if (!unlike->found || !is_complex) return TRISTAR_OK;
  tsi_unlike transposed;
  TSI_TRY(tsi_pattern_find_unlike(env, pattern, values, false, &transposed));
  unlike->plain_row = transposed.row;
  unlike->plain_column = transposed.column;
  if (transposed.found) return TRISTAR_OK;
  *out = TSI_SYMMETRIC;
  unlike->rounded = transposed.rounded;
  return TRISTAR_OK;
}

/* Has every diagonal entry a positive real part? */
static tristar_status looks_positive(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                     bool *out) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries a = {0};
  TSI_TRY(tsi_full_columns(env, pattern, values, TSI_PART_REAL, &a));
  *out = positive_diagonal(&a);
  return TRISTAR_OK;
}

/* Is there a column whose diagonal entry is missing or small? */
static bool weak_diagonal(const tsi_entries *a) {
  const double *values = a->item;
  for (tsi_index j = 0; j < a->n; j++) {
    double largest = 0, diagonal = 0;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const double size = values[p];
      diagonal = a->index[p] == j ? size : diagonal;
      largest = size > largest ? size : largest;
    }
    if (tsi_diagonal_is_weak(diagonal, largest)) return true;
  }
  return false;
}

tristar_status tsi_fail_structure(const tsi_env *env, tsi_index n, tsi_index rank) {
  return tsi_fail(env, TRISTAR_ERR_SINGULAR, "tristar_analyze", __FILE__, __LINE__,
                  "the matrix is structurally singular: structural rank %d of %d", rank, n);
}

/* LDLT: finds the pairs in the cycles of the matching, and one scaling for rows and columns. */
static tristar_status match_symmetric(tsi_env *env, const tsi_entries *a, const tsi_index *row_of_column,
                                      tsi_matched *out) {
  const double *values = a->item;
  TSI_TRY(TSI_ALLOC(env, out->partner, a->n));
  TSI_SCRATCH_ZERO(env, double, diagonal, a->n);
  TSI_SCRATCH(env, bool, visited, a->n);
  for (tsi_index j = 0; j < a->n; j++) {
    const int exponent = ilogb(out->row_scale[j]) + ilogb(out->col_scale[j]);
    const double s = ldexp(1, (int)floor(exponent / 2.0));
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++)
      if (a->index[p] == j) diagonal[j] = values[p] * s * s;
    out->row_scale[j] = out->col_scale[j] = s;
  }
  out->pairs = tsi_pairs_from_matching(a->n, row_of_column, diagonal, out->partner, visited);
  return TRISTAR_OK;
}

void tsi_matched_finish(tsi_matched *matched) {
  tsi_release(tsi_take(&matched->row_map));
  tsi_release(tsi_take(&matched->partner));
  tsi_release(tsi_take(&matched->row_scale));
  tsi_release(tsi_take(&matched->col_scale));
}

/* Limit for the binary orders of magnitude between the largest other entries of a row and of its column. */
#define UNEVEN 10
#define BALANCING_SWEEPS 8 /* Each sweep halves the excess. */

/* Has no branch, which no processor could predict. */
static inline void lift(int *largest, int e) {
  *largest = e > *largest ? e : *largest;
}

/* Exponents of the scalings of a matching, by row and by column. */
typedef struct scale_exponents {
  int *row, *column; /* n */
} scale_exponents;

/* Computes for each matched column by how much the exponent of its largest other entry exceeds that of its
 * row. excess: n; others: n of scratch. */
static void find_excess(const tsi_entries *a, const tsi_index *row_map, scale_exponents scale, int *excess,
                        int *others) {
  const double *values = a->item;
  for (tsi_index j = 0; j < a->n; j++) others[j] = INT_MIN;
  for (tsi_index j = 0; j < a->n; j++) {
    int largest = INT_MIN;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index row = a->index[p], of_row = row_map[row];
      if (of_row == j) continue;
      const int e = tsi_scaling_exponent(values[p]) + scale.row[row] + scale.column[j];
      lift(&largest, e);
      lift(&others[of_row], e);
    }
    excess[j] = largest;
  }
  for (tsi_index j = 0; j < a->n; j++)
    excess[j] = excess[j] == INT_MIN || others[j] == INT_MIN ? 0 : excess[j] - others[j];
}

/* Balances the scaling of a matching, which may make a row small and its column large, or the reverse. Then
 * rounding errors would swamp the small entries, but A x = b or A^T x = b needs them. So a row and its column
 * share the difference: matched entries stay as they are, and no entry grows beyond one. */
static tristar_status balance(tsi_env *env, const tsi_entries *a, const tsi_index *row_map,
                              scale_exponents scale) {
  TSI_SCRATCH(env, int, excess, a->n);
  TSI_SCRATCH(env, int, others, a->n);
  for (int sweep = 0; sweep < BALANCING_SWEEPS; sweep++) {
    bool uneven = false;
    find_excess(a, row_map, scale, excess, others);
    for (tsi_index j = 0; j < a->n; j++) uneven = uneven || abs(excess[j]) > UNEVEN;
    if (!uneven) break;
    for (tsi_index i = 0; i < a->n; i++) {
      const tsi_index j = row_map[i];
      const int shift = excess[j] / 4;
      if (abs(scale.row[i] + shift) > 1000 || abs(scale.column[j] - shift) > 1000) continue;
      scale.row[i] += shift;
      scale.column[j] -= shift;
    }
  }
  return TRISTAR_OK;
}

/* Rounds to powers of two, which are exact factors; no scaled entry grows. LU: balances, too. */
static tristar_status round_scalings(tsi_env *env, const tsi_entries *a, tsi_matched *out) {
  TSI_SCRATCH(env, int, row, a->n);
  TSI_SCRATCH(env, int, column, a->n);
  for (tsi_index i = 0; i < a->n; i++) {
    row[i] = tsi_scaling_exponent(out->row_scale[i]) - 1;
    column[i] = tsi_scaling_exponent(out->col_scale[i]) - 1;
  }
  if (out->row_map != NULL) TSI_TRY(balance(env, a, out->row_map, (scale_exponents){row, column}));
  for (tsi_index i = 0; i < a->n; i++) {
    out->row_scale[i] = tsi_scaling_power(row[i]);
    out->col_scale[i] = tsi_scaling_power(column[i]);
  }
  return TRISTAR_OK;
}

tristar_status tsi_match(tsi_env *env, tristar_method method, const tsi_entries *a, tsi_matched *out,
                         tsi_watch *watch) {
  const tsi_index n = a->n;
  tsi_index rank = 0;
  TSI_SCRATCH(env, tsi_index, row_of_column, n);
  TSI_TRY(TSI_ALLOC(env, out->row_scale, n));
  TSI_TRY(TSI_ALLOC(env, out->col_scale, n));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "matching");
  TSI_TRY(tsi_matching(env, n, a->ptr, a->index, a->item, row_of_column, out->row_scale, out->col_scale,
                       &rank, watch));
  if (rank < n) TSI_TRY(tsi_fail_structure(env, n, rank));
  if (method == TRISTAR_METHOD_LU) {
    TSI_TRY(TSI_ALLOC(env, out->row_map, n));
    for (tsi_index j = 0; j < n; j++) out->row_map[row_of_column[j]] = j;
  }
  TSI_TRY(round_scalings(env, a, out));
  return method == TRISTAR_METHOD_LU ? TRISTAR_OK : match_symmetric(env, a, row_of_column, out);
}

/* Removes explicit zeros, which do not count for the structural rank. */
static void drop_zeros(tsi_entries *a) {
  double *values = a->item;
  tsi_count to = 0, begin = 0;
  for (tsi_index j = 0; j < a->n; j++) {
    const tsi_count end = a->ptr[j + 1];
    for (tsi_count p = begin; p < end; p++)
      if (values[p] != 0) {
        a->index[to] = a->index[p];
        values[to++] = values[p];
      }
    begin = end;
    a->ptr[j + 1] = to;
  }
}

tristar_status tsi_method_check(const tsi_env *env, tristar_method method, bool is_complex,
                                tsi_likeness found, const tsi_unlike *unlike) {
  const bool llt = method == TRISTAR_METHOD_LLT;
  if (found == TSI_HERMITIAN || (found == TSI_SYMMETRIC && !llt)) return TRISTAR_OK;
  const char *name = llt ? "L L^T" : "L D L^T", *held = !is_complex ? "symmetric"
                                                        : llt       ? "Hermitian"
                                                                    : "symmetric or Hermitian";
  char text[TSI_UNLIKE_TEXT];
  if (unlike->found)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s holds %s matrices only, but %s", name, held,
             tsi_unlike_text(unlike, is_complex && !llt, text));
  TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s holds %s matrices only, this one is %s", name, held,
           found == TSI_SYMMETRIC ? "complex symmetric" : "skew-symmetric");
}

tristar_method tsi_method_for(tsi_likeness found, bool positive) {
  return found == TSI_UNSYMMETRIC             ? TRISTAR_METHOD_LU
         : found == TSI_HERMITIAN && positive ? TRISTAR_METHOD_LLT
                                              : TRISTAR_METHOD_LDLT;
}

tristar_status tsi_choose_method(tsi_env *env, tristar_analysis_t *an, const void *values) {
  const tristar_method method = an->options.method;
  tsi_likeness found;
  tsi_unlike unlike = {.found = false};
  bool positive = true; /* Assumed, without values. */
  if (method == TRISTAR_METHOD_LU) return TRISTAR_OK;
  TSI_TRY(find_structure(env, an->pattern, values, &found, &unlike));
  an->stats.rounded = found != TSI_UNSYMMETRIC && unlike.rounded;
  if (method != TRISTAR_METHOD_AUTO) { /* Without values, a general matrix may turn out to suit the method. */
    if (values != NULL || an->pattern->symmetry != TRISTAR_GENERAL)
      TSI_TRY(tsi_method_check(env, method, tsi_sparse_kernels_select(an->pattern->scalar)->is_complex, found,
                               &unlike));
    return TRISTAR_OK;
  }
  if (found == TSI_HERMITIAN && values != NULL) TSI_TRY(looks_positive(env, an->pattern, values, &positive));
  an->stats.method = tsi_method_for(found, positive);
  an->fallback = an->stats.method == TRISTAR_METHOD_LLT;
  return TRISTAR_OK;
}

tristar_status tsi_check_method(tsi_env *env, const tristar_analysis_t *an, const void *values,
                                bool *adjoint) {
  tsi_likeness found;
  tsi_unlike unlike = {.found = false};
  *adjoint = false;
  if (tsi_analysis_is_lu(an)) return TRISTAR_OK;
  TSI_TRY(find_structure(env, an->pattern, values, &found, &unlike));
  TSI_TRY(tsi_method_check(env, an->stats.method, tsi_sparse_kernels_select(an->pattern->scalar)->is_complex,
                           found, &unlike));
  *adjoint = found == TSI_HERMITIAN;
  return TRISTAR_OK;
}

/* Replaces the rows that are not eliminated by rows of a unit matrix, so that the matching and the structural
 * rank depend only on the other rows. Their scaling by a matching is not used. a: with values, or without. */
static tristar_status isolate_schur(tsi_env *env, const tristar_analysis_t *an, tsi_entries *a) {
  tsi_entries out;
  if (an->schur_count == 0) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, bool, last, a->n);
  for (tsi_index k = 0; k < an->schur_count; k++) last[an->schur[k]] = true;
  TSI_TRY(tsi_entries_begin(env, a->n, sizeof(double), &out));
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) out.ptr[j + 1] += !last[j] && !last[a->index[p]];
  for (tsi_index k = 0; k < an->schur_count; k++) out.ptr[an->schur[k] + 1]++;
  const tristar_status status = tsi_entries_reserve(env, &out);
  for (tsi_index j = 0; j < a->n && status == TRISTAR_OK; j++) {
    if (last[j]) ((double *)out.item)[tsi_entries_put(&out, j, j)] = 1;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1] && !last[j]; p++)
      if (!last[a->index[p]])
        ((double *)out.item)[tsi_entries_put(&out, j, a->index[p])] = a->item ? ((double *)a->item)[p] : 1;
  }
  if (status == TRISTAR_OK) tsi_entries_end(&out);
  tsi_entries_finish(a);
  *a = out;
  return status;
}

/* Decides on a matching from the values. */
tristar_status tsi_use_values(tsi_env *env, tristar_analysis_t *an, const void *values, tsi_matched *out,
                              tsi_watch *watch) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries a = {0};
  if (an->stats.method == TRISTAR_METHOD_LLT) return TRISTAR_OK;
  TSI_TRY(tsi_full_columns(env, an->pattern, values, TSI_PART_MAGNITUDE, &a));
  drop_zeros(&a);
  TSI_TRY(isolate_schur(env, an, &a));
  const bool weak = weak_diagonal(&a);
  const tristar_matching matching = an->options.matching;
  if (matching == TRISTAR_MATCHING_ON ||
      (matching == TRISTAR_MATCHING_AUTO && (weak || tsi_scaling_is_bad(&a))))
    TSI_TRY(tsi_match(env, an->stats.method, &a, out, watch));
  else if (weak) {
    tsi_index rank = 0;
    TSI_TRY(tsi_structural_rank(env, a.n, a.ptr, a.index, &rank, watch));
    if (rank < a.n) TSI_TRY(tsi_fail_structure(env, a.n, rank));
  }
  return TRISTAR_OK;
}

/* Without values only the pattern can show a structural singularity. */
tristar_status tsi_use_pattern(tsi_env *env, tristar_analysis_t *an, tsi_watch *watch) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries a = {0};
  tsi_index rank = 0;
  if (an->options.matching == TRISTAR_MATCHING_ON)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "MATCHING_ON needs values in the view");
  TSI_TRY(tsi_full_columns(env, an->pattern, NULL, TSI_PART_REAL, &a));
  TSI_TRY(isolate_schur(env, an, &a));
  TSI_TRY(tsi_structural_rank(env, a.n, a.ptr, a.index, &rank, watch));
  if (rank < a.n) TSI_TRY(tsi_fail_structure(env, a.n, rank));
  return TRISTAR_OK;
}
