/* A factorization that outlives its program: the first run analyzes, factors and saves the plan; later runs
 * load it and solve at once. New values of the matrix need no analysis either.
 *
 * example_restart [FILE]: default example_restart.tristar; the first run writes the file. */
#include <math.h>
#include <string.h>

#include "example.h"
#include "tristar_save.h"

enum { K = 60, N = K * K };

/* The five-point operator on K x K points, lower triangle by columns. */
static tristar_view make_matrix(int *ptr, int *row, double *value, double diagonal) {
  int at = 0;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    row[at] = j, value[at++] = diagonal;
    if (j % K < K - 1) row[at] = j + 1, value[at++] = -1;
    if (j + K < N) row[at] = j + K, value[at++] = -1;
  }
  ptr[N] = at;
  return (tristar_view){TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value, 32, 32, 0};
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "example_restart.tristar";
  static int ptr[N + 1], row[3 * N];
  static double value[3 * N], x[N];
  tristar_t *ts;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  example_check(NULL, tristar_create(NULL, &ts));
  const tristar_view a = make_matrix(ptr, row, value, 4.1);
  const double begin = example_seconds();
  const tristar_status status = tristar_plan_load(ts, path, &factor, &plan);
  if (status != TRISTAR_OK) { /* The first run, or a file of another version. */
    char why[512];
    tristar_get_error(ts, why, sizeof why);
    printf("no plan to load: %s\n", why);
    example_check(ts, tristar_analyze(ts, &a, NULL, &analysis));
    example_check(ts, tristar_factor(analysis, value, &factor));
    example_check(ts, tristar_plan(factor, NULL, &plan));
    example_check(ts, tristar_plan_save(plan, path));
    tristar_analysis_destroy(&analysis);
  }
  printf("%s in %.1f ms\n", status == TRISTAR_OK ? "loaded" : "analyzed, factored and saved",
         1e3 * (example_seconds() - begin));
  for (int step = 0; step < 2; step++) {
    double worst = 0;
    for (int i = 0; i < N; i++) x[i] = 1;
    example_check(ts, tristar_solve(plan, TRISTAR_N, 1, x, N, x, N));
    for (int j = 0; j < N; j++) { /* b - A x, row by row */
      double r = 1 - value[ptr[j]] * x[j];
      if (j % K > 0) r += x[j - 1];
      if (j % K < K - 1) r += x[j + 1];
      if (j >= K) r += x[j - K];
      if (j + K < N) r += x[j + K];
      worst = fmax(worst, fabs(r));
    }
    printf("diagonal %.1f: largest residual %.1e\n", value[0], worst);
    if (!(worst < 1e-12)) example_die("example_restart", "the residual is large");
    (void)make_matrix(ptr, row, value, 4.5); /* new values, the same pattern */
    if (step == 0) example_check(ts, tristar_refactor(factor, value));
  }
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_destroy(&ts);
  return 0;
}
