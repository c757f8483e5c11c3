/* Krylov methods: a column that has converged has a small true residual, whatever the matrix, the
 * preconditioner, the units and the initial guess; and systems that have a solution are solved in any units.
 *
 * The truth is computed in long double from the dense matrix. */
#include <float.h>

#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_krylov.h"

#define MOST 12

typedef struct dense {
  int n;
  double a[MOST][MOST], b[MOST], x[MOST];
} dense;

static int rows[MOST + 1], columns[MOST * MOST];
static double values[MOST * MOST];

static tristar_view view_of(const dense *d) {
  int k = 0;
  for (int i = 0; i < d->n; i++) {
    rows[i] = k;
    for (int j = 0; j < d->n; j++)
      if (d->a[i][j] != 0 || i == j) {
        columns[k] = j;
        values[k++] = d->a[i][j];
      }
  }
  rows[d->n] = k;
  return (tristar_view){.format = TRISTAR_CSR,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = TRISTAR_DOUBLE,
                        .rows = d->n,
                        .cols = d->n,
                        .ptr = rows,
                        .index = columns,
                        .values = values,
                        .ptr_bits = 32,
                        .index_bits = 32};
}

/* Returns || b - A x || / || b ||, computed without overflow. */
static double true_residual(const dense *d) {
  long double r = 0, b = 0, scale = 0;
  for (int i = 0; i < d->n; i++) scale = fmaxl(scale, fabsl((long double)d->b[i]));
  for (int i = 0; i < d->n; i++) {
    long double sum = d->b[i];
    for (int j = 0; j < d->n; j++) sum -= (long double)d->a[i][j] * d->x[j];
    r += sum / scale * (sum / scale);
    b += d->b[i] / scale * (d->b[i] / scale);
  }
  return (double)sqrtl(r / b);
}

/* Solves and checks that the reported convergence is true. If the options request an initial guess, it is
 * d->x. */
static tristar_krylov_result solve(tristar_t *ts, dense *d, const tristar_krylov_options *options,
                                   tristar_precond_kind kind) {
  const tristar_view view = view_of(d);
  tristar_precond_options how = DEFAULTS(tristar_precond_options);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m = NULL;
  tristar_krylov_t *krylov;
  tristar_krylov_result result = {.converged = 0};
  how.kind = kind;
  if (kind != TRISTAR_PRECOND_NONE && tristar_precond(ts, &view, &how, &m) != TRISTAR_OK) return result;
  CHECK_OK(tristar_krylov_create(ts, &view, options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, m, 1, d->b, d->n, d->x, d->n, &result));
  CHECK(result.converged == (result.reason == TRISTAR_REASON_CONVERGED));
  if (result.converged) {
    const double truth = true_residual(d), most = fmin(100 * options->tolerance, sqrt(options->tolerance));
    CHECK_MSG(truth <= fmax(most, 1e3 * DBL_EPSILON) * 1.01,
              "method %d, preconditioner %d, n = %d: converged, but the true residual is %g",
              (int)options->method, (int)kind, d->n, truth);
  }
  tristar_krylov_destroy(&krylov);
  return result;
}

/* Makes a singular matrix: its last row is the sum of the others, or it is a graph Laplacian. b has no
 * solution. */
static void make_singular(dense *d, uint64_t *state, bool laplacian) {
  const int n = d->n = 2 + (int)(next_random(state) % (MOST - 1));
  memset(d->a, 0, sizeof d->a);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const bool there = next_random(state) % 3 == 0;
      if (laplacian && j < i && there) {
        const double w = 1 + (double)(next_random(state) % 5);
        d->a[i][j] -= w, d->a[j][i] -= w, d->a[i][i] += w, d->a[j][j] += w;
      }
      if (!laplacian && i < n - 1 && (there || i == j)) d->a[i][j] = (double)(next_random(state) % 9) - 4;
    }
  for (int j = 0; j < n && !laplacian; j++)
    for (int i = 0; i < n - 1; i++) d->a[n - 1][j] += d->a[i][j];
  for (int i = 0; i < n; i++) d->b[i] = (double)(next_random(state) % 1000) / 500 - 0.7;
}

