/* Reading Matrix Market coordinate files: see market.h.
 *
 * Each entry is scanned in place and pushed to the triplets. Memory grows with the entries in the file, so a
 * wrong size line costs nothing. */
#include "runtime/matrix/file/market.h"

#include <stdio.h>
#include <strings.h>

#include "runtime/base/env.h"
#include "runtime/base/grow.h"
#include "runtime/matrix/file/number.h"
#include "runtime/matrix/triplets.h"

/* ---- Lines of entries ---------------------------------------------------------------------------------- */

/* The line of each entry of a file, for messages about entries that were read long before.
 *
 * Entries are on consecutive lines, except for blank lines and comments between them. Only the positions of
 * such gaps are stored, so a file without gaps costs no memory.
 * Invariant: entry k of run r, runs[r].entry <= k < runs[r+1].entry, is in line runs[r].line + k -
 * runs[r].entry. */

typedef struct line_run {
  tsi_count entry, line; /* the first entry of the run, and its line */
} line_run;

typedef struct line_runs {
  tsi_env *env;
  line_run *runs;
  tsi_count count, capacity;
} line_runs;

static void line_runs_free(line_runs *lines) {
  TSI_FREE(lines->env, lines->runs);
  lines->count = lines->capacity = 0;
}

/* Notes the line of entry k; k counts from 0 and is one more than in the call before. Errors: MEMORY. */
static tristar_status note_line(line_runs *lines, tsi_count k, tsi_count line) {
  const line_run *last = lines->count > 0 ? &lines->runs[lines->count - 1] : NULL;
  if (last != NULL && line - last->line == k - last->entry) return TRISTAR_OK;
  if (lines->count == lines->capacity) {
    const tsi_count capacity = lines->capacity > 0 ? 2 * lines->capacity : 16;
    TSI_TRY(tsi_grow(lines->env, (void **)&lines->runs, sizeof *lines->runs, lines->count, capacity));
    lines->capacity = capacity;
  }
  lines->runs[lines->count++] = (line_run){k, line};
  return TRISTAR_OK;
}

/* The line of a noted entry. */
static tsi_count find_line(const line_runs *lines, tsi_count k) {
  tsi_count low = 0, high = lines->count; /* the run is in low .. high-1 */
  while (high - low > 1) {
    const tsi_count middle = low + (high - low) / 2;
    if (lines->runs[middle].entry <= k)
      low = middle;
    else
      high = middle;
  }
  return lines->runs[low].line + k - lines->runs[low].entry;
}

/* ---- Reader -------------------------------------------------------------------------------------------- */

typedef struct word_value {
  const char *word;
  int value;
} word_value;

static const word_value shapes[] = {{"coordinate", 0}, {"array", 1}, {NULL, 0}};
static const word_value fields[] = {{"real", TSI_FIELD_REAL},
                                    {"double", TSI_FIELD_REAL}, /* not in the standard, but in use */
                                    {"integer", TSI_FIELD_INTEGER},
                                    {"unsigned-integer", TSI_FIELD_INTEGER},
                                    {"complex", TSI_FIELD_COMPLEX},
                                    {"pattern", TSI_FIELD_PATTERN},
                                    {NULL, 0}};
static const word_value symmetries[] = {{"general", TRISTAR_GENERAL},
                                        {"symmetric", TRISTAR_SYMMETRIC},
                                        {"skew-symmetric", TRISTAR_SKEW_SYMMETRIC},
                                        {"hermitian", TRISTAR_HERMITIAN},
                                        {NULL, 0}};

/* The value of the word, or -1. */
static int look_up(const word_value *table, const char *word) {
  for (; table->word != NULL; table++)
    if (strcasecmp(table->word, word) == 0) return table->value;
  return -1;
}

