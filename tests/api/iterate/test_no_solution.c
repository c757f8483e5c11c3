/* Singular systems that have no solution, or many, factored with perturbed pivots: x may be so large that
 * b - A x in the type of the matrix is zero. The residual of the refinement, and the one that is computed on
 * request, are the true ones. */
#include <pthread.h>

#include "runtime/iterate/refine/refinement.h"
#include "tests/support/context.h"
#include "tests/support/singular_systems.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

/* Returns the largest entry of r, relative to the largest entry of b. */
static double relative_size(const typed *t, int n, const void *r, const void *b) {
  double of_r = 0, of_b = 0;
  for (int i = 0; i < n; i++) {
    of_r = larger_error(of_r, magnitude(get(t, r, i)));
    of_b = larger_error(of_b, magnitude(get(t, b, i)));
  }
  return of_r / of_b;
}

static int check_system(tristar_t *ts, const typed *t, bool single_factors, uint64_t seed) {
  small_system s;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  make_small_system(t, seed, &s);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  o.single_factors = single_factors;
  CHECK_OK(tristar_analyze(ts, &s.view, &o, &an));
  CHECK_OK(tristar_factor(an, s.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  int solved = 0;
  for (int k = 0; k < 3; k++) {
    number x[SMALL_MOST], r[SMALL_MOST];
    tristar_refine_result result;
    const tristar_status status = tristar_solve_refined(p, ops[k], 1, s.b, s.n, x, s.n, NULL, &result);
    if (status == TRISTAR_ERR_NOT_FINITE) continue;
    CHECK_OK(status);
    solved++;
    CHECK_MSG(result.residual > 0.01 * s.residual,
              "type %c, op %c, seed %d: residual %g, the least one is %g", (char)t->scalar, (char)ops[k],
              (int)seed, result.residual, s.residual);
    if (relative_size(t, s.n, x, s.b) > 1e-3 / (t->is_single ? 1e-15 : 1e-19))
      continue; /* x has no correct digits */
    CHECK_OK(tristar_residual(f, ops[k], 1, s.b, s.n, x, s.n, r, s.n, NULL));
    CHECK_MSG(relative_size(t, s.n, r, s.b) > 0.5 * s.residual, "type %c, op %c, seed %d: b - A x is %g",
              (char)t->scalar, (char)ops[k], (int)seed, relative_size(t, s.n, r, s.b));
  }
  return solved;
}

static void check_type(tristar_t *ts, const typed *t, bool single_factors) {
  const int systems = TSI_TESTS_SANITIZED ? 300 : 3000;
  int solved = 0;
  for (int k = 0; k < systems; k++) solved += check_system(ts, t, single_factors, (uint64_t)k);
  printf("type %c: %d of %d solved\n", (char)t->scalar, solved, 3 * systems);
  CHECK(solved > 2 * systems);
}

enum { SCALED_MOST = 8 };

/* A matrix of small integers. Row `last` is a combination of the others, and y is the corresponding left
 * null vector. A right-hand side b has a solution if and only if y^T b = 0. */
typedef struct scaled_system {
  int n, ptr[SCALED_MOST + 1], col[SCALED_MOST * SCALED_MOST];
  double a[SCALED_MOST * SCALED_MOST], b[SCALED_MOST];
  bool solvable;
} scaled_system;

/* Returns a random number from 0 to limit - 1. */
static int draw(uint64_t *state, int limit) {
  return (int)(next_random(state) % (uint64_t)limit);
}

/* spread: range of the exponents of rows and columns. */
static void make_scaled_system(uint64_t *state, int spread, scaled_system *s) {
  int dense[SCALED_MOST][SCALED_MOST] = {{0}}, y[SCALED_MOST], b[SCALED_MOST] = {0}, row[SCALED_MOST],
      column[SCALED_MOST], rest = 0;
  const int n = s->n = 3 + draw(state, SCALED_MOST - 2), last = draw(state, n);
  for (int i = 0; i < n; i++) {
    y[i] = i == last ? -1 : draw(state, 5) - 2;
    row[i] = spread ? draw(state, 2 * spread) - spread : 0;
    column[i] = spread ? draw(state, 2 * spread) - spread : 0;
    for (int j = 0; j < n && i != last; j++)
      if (j == (i + 1) % n || draw(state, 5) < 2) dense[i][j] = 1 + draw(state, 4);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n && i != last; j++) dense[last][j] += y[i] * dense[i][j];
  s->solvable = draw(state, 2);
  for (int j = 0; j < n; j++) {
    const int x = draw(state, 7) - 3;
    for (int i = 0; i < n; i++) b[i] += s->solvable ? dense[i][j] * x : i == j ? x : 0;
  }
  for (int i = 0; i < n; i++) rest += y[i] * b[i];
  s->solvable = rest == 0;
  for (int i = 0, at = s->ptr[0] = 0; i < n; s->ptr[++i] = at) {
    s->b[i] = ldexp(b[i], row[i]);
    for (int j = 0; j < n; j++)
      if (dense[i][j] != 0) s->col[at] = j, s->a[at++] = ldexp(dense[i][j], row[i] + column[j]);
  }
}

/* The scaling must not change whether a solution is found. Counts: *solvable: systems with a solution,
 * *claims: those that were solved, *wrong: systems without a solution for which one was reported. Matrices
 * with a singular pattern are left out. */
static void check_scaled_system(tristar_t *ts, const scaled_system *s, int *claims, int *solvable,
                                int *wrong) {
  const tristar_view v = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, s->n, s->n, s->ptr, s->col, s->a, 32, 32, 0};
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_refine_result result;
  double x[SCALED_MOST];
  o.singular = TRISTAR_SINGULAR_PERTURB;
  const tristar_status status = tristar_analyze(ts, &v, &o, &an);
  if (status == TRISTAR_ERR_SINGULAR) return; /* the pattern is singular */
  CHECK_OK(status);
  CHECK_OK(tristar_factor(an, s->a, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, s->b, s->n, x, s->n, NULL, &result));
  const bool claimed = result.residual <= 1.5e-8 && result.backward_error <= 1e-12;
  *claims += claimed && s->solvable;
  *wrong += claimed && !s->solvable;
  *solvable += s->solvable;
}

static void check_scaled(tristar_t *ts, int spread) {
  const int systems = TSI_TESTS_SANITIZED ? 1000 : 10000;
  uint64_t state = 77 + (uint64_t)spread;
  int claims = 0, solvable = 0, wrong = 0;
  for (int k = 0; k < systems; k++) {
    scaled_system s;
    make_scaled_system(&state, spread, &s);
    check_scaled_system(ts, &s, &claims, &solvable, &wrong);
  }
  printf("spread 2^%d: %d of %d with a solution were solved\n", spread, claims, solvable);
  CHECK_MSG(wrong <= (spread > 0 ? systems / 5000 : 0), "%d without a solution were solved", wrong);
  CHECK_MSG(claims >= 0.99 * solvable, "%d of %d with a solution were solved", claims, solvable);
}

/* A^T x = b without a solution. One equation contradicts others, in a row that the factors scale down. */
typedef struct contradiction {
  int n;
  double a[5][5], b[5];
  tristar_ordering ordering;
  tristar_matching matching;
} contradiction;

static void check_contradiction(tristar_t *ts, const contradiction *c) {
  number a[5][5] = {{0}};
  tristar_analysis_options o;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_refine_result result;
  double x[5];
  for (int i = 0; i < c->n; i++)
    for (int j = 0; j < c->n; j++) a[i][j] = c->a[i][j];
  const tristar_view v = typed_dense_view(&typed_double, c->n, a[0], 5, TRISTAR_GENERAL);
  tristar_analysis_options_init(&o);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  o.ordering = c->ordering;
  o.matching = c->matching;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, v.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_T, 1, c->b, c->n, x, c->n, NULL, &result));
  CHECK_MSG(result.residual > 1.5e-8, "order %d: the residual is %g", c->n, result.residual);
}

