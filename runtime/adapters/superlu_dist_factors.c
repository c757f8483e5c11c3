/* Makes a view for tristar_import_supernodal of factors of SuperLU_DIST that are all on this process.
 *
 *   Pc Pr diag(R) A diag(C) Pc^T = L U
 *
 * Row i of A is therefore row perm_c[perm_r[i]] of L U, and column j is column perm_c[j].
 *
 * Reads   for each supernode k, with columns xsup[k] ... xsup[k+1] - 1:
 *         Lnzval_bc_ptr[k]  a dense block of these columns: L below the diagonal, U on and above it
 *         Lrowind_bc_ptr[k] the rows of the block: number of blocks, number of rows; then for each block
 *                           its supernode, its number of rows, the rows
 *         Ufstnz_br_ptr[k]  the rows of k in U, to the right of the diagonal block; NULL if there are none:
 *                           number of blocks, of values, of integers; then for each block its supernode,
 *                           its number of values, and for each of its columns the first nonzero row,
 *                           or xsup[k+1]; the column is dense from this row to the last row of k
 *         Unzval_br_ptr[k]  these values, column after column
 * Writes  nothing of SuperLU_DIST. The blocks of L are viewed in place; U is copied to columns.
 *
 * This file or the import checks every number before it is used as an index. Not checked: the arrays are
 * assumed to have the lengths in their headers. */
#include "runtime/adapters/superlu_dist_factors.h"

#include <string.h>

#include "runtime/adapters/superlu_common.h"

#define INT_BITS ((int)(8 * sizeof(int_t)))

void tsi_superlu_dist_release(tsi_superlu_dist *work) {
  TSI_FREE(work->starts);
  TSI_FREE(work->rows);
  TSI_FREE(work->blocks);
  TSI_FREE(work->columns);
  TSI_FREE(work->next);
  TSI_FREE(work->upper_rows);
  TSI_FREE(work->upper_values);
  TSI_FREE(work->row_order);
  TSI_FREE(work->column_order);
  TSI_FREE(work->row_scale);
  TSI_FREE(work->column_scale);
}

tristar_status tsi_superlu_dist_check(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                      int64_t *supernodes) {
  const int_t *xsup = from->xsup;
  const int64_t n = from->n;
  if (n < 1) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "n is %lld", (long long)n);
  *supernodes = (int64_t)from->supno[n - 1] + 1;
  if (*supernodes < 1 || *supernodes > n || xsup[0] != 0 || xsup[*supernodes] != n)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "the supernodes of the factors do not end at column n = %lld",
             (long long)n);
  for (int64_t k = 0; k < *supernodes; k++)
    if (xsup[k + 1] <= xsup[k] || xsup[k + 1] > n)
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "supernode %lld holds columns %lld to %lld", (long long)k,
               (long long)xsup[k], (long long)xsup[k + 1] - 1);
  return TRISTAR_OK;
}

/* Copies the rows of supernode k without the headers between them. */
static tristar_status copy_rows(tristar_t *ts, tsi_superlu_dist *work, int64_t k) {
  const int_t *index = work->from->lower_index[k] + BC_HEADER;
  const int64_t blocks = work->from->lower_index[k][0];
  int64_t at = work->starts[k];
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t rows = index[1];
    if (rows < 0 || rows > work->starts[k + 1] - at) break;
    memcpy(work->rows + at, index + LB_DESCRIPTOR, (size_t)rows * sizeof *index);
    index += LB_DESCRIPTOR + rows;
    at += rows;
  }
  if (at != work->starts[k + 1])
    TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "the %lld blocks of supernode %lld of L do not have its %lld rows",
             (long long)blocks, (long long)k, (long long)(work->starts[k + 1] - work->starts[k]));
  return TRISTAR_OK;
}

