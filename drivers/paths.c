/* Rows given and rows wanted: see paths.h. */
#include "drivers/paths.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t scalar_bytes(const tristar_dense *dense) {
  return tsi_precision_of(dense->scalar)->bytes;
}

static const char *entry(const tristar_dense *dense, int64_t row, int64_t column) {
  return (const char *)dense->values + (size_t)(row + column * dense->rows) * scalar_bytes(dense);
}

static bool out_of_memory(tsi_session *s) {
  return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for lists of rows", s->name);
}

static bool row_is_zero(const tristar_dense *b, int64_t row) {
  static const char zeros[16]; /* the largest scalar; bits of -0 count as nonzero, which does no harm */
  for (int64_t c = 0; c < b->cols; c++)
    if (memcmp(entry(b, row, c), zeros, scalar_bytes(b)) != 0) return false;
  return true;
}

/* Copies rows of a dense matrix; rows NULL: all. */
static void copy_rows(const tristar_dense *from, const int64_t *rows, tristar_dense *to) {
  const size_t bytes = scalar_bytes(from);
  for (int64_t c = 0; c < to->cols; c++)
    for (int64_t i = 0; i < to->rows; i++)
      memcpy((char *)to->values + (size_t)(i + c * to->rows) * bytes, entry(from, rows ? rows[i] : i, c),
             bytes);
}

static bool list_given(tsi_session *s, const tristar_dense *b, tsi_paths *paths) {
  paths->given_rows = 0;
  for (int64_t i = 0; i < b->rows; i++) paths->given_rows += !row_is_zero(b, i);
  if (paths->given_rows == b->rows) return true;
  paths->given = malloc(((size_t)paths->given_rows + 1) * sizeof *paths->given);
  if (paths->given == NULL) return out_of_memory(s);
  for (int64_t i = 0, at = 0; i < b->rows; i++)
    if (!row_is_zero(b, i)) paths->given[at++] = i;
  return true;
}

/* Where a file of rows is being read. */
typedef struct reader {
  FILE *file;
  const char *path;
  int64_t line;
} reader;

/* The next number; *found = false at the end of the file. */
static bool next_row(tsi_session *s, reader *r, int64_t rows, int64_t *row, bool *found) {
  char word[32];
  size_t length = 0;
  int c = getc(r->file);
  *found = false;
  while (c == '%' || c == '#' || isspace(c)) {
    while ((c == '%' || c == '#') && c != EOF)
      while (c != '\n' && c != EOF) c = getc(r->file);
    if (c == '\n') r->line++;
    if (c != EOF) c = getc(r->file);
  }
  if (c == EOF)
    return !ferror(r->file) || tsi_session_fail(s, TRISTAR_ERR_IO, "%s: %s", r->path, strerror(errno));
  for (; c != EOF && !isspace(c) && c != '%' && c != '#'; c = getc(r->file))
    if (length + 1 < sizeof word) word[length++] = (char)c;
  ungetc(c, r->file);
  word[length] = 0;
  char *end;
  errno = 0;
  const long long value = strtoll(word, &end, 10);
  if (*end != 0 || errno != 0)
    return tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s:%" PRId64 ": '%s' is no number of a row", r->path,
                            r->line, word);
  if (value < 1 || value > rows)
    return tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s:%" PRId64 ": row %lld is outside 1 .. %" PRId64,
                            r->path, r->line, value, rows);
  *row = value - 1;
  *found = true;
  return true;
}

static bool read_rows(tsi_session *s, reader *r, int64_t rows, tsi_paths *paths, char *seen) {
  int64_t row;
  bool found;
  for (;;) {
    if (!next_row(s, r, rows, &row, &found)) return false;
    if (!found) return true;
    if (seen[row])
      return tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s:%" PRId64 ": row %" PRId64 " stands there twice",
                              r->path, r->line, row + 1);
    seen[row] = 1;
    paths->wanted[paths->wanted_rows++] = row;
  }
}

static bool list_wanted(tsi_session *s, int64_t rows, tsi_paths *paths) {
  reader r = {.path = s->settings->rows, .line = 1};
  paths->wanted_rows = rows;
  if (r.path == NULL) return true;
  paths->wanted_rows = 0;
  char *seen = calloc((size_t)rows + 1, 1);
  paths->wanted = malloc(((size_t)rows + 1) * sizeof *paths->wanted);
  r.file = fopen(r.path, "r");
  bool ok = seen != NULL && paths->wanted != NULL;
  if (!ok)
    out_of_memory(s);
  else if (r.file == NULL)
    ok = tsi_session_fail(s, TRISTAR_ERR_IO, "%s: %s", r.path, strerror(errno));
  else
    ok = read_rows(s, &r, rows, paths, seen);
  if (ok && paths->wanted_rows == 0)
    ok = tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: no row is named", r.path);
  if (r.file) fclose(r.file);
  free(seen);
  return ok;
}

bool tsi_paths_make(tsi_session *s, const tristar_dense *b, tsi_paths *paths) {
  memset(paths, 0, sizeof *paths);
  if (!list_given(s, b, paths) || !list_wanted(s, b->rows, paths)) return false;
  paths->used = paths->given != NULL || paths->wanted != NULL;
  if (!paths->used) return true;
  if (!tsi_dense_make(s, paths->given_rows, b->cols, &paths->b) ||
      !tsi_dense_make(s, paths->wanted_rows, b->cols, &paths->x))
    return false;
  copy_rows(b, paths->given, &paths->b);
  return true;
}

tristar_solve_options tsi_paths_options(tristar_op op, const tsi_paths *paths) {
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  options.op = op;
  options.b_rows = paths->given_rows;
  options.b_row = paths->given;
  options.x_rows = paths->wanted_rows;
  options.x_row = paths->wanted;
  return options;
}

bool tsi_paths_solve(tsi_session *s, tristar_op op, tsi_paths *paths) {
  const tristar_solve_options options = tsi_paths_options(op, paths);
  tristar_solve_result result = {0};
  const tristar_status status =
      tristar_solve_with(s->plan, &options, paths->b.cols, paths->b.values, paths->x.values, &result);
  paths->share = result.share;
  return tsi_session_check(s, status, s->name);
}

void tsi_paths_select(const tristar_dense *x, tsi_paths *paths) {
  copy_rows(x, paths->wanted, &paths->x);
}

void tsi_paths_free(tsi_paths *paths) {
  free(paths->given);
  free(paths->wanted);
  free(paths->b.values);
  free(paths->x.values);
  memset(paths, 0, sizeof *paths);
}
