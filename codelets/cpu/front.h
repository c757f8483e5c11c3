/* Dense work of the multifrontal factorization on one front.
 *
 * A front belongs to a supernode of w columns with m rows below: f = w + m rows and columns, in three
 * column-major blocks:
 *
 *            w     m
 *      w  [  P  |  Q  ]      P   f x w   columns of the supernode        (leading dimension f)
 *      m  [  P  |  C  ]      Q   w x m   its rows, LU, LDLT; else NULL   (leading dimension w)
 *                            C   m x m   Schur complement (contribution block; see below)
 *
 * LLT uses the lower triangle only: A = L L^T, P becomes L. LU: A = L U with row interchanges inside the
 * diagonal block of each panel (unless they are fixed, see tsi_pivoting); P and Q become L (unit lower) and
 * U. LDLT: A = L D L^T (or L D L^H) with symmetric interchanges and pivots of order 1 and 2 inside the
 * diagonal block of each panel (Bunch and Kaufman 1977); P becomes L (unit lower). U = D L^T is stored above
 * the diagonal of P and in Q until the front is freed, so that products are the same as for LU. D is returned
 * inverted, see tsi_pivoting.
 *
 * C is stored in tile columns of TSI_TILE columns. LU: tile columns have all rows, so C is simply
 * column-major. LLT, LDLT: a tile column begins with the row of its first column, so that only little more
 * than the lower triangle is stored.
 *
 * Panels are pieces of the w columns, o .. o+b-1. The factorization is left-looking by panel and tile:
 *
 *   diagonal(o, b)        P(o,o) -= L(o,0:o) U(0:o,o), then factor it
 *   below(o, b, rows)     P(rows,o) -= L(rows,0:o) U(0:o,o), then solve with the diagonal block; rows >= o+b
 *   right(o, b, columns)  LU: U(o,columns) likewise; columns >= o+b
 *   schur(rows, columns)  C -= L(rows,0:w) U(0:w,columns), one product for all panels
 *
 * One call writes each tile, so the result does not depend on the order of independent tiles.
 *
 * BLAS and LAPACK are called; they must run on one thread (see runtime/blas). Only pivots are checked. */
#pragma once

#include <math.h>

#include "codelets/cpu/base/panel.h"

#define TSI_TILE 512

typedef struct tsi_front {
  tsi_index w, m, f;
  bool full;       /* LU: all of C is stored and assembled; else the lower triangle */
  void *p, *q, *c; /* scalars of the kernels' type */
} tsi_front;

/* Rows begin .. begin + rows - 1 of L and the same columns of U. They are in a front, or in arrays of their
 * own on a process that has only some stripes of a front (dag/factor/front_teams.h). For rows of the
 * supernode, L ends with the diagonal block, and U has the rows above that block. Other rows may also have C.
 */
typedef struct tsi_front_stripe {
  tsi_index begin, rows;
  void *l; /* its rows of L, from column 0 on */
  void *d; /* its diagonal block: columns from `begin` on */
  int ldl; /* leading dimension of l and d */
  void *u; /* its columns of U, from row 0 on; NULL: LLT */
  int ldu;
  void *c; /* its rows of C, from column 0 on, leading dimension `rows`; NULL: none */
} tsi_front_stripe;

/* A block of a child's C that is added to a front: rows row .. row_end - 1 of these columns, column-major
 * without gaps. Unless full, entries above the diagonal are undefined. */
typedef struct tsi_complement_block {
  const void *values;
  const tsi_index *position; /* positions of all rows of the child in the front, ascending */
  tsi_index row, row_end, column, column_end;
} tsi_complement_block;

/* Return the start of the tile column that contains column j of a complement of order m: its first row, and
 * the offset of this row in its first column. full: LU. */
