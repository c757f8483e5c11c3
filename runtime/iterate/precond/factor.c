/* Incomplete factors of a matrix: memory, scratch and kernels; see precond.h. */
#include <inttypes.h>

#include "runtime/base/grow.h"
#include "runtime/iterate/precond/precond.h"
#include "runtime/iterate/precond/row_failure.h"

tristar_status tsi_breakdown_report(tsi_env *env, tsi_breakdown_kind kind, int64_t row) {
  switch (kind) {
  case TSI_BREAKDOWN_NONE:
    break;
  case TSI_BREAKDOWN_ZERO:
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "the pivot of row %" PRId64 ", counted from 0, is zero", row);
  case TSI_BREAKDOWN_NOT_POSITIVE:
    TSI_FAIL(env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
             "the pivot of row %" PRId64 ", counted from 0, is not positive; a shift of the "
             "diagonal (option shift) may help",
             row);
  case TSI_BREAKDOWN_NOT_FINITE:
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
             "row %" PRId64 " of the factors, counted from 0, has NaN or infinity", row);
  }
  return TRISTAR_OK;
}

static tristar_status allocate_values(const tristar_precond_t *p, tsi_count entries, void **values) {
  return TSI_ALLOC_SIZED(&p->ts->env, *values, entries, p->sparse->scalar_bytes);
}

/* ---- By level of fill ---------------------------------------------------------------------------------- */

/* The pattern of factors with a given pattern. */
static tsi_factor_rows *pattern_of(tristar_precond_t *p) {
  return p->filled.ptr != NULL ? &p->filled : &p->rows;
}

void tsi_precond_finish_factors(const tristar_precond_t *precond, tsi_factor_rows *factors) {
  tsi_env *env = &precond->ts->env;
  TSI_FREE(env, factors->values);
  if (factors->ptr == precond->filled.ptr || factors->ptr == precond->rows.ptr)
    *factors = (tsi_factor_rows){.n = 0};
  tsi_factor_rows_finish(factors);
}

void tsi_precond_leave_pattern(tristar_precond_t *precond, const tsi_factor_rows *factors) {
  tsi_factor_rows *lender = pattern_of(precond);
  if (factors->ptr != lender->ptr) return;
  if (lender == &precond->rows) {
    if (lender->ptr == precond->pattern->ptr) {
      tsi_own(NULL, lender->ptr);
      tsi_own(NULL, lender->index);
    }
    precond->full.ptr = NULL;
    precond->full.index = NULL;
  }
  *lender = (tsi_factor_rows){.n = 0};
}

/* One factorization. */
typedef struct numeric {
  const tristar_precond_t *p;
  const tsi_factor_rows *a;
  const tsi_dropping *how;
  tsi_factor_rows *out;
  tsi_index *place;       /* n for each part; NULL: rows are dense */
  char *row;              /* n scalars for each part */
  const tsi_index *cross; /* IC, see incomplete.h */
  void *dropped;          /* IC, see incomplete.h */
  tsi_row_failure failure;
} numeric;

static tsi_breakdown_kind factor_row(numeric *f, tsi_index i, size_t first) {
  const tsi_incomplete_kernels *kernels = f->p->kernels;
  tsi_index *place = f->place + first;
  return f->cross ? kernels->ic(f->a, f->how, i, place, f->cross, f->dropped, f->out)
                  : kernels->ilu(f->a, f->how, i, place, f->out);
}

static tsi_breakdown_kind factor_dense_row(numeric *f, tsi_index i, size_t first) {
  const tsi_incomplete_kernels *kernels = f->p->kernels;
  void *row = f->row + first * f->p->sparse->scalar_bytes;
  return f->cross ? kernels->ic_dense(f->a, f->how, i, row, f->cross, f->out)
                  : kernels->ilu_dense(f->a, f->how, i, row, f->out);
}

static void run_row(void *context, tsi_index i, tsi_index part) {
  numeric *f = context;
  const size_t first = (size_t)part * (size_t)f->a->n; /* start of the part's scratch */
  if (tsi_row_failure_before(&f->failure, i)) return;
  const tsi_breakdown_kind kind = f->place ? factor_row(f, i, first) : factor_dense_row(f, i, first);
  if (kind != TSI_BREAKDOWN_NONE) tsi_row_failure_keep(&f->failure, kind, i);
}

