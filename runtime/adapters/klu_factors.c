/* Copies the data of KLU's objects: see klu_factors.h. */
#include "runtime/adapters/klu_factors.h"

#include <stdbool.h>

#include "runtime/adapters/row_divisors.h"
#include "runtime/adapters/widen.h"

static bool has_long(tristar_klu family) {
  return family == TRISTAR_KLU_L || family == TRISTAR_KLU_ZL;
}

static bool is_complex(tristar_klu family) {
  return family == TRISTAR_KLU_Z || family == TRISTAR_KLU_ZL;
}

typedef struct sizes {
  int64_t n, blocks, lower, upper, off, symbolic_n, symbolic_blocks;
} sizes;

static sizes get_sizes(tristar_klu family, const void *Symbolic, const void *Numeric) {
  if (has_long(family)) {
    const klu_l_symbolic *s = Symbolic;
    const klu_l_numeric *m = Numeric;
    return (sizes){m->n, m->nblocks, m->lnz, m->unz, m->nzoff, s->n, s->nblocks};
  }
  const klu_symbolic *s = Symbolic;
  const klu_numeric *m = Numeric;
  return (sizes){m->n, m->nblocks, m->lnz, m->unz, m->nzoff, s->n, s->nblocks};
}

static tristar_status allocate_columns(tristar_t *ts, int64_t n, int64_t count, bool complex_values,
                                       tsi_klu_columns *c) {
  double *values = NULL;
  TSI_TRY(TSI_ALLOC(ts, c->ptr, n + 1));
  TSI_TRY(TSI_ALLOC(ts, c->index, count));
  TSI_TRY(TSI_ALLOC(ts, values, complex_values ? 2 * count : count));
  c->values = values;
  return TRISTAR_OK;
}

static void free_columns(tsi_klu_columns *c) {
  TSI_FREE(c->ptr);
  TSI_FREE(c->index);
  TSI_FREE(c->values);
}

/* Calls klu_*_extract. It stores the imaginary parts after the real parts, so columns.values has twice as
 * many entries. */
static bool extract(tristar_klu family, const void *Symbolic, const void *Numeric, const sizes *s,
                    tsi_klu *w) {
  void *symbolic = (void *)Symbolic, *numeric = (void *)Numeric; /* KLU only reads them here. */
  void *lp = w->lower.ptr, *li = w->lower.index, *up = w->upper.ptr, *ui = w->upper.index;
  void *fp = w->off.ptr, *fi = w->off.index, *p = w->row_order, *q = w->column_order;
  double *lx = w->lower.values, *ux = w->upper.values, *fx = w->off.values, *r = w->row_scale;
  double *lz = lx + s->lower, *uz = ux + s->upper, *fz = fx + s->off;
  klu_common common;
  klu_l_common long_common;
  klu_defaults(&common);
  klu_l_defaults(&long_common);
  switch (family) {
  case TRISTAR_KLU:
    return klu_extract(numeric, symbolic, lp, li, lx, up, ui, ux, fp, fi, fx, p, q, r, NULL, &common);
  case TRISTAR_KLU_Z:
    return klu_z_extract(numeric, symbolic, lp, li, lx, lz, up, ui, ux, uz, fp, fi, fx, fz, p, q, r, NULL,
                         &common);
  case TRISTAR_KLU_L:
    return klu_l_extract(numeric, symbolic, lp, li, lx, up, ui, ux, fp, fi, fx, p, q, r, NULL, &long_common);
  default:
    return klu_zl_extract(numeric, symbolic, lp, li, lx, lz, up, ui, ux, uz, fp, fi, fx, fz, p, q, r, NULL,
                          &long_common);
  }
}

/* Converts KLU's types to int64_t and interleaves real and imaginary parts. */
static tristar_status convert(tristar_t *ts, tristar_klu family, int64_t n, int64_t count,
                              tsi_klu_columns *c) {
  const double *apart = c->values;
  double *together = NULL;
  if (!has_long(family)) {
    tsi_widen(c->ptr, n + 1);
    tsi_widen(c->index, count);
  }
  if (!is_complex(family)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(ts, together, 2 * count));
  for (int64_t k = 0; k < count; k++) {
    together[2 * k] = apart[k];
    together[2 * k + 1] = apart[count + k];
  }
  TSI_FREE(c->values);
  c->values = together;
  return TRISTAR_OK;
}

/* KLU divides row row_order[k] of the matrix by its k-th scale factor. Sorts the divisors by row of the
 * matrix. */
static tristar_status order_scale(tristar_t *ts, tsi_klu *w) {
  double *scale = NULL;
  TSI_TRY(TSI_ALLOC(ts, scale, w->n));
  for (int64_t k = 0; k < w->n; k++) scale[w->row_order[k]] = w->row_scale[k];
  TSI_FREE(w->row_scale);
  w->row_scale = scale;
  return TRISTAR_OK;
}