static inline tsi_index tsi_tile_row(tsi_index j, bool full) {
  return full ? 0 : j / TSI_TILE * TSI_TILE;
}
static inline ptrdiff_t tsi_complement_tile(tsi_index m, tsi_index j, bool full) {
  const ptrdiff_t tiles = j / TSI_TILE;
  return full ? tiles * TSI_TILE * m : TSI_TILE * (tiles * m - TSI_TILE * (tiles * (tiles - 1) / 2));
}
/* Returns the offset of entry (i, j); i is in or below the diagonal tile unless full. */
static inline ptrdiff_t tsi_complement_entry(tsi_index m, tsi_index i, tsi_index j, bool full) {
  if (j < TSI_TILE) return (ptrdiff_t)j * m + i; /* most complements are one tile */
  const tsi_index first = tsi_tile_row(j, full);
  return tsi_complement_tile(m, j, full) + (ptrdiff_t)(j - j / TSI_TILE * TSI_TILE) * (m - first) + i - first;
}
/* Returns the number of scalars of a complement of order m. */
static inline tsi_count tsi_complement_size(tsi_index m, bool full) {
  if (m <= TSI_TILE) return (tsi_count)m * m;
  const tsi_index last = (m - 1) / TSI_TILE * TSI_TILE; /* first column of the last tile column */
  return tsi_complement_tile(m, last, full) + (tsi_count)(m - last) * (m - tsi_tile_row(last, full));
}

/* The reason why the factorization of a diagonal block failed. */
typedef enum tsi_pivot_failure { TSI_PIVOT_NOT_POSITIVE, TSI_PIVOT_NOT_FINITE } tsi_pivot_failure;

/* A pivot below so many epsilons of its column's largest entry may belong to a singular matrix. */
#define TSI_SMALL_PIVOT 4096

/* Options and outcome of the factorization of a diagonal block. The size of a pivot is its absolute value;
 * LLT: the square of the diagonal entry of L. The size of a pivot of order 2 is the square root of its
 * determinant's absolute value. With a threshold, or if this root is less than TSI_SMALL_PIVOT epsilons of
 * its columns, the size is instead the determinant divided by the largest entry, which is about the smaller
 * eigenvalue. */
typedef struct tsi_pivoting {
  double tiny;         /* LU, LDLT: pivots below this in absolute value become +-tiny */
  double *column_size; /* b: size of the largest entry of each column of the matrix; LLT: of its diagonal
                          entry. LDLT: interchanged along with the columns */
  double least;        /* a pivot of at most this share of column_size means that its row depends on others */
  bool fixed;          /* LU: diagonal entries are the pivots, without interchanges; zero is no pivot */
  bool adjoint;        /* LDLT: A is Hermitian */
  /* LU, LDLT: a diagonal entry is used as pivot without an interchange if it is at least this share of the
   * entries below it in the block; 0: partial pivoting, Bunch and Kaufman. LDLT: if second[k + 1], columns k
   * and k + 1 are tried as a pivot of order 2; b entries, interchanged along with the columns. */
  double threshold;
  bool *second;
  void *inverse; /* LDLT: D^-1, 2 b scalars: [2 k] is its diagonal entry k, [2 k + 1] its entry (k + 1, k) */
  float *share;  /* b, or NULL. out: size of each pivot divided by column_size; not written for the second
                    column of a pivot of order 2 */
  double smallest, largest;  /* out: smallest and largest size of a pivot before perturbation */
  double weakest, strongest; /* out: smallest and largest ratio of a pivot's size to column_size */
  double nearest; /* out: LDLT: the smallest entry whose comparison with tiny decided the order of a pivot */
  tsi_index weakest_column; /* out: column of the weakest pivot (inside the panel); TSI_NONE: no pivot */
  tsi_index perturbed;      /* out: number of perturbed pivots */
  tsi_index stray;          /* out: number of perturbed pivots whose rows are not dependent */
  tsi_index dependent;      /* out: the first column (inside the panel) of a dependent row; TSI_NONE: none */
  tsi_index failed;         /* out: column of an unusable pivot; TSI_NONE: none */
  tsi_pivot_failure why;    /* out: reason, if a pivot failed */
} tsi_pivoting;

static inline void tsi_pivoting_begin(tsi_pivoting *result) {
  result->smallest = result->weakest = result->nearest = INFINITY;
  result->largest = result->strongest = 0;
  result->weakest_column = TSI_NONE;
  result->perturbed = result->stray = 0;
  result->dependent = result->failed = TSI_NONE;
}

static inline void tsi_pivoting_fail(tsi_pivoting *result, tsi_index column, tsi_pivot_failure why) {
  result->failed = column;
  result->why = why;
}

/* Records the size of a pivot. largest: size of the largest entry of its column (two columns for order 2). */
static inline void tsi_pivoting_measure(tsi_pivoting *result, tsi_index column, double size, double largest) {
  const double share = largest > 0 ? size / largest : INFINITY;
  if (size < result->smallest) result->smallest = size;
  if (size > result->largest) result->largest = size;
  if (share > result->strongest) result->strongest = share;
  if (result->share != NULL) result->share[column] = (float)share;
  if (share < result->weakest) {
    result->weakest = share;
    result->weakest_column = column;
  }
}