static void check_contradictions(tristar_t *ts) {
  static const contradiction systems[] = {
      {4,
       {{512, 0x1p-17, 0, 0.25}, {0, 0, -512, 0}, {0, 0x1p30, 0, 0x1p45}, {0, -0x1p20, 0, -0x1p35}},
       {-805306368, -12, 0, -131072},
       TRISTAR_ORDERING_AMD,
       TRISTAR_MATCHING_OFF},
      {4,
       {{-0x1.4p-9, 0x1.ap-19, 0, 0}, {0, 0, 20, -416}, {0, 0, -1.25, 26}, {0, 1.25, 0.044921875, 0.71875}},
       {6144, -12.75, -0.205078125, -4},
       TRISTAR_ORDERING_AMD,
       TRISTAR_MATCHING_AUTO},
      {5,
       {{2078764171264, -30198988800, 61941481472, 0, 12197707120640},
        {0, 0, -0.43359375, 0, 272},
        {-123480309760, 0, 0, 0, -433791696896},
        {0, 700416, 0, 0.00231170654296875, 0},
        {-61952, 900, -1846, 0, -363520}},
       {-39993344, 4193280, -1872384, 0.01155853271484375, 32505856},
       TRISTAR_ORDERING_AMD,
       TRISTAR_MATCHING_ON},
  };
  for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) check_contradiction(ts, &systems[k]);
}

