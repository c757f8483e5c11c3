/* Given rows and requested rows: see paths.h. */
#include "drivers/report/paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/files.h"
#include "runtime/context/context.h"
#include "runtime/matrix/file/lines.h"
#include "runtime/matrix/file/number.h"

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
  static const char zeros[16]; /* size of the largest scalar; -0 counts as nonzero, which is harmless */
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

/* Row numbers read from a file. */
typedef struct row_list {
  int64_t *row; /* from 0 */
  int64_t count, capacity;
  char *seen; /* 1 for each row in the list; NULL: rows may repeat */
} row_list;

static tristar_status add_row(row_list *list, int64_t row) {
  if (list->count == list->capacity) {
    const int64_t capacity = 2 * list->capacity + 16;
    int64_t *more = realloc(list->row, (size_t)capacity * sizeof *more);
    if (more == NULL) return TRISTAR_ERR_MEMORY;
    list->row = more;
    list->capacity = capacity;
  }
  list->row[list->count++] = row;
  return TRISTAR_OK;
}

/* Reads the number at *cursor and appends it to the list; *cursor is at a word. */
static tristar_status take_row(tsi_text_lines *lines, const char **cursor, int64_t rows, row_list *list) {
  char show[TSI_SHOW_SIZE];
  int64_t row = 0;
  const tsi_number number = tsi_scan_integer(cursor, &row);
  if (number != TSI_NUMBER_OK && number != TSI_NUMBER_LARGE)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: not the number of a row: \"%s\"", tsi_lines_where(lines),
             tsi_show(show, *cursor));
  if (row < 1 || row > rows)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: row %" PRId64 " is outside 1 .. %" PRId64,
             tsi_lines_where(lines), row, rows);
  if (list->seen && list->seen[row - 1])
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: row %" PRId64 " occurs for the second time",
             tsi_lines_where(lines), row);
  if (list->seen) list->seen[row - 1] = 1;
  if (add_row(list, row - 1) != TRISTAR_OK)
    TSI_FAIL(lines->env, TRISTAR_ERR_MEMORY, "%s: out of memory for lists of rows", lines->path);
  return TRISTAR_OK;
}

static tristar_status read_rows(tsi_text_lines *lines, int64_t rows, row_list *list) {
  char *text;
  TSI_TRY(tsi_lines_next(lines, &text));
  while (text != NULL) {
    text[strcspn(text, "%#")] = '\0';
    for (const char *at = tsi_skip_blanks(text); *at != '\0'; at = tsi_skip_blanks(at))
      TSI_TRY(take_row(lines, &at, rows, list));
    TSI_TRY(tsi_lines_next(lines, &text));
  }
  if (list->count == 0) TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: no row is listed", lines->path);
  return TRISTAR_OK;
}

static tristar_status read_file(tsi_env *env, const char *path, int64_t rows, row_list *list) {
  tristar_status status = TRISTAR_OK;
  tsi_text_lines lines;
  TSI_TRY_OUT(tsi_lines_open(&lines, env, path));
  TSI_TRY_OUT(read_rows(&lines, rows, list));
out:
  tsi_lines_close(&lines);
  return status;
}

bool tsi_rows_read(tsi_session *s, const char *path, int64_t rows, bool once, int64_t **list,
                   int64_t *count) {
  row_list read = {.seen = once ? calloc((size_t)rows + 1, 1) : NULL};
  const bool ok =
      (once && read.seen == NULL)
          ? out_of_memory(s)
          : tsi_session_check(s, read_file(tsi_context_env(s->ts), path, rows, &read), tsi_input_name(path));
  free(read.seen);
  *list = read.row;
  *count = read.count;
  return ok;
}

bool tsi_paths_make(tsi_session *s, const tristar_dense *b, tsi_paths *paths) {
  memset(paths, 0, sizeof *paths);
  paths->requested_rows = b->rows;
  if (!list_given(s, b, paths)) return false;
  if (s->settings->rows != NULL &&
      !tsi_rows_read(s, s->settings->rows, b->rows, true, &paths->requested, &paths->requested_rows))
    return false;
  paths->used = paths->given != NULL || paths->requested != NULL;
  if (!paths->used) return true;
  if (!tsi_dense_make(s, paths->given_rows, b->cols, &paths->b) ||
      !tsi_dense_make(s, paths->requested_rows, b->cols, &paths->x))
    return false;
  copy_rows(b, paths->given, &paths->b);
  return true;
}

tristar_solve_options tsi_paths_options(tristar_op op, const tsi_paths *paths) {
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  options.op = op;
  if (!paths->used) return options;
  options.b_rows = paths->given_rows;
  options.b_row = paths->given;
  options.x_rows = paths->requested_rows;
  options.x_row = paths->requested;
  return options;
}

void tsi_paths_select(const tristar_dense *x, tsi_paths *paths) {
  copy_rows(x, paths->requested, &paths->x);
}

void tsi_paths_free(tsi_paths *paths) {
  free(paths->given);
  free(paths->requested);
  free(paths->b.values);
  free(paths->x.values);
  memset(paths, 0, sizeof *paths);
}
