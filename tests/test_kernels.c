/* Packed panels and solve kernels against plain dense loops, for every instruction set that this processor
 * has. */
#include <cblas.h>
#include <math.h>

#include "codelets/cpu/front.h"
#include "codelets/cpu/kernels.h"
#include "tests/check.h"
#include "tests/random.h"

#define F 300 /* largest front */

/* A dense front with a dominant diagonal; C is not used here. */
static void make_front(tsi_front *front, tsi_index w, tsi_index m, bool lu, uint64_t seed) {
  front->w = w;
  front->m = m;
  front->f = w + m;
  fill_random(front->p, (int64_t)front->f * w, seed);
  fill_random(front->q, (int64_t)w * m, seed + 1);
  for (tsi_index j = 0; j < w; j++) front->p[j + (ptrdiff_t)j * front->f] = w + m;
  if (lu && w > 2) front->p[0] = 0.01; /* so that rows are interchanged */
}

static double largest(const double *x, tsi_index count) {
  double most = 1;
  for (tsi_index i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* Dense A = [diag; below] (LLT, lower) or the LU one, solved by elimination on the full (w+m) system with
 * identity below. */
static void check_one(const tsi_kernels_d *kernels, tsi_index w, tsi_index m, bool lu, tsi_index nrhs) {
  static double p[F * F], q[F * F], original[F * F], lower[F * F], upper[F * F], work[2 * F * F];
  static double x[F * 64], reference[F * 64], scratch[TSI_KERNEL_SCRATCH];
  static tsi_index pivot[TSI_PANEL_WIDTH_MAX], rows[F];
  tsi_front front = {.p = p, .q = q};
  make_front(&front, w, m, lu, (uint64_t)(w * 1000 + m));
  memcpy(original, p, sizeof p);
  if (!lu) front.q = NULL;
  tsi_pivoting result = {.tiny = 1e-12};
  tsi_front_diagonal_cpu(&front, 0, w, lu ? pivot : NULL, &result);
  CHECK(result.failed == TSI_NONE && result.perturbed == 0);
  if (m > 0) tsi_front_below_cpu(&front, 0, w, w, w + m);
  if (m > 0 && lu) tsi_front_right_cpu(&front, 0, w, w, w + m, pivot);
  for (int i = 0; i < F * F; i++) lower[i] = upper[i] = NAN;
  tsi_front_pack_cpu(&front, 0, w, lower, lu ? upper : NULL, work);
  const tsi_count size = tsi_panel_size(w, m);
  for (tsi_count i = 0; i < size; i++) CHECK(isfinite(lower[i]) && (!lu || isfinite(upper[i])));
  for (int i = 0; i < TSI_STREAM_PAD; i++) lower[size + i] = upper[size + i] = 0;
  for (tsi_index i = 0; i < m; i++)
    rows[i] = w + (i * 7) % m; /* not in order; 7 and m are coprime in the cases below */
  const tsi_panel panel = {.values = 0, .row = 0, .width = w, .height = m, .x = 0, .column = 0};
  fill_random(x, (int64_t)(w + m) * nrhs, 5);
  memcpy(reference, x, sizeof x);
  /* forward: x_K = L^-1 P x_K, w[rows] -= R x_K */
  kernels->forward(1, &panel, lower, rows, lu ? pivot : NULL, nrhs, x, scratch);
  for (tsi_index c = 0; c < nrhs; c++) {
    double *r = reference + c;
    for (tsi_index k = 0; lu && k < w; k++) {
      const double swap = r[k * nrhs];
      r[k * nrhs] = r[pivot[k] * nrhs];
      r[pivot[k] * nrhs] = swap;
    }
    for (tsi_index k = 0; k < w; k++) {
      if (!lu) r[k * nrhs] /= p[k + (ptrdiff_t)k * front.f];
      for (tsi_index i = k + 1; i < w; i++) r[i * nrhs] -= p[i + (ptrdiff_t)k * front.f] * r[k * nrhs];
    }
    for (tsi_index i = 0; i < m; i++)
      for (tsi_index k = 0; k < w; k++) r[rows[i] * nrhs] -= p[w + i + (ptrdiff_t)k * front.f] * r[k * nrhs];
  }
  const double forward_scale = largest(reference, (w + m) * nrhs);
  for (tsi_index i = 0; i < (w + m) * nrhs; i++)
    CHECK_MSG(fabs(x[i] - reference[i]) < 1e-11 * forward_scale,
              "%s forward w %d m %d lu %d nrhs %d: %d: %g, not %g", kernels->isa, w, m, lu, nrhs, i, x[i],
              reference[i]);
  /* backward: x_K = U^-1 (x_K - U_off w[rows]) */
  memcpy(reference, x, sizeof x);
  kernels->backward(1, &panel, lu ? upper : lower, rows, NULL, nrhs, x, scratch);
  for (tsi_index c = 0; c < nrhs; c++) {
    double *r = reference + c;
    for (tsi_index k = w; k-- > 0;) {
      for (tsi_index i = 0; i < m; i++)
        r[k * nrhs] -= (lu ? q[k + (ptrdiff_t)i * w] : p[w + i + (ptrdiff_t)k * front.f]) * r[rows[i] * nrhs];
      for (tsi_index i = k + 1; i < w; i++)
        r[k * nrhs] -= (lu ? p[k + (ptrdiff_t)i * front.f] : p[i + (ptrdiff_t)k * front.f]) * r[i * nrhs];
      r[k * nrhs] /= p[k + (ptrdiff_t)k * front.f];
    }
  }
  const double scale = largest(reference, (w + m) * nrhs);
  for (tsi_index i = 0; i < (w + m) * nrhs; i++)
    CHECK_MSG(fabs(x[i] - reference[i]) < 1e-11 * scale,
              "%s backward w %d m %d lu %d nrhs %d: %d: %g, not %g", kernels->isa, w, m, lu, nrhs, i, x[i],
              reference[i]);
}

/* Slices of 16 rows add up to the whole rectangle, forward and backward. */
static void check_slices(const tsi_kernels_d *kernels, tsi_index w, tsi_index m, tsi_index nrhs) {
  static double values[F * F], x[F * 64], u[F * 64], all[F * 64], sum[F * 64], part[F * 64],
      scratch[TSI_KERNEL_SCRATCH];
  const tsi_panel panel = {.values = 0, .row = 0, .width = w, .height = m, .x = 0, .column = 0};
  fill_random(values, F * F, 3);
  fill_random(x, F * 64, 4);
  kernels->forward_slice(&panel, values, 0, m, nrhs, x, all);
  for (tsi_index first = 0; first < m; first += 16)
    kernels->forward_slice(&panel, values, first, tsi_index_min(16, m - first), nrhs, x, u + first * nrhs);
  for (tsi_index i = 0; i < m * nrhs; i++)
    CHECK_MSG(u[i] == all[i], "%s: row slice %d", kernels->isa, i / nrhs);
  memset(sum, 0, sizeof sum);
  kernels->backward_slice(&panel, values, 0, m, nrhs, x, all, scratch);
  for (tsi_index first = 0; first < m; first += 16) {
    kernels->backward_slice(&panel, values, first, tsi_index_min(16, m - first), nrhs, x + first * nrhs, part,
                            scratch);
    for (tsi_index i = 0; i < w * nrhs; i++) sum[i] += part[i];
  }
  for (tsi_index i = 0; i < w * nrhs; i++)
    CHECK_MSG(fabs(sum[i] - all[i]) < 1e-11, "%s: column %d", kernels->isa, i / nrhs);
}

int main(void) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  static const tsi_index widths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 128};
  static const tsi_index heights[] = {0, 1, 2, 3, 5, 8, 9, 31, 32, 40, 67, 130};
  static const tsi_index nrhs[] = {1, 8, 16, 24, 64};
  int tried = 0;
  openblas_set_num_threads(1);
  for (int i = 0; i < 3; i++) {
    const tsi_kernels_d *kernels = tsi_kernels_d_select(isas[i]);
    if (kernels == NULL) {
      printf("%s: not on this processor\n", isas[i]);
      continue;
    }
    CHECK(strcmp(kernels->isa, isas[i]) == 0);
    tried++;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
      for (size_t m = 0; m < sizeof heights / sizeof *heights; m++)
        for (size_t r = 0; r < sizeof nrhs / sizeof *nrhs; r++) {
          check_one(kernels, widths[w], heights[m], false, nrhs[r]);
          check_one(kernels, widths[w], heights[m], true, nrhs[r]);
          if (heights[m] > 0) check_slices(kernels, widths[w], heights[m], nrhs[r]);
        }
  }
  CHECK(tried > 0);
  CHECK(tsi_kernels_d_select(NULL) != NULL);
  CHECK(tsi_kernels_d_select("no such set") == NULL);
  return 0;
}