enum { KKT_MOST = 20 };

/* Returns a random number of magnitude at most limit. */
static number draw_number(uint64_t *state, int limit) {
  const number x = draw(state, 2 * limit + 1) - limit;
  return x + (draw(state, 2 * limit + 1) - limit) * (number)1.0i;
}

/* Makes a plan with SINGULAR_PERTURB. Returns false if the pattern is singular. */
static bool plan_perturbed(tristar_t *ts, const tristar_view *v, tristar_analysis_t **an,
                           tristar_factor_t **f, tristar_plan_t **p) {
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  const tristar_status status = tristar_analyze(ts, v, &o, an);
  if (status == TRISTAR_ERR_SINGULAR) return false;
  CHECK_OK(status);
  CHECK_OK(tristar_factor(*an, v->values, f));
  CHECK_OK(tristar_plan(*f, NULL, p));
  return true;
}

/* [H B^H; B 0] of small integers. The last constraint is twice the first one, and b = A x has solutions. */
static void check_redundant(tristar_t *ts, uint64_t seed) {
  const typed *t = &typed_complex_double;
  const int n = 4 + draw(&seed, KKT_MOST - 3), free = n / 2 + 1;
  number a[KKT_MOST][KKT_MOST] = {{0}}, b[KKT_MOST] = {0}, x[KKT_MOST];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_refine_result result;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i && j < free; j++) {
      if (i == j)
        a[i][i] = draw(&seed, 9);
      else if (draw(&seed, 6) < (i < free ? 2 : 3))
        a[j][i] = conj(a[i][j] = draw_number(&seed, 3));
    }
  for (int j = 0; j < free && free < n - 1; j++) a[j][n - 1] = conj(a[n - 1][j] = 2 * a[free][j]);
  for (int j = 0; j < n; j++) {
    const number of_x = draw_number(&seed, 4);
    for (int i = 0; i < n; i++) b[i] += a[i][j] * of_x;
  }
  const tristar_view v = typed_dense_view(t, n, a[0], KKT_MOST, TRISTAR_GENERAL);
  if (!plan_perturbed(ts, &v, &an, &f, &p)) return;
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, n, x, n, NULL, &result));
  CHECK_MSG(result.residual <= 1.5e-8 && result.backward_error <= 1e-12, "order %d: the residual is %g", n,
            result.residual);
}

static void check_redundants(tristar_t *ts) {
  for (uint64_t seed = 1; seed <= (TSI_TESTS_SANITIZED ? 200 : 2000); seed++) check_redundant(ts, seed);
}

enum { CONSISTENT_MOST = 23 };

/* A singular matrix, and b = op(A) x for a vector x of small integers. */
typedef struct consistent {
  int n;
  tristar_format format;
  tristar_op op;
  const int *ptr, *index;
  const double *a, *b;
  tristar_merge merge;
  tristar_inverse inverse;
} consistent;

