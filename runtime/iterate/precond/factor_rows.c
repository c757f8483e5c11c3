/* Rows with their diagonals: see factor_rows.h. */
#include "runtime/iterate/precond/factor_rows.h"

tristar_status tsi_find_diagonal(tsi_env *env, tsi_factor_rows *rows) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(TSI_ALLOC(env, rows->diagonal, rows->n));
  for (tsi_index i = 0; i < rows->n; i++) {
    tsi_count q = rows->ptr[i];
    while (q < rows->ptr[i + 1] && rows->index[q] < i) q++;
    if (q == rows->ptr[i + 1] || rows->index[q] != i)
      TSI_FAIL_OUT(env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", i);
    rows->diagonal[i] = q;
  }
out:
  if (status != TRISTAR_OK) TSI_FREE(env, rows->diagonal);
  return status;
}

/* Columns of a row ascend, and the diagonal is one of them. */
tristar_status tsi_factor_rows_check(tsi_env *env, const tsi_factor_rows *rows) {
  if (rows->ptr[0] != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rows begin at %lld", (long long)rows->ptr[0]);
  for (tsi_index i = 0; i < rows->n; i++) {
    const tsi_count begin = rows->ptr[i], end = rows->ptr[i + 1], diagonal = rows->diagonal[i];
    if (end < begin || diagonal < begin || diagonal >= end || rows->index[diagonal] != i)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has its diagonal at %lld", i, (long long)diagonal);
    for (tsi_count q = begin; q < end; q++)
      if (rows->index[q] < 0 || rows->index[q] >= rows->n ||
          (q > begin && rows->index[q - 1] >= rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has column %d", i, rows->index[q]);
  }
  return TRISTAR_OK;
}

void tsi_factor_rows_finish(tsi_factor_rows *rows) {
  tsi_release(tsi_take(&rows->ptr));
  tsi_release(tsi_take(&rows->index));
  tsi_release(tsi_take(&rows->diagonal));
  tsi_release(tsi_take(&rows->values));
}
