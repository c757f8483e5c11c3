/* Random factors L, D, U of unrelated structures, as dense matrices and as views for an import, in every
 * format, with permutations and scalings of both signs. */
#pragma once

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_triangle.h"
#undef I

typedef double _Complex number;

/* The factors as dense matrices, by rows. */
typedef struct dense {
  int n;
  bool is_complex, hermitian;
  tristar_method method;
  number *l, *d, *u, *a; /* n x n, d: n; a: the matrix itself */
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} dense;

static uint64_t state = 1;

static inline double uniform(void) {
  return (double)next_random(&state) / 1073741824.0 - 1.0;
}
static inline number entry(const dense *m) {
  number x = uniform();
  if (m->is_complex) __imag__ x = uniform();
  return x;
}
static inline int below(int limit) {
  return (int)(next_random(&state) % (uint64_t)limit);
}

static inline void shuffle(int64_t *order, int n) {
  for (int k = 0; k < n; k++) order[k] = k;
  for (int k = n; k > 1; k--) {
    const int j = below(k);
    const int64_t keep = order[k - 1];
    order[k - 1] = order[j];
    order[j] = keep;
  }
}

/* Draws entries below the diagonal: independent blocks of columns that are coupled to the last columns, so
 * that there is a tree. The two factors have different entries. */
static inline void draw_lower(const dense *m, number *l, bool transposed) {
  const int n = m->n, blocks = 6, tail = n / 5;
  for (int j = 0; j < n; j++)
    for (int i = j + 1; i < n; i++) {
      const bool coupled = i >= n - tail || i * blocks / (n - tail) == j * blocks / (n - tail);
      if (coupled && below(100) < 12) l[transposed ? j * n + i : i * n + j] = 0.5 * entry(m);
    }
}

static inline void multiply_factors(dense *m) {
  const int n = m->n;
  for (int k = 0; k < n; k++)
    for (int l = 0; l < n; l++) {
      number sum = 0;
      for (int q = 0; q <= (k < l ? k : l); q++) sum += m->l[k * n + q] * m->d[q] * m->u[q * n + l];
      const int64_t r = m->row_order[k], c = m->column_order[l];
      m->a[r * n + c] = sum / (m->row_scale[r] * m->column_scale[c]);
    }
}

static inline dense draw(int n, bool is_complex, tristar_method method, bool hermitian) {
  dense m = {.n = n, .is_complex = is_complex, .method = method, .hermitian = hermitian};
  const size_t size = (size_t)n * (size_t)n + 1;
  m.l = calloc(size, sizeof *m.l);
  m.u = calloc(size, sizeof *m.u);
  m.a = calloc(size, sizeof *m.a);
  m.d = calloc(size, sizeof *m.d);
  m.row_order = calloc(size, sizeof *m.row_order);
  m.column_order = calloc(size, sizeof *m.column_order);
  m.row_scale = calloc(size, sizeof *m.row_scale);
  m.column_scale = calloc(size, sizeof *m.column_scale);
  const bool symmetric = method != TRISTAR_METHOD_LU;
  const bool alike =
      symmetric && below(2); /* rows and columns have one order and one scaling: A is symmetric */
  draw_lower(&m, m.l, false);
  if (!symmetric) draw_lower(&m, m.u, true);
  shuffle(m.row_order, n);
  shuffle(m.column_order, n);
  for (int k = 0; k < n; k++) {
    m.l[k * n + k] = method == TRISTAR_METHOD_LLT ? 1.5 + 0.4 * uniform() : 1;
    m.d[k] = 1;
    if (method == TRISTAR_METHOD_LDLT) {
      m.d[k] = 2 + uniform();
      if (below(2)) m.d[k] = -m.d[k];
      if (is_complex && !hermitian) m.d[k] += 0.5 * entry(&m);
    }
    if (!symmetric) m.u[k * n + k] = 1.5 + 0.3 * entry(&m);
    m.row_scale[k] = (below(4) ? 1 : -1) * exp(uniform());
    m.column_scale[k] = (below(4) ? 1 : -1) * exp(uniform());
    if (alike) m.column_order[k] = m.row_order[k];
  }
  for (int k = 0; symmetric && k < n; k++) {
    if (alike) m.column_scale[k] = m.row_scale[k];
    for (int l = 0; l < n; l++) m.u[k * n + l] = hermitian ? conj(m.l[l * n + k]) : m.l[l * n + k];
  }
  multiply_factors(&m);
  return m;
}

