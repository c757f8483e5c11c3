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
 * Rows whose patterns stay small are computed side by side, as many as a register has lanes: each finds its
 * columns by itself (kernel_fsai_group.c), their systems are factored and solved at the same time, one in
 * each lane (fsai_lanes.h). Others are computed alone (kernel_fsai.c).
 *
 * Reads   rows of A.   Writes  rows of G, scratch.
 * Invariants: what row i becomes depends on A, its given pattern and the limits alone, not on the rows beside
 * it. Columns may be numbered in any way, as long as rows ascend and a row has the number of its diagonal
 * column. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "codelets/cpu/rows/krylov.h"

/* How far patterns go. */
typedef struct tsi_fsai_limits {
  tsi_index steps, per_step; /* how often columns join, and how many at a time, at most */
  double reduction;          /* no more join once psi is at most that share of A_ii */
  double postfilter; /* then the entries of g below that share of its 2-norm leave, and g is computed anew */
} tsi_fsai_limits;

/* A row of G that is wanted. */
typedef struct tsi_fsai_row {
  tsi_index i;
  const tsi_index *given;  /* the pattern to begin with: columns left of i that ascend */
  tsi_index count;         /* of these */
  tsi_index *index;        /* written: columns, ascending, the diagonal last */
  void *values;            /* written */
  tsi_index entries;       /* written: how many these are */
  tsi_breakdown_kind kind; /* not NONE: index and entries are the pattern so far, there are no values */
} tsi_fsai_row;

/* ---- Rows side by side --------------------------------------------------------------------------------- */

/* A row that could get more columns, or reaches more, is computed alone. */
#define TSI_FSAI_GROUP_MOST 64
#define TSI_FSAI_GROUP_LANES 16 /* at most, of any instruction set */
#define TSI_FSAI_GROUP_SLOTS 1024
#define TSI_FSAI_GROUP_ENTRIES 8192
#define TSI_FSAI_GROUP_HOMES 2048 /* a power of two, twice the slots */

/* A place of a table of columns. */
typedef struct tsi_fsai_home {
  tsi_index column; /* TSI_NONE: free */
  uint16_t slot;
  uint16_t position; /* its row of L; stride - 1: it is not in the pattern */
} tsi_fsai_home;

/* What one row of a group has found. Slots stand for columns as in tsi_fsai_work. */
typedef struct tsi_fsai_reach {
  bool grows;                             /* columns may still join */
  bool large;                             /* it is to be computed alone */
  tsi_index size, slots;                  /* of the pattern; of what it reaches */
  tsi_index picks;                        /* that join in this step */
  tsi_index pattern[TSI_FSAI_GROUP_MOST]; /* columns in the order in which they joined */
  tsi_index own[TSI_FSAI_GROUP_MOST];     /* their slots */
  tsi_index place[TSI_FSAI_GROUP_MOST];   /* their rows of L, ascending */
  tsi_index
      first[TSI_FSAI_GROUP_MOST + 2];    /* where the entries of row i and of each row of the pattern begin */
  uint16_t slot[TSI_FSAI_GROUP_ENTRIES]; /* by entry */
  tsi_index column[TSI_FSAI_GROUP_SLOTS];   /* by slot */
  uint16_t at[TSI_FSAI_GROUP_SLOTS];        /* by slot: its home */
  tsi_fsai_home home[TSI_FSAI_GROUP_HOMES]; /* all free, before and after */
} tsi_fsai_reach;

/* Systems of rows side by side. A cell is a number of each of them: the lanes of its real parts, and then, of
 * complex numbers, those of its imaginary parts. A system that has no column where others have one has a row
 * and a column of the identity there. */
typedef struct tsi_fsai_group {
  tsi_index most;        /* rows of L */
  tsi_index stride;      /* most + 1: the last cell of a row takes entries that are not of the system */
  tsi_fsai_reach *reach; /* by lane */
  void *l;               /* most x stride cells: K, then L */
  void *inverse;         /* most x lanes: of L's diagonal entries */
  void *b, *z, *g;       /* most cells: -A[i, P], L z = b, L^H g = z */
  double *psi, *psi_0;   /* by lane */
  void *gradient;        /* by slot */
  double *size;          /* by slot: what orders the gradient's entries */
  void *row;             /* most: g of one row */
  tsi_index *picked;     /* per_step for each lane: slots that join */
} tsi_fsai_group;

/* ---- A row alone --------------------------------------------------------------------------------------- */

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
  tsi_fsai_group group;
} tsi_fsai_work;

typedef struct tsi_fsai_kernels {
  const char *isa;
  tsi_index lanes; /* rows side by side */
  /* Rows of G, as many as there are lanes at most. The pattern of one gets at most work->most columns, and at
   * most group.most if that is possible for no more than TSI_FSAI_GROUP_MOST. */
  void (*rows)(const tsi_matrix_rows *a, const tsi_fsai_limits *limits, tsi_index count, tsi_fsai_row *rows,
               tsi_fsai_work *work);
} tsi_fsai_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_kernels *tsi_fsai_kernels_select(char scalar, const char *isa);
