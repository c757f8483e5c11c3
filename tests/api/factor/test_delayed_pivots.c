/* PIVOTING_DELAYED: orders of elimination whose first pivots are zeros, saddle points with the constraints
 * first and unsymmetric matrices with zeros on the diagonal, have no perturbed pivot, and plain solves have
 * small backward errors; where pivots serve, nothing changes. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/systems/zero_pivots.h"
#include "tests/support/typed.h"
#include "tristar_save.h"
#include "tristar_update.h"

static tristar_analysis_options options_for(const problem *p, tristar_method method, bool delayed) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = method;
  options.matching = TRISTAR_MATCHING_OFF;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = p->order;
  options.pivoting = delayed ? TRISTAR_PIVOTING_DELAYED : TRISTAR_PIVOTING_STATIC;
  return options;
}

static tristar_factor_stats stats_of(const tristar_factor_t *f) {
  tristar_factor_stats stats;
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  return stats;
}

/* Returns the largest backward error of plain solves, computed in the next wider precision. */
static double plain_error(const problem *p, tristar_factor_t *f, tristar_plan_t *plan) {
  OWNED char *b = make_rhs(p->t, ROWS), *x = xcalloc(TYPED_COLUMNS * ROWS, p->t->bytes);
  double worst = 0, error;
  for (int o = 0; o < TYPED_OPS; o++) {
    CHECK_OK(tristar_solve(plan, typed_ops[o], 3, b, ROWS, x, ROWS));
    CHECK_OK(tristar_residual(f, typed_ops[o], 3, b, ROWS, x, ROWS, NULL, ROWS, &error));
    worst = larger_error(worst, error);
  }
  return worst;
}

static tristar_plan_t *make_unrefined(tristar_factor_t *f) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.refine = TRISTAR_REFINE_NEVER;
  return NEW_PLAN(f, &options);
}

/* STATIC perturbs pivots, DELAYED does not. Refactorizations keep the structure. */
static void check(tristar_t *ts, problem *p, problem *next, tristar_method method) {
  tristar_analysis_options options = options_for(p, method, false);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *plain = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *perturbed = NEW_FACTOR(plain, p->values);
  tristar_factor_stats stats = stats_of(perturbed);
  CHECK(stats.perturbed_pivots > 0 && stats.pivot_rounds == 0 && stats.delayed_pivots == 0);
  options = options_for(p, method, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, p->values);
  const tristar_factor_stats delayed = stats_of(f);
  const double most = 2e4 * p->t->roundoff;
  CHECK(delayed.perturbed_pivots == 0 && delayed.unstable_pivots == 0);
  CHECK(delayed.pivot_rounds >= 1 && delayed.delayed_pivots > 0);
  CHECK(delayed.nnz_factor == stats.nnz_factor + delayed.added_entries);
  CHECK(tristar_factor_get_analysis(f) != an);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = make_unrefined(f);
  CHECK_MSG(plain_error(p, f, plan) < most, "%c, method %d, symmetry %d: %g", (char)p->t->scalar, (int)method,
            (int)p->view.symmetry, plain_error(p, f, plan));
  CHECK_OK(tristar_refactor(f, next->values));
  stats = stats_of(f);
  CHECK(stats.pivot_rounds == delayed.pivot_rounds && stats.nnz_factor == delayed.nnz_factor);
  CHECK(stats.perturbed_pivots == 0 && stats.unstable_pivots <= ROWS / 20);
  CHECK_MSG(plain_error(next, f, plan) < 100 * most, "%c, method %d, symmetry %d: %g", (char)p->t->scalar,
            (int)method, (int)p->view.symmetry, plain_error(next, f, plan));
}

static void check_types(tristar_t *ts) {
  const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};
  for (int k = 0; k < 4; k++) {
    const tristar_symmetry symmetries[] = {TRISTAR_SYMMETRIC, TRISTAR_HERMITIAN};
    for (int h = 0; h < (types[k]->is_complex ? 2 : 1); h++) {
      OWNED problem *p = make_saddle(types[k], symmetries[h], 1),
                    *next = make_saddle(types[k], symmetries[h], 1);
      for (int64_t q = 0; q < next->entries; q++)
        put(next->t, next->values, q,
            get(p->t, p->values, q) * (1 + 0.01 * creal(random_value((uint64_t)q))));
      check(ts, p, next, TRISTAR_METHOD_LDLT);
      check(ts, p, next, TRISTAR_METHOD_LU);
    }
    OWNED problem *p = make_cyclic(types[k], 5), *next = make_cyclic(types[k], 5);
    check(ts, p, next, TRISTAR_METHOD_LU);
  }
}

