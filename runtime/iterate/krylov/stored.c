/* The matrix that a solver stores: see krylov.h.
 *
 * Job. Find the index in the user's values of each value of the rows, or of their rest and lower half. Copy
 * values there, as often as values change.
 *
 * Reads   the user's matrix.   Writes  the solver's members that hold it. */
#include "runtime/iterate/krylov/krylov.h"

#include <math.h>

#include "runtime/base/sort.h"
#include "runtime/matrix/view.h"

/* SYMMETRIC and real, or HERMITIAN. */
static bool is_hermitian(const tristar_krylov_t *k) {
  return k->pattern->symmetry == TRISTAR_HERMITIAN ||
         (k->pattern->symmetry == TRISTAR_SYMMETRIC && !k->sparse->is_complex);
}

/* CG would give wrong results without a message. */
static tristar_status warn_of_symmetry(tristar_krylov_t *k) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &k->ts->env;
  const tsi_pattern *pattern = k->pattern;
  const bool is_complex = k->sparse->is_complex;
  tsi_unlike unlike;
  char text[TSI_UNLIKE_TEXT];
  if (!tsi_krylov_is_cg(&k->options) || is_hermitian(k)) return status;
  if (pattern->symmetry != TRISTAR_GENERAL) {
    tsi_log(env, TRISTAR_LOG_WARNING, "CG needs a %s matrix", is_complex ? "Hermitian" : "symmetric");
    return status;
  }
  TSI_TRY(tsi_pattern_find_unlike(env, pattern, k->taken, is_complex, &unlike));
  if (unlike.found)
    tsi_log(env, TRISTAR_LOG_WARNING, "CG needs a %s matrix, but %s", is_complex ? "Hermitian" : "symmetric",
            tsi_unlike_text(&unlike, false, text));
  return status;
}

bool tsi_diagonal_is_positive(tristar_scalar scalar, tsi_index n, const tsi_count *ptr,
                              const tsi_index *index, const void *values) {
  const tristar_view view = {.scalar = scalar, .values = values};
  for (tsi_index j = 0; j < n; j++) {
    tsi_count e =
        ptr[j] + (ptr[j + 1] - ptr[j]) / 2; /* the middle entry: usually both triangles are compared */
    double value[2];
    if (e == ptr[j + 1] || index[e] != j) e = tsi_find_sorted(index, ptr[j], ptr[j + 1], j);
    if (e == TSI_NONE) return false;
    tsi_view_value(&view, e, value);
    if (!(value[0] > 0)) return false;
  }
  return true;
}

tristar_status tsi_krylov_suits_cg(const tristar_krylov_t *k, bool *suits) {
  const tsi_pattern *pattern = k->pattern;
  tsi_unlike unlike = {.found = false};
  *suits = is_hermitian(k) || pattern->symmetry == TRISTAR_GENERAL;
  *suits = *suits && tsi_diagonal_is_positive(k->scalar, k->n, pattern->ptr, pattern->index, k->taken);
  if (*suits && !is_hermitian(k))
    TSI_TRY(tsi_pattern_find_unlike(&k->ts->env, pattern, k->taken, k->sparse->is_complex, &unlike));
  *suits = *suits && !unlike.found;
  return TRISTAR_OK;
}

/* Moves the lower half out of the rows. */
static tristar_status halve(tristar_krylov_t *k) {
  tsi_env *env = &k->ts->env;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries rest = {.ptr = NULL};
  TSI_TRY(tsi_halves_split(env, &k->rows, &rest, &k->lower));
  tsi_entries_finish(&k->rows);
  k->rows = rest;
  rest = (tsi_entries){.ptr = NULL};
  TSI_TRY(tsi_halved_make(env, &k->lower, k->sparse->scalar_bytes, &k->stored.half));
  if (env->check) TSI_TRY(tsi_halved_check(env, &k->stored.half, &k->lower));
  TSI_FREE(env, k->lower.index);
  return TRISTAR_OK;
}

