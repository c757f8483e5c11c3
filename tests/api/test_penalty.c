/* Penalties of 1e8 to 1e20 on diagonal entries, rows and columns: plain solves with A, A^T and A^H lose no
 * digits, whatever method factors A, of all orders. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { N_MOST = 50 };

typedef enum place { ON_DIAGONAL, ON_ROWS, ON_COLUMNS, PLACES } place;

/* S = D1 A D2 with powers of two in D1 and D2. The solution of S x = b is D2^-1 u, of S^T x = b it is D1^-1
 * u. Penalties on the diagonal are entries of A. */
typedef struct problem {
  const typed *t;
  int n, d1[N_MOST], d2[N_MOST];
  number a[N_MOST][N_MOST], u[N_MOST];
} problem;

static double uniform(uint64_t *seed) { /* in [0, 1) */
  return (double)next_random(seed) / 2147483648.0;
}

static number turned(const typed *t, double size, uint64_t *seed) {
  const double angle = 6.3 * uniform(seed);
  number x = t->is_complex ? size * cos(angle) : uniform(seed) < 0.5 ? -size : size;
  if (t->is_complex) __imag__ x = size * sin(angle);
  return x;
}

/* In each row one off-diagonal entry is almost as large as the diagonal entry, so rows are interchanged. */
static void make_problem(problem *q, place where, int penalties, uint64_t seed) {
  const int n = q->n;
  for (int i = 0; i < n; i++) {
    const double diagonal = 1 + 3 * uniform(&seed);
    q->d1[i] = q->d2[i] = 0;
    for (int j = 0; j < n; j++) q->a[i][j] = uniform(&seed) * n < 3 ? turned(q->t, 0.01, &seed) : 0;
    q->a[i][(i + 1) % n] = turned(q->t, diagonal * (0.5 + 0.45 * uniform(&seed)), &seed);
    q->a[i][i] = turned(q->t, diagonal, &seed);
    q->u[i] = turned(q->t, 0.5 + uniform(&seed), &seed);
  }
  for (int k = 0; k < penalties; k++) {
    const int i = (int)(next_random(&seed) % (uint64_t)n), exponent = 27 + (int)(next_random(&seed) % 40);
    if (where == ON_ROWS) q->d1[i] = exponent;
    if (where == ON_COLUMNS) q->d2[i] = exponent;
    if (where == ON_DIAGONAL) q->a[i][i] = turned(q->t, ldexp(1 + uniform(&seed), exponent), &seed);
  }
}

static number times(number x, int exponent) {
  __real__ x = ldexp(creal(x), exponent);
  __imag__ x = ldexp(cimag(x), exponent);
  return x;
}

/* Returns an entry of S, rounded to the type. */
static number entry_of(const problem *q, int i, int j) {
  number held[1];
  put(q->t, held, 0, times(q->a[i][j], q->d1[i] + q->d2[j]));
  return get(q->t, held, 0);
}

static void set_right_side(const problem *q, tristar_op op, number *b) {
  for (int i = 0; i < q->n; i++) {
    long double re = 0, im = 0;
    for (int j = 0; j < q->n; j++) {
      const number e = op == TRISTAR_N ? entry_of(q, i, j) : entry_of(q, j, i);
      const number x = times(q->u[j], op == TRISTAR_N ? -q->d2[j] : -q->d1[j]);
      const long double er = creal(e), ei = op == TRISTAR_C ? -cimag(e) : cimag(e);
      re += er * creal(x) - ei * cimag(x);
      im += er * cimag(x) + ei * creal(x);
    }
    number sum = (double)re;
    __imag__ sum = (double)im;
    put(q->t, b, i, sum);
  }
}

static double largest_error(const problem *q, tristar_op op, const number *x) {
  double error = 0;
  for (int i = 0; i < q->n; i++)
    error =
        larger_error(error, cabs(times(get(q->t, x, i), op == TRISTAR_N ? q->d2[i] : q->d1[i]) - q->u[i]));
  return error;
}

static void check_penalties(tristar_t *ts, const problem *q, place where, tristar_method method,
                            tristar_matching matching) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  int32_t ptr[N_MOST + 1], index[N_MOST * N_MOST], at = 0;
  number values[N_MOST * N_MOST], b[N_MOST], x[N_MOST];
  tristar_analysis_options options;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  for (int j = 0; j < q->n; j++) {
    ptr[j] = at;
    for (int i = 0; i < q->n; i++) {
      if (q->a[i][j] == 0) continue;
      index[at] = i;
      put(q->t, values, at++, entry_of(q, i, j));
    }
  }
  ptr[q->n] = at;
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, q->t->scalar, q->n, q->n, ptr,
                          index,       values,          32,           32,   0};
  tristar_analysis_options_init(&options);
  options.method = method;
  options.matching = matching;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  for (int o = 0; o < 3; o++) {
    set_right_side(q, ops[o], b);
    CHECK_OK(tristar_solve(p, ops[o], 1, b, q->n, x, q->n));
    const double error = largest_error(q, ops[o], x);
    CHECK_MSG(error < 1e5 * q->t->roundoff,
              "type %c, n %d, penalties in place %d, method %d, matching %d, op %c: error %g",
              (char)q->t->scalar, q->n, (int)where, (int)method, (int)matching, (char)ops[o], error);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                       &typed_complex_single};
  static problem q;
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  for (uint64_t seed = 1; seed <= (TSI_TESTS_SANITIZED ? 60 : 400); seed++) {
    const place where = (place)(seed % PLACES);
    q.t = types[seed % 4];
    q.n = seed % 3 ? 2 + (int)(seed % 5) : 2 + (int)(seed * 11 % (N_MOST - 1));
    make_problem(&q, where, 1 + (int)(seed / 7 % 4), seed);
    RUN(check_penalties(ts, &q, where, TRISTAR_METHOD_LU, TRISTAR_MATCHING_AUTO));
    RUN(check_penalties(ts, &q, where, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO));
    RUN(check_penalties(ts, &q, where, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF));
    RUN(check_penalties(ts, &q, where, TRISTAR_METHOD_LU, TRISTAR_MATCHING_ON));
  }
  return 0;
}
