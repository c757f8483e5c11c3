/* Tiles of a dense front: see front.h. */
#include "codelets/cpu/front.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* Unblocked LU of columns k0 .. k1-1 of a b x b block, interchanging whole rows of the block. */
static void lu_columns(double *a, ptrdiff_t ld, tsi_index b, tsi_index k0, tsi_index k1, tsi_index *pivot,
                       tsi_pivoting *result) {
  for (tsi_index k = k0; k < k1; k++) {
    double *column = a + k * ld;
    tsi_index best = k;
    for (tsi_index i = k + 1; i < b; i++)
      if (fabs(column[i]) > fabs(column[best])) best = i;
    pivot[k] = best;
    if (best != k)
      for (tsi_index j = 0; j < b; j++) {
        const double swap = a[k + j * ld];
        a[k + j * ld] = a[best + j * ld];
        a[best + j * ld] = swap;
      }
    if (!isfinite(column[k])) {
      if (result->failed == TSI_NONE) result->failed = k;
      return;
    }
    if (fabs(column[k]) < result->tiny) {
      column[k] = signbit(column[k]) ? -result->tiny : result->tiny;
      result->perturbed++;
    }
    const double inverse = 1.0 / column[k];
    for (tsi_index i = k + 1; i < b; i++) column[i] *= inverse;
    for (tsi_index j = k + 1; j < k1; j++) {
      const double factor = a[k + j * ld];
      double *to = a + j * ld;
      if (factor != 0)
        for (tsi_index i = k + 1; i < b; i++) to[i] -= column[i] * factor;
    }
  }
}

/* LU of a b x b block with row interchanges, 16 columns at a time. */
static void lu_block(double *a, int ld, tsi_index b, tsi_index *pivot, tsi_pivoting *result) {
  for (tsi_index k = 0; k < b; k += 16) {
    const tsi_index end = tsi_index_min(b, k + 16), wide = end - k, rest = b - end;
    lu_columns(a, ld, b, k, end, pivot, result);
    if (result->failed != TSI_NONE) return;
    if (rest == 0) break;
    double *corner = a + k + (ptrdiff_t)k * ld, *right = a + k + (ptrdiff_t)end * ld;
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, wide, rest, 1.0, corner, ld,
                right, ld);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, wide, -1.0, corner + wide, ld, right,
                ld, 1.0, right + wide, ld);
  }
}

void tsi_front_diagonal_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                            tsi_pivoting *result) {
  const int ld = front->f;
  double *block = front->p + o + (ptrdiff_t)o * ld;
  result->failed = TSI_NONE;
  result->perturbed = 0;
  if (pivot == NULL) {
    int info = 0;
    if (o > 0)
      cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, b, o, -1.0, front->p + o, ld, 1.0, block, ld);
    dpotrf_("L", &b, block, &ld, &info);
    if (info != 0) result->failed = info - 1;
    return;
  }
  if (o > 0)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, b, b, o, -1.0, front->p + o, ld,
                front->p + (ptrdiff_t)o * ld, ld, 1.0, block, ld);
  lu_block(block, ld, b, pivot, result);
}

void tsi_front_below_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0, tsi_index r1) {
  const int ld = front->f, rows = r1 - r0;
  double *column = front->p + (ptrdiff_t)o * ld;
  if (front->q == NULL) {
    if (o > 0)
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, b, o, -1.0, front->p + r0, ld, front->p + o,
                  ld, 1.0, column + r0, ld);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows, b, 1.0, column + o, ld,
                column + r0, ld);
    return;
  }
  if (o > 0)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, b, o, -1.0, front->p + r0, ld, column, ld,
                1.0, column + r0, ld);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows, b, 1.0, column + o, ld,
              column + r0, ld);
}

