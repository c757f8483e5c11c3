/* Kernels on the user's matrix, with numbers at the ends of the range: finite numbers, the size of an entry,
 * the backward error of rows that contain only rounding errors. Residuals and bounds in one pass have the
 * same bits as in two passes. Backward errors agree with their definition, computed with a full matrix. */
#include "codelets/cpu/rows/rounding.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

/* NaN and infinity are detected in either part of a number. */
static void check_finite(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  for (int bad = 0; bad < (t->is_complex ? 4 : 2); bad++) {
    number x[3] = {1, 1, 1}, z = 1; /* large enough for any type */
    for (int i = 0; i < 3; i++) put(t, x, i, 1);
    CHECK(kernels->first_not_finite(3, x) == 3);
    if (bad < 2)
      __real__ z = bad ? NAN : INFINITY;
    else
      __imag__ z = bad == 2 ? NAN : INFINITY;
    put(t, x, 1, z);
    CHECK(kernels->first_not_finite(3, x) == 1);
  }
}

/* The magnitude of the largest complex number is finite. */
static void check_size(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double most = t->is_single ? (double)FLT_MAX : DBL_MAX;
  number x[1] = {0}, z = -most;
  double size;
  if (t->is_complex) __imag__ z = most;
  put(t, x, 0, z);
  kernels->part(1, x, TSI_PART_MAGNITUDE, &size);
  CHECK_MSG(isfinite(size) && size >= most, "type %c: %g", t->scalar, size);
}

/* If a row only multiplies entries of x that are rounding errors, its error is measured by the size of x. */
static void check_rounding(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double e = t->roundoff, row_sum[] = {1, 1}, bound[] = {1, e / 4};
  number b[2] = {0}, x[2] = {0}, r[2] = {0};
  put(t, b, 0, 1);
  put(t, b, 1, 0);
  put(t, x, 0, 1);
  put(t, x, 1, e / 4);
  put(t, r, 0, 0);
  put(t, r, 1, e / 8);
  tsi_sizes sizes = {.n = 2};
  kernels->sizes(2, x, NULL, &sizes.weighted, &sizes.plain);
  const double error = kernels->backward_error(2, b, r, bound, row_sum, &sizes);
  CHECK_MSG(error > 0 && error < e, "type %c: backward error %g", t->scalar, error);
  CHECK(kernels->least_size(2, x, NULL) == e / 4 && kernels->least_size(2, x, (double[]){-4, e}) == 0.25);
}

/* tsi_larger and tsi_smaller return NaN if one number is NaN. No row of a solution with NaN counts as
 * solved. */
static void check_nan(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double ones[] = {1, 1, 1, 1, 1, 1}, odd[] = {INFINITY, 1, 1, 1e3, 1, 1};
  CHECK(isnan(tsi_larger(NAN, 1)) && isnan(tsi_larger(1, NAN)) && tsi_larger(1, 2) == 2);
  CHECK(isnan(tsi_smaller(NAN, 1)) && isnan(tsi_smaller(1, NAN)) && tsi_smaller(1, 2) == 1);
  for (int bad = 0; bad < 3; bad++) {
    number b[3] = {0}, x[3] = {0}, r[3] = {0}; /* large enough for any type */
    double weighted, plain;
    for (int i = 0; i < 3; i++) {
      put(t, b, i, 0);
      put(t, r, i, 1);
      put(t, x, i, i == bad ? NAN : 1);
    }
    CHECK(isnan(kernels->largest_size(3, x)));
    CHECK(isnan(kernels->largest_scaled(3, x, NULL)) && isnan(kernels->largest_scaled(3, x, ones)));
    kernels->sizes(3, x, NULL, &weighted, &plain);
    CHECK(isnan(weighted) && isnan(plain));
    kernels->sizes(3, x, ones, &weighted, &plain);
    CHECK(isnan(weighted) && isnan(plain));
    CHECK(kernels->least_size(3, x, NULL) == 1 && kernels->least_size(0, x, NULL) == (double)INFINITY);
    CHECK(tsi_range_has_rounding(&(tsi_range){1, plain}, 3, 2 * t->roundoff));
    CHECK(tsi_range_has_rounding(&(tsi_range){plain, 1}, 3, 2 * t->roundoff));
    const tsi_sizes sizes = {.n = 3, .with_weights = true, .weighted = weighted, .plain = plain};
    kernels->leave_solved(3, b, r, ones, ones, &sizes, 0.5);
    CHECK(get(t, r, 0) == 1);
  }
  /* |A| g overflows: the norm of the row is unknown, so the row always counts */
  number b[3] = {0}, r[3] = {0};
  for (int i = 0; i < 3; i++) put(t, b, i, 0);
  for (int i = 0; i < 3; i++) put(t, r, i, i == 0 ? 1e-6 : 0);
  const double bound[] = {1e-6, 1, 1};
  const tsi_sizes sizes = {.n = 3, .with_weights = true, .weighted = 0, .plain = 1};
  CHECK(kernels->backward_error(3, b, r, bound, odd, &sizes) > 0.9);
}

