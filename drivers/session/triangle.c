/* Finds out whether a matrix is triangular: see triangle.h. */
#include "drivers/session/triangle.h"

#include <stdlib.h>

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

/* --on-demand is for the comparison with solvers that factor. */
bool tsi_goes_without_factors(const tsi_session *s, tsi_found_triangle *found) {
  return !s->settings->wants_factors && !s->settings->on_demand && !s->single_factors &&
         find_triangle(s->ts, &s->view, found);
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
