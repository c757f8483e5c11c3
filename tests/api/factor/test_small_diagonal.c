/* Arrows, bordered matrices and pairs of blocks with small diagonal entries, factored without a matching for
 * these values: by new values of an old factor, by an analysis of the pattern alone, and with matchings off.
 * Pivots are weak, but none is perturbed, and growth hides in rows that no pivot shows. A solution with OK
 * has a small backward error, or the log has had a warning. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { MOST = 14, EACH = 150 };

static int warnings;

static void on_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg, (void)text;
  if (level == TRISTAR_LOG_WARNING) warnings++;
}

static double uniform(uint64_t *seed) {
  return (double)next_random(seed) / 2147483648.0;
}

static number entry(const typed *t, uint64_t *seed) {
  number x = 2 * uniform(seed) - 1;
  if (t->is_complex) __imag__ x = 2 * uniform(seed) - 1;
  return x;
}

/* Is there an entry (i, j) outside the diagonal? */
static bool is_there(int kind, int n, int i, int j) {
  const int middle = n / 2;
  if (kind == 0) return i == middle || j == middle;        /* an arrow that points to the middle row */
  if (kind == 1) return i >= n - 2 || j >= n - 2;          /* a border of two rows and columns */
  return (i < middle) == (j < middle) || i == 0 || j == 0; /* two dense blocks with a border */
}

/* Diagonal entries decrease from 2^-10 to 2^-45 (single: 2^-18). */
static void make_matrix(const typed *t, int kind, int n, uint64_t *seed, number *a) {
  memset(a, 0, (size_t)(MOST * MOST) * sizeof *a);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (i == j)
        a[i * MOST + j] = entry(t, seed) * ldexp(1, -10 - (int)(uniform(seed) * (t->is_single ? 8 : 35)));
      else if (is_there(kind, n, i, j))
        a[i * MOST + j] = entry(t, seed);
    }
}

/* max |b - op(A) x| / max (|op(A)| |x| + |b|) */
static double normwise(const typed *t, int n, const number *a, tristar_op op, const void *b, const void *x) {
  double residual = 0, size = 0;
  for (int i = 0; i < n; i++) {
    number r = get(t, b, i);
    double of_row = cabs(r);
    for (int j = 0; j < n; j++) {
      const number value = op == TRISTAR_N ? a[i * MOST + j] : a[j * MOST + i];
      r -= (op == TRISTAR_C ? conj(value) : value) * get(t, x, j);
      of_row += cabs(value) * cabs(get(t, x, j));
    }
    residual = fmax(residual, cabs(r));
    size = fmax(size, of_row);
  }
  return residual / size;
}

static void check_solves(const typed *t, int n, const number *a, tristar_factor_t *f, const char *what) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  number b[MOST], x[MOST];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  for (int k = 0; k < 6; k++) {
    const tristar_op op = ops[k % 3];
    for (int i = 0; i < n; i++) {
      number sum = 0;
      for (int j = 0; j < n; j++) {
        const number value = op == TRISTAR_N ? a[i * MOST + j] : a[j * MOST + i];
        sum += (op == TRISTAR_C ? conj(value) : value) * (k < 3 ? (j % 2 ? 0.3 : -0.7) : j * 7 % 5 - 2.2);
      }
      put(t, b, i, sum);
    }
    CHECK_OK(tristar_solve(plan, op, 1, b, n, x, n));
    const double error = normwise(t, n, a, op, b, x), most = t->is_single ? 1e-3 : 1e-8;
    CHECK_MSG(error <= most || warnings > 0, "%s, n %d, op %c: %.1e without a word", what, n, (char)op,
              error);
  }
}

/* Rounds the matrix to the type of the view. */
static void round_matrix(const typed *t, int n, number *a) {
  number rounded;
  for (int i = 0; i < n * MOST; i++) {
    put(t, &rounded, 0, a[i]);
    a[i] = get(t, &rounded, 0);
  }
}

typedef enum way { BY_OLD_FACTOR, BY_PATTERN, WITHOUT_MATCHING, WAYS } way;

static void check_matrix(tristar_t *ts, const typed *t, way how, int kind, uint64_t seed) {
  static const char *const names[] = {"new values", "pattern alone", "no matching"};
  number a[MOST * MOST], first[MOST * MOST];
  const int n = 4 + (int)(seed * 7 % (MOST - 3));
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  make_matrix(t, kind, n, &seed, a);
  round_matrix(t, n, a);
  memcpy(first, a, sizeof a);
  for (int i = 0; i < n; i++) first[i * MOST + i] = 2 * n;
  tristar_view v = typed_dense_view(t, n, how == BY_OLD_FACTOR ? first : a, MOST, TRISTAR_GENERAL);
  const void *values = v.values;
  if (how == BY_PATTERN) v.values = NULL;
  options.method = TRISTAR_METHOD_LU;
  if (how == WITHOUT_MATCHING) options.matching = TRISTAR_MATCHING_OFF;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  warnings = 0;
  tristar_status status = tristar_factor(an, values, &f);
  if (status == TRISTAR_OK && how == BY_OLD_FACTOR) {
    warnings = 0;
    v = typed_dense_view(t, n, a, MOST, TRISTAR_GENERAL); /* uses the same arrays */
    status = tristar_refactor(f, v.values);
  }
  if (status != TRISTAR_OK) { /* such a factor may be refused */
    CHECK(status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_STALE);
    return;
  }
  check_solves(t, n, a, f, names[how]);
}

static void check_way(tristar_t *ts, const typed *t, way how, int kind) {
  for (uint64_t seed = 1; seed <= EACH; seed++) check_matrix(ts, t, how, kind, seed * 1000 + (uint64_t)kind);
}

int main(int argc, char **argv) {
  const typed types[] = {typed_single, typed_double, typed_complex_single, typed_complex_double};
  subtests_begin(&argc, argv);
  tristar_config config = context_config(false, false);
  config.log = on_line;
  config.log_level = TRISTAR_LOG_WARNING;
  CLEANUP(close_context) tristar_t *ts = NULL;
  CHECK_OK(tristar_create(&config, &ts));
  for (int k = 0; k < 4; k++)
    for (way how = 0; how < WAYS; how++)
      for (int kind = 0; kind < 3; kind++) RUN(check_way(ts, &types[k], how, kind));
  return 0;
}
