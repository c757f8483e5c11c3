/* tristar_layout_choose: the layout with the least predicted time.
 *
 * Reads   an analysis, the costs of arithmetic, memory and messages.   Writes  a layout and its prediction.
 *
 * The model. Solves are simulated (predict.h). Factorizations are simulated, too; if only the time of solves
 * counts, only for the chosen layout. For more processes than are simulated, counts give the estimate. A
 * factorization then takes the arithmetic on the critical path of its fronts, and the messages of the process
 * with the most. A solve takes the same, and its process with the most reads its share of the factor twice.
 * Memory is the memory of the process with the most: its share of the factor, and its fronts at one time. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "runtime/base/options.h"
#include "runtime/machine/calibration.h"
#include "runtime/machine/predict.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/predict.h"
#include "runtime/process/traffic.h"

/* Time of a task in addition to its message, in estimates from counts. */
#define TASK_SECONDS 4e-6
/* For more processes than these nothing is simulated: it takes seconds and gigabytes for each layout. */
#define SIMULATED_MOST 4096
#define FACTORED_MOST 256 /* the same for factorizations, which have more steps */
/* The search ends after this many times in a row that fewer grids are not faster. */
#define PATIENCE 3

typedef struct choice {
  const tristar_analysis_t *analysis;
  const tristar_layout_costs *costs;
  tristar_cluster cluster;
  tristar_layout best;
  tristar_layout_prediction least; /* prediction of best, and times of rivals */
  bool found;                      /* best is set */
} choice;

void tristar_layout_costs_init_sized(tristar_layout_costs *costs, size_t size) {
  const tristar_layout_costs defaults = {.message_seconds = TSI_MESSAGE_SECONDS, .nrhs = 1};
  tsi_options_init(costs, size, &defaults, sizeof defaults);
}

tristar_cluster tsi_cluster_here(tsi_machine *machine, double bytes_per_second, double message_seconds) {
  const tsi_costs here = tsi_costs_assumed(machine, 1);
  const double products = 1e9 * tsi_calibration_now(machine).multiply_gflops_one;
  tristar_cluster cluster;
  tristar_cluster_init(&cluster);
  if (products > 0) cluster.dense_flops_per_second = products;
  cluster.core_bytes_per_second = bytes_per_second > 0 ? bytes_per_second : here.one;
  cluster.cache_bytes = here.cache;
  cluster.cached_bytes_per_second = tsi_double_max(here.cached, cluster.core_bytes_per_second);
  cluster.overhead_seconds = tsi_double_min(cluster.overhead_seconds, message_seconds / 4);
  cluster.latency_seconds = message_seconds - 2 * cluster.overhead_seconds;
  return cluster;
}

/* Estimate from counts. */
static double message_seconds(const tristar_messages *m, const choice *c) {
  const tristar_cluster *k = &c->cluster;
  return (k->latency_seconds + 2 * k->overhead_seconds + TASK_SECONDS) * (m->sent.max + m->received.max) / 2 +
         m->sent_bytes.max / k->bytes_per_second;
}

static tristar_layout_prediction count(const tristar_traffic *t, const choice *c) {
  const double streams = tsi_analysis_is_lu(c->analysis) ? 2 : 1;
  const tristar_cluster *k = &c->cluster;
  return (tristar_layout_prediction){
      .factor_seconds =
          t->factor_path_flops / (k->flops_per_second * k->cores) + message_seconds(&t->fan_in, c),
      .solve_seconds =
          2 * t->factor_bytes.max / (k->core_bytes_per_second * k->cores) + message_seconds(&t->all, c),
      .process_bytes = streams * t->factor_bytes.max + t->front_bytes.max};
}

static double seconds_of(const tristar_layout_prediction *p, const tristar_layout_costs *c) {
  return c->solves > 0 ? p->factor_seconds + (double)c->solves * p->solve_seconds : p->solve_seconds;
}

