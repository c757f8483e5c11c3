/* Matrices with widely different scales of rows and columns, their factors, and rounding errors of solves. */
#pragma once

#include "tests/support/dense_systems.h"
#include "tristar_triangle.h"

/* A = L D U with L, D, U rounded to the type. Solves use `a` or their product. */
typedef struct factored {
  dense a, lower, upper;
  number middle[N_MAX];
  int64_t row_order[N_MAX];
} factored;

static inline number draw(uint64_t *state, bool complex_too) {
  number x = (long double)next_random(state) / 1073741824 - 1;
  if (complex_too) __imag__ x = (long double)next_random(state) / 1073741824 - 1;
  return x;
}

static inline number conjugate_if(number x, bool conjugated) {
  return conjugated ? conjl(x) : x;
}

static inline int draw_exponent(uint64_t *state, int most) {
  return (int)(next_random(state) % (uint64_t)(2 * most + 1)) - most;
}

/* Rounds all entries as they are stored. */
static inline void round_entries(dense *m, tristar_scalar scalar) {
  double _Complex one;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      put(scalar, &one, 0, m->a[i][j]);
      m->a[i][j] = get(scalar, &one, 0);
    }
}

/* A matrix for the method with a full diagonal, in units of rows and columns of at most 2^+-most. */
static inline void make_matrix(dense *m, tristar_method method, tristar_scalar scalar, int most,
                               uint64_t *state) {
  const bool mixed = is_complex(scalar), symmetric = method != TRISTAR_METHOD_LU;
  number b[N_MAX][N_MAX];
  m->n = 2 + (int)(next_random(state) % (N_MAX - 1));
  const uint64_t share = 1 + next_random(state) % 9; /* number of nonzeros in ten entries */
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      const bool stored = i == j || next_random(state) % 10 < share;
      b[i][j] = stored ? draw(state, mixed) : 0;
    }
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      number sum = symmetric && j > i ? conjl(b[j][i]) : b[i][j];
      if (method == TRISTAR_METHOD_LLT) {
        sum = i == j ? 0.01L : 0;
        for (int k = 0; k < m->n; k++) sum += b[i][k] * conjl(b[j][k]);
      }
      m->a[i][j] = symmetric && i == j ? creall(sum) : sum;
    }
  for (int i = 0; i < m->n; i++) {
    m->row_exponent[i] = draw_exponent(state, most);
    m->column_exponent[i] = symmetric ? m->row_exponent[i] : draw_exponent(state, most);
  }
  round_entries(m, scalar);
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) m->a[i][j] *= ldexpl(1, m->row_exponent[i] + m->column_exponent[j]);
}

/* Elimination with row exchanges (LU: of the matrix in even units) in long double. */
static inline void factor_it(factored *f, tristar_method method, tristar_scalar scalar) {
  const int n = f->a.n;
  number w[N_MAX][N_MAX];
  memcpy(w, f->a.a, sizeof w);
  memset(f->lower.a, 0, sizeof f->lower.a);
  memset(f->upper.a, 0, sizeof f->upper.a);
  f->lower.n = f->upper.n = n;
  for (int i = 0; i < n; i++) f->row_order[i] = i;
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k; i < n && method == TRISTAR_METHOD_LU; i++)
      if (ldexpl(cabsl(w[i][k]), -f->a.row_exponent[f->row_order[i]]) >
          ldexpl(cabsl(w[pivot][k]), -f->a.row_exponent[f->row_order[pivot]]))
        pivot = i;
    for (int j = 0; j < n; j++) {
      const number swap = w[k][j];
      w[k][j] = w[pivot][j];
      w[pivot][j] = swap;
    }
    const int64_t row = f->row_order[k];
    f->row_order[k] = f->row_order[pivot];
    f->row_order[pivot] = row;
    for (int i = k + 1; i < n; i++) {
      w[i][k] /= w[k][k];
      for (int j = k + 1; j < n; j++) w[i][j] -= w[i][k] * w[k][j];
    }
  }
  const bool root = method == TRISTAR_METHOD_LLT;
  for (int j = 0; j < n; j++) {
    const long double d = root ? sqrtl(creall(w[j][j])) : 1;
    f->middle[j] = method == TRISTAR_METHOD_LDLT ? creall(w[j][j]) : 1;
    for (int i = j; i < n; i++) f->lower.a[i][j] = (i == j ? 1 : w[i][j]) * d;
    for (int i = 0; i <= j && method == TRISTAR_METHOD_LU; i++) f->upper.a[i][j] = w[i][j];
  }
  round_entries(&f->lower, scalar);
  round_entries(&f->upper, scalar);
  for (int i = 0; i < n && method != TRISTAR_METHOD_LU; i++)
    for (int j = 0; j < n; j++) f->upper.a[j][i] = conjl(f->lower.a[i][j]);
  for (int j = 0; j < n && method == TRISTAR_METHOD_LDLT; j++) {
    double _Complex one;
    put(scalar, &one, 0, f->middle[j]);
    f->middle[j] = get(scalar, &one, 0);
  }
}

