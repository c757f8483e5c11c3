/* tristar_layout_choose against simulations of all layouts there are, and its errors. */
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_layout.h"
#include <math.h>

static tristar_analysis_t *analyze_parts(tristar_t *ts, const tristar_view *view, int leaf_parts) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.leaf_parts = leaf_parts;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, view, &options);
  return an;
}

static double seconds_of(const tristar_layout_prediction *p, const tristar_layout_costs *c) {
  return c->solves > 0 ? p->factor_seconds + (double)c->solves * p->solve_seconds : p->solve_seconds;
}

/* Returns a cluster whose cores have no caches and whose messages take this long. */
static tristar_cluster cluster_of(double message_seconds) {
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  cluster.core_bytes_per_second = 1e10;
  cluster.latency_seconds = message_seconds / 2;
  cluster.overhead_seconds = message_seconds / 4;
  return cluster;
}

/* Returns the prediction of the model for one layout. */
static tristar_layout_prediction prediction_of(const tristar_analysis_t *an, const tristar_layout *layout,
                                               const tristar_layout_costs *costs) {
  tristar_traffic t;
  tristar_simulated solve, factorization;
  tristar_analysis_stats stats;
  tristar_analysis_get_stats(an, &stats);
  CHECK_OK(tristar_layout_traffic(an, layout, costs->nrhs, &t));
  CHECK_OK(tristar_layout_predict(an, layout, costs->nrhs, costs->cluster, &solve));
  CHECK_OK(tristar_layout_predict_factor(an, layout, costs->cluster, &factorization));
  const int triangles = stats.method == TRISTAR_METHOD_LU ? 2 : 1; /* triangles that are stored */
  return (tristar_layout_prediction){.factor_seconds = factorization.seconds,
                                     .solve_seconds = solve.seconds,
                                     .process_bytes = triangles * t.factor_bytes.max + t.front_bytes.max};
}

static bool near(double a, double b) {
  return a <= b * (1 + 1e-9) && b <= a * (1 + 1e-9);
}

/* `rival` must be the time of the faster of the two most nearly square shapes with this number of grids; 0
 * if there is none. */
static void check_rival(const tristar_analysis_t *an, const tristar_layout_costs *costs,
                        tristar_layout layout, int processes, int grids, double rival) {
  double least = 0;
  tristar_simulated simulated;
  layout.pz = grids;
  if ((grids & (grids - 1)) != 0 || processes % grids > 0 || grids > 4 ||
      (costs->grids > 0 && grids > costs->grids)) {
    CHECK(!(rival > 0));
    return;
  }
  layout.px = (int)sqrt(processes / grids);
  while (processes / grids % layout.px > 0) layout.px--;
  for (int turn = 0; turn < 2; turn++) {
    if (turn == 1) layout.px = layout.py;
    layout.py = processes / grids / layout.px;
    CHECK_OK(tristar_layout_predict(an, &layout, costs->nrhs, costs->cluster, &simulated));
    least = turn == 0 ? simulated.seconds : fmin(least, simulated.seconds);
  }
  CHECK_MSG(near(least, rival), "%d processes in %d grids: %g s, not %g", processes, grids, least, rival);
}

/* No other layout is faster by more than 5 %. Returns the number of layouts. */
static int check_best(const tristar_analysis_t *an, int processes, const tristar_layout_costs *costs,
                      tristar_map map) {
  tristar_layout best, other;
  tristar_layout_prediction chosen;
  int layouts = 0;
  bool found = false;
  tristar_layout_init(&best);
  best.map = map;
  CHECK_OK(tristar_layout_choose(an, processes, costs, &best, &chosen));
  CHECK(best.px * best.py * best.pz == processes && best.map == map);
  CHECK(costs->grids == 0 || best.pz <= costs->grids);
  CHECK(costs->process_bytes <= 0 || chosen.process_bytes <= costs->process_bytes);
  other = best;
  for (other.pz = 1; other.pz <= 4 && (costs->grids == 0 || other.pz <= costs->grids); other.pz *= 2)
    for (other.px = 1; other.px <= processes; other.px++)
      for (other.py = 1; other.px * other.py * other.pz <= processes; other.py++) {
        if (other.px * other.py * other.pz < processes) continue;
        const tristar_layout_prediction p = prediction_of(an, &other, costs);
        layouts++;
        if (other.px == best.px && other.pz == best.pz) {
          found = true;
          CHECK(near(p.factor_seconds, chosen.factor_seconds) &&
                near(p.solve_seconds, chosen.solve_seconds) && near(p.process_bytes, chosen.process_bytes));
        } else if (costs->process_bytes <= 0 || p.process_bytes <= costs->process_bytes)
          CHECK_MSG(1.05 * seconds_of(&p, costs) >= seconds_of(&chosen, costs),
                    "%dx%dx%d is better than %dx%dx%d", other.px, other.py, other.pz, best.px, best.py,
                    best.pz);
      }
  CHECK(found && chosen.simulated >= 1 && chosen.simulated <= layouts);
  if (costs->process_bytes > 0) return layouts;
  check_rival(an, costs, best, processes, 1, chosen.one_grid_seconds);
  check_rival(an, costs, best, processes, 16, chosen.sixteen_grids_seconds);
  check_rival(an, costs, best, processes, processes, chosen.process_grids_seconds);
  return layouts;
}

