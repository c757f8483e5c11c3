/* Singular matrices of integers.
 *
 * Small systems without a solution: sums of w (I - P) with permutations P. The entries of each row and each
 * column add up to zero, but the entries of b do not. So neither A nor its transpose has a solution, and for
 * every x the largest entry of b - A x is at least |sum of b| / n.
 *
 * Chains of n unknowns, as compressed columns of doubles: each row adds up to zero, so that the matrix is
 * singular until a weight is added to one diagonal entry. */
#pragma once

#include "tests/support/random.h"
#include "tests/support/typed.h"

enum { SMALL_MOST = 9 };

typedef struct small_system {
  int n;
  double residual; /* lower bound for the largest entry of b - A x, relative to the largest entry of b */
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

/* ---- Chains -------------------------------------------------------------------------------------------- */

enum { CHAIN_MOST = 64 };

typedef struct chain {
  int32_t ptr[CHAIN_MOST + 1], index[3 * CHAIN_MOST];
  double values[3 * CHAIN_MOST];
  tristar_view view; /* GENERAL */
} chain;

/* forward[k] couples row k to k + 1, backward[k] row k + 1 to k. anchored: the row whose diagonal entry gets
 * an additional weight; -1: none. */
static inline void make_chain(chain *c, int n, const double *forward, const double *backward, int anchored,
                              double weight) {
  int32_t at = 0;
  for (int j = 0; j < n; j++) {
    c->ptr[j] = at;
    if (j > 0) c->index[at] = j - 1, c->values[at++] = -forward[j - 1];
    c->index[at] = j;
    c->values[at] = (j + 1 < n ? forward[j] : 0) + (j > 0 ? backward[j - 1] : 0);
    c->values[at++] += j == anchored ? weight : 0;
    if (j + 1 < n) c->index[at] = j + 1, c->values[at++] = -backward[j];
  }
  c->ptr[n] = at;
  c->view = (tristar_view){
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, c->ptr, c->index, c->values, 32, 32, 0};
}

/* Weights are powers of `base`, largest first or last. */
static inline void make_graded_chain(chain *c, int n, int base, bool falling, int anchored) {
  double weight[CHAIN_MOST];
  for (int k = 0; k + 1 < n; k++) weight[k] = pow(base, falling ? n - 2 - k : k);
  make_chain(c, n, weight, weight, anchored, anchored < 0 ? 0 : pow(base, n - 2));
}

/* Random weights up to `most`; directed: the weights of the two directions differ. */
static inline void make_random_chain(chain *c, int n, int most, bool directed, int anchored, uint64_t seed) {
  double forward[CHAIN_MOST], backward[CHAIN_MOST];
  for (int k = 0; k + 1 < n; k++) {
    const int bound = next_random(&seed) % 2 ? most : 4;
    forward[k] = backward[k] = 1 + (double)(next_random(&seed) % (uint64_t)bound);
    if (directed) backward[k] = 1 + (double)(next_random(&seed) % (uint64_t)bound);
  }
  make_chain(c, n, forward, backward, anchored, most);
}
