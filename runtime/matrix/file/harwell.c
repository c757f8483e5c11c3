/* Reading Harwell-Boeing and Rutherford-Boeing files (assembled matrices).
 *
 *   line 1   title (72), key (8)
 *   line 2   numbers of lines: total, pointers, indices, values[, right-hand sides]
 *   line 3   type (3 letters), rows, columns, entries[, elements]
 *   line 4   Fortran formats in parentheses: pointers, indices, values[, right-hand sides]
 *   line 5   only Harwell-Boeing with right-hand sides: their kind
 *   ...      pointers (columns + 1), row indices, values, all from 1, in the fixed columns of the formats
 *
 * The type: R, C, P or I (real, complex, pattern, integer), U, S, Z, H or R (unsymmetric, symmetric, skew,
 * hermitian, rectangular), A (assembled). The formats are Fortran formats (fortran_format.h): fields of fixed
 * width need no blanks between them. A blank value is zero, as in Fortran, with a warning in the log; blank
 * pointers and indices are errors. Right-hand sides are not read. The numbers of lines are used only to
 * detect values and right-hand sides; the numbers of rows, columns and entries are decisive. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "runtime/base/grow.h"
#include "runtime/matrix/file/fortran_format.h"
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/file/number.h"
#include "runtime/matrix/triplets.h"

typedef struct header {
  tsi_count value_lines, rhs_lines;
  tsi_field field;
  tristar_symmetry symmetry;
  tsi_index rows, cols;
  tsi_count entries;
  tsi_fortran_format format[3]; /* pointers, indices, values */
  tsi_fortran_item *items;      /* of all formats */
} header;

/* The fields of one section of the file, in the order of one READ statement. */
typedef struct section {
  tsi_text_lines *lines;
  const char *what;
  const tsi_fortran_format *format;
  tsi_fortran_cursor cursor;
  char *text;        /* The current record. */
  size_t length;     /* Its length. */
  const char *field; /* The current field, in text. */
  bool is_integer;   /* Its format is Iw. */
  int width;         /* Its width. */
  size_t column;     /* Its first column, from 1. */
  bool warned;       /* A warning about a blank value has been logged. */
} section;

static void section_begin(section *s, tsi_text_lines *lines, const char *what,
                          const tsi_fortran_format *format) {
  memset(s, 0, sizeof *s);
  s->lines = lines;
  s->what = what;
  s->format = format;
}

/* Place of the current field, for messages. */
#define BLANK "%s: columns %zu to %zu of the %s are blank"
#define BLANK_OF(s) tsi_lines_where((s)->lines), (s)->column, (s)->column - 1 + (size_t)(s)->width, (s)->what

static const char *show_field(const section *s, char show[TSI_SHOW_SIZE]) {
  char field[TSI_FORTRAN_WIDTH_MOST + 1];
  snprintf(field, sizeof field, "%.*s", s->width, s->field);
  return tsi_show(show, field);
}

/* Skips the records that the format ends after the last field; the file may end earlier. */
static tristar_status section_end(section *s) {
  char show[TSI_SHOW_SIZE];
  for (int left = tsi_fortran_skipped(s->format, &s->cursor); left > 0; left--) {
    TSI_TRY(tsi_lines_next(s->lines, &s->text));
    if (s->text == NULL) break;
    if (*tsi_skip_blanks(s->text) != '\0')
      TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT,
               "%s: text behind the last of the %s, where \"/\" ends a line: \"%s\"",
               tsi_lines_where(s->lines), s->what, tsi_show(show, s->text));
  }
  return TRISTAR_OK;
}

static tristar_status not_a_number(const section *s) {
  char show[TSI_SHOW_SIZE];
  TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT,
           "%s: columns %zu to %zu of the %s are not a number (are the fields as wide as the format says?): "
           "\"%s\"",
           tsi_lines_where(s->lines), s->column, s->column - 1 + (size_t)s->width, s->what,
           show_field(s, show));
}

/* Reads the next field, converted to a C number of at most FIELD_MAX characters; "" if it is blank. */
static tristar_status next_field(section *s, char *number) {
  int records;
  size_t position;
  const tsi_fortran_item *item = tsi_fortran_next(s->format, &s->cursor, &records, &position);
  for (; records > 0; records--) {
    TSI_TRY(tsi_lines_next(s->lines, &s->text));
    if (s->text == NULL)
      TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT, "%s: the file ends inside the %s",
               tsi_lines_where(s->lines), s->what);
    s->length = strlen(s->text);
  }
  const char *field = s->text + (position < s->length ? position : s->length);
  s->field = field;
  s->is_integer = item->kind == TSI_FORTRAN_INTEGER;
  s->width = item->width;
  s->column = position + 1;
  if (!tsi_fortran_spell(field, (size_t)item->width, item, s->cursor.scale, number)) return not_a_number(s);
  return TRISTAR_OK;
}

