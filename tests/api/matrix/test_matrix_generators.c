/* The generators: sizes, declared symmetry, the same bits as recorded, definiteness, and for each problem a
 * property that its equation has and a wrong stencil or element would break. */
#include <math.h>

#include "tests/api/matrix/generated.h"
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

/* Documented properties of a matrix. */
enum { DEFINITE = 1, INDEFINITE = 2, UNSYMMETRIC = 4, NO_PIVOTING = 8 };

typedef struct recorded {
  const char *kind;
  int promise;
  int dense_k; /* the size for dense checks, at most a few hundred rows */
  int hash_k;
  uint64_t hash;      /* of the matrix gen:kind:hash_k */
  int64_t entries[5]; /* for K = 1, 2, 3, 4, hash_k */
} recorded;
static const recorded recordings[] = {
    {"s2d9pt", DEFINITE, 12, 40, UINT64_C(0x7e6024605fecadb1), {1, 10, 29, 58, 7762}},
    {"poisson3d7", DEFINITE, 6, 12, UINT64_C(0x54bbf67363f7ba05), {1, 20, 81, 208, 6480}},
    {"poisson3d27", DEFINITE, 6, 10, UINT64_C(0xe60978d5d10b8e21), {1, 36, 185, 532, 11476}},
    {"elasticity3d", DEFINITE, 3, 6, UINT64_C(0x8d8151014768cb1d), {78, 909, 3222, 7755, 26433}},
    {"kkt3d", INDEFINITE | NO_PIVOTING, 4, 8, UINT64_C(0x2ac32c3dc9b19218), {4, 88, 424, 1192, 12184}},
    {"maxwell3d", INDEFINITE, 4, 8, UINT64_C(0xbd6c50d4c53b5c5f), {18, 282, 1104, 2790, 24294}},
    {"chem3d", DEFINITE, 7, 16, UINT64_C(0x0eef9a4c7ae5fba3), {1, 36, 378, 2026, 138317}},
    {"fusion2d",
     UNSYMMETRIC | NO_PIVOTING,
     3,
     6,
     UINT64_C(0xfcf0981024c0e87b),
     {256, 4624, 16384, 35344, 94864}},
    {"convdiff3d", UNSYMMETRIC | NO_PIVOTING, 6, 12, UINT64_C(0x93a612df5ba6fed0), {1, 32, 135, 352, 11232}},
    {"diffusion3d", DEFINITE, 6, 12, UINT64_C(0x7190ada1db4876ea), {1, 20, 81, 208, 6480}},
    {"circuit", UNSYMMETRIC | NO_PIVOTING, 300, 3000, UINT64_C(0xbfe599587c04ee32), {1, 4, 9, 13, 16155}},
    {"erdos", UNSYMMETRIC | NO_PIVOTING, 300, 3000, UINT64_C(0xa62308a02951b8f2), {1, 4, 9, 16, 62758}},
    {"band", UNSYMMETRIC | NO_PIVOTING, 300, 3000, UINT64_C(0x69e05dd4c46f0ce1), {1, 2, 3, 4, 11795}},
    {"chain", UNSYMMETRIC | NO_PIVOTING, 300, 3000, UINT64_C(0xe1bb2a8478451b16), {1, 4, 7, 10, 8998}},
};
#define KINDS ((int)(sizeof recordings / sizeof recordings[0]))

static double largest(const double *a, size_t n) {
  double max = 0;
  for (size_t k = 0; k < n * n; k++) max = fmax(max, fabs(a[k]));
  return max;
}

/* Gaussian elimination in place. Returns the smallest pivot relative to the largest entry of the matrix, or
 * 0 if a pivot is zero. *growth: the largest entry during the elimination, also relative. *negative: the
 * number of negative pivots. */
