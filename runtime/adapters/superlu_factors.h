/* The factors of SuperLU as a tristar_factors. */
#pragma once

#include "tristar_superlu.h"
#include "tristar_triangle.h"

/* What a view of the factors points to, beside the arrays of SuperLU themselves. */
typedef struct tsi_superlu {
  const SCformat *l;
  const NCformat *u;
  int64_t n, supernodes;
  size_t bytes; /* of a scalar */
  /* L */
  int64_t *starts; /* supernodes + 1: where the rows of a supernode begin in l->rowind */
  int_t *first;    /* supernodes + 1 */
  const void **blocks;
  /* U */
  int64_t *columns; /* n + 1: into rows and values */
  int_t *rows;
  char *values;
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} tsi_superlu;

/* Makes *factors a view of the factors; it is good as long as work (zero before the first use) and the arrays
 * of SuperLU are. work is to be released also after a failure. */
TRISTAR_CHECKED tristar_status tsi_superlu_factors(tristar_t *ts, const tristar_superlu *from,
                                                   tsi_superlu *work, tristar_factors *factors);
void tsi_superlu_release(tsi_superlu *work);