static void check_consistent(tristar_t *ts, const consistent *c, bool with_values) {
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_view v = DEFAULTS(tristar_view);
  tristar_refine_result result;
  double x[CONSISTENT_MOST], r[CONSISTENT_MOST];
  v.format = c->format;
  v.rows = v.cols = c->n;
  v.ptr = c->ptr;
  v.index = c->index;
  v.values = with_values ? c->a : NULL;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  o.merge = c->merge;
  o.inverse = c->inverse;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, c->a, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, c->op, 1, c->b, c->n, x, c->n, NULL, &result));
  CHECK_MSG(result.residual <= 1.5e-8, "order %d: the residual is %g", c->n, result.residual);
  CHECK_OK(tristar_solve(p, c->op, 1, c->b, c->n, x, c->n));
  CHECK_OK(tristar_residual(f, c->op, 1, c->b, c->n, x, c->n, r, c->n, NULL));
  CHECK_MSG(relative_size(&typed_double, c->n, r, c->b) <= 1.5e-8, "order %d: b - A x is %g", c->n,
            relative_size(&typed_double, c->n, r, c->b));
}

/* A small singular value beside the zeros makes the rounding errors of the null vectors much larger than
 * eps (order 23). Some rows only have unknowns that are rounding errors (order 7). */
static void check_consistents(tristar_t *ts) {
  static const int ptr_23[] = {0,  7,  10, 12, 17, 25, 29, 33, 38,  47,  54,  59,
                               62, 66, 82, 84, 86, 89, 92, 99, 101, 107, 111, 112};
  static const int index_23[] = {22, 8,  5,  16, 0,  2,  11, 1,  9,  10, 2,  16, 3,  4,  8,  13, 15, 2,  4,
                                 10, 13, 16, 17, 20, 21, 5,  10, 16, 19, 2,  6,  13, 16, 2,  3,  7,  11, 16,
                                 0,  2,  8,  9,  10, 16, 17, 20, 22, 4,  14, 20, 9,  2,  16, 13, 5,  7,  8,
                                 10, 12, 8,  11, 22, 1,  12, 14, 18, 0,  1,  2,  3,  4,  6,  8,  9,  10, 13,
                                 16, 17, 18, 20, 21, 22, 5,  14, 15, 14, 0,  12, 17, 0,  12, 17, 22, 6,  18,
                                 4,  13, 20, 1,  16, 19, 0,  1,  3,  10, 17, 20, 3,  4,  13, 21, 22};
  static const double a_23[] = {4,  2, -2, 2,  5,  -2, 4, -3, -3, -1, -4, 4,  3,  -3,  5,  -3, 3,  -5, 3,
                                -4, 3, 5,  -5, -2, -1, 5, 1,  10, -5, -2, -2, 4,  2,   -2, -4, 5,  5,  2,
                                5,  5, 3,  -3, -5, -5, 4, -1, -3, 2,  1,  -1, 5,  5,   -5, 2,  1,  4,  2,
                                -4, 3, 3,  -5, 3,  -4, 4, -4, 2,  5,  -1, 5,  -5, -10, 2,  3,  -3, -5, -14,
                                -5, 4, 3,  -6, 5,  1,  4, -5, -4, 4,  5,  2,  -5, 5,   2,  -5, -4, -2, -3,
                                5,  9, 5,  1,  8,  -4, 4, 1,  4,  5,  -3, -1, -5, -5,  -5, 5,  1};
  static const double b_23[] = {5,   -5,  16, 24, 31, 11, 24, -18, 3,  -11, 4, 10,
                                -16, -27, -5, -8, -8, -8, 0,  12,  -2, -30, 0};
  static const int ptr_7[] = {0, 4, 9, 10, 12, 15, 17, 21};
  static const int index_7[] = {0, 1, 5, 6, 0, 1, 3, 4, 6, 2, 3, 6, 2, 1, 4, 4, 5, 2, 5, 4, 1};
  static const double a_7[] = {2048,  24,  -160,           -8,
                               10240, -40, 0.0078125,      -0.000732421875,
                               -56,   160, -0.01953125,    40,
                               -160,  40,  0.000732421875, -0.000732421875,
                               -96,   0,   -192,           -0.002197265625,
                               -40};
  static const double b_7[] = {-8, 37, 0, 0, -22, 9, 40};
  const consistent systems[] = {
      {23, TRISTAR_CSR, TRISTAR_N, ptr_23, index_23, a_23, b_23, TRISTAR_MERGE_RELAXED,
       TRISTAR_INVERSE_DIAGONAL},
      {7, TRISTAR_CSC, TRISTAR_T, ptr_7, index_7, a_7, b_7, TRISTAR_MERGE_NONE, TRISTAR_INVERSE_NONE}};
  for (int k = 0; k < 4; k++) check_consistent(ts, &systems[k / 2], k % 2 > 0);
}

