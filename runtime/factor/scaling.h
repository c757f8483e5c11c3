/* Scalings of the rows and columns of a matrix by powers of two, for its factorization: exact, so that they
 * cost no accuracy.
 *
 *   - L L^T: none where the diagonal is within the range of the factors' precision; else S = diag(A)^-1/2,
 * which is within a factor n of the best (van der Sluis 1969). Cholesky needs it for the range of numbers
 * alone.
 *   - L D L^T: one scaling S for rows and columns (Ruiz 2001): each sweep multiplies it by the square roots
 * of the largest entries.
 *   - L U: rows, then columns, to a largest entry between 1/2 and 1. Where the largest entries of rows lie
 * 2^UNEVEN and more apart, both are first divided by the roots of their largest entries, at the same time
 * (Ruiz 2001). By rows first, a penalty of 1e16 on the diagonal would make the other entries of its row
 * smaller than rounding errors. Solutions of A x = b do without these entries, solutions of A^T x = b do not.
 *
 * A matching (partition/order/matching.h) has found a scaling of its own, which is taken unless the values
 * are badly scaled, or others than those that were matched and no longer near one with it.
 *
 * Badly scaled values, whose largest entries of rows or columns lie 2^SPREAD and more apart, or near the ends
 * of the range, are first brought together by the scaling that minimizes the sum of squares of the logarithms
 * of all entries (Curtis and Reid 1972): it does not depend on how rows and columns were scaled before, so a
 * matrix R A C is scaled as A is. The other values are scaled by their largest entries alone.
 *
 * Either scaling can make a diagonal entry small, and pivots among what is left look like rounding errors.
 * The scaling by largest entries does so where all rows have theirs in one column without a diagonal one. The
 * scaling by logarithms does so where one entry, a penalty, is far larger than all others: it shares the size
 * of this entry among the rows and columns near it.
 * So L U and L D L^T try the other scaling too where a diagonal entry is small, and take what leaves the
 * diagonal larger. After logarithms, the scaling by largest entries must also leave fewer entries far from
 * one. A matching that was taken needs none of this, and delayed pivots need not be diagonal entries.
 * (The scaling of a matching fits badly scaled values too, but so do many: it may scale rows that have
 * nothing wrong by factors that cancel others, and then the unknowns differ in size by more than single
 * factors can hold.)
 *
 * The rows of a Schur complement (tristar_schur.h) have no pivots. So the other rows and columns are scaled
 * as if these did not exist (scaling_schur.c). Their own scaling brings their entries in the other columns to
 * at most one, which rounds nothing; entries among themselves may be as large as the factors' precision
 * allows.
 *
 * Several processes that have rows each choose together: what is found row by row, or column by column, is
 * united, and all of them go on with the same. Maxima, and the sums of the badly scaled, which are exact, are
 * the same for all ways to share the rows.
 *
 * Reads   the pattern, the sizes of the values, a matching's scaling.
 * Writes  row_scale and col_scale of a factor.
 * Invariants
 *   - every factor is a power of two between 2^-LARGEST_SCALE and 2^LARGEST_SCALE
 *   - L L^T and L D L^T: both arrays hold the same */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/matrix/full.h"

/* How processes tell each other what they have found; all of them call the same, in the same order. Errors:
 * what one of them has failed with (mine), the same for all; RUNTIME. */
typedef struct tsi_scaling_team {
  void *context;
  tristar_status (*agree)(void *context, tristar_status mine);
  tristar_status (*largest)(void *context, tsi_count count, int *values);
  tristar_status (*sum)(void *context, tsi_count count, double *values);
} tsi_scaling_team;

/* Lines of a matrix, and what its scaling depends on. Line j is row (by_rows) or column first + j; `mirror`:
 * entries off the diagonal stand for their mirror images too. */
