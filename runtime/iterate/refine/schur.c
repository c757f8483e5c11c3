/* Schur complements: see tristar_schur.h.
 *
 * With a unit matrix in the panels of the unknowns S, L and U of the factor are
 *
 *   [ L_II    ]        [ U_II  U_IS ]
 *   [ L_SI  I ]        [        I   ]
 *
 * So a solve with L leaves the right-hand side of the Schur complement in the rows of S, and a solve with U
 * starts from the solution there. Scaled: S' = R S C, g' = R g, x' = C^-1 x.
 *
 * If pivots of A_II were perturbed, though A_II is regular, L and U are factors of another matrix. Then the
 * complement, its right-hand sides and solutions are computed by products with A and refined solves. The
 * system of these solves is
 *
 *   [ A_II    ]
 *   [      D  ]     with the diagonal D that the scaling brings to one.
 *
 * Its factors are L and U, except for the perturbed pivots. It also has the condition of A_II.
 *
 * Reads   a factor with a Schur complement, the caller's vectors.
 * Writes  the caller's vectors; tsi_schur_refine: the complement, stats.schur_refined and stats.solve_error.
 * Invariant: stats.schur_refined shows whether refined solves computed the complement. Then condensing and
 * expanding make refined solves, too. They also do so if tristar_solve would refine, because solves without
 * refinement lose digits. */
#include <inttypes.h>
#include <math.h>

#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/plan.h"
#include "runtime/solve/request.h"
#include "tristar_schur.h"

enum { COLUMNS_MOST = 16 }; /* largest number of columns of refined solves at a time */

static tristar_status need_schur(const tristar_factor_t *factor) {
  if (factor->analysis->schur_count == 0)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ARGUMENT,
             "the factor has no Schur complement: tristar_analysis_options.schur was not set");
  return tsi_factor_need_values(factor);
}

/* Checks an array of `rows` rows with the leading dimension ld. */
static tristar_status check_array(const tsi_env *env, const char *name, const void *array, int64_t ld,
                                  int64_t rows, int64_t nrhs) {
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (array == NULL && nrhs > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", name);
  if (ld < rows)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the leading dimension of %s is %" PRId64 ", less than %" PRId64,
             name, ld, rows);
  return TRISTAR_OK;
}

static double scale_of(const double *scale, tsi_index i) {
  return scale ? scale[i] : 1;
}

/* Reads entry (i, j) of the complement, in the units of A. */
static void load(const tristar_factor_t *factor, tsi_index i, tsi_index j, double entry[2]) {
  const tristar_analysis_t *an = factor->analysis;
  const double r = 1 / scale_of(factor->row_scale, an->schur[i]),
               c = 1 / scale_of(factor->col_scale, an->schur[j]);
  tsi_scalar_read(an->factor_scalar, factor->schur, (size_t)j * (size_t)an->schur_count + (size_t)i, entry);
  for (int k = 0; k < 2; k++) entry[k] = tsi_scaled(entry[k], r, c);
}

static void store(const tristar_factor_t *factor, tsi_index i, tsi_index j, const double entry[2]) {
  const tristar_analysis_t *an = factor->analysis;
  const double r = scale_of(factor->row_scale, an->schur[i]), c = scale_of(factor->col_scale, an->schur[j]);
  const double part[] = {tsi_scaled(entry[0], r, c), tsi_scaled(entry[1], r, c)};
  tsi_scalar_write(an->factor_scalar, factor->schur, (size_t)j * (size_t)an->schur_count + (size_t)i, part);
}

/* Fails if a column has NaN or infinity. what, first: the name of the array and the number of its first
 * column, for the message. */
