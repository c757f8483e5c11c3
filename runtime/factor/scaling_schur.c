/* Scaling of a matrix with the rows of a Schur complement: see scaling.h.
 *
 *   A = [ A_II  A_IS ]     I: rows that are eliminated, S: rows of the complement
 *       [ A_SI  A_SS ]
 *
 * A_II is scaled alone, as a matrix without a complement. Its scalings are R and C. A row of S is divided by
 * its largest entry in A_SI C, a column of S by its largest entry in R A_IS. If there is none, it is divided
 * by the root of its largest entry in A_SS. Both scalings are reduced if entries of A_SS would exceed the
 * limit. L D L^T and L L^T: one scaling for rows and columns. L L^T: if A_II needs no scaling, S has none
 * either, while all entries of A are within the limit. */
#include "runtime/factor/scaling_work.h"

/* A_II, and the positions of its rows in A. */
typedef struct eliminated {
  tsi_scaling_lines lines; /* Of A_II. */
  tsi_index *place;        /* n of A: the row of A_II, or TSI_NONE for a row of S. */
  tsi_index *user;         /* The user's numbers of the rows of A_II. */
  tsi_count *ptr;
  tsi_index *index;
  double *magnitude;
  double *matched[2];            /* Scalings of the matching, of rows and columns; NULL: none. */
  double *row_scale, *col_scale; /* Scaling of A_II; NULL: none. */
} eliminated;

static void finish(tsi_env *env, eliminated *e) {
  TSI_FREE(env, e->place);
  TSI_FREE(env, e->user);
  TSI_FREE(env, e->ptr);
  TSI_FREE(env, e->index);
  TSI_FREE(env, e->magnitude);
  for (int k = 0; k < 2; k++) TSI_FREE(env, e->matched[k]);
  TSI_FREE(env, e->row_scale);
  TSI_FREE(env, e->col_scale);
}

static tristar_status number_rows(tsi_env *env, const tristar_analysis_t *an, eliminated *e) {
  const tsi_index n = an->pattern->n;
  tsi_index at = 0;
  TSI_TRY(TSI_ALLOC_ZERO(env, e->place, n));
  TSI_TRY(TSI_ALLOC(env, e->user, n - an->schur_count));
  for (tsi_index k = 0; k < an->schur_count; k++) e->place[an->schur[k]] = TSI_NONE;
  for (tsi_index i = 0; i < n; i++)
    if (e->place[i] != TSI_NONE) {
      e->user[at] = i;
      e->place[i] = at++;
    }
  return TRISTAR_OK;
}

static tristar_status take_lines(tsi_env *env, const tsi_scaling_lines *all, eliminated *e) {
  const tsi_index n = e->lines.n;
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(env, e->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, e->index, all->ptr[all->n]));
  TSI_TRY(TSI_ALLOC(env, e->magnitude, all->ptr[all->n]));
  for (tsi_index j = 0; j < n; j++) {
    e->ptr[j] = at;
    for (tsi_count p = all->ptr[e->user[j]]; p < all->ptr[e->user[j] + 1]; p++) {
      if (e->place[all->index[p]] == TSI_NONE) continue;
      e->magnitude[at] = all->magnitude[p];
      e->index[at++] = e->place[all->index[p]];
    }
  }
  e->ptr[n] = at;
  return TRISTAR_OK;
}

static tristar_status take_matching(tsi_env *env, const tsi_scaling_lines *all, eliminated *e) {
  const double *of_all[] = {all->row_scale, all->col_scale};
  for (int k = 0; k < 2 && of_all[k] != NULL; k++) {
    TSI_TRY(TSI_ALLOC(env, e->matched[k], e->lines.n));
    for (tsi_index i = 0; i < e->lines.n; i++) e->matched[k][i] = of_all[k][e->user[i]];
  }
  return TRISTAR_OK;
}

static tristar_status scale_eliminated(tsi_env *env, const tristar_analysis_t *an,
                                       const tsi_scaling_lines *all, eliminated *e) {
  e->lines = *all;
  e->lines.n = e->lines.count = an->pattern->n - an->schur_count;
  TSI_TRY(number_rows(env, an, e));
  TSI_TRY(take_lines(env, all, e));
  TSI_TRY(take_matching(env, all, e));
  e->lines.ptr = e->ptr;
  e->lines.index = e->index;
  e->lines.magnitude = e->magnitude;
  e->lines.row_scale = e->matched[0];
  e->lines.col_scale = e->matched[1];
  e->lines.user = e->user;
  return tsi_scaling_find(env, &e->lines, &e->row_scale, &e->col_scale);
}

/* ---- Rows of the complement -----------------------------------------------------------------------------
 */

/* Exponents of rows and columns of A. */
typedef struct exponents {
  int *row, *column;         /* n: of the scaling. */
  int *of_row, *of_column;   /* n: S: of the largest scaled entries in A_SI and A_IS. */
  int *own_row, *own_column; /* n: S: the same in A_SS; later limit, or more where they exceed it. */
} exponents;

/* Handles entry (row, column) with this exponent. */
typedef void (*visit_fn)(const eliminated *e, exponents *x, tsi_index row, tsi_index column, int exponent);

/* Visits the nonzero entries of rows and columns of S, and mirror images. */
static void visit_entries(const tsi_scaling_lines *lines, const eliminated *e, exponents *x, visit_fn visit) {
  for (tsi_index j = 0; j < lines->n; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      if (e->place[j] != TSI_NONE && e->place[lines->index[p]] != TSI_NONE) continue;
      const int exponent = tsi_scaling_exponent(lines->magnitude[p]);
      if (exponent == TSI_NO_ENTRY) continue;
      tsi_scaling_place(lines, j, p, &row, &column);
      visit(e, x, row, column, exponent);
      if (lines->mirror && row != column) visit(e, x, column, row, exponent);
    }
}

