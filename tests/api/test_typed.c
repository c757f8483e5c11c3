/* Typed functions: each type has the result of the function without type. A type that differs from the type
 * of the matrix is an ARGUMENT error, whose message names both. */
#include <complex.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tristar_matrix.h"
#include "tristar_typed.h"

enum { N = 3 };

static const int32_t ptr[] = {0, 1, 2, 3}, row[] = {0, 1, 2};

/* A = diag(4, 4, 4) in any type; its Cholesky factor is exact. */
#define CHECK_TYPE(name, type, letter)                                                                       \
  static void name(tristar_t *ts) {                                                                          \
    const type values[N] = {4, 4, 4};                                                                        \
    type b[N] = {4, 8, 12}, x[N];                                                                            \
    tristar_view view;                                                                                       \
    tristar_analysis_t *analysis;                                                                            \
    tristar_factor_t *factor;                                                                                \
    tristar_plan_t *plan;                                                                                    \
    tristar_request_t *request;                                                                              \
    tristar_precond_t *precond;                                                                              \
    tristar_krylov_t *krylov;                                                                                \
    tristar_refine_result refined;                                                                           \
    tristar_krylov_result result;                                                                            \
    tristar_view_init(&view);                                                                                \
    view.scalar = letter;                                                                                    \
    view.rows = view.cols = N;                                                                               \
    view.ptr = ptr, view.index = row, view.values = values;                                                  \
    CHECK_OK(tristar_analyze(ts, &view, NULL, &analysis));                                                   \
    CHECK_OK(tristar_typed_factor(analysis, values, &factor));                                               \
    CHECK_OK(tristar_typed_refactor(factor, values));                                                        \
    CHECK_OK(tristar_plan(factor, NULL, &plan));                                                             \
    CHECK_OK(tristar_typed_solve(plan, TRISTAR_N, 1, b, N, x, N));                                           \
    CHECK(x[0] == 1 && x[1] == 2 && x[2] == 3);                                                              \
    CHECK_OK(tristar_typed_solve_with(plan, NULL, 1, b, x, NULL));                                           \
    CHECK_OK(tristar_typed_solve_start(plan, NULL, 1, b, x, &request));                                      \
    CHECK_OK(tristar_wait(&request, NULL));                                                                  \
    CHECK_OK(tristar_typed_solve_refined(plan, TRISTAR_N, 1, b, N, x, N, NULL, &refined));                   \
    CHECK(x[2] == 3 && refined.backward_error == 0);                                                         \
    CHECK_OK(tristar_precond_of_plan(plan, &precond));                                                       \
    CHECK_OK(tristar_typed_precond_apply(precond, TRISTAR_N, 1, b, N, x, N));                                \
    CHECK(x[1] == 2);                                                                                        \
    CHECK_OK(tristar_krylov_create(ts, &view, NULL, &krylov));                                               \
    CHECK_OK(tristar_typed_krylov_solve(krylov, precond, 1, b, N, x, N, &result));                           \
    CHECK(result.converged);                                                                                 \
    check_other_types(ts, plan, letter);                                                                     \
    tristar_krylov_destroy(&krylov);                                                                         \
    tristar_precond_destroy(&precond);                                                                       \
    tristar_plan_destroy(&plan);                                                                             \
    tristar_factor_destroy(&factor);                                                                         \
    tristar_analysis_destroy(&analysis);                                                                     \
  }

static void check_refused(tristar_t *ts, tristar_status status, bool same) {
  char text[256];
  CHECK_STATUS(status, same ? TRISTAR_OK : TRISTAR_ERR_ARGUMENT);
  tristar_get_error(ts, text, sizeof text);
  CHECK(same || strstr(text, "scalar type") != NULL);
}

static void check_other_types(tristar_t *ts, tristar_plan_t *plan, tristar_scalar own) {
  float s[N] = {0};
  double d[N] = {0};
  float _Complex c[N] = {0};
  double _Complex z[N] = {0};
  check_refused(ts, tristar_typed_solve(plan, TRISTAR_N, 1, s, N, s, N), own == TRISTAR_SINGLE);
  check_refused(ts, tristar_typed_solve(plan, TRISTAR_N, 1, d, N, d, N), own == TRISTAR_DOUBLE);
  check_refused(ts, tristar_typed_solve(plan, TRISTAR_N, 1, c, N, c, N), own == TRISTAR_COMPLEX_SINGLE);
  check_refused(ts, tristar_typed_solve(plan, TRISTAR_N, 1, z, N, z, N), own == TRISTAR_COMPLEX_DOUBLE);
}

CHECK_TYPE(check_single, float, TRISTAR_SINGLE)
CHECK_TYPE(check_double, double, TRISTAR_DOUBLE)
CHECK_TYPE(check_complex_single, float _Complex, TRISTAR_COMPLEX_SINGLE)
CHECK_TYPE(check_complex_double, double _Complex, TRISTAR_COMPLEX_DOUBLE)

int main(void) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &ts));
  check_single(ts);
  check_double(ts);
  check_complex_single(ts);
  check_complex_double(ts);
  tristar_destroy(&ts);
  return 0;
}
