/* Small triangular systems whose matrix is a row and column permutation of a scaled triangle, for the tests
 * of permuted triangles. */
#pragma once

#include "tests/support/triangles.h"
#include "tests/support/typed.h"

enum { NRHS = 5, MOST = 64 };

/* A triangle T, dense and as a view, and its permutations and scalings in A. */
typedef struct problem {
  const typed *t;
  int32_t n;
  bool upper, unit, by_rows, permuted, clean; /* clean: the other triangle is empty */
  tristar_op op;
  number dense[MOST][MOST]; /* a unit triangle has ones on its diagonal */
  int64_t ptr[MOST + 1];
  int32_t index[MOST * MOST];
  char values[MOST * MOST * sizeof(number)];
  bool with_row_order, with_column_order, with_row_scale, with_column_scale;
  int64_t row_order[MOST], column_order[MOST];
  double row_scale[MOST], column_scale[MOST];
} problem;

static inline void make_order(int32_t n, bool enabled, uint64_t *seed, int64_t *order) {
  for (int32_t k = 0; k < n; k++) order[k] = k;
  for (int32_t k = n; k-- > 1 && enabled;) {
    const int32_t other = (int32_t)(next_random(seed) % (uint64_t)(k + 1));
    const int64_t keep = order[k];
    order[k] = order[other];
    order[other] = keep;
  }
}

static inline void make_scale(int32_t n, bool enabled, uint64_t *seed, double *scale) {
  for (int32_t k = 0; k < n; k++) {
    const double size = 0.5 + (double)(next_random(seed) % 1000) / 700;
    scale[k] = !enabled ? 1 : next_random(seed) % 2 ? size : -size;
  }
}

static inline number value_of(const problem *p, int32_t i, int32_t j) {
  double part[2];
  fill_random(part, 2, (uint64_t)i * 7919u + (uint64_t)j);
  number a = part[0];
  __imag__ a = p->t->is_complex ? part[1] : 0;
  char rounded[sizeof a] = {0};
  put(p->t, rounded, 0, i == j ? 2 + a / 2 : 2 * a / (p->n + 4));
  return get(p->t, rounded, 0);
}

/* Makes T and its view: in triangular order, or with the rows and columns of A. Unless it is clean, the
 * other triangle has entries that must not be read. */
static inline void fill_problem(problem *p, const triangle_pattern *lower) {
  number whole[MOST][MOST];
  bool stored[MOST][MOST];
  int64_t count = 0;
  memset(p->dense, 0, sizeof p->dense);
  memset(stored, 0, sizeof stored);
  for (int32_t i = 0; i < p->n; i++)
    for (int64_t e = lower->ptr[i]; e < lower->ptr[i + 1]; e++) {
      const int32_t k = p->upper ? lower->index[e] : i, l = p->upper ? i : lower->index[e];
      const int64_t r = p->permuted ? p->row_order[k] : k, c = p->permuted ? p->column_order[l] : l;
      p->dense[k][l] = p->unit && k == l ? 1 : value_of(p, k, l);
      whole[r][c] = p->unit && k == l ? 17 : p->dense[k][l];
      stored[r][c] = true;
    }
  if (p->n > 2 && !p->clean) {
    const int32_t k = p->upper ? p->n - 1 : 0, l = p->n - 1 - k;
    const int64_t r = p->permuted ? p->row_order[k] : k, c = p->permuted ? p->column_order[l] : l;
    whole[r][c] = 100;
    stored[r][c] = true;
  }
  for (int32_t j = 0; j < p->n; j++) {
    p->ptr[j] = count;
    for (int32_t i = 0; i < p->n; i++) {
      const int32_t r = p->by_rows ? j : i, c = p->by_rows ? i : j;
      if (!stored[r][c]) continue;
      p->index[count] = i;
      put(p->t, p->values, count++, whole[r][c]);
    }
  }
  p->ptr[p->n] = count;
}

static inline tristar_view view_of(const problem *p) {
  return stored_view(p->by_rows ? TRISTAR_CSR : TRISTAR_CSC, TRISTAR_GENERAL, p->t->scalar, p->n, p->n,
                     p->ptr, p->index, p->values);
}