static double eliminate(double *a, size_t n, int pivoting, double *growth, int *negative) {
  const double scale = largest(a, n);
  double smallest = INFINITY;
  *growth = *negative = 0;
  for (size_t k = 0; k < n; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n && pivoting; i++)
      if (fabs(a[i + k * n]) > fabs(a[pivot + k * n])) pivot = i;
    for (size_t j = 0; j < n && pivot != k; j++) {
      double swap = a[k + j * n];
      a[k + j * n] = a[pivot + j * n];
      a[pivot + j * n] = swap;
    }
    const double diagonal = a[k + k * n];
    smallest = fmin(smallest, fabs(diagonal) / scale);
    *negative += diagonal < 0;
    if (!(fabs(diagonal) > 0)) return 0;
    for (size_t i = k + 1; i < n; i++) a[i + k * n] /= diagonal;
    for (size_t j = k + 1; j < n; j++) {
      const double factor = a[k + j * n];
      if (factor != 0)
        for (size_t i = k + 1; i < n; i++) a[i + j * n] -= a[i + k * n] * factor;
    }
  }
  for (size_t j = 0; j < n; j++) /* the upper triangle after the elimination */
    for (size_t i = 0; i <= j; i++) *growth = fmax(*growth, fabs(a[i + j * n]) / scale);
  return smallest;
}

/* Returns the number of negative pivots of elimination without pivoting. For a symmetric matrix it equals
 * the number of negative eigenvalues (Sylvester). */
static int negative_pivots(const columns *m, double *smallest, double *growth) {
  int negative = 0;
  OWNED double *a = expand(m);
  *smallest = eliminate(a, (size_t)m->rows, 0, growth, &negative);
  return negative;
}

static int values_symmetric(const double *a, size_t n) {
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < j; i++)
      if (a[i + j * n] != a[j + i * n]) return 0;
  return 1;
}

static void check_promises(tristar_t *ts, const recorded *r, int64_t k) {
  CLEANUP(free_columns) columns *m = generate(ts, r->kind, k);
  const size_t n = (size_t)m->rows;
  double *a = expand(m);
  double growth, smallest;
  int negative;
  CHECK_MSG((m->symmetry == TRISTAR_SYMMETRIC) == !(r->promise & UNSYMMETRIC), "%s", r->kind);
  if ((r->promise & UNSYMMETRIC) && k > 5)
    CHECK_MSG(!values_symmetric(a, n), "%s %lld", r->kind, (long long)k);
  if ((r->promise & UNSYMMETRIC) && strcmp(r->kind, "fusion2d") == 0) CHECK(!values_symmetric(a, n));
  smallest = eliminate(a, n, 1, &growth, &negative);
  CHECK_MSG(smallest > 1e-8, "%s %lld: singular? smallest pivot %g", r->kind, (long long)k, smallest);
  free(a);
  negative = negative_pivots(m, &smallest, &growth);
  if (r->promise & DEFINITE)
    CHECK_MSG(negative == 0 && growth <= 1.0000001, "%s %lld", r->kind, (long long)k);
  if (r->promise & INDEFINITE)
    CHECK_MSG(negative > 0 && negative < m->rows, "%s: %d negative", r->kind, negative);
  if (r->promise & NO_PIVOTING)
    CHECK_MSG(smallest > 1e-8 && growth < 1e4, "%s %lld: pivot %g, growth %g", r->kind, (long long)k,
              smallest, growth);
}

static void test_recorded(tristar_t *ts, const recorded *r, int record) {
  const int sizes[5] = {1, 2, 3, 4, r->hash_k};
  int64_t entries[5];
  uint64_t hash[2] = {0, 0};
  for (int s = 0; s < 5; s++) {
    CLEANUP(free_columns) columns *m = generate(ts, r->kind, sizes[s]);
    entries[s] = m->ptr[m->cols];
    hash[0] = hash_matrix(m);
  }
  char path[64];
  snprintf(path, sizeof path, "gen:%s:%d", r->kind, r->hash_k);
  CLEANUP(free_columns) columns *again = read_matrix(ts, path, path);
  hash[1] = hash_matrix(again);
  CHECK(hash[0] == hash[1]);
  if (record) {
    printf("%s UINT64_C(0x%016llx), {%lld, %lld, %lld, %lld, %lld}\n", r->kind, (unsigned long long)hash[0],
           (long long)entries[0], (long long)entries[1], (long long)entries[2], (long long)entries[3],
           (long long)entries[4]);
    return;
  }
  for (int s = 0; s < 5; s++)
    CHECK_MSG(entries[s] == r->entries[s], "%s %d: %lld entries", r->kind, sizes[s], (long long)entries[s]);
  CHECK_MSG(hash[0] == r->hash, "%s %d: hash 0x%016llx", r->kind, r->hash_k, (unsigned long long)hash[0]);
}

