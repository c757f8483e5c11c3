/* Runs a factorization without arithmetic: see factor_forecast.h. */
#include "runtime/factor/factor_forecast.h"

#include <math.h>

#include "dag/adjacency.h"
#include "dag/factor/front_costs.h"
#include "runtime/base/heap.h"
#include "runtime/exec/starpu/workers.h"
#include "runtime/factor/numeric.h"
#include "runtime/factor/scaling.h"
#include "runtime/machine/calibration.h"

#define TASK_SECONDS 2e-6
#define ENTRY_SECONDS 7e-9 /* Seconds to assemble an entry of A. */
#define DENSE_FLOPS 40e9   /* Rate of large products of doubles, where none was measured. */

/* ---- The steps --------------------------------------------------------------------------------------- */

/* Change of the bytes in use: the largest rise while a step runs, and the change after its end, negative if
 * it frees. */
typedef struct step_bytes {
  double rise, rest;
} step_bytes;

static step_bytes run_step(tsi_numeric *numeric, tsi_index step) {
  tsi_env *dry = numeric->env;
  const double before = (double)tsi_memory_watch(dry);
  tsi_numeric_run_step(numeric, step);
  return (step_bytes){(double)atomic_load(&dry->memory.recent) - before,
                      (double)atomic_load(&dry->memory.current) - before};
}

/* Rates of the steps on a core. */
static tsi_front_rates rates_of(const tristar_factor_t *factor) {
  const tristar_calibration c = tsi_calibration_now(&factor->ts->machine);
  const double flops = c.multiply_gflops_one > 0 ? 1e9 * c.multiply_gflops_one : DENSE_FLOPS;
  return tsi_front_rates_of(flops, 1e9 * c.read_gbps_one, factor->scalar_bytes,
                            strchr("cz", factor->analysis->factor_scalar) != NULL);
}

static double seconds_of(const tsi_numeric *numeric, const tsi_front_rates *rates, tsi_index step) {
  double seconds, bytes;
  tsi_front_cost_of(rates, numeric->dag, step, &seconds, &bytes);
  return TASK_SECONDS + seconds + bytes * rates->byte_seconds;
}

static void run_alone(tsi_numeric *numeric, const tsi_front_rates *rates, size_t *peak, double *seconds) {
  const tsi_memory *memory = &numeric->env->memory;
  *seconds = 0;
  for (tsi_index k = 0; k < numeric->dag->steps->count; k++) {
    tsi_numeric_run_step(numeric, k);
    *seconds += seconds_of(numeric, rates, k);
  }
  *peak = atomic_load(&memory->peak);
}

/* For another run: resets the pointers of tiled fronts to complements, which the first run has freed. */
static void discard_fronts(tsi_numeric *numeric) {
  for (tsi_index k = 0; k < numeric->dag->tiled_count; k++) numeric->tiled[k].front.c = NULL;
}

/* Running steps, and steps that are ready for a worker. */
typedef struct schedule {
  tsi_numeric *numeric;
  const tsi_adjacency *after;
  tsi_index *waits; /* By step: number of steps that it waits for. */
  double *rest;     /* By step: bytes that its end gives back. */
  tsi_heap ready, running;
  const tsi_front_rates *rates;
  double now, bytes, most;
} schedule;

static void begin_step(schedule *s, tsi_index step) {
  const step_bytes bytes = run_step(s->numeric, step);
  s->rest[step] = bytes.rise - bytes.rest;
  s->bytes += bytes.rise;
  s->most = fmax(s->most, s->bytes);
  tsi_heap_push(&s->running, -(s->now + seconds_of(s->numeric, s->rates, step)),
                step); /* The first to end is the first out. */
}

static void let_go(schedule *s, tsi_index step) {
  if (--s->waits[step] <= 0) tsi_heap_push(&s->ready, s->numeric->dag->steps->step[step].priority, step);
}

static void end_step(schedule *s) {
  const tsi_keyed end = tsi_heap_pop(&s->running);
  s->now = -end.key;
  s->bytes -= s->rest[end.item];
  for (tsi_count e = s->after->ptr[end.item]; e < s->after->ptr[end.item + 1]; e++)
    let_go(s, s->after->list[e]);
}

static tristar_status run_all(tsi_env *env, tsi_numeric *numeric, const tsi_front_rates *rates, int workers,
                              size_t *peak, double *seconds) {
  const tsi_steps *steps = numeric->dag->steps;
  TSI_OWNED tsi_adjacency *after = NULL;
  TSI_TRY(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_AFTER, &after));
  TSI_SCRATCH_ZERO(env, tsi_index, waits, steps->count);
  TSI_SCRATCH(env, double, rest, steps->count);
  TSI_SCRATCH(env, tsi_keyed, ready, steps->count);
  TSI_SCRATCH(env, tsi_keyed, running, workers);
  schedule s = {.numeric = numeric, .after = after, .waits = waits, .rest = rest, .rates = rates};
  s.ready.entry = ready;
  s.running.entry = running;
  for (tsi_count e = 0; e < steps->edges; e++) waits[steps->edge[e].item]++;
  for (tsi_index k = 0; k < steps->count; k++)
    if (waits[k] == 0) let_go(&s, k);
  while (s.ready.count > 0 || s.running.count > 0)
    if (s.ready.count > 0 && s.running.count < workers)
      begin_step(&s, tsi_heap_pop(&s.ready).item);
    else
      end_step(&s);
  *peak = (size_t)s.most;
  *seconds = s.now;
  return TRISTAR_OK;
}

/* ---- The factor -------------------------------------------------------------------------------------- */

