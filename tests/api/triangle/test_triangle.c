/* The triangles of symmetric, skew-symmetric and Hermitian matrices, of which a view stores one, the other or
 * entries of both: tristar_import_triangle gives the same factor as for the whole matrix declared general. */
#include <complex.h>

#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_triangle.h"
#undef I

typedef double _Complex number;

enum { N = 70, NRHS = 3 };

static uint64_t state = 3;

static double uniform(void) {
  return (double)next_random(&state) / 1073741824.0 - 1.0;
}

/* Draws a dense matrix of one of the kinds; its diagonal is near 2 (skew-symmetric: 0). */
static void draw(tristar_symmetry symmetry, bool is_complex, number *a) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j <= i; j++) {
      const bool there = i == j || next_random(&state) % 100 < 8;
      number value = there ? uniform() : 0;
      if (is_complex && there) __imag__ value = uniform();
      if (i == j) value = symmetry == TRISTAR_SKEW_SYMMETRIC ? 0 : 2 + __real__ value;
      a[i * N + j] = value;
      a[j * N + i] = symmetry == TRISTAR_HERMITIAN        ? conj(value)
                     : i == j                             ? value
                     : symmetry == TRISTAR_SKEW_SYMMETRIC ? -value
                                                          : value;
    }
}

typedef struct stored {
  int64_t ptr[N + 1], index[N * N];
  int32_t short_index[N * N];
  number value[N * N];
  double real[N * N];
  tristar_view view;
} stored;

enum { LOWER, UPPER, MIXED, WHOLE };

static bool is_stored(int what, int i, int j) {
  return what == WHOLE || (what == LOWER && i >= j) || (what == UPPER && i <= j) ||
         (what == MIXED && (i == j || ((i > j) == ((i + j) % 2 == 0))));
}

static void store(const number *a, int what, tristar_symmetry symmetry, bool is_complex, bool by_rows,
                  stored *s) {
  int64_t count = 0;
  for (int line = 0; line < N; line++) {
    s->ptr[line] = count;
    for (int other = 0; other < N; other++) {
      const int i = by_rows ? line : other, j = by_rows ? other : line;
      if (a[i * N + j] == 0 || !is_stored(what, i, j)) continue;
      s->index[count] = s->short_index[count] = other;
      s->value[count] = a[i * N + j];
      s->real[count++] = creal(a[i * N + j]);
    }
  }
  s->ptr[N] = count;
  s->view = (tristar_view){.format = by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                           .symmetry = what == WHOLE ? TRISTAR_GENERAL : symmetry,
                           .scalar = is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                           .rows = N,
                           .cols = N,
                           .ptr_bits = 64,
                           .index_bits = 64,
                           .ptr = s->ptr,
                           .index = s->index,
                           .values = is_complex ? (void *)s->value : (void *)s->real};
}

/* levels: partition by level sets. It needs the rows, which replace the columns in place if indices are
 * short. */
static void solve(tristar_t *ts, const stored *s, tristar_uplo uplo, tristar_diag diag, tristar_op op,
                  bool levels, number *x) {
  const bool is_complex = s->view.scalar == TRISTAR_COMPLEX_DOUBLE;
  uint64_t seed = 11;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  for (int k = 0; k < 2 * N * NRHS; k++) ((double *)x)[k] = (double)next_random(&seed) / 1073741824.0 - 1.0;
  if (!is_complex)
    for (int k = N * NRHS; k < 2 * N * NRHS; k++) ((double *)x)[k] = 0;
  tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
  options.uplo = uplo;
  options.diag = diag;
  options.partition = levels ? TRISTAR_PARTITION_LEVELS : TRISTAR_PARTITION_AUTO;
  tristar_view view = s->view;
  if (levels) {
    view.index = s->short_index;
    view.index_bits = 32;
  }
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_solve(plan, op, NRHS, x, N, x, N));
}

static void check_kind(tristar_t *ts, tristar_symmetry symmetry, bool is_complex, bool by_rows) {
  static number a[N * N], x[N * NRHS], expected[N * NRHS];
  static stored whole, half;
  draw(symmetry, is_complex, a);
  store(a, WHOLE, symmetry, is_complex, by_rows, &whole);
  for (int what = LOWER; what <= MIXED; what++) {
    store(a, what, symmetry, is_complex, what == UPPER ? !by_rows : by_rows, &half);
    for (int upper = 0; upper < 2; upper++)
      for (int unit = symmetry == TRISTAR_SKEW_SYMMETRIC; unit < 2; unit++)
        for (int o = 0; o < 3; o++) {
          const tristar_uplo uplo = upper ? TRISTAR_UPPER : TRISTAR_LOWER;
          const tristar_diag diag = unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
          const tristar_op op = (tristar_op) "NTC"[o];
          solve(ts, &whole, uplo, diag, op, false, expected);
          for (int levels = 0; levels < 2; levels++) {
            solve(ts, &half, uplo, diag, op, levels, x);
            CHECK_MSG(memcmp(x, expected, sizeof x) == 0,
                      "symmetry %d, complex %d, by rows %d, stored %d, upper %d, unit %d, op %c, levels %d",
                      (int)symmetry, is_complex, by_rows, what, upper, unit, op, levels);
          }
        }
  }
}

/* A diagonal that is not real is refused if the matrix is declared Hermitian. A unit triangle ignores the
 * diagonal. */
static void check_diagonal(tristar_t *ts) {
  static number a[N * N], expected[N * NRHS], x[N * NRHS];
  static stored half, clean;
  tristar_factor_t *factor;
  draw(TRISTAR_HERMITIAN, true, a);
  store(a, LOWER, TRISTAR_HERMITIAN, true, false, &clean);
  __imag__ a[5 * N + 5] = 0.5;
  a[7 * N + 7] = NAN;
  store(a, LOWER, TRISTAR_HERMITIAN, true, false, &half);
  CHECK_STATUS(tristar_import_csr(ts, &half.view, TRISTAR_LOWER, TRISTAR_NON_UNIT, &factor),
               TRISTAR_ERR_FORMAT);
  CHECK(factor == NULL);
  CHECK_ERROR(ts, "diagonal entry 5");
  for (int upper = 0; upper < 2; upper++) {
    const tristar_uplo uplo = upper ? TRISTAR_UPPER : TRISTAR_LOWER;
    solve(ts, &clean, uplo, TRISTAR_UNIT, TRISTAR_N, false, expected);
    solve(ts, &half, uplo, TRISTAR_UNIT, TRISTAR_N, false, x);
    CHECK(memcmp(x, expected, sizeof x) == 0);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    RUN(check_kind(ts, TRISTAR_SYMMETRIC, false, by_rows));
    RUN(check_kind(ts, TRISTAR_SYMMETRIC, true, by_rows));
    RUN(check_kind(ts, TRISTAR_SKEW_SYMMETRIC, false, by_rows));
    RUN(check_kind(ts, TRISTAR_SKEW_SYMMETRIC, true, by_rows));
    RUN(check_kind(ts, TRISTAR_HERMITIAN, true, by_rows));
  }
  RUN(check_diagonal(ts));
  return 0;
}
