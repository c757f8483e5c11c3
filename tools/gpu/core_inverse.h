/* The same sparse approximate inverse by one core, by the kernels of codelets/cpu/fsai/fsai.h.
 *
 * Reads   a matrix by rows.   Writes  rows of G, all of the same room. */
#ifndef TSI_TOOLS_GPU_CORE_INVERSE_H
#define TSI_TOOLS_GPU_CORE_INVERSE_H

#include "codelets/cpu/fsai/fsai.h"
#include "tools/gpu/problem.h"

typedef struct core_inverse {
  const tsi_fsai_kernels *kernels;
  tsi_matrix_rows a;
  tsi_fsai_limits limits;
  tsi_index n, most; /* most: columns of a pattern */
  tsi_fsai_work work;
  tsi_fsai_row *row; /* n: index and values have room for most + 1 entries, one row behind the other */
  tsi_index *index;
  void *values;
} core_inverse;

/* Patterns begin as the diagonal; no row of a has more than `longest` entries. */
void core_inverse_open(const csr *a, const typed *t, tsi_index longest, const tsi_fsai_limits *limits,
                       core_inverse *out);
void core_inverse_run(core_inverse *c);
void core_inverse_close(core_inverse *c);

#endif
