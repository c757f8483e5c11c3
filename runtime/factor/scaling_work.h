/* State and functions shared by scaling.c, scaling_means.c and scaling_schur.c. See scaling.h.
 *
 * Reads   the exponents of the entries.   Writes  exponents of rows and columns.
 * Invariant: the processes that share the lines call the same functions in the same order. */
#pragma once

#include <math.h>
#include <string.h>

#include "runtime/factor/scaling.h"

#define TSI_LARGEST_SCALE 1000 /* Scalings are between 2^-1000 and 2^1000. */

/* The matrix, and the exponents of the scalings so far. If several processes share the lines, each has the
 * exponents of its own entries, and the same of all other data. */
typedef struct tsi_scaling {
  tsi_env *env;
  const tsi_scaling_lines *lines;
  int *exponent;           /* Of each entry, as tsi_scaling_exponent. */
  bool whole;              /* No entry is zero. */
  bool near;               /* All entries are near each other and near one; false with a team. */
  bool symmetric;          /* One scaling: column is row. */
  int *row, *column;       /* n */
  int *of_row, *of_column; /* n: exponents of the largest scaled entries; scratch. */
  bool measured;           /* They hold the result of the next search. */
  tristar_status united;   /* The first failure of a message between processes. */
} tsi_scaling;

#define TSI_SPREAD 60 /* Limit for binary orders between the largest entries of rows, or of columns. */
#define TSI_FAR 400   /* Limit for binary orders between largest entries and one. */
#define TSI_SMALL_DIAGONAL 10 /* Binary orders of a small pivot below the largest entry. */
#define TSI_RUIZ_SWEEPS 4     /* Sweeps for one scaling of rows and columns. */
#define TSI_UNEVEN 10         /* Limit for binary orders between the largest entries of even rows. */

#define TSI_NO_ENTRY INT32_MIN /* Exponent of a zero, or of the largest entry of none. */

/* e with 2^(e-1) <= x < 2^e, 0 <= x. Usually it is a field of the bits of x (IEEE 754); frexp would be a
 * call. */
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

/* 2^e, |e| <= 1022, from the same field. */
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

/* Limit for the binary orders of magnitude between one and the largest entries in the scaling of a matching.
 * Beyond 9, single factors would keep too few digits. */
static inline int tsi_scaling_fitting(char factor_scalar) {
  return tsi_sparse_kernels_select(factor_scalar)->epsilon > 1e-10 ? 9 : 20;
}

/* Limit for the binary orders of magnitude between the largest entries of two rows, or of two columns, in
 * this scaling. If the scaling shows larger units, trials test whether they cost digits (judge.h). */
#define TSI_FITTING_SPREAD 18

/* Half an exponent, rounded up, also if negative. */
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

/* If one process fails, all fail with its status. */
static inline tristar_status tsi_scaling_agree(const tsi_scaling *s, tristar_status mine) {
  const tsi_scaling_team *team = s->lines->team;
  return team ? team->agree(team->context, mine) : mine;
}

/* Replaces each number by its sum over all processes. */
static inline void tsi_scaling_unite_sums(tsi_scaling *s, tsi_count count, double *sums) {
  const tsi_scaling_team *team = s->lines->team;
  const tristar_status status = team ? team->sum(team->context, count, sums) : TRISTAR_OK;
  if (s->united == TRISTAR_OK) s->united = status;
}

/* Normal equations in exponents of lines: the scaled exponents of the entries of each line have the mean
 * zero. A process has all lines, or some of them; then `sum` and `largest` combine numbers. */
typedef struct tsi_scaling_squares {
  tsi_count lines;  /* Lines here. */
  double *all;      /* The arrays below, in one piece: TSI_SCALING_SQUARES times `lines`. */
  double *x;        /* Exponents. */
  double *residual; /* Sums of scaled exponents, negative. */
  double *direction, *image;
  double *count; /* Entries of each line. */
  void *context;
  /* Adds sums over the entries of each line to image, which is zero before. of NULL: sums of the exponents of
   * the entries. Else: sums of the exponents `of` of both lines of an entry. count, unless NULL: number of
   * entries. */
  void (*add_sums)(void *context, const double *of, double *image, double *count);
  double (*sum)(void *context, double mine);     /* NULL: all lines are here. */
  double (*largest)(void *context, double mine); /* NULL: likewise. */
} tsi_scaling_squares;

enum { TSI_SCALING_SQUARES = 5 };

/* Sets the pointers to the arrays in q->all, which is zero. */
void tsi_scaling_divide_squares(tsi_scaling_squares *q);
/* Solves the equations for q->x, which is zero before. */
void tsi_scaling_solve_squares(const tsi_scaling_squares *q);

/* Computes the exponents of rows and columns by means of logarithms, whatever they were. Errors: MEMORY,
 * those of the team. */
TRISTAR_CHECKED tristar_status tsi_scaling_bring_together(tsi_scaling *s);
