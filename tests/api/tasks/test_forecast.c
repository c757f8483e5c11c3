/* Forecasts of memory are exact for one thread, whatever the method and the scalar, and close for several
 * workers. A limit that cannot suffice is an error before anything is allocated. After tristar_refactor the
 * factor then has no values; all other objects stay as they were. A limit that suffices is never exceeded. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/objects.h"
#include "tests/support/subtests.h"
#include "tristar_forecast.h"
#include "tristar_layout.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"
#include "tristar_update.h"

static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                         TRISTAR_COMPLEX_DOUBLE};

static bool is_complex(tristar_scalar scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE;
}

/* Converts the double values of *view to this type. The caller frees the array. */
static void *convert(tristar_view *view, tristar_scalar scalar) {
  const int64_t entries = ((const int64_t *)view->ptr)[view->cols];
  const double *from = view->values;
  const int width = is_complex(scalar) ? 2 : 1;
  const bool single = scalar == TRISTAR_SINGLE || scalar == TRISTAR_COMPLEX_SINGLE;
  void *values = calloc((size_t)(entries * width), sizeof(double));
  CHECK(values != NULL);
  for (int64_t k = 0; k < entries; k++)
    if (single)
      ((float *)values)[k * width] = (float)from[k];
    else
      ((double *)values)[k * width] = from[k];
  view->scalar = scalar;
  view->values = values;
  if (width == 2) view->symmetry = TRISTAR_HERMITIAN;
  return values;
}

typedef struct system {
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values;
  tristar_analysis_t *analysis;
} system_t;

static system_t make_system(tristar_t *ts, const char *name, tristar_method method, tristar_scalar scalar) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  system_t s;
  s.view = read_view(ts, name, &s.matrix);
  s.values = convert(&s.view, scalar);
  options.method = method;
  s.analysis = NEW_ANALYSIS(ts, &s.view, &options);
  return s;
}

static void free_system(system_t *s) {
  tristar_analysis_destroy(&s->analysis);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

static tristar_forecast forecast_of(tristar_analysis_t *analysis, int64_t nrhs) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_forecast f;
  options.nrhs = nrhs;
  CHECK_OK(tristar_analysis_forecast(analysis, &options, &f));
  return f;
}

/* ---- Forecasts ----------------------------------------------------------------------------------------- */

static void check_exact(tristar_t *ts, const char *name, tristar_method method, tristar_scalar scalar) {
  system_t s = make_system(ts, name, method, scalar);
  tristar_factor_t *factor;
  tristar_factor_stats stats;
  const size_t before = bytes_held(ts);
  const tristar_forecast f = forecast_of(s.analysis, 1);
  CHECK(bytes_held(ts) == before); /* all memory was freed */
  CHECK_OK(tristar_factor(s.analysis, s.values, &factor));
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  CHECK_MSG(!stats.judged && stats.peak_bytes == f.factor_peak_bytes, "%s %c: %zu bytes, %zu forecast", name,
            scalar, stats.peak_bytes, f.factor_peak_bytes);
  const size_t factored = bytes_held(ts);
  CHECK_MSG(factored - before == f.factor_bytes, "%zu bytes, %zu forecast", factored - before,
            f.factor_bytes);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CHECK(bytes_held(ts) - factored == f.plan_bytes);
  CHECK(f.peak_bytes >= before + f.factor_peak_bytes && f.least_peak_bytes == f.factor_peak_bytes);
  CHECK(f.trial_peak_bytes >= f.factor_peak_bytes && f.workers == 1);
  CHECK(f.factor_seconds > 0 && f.solve_seconds > 0);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  CHECK(bytes_held(ts) == before);
  free_system(&s);
}

/* Units of up to 2^exponent make trial solves necessary. The forecast includes them. */
static void check_units(tristar_t *ts, const char *name, int exponent) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  system_t s;
  tristar_factor_stats stats;
  s.view = read_view(ts, name, &s.matrix);
  s.values = convert(&s.view, TRISTAR_DOUBLE);
  const int64_t *ptr = s.view.ptr;
  for (int64_t line = 0; line < s.view.cols; line++)
    for (int64_t p = ptr[line]; p < ptr[line + 1]; p++)
      ((double *)s.values)[p] = ldexp(((double *)s.values)[p], (int)(line % (exponent + 1)));
  options.method = TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_ON;
  s.analysis = NEW_ANALYSIS(ts, &s.view, &options);
  const tristar_forecast f = forecast_of(s.analysis, 1);
  tristar_factor_t *factor = NEW_FACTOR(s.analysis, s.values);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  CHECK(stats.judged && f.trial_peak_bytes >= f.factor_peak_bytes);
  CHECK_MSG(stats.peak_bytes <= f.factor_peak_bytes && stats.peak_bytes > 9 * (f.factor_peak_bytes / 10),
            "%s 2^%d: %zu bytes, %zu forecast, with all trials %zu", name, exponent, stats.peak_bytes,
            f.factor_peak_bytes, f.trial_peak_bytes);
  tristar_factor_destroy(&factor);
  free_system(&s);
}