/* y = A x */
static void multiply(const columns *m, const double *x, double *y) {
  for (int32_t i = 0; i < m->rows; i++) y[i] = 0;
  for (int32_t j = 0; j < m->cols; j++)
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
      y[m->index[k]] += m->values[k] * x[j];
      if (m->symmetry == TRISTAR_SYMMETRIC && m->index[k] != j) y[j] += m->values[k] * x[m->index[k]];
    }
}

/* Poisson: a constant function gives zero in the interior and a positive number at the boundary; a linear
 * function gives zero in the interior. */
static void test_poisson(tristar_t *ts, const char *kind, int dimensions) {
  enum { K = 5, POINTS = K * K * K };
  static double x[POINTS], y[POINTS];
  CLEANUP(free_columns) columns *m = generate(ts, kind, K);
  for (int pass = 0; pass < 2; pass++) {
    for (int p = 0; p < m->rows; p++) x[p] = pass == 0 ? 1 : p % K + 2 * (p / K % K) - 3 * (p / K / K);
    multiply(m, x, y);
    for (int p = 0; p < m->rows; p++) {
      const int at[3] = {p % K, p / K % K, p / K / K};
      int inside = 1;
      for (int d = 0; d < dimensions; d++) inside = inside && at[d] > 0 && at[d] < K - 1;
      CHECK_MSG(inside ? y[p] == 0 : (y[p] > 0 || pass == 1), "%s: point %d gives %g", kind, p, y[p]);
    }
  }
}

/* Elasticity: translations and (linearized) rotations cause no force at nodes without clamped neighbours. */
static void test_elasticity(tristar_t *ts) {
  enum { K = 4, NODES = K * (K + 1) * (K + 1) };
  static double x[3 * NODES], y[3 * NODES];
  CLEANUP(free_columns) columns *m = generate(ts, "elasticity3d", K);
  for (int mode = 0; mode < 6; mode++) {
    int touched = 0;
    for (int p = 0; p < NODES; p++) {
      const double at[3] = {p % K + 1, p / K % (K + 1), p / K / (K + 1)};
      for (int d = 0; d < 3; d++) x[3 * p + d] = mode == d;
      if (mode >= 3) { /* a rotation around axis mode - 3 */
        x[3 * p + (mode + 1) % 3] = -at[(mode + 2) % 3];
        x[3 * p + (mode + 2) % 3] = at[(mode + 1) % 3];
      }
    }
    multiply(m, x, y);
    for (int row = 0; row < 3 * NODES; row++) {
      if (row / 3 % K > 0)
        CHECK_MSG(fabs(y[row]) < 1e-13, "rigid motion %d: force %g in row %d", mode, y[row], row);
      else
        touched = touched || fabs(y[row]) > 1e-3;
    }
    CHECK_MSG(touched, "rigid motion %d: no force at the clamped face", mode);
  }
}

/* Optimality system: one negative eigenvalue per grid point; no entry couples two multipliers. */
static void test_kkt(tristar_t *ts) {
  CLEANUP(free_columns) columns *m = generate(ts, "kkt3d", 4);
  double smallest, growth;
  CHECK(negative_pivots(m, &smallest, &growth) == 64 && smallest > 0);
  for (int32_t j = 0; j < m->cols; j++)
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) CHECK(j % 3 != 2 || m->index[k] % 3 != 2);
}

