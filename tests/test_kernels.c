/* Packed panels and solve kernels against plain dense loops, for every instruction set that this processor
 * has, and every treatment of diagonal blocks. */
#include <cblas.h>
#include <math.h>

#include "codelets/cpu/front.h"
#include "codelets/cpu/kernels.h"
#include "codelets/cpu/scalar.h"
#include "tests/check.h"
#include "tests/random.h"

#define F 300 /* largest front */

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define BOUND 3e-3
#else
#define BOUND 1e-11
#endif

static const tsi_front_kernels *front_kernels;

/* Random entries; complex types get random imaginary parts. */
static void fill(tsi_scalar *x, int64_t count, uint64_t seed) {
  double re, im;
  for (int64_t i = 0; i < count; i++) {
    fill_random(&re, 1, seed + 2 * (uint64_t)i);
    fill_random(&im, 1, seed + 2 * (uint64_t)i + 77777);
    x[i] = (tsi_real)re;
#if TSI_COMPLEX
    __imag__ x[i] = (tsi_real)im;
#endif
  }
}

/* A dense front with a dominant diagonal; C is not used here. */
static void make_front(tsi_front *front, tsi_index w, tsi_index m, bool lu, uint64_t seed) {
  front->w = w;
  front->m = m;
  front->f = w + m;
  front->full = lu;
  fill(front->p, (int64_t)front->f * w, seed);
  fill(front->q, (int64_t)w * m, seed + 1);
  tsi_scalar *p = front->p;
  for (tsi_index j = 0; j < w; j++) p[j + (ptrdiff_t)j * front->f] = (tsi_real)(w + m);
  if (lu && w > 2) p[0] = (tsi_real)0.01; /* so that rows are interchanged */
}

static double largest(const tsi_scalar *x, tsi_index count) {
  double most = 1;
  for (tsi_index i = 0; i < count; i++) most = fmax(most, (double)tsi_abs(x[i]));
  return most;
}

/* The same panel in parts, as a sliced one is solved: triangle, interchanges, all rows as one slice. x, w: as
 * in front of the sweep; whole: as behind it. w has rows in their order, the sweep's are rows[]. */
static void check_sliced(const tsi_kernels *kernels, const tsi_panel *panel, const tsi_scalar *values,
                         const tsi_index *rows, const tsi_index *pivot, bool forward, tsi_index nrhs,
                         const tsi_scalar *start, const tsi_scalar *whole) {
  static tsi_scalar x[F * 64], kept[F * 64], u[F * 64], sum[F * 64], scratch[TSI_KERNEL_SCRATCH];
  const tsi_index w = panel->width, m = panel->height;
  const bool off = kernels->inverse == TSI_INVERSE_OFF;
  double worst = 0;
  memcpy(x, start, sizeof x);
  memset(sum, 0, sizeof sum);
  if (forward) {
    if (off) kernels->interchange(panel, pivot, nrhs, x, false);
    memcpy(kept, x, sizeof x);
    kernels->forward_triangle(panel, values, off ? NULL : pivot, nrhs, x, scratch);
    if (m > 0) kernels->forward_slice(panel, values, 0, m, nrhs, off ? kept : x, u, scratch);
  } else {
    for (tsi_index i = 0; i < m * nrhs; i++) u[i] = start[rows[i / nrhs] * nrhs + i % nrhs];
    if (m > 0) kernels->backward_slice(panel, values, 0, m, nrhs, u, sum, scratch);
    for (tsi_index i = 0; !off && i < w * nrhs; i++) x[i] -= sum[i];
    kernels->backward_triangle(panel, values, off ? NULL : pivot, nrhs, x, scratch);
    for (tsi_index i = 0; off && i < w * nrhs; i++) x[i] -= sum[i];
    if (off) kernels->interchange(panel, pivot, nrhs, x, true);
  }
  for (tsi_index i = 0; i < w * nrhs; i++) worst = fmax(worst, (double)tsi_abs(x[i] - whole[i]));
  for (tsi_index i = 0; forward && i < m * nrhs; i++) {
    const tsi_index at = rows[i / nrhs] * nrhs + i % nrhs;
    worst = fmax(worst, (double)tsi_abs(start[at] + u[i] - whole[at]));
  }
  CHECK_MSG(worst < BOUND * largest(whole, (w + m) * nrhs), "%s %d sliced, forward %d w %d m %d nrhs %d: %g",
            kernels->isa, (int)kernels->inverse, forward, w, m, nrhs, worst);
}

