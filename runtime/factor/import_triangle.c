/* A triangular matrix alone: tristar_import_triangle, tristar_import_csr.
 *
 * Job. Take the triangle out of a view. If most of its columns belong to supernodes it becomes a factor of
 * panels (import.c), else one that is solved row by row (row_factor.h), cut as partition/row_chunks.h says.
 *
 * Reads   a view, during the call.
 * Writes  an analysis (imported) and a factor, whose matrix is the triangle.
 * Invariants: those of analysis.h and factor.h; no pivots; factor order is the given order. */
#include "partition/blocks.h"
#include "runtime/base/clock.h"
#include "runtime/factor/import.h"
#include "runtime/factor/import_values.h"
#include "runtime/factor/placed_triangle.h"
#include "runtime/factor/row_factor.h"
#include "runtime/matrix/entries.h"
#include "runtime/matrix/order.h"
#include "runtime/starpu/workers.h"

/* ---- Partition ----------------------------------------------------------------------------------------- */

/* Columns that continue the one before, of all: supernodes that are worth their zeros and their panels. Those
 * of two or three columns, as of finite elements that were not factored, are not. */
#define SUPERNODAL 0.7

/* Rows of a level set on average, from which on its order pays: neighbours do not wait for each other, and
 * lines of the cache are read only a few times more often. */
#define ROWS_A_LEVEL 4

/* Windows on one core, whose vectors do not stay in its caches: they read b and x out of order, line of
 * memory after line of memory several times. That pays where rows are so short that the branch at their ends,
 * whose lengths windows sort, costs more. */
#define WINDOW_ENTRIES 2.5 /* of a row on average, without the diagonal */

static bool is_long_of_long_rows(const tsi_lines *lines, size_t scalar_bytes) {
  const double n = lines->n, entries = (double)(lines->ptr[lines->n] - lines->ptr[0]) - n;
  return n * (double)scalar_bytes > TSI_CACHED_VECTOR_BYTES && entries > WINDOW_ENTRIES * n;
}

/* Lines are sorted: line j + 1 continues line j if it has its entries, but for one end each. */
static bool has_supernodes(const tsi_lines *lines) {
  const double most = (1 - SUPERNODAL) * lines->n; /* lines that need not be joined */
  tsi_index joined = 0;
  for (tsi_index j = 0; j + 1 < lines->n; j++) {
    if (j - joined > most) return false;
    const tsi_index *a = lines->index + lines->ptr[j], *b = lines->index + lines->ptr[j + 1];
    const tsi_count count = lines->ptr[j + 1] - lines->ptr[j], next = lines->ptr[j + 2] - lines->ptr[j + 1];
    const tsi_count common = tsi_count_min(count, next);
    if (common == 0 || (lines->columns ? count != next + 1 : next != count + 1)) continue;
    if (lines->columns ? b[0] != j + 1 : b[next - 1] != j + 1) continue;
    joined += memcmp(lines->columns ? a + 1 : a, b, (size_t)common * sizeof *a) == 0;
  }
  return joined > SUPERNODAL * lines->n;
}

/* level: see tsi_row_cut_create. across: lines are the columns of the sweep's rows. */
static tristar_status make_cut(tsi_env *env, const tsi_lines *lines, tsi_row_way way, int lanes,
                               size_t scalar_bytes, bool across, const tsi_index *level, tsi_index levels,
                               tsi_row_cut **cut) {
  tsi_row_options options;
  tsi_row_options_init(&options, way, lanes, scalar_bytes);
  if (way >= TSI_ROWS_COLUMN_BLOCKS) options.blocks = tsi_block_default(lines->n, scalar_bytes);
  options.across = across;
  return tsi_row_cut_create(env, lines, &options, level, levels, cut);
}