/* Allocates dense rows if dropped fill is not needed and the rows take no more memory than the values.
 * Otherwise allocates places. */
static tristar_status allocate_scratch(numeric *f, tsi_count parts) {
  tsi_env *env = &f->p->ts->env;
  const tsi_count places = (tsi_count)f->a->n * parts;
  if (f->how->modified == 0 && places <= f->out->ptr[f->a->n])
    return TSI_ALLOC_SIZED_ZERO(env, f->row, places, f->p->sparse->scalar_bytes);
  TSI_TRY(TSI_ALLOC(env, f->place, places));
  for (tsi_count j = 0; j < places; j++) f->place[j] = TSI_NONE;
  return TRISTAR_OK;
}

/* Computes cross[e] for each entry (i, k) left of the diagonal. By ascending i, the entries of column k are
 * in the order of row k of U. */
tristar_status tsi_find_cross(tsi_env *env, const tsi_factor_rows *rows, tsi_index **cross) {
  TSI_TRY(TSI_ALLOC(env, *cross, rows->ptr[rows->n]));
  TSI_SCRATCH_ZERO(env, tsi_index, next, rows->n);
  for (tsi_index i = 0; i < rows->n; i++)
    for (tsi_count e = rows->ptr[i]; e < rows->diagonal[i]; e++) (*cross)[e] = ++next[rows->index[e]];
  return TRISTAR_OK;
}

/* Minimum number of entries of factors for which tasks are considered. */
#define LEAST_OF_FACTORS 200000

/* Number of parts to be considered for tasks. */
static tsi_index count_parts(const tristar_precond_t *p, tsi_index n, tsi_count entries) {
  const tsi_index workers = tsi_expected_cpu_workers(p->ts->workers.wishes.workers);
  return (tsi_index)tsi_count_min(workers, 2 * entries / n);
}

bool tsi_precond_may_have_tasks(const tristar_precond_t *p, tsi_index n, tsi_count entries) {
  const bool requested = p->options.engine == TRISTAR_ENGINE_TASKS;
  if (!p->ts->workers.allowed || p->options.engine == TRISTAR_ENGINE_SERIAL || n == 0) return false;
  if (requested) return true;
  return entries >= LEAST_OF_FACTORS && count_parts(p, n, entries) >= TSI_ROW_TASKS_LEAST;
}

/* Makes tasks for the rows, unless computing rows in order is better; decides once. The scratch of the parts
 * takes no more memory than the factors. */
tristar_status tsi_precond_choose_tasks(tristar_precond_t *p, const tsi_factor_rows *rows) {
  const bool requested = p->options.engine == TRISTAR_ENGINE_TASKS;
  const tsi_count entries = rows->ptr[rows->n];
  if (p->tasks_chosen || !tsi_precond_may_have_tasks(p, rows->n, entries)) return TRISTAR_OK;
  const tsi_index parts = count_parts(p, rows->n, entries);
  if (parts > 1) TSI_TRY(tsi_row_tasks_create(p->ts, rows, parts, requested, &p->tasks));
  p->tasks_chosen = true;
  return TRISTAR_OK;
}

static tristar_status run_rows(numeric *f, tsi_row_tasks *tasks) {
  if (tasks)
    TSI_TRY(tsi_row_tasks_run(tasks, run_row, f));
  else
    for (tsi_index i = 0; i < f->a->n && !tsi_row_failure_before(&f->failure, i); i++) run_row(f, i, 0);
  return tsi_precond_report(f->p, tsi_row_failure_get(&f->failure));
}

