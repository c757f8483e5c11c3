/* The graph Laplacian of a matrix, plus the identity:
 *
 *   L_ij = -1 where i != j and a_ij or a_ji is stored (explicit zeros too), L_ii = 1 + number of such j
 *
 * Strictly diagonally dominant, hence positive definite. Stored as a lower triangle. */
#include "runtime/matrix/triplets.h"
#include "runtime/matrix/view.h"

/* The pattern of A + A^T + I, lower triangle. */
static tristar_status gather_pattern(tsi_env *env, const tristar_view *view, tristar_matrix_t **pattern) {
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets triplets = {.env = env};
  int64_t n = view->rows;
  tsi_triplets_init(&triplets, env, (tsi_index)n, (tsi_index)n, TRISTAR_SYMMETRIC, 0,
                    tsi_view_begin(view, n) + n);
  for (int64_t j = 0; j < n; j++) {
    TSI_TRY(tsi_triplets_push(&triplets, (tsi_index)j, (tsi_index)j, NULL));
    for (tsi_count k = tsi_view_begin(view, j); k < tsi_view_begin(view, j + 1); k++)
      TSI_TRY(tsi_triplets_push(&triplets, (tsi_index)tsi_view_index(view, k), (tsi_index)j, NULL));
  }
  return tsi_triplets_finish(&triplets, pattern);
}

tristar_status tsi_matrix_laplacian(tsi_env *env, const tristar_view *view, tristar_matrix_t **matrix) {
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  *matrix = NULL;
  TSI_TRY(tsi_view_check(env, view));
  if (view->rows != view->cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "no Laplacian of a %lld x %lld matrix", (long long)view->rows,
             (long long)view->cols);
  TSI_TRY(gather_pattern(env, view, &m));
  TSI_TRY(TSI_ALLOC_IN(m, m->values, m->ptr[m->cols]));
  for (tsi_index j = 0; j < m->cols; j++) m->values[m->ptr[j]] = 1; /* the diagonal comes first */
  for (tsi_index j = 0; j < m->cols; j++)
    for (tsi_count k = m->ptr[j] + 1; k < m->ptr[j + 1]; k++) {
      m->values[k] = -1;
      m->values[m->ptr[j]] += 1;
      m->values[m->ptr[m->index[k]]] += 1;
    }
  *matrix = tsi_take(&m);
  return TRISTAR_OK;
}