enum { N = 7, ENTRIES = 16 };

static double random_part(uint64_t *state) {
  return (double)(int)(next_random(state) % 2001) / 1000 - 1;
}

static void put_random(const typed *t, uint64_t *state, void *to, int i) {
  number z = random_part(state);
  if (t->is_complex) __imag__ z = random_part(state);
  put(t, to, i, z);
}

/* A matrix with two or three entries in a line. */
typedef struct system {
  tsi_count ptr[N + 1];
  tsi_index index[ENTRIES + N];
  number values[ENTRIES + N], b[N], x[N];
  tsi_sparse a;
} system_of_n;

static void make_system(const typed *t, bool by_rows, tristar_symmetry symmetry, system_of_n *s) {
  uint64_t state = 5;
  s->ptr[0] = 0;
  for (tsi_index j = 0; j < N; j++) {
    tsi_count q = s->ptr[j];
    s->index[q++] = j;
    if (j + 2 < N) s->index[q++] = j + 2;
    if (symmetry == TRISTAR_GENERAL && j > 2) s->index[q++] = j - 3;
    s->ptr[j + 1] = q;
  }
  for (int p = 0; p < s->ptr[N]; p++) put_random(t, &state, s->values, p);
  for (int i = 0; i < N; i++) {
    put_random(t, &state, s->b, i);
    put_random(t, &state, s->x, i);
  }
  s->a = (tsi_sparse){.n = N,
                      .by_rows = by_rows,
                      .symmetry = symmetry,
                      .ptr = s->ptr,
                      .index = s->index,
                      .values = s->values};
}

/* The residual and its bound in one pass have the bits of those in two. */
static void check_passes(const typed *t, bool by_rows, tristar_symmetry symmetry, tristar_op op) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  static system_of_n s;
  number r[2][N];
  double bound[2][N];
  make_system(t, by_rows, symmetry, &s);
  memset(r, 0, sizeof r);
  kernels->residual(&s.a, op, s.b, s.x, r[0]);
  kernels->bound(&s.a, op, s.x, bound[0]);
  kernels->residual_and_bound(&s.a, op, s.b, s.x, r[1], bound[1]);
  CHECK(memcmp(r[0], r[1], N * kernels->scalar_bytes) == 0);
  CHECK(memcmp(bound[0], bound[1], sizeof bound[0]) == 0);
}

/* The backward error of x by its definition, see tristar_solve_refined. g NULL: ones. */
static double defined_error(const typed *t, const system_of_n *s, tristar_op op, const double *g,
                            int64_t order) {
  number full[N][N] = {{0}};
  double largest = 0, plain = 0, worst = 0;
  for (int j = 0; j < N; j++) {
    for (int p = (int)s->ptr[j]; p < s->ptr[j + 1]; p++) {
      const number a = get(t, s->values, p);
      const bool by_rows = s->a.by_rows == (op == TRISTAR_N);
      const int i = by_rows ? j : s->index[p], k = by_rows ? s->index[p] : j;
      full[i][k] = op == TRISTAR_C ? conj(a) : a;
      if (s->a.symmetry != TRISTAR_GENERAL && i != k) full[k][i] = mirrored(s->a.symmetry, full[i][k]);
    }
    largest = fmax(largest, magnitude(get(t, s->x, j)) / (g ? g[j] : 1));
    plain = fmax(plain, magnitude(get(t, s->x, j)));
  }
  for (int i = 0; i < N; i++) {
    const number b = get(t, s->b, i);
    number r = b;
    double bound = 0, sum = 0, plain_sum = 0;
    for (int k = 0; k < N; k++) {
      r -= full[i][k] * get(t, s->x, k);
      bound += magnitude(full[i][k]) * magnitude(get(t, s->x, k));
      sum += magnitude(full[i][k]) * (g ? g[k] : 1);
      plain_sum += magnitude(full[i][k]);
    }
    const double norm = fmin(sum * largest, plain_sum * plain), of_b = magnitude(b);
    const bool rounded = bound + of_b <= fmin(2000 * (double)order * t->roundoff, 1e-3) * (norm + of_b);
    if (magnitude(r) > 0) worst = fmax(worst, magnitude(r) / (bound + (rounded ? norm : of_b)));
  }
  return worst;
}