static void check_choices(const tristar_analysis_t *an) {
  tristar_layout_costs costs = DEFAULTS(tristar_layout_costs);
  CHECK(costs.nrhs == 1 && costs.message_seconds > 0 && costs.cluster == NULL);
  tristar_cluster cluster = cluster_of(2e-6);
  costs.cluster = &cluster;
  CHECK(check_best(an, 1, &costs, TRISTAR_MAP_SUBTREE) == 1);
  CHECK(check_best(an, 12, &costs, TRISTAR_MAP_SUBTREE) == 6 + 4 + 2);
  for (int p = 2; p <= 16; p++)
    for (int solves = 0; solves <= 1000; solves = solves == 0 ? 1 : 1000 * solves) {
      costs.solves = solves;
      cluster = cluster_of(p % 2 == 0 ? 2e-6 : 2e-4);
      costs.nrhs = p % 3 == 0 ? 10 : 1;
      check_best(an, p, &costs, p % 4 == 0 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE);
      if (solves == 1000) break;
    }
  costs.grids = 1;
  CHECK(check_best(an, 8, &costs, TRISTAR_MAP_SUBTREE) == 4);
}

/* A limit between the least memory and the memory that the fastest layout needs. */
static void check_limits(tristar_t *ts, const tristar_analysis_t *an) {
  tristar_layout_costs costs = DEFAULTS(tristar_layout_costs);
  tristar_layout layout, same;
  tristar_layout_prediction fast, least;
  tristar_layout_init(&layout);
  tristar_cluster cluster = cluster_of(1e-3); /* slow messages: several grids with replicas are fastest */
  costs.cluster = &cluster;
  CHECK_OK(tristar_layout_choose(an, 8, &costs, &layout, &fast));
  costs.process_bytes = 1;
  same = layout;
  CHECK_STATUS(tristar_layout_choose(an, 8, &costs, &layout, &least), TRISTAR_ERR_MEMORY);
  CHECK_ERROR(ts, "no layout of 8 processes");
  CHECK(memcmp(&same, &layout, sizeof same) == 0);
  cluster = cluster_of(1e-9);
  cluster.core_bytes_per_second = 1;
  costs.process_bytes = 0;
  CHECK_OK(tristar_layout_choose(an, 8, &costs, &layout, &least)); /* the layout with the least memory */
  CHECK(least.process_bytes < fast.process_bytes);
  cluster = cluster_of(1e-3);
  costs.process_bytes = (least.process_bytes + fast.process_bytes) / 2;
  check_best(an, 8, &costs, TRISTAR_MAP_SUBTREE);
}

static void check_errors(const tristar_analysis_t *an) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  tristar_layout_costs costs;
  CHECK_OK(tristar_layout_choose(an, 4, NULL, &layout, NULL));
  CHECK_STATUS(tristar_layout_choose(NULL, 4, NULL, &layout, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_choose(an, 4, NULL, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_choose(an, 0, NULL, &layout, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_choose(an, INT64_MAX, NULL, &layout, NULL), TRISTAR_ERR_TOO_LARGE);
  for (int k = 0; k < 8; k++) {
    tristar_layout_costs_init(&costs);
    if (k == 0) costs.bytes_per_second = -1;
    if (k == 1) costs.message_seconds = NAN;
    if (k == 2) costs.process_bytes = -1;
    if (k == 3) costs.nrhs = 0;
    if (k == 4) costs.solves = -1;
    if (k == 5) costs.grids = -1;
    if (k >= 6) costs.cluster = &cluster;
    if (k == 6) cluster.size = 0;
    if (k == 7) tristar_cluster_init(&cluster);
    if (k == 7) cluster.cores = 0;
    CHECK_STATUS(tristar_layout_choose(an, 4, &costs, &layout, NULL), TRISTAR_ERR_ARGUMENT);
  }
  tristar_layout_prediction near, far;
  tristar_layout_costs_init(&costs); /* these two fields describe the machine if there is no cluster */
  CHECK_OK(tristar_layout_choose(an, 4, &costs, &layout, &near));
  costs.message_seconds = 1e-2;
  CHECK_OK(tristar_layout_choose(an, 4, &costs, &layout, &far));
  CHECK(far.process_grids_seconds > near.process_grids_seconds + 1e-3);
  layout.map = (tristar_map)7;
  CHECK_STATUS(tristar_layout_choose(an, 4, NULL, &layout, NULL), TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  static const struct {
    const char *kind;
    int64_t k;
  } problems[] = {{"s2d9pt", 40}, {"convdiff3d", 11}}; /* L L^T, L U */
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  for (int k = 0; k < 2; k++) {
    CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
    tristar_view view = generated_view(ts, problems[k].kind, problems[k].k, &matrix);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = analyze_parts(ts, &view, 4);
    RUN(check_choices(an));
    RUN(check_limits(ts, an));
    RUN(check_errors(an));
  }
  return 0;
}
