/* Matrix Market files: coordinate (sparse) and array (dense).
 *
 *   %%MatrixMarket matrix coordinate|array real|integer|complex|pattern general|symmetric|...
 *   % comments
 *   rows cols entries          (array: rows cols)
 *   i j value                  (array: value), numbered from 1
 *
 * The words of the banner may have any case; blank lines and comments are skipped everywhere. */
#pragma once

#include "runtime/matrix/file/lines.h"
#include "runtime/matrix/matrix.h"
#include "tristar_matrix.h"

typedef enum tsi_field { TSI_FIELD_REAL, TSI_FIELD_INTEGER, TSI_FIELD_COMPLEX, TSI_FIELD_PATTERN } tsi_field;

typedef struct tsi_market_header {
  bool array;
  tsi_field field;
  tristar_symmetry symmetry;
  tsi_index rows, cols;
  tsi_count entries;   /* From the size line; array: computed from rows, cols and symmetry. */
  tsi_count size_line; /* Number of the size line, for messages. */
} tsi_market_header;

/* Reads from the banner, the current line, to the size line. */
TRISTAR_CHECKED tristar_status tsi_market_read_header(tsi_text_lines *lines, const char *banner,
                                                      tsi_market_header *header);
/* Is the line blank, or a comment? */
bool tsi_market_is_blank(const char *text);
/* The next line that is neither blank nor a comment; NULL at the end. */
TRISTAR_CHECKED tristar_status tsi_market_next(tsi_text_lines *lines, char **text);
/* Reads the value at *cursor and verifies that the line ends behind it. value: two doubles. */
TRISTAR_CHECKED tristar_status tsi_market_value(tsi_text_lines *lines, tsi_field field, const char *text,
                                                const char **cursor, double *value);
/* Reads an entry, the current line, of a coordinate file. value: two doubles. *warned: the warning about
 * values of a pattern has been logged. */
TRISTAR_CHECKED tristar_status tsi_market_entry(tsi_text_lines *lines, const tsi_market_header *header,
                                                const char *text, bool *warned, tsi_index *i, tsi_index *j,
                                                double *value);
/* Reads the entries after the size line of a coordinate file. */
TRISTAR_CHECKED tristar_status tsi_market_read_coordinate(tsi_text_lines *lines,
                                                          const tsi_market_header *header,
                                                          tristar_matrix_t **matrix);
/* The first row of column j in an array file. */
static inline tsi_index tsi_market_first_row(tristar_symmetry symmetry, tsi_index j) {
  return symmetry == TRISTAR_GENERAL ? 0 : symmetry == TRISTAR_SKEW_SYMMETRIC ? j + 1 : j;
}

/* The values of an array file, one after the other; market_array.c. */
typedef struct tsi_market_array {
  tsi_text_lines *lines;
  const tsi_market_header *header;
  tsi_count taken;    /* Number of values read so far, of header->entries. */
  tsi_index row, col; /* Place of the next value. */
} tsi_market_array;

void tsi_market_array_begin(tsi_market_array *array, tsi_text_lines *lines, const tsi_market_header *header);
/* Reads the next value, which must exist, and its place. value: two doubles. */
TRISTAR_CHECKED tristar_status tsi_market_array_next(tsi_market_array *array, tsi_index *i, tsi_index *j,
                                                     double *value);
/* Reads the values after the size line of an array file. */
TRISTAR_CHECKED tristar_status tsi_market_read_array(tsi_text_lines *lines, const tsi_market_header *header,
                                                     tristar_matrix_t **matrix);

/* A part of the entries of a coordinate file; market_part.c. In a plain file, the entries whose lines begin
 * in a part of its bytes: only these are read, and the caller adds up the number of lines before them. In a
 * compressed file, a range of entries: all entries before them are read, too. */
typedef struct tsi_market_part {
  tsi_text_lines lines;
  tsi_market_header header;
  tsi_matrix_part part;
  bool plain, warned;
  int64_t first, end; /* Plain: bytes; compressed: entries. */
  tsi_count taken;    /* Entries of the part read so far. */
} tsi_market_part;

/* Reads the header. Call tsi_market_part_close in any case. Errors: those of a header; UNSUPPORTED (no
 * coordinate file, or no regular file). */
TRISTAR_CHECKED tristar_status tsi_market_part_open(tsi_market_part *p, tsi_env *env, const char *path,
                                                    const tsi_matrix_part *part);
void tsi_market_part_close(tsi_market_part *p);
/* Counts the lines that end in the part; compressed: 0. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_market_part_count(tsi_market_part *p, tsi_count *lines);
/* Moves to the first entry. before: lines that end in the parts before. Errors: those of lines; FORMAT (a
 * compressed file ends too early). */
TRISTAR_CHECKED tristar_status tsi_market_part_begin(tsi_market_part *p, tsi_count before);
/* Reads the next entry; *there: it exists. Errors: those of entries; for a compressed file also FORMAT (its
 * number of entries differs from the size line). */
TRISTAR_CHECKED tristar_status tsi_market_part_next(tsi_market_part *p, bool *there, tsi_index *i,
                                                    tsi_index *j, double *value);

/* FORMAT: the file ends after this number of entries. */
TRISTAR_CHECKED tristar_status tsi_market_ends_early(tsi_text_lines *lines, const tsi_market_header *header,
                                                     tsi_count entries);
/* Verifies that no text follows the last entry. */
TRISTAR_CHECKED tristar_status tsi_market_end(tsi_text_lines *lines, const tsi_market_header *header);

/* Writes a checked view (tsi_view_check); comment may be NULL. */
TRISTAR_CHECKED tristar_status tsi_market_write(tsi_env *env, const char *path, const tristar_view *view,
                                                const char *comment);

/* Reads a Harwell-Boeing or Rutherford-Boeing file whose first line is the current one. */
TRISTAR_CHECKED tristar_status tsi_harwell_read(tsi_text_lines *lines, tristar_matrix_t **matrix);
