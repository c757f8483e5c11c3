/* tristar_find_triangle: is a matrix triangular, perhaps after permutations of rows and of columns?
 *
 * Let lines be columns (CSC) or rows (CSR); lines of the other direction are called across. A line across
 * with one remaining entry becomes the next one of the triangle, together with the line of that entry, whose
 * entries are removed. If no line remains, line across k has entries only in lines 0 .. k of that order.
 * Otherwise the matrix is not triangular: the first row of any remaining triangle would have one entry.
 *
 * The line of the last entry of a line across is found without a search: the numbers of the lines with
 * entries there are combined by exclusive or, and each removed line is combined again, which cancels it.
 * Several entries at one place count once.
 *
 * Reads   a view.   Writes  orders of the caller. */
#include "runtime/matrix/view.h"
#include "tristar_triangle.h"

/* ---- Without permutations ------------------------------------------------------------------------------ */

/* Does line j have a nonzero diagonal entry? Sets *before and *after if it has entries before and after
 * it. */
static bool look_at_line(const tristar_view *view, int64_t j, bool *before, bool *after) {
  bool found = false;
  double value[2];
  for (tsi_count e = tsi_view_begin(view, j); e < tsi_view_begin(view, j + 1); e++) {
    const int64_t i = tsi_view_index(view, e);
    *before |= i < j;
    *after |= i > j;
    if (i != j || found) continue;
    tsi_view_value(view, e, value);
    found = value[0] != 0 || value[1] != 0;
  }
  return found;
}

static tristar_shape shape_as_it_stands(const tristar_view *view) {
  bool before = false, after = false;
  for (int64_t j = 0; j < view->rows; j++)
    if (!look_at_line(view, j, &before, &after) || (before && after)) return TRISTAR_SHAPE_OTHER;
  if (!before && !after) return TRISTAR_SHAPE_LOWER;
  return before == (view->format == TRISTAR_CSC) ? TRISTAR_SHAPE_UPPER : TRISTAR_SHAPE_LOWER;
}

/* ---- Permuted ------------------------------------------------------------------------------------------ */

typedef struct peeling {
  const tristar_view *view;
  tsi_index n;
  tsi_index *left;   /* For each line across: number of remaining entries. */
  tsi_index *lines;  /* For each line across: the lines of these entries, combined. */
  tsi_index *latest; /* For each line across: the line that was added or removed last. */
  tsi_index *across; /* Lines across in the order in which one entry remains; the first of them are in the
                        triangle. */
  tsi_index *line;   /* The lines of the triangle that belong to them. */
  tsi_index found;   /* Number of lines in across. */
} peeling;

/* Adds an entry to each line across that has entries in line j (by = 1), or removes one (by = -1). */
static void change_line(peeling *p, tsi_index j, tsi_index by) {
  for (tsi_count e = tsi_view_begin(p->view, j); e < tsi_view_begin(p->view, (int64_t)j + 1); e++) {
    const tsi_index i = (tsi_index)tsi_view_index(p->view, e);
    if (p->latest[i] == j) continue;
    p->latest[i] = j;
    p->left[i] += by;
    p->lines[i] ^= j;
    if (by < 0 && p->left[i] == 1) p->across[p->found++] = i;
  }
}

static void discard_latest(peeling *p) {
  for (tsi_index i = 0; i < p->n; i++) p->latest[i] = TSI_NONE;
}

/* A pivot must not be zero; of several entries at one place one nonzero is enough. */
static bool has_value(const tristar_view *view, tsi_index j, tsi_index i) {
  double value[2];
  for (tsi_count e = tsi_view_begin(view, j); e < tsi_view_begin(view, (int64_t)j + 1); e++) {
    if (tsi_view_index(view, e) != i) continue;
    tsi_view_value(view, e, value);
    if (value[0] != 0 || value[1] != 0) return true;
  }
  return false;
}

/* Returns true if no line remains. */
static bool peel(peeling *p) {
  discard_latest(p);
  for (tsi_index j = 0; j < p->n; j++) change_line(p, j, 1);
  for (tsi_index i = 0; i < p->n; i++)
    if (p->left[i] == 1) p->across[p->found++] = i;
  if (p->found == 0) return false;
  discard_latest(p);
  for (tsi_index k = 0; k < p->n; k++) {
    if (k == p->found) return false;
    const tsi_index i = p->across[k];
    if (p->left[i] == 0) return false; /* the only entry of another line across was in the same line */
    p->line[k] = p->lines[i];
    if (!has_value(p->view, p->line[k], i)) return false;
    change_line(p, p->line[k], -1);
  }
  return true;
}

/* Lines across that are rows are the rows of a lower triangle; so are columns, in reverse order. */
static void write_orders(const peeling *p, int64_t *row_order, int64_t *column_order) {
  const bool by_rows = p->view->format == TRISTAR_CSR;
  for (tsi_index k = 0; k < p->n; k++) {
    const tsi_index from = by_rows ? p->n - 1 - k : k;
    if (row_order) row_order[k] = by_rows ? p->line[from] : p->across[from];
    if (column_order) column_order[k] = by_rows ? p->across[from] : p->line[from];
  }
}

static tristar_status find_permuted(tsi_env *env, const tristar_view *view, tristar_shape *shape,
                                    int64_t *row_order, int64_t *column_order) {
  TSI_SCRATCH(env, peeling, p, 1);
  *p = (peeling){.view = view, .n = (tsi_index)view->rows};
  TSI_TRY(TSI_ALLOC_ZERO_IN(p, p->left, p->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(p, p->lines, p->n));
  TSI_TRY(TSI_ALLOC_IN(p, p->latest, p->n));
  TSI_TRY(TSI_ALLOC_IN(p, p->across, p->n));
  TSI_TRY(TSI_ALLOC_IN(p, p->line, p->n));
  if (peel(p)) {
    *shape = TRISTAR_SHAPE_PERMUTED;
    write_orders(p, row_order, column_order);
  }
  return TRISTAR_OK;
}

/* ---- The public function ------------------------------------------------------------------------------- */

static tristar_status find(tsi_env *env, const tristar_view *view, tristar_shape *shape, int64_t *row_order,
                           int64_t *column_order) {
  if (view == NULL || shape == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", view ? "shape" : "view");
  TSI_TRY(tsi_view_check(env, view));
  if (view->rows != view->cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "%lld x %lld matrix", (long long)view->rows,
             (long long)view->cols);
  if (view->symmetry != TRISTAR_GENERAL) return TRISTAR_OK;
  *shape = shape_as_it_stands(view);
  if (*shape == TRISTAR_SHAPE_OTHER) {
    return find_permuted(env, view, shape, row_order, column_order);
  }
  for (int64_t k = 0; k < view->rows; k++) {
    if (row_order) row_order[k] = k;
    if (column_order) column_order[k] = k;
  }
  return TRISTAR_OK;
}

tristar_status tristar_find_triangle(tristar_t *ts, const tristar_view *view, tristar_shape *shape,
                                     int64_t *row_order, int64_t *column_order) {
  if (shape != NULL) *shape = TRISTAR_SHAPE_OTHER;
  TSI_ENTER(ts, ts);
  tsi_env *env = tsi_context_env(ts);
  return tsi_answer(env, find(env, view, shape, row_order, column_order));
}