/* Dense A = [diag; below] (LLT, lower) or the LU one, solved by elimination on the full (w+m) system with
 * identity below. */
static void check_one(const tsi_kernels *kernels, tsi_index w, tsi_index m, bool lu, tsi_index nrhs) {
  static tsi_scalar p[F * F], q[F * F], lower[F * F], upper[F * F], work[2 * F * F];
  static tsi_scalar x[F * 64], start[F * 64], reference[F * 64], scratch[TSI_KERNEL_SCRATCH];
  static tsi_index pivot[TSI_PANEL_WIDTH_MAX], rows[F];
  tsi_front front = {.p = p, .q = q};
  make_front(&front, w, m, lu, (uint64_t)(w * 1000 + m));
  if (!lu) front.q = NULL;
  tsi_pivoting result = {.tiny = 1e-12};
  front_kernels->diagonal(&front, 0, w, lu ? pivot : NULL, &result);
  CHECK(result.failed == TSI_NONE && result.perturbed == 0);
  if (m > 0) front_kernels->below(&front, 0, w, w, w + m);
  if (m > 0 && lu) front_kernels->right(&front, 0, w, w, w + m, pivot);
  const tsi_count size = tsi_panel_size(w, m);
  for (int i = 0; i < F * F; i++) lower[i] = upper[i] = NAN;
  front_kernels->pack(&front, 0, w, kernels->inverse, lower, lu ? upper : NULL, work);
  for (tsi_count i = 0; i < size; i++)
    CHECK(isfinite(tsi_abs(lower[i])) && (!lu || isfinite(tsi_abs(upper[i]))));
  for (int i = 0; i < TSI_STREAM_PAD; i++) lower[size + i] = upper[size + i] = 0;
  for (tsi_index i = 0; i < m; i++)
    rows[i] = w + (i * 7) % m; /* not in order; 7 and m are coprime in the cases below */
  const tsi_panel panel = {.values = 0, .row = 0, .width = w, .height = m, .x = 0, .column = 0};
  fill(x, (int64_t)(w + m) * nrhs, 5);
  memcpy(reference, x, sizeof x);
  memcpy(start, x, sizeof x);
  /* forward: x_K = L^-1 P x_K, w[rows] -= R x_K */
  kernels->forward(1, &panel, lower, rows, lu ? pivot : NULL, nrhs, x, scratch);
  check_sliced(kernels, &panel, lower, rows, lu ? pivot : NULL, true, nrhs, start, x);
  for (tsi_index c = 0; c < nrhs; c++) {
    tsi_scalar *r = reference + c;
    for (tsi_index k = 0; lu && k < w; k++) {
      const tsi_scalar swap = r[k * nrhs];
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
    CHECK_MSG((double)tsi_abs(x[i] - reference[i]) < BOUND * forward_scale,
              "%s %d forward w %d m %d lu %d nrhs %d: %d: %g, not %g", kernels->isa, (int)kernels->inverse, w,
              m, lu, nrhs, i, (double)tsi_re(x[i]), (double)tsi_re(reference[i]));
  /* backward: x_K = U^-1 (x_K - U_off w[rows]) */
  memcpy(reference, x, sizeof x);
  memcpy(start, x, sizeof x);
  if (lu) { /* as a solve with L^T has it: interchanges are undone */
    kernels->backward(1, &panel, lower, rows, pivot, nrhs, x, scratch);
    check_sliced(kernels, &panel, lower, rows, pivot, false, nrhs, start, x);
    memcpy(x, start, sizeof x);
  }
  kernels->backward(1, &panel, lu ? upper : lower, rows, NULL, nrhs, x, scratch);
  check_sliced(kernels, &panel, lu ? upper : lower, rows, NULL, false, nrhs, start, x);
  for (tsi_index c = 0; c < nrhs; c++) {
    tsi_scalar *r = reference + c;
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
    CHECK_MSG((double)tsi_abs(x[i] - reference[i]) < BOUND * scale,
              "%s %d backward w %d m %d lu %d nrhs %d: %d: %g, not %g", kernels->isa, (int)kernels->inverse,
              w, m, lu, nrhs, i, (double)tsi_re(x[i]), (double)tsi_re(reference[i]));
}

/* Slices of 16 rows add up to the whole rectangle, forward and backward. */
static void check_slices(const tsi_kernels *kernels, tsi_index w, tsi_index m, tsi_index nrhs) {
  static tsi_scalar values[F * F], x[F * 64], u[F * 64], all[F * 64], sum[F * 64], part[F * 64],
      scratch[TSI_KERNEL_SCRATCH];
  const tsi_panel panel = {.values = 0, .row = 0, .width = w, .height = m, .x = 0, .column = 0};
  fill(values, F * F, 3);
  fill(x, F * 64, 4);
  kernels->forward_slice(&panel, values, 0, m, nrhs, x, all, scratch);
  for (tsi_index first = 0; first < m; first += 16)
    kernels->forward_slice(&panel, values, first, tsi_index_min(16, m - first), nrhs, x, u + first * nrhs,
                           scratch);
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
    CHECK_MSG((double)tsi_abs(sum[i] - all[i]) < BOUND * m, "%s: column %d", kernels->isa, i / nrhs);
}

/* Every shape with one table. */
static void check_table(const tsi_kernels *kernels) {
  static const tsi_index widths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 128};
  static const tsi_index heights[] = {0, 1, 2, 3, 5, 8, 9, 31, 32, 40, 67, 130, 170};
  static const tsi_index nrhs[] = {1, 8, 16, 24, 64};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
    for (size_t m = 0; m < sizeof heights / sizeof *heights; m++)
      for (size_t r = 0; r < sizeof nrhs / sizeof *nrhs; r++) {
        if (kernels->inverse != TSI_INVERSE_DIAGONAL && nrhs[r] != 24 && nrhs[r] != 1)
          continue; /* 24 has both kinds of strips */
        check_one(kernels, widths[w], heights[m], false, nrhs[r]);
        check_one(kernels, widths[w], heights[m], true, nrhs[r]);
        if (heights[m] > 0) check_slices(kernels, widths[w], heights[m], nrhs[r]);
      }
}

int main(void) {
  front_kernels = tsi_front_kernels_select(*TEXT(TSI_LETTER));
  CHECK(front_kernels->scalar_bytes == sizeof(tsi_scalar));
  static const char *const isas[] = {"base", "avx2", "avx512"};
  int tried = 0;
  openblas_set_num_threads(1);
  for (int i = 0; i < 3; i++) {
    if (tsi_kernels_select(*TEXT(TSI_LETTER), TSI_INVERSE_DIAGONAL, isas[i]) == NULL) {
      printf("%s: not on this processor\n", isas[i]);
      continue;
    }
    for (int inverse = 0; inverse < TSI_INVERSES; inverse++) {
      const tsi_kernels *kernels = tsi_kernels_select(*TEXT(TSI_LETTER), (tsi_inverse)inverse, isas[i]);
      CHECK(strcmp(kernels->isa, isas[i]) == 0 && (int)kernels->inverse == inverse);
      check_table(kernels);
      tried++;
    }
  }
  CHECK(tried > 0);
  CHECK(tsi_kernels_select(*TEXT(TSI_LETTER), TSI_INVERSE_DIAGONAL, NULL) != NULL);
  CHECK(tsi_kernels_select(*TEXT(TSI_LETTER), TSI_INVERSE_DIAGONAL, "no such set") == NULL);
  return 0;
}
