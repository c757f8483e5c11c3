/* TriStar: solves with triangular matrices, and with the factors of other solvers.
 *
 *   tristar_import_triangle     a triangular matrix -> a factor
 *   tristar_find_triangle       is a matrix triangular after permutations?
 *   tristar_import_supernodal   L, D, U, permutations and scalings of any solver -> a factor
 *   tristar_reimport            new values in the same structure
 *
 * tristar_plan and tristar_solve (tristar.h) then use the factor like one of tristar_factor. Adapters for
 * some solvers fill tristar_factors: tristar_cholmod.h, tristar_klu.h, tristar_superlu.h,
 * tristar_superlu_dist.h, tristar_umfpack.h. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_TRIANGLE_H
#define TRISTAR_TRIANGLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Factors from elsewhere --------------------------------------------------------------------------- */

/* How a triangular matrix is stored. */
typedef enum tristar_triangle_format {
  TRISTAR_TRIANGLE_COLUMNS,   /* compressed columns */
  TRISTAR_TRIANGLE_ROWS,      /* compressed rows */
  TRISTAR_TRIANGLE_SUPERNODES /* dense blocks of columns that share their rows */
} tristar_triangle_format;

/* A triangular matrix of order n in arrays of the caller, which are only read; numbers count from 0. Its
 * place in tristar_factors says whether it is a lower or an upper one; an entry in the other triangle is an
 * error.
 *
 * COLUMNS, ROWS: line j has the entries ptr[j] .. end[j] - 1 of index and values, in any order; values summed
 * where an index repeats.
 *
 * SUPERNODES (lower triangles only): supernode s holds columns first[s] .. first[s+1] - 1. Its rows are
 * index[ptr[s]] .. index[ptr[s+1] - 1]: first its own columns, ascending, then the rows below in any order.
 * blocks[s] is its dense block, column-major, its leading dimension the number of its rows. What stands above
 * the diagonal is not read. */
typedef struct tristar_triangle {
  tristar_triangle_format format; /* which of the following fields are used */
  int unit_diagonal;        /* 1: ones on the diagonal; what is stored there is not read and may be missing */
  int ptr_bits, index_bits; /* 32 or 64 */
  const void *ptr;          /* n + 1 (supernodes + 1) integers of ptr_bits */
  const void *end;    /* COLUMNS, ROWS: n integers of ptr_bits; NULL: a line ends where the next begins */
  const void *index;  /* integers of index_bits */
  const void *values; /* COLUMNS, ROWS */
  int64_t supernodes; /* SUPERNODES */
  const void *first;  /* SUPERNODES: supernodes + 1 integers of index_bits, 0 first and n last */
  const void *const *blocks; /* SUPERNODES: supernodes pointers */
} tristar_triangle;

/* COLUMNS, 32-bit ptr and index, no unit diagonal; sizes 0 and arrays NULL. */
TRISTAR_API void tristar_triangle_init(tristar_triangle *triangle);

/* The factors of a matrix A, made by any solver, in arrays of the caller, which are only read:
 *
 *   row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l)      r = row_order[k], c = column_order[l]
 *
 *   METHOD_LLT   D = I, U = L^T, or L^H if hermitian
 *   METHOD_LDLT  U = L^T, or L^H if hermitian; D diagonal
 *   METHOD_LU    D = I; L and U need not have related structures (partial pivoting) */
typedef struct tristar_factors {
  int64_t n;                               /* order of A */
  tristar_scalar scalar;                   /* type of all values */
  tristar_method method;                   /* LLT, LDLT or LU */
  int hermitian;                           /* complex LLT and LDLT */
  tristar_triangle lower;                  /* L */
  tristar_triangle upper;                  /* U, METHOD_LU only */
  const void *diagonal;                    /* METHOD_LDLT: the n diagonal entries of D, scalars */
  const int64_t *row_order, *column_order; /* n; NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale;  /* n, by row and column of A; NULL: ones */
  const tristar_view *matrix; /* A, for refinement and condition estimates; NULL: these are not available */
} tristar_factors;

/* Sets all of *factors to zero, NULL and METHOD_LU. */
TRISTAR_API void tristar_factors_init(tristar_factors *factors);

/* Makes a factor of the library from factors that another solver computed. The values are copied (packed,
 * with diagonal blocks inverted), nothing of the caller is kept. Columns of like structure become supernodes,
 * whatever the format; L and U keep their own structures. The factor serves plans and solves like one of
 * tristar_factor; tristar_refactor gives UNSUPPORTED. Errors: ARGUMENT, FORMAT (an index out of its triangle,
 * an order that is no permutation: the message names the place), SINGULAR (a zero or missing diagonal entry),
 * NOT_FINITE (NaN or infinity; or the inverse of a diagonal block is out of the type's range: values are not
 * scaled), TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_supernodal(tristar_t *ts,
                                                                     const tristar_factors *factors,
                                                                     tristar_factor_t **factor);

/* New values in the same structure: plans of this factor solve with them from their next solve on, as after
 * tristar_refactor. Errors: as above, and STALE: an entry that is not zero lies outside the structure
 * imported first; the factor then holds no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport(tristar_factor_t *factor,
                                                            const tristar_factors *factors);

/* Which triangle of a view is meant. */
typedef enum tristar_uplo {
  TRISTAR_LOWER = 'L', /* on and below the diagonal */
  TRISTAR_UPPER = 'U'  /* on and above it */
} tristar_uplo;

/* Whether the diagonal of a triangle is one. */
typedef enum tristar_diag {
  TRISTAR_UNIT = 'U',    /* ones, whatever is stored */
  TRISTAR_NON_UNIT = 'N' /* as stored */
} tristar_diag;

