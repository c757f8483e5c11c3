/* What scaling.c and scaling_means.c share: the scaling that they compute. See scaling.h.
 *
 * Reads   the exponents of the entries.   Writes  exponents of rows and columns.
 * Invariant: the processes that share the lines call the same functions in the same order. */
#pragma once

#include <math.h>
#include <string.h>

#include "runtime/factor/scaling.h"

#define TSI_LARGEST_SCALE 1000 /* 2^+-this */

/* The matrix, and the exponents of the scalings so far. Of lines that several processes share each of them
 * has its own exponents of entries, and the same of everything else. */
typedef struct tsi_scaling {
  tsi_env *env;
  const tsi_scaling_lines *lines;
  int *exponent;           /* of each entry, as tsi_scaling_exponent */
  bool whole;              /* no entry is zero */
  bool near;               /* no two entries are far from each other, and none from one */
  bool symmetric;          /* one scaling: column is row */
  int *row, *column;       /* n */
  int *of_row, *of_column; /* n: exponents of the largest scaled entries; scratch */
  bool known;              /* they are what the next search would find */
  tristar_status united;   /* the first failure of a message between processes */
} tsi_scaling;

#define TSI_SPREAD 60 /* binary orders of magnitude between the largest entries of rows, or of columns */
#define TSI_FAR 400   /* from one */
#define TSI_SMALL_DIAGONAL 10 /* binary orders of magnitude of a pivot below the largest entry */
#define TSI_RUIZ_SWEEPS 4     /* of one scaling for rows and columns */
#define TSI_UNEVEN 10         /* binary orders of magnitude between the largest entries of rows that differ */

#define TSI_NO_ENTRY INT32_MIN /* as the exponent of a zero, or of the largest of none */

/* e with 2^(e-1) <= x < 2^e, 0 <= x: mostly a field of its bits (IEEE 754, which frexp calls a function for).
 */
static inline int tsi_scaling_exponent(double x) {
  uint64_t bits;
  int e;
  memcpy(&bits, &x, sizeof bits);
  e = (int)(bits >> 52);
  if (e > 0 && e < 0x7ff) return e - 0x3fe;
  if (x == 0) return TSI_NO_ENTRY;
  frexp(x, &e);
  return e;
}

/* 2^e, |e| <= 1022: the same field. */
static inline double tsi_scaling_power(int e) {
  const uint64_t bits = (uint64_t)(e + 0x3ff) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Exponents up to this one need no scaling for the range of the factors. */
static inline int tsi_scaling_limit(char factor_scalar) {
  return tsi_sparse_kernels_select(factor_scalar)->epsilon > 1e-10 ? 40 : 300;
}

/* Binary orders of magnitude that largest entries in the scaling of a matching may be from one: what remains
 * of the digits of single factors would not do beyond 9. */
static inline int tsi_scaling_fitting(char factor_scalar) {
  return tsi_sparse_kernels_select(factor_scalar)->epsilon > 1e-10 ? 9 : 20;
}

/* Binary orders of magnitude between those of two rows, or of two columns, at most: trials look for digits
 * that units cost where the scaling shows these units (judge.h). */
#define TSI_FITTING_SPREAD 18

/* Half an exponent, rounded up, also a negative one. */
static inline int tsi_scaling_half(int e) {
  return (e + (e & 1)) / 2;
}

/* Row and column of entry p of line j. */
static inline void tsi_scaling_place(const tsi_scaling_lines *lines, tsi_index j, tsi_count p, tsi_index *row,
                                     tsi_index *column) {
  const tsi_index line = lines->first + j;
  *row = lines->by_rows ? line : lines->index[p];
  *column = lines->by_rows ? lines->index[p] : line;
}

static inline int tsi_scaling_clamp(int e) {
  return e > TSI_LARGEST_SCALE ? TSI_LARGEST_SCALE : e < -TSI_LARGEST_SCALE ? -TSI_LARGEST_SCALE : e;
}

/* What one process has failed with all of them fail with. */
static inline tristar_status tsi_scaling_agree(const tsi_scaling *s, tristar_status mine) {
  const tsi_scaling_team *team = s->lines->team;
  return team ? team->agree(team->context, mine) : mine;
}

/* Each number becomes the sum of all processes' ones. */
static inline void tsi_scaling_unite_sums(tsi_scaling *s, tsi_count count, double *sums) {
  const tsi_scaling_team *team = s->lines->team;
  const tristar_status status = team ? team->sum(team->context, count, sums) : TRISTAR_OK;
  if (s->united == TRISTAR_OK) s->united = status;
}

/* Normal equations in exponents of lines: the scaled exponents of the entries of each line have the mean
 * zero. A process has all of the lines, or some of them; then `sum` and `largest` unite numbers. */
typedef struct tsi_scaling_squares {
  tsi_count lines;  /* Lines here. */
  double *all;      /* The arrays below, in one piece: TSI_SCALING_SQUARES times `lines`. */
  double *x;        /* Exponents. */
  double *residual; /* Sums of scaled exponents, negative. */
  double *direction, *image;
  double *count; /* Entries of each line. */
  void *context;
  /* image, zeros before, becomes the sums over the entries of each line: of the exponents `of` of both lines
   * of an entry, or, if of is NULL, of the exponents of the entries. count, unless NULL: entries. */
  void (*add_sums)(void *context, const double *of, double *image, double *count);
  double (*sum)(void *context, double mine);     /* NULL: all lines are here. */
  double (*largest)(void *context, double mine); /* NULL: likewise. */
} tsi_scaling_squares;

enum { TSI_SCALING_SQUARES = 5 };

/* Sets the arrays of zeros in q->all. */
void tsi_scaling_divide_squares(tsi_scaling_squares *q);
/* Solves the equations: q->x, zeros before. */
void tsi_scaling_solve_squares(const tsi_scaling_squares *q);

/* Sets the exponents of rows and columns, whatever they are, by means of logarithms. Errors: MEMORY, those of
 * the team. */
TRISTAR_CHECKED tristar_status tsi_scaling_bring_together(tsi_scaling *s);
