/* A program with little memory: the heat equation on a cube, solved with the factors that fit. By the
 * forecast it uses factors in double precision, or in single precision with refinement, or gives up before it
 * spends any time. It prints the memory that two processes would need, shows the progress of the
 * factorization, and would end at once on Ctrl-C.
 *
 *   example_forecast [K] [MEGABYTES]
 *
 * K^3 unknowns. The default limit is between the needs of single and double precision. */
#include <math.h>
#include <signal.h>

#include "example.h"
#include "tristar_forecast.h"
#include "tristar_layout.h"

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
  (void)number;
  interrupted = 1;
}

/* The largest share reported by the factorization. */
static int follow(void *arg, const tristar_progress_point *point) {
  double *share = arg;
  if (point->phase == TRISTAR_PHASE_FACTOR && point->share > *share) *share = point->share;
  return interrupted;
}

/* The seven-point operator, its lower triangle by columns. */
static tristar_view assemble(int k) {
  const int n = k * k * k;
  const int step[3] = {1, k, k * k};
  int *ptr = example_allocate((size_t)n + 1, sizeof *ptr),
      *row = example_allocate(4 * (size_t)n, sizeof *row);
  double *value = example_allocate(4 * (size_t)n, sizeof *value);
  int at = 0;
  for (int j = 0; j < n; ptr[++j] = at) {
    const int place[3] = {j % k, j / k % k, j / k / k};
    row[at] = j;
    value[at++] = 7;
    for (int d = 0; d < 3; d++) {
      if (place[d] + 1 == k) continue;
      row[at] = j + step[d];
      value[at++] = -1;
    }
  }
  return (tristar_view){TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, row, value, 32, 32, 0};
}

static tristar_forecast analyze(tristar_t *ts, const tristar_view *a, int single,
                                tristar_analysis_t **analysis) {
  tristar_analysis_options options;
  tristar_forecast forecast;
  tristar_analysis_options_init(&options);
  options.single_factors = single;
  tristar_analysis_destroy(analysis);
  example_check(ts, tristar_analyze(ts, a, &options, analysis));
  example_check(ts, tristar_analysis_forecast(*analysis, NULL, &forecast));
  printf("%s precision: %.1f MB, %.2g s\n", single ? "single" : "double", 1e-6 * (double)forecast.peak_bytes,
         forecast.factor_seconds);
  return forecast;
}

/* Prints the memory of each of two processes for a factor that they compute together (tristar_mpi.h). */
static void forecast_two_processes(tristar_t *ts, tristar_analysis_t *analysis) {
  tristar_layout layout;
  tristar_ranks_forecast ranks;
  tristar_layout_init(&layout);
  layout.px = 2;
  example_check(ts, tristar_layout_forecast(analysis, &layout, 1, NULL, &ranks));
  printf("on two processes: %.1f and %.1f MB, %.2g s\n", 1e-6 * ranks.peak_bytes.max,
         1e-6 * ranks.peak_bytes.min, ranks.factor_seconds);
}

int main(int argc, char **argv) {
  const int k = argc > 1 ? example_number(argv[1], 2, 200) : 20;
  tristar_t *ts;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_refine_result result;
  double share = 0;
  const tristar_view a = assemble(k);
  (void)signal(SIGINT, interrupt);
  example_check(NULL, tristar_create(NULL, &ts));
  tristar_forecast forecast = analyze(ts, &a, 0, &analysis);
  const size_t limit = argc > 2 ? (size_t)example_number(argv[2], 1, 1 << 20) << 20
                                : forecast.peak_bytes - forecast.factor_bytes / 8;
  if (forecast.peak_bytes > limit) forecast = analyze(ts, &a, 1, &analysis);
  forecast_two_processes(ts, analysis);
  if (forecast.peak_bytes > limit) example_die("example_forecast", "not enough memory");
  example_check(ts, tristar_limit_memory(ts, limit));
  example_check(ts, tristar_set_progress(ts, follow, &share));
  example_check(ts, tristar_factor(analysis, a.values, &factor));
  example_check(ts, tristar_plan(factor, NULL, &plan));
  double *b = example_allocate((size_t)a.rows, sizeof *b), *x = example_allocate((size_t)a.rows, sizeof *x);
  for (int64_t i = 0; i < a.rows; i++) b[i] = 1;
  example_check(ts, tristar_solve_refined(plan, TRISTAR_N, 1, b, a.rows, x, a.rows, NULL, &result));
  printf("within %.1f MB; backward error %.1e\n", 1e-6 * (double)limit, result.backward_error);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  free(b);
  free(x);
  free((void *)a.ptr);
  free((void *)a.index);
  free((void *)a.values);
  return result.backward_error < 1e-13 && share >= 0 && share <= 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
