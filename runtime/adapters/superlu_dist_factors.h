/* The factors of SuperLU_DIST, whatever their type, as a tristar_factors. */
#pragma once

#include <superlu_defs.h>

#include "tristar.h"
#include "tristar_triangle.h"

/* What LUstruct and ScalePermstruct of any type have. */
typedef struct tsi_superlu_dist_parts {
  int64_t n;
  tristar_scalar scalar;
  size_t bytes; /* of a scalar */
  const int_t *xsup, *supno;
  int_t *const *lower_index, *const *upper_index;
  const void *lower_values, *upper_values; /* arrays of pointers to scalars */
  DiagScale_t scaled;
  const void *R, *C;
  const int_t *perm_r, *perm_c;
} tsi_superlu_dist_parts;

/* What a view of the factors points to, beside the arrays of SuperLU_DIST themselves. */
typedef struct tsi_superlu_dist {
  const tsi_superlu_dist_parts *from;
  int64_t n, supernodes;
  /* L */
  int64_t *starts; /* supernodes + 1: into rows */
  int_t *rows;
  const void **blocks;
  /* U */
  int64_t *columns; /* n + 1: into upper_rows and upper_values */
  int64_t *next;    /* where the next entry of a column goes */
  int_t *upper_rows;
  char *upper_values;
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} tsi_superlu_dist;

/* n and the bounds of supernodes, which all processes of a grid have. Errors: ARGUMENT, FORMAT. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_check(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                                      int64_t *supernodes);
/* Makes *factors a view of the factors; it is good as long as *from, work (zero before the first use) and the
 * arrays of SuperLU_DIST are. work is to be released also after a failure. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_factors(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                                        tsi_superlu_dist *work, tristar_factors *factors);
void tsi_superlu_dist_release(tsi_superlu_dist *work);