/* How a triangular matrix is divided into chunks. LEVELS, SUPERSTEPS and WHOLE go by rows: each row is summed
 * from the entry farthest from the diagonal on, so that they give the same bits. SUPERNODES multiply by
 * inverted diagonal blocks, and COLUMN, ROW and RECURSIVE (the block algorithms of Lu, Niu, Liu 2020) sum a
 * row part by part: each of these has bits of its own. Where only some rows of b are given, or of x wanted
 * (b_row, x_row), the last three go by rows, too. With none of them the bits depend on workers or engine. */
typedef enum tristar_partition {
  TRISTAR_PARTITION_AUTO, /* SUPERNODES, if 7 of 10 columns continue the one before; else WHOLE, if level sets
                             have few rows or if, on one core, the given order is faster; else SUPERSTEPS */
  TRISTAR_PARTITION_SUPERNODES, /* columns of like structure, as dense panels: factors of direct solvers */
  TRISTAR_PARTITION_LEVELS, /* row by row, by level sets: rows that do not wait for each other (Anderson and
                               Saad 1989), each shared by the cores; narrow ones come together */
  TRISTAR_PARTITION_SUPERSTEPS, /* row by row, several level sets at a time, in which cores wait for each
                                   other as seldom as the matrix lets them; for one core: window by window of
                                   the given order, in which rows that do not wait for each other follow */
  TRISTAR_PARTITION_WHOLE,      /* row by row, all in one chunk: nothing runs at the same time */
  TRISTAR_PARTITION_COLUMN,     /* triangles on the diagonal, and below each a rectangle with its columns */
  TRISTAR_PARTITION_ROW,        /* the same with rectangles of rows, each left of a triangle */
  TRISTAR_PARTITION_RECURSIVE   /* the same with the lower left quarter as a rectangle, halves cut likewise */
} tristar_partition;

/* What tristar_import_triangle needs to know. Fill it with tristar_triangle_options_init first.
 *
 * T, the triangle, need not be the matrix A that is solved with. As in tristar_factors
 *
 *   row_scale[r] A(r, c) column_scale[c] = T(k, l)      r = row_order[k], c = column_order[l]
 *
 * so that, of A x = b, rows of b are scaled and permuted before the solve with T, and what comes out is
 * permuted to x and scaled. The arrays are copied. */
typedef struct tristar_triangle_options {
  size_t size;                             /* Set by tristar_triangle_options_init. */
  tristar_uplo uplo;                       /* which triangle of the view; default LOWER */
  tristar_diag diag;                       /* whether its diagonal is one; default NON_UNIT */
  tristar_partition partition;             /* how plans divide it; default AUTO */
  const int64_t *row_order, *column_order; /* n; NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale;  /* n, by row and column of A, none of them 0; NULL: ones */
  int permuted; /* 0: the view has T(k, l) as its entry (k, l); 1: as its entry (row_order[k],
                   column_order[l]), and is GENERAL; as tristar_find_triangle finds it */
} tristar_triangle_options;

/* Sets the defaults. */
#define tristar_triangle_options_init(options)                                                               \
  tristar_triangle_options_init_sized((options), sizeof *(options))

/* A triangular matrix T as a factor on its own: solves with T, T^T and T^H, or, where the options scale or
 * permute, with A, A^T and A^H. Entries of view in the other triangle, and with UNIT those on the diagonal,
 * are not read; a view that is symmetric, skew-symmetric or Hermitian has both triangles, whichever it
 * stores. Refinement works; its matrix is T, or A, whose entries are rounded if scales are no powers of two.
 * Errors: as tristar_import_supernodal; UNSUPPORTED: a permuted view that is not GENERAL. options NULL: the
 * defaults. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_triangle(tristar_t *ts, const tristar_view *view,
                                                                   const tristar_triangle_options *options,
                                                                   tristar_factor_t **factor);
/* The same with TRISTAR_PARTITION_AUTO. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_csr(tristar_t *ts, const tristar_view *view,
                                                              tristar_uplo uplo, tristar_diag diag,
                                                              tristar_factor_t **factor);

/* What tristar_find_triangle finds. */
typedef enum tristar_shape {
  TRISTAR_SHAPE_OTHER,   /* no orders of rows and columns make it triangular, or it is singular */
  TRISTAR_SHAPE_LOWER,   /* lower triangular as it stands; also if it is diagonal */
  TRISTAR_SHAPE_UPPER,   /* upper triangular as it stands */
  TRISTAR_SHAPE_PERMUTED /* lower triangular once rows and columns are permuted */
} tristar_shape;

/* Is a matrix triangular, if need be after a permutation of its rows and one of its columns? All entries that
 * are stored count, zeros too; but the diagonal must be stored, and have no zeros if view has values. Then
 * entry (row_order[k], column_order[l]) is entry (k, l) of the triangle; each array has n entries, which are
 * set unless the shape is OTHER, or is NULL. They are what tristar_triangle_options takes, with `permuted`.
 * A symmetric kind of view is OTHER. Rows (of CSR: columns) with one entry are taken out, one after the
 * other, which takes time linear in rows and entries; where there is none to begin with, as in most matrices,
 * entries are only counted. Errors: those of a view, as tristar_analyze has them; RECTANGULAR, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_find_triangle(tristar_t *ts, const tristar_view *view,
                                                                 tristar_shape *shape, int64_t *row_order,
                                                                 int64_t *column_order);

#ifdef __cplusplus
}
#endif
#endif
