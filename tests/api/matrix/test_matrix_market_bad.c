/* Matrix Market files that are refused: the status, and a message with the place of the mistake. */
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

static const char plain[] = "market_test.mtx";
static const char packed[] = "market_test.mtx.gz";

static const bad_file bad_files[] = {
    {"empty", "", TRISTAR_ERR_FORMAT, ":1: the file is empty"},
    {"neither kind", "hello\nworld\n", TRISTAR_ERR_FORMAT, ":2: neither a Matrix Market nor"},
    {"one line", "hello\n", TRISTAR_ERR_FORMAT, ":1: neither a Matrix Market nor"},
    {"no banner", "% 3 3 1\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":1: no \"%%MatrixMarket matrix\" banner: \"% 3 3 1\""},
    {"bad object", "%%MatrixMarket vector coordinate real general\n", TRISTAR_ERR_FORMAT, ":1: no \"%%"},
    {"bad shape", "%%MatrixMarket matrix sparse real general\n", TRISTAR_ERR_FORMAT, "third word"},
    {"bad field", BANNER "quaternion general\n", TRISTAR_ERR_FORMAT, "fourth word"},
    {"bad symmetry", BANNER "real triangular\n", TRISTAR_ERR_FORMAT, "fifth word"},
    {"short banner", BANNER "real\n1 1 0\n", TRISTAR_ERR_FORMAT, "fifth word"},
    {"long banner", BANNER "real general now\n1 1 0\n", TRISTAR_ERR_FORMAT, "more than five words"},
    {"array of a pattern", ARRAY "pattern general\n1 1\n", TRISTAR_ERR_FORMAT, ":1: an array file cannot be"},
    {"array too short", ARRAY "real general\n2 2\n1\n2\n3\n", TRISTAR_ERR_FORMAT,
     ":5: the file ends after 3 of the 4 values that line 2 announces"},
    {"array too long", ARRAY "real symmetric\n2 2\n1\n2\n3\n4\n", TRISTAR_ERR_FORMAT,
     ":6: after the last of the 3"},
    {"array, hermitian diagonal", ARRAY "complex hermitian\n1 1\n1 2\n", TRISTAR_ERR_FORMAT,
     ":3: imaginary diagonal"},
    {"array, NaN", ARRAY "real general\n1 1\nnan\n", TRISTAR_ERR_NOT_FINITE, ":3: NaN"},
    {"half a byte-order mark", "\xEF\xBB" BANNER "real general\n1 1 0\n", TRISTAR_ERR_FORMAT, ":2: neither"},
    {"nothing but a byte-order mark", "\xEF\xBB\xBF", TRISTAR_ERR_FORMAT, ":1: the file is empty"},
    {"no size line", BANNER "real general\n% only\n\n", TRISTAR_ERR_FORMAT,
     ":3: the file ends before its size"},
    {"short size line", BANNER "real general\n3 3\n1 1 1\n", TRISTAR_ERR_FORMAT, ":2: no number of entries"},
    {"long size line", BANNER "real general\n3 3 1 1\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":2: more than 3 numbers"},
    {"size not a number", BANNER "real general\n3 x 1\n1 1 1\n", TRISTAR_ERR_FORMAT,
     "of columns in the size line \"3 x 1\""},
    {"negative size", BANNER "real general\n3 3 -1\n", TRISTAR_ERR_FORMAT, ":2: no number of entries"},
    {"rows too large", BANNER "real general\n2147483647 3 1\n1 1 1\n", TRISTAR_ERR_TOO_LARGE,
     ":2: too many rows"},
    {"cols overflow", BANNER "real general\n3 99999999999999999999 1\n", TRISTAR_ERR_TOO_LARGE,
     ":2: too many columns"},
    {"entries overflow", BANNER "real general\n3 3 9999999999999999999\n", TRISTAR_ERR_TOO_LARGE,
     ":2: too many entries"},
    {"entries wrap to 0", BANNER "real general\n3 3 184467440737095516160\n", TRISTAR_ERR_TOO_LARGE,
     ":2: too many entries"},
    {"entries at the end of 64 bits", BANNER "real general\n3 3 9223372036854775807\n", TRISTAR_ERR_TOO_LARGE,
     ":2: too many entries in \"3 3 9223372036854775807\": too large, at most 9223372036854775806"},
    {"entries at the other end", BANNER "real general\n3 3 -9223372036854775808\n", TRISTAR_ERR_FORMAT,
     ":2: no number of entries"},
    {"entries beyond the other end", BANNER "real general\n3 3 -99999999999999999999\n", TRISTAR_ERR_FORMAT,
     ":2: no number of entries"},
    {"rows at the end of 32 bits", BANNER "real general\n2147483647 3 0\n", TRISTAR_ERR_TOO_LARGE,
     "too large, at most 2147483646"},
    {"comments counted", BANNER "real general\n% c\n\n3 3 2\n% c\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":6: the file ends after 1 of the 2 entries that line 4 announces"},
    {"CRLF", BANNER "real general\r\n3 3 1\r\n1 1 x\r\n", TRISTAR_ERR_FORMAT,
     ":3: not a real value in \"1 1 x\" ["},
    {"symmetric, not square", BANNER "real symmetric\n3 2 0\n", TRISTAR_ERR_FORMAT, "not square: \"3 2 0\""},
    {"too few", BANNER "real general\n3 3 2\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":3: the file ends after 1 of the 2 entries that line 2 announces"},
    {"far too few", BANNER "real general\n3 3 4000000000000000000\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":3: the file ends after 1 of"},
    {"too many", BANNER "real general\n3 3 1\n1 1 1\n2 2 2\n", TRISTAR_ERR_FORMAT,
     ":4: after the last of the 1 entries"},
    {"trailing garbage", BANNER "real general\n3 3 1\n1 1 1\n\n% fine\nend\n", TRISTAR_ERR_FORMAT,
     ":6: after the last of the 1 entries that line 2 announces: \"end\""},
    {"row 0", BANNER "real general\n3 3 1\n0 1 1\n", TRISTAR_ERR_FORMAT, ":3: row outside 1..3 in \"0 1 1\""},
    {"row negative", BANNER "real general\n3 3 1\n-1 1 1\n", TRISTAR_ERR_FORMAT, ":3: row outside 1..3"},
    {"row beyond", BANNER "real general\n3 3 1\n4 1 1\n", TRISTAR_ERR_FORMAT, ":3: row outside 1..3"},
    {"column beyond", BANNER "real general\n3 2 1\n3 3 1\n", TRISTAR_ERR_FORMAT, ":3: column outside 1..2"},
    {"row at the end of 64 bits", BANNER "real general\n3 2 1\n-9223372036854775808 1 1\n",
     TRISTAR_ERR_FORMAT, ":3: row outside"},
    {"row overflow", BANNER "real general\n3 2 1\n99999999999999999999 3 1\n", TRISTAR_ERR_FORMAT,
     ":3: row outside"},
    {"row not a number", BANNER "real general\n3 3 1\na 1 1\n", TRISTAR_ERR_FORMAT,
     ":3: no row number in \"a 1 1\""},
    {"row not whole", BANNER "real general\n3 3 1\n1.5 1 1\n", TRISTAR_ERR_FORMAT, ":3: no row number"},
    {"column missing", BANNER "real general\n3 3 1\n1\n", TRISTAR_ERR_FORMAT, ":3: no column number"},
    {"value missing", BANNER "real general\n3 3 1\n1 1\n", TRISTAR_ERR_FORMAT,
     ":3: missing a real value in \"1 1\""},
    {"value not a number", BANNER "real general\n3 3 1\n1 1 x\n", TRISTAR_ERR_FORMAT,
     ":3: not a real value in \"1 1 x\""},
    {"value half a number", BANNER "real general\n3 3 1\n1 1 1.5.2\n", TRISTAR_ERR_FORMAT,
     ":3: not a real value"},
    {"value a comma", BANNER "real general\n3 3 1\n1 1 1,5\n", TRISTAR_ERR_FORMAT, ":3: not a real value"},
    {"value hexadecimal", BANNER "real general\n3 3 1\n1 1 0x10\n", TRISTAR_ERR_FORMAT,
     ":3: not a real value"},
    {"value a sign", BANNER "real general\n3 3 1\n1 1 -\n", TRISTAR_ERR_FORMAT, ":3: not a real value"},
    {"value an exponent", BANNER "real general\n3 3 1\n1 1 1e\n", TRISTAR_ERR_FORMAT, ":3: not a real value"},
    {"NaN", BANNER "real general\n3 3 1\n1 1 NaN\n", TRISTAR_ERR_NOT_FINITE, ":3: NaN, infinity"},
    {"-inf", BANNER "real general\n3 3 1\n1 1 -inf\n", TRISTAR_ERR_NOT_FINITE, "\"1 1 -inf\""},
    {"beyond double", BANNER "real general\n3 3 1\n1 1 1e999\n", TRISTAR_ERR_NOT_FINITE, ":3: NaN, infinity"},
    {"imaginary NaN", BANNER "complex general\n3 3 1\n1 1 1 nan\n", TRISTAR_ERR_NOT_FINITE,
     ":3: NaN, infinity"},
    {"duplicates overflow", BANNER "real general\n3 3 2\n2 1 1e308\n2 1 1e308\n", TRISTAR_ERR_NOT_FINITE,
     "entry (2,1)"},
    {"complex in real", BANNER "real general\n3 3 1\n1 1 1 2\n", TRISTAR_ERR_FORMAT,
     ":3: more than one value (the file is not complex) in \"1 1 1 2\""},
    {"real in complex", BANNER "complex general\n3 3 1\n1 1 1\n", TRISTAR_ERR_FORMAT,
     ":3: missing a complex value"},
    {"three in complex", BANNER "complex general\n3 3 1\n1 1 1 2 3\n", TRISTAR_ERR_FORMAT,
     ":3: more than one complex"},
    {"real in integer", BANNER "integer general\n3 3 1\n1 1 1.5\n", TRISTAR_ERR_FORMAT,
     ":3: not an integer value"},
    {"text in pattern", BANNER "pattern general\n3 3 1\n1 1 x\n", TRISTAR_ERR_FORMAT,
     ":3: more than row and column"},
    {"two values in pattern", BANNER "pattern general\n3 3 1\n1 1 2 3\n", TRISTAR_ERR_FORMAT,
     ":3: more than row"},
    {"skew diagonal", BANNER "real skew-symmetric\n3 3 1\n2 2 1\n", TRISTAR_ERR_FORMAT,
     ":3: non-zero diagonal"},
    {"both triangles", BANNER "real symmetric\n2 2 2\n2 1 4\n1 2 5\n", TRISTAR_ERR_FORMAT,
     ":4: entry (1,2), and line 3 has (2,1): a symmetric file stores one triangle"},
    {"both triangles, far apart, a zero",
     BANNER "real symmetric\n3 3 5\n3 1 4\n% c\n\n2 3 1\n1 1 1\n\n2 2 1\n1 3 0\n", TRISTAR_ERR_FORMAT,
     ":10: entry (1,3), and line 3 has (3,1)"},
    {"two pairs", BANNER "pattern symmetric\n3 3 4\n1 2\n1 3\n3 1\n2 1\n", TRISTAR_ERR_FORMAT,
     ":5: entry (3,1), and line 4 has (1,3)"},
    {"skew, both triangles, sorted", BANNER "real skew-symmetric\n2 2 2\n2 1 4\n1 2 -4\n", TRISTAR_ERR_FORMAT,
     ":4: entry (1,2), and line 3 has (2,1): a skew-symmetric file"},
    {"hermitian, both triangles", BANNER "complex hermitian\n2 2 3\n1 2 1 1\n1 1 1 0\n2 1 1 -1\n",
     TRISTAR_ERR_FORMAT, ":5: entry (2,1), and line 3 has (1,2): a hermitian file"},
    {"hermitian diagonal", BANNER "complex hermitian\n3 3 1\n2 2 1 1\n", TRISTAR_ERR_FORMAT,
     ":3: imaginary diagonal"},
};

static void test_bad(void) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++)
    for (int compressed = 0; compressed < 2; compressed++)
      check_bad(ts, &bad_files[i], compressed ? packed : plain, compressed);
}

/* Files with invalid bytes, and truncated files. */
static void test_bad_bytes(void) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  static char bytes[600000];
  size_t size = 0;
  const char head[] = BANNER "real general\n1 1 1\n1 1 1";
  /* a zero byte */
  make_file(plain, BANNER "real general\n1 1 1\n1 1 1\0002\n", strlen(head) + 3, 0);
  expect_read_failure(ts, "zero byte", plain, TRISTAR_ERR_FORMAT, ":3: a zero byte");
  /* a line without end */
  memset(bytes, ' ', sizeof bytes);
  memcpy(bytes, head, strlen(head));
  make_file(plain, bytes, sizeof bytes, 1);
  expect_read_failure(ts, "long line", plain, TRISTAR_ERR_FORMAT, ":3: line of more than");
  /* half a gzip file, and one with a wrong byte in its data */
  size = (size_t)snprintf(bytes, sizeof bytes, "%s", BANNER "real general\n1000 1000 1000\n");
  for (int i = 1; i <= 1000; i++)
    size += (size_t)snprintf(bytes + size, sizeof bytes - size, "%d %d %d.5\n", i, i, i * 7919 % 100003);
  make_file(packed, bytes, size, 1);
  FILE *file = fopen(packed, "rb");
  CHECK(file != NULL);
  size = fread(bytes, 1, sizeof bytes, file);
  CHECK(size > 1000 && fclose(file) == 0);
  make_file(plain, bytes, size / 2, 0);
  expect_read_failure(ts, "truncated", plain, TRISTAR_ERR_FORMAT, "truncated gzip data");
  make_file(plain, bytes, size - 4, 0); /* the data is complete, but the length at the end is missing */
  expect_read_failure(ts, "truncated end", plain, TRISTAR_ERR_FORMAT, "truncated gzip data");
  bytes[size / 2] = (char)(bytes[size / 2] ^ 0x55);
  make_file(plain, bytes, size, 0);
  tristar_matrix_t *m = NULL;
  tristar_status status = tristar_matrix_read(ts, plain, &m);
  CHECK_MSG(status == TRISTAR_ERR_FORMAT || status == TRISTAR_ERR_NOT_FINITE, "%s",
            tristar_status_name(status));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(test_bad());
  RUN(test_bad_bytes());
  remove(plain);
  remove(packed);
  return 0;
}
