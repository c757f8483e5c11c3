/* The estimator of 1-norms, on matrices that are given only by products. */
#include "runtime/iterate/refine/norm_estimate.h"

#include "runtime/context/context.h"
#include "tests/support/context.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"

/* Dense matrices, by which a callback multiplies. Column `spoiled` of an adjoint product is NaN. */
typedef struct products {
  double _Complex m[TSI_ESTIMATES_MAX][N_MAX][N_MAX];
  int spoiled, made;
} products;

static tristar_status multiply(void *arg, bool adjoint, tsi_index count, void *xv) {
  products *all = arg;
  double _Complex *x = xv, y[N_MAX];
  all->made++;
  for (int c = 0; c < count; c++, x += N_MAX) {
    for (int i = 0; i < N_MAX; i++) {
      y[i] = adjoint && c == all->spoiled ? NAN : 0;
      for (int j = 0; j < N_MAX; j++) y[i] += (adjoint ? conj(all->m[c][j][i]) : all->m[c][i][j]) * x[j];
    }
    memcpy(x, y, sizeof y);
  }
  return TRISTAR_OK;
}

/* Random matrices: with one large column, with a zero column, with NaN. */
static void check(tristar_t *ts) {
  static products all;
  double norm[TSI_ESTIMATES_MAX];
  uint64_t state = 17;
  for (int c = 0; c < TSI_ESTIMATES_MAX; c++)
    for (int i = 0; i < N_MAX; i++)
      for (int j = 0; j < N_MAX; j++) {
        const double size = c == 5 ? 0 : j == (c + 3) % N_MAX ? 5 : 1;
        __real__ all.m[c][i][j] = size * (double)((int)(next_random(&state) % 101) - 50);
        __imag__ all.m[c][i][j] = size * (double)((int)(next_random(&state) % 101) - 50);
      }
  for (all.spoiled = -1; all.spoiled < 2; all.spoiled++) {
    all.made = 0;
    tsi_team alone = tsi_team_alone(N_MAX);
    CHECK_OK(tsi_estimate_one_norms(tsi_context_env(ts), tsi_sparse_kernels_select('z'), &alone, N_MAX,
                                    TSI_ESTIMATES_MAX, multiply, &all, norm));
    CHECK_MSG(all.made >= 4 && all.made <= 10, "%d products", all.made);
    for (int c = 0; c < TSI_ESTIMATES_MAX; c++) {
      double exact = 0;
      for (int j = 0; j < N_MAX; j++) {
        double sum = 0;
        for (int i = 0; i < N_MAX; i++) sum += cabs(all.m[c][i][j]);
        exact = fmax(exact, sum);
      }
      if (c == all.spoiled)
        CHECK(isinf(norm[c]));
      else
        CHECK_MSG(norm[c] >= 0.9 * exact && norm[c] <= (1 + 1e-14) * exact, "matrix %d: norm %g, estimate %g",
                  c, exact, norm[c]);
    }
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check(ts));
  return 0;
}
