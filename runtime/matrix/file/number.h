/* Numbers in text, read the same way in every locale of the program.
 *
 * The scanners skip blanks, read one token that ends at a blank or at the end of the text, and move the
 * cursor behind it. On any result but OK the cursor stays before the token (except for integers with
 * LARGE). */
#pragma once

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum tsi_number {
  TSI_NUMBER_OK,
  TSI_NUMBER_NONE, /* The text ends here. */
  TSI_NUMBER_BAD,  /* Not a number. */
  TSI_NUMBER_LARGE /* Integer: beyond 64 bits; real: infinite, NaN or beyond the range of double. */
} tsi_number;

static inline const char *tsi_skip_blanks(const char *text) {
  while (*text == ' ' || *text == '\t' || *text == '\r') text++;
  return text;
}

/* A decimal integer with optional sign. LARGE: *value is the end of the range that it exceeds. */
tsi_number tsi_scan_integer(const char **cursor, int64_t *value);

/* A decimal real with optional exponent: e, E, and Fortran's d, D, q, Q or the bare sign of 1.5-101. */
tsi_number tsi_scan_real(const char **cursor, double *value);

/* Between enter and leave, strtod and printf of the calling thread use the C locale. */
typedef struct tsi_locale {
  locale_t plain, before;
} tsi_locale;
void tsi_locale_enter(tsi_locale *locale);
void tsi_locale_leave(tsi_locale *locale);