static tristar_status need_finite(const tristar_factor_t *factor, const char *what, int64_t first,
                                  tsi_index rows, int64_t columns, const void *array, int64_t ld) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)factor->analysis->pattern->scalar);
  for (int64_t c = 0; c < columns; c++) {
    const void *column = (const char *)array + (size_t)(c * ld) * factor->user_bytes;
    const tsi_count row = kernels->first_not_finite(rows, column);
    if (row < rows)
      TSI_FAIL(&factor->ts->env, TRISTAR_ERR_NOT_FINITE,
               "entry (%lld, %lld) of %s, counted from 0, is NaN or beyond the range of numbers",
               (long long)row, (long long)(first + c), what);
  }
  return TRISTAR_OK;
}

tristar_status tristar_schur_get(const tristar_factor_t *factor, void *s, int64_t lds) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(factor, factor->ts);
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index count = an->schur_count;
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(check_array(&factor->ts->env, "s", s, lds, count, 1));
  for (tsi_index j = 0; j < count; j++)
    for (tsi_index i = 0; i < count; i++) {
      double part[2];
      load(factor, i, j, part);
      tsi_scalar_write((char)an->pattern->scalar, s, (size_t)(j * lds + i), part);
    }
  TSI_TRY_OUT(need_finite(factor, "the Schur complement", 0, an->schur_count, count, s, lds));
out:
  return tsi_answer(&factor->ts->env, status);
}

/* to_k = from_k / scale[row of unknown k] for nrhs columns. from_first, to_first: index of entry 0 in a
 * column. */
static void move(const tristar_factor_t *factor, const double *scale, int64_t nrhs, const void *from,
                 int64_t ld_from, tsi_index from_first, void *to, int64_t ld_to, tsi_index to_first) {
  const tristar_analysis_t *an = factor->analysis;
  for (int64_t c = 0; c < nrhs; c++)
    for (tsi_index k = 0; k < an->schur_count; k++) {
      double part[2];
      tsi_scalar_read((char)an->pattern->scalar, from, (size_t)(c * ld_from + from_first + k), part);
      for (int i = 0; i < 2; i++) part[i] /= scale_of(scale, an->schur[k]);
      tsi_scalar_write((char)an->pattern->scalar, to, (size_t)(c * ld_to + to_first + k), part);
    }
}

static tristar_status solve_part(tristar_plan_t *plan, tristar_op op, tristar_part part, int64_t nrhs,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
  tristar_solve_options options = tsi_solve_options_columns(op, ldb, ldx);
  options.part = part;
  const tristar_status status = tristar_solve_with(plan, &options, nrhs, b, x, NULL);
  return status == TRISTAR_ERR_NOT_FINITE ? TRISTAR_OK : status; /* the callers check their results */
}

/* ---- The sweeps ---------------------------------------------------------------------------------------- */

static tristar_status sweep_forward(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                    int64_t ldb, void *y, int64_t ldy, void *g, int64_t ldg) {
  const tristar_factor_t *factor = plan->factor;
  const bool by_rows = op == TRISTAR_N;
  TSI_TRY(solve_part(plan, op, by_rows ? TRISTAR_PART_L : TRISTAR_PART_U, nrhs, b, ldb, y, ldy));
  move(factor, by_rows ? factor->row_scale : factor->col_scale, nrhs, y, ldy,
       tsi_analysis_schur_first(factor->analysis), g, ldg, 0);
  return TRISTAR_OK;
}

static void copy_columns(const tristar_factor_t *factor, int64_t nrhs, const void *from, int64_t ld_from,
                         void *to, int64_t ld_to) {
  const size_t bytes = factor->user_bytes, column = (size_t)factor->analysis->pattern->n * bytes;
  for (int64_t c = 0; c < nrhs && to != from; c++)
    memcpy((char *)to + (size_t)(c * ld_to) * bytes, (const char *)from + (size_t)(c * ld_from) * bytes,
           column);
}

