/* Triangles with inverses that grow like 2^n are solved as accurately as by substitution: factored by the
 * library or imported, whole or as factors. Plans of older values warn. */
#include <math.h>

#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

enum { N = 80 };

static int warnings;

static void on_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  if (level == TRISTAR_LOG_WARNING && strstr(text, "inverses of diagonal blocks")) warnings++;
}

/* A triangle by rows: ones on the diagonal, `off` above it. */
typedef struct triangle {
  int32_t ptr[N + 1], index[N * N];
  double value[N * N];
} triangle;

static void make(triangle *t, double off) {
  int32_t at = 0;
  for (int i = 0; i < N; i++) {
    t->ptr[i] = at;
    for (int j = i; j < N; j++) {
      t->index[at] = j;
      t->value[at++] = i == j ? 1 : j > i ? off : 0;
    }
  }
  t->ptr[N] = at;
}

static tristar_view view_of(const triangle *t) {
  return (tristar_view){
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, t->ptr, t->index, t->value, 32, 32, 0};
}

/* Solves for known x, and compares with b computed in long double. */
static void check_solves(tristar_factor_t *f, double off) {
  double b[N], x[N];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  for (int transposed = 0; transposed < 2; transposed++) {
    for (int i = 0; i < N; i++) {
      b[i] = 1 + i % 3;
      for (int j = 0; j < N; j++)
        if (transposed ? j < i : j > i) b[i] += off * (1 + j % 3);
    }
    CHECK_OK(tristar_solve(p, transposed ? TRISTAR_T : TRISTAR_N, 1, b, N, x, N));
    for (int i = 0; i < N; i++) {
      long double rest = b[i] - (long double)x[i], size = fabs(b[i]) + fabs(x[i]);
      for (int j = 0; j < N; j++)
        if (transposed ? j < i : j > i) rest -= (long double)off * x[j], size += fabs(off * x[j]);
      CHECK_MSG(fabsl(rest) <= 1e-13L * size, "op %d, row %d: residual %Lg of %Lg", transposed, i, rest,
                size);
    }
  }
}

static tristar_factor_t *factor_lu(tristar_t *ts, const triangle *t) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_OFF;
  const tristar_view view = view_of(t);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
  return NEW_FACTOR(an, t->value);
}

static void check_direct(tristar_t *ts, double off) {
  static triangle t;
  make(&t, off);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = factor_lu(ts, &t);
  check_solves(f, off);
}

static void check_triangle(tristar_t *ts, double off) {
  static triangle t;
  make(&t, off);
  tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
  options.uplo = TRISTAR_UPPER;
  options.partition = TRISTAR_PARTITION_SUPERNODES;
  const tristar_view view = view_of(&t);
  tristar_factor_t *made;
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &made));
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = made;
  check_solves(f, off);
}

static void check_import(tristar_t *ts, double off, bool with_matrix) {
  static triangle t, one;
  make(&t, off);
  make(&one, 0);
  for (int i = 0; i <= N; i++) one.ptr[i] = i;
  for (int i = 0; i < N; i++) one.index[i] = i, one.value[i] = 1;
  const tristar_view view = view_of(&t);
  tristar_factors factors;
  tristar_factors_init(&factors);
  factors.n = N;
  tristar_triangle_init(&factors.lower);
  tristar_triangle_init(&factors.upper);
  factors.lower.ptr = one.ptr, factors.lower.index = one.index, factors.lower.values = one.value;
  factors.upper.format = TRISTAR_TRIANGLE_ROWS;
  factors.upper.ptr = t.ptr, factors.upper.index = t.index, factors.upper.values = t.value;
  if (with_matrix) factors.matrix = &view;
  tristar_factor_t *made;
  CHECK_OK(tristar_import_supernodal(ts, &factors, &made));
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = made;
  check_solves(f, off);
}

/* The first values allow a plan that multiplies by inverses, the new ones do not. */
static void check_refactor(tristar_t *ts) {
  static triangle t;
  make(&t, 0x1p-10);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = factor_lu(ts, &t);
  make(&t, -1);
  warnings = 0;
  CHECK_OK(tristar_refactor(f, t.value));
  CHECK(warnings > 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const double off[] = {-1, -4, -1024};
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  config.use_starpu = 0;
  config.log = on_line;
  config.log_level = TRISTAR_LOG_WARNING;
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_direct(ts, -1));
  for (int k = 0; k < 3; k++) {
    RUN(check_triangle(ts, off[k]));
    RUN(check_import(ts, off[k], false));
    RUN(check_import(ts, off[k], true));
  }
  RUN(check_refactor(ts));
  return 0;
}
