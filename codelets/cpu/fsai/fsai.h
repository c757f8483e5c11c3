/* Rows of a factorized sparse approximate inverse, by scalar type and instruction set.
 *
 * Job. Compute row i of the lower triangle G with A^-1 ~ G^H G, A Hermitian and positive definite (real:
 * symmetric). For the pattern P of columns left of i and g_i = 1, g minimizes psi = g A g^H:
 *
 *   (g A)_q = 0 for q in P, or K g = -A[i, P], K = A[P, P]^T       (Kolotilina and Yeremin 1993)
 *   row i of G = g / sqrt(psi), so that (G A G^H)_ii = 1
 *
 * P is given, or found step by step: the columns with the largest entries of the gradient g A join it. For
 * each column K = L L^H grows by a row of L; nothing is factored twice.
 *
 * Rows with small patterns are computed in groups, one row per lane of a register. Each row finds its columns
 * separately (kernel_fsai_group.c); the systems of a group are factored and solved at the same time, one in
 * each lane (fsai_lanes.h). Other rows are computed alone (kernel_fsai.c).
 *
 * Reads   rows of A.   Writes  rows of G, scratch.
 * Invariants: row i depends only on A, its given pattern and the limits, not on the other rows of its group.
 * Columns may have any numbers, as long as rows ascend and a row has the number of its diagonal column. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "codelets/cpu/rows/krylov.h"

/* Limits of patterns. */
typedef struct tsi_fsai_limits {
  tsi_index steps, per_step; /* maximum number of steps in which columns join; of columns per step */
  double reduction;          /* no more columns join once psi is at most this share of A_ii */
  double postfilter;         /* at the end entries of g below this share of its 2-norm are dropped, and g is
                                recomputed */
} tsi_fsai_limits;

/* A row of G to be computed. */
typedef struct tsi_fsai_row {
  tsi_index i;
  const tsi_index *given;  /* initial pattern: columns left of i, ascending */
  tsi_index count;         /* length of given */
  tsi_index *index;        /* output: columns, ascending, the diagonal last */
  void *values;            /* output */
  tsi_index entries;       /* output: number of entries */
  tsi_breakdown_kind kind; /* output. Not NONE: index and entries are the pattern so far, without values */
} tsi_fsai_row;

/* ---- Groups of rows ------------------------------------------------------------------------------------ */

/* A row that may get more columns, or reaches more columns or entries, is computed alone. */
#define TSI_FSAI_GROUP_MOST 64
#define TSI_FSAI_GROUP_LANES 16 /* maximum over all instruction sets */
#define TSI_FSAI_GROUP_SLOTS 1024
#define TSI_FSAI_GROUP_ENTRIES 8192
#define TSI_FSAI_GROUP_HOMES 2048 /* a power of two, twice the slots */

/* An element of a hash table of columns. */
typedef struct tsi_fsai_home {
  tsi_index column; /* TSI_NONE: free */
  uint16_t slot;
  uint16_t position; /* row of L of the column; stride - 1: it is not in the pattern */
} tsi_fsai_home;

/* Pattern and reached columns of one row of a group. Slots stand for columns as in tsi_fsai_work. */
typedef struct tsi_fsai_reach {
  bool grows;                               /* columns may still join */
  bool large;                               /* the row must be computed alone */
  tsi_index size, slots;                    /* number of columns of the pattern; number of reached columns */
  tsi_index picks;                          /* number of columns that join in this step */
  tsi_index pattern[TSI_FSAI_GROUP_MOST];   /* columns in the order in which they joined */
  tsi_index own[TSI_FSAI_GROUP_MOST];       /* their slots */
  tsi_index place[TSI_FSAI_GROUP_MOST];     /* their rows of L, ascending */
  tsi_index first[TSI_FSAI_GROUP_MOST + 2]; /* first entry of row i, and of each row of the pattern */
  uint16_t slot[TSI_FSAI_GROUP_ENTRIES];    /* by entry */
  tsi_index column[TSI_FSAI_GROUP_SLOTS];   /* by slot */
  uint16_t at[TSI_FSAI_GROUP_SLOTS];        /* by slot: its home */
  tsi_fsai_home home[TSI_FSAI_GROUP_HOMES]; /* all free, before and after */
} tsi_fsai_reach;

/* Systems of a group of rows. A cell has one number of each system: the lanes of the real parts, then, for
 * complex numbers, the lanes of the imaginary parts. Systems with fewer columns than others are filled up
 * with rows and columns of the identity. */
typedef struct tsi_fsai_group {
  tsi_index most;        /* rows of L */
  tsi_index stride;      /* most + 1: the last cell of a row receives entries outside the system */
  tsi_fsai_reach *reach; /* by lane */
  void *l;               /* most x stride cells: K, then L */
  void *inverse;         /* most x lanes: inverses of L's diagonal entries */
  void *b, *z, *g;       /* most cells: -A[i, P], L z = b, L^H g = z */
  double *psi, *psi_0;   /* by lane */
  void *gradient;        /* by slot */
  double *size;          /* by slot: key that orders the entries of the gradient */
  void *row;             /* most: g of one row */
  tsi_index *picked;     /* per_step for each lane: slots that join */
} tsi_fsai_group;

/* ---- A single row -------------------------------------------------------------------------------------- */

/* Rows and columns of the dense arrays begin at multiples of this many scalars, and kernels process as many
 * at a time. */
#define TSI_FSAI_LANES 4

/* Scratch for one row at a time. Slots stand for the columns left of i in which row i or rows of the pattern
 * have entries, in the order in which they were found; the first ones belong to row i. */
typedef struct tsi_fsai_work {
  tsi_index most;      /* maximum number of entries of a pattern */
  tsi_index *place;    /* by column: its slot; TSI_NONE before and after */
  tsi_index slots;     /* number of slots */
  tsi_index *column;   /* by slot */
  tsi_index *position; /* by slot: position of the column in the pattern; TSI_NONE: not in the pattern */
  void *gradient;      /* by slot */
  tsi_count *first;    /* most + 2: first element in slot of row i, then of each row of the pattern */
  tsi_index *slot;     /* by entry */
  tsi_index size;      /* size of the pattern */
  tsi_index *pattern;  /* most: columns in the order in which they joined */
  tsi_index stride;    /* most, rounded up to a multiple of the lanes */
  void *by_rows;    /* most x stride: L[r][c], c < r, is number stride r + c; zero in the rest of its lanes */
  void *by_columns; /* the same, number stride c + r; zero for r <= c, before and after */
  void *inverse;    /* stride: inverses of L's diagonal entries */
  void *z, *g;      /* stride: L z = -A[i, P], L^H g = z */
  double psi, psi_0; /* psi_0: psi of the empty pattern, A_ii */
  tsi_index *picked; /* per_step: slots that join */
  double *magnitude; /* per_step: their magnitudes */
  tsi_fsai_group group;
} tsi_fsai_work;

typedef struct tsi_fsai_kernels {
  const char *isa;
  tsi_index lanes; /* number of rows of a group */
  /* Computes at most `lanes` rows of G. A pattern gets at most work->most columns; in a group at most
   * group.most, which is at most TSI_FSAI_GROUP_MOST. */
  void (*rows)(const tsi_matrix_rows *a, const tsi_fsai_limits *limits, tsi_index count, tsi_fsai_row *rows,
               tsi_fsai_work *work);
} tsi_fsai_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_kernels *tsi_fsai_kernels_select(char scalar, const char *isa);
