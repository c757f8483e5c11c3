/* Factors the fronts that changed entries touch: see update.h. */
#include "runtime/factor/update.h"

#include "runtime/factor/method.h"

#define AT_ONCE 128 /* Number of values compared by one call. */

/* ---- Life --------------------------------------------------------------------------------------------- */

static void find_supernodes(const tsi_symbolic *symbolic, tsi_index *supernode) {
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_index j = symbolic->start[s]; j < symbolic->start[s + 1]; j++) supernode[j] = s;
}

tristar_status tsi_update_create(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  TSI_CLEANUP(tsi_update_release) tsi_update *update = NULL;
  if (factor->update) return TRISTAR_OK;
  if (an->imported)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "an imported factor gets new values by tristar_reimport");
  if (an->options.place == TRISTAR_PLACE_GPU)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "changes of few entries need fronts on cores: the analysis has PLACE_GPU");
  TSI_TRY(TSI_ALLOC_ZERO(env, update, 1));
  TSI_TRY(TSI_ALLOC_IN(update, update->touched, an->symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(update, update->resized, an->symbolic->n));
  TSI_TRY(TSI_ALLOC_IN(update, update->supernode, an->symbolic->n));
  find_supernodes(an->symbolic, update->supernode);
  factor->update = tsi_take(&update);
  return TRISTAR_OK;
}

void tsi_update_discard(tsi_update *update) {
  if (update == NULL) return;
  tsi_numeric_destroy(&update->numeric);
  tsi_pivot_sizes_release(&update->sizes);
  tsi_release(tsi_take(&update->facts));
  update->kept_bytes = 0;
}

void tsi_update_release(tsi_update **update) {
  tsi_update_discard(*update);
  tsi_release(tsi_take(update));
}

void tsi_update_take(tsi_update *update, tsi_numeric **numeric, tsi_pivot_sizes *sizes) {
  if (update == NULL) return;
  const tsi_numeric *kept = update->numeric = tsi_take(numeric);
  update->sizes = *sizes;
  *sizes = (tsi_pivot_sizes){.column = NULL};
  update->numeric->sizes = &update->sizes;
  tsi_numeric_discard_tasks(update->numeric);
  for (tsi_index s = 0; s < kept->analysis->symbolic->count; s++)
    if (kept->complement[s])
      update->kept_bytes += (size_t)tsi_numeric_complement_size(kept, s) * kept->kernels->scalar_bytes;
  tsi_update_begin_exponents(kept->factor);
}

bool tsi_update_is_ready(const tsi_update *update) {
  return update != NULL && update->numeric != NULL;
}

/* ---- New values --------------------------------------------------------------------------------------- */

/* Handles an entry that gets another value. */
typedef tristar_status (*visit_fn)(tristar_factor_t *factor, tsi_index line, tsi_count p, const char *value);

static tsi_index line_of(const tsi_pattern *pattern, tsi_count p) {
  tsi_index first = 0, end = pattern->n;
  while (end - first > 1) {
    const tsi_index middle = first + (end - first) / 2;
    if (pattern->ptr[middle] <= p)
      first = middle;
    else
      end = middle;
  }
  return first;
}

/* values: of the entries of the pattern. */
static tristar_status visit_all(tristar_factor_t *factor, const char *values, visit_fn visit,
                                int64_t *changed) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const size_t bytes = factor->user_bytes;
  const tsi_count count = pattern->ptr[pattern->n];
  for (tsi_count begin = 0; begin < count; begin += AT_ONCE) {
    const tsi_count end = count - begin < AT_ONCE ? count : begin + AT_ONCE;
    const char *old = (const char *)factor->values + (size_t)begin * bytes,
               *new = values + (size_t)begin *bytes;
    if (memcmp(old, new, (size_t)(end - begin) * bytes) == 0) continue;
    tsi_index line = line_of(pattern, begin);
    for (tsi_count p = begin; p < end; p++, old += bytes, new += bytes) {
      if (memcmp(old, new, bytes) == 0) continue;
      while (pattern->ptr[line + 1] <= p) line++;
      ++*changed;
      TSI_TRY(visit(factor, line, p, new));
    }
  }
  return TRISTAR_OK;
}