/* Layouts of ranks need separator trees. */
static void check_separators(tristar_t *ts, int leaf_parts) {
  for (int k = 0; k < 6; k++) {
    OWNED problem *p =
        k < 2 ? make_cyclic(&typed_double, 5) : make_saddle(&typed_double, TRISTAR_SYMMETRIC, (uint64_t)k);
    tristar_analysis_options options = options_for(p, k < 4 ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LDLT, true);
    options.leaf_parts = leaf_parts;
    if (k % 2) options.ordering = TRISTAR_ORDERING_METIS;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, p->values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = make_unrefined(f);
    const tristar_factor_stats stats = stats_of(f);
    CHECK_MSG(stats.perturbed_pivots == 0 && stats.unstable_pivots == 0, "case %d: %lld perturbed", k,
              (long long)stats.perturbed_pivots);
    CHECK_MSG(stats.delayed_pivots > 0, "case %d", k);
    CHECK_MSG(plain_error(p, f, plan) < 1e-10, "case %d: %g", k, plain_error(p, f, plan));
  }
}

/* H is positive definite and B has full rank, so A has as many negative eigenvalues as constraints. */
static void check_inertia(tristar_t *ts) {
  OWNED problem *p = make_saddle(&typed_complex_double, TRISTAR_HERMITIAN, 3);
  const tristar_analysis_options options = options_for(p, TRISTAR_METHOD_LDLT, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, p->values);
  tristar_inertia inertia;
  CHECK_OK(tristar_factor_get_inertia(f, &inertia));
  CHECK(inertia.positive == H_ROWS && inertia.negative == CONSTRAINTS && inertia.zero == 0);
}

/* Returns the solution by this plan; the caller frees it. */
static double *solution(tristar_plan_t *plan) {
  OWNED double *b = xcalloc(ROWS, sizeof *b);
  double *x = xcalloc(ROWS, sizeof *x);
  fill_random(b, ROWS, 1);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, ROWS, x, ROWS));
  return x;
}

static double *solve_with(tristar_t *ts, const problem *p, tristar_method method) {
  const tristar_analysis_options options = options_for(p, method, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, p->values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  return solution(plan);
}

/* The bits are the same with and without StarPU. */
static void check_bits(tristar_t *ts, tristar_method method) {
  CLEANUP(close_context) tristar_t *workers = open_with_starpu(2, false);
  OWNED problem *p = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1);
  OWNED double *x = solve_with(ts, p, method), *y = solve_with(workers, p, method);
  CHECK(memcmp(x, y, ROWS * sizeof *x) == 0);
}

/* A loaded factor has the delayed pivots of the saved one and accepts new values in the same way. */
static void check_saved(tristar_t *ts, tristar_method method) {
  OWNED problem *p = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1),
                *next = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 8);
  const char *path = "delayed_pivots.tristar";
  const tristar_analysis_options options = options_for(p, method, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, p->values), *loaded = NULL;
  CHECK_OK(tristar_factor_save(f, path));
  CHECK_OK(tristar_factor_load(ts, path, &loaded));
  remove(path);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *one = NEW_PLAN(f, NULL), *other = NEW_PLAN(loaded, NULL);
  for (int k = 0; k < 2; k++) {
    OWNED double *x = solution(one), *y = solution(other);
    CHECK(memcmp(x, y, ROWS * sizeof *x) == 0);
    CHECK(stats_of(f).delayed_pivots == stats_of(loaded).delayed_pivots);
    CHECK_OK(tristar_refactor(f, next->values));
    CHECK_OK(tristar_refactor(loaded, next->values));
  }
}

/* Updates count unstable pivots as refactorizations do. */
static void check_updated(tristar_t *ts, tristar_method method) {
  OWNED problem *p = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1);
  const tristar_analysis_options options = options_for(p, method, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  CLEANUP(tristar_factor_destroy)
  tristar_factor_t *f = NEW_FACTOR(an, p->values), *other = NEW_FACTOR(an, p->values);
  bool partial = false, failed = false;
  CHECK_OK(tristar_update_begin(f));
  for (int64_t q = 0; q < p->entries; q += p->entries / 40) {
    const number value = get(p->t, p->values, q) * 1e-4;
    tristar_update_result result;
    char one[sizeof(number)];
    put(p->t, one, 0, value);
    put(p->t, p->values, q, value);
    CHECK_OK(tristar_update_entries(f, 1, &q, one, &result));
    CHECK_OK(tristar_refactor(other, p->values));
    CHECK(stats_of(f).unstable_pivots == stats_of(other).unstable_pivots);
    partial = partial || (!result.whole && result.fronts > 0);
    failed = failed || stats_of(f).unstable_pivots > 0;
  }
  CHECK_MSG(partial && failed, "%d %d", partial, failed);
}