static tristar_status parse_banner(tsi_text_lines *lines, const char *banner, tsi_market_header *header) {
  char show[TSI_SHOW_SIZE], word[5][32] = {{0}}, extra[2];
  int words =
      sscanf(banner, "%31s %31s %31s %31s %31s %1s", word[0], word[1], word[2], word[3], word[4], extra);
  if (strcasecmp(word[0], "%%MatrixMarket") != 0 || strcasecmp(word[1], "matrix") != 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: no \"%%%%MatrixMarket matrix\" banner: \"%s\"",
             tsi_lines_where(lines), tsi_show(show, banner));
  int shape = look_up(shapes, word[2]), field = look_up(fields, word[3]);
  int symmetry = look_up(symmetries, word[4]);
  if (words != 5 || shape < 0 || field < 0 || symmetry < 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: bad banner \"%s\": %s", tsi_lines_where(lines),
             tsi_show(show, banner),
             shape < 0      ? "the third word is neither coordinate nor array"
             : field < 0    ? "the fourth word is none of real, integer, complex, pattern"
             : symmetry < 0 ? "the fifth word is none of general, symmetric, skew-symmetric, hermitian"
                            : "more than five words");
  header->array = shape == 1;
  header->field = (tsi_field)field;
  header->symmetry = (tristar_symmetry)symmetry;
  if (header->array && header->field == TSI_FIELD_PATTERN)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: an array file cannot be a pattern: \"%s\"",
             tsi_lines_where(lines), tsi_show(show, banner));
  return TRISTAR_OK;
}

bool tsi_market_is_blank(const char *text) {
  return *text == '%' || *tsi_skip_blanks(text) == '\0';
}

tristar_status tsi_market_next(tsi_text_lines *lines, char **text) {
  do {
    TSI_TRY(tsi_lines_next(lines, text));
    if (*text == NULL) return TRISTAR_OK;
  } while (tsi_market_is_blank(*text));
  return TRISTAR_OK;
}

/* Number of values in an array file: the lower triangle of symmetric kinds, without the diagonal if skew. */
static tsi_count array_entries(const tsi_market_header *header) {
  tsi_count rows = header->rows, cols = header->cols; /* below 2^31: the product fits */
  if (header->symmetry == TRISTAR_GENERAL) return rows * cols;
  return header->symmetry == TRISTAR_SKEW_SYMMETRIC ? rows * (rows - 1) / 2 : rows * (rows + 1) / 2;
}

static tristar_status parse_sizes(tsi_text_lines *lines, const char *text, tsi_market_header *header) {
  char show[TSI_SHOW_SIZE];
  static const char *const names[] = {"rows", "columns", "entries"};
  int64_t sizes[3] = {0, 0, 0};
  const char *cursor = text;
  for (int s = 0; s < (header->array ? 2 : 3); s++) {
    const int64_t limit = s < 2 ? TSI_INDEX_MAX : TSI_COUNT_MAX;
    tsi_number number = tsi_scan_integer(&cursor, &sizes[s]);
    if ((number != TSI_NUMBER_OK && number != TSI_NUMBER_LARGE) || sizes[s] < 0)
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: no number of %s in the size line \"%s\"",
               tsi_lines_where(lines), names[s], tsi_show(show, text));
    if (sizes[s] > limit)
      TSI_FAIL(lines->env, TRISTAR_ERR_TOO_LARGE, "%s: too many %s in \"%s\": too large, at most %lld",
               tsi_lines_where(lines), names[s], tsi_show(show, text), (long long)limit);
  }
  if (*tsi_skip_blanks(cursor) != '\0')
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: more than %d numbers in the size line \"%s\"",
             tsi_lines_where(lines), header->array ? 2 : 3, tsi_show(show, text));
  if (header->symmetry != TRISTAR_GENERAL && sizes[0] != sizes[1])
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: a %s matrix of %lld x %lld is not square: \"%s\"",
             tsi_lines_where(lines), tsi_symmetry_name(header->symmetry), (long long)sizes[0],
             (long long)sizes[1], tsi_show(show, text));
  header->rows = (tsi_index)sizes[0];
  header->cols = (tsi_index)sizes[1];
  header->entries = header->array ? array_entries(header) : sizes[2];
  header->size_line = lines->number;
  return TRISTAR_OK;
}

