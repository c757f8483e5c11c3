/* The options of `tristar` as rows of a table: see options.h.
 *
 * A header of its own because the table and its parser are too long for one file. */
#pragma once

#include <stddef.h>

#include "drivers/session/options.h"

typedef enum tsi_option_kind {
  FLAG,     /* bool */
  TEXT,     /* const char * */
  INPUT,    /* const char *: a file to be read */
  OUTPUT,   /* const char *: a file to be written */
  NUMBER,   /* int64_t from minimum to maximum */
  BYTES,    /* int64_t, at least minimum, with a suffix K, M, G or T, powers of 1024, if any */
  REAL,     /* double, not negative */
  CHOICE,   /* int: the number of the word in `choices` */
  VARIANT,  /* const char *: words of variant.h */
  SCHEDULER /* const char *: one that StarPU has */
} tsi_option_kind;

typedef struct tsi_option_row {
  const char *name; /* without "--" */
  tsi_option_kind kind;
  size_t offset; /* offset of its field in tsi_settings; SIZE_MAX: --help */
  unsigned commands;
  const char *value; /* name of the value in the help */
  const char *help;  /* NULL: an older word for another row; the help omits it */
  int64_t minimum, maximum;
  const char *const *choices; /* NULL-terminated; words of an enum of tristar.h are in its order, from 0 */
} tsi_option_row;

enum { TSI_OPTION_ROWS_MOST = 256 };

/* The table; its last row has no name. */
extern const tsi_option_row tsi_option_rows[];