enum { ORDER_MOST = 420 };

/* A singular matrix of small integers, and integers x. The analysis gets the values without units. Rows and
 * columns of later values are multiplied by powers of two. */
typedef struct integers {
  bool known;    /* the first factorization already has the units */
  bool singular; /* singular for every seed */
  int n, ptr[ORDER_MOST + 1], index[ORDER_MOST * 16];
  double a[ORDER_MOST][ORDER_MOST], x[ORDER_MOST], row[ORDER_MOST], column[ORDER_MOST];
  char before[ORDER_MOST * 128], values[ORDER_MOST * 128]; /* without units, and with them */
  tristar_view view;
} integers;

static void put_pair(integers *m, int i, int j, double value) {
  m->a[i][j] = m->a[j][i] = value;
}

/* [H B^T; B 0]. Some constraints are twice earlier ones, rows are multiplied by 1, 2 or 4, and the order is
 * random. LU perturbs pivots, and its factors do not show the null space. */
static void make_duplicated(uint64_t *seed, int n, integers *m) {
  int order[ORDER_MOST], last = -1;
  double before[3] = {0};
  const int free = n * 3 / 4;
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int j = draw(seed, i + 1), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (int i = 0; i < free; i++) {
    m->a[order[i]][order[i]] += 1 + draw(seed, 7);
    if (i == 0 || draw(seed, 2) == 0) continue;
    put_pair(m, order[i], order[i - 1], draw(seed, 2) ? 1 : -1);
    m->a[order[i]][order[i]] += 2;
    m->a[order[i - 1]][order[i - 1]] += 2;
  }
  for (int i = free; i < n; i++) {
    const bool twice = last >= 0 && draw(seed, 8) == 0;
    if (!twice) last = draw(seed, free - 3);
    for (int k = 0; k < 3; k++) {
      before[k] = twice ? 2 * before[k] : (1 + draw(seed, 3)) * (draw(seed, 2) ? 1 : -1);
      put_pair(m, order[i], order[last + k], before[k]);
    }
    if (twice) last = -1;
  }
  for (int i = 0; i < n; i++) {
    const double unit = ldexp(1, draw(seed, 3));
    for (int j = 0; j < n; j++) m->a[i][j] *= unit;
  }
}

/* Rows of the last quarter are combinations of others. */
static void make_dependent(uint64_t *seed, int n, integers *m) {
  const int half = n / 2, quarter = n / 4;
  m->singular = true;
  for (int i = 0; i < n; i++) {
    m->a[i][i] = draw(seed, 3) ? 1 + draw(seed, 5) : 0;
    for (int k = 0; k < 3; k++) m->a[i][draw(seed, n)] = draw(seed, 11) - 5;
    m->a[i][(i + 1) % n] += 1 + draw(seed, 3);
  }
  for (int k = draw(seed, 6); k >= 0; k--) {
    const int one = draw(seed, half), other = half + draw(seed, quarter), row = n - 1 - draw(seed, quarter);
    const int u = 1 + draw(seed, 3), v = draw(seed, 5) - 2;
    for (int j = 0; j < n; j++) m->a[row][j] = u * m->a[one][j] + v * m->a[other][j];
  }
}

/* One or two rows or columns are sums of multiples of others. */
static void make_combined(uint64_t *seed, int n, integers *m) {
  const int others = 1 + draw(seed, 4), last = n / 3;
  m->known = draw(seed, 2);
  for (int i = 0; i < n; i++) {
    if (draw(seed, 4)) m->a[i][i] = draw(seed, 11) - 5;
    for (int k = 0; k < others; k++) m->a[i][draw(seed, n)] = draw(seed, 11) - 5;
    m->a[i][(i + 1) % n] += 1 + draw(seed, 3);
  }
  for (int k = draw(seed, 2); k >= 0; k--) {
    const int to = n - 1 - draw(seed, last), one = draw(seed, n - last), other = draw(seed, n - last);
    const int u = 1 + draw(seed, 3), v = draw(seed, 7) - 3;
    const bool row = draw(seed, 2);
    for (int j = 0; j < n; j++)
      if (row)
        m->a[to][j] = u * m->a[one][j] + v * m->a[other][j];
      else
        m->a[j][to] = u * m->a[j][one] + v * m->a[j][other];
  }
}

