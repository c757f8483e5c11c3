/* Rows of a factorized sparse approximate inverse, by scalar type and instruction set.
 *
 * Job. Row i of the lower triangle G with A^-1 ~ G^H G, A Hermitian and positive definite (real: symmetric).
 * With the pattern P of columns left of i and g_i = 1, g makes psi = g A g^H as small as it can be:
 *
 *   (g A)_q = 0 for q in P, or K g = -A[i, P], K = A[P, P]^T       (Kolotilina and Yeremin 1993)
 *   row i of G = g / sqrt(psi), so that (G A G^H)_ii = 1
 *
 * P is given, or found step by step: the columns with the largest entries of the gradient g A join it. K = L
 * L^H grows by a row of L for each; nothing is factored twice.
 *
 * Reads   rows of A.   Writes  a row of G, scratch.
 * Invariants: the stages take plain arrays of one row, and what row i becomes depends on A and the limits
 * alone. Columns may be numbered in any way, as long as rows ascend and a row has the number of its diagonal
 * column. */
#ifndef TSI_CODELETS_CPU_FSAI_H
#define TSI_CODELETS_CPU_FSAI_H

#include "codelets/cpu/incomplete.h"
#include "codelets/cpu/krylov.h"

/* How far patterns go. */
typedef struct tsi_fsai_limits {
  tsi_index steps, per_step; /* how often columns join, and how many at a time, at most */
  double reduction;          /* no more join once psi is at most that share of A_ii */
  double postfilter; /* then the entries of g below that share of its 2-norm leave, and g is computed anew */
} tsi_fsai_limits;

/* Rows and columns of the dense arrays begin at multiples of this many scalars, and are worked on by as many
 * at a time. */
#define TSI_FSAI_LANES 4

/* Scratch of one row at a time. Slots stand for the columns left of i that row i and the rows of the pattern
 * have entries in, in the order in which they came; the first ones are those of row i. */
typedef struct tsi_fsai_work {
  tsi_index most;      /* entries of a pattern */
  tsi_index *place;    /* by column: its slot; TSI_NONE, before and after */
  tsi_index slots;     /* how many there are */
  tsi_index *column;   /* by slot */
  tsi_index *position; /* by slot: where the column stands in the pattern; TSI_NONE: it does not */
  void *gradient;      /* by slot */
  tsi_count *first;    /* most + 2: where the slots of row i, and then of each row of the pattern begin */
  tsi_index *slot;     /* by entry */
  tsi_index size;      /* of the pattern */
  tsi_index *pattern;  /* most: columns in the order in which they joined */
  tsi_index stride;    /* most, rounded up to a multiple of the lanes */
  void *by_rows;    /* most x stride: L[r][c], c < r, is number stride r + c; zero in the rest of its lanes */
  void *by_columns; /* the same, number stride c + r; zero where r <= c, before and after */
  void *inverse;    /* stride: of L's diagonal entries */
  void *z, *g;      /* stride: L z = -A[i, P], L^H g = z */
  double psi, psi_0; /* psi_0: of the empty pattern, A_ii */
  tsi_index *picked; /* per_step: slots that join */
  double *magnitude; /* per_step: theirs */
} tsi_fsai_work;

typedef struct tsi_fsai_kernels {
  const char *isa;
  /* Row i of G. given: `count` columns left of i that ascend, the pattern to begin with; at most work->most
   * of them, and of what joins. index, values: the row, columns ascending, its diagonal last; *entries: how
   * many. */
  tsi_breakdown_kind (*row)(const tsi_matrix_rows *a, tsi_index i, const tsi_fsai_limits *limits,
                            const tsi_index *given, tsi_index count, tsi_fsai_work *work, tsi_index *index,
                            void *values, tsi_index *entries);
} tsi_fsai_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_kernels *tsi_fsai_kernels_select(char scalar, const char *isa);

#endif
