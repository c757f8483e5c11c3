/* tristar_layout_predict and tristar_layout_predict_factor: messages equal the counts of
 * tristar_layout_traffic, times add up, and repeated calls have the same bits. */
#include <math.h>

#include "runtime/machine/devices.h"
#include "runtime/process/predict.h"
#include "runtime/process/traffic.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static void check_range(const char *what, const tristar_range *a, const tristar_range *b) {
  CHECK_MSG(memcmp(a, b, sizeof *a) == 0, "%s: %g to %g, mean %g, counted %g to %g, mean %g", what, a->min,
            a->max, a->mean, b->min, b->max, b->mean);
}

static void check_messages(const tristar_messages *a, const tristar_messages *b) {
  check_range("sent", &a->sent, &b->sent);
  check_range("received", &a->received, &b->received);
  check_range("sent bytes", &a->sent_bytes, &b->sent_bytes);
  check_range("received bytes", &a->received_bytes, &b->received_bytes);
}

static bool near(double a, double b) {
  return a <= b + 1e-9 * b && b <= a + 1e-9 * b;
}

static tristar_simulated predict(const tristar_analysis_t *an, const tristar_layout *layout, int64_t nrhs,
                                 const tristar_cluster *cluster) {
  tristar_simulated s;
  CHECK_OK(tristar_layout_predict(an, layout, nrhs, cluster, &s));
  return s;
}

static void check_times(const tristar_simulated *s, const tristar_cluster *cluster) {
  const double all = s->arithmetic.total + s->inside.total + s->between.total + s->waiting.total;
  CHECK_MSG(near(all, s->seconds * cluster->cores * (double)s->ranks), "%g of %g core seconds", all,
            s->seconds);
  CHECK(near(s->path_arithmetic_seconds + s->path_inside_seconds + s->path_between_seconds, s->seconds));
  CHECK(s->waiting.min >= -1e-9 * s->seconds &&
        s->arithmetic.max <= s->seconds * cluster->cores * (1 + 1e-9));
  CHECK(s->forward.max + s->backward.min <= s->seconds * (1 + 1e-9)); /* forward ends before backward */
  CHECK(s->ranks > 1 || (s->path_messages == 0 && near(s->path_arithmetic_seconds, s->seconds)));
  const double parts = s->path_diagonal_seconds + s->path_rows_seconds;
  CHECK(s->path_diagonal_seconds > 0 && s->path_rows_seconds >= 0);
  CHECK(parts <= s->path_arithmetic_seconds * (1 + 1e-9) && s->path_steps <= s->steps);
  if (s->ranks == 1) CHECK(near(parts, s->seconds));
  if (s->ranks == 1 && cluster->cores == 1) CHECK(s->path_steps == s->steps);
}

static tristar_simulated factor(const tristar_analysis_t *an, const tristar_layout *layout,
                                const tristar_cluster *cluster) {
  tristar_simulated s;
  CHECK_OK(tristar_layout_predict_factor(an, layout, cluster, &s));
  return s;
}

/* The simulation also counts messages with panels, which the traffic does not contain. */
static void check_factor(const tristar_analysis_t *an, const tristar_layout *layout,
                         const tristar_cluster *cluster, const tristar_traffic *traffic) {
  const tristar_simulated s = factor(an, layout, cluster), again = factor(an, layout, cluster);
  CHECK(memcmp(&s, &again, sizeof s) == 0);
  CHECK(s.ranks == traffic->ranks && s.all.sent.total >= traffic->fan_in.sent.total);
  CHECK(s.all.sent_bytes.total >= traffic->fan_in.sent_bytes.total);
  CHECK((layout->pz > 1) == (s.grids.sent.total > 0) && s.reduction.sent.total <= s.all.sent.total);
  check_times(&s, cluster);
}

/* The parts of the steps on the critical path add up to its arithmetic. nrhs 0: a factorization. */
static void check_path(const tristar_analysis_t *an, const tristar_layout *layout, int64_t nrhs,
                       const tristar_cluster *cluster) {
  tsi_predicted p;
  tristar_simulated s;
  CHECK_OK(tsi_layout_simulate(an, layout, nrhs, cluster, NULL, &s, &p));
  const tsi_simulated_path path = tsi_simulation_path(p.simulation);
  double sum = 0;
  for (int k = 0; k < TSI_STEP_PARTS; k++) sum += path.part[k];
  CHECK_MSG(near(sum, path.arithmetic), "%g s of %g s", sum, path.arithmetic);
  CHECK(path.part[TSI_PART_DIAGONAL] == s.path_diagonal_seconds);
  CHECK(path.part[TSI_PART_ROWS] == s.path_rows_seconds && path.steps == s.path_steps);
  tsi_predicted_release(an, &p);
}