/* Records a pivot; returns true if it must be perturbed. If it is not finite, sets result->failed. */
static inline bool tsi_pivoting_note(tsi_pivoting *result, tsi_index column, double size) {
  const double largest = result->column_size[column];
  const bool dependent = size <= result->least * largest, perturb = size < result->tiny;
  if (!isfinite(size) || (result->fixed && size == 0)) {
    tsi_pivoting_fail(result, column, TSI_PIVOT_NOT_FINITE);
    return false;
  }
  tsi_pivoting_measure(result, column, size, largest);
  if (dependent && result->dependent == TSI_NONE) result->dependent = column;
  result->perturbed += perturb;
  result->stray += perturb && !dependent;
  return perturb;
}

/* One entry of the matrix that is added to a front: row and column of the front, row < w or column < w. The
 * value is values[source] factor second, conjugated if conjugate. Multiply in this order: the product of both
 * factors may be out of range although the result is not. */
typedef struct tsi_front_entry {
  tsi_count source;
  double factor; /* the larger scaling of row and column, with the sign of a skew-symmetric mirror image */
  double second; /* the other scaling */
  tsi_index row, column;
  bool conjugate;
} tsi_front_entry;

/* The entries of the matrix that are added to the w columns of a front, or (upper) to its w rows: the lines.
 * Entry q of line k is the value of `source[q]` times both scalings, the larger one first. source < 0: the
 * mirror image of the value of ~source, times `sign`, conjugated if `conjugate`. */
typedef struct tsi_front_lines {
  const tsi_count *ptr;                   /* w + 1 */
  const tsi_index *other, *place;         /* by entry: the other index, in final numbering and in the front */
  const tsi_count *source;                /* by entry */
  const double *line_scale, *other_scale; /* by line; by final index. NULL: ones */
  double sign;
  bool upper, conjugate;
} tsi_front_lines;