/* Copies x_S to the rows of S of x, unchanged. */
static void put_unknowns(const tristar_factor_t *factor, int64_t nrhs, const void *x_s, int64_t ldxs, void *x,
                         int64_t ldx) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t bytes = factor->user_bytes;
  for (int64_t c = 0; c < nrhs; c++)
    for (tsi_index k = 0; k < an->schur_count; k++)
      memcpy((char *)x + (size_t)(c * ldx + an->schur[k]) * bytes,
             (const char *)x_s + (size_t)(c * ldxs + k) * bytes, bytes);
}

static tristar_status sweep_backward(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *y,
                                     int64_t ldy, const void *x_s, int64_t ldxs, void *x, int64_t ldx) {
  const tristar_factor_t *factor = plan->factor;
  const bool by_rows = op == TRISTAR_N;
  copy_columns(factor, nrhs, y, ldy, x, ldx);
  move(factor, by_rows ? factor->col_scale : factor->row_scale, nrhs, x_s, ldxs, 0, x, ldx,
       tsi_analysis_schur_first(factor->analysis));
  if (factor->inverse) TSI_TRY(solve_part(plan, op, TRISTAR_PART_D, nrhs, x, ldx, x, ldx));
  TSI_TRY(solve_part(plan, op, by_rows ? TRISTAR_PART_U : TRISTAR_PART_L, nrhs, x, ldx, x, ldx));
  put_unknowns(factor, nrhs, x_s, ldxs, x, ldx); /* again, since single factors have rounded x_S */
  return TRISTAR_OK;
}

/* ---- The system of A_II and D -------------------------------------------------------------------------- */

typedef struct eliminated {
  tristar_plan_t *plan;
  tsi_system_functions functions;
  tsi_plan_system s; /* refers to the other members */
  bool *stays;       /* n: does the row belong to S? */
  double *d;         /* schur_count: the entries of D */
  /* The matrix by lines, like the pattern. */
  tsi_count *ptr;
  tsi_index *index;
  char *values;
} eliminated;

static void release(eliminated *e) {
  tsi_release(tsi_take(&e->stays));
  tsi_release(tsi_take(&e->d));
  tsi_release(tsi_take(&e->ptr));
  tsi_release(tsi_take(&e->index));
  tsi_release(tsi_take(&e->values));
}

/* The entry of D for a row, limited to the range of numbers. */
static double find_d(const tristar_factor_t *factor, tsi_index row) {
  const double most = tsi_scalar_is_single((char)factor->analysis->pattern->scalar) ? 0x1p120 : 0x1p1000;
  const double d = tsi_scaled(1, 1 / scale_of(factor->row_scale, row), 1 / scale_of(factor->col_scale, row));
  return fmin(fmax(d, 1 / most), most);
}

static void fill_lines(const tristar_factor_t *factor, eliminated *e) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const size_t bytes = factor->user_bytes;
  tsi_count at = 0;
  for (tsi_index j = 0; j < pattern->n; j++) {
    e->ptr[j] = at;
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1] && !e->stays[j]; p++) {
      if (e->stays[pattern->index[p]]) continue;
      memcpy(e->values + (size_t)at * bytes, (const char *)factor->values + (size_t)p * bytes, bytes);
      e->index[at++] = pattern->index[p];
    }
    if (!e->stays[j]) continue;
    tsi_scalar_write((char)pattern->scalar, e->values, (size_t)at, (const double[]){find_d(factor, j), 0});
    e->index[at++] = j;
  }
  e->ptr[pattern->n] = at;
}

