/* {s, d, c, z} x {LLT, LDLT, LU; Hermitian and complex symmetric} x {N, T, C} x {1, 3, 17 right-hand sides}:
 * the backward error after refinement is below 100 units of roundoff, the residual is recomputed here in
 * double, in place gives the same bits, and engines agree. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_machine.h"

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};

static void check_solves(const typed *t, const tristar_view *v, const char *what, tristar_factor_t *f,
                         tristar_engine engine, char *reference) {
  const int64_t n = v->rows;
  const size_t bytes = TYPED_COLUMNS * (size_t)n * t->bytes;
  OWNED char *b = make_rhs(t, n), *x = xmalloc(bytes);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  double reciprocal;
  options.engine = engine;
  options.chunk_bytes_max = 20000;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, &options);
  const typed_errors worst = worst_errors(t, v, NULL, p, b, COMPONENTWISE);
  CHECK_MSG(worst.reported < 100 * t->roundoff, "%s %c: backward error %g", what, t->scalar, worst.reported);
  CHECK_MSG(worst.recomputed < 100 * t->roundoff, "%s %c %c, column %d of %d: backward error %g", what,
            t->scalar, worst.op, worst.column, worst.count, worst.recomputed);
  for (int o = 0; o < TYPED_OPS; o++)
    for (int c = 0; c < TYPED_COUNTS; c++) {
      const size_t used = (size_t)(typed_counts[c] * n) * t->bytes;
      char *kept = reference + (size_t)(TYPED_COUNTS * o + c) * bytes;
      memcpy(x, b, used);
      CHECK_OK(tristar_solve(p, typed_ops[o], typed_counts[c], x, n, x, n));
      if (engine == TRISTAR_ENGINE_SERIAL) memcpy(kept, x, used);
      CHECK_MSG(memcmp(kept, x, used) == 0, "%s %c %c: other bits", what, t->scalar, typed_ops[o]);
    }
  CHECK_OK(tristar_condition(p, &reciprocal));
  CHECK_MSG(reciprocal > 1e-9 && reciprocal <= 1, "%s %c: condition %g", what, t->scalar, reciprocal);
}

/* symmetry: declared symmetry of a symmetric kind in a complex type. */
static void check(tristar_t *ts, const char *kind, int64_t k, const typed *t, tristar_method method,
                  tristar_symmetry symmetry) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view v;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_stats stats;
  OWNED void *values = typed_matrix(ts, kind, k, t, symmetry, &m, &v);
  options.method = method;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  tristar_analysis_get_stats(tristar_factor_get_analysis(f), &stats);
  if (method != TRISTAR_METHOD_AUTO)
    CHECK(stats.method == method);
  else if (v.symmetry != TRISTAR_GENERAL) {
    const bool plain = v.symmetry == TRISTAR_SYMMETRIC && t->is_complex;
    CHECK(stats.method == (plain ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LLT));
  }
  OWNED char *reference = xmalloc(TYPED_OPS * TYPED_COUNTS * TYPED_COLUMNS * (size_t)v.rows * t->bytes);
  check_solves(t, &v, kind, f, TRISTAR_ENGINE_SERIAL, reference);
  check_solves(t, &v, kind, f, TRISTAR_ENGINE_TASKS, reference);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, true);
  static const tristar_method methods[] = {TRISTAR_METHOD_AUTO, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    if (TSI_TESTS_RACES && types[t] != &typed_double) continue;
    if (TSI_TESTS_SANITIZED && types[t]->is_complex != types[t]->is_single)
      continue; /* the other two types have the same code */
    for (int m = 0; m < 3; m++)
      for (int symmetric = 0; symmetric < (types[t]->is_complex ? 2 : 1); symmetric++) {
        const tristar_symmetry symmetry = symmetric ? TRISTAR_SYMMETRIC : TRISTAR_HERMITIAN;
        RUN(check(ts, "s2d9pt", 14, types[t], methods[m], symmetry));
        RUN(check(ts, "poisson3d7", 7, types[t], methods[m], symmetry));
        RUN(check(ts, "elasticity3d", 3, types[t], methods[m], symmetry));
        if (methods[m] != TRISTAR_METHOD_AUTO)
          RUN(check(ts, "maxwell3d", 3, types[t], methods[m], symmetry)); /* indefinite */
        if (methods[m] == TRISTAR_METHOD_LDLT || symmetric) continue;
        RUN(check(ts, "convdiff3d", 7, types[t], methods[m], symmetry));
        RUN(check(ts, "circuit", 200, types[t], methods[m], symmetry));
      }
  }
  return 0;
}
