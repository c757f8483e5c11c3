/* Refinement: why it stopped, NaN among several right-hand sides, factors without their matrix, allocations
 * that fail. */
#include "runtime/context.h"
#include "tests/dense_systems.h"

/* Why refinement stopped; single factors, so that it has something to do. */
static void check_stop(tristar_t *ts) {
  const dense m = hilbert(6);
  double b[] = {1, -2, 3, -4, 5, -6}, x[6];
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 1, &f, &p);
  tristar_refine_options_init(&options);
#define STOP(change, expected)                                                                               \
  do {                                                                                                       \
    tristar_refine_options_init(&options);                                                                   \
    change;                                                                                                  \
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, 6, x, 6, &options, &result));                         \
    CHECK_MSG(result.stop == (expected), "stop %d, expected %d", (int)result.stop, (int)(expected));         \
  } while (0)
  STOP((void)0, TRISTAR_STOP_CONVERGED);
  STOP(options.max_steps = 0, TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1, options.max_iterations = 0), TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1, options.max_iterations = 1), TRISTAR_STOP_LIMIT);
  STOP((options.max_steps = 1000, options.max_iterations = 0, options.tolerance = 1e-30),
       TRISTAR_STOP_STAGNATED);
  STOP((options.max_steps = 1, options.tolerance = 1e-30), TRISTAR_STOP_STAGNATED);
  STOP((options.max_steps = 0, options.tolerance = 1), TRISTAR_STOP_CONVERGED);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  free_view(&v);
}

/* One right-hand side that is not finite shows, whatever the others are. */
static void check_not_finite(tristar_t *ts) {
  const dense m = dominant(4);
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_result result;
  tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  make_plan(ts, &v, TRISTAR_METHOD_LU, 0, &f, &p);
  for (int bad = 0; bad < 12; bad += 5) {
    double b[12], x[12];
    fill_random(b, 12, 4);
    b[bad] = NAN;
    CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 3, b, 4, x, 4, NULL, &result));
    CHECK(isnan(result.backward_error) && isnan(result.initial_backward_error));
    CHECK(result.stop == TRISTAR_STOP_STAGNATED);
  }
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  free_view(&v);
}

/* Factors imported without their matrix solve, but do not refine. */
static void check_without_matrix(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 3}, upper_ptr[] = {0, 1, 3};
  static const int32_t index[] = {0, 1, 1}, upper_index[] = {0, 0, 1};
  static const double values[] = {1, 0.5, 1}, upper_values[] = {2, 4, 8};
  const double b[] = {6, 11};
  double x[2] = {7, 7}, reciprocal;
  char message[512];
  tristar_factors factors;
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_factors_init(&factors);
  factors.n = 2;
  factors.scalar = TRISTAR_DOUBLE;
  factors.lower =
      (tristar_triangle){.ptr_bits = 64, .index_bits = 32, .ptr = ptr, .index = index, .values = values};
  factors.upper = (tristar_triangle){
      .ptr_bits = 64, .index_bits = 32, .ptr = upper_ptr, .index = upper_index, .values = upper_values};
  CHECK_OK(tristar_import_supernodal(ts, &factors, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  tristar_refine_options_init(&options);
  for (options.forward_error = 0; options.forward_error < 2; options.forward_error++)
    CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, 1, b, 2, x, 2, &options, &result),
                 TRISTAR_ERR_UNSUPPORTED);
  tristar_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, "without its matrix") != NULL, "%s", message);
  CHECK(x[0] == 7 && x[1] == 7);
  CHECK_STATUS(tristar_condition(p, &reciprocal), TRISTAR_ERR_UNSUPPORTED);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 2, x, 2));
  CHECK(x[0] == 1 && x[1] == 1);
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
}

/* The k-th allocation fails, for every k. */
static void check_memory(tristar_t *ts, int single_factors) {
  const dense m = hilbert(10);
  double b[30], x[30];
  tristar_factor_t *f;
  tristar_plan_t *p;
  tristar_refine_options options;
  tristar_refine_result result;
  tristar_memory_stats memory;
  int failures = 0;
  tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_GENERAL);
  fill_random(b, 30, 2);
  make_plan(ts, &v, TRISTAR_METHOD_LU, single_factors, &f, &p);
  tristar_refine_options_init(&options);
  options.forward_error = 1;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 3, b, 10, x, 10, &options, &result)); /* makes replays */
  tristar_memory(ts, &memory);
  const size_t before = memory.current_bytes;
  for (int k = 1;; k++) {
    tristar_memory(ts, &memory);
    tsi_context_env(ts)->memory.fail_at = memory.allocations + k;
    const tristar_status status = tristar_solve_refined(p, TRISTAR_N, 3, b, 10, x, 10, &options, &result);
    tristar_memory(ts, &memory);
    CHECK(memory.current_bytes == before);
    if (status == TRISTAR_OK) break;
    CHECK_STATUS(status, TRISTAR_ERR_MEMORY);
    failures++;
  }
  CHECK_MSG(failures >= (single_factors ? 9 : 6), "%d failures", failures);
  tsi_context_env(ts)->memory.fail_at = 0;
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  free_view(&v);
}

int main(void) {
  tristar_config config;
  tristar_memory_stats memory;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  check_stop(ts);
  check_not_finite(ts);
  check_without_matrix(ts);
  check_memory(ts, 0);
  check_memory(ts, 1);
  tristar_memory(ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  tristar_destroy(&ts);
  return 0;
}
