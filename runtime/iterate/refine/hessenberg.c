/* Givens rotations and back substitution: see hessenberg.h. */
#include "runtime/iterate/refine/hessenberg.h"

#include <math.h>

tristar_status tsi_hessenberg_begin(tsi_env *env, int m, tsi_hessenberg *s) {
  const size_t columns = (size_t)m;
  *s = (tsi_hessenberg){.m = m};
  TSI_TRY(TSI_ALLOC_ZERO(env, s->h, (columns + 1) * columns));
  TSI_TRY(TSI_ALLOC_ZERO(env, s->g, columns + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, s->y, columns + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, s->sine, columns));
  return TSI_ALLOC_ZERO(env, s->cosine, columns);
}

void tsi_hessenberg_finish(tsi_env *env, tsi_hessenberg *s) {
  TSI_FREE(env, s->h);
  TSI_FREE(env, s->g);
  TSI_FREE(env, s->y);
  TSI_FREE(env, s->sine);
  TSI_FREE(env, s->cosine);
}

void tsi_hessenberg_start(tsi_hessenberg *s, double beta) {
  const size_t columns = (size_t)s->m;
  memset(s->h, 0, (columns + 1) * columns * sizeof *s->h);
  memset(s->g, 0, (columns + 1) * sizeof *s->g);
  s->g[0] = beta;
}

double tsi_hessenberg_rotate(tsi_hessenberg *s, int j) {
  tsi_complex *h = tsi_hessenberg_column(s, j);
  for (int i = 0; i < j; i++) {
    const tsi_complex a = h[i], b = h[i + 1];
    h[i] = s->cosine[i] * a + s->sine[i] * b;
    h[i + 1] = -conj(s->sine[i]) * a + s->cosine[i] * b;
  }
  const double a = cabs(h[j]), b = cabs(h[j + 1]), size = hypot(a, b);
  s->cosine[j] = size > 0 ? a / size : 0; /* of a column of zeros: what remains, remains */
  s->sine[j] = size > 0 ? (a > 0 ? h[j] / a : 1) * conj(h[j + 1]) / size : -1;
  h[j] = s->cosine[j] * h[j] + s->sine[j] * h[j + 1];
  h[j + 1] = 0;
  s->g[j + 1] = -conj(s->sine[j]) * s->g[j];
  s->g[j] *= s->cosine[j];
  return cabs(s->g[j + 1]);
}

void tsi_hessenberg_solve(tsi_hessenberg *s, int k) {
  memcpy(s->y, s->g, ((size_t)s->m + 1) * sizeof *s->y);
  for (int i = k; i-- > 0;) {
    const tsi_complex *h = tsi_hessenberg_column(s, i);
    s->y[i] = cabs(h[i]) > 0 ? s->y[i] / h[i] : 0;
    for (int r = 0; r < i; r++) s->y[r] -= h[r] * s->y[i];
  }
}
