/* triangle_plain [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]: a plain sweep, the reference for all
 * others, x_i = (b_i - sum over j of t_ij x_j) / t_ii, row by row, on one thread. See triangle.h.
 *
 * Off-diagonal entries are stored row by row, with 32-bit integers. A row ends with a division by its
 * diagonal entry or with a product by its inverse: the program tries both and uses the faster one. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/peers/triangle.h"

typedef struct plain {
  bool upper;
  int32_t n;
  int32_t *ptr, *index;
  double *values, *diagonal, *inverse;
} plain;

static void split(const peer *p, plain *t) {
  peer_compressed rows;
  peer_compress(p, true, &rows);
  const double *values = rows.values;
  int32_t kept = 0;
  *t = (plain){.upper = p->uplo == 'U', .n = (int32_t)p->n, .ptr = rows.ptr, .index = rows.index};
  t->values = rows.values;
  t->diagonal = peer_allocate(p->n, sizeof *t->diagonal);
  t->inverse = peer_allocate(p->n, sizeof *t->inverse);
  for (int32_t i = 0, begin = 0; i < t->n; i++) {
    const int32_t end = rows.ptr[i + 1];
    for (int32_t e = begin; e < end; e++) {
      if (rows.index[e] == i)
        t->diagonal[i] = values[e];
      else {
        t->index[kept] = rows.index[e];
        t->values[kept++] = values[e];
      }
    }
    t->inverse[i] = 1 / t->diagonal[i];
    t->ptr[i + 1] = kept;
    begin = end;
  }
}

/* Returns b_i minus the products of row i with previous rows. */
static inline double subtract(const plain *t, const double *b, const double *x, int32_t i) {
  double sum = b[i];
  for (int32_t e = t->ptr[i]; e < t->ptr[i + 1]; e++) sum -= t->values[e] * x[t->index[e]];
  return sum;
}

static void divide(void *solver, const double *b, double *x) {
  const plain *t = solver;
  if (t->upper)
    for (int32_t i = t->n; i-- > 0;) x[i] = subtract(t, b, x, i) / t->diagonal[i];
  else
    for (int32_t i = 0; i < t->n; i++) x[i] = subtract(t, b, x, i) / t->diagonal[i];
}

static void multiply(void *solver, const double *b, double *x) {
  const plain *t = solver;
  if (t->upper)
    for (int32_t i = t->n; i-- > 0;) x[i] = subtract(t, b, x, i) * t->inverse[i];
  else
    for (int32_t i = 0; i < t->n; i++) x[i] = subtract(t, b, x, i) * t->inverse[i];
}

void triangle_solve_real(peer *p) {
  plain t;
  const double begin = peer_seconds();
  split(p, &t);
  p->factor_s = peer_seconds() - begin;
  snprintf(p->solver, sizeof p->solver, "plain sweep");
  const bool inverse = triangle_try(p, false, multiply, &t) <= triangle_try(p, false, divide, &t);
  p->method = inverse ? "products by the inverse diagonal" : "divisions by the diagonal";
  p->nnz_factor = (double)t.ptr[t.n] + (double)t.n;
  triangle_rounds(p, false, inverse ? multiply : divide, &t);
  free(t.ptr);
  free(t.index);
  free(t.values);
  free(t.diagonal);
  free(t.inverse);
}