static void test_singular(tristar_t *ts) {
  static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_NONE, TRISTAR_PRECOND_JACOBI,
                                               TRISTAR_PRECOND_SSOR, TRISTAR_PRECOND_ILU};
  uint64_t state = 7;
  dense d;
  for (int trial = 0; trial < 200; trial++) {
    make_singular(&d, &state, trial % 2);
    for (int method = TRISTAR_KRYLOV_CG; method <= TRISTAR_KRYLOV_BLOCK_CG; method++) {
      tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
      options.method = (tristar_krylov_method)method;
      options.max_iterations = 300;
      options.tolerance = trial % 3 ? 1e-5 : 1e-9;
      for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) (void)solve(ts, &d, &options, kinds[k]);
    }
  }
}

/* Laplacians with integer weights, and b of integers without a solution. The iterates grow until the terms
 * of A x are so large that b - A x is zero in double. */
static void test_hidden(tristar_t *ts) {
  static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_NONE, TRISTAR_PRECOND_JACOBI,
                                               TRISTAR_PRECOND_SSOR};
  uint64_t state = 11;
  dense d;
  for (int trial = 0; trial < (TSI_TESTS_SANITIZED ? 200 : 2000); trial++) {
    make_singular(&d, &state, true);
    d.n = d.n < 6 ? d.n : 2 + d.n % 4;
    double sum = 0, square = 0;
    for (int i = 0; i < d.n; i++) {
      d.a[i][i] = 0;
      for (int j = 0; j < d.n; j++) d.a[i][i] -= j != i ? d.a[i][j] : 0;
      d.b[i] = (double)(next_random(&state) % 9) - 4;
      sum += d.b[i];
      square += d.b[i] * d.b[i];
    }
    if (fabs(sum) < 0.11 * sqrt(d.n * square) || sum == 0) continue; /* b nearly has a solution */
    for (int method = TRISTAR_KRYLOV_CG; method <= TRISTAR_KRYLOV_BLOCK_CG; method++)
      for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
        options.method = (tristar_krylov_method)method;
        options.max_iterations = 300;
        options.tolerance = trial % 3 == 0 ? 1e-2 : trial % 3 == 1 ? 1e-5 : 1e-12;
        const tristar_krylov_result result = solve(ts, &d, &options, kinds[k]);
        CHECK_MSG(!result.converged, "method %d, preconditioner %d, n = %d, trial %d: converged", method,
                  (int)kinds[k], d.n, trial);
      }
  }
}

/* An initial guess so large that its residual hides the others. The method restarts from its first x. Its
 * Krylov space ends above its internal tolerance, but below the user's. */
static void test_resumed(tristar_t *ts) {
  dense d = {.n = 3,
             .a = {{-0x1.99026bf2b7848p+58}, {-0x1.04937bc9bb438p+14}},
             .b = {0x1.63383ee13a4b4p-2},
             .x = {0x1.b591e04b412b4p-1, 0x1.f0eca5c01f5ecp-2, -0x1.c2d66fdeeba6ap-1}};
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  options.method = TRISTAR_KRYLOV_GMRES;
  options.guess = 1;
  options.restart = 3;
  options.tolerance = 1e-8;
  const tristar_krylov_result result = solve(ts, &d, &options, TRISTAR_PRECOND_NONE);
  CHECK_MSG(result.converged && true_residual(&d) <= options.tolerance, "%s, true residual %g",
            tristar_krylov_reason_text(result.reason), true_residual(&d));
}

/* 4 on the diagonal and -1 beside it, times `unit`; b = A (1, 2, ...) times `of_b`. */
static void make_regular(dense *d, int n, double unit, double of_b) {
  memset(d, 0, sizeof *d);
  d->n = n;
  for (int i = 0; i < n; i++) {
    d->a[i][i] = 4 * unit;
    if (i > 0) d->a[i][i - 1] = d->a[i - 1][i] = -unit;
  }
  for (int i = 0; i < n; i++) d->b[i] = of_b * (4.0 * (i + 1) - (i > 0 ? i : 0) - (i < n - 1 ? i + 2 : 0));
}

