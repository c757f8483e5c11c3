/* Scalings of the rows and columns of a matrix by powers of two, for its factorization. They are exact, so
 * they cost no accuracy.
 *
 *   - L L^T: none if the exponents of the diagonal are at most tsi_scaling_limit in absolute value, and
 *     differ by at most 2 tsi_apart_units. Else S = diag(A)^-1/2, which is within a factor n of the best (van
 *     der Sluis 1969). Cholesky needs it only for the range of numbers.
 *   - L D L^T: one scaling S for rows and columns (Ruiz 2001). Each sweep multiplies it by the inverse roots
 *     of the largest entries.
 *   - L U: rows, then columns, to a largest entry between 1/2 and 1. If the largest entries of rows differ by
 *     more than 2^UNEVEN, both are first divided by the roots of their largest entries, at the same time
 *     (Ruiz 2001). By rows first, a penalty of 1e16 on the diagonal would make the other entries of its row
 *     smaller than rounding errors. Solutions of A x = b do not need these entries, but solutions of A^T x =
 *     b do.
 *
 * A matching (partition/order/matching.h) has its own scaling. It is used unless the values are badly scaled,
 * or differ from the matched values and it no longer brings them near one.
 *
 * Values are badly scaled if the largest entries of rows or columns differ by more than 2^SPREAD, or are near
 * the ends of the range. They are first brought together by the scaling that minimizes the sum of squares of
 * the logarithms of all entries (Curtis and Reid 1972). It does not depend on earlier scalings of rows and
 * columns, so a matrix R A C is scaled as A is. Other values are scaled only by their largest entries.
 *
 * Either scaling can make a diagonal entry small. Then pivots among the remaining entries look like rounding
 * errors. The scaling by largest entries does so if the largest entries of all rows are in one column, off
 * the diagonal. The scaling by logarithms does so if one entry, a penalty, is far larger than all others: it
 * shares the size of this entry among the rows and columns near it. So L U and L D L^T also try the other
 * scalings if a diagonal entry is small, and use the one that leaves the diagonal larger. After logarithms,
 * another scaling must also leave fewer entries far from one. None of this is needed if the scaling of a
 * matching is used, or if pivots are delayed, which need not be diagonal entries.
 * (The scaling of a matching fits badly scaled values too, but so do many others. It may scale normal rows by
 * factors that cancel others, and then the unknowns differ in size by more than single factors can
 * represent.)
 *
 * The rows of a Schur complement (tristar_schur.h) have no pivots. So the other rows and columns are scaled
 * as if these did not exist (scaling_schur.c). The scaling of the complement's rows brings their entries in
 * the other columns to at most one, which rounds nothing. Entries inside the complement may be as large as
 * the factors' precision allows.
 *
 * If several processes have rows, they choose together: they combine their results for rows and columns, and
 * all continue with the same values. Maxima, and the sums for badly scaled values, which are exact, do not
 * depend on the distribution of the rows.
 *
 * Reads   the pattern, the sizes of the values, a matching's scaling.
 * Writes  row_scale and col_scale of a factor.
 * Invariants
 *   - every factor is a power of two between 2^-LARGEST_SCALE and 2^LARGEST_SCALE
 *   - L L^T and L D L^T: both arrays hold the same */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/matrix/full.h"

/* Functions that combine results of processes. All processes call the same ones, in the same order. Errors:
 * the failure (mine) of one of them, the same for all; RUNTIME. */
typedef struct tsi_scaling_team {
  void *context;
  tristar_status (*agree)(void *context, tristar_status mine);
  tristar_status (*largest)(void *context, tsi_count count, int *values);
  tristar_status (*sum)(void *context, tsi_count count, double *values);
} tsi_scaling_team;

/* Lines of a matrix, and the data that its scaling depends on. Line j is row (by_rows) or column first + j;
 * `mirror`: entries off the diagonal stand for their mirror images too. */