static double draw_unit(uint64_t *seed, int spread) {
  return spread > 0 ? ldexp(1, (draw(seed, 2) ? 1 : -1) * (spread + draw(seed, spread + 1))) : 1;
}

/* Stores the values by columns, with and without units, and draws integers x. */
static void store(const typed *t, uint64_t *seed, int spread, integers *m) {
  int at = 0;
  for (int i = 0; i < m->n; i++) {
    m->x[i] = draw(seed, 9) - 4;
    m->row[i] = draw_unit(seed, spread);
    m->column[i] = draw_unit(seed, spread);
  }
  for (int j = 0; j < m->n; j++) {
    m->ptr[j] = at;
    for (int i = 0; i < m->n; i++) {
      if (m->a[i][j] == 0) continue;
      put(t, m->before, at, m->a[i][j]);
      put(t, m->values, at, m->a[i][j] * m->row[i] * m->column[j]);
      m->index[at++] = i;
    }
  }
  m->ptr[m->n] = at;
  m->view = (tristar_view){TRISTAR_CSC,
                           TRISTAR_GENERAL,
                           t->scalar,
                           m->n,
                           m->n,
                           m->ptr,
                           m->index,
                           m->known ? m->values : m->before,
                           32,
                           32,
                           0};
}

/* A singular A must be reported as singular. b = op(A) x has a solution. The computed solution must have a
 * small residual and no large components in the null space, in the units of rows and columns. */
static void check_bounded(tristar_t *ts, const typed *t, tristar_op op, const integers *m) {
  const double eps = t->is_single ? 0x1p-23 : 0x1p-52;
  const double *row = op == TRISTAR_N ? m->row : m->column, *column = op == TRISTAR_N ? m->column : m->row;
  long double b[ORDER_MOST] = {0}, r[ORDER_MOST];
  double x[ORDER_MOST], given[ORDER_MOST], of_r = 0, of_b = 0, of_x = 0;
  tristar_factor_stats stats;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  o.method = TRISTAR_METHOD_LU;
  const tristar_status status = tristar_analyze(ts, &m->view, &o, &an);
  if (status == TRISTAR_ERR_SINGULAR) return; /* the pattern is singular */
  CHECK_OK(status);
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) b[op == TRISTAR_N ? i : j] += m->a[i][j] * m->x[op == TRISTAR_N ? j : i];
  for (int i = 0; i < m->n; i++) put(t, given, i, (double)b[i] * row[i]);
  CHECK_OK(tristar_factor(an, m->known ? m->values : m->before, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_refactor(f, m->values));
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_MSG(stats.singular || !m->singular, "type %c, order %d: 1 / condition is %g", (char)t->scalar, m->n,
            stats.reciprocal_condition);
  CHECK_OK(tristar_solve(p, op, 1, given, m->n, x, m->n));
  memcpy(r, b, sizeof r);
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      const int of = op == TRISTAR_N ? j : i;
      r[op == TRISTAR_N ? i : j] -= m->a[i][j] * (long double)creal(get(t, x, of)) * column[of];
    }
  for (int i = 0; i < m->n; i++) {
    of_r = larger_error(of_r, fabs((double)r[i]));
    of_b = fmax(of_b, fabs((double)b[i]));
    of_x = larger_error(of_x, fabs(creal(get(t, x, i)) * column[i]));
  }
  CHECK_MSG(of_r <= 10 * sqrt(eps) * of_b, "type %c, order %d, op %c: b - A x is %g", (char)t->scalar, m->n,
            (char)op, of_r / of_b);
  CHECK_MSG(of_x <= (t->is_single ? 2000 : 1e6), "type %c, order %d, op %c: x has entries of %g",
            (char)t->scalar, m->n, (char)op, of_x);
}