/* x_I = op(A_II)^-1 b_I, by sweeps with x_S = 0. Afterwards x_S = D^-1 b_S. x may be b. */
static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const eliminated *e = context;
  const tristar_factor_t *factor = e->plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const char scalar = (char)an->pattern->scalar;
  const int64_t count = an->schur_count;
  tsi_env *env = &factor->ts->env;
  TSI_OWNED char *g = NULL, *zero = NULL, *x_s = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, g, (size_t)(count * nrhs), factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, x_s, (size_t)(count * nrhs), factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, zero, (size_t)(count * nrhs), factor->user_bytes));
  for (int64_t k = 0; k < count * nrhs; k++) {
    double part[2];
    tsi_scalar_read(scalar, b, (size_t)(k / count * ldb + an->schur[k % count]), part);
    for (int i = 0; i < 2; i++) part[i] /= e->d[k % count];
    tsi_scalar_write(scalar, x_s, (size_t)k, part);
  }
  TSI_TRY(sweep_forward(e->plan, op, nrhs, b, ldb, x, ldx, g, count));
  TSI_TRY(sweep_backward(e->plan, op, nrhs, x, ldx, zero, count, x, ldx));
  for (int64_t k = 0; k < count * nrhs; k++) {
    double part[2];
    tsi_scalar_read(scalar, x_s, (size_t)k, part);
    tsi_scalar_write(scalar, x, (size_t)(k / count * ldx + an->schur[k % count]), part);
  }
  return TRISTAR_OK;
}

/* *e must not move afterwards. */
static tristar_status begin(tristar_plan_t *plan, eliminated *e) {
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_count n = an->pattern->n, entries = an->pattern->ptr[n] + an->schur_count;
  tsi_env *env = &factor->ts->env;
  e->plan = plan;
  TSI_TRY(TSI_ALLOC_ZERO(env, e->stays, n));
  TSI_TRY(TSI_ALLOC(env, e->d, an->schur_count));
  TSI_TRY(TSI_ALLOC(env, e->ptr, n + 1));
  TSI_TRY(TSI_ALLOC(env, e->index, entries));
  TSI_TRY(TSI_ALLOC_SIZED(env, e->values, entries, factor->user_bytes));
  for (tsi_index k = 0; k < an->schur_count; k++) {
    e->stays[an->schur[k]] = true;
    e->d[k] = find_d(factor, an->schur[k]);
  }
  fill_lines(factor, e);
  TSI_TRY(tsi_plan_system_create(plan, &e->s));
  e->functions = *e->s.system.functions;
  e->functions.solve = solve;
  e->s.system.a.ptr = e->ptr;
  e->s.system.a.index = e->index;
  e->s.system.a.values = e->values;
  e->s.system.functions = &e->functions;
  e->s.system.context = e;
  e->s.system.kept = NULL;
  return TRISTAR_OK;
}

tristar_status tsi_schur_measure(tristar_plan_t *plan) {
  TSI_CLEANUP(release) eliminated e = {.plan = NULL};
  TSI_TRY(begin(plan, &e));
  return tsi_judge_measure(&e.s.system, plan->factor);
}

tristar_status tsi_schur_judge_small_rows(tristar_plan_t *plan) {
  TSI_CLEANUP(release) eliminated e = {.plan = NULL};
  TSI_TRY(begin(plan, &e));
  return tsi_judge_small_rows(&e.s.system, plan->factor);
}

tristar_status tsi_schur_judge_rounded(tristar_plan_t *plan, double epsilon, double *error) {
  TSI_CLEANUP(release) eliminated e = {.plan = NULL};
  TSI_TRY(begin(plan, &e));
  return tsi_judge_rounded(&e.s.system, plan->factor, epsilon, error);
}

/* ---- Refined solves ------------------------------------------------------------------------------------ */

/* Refined solves of up to COLUMNS_MOST columns at a time. */
typedef struct refined {
  eliminated system;
  char *b, *x; /* n x columns each */
} refined;

static void finish(refined *r) {
  release(&r->system);
  tsi_release(tsi_take(&r->b));
  tsi_release(tsi_take(&r->x));
}

static tristar_status start(tristar_plan_t *plan, int64_t columns, refined *r) {
  const tristar_factor_t *factor = plan->factor;
  const size_t column = (size_t)factor->analysis->pattern->n * factor->user_bytes;
  tsi_env *env = &plan->ts->env;
  if (columns > COLUMNS_MOST) columns = COLUMNS_MOST;
  TSI_TRY(begin(plan, &r->system));
  TSI_TRY(TSI_ALLOC_SIZED(env, r->b, (size_t)columns, column));
  return TSI_ALLOC_SIZED(env, r->x, (size_t)columns, column);
}

