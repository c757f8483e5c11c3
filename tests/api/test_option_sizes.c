/* Option structs of other versions: a size that no initialization set is refused, a shorter struct takes
 * defaults for its last fields, a longer one is accepted if the additional bytes are 0. The defaults protect:
 * the Krylov method follows from the matrix, and tristar_solve refines where pivots were perturbed. */
#include <stddef.h>

#include "tests/support/flow.h"
#include "tristar_krylov.h"
#include "tristar_layout.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#include "tristar_triangle.h"

static void check_refused(tristar_t *ts, tristar_status status, const char *init) {
  CHECK_STATUS(status, TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, init);
}

/* All functions that take options accept structs of zeros. */
static void check_uninitialized(tristar_t *ts, flow *f, const double *b, double *x) {
  const int64_t n = f->view.rows;
  tristar_t *other;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_request_t *request;
  tristar_krylov_t *krylov;
  tristar_precond_t *precond;
  tristar_layout layout;
  tristar_layout_init(&layout);
  check_refused(NULL, tristar_create(&(tristar_config){.use_starpu = 0}, &other), "tristar_config_init");
  check_refused(ts, tristar_analyze(ts, &f->view, &(tristar_analysis_options){.seed = 1}, &analysis),
                "tristar_analysis_options_init");
  check_refused(ts, tristar_plan(f->factor, &(tristar_plan_options){.nrhs = 1}, &plan),
                "tristar_plan_options_init");
  check_refused(ts, tristar_solve_with(f->plan, &(tristar_solve_options){.op = TRISTAR_N}, 1, b, x, NULL),
                "tristar_solve_options_init");
  check_refused(ts,
                tristar_solve_start(f->plan, &(tristar_solve_options){.op = TRISTAR_N}, 1, b, x, &request),
                "tristar_solve_options_init");
  check_refused(ts,
                tristar_solve_refined(f->plan, TRISTAR_N, 1, b, n, x, n,
                                      &(tristar_refine_options){.max_steps = 1}, NULL),
                "tristar_refine_options_init");
  check_refused(
      ts, tristar_import_triangle(ts, &f->view, &(tristar_triangle_options){.uplo = TRISTAR_LOWER}, &factor),
      "tristar_triangle_options_init");
  check_refused(ts, tristar_layout_choose(f->analysis, 1, &(tristar_layout_costs){.nrhs = 1}, &layout, NULL),
                "tristar_layout_costs_init");
  check_refused(ts, tristar_krylov_create(ts, &f->view, &(tristar_krylov_options){.restart = 1}, &krylov),
                "tristar_krylov_options_init");
  check_refused(ts, tristar_precond(ts, &f->view, &(tristar_precond_options){.nrhs = 1}, &precond),
                "tristar_precond_options_init");
}

