/* What rows of a pair of factors need beside those of one (fsai_rows.h): see codelets/cpu/fsai/fsai_pair.h.
 *
 * Reads   rows of A, patterns.   Writes  rows of G_L and columns of G_U, which are the caller's.
 * Invariant: a row of one and the column of the other have the same places. */
#pragma once

#include "codelets/cpu/fsai/fsai_pair.h"
#include "runtime/iterate/precond/fsai_rows.h"

typedef struct tsi_fsai_pair {
  const tsi_fsai_pair_kernels *kernels; /* NULL: there is one factor */
  tsi_matrix_rows a;
  const void *part; /* as job->part, of the set-up's scalar type */
  const tsi_fsai_job *job;
  const tsi_entries *rows; /* room for G_L */
  char *upper;             /* room for G_U */
  size_t bytes;            /* of a scalar */
  int members;
  tsi_fsai_pair_work *work; /* of each */
} tsi_fsai_pair;

/* a: rows of A with values of the set-up's scalar type, part likewise; most: columns of a pattern beside the
 * diagonal; slots: those of a tsi_fsai_work. pair: to be finished, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_pair_begin(tsi_env *env, const tsi_fsai_job *job, char scalar,
                                                   tsi_matrix_rows a, const void *part,
                                                   const tsi_entries *rows, int members, tsi_index most,
                                                   tsi_count slots, tsi_fsai_pair *pair);
void tsi_fsai_pair_finish(tsi_fsai_pair *pair);

/* Rows whose patterns have been found, or are as they are given; room: entries that the l-th of the job's may
 * have at most. */
void tsi_fsai_pair_row(const tsi_fsai_pair *pair, tsi_index l, tsi_fsai_row *row, tsi_fsai_work *work,
                       int member);
