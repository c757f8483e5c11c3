/* Reference results for a small dense matrix in extended precision: inverse, condition, definiteness, rank.
 *
 * The rows and columns are scaled by powers of two. Then elimination with complete pivoting computes the
 * inverse. It is trusted if A^-1 A is the unit matrix to rounding errors.
 *
 * Two condition numbers:
 *   kappa  |A| |A^-1|, maximum norms
 *   bauer  the spectral radius of |A^-1| |A|. No scaling of rows and columns changes it, or makes kappa less
 *          than it (Bauer 1963) */
#pragma once

#include "tests/support/dense_systems.h"

enum { ORDER_MOST = 40 };
typedef number square[ORDER_MOST][ORDER_MOST];
typedef long double entry_sizes[ORDER_MOST][ORDER_MOST];

typedef struct reference {
  int n;
  bool trusted;             /* the matrix is regular, and the inverse is accurate to some digits */
  long double kappa, bauer; /* infinite if not trusted */
  long double least, most;  /* magnitudes of nonzero entries of A and A^-1 */
  square inverse;
} reference;

/* Computes the magnitudes of all entries once for all loops below. */
static inline void reference_sizes(int n, square a, entry_sizes size) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) size[i][j] = cabsl(a[i][j]);
}

static inline long double power_near(long double x) {
  int exponent;
  if (x == 0) return 1;
  frexpl(x, &exponent);
  return ldexpl(1, -exponent);
}

/* Alternately makes the mean logarithm of the entries of each row and of each column zero. The result does
 * not depend on earlier scalings of rows and columns (Curtis and Reid 1972). */
static inline void reference_scale_means(int n, entry_sizes a, long double *row, long double *column) {
  static entry_sizes logarithm; /* of entries that are not zero */
  long double r[ORDER_MOST] = {0}, c[ORDER_MOST] = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (a[i][j] != 0) logarithm[i][j] = log2l(a[i][j]);
  for (int sweep = 0; sweep < 40; sweep++)
    for (int side = 0; side < 2; side++)
      for (int i = 0; i < n; i++) {
        long double sum = 0;
        int entries = 0;
        for (int j = 0; j < n; j++) {
          const int k = side ? j : i, l = side ? i : j;
          if (a[k][l] == 0) continue;
          sum += logarithm[k][l] + (side ? r : c)[j];
          entries++;
        }
        if (entries > 0) (side ? c : r)[i] = -sum / entries;
      }
  for (int i = 0; i < n; i++) {
    row[i] = ldexpl(1, (int)lrintl(r[i]));
    column[i] = ldexpl(1, (int)lrintl(c[i]));
  }
}

/* The largest entries of row[i] a[i][j] column[j] are near one in each row and column. a: magnitudes. */
static inline void reference_scale(int n, entry_sizes a, long double *row, long double *column) {
  reference_scale_means(n, a, row, column);
  for (int sweep = 0; sweep < 6; sweep++)
    for (int side = 0; side < 2; side++)
      for (int i = 0; i < n; i++) {
        long double largest = 0;
        for (int j = 0; j < n; j++)
          largest = fmaxl(largest, side ? a[j][i] * row[j] * column[i] : a[i][j] * row[i] * column[j]);
        *(side ? &column[i] : &row[i]) *= power_near(sqrtl(largest));
      }
}

