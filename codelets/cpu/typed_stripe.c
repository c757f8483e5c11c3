/* Operations on stripes of a front: entries, blocks of complements, and C. The stripes need not be adjacent.
 * See front.h.
 */
#include <string.h>

#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/front.h"

void TSI_TYPED(tsi_stripe_add_entries)(const tsi_front_stripe *stripe, const tsi_front_entry *entry,
                                       tsi_count count, const void *values, bool wide) {
  tsi_scalar *l = stripe->l, *u = stripe->u;
  for (tsi_count q = 0; q < count; q++) {
    const ptrdiff_t i = entry[q].row, j = entry[q].column;
    const tsi_scalar a = TSI_TYPED(tsi_front_value)(&entry[q], values, wide);
    if (i >= stripe->begin && i < stripe->begin + stripe->rows)
      l[i - stripe->begin + j * stripe->ldl] += a;
    else
      u[i + (j - stripe->begin) * stripe->ldu] += a;
  }
}

void TSI_TYPED(tsi_stripe_add_block)(const tsi_front_stripe *stripe, tsi_index w, bool upper, bool full,
                                     const tsi_complement_block *block) {
  const tsi_index *position = block->position;
  const ptrdiff_t rows = block->row_end - block->row;
  for (tsi_index j = block->column; j < block->column_end; j++) {
    const tsi_scalar *from = (const tsi_scalar *)block->values + (j - block->column) * rows - block->row;
    const ptrdiff_t column = position[j];
    if (upper) {
      tsi_scalar *to = (tsi_scalar *)stripe->u + (column - stripe->begin) * stripe->ldu;
      for (tsi_index i = block->row; i < block->row_end; i++) to[position[i]] += from[i];
      continue;
    }
    tsi_scalar *to = column < w ? (tsi_scalar *)stripe->l + column * stripe->ldl
                                : (tsi_scalar *)stripe->c + (column - w) * stripe->rows;
    for (tsi_index i = full ? block->row : tsi_index_max(j, block->row); i < block->row_end; i++)
      to[position[i] - stripe->begin] += from[i];
  }
}

void TSI_TYPED(tsi_stripe_schur)(const tsi_front_stripe *stripe, const tsi_front_stripe *other, tsi_index w,
                                 tsi_index c0) {
  const int m = stripe->rows, n = other->rows;
  tsi_scalar *to = (tsi_scalar *)stripe->c + (ptrdiff_t)c0 * m;
  if (other->u)
    tsi_gemm(CblasNoTrans, CblasNoTrans, m, n, w, stripe->l, stripe->ldl, other->u, other->ldu, to, m);
  else if (stripe->begin == other->begin)
    tsi_herk(m, w, stripe->l, stripe->ldl, to, m);
  else
    tsi_gemm(CblasNoTrans, CblasConjTrans, m, n, w, stripe->l, stripe->ldl, other->l, other->ldl, to, m);
}

static void raise_term(double *term, tsi_scalar below, tsi_scalar above) {
  const double product = (double)tsi_abs(below) * (double)tsi_abs(above);
  if (product > *term) *term = product;
}

void TSI_TYPED(tsi_stripe_terms)(const tsi_front_stripe *stripe, tsi_index w, double *size, double *term) {
  const tsi_scalar *l = stripe->l, *u = stripe->u, *d = stripe->d;
  memset(term, 0, (size_t)stripe->rows * sizeof *term);
  for (ptrdiff_t k = 0; k < tsi_index_min(w, stripe->begin); k++)
    for (ptrdiff_t i = 0; i < stripe->rows; i++)
      raise_term(&term[i], l[i + k * stripe->ldl], u[k + i * stripe->ldu]);
  for (ptrdiff_t k = 0; d && k < stripe->rows; k++) {
    size[k] = (double)tsi_abs(d[k + k * stripe->ldl]);
    for (ptrdiff_t i = k + 1; i < stripe->rows; i++)
      raise_term(&term[i], d[i + k * stripe->ldl], d[k + i * stripe->ldl]);
  }
}