tristar_status tsi_numeric_weigh_tasks(tsi_numeric *numeric, size_t *bytes) {
  tsi_env *env = numeric->env;
  const size_t before = atomic_load(&env->memory.current);
  TSI_TRY(tsi_numeric_list_tasks(numeric));
  *bytes = atomic_load(&env->memory.current) - before + tsi_tasks_bytes(numeric->list);
  TSI_FREE(env, numeric->list);
  return TRISTAR_OK;
}

static int expected_workers(const tristar_t *ts) {
  return ts->workers.allowed ? tsi_expected_cpu_workers(ts->workers.wishes.workers) : 1;
}

/* Computes the bytes of the steps, and of their allocations while they run. */
static tristar_status weigh_run(tristar_factor_t *factor, bool scaled, tsi_factor_forecast *f,
                                size_t run[2]) {
  tsi_env *env = &factor->ts->env, dry;
  const size_t n = (size_t)factor->analysis->pattern->n, before = atomic_load(&env->memory.current);
  TSI_CLEANUP(tsi_numeric_destroy) tsi_numeric *numeric = NULL;
  const tsi_pivot_sizes sizes = {.column = NULL};
  const tsi_front_rates rates = rates_of(factor);
  size_t tasks = 0, peak[2];
  TSI_TRY(tsi_numeric_create(factor, &sizes, &factor->ts->fronts, NULL, false, &numeric));
  const size_t steps =
      atomic_load(&env->memory.current) - before + (scaled ? 2 * n * sizeof *numeric->row_scale : 0);
  const bool parallel = factor->ts->workers.allowed && numeric->dag->steps->count > 1;
  f->workers = parallel ? expected_workers(factor->ts) : 1;
  if (parallel) TSI_TRY(tsi_numeric_weigh_tasks(numeric, &tasks));
  tsi_env_init(&dry);
  numeric->env = &dry;
  numeric->dry = true;
  run_alone(numeric, &rates, &peak[TSI_FORECAST_ALONE], &f->seconds[TSI_FORECAST_ALONE]);
  peak[TSI_FORECAST_ALL] = peak[TSI_FORECAST_ALONE];
  f->seconds[TSI_FORECAST_ALL] = f->seconds[TSI_FORECAST_ALONE];
  discard_fronts(numeric);
  tristar_status status = TRISTAR_OK;
  if (f->workers > 1)
    status =
        run_all(env, numeric, &rates, f->workers, &peak[TSI_FORECAST_ALL], &f->seconds[TSI_FORECAST_ALL]);
  if (status == TRISTAR_OK) status = tsi_failure_report(env, &numeric->failure);
  run[TSI_FORECAST_ALONE] = steps + peak[TSI_FORECAST_ALONE];
  run[TSI_FORECAST_ALL] = steps + tasks + peak[TSI_FORECAST_ALL];
  tsi_numeric_destroy(&numeric); /* Before dry ends. */
  return status;
}

tristar_status tsi_factor_forecast_make(tristar_analysis_t *an, tsi_factor_forecast *forecast) {
  tsi_env *env = &an->ts->env;
  const size_t before = atomic_load(&env->memory.current), n = (size_t)an->pattern->n;
  const size_t entries = (size_t)an->pattern->ptr[n];
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  tsi_factor_forecast f = {.workers = 1};
  size_t run[2];
  *forecast = f;
  TSI_TRY(tsi_factor_create_empty(an, &factor));
  f.created = atomic_load(&env->memory.current) - before + entries * factor->user_bytes;
  const bool scaled = an->stats.method != TRISTAR_METHOD_LLT;
  const size_t scales = scaled ? n * (sizeof *factor->row_scale + sizeof *factor->col_scale) : 0;
  f.factor = f.created + tsi_factor_stream_bytes(factor) + scales;
  TSI_TRY(weigh_run(factor, scaled, &f, run));
  const size_t sizes = n * sizeof(double), values = entries * sizeof(double);
  const size_t measuring = f.factor + sizes + values + tsi_scaling_bytes(an);
  for (int k = 0; k < 2; k++) {
    const size_t running = f.factor + sizes + run[k];
    f.peak[k] = running > measuring ? running : measuring;
  }
  for (int k = 0; k < 2; k++) f.seconds[k] += ENTRY_SECONDS * (double)entries;
  *forecast = f;
  return TRISTAR_OK;
}

/* ---- The limit --------------------------------------------------------------------------------------- */

tristar_status tsi_factor_check_limit(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  const size_t limit = atomic_load(&env->memory.limit);
  tsi_factor_forecast f;
  factor->alone = false;
  if (limit == 0) return TRISTAR_OK;
  TSI_TRY(tsi_factor_forecast_make(factor->analysis, &f));
  const size_t held = atomic_load(&env->memory.current);
  const size_t present = factor->lower == NULL ? f.created : f.factor;
  const size_t others = held > present ? held - present : 0;
  if (others + f.peak[TSI_FORECAST_ALL] <= limit) return TRISTAR_OK;
  factor->alone = others + f.peak[TSI_FORECAST_ALONE] <= limit;
  if (!factor->alone)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY,
             "the factorization would need %zu bytes beside the %zu bytes that are in use (forecast): more "
             "than the limit of %zu bytes (tristar_limit_memory)",
             f.peak[TSI_FORECAST_ALONE] - present, held, limit);
  tsi_log(env, TRISTAR_LOG_INFO,
          "factor: on one thread, which takes %.1f MB; %d workers would take %.1f MB, more than the limit",
          1e-6 * (double)f.peak[TSI_FORECAST_ALONE], f.workers, 1e-6 * (double)f.peak[TSI_FORECAST_ALL]);
  return TRISTAR_OK;
}
