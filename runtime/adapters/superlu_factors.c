/* Makes a view of factors of SuperLU for tristar_import_supernodal.
 *
 *   Pr diag(R) A diag(C) Pc = L U
 *
 * Reads   L (SLU_SC): one dense block of columns for each supernode; L below the diagonal, U on and above it.
 *         U (SLU_NC): the columns of U above their supernode. perm_r, perm_c, R, C.
 * Writes  nothing of SuperLU. The blocks of L are viewed in place; U is copied to columns.
 *
 * L and U have the row and column numbers of the product L U, so only the permutations are inverted. This
 * file checks positions in L and U before it uses them; the import checks row numbers. Not checked: the
 * arrays are assumed to be as long as the positions imply. */
#include "runtime/adapters/superlu_factors.h"

#include <string.h>

#include "runtime/adapters/superlu_common.h"

#define INT_BITS ((int)(8 * sizeof(int_t)))

void tsi_superlu_release(tsi_superlu *work) {
  TSI_FREE(work->starts);
  TSI_FREE(work->first);
  TSI_FREE(work->blocks);
  TSI_FREE(work->columns);
  TSI_FREE(work->rows);
  TSI_FREE(work->values);
  TSI_FREE(work->row_order);
  TSI_FREE(work->column_order);
  TSI_FREE(work->row_scale);
  TSI_FREE(work->column_scale);
}

static tristar_status check_matrices(tristar_t *ts, const tristar_superlu *from, tsi_superlu *work,
                                     tristar_scalar *scalar) {
  static const struct {
    Dtype_t type;
    tristar_scalar scalar;
    size_t bytes;
  } types[] = {{SLU_S, TRISTAR_SINGLE, sizeof(float)},
               {SLU_D, TRISTAR_DOUBLE, sizeof(double)},
               {SLU_C, TRISTAR_COMPLEX_SINGLE, 2 * sizeof(float)},
               {SLU_Z, TRISTAR_COMPLEX_DOUBLE, 2 * sizeof(double)}};
  const SuperMatrix *l = from->L, *u = from->U;
  if (l == NULL || u == NULL || l->Store == NULL || u->Store == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", l == NULL || l->Store == NULL ? "L" : "U");
  if (l->Stype != SLU_SC || u->Stype != SLU_NC)
    TSI_FAIL(ts, TRISTAR_ERR_UNSUPPORTED, "the storage of L and U is (%d, %d), not (SLU_SC, SLU_NC)",
             (int)l->Stype, (int)u->Stype);
  if (l->nrow != l->ncol || u->nrow != u->ncol || l->nrow != u->nrow || l->nrow < 0)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "L is %lld x %lld, U is %lld x %lld", (long long)l->nrow,
             (long long)l->ncol, (long long)u->nrow, (long long)u->ncol);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    if (l->Dtype == types[t].type) *scalar = types[t].scalar, work->bytes = types[t].bytes;
  if (work->bytes == 0 || u->Dtype != l->Dtype)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "the types of L and U are %d and %d", (int)l->Dtype, (int)u->Dtype);
  work->l = l->Store;
  work->u = u->Store;
  work->n = l->nrow;
  work->supernodes = (int64_t)work->l->nsuper + 1;
  return TRISTAR_OK;
}

static tristar_status view_lower(tristar_t *ts, tsi_superlu *work, tristar_triangle *lower) {
  const SCformat *l = work->l;
  if (work->supernodes < 0 || work->supernodes > work->n)
    TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "L has %lld supernodes and %lld columns", (long long)work->supernodes,
             (long long)work->n);
  TSI_TRY(TSI_ALLOC(ts, work->starts, work->supernodes + 1));
  TSI_TRY(TSI_ALLOC(ts, work->first, work->supernodes + 1));
  TSI_TRY(TSI_ALLOC(ts, work->blocks, work->supernodes));
  for (int64_t s = 0; s <= work->supernodes; s++) {
    const int64_t column = work->supernodes > 0 ? l->sup_to_col[s] : 0;
    if (s == 0 ? column != 0 : column <= work->first[s - 1] || column > work->n)
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "supernode %lld of L begins at column %lld", (long long)s,
               (long long)column);
    work->first[s] = (int_t)column;
    work->starts[s] = work->n > 0 ? l->rowind_colptr[column] : 0;
    if (s < work->supernodes)
      work->blocks[s] = (const char *)l->nzval + (size_t)l->nzval_colptr[column] * work->bytes;
    if (s > 0 && work->starts[s] - work->starts[s - 1] < column - work->first[s - 1])
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "supernode %lld of L has %lld columns and %lld rows", (long long)s - 1,
               (long long)(column - work->first[s - 1]), (long long)(work->starts[s] - work->starts[s - 1]));
  }
  if (work->first[work->supernodes] != work->n)
    TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "the supernodes of L have %lld of %lld columns",
             (long long)work->first[work->supernodes], (long long)work->n);
  lower->format = TRISTAR_TRIANGLE_SUPERNODES;
  lower->unit_diagonal = 1;
  lower->ptr_bits = 64;
  lower->index_bits = INT_BITS;
  lower->ptr = work->starts;
  lower->index = l->rowind;
  lower->supernodes = work->supernodes;
  lower->first = work->first;
  lower->blocks = work->blocks;
  return TRISTAR_OK;
}

