/* Fortran formats for input: the characters of the record that form the next number, and their meaning.
 *
 * Source: the Fortran 2018 standard, clause 13, with gfortran's interpretation. A format lists fields (I, F,
 * E, D, G, ES, EN, with width and decimals), blanks (X), positions (T, TL, TR), ends of records (/), colons
 * (:) and scale factors (kP), with repeat counts and groups. At its end, the next record is read, and the
 * format continues at its last group, or at its beginning. After its last number a statement still skips
 * records that the format ends before its next field, its end or a colon.
 *
 * The format defines the decimals of a number without a point: 200 in F10.2 is 2.00. A number without an
 * exponent is divided by 10^k if kP is in force. Blanks in a field are ignored.
 *
 * Reads   the text of a format, records.   Writes  the digits of a field in the form of C.
 * Not supported: B, O, Z, L, A, Hollerith and quoted text, BZ, DC, and unlimited groups, *(...). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TSI_FORTRAN_ITEMS_MOST 4096 /* after expansion of all repeats */
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
  int count, again;       /* Number of items; the item at which the format continues after its end. */
  tsi_fortran_item *item; /* Memory of the caller for TSI_FORTRAN_ITEMS_MOST items. */
} tsi_fortran_format;

/* A position in a format, for the READ statement of one array. Initially zero. */
typedef struct tsi_fortran_cursor {
  int item;
  int scale;         /* k of the last kP */
  size_t position;   /* Position in the record, from 0. */
  long long records; /* Records read so far. */
  bool begun;        /* The first record has been read. */
} tsi_fortran_cursor;

/* Parses from the next "(" on; sets *text behind its ")". item: memory for the items. Returns false if it is
 * no format that this reader supports, or has no field. */
bool tsi_fortran_parse(const char **text, tsi_fortran_item *item, tsi_fortran_format *format);

/* Returns the item of the next field; *position: its position in the record; *records: number of records that
 * the caller must read before. */
const tsi_fortran_item *tsi_fortran_next(const tsi_fortran_format *format, tsi_fortran_cursor *cursor,
                                         int *records, size_t *position);

/* Number of records that the statement skips after its last number. */
int tsi_fortran_skipped(const tsi_fortran_format *format, const tsi_fortran_cursor *cursor);

/* Writes a field of at most `width` characters as a number in C, with `scale` in force: a real number without
 * blanks, its point moved into the exponent; an integer from its first character on. Blanks inside an integer
 * are kept, and the reader of numbers refuses them. out: TSI_FORTRAN_WIDTH_MOST + 16 characters; "" if the
 * field is blank. Returns false if it is no number or has more than one, because the fields of the file are
 * narrower than in the format: `2.5E+00 3` is not 2.5E+003, although gfortran reads that. */
bool tsi_fortran_spell(const char *field, size_t width, const tsi_fortran_item *item, int scale, char *out);