/* spread: each unit is 2^e with spread <= |e| <= 2 spread; 0: no units. */
static void check_integers(tristar_t *ts, const typed *t, int order, int spread,
                           void (*make)(uint64_t *seed, int n, integers *m), int systems) {
  static integers m;
  for (uint64_t first = 1; first <= (uint64_t)(TSI_TESTS_SANITIZED ? 1 + systems / 10 : systems); first++) {
    uint64_t seed = first;
    memset(m.a, 0, sizeof m.a);
    m.n = order;
    m.known = m.singular = false;
    make(&seed, order, &m);
    store(t, &seed, spread, &m);
    check_bounded(ts, t, ops[first % 2], &m);
  }
}

/* A chain of springs without support, with one force at each end. |A| |x| is 400 times b, which costs three
 * of 16 digits. Null vectors would take tens of solves, so x stays as the factors compute it. */
static void check_kept(tristar_t *ts) {
  enum { N = 100 };
  int32_t ptr[N + 1], index[2 * N], at = 0;
  double values[2 * N], b[N] = {0}, x[N], largest = 0, mean = 0;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, index, values, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    index[at] = j;
    values[at++] = j == 0 || j == N - 1 ? 1 : 2;
    if (j == N - 1) break;
    index[at] = j + 1;
    values[at++] = -1;
  }
  ptr[N] = at;
  b[0] = -1;
  b[N - 1] = 1;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, N, x, N));
  for (int i = 0; i < N; i++) {
    largest = fmax(largest, fabs(x[i]));
    mean += x[i] / N;
    if (i > 0) CHECK_MSG(fabs(x[i] - x[i - 1] - 1) <= 1e-12, "spring %d is longer by %g", i, x[i] - x[i - 1]);
  }
  CHECK_MSG(fabs(mean) > 0.01 * largest, "x has lost its null vector: mean %g, largest %g", mean, largest);
}

enum { LINKS = 700 }; /* too many for a solve without the factors */

/* Fills a chain without support. The units of its unknowns range from 1 to `most`, and b is smooth and has
 * a solution. */
static void fill_chain(double most, double *values, double *b) {
  int at = 0;
  for (int j = 0; j < LINKS; j++) {
    const double unit = j % 2 ? most : 1, next = j % 2 ? 1 : most;
    values[at++] = (j == 0 || j == LINKS - 1 ? 1 : 2) * unit * unit;
    if (j < LINKS - 1) values[at++] = -unit * next;
    b[j] = cos(acos(-1) * (j + 0.5) / LINKS) * unit;
  }
}

typedef struct chain_solve {
  tristar_plan_t *plan;
  const double *b;
  double x[LINKS];
} chain_solve;

static void *solve_chain(void *arg) {
  chain_solve *s = arg;
  CHECK_OK(tristar_solve(s->plan, TRISTAR_N, 1, s->b, LINKS, s->x, LINKS));
  return NULL;
}

static int64_t solves_of(tristar_plan_t *p) {
  tristar_plan_stats stats;
  CHECK_OK(tristar_plan_get_stats(p, &stats));
  return stats.solves;
}

/* The first solve computes null vectors; later solves, also concurrent ones, use them until values change.
 * x has the same bits. */