/* Edge elements: the curl of a gradient is zero. So the gradient of the hat function of an inner node gives
 * -k^2 times its mass, 36 * 8/3 * k^2 h^2 in the scale of the matrix. The negative eigenvalues belong to
 * K^3 gradients and to the three modes below k^2. */
static void test_maxwell(tristar_t *ts) {
  enum { K = 4, C = K + 1, GROUP = C * K * K, EDGES = 3 * GROUP };
  static double x[EDGES], y[EDGES];
  CLEANUP(free_columns) columns *m = generate(ts, "maxwell3d", K);
  double smallest, growth;
  CHECK(negative_pivots(m, &smallest, &growth) == K * K * K + 3 && smallest > 1e-6);
  for (int node = 0; node < K * K * K; node++) {
    const int at[3] = {node % K, node / K % K, node / K / K};
    double energy = 0;
    memset(x, 0, sizeof x);
    for (int d = 0; d < 3; d++)
      for (int side = 0; side < 2; side++) { /* the edge that ends (0) or begins (1) at the node */
        int n[3] = {K, K, K}, e[3] = {at[0], at[1], at[2]};
        n[d] = C;
        e[d] += side;
        x[d * GROUP + e[0] + n[0] * (e[1] + n[1] * e[2])] = side == 0 ? 1 : -1;
      }
    multiply(m, x, y);
    for (int row = 0; row < EDGES; row++) energy += x[row] * y[row];
    const double expected = -96.0 * 27 / (C * C);
    CHECK_MSG(fabs(energy - expected) < 1e-11, "node %d: %.15g, not %.15g", node, energy, expected);
  }
}

/* Hamiltonian. The star of a point far from all atoms and boundaries has the weights of the eighth-order
 * difference, which is exact for polynomials: x^2 gives -1 (half the Laplacian) plus the potential. So the
 * weights sum to zero, and their second moment on each axis is -1. Atoms make dense blocks. */
static void test_chemistry(tristar_t *ts) {
  enum { K = 16 };
  CLEANUP(free_columns) columns *m = generate(ts, "chem3d", K);
  int longest = 0, stars = 0;
  for (int32_t j = 0; j < m->cols; j++) {
    const int64_t below = m->ptr[j + 1] - m->ptr[j];
    const int at[3] = {j % K, j / K % K, j / K / K};
    longest = below > longest ? (int)below : longest;
    if (below != 13 || at[0] > K - 5 || at[1] > K - 5 || at[2] > K - 5) continue;
    double sum = 0, moment = 0;
    for (int64_t k = m->ptr[j] + 1; k < m->ptr[j + 1]; k++) {
      const int apart = m->index[k] - j;
      const double r = apart < K ? apart : apart < K * K ? apart / K : apart / K / K;
      sum += 2 * m->values[k];
      moment += 2 * m->values[k] * r * r;
    }
    const double potential = m->values[m->ptr[j]] + sum;
    if (potential < 0 || potential >= 1)
      continue; /* a point of an atom whose other points have larger indices */
    CHECK_MSG(fabs(moment + 3) < 1e-13, "column %d: second moment %g", j, moment);
    stars++;
  }
  CHECK_MSG(stars > 100 && longest > 60, "%d plain stars, longest column %d", stars, longest);
}

/* Plasma: diffusion, advection and B . grad of a constant field are zero. So u_d = 1 in equation c gives
 * (gamma_cd + [c = d] / dt) times the integral of the test function. */
