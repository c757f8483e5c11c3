/* A single triangular matrix: tristar_import_triangle, tristar_import_csr.
 *
 * Job. Extract the triangle from a view. If most of its columns belong to supernodes it becomes a factor of
 * panels (import.c). Otherwise it becomes a factor that is solved row by row (row_factor.h), with a cut of
 * partition/cut/row_chunks.h.
 *
 * Reads   a view, during the call.
 * Writes  an analysis (imported) and a factor, whose matrix is the triangle.
 * Invariants: those of analysis.h and factor.h; no pivots; the order of the factor is the given order. */
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/import/import.h"
#include "runtime/import/import_values.h"
#include "runtime/import/permuted_triangle.h"
#include "runtime/rows/row_choice.h"
#include "runtime/rows/row_factor.h"
#include "runtime/matrix/order.h"
#include "runtime/matrix/triangle_part.h"
#include "runtime/matrix/view.h"

/* ---- Row by row ---------------------------------------------------------------------------------------- */

/* Takes ownership of the pattern of the matrix, also on failure. */
static tristar_status analyze_rows(tristar_t *ts, tsi_pattern *pattern, const tsi_row_cut *cut,
                                   const tristar_triangle_options *o, tristar_analysis_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_analysis_t *an = NULL;
  const double begin = tsi_clock();
  *out = NULL;
  status = TSI_ALLOC_ZERO(env, an, 1);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, pattern);
    return status;
  }
  atomic_init(&an->references, 1);
  an->ts = ts;
  tsi_env_retain(&ts->env);
  an->imported = true;
  an->pattern = pattern;
  tristar_analysis_options_init(&an->options);
  an->options.method = an->stats.method = TRISTAR_METHOD_LU;
  an->factor_scalar = pattern->scalar;
  TSI_TRY_OUT(tsi_row_symbolic_create(env, cut, pattern->ptr[pattern->n], &an->symbolic));
  TSI_TRY_OUT(tsi_panels_create(env, an->symbolic, 1, &an->panels));
  TSI_TRY_OUT(tsi_place_panels(env, an->panels, &an->panel_values));
  TSI_TRY_OUT(tsi_import_order(env, an->symbolic, o->row_order, "row_order", &an->in_row));
  TSI_TRY_OUT(tsi_import_order(env, an->symbolic, o->column_order, "column_order", &an->out_row));
  TSI_TRY_OUT(tsi_analysis_place_rows(env, an));
  tsi_analysis_fill_stats(an, true);
  an->stats.analyze_seconds = tsi_clock() - begin;
out:
  if (status != TRISTAR_OK) tristar_analysis_destroy(&an);
  *out = an;
  return status;
}

/* Makes the streams of T. The rows own the arrays of T if these are not arrays of the matrix. Takes ownership
 * of the cut, also on failure. */
static tristar_status fill_rows(tsi_env *env, tsi_permuted_triangle *t, const tsi_lines *lines,
                                tsi_row_cut *cut, bool lower, tristar_factor_t *factor) {
  const char letter = factor->analysis->factor_scalar;
  const void *values = t->values ? t->values : factor->values;
  TSI_TRY(tsi_row_factor_create(env, cut, lines, values, factor->scalar_bytes, &factor->rows));
  factor->rows->own_pattern = t->pattern;
  factor->rows->own_values = t->values;
  t->pattern = NULL;
  t->values = NULL;
  TSI_TRY(tsi_row_factor_fill(env, letter, lower ? "L" : "U", &t->properties, factor->rows));
  TSI_FREE(env, t->properties.diagonal);
  if (t->later) return TRISTAR_OK;
  const tsi_row_sweep *sweep; /* the sweep of solves with T itself */
  TSI_TRY(tsi_row_factor_sweep(env, factor->rows, !lower, &sweep));
  factor->stats.factor_bytes =
      (size_t)lines->ptr[lines->n] *
      (factor->scalar_bytes + (sweep->stream.offset ? sizeof(uint16_t) : sizeof(tsi_index)));
  return TRISTAR_OK;
}

