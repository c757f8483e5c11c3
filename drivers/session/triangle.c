/* Finds out whether a matrix is triangular: see triangle.h. */
#include "drivers/session/triangle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/matrix/view.h"

static bool find_triangle(tristar_t *ts, const tristar_view *view, tsi_found_triangle *found) {
  const size_t n = (size_t)view->cols;
  *found = (tsi_found_triangle){.shape = TRISTAR_SHAPE_OTHER};
  if (view->rows != view->cols || n == 0 || view->values == NULL) return false;
  int64_t *row = malloc(n * sizeof *row), *column = malloc(n * sizeof *column);
  if (row && column && tristar_find_triangle(ts, view, &found->shape, row, column) == TRISTAR_OK &&
      found->shape == TRISTAR_SHAPE_PERMUTED) {
    found->row_order = row;
    found->column_order = column;
    return true;
  }
  free(row);
  free(column);
  return found->shape != TRISTAR_SHAPE_OTHER;
}

/* Is the inverse of entry k in range? */
static bool has_inverse(const tristar_view *v, int64_t k) {
  const bool single = v->scalar == TRISTAR_SINGLE || v->scalar == TRISTAR_COMPLEX_SINGLE;
  double value[2];
  tsi_view_value(v, k, value);
  return 1 / hypot(value[0], value[1]) <= (single ? (double)FLT_MAX : DBL_MAX);
}

/* A triangular solve multiplies by the inverses of the diagonal entries. If one of them is out of range, a
 * factorization can still succeed, because it scales rows first. */
static bool diagonal_has_inverses(const tristar_view *v, const tsi_found_triangle *found) {
  for (int64_t i = 0; i < v->cols; i++) {
    const int64_t row = found->row_order ? found->row_order[i] : i,
                  column = found->column_order ? found->column_order[i] : i;
    for (int64_t k = tsi_view_begin(v, column); k < tsi_view_begin(v, column + 1); k++)
      if (tsi_view_index(v, k) == row && !has_inverse(v, k)) return false;
  }
  return true;
}

/* --on-demand always factors: it serves comparisons with solvers that factor. */
bool tsi_goes_without_factors(const tsi_session *s, tsi_found_triangle *found) {
  if (s->settings->needs_factors || s->settings->on_demand || s->single_factors ||
      !find_triangle(s->ts, &s->view, found))
    return false;
  if (diagonal_has_inverses(&s->view, found)) return true;
  tsi_triangle_free(found);
  return false;
}

bool tsi_is_triangle(tristar_t *ts, const tristar_view *view) {
  tsi_found_triangle found;
  const bool is = find_triangle(ts, view, &found);
  if (is) tsi_triangle_free(&found);
  return is;
}

const char *tsi_triangle_text(const tsi_found_triangle *found) {
  return found->shape == TRISTAR_SHAPE_UPPER   ? "upper triangular: nothing is factored"
         : found->shape == TRISTAR_SHAPE_LOWER ? "lower triangular: nothing is factored"
                                               : "lower triangular once rows and columns are permuted: "
                                                 "nothing is factored";
}

void tsi_triangle_free(tsi_found_triangle *found) {
  free(found->row_order);
  free(found->column_order);
  *found = (tsi_found_triangle){.shape = TRISTAR_SHAPE_OTHER};
}
