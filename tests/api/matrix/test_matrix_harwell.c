/* Harwell-Boeing and Rutherford-Boeing files: types, formats, fixed columns, broken files. */
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

static const char plain[] = "harwell_test.rua";
static const char packed[] = "harwell_test.rua.gz";

#define TITLE "a title                                                                 KEY     \n"
/* lines 2 and 3: the numbers of lines (only the last two matter), and the sizes */
#define LINES(values, rhs) "             9             1             1" values rhs "\n"
#define SOME "             1"
#define NONE "             0"

static const good_file good_files[] = {
    {"RUA, scaled format, blanks between",
     TITLE LINES(
         SOME,
         NONE) "RUA 3 3 4 0\n(16I5) (16I5) (1P,2D10.3)\n"
               "    1    3    4    5\n    1    3    2    3\n 1.500D+00-2.000D-03\n 5.000D-01 1.250D+00\n",
     {TRISTAR_GENERAL, 'd', 3, 3, 4, 0},
     {{0, 0}, {2, 0}, {1, 1}, {2, 2}},
     {{1.5, 0}, {-2e-3, 0}, {.5, 0}, {1.25, 0}}},
    {"fields without blanks, short lines, exponent without letter",
     TITLE LINES(SOME, "") "rua                      123           123             4\n(40I3)          (2I3)  "
                           "         (1P3E10.3E3)\n"
                           "  1  3  3  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  "
                           "4  4  4  4  4  4  4  4  4  4  4  4  4  4\n"
                           "  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  "
                           "4  4  4  4  4  4  4  4  4  4  4  4  4  4\n"
                           "  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  4  "
                           "4  4  4  4  4  4  4  4  4  4  4  4  4  4\n"
                           "  4  4  4  5\n"
                           "101123\n123  7\n 1.500+101-2.00E-003 5.0E-1\n1\n",
     {TRISTAR_GENERAL, 'd', 123, 123, 4, 0},
     {{100, 0}, {122, 0}, {122, 2}, {6, 122}},
     {{1.5e101, 0}, {-2e-3, 0}, {.5, 0}, {1e-4, 0}}}, /* 1: three decimals, and the scale factor 1P */
    {"Rutherford-Boeing, skew",
     TITLE LINES(SOME, "") "rza 3 3 2 0\n(4I4) (4I4) (3E12.4)\n   1   3   3   3\n   2   3\n"
                           "  1.0000E+00 -2.0000E+00\n",
     {TRISTAR_SKEW_SYMMETRIC, 'd', 3, 3, 2, 0},
     {{1, 0}, {2, 0}},
     {{1, 0}, {-2, 0}}},
    {"records that a format ends after its last number", /* as gfortran writes and reads them */
     TITLE LINES(SOME,
                 SOME) "RUA 2 2 3 0\n(3I2,/,I2) (3I2/) (3F4.0:/)\nF 1 0\n 1 3 4\n\n 1 2 2\n\n  2.  1.  4.\n"
                       "  7.  8.\n",
     {TRISTAR_GENERAL, 'd', 2, 2, 3, 0},
     {{0, 0}, {1, 0}, {1, 1}},
     {{2, 0}, {1, 0}, {4, 0}}},
    {"complex hermitian, upper entry",
     TITLE LINES(SOME, NONE) "CHA 2 2 2 0\n(8I2) (8I2) (3F6.2)\n 1 2 3\n 1 1\n  2.00  0.00  3.00\n  4.00\n",
     {TRISTAR_HERMITIAN, 'z', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{2, 0}, {3, -4}}},
    {"complex symmetric",
     TITLE LINES(SOME, NONE) "CSA 2 2 2 0\n(8I2) (8I2) (4G6.2)\n 1 2 3\n 1 1\n  2.00  1.00  3.00  4.00\n",
     {TRISTAR_SYMMETRIC, 'z', 2, 2, 2, 0},
     {{0, 0}, {1, 0}},
     {{2, 1}, {3, 4}}},
    {"pattern, rectangular, no third format",
     TITLE LINES(NONE, NONE) "PRA 2 3 3 0\n(8I2) (I2)\n 1 2 3 4\n 2\n 1\n 2\n",
     {TRISTAR_GENERAL, 'p', 2, 3, 3, 0},
     {{1, 0}, {0, 1}, {1, 2}},
     {{0}}},
    {"pattern symmetric",
     TITLE LINES(NONE, NONE) "PSA 2 2 2 0\n(8I2) (8I2)\n 1 2 3\n 2 2\n",
     {TRISTAR_SYMMETRIC, 'p', 2, 2, 2, 0},
     {{1, 0}, {1, 1}},
     {{0}}},
    {"real without value lines is a pattern",
     TITLE LINES(NONE, NONE) "RUA 1 1 1 0\n(8I2) (8I2) (4E20.12)\n 1 2\n 1\n",
     {TRISTAR_GENERAL, 'p', 1, 1, 1, 0},
     {{0, 0}},
     {{0}}},
    {"integer",
     TITLE LINES(SOME, NONE) "IUA 1 2 2 0\n(8I2) (8I2) (8I4)\n 1 2 3\n 1 1\n  -7  12\n",
     {TRISTAR_GENERAL, 'd', 1, 2, 2, 0},
     {{0, 0}, {0, 1}},
     {{-7, 0}, {12, 0}}},
    {"groups, skipped columns, ES, a scale factor, several lines",
     TITLE LINES(SOME, NONE) "RUA 4 1 4 0\n(1X, 2I3) (T3,I1,1X,I1) (2(1P,ES10.3),/,3X,F8.2)\n"
                             "x  1  5\n..1 2\n..3 4\n 2.500E+00    123456\n   1234.50\n 5.000E+00\n",
     {TRISTAR_GENERAL, 'd', 4, 1, 4, 0},
     {{0, 0}, {1, 0}, {2, 0}, {3, 0}},
     {{2.5, 0}, {12.3456, 0}, {123.45, 0}, {5, 0}}},
    {"decimals that are not written, blanks inside",
     TITLE LINES(SOME, NONE) "RUA 5 1 5 0\n(2I2) (5I2) (F6.2,E8.2,-1P,F6.2,F6.0,0P,D9.3)\n"
                             " 1 6\n 1 2 3 4 5\n   200   -1+2  0.20    3.  1 2D+02\n",
     {TRISTAR_GENERAL, 'd', 5, 1, 5, 0},
     {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}},
     {{2, 0}, {-1, 0}, {2, 0}, {30, 0}, {1.2, 0}}},
    {"blank values: inside, at the end of a line, a whole line", /* as gfortran reads them */
     TITLE LINES(SOME, NONE) "RUA 5 1 5 0\n(2I2) (5I2) (1P,2E8.1)\n"
                             " 1 6\n 1 2 3 4 5\n          2.5e+0\n  3.d-01\n\n",
     {TRISTAR_GENERAL, 'd', 5, 1, 5, 1},
     {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}},
     {{0, 0}, {2.5, 0}, {.3, 0}, {0, 0}, {0, 0}}},
    {"half a complex value, fields shorter than their width",
     TITLE LINES(SOME, NONE) "CUA 2 1 2 0\n(2I4) (2I4) (2F4.0)\n   1   3\n   1   2\n  1.\n      7\n",
     {TRISTAR_GENERAL, 'z', 2, 1, 2, 1},
     {{0, 0}, {1, 0}},
     {{1, 0}, {0, 7}}},
    {"unsorted column, duplicates",
     TITLE LINES(SOME, NONE) "RUA 3 1 4 0\n(8I2) (8I2) (8F4.0)\n 1 5\n 3 1 3 2\n  1.  2.  4.  8.\n",
     {TRISTAR_GENERAL, 'd', 3, 1, 3, 0},
     {{0, 0}, {1, 0}, {2, 0}},
     {{2, 0}, {8, 0}, {5, 0}}},
    {"right-hand sides are not read",
     TITLE LINES(SOME,
                 SOME) "RUA 1 1 1 0\n(8I2) (8I2) (8F4.0) (8F4.0)\nF     1     0\n 1 2\n 1\n  1.\nno number\n",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{1, 0}}},
    {"CRLF and blank lines behind",
     "t\r\n1 1 1 1 0\r\nRUA 1 1 1 0\r\n(8I2) (8I2) (8F4.0)\r\n 1 2\r\n 1\r\n  1.\r\n\r\n \r\n",
     {TRISTAR_GENERAL, 'd', 1, 1, 1, 0},
     {{0, 0}},
     {{1, 0}}},
    {"0 x 0",
     TITLE LINES(SOME, NONE) "RUA 0 0 0 0\n(8I2) (8I2) (8F4.0)\n 1\n",
     {TRISTAR_GENERAL, 'd', 0, 0, 0, 0},
     {{0}},
     {{0}}},
};

