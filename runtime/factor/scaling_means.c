/* Scaling by means of logarithms: see scaling.h. */
#include <math.h>

#include "runtime/factor/scaling_work.h"

#define ITERATIONS 100 /* Maximum number of iterations of conjugate gradients. */
#define SETTLED 0.01   /* Means of exponents up to this count as zero. */

/* The normal equations in the exponents of rows and columns, or of both at once (one scaling for both), are
 * solved by conjugate gradients, preconditioned by the numbers of entries (Curtis and Reid 1972). The gauge,
 * rows by 2 and columns by 1/2, does not change. The lines are the rows, followed by the columns. */

/* add_sums without the sums over processes, if no entry is zero and none has a mirror image. The sums are
 * exact (round_off), so their order does not matter. */
static void add_plain_sums(const tsi_scaling *s, const double *of, double *image) {
  const tsi_scaling_lines *lines = s->lines;
  const tsi_count column_line = s->symmetric ? 0 : lines->n;
  const tsi_count own = lines->by_rows ? 0 : column_line, other = lines->by_rows ? column_line : 0;
  for (tsi_index j = 0; j < lines->count; j++) {
    const tsi_count line = own + lines->first + j, end = lines->ptr[j + 1];
    const double of_line = of[line];
    double total = 0;
    for (tsi_count p = lines->ptr[j]; p < end; p++) {
      const tsi_count crossing = other + lines->index[p];
      const double sum = of_line + of[crossing];
      image[crossing] += sum;
      total += sum;
    }
    image[line] += total;
  }
}

/* Adds to image, which is zero before, the product of the normal equations with `of` or, if that is NULL, the
 * sums of the exponents of the entries. Counts the entries in `count`, unless it is NULL. */
static void add_sums(void *context, const double *of, double *image, double *count) {
  tsi_scaling *s = context;
  const tsi_scaling_lines *lines = s->lines;
  const tsi_count column_line = s->symmetric ? 0 : lines->n, all = column_line + lines->n;
  const bool plain = of != NULL && s->whole && !lines->mirror;
  if (plain) add_plain_sums(s, of, image);
  for (tsi_index j = 0; j < lines->count && !plain; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      if (s->exponent[p] == TSI_NO_ENTRY) continue;
      tsi_scaling_place(lines, j, p, &row, &column);
      for (int image_too = lines->mirror && row != column; image_too >= 0; image_too--) {
        const tsi_count a = image_too ? column : row, b = column_line + (image_too ? row : column);
        const double sum = of ? of[a] + of[b] : s->exponent[p];
        image[a] += sum;
        image[b] += sum;
        if (count == NULL) continue;
        count[a]++;
        count[b]++;
      }
    }
  tsi_scaling_unite_sums(s, all, image);
  if (count != NULL) tsi_scaling_unite_sums(s, all, count);
}

/* Computes r^T D^-1 r, where D holds the numbers of entries. *largest: the largest mean. */
static double weigh_residual(const tsi_scaling_squares *q, double *largest) {
  double sum = 0;
  *largest = 0;
  for (tsi_count i = 0; i < q->lines; i++) {
    if (q->count[i] == 0) continue;
    const double mean = q->residual[i] / q->count[i];
    sum += q->residual[i] * mean;
    *largest = fmax(*largest, fabs(mean));
  }
  if (q->largest) *largest = q->largest(q->context, *largest);
  return q->sum ? q->sum(q->context, sum) : sum;
}

/* Rounds to a number whose sums are exact: they do not depend on the order or the distribution of the
 * entries. */
static double round_off(double x) {
  return rint(x * 0x1p20) * 0x1p-20;
}

static void iterate(const tsi_scaling_squares *q) {
  double largest, before = 1, size = weigh_residual(q, &largest);
  for (int iteration = 0; iteration < ITERATIONS && largest > SETTLED; iteration++) {
    double curvature = 0;
    for (tsi_count i = 0; i < q->lines; i++) {
      const double mean = q->count[i] > 0 ? q->residual[i] / q->count[i] : 0;
      q->direction[i] = round_off(mean + (iteration > 0 ? size / before * q->direction[i] : 0));
      q->image[i] = 0;
    }
    q->add_sums(q->context, q->direction, q->image, NULL);
    for (tsi_count i = 0; i < q->lines; i++) curvature += q->direction[i] * q->image[i];
    if (q->sum) curvature = q->sum(q->context, curvature);
    if (!(curvature > 0)) break;
    const double step = size / curvature;
    for (tsi_count i = 0; i < q->lines; i++) {
      q->x[i] += step * q->direction[i];
      q->residual[i] -= step * q->image[i];
    }
    before = size;
    size = weigh_residual(q, &largest);
  }
}

void tsi_scaling_divide_squares(tsi_scaling_squares *q) {
  const size_t lines = (size_t)q->lines;
  q->x = q->all;
  q->residual = q->x + lines;
  q->direction = q->residual + lines;
  q->image = q->direction + lines;
  q->count = q->image + lines;
}

void tsi_scaling_solve_squares(const tsi_scaling_squares *q) {
  q->add_sums(q->context, NULL, q->residual, q->count);
  for (tsi_count i = 0; i < q->lines; i++) q->residual[i] = -q->residual[i];
  iterate(q);
}

tristar_status tsi_scaling_bring_together(tsi_scaling *s) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->lines->n;
  tsi_scaling_squares q = {.lines = s->symmetric ? n : 2 * (tsi_count)n, .context = s, .add_sums = add_sums};
  TSI_TRY_OUT(tsi_scaling_agree(s, TSI_ALLOC_ZERO(s->env, q.all, TSI_SCALING_SQUARES * (size_t)q.lines)));
  tsi_scaling_divide_squares(&q);
  tsi_scaling_solve_squares(&q);
  for (tsi_index i = 0; i < n; i++) {
    s->row[i] = tsi_scaling_clamp((int)lrint(q.x[i]));
    if (!s->symmetric) s->column[i] = tsi_scaling_clamp((int)lrint(q.x[n + i]));
  }
out:
  TSI_FREE(s->env, q.all);
  return status;
}
