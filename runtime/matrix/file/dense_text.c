/* Dense matrices as plain text: each line is a row, its numbers separated by blanks or tabs.
 *
 * Blank lines are skipped, and so is the rest of a line from # or % on. A complex value is two numbers, real
 * and imaginary part. All rows have as many numbers as the first. */
#include "runtime/matrix/file/dense.h"
#include "runtime/matrix/file/number.h"
#include "runtime/base/grow.h"

typedef struct text_rows {
  tsi_text_lines *lines;
  double *number; /* row by row */
  tsi_count count, capacity;
  tsi_count rows, length; /* length: numbers of a row. */
  tsi_count first_line;   /* Number of the line with the first row. */
} text_rows;

static tristar_status take_number(text_rows *t, const char *text, const char **cursor) {
  char show[TSI_SHOW_SIZE];
  double value = 0;
  const tsi_number number = tsi_scan_real(cursor, &value);
  if (number == TSI_NUMBER_LARGE)
    TSI_FAIL(t->lines->env, TRISTAR_ERR_NOT_FINITE, "%s: NaN, infinity or a number beyond double in \"%s\"",
             tsi_lines_where(t->lines), tsi_show(show, text));
  if (number != TSI_NUMBER_OK)
    TSI_FAIL(t->lines->env, TRISTAR_ERR_FORMAT,
             "%s: not numbers alone: \"%s\", and line 1 has no %%%%MatrixMarket either",
             tsi_lines_where(t->lines), tsi_show(show, text));
  if (t->count == t->capacity) {
    t->capacity = tsi_next_capacity(t->capacity, 0);
    TSI_TRY(tsi_grow(t->lines->env, (void **)&t->number, sizeof *t->number, t->count, t->capacity));
  }
  t->number[t->count++] = value;
  return TRISTAR_OK;
}

static tristar_status take_line(text_rows *t, const char *text, int width) {
  const tsi_count before = t->count;
  const char *cursor = tsi_skip_blanks(text);
  for (; *cursor != '\0' && *cursor != '#' && *cursor != '%'; cursor = tsi_skip_blanks(cursor))
    TSI_TRY(take_number(t, text, &cursor));
  const tsi_count length = t->count - before;
  if (length == 0) return TRISTAR_OK;
  if (length % width != 0)
    TSI_FAIL(t->lines->env, TRISTAR_ERR_FORMAT,
             "%s: an odd number of numbers, %lld, but complex values are pairs: real and imaginary part",
             tsi_lines_where(t->lines), (long long)length);
  if (t->rows > 0 && length != t->length)
    TSI_FAIL(t->lines->env, TRISTAR_ERR_FORMAT,
             "%s: a row of length %lld, but that of line %lld has length %lld", tsi_lines_where(t->lines),
             (long long)length, (long long)t->first_line, (long long)t->length);
  if (t->rows == 0) t->first_line = t->lines->number;
  t->length = length;
  t->rows++;
  if (t->rows > TSI_INDEX_MAX)
    TSI_FAIL(t->lines->env, TRISTAR_ERR_TOO_LARGE, "%s: too large: more than %d rows",
             tsi_lines_where(t->lines), (int)TSI_INDEX_MAX);
  return TRISTAR_OK;
}

/* Converts from rows to columns. */
static void transpose(const text_rows *t, int width, double *values) {
  const tsi_count cols = t->length / width;
  for (tsi_count i = 0; i < t->rows; i++)
    for (tsi_count j = 0; j < cols; j++)
      memcpy(values + (i + j * t->rows) * width, t->number + (i * cols + j) * width,
             (size_t)width * sizeof *values);
}

tristar_status tsi_dense_read_text(tsi_text_lines *lines, const char *text, int width, tristar_dense *dense) {
  double *values = NULL;
  TSI_SCRATCH(lines->env, text_rows, t, 1);
  *t = (text_rows){.lines = lines};
  TSI_TRY(TSI_ALLOC_IN(t, t->number, 0)); /* grows */
  while (text != NULL) {
    char *next;
    TSI_TRY(take_line(t, text, width));
    TSI_TRY(tsi_lines_next(lines, &next));
    text = next;
  }
  if (t->rows == 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: the file has no number", tsi_lines_where(lines));
  TSI_TRY(TSI_ALLOC(lines->env, values, t->count));
  transpose(t, width, values);
  *dense = (tristar_dense){.rows = t->rows,
                           .cols = t->length / width,
                           .scalar = width == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                           .values = values};
  return TRISTAR_OK;
}