/* Factors on the pattern of A replace its values. */
static tristar_status factor_by_level(tristar_precond_t *p, tsi_factor_rows *a, const tsi_dropping *how,
                                      tsi_factor_rows *out) {
  tsi_index **cross = &p->by_rows.cross;
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &p->ts->env;
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_IC;
  const tsi_factor_rows from = *a;
  numeric f = {.p = p, .a = &from, .how = how, .out = out};
  tsi_row_failure_clear(&f.failure);
  *out = *pattern_of(p);
  out->values = NULL;
  if (p->filled.ptr != NULL)
    TSI_TRY_OUT(allocate_values(p, out->ptr[a->n], &out->values));
  else
    out->values = tsi_take(&a->values);
  if (symmetric && *cross == NULL) TSI_TRY_OUT(tsi_find_cross(env, out, cross));
  f.cross = *cross;
  if (symmetric && how->modified > 0) /* a row changes later rows, so rows are computed in order */
    TSI_TRY_OUT(TSI_ALLOC_SIZED_ZERO(env, f.dropped, a->n, p->sparse->scalar_bytes));
  else
    TSI_TRY_OUT(tsi_precond_choose_tasks(p, out));
  TSI_TRY_OUT(allocate_scratch(&f, p->tasks ? tsi_row_tasks_parts(p->tasks) : 1));
  TSI_TRY_OUT(run_rows(&f, p->tasks));
out:
  TSI_FREE(env, f.place);
  TSI_FREE(env, f.row);
  TSI_FREE(env, f.dropped);
  return status;
}

/* ---- By size ------------------------------------------------------------------------------------------- */

static tristar_status allocate_work(const tristar_precond_t *p, tsi_index n, tsi_threshold_work *work) {
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_ICT;
  TSI_TRY(TSI_ALLOC_SIZED_IN(work, work->row, n, p->sparse->scalar_bytes));
  TSI_TRY(TSI_ALLOC_IN(work, work->place, n));
  TSI_TRY(TSI_ALLOC_IN(work, work->lower, n));
  TSI_TRY(TSI_ALLOC_IN(work, work->upper, n));
  TSI_TRY(TSI_ALLOC_IN(work, work->kept, n));
  TSI_TRY(TSI_ALLOC_IN(work, work->magnitude, n));
  if (symmetric) TSI_TRY(TSI_ALLOC_IN(work, work->next, n));
  for (tsi_index j = 0; j < n; j++) work->place[j] = work->kept[j] = TSI_NONE;
  return TRISTAR_OK;
}

static tristar_status factor_by_size(tristar_precond_t *p, tsi_factor_rows *a, const tsi_dropping *how,
                                     tsi_factor_rows *out) {
  tsi_env *env = &p->ts->env;
  const tsi_index n = a->n;
  const bool symmetric = p->options.kind == TRISTAR_PRECOND_ICT;
  tsi_count capacity = a->ptr[n];
  tsi_breakdown at = {TSI_BREAKDOWN_NONE, 0};
  out->n = n;
  TSI_SCRATCH_ZERO(env, tsi_threshold_work, work, 1);
  TSI_TRY(allocate_work(p, n, work));
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, out->diagonal, n));
  TSI_TRY(TSI_ALLOC(env, out->index, capacity));
  TSI_TRY(allocate_values(p, capacity, &out->values));
  out->ptr[0] = 0;
  for (;;) {
    at = (symmetric ? p->kernels->ict : p->kernels->ilut)(a, how, work, at.row, capacity, out);
    TSI_TRY(tsi_precond_report(p, at));
    if (at.row == n) break;
    const tsi_count used = out->ptr[at.row];
    capacity += tsi_count_max(capacity / 2, tsi_dropping_space(a, how, at.row));
    TSI_TRY(tsi_grow(env, (void **)&out->index, sizeof *out->index, used, capacity));
    TSI_TRY(tsi_grow(env, &out->values, p->sparse->scalar_bytes, used, capacity));
  }
  return TRISTAR_OK;
}

tristar_status tsi_precond_factor(tristar_precond_t *precond, tsi_factor_rows *a, bool adjoint,
                                  tsi_factor_rows *out) {
  const tristar_precond_options *o = &precond->options;
  const tsi_dropping how = {.shift = o->shift,
                            .modified = o->modified,
                            .drop = o->drop,
                            .fill = o->fill < a->n ? o->fill : a->n,
                            .adjoint = adjoint};
  const bool by_level = o->kind == TRISTAR_PRECOND_ILU || o->kind == TRISTAR_PRECOND_IC;
  memset(out, 0, sizeof *out);
  TSI_TRY((by_level ? factor_by_level : factor_by_size)(precond, a, &how, out));
  if (precond->ts->env.check) TSI_TRY(tsi_factor_rows_check(&precond->ts->env, out));
  return TRISTAR_OK;
}