static bool fits(const tristar_layout_prediction *p, const tristar_layout_costs *c) {
  return c->process_bytes <= 0 || p->process_bytes <= c->process_bytes;
}

/* Layouts that fit into memory are better; among them the faster one. At equal time, or if none fits, the one
 * with less memory. */
static bool is_better(const tristar_layout_prediction *p, const choice *c) {
  const bool does = fits(p, c->costs);
  if (!c->found) return true;
  if (does != fits(&c->least, c->costs)) return does;
  const double seconds = does ? seconds_of(p, c->costs) - seconds_of(&c->least, c->costs) : 0;
  return seconds < 0 || (!(seconds > 0) && p->process_bytes < c->least.process_bytes);
}

static tristar_status check_costs(const tsi_env *env, int64_t processes, const tristar_layout_costs *c) {
  if (processes < 1) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%" PRId64 " processes", processes);
  if (processes > 1 << 20)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%" PRId64 " processes; 2^20 are the most", processes);
  if (!(c->bytes_per_second >= 0) || !(c->message_seconds >= 0) || !(c->process_bytes >= 0) || c->nrhs < 1 ||
      c->solves < 0 || c->grids < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "bytes_per_second %g, message_seconds %g, process_bytes %g, nrhs %" PRId64 ", solves %" PRId64
             ", grids %d",
             c->bytes_per_second, c->message_seconds, c->process_bytes, c->nrhs, c->solves, c->grids);
  return TRISTAR_OK;
}

/* Whether the time of this layout is stored for comparison. */
static bool is_rival(const tristar_layout *layout) {
  return tsi_layout_is_squarest(layout) &&
         (layout->pz == 1 || layout->pz == 16 || layout->px * layout->py == 1);
}

/* Time as a function of the number of grids may fall, rise, and fall again for a single grid. In these cases
 * a row or a column of processes was the fastest. */
static bool is_line(const tristar_layout *layout) {
  return layout->pz == 1 && (layout->px == 1 || layout->py == 1);
}

static void keep_least(double *least, double seconds) {
  if (*least <= 0 || seconds < *least) *least = seconds;
}

static void note_rival(tristar_layout_prediction *least, const tristar_layout *layout, double seconds) {
  if (!is_rival(layout)) return;
  if (layout->pz == 1) keep_least(&least->one_grid_seconds, seconds);
  if (layout->pz == 16) keep_least(&least->sixteen_grids_seconds, seconds);
  if (layout->px * layout->py == 1) keep_least(&least->process_grids_seconds, seconds);
}

/* Simulates a factorization. *seconds is unchanged if memory does not suffice. */
static tristar_status simulate_factor(const choice *c, const tristar_layout *layout, double *seconds) {
  tristar_simulated simulated;
  if ((int64_t)layout->px * layout->py * layout->pz > FACTORED_MOST || c->analysis->imported ||
      c->cluster.drawn)
    return TRISTAR_OK;
  const tristar_status status = tristar_layout_predict_factor(c->analysis, layout, &c->cluster, &simulated);
  if (status == TRISTAR_OK) *seconds = simulated.seconds;
  return status == TRISTAR_ERR_MEMORY ? TRISTAR_OK : status;
}

/* Whether the factorization must be simulated: the solves alone take less time than the best layout. */
static bool may_be_better(const tristar_layout_prediction *p, const choice *c) {
  const double solves = (double)c->costs->solves;
  if (c->costs->solves == 0) return false;
  return !c->found || !fits(&c->least, c->costs) ||
         solves * p->solve_seconds < seconds_of(&c->least, c->costs);
}