static void clear_unknowns(const tristar_factor_t *factor, int64_t columns, void *b) {
  const tristar_analysis_t *an = factor->analysis;
  for (int64_t c = 0; c < columns; c++)
    for (tsi_index k = 0; k < an->schur_count; k++)
      tsi_scalar_write((char)an->pattern->scalar, b, (size_t)(c * an->pattern->n + an->schur[k]),
                       (const double[]){0, 0});
}

/* x_I = op(A_II)^-1 b_I, x_S = 0. Overwrites b_S. Errors: ACCURACY, those of tsi_solve_refined. */
static tristar_status solve_refined(refined *r, tristar_op op, int64_t columns,
                                    tristar_refine_result *result) {
  tristar_plan_t *plan = r->system.plan;
  const tristar_factor_t *factor = plan->factor;
  const size_t column = (size_t)factor->analysis->pattern->n * factor->user_bytes;
  tristar_refine_options options;
  tristar_refine_options_init(&options);
  options.tolerance = plan->options.accuracy;
  clear_unknowns(factor, columns, r->b);
  TSI_TRY(tsi_solve_refined(&r->system.s.system, op, columns, r->b, column, r->x, column, &options, result));
  return tsi_refined_judge(&plan->ts->env, r->system.s.system.kernels, false, plan->options.accuracy, result);
}

/* The address of a column. */
static char *column_of(const tristar_factor_t *factor, const char *array, int64_t ld, int64_t column) {
  return (char *)(uintptr_t)array + (size_t)(column * ld) * factor->user_bytes;
}

/* Fails because a solve for this column is beyond the range of numbers. Names the entry of the caller's array
 * that is not finite, if there is one. */
static tristar_status fail_column(const tristar_factor_t *factor, const tsi_schur_arrays *v, int64_t column) {
  const tristar_analysis_t *an = factor->analysis;
  TSI_TRY(need_finite(factor, v->in_name, column, an->pattern->n, 1,
                      column_of(factor, v->in, v->ld_in, column), v->ld_in));
  if (v->given != NULL)
    TSI_TRY(need_finite(factor, "x_s", column, an->schur_count, 1,
                        column_of(factor, v->given, v->ld_given, column), v->ld_given));
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_NOT_FINITE,
           "a refined solve for column %lld of %s, counted from 0, is beyond the range of numbers",
           (long long)column, v->out_name);
}

static tristar_status condense_block(void *context, const tsi_schur_arrays *v, int64_t first,
                                     tsi_index columns) {
  refined *r = context;
  tristar_plan_t *plan = r->system.plan;
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const int64_t n = an->pattern->n;
  const size_t bytes = factor->user_bytes;
  const char *b = column_of(factor, v->in, v->ld_in, first);
  char *g = column_of(factor, v->out, v->ld_out, first);
  tristar_refine_result result = {0};
  copy_columns(factor, columns, b, v->ld_in, r->b, n);
  const tristar_status status = solve_refined(r, v->op, columns, &result);
  if (status == TRISTAR_ERR_NOT_FINITE && columns == 1 && !factor->stats.schur_refined) {
    /* A_II^-1 b_I is beyond the range of numbers, which g need not be */
    TSI_TRY(sweep_forward(plan, v->op, columns, b, v->ld_in, r->x, n, g, v->ld_out));
    return need_finite(factor, "g", first, an->schur_count, columns, g, v->ld_out);
  }
  if (status == TRISTAR_ERR_NOT_FINITE && columns == 1) return fail_column(factor, v, first);
  if (status != TRISTAR_OK && (status != TRISTAR_ERR_ACCURACY || columns > 1)) return status;
  TSI_TRY(tristar_residual(factor, v->op, columns, b, v->ld_in, r->x, n, r->b, n, NULL));
  for (int64_t c = 0; c < columns; c++)
    for (tsi_index k = 0; k < an->schur_count; k++)
      memcpy(g + (size_t)(c * v->ld_out + k) * bytes, r->b + (size_t)(c * n + an->schur[k]) * bytes, bytes);
  TSI_TRY(need_finite(factor, "g", first, an->schur_count, columns, g, v->ld_out));
  return status;
}

