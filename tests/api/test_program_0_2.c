/* A program of version 0.2: tristar.h alone declares everything that it uses. */
#undef TRISTAR_NO_COMPAT
#include "tests/support/check.h"

static void check_machine(tristar_t *ts) {
  const char *name, *text, *fallback;
  tristar_memory_stats memory;
  tristar_calibration calibration;
  CHECK(tristar_get_variable(0, &name, &fallback, &text) == 1 && tristar_get_generator(0, &name, &text) == 1);
  CHECK_OK(tristar_get_memory(ts, &memory));
  CHECK(memory.peak_bytes > 0);
  CHECK_OK(tristar_get_calibration(ts, &calibration));
  CHECK(calibration.source == TRISTAR_CALIBRATION_DEFAULTS);
}

static void check_layouts(const tristar_analysis_t *analysis) {
  tristar_layout layout;
  tristar_layout_costs costs;
  tristar_traffic traffic;
  tristar_layout_init(&layout);
  tristar_layout_costs_init(&costs);
  CHECK_OK(tristar_layout_choose(analysis, 2, &costs, &layout, NULL));
  CHECK_OK(tristar_layout_traffic(analysis, &layout, 1, &traffic));
  CHECK(traffic.ranks == 2);
}

static void check_solves(tristar_factor_t *factor, int64_t n, double *b, double *x) {
  tristar_plan_options options;
  tristar_plan_t *plan;
  tristar_plan_stats stats;
  tristar_solve_options how;
  tristar_solve_result result;
  tristar_request_t *request;
  tristar_refine_options refine;
  tristar_refine_result refined;
  int done;
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.scheduling = TRISTAR_SCHEDULING_LEVELS;
  options.updates = TRISTAR_UPDATES_PUSH;
  options.granularity = TRISTAR_TASKS_SUPERNODES;
  options.placement = TRISTAR_PLACEMENT_OFF;
  CHECK_OK(tristar_plan(factor, &options, &plan));
  tristar_plan_get_stats(plan, &stats);
  CHECK(stats.partition == TRISTAR_PARTITION_SUPERNODES && tristar_plan_get_device(plan, 0, NULL) == 0);
  for (int64_t i = 0; i < n; i++) b[i] = 1;
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  tristar_solve_options_init(&how);
  how.part = TRISTAR_PART_ALL;
  CHECK_OK(tristar_solve_with(plan, &how, 1, b, x, &result));
  CHECK_OK(tristar_solve_start(plan, &how, 1, b, x, &request));
  CHECK_OK(tristar_test(request, &done));
  CHECK_OK(tristar_wait(&request, NULL));
  CHECK_OK(tristar_plan_wait(plan));
  tristar_refine_options_init(&refine);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, n, x, n, &refine, &refined));
  CHECK(refined.stop == TRISTAR_STOP_CONVERGED);
  tristar_plan_destroy(&plan);
}

static void check_triangle(tristar_t *ts, const tristar_view *view) {
  tristar_triangle_options options;
  tristar_factors factors;
  tristar_factor_t *factor;
  tristar_shape shape;
  tristar_triangle_options_init(&options);
  options.uplo = TRISTAR_LOWER;
  options.diag = TRISTAR_UNIT;
  options.partition = TRISTAR_PARTITION_LEVELS;
  CHECK_OK(tristar_import_triangle(ts, view, &options, &factor));
  tristar_factor_destroy(&factor);
  tristar_factors_init(&factors);
  CHECK(factors.method == TRISTAR_METHOD_LU && factors.lower.format == TRISTAR_TRIANGLE_COLUMNS);
  CHECK_OK(tristar_find_triangle(ts, view, &shape, NULL, NULL));
  CHECK(shape == TRISTAR_SHAPE_OTHER);
}

int main(void) {
  tristar_config config;
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_options options;
  tristar_analysis_t *analysis;
  tristar_analysis_stats figures;
  tristar_factor_t *factor;
  tristar_factor_stats stats;
  tristar_config_init(&config);
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &ts));
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 12, &matrix));
  check_machine(ts);
  tristar_matrix_get_view(matrix, &view);
  tristar_analysis_options_init(&options);
  options.inverse = TRISTAR_INVERSE_NONE;
  options.merge = TRISTAR_MERGE_FUNDAMENTAL;
  options.leaf_parts = 2;
  CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
  tristar_analysis_get_stats(analysis, &figures);
  CHECK(figures.n == view.rows);
  check_layouts(analysis);
  CHECK_OK(tristar_factor(analysis, view.values, &factor));
  tristar_factor_get_stats(factor, &stats);
  CHECK(stats.perturbed_pivots == 0);
  double *b = calloc(2 * (size_t)view.rows, sizeof *b);
  CHECK(b != NULL);
  check_solves(factor, view.rows, b, b + view.rows);
  check_triangle(ts, &view);
  free(b);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return 0;
}
