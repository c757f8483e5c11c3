/* Krylov solvers over their life: new values, 32-bit and 64-bit storage, residuals, warnings, and each
 * allocation that fails. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/krylov_systems.h"
#include "tests/support/subtests.h"

static void check_update(tristar_t *ts) {
  static system_of s;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result r;
  tristar_memory_stats memory;
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  CHECK_OK(tristar_krylov_create(ts, &s.d.view, NULL, &k));
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    options.restart = 10 + i;
    CHECK_OK(tristar_krylov_set_options(k, &options));
    tristar_get_memory(ts, &memory);
    const int64_t allocations = memory.allocations;
    for (int l = 0; l < 6; l++) s.d.real[7 * l] = 2 + i + l;
    CHECK_OK(tristar_krylov_update_values(k, s.d.real));
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r));
    for (int l = 0; l < 6; l++) CHECK(fabs(s.x[l] - 1.0 / (2 + i + l)) < 1e-10);
    tristar_get_memory(ts, &memory);
    CHECK(memory.allocations == allocations);
    s.d.real[8] = NAN;
    CHECK_STATUS(tristar_krylov_update_values(k, s.d.real), TRISTAR_ERR_NOT_FINITE);
    CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_STALE);
    s.d.real[8] = 0;
  }
}

/* Symmetric kinds with entries of both triangles, unsorted, with duplicates. */
static void check_storage(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 4, 6};
  static const int32_t index[] = {0, 1, 1, 1, 2, 1};
  double values[] = {4, -1, 2, 3, 6, -2}, b[] = {3, 2, 4}, x[3];
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, values, 64, 32, 0};
  for (int format = TRISTAR_CSC; format <= TRISTAR_CSR; format++)
    for (int i = 0; i < KRYLOV_METHODS; i++) {
      const tristar_krylov_options options = krylov_options(krylov_methods[i]);
      v.format = (tristar_format)format;
      CHECK(krylov_solve_once(ts, &v, &options, NULL, b, x).converged);
      for (int l = 0; l < 3; l++) CHECK(fabs(x[l] - 1) < 1e-10); /* [4 -1 0; -1 5 -2; 0 -2 6] */
    }
}

/* R = B - A X, and the figures in the result. */
static void check_residual(tristar_t *ts) {
  static system_of s;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  double r[12], error;
  operator_of o = {.n = 6, .factor = 1};
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  for (int i = 0; i < 6; i++) {
    s.b[6 + i] = 2;
    s.x[i] = 1.0 / (i + 1);
    s.x[6 + i] = 2.0 / (i + 1);
  }
  CHECK_OK(tristar_krylov_create(ts, &s.d.view, NULL, &k));
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, r, 6, &error));
  CHECK(error <= 1e-16 && fabs(r[11]) <= 1e-15);
  s.x[8] = 1; /* b = 2 and A x = 3 */
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, r, 6, &error));
  CHECK(r[8] == -1 && fabs(error - 1.0 / 5) <= 1e-15);
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, s.b, 6, NULL));
  CHECK(memcmp(s.b, r, sizeof r) == 0);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 5, &error), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, NULL, 6, r, 6, &error), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_residual(NULL, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_ARGUMENT);
  s.d.real[0] = INFINITY;
  CHECK_STATUS(tristar_krylov_update_values(k, s.d.real), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_STALE);
  tristar_krylov_destroy(&k);
  CHECK_OK(tristar_krylov_create_operator(ts, 6, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k));
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_UNSUPPORTED);
}

static void keep_warning(void *arg, tristar_log_level level, const char *text) {
  if (level == TRISTAR_LOG_WARNING) snprintf(arg, 200, "%s", text);
}

/* CG warns if the matrix is not Hermitian. */
static void check_warning(void) {
  static system_of s;
  char warning[200] = "";
  tristar_config config = DEFAULTS(tristar_config);
  tristar_krylov_t *k;
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  config.use_starpu = 0;
  config.log = keep_warning;
  config.log_arg = warning;
  config.log_level = TRISTAR_LOG_WARNING;
  CHECK_OK(tristar_create(&config, &s.ts));
  set_diagonal(&s, 3);
  for (int unlike = 0; unlike < 2; unlike++) {
    s.a[2] = s.a[6] = 0.5;
    s.a[5] = unlike;
    krylov_set_dense(&s.d, false, 3, s.a);
    CHECK_OK(tristar_krylov_create(s.ts, &s.d.view, &options, &k));
    tristar_krylov_destroy(&k);
    CHECK((*warning != '\0') == (unlike == 1));
  }
  CHECK(strstr(warning, "CG needs a symmetric matrix") != NULL);
  options.method = TRISTAR_KRYLOV_GMRES;
  *warning = '\0';
  CHECK_OK(tristar_krylov_create(s.ts, &s.d.view, &options, &k));
  CHECK(*warning == '\0');
  tristar_krylov_destroy(&k);
  tristar_destroy(&s.ts);
}

static tristar_status run(tristar_t *ts, const tristar_view *view, double *b, double *x) {
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k = NULL;
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  tristar_status status = tristar_krylov_create(ts, view, &options, &k);
  CHECK((k == NULL) == (status != TRISTAR_OK));
  options = krylov_options(TRISTAR_KRYLOV_FGMRES);
  if (status == TRISTAR_OK) status = tristar_krylov_set_options(k, &options);
  if (k != NULL) CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, view->rows, x, view->rows, NULL));
  return status;
}

static void check_allocations(bool use_starpu) {
  CLEANUP(close_context) tristar_t *ts = use_starpu ? open_with_starpu(0, false) : open_without_starpu(false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = generated_view(ts, "s2d9pt", use_starpu ? 300 : 10, &matrix);
  OWNED double *b = make_rhs(&typed_double, view.rows), *x = xmalloc((size_t)view.rows * sizeof *x);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing))
    end_failure(&failing, use_starpu && failing.count > 11 ? TRISTAR_OK : run(ts, &view, b, x));
  CHECK(failing.count >= 10);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_update(ts));
  RUN(check_storage(ts));
  RUN(check_residual(ts));
  RUN(check_warning());
  RUN(check_allocations(false));
  RUN(check_allocations(true));
  return 0;
}