static tristar_status expand_block(void *context, const tsi_schur_arrays *v, int64_t first,
                                   tsi_index columns) {
  refined *r = context;
  const tristar_factor_t *factor = r->system.plan->factor;
  const int64_t n = factor->analysis->pattern->n;
  const char *y = column_of(factor, v->in, v->ld_in, first),
             *x_s = column_of(factor, v->given, v->ld_given, first);
  tristar_refine_result result = {0};
  memset(r->x, 0, (size_t)(columns * n) * factor->user_bytes);
  put_unknowns(factor, columns, x_s, v->ld_given, r->x, n);
  TSI_TRY(tristar_residual(factor, v->op, columns, y, v->ld_in, r->x, n, r->b, n, NULL));
  const tristar_status status = solve_refined(r, v->op, columns, &result);
  if (status == TRISTAR_ERR_NOT_FINITE && columns == 1) return fail_column(factor, v, first);
  if (status != TRISTAR_OK && (status != TRISTAR_ERR_ACCURACY || columns > 1)) return status;
  put_unknowns(factor, columns, x_s, v->ld_given, r->x, n);
  TSI_TRY(need_finite(factor, "x", first, (tsi_index)n, columns, r->x, n));
  copy_columns(factor, columns, r->x, n, column_of(factor, v->out, v->ld_out, first), v->ld_out);
  return status;
}

/* Checks what sweeps have computed. */
static tristar_status check_block(void *context, const tsi_schur_arrays *v, int64_t first,
                                  tsi_index columns) {
  const tristar_factor_t *factor = context;
  return need_finite(factor, v->out_name, first, (tsi_index)v->rows, columns,
                     column_of(factor, v->out, v->ld_out, first), v->ld_out);
}

/* Repeats a failure with the number of the column, which a message about accuracy does not have. */
static tristar_status name_column(const tsi_env *env, const tsi_schur_arrays *v, int64_t column) {
  TSI_FAIL(env, TRISTAR_ERR_ACCURACY, "column %lld of %s, counted from 0: %s", (long long)column, v->out_name,
           tsi_error_text(env));
}

tristar_status tsi_schur_run(tsi_env *env, const tsi_schur_arrays *v, int64_t nrhs, int64_t most,
                             tsi_schur_block block, void *context) {
  tsi_failure failure = {0};
  int64_t alone = 0; /* the first column after the block that failed */
  for (int64_t first = 0, columns; first < nrhs; first += columns) {
    columns = first < alone ? 1 : tsi_count_min(most, nrhs - first);
    tristar_status status = block(context, v, first, (tsi_index)columns);
    if (status == TRISTAR_OK) continue;
    if (status != TRISTAR_ERR_NOT_FINITE && status != TRISTAR_ERR_ACCURACY) return status;
    if (columns > 1) {
      alone = first + columns;
      columns = 0;
      continue;
    }
    if (status == TRISTAR_ERR_ACCURACY) status = name_column(env, v, first);
    tsi_failure_keep(env, &failure, status);
    for (int64_t i = 0; i < v->rows && status == TRISTAR_ERR_NOT_FINITE; i++)
      tsi_scalar_write(v->scalar, v->out, (size_t)(first * v->ld_out + i), (const double[]){NAN, NAN});
  }
  return tsi_failure_report(env, &failure);
}

/* ---- The complement by refined solves ------------------------------------------------------------------ */

/* For a symmetric kind, mirrors the lower triangle to the upper one and removes rounding errors from the
 * diagonal. This is done in the units of A, since rows and columns of L U have separate scalings. */
