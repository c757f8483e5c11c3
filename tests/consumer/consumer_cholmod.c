/* Solves a tridiagonal system with factors of CHOLMOD, with only the installed headers. The solution is
 * ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tristar_cholmod.h>

enum { N = 100 };

int main(void) {
  int ptr[N + 1], row[2 * N];
  double value[2 * N], b[N], worst = 0;
  cholmod_common common;
  tristar_t *ts = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  int p = 0;
  for (int j = 0; j < N; j++) { /* the lower triangle of tridiag(-1, 3, -1) */
    ptr[j] = p;
    row[p] = j, value[p++] = 3;
    if (j + 1 < N) row[p] = j + 1, value[p++] = -1;
    b[j] = j == 0 || j + 1 == N ? 2 : 1;
  }
  ptr[N] = p;
  cholmod_sparse a = {.nrow = N,
                      .ncol = N,
                      .nzmax = (size_t)p,
                      .p = ptr,
                      .i = row,
                      .x = value,
                      .stype = -1,
                      .itype = CHOLMOD_INT,
                      .xtype = CHOLMOD_REAL,
                      .dtype = CHOLMOD_DOUBLE,
                      .sorted = 1,
                      .packed = 1};
  cholmod_start(&common);
  cholmod_factor *l = cholmod_analyze(&a, &common);
  cholmod_factorize(&a, l, &common);
  tristar_status status = tristar_create(NULL, &ts);
  if (status == TRISTAR_OK) status = tristar_import_cholmod(ts, l, NULL, &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, NULL, &plan);
  if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_N, 1, b, N, b, N);
  for (int j = 0; j < N; j++) worst = fmax(worst, fabs(b[j] - 1));
  printf("TriStar %s with CHOLMOD: %s, error %.2e\n", tristar_version(), tristar_status_name(status), worst);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_destroy(&ts);
  cholmod_free_factor(&l, &common);
  cholmod_finish(&common);
  return status == TRISTAR_OK && worst < 1e-14 ? EXIT_SUCCESS : EXIT_FAILURE;
}