/* A struct with a smaller size: fields beyond the size are not read, though their values are invalid. */
static void check_shorter(flow *f) {
  tristar_plan_options options;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_plan_options_init(&options);
  CHECK(options.size == sizeof options);
  options.chunk_bytes_min = -1;
  CHECK_STATUS(tristar_plan(f->factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
  options.size = offsetof(tristar_plan_options, chunk_bytes_min);
  CHECK_OK(tristar_plan(f->factor, &options, &plan));
}

/* A program for a later version, whose struct has one more field. */
static void check_longer(tristar_t *ts, flow *f) {
  struct {
    tristar_plan_options known;
    int64_t later;
  } options;
  memset(&options, 0xff, sizeof options);
  tristar_plan_options_init_sized(&options.known, sizeof options);
  CHECK(options.known.size == sizeof options && options.later == 0 && options.known.nrhs == 1);
  tristar_plan_t *plan = NEW_PLAN(f->factor, &options.known);
  tristar_plan_destroy(&plan);
  options.later = 1;
  CHECK_STATUS(tristar_plan(f->factor, &options.known, &plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(ts, "tristar_plan_options");
}

static void check_views(void) {
  tristar_view view;
  tristar_triangle triangle;
  tristar_view_init(&view);
  CHECK(view.scalar == TRISTAR_DOUBLE && view.ptr_bits == 32 && view.index_bits == 32 && view.ptr == NULL);
  tristar_triangle_init(&triangle);
  CHECK(triangle.format == TRISTAR_TRIANGLE_COLUMNS && triangle.ptr_bits == 32 && triangle.index_bits == 32);
}

static void check_method(tristar_t *ts, const tristar_view *view, tristar_krylov_side side,
                         tristar_krylov_method expected) {
  tristar_krylov_options options;
  tristar_krylov_stats stats;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_options_init(&options);
  options.side = side;
  CHECK_OK(tristar_krylov_create(ts, view, &options, &krylov));
  tristar_krylov_get_stats(krylov, &stats);
  CHECK_MSG(stats.method == expected, "method %d, expected %d", (int)stats.method, (int)expected);
  options.method = TRISTAR_KRYLOV_FGMRES;
  options.side = TRISTAR_SIDE_DEFAULT;
  CHECK_OK(tristar_krylov_set_options(krylov, &options));
  options.method = TRISTAR_KRYLOV_AUTO;
  options.side = side;
  CHECK_OK(tristar_krylov_set_options(krylov, &options));
  tristar_krylov_get_stats(krylov, &stats);
  CHECK(stats.method == expected);
  options.norm = TRISTAR_NORM_RESIDUAL; /* each method that AUTO may choose supports it */
  CHECK_OK(tristar_krylov_set_options(krylov, &options));
}

/* A 2 x 2 matrix with a and c on the diagonal, b and d beside it. */
static void check_methods(tristar_t *ts) {
  static const int32_t ptr[] = {0, 2, 4}, index[] = {0, 1, 0, 1}, half[] = {0, 2, 3}, lower[] = {0, 1, 1};
  double values[] = {4, 1, 1, 3}, triangle[] = {4, 1, 3};
  tristar_view view;
  tristar_view_init(&view);
  view.rows = view.cols = 2;
  view.ptr = ptr, view.index = index, view.values = values;
  check_method(ts, &view, TRISTAR_SIDE_DEFAULT, TRISTAR_KRYLOV_CG);
  check_method(ts, &view, TRISTAR_SIDE_RIGHT, TRISTAR_KRYLOV_GMRES);
  values[1] = 2;
  check_method(ts, &view, TRISTAR_SIDE_DEFAULT, TRISTAR_KRYLOV_GMRES);
  view.symmetry = TRISTAR_SYMMETRIC;
  view.ptr = half, view.index = lower, view.values = triangle;
  check_method(ts, &view, TRISTAR_SIDE_DEFAULT, TRISTAR_KRYLOV_CG);
  triangle[2] = -3;
  check_method(ts, &view, TRISTAR_SIDE_DEFAULT, TRISTAR_KRYLOV_GMRES);
}

static void count_warnings(void *arg, tristar_log_level level, const char *text) {
  if (level == TRISTAR_LOG_WARNING && strstr(text, "perturbed") != NULL) ++*(int *)arg;
}

static double error_of(const tristar_factor_t *factor, int64_t n, const double *b, const double *x) {
  double error;
  CHECK_OK(tristar_residual(factor, TRISTAR_N, 1, b, n, x, n, NULL, 0, &error));
  return error;
}

/* A ring of N unknowns. Its values `a` are large beside the diagonal, its values `d` on the diagonal. The
 * matching of the former does not suit the latter, so pivots are perturbed. */
static void check_refinement(void) {
  enum { N = 60 };
  int32_t ptr[N + 1] = {0}, index[3 * N];
  double a[3 * N], d[3 * N], b[N], x[N], y[N];
  int warnings = 0;
  tristar_config config;
  tristar_t *ts;
  tristar_view view;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_options options;
  tristar_plan_t *plan, *plain;
  tristar_factor_stats stats;
  tristar_plan_stats figures;
  tristar_solve_result result;
  for (int i = 0, at = 0; i < N; i++) {
    index[at] = i, a[at] = 1e-3, d[at++] = 5 + 0.01 * i;
    index[at] = (i + 1) % N, a[at] = 100, d[at++] = 1e-7;
    index[at] = (i + 7) % N, a[at] = d[at] = 0.3 + 0.01 * i, at++;
    ptr[i + 1] = at;
    b[i] = 1;
  }
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.log = count_warnings;
  config.log_arg = &warnings;
  CHECK_OK(tristar_create(&config, &ts));
  tristar_view_init(&view);
  view.format = TRISTAR_CSR;
  view.rows = view.cols = N;
  view.ptr = ptr, view.index = index, view.values = a;
  CHECK_OK(tristar_analyze(ts, &view, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, a, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_refactor(factor, d)); /* the existing plan uses the new values */
  tristar_factor_get_stats(factor, &stats);
  CHECK_MSG(stats.perturbed_pivots > 0, "no pivot was perturbed");
  CHECK_MSG(warnings > 0, "no warning of perturbed pivots");
  tristar_plan_get_stats(plan, &figures);
  CHECK(figures.perturbed_pivots == stats.perturbed_pivots);
  tristar_plan_options_init(&options);
  options.refine = TRISTAR_REFINE_NEVER;
  CHECK_OK(tristar_plan(factor, &options, &plain));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
  CHECK_OK(tristar_solve(plain, TRISTAR_N, 1, b, N, y, N));
  CHECK_MSG(error_of(factor, N, b, x) < 1e-14, "refined: %g", error_of(factor, N, b, x));
  CHECK_MSG(error_of(factor, N, b, y) > 1e-10, "plain: %g", error_of(factor, N, b, y));
  memcpy(y, b, sizeof y);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, y, N, y, N)); /* in place */
  CHECK(memcmp(x, y, sizeof y) == 0);
  CHECK_OK(tristar_solve_with(plan, NULL, 1, b, y, &result));
  CHECK(result.perturbed_pivots == stats.perturbed_pivots);
  tristar_plan_destroy(&plain);
  options.refine = (tristar_refinement)2;
  CHECK_STATUS(tristar_plan(factor, &options, &plain), TRISTAR_ERR_ARGUMENT);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
}

int main(void) {
  tristar_config config;
  tristar_t *ts;
  flow f;
  tristar_config_init(&config);
  CHECK(config.size == sizeof config);
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &ts));
  flow_create(ts, "s2d9pt", 9, TRISTAR_ENGINE_SERIAL, 0, &f);
  double *b = calloc(2 * (size_t)f.view.rows, sizeof *b);
  CHECK(b != NULL);
  check_uninitialized(ts, &f, b, b + f.view.rows);
  check_shorter(&f);
  check_longer(ts, &f);
  check_views();
  check_methods(ts);
  check_refinement();
  free(b);
  flow_destroy(&f);
  tristar_destroy(&ts);
  return 0;
}