typedef struct tsi_scaling_lines {
  tsi_index n, count, first; /* n: order of the matrix; count: lines here. */
  bool by_rows, mirror;
  const tsi_count *ptr;    /* count + 1. */
  const tsi_index *index;  /* ptr[count]. */
  const double *magnitude; /* Of the values. */
  tristar_method method;
  char factor_scalar;
  const double *row_scale, *col_scale; /* n, of a matching; NULL: none. */
  bool keeps_matching;                 /* Use that scaling for badly scaled values, too. */
  bool any_pivots;                     /* Pivots need not be on the diagonal, so it may be small. */
  const tsi_scaling_team *team;        /* NULL: all lines are here. */
  const tsi_index *user;               /* n, the user's number of each row, for messages; NULL: the same. */
} tsi_scaling_lines;

/* Computes *row_scale, *col_scale, n each; allocates them if they are NULL. If no scaling is needed, frees
 * them and sets them to NULL. Errors: as tsi_scaling_choose, with a team the same for all. */
TRISTAR_CHECKED tristar_status tsi_scaling_find(tsi_env *env, const tsi_scaling_lines *lines,
                                                double **row_scale, double **col_scale);

/* magnitude: sizes of the values. Errors: MEMORY; SINGULAR (L D L^T, L U: a row or column of zeros, which the
 * message names); NOT_POSITIVE_DEFINITE (L L^T: an entry too large for a definite matrix and for the factors'
 * type). */
TRISTAR_CHECKED tristar_status tsi_scaling_choose(tristar_factor_t *factor, const double *magnitude);

/* tsi_scaling_choose of a factor with a Schur complement. lines: of the whole matrix. Errors: as there. */
TRISTAR_CHECKED tristar_status tsi_scaling_choose_schur(tristar_factor_t *factor,
                                                        const tsi_scaling_lines *lines);
/* Temporary bytes that it needs in addition to tsi_scaling_find, for n rows with so many entries. */
size_t tsi_scaling_schur_bytes(tsi_index n, tsi_count entries);

/* Temporary bytes of tsi_scaling_choose or tsi_scaling_take_matching; badly scaled values may need more. */
size_t tsi_scaling_bytes(const tristar_analysis_t *analysis);

/* Does the same as tsi_scaling_choose for L U of a GENERAL matrix, if that would use the scaling of the
 * matching: in one pass over the values. The pass also finds the largest scaled entry of each column (size,
 * by final index). *taken is false if it would not; then nothing has changed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_take_matching(tristar_factor_t *factor, const double *magnitude,
                                                         double *size, bool *taken);

/* Sets row_weight and col_weight of an imported factor with its matrix. They bring the largest entries of
 * rows and columns near one. They are NULL unless the sums of two rows of |A|, or of two columns, differ by
 * more than 2^tsi_apart_units. They are also NULL if a row or column has only zeros. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_weigh(tristar_factor_t *factor);

/* Are the largest entries of two columns of the matrix far apart, or one far from 1? */
bool tsi_scaling_is_bad(const tsi_entries *a);
/* The same for the largest sizes of all columns, or rows; zeros do not count. */
bool tsi_scaling_is_far(tsi_index n, const double *largest);

/* Is it certain that L L^T needs no scaling, and has no entry that tsi_scaling_choose refuses? low, high:
 * exponents of the diagonal entries (zeros do not count); most: exponent of the largest entry, or more. */
bool tsi_scaling_llt_is_free(char factor_scalar, int low, int high, int most);

#define TSI_FAR_UNITS 40 /* If units differ by more than 2^40, rows may look like rounding errors. */
/* If units differ by more than 2 to this power, a scaled solve may spoil solutions of one size in the user's
 * units. */
static inline int tsi_apart_units(char scalar) {
  return tsi_sparse_kernels_select(scalar)->epsilon > 1e-10 ? 9 : 20;
}

/* Returns the spread: the scalings of two eliminated rows, or of two columns, differ by at most 2^spread. For
 * an import the weights count, 0 without weights. The same on all processes that share a factorization. */
int tsi_scaling_spread(const tristar_factor_t *factor);
/* Spread of these scalings: n numbers each, or NULL. */
int tsi_scaling_spread_of(tsi_index n, const double *rows, const double *columns);

/* value * row * column for powers of two whose product may be out of range, though the result is not. */
static inline double tsi_scaled(double value, double row, double column) {
  const double larger = row > column ? row : column, smaller = row > column ? column : row;
  return value * larger * smaller;
}
