/* Triangular matrices that another room has made, as factors: tristar_import_triangle without its checks and
 * copies.
 *
 * Reads   lines of one triangle.   Writes  a factor.
 * Assumes: indices of a line ascend; all lie in the triangle, and each line has its diagonal entry. */
#ifndef TSI_RUNTIME_FACTOR_IMPORT_H
#define TSI_RUNTIME_FACTOR_IMPORT_H

#include "runtime/factor/factor.h"

/* A triangle by lines; ones of a unit diagonal are written out. */
typedef struct tsi_triangle_lines {
  tsi_index n;
  char scalar;
  bool by_rows, lower;
  tristar_partition partition;
  const tsi_count *ptr;   /* n + 1 */
  const tsi_index *index; /* ptr[n] */
  const void *values;     /* ptr[n] */
} tsi_triangle_lines;

/* matrix: the same as a view, for refinement; NULL: the factor has none. Errors: SINGULAR, NOT_FINITE,
 * MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_import_lines(tristar_t *ts, const tsi_triangle_lines *lines,
                                                const tristar_view *matrix, tristar_factor_t **out);
/* New values on the same lines, of a factor without its matrix: its plans solve with them from their next
 * solve on. After a failure it holds none. Errors: as above. */
TRISTAR_CHECKED tristar_status tsi_reimport_lines(tristar_factor_t *factor, const tsi_triangle_lines *lines);

#endif