static void check_kept_vectors(tristar_t *ts) {
  static double values[2 * LINKS], b[LINKS];
  static chain_solve s[3], fresh;
  tristar_memory_stats unused, used;
  int32_t ptr[LINKS + 1], index[2 * LINKS];
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, LINKS, LINKS, ptr, index, NULL, 32, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  for (int j = 0; j <= LINKS; j++) ptr[j] = j < LINKS ? 2 * j : 2 * LINKS - 1;
  for (int k = 0; k < 2 * LINKS - 1; k++) index[k] = (k + 1) / 2;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  fill_chain(1, values, b);
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  for (double most = 1; most <= 4; most *= 4) {
    pthread_t thread[2];
    CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *with = NULL;
    fill_chain(most, values, b);
    CHECK_OK(tristar_refactor(f, values));
    CHECK_OK(tristar_factor(an, values, &other));
    CHECK_OK(tristar_plan(other, NULL, &with));
    for (int k = 0; k < 3; k++) s[k] = (chain_solve){.plan = p, .b = b};
    fresh = (chain_solve){.plan = with, .b = b};
    const int64_t before = solves_of(p);
    for (int k = 0; k < 2; k++) CHECK(pthread_create(&thread[k], NULL, solve_chain, &s[k]) == 0);
    for (int k = 0; k < 2; k++) CHECK(pthread_join(thread[k], NULL) == 0);
    const int64_t first = solves_of(p) - before;
    (void)solve_chain(&s[2]);
    const int64_t later = solves_of(p) - before - first;
    CHECK_MSG(2 * later < first, "%d solves after %d", (int)later, (int)first);
    CHECK_OK(tristar_get_memory(ts, &unused));
    (void)solve_chain(&fresh);
    CHECK_OK(tristar_get_memory(ts, &used));
    const double vectors = (double)(used.current_bytes - unused.current_bytes) / (double)sizeof s[0].x;
    CHECK_MSG(vectors < 12, "the first solve keeps %g vectors",
              vectors); /* the workspace and a null vector */
    for (int k = 0; k < 3; k++)
      CHECK_MSG(memcmp(s[k].x, fresh.x, sizeof fresh.x) == 0, "units %g, solve %d has other bits", most, k);
  }
}

/* A residual of NaN is not small. */
static void check_verdict(void) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select('d');
  tsi_env env;
  tsi_env_init(&env);
  for (int k = 0; k < 4; k++) {
    const tristar_refine_result result = {.backward_error = k == 1 ? NAN : 0, .residual = k == 2 ? NAN : 0};
    CHECK_STATUS(tsi_refined_judge(&env, kernels, k > 0, 0, &result),
                 k % 3 == 0 ? TRISTAR_OK : TRISTAR_ERR_ACCURACY);
  }
}

/* A stored zero couples the equations 4 x0 + 4 x1 = 4 with others for x2, whose b has any size. */
static void check_stored_zeros(tristar_t *ts) {
  static const int ptr[] = {0, 2, 5, 7}, index[] = {0, 2, 0, 1, 2, 0, 2};
  static const double a[] = {0, -1, 4, 4, 0, 0, 3};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, ptr, index, NULL, 32, 32, 0};
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  o.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, a, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  for (int exponent = -60; exponent <= 60; exponent += 10) {
    const double large = ldexp(1, exponent), b[] = {-large, 4, 3 * large};
    double x[3];
    CHECK_OK(tristar_solve(p, TRISTAR_T, 1, b, 3, x, 3));
    CHECK_MSG(fabs(x[2] - large) <= 1e-12 * large && fabs(x[0] + x[1] - 1) <= 1e-12 && fabs(x[0]) <= 0x1p13,
              "2^%d: x is %g, %g, %g", exponent, x[0], x[1], x[2]);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_type(ts, &typed_single, false));
  RUN(check_type(ts, &typed_double, false));
  RUN(check_type(ts, &typed_complex_single, false));
  RUN(check_type(ts, &typed_complex_double, false));
  RUN(check_type(ts, &typed_double, true));
  RUN(check_contradictions(ts));
  RUN(check_redundants(ts));
  RUN(check_consistents(ts));
  RUN(check_stored_zeros(ts));
  RUN(check_integers(ts, &typed_double, 80, 0, make_duplicated, 30));
  RUN(check_integers(ts, &typed_double, 80, 20, make_duplicated, 30));
  for (int order = 10; order <= 40; order += 10)
    RUN(check_integers(ts, &typed_double, order, 10, make_combined, 500));
  RUN(check_integers(ts, &typed_double, 320, 0, make_duplicated, 30));
  RUN(check_integers(ts, &typed_double, 320, 0, make_dependent, 10));
  RUN(check_integers(ts, &typed_single, 90, 0, make_dependent, 100));
  for (int spread = 2; spread <= 5; spread++)
    RUN(check_integers(ts, &typed_single, 24, spread, make_dependent, 200));
  for (int spread = 0; spread <= 45; spread += 15) RUN(check_scaled(ts, spread));
  RUN(check_kept(ts));
  RUN(check_kept_vectors(ts));
  RUN(check_verdict());
  return 0;
}
