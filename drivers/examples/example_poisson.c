/* Solves -u'' = 1 on (0, 1) with u(0) = u(1) = 0, by central differences at N inner points. */
#include <stdio.h>
#include <stdlib.h>
#include <tristar.h>

#define N 10000

static tristar_t *ts;

static void check(tristar_status status) {
  char message[512] = "";
  if (status == TRISTAR_OK) return;
  tristar_get_error(ts, message, sizeof message);
  fprintf(stderr, "%s: %s\n", tristar_status_name(status), message);
  exit(EXIT_FAILURE);
}

int main(void) {
  static int ptr[N + 1], row[2 * N];
  static double value[2 * N], b[N], x[N];
  for (int j = 0, p = 0; j < N; ptr[++j] = p) { /* the lower triangle, column by column */
    row[p] = j, value[p++] = 2;
    if (j + 1 < N) row[p] = j + 1, value[p++] = -1;
    b[j] = 1.0 / (N + 1) / (N + 1);
  }
  tristar_view a = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value, 32, 32, 0};
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  check(tristar_create(NULL, &ts));
  check(tristar_analyze(ts, &a, NULL, &analysis));    /* once per pattern */
  check(tristar_factor(analysis, a.values, &factor)); /* once per set of values */
  check(tristar_plan(factor, NULL, &plan));
  check(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N)); /* again and again */
  printf("u(1/2) = %.6f (exact: 0.125)\n", x[N / 2]);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  return x[N / 2] > 0.12499 && x[N / 2] < 0.12501 ? EXIT_SUCCESS : EXIT_FAILURE;
}