static void check_layout(const tristar_analysis_t *an, const tristar_layout *layout,
                         const tristar_cluster *cluster) {
  tristar_traffic traffic;
  const tristar_simulated s = predict(an, layout, 3, cluster), again = predict(an, layout, 3, cluster);
  CHECK_OK(tristar_layout_traffic(an, layout, 3, &traffic));
  CHECK(memcmp(&s, &again, sizeof s) == 0);
  CHECK(s.ranks == traffic.ranks);
  check_messages(&s.broadcast, &traffic.broadcast);
  check_messages(&s.reduction, &traffic.reduction);
  check_messages(&s.grids, &traffic.grids);
  check_messages(&s.all, &traffic.all);
  check_times(&s, cluster);
  check_factor(an, layout, cluster, &traffic);
  check_path(an, layout, 3, cluster);
  check_path(an, layout, 0, cluster);
}

static void check_layouts(const tristar_analysis_t *an) {
  static const int shape[][3] = {{1, 1, 1}, {1, 3, 2}, {3, 2, 4}};
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  cluster.ranks_per_node = 4;
  cluster.node_bytes_per_second = 30e9;
  for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
    for (int way = 0; way < 16; way += 3) {
      layout.px = shape[k][0];
      layout.py = shape[k][1];
      layout.pz = shape[k][2];
      layout.algorithm = (tristar_algorithm)(way & 1);
      layout.map = (tristar_map)(way >> 1 & 1);
      layout.message_tree = (tristar_message_tree)(way >> 2 & 1);
      cluster.cores = way < 8 ? 1 : 3;
      check_layout(an, &layout, &cluster);
    }
}

/* One process with one core: the time follows from the bytes of its program and the rates of the cluster. */
static void check_one(const tristar_analysis_t *an) {
  tsi_predicted p;
  tristar_simulated s;
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  CHECK_OK(tsi_layout_simulate(an, NULL, 1, &cluster, NULL, &s, &p));
  const double expected =
      p.world->rank[0].bytes / cluster.core_bytes_per_second + (double)s.steps * cluster.step_seconds;
  CHECK_MSG(near(s.seconds, expected), "%g s, not %g", s.seconds, expected);
  tsi_predicted_release(an, &p);
  /* with many right-hand sides the arithmetic decides: 2 operations per right-hand side for each 8 bytes of
   * the factor */
  CHECK_OK(tsi_layout_simulate(an, NULL, 100, &cluster, NULL, &s, &p));
  const double flops = p.world->rank[0].bytes / 8 * 2 * 100;
  CHECK(near(s.seconds, flops / cluster.flops_per_second + (double)s.steps * cluster.step_seconds));
  tsi_predicted_release(an, &p);
}

/* One process: slower products, memory or tasks lengthen a factorization. Together they are less than its
 * whole time. */
static void check_rates(const tristar_analysis_t *an) {
  tristar_cluster cluster = DEFAULTS(tristar_cluster), slow = cluster;
  const double seconds = factor(an, NULL, &cluster).seconds;
  double extra = 0;
  for (int k = 0; k < 3; k++) {
    slow = cluster;
    if (k == 0) slow.dense_flops_per_second /= 2;
    if (k == 1) slow.core_bytes_per_second /= 2;
    if (k == 2) slow.step_seconds *= 2;
    const double more = factor(an, NULL, &slow).seconds - seconds;
    CHECK_MSG(more > 0, "rate %d halved: %g s more than %g s", k, more, seconds);
    extra += more;
  }
  CHECK_MSG(extra < seconds, "%g s of %g s", extra, seconds); /* the rest are calls of small fronts */
}