static inline void release(dense *m) {
  free(m->l);
  free(m->d);
  free(m->u);
  free(m->a);
  free(m->row_order);
  free(m->column_order);
  free(m->row_scale);
  free(m->column_scale);
}

/* ---- Views --------------------------------------------------------------------------------------------- */

/* Arrays behind a tristar_triangle. */
typedef struct arrays {
  int64_t *ptr, *end, *index;
  int32_t *ptr32, *index32, *first32;
  void *values;
  const void **blocks;
} arrays;

static inline void put_given(const dense *m, void *values, int64_t at, number x) {
  if (m->is_complex)
    ((number *)values)[at] = x;
  else
    ((double *)values)[at] = creal(x);
}

/* Compressed columns or rows; gaps between the lines, entries in any order, some twice. */
static inline tristar_triangle compress(const dense *m, const number *t, bool by_rows, bool unit, arrays *a) {
  const int n = m->n;
  int64_t at = 0;
  a->ptr = calloc((size_t)n + 1, sizeof *a->ptr);
  a->end = calloc((size_t)n + 1, sizeof *a->end);
  a->index = calloc(3 * (size_t)n * (size_t)n + 8, sizeof *a->index);
  a->values = calloc(3 * (size_t)n * (size_t)n + 8, sizeof(number));
  for (int j = 0; j < n; j++) {
    a->ptr[j] = at;
    const int turn = below(n);
    for (int q = 0; q < n; q++) {
      const int i = (q + turn) % n;
      const number x = by_rows ? t[j * n + i] : t[i * n + j];
      if (x == 0 || (unit && i == j && below(2))) continue;
      const bool twice = below(10) == 0;
      for (int half = 0; half <= twice; half++) {
        a->index[at] = i;
        put_given(m, a->values, at++, twice ? x / 2 : x);
      }
    }
    a->end[j] = at;
    at += below(3);
  }
  a->ptr[n] = at;
  return (tristar_triangle){.format = by_rows ? TRISTAR_TRIANGLE_ROWS : TRISTAR_TRIANGLE_COLUMNS,
                            .unit_diagonal = unit,
                            .ptr_bits = 64,
                            .index_bits = 64,
                            .ptr = a->ptr,
                            .end = a->end,
                            .index = a->index,
                            .values = a->values};
}

/* Makes supernodes of up to 5 columns with the union of their rows; rows below are in descending order.
 * Entries above the diagonal are garbage. */
static inline tristar_triangle block_columns(const dense *m, const number *t, bool unit, arrays *a) {
  const int n = m->n;
  int32_t at = 0, supernodes = 0;
  size_t value = 0;
  a->ptr32 = calloc((size_t)n + 1, sizeof *a->ptr32);
  a->first32 = calloc((size_t)n + 1, sizeof *a->first32);
  a->index32 = calloc((size_t)n * (size_t)n + 1, sizeof *a->index32);
  a->values = calloc((size_t)n * (size_t)n * 5 + 1, sizeof(number));
  a->blocks = calloc((size_t)n + 1, sizeof *a->blocks);
  for (int first = 0, end; first < n; first = end) {
    end = first + 1 + below(5);
    if (end > n) end = n;
    a->first32[supernodes] = first;
    a->ptr32[supernodes] = at;
    a->blocks[supernodes++] = (char *)a->values + value * (m->is_complex ? sizeof(number) : sizeof(double));
    const int32_t begin = at;
    for (int i = first; i < end; i++) a->index32[at++] = i;
    for (int i = n - 1; i >= end; i--) {
      bool any = false;
      for (int j = first; j < end; j++) any |= t[i * n + j] != 0;
      if (any) a->index32[at++] = i;
    }
    for (int j = first; j < end; j++)
      for (int32_t q = begin; q < at; q++, value++) {
        const int i = a->index32[q];
        put_given(m, a->values, (int64_t)value, i < j ? NAN : unit && i == j ? 77 : t[i * n + j]);
      }
  }
  a->first32[supernodes] = n;
  a->ptr32[supernodes] = at;
  return (tristar_triangle){.format = TRISTAR_TRIANGLE_SUPERNODES,
                            .unit_diagonal = unit,
                            .ptr_bits = 32,
                            .index_bits = 32,
                            .ptr = a->ptr32,
                            .index = a->index32,
                            .supernodes = supernodes,
                            .first = a->first32,
                            .blocks = a->blocks};
}