/* The kernels of one scalar type. LLT: A = L L^T, for complex types A = L L^H. */
typedef struct tsi_front_kernels {
  size_t scalar_bytes;
  /* Zeroes columns c0 .. c1-1 of the front. */
  void (*zero)(const tsi_front *front, tsi_index c0, tsi_index c1);
  /* Adds `count` entries. wide: values are of the double type of the same kind, and scaled in it. */
  void (*add_entries)(const tsi_front *front, const tsi_front_entry *entry, tsi_count count,
                      const void *values, bool wide);
  /* Adds the entries in columns c0 .. c1-1. wide: as above. */
  void (*add_lines)(const tsi_front *front, const tsi_front_lines *lines, tsi_index c0, tsi_index c1,
                    const void *values, bool wide);
  /* Adds a child's C (of order m) into columns c0 .. c1-1 of the front; position[i]: front row of the child's
   * row i, ascending. */
  void (*extend_add)(const tsi_front *front, const void *child, tsi_index m, const tsi_index *position,
                     tsi_index c0, tsi_index c1);
  /* Adds a block of a child's C in the same way. */
  void (*add_block)(const tsi_front *front, const tsi_complement_block *block, tsi_index c0, tsi_index c1);
  /* pivot: b entries, interchanges inside the panel (LU, LDLT), or NULL (LLT). */
  void (*diagonal)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot, tsi_pivoting *result);
  /* Rows r0 .. r1-1 of the front, o + b <= r0. */
  void (*below)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0, tsi_index r1);
  /* Columns c0 .. c1-1 of the front, o + b <= c0, all < w or all >= w; LU only. */
  void (*right)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index c0, tsi_index c1,
                const tsi_index *pivot);
  /* LDLT: the diagonal block; rows below it. below_ldl also writes the columns of U for these rows. */
  void (*diagonal_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                       tsi_pivoting *result);
  void (*below_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0, tsi_index r1,
                    const tsi_index *pivot, const void *inverse, bool adjoint);
  /* Rows r0 .. r1-1 and columns c0 .. c1-1, all of one tile column, of C. Unless full: on the diagonal (r0
   * == c0, r1 == c1) or below it (c1 <= r0). */
  void (*schur)(const tsi_front *front, tsi_index r0, tsi_index r1, tsi_index c0, tsi_index c1);
  void (*schur_all)(const tsi_front *front);
  /* LU, for a factored panel: size[k], b entries: the size of pivot o + k. term[i - o], rows i = o .. f-1 of
   * the front: the largest |L(i,k) U(k,i)| over the panel's columns k < i. Both are sizes as in tsi_pivoting.
   */
  void (*pivot_terms)(const tsi_front *front, tsi_index o, tsi_index b, double *size, double *term);
  /* Packs a factored panel: writes triangle and rectangle (panel.h) to lower, and for LU the transpose of U's
   * to upper. work: b TSI_PANEL_WIDTH_MAX scalars. */
  void (*pack)(const tsi_front *front, tsi_index o, tsi_index b, tsi_inverse inverse, void *lower,
               void *upper, void *work);
  /* ---- By stripes. The products are the same as in the functions above. ---- */
  /* Adds entries to the stripe's rows left of and in the diagonal block, and to its columns above the block.
   */
  void (*stripe_add_entries)(const tsi_front_stripe *stripe, const tsi_front_entry *entry, tsi_count count,
                             const void *values, bool wide);
  /* Adds a block to L and C, or (upper) to U. Its rows, or columns, are in the stripe. w: columns of L. */
  void (*stripe_add_block)(const tsi_front_stripe *stripe, tsi_index w, bool upper, bool full,
                           const tsi_complement_block *block);
  void (*stripe_diagonal)(const tsi_front_stripe *panel, tsi_index *pivot, tsi_pivoting *result);
  void (*stripe_diagonal_ldl)(const tsi_front_stripe *panel, tsi_index *pivot, tsi_pivoting *result);
  /* Computes the stripe's rows in the columns of an earlier panel. */
  void (*stripe_below)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe);
  void (*stripe_below_ldl)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe,
                           const tsi_index *pivot, const void *inverse, bool adjoint);
  /* LU: computes the stripe's columns in the rows of the panel. */
  void (*stripe_right)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe, const tsi_index *pivot);
  /* Updates C in the rows of the stripe and the columns of another stripe, from column c0 of C on. */
  void (*stripe_schur)(const tsi_front_stripe *stripe, const tsi_front_stripe *other, tsi_index w,
                       tsi_index c0);
  /* Does the work of pivot_terms: size[k] for the diagonal block, if there is one; term[i] for the rows of
   * the stripe. w: columns of L. */
  void (*stripe_terms)(const tsi_front_stripe *stripe, tsi_index w, double *size, double *term);
  /* Not TSI_INVERSE_PARTITIONED: packs the triangle of a panel, and writes the zeros around its rectangle, up
   * to the next panel. height: rows of the rectangle. work: as for `pack`. upper: NULL unless LU. */
  void (*stripe_pack_panel)(const tsi_front_stripe *panel, tsi_index height, tsi_inverse inverse, void *lower,
                            void *upper, void *work);
  /* Packs the stripe's rows of the rectangle of an earlier panel, which has b columns from o on. */
  void (*stripe_pack)(const tsi_front_stripe *stripe, tsi_index o, tsi_index b, tsi_index height, void *lower,
                      void *upper);
  /* For a packed panel with an inverted diagonal block, X = D^-1: returns the largest |X(i,j)| /
   * max(|X(i,i)|, |X(j,j)|). A product with X has a backward error of so many roundoffs, for any scaling of D
   * (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 14.2); substitution has one of one
   * roundoff. */
  double (*inverse_growth)(tsi_index b, const void *packed);
  /* For given factors: P holds a triangular factor (C and Q are NULL). Packs its panel. unit: the diagonal is
   * one, and its stored entries are ignored. Not TSI_INVERSE_PARTITIONED. */
  void (*pack_lower)(const tsi_front *front, tsi_index o, tsi_index b, bool unit, tsi_inverse inverse,
                     void *lower, void *work);
  /* Adds entry e of `count` to row row[e] of a column of P; negative: left out. Its value is
   * values[index ? index[e] : e]. */
  void (*add_column)(const tsi_front *front, tsi_index column, tsi_count count, const tsi_index *row,
                     const void *values, const tsi_count *index);
  /* Returns the first column of P with a zero on its diagonal; TSI_NONE: none. */
  tsi_index (*zero_diagonal)(const tsi_front *front);
  /* Writes D^-1 as in tsi_pivoting; column j inverts entry order[j] of D. Returns an entry that is zero;
   * TSI_NONE: none. */
  tsi_index (*invert_diagonal)(tsi_index n, const tsi_index *order, const void *diagonal, void *inverse);
} tsi_front_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_front_kernels *tsi_front_kernels_select(char scalar);

