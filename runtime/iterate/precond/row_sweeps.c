/* Applies incomplete factors by rows: see row_sweeps.h. */
#include "runtime/iterate/precond/row_sweeps.h"

#include "runtime/import/import.h"
#include "runtime/iterate/precond/level_fill.h"
#include "runtime/iterate/precond/precond.h"
#include "runtime/rows/row_choice.h"

/* Largest numbers of applications by rows. A sweep by windows takes two thirds of the time of a sweep by
 * rows, and making it takes about 15 sweeps by rows. A sweep with rows in the given order is as fast as one
 * by rows. */
#define MOST_OF_WINDOWS 24
#define MOST_OF_WHOLE 32

tristar_status tsi_row_sweeps_begin(tristar_precond_t *precond) {
  tsi_row_sweeps *s = &precond->by_rows;
  atomic_init(&s->active, false);
  atomic_init(&s->applications, 0);
  s->kernels = tsi_spmv_kernels_select((char)precond->stats.scalar, precond->ts->isa);
  TSI_TRY(tsi_rwlock_init(&precond->ts->env, &s->lock));
  s->locks = true;
  return TRISTAR_OK;
}

void tsi_row_sweeps_renew(tristar_precond_t *precond) {
  tsi_row_sweeps *s = &precond->by_rows;
  atomic_store(&s->active, false);
  tsi_precond_finish_factors(precond, &s->factors);
  TSI_FREE(&precond->ts->env, s->inverse);
}

void tsi_row_sweeps_drop(tristar_precond_t *precond) {
  tsi_row_sweeps_renew(precond);
  TSI_FREE(&precond->ts->env, precond->by_rows.cross);
}