/* PARTITION_AUTO on one core: windows or, where they do not pay, the given order. */
static tristar_status choose_windows(tsi_env *env, const tsi_lines *lines, size_t scalar_bytes, bool across,
                                     tsi_row_cut **cut) {
  tristar_status status = TRISTAR_OK;
  if (!is_long_of_long_rows(lines, scalar_bytes)) {
    TSI_TRY(make_cut(env, lines, TSI_ROWS_SUPERSTEPS, 1, scalar_bytes, across, NULL, 0, cut));
    if (lines->n >= (tsi_count)ROWS_A_LEVEL * (*cut)->levels) return TRISTAR_OK;
    tsi_row_cut_destroy(env, cut);
  }
  TSI_TRY(make_cut(env, lines, TSI_ROWS_WHOLE, 1, scalar_bytes, false, NULL, 0, cut));
out:
  return status;
}

/* PARTITION_AUTO: bytes of a sweep from which on it is shared by several cores, some 150 us of one: several
 * times what another core takes to wake up and to fetch x. Whether it then helps follows from times. */
#define SHARED_BYTES 5e6

static int choose_lanes(tristar_t *ts, const tsi_lines *lines, size_t scalar_bytes, bool any) {
  tsi_row_options options;
  tsi_row_options_init(&options, TSI_ROWS_WHOLE, 1, scalar_bytes);
  const double bytes =
      options.row_bytes * lines->n + options.entry_bytes * (double)(lines->ptr[lines->n] - lines->ptr[0]);
  return ts->workers.allowed && (!any || bytes > SHARED_BYTES)
             ? tsi_expected_cpu_workers(ts->workers.wishes.workers)
             : 1;
}

/* What solves with T itself have as the rows of their sweep: the lines, or what they become in the arrays of
 * `own`. An order is found for one sweep, and reversed for that with the transpose, in which rows of a like
 * length no longer lie together. */
static tristar_status take_rows(tsi_env *env, const tsi_lines *lines, bool lower, tsi_entries *own,
                                tsi_lines *rows) {
  tristar_status status = TRISTAR_OK;
  *rows = *lines;
  if (lines->columns != lower) return TRISTAR_OK;
  const tsi_entries given = {
      .n = lines->n, .ptr = (tsi_count *)lines->ptr, .index = (tsi_index *)lines->index};
  TSI_TRY(tsi_entries_begin(env, lines->n, 0, own));
  own->ptr[lines->n] = lines->ptr[lines->n];
  TSI_TRY(tsi_entries_allocate(env, own));
  tsi_entries_transpose(&given, own);
  *rows = (tsi_lines){lines->n, own->ptr, own->index, !lines->columns};
out:
  return status;
}

/* PARTITION_AUTO on several cores. */
static tristar_status choose_lanes_cut(tsi_env *env, const tsi_lines *rows, int lanes, size_t scalar_bytes,
                                       tsi_row_cut **cut) {
  tristar_status status = TRISTAR_OK;
  tsi_index *level = NULL;
  TSI_TRY(TSI_ALLOC(env, level, rows->n));
  const tsi_index levels = tsi_row_levels(rows, level);
  const bool narrow = rows->n < (tsi_count)ROWS_A_LEVEL * levels;
  TSI_TRY(make_cut(env, rows, narrow ? TSI_ROWS_WHOLE : TSI_ROWS_SUPERSTEPS, lanes, scalar_bytes, false,
                   level, levels, cut));
out:
  TSI_FREE(env, level);
  return status;
}

