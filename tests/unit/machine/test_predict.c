/* The cost model: its predictions for a chain, for independent tasks and for small problems. */
#include "runtime/machine/predict.h"
#include "tests/support/check.h"

static const tsi_costs costs = {
    .one = 10e9, .all = 20e9, .task = 2e-6, .barrier = 5e-6, .start = 20e-6, .workers = 2};

static bool close_to(double a, double b) {
  return a > 0.999999 * b && a < 1.000001 * b;
}

static double predict(tsi_env *env, const tsi_steps *steps, bool in_levels, double light) {
  tsi_levels *levels = NULL;
  tsi_bundles *bundles = NULL;
  double seconds;
  if (in_levels) CHECK_OK(tsi_levels_create(env, steps->count, steps->edges, steps->edge, &levels));
  if (!in_levels && light >= 0) CHECK_OK(tsi_bundles_create(env, steps, light, 1, &bundles));
  CHECK_OK(tsi_predict_seconds(env, &costs, steps, levels, bundles, &seconds));
  TSI_FREE(env, levels);
  TSI_FREE(env, bundles);
  return seconds;
}

int main(void) {
  enum { N = 10 };
  tsi_env env;
  tsi_step step[N];
  tsi_edge edge[N];
  tsi_steps steps = {.count = N, .step = step, .edge = edge};
  tsi_env_init(&env);
  for (int k = 0; k < N; k++) step[k] = (tsi_step){.kind = TSI_STEP_FORWARD_CHUNK, .bytes = 1e6};
  /* independent steps: 10 MB at the rate of all cores */
  CHECK(close_to(predict(&env, &steps, false, -1), 1e-3));
  CHECK(close_to(predict(&env, &steps, false, 0), 0.5e-3 + 20e-6 + 20e-6));
  CHECK(close_to(predict(&env, &steps, true, 0), 0.5e-3 + 20e-6 + 5e-6 + 20e-6));
  /* a chain: at the rate of one core; a bundle is one task; each link is a level */
  for (tsi_index k = 1; k < N; k++) edge[steps.edges++] = (tsi_edge){k, k - 1};
  CHECK(close_to(predict(&env, &steps, false, 0), 1e-3 + 20e-6 + 20e-6));
  CHECK(close_to(predict(&env, &steps, false, 1), 1e-3 + 2e-6 + 20e-6));
  CHECK(close_to(predict(&env, &steps, true, 0), 1e-3 + 20e-6 + 50e-6 + 20e-6));
  /* reading: at the rate of all cores, or at that of one core along the heaviest path */
  CHECK(close_to(tsi_predict_reading(&costs, 10e6, 1e6), 0.5e-3));
  CHECK(close_to(tsi_predict_reading(&costs, 10e6, 6e6), 0.6e-3));
  /* tasks pay for much data, but not for little data or for a chain */
  CHECK(tsi_predict_worth_tasks(&costs, 10e6, 1e6, 20));
  CHECK(!tsi_predict_worth_tasks(&costs, 0.4e6, 0.1e6, 20));
  CHECK(!tsi_predict_worth_tasks(&costs, 10e6, 10e6, 20));
  CHECK(!tsi_predict_worth_tasks(&costs, 10e6, 1e6, 300));
  /* each worker reads cached data faster, so tasks save less */
  tsi_costs cached = costs;
  cached.cache = 2e6;
  cached.cached = 40e9;
  CHECK(tsi_predict_worth_tasks(&costs, 1.5e6, 0.5e6, 10));
  CHECK(!tsi_predict_worth_tasks(&cached, 1.5e6, 0.5e6, 10));
  CHECK(tsi_predict_worth_tasks(&cached, 3e6, 0.5e6, 10));
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
