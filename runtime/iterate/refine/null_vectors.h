/* A basis of the null space of op(A), from the factors of a perturbed A.
 *
 * Job. Let B be the matrix that the factors stand for. The vector u - B^-1 (A u) has the null vectors of A
 * that u has; other parts of u shrink by the errors of the factors, relative to A. So a block of vectors
 * without a pattern spans the null space after a few steps, if the block has enough columns. It is doubled
 * until at least four columns depend on others. (With fewer, a null vector could be so weak in all columns
 * that it is missed.) Where pivots were perturbed that need not have been, other vectors shrink slowly or
 * grow. So the combinations of columns that A maps to zero are the null vectors, within rounding errors of
 * |A| |v|. Of a small matrix the block is the identity, and no step is made: the combinations are those of
 * all its columns, whatever the factors are.
 *
 * Reads   a system.   Writes  the basis, and work of its own.
 * Source  block inverse iteration; Golub and Van Loan, Matrix Computations, section 8.2. */
#pragma once

#include "runtime/iterate/refine/system.h"

typedef struct tsi_null_vectors {
  const tsi_system *system;
  tristar_op op;
  bool direct;     /* The block is the identity. */
  bool borrowed;   /* The vectors and their products belong to others. */
  tsi_index count; /* Vectors. More than were wanted: the null space is larger, the rest of it is unknown. */
  tsi_index columns;       /* Columns that there is room for. */
  tsi_index first, others; /* Behind the basis: the columns whose products are orthogonal, and not zero. */
  size_t bytes;            /* Size of a vector: n scalars. */
  char *vector;            /* The basis, one vector behind the other. */
  char *product;           /* n scalars each, for as many vectors. */
  char *zero, *spare;      /* n scalars each. */
  double *real;            /* n, scratch. */
  double condition; /* The longest product of these columns over the shortest one, at least 1: by so much
                       rounding errors of the basis may exceed eps. */
  double error; /* The largest |A v| relative to |A| |v|, as the factors scale rows; infinite if vectors leave
                   the range of numbers. */
  bool are_certain; /* The error is no more than rounding, and there are no other null vectors. */
} tsi_null_vectors;

/* Finds a basis of at most `most` vectors. It is orthonormal: in the units of the user, or, if scaled, with
 * unknowns divided by the scaling of the columns of op(A), as the vectors are returned then. *v is zero, and
 * to be finished whatever the status. Errors: MEMORY, and as a solve. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_find(const tsi_system *system, tristar_op op, tsi_index most,
                                                     bool scaled, bool direct, tsi_null_vectors *v);
/* Of a basis that was found with scaled: adds a vector, of any length, from which tsi_null_vectors_remove has
 * removed the others. Errors: MEMORY, of messages. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_add(tsi_null_vectors *v, const void *column);
/* Leaves no vector. */
void tsi_null_vectors_forget(tsi_null_vectors *v);
/* An orthonormal basis in the units of the user. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_unscale(tsi_null_vectors *v);
/* Entry i of a column of the block, of the unknowns of op(A): in [-1/2, 1/2), with no pattern that a matrix
 * has, the same on any layout. */
double tsi_null_vectors_start(const tsi_system *system, tristar_op op, tsi_index i, tsi_index column);
/* Is a matrix of n rows small enough to do so for a solve? */
bool tsi_null_vectors_can_be_direct(int64_t n);
void tsi_null_vectors_finish(tsi_null_vectors *v);
/* Frees the arrays that only the search for vectors uses. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_trim(tsi_null_vectors *v);
/* *out = the same vectors for solves with a system of the same values; they borrow what `from` has, which
 * must not change any more. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_null_vectors_borrow(const tsi_null_vectors *from, const tsi_system *system,
                                                       tsi_null_vectors *out);

/* x = a solution of op(A) x = b, if there is one, without the factors. Returns false unless direct.
 * x may be b. */
bool tsi_null_vectors_solve(const tsi_null_vectors *v, const void *b, void *x);

/* Entries of x that may be nothing but rounding errors, beside its largest one as the columns are scaled,
 * become zero. */
void tsi_null_vectors_drop_noise(const tsi_null_vectors *v, void *x);

/* x -= V V^H x, twice against rounding errors. Returns the largest entry of V^H x. */
double tsi_null_vectors_remove(const tsi_null_vectors *v, void *x);
