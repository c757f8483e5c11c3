/* Small random matrices for the tests of the adapters, in the arrays of other solvers. Compares TriStar's
 * solves with solves of the other solver. */
#pragma once

#include <complex.h>
#include <math.h>

#include "tests/support/check.h"
#include "tests/support/random.h"

typedef struct adapter_matrix {
  int n, parts; /* parts: numbers in a scalar, 1 real, 2 complex */
  int *ptr, *row;
  int64_t *long_ptr, *long_row; /* the same arrays with 64-bit integers */
  double *values;               /* `parts` numbers each */
  tristar_view view;            /* a view of these arrays */
} adapter_matrix;

typedef enum adapter_kind {
  ADAPTER_UNSYMMETRIC, /* with a weak diagonal, so partial pivoting exchanges rows */
  ADAPTER_BLOCKS,      /* the same, reducible to several blocks, with rows and columns permuted */
  ADAPTER_DEFINITE,    /* Hermitian positive definite */
  ADAPTER_INDEFINITE   /* Hermitian, diagonally dominant, with both signs: L D L^T needs no pivoting */
} adapter_kind;

static inline void random_permutation(int *p, int n, uint64_t *state) {
  for (int i = 0; i < n; i++) p[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int k = (int)(next_random(state) % (uint64_t)(i + 1)), t = p[i];
    p[i] = p[k];
    p[k] = t;
  }
}

static inline double complex random_scalar(int parts, uint64_t *state) {
  const double re = (double)next_random(state) / 1073741824.0 - 1.0;
  const double im = (double)next_random(state) / 1073741824.0 - 1.0;
  return parts == 2 ? re + im * I : re;
}

/* Makes a dense matrix, column-major. Its nonzero entries define the pattern. */
static inline void fill_unsymmetric(double complex *a, int n, int blocks, int parts, uint64_t *state) {
  OWNED int *rows = malloc((size_t)n * sizeof *rows), *cols = malloc((size_t)n * sizeof *cols);
  random_permutation(rows, n, state);
  random_permutation(cols, n, state);
  for (int j = 0; j < n; j++) {
    const int block = j * blocks / n; /* column j is in the block of columns begin .. end - 1 */
    const int begin = (block * n + blocks - 1) / blocks, end = ((block + 1) * n + blocks - 1) / blocks;
    double complex *column = a + cols[j] * n;
    for (int k = 0; k < 4; k++)
      column[rows[next_random(state) % (uint64_t)end]] += random_scalar(parts, state);
    /* Large entries in a cycle next to the diagonal make each block irreducible and nonsingular. */
    column[rows[j + 1 < end ? j + 1 : begin]] += 3 + random_scalar(parts, state);
    column[rows[j]] += 0.01 * random_scalar(parts, state);
  }
}

static inline void fill_hermitian(double complex *a, int n, int indefinite, int parts, uint64_t *state) {
  for (int j = 0; j < n; j++)
    for (int k = 0; k < 3; k++) {
      const int i = (int)(next_random(state) % (uint64_t)n);
      const double complex value = random_scalar(parts, state);
      if (i == j) continue;
      a[i + j * n] += value;
      a[j + i * n] += conj(value);
    }
  for (int j = 0; j < n; j++) {
    double sum = 0.5;
    for (int i = 0; i < n; i++) sum += i == j ? 0 : cabs(a[i + j * n]);
    a[j + j * n] = indefinite && j % 3 == 0 ? -sum : sum;
  }
}