#define HEAD TITLE LINES(SOME, NONE)
#define FORMATS "(8I2) (8I2) (8F4.0)\n"

static const bad_file bad_files[] = {
    {"line 2 is text", TITLE "not counts\n", TRISTAR_ERR_FORMAT,
     ":2: neither a Matrix Market nor a Harwell-Boeing"},
    {"three counts", TITLE "1 1 1\n", TRISTAR_ERR_FORMAT, "\"1 1 1\""},
    {"negative count", TITLE "1 1 1 -1\n", TRISTAR_ERR_FORMAT, ":2: neither"},
    {"ends in header", HEAD, TRISTAR_ERR_FORMAT, ":2: the file ends inside its header"},
    {"ends before line 5", TITLE LINES(SOME, SOME) "RUA 1 1 1 0\n" FORMATS, TRISTAR_ERR_FORMAT,
     ":4: the file ends"},
    {"elemental", HEAD "RSE 3 3 1 1\n", TRISTAR_ERR_FORMAT, ":3: type \"RSE\" is not that of an assembled"},
    {"unknown value type", HEAD "QUA 3 3 1 1\n", TRISTAR_ERR_FORMAT, "\"QUA\""},
    {"unknown kind", HEAD "RXA 3 3 1 1\n", TRISTAR_ERR_FORMAT, "\"RXA\""},
    {"sizes missing", HEAD "RUA 3 3\n", TRISTAR_ERR_FORMAT, ":3: no numbers of rows, columns and entries"},
    {"negative size", HEAD "RUA 3 -3 1\n", TRISTAR_ERR_FORMAT, ":3: no numbers"},
    {"too large", HEAD "RUA 3 3000000000 1\n", TRISTAR_ERR_TOO_LARGE, ":3: sizes too large"},
    {"overflow", HEAD "RUA 3 3 99999999999999999999\n", TRISTAR_ERR_TOO_LARGE, ":3: sizes too large"},
    {"entries at the end of 64 bits", HEAD "RUA 3 3 9223372036854775807 0\n", TRISTAR_ERR_TOO_LARGE,
     ":3: sizes too large: at most 9223372036854775806 entries, but \"RUA 3 3 9223372036854775807 0\""},
    {"entries at the other end", HEAD "RUA 3 3 -9223372036854775808 0\n", TRISTAR_ERR_FORMAT,
     ":3: no numbers"},
    {"not square", HEAD "RSA 3 4 1 0\n", TRISTAR_ERR_FORMAT, ":3: a symmetric matrix that is not square"},
    {"no format", HEAD "RUA 1 1 1 0\n(8I2) 8I2 (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 2"},
    {"odd format", HEAD "RUA 1 1 1 0\n(8I2) (8A2) (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 2"},
    {"real format for pointers", HEAD "RUA 1 1 1 0\n(8E12.4) (8I2) (8F4.0)\n", TRISTAR_ERR_FORMAT,
     ":4: format 1"},
    {"no width", HEAD "RUA 1 1 1 0\n(8I) (8I2) (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 1"},
    {"zero width", HEAD "RUA 1 1 1 0\n(8I0) (8I2) (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 1"},
    {"huge width", HEAD "RUA 1 1 1 0\n(8I2000) (8I2) (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 1"},
    {"no repeat", HEAD "RUA 1 1 1 0\n(0I2) (8I2) (8F4.0)\n", TRISTAR_ERR_FORMAT, ":4: format 1"},
    {"first pointer", HEAD "RUA 2 2 2 0\n" FORMATS " 2 2 3\n 1 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":5: column pointers must lie in 1..1 here: \" 2\""},
    {"pointers fall", HEAD "RUA 2 3 2 0\n" FORMATS " 1 3 2 3\n 1 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":5: column pointers must lie in 3..3"},
    {"last pointer", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 2\n 1 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":5: column pointers must lie in 3..3"},
    {"pointer beyond", HEAD "RUA 2 2 2 0\n" FORMATS " 1 4 3\n 1 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":5: column pointers must lie in 1..3"},
    {"pointer is text", HEAD "RUA 2 2 2 0\n" FORMATS " 1 x 3\n", TRISTAR_ERR_FORMAT,
     ":5: not an integer among the column pointers: \" x\""},
    {"pointers end", HEAD "RUA 2 2 2 0\n" FORMATS " 1\n", TRISTAR_ERR_FORMAT,
     ":5: columns 3 to 4 of the column pointers are blank"},
    {"no pointers", HEAD "RUA 2 2 2 0\n" FORMATS, TRISTAR_ERR_FORMAT,
     ":4: the file ends inside the column pointers"},
    {"far too few pointers", HEAD "RUA 2 2147483645 2 0\n" FORMATS, TRISTAR_ERR_FORMAT,
     ":4: the file ends inside the column"},
    {"row 0", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 0 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":6: row indices must lie in 1..2 here: \" 0\""},
    {"row beyond", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1 3\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":6: row indices must lie in 1..2"},
    {"row is real", HEAD "RUA 2 2 2 0\n(8I2) (8I3) (8F4.0)\n 1 2 3\n 1.  2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":6: not an integer among the row"},
    {"two numbers in a field", HEAD "RUA 2 2 2 0\n(8I2) (8I3) (8F4.0)\n 1 2 3\n1 1  2\n  1.  2.\n",
     TRISTAR_ERR_FORMAT, ":6: not an integer among the row"},
    {"rows end", HEAD "RUA 2 2 2 0\n(8I2) (1I2) (8F4.0)\n 1 2 3\n 1\n", TRISTAR_ERR_FORMAT,
     ":6: the file ends inside the row indices"},
    {"no values", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1 2\n", TRISTAR_ERR_FORMAT,
     ":6: the file ends inside the values"},
    {"one value, no end of the line", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1 2\n  1.", TRISTAR_ERR_FORMAT,
     ":7: columns 5 to 8 of the values are blank, and the file ends"},
    {"blank pointer", HEAD "RUA 2 2 2 0\n" FORMATS " 1   3\n 1 2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":5: columns 3 to 4 of the column pointers are blank: \" 1   3\""},
    {"blank row index", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n   2\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":6: columns 1 to 2 of the row indices are blank: \"   2\""},
    {"row indices end in their line", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1\n  1.  2.\n",
     TRISTAR_ERR_FORMAT, ":6: columns 3 to 4 of the row indices are blank"},
    {"value is text", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1 2\n  1. abc\n", TRISTAR_ERR_FORMAT,
     ":7: columns 5 to 8 of the values are not a number (are the fields as wide as the format says?): \" "
     "abc\""},
    {"an exponent in an integer", HEAD "IUA 2 2 2 0\n(8I2) (8I2) (8I4)\n 1 2 3\n 1 2\n   5+3-2\n",
     TRISTAR_ERR_FORMAT, ":7: columns 5 to 8 of the values are not a number"},
    {"a point in an integer", HEAD "IUA 2 2 2 0\n(8I2) (8I2) (8I4)\n 1 2 3\n 1 2\n 1.5   2\n",
     TRISTAR_ERR_FORMAT, ":7: columns 1 to 4 of the values are not a number"},
    {"values run together", HEAD "RUA 2 2 2 0\n(8I2) (8I2) (8F6.0)\n 1 2 3\n 1 2\n 1. 2.  4.\n",
     TRISTAR_ERR_FORMAT, ":7: columns 1 to 6 of the values are not a number"},
    {"fields narrower than the format says, a digit of the next number", /* SciPy 1.10 writes float32 in this
                                                                            form */
     HEAD "RUA 2 2 2 0\n(8I2) (8I2) (3E9.1)\n 1 2 3\n 1 2\n 1.5E+00 2.5E+00 3.5E+00\n", TRISTAR_ERR_FORMAT,
     ":7: columns 10 to 18 of the values are not a number (are the fields as wide as the format says?): "
     "\"2.5E+00 3\""},
    {"fields narrower than the format says, a sign", /* SciPy 1.10 writes double in this form */
     HEAD "RUA 2 2 2 0\n(8I2) (8I2) (3E10.1)\n 1 2 3\n 1 2\n -1.5E+00 -2.5E+00 -3.5E+00\n",
     TRISTAR_ERR_FORMAT, ":7: columns 11 to 20 of the values are not a number"},
    {"NaN", HEAD "RUA 2 2 2 0\n" FORMATS " 1 2 3\n 1 2\n  1. NaN\n", TRISTAR_ERR_NOT_FINITE,
     ":7: NaN, infinity"},
    {"beyond double", HEAD "RUA 2 2 2 0\n(8I2) (8I2) (8E8.0)\n 1 2 3\n 1 2\n  1.E+00 1.D+400\n",
     TRISTAR_ERR_NOT_FINITE, ":7: NaN, infinity or a number beyond double: \" 1.D+400\""},
    {"skew diagonal", HEAD "RZA 1 1 1 0\n" FORMATS " 1 2\n 1\n  1.\n", TRISTAR_ERR_FORMAT,
     ":7: diagonal entry (1,1) = 1 of a skew"},
    {"hermitian diagonal", HEAD "CHA 1 1 1 0\n" FORMATS " 1 2\n 1\n  1.  2.\n", TRISTAR_ERR_FORMAT,
     ":7: diagonal entry (1,1) of a hermitian"},
    {"both triangles",
     HEAD "RSA 3 3 5 0\n(8I2) (2I2) (8F4.0)\n 1 3 4 6\n 1 3\n 2 1\n 3\n  1.  2.  3.  4.  5.\n",
     TRISTAR_ERR_FORMAT, ":7: entry (1,3), and line 6 has (3,1): a symmetric file stores one triangle"},
    {"trailing garbage", HEAD "RUA 1 1 1 0\n" FORMATS " 1 2\n 1\n  1.\n\nmore\n", TRISTAR_ERR_FORMAT,
     ":9: text behind the last entry: \"more\""},
};

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_context(NULL);
  for (int compressed = 0; compressed < 2; compressed++) {
    const char *path = compressed ? packed : plain;
    for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++)
      RUN(check_good(&good_files[i], path, compressed));
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++)
      check_bad(ts, &bad_files[i], path, compressed);
  }
  /* a file that ends before its last number is an error */
  const char *text = good_files[0].text;
  for (size_t length = 0; length + 10 < strlen(text); length++) {
    make_file(plain, text, length, 0);
    expect_read_failure(ts, "truncated text", plain, TRISTAR_ERR_FORMAT, ": ");
  }
  close_context(&ts);
  remove(plain);
  remove(packed);
  return 0;
}
