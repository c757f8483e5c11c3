/* Dense matrices: array and coordinate files and plain text read, array files written, the same bits back. */
#include "runtime/matrix/file/dense.h"
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

#define ARRAY "%%MatrixMarket matrix array "
#define COORDINATE "%%MatrixMarket matrix coordinate "

static const char plain[] = "dense_test.mtx";
static const char packed[] = "dense_test.mtx.gz";

typedef struct dense_file {
  const char *name, *text;
  int rows, cols, width;
  double values[18];
} dense_file;

static const dense_file good_files[] = {
    {"real", ARRAY "real general\n% c\n2 2\n1\n-2.5\n\n3e1\n4\n", 2, 2, 1, {1, -2.5, 30, 4}},
    {"integer", ARRAY "integer general\n1 2\n1\n-2\n", 1, 2, 1, {1, -2}},
    {"complex", ARRAY "complex general\n2 1\n1 2\n3 4\n", 2, 1, 2, {1, 2, 3, 4}},
    {"symmetric", ARRAY "real symmetric\n2 2\n1\n2\n3\n", 2, 2, 1, {1, 2, 2, 3}},
    {"skew", ARRAY "real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3, 1, {0, 1, 2, -1, 0, 3, -2, -3, 0}},
    {"skew 1 x 1", ARRAY "real skew-symmetric\n1 1\n", 1, 1, 1, {0}},
    {"hermitian", ARRAY "complex hermitian\n2 2\n1 0\n2 3\n4 0\n", 2, 2, 2, {1, 0, 2, 3, 2, -3, 4, 0}},
    {"coordinate", COORDINATE "real general\n2 3 3\n1 3 5\n2 1 6\n1 3 1\n", 2, 3, 1, {0, 6, 0, 0, 6, 0}},
    {"coordinate pattern", COORDINATE "pattern symmetric\n2 2 1\n2 1\n", 2, 2, 1, {0, 1, 1, 0}},
    {"coordinate hermitian",
     COORDINATE "complex hermitian\n2 2 2\n1 1 7 0\n2 1 1 2\n",
     2,
     2,
     2,
     {7, 0, 1, 2, 1, -2, 0, 0}},
    {"empty", ARRAY "real general\n0 3\n", 0, 3, 1, {0}},
    {"text", "1 -2.5\n\n# c\n  3e1\t4 # c\n5. 6\r\n % c", 3, 2, 1, {1, 30, 5, -2.5, 4, 6}},
    {"text, comment first, byte-order mark", "\xEF\xBB\xBF# a % b\n7\n8", 2, 1, 1, {7, 8}},
};

/* Text files with complex values. */
static const dense_file complex_text[] = {
    {"one column", "1 2\n3 -4\n", 2, 1, 2, {1, 2, 3, -4}},
    {"two columns", "1 2 3 4\n5 6 7 8\n", 2, 2, 2, {1, 2, 5, 6, 3, 4, 7, 8}},
    {"a file that says what it is", ARRAY "real general\n2 1\n1\n2\n", 2, 1, 1, {1, 2}},
};

static const bad_file bad_files[] = {
    {"empty", "", TRISTAR_ERR_FORMAT, ":1: the file is empty"},
    {"no banner", "% 1 2\n", TRISTAR_ERR_FORMAT, ":1: no \"%%MatrixMarket"},
    {"text, a word", "1 2\n3 x\n", TRISTAR_ERR_FORMAT, ":2: not numbers alone: \"3 x\""},
    {"text, a comma", "1, 2\n", TRISTAR_ERR_FORMAT, ":1: not numbers alone"},
    {"text, Harwell-Boeing", "a title\n 1 1 1\n", TRISTAR_ERR_FORMAT, ":1: not numbers alone: \"a title\""},
    {"text, NaN", "1\nnan\n", TRISTAR_ERR_NOT_FINITE, ":2: NaN"},
    {"text, rows of different lengths", "\n1 2\n3 4\n5\n", TRISTAR_ERR_FORMAT,
     ":4: a row of length 1, but that of line 2 has length 2"},
    {"text, nothing but comments", "# c\n\n", TRISTAR_ERR_FORMAT, ":2: the file has no number"},
    {"pattern", ARRAY "pattern general\n1 1\n", TRISTAR_ERR_FORMAT, ":1: an array file cannot be a pattern"},
    {"skew-symmetric pattern", COORDINATE "pattern skew-symmetric\n2 2 1\n1 2\n", TRISTAR_ERR_FORMAT,
     ":2: a skew-symmetric pattern"},
    {"three sizes", ARRAY "real general\n1 1 1\n1\n", TRISTAR_ERR_FORMAT, ":2: more than 2 numbers"},
    {"too few", ARRAY "real general\n2 2\n1\n2\n3\n", TRISTAR_ERR_FORMAT,
     ":5: the file ends after 3 of the 4 values"},
    {"far too few", ARRAY "real general\n1000000000 1000000000\n1\n", TRISTAR_ERR_FORMAT,
     ":3: the file ends after 1"},
    {"too many", ARRAY "real general\n1 1\n1\n2\n", TRISTAR_ERR_FORMAT, ":4: after the last of the 1"},
    {"two in a line", ARRAY "real general\n2 1\n1 2\n", TRISTAR_ERR_FORMAT, ":3: more than one value"},
    {"text", ARRAY "real general\n1 1\nx\n", TRISTAR_ERR_FORMAT, ":3: not a real value in \"x\""},
    {"infinite", ARRAY "real general\n1 1\n-Infinity\n", TRISTAR_ERR_NOT_FINITE, ":3: NaN"},
    {"hermitian diagonal", ARRAY "complex hermitian\n2 2\n1 0\n2 3\n4 1\n", TRISTAR_ERR_FORMAT,
     ":5: imaginary diagonal"},
    {"too large", ARRAY "real general\n2147483646 2147483646\n1\n", TRISTAR_ERR_TOO_LARGE,
     "a dense matrix of"},
    {"not square", ARRAY "real symmetric\n2 1\n1\n2\n", TRISTAR_ERR_FORMAT, "not square"},
    {"coordinate beyond", COORDINATE "real general\n1 1 1\n2 1 1\n", TRISTAR_ERR_FORMAT, ":3: row outside"},
    {"coordinate too large", COORDINATE "complex general\n2147483646 2147483646 0\n", TRISTAR_ERR_TOO_LARGE,
     "dense"},
};

static void check_dense(const dense_file *f, const tristar_dense *d) {
  CHECK_MSG(d->rows == f->rows && d->cols == f->cols && d->values != NULL, "%s", f->name);
  CHECK_MSG(d->scalar == (f->width == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE), "%s", f->name);
  for (int v = 0; v < f->rows * f->cols * f->width; v++)
    CHECK_MSG(((const double *)d->values)[v] == f->values[v], "%s: value %d is %g", f->name, v,
              ((const double *)d->values)[v]);
}

static void test_complex_text(tristar_t *ts) {
  tristar_dense d;
  for (size_t i = 0; i < sizeof complex_text / sizeof *complex_text; i++) {
    make_text(plain, complex_text[i].text, 0);
    CHECK_OK(tsi_dense_read(tsi_context_env(ts), plain, true, &d));
    check_dense(&complex_text[i], &d);
    tristar_dense_destroy(ts, &d);
  }
  make_text(plain, "1 2\n3 4 5\n", 0);
  CHECK_STATUS(tsi_dense_read(tsi_context_env(ts), plain, true, &d), TRISTAR_ERR_FORMAT);
  check_message(ts, "half a value", ":2: an odd number of numbers, 3, but complex values are pairs");
}

static void test_read(tristar_t *ts, int compressed) {
  const char *path = compressed ? packed : plain;
  tristar_dense d;
  for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++) {
    const dense_file *f = &good_files[i];
    make_text(path, f->text, compressed);
    CHECK_OK(tristar_dense_read(ts, path, &d));
    check_dense(f, &d);
    tristar_dense_destroy(ts, &d);
    CHECK(d.values == NULL && d.rows == 0);
  }
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
    const bad_file *f = &bad_files[i];
    make_text(path, f->text, compressed);
    d.values = ts;
    tristar_status status = tristar_dense_read(ts, path, &d);
    CHECK_MSG(status == f->status, "%s: %s", f->name, tristar_status_name(status));
    CHECK_MSG(d.values == NULL, "%s", f->name);
    check_message(ts, f->name, f->needle);
  }
}