typedef struct tsi_scaling_lines {
  tsi_index n, count, first; /* n: of the matrix; count: lines here */
  bool by_rows, mirror;
  const tsi_count *ptr;    /* count + 1 */
  const tsi_index *index;  /* ptr[count] */
  const double *magnitude; /* of the values */
  tristar_method method;
  char factor_scalar;
  const double *row_scale, *col_scale; /* n, of a matching; NULL: there is none */
  bool keeps_matching;                 /* that scaling is taken for badly scaled values, too */
  bool any_pivots;                     /* pivots need not be on the diagonal: it may be small */
  const tsi_scaling_team *team;        /* NULL: all lines are here */
  const tsi_index *user;               /* n, the user's number of each row, for messages; NULL: the same */
} tsi_scaling_lines;

/* *row_scale, *col_scale: n, allocated unless they are; freed and NULL where there is to be no scaling.
 * Errors: as tsi_scaling_choose, with a team the same for all. */
TRISTAR_CHECKED tristar_status tsi_scaling_find(tsi_env *env, const tsi_scaling_lines *lines,
                                                double **row_scale, double **col_scale);

/* magnitude: sizes of the values. Errors: MEMORY; SINGULAR (L D L^T, L U: a row or column of zeros, which the
 * message names); NOT_POSITIVE_DEFINITE (L L^T: an entry that no definite matrix has, nor the factors' type).
 */
TRISTAR_CHECKED tristar_status tsi_scaling_choose(tristar_factor_t *factor, const double *magnitude);

/* tsi_scaling_choose of a factor with a Schur complement. lines: those of the whole matrix. Errors: as there.
 */
TRISTAR_CHECKED tristar_status tsi_scaling_choose_schur(tristar_factor_t *factor,
                                                        const tsi_scaling_lines *lines);
/* Bytes that it takes for a while beside those of tsi_scaling_find: of n rows with so many entries. */
size_t tsi_scaling_schur_bytes(tsi_index n, tsi_count entries);

/* Bytes that tsi_scaling_choose, or tsi_scaling_take_matching, takes for a while; badly scaled values may
 * take more. */
size_t tsi_scaling_bytes(const tristar_analysis_t *analysis);

/* As tsi_scaling_choose, for L U of a GENERAL matrix, where that would take the scaling of the matching: in
 * one pass over the values, which finds the largest scaled entry of each column, too (size, by final index).
 * taken: false: it would not; nothing has changed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_take_matching(tristar_factor_t *factor, const double *magnitude,
                                                         double *size, bool *taken);

/* Sets row_weight and col_weight of an imported factor with its matrix. They bring the largest entries of
 * rows and columns near one. They are NULL unless the sums of two rows of |A|, or of two columns, differ
 * by more than 2^tsi_apart_units; or a row or column has zeros alone. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_weigh(tristar_factor_t *factor);

/* Are there rows or columns whose largest entries are far apart? Of a matrix by columns. */
bool tsi_scaling_is_bad(const tsi_entries *a);
/* The same of the largest sizes of all columns, or rows; zeros do not count. */
bool tsi_scaling_is_far(tsi_index n, const double *largest);

/* Does L L^T surely need no scaling, and has no entry that tsi_scaling_choose refuses? low, high: exponents
 * of the diagonal entries (zeros do not count); most: that of the largest entry, or more. */
bool tsi_scaling_llt_is_free(char factor_scalar, int low, int high, int most);

#define TSI_FAR_UNITS 40 /* whose rows may look like rounding errors of others */
/* Units whose solutions, of one size in the user's units, a scaled solve may spoil: 20, in single precision
 * 9. */
static inline int tsi_apart_units(char scalar) {
  return tsi_sparse_kernels_select(scalar)->epsilon > 1e-10 ? 9 : 20;
}

/* The scalings of two rows, or of two columns, that are eliminated differ by 2^spread at most; of an import
 * the weights do, 0 without weights. The processes that share a factorization have the same. */
int tsi_scaling_spread(const tristar_factor_t *factor);
/* That of these scalings: n numbers each, or NULL. */
int tsi_scaling_spread_of(tsi_index n, const double *rows, const double *columns);

/* value * row * column for powers of two whose product alone may be out of range, though the result is not.
 */
static inline double tsi_scaled(double value, double row, double column) {
  const double larger = row > column ? row : column, smaller = row > column ? column : row;
  return value * larger * smaller;
}