/* Bytes of the indices of values. */
static size_t places_bytes(const tsi_entries *rows) {
  if (rows->ptr == NULL) return 0;
  return ((size_t)rows->n + 1) * sizeof *rows->ptr + (size_t)rows->ptr[rows->n] * rows->bytes;
}

/* Makes the rows and allocates values. The rows need no indices afterwards. */
static tristar_status make_rows(tristar_krylov_t *k) {
  tsi_env *env = &k->ts->env;
  const size_t scalar = k->sparse->scalar_bytes;
  tsi_sliced *rest = &k->stored.rest;
  tsi_count window = 0;
  if (tsi_full_is_pattern(k->pattern))
    k->rows = (tsi_entries){.n = k->n, .ptr = k->pattern->ptr, .index = k->pattern->index};
  else
    TSI_TRY(tsi_full_rows(env, k->pattern, false, &k->rows));
  if (env->check) TSI_TRY(tsi_full_rows_check(env, k->pattern, &k->rows));
  k->stats.nnz = k->rows.ptr[k->n];
  if (is_hermitian(k) && tsi_halves_are_worth(&k->rows)) TSI_TRY(halve(k));
  TSI_TRY(tsi_slices_make(env, &k->rows, scalar, false, rest));
  if (env->check) TSI_TRY(tsi_slices_check(env, rest, &k->rows));
  if (k->rows.index == k->pattern->index)
    k->rows.index = NULL;
  else
    TSI_FREE(env, k->rows.index);
  for (tsi_index w = 0; w < rest->windows && k->rows.item != NULL; w++) {
    window = tsi_count_max(window, tsi_slices_window_entries(rest, w, k->rows.ptr));
    if (k->lower.ptr != NULL)
      window = tsi_count_max(window, tsi_slices_window_entries(rest, w, k->lower.ptr));
  }
  TSI_TRY(TSI_ALLOC_SIZED(env, k->window_values, window, scalar));
  TSI_TRY(tsi_pattern_allocate_values(env, k->pattern, &k->taken));
  k->stats.product_bytes = tsi_halves_bytes(&k->stored) + (size_t)k->n * scalar;
  k->stats.matrix_bytes = places_bytes(&k->rows) + places_bytes(&k->lower) + tsi_halves_bytes(&k->stored) +
                          (size_t)k->pattern->ptr[k->n] * scalar;
  return TRISTAR_OK;
}

/* The values of the entries of a window, in their order. */
static const void *window_values(const tristar_krylov_t *k, const tsi_entries *rows, tsi_index w) {
  const tsi_count first = rows->ptr[w * TSI_WINDOW_ROWS];
  if (rows->item == NULL) return (const char *)k->taken + (size_t)first * k->sparse->scalar_bytes;
  tsi_full_gather(k->pattern, rows, k->pattern->symmetry, first,
                  tsi_slices_window_entries(&k->stored.rest, w, rows->ptr), k->taken, k->window_values);
  return k->window_values;
}

/* Copies the values to the form that products read. */
static void fill(tristar_krylov_t *k) {
  for (tsi_index w = 0; w < k->stored.rest.windows; w++) {
    tsi_slices_fill(&k->stored.rest, w, k->rows.ptr, window_values(k, &k->rows, w));
    if (k->lower.ptr != NULL)
      tsi_halved_fill(&k->stored.half, w, k->lower.ptr, window_values(k, &k->lower, w));
  }
}

/* The same for rows with the user's values in the user's order. Works window by window, so that memory is
 * read once. Returns whether all values are finite. */
static bool take_windows(tristar_krylov_t *k, const void *values) {
  const size_t bytes = k->sparse->scalar_bytes;
  bool finite = true;
  for (tsi_index w = 0; w < k->stored.rest.windows; w++) {
    const tsi_count first = k->rows.ptr[w * TSI_WINDOW_ROWS];
    const tsi_count count = tsi_slices_window_entries(&k->stored.rest, w, k->rows.ptr);
    char *to = (char *)k->taken + (size_t)first * bytes;
    if (count > 0) memcpy(to, (const char *)values + (size_t)first * bytes, (size_t)count * bytes);
    finite &= k->sparse->first_not_finite(count, to) == count;
    tsi_slices_fill(&k->stored.rest, w, k->rows.ptr, to);
  }
  return finite;
}