static void test_fusion(tristar_t *ts) {
  enum { K = 4, SIDE = 3 * K - 1, ROWS = 4 * SIDE * SIDE };
  static const double factor[4][4] = {{20, 0.5, 0, 0}, {0, 20, 2, 2}, {0, -1, 20, 0.5}, {0.25, -1, 0.5, 20}};
  static const double integral[3] = {
      0.25 / K, 0.375 / K, 0.375 / K}; /* integrals of 1D functions: of a vertex (both sides), inner */
  static double x[ROWS], y[ROWS];
  CLEANUP(free_columns) columns *m = generate(ts, "fusion2d", K);
  int checked = 0;
  for (int d = 0; d < 4; d++) {
    for (int row = 0; row < ROWS; row++) x[row] = row % 4 == d;
    multiply(m, x, y);
    for (int row = 0; row < ROWS; row++) {
      const int px = row / 4 % SIDE + 1, py = row / 4 / SIDE + 1; /* from 0 to 3K */
      if (px <= 3 || px >= 3 * K - 3 || py <= 3 || py >= 3 * K - 3) continue;
      const double expected = factor[row % 4][d] * integral[px % 3] * integral[py % 3];
      CHECK_MSG(fabs(y[row] - expected) < 1e-13, "row %d, field %d: %.15g, not %.15g", row, d, y[row],
                expected);
      checked++;
    }
  }
  CHECK(checked == 4 * 4 * 25);
}

/* An M-matrix: the sum of a row is zero in the interior and positive at the boundary; off-diagonal entries
 * are not positive. */
static void test_convection(tristar_t *ts) {
  enum { K = 6, POINTS = K * K * K };
  static double x[POINTS], y[POINTS];
  CLEANUP(free_columns) columns *m = generate(ts, "convdiff3d", K);
  for (int p = 0; p < POINTS; p++) x[p] = 1;
  multiply(m, x, y);
  for (int p = 0; p < POINTS; p++) {
    const int at[3] = {p % K, p / K % K, p / K / K};
    int inside = 1;
    for (int d = 0; d < 3; d++) inside = inside && at[d] > 0 && at[d] < K - 1;
    CHECK_MSG(inside ? fabs(y[p]) < 1e-15 : y[p] > 0.005, "row %d sums to %g", p, y[p]);
    for (int64_t k = m->ptr[p]; k < m->ptr[p + 1]; k++) CHECK((m->index[k] == p) == (m->values[k] > 0));
  }
}

/* An M-matrix: up to rounding the sum of a row is zero in the interior and positive at the boundary. Its
 * entries span at least five orders of magnitude, and at most six plus those that averages of two
 * coefficients add. */
static void test_diffusion(tristar_t *ts) {
  enum { K = 14, POINTS = K * K * K };
  static double x[POINTS], y[POINTS];
  CLEANUP(free_columns) columns *m = generate(ts, "diffusion3d", K);
  double least = INFINITY, most = 0;
  for (int p = 0; p < POINTS; p++) x[p] = 1;
  multiply(m, x, y);
  for (int p = 0; p < POINTS; p++) {
    const int at[3] = {p % K, p / K % K, p / K / K};
    const double diagonal = m->values[m->ptr[p]];
    int inside = 1;
    for (int d = 0; d < 3; d++) inside = inside && at[d] > 0 && at[d] < K - 1;
    CHECK_MSG(inside ? fabs(y[p]) < 1e-14 * diagonal : y[p] > 0, "row %d sums to %g", p, y[p]);
    for (int64_t k = m->ptr[p]; k < m->ptr[p + 1]; k++) {
      CHECK((m->index[k] == p) == (m->values[k] > 0));
      least = fmin(least, fabs(m->values[k]));
      most = fmax(most, fabs(m->values[k]));
    }
  }
  CHECK_MSG(most / least > 1e5 && most / least < 2e7, "entries span %g", most / least);
}

/* Rows are strictly diagonally dominant. A few hubs have a high degree, all other nodes at most a few dozen
 * neighbours. */
static void test_circuit(tristar_t *ts) {
  enum { K = 20000 };
  static double diagonal[K], others[K];
  CLEANUP(free_columns) columns *m = generate(ts, "circuit", K);
  int64_t highest = 0;
  int hubs = 0;
  for (int32_t j = 0; j < K; j++) {
    const int64_t degree = m->ptr[j + 1] - m->ptr[j];
    hubs += degree > 30;
    highest = degree > highest ? degree : highest;
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
      if (m->index[k] == j)
        diagonal[j] += m->values[k];
      else
        others[m->index[k]] += fabs(m->values[k]);
    }
  }
  for (int i = 0; i < K; i++)
    CHECK_MSG(diagonal[i] - others[i] > 0.0009, "row %d: diagonal %g, others %g", i, diagonal[i], others[i]);
  CHECK_MSG(hubs >= 10 && hubs <= 64 && highest > 200, "%d hubs, highest degree %lld", hubs,
            (long long)highest);
  CHECK(m->ptr[K] < 8 * (int64_t)K);
}

