/* Public functions that make a matrix from a file, a model problem or a graph, or write one: see
 * tristar.h. */
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/matrix.h"
#include "runtime/matrix/file/number.h"
#include "runtime/matrix/view.h"

/* The first steps of every public function that makes a matrix, after the check of ts. */
static tristar_status begin(tristar_t *ts, const void *input, const char *what, tristar_matrix_t **matrix) {
  if (input != NULL && matrix != NULL) return TRISTAR_OK;
  TSI_FAIL(tsi_context_env(ts), TRISTAR_ERR_ARGUMENT, "%s is NULL", input == NULL ? what : "matrix");
}

/* The last steps of these functions. */
static tristar_status finish(tristar_status status, tristar_matrix_t **matrix) {
  if (status == TRISTAR_OK && (*matrix)->env->check) {
    status = tsi_matrix_check(*matrix);
    if (status != TRISTAR_OK) tristar_matrix_destroy(matrix);
  }
  return status;
}

tristar_status tsi_matrix_generate_path(tsi_env *env, const char *path, tsi_matrix_part *part,
                                        tristar_matrix_t **matrix) {
  char kind[32];
  const char *name = path + strlen("gen:");
  const char *colon = strchr(name, ':');
  const char *size = colon == NULL ? "" : colon + 1;
  int64_t k = 0;
  if (colon == NULL || (size_t)(colon - name) >= sizeof kind)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "\"%.100s\" is not of the form gen:KIND:K", path);
  memcpy(kind, name, (size_t)(colon - name));
  kind[colon - name] = '\0';
  tsi_number number = tsi_scan_integer(&size, &k);
  if (number == TSI_NUMBER_LARGE)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "size too large in \"%.100s\": at most %d", path,
             (int)TSI_INDEX_MAX);
  if (number != TSI_NUMBER_OK || *size != '\0')
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "no integer after the second colon of \"%.100s\"", path);
  return tsi_matrix_generate(env, kind, k, part, matrix);
}

tristar_status tristar_matrix_read(tristar_t *ts, const char *path, tristar_matrix_t **matrix) {
  tristar_status status = TRISTAR_OK;
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = tsi_context_env(ts);
  TSI_TRY_OUT(begin(ts, path, "path", matrix));
  bool generated = strncmp(path, "gen:", 4) == 0;
  TSI_TRY_OUT(finish(generated ? tsi_matrix_generate_path(env, path, NULL, matrix)
                               : tsi_matrix_read_file(env, path, matrix),
                     matrix));
out:
  return tsi_answer(env, status);
}

tristar_status tristar_matrix_generate(tristar_t *ts, const char *kind, int64_t k,
                                       tristar_matrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  tristar_status status = begin(ts, kind, "kind", matrix);
  if (status == TRISTAR_OK)
    status = finish(tsi_matrix_generate(tsi_context_env(ts), kind, k, NULL, matrix), matrix);
  return tsi_answer(tsi_context_env(ts), status);
}

tristar_status tristar_matrix_laplacian(tristar_t *ts, const tristar_view *view, tristar_matrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  tristar_status status = begin(ts, view, "view", matrix);
  if (status == TRISTAR_OK) status = finish(tsi_matrix_laplacian(tsi_context_env(ts), view, matrix), matrix);
  return tsi_answer(tsi_context_env(ts), status);
}

tristar_status tristar_matrix_write(tristar_t *ts, const char *path, const tristar_view *view,
                                    const char *comment) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(ts, ts);
  tsi_env *env = tsi_context_env(ts);
  if (path == NULL || view == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", path == NULL ? "path" : "view");
  TSI_TRY_OUT(tsi_view_check(env, view));
  TSI_TRY_OUT(tsi_market_write(env, path, view, comment));
out:
  return tsi_answer(env, status);
}
