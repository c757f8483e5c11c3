/* A view of a cholmod_factor: see cholmod_factors.h. */
#include "runtime/adapters/cholmod_factors.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/adapters/adapter.h"

static bool is_long(const cholmod_factor *L) {
  return L->itype == CHOLMOD_LONG;
}

static int64_t at(const cholmod_factor *L, const void *integers, size_t k) {
  return is_long(L) ? ((const SuiteSparse_long *)integers)[k] : ((const int *)integers)[k];
}

static size_t real_bytes(const cholmod_factor *L) {
  return L->dtype == CHOLMOD_SINGLE ? sizeof(float) : sizeof(double);
}

static size_t scalar_bytes(const cholmod_factor *L) {
  return L->xtype == CHOLMOD_REAL ? real_bytes(L) : 2 * real_bytes(L);
}

/* Accepts the kinds of factors that can be imported; reports an error for others. */
static tristar_status check_kind(tristar_t *ts, const cholmod_factor *L) {
  if (L == NULL) TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "the cholmod_factor is NULL");
  if (L->itype != CHOLMOD_INT && L->itype != CHOLMOD_LONG)
    TSI_FAIL(ts, TRISTAR_ERR_UNSUPPORTED,
             "itype %d of the cholmod_factor is neither CHOLMOD_INT nor CHOLMOD_LONG", L->itype);
  if (L->dtype != CHOLMOD_DOUBLE && L->dtype != CHOLMOD_SINGLE)
    TSI_FAIL(ts, TRISTAR_ERR_UNSUPPORTED, "dtype %d of the cholmod_factor is neither double nor single",
             L->dtype);
  if (L->xtype == CHOLMOD_PATTERN)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT,
             "the cholmod_factor is symbolic: it has no values, as before cholmod_factorize");
  if (L->xtype != CHOLMOD_REAL && L->xtype != CHOLMOD_COMPLEX && L->xtype != CHOLMOD_ZOMPLEX)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "the cholmod_factor has the unknown xtype %d", L->xtype);
  if (L->is_super && (L->xtype == CHOLMOD_ZOMPLEX || !L->is_ll))
    TSI_FAIL(ts, TRISTAR_ERR_UNSUPPORTED, "a supernodal cholmod_factor that is zomplex, or L D L^T");
  if (L->n > INT64_MAX / 4) TSI_FAIL(ts, TRISTAR_ERR_TOO_LARGE, "%zu rows", L->n);
  if (L->minor < L->n && L->is_ll)
    TSI_FAIL(ts, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
             "the cholmod_factor is incomplete: the pivot of column %zu (in its order) was not positive",
             L->minor);
  if (L->minor < L->n)
    TSI_FAIL(ts, TRISTAR_ERR_SINGULAR, "D of the cholmod_factor has a zero in column %zu (in its order)",
             L->minor);
  return TRISTAR_OK;
}

/* Views the dense blocks of a supernodal factor without copying them. */
static tristar_status supernodes(tristar_t *ts, const cholmod_factor *L, tsi_cholmod *work,
                                 tristar_triangle *lower) {
  const char *x = L->x;
  TSI_TRY(TSI_ALLOC(ts, work->blocks, L->nsuper));
  for (size_t s = 0; s < L->nsuper; s++) work->blocks[s] = x + (size_t)at(L, L->px, s) * scalar_bytes(L);
  lower->format = TRISTAR_TRIANGLE_SUPERNODES;
  lower->supernodes = (int64_t)L->nsuper;
  lower->first = L->super;
  lower->ptr = L->pi;
  lower->index = L->s;
  lower->blocks = work->blocks;
  return TRISTAR_OK;
}