static inline void release_arrays(arrays *a) {
  free(a->ptr);
  free(a->end);
  free(a->index);
  free(a->ptr32);
  free(a->index32);
  free(a->first32);
  free(a->values);
  free(a->blocks);
  memset(a, 0, sizeof *a);
}

typedef struct given_view {
  tristar_factors factors;
  arrays lower, upper;
  void *diagonal, *matrix_values;
  int64_t *matrix_ptr, *matrix_index;
  tristar_view matrix;
} given_view;

/* format of L: 0 columns, 1 rows, 2 supernodes. If L is by columns, U is by rows. */
static inline void make_view(const dense *m, int format, bool with_matrix, given_view *v) {
  const int n = m->n;
  memset(v, 0, sizeof *v);
  tristar_factors_init(&v->factors);
  v->factors.n = n;
  v->factors.scalar = m->is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
  v->factors.method = m->method;
  v->factors.hermitian = m->hermitian;
  const bool unit = m->method != TRISTAR_METHOD_LLT;
  v->factors.lower =
      format == 2 ? block_columns(m, m->l, unit, &v->lower) : compress(m, m->l, format == 1, unit, &v->lower);
  if (m->method == TRISTAR_METHOD_LU) v->factors.upper = compress(m, m->u, format != 1, false, &v->upper);
  v->diagonal = calloc((size_t)n + 1, sizeof(number));
  for (int k = 0; k < n; k++) put_given(m, v->diagonal, k, m->d[k]);
  v->factors.diagonal = v->diagonal;
  v->factors.row_order = m->row_order;
  v->factors.column_order = m->column_order;
  v->factors.row_scale = m->row_scale;
  v->factors.column_scale = m->column_scale;
  v->matrix_ptr = calloc((size_t)n + 1, sizeof *v->matrix_ptr);
  v->matrix_index = calloc((size_t)n * (size_t)n + 1, sizeof *v->matrix_index);
  v->matrix_values = calloc((size_t)n * (size_t)n + 1, sizeof(number));
  for (int64_t r = 0; r < n; r++) {
    for (int64_t c = 0; c < n; c++) {
      v->matrix_index[r * n + c] = c;
      put_given(m, v->matrix_values, r * n + c, m->a[r * n + c]);
    }
    v->matrix_ptr[r + 1] = (r + 1) * n;
  }
  v->matrix = (tristar_view){.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_GENERAL,
                             .scalar = v->factors.scalar,
                             .rows = n,
                             .cols = n,
                             .ptr = v->matrix_ptr,
                             .index = v->matrix_index,
                             .values = v->matrix_values,
                             .ptr_bits = 64,
                             .index_bits = 64};
  if (with_matrix) v->factors.matrix = &v->matrix;
}

static inline void release_view(given_view *v) {
  release_arrays(&v->lower);
  release_arrays(&v->upper);
  free(v->diagonal);
  free(v->matrix_ptr);
  free(v->matrix_index);
  free(v->matrix_values);
}
