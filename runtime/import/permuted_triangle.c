/* Makes T from a view, and A from T: see permuted_triangle.h. */
#include "runtime/import/permuted_triangle.h"

#include "runtime/import/import.h"
#include "runtime/matrix/order.h"
#include "runtime/matrix/triangle_part.h"

void tsi_permuted_triangle_finish(tsi_permuted_triangle *t) {
  tsi_release(tsi_take(&t->pattern));
  tsi_release(tsi_take(&t->matrix));
  tsi_release(tsi_take(&t->values));
  tsi_release(tsi_take(&t->matrix_values));
  tsi_release(tsi_take(&t->level));
  tsi_release(tsi_take(&t->properties.diagonal));
}

static tristar_status take_permuted(tsi_env *env, const tristar_view *view, const tristar_triangle_options *o,
                                    tsi_permuted_triangle *t) {
  TSI_OWNED tsi_index *row = NULL, *row_place = NULL, *column = NULL, *column_place = NULL;
  TSI_CLEANUP(tsi_permuted_triangle_finish)
  tsi_permuted_triangle all = {.pattern = NULL}; /* all entries: as in the view, and in the order of T */
  if (view->symmetry != TRISTAR_GENERAL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a permuted triangle in a matrix that is not GENERAL");
  TSI_TRY(tsi_pattern_create(env, view, &all.matrix));
  TSI_TRY(tsi_pattern_allocate_values(env, all.matrix, &all.matrix_values));
  tsi_pattern_take(all.matrix, view->values, all.matrix_values);
  const tsi_index n = all.matrix->n;
  TSI_TRY(tsi_order_take(env, n, o->row_order, "row_order", &row, &row_place));
  TSI_TRY(tsi_order_take(env, n, o->column_order, "column_order", &column, &column_place));
  TSI_TRY(tsi_pattern_move(env, all.matrix, all.matrix_values, row_place, column_place, &all.pattern,
                           &all.values));
  const tristar_view moved = tsi_pattern_view(all.pattern, all.values);
  return tsi_triangle_part(env, &moved, o->uplo, o->diag, &t->pattern, &t->values, &t->properties);
}

tristar_status tsi_permuted_triangle_take(tsi_env *env, const tristar_view *view,
                                          const tristar_triangle_options *o, tsi_permuted_triangle *t) {
  *t = (tsi_permuted_triangle){.pattern = NULL};
  if (o->permuted && (o->row_order || o->column_order)) return take_permuted(env, view, o, t);
  return tsi_triangle_part(env, view, o->uplo, o->diag, &t->pattern, &t->values, &t->properties);
}

tristar_status tsi_permuted_triangle_turn_columns(tsi_env *env, const tsi_column_arrays *columns,
                                                  tsi_permuted_triangle *t) {
  tristar_status status = TRISTAR_OK;
  tsi_turned turned;
  bool done;
  *t = (tsi_permuted_triangle){.pattern = NULL};
  TSI_TRY_OUT(tsi_triangle_turn(env, columns, &done, &turned));
  if (!done) return TRISTAR_OK;
  TSI_TRY_OUT(tsi_pattern_from_entries(env, &turned.rows, true, columns->scalar, &t->pattern, &t->values));
  t->level = turned.level;
  t->levels = turned.levels;
  t->properties = turned.properties;
  turned.level = NULL;
  turned.properties.diagonal = NULL;
out:
  tsi_turned_finish(&turned);
  return status;
}

static tsi_count count_falls(const tsi_pattern *p) {
  tsi_count falls = 0;
  tsi_index last = -1;
  for (tsi_index j = 0; j < p->n; j++) {
    if (p->ptr[j] == p->ptr[j + 1]) continue;
    falls += p->index[p->ptr[j]] <= last;
    last = p->index[p->ptr[j + 1] - 1];
  }
  return falls;
}

tristar_status tsi_permuted_triangle_turn(tsi_env *env, bool lower, tsi_permuted_triangle *t) {
  tsi_permuted_triangle turned;
  const tsi_pattern *p = t->pattern;
  const tsi_column_arrays columns = {p->n, lower, p->scalar, p->ptr, p->index, t->values, count_falls(p)};
  TSI_TRY(tsi_permuted_triangle_turn_columns(env, &columns, &turned));
  if (turned.pattern == NULL) return TRISTAR_OK;
  tsi_permuted_triangle_finish(t);
  *t = turned;
  return TRISTAR_OK;
}

/* Divides each entry (r, c) by row_scale[r] and column_scale[c]. */
static void unscale(const tsi_pattern *matrix, const tristar_triangle_options *o, void *values) {
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(matrix->scalar);
  const double *of_line = matrix->by_rows ? o->row_scale : o->column_scale,
               *of_index = matrix->by_rows ? o->column_scale : o->row_scale;
  for (tsi_index j = 0; j < matrix->n; j++)
    for (tsi_count e = matrix->ptr[j]; e < matrix->ptr[j + 1]; e++) {
      void *value = (char *)values + (size_t)e * sparse->scalar_bytes;
      sparse->scale(1, value, of_line ? of_line + j : NULL, true);
      sparse->scale(1, value, of_index ? of_index + matrix->index[e] : NULL, true);
    }
}

tristar_status tsi_permuted_triangle_make_matrix(tsi_env *env, const tristar_triangle_options *o,
                                                 tsi_permuted_triangle *t) {
  const tsi_index n = t->pattern->n;
  TSI_OWNED tsi_index *row = NULL, *row_place = NULL, *column = NULL, *column_place = NULL;
  if (!o->row_order && !o->column_order && !o->row_scale && !o->column_scale) return TRISTAR_OK;
  TSI_TRY(tsi_order_take(env, n, o->row_order, "row_order", &row, &row_place));
  TSI_TRY(tsi_order_take(env, n, o->column_order, "column_order", &column, &column_place));
  TSI_TRY(tsi_import_check_scale(env, n, o->row_scale, "row_scale"));
  TSI_TRY(tsi_import_check_scale(env, n, o->column_scale, "column_scale"));
  TSI_TRY(tsi_pattern_move(env, t->pattern, t->values, row, column, &t->matrix, &t->matrix_values));
  unscale(t->matrix, o, t->matrix_values);
  return tsi_pattern_check_values(env, t->matrix, t->matrix_values);
}