/* The cut that the partition asks for; NULL: supernodes. */
static tristar_status choose_cut(tristar_t *ts, const tsi_lines *lines, char scalar, bool lower,
                                 tristar_partition partition, tsi_row_cut **cut) {
  static const tsi_row_way way_of[] = {[TRISTAR_PARTITION_AUTO] = TSI_ROWS_SUPERSTEPS,
                                       [TRISTAR_PARTITION_SUPERSTEPS] = TSI_ROWS_SUPERSTEPS,
                                       [TRISTAR_PARTITION_LEVELS] = TSI_ROWS_LEVELS,
                                       [TRISTAR_PARTITION_WHOLE] = TSI_ROWS_WHOLE,
                                       [TRISTAR_PARTITION_COLUMN] = TSI_ROWS_COLUMN_BLOCKS,
                                       [TRISTAR_PARTITION_ROW] = TSI_ROWS_ROW_BLOCKS,
                                       [TRISTAR_PARTITION_RECURSIVE] = TSI_ROWS_RECURSIVE_BLOCKS};
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  const bool any = partition == TRISTAR_PARTITION_AUTO, across = lines->columns == lower;
  const size_t bytes = tsi_sparse_kernels_select(scalar)->scalar_bytes;
  tsi_entries own = {.ptr = NULL};
  tsi_lines rows = *lines;
  *cut = NULL;
  if (partition == TRISTAR_PARTITION_SUPERNODES || (any && has_supernodes(lines))) return TRISTAR_OK;
  const int lanes = choose_lanes(ts, lines, bytes, any);
  const tsi_row_way way = way_of[partition];
  if (any && lanes == 1) return choose_windows(env, lines, bytes, across, cut);
  if (way == TSI_ROWS_SUPERSTEPS && lanes == 1)
    return make_cut(env, lines, way, lanes, bytes, across, NULL, 0, cut);
  if (way == TSI_ROWS_SUPERSTEPS || way == TSI_ROWS_LEVELS)
    TSI_TRY(take_rows(env, lines, lower, &own, &rows));
  if (any)
    TSI_TRY(choose_lanes_cut(env, &rows, lanes, bytes, cut));
  else
    TSI_TRY(make_cut(env, &rows, way, lanes, bytes, false, NULL, 0, cut));
out:
  tsi_entries_finish(env, &own);
  return status;
}

/* ---- Row by row ---------------------------------------------------------------------------------------- */

/* Takes over the pattern of the matrix, also on failure. */
static tristar_status analyze_rows(tristar_t *ts, tsi_pattern *pattern, const tsi_row_cut *cut,
                                   const tristar_triangle_options *o, tristar_analysis_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_analysis_t *an = NULL;
  const double begin = tsi_clock();
  *out = NULL;
  status = TSI_ALLOC_ZERO(env, an, 1);
  if (status != TRISTAR_OK) {
    tsi_pattern_destroy(env, &pattern);
    return status;
  }
  atomic_init(&an->references, 1);
  an->ts = ts;
  an->imported = true;
  an->pattern = pattern;
  tristar_analysis_options_init(&an->options);
  an->options.method = an->stats.method = TRISTAR_METHOD_LU;
  an->factor_scalar = pattern->scalar;
  TSI_TRY(tsi_row_symbolic_create(env, cut, pattern->ptr[pattern->n], &an->symbolic));
  TSI_TRY(tsi_panels_create(env, an->symbolic, 1, &an->panels));
  TSI_TRY(tsi_place_panels(env, an->panels, &an->panel_values));
  TSI_TRY(tsi_import_order(env, an->symbolic, o->row_order, "row_order", &an->in_row));
  TSI_TRY(tsi_import_order(env, an->symbolic, o->column_order, "column_order", &an->out_row));
  TSI_TRY(tsi_analysis_place_rows(env, an));
  tsi_analysis_fill_stats(an, true);
  an->stats.analyze_seconds = tsi_clock() - begin;
out:
  if (status != TRISTAR_OK) tristar_analysis_destroy(&an);
  *out = an;
  return status;
}

/* The streams of T, whose arrays the rows own if they are not those of the matrix. Takes over the cut, also
 * on failure. */
static tristar_status fill_rows(tsi_env *env, tsi_placed_triangle *t, const tsi_lines *lines,
                                tsi_row_cut *cut, bool lower, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  const char letter = factor->analysis->factor_scalar;
  const void *values = t->values ? t->values : factor->values;
  TSI_TRY(tsi_row_factor_create(env, cut, lines, values, factor->scalar_bytes, &factor->rows));
  factor->rows->own_pattern = t->pattern;
  factor->rows->own_values = t->values;
  t->pattern = NULL;
  t->values = NULL;
  TSI_TRY(tsi_row_factor_fill(env, letter, lower ? "L" : "U", factor->rows));
  const tsi_row_sweep *sweep; /* that of solves with T itself */
  TSI_TRY(tsi_row_factor_sweep(env, factor->rows, !lower, &sweep));
  factor->stats.factor_bytes =
      (size_t)lines->ptr[lines->n] *
      (factor->scalar_bytes + (sweep->stream.offset ? sizeof(uint16_t) : sizeof(tsi_index)));
out:
  return status;
}