/* Four full rows and columns, with pivots that grow to n: trials that no scaling foresees fit into the memory
 * that the factorization and the analysis take anyway. */
static void check_growth(tristar_t *ts) {
  enum { N = 3000, FULL = N - 4 };
  static int32_t ptr[N + 1], row[9 * N];
  static double value[9 * N];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view view;
  tristar_factor_stats stats;
  int32_t p = 0;
  for (int32_t j = 0; j < N; j++) {
    ptr[j] = p;
    for (int32_t i = 0; i < N; i++) {
      if (i != j && i < FULL && j < FULL) continue;
      row[p] = i;
      value[p++] = i > j ? -1 : 1;
    }
  }
  ptr[N] = p;
  tristar_view_init(&view);
  view.rows = view.cols = N;
  view.ptr = ptr;
  view.index = row;
  view.values = value;
  options.method = TRISTAR_METHOD_LU;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  const tristar_forecast f = forecast_of(analysis, 1);
  const size_t held = bytes_held(ts);
  tristar_factor_t *factor = NEW_FACTOR(analysis, value);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  CHECK_MSG(stats.judged && stats.growth > N / 2, "growth %g", stats.growth);
  CHECK_MSG(10 * (held + stats.peak_bytes) <= 11 * (held + f.factor_peak_bytes) &&
                stats.peak_bytes <= f.trial_peak_bytes,
            "%zu bytes and %zu held, %zu forecast, with trials %zu", stats.peak_bytes, held,
            f.factor_peak_bytes, f.trial_peak_bytes);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
}

/* Sets the diagonal of a symmetric matrix so that each row sums to zero. */
static void balance_rows(const tristar_view *view, double *values) {
  const int64_t *ptr = view->ptr;
  const int32_t *row = view->index;
  OWNED double *sum = xmalloc((size_t)view->cols * sizeof *sum);
  for (int64_t j = 0; j < view->cols; j++) sum[j] = 0;
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      if (row[p] != j) {
        sum[row[p]] -= values[p];
        if (view->symmetry != TRISTAR_GENERAL) sum[j] -= values[p];
      }
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      if (row[p] == j) values[p] = sum[j];
}

/* A matrix with one null vector, and a right-hand side without a solution. The forecast includes the search
 * for null vectors and the memory that the plan keeps. */
static void check_singular(const char *name, tristar_method method, tristar_scalar scalar) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  system_t s;
  tristar_forecast f;
  tristar_memory_stats factored, solved;
  tristar_t *ts = open_without_starpu(false); /* a new context, so that its peak is that of the solve */
  const tristar_view view = read_view(ts, name, &s.matrix);
  const int64_t n = view.cols, entries = ((const int64_t *)view.ptr)[n];
  OWNED double *balanced = xmalloc((size_t)entries * sizeof *balanced);
  memcpy(balanced, view.values, (size_t)entries * sizeof *balanced);
  balance_rows(&view, balanced);
  s.view = view;
  s.view.values = balanced;
  s.values = convert(&s.view, scalar);
  options.method = method;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  s.analysis = NEW_ANALYSIS(ts, &s.view, &options);
  CHECK_OK(tristar_analysis_forecast(s.analysis, NULL, &f));
  tristar_factor_t *factor = NEW_FACTOR(s.analysis, s.values);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  OWNED double *b = xcalloc(2 * (size_t)n, sizeof *b), *x = xcalloc(2 * (size_t)n, sizeof *x);
  memset(b, 0x3f, sizeof *b); /* a positive number in each type */
  tristar_get_memory(ts, &factored);
  CHECK_STATUS(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n), TRISTAR_ERR_ACCURACY);
  tristar_get_memory(ts, &solved);
  CHECK(solved.peak_bytes > factored.peak_bytes);
  const size_t most = solved.peak_bytes - factored.current_bytes,
               kept = solved.current_bytes - factored.current_bytes;
  CHECK_MSG(most <= f.singular_bytes && most > f.singular_bytes / 2, "%s %c: %zu bytes, bound %zu", name,
            scalar, most, f.singular_bytes);
  CHECK_MSG(kept <= f.singular_kept_bytes && kept > f.singular_kept_bytes / 2, "%s %c: %zu bytes, bound %zu",
            name, scalar, kept, f.singular_kept_bytes);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  free_system(&s);
  close_context(&ts);
}