/* Column 0 is delayed. Columns 1 and 2 are nearly equal, so a pivot is small. Neither a factorization nor
 * an update perturbs it, and both compute the same bits. */
static void check_small_updated(tristar_t *ts) {
  enum { N = 50, SECOND = 30, ENTRIES = N * N - 2 * SECOND + 1 };
  double draws[N * N + N], b[N], x[N], y[N];
  OWNED double *value = xcalloc(ENTRIES, sizeof *value);
  OWNED int32_t *index = xcalloc(ENTRIES, sizeof *index);
  int64_t ptr[N + 1] = {0}, entries = 0;
  fill_random(draws, N * N + N, 2);
  for (int j = 0; j < N; ptr[++j] = entries)
    for (int i = 0; i < N; i++) {
      if (i < (j == 0 ? SECOND : 0) || (i == 0 && j < SECOND)) continue;
      value[entries] = j == 2 ? draws[N + i] + 1e-9 * draws[N * N + i] : draws[j * N + i];
      index[entries++] = i;
    }
  fill_random(b, N, 3);
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, value);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.matching = TRISTAR_MATCHING_OFF;
  options.ordering = TRISTAR_ORDERING_NATURAL;
  options.merge = TRISTAR_MERGE_NONE;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy)
  tristar_factor_t *f = NEW_FACTOR(an, value), *other = NEW_FACTOR(an, value);
  CLEANUP(tristar_plan_destroy)
  tristar_plan_t *plan = make_unrefined(f), *other_plan = make_unrefined(other);
  CHECK(stats_of(f).delayed_pivots > 0 && stats_of(f).perturbed_pivots == 0);
  CHECK_OK(tristar_update_begin(f));
  for (int64_t q = entries - 1; q > entries - 4; q--) {
    tristar_update_result result;
    value[q] *= 1.25;
    CHECK_OK(tristar_update_entries(f, 1, &q, &value[q], &result));
    CHECK_OK(tristar_refactor(other, value));
    CHECK(!result.whole || q == entries - 1);
    CHECK(stats_of(f).perturbed_pivots == 0 && stats_of(other).perturbed_pivots == 0);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    CHECK_OK(tristar_solve(other_plan, TRISTAR_N, 1, b, N, y, N));
    CHECK(memcmp(x, y, sizeof x) == 0);
  }
}

/* R is dense, so all pivots of [0 R; R^T 0] are of order 2, and the panels are narrower than the front. If
 * `odd`, a pivot of order 1 comes first, and pairs begin in the last column of a panel. */
static void check_pairs(tristar_t *ts, tristar_merge merge, int leaf_parts, bool odd) {
  enum { HALF = 301, N = 2 * HALF };
  OWNED double *value = xcalloc((size_t)HALF * HALF, sizeof *value), *b = xcalloc(N, sizeof *b),
               *x = xcalloc(N, sizeof *x);
  OWNED int32_t *index = xcalloc((size_t)HALF * HALF, sizeof *index);
  OWNED int64_t *ptr = xcalloc(N + 1, sizeof *ptr);
  double error;
  fill_random(value, (int64_t)HALF * HALF, 4);
  fill_random(b, N, 5);
  if (odd) value[0] = 100;
  for (int j = 0; j < N; j++) {
    ptr[j + 1] = ptr[j] + (j < HALF ? HALF : 0);
    for (int i = 0; i < HALF && j < HALF; i++) index[ptr[j] + i] = HALF + i;
  }
  if (odd) index[0] = 0; /* replaces the entry of row HALF */
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, index, value);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LDLT;
  options.matching = TRISTAR_MATCHING_OFF;
  options.ordering = TRISTAR_ORDERING_NATURAL;
  options.merge = merge;
  options.leaf_parts = leaf_parts;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, value);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = make_unrefined(f);
  CHECK(stats_of(f).perturbed_pivots == 0 && stats_of(f).unstable_pivots == 0);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, N, x, N, NULL, N, &error));
  CHECK_MSG(error < 1e-10, "%g", error);
}