enum { ROWS_MOST = INT32_MAX - 1 };
static void expect_failure(tristar_t *ts, const char *kind, int64_t k, tristar_status expected) {
  tristar_matrix_t *m = (tristar_matrix_t *)(void *)ts;
  tristar_status status = tristar_matrix_generate(ts, kind, k, &m);
  CHECK_MSG(status == expected && m == NULL, "%s %lld: %s", kind, (long long)k, tristar_status_name(status));
}

static void test_arguments(tristar_t *ts) {
  static const int64_t large[] = {1600000000, ROWS_MOST, (int64_t)ROWS_MOST + 1, 3000000000, INT64_MAX};
  static const char *const paths[] = {
      "gen:s2d9pt",    "gen:s2d9pt:",    "gen:s2d9pt:x",
      "gen:s2d9pt:3x", "gen:s2d9pt:3:4", "gen:s2d9pt:3 4",
      "gen:s2d9pt:0",  "gen:s2d9pt:-3",  "gen::3",
      "gen:nothing:3", "gen:",           "gen:a_name_that_is_much_too_long_for_a_generator:3"};
  tristar_matrix_t *m = NULL;
  const char *name, *description;
  for (int i = 0; i < KINDS; i++) {
    for (size_t s = 0; s < sizeof large / sizeof *large; s++)
      if (!counts_rows(recordings[i].kind) || large[s] > ROWS_MOST)
        expect_failure(ts, recordings[i].kind, large[s], TRISTAR_ERR_TOO_LARGE);
    expect_failure(ts, recordings[i].kind, 0, TRISTAR_ERR_ARGUMENT);
    expect_failure(ts, recordings[i].kind, INT64_MIN, TRISTAR_ERR_ARGUMENT);
    CHECK(tristar_get_generator(i, &name, &description) == 1);
    CHECK(strcmp(name, recordings[i].kind) == 0 && strstr(description, "K") != NULL);
  }
  CHECK(tristar_get_generator(KINDS, &name, &description) == 0 && name == NULL);
  CHECK(tristar_get_generator(-1, NULL, NULL) == 0);
  expect_failure(ts, "nothing", 3, TRISTAR_ERR_ARGUMENT);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    expect_read_failure(ts, paths[i], paths[i], TRISTAR_ERR_ARGUMENT, "");
  expect_read_failure(ts, "large", "gen:s2d9pt:99999999999999999999", TRISTAR_ERR_TOO_LARGE, "");
  CHECK_STATUS(tristar_matrix_generate(NULL, "s2d9pt", 1, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_generate(ts, NULL, 1, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_generate(ts, "s2d9pt", 1, NULL), TRISTAR_ERR_ARGUMENT);
}

/* With an argument, prints the values to record instead of comparing them. */
int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  for (int i = 0; i < KINDS; i++) {
    RUN(test_recorded(ts, &recordings[i], argc > 1));
    for (int k = 1; k <= 3; k++) RUN(check_promises(ts, &recordings[i], k));
    RUN(check_promises(ts, &recordings[i], recordings[i].dense_k));
  }
  RUN(test_poisson(ts, "s2d9pt", 2));
  RUN(test_poisson(ts, "poisson3d7", 3));
  RUN(test_poisson(ts, "poisson3d27", 3));
  RUN(test_elasticity(ts));
  RUN(test_kkt(ts));
  RUN(test_maxwell(ts));
  RUN(test_chemistry(ts));
  RUN(test_fusion(ts));
  RUN(test_convection(ts));
  RUN(test_diffusion(ts));
  RUN(test_circuit(ts));
  RUN(test_arguments(ts));
  return 0;
}
