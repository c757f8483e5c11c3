/* Values of imported factors: from given triangles to packed panels.
 *
 * Reads   a triangle, the structure that an import made for it.   Writes  one stream of a factor.
 * Invariants: those of streams in factor.h. A failure leaves the stream undefined; the caller marks the
 * factor as invalid. */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/import/triangle.h"

/* name: "L" or "U". *growth: raised to the inverse_growth (front.h) of each inverted block; INFINITY: it
 * exceeds the range of the type. *ratio: raised to the largest ratio of two diagonal entries of a block, or
 * of the entries of its columns in `middle` (NULL: ones). Errors: SINGULAR (zero on the diagonal),
 * NOT_FINITE, STALE (a nonzero outside the structure), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_import_values(tsi_env *env, const tsi_triangle *triangle,
                                                 const tsi_structure *structure, char scalar,
                                                 const char *name, tsi_inverse inverse, const void *middle,
                                                 double *growth, double *ratio, void *stream);
