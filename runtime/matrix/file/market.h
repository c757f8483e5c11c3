/* Matrix Market files: coordinate (sparse) and array (dense).
 *
 *   %%MatrixMarket matrix coordinate|array real|integer|complex|pattern general|symmetric|...
 *   % comments
 *   rows cols entries          (array: rows cols)
 *   i j value                  (array: value), numbered from 1
 *
 * Words of the banner in any case; blank lines and comments are skipped everywhere. */
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
  tsi_count entries;   /* that the size line announces; array: that follow from rows, cols and symmetry */
  tsi_count size_line; /* its number, for messages */
} tsi_market_header;

/* Reads from the banner, the current line, to the size line. */
TRISTAR_CHECKED tristar_status tsi_market_read_header(tsi_text_lines *lines, const char *banner,
                                                      tsi_market_header *header);
/* Is the line blank, or a comment? */
bool tsi_market_is_blank(const char *text);
/* The next line that is neither blank nor a comment; NULL at the end. */
TRISTAR_CHECKED tristar_status tsi_market_next(tsi_text_lines *lines, char **text);
/* Reads the value at *cursor and demands that the line ends behind it. value: two doubles. */
TRISTAR_CHECKED tristar_status tsi_market_value(tsi_text_lines *lines, tsi_field field, const char *text,
                                                const char **cursor, double *value);
/* Reads an entry, the current line, of a coordinate file. value: two doubles; *warned: the log has been told
 * of values of a pattern. */
TRISTAR_CHECKED tristar_status tsi_market_entry(tsi_text_lines *lines, const tsi_market_header *header,
                                                const char *text, bool *warned, tsi_index *i, tsi_index *j,
                                                double *value);
/* Reads what follows the size line of a coordinate file. */
TRISTAR_CHECKED tristar_status tsi_market_read_coordinate(tsi_text_lines *lines,
                                                          const tsi_market_header *header,
                                                          tristar_matrix_t **matrix);
/* The first row that an array file stores of column j. */
static inline tsi_index tsi_market_first_row(tristar_symmetry symmetry, tsi_index j) {
  return symmetry == TRISTAR_GENERAL ? 0 : symmetry == TRISTAR_SKEW_SYMMETRIC ? j + 1 : j;
}

/* The values of an array file, one after the other; market_array.c. */
typedef struct tsi_market_array {
  tsi_text_lines *lines;
  const tsi_market_header *header;
  tsi_count taken;    /* values read so far, of header->entries */
  tsi_index row, col; /* of the next value */
} tsi_market_array;

void tsi_market_array_begin(tsi_market_array *array, tsi_text_lines *lines, const tsi_market_header *header);
/* The next value, of which there is one, and where it belongs. value: two doubles. */
TRISTAR_CHECKED tristar_status tsi_market_array_next(tsi_market_array *array, tsi_index *i, tsi_index *j,
                                                     double *value);
/* Reads what follows the size line of an array file. */
TRISTAR_CHECKED tristar_status tsi_market_read_array(tsi_text_lines *lines, const tsi_market_header *header,
                                                     tristar_matrix_t **matrix);

/* A part of the entries of a coordinate file; market_part.c. Of a plain file, those whose lines begin in a
 * part of its bytes: no others are read, and who reads them all says how many lines are before. Of a
 * compressed one a part of the entries; all before them are read. */
typedef struct tsi_market_part {
  tsi_text_lines lines;
  tsi_market_header header;
  tsi_matrix_part part;
  bool plain, warned;
  int64_t first, end; /* plain: bytes; else entries */
  tsi_count taken;    /* entries of the part so far */
} tsi_market_part;

/* Reads the header. tsi_market_part_close follows in any case. Errors: those of a header; UNSUPPORTED: no
 * coordinate file, or no regular one. */
TRISTAR_CHECKED tristar_status tsi_market_part_open(tsi_market_part *p, tsi_env *env, const char *path,
                                                    const tsi_matrix_part *part);
void tsi_market_part_close(tsi_market_part *p);
/* Lines that end in the part; compressed: 0. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_market_part_count(tsi_market_part *p, tsi_count *lines);
/* Goes to the first entry. before: lines that end in the parts before. Errors: those of lines; FORMAT: a
 * compressed file ends too early. */
TRISTAR_CHECKED tristar_status tsi_market_part_begin(tsi_market_part *p, tsi_count before);
/* The next entry; *there: there is one. Errors: those of entries; of a compressed file also FORMAT: it has
 * not as many as it announces. */
TRISTAR_CHECKED tristar_status tsi_market_part_next(tsi_market_part *p, bool *there, tsi_index *i,
                                                    tsi_index *j, double *value);

/* FORMAT: there are only so many entries. */
TRISTAR_CHECKED tristar_status tsi_market_ends_early(tsi_text_lines *lines, const tsi_market_header *header,
                                                     tsi_count entries);
/* Demands that nothing follows the last entry. */
TRISTAR_CHECKED tristar_status tsi_market_end(tsi_text_lines *lines, const tsi_market_header *header);

/* Writes a checked view (tsi_view_check); comment may be NULL. */
TRISTAR_CHECKED tristar_status tsi_market_write(tsi_env *env, const char *path, const tristar_view *view,
                                                const char *comment);

/* Reads the rest of a Harwell-Boeing or Rutherford-Boeing file whose first line is the current one. */
TRISTAR_CHECKED tristar_status tsi_harwell_read(tsi_text_lines *lines, tristar_matrix_t **matrix);