/* Takes ownership of t and cut, also on failure. The arrays of `lines` belong to the pattern. */
static tristar_status import_rows(tristar_t *ts, tsi_permuted_triangle *t, const tsi_lines *lines,
                                  tsi_row_cut *cut, const tristar_triangle_options *o,
                                  tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_factor_t *factor = NULL;
  const bool lower = o->uplo == TRISTAR_LOWER;
  tsi_pattern **pattern = t->matrix ? &t->matrix : &t->pattern, *matrix = *pattern;
  void **values = t->matrix ? &t->matrix_values : &t->values;
  *out = NULL;
  TSI_TRY_OUT(tsi_factor_begin(ts, &factor));
  factor->moves_rows = o->row_order != NULL;
  factor->moves_columns = o->column_order != NULL;
  factor->values = *values;
  *values = NULL;
  *pattern = NULL;
  factor->user_bytes = factor->scalar_bytes = tsi_sparse_kernels_select(matrix->scalar)->scalar_bytes;
  factor->stats.nnz_factor = factor->stats.stored_factor = matrix->ptr[matrix->n];
  TSI_TRY_OUT(analyze_rows(ts, matrix, cut, o, &factor->analysis));
  factor->pivot_order = factor->analysis->symbolic->inverse; /* the given order */
  factor->position = factor->analysis->symbolic->perm;
  TSI_TRY_OUT(tsi_import_scales(env, lines->n, o->row_scale, o->column_scale, factor));
  TSI_TRY_OUT(tsi_factor_allocate_stream(env, factor, 0, lower ? &factor->lower : &factor->upper));
  tsi_row_cut *given = cut;
  cut = NULL;
  TSI_TRY_OUT(fill_rows(env, t, lines, given, lower, factor));
  factor->has_matrix = factor->valid = true;
  factor->generation = 1;
out:
  tsi_permuted_triangle_finish(t);
  TSI_FREE(env, cut);
  if (status != TRISTAR_OK) tristar_factor_destroy(&factor);
  *out = factor;
  return status;
}

/* ---- Supernodes ---------------------------------------------------------------------------------------- */

static tristar_triangle triangle_of(const tsi_pattern *pattern, const void *values) {
  return (tristar_triangle){.format = pattern->by_rows ? TRISTAR_TRIANGLE_ROWS : TRISTAR_TRIANGLE_COLUMNS,
                            .ptr_bits = 64,
                            .index_bits = 32,
                            .ptr = pattern->ptr,
                            .index = pattern->index,
                            .values = values};
}

static tristar_status import_panels(tristar_t *ts, const tsi_permuted_triangle *t,
                                    const tristar_triangle_options *o, tristar_factor_t **factor) {
  const tristar_view matrix =
      t->matrix ? tsi_pattern_view(t->matrix, t->matrix_values) : tsi_pattern_view(t->pattern, t->values);
  const bool lower = o->uplo == TRISTAR_LOWER;
  tristar_factors factors;
  tristar_factors_init(&factors);
  factors.n = matrix.rows;
  factors.scalar = matrix.scalar;
  factors.matrix = &matrix;
  factors.row_order = o->row_order;
  factors.column_order = o->column_order;
  factors.row_scale = o->row_scale;
  factors.column_scale = o->column_scale;
  *(lower ? &factors.lower : &factors.upper) = triangle_of(t->pattern, t->values);
  return tsi_import_structure(ts, &factors, lower, !lower, factor);
}

/* ---- Lines that were made here ------------------------------------------------------------------------- */

static tsi_lines lines_of(const tsi_pattern *pattern, bool lower) {
  return (tsi_lines){pattern->n, pattern->ptr, pattern->index, lower != pattern->by_rows};
}

/* Takes ownership of T, also on failure. choice: for its lines, or for the columns from which they were
 * made. */
static tristar_status import_triangle(tristar_t *ts, tsi_permuted_triangle t,
                                      const tristar_triangle_options *o, const tsi_row_choice *choice,
                                      tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_row_cut *cut = NULL;
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(env);
  *out = NULL;
  const bool lower = o->uplo == TRISTAR_LOWER;
  const tsi_lines lines = lines_of(t.pattern, lower);
  TSI_TRY_OUT(tsi_permuted_triangle_make_matrix(env, o, &t));
  if (choice->supernodes) {
    TSI_TRY_OUT(import_panels(ts, &t, o, out));
    goto out;
  }
  TSI_TRY_OUT(tsi_row_choice_cut(env, choice, &lines, lower, t.level, t.levels, &cut));
  TSI_FREE(env, t.level);
  const tsi_index chunks = cut->count;
  TSI_TRY_OUT(import_rows(ts, &t, &lines, cut, o, out));
  (*out)->stats.peak_bytes = atomic_load(&env->memory.recent) - before;
  (*out)->stats.factor_seconds = tsi_clock() - begin;
  tsi_log(env, TRISTAR_LOG_INFO, "import: %.3g s, %d rows in %d chunks, %.1f MB",
          (*out)->stats.factor_seconds, lines.n, chunks, (double)(*out)->stats.factor_bytes / 1e6);
out:
  tsi_permuted_triangle_finish(&t);
  return status;
}

