/* The graph Laplacian plus identity of patterns in every storage. */
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

/* Entries (0,1) (1,0) (2,0) (2,0) (1,1), by columns and by rows: the edges 0-1 and 0-2. Node 3 has no
 * edges. */
static const int64_t ptr_columns[] = {0, 3, 5, 5, 5};
static const int32_t index_columns[] = {2, 1, 2, 0, 1};
static const int32_t ptr_rows[] = {1, 2, 4, 6, 6};
static const int64_t index_rows[] = {2, 1, 2, 1, 1};

static const float values[] = {0, 0, 1, -1, 5};
static const tristar_view rows = {.format = TRISTAR_CSR,
                                  .scalar = TRISTAR_SINGLE,
                                  .rows = 4,
                                  .cols = 4,
                                  .ptr = ptr_rows,
                                  .index = index_rows,
                                  .values = values,
                                  .ptr_bits = 32,
                                  .index_bits = 64,
                                  .base = 1};

/* Takes ownership of the matrix. */
static void check_result(tristar_matrix_t *matrix) {
  static const int64_t ptr[] = {0, 3, 4, 5, 6};
  static const int32_t index[] = {0, 1, 2, 1, 2, 3};
  static const double expected[] = {3, -1, -1, 2, 2, 1};
  CLEANUP(free_columns) columns *m = columns_of(matrix);
  check_columns(m);
  CHECK(m->rows == 4 && m->cols == 4 && m->symmetry == TRISTAR_SYMMETRIC && m->scalar == TRISTAR_DOUBLE);
  CHECK(memcmp(m->ptr, ptr, sizeof ptr) == 0);
  CHECK(memcmp(m->index, index, sizeof index) == 0);
  for (int k = 0; k < 6; k++) CHECK_MSG(m->values[k] == expected[k], "entry %d is %g", k, m->values[k]);
}

static void test_storages(tristar_t *ts) {
  tristar_matrix_t *m = NULL, *again = NULL;
  tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 4, 4, ptr_columns, index_columns, NULL);
  CHECK_OK(tristar_matrix_laplacian(ts, &view, &m));
  check_result(m);
  /* symmetric storage with entries in both triangles gives the same graph */
  view.symmetry = TRISTAR_SYMMETRIC;
  CHECK_OK(tristar_matrix_laplacian(ts, &view, &m));
  check_result(m);
  /* values are ignored, also zeros */
  CHECK_OK(tristar_matrix_laplacian(ts, &rows, &m));
  /* the Laplacian of a Laplacian is the same matrix */
  tristar_matrix_get_view(m, &view);
  CHECK_OK(tristar_matrix_laplacian(ts, &view, &again));
  check_result(again);
  check_result(m);
}

static void test_refused(tristar_t *ts) {
  tristar_matrix_t *m = NULL;
  const tristar_view none = {
      .format = TRISTAR_CSC, .scalar = TRISTAR_DOUBLE, .ptr = ptr_columns, .ptr_bits = 64, .index_bits = 32};
  CHECK_OK(tristar_matrix_laplacian(ts, &none, &m));
  CLEANUP(free_columns) columns *empty = columns_of(m);
  CHECK(empty->rows == 0 && empty->ptr[0] == 0);

  tristar_view wrong = rows;
  wrong.rows = 3;
  CHECK_STATUS(tristar_matrix_laplacian(ts, &wrong, &m), TRISTAR_ERR_RECTANGULAR);
  CHECK(m == NULL);
  wrong = rows;
  wrong.rows = wrong.cols = (int64_t)1 << 31;
  CHECK_STATUS(tristar_matrix_laplacian(ts, &wrong, &m), TRISTAR_ERR_TOO_LARGE);
  CHECK_STATUS(tristar_matrix_laplacian(NULL, &rows, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_laplacian(ts, NULL, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_laplacian(ts, &rows, NULL), TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  RUN(test_storages(ts));
  RUN(test_refused(ts));
  return 0;
}