static tristar_status copy(tristar_t *ts, tristar_klu family, const void *Symbolic, const void *Numeric,
                           const sizes *s, tsi_klu *w) {
  const bool z = is_complex(family);
  w->n = s->n;
  w->blocks = s->blocks;
  TSI_TRY(TSI_ALLOC(ts, w->row_order, s->n));
  TSI_TRY(TSI_ALLOC(ts, w->column_order, s->n));
  TSI_TRY(TSI_ALLOC(ts, w->row_scale, s->n));
  TSI_TRY(allocate_columns(ts, s->n, s->lower, z, &w->lower));
  TSI_TRY(allocate_columns(ts, s->n, s->upper, z, &w->upper));
  TSI_TRY(allocate_columns(ts, s->n, s->off, z, &w->off));
  if (!extract(family, Symbolic, Numeric, s, w))
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "KLU does not give the factors out of Symbolic and Numeric");
  if (!has_long(family)) {
    tsi_widen(w->row_order, s->n);
    tsi_widen(w->column_order, s->n);
  }
  TSI_TRY(convert(ts, family, s->n, s->lower, &w->lower));
  TSI_TRY(convert(ts, family, s->n, s->upper, &w->upper));
  TSI_TRY(convert(ts, family, s->n, s->off, &w->off));
  return order_scale(ts, w);
}

/* Refuses zero pivots. Unless halt_if_singular is set, KLU continues after a zero pivot and divides by it. */
static tristar_status check_pivots(tristar_t *ts, bool complex_values, const tsi_klu *w) {
  const tsi_klu_columns *u = &w->upper;
  const double *values = u->values;
  for (int64_t k = 0; k < w->n; k++)
    for (int64_t p = u->ptr[k]; p < u->ptr[k + 1]; p++) {
      const double re = values[complex_values ? 2 * p : p], im = complex_values ? values[2 * p + 1] : 0;
      if (u->index[p] == k && re == 0 && im == 0)
        TSI_FAIL(ts, TRISTAR_ERR_SINGULAR, "the pivot of column %lld of the matrix is zero",
                 (long long)w->column_order[k]);
    }
  return TRISTAR_OK;
}

/* upper += lower^-1 off. */
static tristar_status join_blocks(tristar_t *ts, bool complex_values, tsi_klu *w) {
  TSI_CLEANUP(free_columns) tsi_klu_columns full = {0};
  if (w->off.ptr[w->n] != 0) {
    TSI_TRY(complex_values ? tsi_klu_blocks_z(ts, w->n, &w->lower, &w->upper, &w->off, &full)
                           : tsi_klu_blocks_d(ts, w->n, &w->lower, &w->upper, &w->off, &full));
    const tsi_klu_columns upper = w->upper;
    w->upper = full;
    full = upper;
  }
  free_columns(&w->off);
  return TRISTAR_OK;
}

static tristar_triangle triangle(const tsi_klu_columns *c, int unit_diagonal) {
  return (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS,
                            .unit_diagonal = unit_diagonal,
                            .ptr_bits = 64,
                            .index_bits = 64,
                            .ptr = c->ptr,
                            .index = c->index,
                            .values = c->values};
}

tristar_status tsi_klu_factors(tristar_t *ts, tristar_klu family, const void *Symbolic, const void *Numeric,
                               const tristar_view *matrix, tsi_klu *work, tristar_factors *factors) {
  tristar_factors_init(factors);
  if (family < TRISTAR_KLU || family > TRISTAR_KLU_ZL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "no family %d of KLU", (int)family);
  if (Symbolic == NULL || Numeric == NULL)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT, "%s is NULL", Symbolic == NULL ? "Symbolic" : "Numeric");
  const sizes s = get_sizes(family, Symbolic, Numeric);
  if (s.n != s.symbolic_n || s.blocks != s.symbolic_blocks)
    TSI_FAIL(ts, TRISTAR_ERR_ARGUMENT,
             "Symbolic is of order %lld with %lld blocks, Numeric of order %lld with %lld blocks",
             (long long)s.symbolic_n, (long long)s.symbolic_blocks, (long long)s.n, (long long)s.blocks);
  TSI_TRY(copy(ts, family, Symbolic, Numeric, &s, work));
  TSI_TRY(check_pivots(ts, is_complex(family), work));
  TSI_TRY(join_blocks(ts, is_complex(family), work));
  factors->n = s.n;
  factors->scalar = is_complex(family) ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
  factors->method = TRISTAR_METHOD_LU;
  factors->row_order = work->row_order;
  factors->column_order = work->column_order;
  factors->row_scale = work->row_scale;
  factors->lower = triangle(&work->lower, 1);
  factors->upper = triangle(&work->upper, 0);
  factors->matrix = matrix;
  return tsi_divisors_to_factors(ts, factors, work->row_scale, work->lower.values, work->upper.values);
}

void tsi_klu_release(tsi_klu *work) {
  free_columns(&work->lower);
  free_columns(&work->upper);
  free_columns(&work->off);
  TSI_FREE(work->row_order);
  TSI_FREE(work->column_order);
  TSI_FREE(work->row_scale);
}