void tsi_row_sweeps_finish(tristar_precond_t *precond) {
  tsi_row_sweeps_drop(precond);
  if (precond->by_rows.locks) (void)pthread_rwlock_destroy(&precond->by_rows.lock);
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

/* Do the options permit both ways to apply the factors? */
static bool are_options_open(const tristar_precond_t *p) {
  const tristar_precond_options *o = &p->options;
  return o->partition == TRISTAR_PARTITION_AUTO && o->engine != TRISTAR_ENGINE_TASKS && o->nrhs <= 1 &&
         o->place == TRISTAR_PLACE_CPU &&
         o->kind != TRISTAR_PRECOND_ICT; /* its rows have no mirror images of U */
}

static bool have_supernodes(const tristar_precond_t *p, const tsi_factor_rows *f) {
  const tsi_line_parts lower = {f->n, f->ptr, f->diagonal, 1, f->index, false};
  const tsi_line_parts upper = {f->n, f->diagonal, f->ptr + 1, 0, f->index, true};
  return tsi_has_supernodes(&upper) || (!tsi_precond_shares_factor(p) && tsi_has_supernodes(&lower));
}

/* Computes the inverses, unless they exist. The factorization has verified that pivots have inverses. */
static tristar_status invert_diagonal(tristar_precond_t *p, const tsi_factor_rows *f) {
  const size_t bytes = p->sparse->scalar_bytes;
  tsi_row_sweeps *s = &p->by_rows;
  if (s->inverse != NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_SIZED(&p->ts->env, s->inverse, f->n, bytes));
  for (tsi_index i = 0; i < f->n; i++) tsi_copy_scalar(bytes, s->inverse, i, f->values, f->diagonal[i]);
  const tsi_count fails = p->sparse->invert(f->n, s->inverse, s->inverse);
  if (fails < f->n)
    TSI_FAIL(&p->ts->env, TRISTAR_ERR_NOT_FINITE,
             "the pivot of row %d, counted from 0, is too close to zero: its inverse is out of range",
             (int)fails);
  return TRISTAR_OK;
}

tristar_status tsi_row_sweeps_keep(tristar_precond_t *precond, tsi_factor_rows *factors, bool *kept) {
  tsi_row_sweeps *s = &precond->by_rows;
  const tsi_count entries = (factors->ptr[factors->n] + factors->n) / 2; /* of one triangle */
  const tsi_row_way way = tsi_row_way_of_one(factors->n, entries, precond->sparse->scalar_bytes);
  s->most = way == TSI_ROWS_WHOLE ? MOST_OF_WHOLE : MOST_OF_WINDOWS;
  *kept = precond->sweep[0].plan == NULL && are_options_open(precond) &&
          atomic_load(&s->applications) < s->most && !have_supernodes(precond, factors);
  if (!*kept) {
    TSI_FREE(&precond->ts->env, s->inverse);
    return TRISTAR_OK;
  }
  TSI_TRY(invert_diagonal(precond, factors));
  s->factors = *factors;
  *factors = (tsi_factor_rows){.values = NULL};
  atomic_store(&s->active, true);
  return TRISTAR_OK;
}

/* ---- Applications -------------------------------------------------------------------------------------- */

/* Replaces the factors by sweeps. */
static tristar_status replace(tristar_precond_t *p) {
  tsi_row_sweeps *s = &p->by_rows;
  (void)pthread_rwlock_wrlock(&s->lock);
  tristar_status status = TRISTAR_OK;
  if (atomic_load(&s->active)) {
    status = tsi_precond_make_sweeps(p, &s->factors, tsi_precond_shares_factor(p));
    if (status == TRISTAR_OK)
      tsi_row_sweeps_drop(p);
    else
      tsi_precond_drop_sweeps(p);
  }
  (void)pthread_rwlock_unlock(&s->lock);
  return status;
}

/* Do the rows of the factors solve with op(M)? */
static bool is_own_op(const tristar_precond_t *p, tristar_op op) {
  return op == TRISTAR_N || (p->symmetry != TRISTAR_GENERAL && !p->sparse->is_complex);
}

tristar_status tsi_row_sweeps_apply(tristar_precond_t *precond, tristar_op op, int64_t nrhs, const void *b,
                                    void *x, bool *done) {
  tsi_row_sweeps *s = &precond->by_rows;
  *done = false;
  if (!atomic_load_explicit(&s->active, memory_order_acquire)) return TRISTAR_OK;
  if (nrhs == 1 && is_own_op(precond, op) &&
      atomic_fetch_add_explicit(&s->applications, 1, memory_order_relaxed) < s->most) {
    (void)pthread_rwlock_rdlock(&s->lock);
    *done = atomic_load(&s->active);
    if (*done)
      s->kernels->solve_factors(&s->factors, s->cross, s->inverse, precond->symmetry == TRISTAR_HERMITIAN, b,
                                x);
    (void)pthread_rwlock_unlock(&s->lock);
  }
  return *done ? TRISTAR_OK : replace(precond);
}

/* Counts the level sets, unless they were counted. */
static tristar_status count_levels(const tristar_precond_t *p, tristar_precond_stats *stats) {
  tsi_env *env = &p->ts->env;
  const tsi_factor_rows *f = &p->by_rows.factors;
  const bool shared = tsi_precond_shares_factor(p), by_rows = atomic_load(&p->by_rows.active);
  if (!by_rows && (p->sweep[0].factor == NULL || p->sweep[1].plan == NULL)) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_index, level, p->n);
  if (by_rows) {
    stats->levels_upper = tsi_find_levels(f, false, level);
    stats->levels_lower = shared ? stats->levels_upper : tsi_find_levels(f, true, level);
  } else {
    stats->levels_lower = tsi_import_levels(p->sweep[0].factor, level);
    stats->levels_upper =
        p->sweep[1].factor == NULL ? stats->levels_lower : tsi_import_levels(p->sweep[1].factor, level);
  }
  return TRISTAR_OK;
}

tristar_precond_stats tsi_row_sweeps_stats(const tristar_precond_t *precond) {
  pthread_rwlock_t *lock = (pthread_rwlock_t *)&precond->by_rows.lock;
  if (tsi_env_is_inherited(&precond->ts->env))
    return precond->stats; /* the parent process may hold its lock forever */
  (void)pthread_rwlock_rdlock(lock);
  tristar_precond_stats stats = precond->stats;
  if (count_levels(precond, &stats) != TRISTAR_OK) stats.levels_lower = stats.levels_upper = 0;
  (void)pthread_rwlock_unlock(lock);
  return stats;
}
