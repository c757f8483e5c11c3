/* Pivots of a front's diagonal block, in all types: the choice of pivots and the perturbation of small ones.
 * L D L^T equals the block, and entries do not grow. In a factorization: the pivots that count as small, and
 * the row whose pivot Cholesky refuses. */
#include <float.h>

#include "codelets/cpu/front.h"
#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

enum { MOST = 6 };

/* A factored block: L, the interchanges, D^-1 in the form of tsi_pivoting, and the figures of its pivots. */
typedef struct outcome {
  number l[MOST][MOST], inverse[2 * MOST];
  tsi_index pivot[MOST];
  tsi_pivoting how;
} outcome;

/* Factors the block `a` of order b as a front of its own. */
static outcome factor_block(tristar_scalar scalar, bool ldl, bool adjoint, double tiny, int b,
                            const number a[MOST][MOST]) {
  double _Complex p[MOST * MOST], inverse[2 * MOST]; /* large enough for any type */
  const tsi_front front = {.w = b, .m = 0, .f = b, .full = !ldl, .p = p, .q = p};
  const tsi_front_kernels *kernels = tsi_front_kernels_select((char)scalar);
  double sizes[MOST] = {1, 1, 1, 1, 1, 1};
  outcome out = {
      .how = {.tiny = tiny, .column_size = sizes, .least = -1, .adjoint = adjoint, .inverse = inverse}};
  for (int j = 0; j < b; j++)
    for (int i = 0; i < b; i++) put(scalar, p, i + j * b, a[i][j]);
  if (ldl)
    kernels->diagonal_ldl(&front, 0, b, out.pivot, &out.how);
  else
    kernels->diagonal(&front, 0, b, out.pivot, &out.how);
  for (int j = 0; j < b; j++)
    for (int i = 0; i < b; i++) out.l[i][j] = get(scalar, p, i + j * b);
  for (int k = 0; k < 2 * b && ldl; k++) out.inverse[k] = get(scalar, inverse, k);
  return out;
}

/* With a threshold a diagonal entry that is large enough relative to its column is kept, unless it would be
 * perturbed and another row would not. A pair with a determinant of rounding errors is not accepted as a
 * pivot of order 2. */
static void check_kept(tristar_scalar scalar) {
  const double tiny = 0x1p-20, sizes[2] = {1, 1};
  const number kept[4] = {0x1p-19L, 0x1p-17L, 1, 0}, small[4] = {0x1p-21L, 0x1p-19L, 1, 0},
               pair[4] = {1, -1, -1, 1};
  for (int ldl = 0; ldl < 2; ldl++)
    for (int k = 0; k < 2; k++) {
      double _Complex p[4], inverse[4];
      double size[2] = {sizes[0], sizes[1]};
      bool second[2] = {false, true};
      tsi_index pivot[2];
      const tsi_front front = {.w = 2, .m = 0, .f = 2, .full = !ldl, .p = p, .q = p};
      const tsi_front_kernels *kernels = tsi_front_kernels_select((char)scalar);
      tsi_pivoting how = {.tiny = tiny, .column_size = size, .least = -1, .threshold = 0.1};
      how.inverse = inverse;
      if (ldl) how.second = second;
      for (int i = 0; i < 4; i++) put(scalar, p, i, ldl ? pair[i] : k > 0 ? small[i] : kept[i]);
      if (ldl) {
        kernels->diagonal_ldl(&front, 0, 2, pivot, &how);
        CHECK(how.failed == TSI_NONE && how.perturbed == 1 && get(scalar, inverse, 1) == 0);
      } else {
        kernels->diagonal(&front, 0, 2, pivot, &how);
        CHECK(how.failed == TSI_NONE && how.perturbed == 0 && pivot[0] == k);
      }
    }
}

static bool near(number x, number y) {
  return cabsl(x - y) <= 1e-5L * cabsl(y);
}