#define FIELD_MAX (TSI_FORTRAN_WIDTH_MOST + 16)

static tristar_status next_integer(section *s, int64_t low, int64_t high, int64_t *value) {
  char field[FIELD_MAX + 1], show[TSI_SHOW_SIZE];
  const char *cursor = field;
  TSI_TRY(next_field(s, field));
  if (*field == '\0')
    TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT, BLANK ": \"%s\"", BLANK_OF(s), tsi_show(show, s->text));
  tsi_number number = tsi_scan_integer(&cursor, value);
  if (number == TSI_NUMBER_BAD || *tsi_skip_blanks(cursor) != '\0')
    TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT, "%s: not an integer among the %s: \"%s\"",
             tsi_lines_where(s->lines), s->what, show_field(s, show));
  if (number == TSI_NUMBER_LARGE || *value < low || *value > high)
    TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT, "%s: %s must lie in %lld..%lld here: \"%s\"",
             tsi_lines_where(s->lines), s->what, (long long)low, (long long)high, show_field(s, show));
  return TRISTAR_OK;
}

/* A blank value is zero, unless the file may be truncated before it. */
static tristar_status take_blank(section *s, double *value) {
  if (s->lines->unfinished)
    TSI_FAIL(s->lines->env, TRISTAR_ERR_FORMAT, BLANK ", and the file ends in this line", BLANK_OF(s));
  if (!s->warned) tsi_log(s->lines->env, TRISTAR_LOG_WARNING, BLANK ": blank values are zero", BLANK_OF(s));
  s->warned = true;
  *value = 0;
  return TRISTAR_OK;
}

static tristar_status next_real(section *s, double *value) {
  char field[FIELD_MAX + 1], show[TSI_SHOW_SIZE];
  const char *cursor = field;
  TSI_TRY(next_field(s, field));
  if (*field == '\0') return take_blank(s, value);
  tsi_number number = tsi_scan_real(&cursor, value);
  if (number == TSI_NUMBER_LARGE)
    TSI_FAIL(s->lines->env, TRISTAR_ERR_NOT_FINITE, "%s: NaN, infinity or a number beyond double: \"%s\"",
             tsi_lines_where(s->lines), show_field(s, show));
  if (number != TSI_NUMBER_OK || *tsi_skip_blanks(cursor) != '\0') return not_a_number(s);
  /* The C number of "+0-62" is 0; Fortran reads no integer there. */
  if (s->is_integer && strpbrk(field + 1, "+-.eEdDqQ") != NULL) return not_a_number(s);
  return TRISTAR_OK;
}

static tristar_status parse_line2(tsi_text_lines *lines, const char *text, header *h) {
  char show[TSI_SHOW_SIZE];
  int64_t count[5] = {0, 0, 0, 0, 0};
  int found = 0;
  const char *cursor = text == NULL ? "" : text;
  while (found < 5 && tsi_scan_integer(&cursor, &count[found]) == TSI_NUMBER_OK && count[found] >= 0) found++;
  if (found < 4 || *tsi_skip_blanks(cursor) != '\0')
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s: neither a Matrix Market nor a Harwell-Boeing file: line 1 has no %%%%MatrixMarket, line 2 "
             "does not count lines: \"%s\"",
             tsi_lines_where(lines), tsi_show(show, text == NULL ? "" : text));
  h->value_lines = count[3];
  h->rhs_lines = count[4];
  return TRISTAR_OK;
}

static bool parse_type(const char *type, header *h) {
  static const char values[] = "RICP", kinds[] = "USZHR";
  static const tsi_field fields[] = {TSI_FIELD_REAL, TSI_FIELD_INTEGER, TSI_FIELD_COMPLEX, TSI_FIELD_PATTERN};
  static const tristar_symmetry symmetries[] = {TRISTAR_GENERAL, TRISTAR_SYMMETRIC, TRISTAR_SKEW_SYMMETRIC,
                                                TRISTAR_HERMITIAN, TRISTAR_GENERAL};
  if (strlen(type) != 3 || toupper((unsigned char)type[2]) != 'A') return false;
  const char *value = strchr(values, toupper((unsigned char)type[0]));
  const char *kind = strchr(kinds, toupper((unsigned char)type[1]));
  if (value == NULL || kind == NULL) return false;
  h->field = fields[value - values];
  h->symmetry = symmetries[kind - kinds];
  if (h->value_lines == 0) h->field = TSI_FIELD_PATTERN;
  return true;
}