static tristar_status visit_some(tristar_factor_t *factor, const tsi_new_values *given, visit_fn visit,
                                 int64_t *changed) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const size_t bytes = factor->user_bytes;
  for (int64_t k = 0; k < given->count; k++) {
    const tsi_count p = pattern->place ? pattern->place[given->entry[k]] : given->entry[k];
    const char *value = (const char *)given->values + (size_t)k * bytes;
    if (memcmp((const char *)factor->values + (size_t)p * bytes, value, bytes) == 0) continue;
    ++*changed;
    TSI_TRY(visit(factor, line_of(pattern, p), p, value));
  }
  return TRISTAR_OK;
}

static tristar_status visit_changes(tristar_factor_t *factor, const tsi_new_values *given, visit_fn visit,
                                    int64_t *changed) {
  *changed = 0;
  return given->count < 0 ? visit_all(factor, given->values, visit, changed)
                          : visit_some(factor, given, visit, changed);
}

static tristar_status check_entry(tristar_factor_t *factor, tsi_index line, tsi_count p, const char *value) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  if (tsi_sparse_kernels_select(pattern->scalar)->first_not_finite(1, value) == 1) return TRISTAR_OK;
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_NOT_FINITE,
           "the new value of row %d, column %d (counted from 0) is NaN or infinite",
           pattern->by_rows ? line : pattern->index[p], pattern->by_rows ? pattern->index[p] : line);
}

tristar_status tsi_update_check(const tristar_factor_t *factor, tsi_new_values *given, void **sums) {
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  int64_t changed;
  if (given->count > 0 && pattern->given > pattern->ptr[pattern->n])
    TSI_FAIL(
        env, TRISTAR_ERR_UNSUPPORTED,
        "the matrix has several entries at one place, whose sum is stored: give the values of all entries");
  for (int64_t k = 0; k < given->count; k++)
    if (given->entry[k] < 0 || given->entry[k] >= pattern->given)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "entry[%lld] is %lld, but entries are numbered from 0 to %lld",
               (long long)k, (long long)given->entry[k], (long long)pattern->given - 1);
  if (given->count < 0 && pattern->place != NULL) {
    TSI_TRY(tsi_pattern_allocate_values(env, pattern, sums));
    tsi_pattern_take(pattern, given->values, *sums);
    given->values = *sums;
  }
  return visit_changes((tristar_factor_t *)factor, given, check_entry, &changed);
}

/* ---- Fronts that are touched ----------------------------------------------------------------------------
 */

void tsi_update_touch_entry(const tristar_factor_t *factor, tsi_index row, tsi_index column) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index *supernode = factor->update->supernode;
  tsi_update_touch(factor, supernode[tsi_index_min(an->in_place[row], an->out_place[column])]);
  if (an->pattern->symmetry != TRISTAR_GENERAL)
    tsi_update_touch(factor, supernode[tsi_index_min(an->in_place[column], an->out_place[row])]);
}

static tristar_status take_entry(tristar_factor_t *factor, tsi_index line, tsi_count p, const char *value) {
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_index other = pattern->index[p];
  TSI_TRY(tsi_update_note(factor, line, p, value));
  memcpy((char *)factor->values + (size_t)p * factor->user_bytes, value, factor->user_bytes);
  tsi_update_touch_entry(factor, pattern->by_rows ? line : other, pattern->by_rows ? other : line);
  return TRISTAR_OK;
}

void tsi_update_count_fronts(const tristar_factor_t *factor, const bool *touched,
                             tristar_update_result *result) {
  const tristar_analysis_t *an = factor->analysis;
  result->fronts = 0;
  result->flops = 0;
  for (tsi_index s = 0; s < an->symbolic->count; s++) {
    if (touched && !touched[s]) continue;
    result->fronts++;
    result->flops += tsi_front_flops(an->symbolic, an->stats.method, s);
  }
}