static tsi_row_choice choose(tristar_t *ts, const tsi_pattern *pattern, const tristar_triangle_options *o) {
  const tsi_lines lines = lines_of(pattern, o->uplo == TRISTAR_LOWER);
  const size_t bytes = tsi_sparse_kernels_select(pattern->scalar)->scalar_bytes;
  tsi_row_choice choice = tsi_row_choose(ts, lines.n, lines.ptr[lines.n], bytes, o->partition);
  tsi_row_choice_look(&lines, &choice);
  return choice;
}

tristar_status tsi_import_lines(tristar_t *ts, tsi_pattern *pattern, void *values, bool lower, bool finite,
                                tristar_partition partition, tristar_factor_t **out) {
  const tristar_triangle_options options = {.uplo = lower ? TRISTAR_LOWER : TRISTAR_UPPER,
                                            .partition = partition};
  const tsi_row_choice choice = choose(ts, pattern, &options);
  const tsi_permuted_triangle t = {
      .pattern = pattern, .values = values, .properties = {.finite = finite}, .later = true};
  return import_triangle(ts, t, &options, &choice, out);
}

tsi_index tsi_import_levels(const tristar_factor_t *factor, tsi_index *scratch) {
  const tsi_lines lines = lines_of(factor->analysis->pattern, factor->lower != NULL);
  return tsi_row_levels(&lines, scratch);
}

static tristar_status refill_panels(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const bool lower = factor->lower != NULL;
  const tristar_triangle lines = triangle_of(an->pattern, factor->values);
  const tsi_structure side = tsi_analysis_structure(an, 0);
  TSI_CLEANUP(tsi_triangle_finish) tsi_triangle triangle = {.structure = {.n = 0}};
  TSI_TRY(tsi_triangle_create(env, an->pattern->n, factor->scalar_bytes, &lines, !lower, &triangle));
  double ratio = 0;
  factor->inverse_growth = 0;
  TSI_TRY(tsi_import_values(env, &triangle, &side, an->factor_scalar, lower ? "L" : "U",
                            tsi_analysis_inverse(an), NULL, &factor->inverse_growth, &ratio,
                            lower ? factor->lower : factor->upper));
  return tsi_import_check_inverses(factor);
}

tristar_status tsi_reimport_lines(tristar_factor_t *factor, const void *values, bool finite) {
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_triangle_values properties = {.finite = finite};
  const bool lower = factor->lower != NULL;
  factor->valid = false;
  if (values != factor->values)
    memcpy(factor->values, values, (size_t)pattern->ptr[pattern->n] * factor->user_bytes);
  if (factor->rows)
    TSI_TRY(tsi_row_factor_fill(env, pattern->scalar, lower ? "L" : "U", &properties, factor->rows));
  else
    TSI_TRY(refill_panels(factor));
  factor->valid = true;
  factor->generation++;
  return TRISTAR_OK;
}

/* ---- The functions of the interface -------------------------------------------------------------------- */