static tristar_status parse_line3(tsi_text_lines *lines, const char *text, header *h) {
  char show[TSI_SHOW_SIZE], type[4] = "";
  int64_t size[3];
  const char *cursor = tsi_skip_blanks(text);
  for (int c = 0; c < 3 && *cursor != '\0' && *cursor != ' '; c++) type[c] = *cursor++;
  if (!parse_type(type, h))
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s: type \"%s\" is not that of an assembled matrix ([RICP][USZHR]A): \"%s\"",
             tsi_lines_where(lines), type, tsi_show(show, text));
  for (int c = 0; c < 3; c++) {
    const int64_t limit = c < 2 ? TSI_INDEX_MAX : TSI_COUNT_MAX;
    tsi_number number = tsi_scan_integer(&cursor, &size[c]);
    if ((number != TSI_NUMBER_OK && number != TSI_NUMBER_LARGE) || size[c] < 0)
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: no numbers of rows, columns and entries: \"%s\"",
               tsi_lines_where(lines), tsi_show(show, text));
    if (size[c] > limit)
      TSI_FAIL(lines->env, TRISTAR_ERR_TOO_LARGE, "%s: sizes too large: at most %lld %s, but \"%s\"",
               tsi_lines_where(lines), (long long)limit,
               c == 0   ? "rows"
               : c == 1 ? "columns"
                        : "entries",
               tsi_show(show, text));
  }
  if (h->symmetry != TRISTAR_GENERAL && size[0] != size[1])
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: a %s matrix that is not square: \"%s\"",
             tsi_lines_where(lines), tsi_symmetry_name(h->symmetry), tsi_show(show, text));
  h->rows = (tsi_index)size[0];
  h->cols = (tsi_index)size[1];
  h->entries = size[2];
  return TRISTAR_OK;
}

static bool has_real(const tsi_fortran_format *format) {
  for (int i = 0; i < format->count; i++)
    if (format->item[i].kind == TSI_FORTRAN_REAL) return true;
  return false;
}

static tristar_status parse_line4(tsi_text_lines *lines, const char *text, header *h) {
  char show[TSI_SHOW_SIZE];
  const char *cursor = text;
  int formats = h->field == TSI_FIELD_PATTERN ? 2 : 3;
  TSI_TRY(TSI_ALLOC_IN(h, h->items, 3 * TSI_FORTRAN_ITEMS_MOST));
  for (int f = 0; f < formats; f++)
    if (!tsi_fortran_parse(&cursor, h->items + f * TSI_FORTRAN_ITEMS_MOST, &h->format[f]) ||
        (f < 2 && has_real(&h->format[f])))
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
               "%s: format %d of \"%s\" is not one that is supported, like (10I8) or (1P,4E20.12)",
               tsi_lines_where(lines), f + 1, tsi_show(show, text));
  return TRISTAR_OK;
}

static tristar_status read_header(tsi_text_lines *lines, header *h) {
  char *text;
  memset(h, 0, sizeof *h);
  TSI_TRY(tsi_lines_next(lines, &text));
  TSI_TRY(parse_line2(lines, text, h));
  for (int line = 3; line <= (h->rhs_lines > 0 ? 5 : 4); line++) {
    TSI_TRY(tsi_lines_next(lines, &text));
    if (text == NULL)
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: the file ends inside its header", tsi_lines_where(lines));
    if (line == 3) TSI_TRY(parse_line3(lines, text, h));
    if (line == 4) TSI_TRY(parse_line4(lines, text, h));
  }
  return TRISTAR_OK;
}

/* ptr[0] = 1 <= ptr[1] <= ... <= ptr[cols] = entries + 1 in the file; *ptr receives each minus one. */
static tristar_status read_pointers(tsi_text_lines *lines, const header *h, tsi_count **ptr) {
  tsi_count capacity = 0;
  section s;
  section_begin(&s, lines, "column pointers", &h->format[0]);
  for (tsi_count j = 0; j <= h->cols; j++) {
    int64_t value = 0;
    if (j == capacity) {
      capacity = tsi_next_capacity(capacity, (tsi_count)h->cols + 1);
      TSI_TRY(tsi_grow(lines->env, (void **)ptr, sizeof **ptr, j, capacity));
    }
    int64_t low = j == 0 ? 1 : (*ptr)[j - 1] + 1;
    int64_t high = j == 0 ? 1 : h->entries + 1;
    TSI_TRY(next_integer(&s, j == h->cols ? high : low, high, &value));
    (*ptr)[j] = value - 1;
  }
  return section_end(&s);
}

