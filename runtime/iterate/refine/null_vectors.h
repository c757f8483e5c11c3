/* A basis of the null space of op(A), from the factors of a perturbed A.
 *
 * Job. Let B be the product of the factors. The vector u - B^-1 (A u) keeps the null vectors of A in u; other
 * components of u shrink by the errors of the factors, relative to A. So a block of vectors without a pattern
 * spans the null space after a few steps, if the block has enough columns. It is doubled until at least four
 * columns depend on others. (With fewer, a null vector could be so weak in all columns that it is missed.) If
 * pivots were perturbed unnecessarily, other vectors shrink slowly or grow. So the null vectors are the
 * combinations of columns that A maps to zero, within rounding errors of |A| |v|. For a small matrix the
 * block is the identity, and there are no steps. The combinations are then made of all its columns, for any
 * factors.
 *
 * Reads   a system.   Writes  the basis, and its own work arrays.
 * Source  block inverse iteration; Golub and Van Loan, Matrix Computations, section 8.2. */
#pragma once

#include "runtime/iterate/refine/system.h"

#define TSI_NULL_COLUMNS 8 /* columns of the first block of null vectors */

typedef struct tsi_null_vectors {
  const tsi_system *system;
  tristar_op op;
  bool direct;     /* The block is the identity. */
  bool borrowed;   /* Another object owns the vectors and their products. */
  tsi_index count; /* Number of vectors. If it exceeds `most`, the null space is larger, and the rest of it is
                      unknown. */
  tsi_index columns;       /* Number of columns that are allocated. */
  tsi_index first, others; /* Columns behind the basis, whose products are orthogonal and not zero: index of
                              the first, and number. */
  size_t bytes;            /* Size of a vector: n scalars. */
  char *vector;            /* The basis, one vector after the other. */
  char *product;           /* Products with A, n scalars each, for the same number of vectors. */
  char *zero, *spare;      /* n scalars each. */
  double *real;            /* n, scratch. */
  double condition; /* Longest product of these columns divided by the shortest, at least 1. Rounding errors
                       of the basis may exceed eps by this factor. */
  double error; /* Largest |A v| relative to |A| |v|, in the row scaling of the factors. Infinite if vectors
                   leave the range of numbers. */
  bool are_certain; /* The error is no more than rounding, and there are no other null vectors. */
} tsi_null_vectors;

/* Finds an orthonormal basis of at most `most` vectors. It is orthonormal in the user's units. If scaled, it
 * is orthonormal with unknowns divided by the scaling of the columns of op(A), and the vectors are returned
 * in this scaling. *v must be zero, and must be finished, also after a failure. Errors: MEMORY, those of a
 * solve. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_find(const tsi_system *system, tristar_op op, tsi_index most,
                                                     bool scaled, bool direct, tsi_null_vectors *v);
/* Adds a vector to a basis that was found with scaled. The vector has any length; tsi_null_vectors_remove has
 * removed the others from it. Errors: MEMORY, those of messages. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_add(tsi_null_vectors *v, const void *column);
/* Removes all vectors. */
void tsi_null_vectors_discard(tsi_null_vectors *v);
/* Makes the basis orthonormal in the user's units. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_unscale(tsi_null_vectors *v);
/* Entry i of a column of the initial block, for an unknown of op(A). It is in [-1/2, 1/2), has no pattern
 * that occurs in matrices, and is the same on any layout. */
double tsi_null_vectors_start(const tsi_system *system, tristar_op op, tsi_index i, tsi_index column);
/* Is a matrix of n rows small enough for a direct search during a solve? */
bool tsi_null_vectors_can_be_direct(int64_t n);
void tsi_null_vectors_finish(tsi_null_vectors *v);
/* Frees the arrays that only the search uses. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_trim(tsi_null_vectors *v);
/* *out = the same vectors for solves with a system of the same values. They borrow the arrays of `from`,
 * which must not change any more. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_borrow(const tsi_null_vectors *from, const tsi_system *system,
                                                       tsi_null_vectors *out);

/* x = a solution of op(A) x = b, if there is one, without the factors. Returns false unless direct. x may be
 * b. */
bool tsi_null_vectors_solve(const tsi_null_vectors *v, const void *b, void *x);

/* Sets entries of x to zero that may be rounding errors relative to the largest entry, in the column
 * scaling. */
void tsi_null_vectors_drop_noise(const tsi_null_vectors *v, void *x);

/* x -= V V^H x, twice against rounding errors. Returns the largest entry of V^H x. */
double tsi_null_vectors_remove(const tsi_null_vectors *v, void *x);