/* Entries of op(A), and the scale of their rounding errors: |op(A)| itself, or |L| |D| |U|. */
typedef struct truth {
  number a[N_MAX][N_MAX];
  long double size[N_MAX][N_MAX];
} truth;

static inline void find_truth(const factored *f, bool with_matrix, tristar_op op, truth *t) {
  const int n = f->a.n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const int64_t row = with_matrix ? i : f->row_order[i];
      number sum = 0;
      long double size = 0;
      for (int k = 0; k < n && !with_matrix; k++) {
        const number term = f->lower.a[i][k] * f->middle[k] * f->upper.a[k][j];
        sum += term;
        size += cabsl(term);
      }
      if (with_matrix) {
        sum = f->a.a[i][j];
        size = cabsl(sum);
      }
      t->a[op == TRISTAR_N ? row : j][op == TRISTAR_N ? j : row] = conjugate_if(sum, op == TRISTAR_C);
      t->size[op == TRISTAR_N ? row : j][op == TRISTAR_N ? j : row] = size;
    }
}

/* b = op(A) x, rounded. */
static inline void multiply_truth(const truth *t, int n, tristar_scalar scalar, const void *x, void *b) {
  for (int i = 0; i < n; i++) {
    number sum = 0;
    for (int j = 0; j < n; j++) sum += t->a[i][j] * get(scalar, x, j);
    put(scalar, b, i, sum);
  }
}

static inline long double error_of(const truth *t, int n, tristar_scalar scalar, const void *b,
                                   const void *x) {
  long double worst = 0, x_size[N_MAX];
  for (int j = 0; j < n; j++) x_size[j] = cabsl(get(scalar, x, j));
  for (int i = 0; i < n; i++) {
    number rest = get(scalar, b, i);
    long double size = cabsl(rest);
    for (int j = 0; j < n; j++) {
      rest -= t->a[i][j] * get(scalar, x, j);
      size += t->size[i][j] * x_size[j];
    }
    if (!(cabsl(rest) <= worst * size)) worst = cabsl(rest) / size;
  }
  return worst;
}

static inline int32_t list_triangle(const dense *m, tristar_scalar scalar, bool upper, int32_t *ptr,
                                    int32_t *index, void *values) {
  int32_t at = 0;
  for (int j = 0; j < m->n; j++) {
    ptr[j] = at;
    for (int i = j; i < m->n; i++) {
      put(scalar, values, at, upper ? m->a[j][i] : m->a[i][j]);
      index[at++] = i;
    }
  }
  return ptr[m->n] = at;
}

/* row_scale: NULL: ones. */
static inline tristar_factor_t *import_scaled(tristar_t *ts, const factored *f, tristar_method method,
                                              tristar_scalar scalar, const double *row_scale,
                                              const tristar_view *matrix) {
  int32_t ptr[2][N_MAX + 1], index[2][N_MAX * N_MAX];
  double _Complex values[2][N_MAX * N_MAX], middle[N_MAX];
  tristar_factors factors;
  tristar_factor_t *made;
  tristar_factors_init(&factors);
  factors.n = f->a.n;
  factors.scalar = scalar;
  factors.method = method;
  factors.hermitian = method != TRISTAR_METHOD_LU && is_complex(scalar);
  factors.row_order = f->row_order;
  factors.row_scale = row_scale;
  factors.matrix = matrix;
  for (int upper = 0; upper < 2; upper++) {
    tristar_triangle *t = upper ? &factors.upper : &factors.lower;
    tristar_triangle_init(t);
    if (upper) t->format = TRISTAR_TRIANGLE_ROWS;
    list_triangle(upper ? &f->upper : &f->lower, scalar, upper, ptr[upper], index[upper], values[upper]);
    t->ptr = ptr[upper];
    t->index = index[upper];
    t->values = values[upper];
  }
  for (int k = 0; k < f->a.n; k++) put(scalar, middle, k, f->middle[k]);
  if (method == TRISTAR_METHOD_LDLT) factors.diagonal = middle;
  CHECK_OK(tristar_import_supernodal(ts, &factors, &made));
  return made;
}
static inline tristar_factor_t *import(tristar_t *ts, const factored *f, tristar_method method,
                                       tristar_scalar scalar, const tristar_view *matrix) {
  return import_scaled(ts, f, method, scalar, NULL, matrix);
}

static inline int units_of(tristar_scalar scalar) {
  return is_single(scalar) ? 12 : 45;
}

/* Returns the bound for errors of plain solves. */
static inline double bound_of(tristar_scalar scalar) {
  return is_single(scalar) ? 5e-3 : 1e-10;
}