/* *before: the number of the line before the first index. */
static tristar_status read_indices(tsi_text_lines *lines, const header *h, tsi_index **index,
                                   tsi_count *before) {
  tsi_count capacity = 0;
  section s;
  section_begin(&s, lines, "row indices", &h->format[1]);
  *before = lines->number;
  for (tsi_count k = 0; k < h->entries; k++) {
    int64_t value = 0;
    if (k == capacity) {
      capacity = tsi_next_capacity(capacity, h->entries);
      TSI_TRY(tsi_grow(lines->env, (void **)index, sizeof **index, k, capacity));
    }
    TSI_TRY(next_integer(&s, 1, h->rows, &value));
    (*index)[k] = (tsi_index)(value - 1);
  }
  return section_end(&s);
}

/* Reads the values and pushes the entries. */
static tristar_status read_values(tsi_text_lines *lines, const header *h, const tsi_count *ptr,
                                  const tsi_index *index, tsi_triplets *triplets) {
  section s;
  section_begin(&s, lines, "values", &h->format[2]);
  for (tsi_index j = 0; j < h->cols; j++)
    for (tsi_count k = ptr[j]; k < ptr[j + 1]; k++) {
      double value[2] = {1, 0};
      for (int c = 0; c < triplets->width; c++) TSI_TRY(next_real(&s, &value[c]));
      bool diagonal = index[k] == j && triplets->width > 0;
      if (diagonal && h->symmetry == TRISTAR_SKEW_SYMMETRIC && (value[0] != 0 || value[1] != 0))
        TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
                 "%s: diagonal entry (%d,%d) = %g of a skew-symmetric matrix is not zero",
                 tsi_lines_where(lines), (int)j + 1, (int)j + 1, value[0]);
      if (diagonal && h->symmetry == TRISTAR_HERMITIAN && value[1] != 0)
        TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
                 "%s: diagonal entry (%d,%d) of a hermitian matrix has imaginary part %g",
                 tsi_lines_where(lines), (int)j + 1, (int)j + 1, value[1]);
      TSI_TRY(tsi_triplets_push(triplets, index[k], j, value));
    }
  return section_end(&s);
}

/* The line of row index k; the first record of the indices follows line `before`. */
static long long line_of(const header *h, tsi_count before, tsi_count k) {
  tsi_fortran_cursor cursor = {.item = 0};
  int records;
  size_t position;
  for (tsi_count i = 0; i <= k; i++) (void)tsi_fortran_next(&h->format[1], &cursor, &records, &position);
  return before + cursor.records;
}

/* Refuses a file that stores both triangles: its entries would be summed like duplicates, and so doubled. The
 * line in the message is the line of the row index. */
static tristar_status refuse_pair(tsi_text_lines *lines, const header *h, const tsi_triplets *triplets,
                                  tsi_count before) {
  tsi_entry_pair pair;
  TSI_TRY(tsi_triplets_find_pair(triplets, &pair));
  if (pair.first >= 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s:%lld: entry (%d,%d), and line %lld has (%d,%d): a %s file stores one triangle; leave the "
             "other out, or declare the file unsymmetric",
             lines->path, line_of(h, before, pair.second), (int)pair.row + 1, (int)pair.col + 1,
             line_of(h, before, pair.first), (int)pair.col + 1, (int)pair.row + 1,
             tsi_symmetry_name(h->symmetry));
  return TRISTAR_OK;
}

/* Without right-hand sides, only blank lines may follow the values. */
static tristar_status read_end(tsi_text_lines *lines) {
  char show[TSI_SHOW_SIZE];
  char *text;
  do {
    TSI_TRY(tsi_lines_next(lines, &text));
    if (text != NULL && *tsi_skip_blanks(text) != '\0')
      TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: text behind the last entry: \"%s\"",
               tsi_lines_where(lines), tsi_show(show, text));
  } while (text != NULL);
  return TRISTAR_OK;
}

tristar_status tsi_harwell_read(tsi_text_lines *lines, tristar_matrix_t **matrix) {
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets triplets = {.env = lines->env};
  TSI_OWNED tsi_count *ptr = NULL;
  TSI_OWNED tsi_index *index = NULL;
  tsi_count before = 0;
  *matrix = NULL;
  TSI_SCRATCH_ZERO(lines->env, header, h, 1);
  TSI_TRY(read_header(lines, h));
  int width = h->field == TSI_FIELD_PATTERN ? 0 : h->field == TSI_FIELD_COMPLEX ? 2 : 1;
  tsi_triplets_init(&triplets, lines->env, h->rows, h->cols, h->symmetry, width, h->entries);
  TSI_TRY(read_pointers(lines, h, &ptr));
  TSI_TRY(read_indices(lines, h, &index, &before));
  TSI_TRY(read_values(lines, h, ptr, index, &triplets));
  if (h->rhs_lines == 0) TSI_TRY(read_end(lines));
  TSI_TRY(refuse_pair(lines, h, &triplets, before));
  return tsi_triplets_finish(&triplets, matrix);
}
