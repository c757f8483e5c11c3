/* The selected inverse on one panel: see selected.h. */
#include "codelets/cpu/selected.h"

#include <string.h>

#include "codelets/cpu/base/blas.h"

static void unit(tsi_index w, tsi_index m, tsi_index stride, void *x) {
  tsi_scalar *to = x;
  memset(to, 0, (size_t)(w + m) * (size_t)stride * sizeof *to);
  for (tsi_index k = 0; k < w; k++) to[(ptrdiff_t)k * (stride + 1)] = 1;
}

/* C := alpha A op(B) + beta C */
static void product(CBLAS_TRANSPOSE opb, tsi_index m, tsi_index n, tsi_index k, const tsi_scalar *a,
                    tsi_index lda, const tsi_scalar *b, tsi_index ldb, tsi_scalar beta, tsi_scalar *c,
                    tsi_index ldc) {
  if (m == 0 || n == 0) return;
  TSI_BLAS(gemm)
  (CblasColMajor, CblasNoTrans, opb, m, n, k, TSI_ALPHA(1), a, lda, b, ldb, TSI_ALPHA(beta), c, ldc);
}

/* x := D^-1 x for the first w rows, of w scalars. */
static void divide(const tsi_selected_panel *p, const tsi_scalar *inverse, tsi_scalar *x) {
  for (tsi_index k = 0; k < p->w; k++) {
    const tsi_scalar d = inverse[2 * k], below = k + 1 < p->w ? inverse[2 * k + 1] : 0;
    tsi_scalar *row = x + (ptrdiff_t)k * p->stride, *next = row + p->stride;
    if (below == 0) {
      for (tsi_index c = 0; c < p->w; c++) row[c] *= d;
      continue;
    }
    const tsi_scalar above = p->adjoint ? tsi_conj(below) : below, e = inverse[2 * k + 2];
    for (tsi_index c = 0; c < p->w; c++) {
      const tsi_scalar first = row[c], second = next[c];
      row[c] = d * first + above * second;
      next[c] = below * first + e * second;
    }
    k++;
  }
}

static void panel(const tsi_selected_panel *p) {
  const ptrdiff_t f = p->f, o = p->o, w = p->w, below = w * p->stride;
  tsi_scalar *lower = p->lower, *upper = p->upper, *kk = (tsi_scalar *)p->z + o + o * f, *rk = kk + w,
             *kr = kk + w * f, *rr = kr + w;
  if (!p->full) {
    memcpy(upper, lower, (size_t)((p->w + p->m) * (ptrdiff_t)p->stride) * sizeof *upper);
    for (ptrdiff_t i = 0; p->adjoint && TSI_COMPLEX && i < (p->w + p->m) * (ptrdiff_t)p->stride; i++)
      upper[i] = tsi_conj(upper[i]);
    if (p->inverse) divide(p, p->inverse, lower);
  }
  product(CblasTrans, p->m, p->w, p->m, rr, p->f, lower + below, p->stride, 0, rk, p->f);
  product(CblasTrans, p->w, p->w, p->w, upper, p->stride, lower, p->stride, 0, kk, p->f);
  if (p->m == 0) return;
  product(CblasNoTrans, p->w, p->w, p->m, upper + below, p->stride, rk, p->f, 1, kk, p->f);
  if (p->full) {
    product(CblasNoTrans, p->w, p->m, p->m, upper + below, p->stride, rr, p->f, 0, kr, p->f);
    return;
  }
  for (ptrdiff_t j = 0; j < p->w; j++)
    for (ptrdiff_t i = 0; i < p->m; i++) kr[j + i * f] = p->adjoint ? tsi_conj(rk[i + j * f]) : rk[i + j * f];
}

static void gather(tsi_index m, const tsi_index *position, const void *parent, tsi_index of_parent, void *to,
                   tsi_index f) {
  tsi_scalar *z = (tsi_scalar *)to + (ptrdiff_t)(f - m) * (f + 1);
  for (tsi_index j = 0; j < m; j++) {
    const tsi_scalar *from = (const tsi_scalar *)parent + (ptrdiff_t)position[j] * of_parent;
    for (tsi_index i = 0; i < m; i++) z[i + (ptrdiff_t)j * f] = from[position[i]];
  }
}

const tsi_selected_kernels TSI_TYPED(tsi_selected_kernels) = {
    .scalar_bytes = sizeof(tsi_scalar), .unit = unit, .panel = panel, .gather = gather};
