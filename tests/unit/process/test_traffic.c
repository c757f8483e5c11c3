/* tristar_layout_traffic: relations between its figures, and its errors. test_layout proves that the counts
 * match the programs. */
#include "runtime/process/pairs.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static tristar_layout layout_of(int px, int py, int pz) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  layout.px = px;
  layout.py = py;
  layout.pz = pz;
  return layout;
}

static tristar_traffic traffic_of(const tristar_analysis_t *an, tristar_layout layout, int64_t nrhs) {
  tristar_traffic traffic;
  CHECK_OK(tristar_layout_traffic(an, &layout, nrhs, &traffic));
  CHECK(traffic.ranks == (int64_t)layout.px * layout.py * layout.pz);
  CHECK(traffic.balance >= 1 && traffic.balance <= (double)traffic.ranks);
  return traffic;
}

static void check_figures(const tristar_analysis_t *an) {
  const tristar_traffic one = traffic_of(an, layout_of(1, 1, 1), 1);
  CHECK(one.factor_bytes.min > 0 && one.factor_bytes.min >= one.factor_bytes.max);
  CHECK(one.all.sent.max <= 0 && one.grid_steps == 0 && one.spread_chunks == 0);
  for (int pz = 1; pz <= 4; pz *= 2) {
    tristar_layout layout = layout_of(3, 2, pz);
    const tristar_traffic new = traffic_of(an, layout, 1), many = traffic_of(an, layout, 7);
    layout.algorithm = TRISTAR_ALGORITHM_LEVELWISE;
    const tristar_traffic old = traffic_of(an, layout, 1);
    layout.map = TRISTAR_MAP_CYCLIC;
    const tristar_traffic cyclic = traffic_of(an, layout, 1);
    CHECK(new.grid_steps == pz / 2 && old.grid_steps == 2 * new.grid_steps);
    /* without replicas the processes together store the factor once */
    CHECK(old.factor_bytes.total >= one.factor_bytes.total &&
          old.factor_bytes.total <= one.factor_bytes.total);
    CHECK(pz == 1 || new.factor_bytes.total > old.factor_bytes.total);
    CHECK(new.factor_bytes.min <= new.factor_bytes.mean &&new.factor_bytes.mean <= new.factor_bytes.max);
    CHECK(cyclic.all.sent.total > old.all.sent.total);
    CHECK(many.all.sent.total <= new.all.sent.total &&many.all.sent.total >= new.all.sent.total);
    CHECK(many.all.sent_bytes.max >= 7 * new.all.sent_bytes.max &&many.all.sent_bytes.max <=
          7 * new.all.sent_bytes.max);
  }
}

static void check_errors(const tristar_analysis_t *an) {
  tristar_traffic traffic;
  tristar_layout layout = layout_of(1, 1, 8); /* the tree has only four leaves */
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_ARGUMENT);
  CHECK(traffic.ranks == 0);
  layout = layout_of(1, 1, 3);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_ARGUMENT);
  layout = layout_of(1, -1, 1);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_ARGUMENT);
  layout = layout_of(1 << 20, 2, 1);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_TOO_LARGE);
  layout = layout_of(INT32_MAX, INT32_MAX, INT32_MAX);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_TOO_LARGE);
  layout = layout_of(1, 1, 1);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 0, &traffic), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_layout_traffic(NULL, &layout, 1, &traffic), TRISTAR_ERR_ARGUMENT);
  layout.map = (tristar_map)2;
  CHECK_STATUS(tristar_layout_traffic(an, &layout, 1, &traffic), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_layout_traffic(an, NULL, 1, &traffic));
  CHECK(traffic.ranks == 1);
}

static tristar_analysis_t *analyze(tristar_t *ts, const tristar_view *view) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.leaf_parts = 4;
  tristar_analysis_t *an = NEW_ANALYSIS(ts, view, &options);
  return an;
}

/* A matrix without rows, and one with one row. */
static void check_tiny(tristar_t *ts) {
  const int64_t ptr[] = {0, 1};
  const int32_t index[] = {0};
  const double values[] = {2};
  for (int n = 0; n <= 1; n++) {
    const tristar_view view =
        stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, index, values);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = analyze(ts, &view);
    const tristar_traffic traffic = traffic_of(an, layout_of(2, 2, 4), 1);
    CHECK(traffic.chunks == n);
  }
}

/* The k-th allocation fails: the status is MEMORY, and no memory is lost. */
static void check_memory(const tristar_view *view) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = analyze(ts, view);
  const tristar_layout layout = layout_of(2, 2, 4);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tristar_traffic traffic;
    tsi_pairs *pairs = NULL;
    double row_bytes;
    tristar_status status = tristar_layout_traffic(an, &layout, 1, &traffic);
    if (status == TRISTAR_OK) status = tsi_layout_pairs(an, &layout, 1, 4, &pairs, &row_bytes);
    end_failure(&failing, status);
    CHECK((pairs != NULL) == (status == TRISTAR_OK));
    tsi_layout_pairs_destroy(an, &pairs);
  }
  CHECK(failing.count >= 10);
}

int test_traffic(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = generated_view(ts, "s2d9pt", 60, &matrix);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = analyze(ts, &view);
  RUN(check_figures(an));
  RUN(check_errors(an));
  RUN(check_tiny(ts));
  RUN(check_memory(&view));
  return 0;
}
