/* See front_places.h. */
#include "runtime/factor/front_places.h"

#include <float.h>
#include <stdlib.h>

#include "runtime/factor/front_device.h"
#include "runtime/machine/devices.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/exec/starpu/tasks.h"

/* Assumed shares: of the rates in a data sheet for products of the sizes of fronts and for transfers; of a
 * device's memory for a front. */
#define FLOPS_REACHED 0.5
#define BUS_REACHED 0.8
#define MEMORY_SHARE 0.9
/* Assumed additional seconds of a device. Per front: most of it to open its BLAS. Per panel: its diagonal
 * block is copied to a core, factored there and copied back, with a dozen calls. */
#define FRONT_SECONDS 1e-3
#define PANEL_SECONDS 5e-4
#define ENTRY_WORK 4 /* Operations to assemble and pack an entry of a front, as in factorization.c. */

/* ---- The schedule -------------------------------------------------------------------------------------- */

typedef struct ranked {
  double rank;
  tsi_index s;
} ranked;

/* Longest path first. Children precede their parents, whose paths are shorter. */
static int compare(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
  return x->s < y->s ? -1 : x->s > y->s;
}

typedef struct schedule {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method;
  const tsi_front_costs *costs;
  double cores;                    /* Time when they are free. */
  double device[TSI_DEVICES_MOST]; /* Time when each is free. */
} schedule;

static double cores_seconds(const schedule *l, tsi_index s) {
  const tsi_symbolic *symbolic = l->symbolic;
  const double f =
      (double)(symbolic->start[s + 1] - symbolic->start[s] + symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return (l->costs->scale * tsi_front_flops(symbolic, l->method, s) + ENTRY_WORK * f * f + 1) /
         l->costs->cores_flops;
}

static double device_seconds(const schedule *l, tsi_index s, const tsi_device_front_size *size) {
  const tsi_front_costs *c = l->costs;
  return c->front_seconds + c->panel_seconds * (l->panels->first[s + 1] - l->panels->first[s]) +
         c->scale * tsi_front_flops(l->symbolic, l->method, s) / c->device_flops +
         (size->up + size->down) / c->bus_bandwidth;
}

static double later(double a, double b) {
  return a > b ? a : b;
}

/* Chooses the processor for the front of s, which may begin at time `ready`. *end: time when the front
 * ends. */
static tsi_index put(schedule *l, tsi_index s, bool tiled, double ready, tsi_front_places *places,
                     double *end) {
  const tsi_front_costs *c = l->costs;
  tsi_index best = TSI_NONE;
  *end = later(ready, l->cores) + cores_seconds(l, s);
  if (tiled) {
    const tsi_device_front_size size = tsi_device_front_measure(l->symbolic, l->method, c->scalar_bytes, s);
    const bool fits = size.memory <= c->device_memory;
    const double seconds = device_seconds(l, s, &size);
    places->unfit += !fits;
    for (tsi_index d = 0; d < c->devices && fits; d++) {
      const double there = later(ready, l->device[d]) + seconds;
      if (there >= *end && !(c->devices_first && best == TSI_NONE)) continue;
      best = d;
      *end = there;
    }
    if (best != TSI_NONE) {
      l->device[best] = *end;
      places->fronts++;
      places->flops += tsi_front_flops(l->symbolic, l->method, s);
      places->bus_bytes += size.up + size.down;
      return best;
    }
  }
  l->cores = *end;
  return TSI_NONE;
}

tristar_status tsi_fronts_place(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                tristar_method method, const bool *tiled, const tsi_front_costs *costs,
                                tsi_index *device, tsi_front_places *places) {
  schedule l = {symbolic, panels, method, costs, 0, {0}};
  TSI_SCRATCH(env, ranked, order, symbolic->count);
  TSI_SCRATCH_ZERO(env, double, ready, symbolic->count);
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const tsi_index parent = symbolic->parent[s];
    order[s] = (ranked){cores_seconds(&l, s) + (parent == TSI_NONE ? 0 : order[parent].rank), s};
  }
  qsort(order, (size_t)symbolic->count, sizeof *order, compare);
  for (tsi_index k = 0; k < symbolic->count; k++) {
    const tsi_index s = order[k].s, parent = symbolic->parent[s];
    double end;
    device[s] = put(&l, s, tiled[s], ready[s], places, &end);
    if (parent != TSI_NONE) ready[parent] = later(ready[parent], end);
  }
  return TRISTAR_OK;
}

/* ---- Devices ------------------------------------------------------------------------------------------ */