static void check_all_singular(void) {
  for (size_t k = 0; k < 4; k++) {
    check_singular("gen:s2d9pt:40", TRISTAR_METHOD_LDLT, scalars[k]);
    check_singular("gen:s2d9pt:40", TRISTAR_METHOD_LU, scalars[k]);
    check_singular("gen:s2d9pt:20", TRISTAR_METHOD_LDLT, scalars[k]);
  }
}

static void check_all_exact(tristar_t *ts, const char *name) {
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LU, TRISTAR_METHOD_LDLT};
  for (size_t k = 0; k < 4; k++)
    for (size_t m = 0; m < 3; m++) check_exact(ts, name, methods[m], scalars[k]);
}

/* The forecast of the analysis equals the memory that the analysis holds. */
static void check_analysis(tristar_t *ts) {
  const size_t before = bytes_held(ts);
  system_t s = make_system(ts, "gen:poisson3d7:9", TRISTAR_METHOD_LU, TRISTAR_DOUBLE);
  tristar_matrix_destroy(&s.matrix);
  CHECK(bytes_held(ts) - before == forecast_of(s.analysis, 1).analysis_bytes);
  free_system(&s);
}

/* With workers the peak depends on the tasks that run at the same time. It is never below the peak of one
 * thread. */
static void check_close(tristar_t *ts, const char *name, tristar_method method) {
  system_t s = make_system(ts, name, method, TRISTAR_DOUBLE);
  tristar_factor_stats stats;
  const tristar_forecast f = forecast_of(s.analysis, 40);
  tristar_factor_t *factor = NEW_FACTOR(s.analysis, s.values);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  CHECK(f.workers > 1 && f.least_peak_bytes < f.factor_peak_bytes);
  CHECK_MSG(
      stats.peak_bytes >= f.least_peak_bytes && (double)stats.peak_bytes <= 1.1 * (double)f.factor_peak_bytes,
      "%s: %zu bytes, %zu to %zu forecast", name, stats.peak_bytes, f.least_peak_bytes, f.factor_peak_bytes);
  tristar_factor_destroy(&factor);
  free_system(&s);
}

/* ---- Limits -------------------------------------------------------------------------------------------- */

static void check_message(tristar_t *ts) {
  char message[512];
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, "tristar_limit_memory") != NULL, "%s", message);
}

static void check_limit(tristar_t *ts) {
  system_t s = make_system(ts, "gen:poisson3d7:10", TRISTAR_METHOD_LLT, TRISTAR_DOUBLE);
  tristar_factor_t *factor;
  tristar_memory_stats memory;
  const size_t before = bytes_held(ts), peak = before + forecast_of(s.analysis, 1).factor_peak_bytes;
  CHECK_OK(tristar_limit_memory(ts, peak - 1));
  CHECK_STATUS(tristar_factor(s.analysis, s.values, &factor), TRISTAR_ERR_MEMORY);
  check_message(ts);
  CHECK(factor == NULL && bytes_held(ts) == before);
  CHECK_OK(tristar_get_memory(ts, &memory));
  CHECK(memory.peak_bytes < peak); /* the factorization did not start */
  CHECK_OK(tristar_limit_memory(ts, peak));
  CHECK_OK(tristar_factor(s.analysis, s.values, &factor));
  CHECK_OK(tristar_get_memory(ts, &memory));
  CHECK(memory.peak_bytes <= peak);
  CHECK_OK(tristar_limit_memory(ts, bytes_held(ts)));
  CHECK_STATUS(tristar_refactor(factor, s.values), TRISTAR_ERR_MEMORY);
  tristar_plan_t *plan;
  CHECK_STATUS(tristar_plan(factor, NULL, &plan), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_limit_memory(ts, 0));
  CHECK_OK(tristar_refactor(factor, s.values));
  tristar_factor_destroy(&factor);
  free_system(&s);
}

/* Updates keep more memory than a factorization. Within a limit they succeed, with the same bits, or return
 * MEMORY. Afterwards new values can be factored without a limit. */
