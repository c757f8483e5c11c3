/* See borders.h. */
#include "partition/order/borders.h"

/* The supernodes with each row: row j has list[ptr[j]] .. list[ptr[j + 1] - 1]. */
typedef struct row_lists {
  tsi_count *ptr; /* n + 1 */
  tsi_index *list;
} row_lists;

static void list_supernodes(const tsi_symbolic *symbolic, const row_lists *lists) {
  const tsi_count rows = symbolic->row_ptr[symbolic->count];
  for (tsi_count r = 0; r < rows; r++) lists->ptr[symbolic->rows[r]]++;
  for (tsi_index j = 1; j <= symbolic->n; j++) lists->ptr[j] += lists->ptr[j - 1];
  for (tsi_index s = symbolic->count; s-- > 0;) /* ptr[j] moves from the end of a list to its start */
    for (tsi_count r = symbolic->row_ptr[s + 1]; r-- > symbolic->row_ptr[s];)
      lists->list[--lists->ptr[symbolic->rows[r]]] = s;
}

tristar_status tsi_borders_count(tsi_env *env, const tsi_symbolic *symbolic, tsi_index *border) {
  for (tsi_index s = 0; s < symbolic->count; s++)
    border[s] = symbolic->closed ? (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]) : 0;
  if (symbolic->closed) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, tsi_count, ptr, (tsi_count)symbolic->n + 1);
  TSI_SCRATCH(env, tsi_index, list, symbolic->row_ptr[symbolic->count]);
  const row_lists lists = {ptr, list};
  list_supernodes(symbolic, &lists);
  TSI_SCRATCH(env, tsi_index, mark, symbolic->count); /* supernodes: the last row that was counted */
  for (tsi_index s = 0; s < symbolic->count; s++) mark[s] = TSI_NONE;
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_index j = symbolic->start[s]; j < symbolic->start[s + 1]; j++)
      for (tsi_count k = ptr[j]; k < ptr[j + 1]; k++)
        for (tsi_index t = list[k]; t != s && mark[t] != j; t = symbolic->parent[t]) {
          mark[t] = j;
          border[t]++;
        }
  return TRISTAR_OK;
}
