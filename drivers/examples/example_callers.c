/* Several threads solve with one plan, like the requests of a server. With fuse_columns, solves that wait for
 * each other share passes over the factor:
 *
 *   example_callers [K [CALLERS [SOLVES]]]      a 3D Poisson matrix of K^3 rows
 *
 * Prints the number of solves per second, and checks that each has the bits of a separate solve. */
#include <pthread.h>
#include <string.h>
#include <tristar_matrix.h>
#include <tristar_stats.h>

#include "example.h"

typedef struct caller {
  tristar_t *ts;
  tristar_plan_t *plan;
  int64_t n;
  int solves;
  const double *b, *expected;
} caller;

static void *call(void *arg) {
  const caller *c = arg;
  double *x = example_allocate((size_t)c->n, sizeof *x);
  for (int k = 0; k < c->solves; k++) {
    example_check(c->ts, tristar_solve(c->plan, TRISTAR_N, 1, c->b, c->n, x, c->n));
    if (memcmp(x, c->expected, (size_t)c->n * sizeof *x) != 0) example_die("tristar_solve", "other bits");
  }
  free(x);
  return NULL;
}

/* All callers solve with one plan with this value of fuse_columns. */
static void run(tristar_t *ts, tristar_factor_t *factor, int64_t n, int callers, int solves, int fuse) {
  tristar_plan_options options;
  tristar_plan_t *plan;
  tristar_plan_stats stats;
  double *b = example_allocate((size_t)n, sizeof *b), *x = example_allocate((size_t)n, sizeof *x);
  pthread_t *thread = example_allocate((size_t)callers, sizeof *thread);
  for (int64_t i = 0; i < n; i++) b[i] = 1 + (double)(i % 7);
  tristar_plan_options_init(&options);
  options.fuse_columns = fuse;
  example_check(ts, tristar_plan(factor, &options, &plan));
  example_check(ts, tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  caller c = {ts, plan, n, solves, b, x};
  const double begin = example_seconds();
  for (int k = 0; k < callers; k++)
    if (pthread_create(&thread[k], NULL, call, &c) != 0) example_die("pthread_create", "no thread");
  for (int k = 0; k < callers; k++) pthread_join(thread[k], NULL);
  const double seconds = example_seconds() - begin;
  tristar_plan_get_stats(plan, &stats);
  printf("fuse_columns %2d: %8.1f solves a second; %lld solves shared %lld passes\n", fuse,
         callers * solves / seconds, (long long)stats.fused, (long long)stats.fused_passes);
  tristar_plan_destroy(&plan);
  free(thread);
  free(x);
  free(b);
}

int main(int argc, char **argv) {
  const int k = argc > 1 ? example_number(argv[1], 1, 200) : 20;
  const int callers = argc > 2 ? example_number(argv[2], 1, 1000) : 8;
  const int solves = argc > 3 ? example_number(argv[3], 1, 100000) : 20;
  tristar_t *ts = NULL;
  tristar_matrix_t *matrix;
  tristar_view a;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  example_check(ts, tristar_create(NULL, &ts));
  example_check(ts, tristar_matrix_generate(ts, "poisson3d7", k, &matrix));
  tristar_matrix_get_view(matrix, &a);
  example_check(ts, tristar_analyze(ts, &a, NULL, &analysis));
  example_check(ts, tristar_factor(analysis, a.values, &factor));
  run(ts, factor, a.rows, callers, solves, 0);
  run(ts, factor, a.rows, callers, solves, 8);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return 0;
}