/* Takes over all but the lines' arrays, which are the pattern's, also on failure. */
static tristar_status import_rows(tristar_t *ts, tsi_placed_triangle *t, const tsi_lines *lines,
                                  tsi_row_cut *cut, const tristar_triangle_options *o,
                                  tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_factor_t *factor = NULL;
  const bool lower = o->uplo == TRISTAR_LOWER;
  tsi_pattern **pattern = t->matrix ? &t->matrix : &t->pattern, *matrix = *pattern;
  void **values = t->matrix ? &t->matrix_values : &t->values;
  *out = NULL;
  TSI_TRY(tsi_factor_begin(ts, &factor));
  factor->moves_rows = o->row_order != NULL;
  factor->moves_columns = o->column_order != NULL;
  factor->values = *values;
  *values = NULL;
  *pattern = NULL;
  factor->user_bytes = factor->scalar_bytes = tsi_sparse_kernels_select(matrix->scalar)->scalar_bytes;
  factor->stats.nnz_factor = factor->stats.stored_factor = matrix->ptr[matrix->n];
  TSI_TRY(analyze_rows(ts, matrix, cut, o, &factor->analysis));
  factor->pivot_order = factor->analysis->symbolic->inverse; /* the given order */
  factor->position = factor->analysis->symbolic->perm;
  TSI_TRY(tsi_import_scale(env, lines->n, o->row_scale, "row_scale", &factor->row_scale));
  TSI_TRY(tsi_import_scale(env, lines->n, o->column_scale, "column_scale", &factor->col_scale));
  TSI_TRY(tsi_factor_allocate_stream(env, factor, 0, lower ? &factor->lower : &factor->upper));
  tsi_row_cut *given = cut;
  cut = NULL;
  TSI_TRY(fill_rows(env, t, lines, given, lower, factor));
  factor->has_matrix = factor->valid = true;
  factor->generation = 1;
out:
  tsi_placed_triangle_finish(env, t);
  tsi_row_cut_destroy(env, &cut);
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

static tristar_status import_panels(tristar_t *ts, const tsi_placed_triangle *t,
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
  return tsi_import_given(ts, &factors, lower, !lower, factor);
}

/* ---- Lines that were made here ------------------------------------------------------------------------- */

/* Takes over T, also on failure. */
static tristar_status import_triangle(tristar_t *ts, tsi_placed_triangle t, const tristar_triangle_options *o,
                                      tristar_factor_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_row_cut *cut = NULL;
  const double begin = tsi_clock();
  const size_t before = tsi_memory_watch(env);
  *out = NULL;
  const tsi_lines lines = {t.pattern->n, t.pattern->ptr, t.pattern->index,
                           (o->uplo == TRISTAR_LOWER) != t.pattern->by_rows};
  TSI_TRY(tsi_placed_triangle_make_matrix(env, o, &t));
  TSI_TRY(choose_cut(ts, &lines, t.pattern->scalar, o->uplo == TRISTAR_LOWER, o->partition, &cut));
  if (cut == NULL) {
    TSI_TRY(import_panels(ts, &t, o, out));
    goto out;
  }
  const tsi_index chunks = cut->count;
  TSI_TRY(import_rows(ts, &t, &lines, cut, o, out));
  (*out)->stats.peak_bytes = atomic_load(&env->memory.recent) - before;
  (*out)->stats.factor_seconds = tsi_clock() - begin;
  tsi_log(env, TRISTAR_LOG_INFO, "import: %.3g s, %d rows in %d chunks, %.1f MB",
          (*out)->stats.factor_seconds, lines.n, chunks, (double)(*out)->stats.factor_bytes / 1e6);
out:
  tsi_placed_triangle_finish(env, &t);
  return status;
}

tristar_status tsi_import_lines(tristar_t *ts, tsi_pattern *pattern, void *values, bool lower,
                                tristar_partition partition, tristar_factor_t **out) {
  const tristar_triangle_options options = {.uplo = lower ? TRISTAR_LOWER : TRISTAR_UPPER,
                                            .partition = partition};
  return import_triangle(ts, (tsi_placed_triangle){.pattern = pattern, .values = values}, &options, out);
}

static tristar_status refill_panels(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const bool lower = factor->lower != NULL;
  const tristar_triangle lines = triangle_of(an->pattern, factor->values);
  const tsi_structure side = tsi_analysis_structure(an, 0);
  tsi_triangle triangle = {.structure = {.n = 0}};
  TSI_TRY(tsi_triangle_create(env, an->pattern->n, factor->scalar_bytes, &lines, !lower, &triangle));
  TSI_TRY(tsi_import_values(env, &triangle, &side, an->factor_scalar, lower ? "L" : "U",
                            lower ? factor->lower : factor->upper));
out:
  tsi_triangle_finish(env, &triangle);
  return status;
}

tristar_status tsi_reimport_lines(tristar_factor_t *factor, const void *values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  const bool lower = factor->lower != NULL;
  factor->valid = false;
  memcpy(factor->values, values, (size_t)pattern->ptr[pattern->n] * factor->user_bytes);
  if (factor->rows) {
    const tsi_row_sweep *sweep;
    TSI_TRY(tsi_row_factor_fill(env, pattern->scalar, lower ? "L" : "U", factor->rows));
    TSI_TRY(tsi_row_factor_sweep(env, factor->rows, !lower, &sweep));
  } else
    TSI_TRY(refill_panels(factor));
  factor->valid = true;
  factor->generation++;
out:
  return status;
}

/* ---- The functions of the interface -------------------------------------------------------------------- */

void tristar_triangle_options_init(tristar_triangle_options *options) {
  *options = (tristar_triangle_options){.uplo = TRISTAR_LOWER, .diag = TRISTAR_NON_UNIT};
}

static tristar_status check_options(tsi_env *env, const tristar_view *view,
                                    const tristar_triangle_options *o) {
  tristar_status status = TRISTAR_OK;
  if (view == NULL || (view->values == NULL && view->rows > 0))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", view ? "values" : "view");
  if ((o->uplo != TRISTAR_LOWER && o->uplo != TRISTAR_UPPER) ||
      (o->diag != TRISTAR_UNIT && o->diag != TRISTAR_NON_UNIT))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "uplo is %d, diag %d", (int)o->uplo, (int)o->diag);
  if ((unsigned)o->partition > TRISTAR_PARTITION_RECURSIVE)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "partition is %d", (int)o->partition);