/* Pivots below `tiny` keep their sign or phase, and each one is counted. */
static void check_perturbed(tristar_scalar scalar) {
  const double tiny = 0x1p-10;
  const number small[] = {-0x1p-20, 0, 0x1p-20, -0x1p-12, -3}, perturbed[] = {-tiny, tiny, tiny, -tiny, -3};
  number a[MOST][MOST] = {{0}};
  for (int k = 0; k < 5; k++) a[k][k] = small[k];
  const outcome ldl = factor_block(scalar, true, false, tiny, 5, a);
  CHECK(ldl.how.failed == TSI_NONE && ldl.how.perturbed == 4);
  for (int k = 0; k < 5; k++) CHECK(ldl.pivot[k] == k && near(ldl.inverse[2 * k], 1 / perturbed[k]));
  number phase = 1;
  for (int k = 0; k < 5; k++, phase *= is_complex(scalar) ? power_of_i(1) : 1) a[k][k] = small[k] * phase;
  const outcome lu = factor_block(scalar, false, false, tiny, 5, a);
  CHECK(lu.how.failed == TSI_NONE && lu.how.perturbed == 4);
  phase = 1;
  for (int k = 0; k < 5; k++, phase *= is_complex(scalar) ? power_of_i(1) : 1)
    CHECK(lu.pivot[k] == k && near(lu.l[k][k], small[k] == 0 ? perturbed[k] : perturbed[k] * phase));
}

/* Returns entry (i, j) of D, computed from the inverses of pivots of order 1 and 2. */
static number entry_of_d(const outcome *o, bool adjoint, int i, int j) {
  const int k = i < j ? i : j;
  const bool pair = o->inverse[2 * k + 1] != 0, second = k > 0 && o->inverse[2 * k - 1] != 0;
  if (i == j && !pair && !second) return 1 / o->inverse[2 * k];
  const int first = i == j && second ? k - 1 : k;
  if ((i == j ? !pair && !second : !pair || abs(i - j) != 1)) return 0;
  const number i11 = o->inverse[2 * first], i21 = o->inverse[2 * first + 1], i22 = o->inverse[2 * first + 2],
               i12 = adjoint ? conjl(i21) : i21, determinant = i11 * i22 - i12 * i21;
  return (i == j ? (i == first ? i22 : i11) : i > j ? -i21 : -i12) / determinant;
}

/* L D L^T or L D L^H is the block with its interchanges; L D is not much larger than the block. */
static void check_product(tristar_scalar scalar, bool adjoint, int b, const number a[MOST][MOST]) {
  const double epsilon = is_single(scalar) ? 1e-6 : 1e-14;
  const outcome o = factor_block(scalar, true, adjoint, 1e-30, b, a);
  number ld[MOST][MOST] = {{0}};
  int order[MOST];
  long double largest = 0;
  CHECK(o.how.failed == TSI_NONE && o.how.perturbed == 0);
  for (int k = 0; k < b; k++) order[k] = k;
  for (int k = 0; k < b; k++) {
    const int keep = order[k];
    order[k] = order[o.pivot[k]];
    order[o.pivot[k]] = keep;
  }
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) {
      for (int k = 0; k <= i; k++) ld[i][j] += (k == i ? 1 : o.l[i][k]) * entry_of_d(&o, adjoint, k, j);
      largest = fmaxl(largest, cabsl(a[i][j]));
    }
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) {
      number sum = 0;
      for (int k = 0; k <= j; k++) {
        const number l = k == j ? 1 : o.l[j][k];
        sum += ld[i][k] * (adjoint ? conjl(l) : l);
      }
      CHECK_MSG(cabsl(sum - a[order[i]][order[j]]) <= 30 * epsilon * largest,
                "%c %d: entry (%d, %d) of the product is %g, not %g", scalar, adjoint, i, j,
                (double)creall(sum), (double)creall(a[order[i]][order[j]]));
      CHECK_MSG(cabsl(ld[i][j]) <= 8 * largest, "%c: an entry has grown to %g", scalar,
                (double)cabsl(ld[i][j]));
    }
}

/* Blocks for which a single test of Bunch and Kaufman decides, and random indefinite blocks. */
static void check_choice(tristar_scalar scalar) {
  const long double e = 0x1p-16L;
  const number apart[MOST][MOST] = {{0, 1, 0},
                                    {1, e, e},
                                    {0, e, 1}}, /* a pair is chosen, though e is large in its row */
      first[MOST][MOST] = {{0.5L, 1, 0}, {1, 2, 4}, {0, 4, 1}},         /* the pair (0, 1) is singular */
      other[MOST][MOST] = {{0.125L, 1, 0}, {1, 2, 0.5L}, {0, 0.5L, 1}}; /* row 1 is chosen first */
  check_product(scalar, false, 3, apart);
  check_product(scalar, false, 3, first);
  check_product(scalar, false, 3, other);
  for (int adjoint = 0; adjoint < (is_complex(scalar) ? 2 : 1); adjoint++) {
    uint64_t state = 11;
    for (int k = 0; k < 20; k++) {
      dense m = {.n = MOST};
      for (int i = 0; i < MOST; i++)
        for (int j = 0; j <= i; j++)
          m.a[i][j] = m.a[j][i] =
              (long double)((int)(next_random(&state) % 17) - 8) * (i == j && k % 2 ? 0.0625L : 1);
      if (is_complex(scalar)) turn(&m, adjoint);
      number a[MOST][MOST];
      for (int i = 0; i < MOST; i++)
        for (int j = 0; j < MOST; j++) a[i][j] = m.a[i][j];
      check_product(scalar, adjoint, MOST, a);
    }
  }
  if (!is_complex(scalar)) return;
  number rounded[MOST][MOST] = {{2}};
  __imag__ rounded[0][0] = 1e-9L;
  CHECK(cimagl(factor_block(scalar, true, true, 0, 1, rounded).inverse[0]) == 0);
}