static void test_write(tristar_t *ts) {
  static double z[4] = {1.0 / 3, -1e-300, 4.9406564584124654e-324, 7};
  static float c[4] = {1.0f / 3, -1e-30f, 1.40129846e-45f, 7};
  const tristar_dense inputs[] = {{4, 1, TRISTAR_DOUBLE, z},         {2, 2, TRISTAR_DOUBLE, z},
                                  {2, 1, TRISTAR_COMPLEX_DOUBLE, z}, {1, 4, TRISTAR_SINGLE, c},
                                  {1, 2, TRISTAR_COMPLEX_SINGLE, c}, {0, 2, TRISTAR_DOUBLE, NULL}};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    for (int compressed = 0; compressed < 2; compressed++) {
      tristar_dense d;
      const char *path = compressed ? packed : plain;
      CHECK_OK(tristar_dense_write(ts, path, &inputs[i], "made by a test\nof two lines"));
      CHECK_OK(tristar_dense_read(ts, path, &d));
      CHECK(d.rows == inputs[i].rows && d.cols == inputs[i].cols);
      CHECK(width_of(d.scalar) == width_of(inputs[i].scalar));
      const int values = (int)(d.rows * d.cols) * width_of(d.scalar);
      for (int v = 0; v < values; v++) {
        const double expected = inputs[i].values == z ? z[v] : (double)c[v];
        CHECK_MSG(memcmp((double *)d.values + v, &expected, sizeof expected) == 0, "value %d of input %zu", v,
                  i);
      }
      tristar_dense_destroy(ts, &d);
    }
}

