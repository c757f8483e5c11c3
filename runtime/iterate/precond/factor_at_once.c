/* ILU and IC without fill in one pass over rows.
 *
 * Job. Compute the factors directly from the user's values, without a copy and without a check beforehand.
 * This requires that the user's arrays store the rows of A, or the upper triangle by rows. The pass itself
 * finds the diagonal entries and mirror images, and whether numbers are finite. If anything fails, nothing is
 * kept, and the steps of set_up.c find the cause.
 *
 * Reads   the user's values.   Writes  factors; rows, cross and inverses of the preconditioner. */
#include "codelets/cpu/rows/at_once.h"
#include "runtime/iterate/precond/precond.h"

typedef struct at_once {
  tristar_precond_t *p;
  tsi_factor_rows a; /* the user's values on the pattern of p->rows */
  void *row;
  tsi_unmet *unmet; /* IC with both triangles given */
  bool equal;       /* IC with both triangles given: mirror images are equal */
} at_once;

/* Makes the rows of A from the lines of its pattern, mirrored if necessary. */
static tristar_status make_rows(tristar_precond_t *p, bool mirrored) {
  if (p->rows.diagonal != NULL) return TRISTAR_OK;
  if (mirrored) return tsi_precond_mirror_rows(p);
  p->full = (tsi_entries){.n = p->n, .ptr = p->pattern->ptr, .index = p->pattern->index};
  p->rows = (tsi_factor_rows){.n = p->n, .ptr = p->full.ptr, .index = p->full.index};
  return TSI_ALLOC(&p->ts->env, p->rows.diagonal, p->n);
}

static tristar_status begin(at_once *f, const void *values, tsi_factor_rows *out) {
  tristar_precond_t *p = f->p;
  tsi_env *env = &p->ts->env;
  const size_t bytes = p->sparse->scalar_bytes;
  const bool both = p->options.kind == TRISTAR_PRECOND_IC && !p->mirrored;
  const tsi_count entries = p->rows.ptr[p->n];
  f->a = *out = p->rows;
  f->a.values = (void *)values;
  out->values = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, out->values, entries, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, f->row, p->n, bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, p->by_rows.inverse, p->n, bytes));
  if (both) TSI_TRY(TSI_ALLOC(env, f->unmet, p->n));
  if (both && p->by_rows.cross == NULL) TSI_TRY(TSI_ALLOC(env, p->by_rows.cross, entries));
  if (p->mirrored && p->by_rows.cross == NULL) TSI_TRY(tsi_find_cross(env, &p->rows, &p->by_rows.cross));
  return TRISTAR_OK;
}

static bool factor(at_once *f, tsi_factor_rows *out) {
  tristar_precond_t *p = f->p;
  const tsi_at_once_kernels *kernels = tsi_at_once_kernels_select((char)p->stats.scalar);
  const bool adjoint = p->symmetry == TRISTAR_HERMITIAN || !p->sparse->is_complex;
  tsi_row_sweeps *s = &p->by_rows;
  const double shift = p->options.shift;
  f->equal = true;
  if (p->options.kind == TRISTAR_PRECOND_ILU) return kernels->ilu(&f->a, shift, f->row, s->inverse, out);
  if (p->mirrored)
    return kernels->ic(&f->a, p->pattern->ptr, shift, adjoint, f->row, s->cross, s->inverse, out);
  return kernels->ic_both(&f->a, shift, adjoint, f->row, f->unmet, s->cross, s->inverse, out, &f->equal);
}

/* If mirror images are not all equal: do they differ only by rounding errors, as was assumed? Errors: as
 * tsi_precond_find_symmetry, tsi_precond_verify. */
static tristar_status confirm_symmetry(tristar_precond_t *p, const void *values, bool *done) {
  tristar_symmetry symmetry;
  TSI_TRY(tsi_precond_verify(p));
  TSI_TRY(tsi_precond_find_symmetry(p, "incomplete Cholesky factors", "", values, &symmetry));
  *done = symmetry == p->symmetry;
  return TRISTAR_OK;
}

/* Frees the results; the steps of set_up.c compute them again. */
static void drop(tristar_precond_t *p, tsi_factor_rows *out) {
  tsi_env *env = &p->ts->env;
  TSI_FREE(env, out->values);
  *out = (tsi_factor_rows){.values = NULL};
  tsi_row_sweeps_drop(p);
  TSI_FREE(env, p->rows.diagonal);
  if (p->mirrored) tsi_entries_finish(&p->full);
  p->full = (tsi_entries){.n = 0};
  p->rows = (tsi_factor_rows){.n = 0};
}

/* Can the factors be computed at once? Then makes the rows. */
static tristar_status find_rows(tristar_precond_t *p, bool *found) {
  const tsi_pattern *a = p->pattern;
  const bool cholesky = p->options.kind == TRISTAR_PRECOND_IC;
  *found = false;
  if (!cholesky && p->options.kind != TRISTAR_PRECOND_ILU) return TRISTAR_OK;
  if (p->options.level > 0 || p->options.modified > 0 || p->tasks != NULL) return TRISTAR_OK;
  const bool mirrored = cholesky && tsi_lines_are_upper_rows(a);
  if (!mirrored && !tsi_full_is_pattern(a)) return TRISTAR_OK;
  if (!mirrored && p->rows.diagonal != NULL && p->rows.ptr != a->ptr)
    return TRISTAR_OK; /* these rows include added mirror images */
  if (!p->tasks_chosen && tsi_precond_may_have_tasks(p, a->n, a->ptr[a->n])) return TRISTAR_OK;
  p->symmetry = !cholesky                        ? TRISTAR_GENERAL
                : a->symmetry != TRISTAR_GENERAL ? a->symmetry
                : p->sparse->is_complex          ? TRISTAR_HERMITIAN
                                                 : TRISTAR_SYMMETRIC;
  *found = true;
  const tristar_status status = make_rows(p, mirrored);
  if (status != TRISTAR_OK) TSI_TRY(tsi_precond_verify(p)); /* errors of values are reported first */
  return status;
}

tristar_status tsi_precond_factor_at_once(tristar_precond_t *precond, const void *values,
                                          tsi_factor_rows *factors, bool *done) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &precond->ts->env;
  at_once f = {.p = precond};
  const double begin_seconds = tsi_workers_clock(&precond->ts->workers);
  *done = false;
  TSI_TRY_OUT(find_rows(precond, done));
  if (!*done) return TRISTAR_OK;
  TSI_TRY_OUT(begin(&f, values, factors));
  *done = factor(&f, factors);
  if (*done && !f.equal) TSI_TRY_OUT(confirm_symmetry(precond, values, done));
  if (*done && env->check) TSI_TRY_OUT(tsi_factor_rows_check(env, factors));
  if (!*done) drop(precond, factors);
  precond->stats.numeric_seconds = tsi_workers_clock(&precond->ts->workers) - begin_seconds;
out:
  TSI_FREE(env, f.row);
  TSI_FREE(env, f.unmet);
  return status;
}
