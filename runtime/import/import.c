/* Factors of other libraries: tristar_import_supernodal, tristar_reimport, without the verdict on them
 * (judge.h).
 *
 * Job. Find supernodes of the given factors (partition/order/imported_structure.h), pack their values
 * (import_values.h), and make a factor that plans and solves use like the library's own factors.
 *
 * Reads   tristar_factors, whose arrays it borrows during the call.
 * Writes  an analysis (imported) and a factor.
 * Invariants: those of analysis.h and factor.h; no pivots; the order of the factor is the given order. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "codelets/cpu/front.h"
#include "runtime/base/clock.h"
#include "runtime/factor/scaling.h"
#include "runtime/import/import.h"
#include "runtime/import/import_values.h"
#include "runtime/matrix/order.h"

#define RELAX 0.6 /* as in tsi_symbolic_options_init */

/* Columns of a panel of given LU factors. If the other solver accepted small pivots, entries of the inverted
 * diagonal blocks grow with their width. Blocks of this width lose little accuracy (kkt3d from KLU: errors of
 * 1e-10 instead of 2e-9), and cost at most a fifth of the speed. */
#define LU_PANEL_WIDTH 16

void tristar_triangle_init(tristar_triangle *triangle) {
  *triangle = (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS, .ptr_bits = 32, .index_bits = 32};
}

void tristar_factors_init(tristar_factors *factors) {
  memset(factors, 0, sizeof *factors);
  factors->scalar = TRISTAR_DOUBLE;
  factors->method = TRISTAR_METHOD_LU;
}

/* The triangles of one call. */
typedef struct given {
  const tristar_factors *factors;
  tsi_index n;
  int sides;
  tsi_triangle triangle[2];
  const char *name[2]; /* "L", "U" */
} given;

static tristar_status check_factors(tsi_env *env, const tristar_factors *f, tsi_index *n) {
  if (f->n < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "n is %" PRId64, f->n);
  if (!tsi_to_index(f->n, n)) TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "n is %" PRId64, f->n);
  if (tsi_sparse_kernels_select((char)f->scalar) == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "scalar is %d", (int)f->scalar);
  if (f->method != TRISTAR_METHOD_LLT && f->method != TRISTAR_METHOD_LDLT && f->method != TRISTAR_METHOD_LU)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "method is %d: LLT, LDLT or LU is possible", (int)f->method);
  if (f->method == TRISTAR_METHOD_LDLT && f->diagonal == NULL && f->n > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "METHOD_LDLT without diagonal");
  return TRISTAR_OK;
}

/* lower, upper: the triangles that `f` contains. */
static tristar_status read_given(tsi_env *env, const tristar_factors *f, bool lower, bool upper, given *g) {
  g->factors = f;
  TSI_TRY(check_factors(env, f, &g->n));
  const size_t scalar = tsi_sparse_kernels_select((char)f->scalar)->scalar_bytes;
  for (int is_upper = 0; is_upper < 2; is_upper++) {
    if (!(is_upper ? upper : lower)) continue;
    g->name[g->sides] = is_upper ? "U" : "L";
    TSI_TRY(tsi_triangle_create(env, g->n, scalar, is_upper ? &f->upper : &f->lower, is_upper,
                                &g->triangle[g->sides]));
    g->sides++;
  }
  return TRISTAR_OK;
}

static void finish_given(given *g) {
  for (int i = 0; i < 2; i++) tsi_triangle_finish(&g->triangle[i]);
}

/* ---- Analysis ------------------------------------------------------------------------------------------ */

tristar_status tsi_import_order(tsi_env *env, const tsi_symbolic *sy, const int64_t *order, const char *name,
                                tsi_index **row) {
  TSI_OWNED tsi_index *place = NULL, *at = NULL;
  TSI_TRY(tsi_order_take(env, sy->n, order, name, &at, &place));
  if (at == NULL) {
    *row = sy->perm;
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC(env, *row, sy->n));
  for (tsi_index j = 0; j < sy->n; j++) (*row)[j] = at[sy->perm[j]];
  return TRISTAR_OK;
}

