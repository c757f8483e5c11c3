/* The cost model of a GPU: predictions are between bounds, are exact if there is nothing to schedule, and
 * follow the costs. The choice of nodes is no worse than any candidate. A chain of tickets is no longer than
 * one of nodes. */
#include "runtime/machine/devices.h"
#include "runtime/solve/device_choice.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

static const char *const kinds[] = {"poisson3d7", "s2d9pt", "circuit", "convdiff3d"};
static const int64_t sizes[] = {9, 30, 500, 1};

static tristar_factor_t *make_factor(tristar_t *ts, const char *kind, int64_t size) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = generated_view(ts, kind, size, &matrix);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, NULL);
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  return factor;
}

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-9 * fabs(b);
}

static tsi_device_forecast forecast(tsi_env *env, const tristar_factor_t *factor,
                                    const tsi_device_options *options) {
  tsi_device_forecast f;
  CHECK_OK(tsi_device_forecast_make(env, factor, options, &f));
  return f;
}

static void check_bounds(const tsi_device_forecast *f) {
  for (int backward = 0; backward < 2; backward++) {
    const tsi_sweep_prediction *p = &f->sweep[backward];
    CHECK(p->seconds >= p->stream_seconds && p->seconds >= p->path_seconds * (1 - 1e-12));
    CHECK(p->seconds >= p->work_seconds * (1 - 1e-12));
    CHECK(p->path_latency > 0 && p->path_latency <= p->path_seconds);
    CHECK(p->factor_bytes > 0 && p->bytes > p->factor_bytes);
    CHECK(p->depth >= 1 && p->depth <= p->tickets);
  }
  CHECK(close_to(f->solve.seconds, f->sweep[0].seconds + f->sweep[1].seconds));
}

/* One block does all work in sequence. With enough blocks and infinite bandwidth the longest chain
 * remains. */
static void check_limits(tsi_env *env, const tristar_factor_t *factor, tsi_device_options options) {
  options.costs.bandwidth = 1e30;
  options.costs.blocks = 1;
  const tsi_device_forecast alone = forecast(env, factor, &options);
  CHECK(close_to(alone.solve.seconds, alone.solve.work_seconds));
  options.costs.blocks = 20000;
  const tsi_device_forecast many = forecast(env, factor, &options);
  CHECK(close_to(many.solve.seconds, many.solve.path_seconds));
  CHECK(many.solve.path_seconds <= alone.solve.seconds * (1 + 1e-12));
  CHECK(close_to(many.solve.work_seconds * 20000, alone.solve.work_seconds));
  /* a small bandwidth is the bound, which one block nearly reaches */
  options.costs.bandwidth = 1e6;
  options.costs.blocks = 1;
  const tsi_device_forecast slow = forecast(env, factor, &options);
  CHECK(tsi_prediction_bound(&slow.solve) == TSI_BOUND_BANDWIDTH);
  CHECK(slow.solve.seconds < 1.5 * slow.solve.stream_seconds);
}

static double bytes_of_factor(const tristar_factor_t *factor) {
  double entries = 0;
  for (tsi_index p = 0; p < factor->analysis->panels->count; p++)
    entries += (double)tsi_panel_entries(factor->analysis->panels, p);
  return 2 * entries * (double)factor->scalar_bytes;
}

static void check_choice(tsi_env *env, const tristar_factor_t *factor, const tsi_device *device) {
  const tsi_device_costs costs = tsi_device_costs_of(device);
  tsi_device_options options;
  tsi_device_forecast best;
  tsi_device_options_init(&options, factor->scalar_bytes);
  options.costs = costs;
  CHECK_OK(tsi_device_choose(env, factor, &costs, &best));
  check_bounds(&best);
  CHECK(best.solve.seconds <= forecast(env, factor, &options).solve.seconds);
  CHECK(close_to(forecast(env, factor, &best.options).solve.seconds,
                 best.solve.seconds)); /* the choice is reproducible */
  CHECK(close_to(best.solve.factor_bytes, bytes_of_factor(factor)));
}

/* Tickets of several warps wait for no longer chains than their nodes: without slices, chunks. */
static void check_depth(tsi_env *env, const tristar_factor_t *factor) {
  tsi_device_options options;
  CLEANUP(tsi_device_plan_destroy) tsi_device_plan *plan;
  tsi_device_options_init(&options, factor->scalar_bytes);
  options.node_bytes = 1e9;
  options.group_bytes = options.warp_bytes = 16e3;
  CHECK_OK(tsi_device_plan_create(env, factor, &options, &plan));
  const tsi_device_side *side = &plan->side[0];
  CHECK(side->sweep->slices == 0 && side->sweep->depth > 1);
  CHECK(side->tables.forward.tickets < side->tables.nodes);
  for (int backward = 0; backward < 2; backward++) {
    tsi_sweep_prediction p;
    CHECK_OK(tsi_device_predict(env, &side->tables, backward, factor->scalar_bytes, &options.costs, &p));
    CHECK_MSG(p.depth == side->sweep->depth, "a chain of %d tickets, but of %d chunks", p.depth,
              side->sweep->depth);
  }
}

static void check_device_table(void) {
  const tsi_device *device;
  int count = 0;
  for (; (device = tsi_device_get(count)) != NULL; count++) {
    CHECK(device->name && device->title && device->source);
    CHECK(device->group > 0 && device->per_node % device->group == 0);
    CHECK(device->processors > 0 && device->peak > 0 && device->reached > 0 && device->reached <= 1);
    CHECK(tsi_device_named(device->title) == device);
    for (int k = 0; k < count; k++) CHECK(strcmp(tsi_device_get(k)->name, device->name) != 0);
  }
  CHECK(count == 7 && tsi_device_get(-1) == NULL); /* one for each word of --gpu */
}

int test_device_model(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  tsi_env *env = tsi_context_env(ts);
  RUN(check_device_table());
  CLEANUP(tristar_factor_destroy) tristar_factor_t *uneven = make_factor(ts, "s2d9pt", 100);
  RUN(check_depth(env, uneven));
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = make_factor(ts, kinds[k], sizes[k]);
    tsi_device_options options;
    tsi_device_options_init(&options, factor->scalar_bytes);
    for (int width = 0; width <= 64; width += 32) {
      options.panel_width = width;
      options.node_bytes = 4000 * (1 + width);
      const tsi_device_forecast f = forecast(env, factor, &options);
      RUN(check_bounds(&f));
      RUN(check_limits(env, factor, options));
    }
    for (int number = 0; tsi_device_get(number) != NULL; number++)
      RUN(check_choice(env, factor, tsi_device_get(number)));
  }
  return 0;
}