/* With one core per process slower messages make no solve and no factorization faster. */
static void check_latency(const tristar_analysis_t *an) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  layout.px = layout.py = 2;
  layout.pz = 4;
  double before = 0, factored = 0;
  for (double latency = 0; latency < 1e-4; latency = 10 * latency + 1e-7) {
    cluster.latency_seconds = latency;
    const double seconds = predict(an, &layout, 1, &cluster).seconds;
    CHECK_MSG(seconds >= before, "latency %g s: %g s, after %g s", latency, seconds, before);
    before = seconds;
    const double factoring = factor(an, &layout, &cluster).seconds;
    CHECK_MSG(factoring >= factored, "latency %g s: %g s, after %g s", latency, factoring, factored);
    factored = factoring;
  }
}

static void check_seconds(const char *what, double seconds, double expected) {
  CHECK_MSG(near(seconds, expected), "%s: %g s, not %g s", what, seconds, expected);
}

#define DRAWN_MOST 3 /* 6 in the order of the program */

/* With cores that draw their steps in a fixed order no process waits forever, whatever the number of cores.
 * It takes at most DRAWN_MOST times as long as running ready steps by priority. */
static void check_draw_order(const tristar_analysis_t *an) {
  static const int shape[][3] = {{1, 1, 1}, {4, 1, 1}, {1, 4, 1}, {2, 3, 2}, {1, 1, 4}, {2, 2, 4}};
  for (size_t k = 0; k < 8 * sizeof shape / sizeof *shape; k++) {
    tristar_cluster drawn = tsi_device_cluster(tsi_device_get(0)), ready;
    tristar_layout layout = DEFAULTS(tristar_layout);
    layout.px = shape[k / 8][0];
    layout.py = shape[k / 8][1];
    layout.pz = shape[k / 8][2];
    layout.algorithm = (tristar_algorithm)(k & 1);
    layout.map = (tristar_map)(k >> 1 & 1);
    layout.message_tree = (tristar_message_tree)(k >> 2 & 1);
    for (drawn.cores = 1; drawn.cores <= 16; drawn.cores *= 4) {
      ready = drawn;
      ready.drawn = 0;
      ready.by_priority = 1;
      const double seconds = predict(an, &layout, 1, &drawn).seconds,
                   least = predict(an, &layout, 1, &ready).seconds;
      CHECK_MSG(seconds <= DRAWN_MOST * least, "layout %d, way %d, %d cores: %g s, %g s as steps are ready",
                (int)k / 8, (int)k % 8, drawn.cores, seconds, least);
    }
  }
}

/* Enough cores run drawn steps as soon as they are ready. A shared rate makes the cores of a process
 * slower, unless it is larger than they can use. */
static void check_drawn(const tristar_analysis_t *an) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_cluster cluster = DEFAULTS(tristar_cluster), drawn;
  layout.px = 2;
  layout.py = 3;
  layout.pz = 4;
  for (cluster.cores = 1; cluster.cores <= 4096; cluster.cores *= 4096) {
    drawn = cluster;
    drawn.drawn = 1;
    const tristar_simulated s = predict(an, &layout, 2, &drawn), again = predict(an, &layout, 2, &drawn);
    CHECK(memcmp(&s, &again, sizeof s) == 0);
    check_times(&s, &drawn);
    if (cluster.cores > 1) check_seconds("drawn", s.seconds, predict(an, &layout, 2, &cluster).seconds);
  }
  drawn.cores = 5;
  const double seconds = predict(an, &layout, 2, &drawn).seconds;
  drawn.process_bytes_per_second = 6 * drawn.core_bytes_per_second;
  check_seconds("a rate that nothing exceeds", predict(an, &layout, 2, &drawn).seconds, seconds);
  drawn.process_bytes_per_second = drawn.core_bytes_per_second / 2;
  const tristar_simulated s = predict(an, &layout, 2, &drawn);
  CHECK_MSG(s.seconds > seconds, "%g s with a shared rate, %g s without", s.seconds, seconds);
  CHECK(s.active.min >= 0 && s.active.max <= s.seconds * (1 + 1e-9));
  CHECK(s.active.max * drawn.cores >= s.arithmetic.max);
}

/* One process with one core: each panel of a chunk takes panel_seconds, in both sweeps. */
static void check_panels(const tristar_analysis_t *an) {
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  const double before = predict(an, NULL, 1, &cluster).seconds;
  cluster.panel_seconds = 1e-3;
  const double more = (predict(an, NULL, 1, &cluster).seconds - before) / cluster.panel_seconds;
  CHECK_MSG(more >= 2.0 * an->panels->count && near(more, nearbyint(more)), "%g panels of %d", more,
            an->panels->count);
}

