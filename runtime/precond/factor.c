/* Incomplete factors of a matrix: room, scratch and kernels; see precond.h. */
#include "runtime/matrix/triplets.h"
#include "runtime/precond/precond.h"

static tristar_status allocate_values(const tristar_precond_t *p, tsi_count entries, void **values) {
  return tsi_allocate(&p->ts->env, (size_t)entries, p->sparse->scalar_bytes, __func__, __FILE__, __LINE__,
                      values);
}

/* ---- By level of fill ---------------------------------------------------------------------------------- */

static tristar_status copy_pattern(tsi_env *env, const tsi_factor_rows *from, tsi_factor_rows *to) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = from->n;
  to->n = n;
  TSI_TRY(TSI_ALLOC(env, to->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, to->diagonal, n));
  TSI_TRY(TSI_ALLOC(env, to->index, from->ptr[n]));
  memcpy(to->ptr, from->ptr, ((size_t)n + 1) * sizeof *to->ptr);
  memcpy(to->diagonal, from->diagonal, (size_t)n * sizeof *to->diagonal);
  memcpy(to->index, from->index, (size_t)from->ptr[n] * sizeof *to->index);
out:
  return status;
}

static void finish_work(tsi_env *env, tsi_incomplete_work *work) {
  TSI_FREE(env, work->place);
  TSI_FREE(env, work->row);
  TSI_FREE(env, work->next);
  TSI_FREE(env, work->lower);
  TSI_FREE(env, work->upper);
  TSI_FREE(env, work->kept);
  TSI_FREE(env, work->magnitude);
}

static tristar_status factor_by_level(tristar_precond_t *p, const tsi_factor_rows *a, const tsi_dropping *how,
                                      tsi_factor_rows *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  tsi_incomplete_work work = {.place = NULL};
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_IC;
  TSI_TRY(copy_pattern(env, p->filled.ptr ? &p->filled : a, out));
  TSI_TRY(allocate_values(p, out->ptr[a->n], &out->values));
  TSI_TRY(TSI_ALLOC(env, work.place, a->n));
  for (tsi_index j = 0; j < a->n; j++) work.place[j] = TSI_NONE;
  if (symmetric) TSI_TRY(TSI_ALLOC(env, work.next, a->n));
  if (symmetric && how->modified > 0)
    TSI_TRY(tsi_allocate_zero(env, (size_t)a->n, p->sparse->scalar_bytes, __func__, __FILE__, __LINE__,
                              &work.row));
  TSI_TRY(tsi_precond_tell(p, (symmetric ? p->kernels->ic : p->kernels->ilu)(a, how, &work, out)));
out:
  finish_work(env, &work);
  return status;
}

/* ---- By size ------------------------------------------------------------------------------------------- */

static tristar_status allocate_work(const tristar_precond_t *p, tsi_index n, tsi_incomplete_work *work) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_ICT;
  TSI_TRY(allocate_values(p, n, &work->row));
  TSI_TRY(TSI_ALLOC(env, work->place, n));
  TSI_TRY(TSI_ALLOC(env, work->lower, n));
  TSI_TRY(TSI_ALLOC(env, work->upper, n));
  TSI_TRY(TSI_ALLOC(env, work->kept, n));
  TSI_TRY(TSI_ALLOC(env, work->magnitude, n));
  if (symmetric) TSI_TRY(TSI_ALLOC(env, work->next, n));
  for (tsi_index j = 0; j < n; j++) work->place[j] = work->kept[j] = TSI_NONE;
out:
  return status;
}

static tristar_status factor_by_size(tristar_precond_t *p, const tsi_factor_rows *a, const tsi_dropping *how,
                                     tsi_factor_rows *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  const tsi_index n = a->n;
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_ICT;
  tsi_incomplete_work work = {.place = NULL};
  tsi_count capacity = a->ptr[n];
  tsi_breakdown at = {TSI_BREAKDOWN_NONE, 0};
  out->n = n;
  TSI_TRY(allocate_work(p, n, &work));
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, out->diagonal, n));
  TSI_TRY(TSI_ALLOC(env, out->index, capacity));
  TSI_TRY(allocate_values(p, capacity, &out->values));
  out->ptr[0] = 0;
  for (;;) {
    at = (symmetric ? p->kernels->ict : p->kernels->ilut)(a, how, &work, at.row, capacity, out);
    TSI_TRY(tsi_precond_tell(p, at));
    if (at.row == n) break;
    const tsi_count used = out->ptr[at.row];
    capacity += tsi_count_max(capacity / 2, tsi_dropping_room(a, how, at.row));
    TSI_TRY(tsi_grow(env, (void **)&out->index, sizeof *out->index, used, capacity));
    TSI_TRY(tsi_grow(env, &out->values, p->sparse->scalar_bytes, used, capacity));
  }
out:
  finish_work(env, &work);
  return status;
}

tristar_status tsi_precond_factor(tristar_precond_t *precond, const tsi_factor_rows *a, bool adjoint,
                                  tsi_factor_rows *out) {
  const tristar_precond_options *o = &precond->options;
  const tsi_dropping how = {.shift = o->shift,
                            .modified = o->modified,
                            .drop = o->drop,
                            .fill = o->fill < a->n ? o->fill : a->n,
                            .adjoint = adjoint};
  const bool by_level = o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC;
  memset(out, 0, sizeof *out);
  return by_level ? factor_by_level(precond, a, &how, out) : factor_by_size(precond, a, &how, out);
}