/* Replaces b by its inverse. Returns false if a pivot consists of rounding errors. */
static inline bool reference_invert(int n, square b) {
  int pivot_row[ORDER_MOST], pivot_column[ORDER_MOST];
  bool done_row[ORDER_MOST] = {false}, done_column[ORDER_MOST] = {false};
  long double first = 0;
  for (int k = 0; k < n; k++) {
    int r = -1, c = -1;
    long double most = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        if (done_row[i] || done_column[j]) continue;
        const long double size = cabsl(b[i][j]);
        if (r < 0 || size > most) r = i, c = j, most = size;
      }
    if (k == 0) first = most;
    if (!(most > 1e-18L * n * first)) return false;
    done_row[r] = done_column[c] = true;
    pivot_row[k] = r;
    pivot_column[k] = c;
    const number pivot = b[r][c];
    b[r][c] = 1;
    for (int j = 0; j < n; j++) b[r][j] /= pivot;
    for (int i = 0; i < n; i++) {
      const number factor = b[i][c];
      if (i == r || factor == 0) continue;
      b[i][c] = 0;
      for (int j = 0; j < n; j++) b[i][j] -= factor * b[r][j];
    }
  }
  /* Gauss-Jordan with pivots (r, c): row c of the inverse is in row r, its column r in column c. */
  static square moved;
  for (int k = 0; k < n; k++)
    for (int l = 0; l < n; l++) moved[pivot_column[k]][pivot_row[l]] = b[pivot_row[k]][pivot_column[l]];
  for (int i = 0; i < n; i++) memcpy(b[i], moved[i], (size_t)n * sizeof(number));
  return true;
}

/* Returns a close upper bound of the spectral radius of the product of two matrices of magnitudes. */
static inline long double reference_radius(int n, entry_sizes inverse, entry_sizes a) {
  long double x[ORDER_MOST], y[ORDER_MOST], z[ORDER_MOST], bound = 0;
  for (int i = 0; i < n; i++) x[i] = 1;
  for (int step = 0; step < 20; step++) {
    long double largest = 0;
    bound = 0;
    for (int i = 0; i < n; i++) {
      y[i] = 0;
      for (int j = 0; j < n; j++) y[i] += a[i][j] * x[j];
    }
    for (int i = 0; i < n; i++) {
      z[i] = 0;
      for (int j = 0; j < n; j++) z[i] += inverse[i][j] * y[j];
      bound = fmaxl(bound, z[i] / x[i]);
      largest = fmaxl(largest, z[i]);
    }
    for (int i = 0; i < n; i++) x[i] = fmaxl(z[i] / largest, 1e-6L);
  }
  return bound;
}

static inline void reference_make(int n, square a, reference *r) {
  static square b, product;
  static entry_sizes of_a, of_b, of_inverse;
  long double row[ORDER_MOST], column[ORDER_MOST], worst = 0, size = 0, inverse_size = 0;
  r->n = n;
  r->kappa = r->bauer = INFINITY;
  reference_sizes(n, a, of_a);
  reference_scale(n, of_a, row, column);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) b[i][j] = r->inverse[i][j] = a[i][j] * row[i] * column[j];
  r->trusted = reference_invert(n, r->inverse);
  for (int i = 0; i < n && r->trusted; i++)
    for (int j = 0; j < n; j++) {
      product[i][j] = i == j ? -1 : 0;
      for (int k = 0; k < n; k++) product[i][j] += r->inverse[i][k] * b[k][j];
      worst = fmaxl(worst, cabsl(product[i][j]));
    }
  r->trusted = r->trusted && worst < 1e-4L;
  if (!r->trusted) return;
  reference_sizes(n, b, of_b);
  reference_sizes(n, r->inverse, of_inverse);
  r->bauer = n > 0 ? reference_radius(n, of_inverse, of_b) : 1;
  r->least = INFINITY;
  r->most = 0;
  for (int i = 0; i < n; i++) {
    long double sum = 0, inverse_sum = 0;
    for (int j = 0; j < n; j++) {
      r->inverse[i][j] *= column[i] * row[j];
      const long double entries[2] = {of_a[i][j], cabsl(r->inverse[i][j])};
      for (int k = 0; k < 2; k++) {
        if (entries[k] > 0 && (k == 0 || entries[k] > 1e-15L)) r->least = fminl(r->least, entries[k]);
        r->most = fmaxl(r->most, entries[k]);
      }
      sum += entries[0];
      inverse_sum += entries[1];
    }
    size = fmaxl(size, sum);
    inverse_size = fmaxl(inverse_size, inverse_sum);
  }
  r->kappa = size * inverse_size;
}

