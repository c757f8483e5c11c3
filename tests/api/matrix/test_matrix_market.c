/* Matrix Market coordinate files: every field and symmetry, every kind of broken file, plain and compressed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

static const char plain[] = "market_test.mtx";
static const char packed[] = "market_test.mtx.gz";

static const good_file good_files[] = {
    {"real general",
     BANNER "real general\n3 2 3\n1 1 1.5\n3 1 -2e-3\n2 2 .5\n",
     {TRISTAR_GENERAL, 'd', 3, 2, 3, 0},
     {{0, 0}, {2, 0}, {1, 1}},
     {{1.5, 0}, {-2e-3, 0}, {.5, 0}}},
    {"unsorted",
     BANNER "real general\n3 3 4\n3 3 4\n2 1 2\n1 3 3\n1 1 1\n",
     {TRISTAR_GENERAL, 'd', 3, 3, 4, 0},
     {{0, 0}, {1, 0}, {0, 2}, {2, 2}},
     {{1, 0}, {2, 0}, {3, 0}, {4, 0}}},
    {"duplicates",
     BANNER "real general\n2 2 5\n2 2 1\n1 1 1\n2 2 0.25\n1 1 2\n2 2 -3\n",
     {TRISTAR_GENERAL, 'd', 2, 2, 2, 0},
     {{0, 0}, {1, 1}},
     {{3, 0}, {-1.75, 0}}},
    {"duplicate pattern",
     BANNER "pattern general\n2 2 3\n1 2\n1 2\n2 1\n",
     {TRISTAR_GENERAL, 'p', 2, 2, 2, 0},
     {{1, 0}, {0, 1}},
     {{0}}},
    {"symmetric, upper entry moved",
     BANNER "real symmetric\n2 2 2\n1 1 4\n1 2 5\n",
     {TRISTAR_SYMMETRIC, 'd', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{4, 0}, {5, 0}}},
    {"symmetric, entries in both triangles, but of no pair; duplicates",
     BANNER "real symmetric\n3 3 4\n1 2 4\n3 1 5\n1 2 6\n3 1 7\n",
     {TRISTAR_SYMMETRIC, 'd', 3, 3, 2, 0},
     {{1, 0}, {2, 0}},
     {{10, 0}, {12, 0}}},
    {"skew, upper entry negated",
     BANNER "real skew-symmetric\n3 3 3\n2 1 4\n1 3 5\n2 2 0\n",
     {TRISTAR_SKEW_SYMMETRIC, 'd', 3, 3, 3, 0},
     {{1, 0}, {2, 0}, {1, 1}},
     {{4, 0}, {-5, 0}, {0, 0}}},
    {"hermitian, upper entry conjugated",
     BANNER "complex Hermitian\n2 2 2\n1 1 2 0\n1 2 3 4\n",
     {TRISTAR_HERMITIAN, 'z', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{2, 0}, {3, -4}}},
    {"complex symmetric",
     BANNER "complex symmetric\n2 2 2\n1 1 2 1\n1 2 3 4\n",
     {TRISTAR_SYMMETRIC, 'z', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{2, 1}, {3, 4}}},
    {"complex skew",
     BANNER "complex skew-symmetric\n2 2 1\n1 2 3 4\n",
     {TRISTAR_SKEW_SYMMETRIC, 'z', 2, 2, 1, 0},
     {{1, 0}},
     {{-3, -4}}},
    {"integer",
     BANNER "integer general\n1 2 2\n1 1 -7\n1 2 123456789012345678901\n",
     {TRISTAR_GENERAL, 'd', 1, 2, 2, 0},
     {{0, 0}, {0, 1}},
     {{-7, 0}, {123456789012345678901.0, 0}}},
    {"the ends of 64 bits",
     BANNER
     "integer general\n1 3 3\n1 1 -9223372036854775808\n1 2 9223372036854775807\n1 3 -9223372036854775809\n",
     {TRISTAR_GENERAL, 'd', 1, 3, 3, 0},
     {{0, 0}, {0, 1}, {0, 2}},
     {{-0x1p63, 0}, {0x1p63, 0}, {-0x1p63, 0}}},
    {"pattern symmetric",
     BANNER "pattern symmetric\n2 2 2\n1 1\n2 1\n",
     {TRISTAR_SYMMETRIC, 'p', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{0}}},
    {"pattern with values",
     BANNER "pattern general\n2 2 2\n1 1 3\n2 1 4\n",
     {TRISTAR_GENERAL, 'p', 2, 2, 2, 1},
     {{0, 0}, {1, 0}},
     {{0}}},
    {"banner in any case",
     "%%MATRIXMARKET Matrix COORDINATE Real GENERAL\n1 1 1\n1 1 2\n",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{2, 0}}},
    {"comments, blank lines, CRLF, tabs, no final newline",
     BANNER "real general\r\n% a comment\r\n%\r\n\r\n 1\t1 2 \r\n  \t\n% within\n\n\t1 1 +2.50 \r\n\n1 1 1d0",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{3.5, 0}}},
    {"Fortran exponents",
     BANNER "real general\n1 3 3\n1 1 1.5D+01\n1 2 2q-1\n1 3 4.0-101\n",
     {TRISTAR_GENERAL, 'd', 1, 3, 3, 0},
     {{0, 0}, {0, 1}, {0, 2}},
     {{15, 0}, {.2, 0}, {4e-101, 0}}},
    {"underflow is zero",
     BANNER "real general\n1 1 1\n1 1 1e-999\n",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{0, 0}}},
    {"array: nonzero values and the diagonal",
     ARRAY "real general\n% c\n2 3\n1\n0\n-2.5\n\n0\n3e1\n-0\n",
     {TRISTAR_GENERAL, 'd', 2, 3, 4, 0},
     {{0, 0}, {0, 1}, {1, 1}, {0, 2}},
     {{1, 0}, {-2.5, 0}, {0, 0}, {30, 0}}},
    {"array symmetric, integer",
     ARRAY "integer symmetric\n3 3\n4\n0\n-1\n5\n0\n6\n",
     {TRISTAR_SYMMETRIC, 'd', 3, 3, 4, 0},
     {{0, 0}, {2, 0}, {1, 1}, {2, 2}},
     {{4, 0}, {-1, 0}, {5, 0}, {6, 0}}},
    {"array skew",
     ARRAY "real skew-symmetric\n3 3\n1\n0\n3\n",
     {TRISTAR_SKEW_SYMMETRIC, 'd', 3, 3, 2, 0},
     {{1, 0}, {2, 1}},
     {{1, 0}, {3, 0}}},
    {"array hermitian",
     ARRAY "complex hermitian\n2 2\n1 0\n0 3\n4 0\n",
     {TRISTAR_HERMITIAN, 'z', 2, 2, 3, 0},
     {{0, 0}, {1, 0}, {1, 1}},
     {{1, 0}, {0, 3}, {4, 0}}},
    {"array 0 x 2", ARRAY "complex general\n0 2\n", {TRISTAR_GENERAL, 'z', 0, 2, 0, 0}, {{0}}, {{0}}},
    {"a byte-order mark",
     "\xEF\xBB\xBF" BANNER "real general\n1 1 1\n1 1 2\n",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{2, 0}}},
    {"0 x 0", BANNER "real general\n0 0 0\n", {TRISTAR_GENERAL, 'd', 0, 0, 0, 0}, {{0}}, {{0}}},
    {"0 x 3", BANNER "pattern general\n0 3 0\n\n", {TRISTAR_GENERAL, 'p', 0, 3, 0, 0}, {{0}}, {{0}}},
};

static void test_good(void) {
  for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++)
    for (int compressed = 0; compressed < 2; compressed++)
      check_good(&good_files[i], compressed ? packed : plain, compressed);
}

/* Redirects standard input or output (a descriptor) to a file. */
static void redirect(const char *path, int flags, int descriptor) {
  const int file = open(path, flags, 0600);
  CHECK(file >= 0 && dup2(file, descriptor) == descriptor);
  close(file);
}