/* Solves A X = B for B = A (1, 1, 1, 1), and checks each row. */
static void check_rows(tristar_factor_t *f, const double a[4][4]) {
  double b[4], x[4];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  for (int i = 0; i < 4; i++) b[i] = a[i][0] + a[i][1] + a[i][2] + a[i][3];
  CHECK_OK(tristar_plan(f, NULL, &plan));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, 4, x, 4));
  for (int i = 0; i < 4; i++) {
    double rest = b[i], terms = fabs(b[i]);
    for (int j = 0; j < 4; j++) {
      rest -= a[i][j] * x[j];
      terms += fabs(a[i][j] * x[j]);
    }
    CHECK_MSG(fabs(rest) <= 1e-14 * terms, "row %d: %g of %g is left", i, rest, terms);
  }
}

/* Factors a symmetric matrix of order 4; it may be refused. */
static tristar_status factor_4(tristar_t *ts, const double a[4][4], tristar_method method,
                               tristar_singular singular, int64_t *perturbed) {
  int32_t ptr[5] = {0}, index[16], at = 0;
  double values[16];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_analysis_options options;
  tristar_factor_stats stats;
  for (int j = 0; j < 4; j++) {
    for (int i = j; i < 4; i++)
      if (a[i][j] != 0 || (i == 1 && j == 0)) {
        index[at] = i;
        values[at++] = a[i][j];
      }
    ptr[j + 1] = at;
  }
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 4, 4, ptr, index, values, 32, 32, 0};
  tristar_analysis_options_init(&options);
  options.method = method;
  options.ordering = TRISTAR_ORDERING_NATURAL;
  options.matching = TRISTAR_MATCHING_OFF;
  options.merge = TRISTAR_MERGE_NONE;
  options.singular = singular;
  CHECK_OK(tristar_analyze(ts, &v, &options, &an));
  const tristar_status status = tristar_factor(an, values, &f);
  if (status == TRISTAR_OK) {
    tristar_factor_get_stats(f, &stats);
    *perturbed = stats.perturbed_pivots;
    if (singular == TRISTAR_SINGULAR_REFUSE) check_rows(f, a);
  }
  return status;
}

/* Inside the tree a pivot below sqrt(eps) is small. In the last block of the root the limit is eps, and a
 * small pivot without other ones shows that the matrix is singular. Two pivots that are small beside one
 * row are tested again after a scaling of this row, with half the digits. Two rows that agree in 40 digits
 * are regular if a matching scales their columns. */
static void check_thresholds(tristar_t *ts) {
  const struct {
    double leaf[2], last;
    int64_t perturbed;
    bool refused;
  } cases[] = {{{1, 1}, 1, 0, false},         {{1e-10, 1}, 1, 1, false},     {{1e-6, 1}, 1, 0, false},
               {{1e-40, 1e-40}, 1, 2, false}, {{1e-10, 1e-10}, 1, 0, false}, {{1, 1}, 3 + 1e-10, 0, false},
               {{1, 1}, 3, 1, true}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int64_t perturbed = -1;
    const double a[4][4] = {
        {cases[k].leaf[0], 0, 0, 1}, {0, cases[k].leaf[1], 0, 1}, {0, 0, 1, 1}, {1, 1, 1, cases[k].last}};
    CHECK_OK(factor_4(ts, a, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_PERTURB, &perturbed));
    CHECK_MSG(perturbed == cases[k].perturbed, "case %zu: %d perturbed pivots", k, (int)perturbed);
    CHECK_STATUS(factor_4(ts, a, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_REFUSE, &perturbed),
                 cases[k].refused ? TRISTAR_ERR_SINGULAR : TRISTAR_OK);
  }
}