/* Makes the pattern of the matrix, or an empty one. */
static tristar_status take_pattern(tsi_env *env, const given *g, tsi_pattern **out) {
  const tristar_view *matrix = g->factors->matrix;
  if (matrix != NULL) {
    const char own = (char)g->factors->scalar, its = (char)matrix->scalar;
    if (matrix->rows != g->n || matrix->cols != g->n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "the matrix has %" PRId64 " rows and %" PRId64 " columns, its factors %d", matrix->rows,
               matrix->cols, g->n);
    if (its != own && !(own == 's' && its == 'd') && !(own == 'c' && its == 'z'))
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factors of type %c do not belong to a matrix of type %c", own,
               its);
    TSI_TRY(tsi_pattern_create(env, matrix, out));
    if (matrix->values == NULL && (*out)->given > 0)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix has no values");
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->n = g->n;
  (*out)->scalar = (char)g->factors->scalar;
  TSI_TRY(TSI_ALLOC_ZERO_IN(*out, (*out)->ptr, (tsi_count)g->n + 1));
  return TSI_ALLOC_IN(*out, (*out)->index, 0);
}

static tristar_status analyze(tristar_t *ts, const given *g, tristar_analysis_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  TSI_CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  tsi_symbolic *symbolic[2] = {NULL, NULL};
  const tsi_columns columns[2] = {g->triangle[0].structure, g->triangle[1].structure};
  const tsi_index width = g->factors->method == TRISTAR_METHOD_LU ? LU_PANEL_WIDTH : TSI_PANEL_WIDTH_MAX;
  const double begin = tsi_clock();
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, an, 1));
  atomic_init(&an->references, 1);
  an->ts = ts;
  tsi_env_retain(&ts->env);
  an->imported = true;
  tristar_analysis_options_init(&an->options);
  an->options.method = an->stats.method = g->factors->method;
  an->factor_scalar = (char)g->factors->scalar;
  TSI_TRY(take_pattern(env, g, &an->pattern));
  TSI_TRY(tsi_symbolic_of_imported(env, g->sides, columns, RELAX, symbolic));
  an->symbolic = symbolic[0];
  an->other.symbolic = symbolic[1];
  for (int i = 0; i < tsi_analysis_sides(an); i++) {
    tsi_structure side = {symbolic[i], NULL, NULL};
    status = tsi_panels_create(env, symbolic[i], width, &side.panels);
    if (status == TRISTAR_OK) status = tsi_place_panels(env, side.panels, &side.panel_values);
    if (i > 0)
      an->other = side;
    else {
      an->panels = side.panels;
      an->panel_values = side.panel_values;
    }
    TSI_TRY(status);
  }
  TSI_TRY(tsi_import_order(env, an->symbolic, g->factors->row_order, "row_order", &an->in_row));
  TSI_TRY(tsi_import_order(env, an->symbolic, g->factors->column_order, "column_order", &an->out_row));
  TSI_TRY(tsi_analysis_place_rows(env, an));
  tsi_analysis_fill_stats(an, an->other.symbolic == NULL);
  an->stats.analyze_seconds = tsi_clock() - begin;
  *out = tsi_take(&an);
  return TRISTAR_OK;
}

/* ---- Factor -------------------------------------------------------------------------------------------- */

static tristar_status allocate(tsi_env *env, given *g, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = g->n;
  for (int i = 0; i < g->sides; i++) {
    const tsi_structure side = tsi_analysis_structure(an, an->other.symbolic ? i : 0);
    TSI_TRY(tsi_factor_allocate_stream(env, factor, side.panel_values[side.panels->count],
                                       g->name[i][0] == 'U' ? &factor->upper : &factor->lower));
  }
  if (an->stats.method == TRISTAR_METHOD_LDLT)
    TSI_TRY(TSI_ALLOC_SIZED(env, factor->inverse, 2 * (size_t)n, factor->scalar_bytes));
  TSI_TRY(TSI_ALLOC(env, factor->pivot_order, n));
  TSI_TRY(TSI_ALLOC(env, factor->position, n));
  for (tsi_index j = 0; j < n; j++) {
    factor->pivot_order[j] = an->symbolic->inverse[j];
    factor->position[j] = an->symbolic->perm[j];
  }
  return TRISTAR_OK;
}

tristar_status tsi_import_check_scale(tsi_env *env, tsi_index n, const double *scale, const char *name) {
  for (tsi_index i = 0; i < n && scale; i++)
    if (!isfinite(scale[i]) || scale[i] == 0)
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s[%d] is %g", name, i, scale[i]);
  return TRISTAR_OK;
}

/* Sets one scaling. from NULL: ones. */
static tristar_status import_scale(tsi_env *env, tsi_index n, const double *from, const char *name,
                                   double **to) {
  if (from != NULL) TSI_TRY(tsi_import_check_scale(env, n, from, name));
  if (*to == NULL) TSI_TRY(TSI_ALLOC(env, *to, n));
  for (tsi_index i = 0; i < n; i++) (*to)[i] = from ? from[i] : 1;
  return TRISTAR_OK;
}