/* "-" as path: both formats, plain and compressed. */
static void test_standard_streams(void) {
  static const char harwell[] = "title\n1 1 1 1 0\nRUA 1 1 1 0\n(8I2) (8I2) (8F4.0)\n 1 2\n 1\n  5.\n";
  const int input = dup(STDIN_FILENO), output = dup(STDOUT_FILENO);
  tristar_t *ts = open_context(NULL);
  CHECK(output >= 0);
  for (int k = 0; k < 4; k++) {
    make_text(plain, k % 2 ? harwell : BANNER "real general\n1 1 1\n1 1 5\n", k / 2);
    redirect(plain, O_RDONLY, STDIN_FILENO);
    CLEANUP(free_columns) columns *m = read_matrix(ts, "standard input", "-");
    CHECK(m->rows == 1 && m->values[0] == 5);
    expect_read_failure(ts, "read to its end", "-", TRISTAR_ERR_FORMAT,
                        "standard input:1: the file is empty");
    redirect(packed, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    const tristar_status status = tristar_matrix_write(ts, "-", &m->view, NULL);
    CHECK(dup2(output, STDOUT_FILENO) == STDOUT_FILENO);
    CHECK_OK(status);
    free_columns(&m);
    m = read_matrix(ts, "standard output", packed);
    CHECK(m->rows == 1 && m->values[0] == 5);
  }
  close_context(&ts);
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (input >= 0) close(input);
  close(output);
}

static void test_bad_paths(void) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  expect_read_failure(ts, "absent", "no_such_file.mtx", TRISTAR_ERR_IO, "cannot open no_such_file.mtx");
  CHECK(mkdir("market_test_folder", 0700) == 0 || errno == EEXIST);
  expect_read_failure(ts, "folder", "market_test_folder", TRISTAR_ERR_IO, "it is a directory");
  CHECK(rmdir("market_test_folder") == 0);
  make_text(plain, good_files[0].text, 0);
  CHECK(chmod(plain, 0) == 0);
  if (access(plain, R_OK) != 0) /* root may read every file */
    expect_read_failure(ts, "unreadable", plain, TRISTAR_ERR_IO, "cannot open");
  CHECK(chmod(plain, 0600) == 0);
  char far[1000] = "";
  for (int i = 0; i < 100; i++) strcat(far, "deep/");
  strcat(far, "file.mtx");
  expect_read_failure(ts, "long path", far, TRISTAR_ERR_IO, "deep/file.mtx: No such file");
}

static void test_arguments(void) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  tristar_matrix_t *m = NULL;
  tristar_view view;
  CHECK_STATUS(tristar_matrix_read(NULL, plain, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_read(ts, NULL, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_read(ts, plain, NULL), TRISTAR_ERR_ARGUMENT);
  memset(&view, 0, sizeof view);
  CHECK_STATUS(tristar_matrix_write(NULL, plain, &view, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_write(ts, NULL, &view, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_write(ts, plain, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_write(ts, plain, &view, NULL), TRISTAR_ERR_ARGUMENT);
  tristar_matrix_destroy(NULL);
  tristar_matrix_destroy(&m);
  tristar_matrix_get_view(NULL, &view);
  CHECK(view.ptr == NULL && view.rows == 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(test_good());
  RUN(test_standard_streams());
  RUN(test_bad_paths());
  RUN(test_arguments());
  RUN(with_decimal_comma(test_good));
  remove(plain);
  remove(packed);
  return 0;
}