/* Copies the columns of supernode s: the entries of u, then rows first[s] ... of the block of L. */
static void copy_upper(tsi_superlu *work, int64_t s) {
  const NCformat *u = work->u;
  const int64_t lda = work->starts[s + 1] - work->starts[s];
  for (int_t j = work->first[s]; j < work->first[s + 1]; j++) {
    const size_t above = (size_t)(u->colptr[j + 1] - u->colptr[j]), inside = (size_t)(j - work->first[s]) + 1;
    const char *block = (const char *)work->blocks[s] + (size_t)((j - work->first[s]) * lda) * work->bytes;
    int_t *rows = work->rows + work->columns[j];
    char *values = work->values + (size_t)work->columns[j] * work->bytes;
    if (above > 0) {
      memcpy(rows, u->rowind + u->colptr[j], above * sizeof *rows);
      memcpy(values, (const char *)u->nzval + (size_t)u->colptr[j] * work->bytes, above * work->bytes);
    }
    for (size_t i = 0; i < inside; i++) rows[above + i] = work->first[s] + (int_t)i;
    memcpy(values + above * work->bytes, block, inside * work->bytes);
  }
}

static tristar_status view_upper(tristar_t *ts, tsi_superlu *work, tristar_triangle *upper) {
  TSI_TRY(TSI_ALLOC(ts, work->columns, work->n + 1));
  work->columns[0] = 0;
  for (int64_t s = 0; s < work->supernodes; s++)
    for (int_t j = work->first[s]; j < work->first[s + 1]; j++) {
      const int64_t above = (int64_t)work->u->colptr[j + 1] - work->u->colptr[j];
      if (above < 0)
        TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "column %lld of U has %lld entries", (long long)j, (long long)above);
      work->columns[j + 1] = work->columns[j] + above + (j - work->first[s]) + 1;
    }
  TSI_TRY(TSI_ALLOC(ts, work->rows, work->columns[work->n]));
  TSI_TRY(tristar_adapter_allocate(ts, (size_t)work->columns[work->n], work->bytes, __func__, __FILE__,
                                   __LINE__, (void **)&work->values));
  for (int64_t s = 0; s < work->supernodes; s++) copy_upper(work, s);
  upper->format = TRISTAR_TRIANGLE_COLUMNS;
  upper->ptr_bits = 64;
  upper->index_bits = INT_BITS;
  upper->ptr = work->columns;
  upper->index = work->rows;
  upper->values = work->values;
  return TRISTAR_OK;
}

static tristar_status view_orders(tristar_t *ts, const tristar_superlu *from, tsi_superlu *work,
                                  tristar_factors *factors) {
  const int bits = (int)(8 * sizeof *from->perm_r);
  if (from->perm_r == NULL || from->perm_c == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", from->perm_r == NULL ? "perm_r" : "perm_c");
  TSI_TRY(TSI_ALLOC(ts, work->row_order, work->n));
  TSI_TRY(TSI_ALLOC(ts, work->column_order, work->n));
  TSI_TRY(tsi_invert_permutation(ts, "perm_r", from->perm_r, bits, work->n, work->row_order));
  TSI_TRY(tsi_invert_permutation(ts, "perm_c", from->perm_c, bits, work->n, work->column_order));
  factors->row_order = work->row_order;
  factors->column_order = work->column_order;
  return TRISTAR_OK;
}

static tristar_status view_scales(tristar_t *ts, const tristar_superlu *from, tsi_superlu *work,
                                  tristar_factors *factors) {
  const char equed = from->equed == 0 ? 'N' : from->equed;
  const bool rows = equed == 'R' || equed == 'B', columns = equed == 'C' || equed == 'B';
  const bool single = factors->scalar == TRISTAR_SINGLE || factors->scalar == TRISTAR_COMPLEX_SINGLE;
  if (!rows && !columns && equed != 'N')
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "equed is '%c' (%d), not N, R, C or B", equed, equed);
  if ((rows && from->R == NULL) || (columns && from->C == NULL))
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "equed is %c, and %c is NULL", equed,
             rows && from->R == NULL ? 'R' : 'C');
  if (rows) TSI_TRY(tsi_copy_scale(ts, from->R, single, work->n, &work->row_scale));
  if (columns) TSI_TRY(tsi_copy_scale(ts, from->C, single, work->n, &work->column_scale));
  factors->row_scale = work->row_scale;
  factors->column_scale = work->column_scale;
  return TRISTAR_OK;
}

tristar_status tsi_superlu_factors(tristar_t *ts, const tristar_superlu *from, tsi_superlu *work,
                                   tristar_factors *factors) {
  tristar_factors_init(factors);
  TSI_TRY(check_matrices(ts, from, work, &factors->scalar));
  factors->n = work->n;
  factors->matrix = from->matrix;
  TSI_TRY(view_lower(ts, work, &factors->lower));
  TSI_TRY(view_upper(ts, work, &factors->upper));
  TSI_TRY(view_orders(ts, from, work, factors));
  return view_scales(ts, from, work, factors);
}