tristar_status tsi_krylov_take_values(tristar_krylov_t *k, const void *values) {
  k->square = 0;
  if (k->pattern->place == NULL && k->rows.item == NULL && take_windows(k, values)) return TRISTAR_OK;
  tsi_pattern_take(k->pattern, values, k->taken);
  TSI_TRY(tsi_pattern_check_values(&k->ts->env, k->pattern, k->taken));
  fill(k);
  return TRISTAR_OK;
}

tristar_status tsi_krylov_take_matrix(tristar_krylov_t *k, const tristar_view *view) {
  tsi_env *env = &k->ts->env;
  tristar_view places = *view;
  places.values = NULL; /* tsi_krylov_take_values verifies them */
  TSI_TRY(tsi_pattern_create(env, &places, &k->pattern));
  k->scalar = view->scalar;
  k->n = k->pattern->n;
  if (view->values == NULL && k->pattern->given > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix has no values");
  k->kernels = tsi_krylov_kernels_select((char)k->scalar, k->ts->isa);
  k->products = tsi_halves_kernels_select((char)k->scalar, k->ts->isa);
  k->sparse = tsi_sparse_kernels_select((char)k->scalar);
  TSI_TRY(make_rows(k));
  const tristar_status status = tsi_krylov_take_values(k, view->values);
  if (status != TRISTAR_OK) TSI_TRY(tsi_view_check(env, view)); /* names the entry in the user's arrays */
  TSI_TRY(status);
  return warn_of_symmetry(k);
}

double tsi_sum_of_squares(const tsi_krylov_kernels *kernels, size_t bytes, tsi_count count,
                          const void *values) {
  double sum = 0, part[2];
  for (tsi_count first = 0; first < count; first += TSI_BLOCK_ROWS) {
    const char *from = (const char *)values + (size_t)first * bytes;
    kernels->dot((tsi_index)tsi_count_min(TSI_BLOCK_ROWS, count - first), from, from, part);
    sum += part[0];
  }
  return sum;
}

tristar_status tsi_krylov_system(const tristar_krylov_t *k, tsi_system *alone, tsi_team *team,
                                 const tsi_system **system) {
  static const tsi_system_functions functions = {.solve = NULL};
  if (k->matrix.team != NULL) return k->matrix.get_system(k->matrix.arg, system);
  *team = tsi_team_alone(k->n);
  *alone = (tsi_system){.env = &k->ts->env,
                        .kernels = k->sparse,
                        .n = k->n,
                        .a = tsi_pattern_sparse(k->pattern, k->taken),
                        .team = team,
                        .functions = &functions};
  *system = alone;
  return TRISTAR_OK;
}

double tsi_krylov_norm(tristar_krylov_t *k) {
  if (k->matrix.team != NULL) return sqrt(tsi_team_sum(k->team, k->matrix.square(k->matrix.arg)));
  if (k->square == 0)
    k->square = tsi_sum_of_squares(k->kernels, k->sparse->scalar_bytes, k->pattern->ptr[k->n], k->taken);
  /* a symmetric kind stores one of each two entries */
  return sqrt(k->square * (k->pattern->symmetry != TRISTAR_GENERAL ? 2 : 1));
}

void tsi_krylov_release_matrix(tristar_krylov_t *k) {
  tsi_env *env = &k->ts->env;
  if (k->pattern != NULL && k->rows.ptr == k->pattern->ptr)
    k->rows = (tsi_entries){.n = 0}; /* borrowed from the pattern */
  TSI_FREE(env, k->pattern);
  tsi_entries_finish(&k->rows);
  tsi_entries_finish(&k->lower);
  TSI_FREE(env, k->taken);
  tsi_halves_finish(&k->stored);
  TSI_FREE(env, k->window_values);
  if (k->matrix.release != NULL) k->matrix.release(k->matrix.arg);
}