void tristar_triangle_options_init_sized(tristar_triangle_options *options, size_t size) {
  const tristar_triangle_options defaults = {.uplo = TRISTAR_LOWER, .diag = TRISTAR_NON_UNIT};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

static tristar_status check_options(tsi_env *env, const tristar_view *view,
                                    const tristar_triangle_options *o) {
  if (view == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "view is NULL");
  if (view->values == NULL) {
    TSI_TRY(tsi_view_check_ptr(env, view));
    if (tsi_view_begin(view, tsi_view_major(view)) > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  }
  if ((o->uplo != TRISTAR_LOWER && o->uplo != TRISTAR_UPPER) ||
      (o->diag != TRISTAR_UNIT && o->diag != TRISTAR_NON_UNIT))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "uplo is %d, diag %d", (int)o->uplo, (int)o->diag);
  return tsi_partition_check(env, o->partition);
}

/* Takes the columns directly from the arrays of the view, if possible, for a solve on several cores. They are
 * converted to rows if that yields an order sooner; otherwise they are copied. */
static tristar_status take_columns(tristar_t *ts, const tristar_view *view, const tristar_triangle_options *o,
                                   tsi_permuted_triangle *t, tsi_row_choice *choice) {
  tsi_env *env = &ts->env;
  TSI_OWNED tsi_count *ptr = NULL;
  tsi_column_arrays columns;
  if ((o->permuted && (o->row_order || o->column_order)) || !tsi_triangle_has_columns(view, o->uplo, o->diag))
    return TRISTAR_OK;
  const tsi_index n = (tsi_index)view->rows;
  const size_t bytes = tsi_sparse_kernels_select((char)view->scalar)->scalar_bytes;
  *choice = tsi_row_choose(ts, n, tsi_view_begin(view, n), bytes, o->partition);
  if (choice->supernodes || choice->lanes == 1) return TRISTAR_OK;
  TSI_TRY(tsi_triangle_columns(env, view, o->uplo, &ptr, &columns));
  if (ptr == NULL) return TRISTAR_OK;
  const tsi_lines lines = {n, ptr, columns.index, columns.lower};
  tsi_row_choice_look(&lines, choice);
  if (tsi_row_choice_needs_rows(choice, &lines))
    TSI_TRY(tsi_permuted_triangle_turn_columns(env, &columns, t));
  else
    TSI_TRY(tsi_triangle_take_columns(env, view, &columns, &ptr, &t->pattern, &t->values, &t->properties));
  return TRISTAR_OK;
}

/* Makes T, by rows if that yields an order sooner. After an error the caller has nothing to finish. */
static tristar_status take_view(tristar_t *ts, const tristar_view *view, const tristar_triangle_options *o,
                                tsi_permuted_triangle *t, tsi_row_choice *choice) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  *t = (tsi_permuted_triangle){.pattern = NULL};
  TSI_TRY_OUT(take_columns(ts, view, o, t, choice));
  if (t->pattern != NULL) return TRISTAR_OK;
  TSI_TRY_OUT(tsi_permuted_triangle_take(env, view, o, t));
  *choice = choose(ts, t->pattern, o);
  const bool lower = o->uplo == TRISTAR_LOWER;
  const tsi_lines lines = lines_of(t->pattern, lower);
  if (!t->pattern->by_rows && tsi_row_choice_needs_rows(choice, &lines))
    TSI_TRY_OUT(tsi_permuted_triangle_turn(env, lower, t));
out:
  if (status != TRISTAR_OK) tsi_permuted_triangle_finish(t);
  return status;
}

static tristar_status import_view(tristar_t *ts, const tristar_view *view,
                                  const tristar_triangle_options *options, tristar_factor_t **factor) {
  tsi_env *env = &ts->env;
  tsi_permuted_triangle t;
  tsi_row_choice choice;
  const double begin = tsi_clock();
  if (factor == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(check_options(env, view, options));
  tristar_triangle_options o = *options;
  if (!tsi_order_is_given(view->rows, o.row_order)) o.row_order = NULL;
  if (!tsi_order_is_given(view->rows, o.column_order)) o.column_order = NULL;
  TSI_TRY(take_view(ts, view, &o, &t, &choice));
  TSI_TRY(import_triangle(ts, t, &o, &choice, factor));
  (*factor)->stats.factor_seconds = tsi_clock() - begin;
  return TRISTAR_OK;
}

tristar_status tristar_import_triangle(tristar_t *ts, const tristar_view *view,
                                       const tristar_triangle_options *options, tristar_factor_t **factor) {
  tristar_triangle_options full;
  if (factor != NULL) *factor = NULL;
  TSI_ENTER(ts, ts);
  tristar_status status = TSI_OPTIONS(&ts->env, tristar_triangle_options, options, &full);
  if (status == TRISTAR_OK) status = import_view(ts, view, &full, factor);
  return tsi_answer(&ts->env, status);
}

tristar_status tristar_import_csr(tristar_t *ts, const tristar_view *view, tristar_uplo uplo,
                                  tristar_diag diag, tristar_factor_t **factor) {
  const tristar_triangle_options options = {.uplo = uplo, .diag = diag};
  if (factor != NULL) *factor = NULL;
  TSI_ENTER(ts, ts);
  return tsi_answer(&ts->env, import_view(ts, view, &options, factor));
}