tristar_status tsi_import_scales(tsi_env *env, tsi_index n, const double *row_scale,
                                 const double *column_scale, tristar_factor_t *factor) {
  if (row_scale == NULL && column_scale == NULL) {
    TSI_FREE(env, factor->row_scale);
    TSI_FREE(env, factor->col_scale);
    return TRISTAR_OK;
  }
  TSI_TRY(import_scale(env, n, row_scale, "row_scale", &factor->row_scale));
  return import_scale(env, n, column_scale, "column_scale", &factor->col_scale);
}

/* Pivots of a block that differ widely are caused by units, or by growth. Trial solves with the matrix show
 * the loss (judge.h). Without the matrix, b and intermediate vectors may have entries of any size. Products
 * with an inverse lose the small ones. */
static void judge_pivots(tristar_factor_t *factor, bool with_matrix, double ratio) {
  const tristar_analysis_t *an = factor->analysis;
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  const bool far = ratio > pow(epsilon, -0.4);
  factor->doubtful = far && with_matrix;
  if (far && !with_matrix && tsi_analysis_inverse(an) != TSI_INVERSE_NONE)
    factor->inverse_growth = fmax(factor->inverse_growth, fmin(ratio, DBL_MAX));
}

static tristar_status fill_panels(tsi_env *env, const given *g, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tristar_factors *f = g->factors;
  const void *middle = f->method == TRISTAR_METHOD_LDLT ? f->diagonal : NULL;
  double ratio = 0;
  factor->inverse_growth = 0;
  for (int i = 0; i < g->sides; i++) {
    const tsi_structure side = tsi_analysis_structure(an, an->other.symbolic ? i : 0);
    TSI_TRY(tsi_import_values(env, &g->triangle[i], &side, (char)f->scalar, g->name[i],
                              tsi_analysis_inverse(an), middle, &factor->inverse_growth, &ratio,
                              g->name[i][0] == 'U' ? factor->upper : factor->lower));
  }
  judge_pivots(factor, f->matrix != NULL, ratio);
  return TRISTAR_OK;
}

/* Fills the panels. If inverses of blocks would make solves inaccurate, the blocks are not inverted. */
static tristar_status fill_first(tsi_env *env, const given *g, tristar_factor_t *factor) {
  TSI_TRY(fill_panels(env, g, factor));
  if (!tsi_factor_inverts_badly(factor)) return TRISTAR_OK;
  tsi_log(env, TRISTAR_LOG_INFO,
          "import: inverses of diagonal blocks grow to %.1e times their diagonals: solves by substitution",
          factor->inverse_growth);
  factor->analysis->options.inverse = TRISTAR_INVERSE_NONE;
  return fill_panels(env, g, factor);
}

tristar_status tsi_import_check_inverses(const tristar_factor_t *factor) {
  if (isfinite(factor->inverse_growth)) return TRISTAR_OK;
  TSI_FAIL(
      &factor->ts->env, TRISTAR_ERR_NOT_FINITE,
      "the inverse of a diagonal block exceeds the range of the type: import the values anew, for solves "
      "by substitution");
}

/* Sets scalings, D and the matrix. The factor is valid afterwards. */
static tristar_status fill(tsi_env *env, const given *g, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tristar_factors *f = g->factors;
  factor->adjoint = f->hermitian && f->method != TRISTAR_METHOD_LU;
  TSI_TRY(tsi_import_scales(env, g->n, f->row_scale, f->column_scale, factor));
  if (factor->inverse) {
    const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select((char)f->scalar);
    const tsi_index zero = tsi_front_kernels_select((char)f->scalar)
                               ->invert_diagonal(g->n, an->symbolic->perm, f->diagonal, factor->inverse);
    if (zero != TSI_NONE) TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "D: entry %d is zero", zero);
    if (sparse->first_not_finite(2 * (tsi_count)g->n, factor->inverse) < 2 * (tsi_count)g->n)
      TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "D or its inverse has NaN or infinity");
  }
  factor->has_matrix = f->matrix != NULL;
  if (factor->has_matrix) {
    tsi_pattern_take(an->pattern, f->matrix->values, factor->values);
    TSI_TRY(tsi_pattern_check_values(env, an->pattern, factor->values));
    TSI_TRY(tsi_scaling_weigh(factor));
  }
  factor->valid = true;
  factor->generation++;
  return TRISTAR_OK;
}

