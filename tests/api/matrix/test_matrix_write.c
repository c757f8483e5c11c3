/* Writing Matrix Market coordinate files: every scalar, symmetry and storage, read back to the same bits;
 * views and paths that are refused. */

#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

static const char plain[] = "write_test.mtx";
static const char packed[] = "write_test.mtx.gz";

/* 3 x 3: by columns the entries are (1,0), (2,1), (1,1) = 0 and (0,2). */
static const int32_t ptr32[2][4] = {{0, 1, 3, 4}, {1, 2, 4, 5}};
static const int64_t ptr64[2][4] = {{0, 1, 3, 4}, {1, 2, 4, 5}};
static const int32_t index32[2][4] = {{1, 2, 1, 0}, {2, 3, 2, 1}};
static const int64_t index64[2][4] = {{1, 2, 1, 0}, {2, 3, 2, 1}};
static const double doubles[8] = {1.0 / 3, -1e300, 4.9406564584124654e-324, 1.7976931348623157e308,
                                  0,       0,      2.2250738585072011e-308, -0.1};
static const float floats[8] = {1.0f / 3, -1e30f, 1.40129846e-45f, 3.40282347e38f,
                                0,        0,      1.17549421e-38f, -0.1f};
static const double doubles_real[4] = {1.0 / 3, 4.9406564584124654e-324, 0, -123456789012345680.0};
static const float floats_real[4] = {1.0f / 3, 1.40129846e-45f, 0, -16777217.0f};

/* Returns the value that the file must contain at (i, j) for entry k of these arrays. */
static void expected_value(const tristar_view *view, int k, int mirrored, double value[2]) {
  const int width = width_of(view->scalar);
  for (int c = 0; c < width; c++)
    value[c] = view->scalar == TRISTAR_SINGLE || view->scalar == TRISTAR_COMPLEX_SINGLE
                   ? (double)((const float *)view->values)[k * width + c]
                   : ((const double *)view->values)[k * width + c];
  if (mirrored && view->symmetry == TRISTAR_SKEW_SYMMETRIC) value[0] = -value[0];
  if (mirrored && view->symmetry != TRISTAR_SYMMETRIC && view->symmetry != TRISTAR_GENERAL)
    value[1] = -value[1];
}

static void check_written(const tristar_view *view, const columns *m) {
  int found = 0;
  CHECK(m->rows == 3 && m->cols == 3 && m->symmetry == view->symmetry);
  CHECK((m->values == NULL) == (view->values == NULL));
  for (int j = 0; j < 3; j++)
    for (int k = ptr32[0][j]; k < ptr32[0][j + 1]; k++) {
      int row = view->format == TRISTAR_CSC ? index32[0][k] : j,
          col = view->format == TRISTAR_CSC ? j : index32[0][k];
      int mirrored = view->symmetry != TRISTAR_GENERAL && row < col;
      int i = mirrored ? col : row, c = mirrored ? row : col;
      const int width = width_of(m->scalar);
      for (int64_t q = m->ptr[c]; q < m->ptr[c + 1]; q++) {
        double value[2] = {0, 0};
        if (m->index[q] != i) continue;
        found++;
        if (m->values == NULL) continue;
        expected_value(view, k, mirrored, value);
        CHECK_MSG(memcmp(m->values + q * width, value, (size_t)width * sizeof(double)) == 0,
                  "(%d,%d): %.17g, not %.17g", i, c, m->values[q * width], value[0]);
      }
    }
  CHECK(found == 4 && m->ptr[3] == 4);
}

static void round_trip(tristar_t *ts, const tristar_view *view, int compressed) {
  const char *path = compressed ? packed : plain;
  CHECK_OK(tristar_matrix_write(ts, path, view, compressed ? "two\nlines" : NULL));
  CLEANUP(free_columns) columns *m = read_matrix(ts, "round trip", path);
  check_written(view, m); /* writes the library's own arrays: the same bits */
  CHECK_OK(tristar_matrix_write(ts, path, &m->view, NULL));
  CLEANUP(free_columns) columns *again = read_matrix(ts, "second round trip", path);
  CHECK(hash_matrix(again) == hash_matrix(m));
}