static inline void adapter_matrix_create(adapter_kind kind, int n, int parts, uint64_t seed,
                                         adapter_matrix *m) {
  OWNED double complex *a = calloc((size_t)n * (size_t)n, sizeof *a);
  uint64_t state = seed;
  int64_t count = 0;
  CHECK(a != NULL);
  if (kind <= ADAPTER_BLOCKS)
    fill_unsymmetric(a, n, kind == ADAPTER_BLOCKS ? 7 : 1, parts, &state);
  else
    fill_hermitian(a, n, kind == ADAPTER_INDEFINITE, parts, &state);
  for (int k = 0; k < n * n; k++) count += a[k] != 0;
  *m = (adapter_matrix){.n = n, .parts = parts};
  m->ptr = calloc((size_t)n + 1, sizeof *m->ptr);
  m->row = malloc((size_t)count * sizeof *m->row);
  m->long_ptr = calloc((size_t)n + 1, sizeof *m->long_ptr);
  m->long_row = malloc((size_t)count * sizeof *m->long_row);
  m->values = malloc((size_t)(count * parts) * sizeof *m->values);
  for (int j = 0, p = 0; j < n; j++) {
    for (int i = 0; i < n; i++) {
      const double complex value = a[i + j * n];
      if (value == 0) continue;
      m->long_row[p] = m->row[p] = i;
      m->values[p * parts] = creal(value);
      if (parts == 2) m->values[p * parts + 1] = cimag(value);
      p++;
    }
    m->long_ptr[j + 1] = m->ptr[j + 1] = p;
  }
  m->view = (tristar_view){.format = TRISTAR_CSC,
                           .symmetry = TRISTAR_GENERAL,
                           .scalar = parts == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                           .rows = n,
                           .cols = n,
                           .ptr = m->ptr,
                           .index = m->row,
                           .values = m->values,
                           .ptr_bits = 32,
                           .index_bits = 32};
}

/* Makes new values with the same pattern: D A D with a random positive D, and a change of a few percent on
 * the diagonal. A Hermitian matrix stays Hermitian. */
static inline void adapter_matrix_change(adapter_matrix *m, uint64_t seed) {
  OWNED double *d = malloc((size_t)m->n * sizeof *d);
  fill_random(d, m->n, seed);
  for (int j = 0; j < m->n; j++)
    for (int p = m->ptr[j]; p < m->ptr[j + 1]; p++) {
      const double factor = (1 + 0.2 * d[j]) * (1 + 0.2 * d[m->row[p]]) * (m->row[p] == j ? 1.05 : 1);
      for (int part = 0; part < m->parts; part++) m->values[p * m->parts + part] *= factor;
    }
}

static inline void adapter_matrix_destroy(adapter_matrix *m) {
  free(m->ptr);
  free(m->row);
  free(m->long_ptr);
  free(m->long_row);
  free(m->values);
}

/* Computes x = op(A)^-1 b for one right-hand side with the other solver. */
typedef void (*adapter_solve)(void *arg, tristar_op op, const double *b, double *x);

static inline void check_close(const double *x, const double *y, int64_t count, const char *what) {
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs(y[i]));
    apart = larger_error(apart, fabs(x[i] - y[i]));
  }
  CHECK_MSG(apart <= 1e-11 * largest, "%s: the solutions are %.1e of %.1e apart", what, apart, largest);
}

/* A plan gives the solutions of the other solver: for N, T, C, and 1 and 3 right-hand sides. */
static inline void check_plan(tristar_plan_t *plan, const adapter_matrix *m, adapter_solve solve, void *arg) {
  enum { NRHS = 3 };
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int64_t ld = m->n + 2, size = ld * m->parts;
  OWNED double *b = malloc((size_t)(NRHS * size) * sizeof *b), *x = malloc((size_t)(NRHS * size) * sizeof *x);
  OWNED double *y = malloc((size_t)size * sizeof *y);
  char what[64];
  for (int o = 0; o < 3; o++)
    for (int nrhs = 1; nrhs <= NRHS; nrhs += 2) {
      fill_random(b, NRHS * size, (uint64_t)(o + nrhs));
      CHECK_OK(tristar_solve(plan, ops[o], nrhs, b, ld, x, ld));
      for (int k = 0; k < nrhs; k++) {
        solve(arg, ops[o], b + k * size, y);
        snprintf(what, sizeof what, "op %c, right-hand side %d of %d", (char)ops[o], k, nrhs);
        check_close(x + k * size, y, (int64_t)m->n * m->parts, what);
      }
    }
}

/* With the imported matrix refinement reduces the backward error to roundoff. */
static inline void check_refined(tristar_plan_t *plan, const adapter_matrix *m) {
  const int64_t size = (int64_t)m->n * m->parts;
  OWNED double *b = malloc((size_t)size * sizeof *b), *x = malloc((size_t)size * sizeof *x);
  tristar_refine_result result;
  double reciprocal;
  fill_random(b, size, 9);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, m->n, x, m->n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-14, "backward error %.1e", result.backward_error);
  CHECK_OK(tristar_condition(plan, &reciprocal));
  CHECK(reciprocal > 1e-12 && reciprocal <= 1);
}

