/* Singular systems without a solution, of small integers: sums of w (I - P) with permutations P. The entries
 * of each row and each column add up to zero, those of b do not: neither A nor its transpose has a solution,
 * and the largest entry of b - A x is at least |sum of b| / n, whatever x is. */
#ifndef TSI_TESTS_SUPPORT_NO_SOLUTION_H
#define TSI_TESTS_SUPPORT_NO_SOLUTION_H

#include "tests/support/random.h"
#include "tests/support/typed.h"

enum { SMALL_MOST = 9 };

typedef struct small_system {
  int n;
  double residual; /* the largest entry of b - A x, relative to the one of b, is at least this */
  int32_t ptr[SMALL_MOST + 1], column[SMALL_MOST * SMALL_MOST];
  number values[SMALL_MOST * SMALL_MOST], b[SMALL_MOST]; /* room for all types */
  tristar_view view;                                     /* compressed rows */
} small_system;

static inline void make_small_system(const typed *t, uint64_t seed, small_system *s) {
  const int n = s->n = 2 + (int)(next_random(&seed) % (SMALL_MOST - 1));
  double a[SMALL_MOST][SMALL_MOST] = {{0}}, b[SMALL_MOST], sum = 0, most = 0;
  for (int k = 0; k < 3; k++) {
    const double w = 1 + (double)(next_random(&seed) % 50);
    int image[SMALL_MOST];
    for (int i = 0; i < n; i++) image[i] = i;
    for (int i = n - 1; i > 0; i--) {
      const int j = k == 0 ? i - 1 : (int)(next_random(&seed) % (uint64_t)(i + 1)), old = image[i];
      image[i] = image[j];
      image[j] = old;
    }
    for (int i = 0; i < n; i++) {
      a[i][i] += w;
      a[i][image[i]] -= w;
    }
  }
  for (int i = 0; i < n; i++) sum += b[i] = (double)(next_random(&seed) % 9) - 4;
  if (sum == 0) {
    b[0]++;
    sum = 1;
  }
  for (int i = 0, at = s->ptr[0] = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      if (a[i][j] == 0 && i != j) continue;
      s->column[at] = j;
      put(t, s->values, at++, a[i][j]);
    }
    s->ptr[i + 1] = at;
    put(t, s->b, i, b[i]);
    most = fmax(most, fabs(b[i]));
  }
  s->residual = fabs(sum) / n / most;
  s->view =
      (tristar_view){TRISTAR_CSR, TRISTAR_GENERAL, t->scalar, n, n, s->ptr, s->column, s->values, 32, 32, 0};
}

#endif
