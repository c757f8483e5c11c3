/* See borders.h. */
#include "partition/order/borders.h"

/* The supernodes that have each row: those of row j are list[ptr[j]] .. list[ptr[j + 1] - 1]. */
typedef struct row_lists {
  tsi_count *ptr; /* n + 1 */
  tsi_index *list;
} row_lists;

static tristar_status list_supernodes(tsi_env *env, const tsi_symbolic *symbolic, row_lists *lists) {
  const tsi_count rows = symbolic->row_ptr[symbolic->count];
  TSI_TRY(TSI_ALLOC_ZERO(env, lists->ptr, (tsi_count)symbolic->n + 1));
  TSI_TRY(TSI_ALLOC(env, lists->list, rows));
  for (tsi_count r = 0; r < rows; r++) lists->ptr[symbolic->rows[r]]++;
  for (tsi_index j = 1; j <= symbolic->n; j++) lists->ptr[j] += lists->ptr[j - 1];
  for (tsi_index s = symbolic->count; s-- > 0;) /* each list begins where it has ended so far */
    for (tsi_count r = symbolic->row_ptr[s + 1]; r-- > symbolic->row_ptr[s];)
      lists->list[--lists->ptr[symbolic->rows[r]]] = s;
  return TRISTAR_OK;
}

tristar_status tsi_borders_count(tsi_env *env, const tsi_symbolic *symbolic, tsi_index *border) {
  tristar_status status = TRISTAR_OK;
  row_lists lists = {NULL, NULL};
  tsi_index *mark = NULL; /* supernodes: the last row that was counted */
  for (tsi_index s = 0; s < symbolic->count; s++)
    border[s] = symbolic->closed ? (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]) : 0;
  if (symbolic->closed) return TRISTAR_OK;
  TSI_TRY_OUT(list_supernodes(env, symbolic, &lists));
  TSI_TRY_OUT(TSI_ALLOC(env, mark, symbolic->count));
  for (tsi_index s = 0; s < symbolic->count; s++) mark[s] = TSI_NONE;
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_index j = symbolic->start[s]; j < symbolic->start[s + 1]; j++)
      for (tsi_count k = lists.ptr[j]; k < lists.ptr[j + 1]; k++)
        for (tsi_index t = lists.list[k]; t != s && mark[t] != j; t = symbolic->parent[t]) {
          mark[t] = j;
          border[t]++;
        }
out:
  TSI_FREE(env, lists.ptr);
  TSI_FREE(env, lists.list);
  TSI_FREE(env, mark);
  return status;
}