/* Returns rows (columns) begin .. end - 1 of a front as a stripe. All of them are in its supernode, or none.
 */
static inline tsi_front_stripe tsi_front_stripe_of(const tsi_front *front, size_t scalar_bytes,
                                                   tsi_index begin, tsi_index end) {
  const size_t f = (size_t)front->f, at = (size_t)begin, inside = at < (size_t)front->w;
  char *p = (char *)front->p, *q = (char *)front->q;
  return (tsi_front_stripe){.begin = begin,
                            .rows = end - begin,
                            .l = p + at * scalar_bytes,
                            .d = inside ? p + (at + at * f) * scalar_bytes : NULL,
                            .ldl = front->f,
                            .u = q == NULL ? NULL
                                 : inside  ? p + at * f * scalar_bytes
                                           : q + (at - (size_t)front->w) * (size_t)front->w * scalar_bytes,
                            .ldu = inside ? front->f : front->w};
}

#ifdef TSI_LETTER /* in the files that are compiled for each scalar type */
#include "codelets/cpu/base/scalar.h"

/* Computes in double precision, because scalings of single values may exceed the range of single. */
static inline tsi_scalar TSI_TYPED(tsi_front_value)(const tsi_front_entry *e, const void *values, bool wide) {
  const tsi_wide value =
      wide ? ((const tsi_wide *)values)[e->source] : (tsi_wide)((const tsi_scalar *)values)[e->source];
  const tsi_scalar a = (tsi_scalar)(value * e->factor * e->second);
  return e->conjugate ? tsi_conj(a) : a;
}
extern const tsi_front_kernels TSI_TYPED(tsi_front_kernels);
void TSI_TYPED(tsi_front_diagonal_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                                       tsi_pivoting *result);
void TSI_TYPED(tsi_front_below_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0,
                                    tsi_index r1, const tsi_index *pivot, const void *inverse, bool adjoint);
void TSI_TYPED(tsi_stripe_diagonal_ldl)(const tsi_front_stripe *panel, tsi_index *pivot,
                                        tsi_pivoting *result);
void TSI_TYPED(tsi_stripe_below_ldl)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe,
                                     const tsi_index *pivot, const void *inverse, bool adjoint);
void TSI_TYPED(tsi_stripe_add_entries)(const tsi_front_stripe *stripe, const tsi_front_entry *entry,
                                       tsi_count count, const void *values, bool wide);
void TSI_TYPED(tsi_stripe_add_block)(const tsi_front_stripe *stripe, tsi_index w, bool upper, bool full,
                                     const tsi_complement_block *block);
void TSI_TYPED(tsi_stripe_schur)(const tsi_front_stripe *stripe, const tsi_front_stripe *other, tsi_index w,
                                 tsi_index c0);
void TSI_TYPED(tsi_stripe_terms)(const tsi_front_stripe *stripe, tsi_index w, double *size, double *term);
void TSI_TYPED(tsi_stripe_pack_panel)(const tsi_front_stripe *panel, tsi_index height, tsi_inverse inverse,
                                      void *lower, void *upper, void *work);
void TSI_TYPED(tsi_stripe_pack)(const tsi_front_stripe *stripe, tsi_index o, tsi_index b, tsi_index height,
                                void *lower, void *upper);
void TSI_TYPED(tsi_front_pack)(const tsi_front *front, tsi_index o, tsi_index b, tsi_inverse inverse,
                               void *lower, void *upper, void *work);
double TSI_TYPED(tsi_front_inverse_growth)(tsi_index b, const void *packed);
void TSI_TYPED(tsi_front_pack_lower)(const tsi_front *front, tsi_index o, tsi_index b, bool unit,
                                     tsi_inverse inverse, void *lower, void *work);
void TSI_TYPED(tsi_front_add_column)(const tsi_front *front, tsi_index column, tsi_count count,
                                     const tsi_index *row, const void *values, const tsi_count *index);
tsi_index TSI_TYPED(tsi_front_zero_diagonal)(const tsi_front *front);
tsi_index TSI_TYPED(tsi_front_invert_diagonal)(tsi_index n, const tsi_index *order, const void *diagonal,
                                               void *inverse);
#endif