static inline tristar_triangle_options options_of(const problem *p, tristar_partition partition) {
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  o.uplo = p->upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.diag = p->unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
  o.partition = partition;
  if (p->with_row_order) o.row_order = p->row_order;
  if (p->with_column_order) o.column_order = p->column_order;
  if (p->with_row_scale) o.row_scale = p->row_scale;
  if (p->with_column_scale) o.column_scale = p->column_scale;
  o.permuted = p->permuted;
  return o;
}

/* x := op(A)^-1 b in double, by a substitution with T. */
static inline void solve_dense(const problem *p, const number *b, number *x) {
  const bool plain = p->op == TRISTAR_N, lower = p->upper != plain;
  const int64_t *in = plain ? p->row_order : p->column_order, *out = plain ? p->column_order : p->row_order;
  const double *in_scale = plain ? p->row_scale : p->column_scale,
               *out_scale = plain ? p->column_scale : p->row_scale;
  number y[MOST];
  for (int32_t q = 0; q < p->n; q++) {
    const int32_t k = lower ? q : p->n - 1 - q;
    y[k] = in_scale[in[k]] * b[in[k]];
    for (int32_t m = 0; m < q; m++) {
      const int32_t l = lower ? m : p->n - 1 - m;
      const number a = plain ? p->dense[k][l] : p->dense[l][k];
      y[k] -= (p->op == TRISTAR_C ? conj(a) : a) * y[l];
    }
    y[k] /= p->op == TRISTAR_C ? conj(p->dense[k][k]) : p->dense[k][k];
    x[out[k]] = out_scale[out[k]] * y[k];
  }
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

typedef struct factors {
  number alpha, beta;
  char alpha_stored[sizeof(number)], beta_stored[sizeof(number)];
} factors;

/* 0: defaults; 1: alpha 1, beta 0; 2: beta 0; 3: both; 4: x += the solution. */
static inline factors factors_of(const typed *t, int which) {
  factors f = {.alpha = 1, .beta = which == 4};
  if (which == 2 || which == 3) f.alpha = -0.75;
  if (which == 3) f.beta = 1.25;
  if (which == 3 && t->is_complex) __imag__ f.alpha = 0.5, __imag__ f.beta = -0.25;
  put(t, f.alpha_stored, 0, f.alpha);
  put(t, f.beta_stored, 0, f.beta);
  return f;
}

typedef struct vectors {
  char b[MOST * NRHS * sizeof(number)], before[MOST * NRHS * sizeof(number)], x[MOST * NRHS * sizeof(number)];
} vectors;

static inline void fill_vector(const typed *t, int64_t count, uint64_t seed, char *to) {
  for (int64_t i = 0; i < count; i++) put(t, to, i, random_value((uint64_t)i + seed));
}

static inline void copy_apart(const typed *t, int64_t count, int64_t from_step, const char *from,
                              int64_t to_step, char *to) {
  for (int64_t i = 0; i < count; i++)
    memcpy(to + (size_t)(i * to_step) * t->bytes, from + (size_t)(i * from_step) * t->bytes, t->bytes);
}

/* Chooses one of the WAYS in which T is permuted and scaled in A. */
static inline void place(problem *p, int way) {
  uint64_t seed = (uint64_t)way + 11;
  p->with_row_order = way == 1 || way >= 3;
  p->with_column_order = way >= 4;
  p->with_row_scale = way == 2 || way == 3 || way == 5;
  p->with_column_scale = way == 5;
  p->permuted = way == 6 || way == 7;
  make_order(p->n, p->with_row_order, &seed, p->row_order);
  make_order(p->n, p->with_column_order, &seed, p->column_order);
  if (way == 7) memcpy(p->column_order, p->row_order, sizeof p->row_order);
  make_scale(p->n, p->with_row_scale, &seed, p->row_scale);
  make_scale(p->n, p->with_column_scale, &seed, p->column_scale);
}
enum { WAYS = 8 };