static void fill_factor_stats(tristar_factor_t *factor, int sides, size_t peak, double seconds) {
  const tristar_analysis_t *an = factor->analysis;
  tristar_factor_stats *stats = &factor->stats;
  memset(stats, 0, sizeof *stats);
  stats->reciprocal_condition = -1;
  for (int i = 0; i < sides; i++) {
    const tsi_structure side = tsi_analysis_structure(an, an->other.symbolic ? i : 0);
    stats->nnz_factor += side.symbolic->nnz_exact - (i > 0 ? an->stats.n : 0);
    stats->stored_factor += side.symbolic->nnz_stored;
    stats->factor_bytes += (size_t)side.panel_values[side.panels->count] * factor->scalar_bytes;
  }
  stats->peak_bytes = peak;
  stats->factor_seconds = seconds;
}

tristar_status tsi_import_structure(tristar_t *ts, const tristar_factors *factors, bool lower, bool upper,
                                    tristar_factor_t **out) {
  tsi_env *env = &ts->env;
  *out = NULL;
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  TSI_CLEANUP(finish_given) given g = {.sides = 0};
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(env);
  TSI_TRY(read_given(env, factors, lower, upper, &g));
  TSI_TRY(tsi_factor_begin(ts, &factor));
  TSI_TRY(analyze(ts, &g, &factor->analysis));
  factor->user_bytes = tsi_sparse_kernels_select(factor->analysis->pattern->scalar)->scalar_bytes;
  factor->scalar_bytes = tsi_sparse_kernels_select((char)factors->scalar)->scalar_bytes;
  TSI_TRY(tsi_pattern_allocate_values(env, factor->analysis->pattern, &factor->values));
  TSI_TRY(allocate(env, &g, factor));
  TSI_TRY(fill_first(env, &g, factor));
  TSI_TRY(fill(env, &g, factor));
  fill_factor_stats(factor, g.sides, atomic_load(&env->memory.recent) - before, tsi_clock() - begin);
  tsi_log(env, TRISTAR_LOG_INFO, "import: %.3g s, %lld supernodes, %.1f MB%s", factor->stats.factor_seconds,
          (long long)factor->analysis->stats.supernodes, (double)factor->stats.factor_bytes / 1e6,
          factor->analysis->other.symbolic ? ", L and U of different structure" : "");
  *out = tsi_take(&factor);
  return TRISTAR_OK;
}

/* The matrix given with new values must have the pattern of the first one. */
static tristar_status check_same_matrix(tsi_env *env, const given *g, const tristar_factor_t *factor) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  TSI_OWNED tsi_pattern *now = NULL;
  if (g->factors->matrix == NULL) return TRISTAR_OK;
  TSI_TRY(take_pattern(env, g, &now));
  if (!tsi_pattern_equal(now, pattern))
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the matrix has another pattern than at its first import");
  return TRISTAR_OK;
}

static tristar_status check_same_order(tsi_env *env, const tristar_analysis_t *an, const tsi_index *row,
                                       const int64_t *order, const char *name) {
  for (tsi_index k = 0; k < an->symbolic->n; k++)
    if ((order ? order[k] : k) != row[an->symbolic->inverse[k]])
      TSI_FAIL(env, TRISTAR_ERR_STALE, "%s[%d] is %" PRId64 ", at the first import it was %d", name, k,
               order ? order[k] : k, row[an->symbolic->inverse[k]]);
  return TRISTAR_OK;
}

tristar_status tsi_reimport_structure(tristar_factor_t *factor, const tristar_factors *factors) {
  TSI_CLEANUP(finish_given) given g = {.sides = 0};
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(env) - factor->stats.factor_bytes;
  if (!an->imported) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "this factor was not imported: tristar_refactor");
  if (tsi_factor_is_triangle(factor))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "this factor is a triangular matrix: import it anew");
  if (factors->n != an->symbolic->n || (char)factors->scalar != an->factor_scalar ||
      factors->method != an->stats.method)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "n, scalar or method is not that of the first import");
  TSI_TRY(read_given(env, factors, true, factors->method == TRISTAR_METHOD_LU, &g));
  const tristar_status same = check_same_matrix(env, &g, factor);
  /* After ARGUMENT the factor keeps its values. */
  if (same != TRISTAR_ERR_ARGUMENT) factor->valid = false;
  TSI_TRY(same);
  TSI_TRY(check_same_order(env, an, an->in_row, factors->row_order, "row_order"));
  TSI_TRY(check_same_order(env, an, an->out_row, factors->column_order, "column_order"));
  TSI_TRY(fill_panels(env, &g, factor));
  TSI_TRY(tsi_import_check_inverses(factor));
  TSI_TRY(fill(env, &g, factor));
  fill_factor_stats(factor, g.sides, atomic_load(&env->memory.recent) - before, tsi_clock() - begin);
  return TRISTAR_OK;
}