/* Checks plans of every engine, with large and small chunks. */
static inline void check_factor(tristar_factor_t *factor, const adapter_matrix *m, adapter_solve solve,
                                void *arg) {
  for (int engine = TRISTAR_ENGINE_SERIAL; engine <= TRISTAR_ENGINE_TASKS; engine++)
    for (int small = 0; small < 2; small++) {
      tristar_plan_options options = DEFAULTS(tristar_plan_options);
      options.engine = (tristar_engine)engine;
      if (small) options.chunk_bytes_max = options.chunk_bytes_min = 1000;
      tristar_plan_t *plan = NEW_PLAN(factor, &options);
      check_plan(plan, m, solve, arg);
      check_refined(plan, m);
      tristar_plan_destroy(&plan);
    }
}

/* Exponents that make the reciprocals of some row sums infinite and of others subnormal. */
static inline int extreme_exponent(int row) {
  return row % 5 == 2 ? -1027 : row % 7 == 3 ? 1021 : 0;
}

/* Rounds values to multiples of 2^-10, so that sums of a few values are exact. */
static inline void adapter_matrix_round(adapter_matrix *m) {
  for (int p = 0; p < m->ptr[m->n] * m->parts; p++) m->values[p] = rint(m->values[p] * 512) / 1024;
}

/* Multiplies rows by 2^extreme_exponent, exactly if adapter_matrix_round was called before. */
static inline void adapter_matrix_make_extreme(adapter_matrix *m) {
  for (int p = 0; p < m->ptr[m->n] * m->parts; p++)
    m->values[p] = ldexp(m->values[p], extreme_exponent(m->row[p / m->parts]));
}

/* Computes b = op(A) x exactly, for an extreme matrix and x_i = z_i 2^exponent[i]; z is a multiple of
 * 1/16. */
static inline void extreme_product(const adapter_matrix *m, tristar_op op, const double *z,
                                   const int *exponent, double *b) {
  const int parts = m->parts;
  for (int v = 0; v < m->n * parts; v++) b[v] = 0;
  for (int j = 0; j < m->n; j++)
    for (int p = m->ptr[j]; p < m->ptr[j + 1]; p++)
      for (int part = 0; part < parts; part++) {
        const int i = m->row[p], of = op == TRISTAR_N ? j : i, to = op == TRISTAR_N ? i : j;
        const double sign = op == TRISTAR_C && part == 1 ? -1 : 1;
        b[parts * to + part] += sign * ldexp(m->values[parts * p + part] * z[of], exponent[of]);
      }
}

/* Solves with extreme rows give the known solution; each entry is compared relative to its own size. The
 * estimated condition is that of a regular matrix. */
static inline void check_extreme_plan(tristar_plan_t *plan, const adapter_matrix *m) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = m->n, parts = m->parts;
  OWNED double *b = malloc((size_t)(n * parts) * sizeof *b), *x = malloc((size_t)(n * parts) * sizeof *x);
  OWNED double *z = malloc((size_t)n * sizeof *z);
  OWNED int *exponent = malloc((size_t)n * sizeof *exponent);
  uint64_t state = 7;
  double reciprocal;
  CHECK_OK(tristar_condition(plan, &reciprocal));
  CHECK_MSG(reciprocal > 1e-12, "1 / condition is %g", reciprocal);
  for (int o = 0; o < 3; o++)
    for (int refined = 0; refined < 2; refined++) {
      for (int i = 0; i < n; i++) {
        const int e = ops[o] == TRISTAR_N ? 0 : extreme_exponent(i);
        z[i] = ((double)(next_random(&state) % 16) + 1) / 16;
        exponent[i] = e < 0 ? 1022 : -e;
      }
      extreme_product(m, ops[o], z, exponent, b);
      CHECK_OK(refined ? tristar_solve_refined(plan, ops[o], 1, b, n, x, n, NULL, NULL)
                       : tristar_solve(plan, ops[o], 1, b, n, x, n));
      for (int i = 0; i < n; i++) {
        const double re = ldexp(x[parts * i], -exponent[i]);
        const double im = parts == 2 ? ldexp(x[parts * i + 1], -exponent[i]) : 0;
        CHECK_MSG(fabs(re - z[i]) <= 1e-11 && fabs(im) <= 1e-11, "op %c, refined %d, row %d: %.3e off",
                  (char)ops[o], refined, i, hypot(re - z[i], im));
      }
    }
}

/* The latest message of the context must contain this text. */
static inline void check_message(tristar_t *ts, const char *text) {
  CHECK_ERROR(ts, text);
}