/* The error of Cholesky names the row whose pivot is not positive. */
static void check_named(tristar_t *ts) {
  for (int bad = 0; bad < 4; bad++) {
    char message[512], row[32];
    int64_t perturbed;
    double a[4][4];
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) a[i][j] = i != j ? 0.125 : i == bad ? -1 : 1;
    CHECK_STATUS(factor_4(ts, a, TRISTAR_METHOD_LLT, TRISTAR_SINGULAR_REFUSE, &perturbed),
                 TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
    tristar_get_error(ts, message, sizeof message);
    snprintf(row, sizeof row, "the pivot of row %d ", bad);
    CHECK_MSG(strstr(message, row) != NULL, "\"%s\" is not in \"%s\"", row, message);
  }
}

/* Each entry of L + U, or of L, is counted once. */
static void check_entries(tristar_t *ts) {
  for (int method = TRISTAR_METHOD_LLT; method <= TRISTAR_METHOD_LDLT; method++) {
    dense m = dominant(N_MAX);
    tristar_factor_t *f;
    tristar_plan_t *p;
    tristar_factor_stats stats;
    for (int i = 0; i < m.n; i++)
      for (int j = 0; j < i; j++) m.a[i][j] = m.a[j][i];
    CLEANUP(free_view) tristar_view v = make_view(&m, TRISTAR_DOUBLE, TRISTAR_SYMMETRIC);
    make_plan(ts, &v, (tristar_method)method, 0, &f, &p);
    tristar_factor_get_stats(f, &stats);
    CHECK_MSG(stats.nnz_factor == (method == TRISTAR_METHOD_LU ? m.n * m.n : m.n * (m.n + 1) / 2),
              "method %d: %lld entries", method, (long long)stats.nnz_factor);
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
  }
}

/* A dense matrix with one supernode: the errors of L D L^T do not grow with its width. */
static void check_wide(tristar_t *ts, tristar_scalar scalar, tristar_symmetry symmetry) {
  enum { N = 200 };
  static int32_t ptr[N + 1], index[N * (N + 1) / 2];
  static number a[N][N];
  static double _Complex values[N * (N + 1) / 2], b[N], x[N]; /* large enough for any type */
  const bool adjoint = symmetry == TRISTAR_HERMITIAN;
  uint64_t state = 7;
  int at = 0;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    put(scalar, b, j, 1 + j % 3);
    for (int i = j; i < N; i++) {
      number entry = (double)(next_random(&state) % 2001) / 1000 - 1;
      if (is_complex(scalar) && (i > j || !adjoint))
        entry += power_of_i(1) * ((double)(next_random(&state) % 2001) / 1000 - 1);
      put(scalar, values, at, entry);
      a[i][j] = get(scalar, values, at);
      a[j][i] = adjoint ? conjl(a[i][j]) : a[i][j];
      index[at++] = i;
    }
  }
  ptr[N] = at;
  const tristar_view v = {TRISTAR_CSC, symmetry, scalar, N, N, ptr, index, values, 32, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LDLT;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(analysis, values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, N, x, N));
  long double error = 0;
  for (int i = 0; i < N; i++) {
    number rest = get(scalar, b, i);
    long double size = cabsl(rest);
    for (int j = 0; j < N; j++) {
      rest -= a[i][j] * get(scalar, x, j);
      size += cabsl(a[i][j] * get(scalar, x, j));
    }
    error = fmaxl(error, cabsl(rest) / size);
  }
  const long double most = (long double)(is_single(scalar) ? FLT_EPSILON : DBL_EPSILON) * 100;
  CHECK_MSG(error <= most, "%c, symmetry %d: backward error %Lg", scalar, (int)symmetry, error);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                           TRISTAR_COMPLEX_DOUBLE};
  for (int s = 0; s < 4; s++) {
    RUN(check_perturbed(scalars[s]));
    RUN(check_choice(scalars[s]));
    RUN(check_kept(scalars[s]));
  }
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_thresholds(ts));
  RUN(check_named(ts));
  RUN(check_entries(ts));
  for (int s = 0; s < 4; s++) {
    RUN(check_wide(ts, scalars[s], TRISTAR_SYMMETRIC));
    RUN(check_wide(ts, scalars[s], TRISTAR_HERMITIAN));
  }
  return 0;
}