static void mirror(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tristar_symmetry symmetry = an->pattern->symmetry;
  const bool skew = symmetry == TRISTAR_SKEW_SYMMETRIC;
  if (symmetry == TRISTAR_GENERAL) return;
  for (tsi_index j = 0; j < an->schur_count; j++)
    for (tsi_index i = 0; i <= j; i++) {
      double part[2];
      load(factor, j, i, part);
      if (skew) part[0] = i == j ? 0 : -part[0];
      if (skew || symmetry == TRISTAR_HERMITIAN) part[1] = i == j ? 0 : -part[1];
      store(factor, i, j, part);
    }
}

/* Computes columns first .. first + columns - 1 of X = A_II^-1 A_IS, then of A_SS - A_SI X. */
static tristar_status find_columns(refined *r, tsi_index first, tsi_index columns,
                                   tristar_refine_result *result) {
  const tristar_factor_t *factor = r->system.plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const char scalar = (char)an->pattern->scalar;
  const int64_t n = an->pattern->n;
  const size_t bytes = (size_t)(n * columns) * factor->user_bytes;
  TSI_OWNED char *of_a = NULL;
  TSI_TRY(TSI_ALLOC(&factor->ts->env, of_a, bytes));
  memset(r->b, 0, bytes);
  memset(r->x, 0, bytes);
  for (tsi_index c = 0; c < columns; c++)
    tsi_scalar_write(scalar, r->x, (size_t)(c * n + an->schur[first + c]), (const double[]){-1, 0});
  TSI_TRY(tristar_residual(factor, TRISTAR_N, columns, r->b, n, r->x, n, of_a, n, NULL));
  memcpy(r->b, of_a, bytes);
  TSI_TRY(solve_refined(r, TRISTAR_N, columns, result));
  TSI_TRY(tristar_residual(factor, TRISTAR_N, columns, of_a, n, r->x, n, r->b, n, NULL));
  for (tsi_index c = 0; c < columns; c++)
    for (tsi_index i = 0; i < an->schur_count; i++) {
      double part[2];
      tsi_scalar_read(scalar, r->b, (size_t)(c * n + an->schur[i]), part);
      store(factor, i, first + c, part);
    }
  return TRISTAR_OK;
}

tristar_status tsi_schur_refine(tristar_plan_t *plan) {
  tristar_factor_t *factor = plan->factor;
  tristar_factor_stats *stats = &factor->stats;
  const tristar_analysis_t *an = factor->analysis;
  tsi_env *env = &plan->ts->env;
  const double most = tsi_acceptable_error(tsi_sparse_kernels_select(an->pattern->scalar)->epsilon);
  TSI_CLEANUP(finish) refined r = {.b = NULL};
  tristar_refine_result result = {0};
  TSI_TRY(start(plan, an->schur_count, &r));
  for (tsi_index first = 0, columns; first < an->schur_count; first += columns) {
    columns = tsi_index_min(COLUMNS_MOST, an->schur_count - first);
    const tristar_status status = find_columns(&r, first, columns, &result);
    if (status != TRISTAR_ERR_ACCURACY && status != TRISTAR_ERR_NOT_FINITE) TSI_TRY(status);
    if (status != TRISTAR_OK || !(result.backward_error <= most))
      TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
               "the Schur complement would not be accurate: %lld pivots of the rows that are eliminated were "
               "perturbed, and refined solves with them have the backward error %.1e",
               (long long)stats->perturbed_pivots, result.backward_error);
  }
  mirror(factor);
  stats->schur_refined = 1;
  tsi_log(env, TRISTAR_LOG_WARNING,
          "factor: %lld pivots of the rows that are eliminated were perturbed: refined solves compute the "
          "Schur complement, condense and expand; their backward errors are %.1e",
          (long long)stats->perturbed_pivots, result.backward_error);
  return TRISTAR_OK;
}

