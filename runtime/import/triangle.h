/* A given triangular factor by columns: the input of an import.
 *
 * Job. Convert the formats of tristar_triangle to one form: L by columns, or U by rows, which are the columns
 * of the lower triangular U^T. If the given arrays have this form, their values are used in place.
 *
 * Reads   a tristar_triangle, whose values must exist as long as the object.
 * Writes  its own index arrays.
 * Invariants
 *   - entry e of column j, 0 <= e < count[j], is in row row[ptr[j] + e] >= j; its value is values[j][source ?
 *     source[ptr[j] + e] : e]
 *   - structure: the same without the diagonal, sorted, each row once (imported_structure.h) */
#pragma once

#include "partition/order/imported_structure.h"
#include "tristar.h"
#include "tristar_triangle.h"

typedef struct tsi_triangle {
  tsi_index n;
  bool unit;
  tsi_count *ptr;   /* n */
  tsi_index *count; /* n */
  tsi_index *row;
  tsi_count *source;   /* NULL: values of a column are consecutive */
  const void **values; /* n */
  tsi_columns structure;
} tsi_triangle;

/* upper: `from` is U. name: "L" or "U", for messages. Errors: ARGUMENT (NULL arrays, widths of integers),
 * FORMAT (an entry outside the triangle, a misplaced column: the message names it), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triangle_create(tsi_env *env, tsi_index n, size_t scalar_bytes,
                                                   const tristar_triangle *from, bool upper,
                                                   tsi_triangle *out);
void tsi_triangle_finish(tsi_triangle *triangle);