/* Without an absolute tolerance x = 0 never counts as a solution, whatever the units. */
static void test_units(tristar_t *ts) {
  static const double units[][2] = {{1, 1}, {1, 1e-60}, {1e60, 1}, {1e60, 1e-60}, {1e-60, 1}, {1e-60, 1e60}};
  dense d;
  for (size_t u = 0; u < sizeof units / sizeof *units; u++)
    for (int method = TRISTAR_KRYLOV_CG; method <= TRISTAR_KRYLOV_BLOCK_CG; method++)
      for (int jacobi = 0; jacobi < 2; jacobi++) {
        tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
        CHECK(options.absolute == 0);
        options.method = (tristar_krylov_method)method;
        make_regular(&d, 8, units[u][0], units[u][1]);
        const tristar_krylov_result result =
            solve(ts, &d, &options, jacobi ? TRISTAR_PRECOND_JACOBI : TRISTAR_PRECOND_NONE);
        CHECK_MSG(result.converged && result.iterations > 0, "method %d, units %g, %g: %s", method,
                  units[u][0], units[u][1], tristar_krylov_reason_text(result.reason));
      }
}

/* A method converges from a far initial guess, too. */
static void test_far_guess(tristar_t *ts) {
  dense d;
  for (int method = TRISTAR_KRYLOV_CG; method <= TRISTAR_KRYLOV_BLOCK_CG; method++)
    for (double far = 1; far < 1e9; far *= 100) {
      tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
      options.method = (tristar_krylov_method)method;
      options.guess = 1;
      make_regular(&d, 8, 1, 1);
      for (int i = 0; i < 8; i++) d.x[i] = i % 2 ? -far : far;
      const tristar_krylov_result result = solve(ts, &d, &options, TRISTAR_PRECOND_JACOBI);
      CHECK_MSG(result.converged, "method %d from %g: %s", method, far,
                tristar_krylov_reason_text(result.reason));
    }
}

/* ---- Pipelined CG -------------------------------------------------------------------------------------- */

enum { GRID = 60, CELLS = GRID * GRID };

/* The 5-point Laplacian on a grid; only one triangle is stored. */
typedef struct laplacian {
  int ptr[CELLS + 1], index[3 * CELLS];
  double d[3 * CELLS];
  float s[3 * CELLS];
  tristar_view view;
} laplacian;

static void make_laplacian(tristar_scalar scalar, laplacian *m) {
  int at = 0;
  for (int j = 0; j < CELLS; j++) {
    m->ptr[j] = at;
    m->index[at] = j, m->d[at++] = 4;
    if (j % GRID + 1 < GRID) m->index[at] = j + 1, m->d[at++] = -1;
    if (j + GRID < CELLS) m->index[at] = j + GRID, m->d[at++] = -1;
  }
  m->ptr[CELLS] = at;
  for (int p = 0; p < at; p++) m->s[p] = (float)m->d[p];
  m->view = (tristar_view){.format = TRISTAR_CSC,
                           .symmetry = TRISTAR_SYMMETRIC,
                           .scalar = scalar,
                           .rows = CELLS,
                           .cols = CELLS,
                           .ptr = m->ptr,
                           .index = m->index,
                           .values = scalar == TRISTAR_SINGLE ? (void *)m->s : (void *)m->d,
                           .ptr_bits = 32,
                           .index_bits = 32};
}

/* far 0: x is zero, and there is no guess. */
static tristar_krylov_result solve_laplacian(tristar_t *ts, const laplacian *m, tristar_krylov_method method,
                                             double far, double tolerance) {
  static double b[CELLS], x[CELLS];
  static float single_b[CELLS], single_x[CELLS];
  const bool single = m->view.scalar == TRISTAR_SINGLE;
  tristar_krylov_options options;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_result result;
  fill_random(b, CELLS, 3);
  fill_random(x, CELLS, 4);
  for (int i = 0; i < CELLS; i++) {
    x[i] *= far;
    single_b[i] = (float)(b[i] += 1);
    single_x[i] = (float)x[i];
  }
  tristar_krylov_options_init(&options);
  options.method = method;
  options.guess = far != 0;
  options.tolerance = tolerance;
  CHECK_OK(tristar_krylov_create(ts, &m->view, &options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, single ? (void *)single_b : (void *)b, CELLS,
                                single ? (void *)single_x : (void *)x, CELLS, &result));
  return result;
}