/* Two equal constraints. */
static void check_singular(tristar_t *ts) {
  enum { FREE = 14, N = 20 };
  number a[N * N] = {0};
  int64_t order[N];
  for (int i = 0; i < FREE; i++) {
    a[i * N + i] = 1 + i;
    for (int k = FREE; k < N; k++) {
      const number value = creal(random_value((uint64_t)(50 * i + (k < N - 1 ? k : k - 1))));
      a[i * N + k] = a[k * N + i] = value;
    }
  }
  for (int k = 0; k < N; k++) order[k] = (k + FREE) % N;
  const tristar_view view = typed_dense_view(&typed_double, N, a, N, TRISTAR_SYMMETRIC);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LDLT;
  options.matching = TRISTAR_MATCHING_OFF;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = order;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  tristar_factor_t *f;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *refuses = NEW_ANALYSIS(ts, &view, &options);
  CHECK_STATUS(tristar_factor(refuses, view.values, &f), TRISTAR_ERR_SINGULAR);
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CHECK_OK(tristar_factor(an, view.values, &f));
  CHECK(stats_of(f).perturbed_pivots > 0 && stats_of(f).singular == 1);
  tristar_factor_destroy(&f);
}

/* A matrix of rank 4 with the inertia (2, 2, 1). The determinant of a pivot of order 2 consists of rounding
 * errors. */
static void check_cancelled_pair(tristar_t *ts) {
  enum { N = 5 };
  static const double values[N * N] = {-3.9375, 5, 10, 0,  0,  5, -1, -2, -1, 2, 10, -2, -4,
                                       -2,      4, 0,  -1, -2, 4, 0,  0,  2,  4, 0,  -1};
  number a[N * N];
  for (int k = 0; k < N * N; k++) a[k] = values[k];
  const tristar_view view = typed_dense_view(&typed_double, N, a, N, TRISTAR_SYMMETRIC);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering = TRISTAR_ORDERING_DISSECTION;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  tristar_factor_t *f;
  tristar_inertia inertia;
  tristar_determinant determinant;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *refuses = NEW_ANALYSIS(ts, &view, &options);
  CHECK_STATUS(tristar_factor(refuses, view.values, &f), TRISTAR_ERR_SINGULAR);
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  CHECK_OK(tristar_factor(an, view.values, &f));
  CHECK(stats_of(f).singular == 1);
  CHECK_OK(tristar_factor_get_inertia(f, &inertia));
  CHECK(inertia.positive == 2 && inertia.negative == 2 && inertia.zero == 1);
  CHECK_OK(tristar_factor_get_determinant(f, &determinant));
  CHECK(determinant.sign[0] == 0);
  tristar_factor_destroy(&f);
}

/* Random sparse matrices with many zeros on the diagonal, in the natural order. */
static void check_random(tristar_t *ts, const typed *t, tristar_symmetry symmetry, tristar_method method) {
  enum { SYSTEMS = 150 };
  static number a[TYPED_DENSE_MOST * TYPED_DENSE_MOST];
  static double draws[3 * TYPED_DENSE_MOST * TYPED_DENSE_MOST];
  int solved = 0, delayed = 0;
  for (uint64_t k = 0; k < SYSTEMS; k++) {
    const int n = 5 + (int)(k % 100);
    double error;
    fill_random(draws, 3 * n * n, k + 1);
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++) {
        const double *draw = draws + 3 * (i * n + j); /* between -1 and 1 */
        const bool there = i == j ? draw[0] > 0.3 : draw[0] > 1 - 12.0 / n;
        number lower = there ? draw[1] : 0, upper = there ? draw[2] : 0;
        if (t->is_complex && there && i != j) __imag__ lower = draw[2];
        a[i * n + j] = lower;
        a[j * n + i] = symmetry == TRISTAR_GENERAL && i != j ? upper : mirrored(symmetry, lower);
      }
    const tristar_view view = typed_dense_view(t, n, a, n, symmetry);
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.method = method;
    options.matching = TRISTAR_MATCHING_OFF;
    options.ordering = TRISTAR_ORDERING_NATURAL;
    options.pivoting = TRISTAR_PIVOTING_DELAYED;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    tristar_status status = tristar_analyze(ts, &view, &options, &an);
    if (status == TRISTAR_OK) status = tristar_factor(an, view.values, &f);
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_SINGULAR);
    if (status != TRISTAR_OK) continue;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = make_unrefined(f);
    OWNED char *b = make_rhs(t, n), *x = xcalloc((size_t)n, t->bytes);
    solved++;
    delayed += stats_of(f).delayed_pivots > 0;
    CHECK(stats_of(f).perturbed_pivots == 0);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, n, x, n, NULL, n, &error));
    CHECK_MSG(error < 1e-9, "system %d of %d rows: %g", (int)k, n, error);
  }
  CHECK_MSG(solved > SYSTEMS / 3 && delayed > SYSTEMS / 10, "%d solved, %d with delayed pivots", solved,
            delayed);
}