/* ---- Factorization ---------------------------------------------------------------------------------------
 */

static tristar_status factor_whole(tristar_factor_t *factor, tristar_update_result *result) {
  result->whole = 1;
  return tsi_factor_run(factor);
}

static bool is_limited(const tristar_factor_t *factor) {
  return atomic_load(&factor->ts->env.memory.limit) > 0;
}

static tristar_status run(tristar_factor_t *factor, double flops) {
  const bool alone = factor->alone && is_limited(factor);
  const bool tasks = factor->ts->workers.allowed && flops > factor->ts->fronts.tiled_flops && !alone;
  factor->stats.device_fronts = factor->stats.device_unfit_fronts = 0;
  factor->stats.device_flops = factor->stats.device_bus_bytes = 0;
  if (tasks) TSI_TRY(tsi_context_need_starpu(factor->ts, &factor->stats.start_seconds));
  return tsi_numeric_run_again(factor->update->numeric, factor->update->touched, tasks);
}

/* The new values are finite. */
static tristar_status check_values(tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tristar_symmetry symmetry = an->pattern->symmetry;
  if (factor->update->numeric && symmetry != TRISTAR_SKEW_SYMMETRIC && symmetry != TRISTAR_HERMITIAN)
    return tsi_check_method(&factor->ts->env, an, factor->values, &factor->adjoint);
  return tsi_factor_check_values(factor);
}

static tristar_status factor_touched(tristar_factor_t *factor, tristar_update_result *result) {
  tsi_update *update = factor->update;
  const bool adjoint = factor->adjoint;
  bool whole;
  TSI_TRY(check_values(factor));
  if (update->numeric == NULL || adjoint != factor->adjoint) return factor_whole(factor, result);
  TSI_TRY(tsi_update_measure(factor, &whole));
  if (whole) return factor_whole(factor, result);
  tsi_update_count_fronts(factor, update->touched, result);
  TSI_TRY(run(factor, result->flops));
  if (is_limited(factor) && atomic_load(&update->numeric->failure.status) == TRISTAR_ERR_MEMORY)
    return factor_whole(factor, result); /* On one thread, if needed. */
  if (tsi_numeric_needs_fixed(update->numeric)) return factor_whole(factor, result);
  TSI_TRY(tsi_numeric_finish(update->numeric, factor));
  tsi_factor_order_pivots(factor);
  factor->valid = true;
  factor->generation++;
  return tsi_factor_delays(factor) ? tsi_factor_test_pivots(factor, NULL, 0) : TRISTAR_OK;
}

tristar_status tsi_factor_update(tristar_factor_t *factor, const tsi_new_values *given,
                                 tristar_update_result *result) {
  tsi_update *update = factor->update;
  const tsi_index count = factor->analysis->symbolic->count;
  const bool ready = factor->valid && !factor->released && update->numeric != NULL;
  *result = (tristar_update_result){.all_fronts = count};
  for (tsi_index s = 0; s < count; s++) update->touched[s] = false;
  for (tsi_index j = 0; j < factor->analysis->symbolic->n; j++) update->resized[j] = false;
  update->same_exponents = update->same_scaling = true;
  tristar_status status = visit_changes(factor, given, take_entry, &result->entries);
  result->kept_bytes = update->kept_bytes;
  if (ready && result->entries == 0) return status;
  if (!ready) tsi_update_discard(update);
  factor->stats.start_seconds = 0;
  factor->valid = factor->dependent = false;
  if (status == TRISTAR_OK) status = factor_touched(factor, result);
  if (status != TRISTAR_OK) tsi_update_discard(update);
  if (result->whole) tsi_update_count_fronts(factor, NULL, result);
  result->kept_bytes = update->kept_bytes;
  return tsi_factor_explain(factor, status);
}