/* The additional recurrences of pipelined CG do not cost convergence. It converges where CG does, from near
 * and far guesses, also to tolerances that only recurrences reach. */
static void test_pipelined(tristar_t *ts) {
  static const struct {
    tristar_scalar scalar;
    double far, tolerance;
  } cases[] = {{TRISTAR_SINGLE, 0, 1e-5},   {TRISTAR_SINGLE, 1, 1e-5},   {TRISTAR_SINGLE, 1e3, 1e-5},
               {TRISTAR_SINGLE, 1e6, 1e-5}, {TRISTAR_SINGLE, 1e9, 1e-5}, {TRISTAR_DOUBLE, 0, 1e-15},
               {TRISTAR_DOUBLE, 1e8, 1e-15}};
  static laplacian m;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    make_laplacian(cases[k].scalar, &m);
    const tristar_krylov_result cg =
        solve_laplacian(ts, &m, TRISTAR_KRYLOV_CG, cases[k].far, cases[k].tolerance);
    const tristar_krylov_result pipelined =
        solve_laplacian(ts, &m, TRISTAR_KRYLOV_PIPELINED_CG, cases[k].far, cases[k].tolerance);
    CHECK_MSG(cg.converged && pipelined.converged && pipelined.products <= 5 * cg.products,
              "case %zu: %s after %lld products; CG: %lld", k, tristar_krylov_reason_text(pipelined.reason),
              (long long)pipelined.products, (long long)cg.products);
  }
}

/* Unknowns that appear in no equation, and chains that overflow. A column with numbers that are not finite
 * has not converged, and its residual is not finite. x(5) of the first matrix overflows, though all
 * residuals are small. */
static void test_not_finite(tristar_t *ts) {
  dense empty_column = {.n = 8,
                        .a = {{-0x1p-16},
                              {0, 0x1p-23},
                              {0, 0, -0x1p-17, 0, 0, 0, -0x1p-12},
                              {0x1p-13, 0, 0, -0x1p-18},
                              {[6] = 0x1p-10},
                              {[7] = -0x1p-19},
                              {[5] = 0x1p-19, [6] = -0x1p-13},
                              {[7] = -0x1p-19}},
                        .b = {6.103515625e-05, 3.5762786865234375e-07, -0.00049591064453125,
                              -0.000484466552734375, 0.001953125, 0, -0.00023651123046875, 0}};
  dense nilpotent = {.n = 3, .a = {{0x1p-9}, {0x1p-6}, {0, 16}}, .b = {1, 2, 3}};
  dense *const systems[] = {&empty_column, &nilpotent};
  const tristar_krylov_method methods[] = {TRISTAR_KRYLOV_BICGSTAB, TRISTAR_KRYLOV_GMRES};
  int lost = 0;
  for (int k = 0; k < 2 * 2 * 4; k++) {
    dense *d = systems[k % 2];
    tristar_krylov_options options;
    CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
    tristar_krylov_result result;
    bool finite = true;
    tristar_krylov_options_init(&options);
    options.method = methods[k / 2 % 2];
    options.side = k % 8 < 4 ? TRISTAR_SIDE_LEFT : TRISTAR_SIDE_RIGHT;
    options.tolerance = k < 8 ? 1e-2 : 0;
    options.max_iterations = 500;
    const tristar_view v = view_of(d);
    CHECK_OK(tristar_krylov_create(ts, &v, &options, &krylov));
    CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, d->b, d->n, d->x, d->n, &result));
    for (int i = 0; i < d->n; i++) finite = finite && isfinite(d->x[i]);
    lost += !finite;
    CHECK_MSG(finite || (!result.converged && result.reason == TRISTAR_REASON_NOT_FINITE &&
                         !isfinite(result.true_residual)),
              "case %d: %s, true residual %g", k, tristar_krylov_reason_text(result.reason),
              result.true_residual);
  }
  CHECK(lost > 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  RUN(test_singular(ts));
  RUN(test_hidden(ts));
  RUN(test_resumed(ts));
  RUN(test_units(ts));
  RUN(test_not_finite(ts));
  RUN(test_far_guess(ts));
  RUN(test_pipelined(ts));
  return 0;
}