/* GPUs have smaller chunks, so more steps. The messages are those counted with these chunks. */
static void check_gpus(const tristar_analysis_t *an) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_cluster cluster = tsi_device_cluster(tsi_device_get(0)), cores = cluster;
  tristar_traffic traffic;
  layout.px = 2;
  layout.pz = 4;
  cores.gpu_chunks = 0;
  const tristar_simulated s = predict(an, &layout, 1, &cluster);
  CHECK(s.steps > predict(an, &layout, 1, &cores).steps);
  CHECK_OK(tsi_layout_count(an, &layout, 1, true, &traffic));
  check_messages(&s.all, &traffic.all);
  check_messages(&s.grids, &traffic.grids);
  check_times(&s, &cluster);
  tristar_layout_costs costs = DEFAULTS(tristar_layout_costs);
  tristar_layout_prediction predicted;
  costs.cluster = &cluster;
  CHECK_OK(tristar_layout_choose(an, 8, &costs, &layout, &predicted));
  CHECK(predicted.solve_seconds <= s.seconds && predicted.simulated > 1);
  check_seconds("the choice", predict(an, &layout, 1, &cluster).seconds, predicted.solve_seconds);
}

static void check_drawn_errors(const tristar_analysis_t *an) {
  tristar_simulated s;
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  cluster.drawn = 2;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.drawn = cluster.by_priority = 1;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.by_priority = 0;
  CHECK_STATUS(tristar_layout_predict_factor(an, NULL, &cluster, &s), TRISTAR_ERR_UNSUPPORTED);
  cluster.panel_seconds = -1;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.panel_seconds = 0;
  cluster.gpu_chunks = -1;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.gpu_chunks = 1;
  cluster.process_bytes_per_second = INFINITY;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
}

static void check_errors(const tristar_analysis_t *an) {
  tristar_simulated s;
  tristar_cluster cluster = DEFAULTS(tristar_cluster);
  tristar_layout layout = DEFAULTS(tristar_layout);
  layout.pz = 8; /* the tree has only four leaves */
  CHECK_STATUS(tristar_layout_predict(an, &layout, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_predict_factor(an, &layout, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_predict_factor(an, NULL, &cluster, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_predict_factor(NULL, NULL, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.dense_flops_per_second = 0;
  CHECK_STATUS(tristar_layout_predict_factor(an, NULL, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  tristar_cluster_init(&cluster);
  CHECK_STATUS(tristar_layout_predict(an, NULL, 0, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_predict(NULL, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  cluster.core_bytes_per_second = 0;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  tristar_cluster_init(&cluster);
  cluster.latency_seconds = -1;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
  tristar_cluster_init(&cluster);
  cluster.cores = 0;
  CHECK_STATUS(tristar_layout_predict(an, NULL, 1, &cluster, &s), TRISTAR_ERR_ARGUMENT);
}

/* The k-th allocation fails: the status is MEMORY, and no memory is lost. */
static void check_memory(const tristar_view *view, bool factorization) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, view, &options);
  tristar_layout layout = DEFAULTS(tristar_layout);
  layout.px = 2;
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tristar_simulated s;
    const tristar_status status = factorization ? tristar_layout_predict_factor(an, &layout, NULL, &s)
                                                : tristar_layout_predict(an, &layout, 1, NULL, &s);
    end_failure(&failing, status);
    CHECK((s.ranks == 2) == (status == TRISTAR_OK));
  }
  CHECK(failing.count >= 10);
}

int test_layout_predict(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *small;
  tristar_view view = generated_view(ts, "s2d9pt", 60, &matrix),
               few = generated_view(ts, "s2d9pt", 12, &small);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.leaf_parts = 4;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  RUN(check_layouts(an));
  RUN(check_draw_order(an));
  RUN(check_drawn(an));
  RUN(check_panels(an));
  RUN(check_gpus(an));
  RUN(check_drawn_errors(an));
  RUN(check_one(an));
  RUN(check_latency(an));
  RUN(check_errors(an));
  RUN(check_rates(an));
  RUN(check_memory(&few, false));
  RUN(check_memory(&few, true));
  return 0;
}