static void lift(int *largest, int e) {
  if (e > *largest) *largest = e;
}

static void find_largest(const eliminated *e, exponents *x, tsi_index row, tsi_index column, int exponent) {
  if (e->place[row] != TSI_NONE)
    lift(&x->of_column[column], exponent + x->row[row]);
  else if (e->place[column] != TSI_NONE)
    lift(&x->of_row[row], exponent + x->column[column]);
  else {
    lift(&x->own_row[row], exponent);
    lift(&x->own_column[column], exponent);
  }
}

static void find_own(const eliminated *e, exponents *x, tsi_index row, tsi_index column, int exponent) {
  if (e->place[row] != TSI_NONE || e->place[column] != TSI_NONE) return;
  lift(&x->own_row[row], exponent + x->row[row] + x->column[column]);
  lift(&x->own_column[column], exponent + x->row[row] + x->column[column]);
}

static int divide(int of_others, int own) {
  return tsi_scaling_clamp(of_others != TSI_NO_ENTRY ? -of_others
                           : own != TSI_NO_ENTRY     ? -tsi_scaling_half(own)
                                                     : 0);
}

static void make_one(int *a, int *b) {
  lift(a, *b);
  *b = *a;
}

/* Computes the exponents of rows and columns of S. limit: for entries of A_SS. */
static void scale_schur(const tristar_analysis_t *an, const tsi_scaling_lines *lines, const eliminated *e,
                        exponents *x, int limit) {
  const bool symmetric = lines->method != TRISTAR_METHOD_LU;
  visit_entries(lines, e, x, find_largest);
  for (tsi_index k = 0; k < an->schur_count; k++) {
    const tsi_index i = an->schur[k];
    if (symmetric) {
      make_one(&x->of_row[i], &x->of_column[i]);
      make_one(&x->own_row[i], &x->own_column[i]);
    }
    x->row[i] = divide(x->of_row[i], x->own_row[i]);
    x->column[i] = divide(x->of_column[i], x->own_column[i]);
    x->own_row[i] = x->own_column[i] = limit;
  }
  visit_entries(lines, e, x, find_own);
  for (tsi_index k = 0; k < an->schur_count; k++) {
    const tsi_index i = an->schur[k];
    if (symmetric) make_one(&x->own_row[i], &x->own_column[i]);
    x->row[i] = tsi_scaling_clamp(x->row[i] - tsi_scaling_half(x->own_row[i] - limit));
    x->column[i] = tsi_scaling_clamp(x->column[i] - tsi_scaling_half(x->own_column[i] - limit));
  }
}

static bool is_within(const tsi_scaling_lines *lines, int limit) {
  for (tsi_count p = 0; p < lines->ptr[lines->n]; p++)
    if (tsi_scaling_exponent(lines->magnitude[p]) > limit) return false;
  return true;
}

static int exponent_of(const double *scale, tsi_index i) {
  return scale ? tsi_scaling_exponent(scale[i]) - 1 : 0; /* A power of two. */
}

static tristar_status scale_all(tristar_factor_t *factor, const tsi_scaling_lines *lines,
                                const eliminated *e) {
  tsi_env *env = &factor->ts->env;
  const tsi_index n = lines->n;
  TSI_SCRATCH_ZERO(env, int, all, 6 * (tsi_count)n);
  exponents x = {all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, all + 5 * n};
  for (tsi_index i = 0; i < n; i++) {
    x.of_row[i] = x.of_column[i] = x.own_row[i] = x.own_column[i] = TSI_NO_ENTRY;
    if (e->place[i] == TSI_NONE) continue;
    x.row[i] = exponent_of(e->row_scale, e->place[i]);
    x.column[i] = exponent_of(e->col_scale, e->place[i]);
  }
  scale_schur(factor->analysis, lines, e, &x, tsi_scaling_limit(lines->factor_scalar));
  if (factor->row_scale == NULL) TSI_TRY(TSI_ALLOC(env, factor->row_scale, n));
  if (factor->col_scale == NULL) TSI_TRY(TSI_ALLOC(env, factor->col_scale, n));
  for (tsi_index i = 0; i < n; i++) {
    factor->row_scale[i] = tsi_scaling_power(x.row[i]);
    factor->col_scale[i] = tsi_scaling_power(x.column[i]);
  }
  return TRISTAR_OK;
}

tristar_status tsi_scaling_choose_schur(tristar_factor_t *factor, const tsi_scaling_lines *lines) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  eliminated e = {.place = NULL};
  TSI_TRY_OUT(scale_eliminated(env, factor->analysis, lines, &e));
  if (e.row_scale != NULL || !is_within(lines, tsi_scaling_limit(lines->factor_scalar)))
    TSI_TRY_OUT(scale_all(factor, lines, &e));
  else {
    TSI_FREE(env, factor->row_scale);
    TSI_FREE(env, factor->col_scale);
  }
out:
  finish(env, &e);
  return status;
}

size_t tsi_scaling_schur_bytes(tsi_index n, tsi_count entries) {
  const size_t of_row = 2 * sizeof(tsi_index) + sizeof(tsi_count) + 4 * sizeof(double) + 6 * sizeof(int);
  return (size_t)n * of_row + (size_t)entries * (sizeof(tsi_index) + sizeof(double));
}