/* Interleaves real and imaginary parts of the columns. Gaps between columns stay undefined. */
static tristar_status interleave(tristar_t *ts, const cholmod_factor *L, tsi_cholmod *work) {
  const char *x = L->x, *z = L->z;
  const size_t bytes = real_bytes(L);
  TSI_TRY(TSI_ALLOC(ts, work->values, L->nzmax * 2 * bytes));
  for (size_t j = 0; j < L->n; j++) {
    const size_t begin = (size_t)at(L, L->p, j), end = begin + (size_t)at(L, L->nz, j);
    for (size_t p = begin; p < end; p++) {
      memcpy(work->values + 2 * p * bytes, x + p * bytes, bytes);
      memcpy(work->values + (2 * p + 1) * bytes, z + p * bytes, bytes);
    }
  }
  return TRISTAR_OK;
}

/* Views the columns of a simplicial factor, which CHOLMOD may store in any order. For L D L^T the first entry
 * of each column is the entry of D, stored in place of the diagonal entry of L. */
static tristar_status columns(tristar_t *ts, const cholmod_factor *L, tsi_cholmod *work,
                              tristar_factors *factors) {
  const size_t integer = is_long(L) ? sizeof(SuiteSparse_long) : sizeof(int), scalar = scalar_bytes(L);
  TSI_TRY(TSI_ALLOC(ts, work->ends, L->n * integer));
  for (size_t j = 0; j < L->n; j++) {
    const int64_t end = at(L, L->p, j) + at(L, L->nz, j);
    if (is_long(L))
      ((SuiteSparse_long *)work->ends)[j] = (SuiteSparse_long)end;
    else
      ((int *)work->ends)[j] = (int)end;
  }
  if (L->xtype == CHOLMOD_ZOMPLEX) TSI_TRY(interleave(ts, L, work));
  factors->lower.format = TRISTAR_TRIANGLE_COLUMNS;
  factors->lower.ptr = L->p;
  factors->lower.end = work->ends;
  factors->lower.index = L->i;
  factors->lower.values = work->values != NULL ? work->values : L->x;
  if (!L->is_ll) {
    const char *values = factors->lower.values;
    TSI_TRY(TSI_ALLOC(ts, work->diagonal, L->n * scalar));
    for (size_t j = 0; j < L->n; j++)
      memcpy(work->diagonal + j * scalar, values + (size_t)at(L, L->p, j) * scalar, scalar);
    factors->diagonal = work->diagonal;
  }
  return TRISTAR_OK;
}

tristar_status tsi_cholmod_factors(tristar_t *ts, const cholmod_factor *L, const tristar_view *matrix,
                                   tsi_cholmod *work, tristar_factors *factors) {
  tristar_factors_init(factors);
  TSI_TRY(check_kind(ts, L));
  const bool real = L->xtype == CHOLMOD_REAL, single = L->dtype == CHOLMOD_SINGLE;
  factors->n = (int64_t)L->n;
  if (single)
    factors->scalar = real ? TRISTAR_SINGLE : TRISTAR_COMPLEX_SINGLE;
  else
    factors->scalar = real ? TRISTAR_DOUBLE : TRISTAR_COMPLEX_DOUBLE;
  factors->method = L->is_ll ? TRISTAR_METHOD_LLT : TRISTAR_METHOD_LDLT;
  factors->hermitian = !real;
  factors->lower.unit_diagonal = !L->is_ll;
  factors->lower.ptr_bits = factors->lower.index_bits =
      (int)(8 * (is_long(L) ? sizeof(SuiteSparse_long) : sizeof(int)));
  factors->matrix = matrix;
  TSI_TRY(TSI_ALLOC(ts, work->order, L->n));
  for (size_t k = 0; k < L->n; k++) work->order[k] = L->Perm != NULL ? at(L, L->Perm, k) : (int64_t)k;
  factors->row_order = factors->column_order = work->order;
  if (L->is_super)
    TSI_TRY(supernodes(ts, L, work, &factors->lower));
  else
    TSI_TRY(columns(ts, L, work, factors));
  return TRISTAR_OK;
}

void tsi_cholmod_release(tsi_cholmod *work) {
  TSI_FREE(work->order);
  TSI_FREE(work->blocks);
  TSI_FREE(work->ends);
  TSI_FREE(work->values);
  TSI_FREE(work->diagonal);
}