/* If no pivot needs a delay, the bits are those of STATIC and there is no search. */
static void check_unneeded(tristar_t *ts, const char *kind, int64_t size) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  const tristar_view view = generated_view(ts, kind, size, &m);
  OWNED double *b = xcalloc((size_t)view.rows, sizeof *b), *x = xcalloc(2 * (size_t)view.rows, sizeof *x);
  fill_random(b, view.rows, 1);
  for (int k = 0; k < 2; k++) {
    tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
    options.pivoting = k > 0 ? TRISTAR_PIVOTING_DELAYED : TRISTAR_PIVOTING_STATIC;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, view.values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
    CHECK(stats_of(f).pivot_rounds == 0 && tristar_factor_get_analysis(f) == an);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, view.rows, x + k * view.rows, view.rows));
  }
  CHECK(memcmp(x, x + view.rows, (size_t)view.rows * sizeof *x) == 0);
}

static void check_options(tristar_t *ts) {
  OWNED problem *p = make_cyclic(&typed_double, 1);
  const int64_t unknown = 3;
  tristar_analysis_t *an;
  for (int k = 0; k < 6; k++) {
    tristar_analysis_options options = options_for(p, TRISTAR_METHOD_LU, true);
    if (k == 0) options.pivot_threshold = -0.1;
    if (k == 1) options.pivot_threshold = 1.01;
    if (k == 2) options.pivot_threshold = NAN;
    if (k == 3) options.pivoting = (tristar_pivoting)2;
    if (k == 4) options.schur = &unknown, options.schur_count = 1;
    if (k == 5) options.inverse = TRISTAR_INVERSE_PARTITIONED;
    CHECK_STATUS(tristar_analyze(ts, &p->view, &options, &an),
                 k < 4 ? TRISTAR_ERR_ARGUMENT : TRISTAR_ERR_UNSUPPORTED);
    CHECK_ERROR(ts, "pivot");
  }
}

static void check_allocations(tristar_t *ts, tristar_method method) {
  OWNED problem *p = method == TRISTAR_METHOD_LU ? make_cyclic(&typed_double, 5)
                                                 : make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1);
  const tristar_analysis_options options = options_for(p, method, true);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  allocation_failures failing = fail_allocations_of(ts);
  failing.first = 60;
  failing.sparse = 60;
  while (next_failure(&failing)) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
    const tristar_status status = tristar_factor(an, p->values, &f);
    end_failure(&failing, status);
    if (status == TRISTAR_OK) break;
    CHECK(f == NULL);
  }
  CHECK(failing.count > 40);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  RUN_ONE_THREAD(check_types(ts));
  RUN_ONE_THREAD(check_random(ts, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_random(ts, &typed_complex_double, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_random(ts, &typed_complex_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_random(ts, &typed_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_random(ts, &typed_complex_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_inertia(ts));
  RUN(check_bits(ts, TRISTAR_METHOD_LDLT));
  RUN(check_bits(ts, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_saved(ts, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_saved(ts, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_pairs(ts, TRISTAR_MERGE_RELAXED, 0, false));
  RUN_ONE_THREAD(check_pairs(ts, TRISTAR_MERGE_NONE, 0, false));
  RUN_ONE_THREAD(check_pairs(ts, TRISTAR_MERGE_RELAXED, 2, true));
  RUN_ONE_THREAD(check_pairs(ts, TRISTAR_MERGE_NONE, 0, true));
  RUN_ONE_THREAD(check_pairs(ts, TRISTAR_MERGE_NONE, 4, true));
  for (int leaf_parts = 2; leaf_parts <= 16; leaf_parts *= 2)
    RUN_ONE_THREAD(check_separators(ts, leaf_parts));
  RUN_ONE_THREAD(check_singular(ts));
  RUN_ONE_THREAD(check_cancelled_pair(ts));
  RUN_ONE_THREAD(check_small_updated(ts));
  RUN_ONE_THREAD(check_updated(ts, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_updated(ts, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(check_unneeded(ts, "kkt3d", 4));
  RUN_ONE_THREAD(check_unneeded(ts, "convdiff3d", 5));
  RUN_ONE_THREAD(check_unneeded(ts, "s2d9pt", 12));
  RUN_ONE_THREAD(check_options(ts));
  RUN_ONE_THREAD(check_allocations(ts, TRISTAR_METHOD_LDLT));
  RUN_ONE_THREAD(check_allocations(ts, TRISTAR_METHOD_LU));
  close_context(&ts);
  return 0;
}