static tristar_status view_lower(tristar_t *ts, tsi_superlu_dist *work, tristar_triangle *lower) {
  const int_t *xsup = work->from->xsup;
  TSI_TRY(TSI_ALLOC(ts, work->starts, work->supernodes + 1));
  TSI_TRY(TSI_ALLOC(ts, work->blocks, work->supernodes));
  work->starts[0] = 0;
  for (int64_t k = 0; k < work->supernodes; k++) {
    const int_t *index = work->from->lower_index[k];
    const int64_t rows = index != NULL ? index[1] : 0;
    if (rows < xsup[k + 1] - xsup[k])
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "supernode %lld of L has %lld columns and %lld rows", (long long)k,
               (long long)(xsup[k + 1] - xsup[k]), (long long)rows);
    work->starts[k + 1] = work->starts[k] + rows;
  }
  TSI_TRY(TSI_ALLOC(ts, work->rows, work->starts[work->supernodes]));
  for (int64_t k = 0; k < work->supernodes; k++) TSI_TRY(copy_rows(ts, work, k));
  memcpy(work->blocks, work->from->lower_values, (size_t)work->supernodes * sizeof *work->blocks);
  lower->format = TRISTAR_TRIANGLE_SUPERNODES;
  lower->unit_diagonal = 1;
  lower->ptr_bits = 64;
  lower->index_bits = INT_BITS;
  lower->ptr = work->starts;
  lower->index = work->rows;
  lower->supernodes = work->supernodes;
  lower->first = xsup;
  lower->blocks = work->blocks;
  return TRISTAR_OK;
}

/* Visits the rows of supernode k in U, to the right of the diagonal block. Counts them in next, or copies
 * them there if `store` is set. */
static tristar_status walk_upper(tristar_t *ts, tsi_superlu_dist *work, int64_t k, const char *values,
                                 bool store) {
  const int_t *xsup = work->from->xsup, *index = work->from->upper_index[k], *end;
  const size_t bytes = work->from->bytes;
  const int_t last = xsup[k + 1];
  if (index == NULL) return TRISTAR_OK;
  end = index + index[2];
  const int64_t blocks = index[0];
  index += BR_HEADER;
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t block = index[0];
    if (block <= k || block >= work->supernodes ||
        end - index < UB_DESCRIPTOR + xsup[block + 1] - xsup[block])
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "block %lld of the rows of supernode %lld in U is said to be %lld",
               (long long)b, (long long)k, (long long)block);
    index += UB_DESCRIPTOR;
    for (int_t j = xsup[block]; j < xsup[block + 1]; j++) {
      const int_t first = *index++;
      if (first < xsup[k] || first > last)
        TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "the rows of supernode %lld begin at %lld in column %lld of U",
                 (long long)k, (long long)first, (long long)j);
      const int64_t at = work->next[j];
      work->next[j] += last - first;
      if (!store || first == last) continue;
      if (values == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "Unzval_br_ptr[%lld] is NULL", (long long)k);
      for (int_t i = first; i < last; i++) work->upper_rows[at + i - first] = i;
      memcpy(work->upper_values + (size_t)at * bytes, values, (size_t)(last - first) * bytes);
      values += (size_t)(last - first) * bytes;
    }
  }
  return TRISTAR_OK;
}

/* Copies the upper triangle of the diagonal block of supernode k to the ends of the columns of U. */
static void copy_diagonal(tsi_superlu_dist *work, int64_t k) {
  const int_t *xsup = work->from->xsup;
  const size_t bytes = work->from->bytes, lda = (size_t)(work->starts[k + 1] - work->starts[k]);
  for (int_t j = xsup[k]; j < xsup[k + 1]; j++) {
    const int_t rows = j - xsup[k] + 1;
    const char *column = (const char *)work->blocks[k] + (size_t)(j - xsup[k]) * lda * bytes;
    for (int_t i = 0; i < rows; i++) work->upper_rows[work->next[j] + i] = xsup[k] + i;
    memcpy(work->upper_values + (size_t)work->next[j] * bytes, column, (size_t)rows * bytes);
  }
}

