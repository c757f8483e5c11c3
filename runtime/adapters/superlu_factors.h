/* View of factors of SuperLU as tristar_factors. */
#pragma once

#include "tristar_superlu.h"
#include "tristar_triangle.h"

/* Arrays that a view of the factors needs in addition to those of SuperLU. */
typedef struct tsi_superlu {
  const SCformat *l;
  const NCformat *u;
  int64_t n, supernodes;
  size_t bytes; /* Size of a scalar. */
  /* L */
  int64_t *starts; /* supernodes + 1: start of the rows of each supernode in l->rowind. */
  int_t *first;    /* supernodes + 1 */
  const void **blocks;
  /* U */
  int64_t *columns; /* n + 1 positions in rows and values. */
  int_t *rows;
  char *values;
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} tsi_superlu;

/* Makes *factors a view of the factors. It is valid as long as *work and the arrays of SuperLU are. *work
 * must be zero before the first use. The caller releases it, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_superlu_factors(tristar_t *ts, const tristar_superlu *from,
                                                   tsi_superlu *work, tristar_factors *factors);
void tsi_superlu_release(tsi_superlu *work);
