/* Factors the diagonal block of a panel as L D L^T (ldl_block.h), and computes the rows below it: see
 * front.h.
 *
 * Products do not use rows of the upper triangle, which differ from their columns by rounding errors. The
 * result would be an L U with U different from D L^T, and the difference grows with the inverse of L. */
#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/front.h"
#include "codelets/cpu/ldl_block.h"

void TSI_TYPED(tsi_stripe_diagonal_ldl)(const tsi_front_stripe *panel, tsi_index *pivot,
                                        tsi_pivoting *result) {
  const int ld = panel->ldl;
  const tsi_index o = panel->begin, b = panel->rows;
  const tsi_ldl_block m = {panel->d, ld, b, result->adjoint, pivot, result->inverse, result};
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, b, b, o, panel->l, ld, panel->u, panel->ldu, m.a, ld);
  (void)tsi_ldl_factor(&m);
}

void TSI_TYPED(tsi_front_diagonal_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                                       tsi_pivoting *result) {
  const tsi_front_stripe panel = tsi_front_stripe_of(front, sizeof(tsi_scalar), o, o + b);
  TSI_TYPED(tsi_stripe_diagonal_ldl)(&panel, pivot, result);
}

/* Turns columns of W = L D into columns of L = W D^-1. */
static void divide(tsi_scalar *w, ptrdiff_t ld, tsi_index rows, tsi_index b, const tsi_scalar *inverse,
                   bool adjoint) {
  for (tsi_index k = 0; k < b; k++) {
    tsi_scalar *c1 = w + k * ld;
    const tsi_scalar i11 = inverse[2 * k], i21 = inverse[2 * k + 1];
    if (i21 == 0) {
      for (tsi_index i = 0; i < rows; i++) c1[i] *= i11;
      continue;
    }
    const tsi_scalar i22 = inverse[2 * k + 2], i12 = tsi_ldl_image(adjoint, i21);
    tsi_scalar *c2 = c1 + ld;
    for (tsi_index i = 0; i < rows; i++) {
      const tsi_scalar w1 = c1[i], w2 = c2[i];
      c1[i] = w1 * i11 + w2 * i21;
      c2[i] = w1 * i12 + w2 * i22;
    }
    k++;
  }
}

/* Computes rows of W = L D in the columns of a panel; l holds their columns of earlier panels. */
static void find_products(const tsi_front_stripe *panel, const tsi_scalar *l, int ld, tsi_index rows,
                          const tsi_index *pivot, bool adjoint, tsi_scalar *w) {
  const tsi_index o = panel->begin, b = panel->rows;
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, rows, b, o, l, ld, panel->u, panel->ldu, w, ld);
  for (tsi_index k = 0; k < b; k++) {
    tsi_scalar *x = w + (ptrdiff_t)k * ld, *y = w + (ptrdiff_t)pivot[k] * ld;
    for (tsi_index i = 0; i < rows && pivot[k] != k; i++) {
      const tsi_scalar swap = x[i];
      x[i] = y[i];
      y[i] = swap;
    }
  }
  tsi_trsm(CblasRight, CblasLower, adjoint ? CblasConjTrans : CblasTrans, CblasUnit, rows, b, panel->d,
           panel->ldl, w, ld);
}

/* Writes U = (L D)^T for the rows of a stripe. */
static void write_upper(const tsi_front_stripe *stripe, tsi_index o, tsi_index b, bool adjoint) {
  const tsi_scalar *w = (const tsi_scalar *)stripe->l + (ptrdiff_t)o * stripe->ldl;
  for (tsi_index i = 0; i < stripe->rows; i++) {
    tsi_scalar *u = (tsi_scalar *)stripe->u + o + (ptrdiff_t)i * stripe->ldu;
    for (tsi_index k = 0; k < b; k++) u[k] = tsi_ldl_image(adjoint, w[i + (ptrdiff_t)k * stripe->ldl]);
  }
}

void TSI_TYPED(tsi_stripe_below_ldl)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe,
                                     const tsi_index *pivot, const void *inverse, bool adjoint) {
  const int ld = stripe->ldl;
  tsi_scalar *l = stripe->l, *w = l + (ptrdiff_t)panel->begin * ld;
  find_products(panel, l, ld, stripe->rows, pivot, adjoint, w);
  write_upper(stripe, panel->begin, panel->rows, adjoint);
  divide(w, ld, stripe->rows, panel->rows, inverse, adjoint);
}

void TSI_TYPED(tsi_front_below_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0,
                                    tsi_index r1, const tsi_index *pivot, const void *inverse, bool adjoint) {
  const int ld = front->f;
  const tsi_index split = tsi_index_max(r0, tsi_index_min(r1, front->w));
  const tsi_front_stripe panel = tsi_front_stripe_of(front, sizeof(tsi_scalar), o, o + b),
                         inside = tsi_front_stripe_of(front, sizeof(tsi_scalar), r0, split),
                         behind = tsi_front_stripe_of(front, sizeof(tsi_scalar), split, r1);
  tsi_scalar *l = (tsi_scalar *)front->p + r0, *w = l + (ptrdiff_t)o * ld;
  find_products(&panel, l, ld, r1 - r0, pivot, adjoint, w);
  if (inside.rows > 0) write_upper(&inside, o, b, adjoint);
  if (behind.rows > 0) write_upper(&behind, o, b, adjoint);
  divide(w, ld, r1 - r0, b, inverse, adjoint);
}