out:
  return status;
}

static tristar_status import_view(tristar_t *ts, const tristar_view *view,
                                  const tristar_triangle_options *options, tristar_factor_t **factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_placed_triangle t;
  const double begin = tsi_clock();
  if (factor == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL");
  TSI_TRY(check_options(env, view, options));
  tristar_triangle_options o = *options;
  if (!tsi_order_is_given(view->rows, o.row_order)) o.row_order = NULL;
  if (!tsi_order_is_given(view->rows, o.column_order)) o.column_order = NULL;
  TSI_TRY(tsi_placed_triangle_take(env, view, &o, &t));
  TSI_TRY(import_triangle(ts, t, &o, factor));
  (*factor)->stats.factor_seconds = tsi_clock() - begin;
out:
  return status;
}

tristar_status tristar_import_triangle(tristar_t *ts, const tristar_view *view,
                                       const tristar_triangle_options *options, tristar_factor_t **factor) {
  tristar_triangle_options defaults;
  tristar_triangle_options_init(&defaults);
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  return tsi_answer(&ts->env, import_view(ts, view, options ? options : &defaults, factor));
}

tristar_status tristar_import_csr(tristar_t *ts, const tristar_view *view, tristar_uplo uplo,
                                  tristar_diag diag, tristar_factor_t **factor) {
  const tristar_triangle_options options = {.uplo = uplo, .diag = diag};
  if (factor != NULL) *factor = NULL;
  if (ts == NULL) return TSI_NULL(ts);
  return tsi_answer(&ts->env, import_view(ts, view, &options, factor));
}
