/* View of factors of SuperLU_DIST of any scalar type as tristar_factors. */
#pragma once

#include <superlu_defs.h>

#include "tristar.h"
#include "tristar_triangle.h"

/* Members that LUstruct and ScalePermstruct of all types share. */
typedef struct tsi_superlu_dist_parts {
  int64_t n;
  tristar_scalar scalar;
  size_t bytes; /* Size of a scalar. */
  const int_t *xsup, *supno;
  int_t *const *lower_index, *const *upper_index;
  const void *lower_values, *upper_values; /* Arrays of pointers to scalars. */
  DiagScale_t scaled;
  const void *R, *C;
  const int_t *perm_r, *perm_c;
} tsi_superlu_dist_parts;

/* Arrays that a view of the factors needs in addition to those of SuperLU_DIST. */
typedef struct tsi_superlu_dist {
  const tsi_superlu_dist_parts *from;
  int64_t n, supernodes;
  /* L */
  int64_t *starts; /* supernodes + 1 positions in rows. */
  int_t *rows;
  const void **blocks;
  /* U */
  int64_t *columns; /* n + 1 positions in upper_rows and upper_values. */
  int64_t *next;    /* Position of the next entry of each column. */
  int_t *upper_rows;
  char *upper_values;
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} tsi_superlu_dist;

/* Checks n and the bounds of supernodes, which all processes of a grid store. Errors: ARGUMENT, FORMAT. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_check(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                                      int64_t *supernodes);
/* Makes *factors a view of the factors. It is valid as long as *from, *work and the arrays of SuperLU_DIST
 * are. *work must be zero before the first use. The caller releases it, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_factors(tristar_t *ts, const tsi_superlu_dist_parts *from,
                                                        tsi_superlu_dist *work, tristar_factors *factors);
void tsi_superlu_dist_release(tsi_superlu_dist *work);