static void test_failures(tristar_t *ts) {
  double values[2] = {1, 2};
  tristar_dense d = {2, 1, TRISTAR_DOUBLE, values}, out;
  CHECK_STATUS(tristar_dense_read(NULL, plain, &out), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_read(ts, NULL, &out), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_read(ts, plain, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_read(ts, "no_such_file", &out), TRISTAR_ERR_IO);
  CHECK_STATUS(tristar_dense_write(NULL, plain, &d, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_write(ts, NULL, &d, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_write(ts, plain, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dense_write(ts, "no_such_folder/b.mtx", &d, NULL), TRISTAR_ERR_IO);
  values[1] = 1 / (values[0] - 1);
  CHECK_STATUS(tristar_dense_write(ts, plain, &d, NULL), TRISTAR_ERR_NOT_FINITE);
  check_message(ts, "infinite", "entry (1,0)");
  d.values = NULL;
  CHECK_STATUS(tristar_dense_write(ts, plain, &d, NULL), TRISTAR_ERR_ARGUMENT);
  d.rows = -1;
  CHECK_STATUS(tristar_dense_write(ts, plain, &d, NULL), TRISTAR_ERR_ARGUMENT);
  d.rows = d.cols = INT64_MAX / 2;
  CHECK_STATUS(tristar_dense_write(ts, plain, &d, NULL), TRISTAR_ERR_TOO_LARGE);
  tristar_dense_destroy(ts, NULL);
  tristar_dense_destroy(NULL, &d);
}

int test_matrix_dense(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_context(NULL);
  RUN(test_read(ts, 0));
  RUN(test_read(ts, 1));
  RUN(test_complex_text(ts));
  RUN(test_write(ts));
  RUN(test_failures(ts));
  close_context(&ts);
  remove(plain);
  remove(packed);
  return 0;
}