static void check_updates(tristar_t *ts) {
  system_t s = make_system(ts, "gen:poisson3d7:14", TRISTAR_METHOD_LLT, TRISTAR_DOUBLE);
  const tristar_forecast f = forecast_of(s.analysis, 1);
  const int64_t entries = ((const int64_t *)s.view.ptr)[s.view.cols];
  const size_t held = bytes_held(ts), bytes = (size_t)s.view.rows * sizeof(double);
  tristar_update_result result;
  tristar_memory_stats memory;
  double *expected = NULL, *x = malloc(bytes);
  int failures = 0, successes = 0;
  for (int64_t p = 0; p < entries; p++)
    if (((double *)s.values)[p] > 0) ((double *)s.values)[p] += (double)(p % 3);
  for (int k = -1; k < 12; k++) { /* -1: no limit */
    const size_t limit = k < 0 ? 0 : held + f.least_peak_bytes / 2 + f.factor_peak_bytes / 4 * (size_t)k;
    tristar_factor_t *factor = NEW_FACTOR(s.analysis, s.values);
    CHECK_OK(tristar_limit_memory(ts, limit));
    tristar_status status = tristar_update_begin(factor);
    for (int change = 0; change < 2 && status == TRISTAR_OK; change++) {
      ((double *)s.values)[0] *= change == 0 ? 2 : 0.5;
      status = tristar_update_values(factor, s.values, &result);
    }
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY);
    CHECK_OK(tristar_get_memory(ts, &memory));
    CHECK(limit == 0 || memory.current_bytes <= limit);
    CHECK_OK(tristar_limit_memory(ts, 0));
    failures += status != TRISTAR_OK;
    successes += status == TRISTAR_OK && k >= 0;
    if (status != TRISTAR_OK) CHECK_OK(tristar_refactor(factor, s.values));
    tristar_plan_t *plan = NEW_PLAN(factor, NULL);
    for (int64_t i = 0; i < s.view.rows; i++) x[i] = (double)(i % 7) - 3;
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, s.view.rows, x, s.view.rows));
    if (k < 0) {
      expected = malloc(bytes);
      memcpy(expected, x, bytes);
    }
    CHECK(memcmp(x, expected, bytes) == 0);
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
    CHECK(bytes_held(ts) == held);
  }
  CHECK_MSG(failures > 0 && successes > 0, "%d failures, %d successes", failures, successes);
  free(expected);
  free(x);
  free_system(&s);
}

typedef struct lowered {
  tristar_t *ts;
  size_t limit;
} lowered;

/* Sets the limit as soon as the factorization runs. */
static int lower_limit(void *arg, const tristar_progress_point *point) {
  const lowered *l = arg;
  if (point->phase == TRISTAR_PHASE_FACTOR) CHECK_OK(tristar_limit_memory(l->ts, l->limit));
  return 0;
}

/* Factors and solves; the caller frees the solution. */
static double *solve_within(tristar_t *ts, const system_t *s, size_t *peak) {
  const int64_t n = s->view.rows;
  tristar_factor_stats stats;
  tristar_factor_t *factor = NEW_FACTOR(s->analysis, s->values);
  CHECK_OK(tristar_limit_memory(ts, 0));
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  *peak = stats.peak_bytes;
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  double *x = malloc((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = (double)(i % 7) - 3;
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, n, x, n));
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  return x;
}

/* If the limit is too small for all workers, one thread factors, with the same bits. This also holds if
 * tasks have started and then exceed the limit. */
static void check_alone(tristar_t *ts) {
  system_t s = make_system(ts, "gen:chem3d:12", TRISTAR_METHOD_LU, TRISTAR_DOUBLE);
  const tristar_forecast f = forecast_of(s.analysis, 1);
  const size_t bytes = (size_t)s.view.rows * sizeof(double), held = bytes_held(ts);
  lowered l = {ts, held + f.least_peak_bytes};
  size_t peak;
  double *expected = solve_within(ts, &s, &peak);
  CHECK_OK(tristar_limit_memory(ts, held + (f.least_peak_bytes + f.factor_peak_bytes) / 2));
  double *alone = solve_within(ts, &s, &peak);
  CHECK(peak == f.least_peak_bytes && memcmp(alone, expected, bytes) == 0);
  CHECK_OK(tristar_set_progress(ts, lower_limit, &l));
  l.limit += bytes_held(ts) - held; /* memory that the progress function takes */
  CHECK_OK(tristar_limit_memory(ts, bytes_held(ts) + f.factor_peak_bytes));
  double *again = solve_within(ts, &s, &peak);
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK_OK(tristar_limit_memory(ts, 0));
  CHECK(memcmp(again, expected, bytes) == 0);
  free(expected);
  free(alone);
  free(again);
  free_system(&s);
}