tristar_status tsi_market_read_header(tsi_text_lines *lines, const char *banner, tsi_market_header *header) {
  char *text;
  memset(header, 0, sizeof *header);
  TSI_TRY(parse_banner(lines, banner, header));
  TSI_TRY(tsi_market_next(lines, &text));
  if (text == NULL)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: the file ends before its size line",
             tsi_lines_where(lines));
  return parse_sizes(lines, text, header);
}

static tristar_status bad_value(tsi_text_lines *lines, tsi_field field, tsi_number number, const char *text) {
  char show[TSI_SHOW_SIZE];
  if (number == TSI_NUMBER_LARGE)
    TSI_FAIL(lines->env, TRISTAR_ERR_NOT_FINITE, "%s: NaN, infinity or a number beyond double in \"%s\"",
             tsi_lines_where(lines), tsi_show(show, text));
  TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: %s%s in \"%s\"", tsi_lines_where(lines),
           number == TSI_NUMBER_NONE ? "missing " : "not ",
           field == TSI_FIELD_INTEGER   ? "an integer value"
           : field == TSI_FIELD_COMPLEX ? "a complex value (two numbers)"
                                        : "a real value",
           tsi_show(show, text));
}

tristar_status tsi_market_value(tsi_text_lines *lines, tsi_field field, const char *text, const char **cursor,
                                double *value) {
  char show[TSI_SHOW_SIZE];
  tsi_number number = TSI_NUMBER_OK;
  int64_t integer = 0;
  value[0] = 1;
  value[1] = 0;
  if (field == TSI_FIELD_INTEGER) {
    const char *digits = *cursor;
    number = tsi_scan_integer(cursor, &integer);
    value[0] = (double)integer;
    if (number == TSI_NUMBER_LARGE) number = tsi_scan_real(&digits, value); /* digits only: rounded */
  } else if (field != TSI_FIELD_PATTERN)
    number = tsi_scan_real(cursor, &value[0]);
  if (field == TSI_FIELD_COMPLEX && number == TSI_NUMBER_OK) number = tsi_scan_real(cursor, &value[1]);
  if (number != TSI_NUMBER_OK) return bad_value(lines, field, number, text);
  if (*tsi_skip_blanks(*cursor) != '\0')
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: more than %s in \"%s\"", tsi_lines_where(lines),
             field == TSI_FIELD_PATTERN   ? "row and column"
             : field == TSI_FIELD_COMPLEX ? "one complex value"
                                          : "one value (the file is not complex)",
             tsi_show(show, text));
  return TRISTAR_OK;
}

static tristar_status parse_position(tsi_text_lines *lines, const char *text, const char **cursor,
                                     const char *what, tsi_index size, tsi_index *position) {
  char show[TSI_SHOW_SIZE];
  int64_t number = 0;
  tsi_number result = tsi_scan_integer(cursor, &number);
  if (result == TSI_NUMBER_LARGE || (result == TSI_NUMBER_OK && (number < 1 || number > size)))
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: %s outside 1..%d in \"%s\"", tsi_lines_where(lines), what,
             (int)size, tsi_show(show, text));
  if (result != TSI_NUMBER_OK)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: no %s number in \"%s\"", tsi_lines_where(lines), what,
             tsi_show(show, text));
  *position = (tsi_index)(number - 1);
  return TRISTAR_OK;
}

/* Pattern files with values exist: one number after row and column is ignored, with one warning per file. */
static void ignore_pattern_value(tsi_text_lines *lines, const char **cursor, bool *warned) {
  double ignored;
  if (*tsi_skip_blanks(*cursor) == '\0' || tsi_scan_real(cursor, &ignored) != TSI_NUMBER_OK || *warned)
    return;
  tsi_log(lines->env, TRISTAR_LOG_WARNING, "%s: a pattern file with values: they are ignored",
          tsi_lines_where(lines));
  *warned = true;
}