/* Returns the smallest pivot of L D L^H without interchanges, relative to its diagonal entry. It is positive
 * if and only if the Hermitian matrix is positive definite, and small if the matrix is nearly indefinite. */
static inline long double reference_definiteness(int n, square a) {
  static square l;
  long double least = 1;
  for (int i = 0; i < n; i++) memcpy(l[i], a[i], (size_t)n * sizeof(number));
  for (int k = 0; k < n; k++) {
    const long double diagonal = creall(a[k][k]), pivot = creall(l[k][k]);
    if (!(diagonal > 0) || !(pivot > 0)) return diagonal > 0 ? pivot / diagonal : -1;
    least = fminl(least, pivot / diagonal);
    for (int i = k + 1; i < n; i++) {
      const number factor = l[i][k] / pivot;
      for (int j = k + 1; j < n; j++) l[i][j] -= factor * l[k][j];
    }
  }
  return least;
}

/* Finds one more nonzero entry whose row and column have none yet (an augmenting path). */
static inline bool reference_augment(int n, square a, int column, bool *seen, int *column_of_row) {
  for (int i = 0; i < n; i++) {
    if (a[i][column] == 0 || seen[i]) continue;
    seen[i] = true;
    if (column_of_row[i] < 0 || reference_augment(n, a, column_of_row[i], seen, column_of_row)) {
      column_of_row[i] = column;
      return true;
    }
  }
  return false;
}
static inline int reference_structural_rank(int n, square a) {
  int column_of_row[ORDER_MOST], rank = 0;
  for (int i = 0; i < n; i++) column_of_row[i] = -1;
  for (int j = 0; j < n; j++) {
    bool seen[ORDER_MOST] = {false};
    rank += reference_augment(n, a, j, seen, column_of_row);
  }
  return rank;
}

static inline number reference_op(square a, tristar_op op, int i, int j) {
  const number x = op == TRISTAR_N ? a[i][j] : a[j][i];
  return op == TRISTAR_C ? conjl(x) : x;
}

/* Computes residual = b - op(A) x. Returns the largest |residual| / (|op(A)| |x| + |b|). */
static inline long double reference_residual(int n, square a, tristar_op op, const number *b, const number *x,
                                             number *residual) {
  long double worst = 0;
  for (int i = 0; i < n; i++) {
    long double size = cabsl(b[i]);
    residual[i] = b[i];
    for (int j = 0; j < n; j++) {
      const number term = reference_op(a, op, i, j) * x[j];
      residual[i] -= term;
      size += cabsl(term);
    }
    if (residual[i] != 0) worst = fmaxl(worst, cabsl(residual[i]) / size);
  }
  return worst;
}

/* Computes x = op(A)^-1 b. Refines while this reduces the error of the worst row, and returns this error. An
 * inverse that is accurate in a norm is not sufficient if x has entries of very different sizes: tiny entries
 * of the inverse matter, too. */
static inline long double reference_solve(const reference *r, square a, tristar_op op, const number *b,
                                          number *x) {
  number residual[ORDER_MOST], kept[ORDER_MOST] = {0};
  long double error = INFINITY;
  for (int i = 0; i < r->n; i++) x[i] = 0;
  for (int step = 0; step < 20; step++) {
    const long double now = reference_residual(r->n, a, op, b, x, residual);
    if (!(now < error)) {
      memcpy(x, kept, (size_t)r->n * sizeof *x);
      break;
    }
    error = now;
    memcpy(kept, x, (size_t)r->n * sizeof *x);
    for (int i = 0; i < r->n; i++)
      for (int j = 0; j < r->n; j++) x[i] += reference_op(((reference *)r)->inverse, op, i, j) * residual[j];
  }
  return error;
}
