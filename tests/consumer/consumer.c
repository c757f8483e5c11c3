/* Solves a 3D Poisson problem with only the installed header, and computes max |b - A x| itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tristar.h>
#include <tristar_matrix.h>

enum { K = 5, N = K * K * K };

static void log_line(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  (void)level;
  fprintf(stderr, "%s\n", text);
}

static int failed(tristar_t *ts, const char *call, tristar_status status) {
  char message[512] = "";
  if (status == TRISTAR_OK) return 0;
  if (ts != NULL) tristar_get_error(ts, message, sizeof message);
  fprintf(stderr, "%s: %s: %s\n", call, tristar_status_name(status), message);
  return 1;
}

/* max_i |b - A x|_i. An entry of a symmetric view also represents its mirror image. */
static double residual(const tristar_view *view, const double *b, const double *x) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  const double *values = view->values;
  double r[N], worst = 0;
  memcpy(r, b, sizeof r);
  for (int j = 0; j < N; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      int i = index[p];
      r[i] -= values[p] * x[j];
      if (view->symmetry == TRISTAR_SYMMETRIC && i != j) r[j] -= values[p] * x[i];
    }
  for (int i = 0; i < N; i++) worst = fmax(worst, fabs(r[i]));
  return worst;
}

int main(void) {
  tristar_config config;
  tristar_t *ts = NULL;
  tristar_matrix_t *matrix = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  tristar_view view;
  double b[N], x[N];
  int result = EXIT_FAILURE;

  tristar_config_init(&config);
  config.log = log_line;
  if (failed(ts, "tristar_create", tristar_create(&config, &ts))) goto out;
  if (failed(ts, "tristar_matrix_generate", tristar_matrix_generate(ts, "poisson3d7", K, &matrix))) goto out;
  tristar_matrix_get_view(matrix, &view);
  if (view.rows != N || view.cols != N) {
    fprintf(stderr, "the matrix has %lld rows, expected %d\n", (long long)view.rows, N);
    goto out;
  }
  if (failed(ts, "tristar_analyze", tristar_analyze(ts, &view, NULL, &analysis))) goto out;
  if (failed(ts, "tristar_factor", tristar_factor(analysis, view.values, &factor))) goto out;
  if (failed(ts, "tristar_plan", tristar_plan(factor, NULL, &plan))) goto out;
  for (int i = 0; i < N; i++) b[i] = 1 + i % 7;
  memset(x, 0, sizeof x);
  if (failed(ts, "tristar_solve", tristar_solve(plan, TRISTAR_N, 1, b, N, x, N))) goto out;

  const double r = residual(&view, b, x);
  printf("TriStar %s: n = %d, max |b - A x| = %.2e\n", tristar_version(), N, r);
  if (r < 1e-11)
    result = EXIT_SUCCESS;
  else
    fprintf(stderr, "the residual is too large\n"); /* or NaN */

out:
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return result;
}
