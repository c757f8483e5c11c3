/* Bytes of the search of PIVOTING_DELAYED against the forecast: exact fronts where no column is delayed. */
#include "runtime/factor/factor_forecast.h"
#include "tests/support/context.h"
#include "tests/support/objects.h"
#include "tests/support/subtests.h"
#include "tristar_forecast.h"

/* With this small threshold the factorization needs no search. A search that is run anyway delays no
 * column, and its memory must be the forecast. */
static void check_search(tristar_t *ts, const char *name, tristar_method method) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tsi_env *env = tsi_context_env(ts);
  tristar_matrix_t *matrix;
  tristar_factor_stats stats;
  double forecast;
  bool changed;
  const tristar_view view = read_view(ts, name, &matrix);
  options.method = method;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  options.pivot_threshold = 1e-12;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  CHECK_OK(tsi_factor_weigh_search(analysis, &forecast));
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  CHECK(stats.pivot_rounds == 0);
  const size_t before = tsi_memory_watch(env);
  CHECK_OK(tsi_factor_search_order(factor, &changed));
  const double took = (double)(atomic_load(&env->memory.recent) - before);
  CHECK(changed && factor->stats.delayed_pivots == 0);
  CHECK_MSG(forecast <= 1.02 * took && forecast >= 0.98 * took, "%s: %.0f bytes, %.0f forecast", name, took,
            forecast);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

/* The forecast of a factorization that delays a few columns. */
static void check_peak(tristar_t *ts) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_matrix_t *matrix;
  tristar_forecast f;
  tristar_factor_stats stats;
  const tristar_view view = read_view(ts, "gen:convdiff3d:12", &matrix);
  options.method = TRISTAR_METHOD_LU;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  options.pivot_threshold = 1;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  CHECK_OK(tristar_analysis_forecast(analysis, NULL, &f));
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  CHECK_OK(tristar_factor_get_stats(factor, &stats));
  const double peak = (double)stats.peak_bytes, forecast = (double)f.search_peak_bytes;
  CHECK_MSG(forecast <= 1.1 * peak && forecast >= 0.9 * peak && stats.delayed_pivots > 0,
            "%.0f bytes, %.0f forecast, %lld delayed", peak, forecast, (long long)stats.delayed_pivots);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

/* Without delayed pivots there is no search. */
static void check_none(tristar_t *ts) {
  tristar_matrix_t *matrix;
  tristar_forecast f;
  const tristar_view view = read_view(ts, "gen:convdiff3d:6", &matrix);
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, NULL);
  CHECK_OK(tristar_analysis_forecast(analysis, NULL, &f));
  CHECK(f.search_peak_bytes == 0);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

int test_search_bytes(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(false);
  RUN(check_search(ts, "gen:convdiff3d:10", TRISTAR_METHOD_LU));
  RUN(check_search(ts, "gen:poisson3d7:11", TRISTAR_METHOD_LDLT));
  RUN(check_peak(ts));
  RUN(check_none(ts));
  close_context(&ts);
  return 0;
}