static tristar_status view_upper(tristar_t *ts, tsi_superlu_dist *work, tristar_triangle *upper) {
  const int_t *xsup = work->from->xsup;
  TSI_TRY(TSI_ALLOC(ts, work->columns, work->n + 1));
  TSI_TRY(TSI_ALLOC(ts, work->next, work->n));
  for (int64_t k = 0; k < work->supernodes; k++)
    for (int_t j = xsup[k]; j < xsup[k + 1]; j++) work->next[j] = j - xsup[k] + 1;
  for (int64_t k = 0; k < work->supernodes; k++) TSI_TRY(walk_upper(ts, work, k, NULL, false));
  work->columns[0] = 0;
  for (int64_t j = 0; j < work->n; j++) {
    work->columns[j + 1] = work->columns[j] + work->next[j];
    work->next[j] = work->columns[j];
  }
  TSI_TRY(TSI_ALLOC(ts, work->upper_rows, work->columns[work->n]));
  TSI_TRY(tristar_adapter_allocate(ts, (size_t)work->columns[work->n], work->from->bytes, __func__, __FILE__,
                                   __LINE__, (void **)&work->upper_values));
  for (int64_t k = 0; k < work->supernodes; k++) {
    const char *values;
    memcpy(&values, (const char *)work->from->upper_values + (size_t)k * sizeof values, sizeof values);
    TSI_TRY(walk_upper(ts, work, k, values, true));
    copy_diagonal(work, k);
  }
  upper->format = TRISTAR_TRIANGLE_COLUMNS;
  upper->ptr_bits = 64;
  upper->index_bits = INT_BITS;
  upper->ptr = work->columns;
  upper->index = work->upper_rows;
  upper->values = work->upper_values;
  return TRISTAR_OK;
}

static tristar_status view_orders(tristar_t *ts, tsi_superlu_dist *work, tristar_factors *factors) {
  const tsi_superlu_dist_parts *from = work->from;
  if (from->perm_r == NULL || from->perm_c == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", from->perm_r == NULL ? "perm_r" : "perm_c");
  TSI_TRY(TSI_ALLOC(ts, work->row_order, work->n));
  TSI_TRY(TSI_ALLOC(ts, work->column_order, work->n));
  TSI_TRY(tsi_invert_permutation(ts, "perm_c", from->perm_c, INT_BITS, work->n, work->column_order));
  TSI_TRY(tsi_invert_permutation(ts, "perm_r", from->perm_r, INT_BITS, work->n, work->row_order));
  for (int64_t i = 0; i < work->n; i++) work->row_order[from->perm_c[from->perm_r[i]]] = i;
  factors->row_order = work->row_order;
  factors->column_order = work->column_order;
  return TRISTAR_OK;
}

static tristar_status view_scales(tristar_t *ts, tsi_superlu_dist *work, tristar_factors *factors) {
  const tsi_superlu_dist_parts *from = work->from;
  const bool rows = from->scaled == ROW || from->scaled == BOTH;
  const bool columns = from->scaled == COL || from->scaled == BOTH;
  const bool single = from->scalar == TRISTAR_SINGLE;
  if (!rows && !columns && from->scaled != NOEQUIL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "DiagScale is %d", (int)from->scaled);
  if ((rows && from->R == NULL) || (columns && from->C == NULL))
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%c is NULL", rows && from->R == NULL ? 'R' : 'C');
  if (rows) TSI_TRY(tsi_copy_scale(ts, from->R, single, work->n, &work->row_scale));
  if (columns) TSI_TRY(tsi_copy_scale(ts, from->C, single, work->n, &work->column_scale));
  factors->row_scale = work->row_scale;
  factors->column_scale = work->column_scale;
  return TRISTAR_OK;
}

tristar_status tsi_superlu_dist_factors(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                        tsi_superlu_dist *work, tristar_factors *factors) {
  work->from = from;
  tristar_factors_init(factors);
  TSI_TRY(tsi_superlu_dist_check(ts, from, &work->supernodes));
  work->n = from->n;
  factors->n = work->n;
  factors->scalar = from->scalar;
  TSI_TRY(view_lower(ts, work, &factors->lower));
  TSI_TRY(view_upper(ts, work, &factors->upper));
  TSI_TRY(view_orders(ts, work, factors));
  return view_scales(ts, work, factors);
}
