/* See residents.h. */
#include "runtime/factor/residents.h"

#include "codelets/cpu/base/panel.h"
#include "runtime/base/threads.h"
#include "runtime/factor/factor.h"
#include "runtime/machine/device_model.h"
#include "runtime/exec/starpu/tasks.h"

tristar_status tsi_residents_init(tsi_env *env, tsi_residents *residents) {
  *residents = (tsi_residents){.generation = -1};
  return tsi_mutex_init(env, &residents->lock);
}

void tsi_residents_finish(tsi_env *env, tsi_residents *residents) {
  TSI_FREE(env, residents->from);
  pthread_mutex_destroy(&residents->lock);
}

/* ---- One resident -------------------------------------------------------------------------------------- */

void tsi_resident_destroy(tsi_resident **resident) {
  tsi_resident *r = *resident;
  if (r == NULL) return;
  for (int v = 0; v < 2; v++) tsi_device_data_destroy(&r->values[v]);
  tsi_device_data_destroy(&r->from);
  tsi_device_data_destroy(&r->inverse);
  for (int i = 0; i < 2; i++) {
    tsi_device_data_destroy(&r->tables[i]);
    tsi_subtree_tables_destroy(&r->cut[i]);
  }
  tsi_release(tsi_take(resident));
}

/* Registers its data, all of which main memory has. */
static tristar_status register_data(tsi_env *env, const tsi_resident_source *source, tsi_resident *r) {
  const size_t scalar = source->scalar_bytes;
  const size_t columns = (size_t)r->cut[0]->subtree->columns;
  for (int k = 0; k < 2; k++) {
    const tsi_subtree_tables *cut = r->cut[tsi_resident_side(r, k == 1)];
    if (source->stream[k])
      TSI_TRY(tsi_device_data_create(env, (char *)source->stream[k] + (size_t)cut->first_value * scalar,
                                     (size_t)(cut->end_value - cut->first_value + TSI_STREAM_PAD) * scalar,
                                     &r->values[k]));
  }
  if (source->from)
    TSI_TRY(
        tsi_device_data_create(env, source->from + source->column, columns * sizeof *source->from, &r->from));
  if (source->inverse)
    TSI_TRY(tsi_device_data_create(env, (char *)source->inverse + 2 * (size_t)source->column * scalar,
                                   2 * columns * scalar, &r->inverse));
  for (int i = 0; i < r->sides; i++)
    TSI_TRY(tsi_device_data_create(env, r->cut[i]->tables.block, r->cut[i]->tables.bytes, &r->tables[i]));
  return TRISTAR_OK;
}

/* Forecasts the times of its sweeps. */
static tristar_status forecast(tsi_env *env, size_t scalar_bytes, tsi_resident *r) {
  tsi_sweep_prediction sweep;
  for (int backward = 0; backward < 2; backward++) {
    TSI_TRY(tsi_device_predict(env, &r->cut[tsi_resident_side(r, backward)]->tables, backward, scalar_bytes,
                               &r->options.costs, &sweep));
    r->seconds[backward] = sweep.seconds;
  }
  return TRISTAR_OK;
}

tristar_status tsi_resident_create(tsi_env *env, const tsi_resident_source *source,
                                   const tsi_device_options *options, tsi_resident **out) {
  TSI_CLEANUP(tsi_resident_destroy) tsi_resident *r = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, r, 1));
  r->options = *options;
  r->sides = source->sides;
  for (int i = 0; i < r->sides; i++)
    TSI_TRY(tsi_subtree_tables_create(env, &source->subtree[i], source->chunk, options, &r->cut[i]));
  TSI_TRY(forecast(env, source->scalar_bytes, r));
  TSI_TRY(register_data(env, source, r));
  *out = tsi_take(&r);
  return TRISTAR_OK;
}

