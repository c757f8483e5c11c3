/* What the pictures share. */
#ifndef TSI_DRIVERS_SVG_H
#define TSI_DRIVERS_SVG_H

#include <stdio.h>

/* One character of a text; those that mean something to XML as entities, control characters as ?. */
static inline void tsi_svg_put(FILE *file, unsigned char letter) {
  if (letter == '&' || letter == '<' || letter == '>')
    fprintf(file, "&#%d;", letter);
  else
    fputc(letter < 32 ? '?' : letter, file);
}

#endif
