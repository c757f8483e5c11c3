/* Fortran formats for input: which characters of which record make the next number, and what these mean.
 *
 * Source: the Fortran 2018 standard, clause 13, as gfortran reads it. A format lists fields (I, F, E, D, G,
 * ES, EN, with width and decimals), blanks (X), positions (T, TL, TR), ends of records (/), colons (:) and
 * scale factors (kP), with repeat counts and groups. When it is used up, the next record is read, and it goes
 * on at its last group, or at its beginning. A statement that has its last number still skips the records
 * that the format ends before its next field, its end or a colon.
 *
 * A number without a point has as many decimals as the format says: 200 in F10.2 is 2.00. A number without an
 * exponent is divided by 10^k, where kP is in force. Blanks in a field do not count.
 *
 * Reads   the text of a format, records.   Writes  the digits of a field, as a C program reads them.
 * Not supported: B, O, Z, L, A, Hollerith and quoted text, BZ, DC, and unlimited groups, *(...). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TSI_FORTRAN_ITEMS_MOST 4096 /* with all repeats written out */
#define TSI_FORTRAN_WIDTH_MOST 128

typedef enum tsi_fortran_kind {
  TSI_FORTRAN_INTEGER, /* I: width */
  TSI_FORTRAN_REAL,    /* F, E, D, G, ES, EN: width, decimals, scale */
  TSI_FORTRAN_MOVE,    /* X, TR, TL: width, negative to the left */
  TSI_FORTRAN_GO,      /* T: width is the position, from 1 */
  TSI_FORTRAN_RECORD,  /* the end of a record */
  TSI_FORTRAN_COLON,   /* the end of a statement without further numbers */
  TSI_FORTRAN_SCALE    /* kP: width is k */
} tsi_fortran_kind;

typedef struct tsi_fortran_item {
  tsi_fortran_kind kind;
  int width, decimals;
} tsi_fortran_item;

typedef struct tsi_fortran_format {
  int count, again;       /* items; where the format goes on when it is used up */
  tsi_fortran_item *item; /* TSI_FORTRAN_ITEMS_MOST of them, the caller's */
} tsi_fortran_format;

/* A place in a format, for one READ statement: the numbers of an array. All zero at first. */
typedef struct tsi_fortran_cursor {
  int item;
  int scale;         /* k of the last kP */
  size_t position;   /* in the record, from 0 */
  long long records; /* read so far */
  bool begun;        /* the first one is read */
} tsi_fortran_cursor;

/* Parses from the next "(" on; *text moves behind its ")". item: room for the items. False: it is no format
 * that this reader supports, or has no field. */
bool tsi_fortran_parse(const char **text, tsi_fortran_item *item, tsi_fortran_format *format);

/* The next field: its item, and its position in the record. *records: how many records are to be read first,
 * which a caller does. */
const tsi_fortran_item *tsi_fortran_next(const tsi_fortran_format *format, tsi_fortran_cursor *cursor,
                                         int *records, size_t *position);

/* Number of records that the statement skips after its last number. */
int tsi_fortran_skipped(const tsi_fortran_format *format, const tsi_fortran_cursor *cursor);

/* Writes a field of `width` characters at most as a reader of C numbers has it, with `scale` in force: a real
 * number without blanks, its point moved into the exponent; an integer from its first character on. Blanks
 * inside an integer are left to the reader, who refuses them. out: TSI_FORTRAN_WIDTH_MOST + 16; "" if the
 * field is blank. False: it is no number, or holds more than one, as where the fields are narrower than the
 * format says: `2.5E+00 3` is not 2.5E+003, although gfortran reads that. */
bool tsi_fortran_spell(const char *field, size_t width, const tsi_fortran_item *item, int scale, char *out);
