/* cholmod_solve MATRIX [REPEAT]: CHOLMOD's supernodal Cholesky factorization with METIS, and its solve phase.
 *
 * A process of its own, because StarPU's idle workers poll and would slow a peer in the same one. Prints one
 * line of JSON: n, nnz of L, seconds of analysis, of the factorization (median of 3), of cholmod_solve2 with
 * one right-hand side (median of REPEAT, after a warm-up), and the componentwise-relative residual. Threads
 * are those of the BLAS (OPENBLAS_NUM_THREADS). */
#include <cholmod.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tristar.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int die(const char *what, const char *why) {
  fprintf(stderr, "cholmod_solve: %s: %s\n", what, why);
  return 1;
}

/* The lower triangle of the matrix as CHOLMOD wants it; NULL if it is not symmetric. */
static cholmod_sparse *convert(const tristar_view *view, cholmod_common *common) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  const double *values = view->values;
  if (view->symmetry != TRISTAR_SYMMETRIC || values == NULL) return NULL;
  cholmod_sparse *a = cholmod_l_allocate_sparse((size_t)view->rows, (size_t)view->cols,
                                                (size_t)ptr[view->cols], 1, 1, -1, CHOLMOD_REAL, common);
  if (a == NULL) return NULL;
  memcpy(a->p, ptr, ((size_t)view->cols + 1) * sizeof *ptr);
  for (int64_t p = 0; p < ptr[view->cols]; p++) ((SuiteSparse_long *)a->i)[p] = index[p];
  memcpy(a->x, values, (size_t)ptr[view->cols] * sizeof *values);
  return a;
}

int main(int argc, char **argv) {
  tristar_config config;
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;
  cholmod_common common;
  char message[512];
  const int repeat = argc > 2 ? atoi(argv[2]) : 11;
  if (argc < 2 || repeat < 1) return die("usage", "cholmod_solve MATRIX [REPEAT]");
  tristar_config_init(&config);
  config.use_starpu = 0;
  if (tristar_create(&config, &ts) != TRISTAR_OK) return die("tristar_create", "failed");
  if (tristar_matrix_read(ts, argv[1], &matrix) != TRISTAR_OK) {
    tristar_error(ts, message, sizeof message);
    return die(argv[1], message);
  }
  tristar_matrix_view(matrix, &view);
  cholmod_l_start(&common);
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_METIS;
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.postorder = 1;
  cholmod_sparse *a = convert(&view, &common);
  if (a == NULL) return die(argv[1], "not a real symmetric matrix");
  double begin = seconds(), factor_s[3], *solve_s = malloc((size_t)repeat * sizeof *solve_s);
  cholmod_factor *l = cholmod_l_analyze(a, &common);
  const double analyze_s = seconds() - begin;
  for (int k = 0; k < 3; k++) {
    begin = seconds();
    if (!cholmod_l_factorize(a, l, &common) || common.status != CHOLMOD_OK)
      return die(argv[1], "not positive definite");
    factor_s[k] = seconds() - begin;
  }
  const double nnz = common.lnz;
  cholmod_dense *b = cholmod_l_ones(a->nrow, 1, CHOLMOD_REAL, &common), *x = NULL, *y = NULL, *e = NULL;
  for (int k = -1; k < repeat; k++) {
    begin = seconds();
    cholmod_l_solve2(CHOLMOD_A, l, b, NULL, &x, NULL, &y, &e, &common);
    if (k >= 0) solve_s[k] = seconds() - begin;
  }
  double one[2] = {1, 0}, minus[2] = {-1, 0};
  cholmod_dense *r = cholmod_l_copy_dense(b, &common);
  cholmod_l_sdmult(a, 0, minus, one, x, r, &common);
  const double residual = cholmod_l_norm_dense(r, 0, &common) / cholmod_l_norm_dense(b, 0, &common);
  qsort(factor_s, 3, sizeof *factor_s, compare);
  qsort(solve_s, (size_t)repeat, sizeof *solve_s, compare);
  printf("{\"peer\": \"CHOLMOD %d.%d.%d\", \"n\": %lld, \"nnz_lower\": %.0f, \"analyze_s\": %.6g, "
         "\"factor_s\": %.6g, "
         "\"solve_s\": %.6g, \"solve_min_s\": %.6g, \"residual\": %.3g}\n",
         CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION, (long long)view.rows, nnz,
         analyze_s, factor_s[1], solve_s[repeat / 2], solve_s[0], residual);
  free(solve_s);
  cholmod_l_free_dense(&b, &common);
  cholmod_l_free_dense(&x, &common);
  cholmod_l_free_dense(&y, &common);
  cholmod_l_free_dense(&e, &common);
  cholmod_l_free_dense(&r, &common);
  cholmod_l_free_factor(&l, &common);
  cholmod_l_free_sparse(&a, &common);
  cholmod_l_finish(&common);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return 0;
}