/* ---- Condensing and expanding -------------------------------------------------------------------------- */

/* If pivots were perturbed, but refined solves did not compute the complement, only sweeps agree with it. */
static bool refines(const tristar_plan_t *plan) {
  const tristar_factor_stats *stats = &plan->factor->stats;
  return stats->schur_refined || (stats->perturbed_pivots == 0 && !stats->singular && tsi_plan_refines(plan));
}

tristar_status tristar_schur_condense(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                      int64_t ldb, void *y, int64_t ldy, void *g, int64_t ldg) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  TSI_CLEANUP(finish) refined r = {.b = NULL};
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(tsi_check_op(env, op));
  TSI_TRY_OUT(check_array(env, "b", b, ldb, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "y", y, ldy, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "g", g, ldg, an->schur_count, nrhs));
  if (nrhs > 0)
    TSI_TRY_OUT(
        tsi_check_in_place(env, (tsi_named_array){"b", b, 1, ldb, 0}, (tsi_named_array){"y", y, 1, ldy, 0}));
  if (plan->storage != NULL) TSI_TRY_OUT(tsi_judge_storage(plan));
  const tsi_schur_arrays v = {.op = op,
                              .scalar = (char)an->pattern->scalar,
                              .in_name = "b",
                              .out_name = "g",
                              .in = b,
                              .ld_in = ldb,
                              .out = g,
                              .ld_out = ldg,
                              .rows = an->schur_count};
  if (refines(plan)) {
    TSI_TRY_OUT(start(plan, nrhs, &r));
    status = tsi_schur_run(env, &v, nrhs, COLUMNS_MOST, condense_block, &r);
    copy_columns(factor, nrhs, b, ldb, y, ldy); /* tristar_schur_expand needs y = b */
  } else {
    TSI_TRY_OUT(sweep_forward(plan, op, nrhs, b, ldb, y, ldy, g, ldg));
    status = tsi_schur_run(env, &v, nrhs, INT32_MAX, check_block, plan->factor);
  }
out:
  return tsi_answer(env, status);
}

tristar_status tristar_schur_expand(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *y,
                                    int64_t ldy, const void *x_s, int64_t ldxs, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  TSI_CLEANUP(finish) refined r = {.b = NULL};
  TSI_TRY_OUT(need_schur(factor));
  TSI_TRY_OUT(tsi_check_op(env, op));
  TSI_TRY_OUT(check_array(env, "y", y, ldy, an->pattern->n, nrhs));
  TSI_TRY_OUT(check_array(env, "x_s", x_s, ldxs, an->schur_count, nrhs));
  TSI_TRY_OUT(check_array(env, "x", x, ldx, an->pattern->n, nrhs));
  if (nrhs > 0)
    TSI_TRY_OUT(
        tsi_check_in_place(env, (tsi_named_array){"y", y, 1, ldy, 0}, (tsi_named_array){"x", x, 1, ldx, 0}));
  if (plan->storage != NULL) TSI_TRY_OUT(tsi_judge_storage(plan));
  const tsi_schur_arrays v = {.op = op,
                              .scalar = (char)an->pattern->scalar,
                              .in_name = "y",
                              .out_name = "x",
                              .in = y,
                              .given = x_s,
                              .ld_in = ldy,
                              .ld_given = ldxs,
                              .out = x,
                              .ld_out = ldx,
                              .rows = an->pattern->n};
  if (refines(plan)) {
    TSI_TRY_OUT(start(plan, nrhs, &r));
    status = tsi_schur_run(env, &v, nrhs, COLUMNS_MOST, expand_block, &r);
  } else {
    TSI_TRY_OUT(sweep_backward(plan, op, nrhs, y, ldy, x_s, ldxs, x, ldx));
    status = tsi_schur_run(env, &v, nrhs, INT32_MAX, check_block, plan->factor);
  }
out:
  return tsi_answer(env, status);
}