void tsi_front_right_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index c0, tsi_index c1,
                         const tsi_index *pivot) {
  const bool inside = c0 < front->w;
  const int ld = inside ? front->f : front->w, columns = c1 - c0;
  double *column = inside ? front->p + (ptrdiff_t)c0 * ld : front->q + (ptrdiff_t)(c0 - front->w) * ld;
  if (o > 0)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, b, columns, o, -1.0, front->p + o, front->f,
                column, ld, 1.0, column + o, ld);
  for (tsi_index j = 0; j < columns; j++) {
    double *x = column + o + (ptrdiff_t)j * ld;
    for (tsi_index k = 0; k < b; k++)
      if (pivot[k] != k) {
        const double swap = x[k];
        x[k] = x[pivot[k]];
        x[pivot[k]] = swap;
      }
  }
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, b, columns, 1.0,
              front->p + o + (ptrdiff_t)o * front->f, front->f, column + o, ld);
}

void tsi_front_schur_cpu(const tsi_front *front, tsi_index r0, tsi_index r1, tsi_index c0, tsi_index c1) {
  const bool full = front->q != NULL;
  const int w = front->w, ld = front->f, ldc = front->m - tsi_tile_row(c0, full);
  const double *rows = front->p + w + r0;
  double *to = front->c + tsi_complement_entry(front->m, r0, c0, full);
  if (full)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, r1 - r0, c1 - c0, w, -1.0, rows, ld,
                front->q + (ptrdiff_t)c0 * w, w, 1.0, to, ldc);
  else if (r0 == c0)
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, r1 - r0, w, -1.0, rows, ld, 1.0, to, ldc);
  else
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, r1 - r0, c1 - c0, w, -1.0, rows, ld,
                front->p + w + c0, ld, 1.0, to, ldc);
}

void tsi_front_schur_all_cpu(const tsi_front *front) {
  const tsi_index m = front->m;
  for (tsi_index c0 = 0; c0 < m; c0 += TSI_TILE) {
    const tsi_index c1 = tsi_index_min(m, c0 + TSI_TILE);
    if (front->q) {
      tsi_front_schur_cpu(front, 0, m, c0, c1);
      continue;
    }
    tsi_front_schur_cpu(front, c0, c1, c0, c1);
    if (c1 < m) tsi_front_schur_cpu(front, c1, m, c0, c1);
  }
}

void tsi_front_zero_cpu(const tsi_front *front, tsi_index c0, tsi_index c1) {
  const bool full = front->q != NULL;
  const tsi_index own = tsi_index_min(c1, front->w);
  if (c0 < own)
    memset(front->p + (ptrdiff_t)c0 * front->f, 0, (size_t)(own - c0) * (size_t)front->f * sizeof *front->p);
  for (tsi_index j = tsi_index_max(c0, front->w) - front->w; j < c1 - front->w; j++) {
    const tsi_index first = tsi_tile_row(j, full);
    memset(front->c + tsi_complement_entry(front->m, first, j, full), 0,
           (size_t)(front->m - first) * sizeof *front->c);
    if (full) memset(front->q + (ptrdiff_t)j * front->w, 0, (size_t)front->w * sizeof *front->q);
  }
}

void tsi_front_extend_add_cpu(const tsi_front *front, const double *child, tsi_index m,
                              const tsi_index *position, tsi_index c0, tsi_index c1) {
  const bool full = front->q != NULL;
  tsi_index j = 0, split = 0;
  while (j < m && position[j] < c0) j++;
  while (split < m && position[split] < front->w)
    split++; /* child rows from here on go below the supernode */
  for (; j < m && position[j] < c1; j++) {
    tsi_index i = full ? 0 : j;
    const double *from = child + tsi_complement_entry(m, i, j, full) - i;
    if (position[j] < front->w) {
      double *to = front->p + (ptrdiff_t)position[j] * front->f;
      for (; i < m; i++) to[position[i]] += from[i];
      continue;
    }
    const tsi_index column = position[j] - front->w;
    if (full) {
      double *to = front->q + (ptrdiff_t)column * front->w;
      for (; i < split; i++) to[position[i]] += from[i];
    }
    double *to = front->c + tsi_complement_entry(front->m, 0, column, full) - front->w;
    for (; i < m; i++) to[position[i]] += from[i];
  }
}