/* Each allocation of a forecast fails in turn. */
static void check_failing(tristar_t *ts) {
  system_t s = make_system(ts, "gen:poisson3d7:6", TRISTAR_METHOD_LDLT, TRISTAR_DOUBLE);
  tristar_forecast f;
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    const tristar_status status = tristar_analysis_forecast(s.analysis, NULL, &f);
    end_failure(&failing, status);
    CHECK(status == TRISTAR_OK || f.peak_bytes == 0);
  }
  CHECK(failing.count > 30);
  free_system(&s);
}

/* Returns the predicted seconds of a factorization on a machine with this rate of the cores; 0: no measured
 * rate. The simulation of a process uses the measured rate, too. */
static double seconds_at(long mflops) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_layout layout = DEFAULTS(tristar_layout);
  tristar_layout_prediction chosen;
  tristar_t *ts;
  FILE *file = fopen("rate.calibration", "w");
  CHECK(file != NULL);
  fprintf(file, "tristar-calibration 1\ntask_ns 2000\nbarrier_ns 6000\nread_one_core_mb_per_s 12000\n"
                "read_all_cores_mb_per_s 20000\nworkers 2\ncores 2\nnuma_nodes 1\nl2_bytes 1048576\n"
                "l3_bytes 33554432\nl3_cores 2\n");
  if (mflops > 0) fprintf(file, "multiply_one_core_mflop_per_s %ld\n", mflops);
  CHECK(fclose(file) == 0);
  config.use_starpu = 0;
  config.calibration = "rate.calibration";
  CHECK_OK(tristar_create(&config, &ts));
  system_t s = make_system(ts, "gen:poisson3d7:20", TRISTAR_METHOD_LLT, TRISTAR_DOUBLE);
  const double seconds = forecast_of(s.analysis, 1).factor_seconds;
  CHECK_OK(tristar_layout_choose(s.analysis, 1, NULL, &layout, &chosen));
  CHECK_MSG(chosen.factor_seconds > seconds / 2 && chosen.factor_seconds < 2 * seconds, "%g s, not %g s",
            chosen.factor_seconds, seconds);
  free_system(&s);
  close_context(&ts);
  return seconds;
}

static void check_seconds(void) {
  const double slow = seconds_at(5000), fast = seconds_at(50000), assumed = seconds_at(0);
  CHECK_MSG(slow > 3 * fast && slow < 10 * fast, "%g and %g s", slow, fast);
  CHECK(assumed > fast && assumed < slow);
}

static void check_arguments(tristar_t *ts) {
  system_t s = make_system(ts, "gen:poisson3d7:4", TRISTAR_METHOD_LLT, TRISTAR_DOUBLE);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_forecast f;
  CHECK_STATUS(tristar_analysis_forecast(NULL, NULL, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_analysis_forecast(s.analysis, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_limit_memory(NULL, 1), TRISTAR_ERR_ARGUMENT);
  options.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_STATUS(tristar_analysis_forecast(s.analysis, &options, &f), TRISTAR_ERR_UNSUPPORTED);
  options = DEFAULTS(tristar_plan_options);
  options.nrhs = -1;
  CHECK_STATUS(tristar_analysis_forecast(s.analysis, &options, &f), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_analysis_forecast(s.analysis, NULL, &f));
  free_system(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  RUN_ONE_THREAD(check_all_exact(ts, "gen:s2d9pt:40"));
  RUN_ONE_THREAD(check_all_exact(ts, "gen:poisson3d7:13"));
  RUN_ONE_THREAD(check_units(ts, "gen:chain:3000", 16));
  RUN_ONE_THREAD(check_units(ts, "gen:circuit:2000", 16));
  RUN_ONE_THREAD(check_units(ts, "gen:chain:3000", 24));
  RUN_ONE_THREAD(check_growth(ts));
  RUN_ONE_THREAD(check_all_singular());
  RUN_ONE_THREAD(check_analysis(ts));
  RUN_ONE_THREAD(check_arguments(ts));
  RUN_ONE_THREAD(check_failing(ts));
  close_context(&ts);
  RUN(check_seconds());
  ts = open_without_starpu(false); /* a new context, so that its peak is the one to compare with the limit */
  RUN_ONE_THREAD(check_limit(ts));
  RUN_ONE_THREAD(check_updates(ts));
  close_context(&ts);
  ts = open_with_starpu(2, false);
  RUN(check_close(ts, "gen:poisson3d7:16", TRISTAR_METHOD_LLT));
  RUN(check_close(ts, "gen:poisson3d7:16", TRISTAR_METHOD_LU));
  RUN(check_close(ts, "gen:s2d9pt:120", TRISTAR_METHOD_LDLT));
  RUN(check_alone(ts));
  RUN(check_updates(ts));
  RUN(check_failing(ts));
  close_context(&ts);
  return 0;
}