tristar_status tsi_market_entry(tsi_text_lines *lines, const tsi_market_header *header, const char *text,
                                bool *warned, tsi_index *i, tsi_index *j, double *value) {
  char show[TSI_SHOW_SIZE];
  const char *cursor = text;
  TSI_TRY(parse_position(lines, text, &cursor, "row", header->rows, i));
  TSI_TRY(parse_position(lines, text, &cursor, "column", header->cols, j));
  if (header->field == TSI_FIELD_PATTERN) ignore_pattern_value(lines, &cursor, warned);
  TSI_TRY(tsi_market_value(lines, header->field, text, &cursor, value));
  if (*i == *j && header->field != TSI_FIELD_PATTERN) {
    if (header->symmetry == TRISTAR_SKEW_SYMMETRIC && (value[0] != 0 || value[1] != 0))
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: non-zero diagonal of a skew-symmetric matrix: \"%s\"",
               tsi_lines_where(lines), tsi_show(show, text));
    if (header->symmetry == TRISTAR_HERMITIAN && value[1] != 0)
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: imaginary diagonal of a hermitian matrix: \"%s\"",
               tsi_lines_where(lines), tsi_show(show, text));
  }
  return TRISTAR_OK;
}

tristar_status tsi_market_ends_early(tsi_text_lines *lines, const tsi_market_header *header,
                                     tsi_count entries) {
  TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
           "%s: the file ends after %lld of the %lld entries that line %lld announces",
           tsi_lines_where(lines), (long long)entries, (long long)header->entries,
           (long long)header->size_line);
}

tristar_status tsi_market_end(tsi_text_lines *lines, const tsi_market_header *header) {
  char show[TSI_SHOW_SIZE];
  char *text;
  TSI_TRY(tsi_market_next(lines, &text));
  if (text != NULL)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s: after the last of the %lld entries that line %lld announces: \"%s\"",
             tsi_lines_where(lines), (long long)header->entries, (long long)header->size_line,
             tsi_show(show, text));
  return TRISTAR_OK;
}

/* Refuses a file that stores both triangles: its entries would be summed like duplicates, and so doubled. */
static tristar_status refuse_pair(tsi_text_lines *lines, const tsi_market_header *header,
                                  const tsi_triplets *triplets, const line_runs *runs) {
  tsi_entry_pair pair;
  TSI_TRY(tsi_triplets_find_pair(triplets, &pair));
  if (pair.first >= 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s:%lld: entry (%d,%d), and line %lld has (%d,%d): a %s file stores one triangle; leave the "
             "other out, "
             "or declare the file general",
             lines->path, (long long)find_line(runs, pair.second), (int)pair.row + 1, (int)pair.col + 1,
             (long long)find_line(runs, pair.first), (int)pair.col + 1, (int)pair.row + 1,
             tsi_symmetry_name(header->symmetry));
  return TRISTAR_OK;
}

tristar_status tsi_market_read_coordinate(tsi_text_lines *lines, const tsi_market_header *header,
                                          tristar_matrix_t **matrix) {
  int width = header->field == TSI_FIELD_PATTERN ? 0 : header->field == TSI_FIELD_COMPLEX ? 2 : 1;
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets triplets = {.env = lines->env};
  TSI_CLEANUP(line_runs_free) line_runs runs = {.env = lines->env};
  bool warned = false;
  char *text;
  tsi_index i, j;
  double value[2];
  *matrix = NULL;
  tsi_triplets_init(&triplets, lines->env, header->rows, header->cols, header->symmetry, width,
                    header->entries);
  for (tsi_count k = 0; k < header->entries; k++) {
    TSI_TRY(tsi_market_next(lines, &text));
    if (text == NULL) TSI_TRY(tsi_market_ends_early(lines, header, k));
    TSI_TRY(tsi_market_entry(lines, header, text, &warned, &i, &j, value));
    TSI_TRY(tsi_triplets_push(&triplets, i, j, value));
    if (header->symmetry != TRISTAR_GENERAL) TSI_TRY(note_line(&runs, k, lines->number));
  }
  TSI_TRY(tsi_market_end(lines, header));
  TSI_TRY(refuse_pair(lines, header, &triplets, &runs));
  return tsi_triplets_finish(&triplets, matrix);
}