static void test_round_trips(void) {
  static const tristar_scalar scalars[4] = {TRISTAR_SINGLE, TRISTAR_DOUBLE, TRISTAR_COMPLEX_SINGLE,
                                            TRISTAR_COMPLEX_DOUBLE};
  const void *const values[4] = {floats_real, doubles_real, floats, doubles};
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  for (int way = 0; way < 4 * 5 * 2 * 8 * 2; way++) {
    const int symmetry = way % 4, scalar = way / 4 % 5, format = way / 20 % 2, base = way / 40 % 2;
    tristar_view view = {.format = format ? TRISTAR_CSR : TRISTAR_CSC,
                         .symmetry = (tristar_symmetry)symmetry,
                         .scalar = scalar < 4 ? scalars[scalar] : TRISTAR_DOUBLE,
                         .rows = 3,
                         .cols = 3,
                         .values = scalar < 4 ? values[scalar] : NULL,
                         .ptr_bits = way / 80 % 2 ? 64 : 32,
                         .index_bits = way / 160 % 2 ? 64 : 32,
                         .base = base};
    view.ptr = view.ptr_bits == 64 ? (const void *)ptr64[base] : ptr32[base];
    view.index = view.index_bits == 64 ? (const void *)index64[base] : index32[base];
    round_trip(ts, &view, way / 320);
  }
}

static void expect_write_failure(tristar_t *ts, const tristar_view *view, const char *path,
                                 tristar_status expected, const char *needle) {
  CHECK_STATUS(tristar_matrix_write(ts, path, view, NULL), expected);
  check_message(ts, needle, needle);
}

static void test_write_failures(void) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  double values[4] = {1, 2, 3, 4};
  tristar_view view = {.format = TRISTAR_CSC,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = 3,
                       .cols = 3,
                       .ptr = ptr64[0],
                       .index = index32[0],
                       .values = values,
                       .ptr_bits = 64,
                       .index_bits = 32,
                       .base = 0};
  CHECK(remove(plain) == 0);
  expect_write_failure(ts, &view, "no_such_folder/a.mtx", TRISTAR_ERR_IO,
                       "cannot write no_such_folder/a.mtx");
  if (access("/dev/full", W_OK) == 0)
    expect_write_failure(ts, &view, "/dev/full", TRISTAR_ERR_IO, "No space left");
  values[3] = 1 / (values[0] - 1);
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_NOT_FINITE, "column 2, entry 3");
  values[3] = 4;
  view.symmetry = TRISTAR_SKEW_SYMMETRIC;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_FORMAT, "diagonal entry 1");
  view.symmetry = TRISTAR_SYMMETRIC;
  view.rows = 4;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_RECTANGULAR, "4 x 3");
  view.symmetry = TRISTAR_GENERAL;
  view.rows = 2;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_FORMAT, "column 1, entry 1: index 2 is outside 0..1");
  view.rows = 3;
  view.base = 1;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_FORMAT, "ptr[0] is 0 with base 1");
  view.base = 2;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_ARGUMENT, "base 2");
  view.base = 0;
  view.ptr_bits = 16;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_ARGUMENT, "ptr_bits 16");
  view.ptr_bits = 64;
  view.index = NULL;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_ARGUMENT, "index is NULL");
  view.index = index32[0];
  view.scalar = (tristar_scalar)'x';
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_ARGUMENT, "unknown scalar");
  view.scalar = TRISTAR_DOUBLE;
  static const int64_t falls[4] = {0, 2, 1, 4};
  view.ptr = falls;
  expect_write_failure(ts, &view, plain, TRISTAR_ERR_FORMAT, "ptr falls from 2 to 1 at 1");
  CHECK_MSG(access(plain, F_OK) != 0, "a refused view left a file");
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(test_round_trips());
  RUN(test_write_failures());
  RUN(with_decimal_comma(test_round_trips));
  remove(plain);
  remove(packed);
  return 0;
}
