/* Additions to fsai_rows.h for a pair of factors: see codelets/cpu/fsai/fsai_pair.h.
 *
 * Reads   rows of A, patterns.   Writes  rows of G_L and columns of G_U, which the caller owns.
 * Invariant: row i of G_L and column i of G_U have the same positions. */
#pragma once

#include "codelets/cpu/fsai/fsai_pair.h"
#include "runtime/iterate/precond/fsai_rows.h"

typedef struct tsi_fsai_pair {
  const tsi_fsai_pair_kernels *kernels; /* NULL: there is one factor */
  tsi_matrix_rows a;
  const void *part; /* like job->part, in the scalar type of the computation */
  const tsi_fsai_job *job;
  const tsi_entries *rows; /* space for G_L */
  char *upper;             /* space for G_U */
  size_t bytes;            /* size of a scalar */
  int members;
  tsi_fsai_pair_work *work; /* for each member */
} tsi_fsai_pair;

/* a, part: rows of A and job->part with values in the scalar type of the computation. most: largest number of
 * columns of a pattern without the diagonal. slots: number of slots of a tsi_fsai_work. pair: to be finished,
 * also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_pair_begin(tsi_env *env, const tsi_fsai_job *job, char scalar,
                                                   tsi_matrix_rows a, const void *part,
                                                   const tsi_entries *rows, int members, tsi_index most,
                                                   tsi_count slots, tsi_fsai_pair *pair);
void tsi_fsai_pair_finish(tsi_fsai_pair *pair);

/* Computes row l of the job in both factors. Its pattern is given, or was computed before, and may still grow
 * in the space of the row. */
void tsi_fsai_pair_row(const tsi_fsai_pair *pair, tsi_index l, tsi_fsai_row *row, tsi_fsai_work *work,
                       int member);