static double computed_error(const typed *t, const system_of_n *s, tristar_op op, const double *g,
                             int64_t order) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  number r[N];
  double bound[N], row_sum[2 * N];
  tsi_sizes sizes = {.n = order, .with_weights = g != NULL};
  kernels->weigh(&s->a, op, g, row_sum);
  kernels->weigh(&s->a, op, NULL, row_sum + N);
  kernels->residual_and_bound(&s->a, op, s->b, s->x, r, bound);
  kernels->sizes(N, s->x, g, &sizes.weighted, &sizes.plain);
  const double error = kernels->backward_error(N, s->b, r, bound, row_sum, &sizes);
  tsi_range plain = {INFINITY, 0};
  for (int i = 0; i < N; i++) {
    plain.least = tsi_smaller(plain.least, magnitude(get(t, s->x, i)));
    plain.largest = tsi_larger(plain.largest, magnitude(get(t, s->x, i)));
  }
  if (!tsi_range_has_rounding(&plain, order, 2 * t->roundoff)) /* no row counts as a rounding error */
    CHECK(memcmp(&error, &(double){kernels->backward_error(N, s->b, r, bound, NULL, &sizes)}, sizeof error) ==
          0);
  return error;
}

/* In half of the systems the numbers of later rows are rounding errors of the earlier ones. */
static void check_errors(const typed *t, bool by_rows, tristar_symmetry symmetry, tristar_op op) {
  static system_of_n s;
  const double weights[] = {0.5, 1, 2, 0.5, 1, 2, 0.5};
  make_system(t, by_rows, symmetry, &s);
  for (int small = 0; small < 2; small++) {
    for (int i = 3; i < N && small; i++) {
      put(t, s.b, i, ldexp(1, -20 - 4 * i) * get(t, s.b, i));
      put(t, s.x, i, ldexp(1, -20 - 4 * i) * get(t, s.x, i));
    }
    for (int way = 0; way < 4; way++) {
      const double *g = way % 2 ? weights : NULL;
      const double expected = defined_error(t, &s, op, g, way / 2 * N);
      const double found = computed_error(t, &s, op, g, way / 2 * N);
      CHECK_MSG(fabs(found - expected) <= 100 * t->roundoff * expected,
                "type %c, op %d, symmetry %d, by rows %d, weights %d, small %d: %g instead of %g", t->scalar,
                (int)op, (int)symmetry, by_rows, way, small, found, expected);
    }
  }
  for (int infinite = 0; infinite < 2; infinite++) {
    put(t, s.x, 4, infinite ? INFINITY : NAN);
    CHECK(!isfinite(computed_error(t, &s, op, NULL, N)) && !isfinite(computed_error(t, &s, op, weights, N)));
  }
  memset(s.values, 0, sizeof s.values);
  memset(s.b, 0, sizeof s.b);
  memset(s.x, 0, sizeof s.x);
  CHECK(computed_error(t, &s, op, NULL, N) <= 0 && computed_error(t, &s, op, weights, N) <= 0);
}

static void check_all_errors(const typed *t) {
  static const tristar_symmetry kinds[] = {TRISTAR_GENERAL, TRISTAR_SYMMETRIC, TRISTAR_SKEW_SYMMETRIC,
                                           TRISTAR_HERMITIAN};
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  for (int k = 0; k < 2 * 4 * 3; k++) {
    check_passes(t, k % 2, kinds[k / 2 % 4], ops[k / 8]);
    check_errors(t, k % 2, kinds[k / 2 % 4], ops[k / 8]);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  for (int k = 0; k < 4; k++) {
    RUN(check_finite(types[k]));
    RUN(check_size(types[k]));
    RUN(check_rounding(types[k]));
    RUN(check_nan(types[k]));
    RUN(check_all_errors(types[k]));
  }
  return 0;
}