/* Compares a layout with the best one. */
static tristar_status try_layout(choice *c, const tristar_layout *layout, bool *better) {
  const int64_t processes = (int64_t)layout->px * layout->py * layout->pz;
  tristar_traffic traffic;
  tristar_simulated simulated = {0};
  TSI_TRY(tsi_layout_count(c->analysis, layout, c->costs->nrhs, c->cluster.gpu_chunks, &traffic));
  tristar_layout_prediction now = count(&traffic, c);
  if (fits(&now, c->costs) && processes <= SIMULATED_MOST) {
    const tristar_status status =
        tristar_layout_predict(c->analysis, layout, c->costs->nrhs, &c->cluster, &simulated);
    if (status != TRISTAR_OK && status != TRISTAR_ERR_MEMORY) return status; /* MEMORY: use the counts */
    if (status == TRISTAR_OK) now.solve_seconds = simulated.seconds;
    c->least.simulated += status == TRISTAR_OK;
    if (may_be_better(&now, c)) TSI_TRY(simulate_factor(c, layout, &now.factor_seconds));
  }
  if (fits(&now, c->costs)) note_rival(&c->least, layout, now.solve_seconds);
  if (!is_better(&now, c)) return TRISTAR_OK;
  *better = c->found = true;
  c->best = *layout;
  c->least.factor_seconds = now.factor_seconds;
  c->least.solve_seconds = now.solve_seconds;
  c->least.process_bytes = now.process_bytes;
  return TRISTAR_OK;
}

/* Tries all shapes of so many processes, until fewer grids are no faster; then rows and columns of processes,
 * and the rivals for comparison. */
static tristar_status try_shapes(choice *c, int processes) {
  const int limit = c->costs->grids > 0 ? c->costs->grids : INT_MAX;
  const int most = tsi_index_min(limit, tsi_index_max(1, c->analysis->symbolic->leaf_parts));
  tristar_layout layout = c->best;
  int misses = 0;
  layout.pz = 1;
  while (2 * layout.pz <= most && processes % (2 * layout.pz) == 0) layout.pz *= 2;
  for (; layout.pz >= 1; layout.pz /= 2) {
    bool better = false;
    for (layout.px = 1; layout.px <= processes / layout.pz; layout.px++) {
      layout.py = processes / layout.pz / layout.px;
      if (layout.px * layout.py * layout.pz != processes) continue;
      if (misses < PATIENCE || is_rival(&layout) || is_line(&layout))
        TSI_TRY(try_layout(c, &layout, &better));
    }
    if (c->least.simulated > 0) misses = better || !fits(&c->least, c->costs) ? 0 : misses + 1;
  }
  return TRISTAR_OK;
}

tristar_status tristar_layout_choose(const tristar_analysis_t *analysis, int64_t processes,
                                     const tristar_layout_costs *costs, tristar_layout *layout,
                                     tristar_layout_prediction *prediction) {
  tristar_status status = TRISTAR_OK;
  tristar_layout_costs full;
  if (prediction != NULL) memset(prediction, 0, sizeof *prediction);
  TSI_ENTER(analysis, analysis->ts);
  if (layout == NULL) return TSI_NULL(layout);
  tsi_env *env = tsi_context_env(analysis->ts);
  choice c = {.analysis = analysis, .costs = &full, .best = *layout};
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_layout_costs, costs, &full));
  TSI_TRY_OUT(check_costs(env, processes, &full));
  const tristar_cluster own =
      tsi_cluster_here(&analysis->ts->machine, full.bytes_per_second, full.message_seconds);
  TSI_TRY_OUT(tsi_cluster_take(env, full.cluster ? full.cluster : &own, &c.cluster));
  TSI_TRY_OUT(try_shapes(&c, (int)processes));
  if (!fits(&c.least, &full))
    TSI_FAIL_OUT(env, TRISTAR_ERR_MEMORY,
                 "no layout of %" PRId64
                 " processes needs less than %.0f bytes in each: the least is %.0f, of %dx%dx%d",
                 processes, full.process_bytes, c.least.process_bytes, c.best.px, c.best.py, c.best.pz);
  if (full.solves == 0) TSI_TRY_OUT(simulate_factor(&c, &c.best, &c.least.factor_seconds));
  *layout = c.best;
  if (prediction != NULL) *prediction = c.least;
out:
  return tsi_answer(env, status);
}
