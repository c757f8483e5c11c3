/* What the values of a matrix make of a preconditioner: see precond.h. */
#include "runtime/precond/precond.h"

/* to[i] = entry (i, i), which is there of every row. Errors: SINGULAR. */
static tristar_status take_diagonal(const tristar_precond_t *p, const void *values, void *to) {
  tristar_status status = TRISTAR_OK;
  const tsi_pattern *a = p->pattern;
  const size_t bytes = p->sparse->scalar_bytes;
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_count e = a->ptr[j];
    while (e < a->ptr[j + 1] && a->index[e] != j) e++;
    if (e == a->ptr[j + 1])
      TSI_FAIL(&p->ts->env, TRISTAR_ERR_SINGULAR, "row %d, counted from 0, has no entry on the diagonal", j);
    memcpy((char *)to + (size_t)j * bytes, (const char *)values + (size_t)e * bytes, bytes);
  }
out:
  return status;
}

/* Errors: SINGULAR, NOT_POSITIVE_DEFINITE, NOT_FINITE. */
static tristar_status tell_breakdown(const tristar_precond_t *p, tsi_breakdown breakdown) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  switch (breakdown.kind) {
  case TSI_BREAKDOWN_NONE:
    break;
  case TSI_BREAKDOWN_ZERO:
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "the pivot of row %d, counted from 0, is zero", breakdown.row);
  case TSI_BREAKDOWN_NOT_POSITIVE:
    TSI_FAIL(env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "the pivot of row %d, counted from 0, is not positive",
             breakdown.row);
  case TSI_BREAKDOWN_NOT_FINITE:
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "row %d of the factors, counted from 0, has NaN or infinity",
             breakdown.row);
  }
out:
  return status;
}

static tristar_status set_up_jacobi(tristar_precond_t *p, const void *values) {
  tristar_status status = TRISTAR_OK;
  if (p->diagonal == NULL)
    TSI_TRY(tsi_allocate(&p->ts->env, (size_t)p->n, p->sparse->scalar_bytes, __func__, __FILE__, __LINE__,
                         &p->diagonal));
  TSI_TRY(take_diagonal(p, values, p->diagonal));
  TSI_TRY(tell_breakdown(p, p->kernels->invert(p->n, p->diagonal, p->diagonal)));
out:
  return status;
}

tristar_status tsi_precond_set_up(tristar_precond_t *precond, const void *values) {
  tristar_status status = TRISTAR_OK;
  switch (precond->options.kind) {
  case TRISTAR_PRECOND_NONE:
    break;
  case TRISTAR_PRECOND_JACOBI:
    TSI_TRY(set_up_jacobi(precond, values));
    break;
  default:
    TSI_FAIL(&precond->ts->env, TRISTAR_ERR_UNSUPPORTED, "kind %d", (int)precond->options.kind);
  }
out:
  return status;
}
