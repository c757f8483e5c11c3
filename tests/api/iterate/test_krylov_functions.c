/* Krylov methods with functions of the caller: preconditioners, a matrix, and one that watches the progress.
 */
#include "tests/support/context.h"
#include "tests/support/krylov_systems.h"
#include "tests/support/subtests.h"

/* ---- Preconditioners that are functions ---------------------------------------------------------------- */

static void check_functions(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  function_of f = {.n = 6};
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  tristar_krylov_t *k;
  tristar_krylov_result r;
  set_diagonal(&s, 6);
  CHECK_OK(tristar_precond_of_function(ts, 6, TRISTAR_DOUBLE, apply, &f, &m));
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    const bool cg = krylov_is_cg(krylov_methods[i]);
    const bool flexible = krylov_methods[i] == TRISTAR_KRYLOV_FGMRES;
    f = (function_of){.n = 6, .factor = -1};
    r = solve(&s, &options, m);
    CHECK(cg ? r.reason == TRISTAR_REASON_INDEFINITE_PRECOND && r.iterations == 1 : r.converged);
    CHECK(r.preconditionings == f.calls);
    f.factor = 0;
    r = solve(&s, &options, m);
    CHECK(flexible ? r.reason == TRISTAR_REASON_BREAKDOWN
                   : r.reason == TRISTAR_REASON_INDEFINITE_PRECOND && r.iterations == 0);
    f.factor = NAN;
    r = solve(&s, &options, m);
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE && r.iterations <= 1);
    for (int call = 1; call <= 3; call++) {
      f = (function_of){.n = 6, .factor = 1, .fails = call};
      CHECK_OK(tristar_krylov_create(ts, &s.d.view, &options, &k));
      CHECK_STATUS(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_IO);
      CHECK(f.calls == call);
      f.fails = 0;
      CHECK_OK(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r));
      CHECK(r.converged);
      tristar_krylov_destroy(&k);
    }
  }
}

/* ---- A matrix that is a function ----------------------------------------------------------------------- */

static void check_operator(tristar_t *ts) {
  enum { N = 3000 };
  static double b[N], x[N], y[N];
  tristar_krylov_t *k;
  tristar_krylov_result r;
  tristar_krylov_stats stats;
  operator_of o = {.n = N, .factor = 1};
  fill_random(b, N, 3);
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    const tristar_krylov_options options = krylov_options(krylov_methods[i]);
    CHECK_OK(tristar_krylov_create_operator(ts, N, TRISTAR_DOUBLE, multiply_with, &o, &options, &k));
    o.calls = o.fails = 0;
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r));
    CHECK(r.converged && r.products == o.calls && r.true_residual < 1e-9);
    CHECK_OK(multiply_with(&o, x, y));
    for (int l = 0; l < N; l++) CHECK(fabs(y[l] - b[l]) < 1e-7);
    o.calls = 0;
    o.fails = 3;
    CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r), TRISTAR_ERR_IO);
    o.fails = 0;
    o.factor = NAN;
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r));
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE);
    o.factor = 1;
    CHECK_STATUS(tristar_krylov_update_values(k, b), TRISTAR_ERR_UNSUPPORTED);
    tristar_krylov_get_stats(k, &stats);
    CHECK(stats.n == N && stats.nnz == 0 && stats.solves == 2 && stats.workspace_bytes > N * sizeof *b);
    tristar_krylov_destroy(&k);
  }
  CHECK_STATUS(tristar_krylov_create_operator(ts, -1, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create_operator(ts, 4, TRISTAR_DOUBLE, NULL, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create_operator(ts, 4, (tristar_scalar)'x', multiply_with, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(
      tristar_krylov_create_operator(ts, INT64_C(1) << 32, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k),
      TRISTAR_ERR_TOO_LARGE);
  CHECK(k == NULL);
}

/* ---- Progress ------------------------------------------------------------------------------------------ */

typedef struct watch {
  tristar_krylov_t *k;
  int64_t column, iteration; /* where the function cancels the solve */
  int64_t points, columns;
} watch;

static int look(void *arg, const tristar_krylov_point *point) {
  watch *w = arg;
  double b[6] = {1, 2, 3, 4, 5, 6}, x[6];
  CHECK_STATUS(tristar_krylov_solve(w->k, NULL, 1, b, 6, x, 6, NULL), TRISTAR_ERR_BUSY);
  CHECK_STATUS(tristar_krylov_update_values(w->k, b), TRISTAR_ERR_BUSY);
  CHECK(isfinite(point->residual) && point->iteration >= 0);
  w->points++;
  if (point->column >= w->columns) w->columns = point->column + 1;
  return point->column == w->column && point->iteration == w->iteration;
}

static void check_progress(tristar_t *ts) {
  static system_of s;
  double b[18], x[18];
  tristar_krylov_result r[3];
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  fill_random(b, 18, 2);
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    watch w = {.column = 1, .iteration = 2};
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    options.progress = look;
    options.progress_arg = &w;
    options.block = 1; /* columns are solved one after the other */
    CHECK_OK(tristar_krylov_create(ts, &s.d.view, &options, &w.k));
    CHECK_OK(tristar_krylov_solve(w.k, NULL, 3, b, 6, x, 6, r));
    CHECK(r[0].converged && r[1].reason == TRISTAR_REASON_CANCELLED && r[1].iterations == 2);
    CHECK(r[2].reason == TRISTAR_REASON_CANCELLED && r[2].iterations == 0 && x[12] == 0);
    CHECK(w.columns == 2 && w.points == r[0].history_count + 3 && r[1].true_residual < 1);
    w.column = -1;
    CHECK_OK(tristar_krylov_solve(w.k, NULL, 3, b, 6, x, 6, r));
    CHECK(r[0].converged && r[1].converged && r[2].converged);
    tristar_krylov_destroy(&w.k);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_functions(ts));
  RUN(check_operator(ts));
  RUN(check_progress(ts));
  return 0;
}