/* Returns why fronts cannot be on devices; NULL: they can. */
static const char *obstacle(const tristar_factor_t *factor) {
  if (!factor->ts->workers.allowed) return "there are no tasks";
  if (tsi_devices_obstacle()) return tsi_devices_obstacle();
  if (tsi_devices.dense[0] == NULL && !tsi_devices.simulated)
    return "this build of TriStar has no BLAS for devices";
  if (!tsi_tasks_may_wait()) return "a factorization inside a StarPU task is that task's alone";
  return NULL;
}

static tsi_front_costs costs_of(const tristar_factor_t *factor) {
  const tsi_device_facts facts = tsi_device_describe(0);
  const tsi_device *device = tsi_device_named(facts.name);
  const tristar_analysis_options *o = &factor->analysis->options;
  const bool complex = strchr("cz", factor->analysis->factor_scalar) != NULL;
  return (tsi_front_costs){.scalar_bytes = factor->scalar_bytes,
                           .scale = complex ? 4 : 1,
                           .cores_flops = TSI_CORE_FLOPS * later(tsi_starpu_cpu_workers(), 1),
                           .devices = tsi_devices_count(NULL),
                           .device_flops = FLOPS_REACHED * device->flops,
                           .device_memory = o->device_bytes > 0 ? (double)o->device_bytes
                                            : facts.memory > 0  ? MEMORY_SHARE * facts.memory
                                                                : DBL_MAX,
                           .bus_bandwidth = BUS_REACHED * device->bus,
                           .front_seconds = FRONT_SECONDS,
                           .panel_seconds = PANEL_SECONDS,
                           .devices_first = o->place == TRISTAR_PLACE_GPU};
}

/* Finds the fronts that are cut into tiles. *any: there is one. */
static tristar_status find_tiled(const tristar_factor_t *factor, bool **tiled, bool *any) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  *any = false;
  TSI_TRY(TSI_ALLOC(env, *tiled, an->symbolic->count));
  TSI_TRY(tsi_factorization_find_tiled(env, an->symbolic, an->stats.method, &factor->ts->fronts, *tiled));
  if (an->schur_count > 0) (*tiled)[an->schur_supernode] = false; /* It has no operations. */
  for (tsi_index s = 0; s < an->symbolic->count; s++) *any |= (*tiled)[s];
  return TRISTAR_OK;
}

static tristar_status choose(const tristar_factor_t *factor, const bool *tiled, tsi_front_places *places) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_front_costs costs = costs_of(factor);
  TSI_TRY(TSI_ALLOC(env, places->device, an->symbolic->count));
  TSI_TRY(tsi_fronts_place(env, an->symbolic, an->panels, an->stats.method, tiled, &costs, places->device,
                           places));
  if (places->fronts == 0) TSI_FREE(env, places->device);
  tsi_log(env, TRISTAR_LOG_INFO,
          "factor: %lld fronts on devices, %.3g of %.3g Gflop, %.3g MB on their buses; no memory for %lld",
          (long long)places->fronts, 1e-9 * places->flops, 1e-9 * an->stats.flops, 1e-6 * places->bus_bytes,
          (long long)places->unfit);
  return TRISTAR_OK;
}

tristar_status tsi_front_places_choose(const tristar_factor_t *factor, double *start_seconds,
                                       tsi_front_places *places) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_place place = factor->analysis->options.place;
  const bool requested = place == TRISTAR_PLACE_GPU;
  bool *tiled = NULL, any;
  *places = (tsi_front_places){.optional = place == TRISTAR_PLACE_AUTO};
  if (place == TRISTAR_PLACE_CPU || factor->update != NULL) return TRISTAR_OK;
  const char *reason = obstacle(factor);
  if (reason && requested)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU for the factorization: %s", reason);
  if (reason) return TRISTAR_OK;
  TSI_TRY_OUT(find_tiled(factor, &tiled, &any));
  if (!any && !requested) goto out;
  TSI_TRY_OUT(tsi_context_need_starpu(factor->ts, start_seconds));
  const int devices = tsi_devices_count(NULL);
  if (devices == 0 && requested)
    TSI_FAIL_OUT(env, TRISTAR_ERR_NO_WORKER, "PLACE_GPU for the factorization: StarPU has no worker of %s",
                 tsi_devices.name);
  if (devices > 0 && any) TSI_TRY_OUT(choose(factor, tiled, places));
out:
  TSI_FREE(env, tiled);
  if (status != TRISTAR_OK) tsi_front_places_finish(env, places);
  return status;
}

void tsi_front_places_finish(tsi_env *env, tsi_front_places *places) {
  TSI_FREE(env, places->device);
  *places = (tsi_front_places){.device = NULL};
}