tristar_status tsi_resident_renew(tsi_env *env, const tsi_resident *r) {
  tsi_device_data *const data[] = {r->values[0], r->values[1], r->from, r->inverse};
  for (size_t k = 0; k < sizeof data / sizeof *data; k++)
    if (data[k]) TSI_TRY(tsi_device_data_renew(env, data[k]));
  return TRISTAR_OK;
}

static tristar_status create(tristar_factor_t *factor, const tsi_chunks *const chunks[2], tsi_index chunk,
                             const tsi_device_options *options, tsi_resident **out) {
  const tristar_analysis_t *an = factor->analysis;
  tsi_resident_source source = {.sides = tsi_analysis_sides(an),
                                .chunk = chunk,
                                .column = chunks[0]->column[chunk],
                                .scalar_bytes = factor->scalar_bytes,
                                .stream = {factor->lower, factor->upper},
                                .from = factor->residents.from,
                                .inverse = factor->inverse};
  for (int i = 0; i < source.sides; i++) {
    const tsi_structure side = tsi_analysis_structure(an, i);
    source.subtree[i] = (tsi_subtree_source){
        chunks[i], side.symbolic, side.panels, side.panel_values, tsi_analysis_inverse(an), 0};
  }
  return tsi_resident_create(&factor->ts->env, &source, options, out);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static bool is_like(const tsi_resident *r, const tsi_chunks *chunks, tsi_index chunk,
                    const tsi_device_options *o) {
  const tsi_device_subtree *subtree = r->cut[0]->subtree;
  return subtree->panel == chunks->panel[chunk] &&
         subtree->panels->count == chunks->panel[chunk + 1] - chunks->panel[chunk] &&
         r->options.node_bytes == o->node_bytes && r->options.group_bytes == o->group_bytes &&
         r->options.warp_bytes == o->warp_bytes;
}

/* The lock is held. */
static tristar_status follow(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  tsi_residents *all = &factor->residents;
  if (all->generation == factor->generation) return TRISTAR_OK;
  if (all->first) TSI_TRY(tsi_tasks_check_waiting(env));
  for (const tsi_resident *r = all->first; r; r = r->next) TSI_TRY(tsi_resident_renew(env, r));
  if (factor->pivots && all->from == NULL) TSI_TRY(TSI_ALLOC(env, all->from, factor->analysis->symbolic->n));
  if (all->from) tsi_device_interchanges(factor->analysis->panels, factor->pivots, all->from);
  all->generation = factor->generation;
  return TRISTAR_OK;
}

tristar_status tsi_residents_follow(tristar_factor_t *factor) {
  pthread_mutex_lock(&factor->residents.lock);
  const tristar_status status = follow(factor);
  pthread_mutex_unlock(&factor->residents.lock);
  return status;
}

tristar_status tsi_resident_take(tristar_factor_t *factor, const tsi_chunks *const chunks[2], tsi_index chunk,
                                 const tsi_device_options *options, tsi_resident **out) {
  tristar_status status = TRISTAR_OK;
  tsi_residents *all = &factor->residents;
  *out = NULL;
  pthread_mutex_lock(&all->lock);
  TSI_TRY_OUT(follow(factor));
  tsi_resident *r = all->first;
  while (r && !is_like(r, chunks[0], chunk, options)) r = r->next;
  if (r == NULL) {
    TSI_TRY_OUT(create(factor, chunks, chunk, options, &r));
    r->next = all->first;
    all->first = r;
  }
  r->plans++;
  *out = r;
out:
  pthread_mutex_unlock(&all->lock);
  return status;
}

void tsi_resident_give_back(tristar_factor_t *factor, tsi_resident **resident) {
  tsi_residents *all = &factor->residents;
  if (*resident == NULL) return;
  pthread_mutex_lock(&all->lock);
  if (--(*resident)->plans == 0) {
    tsi_resident **link = &all->first;
    while (*link != *resident) link = &(*link)->next;
    *link = (*resident)->next;
    tsi_resident_destroy(resident);
  }
  pthread_mutex_unlock(&all->lock);
  *resident = NULL;
}
