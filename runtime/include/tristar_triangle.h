/* TriStar: solves with triangular matrices, and with the factors of other solvers.
 *
 *   tristar_import_triangle     a triangular matrix -> a factor
 *   tristar_find_triangle       finds permutations that make a matrix triangular
 *   tristar_import_supernodal   L, D, U, permutations and scalings of any solver -> a factor
 *   tristar_reimport            new values in the same structure
 *
 * tristar_plan and tristar_solve (tristar.h) then use the factor like one of tristar_factor. Adapters for
 * some solvers fill tristar_factors: tristar_cholmod.h, tristar_klu.h, tristar_superlu.h,
 * tristar_superlu_dist.h, tristar_umfpack.h.
 *
 * Lanes. With ENGINE_AUTO a triangular matrix that is not divided into supernodes runs in lanes: a lane is
 * the work of one core, and there are as many as StarPU has CPU workers. The calling thread works on the
 * lanes. StarPU's workers on other cores help it if solves with their help took less time lately; both ways
 * are tried alternately at first, and the other one now and then. The calling thread solves alone, with one
 * lane, if a sweep reads less than 300 kB, has one chunk, or StarPU is not used. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_TRIANGLE_H
#define TRISTAR_TRIANGLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Factors of other solvers ------------------------------------------------------------------------ */

/* Storage of a triangular matrix. */
typedef enum tristar_triangle_format {
  TRISTAR_TRIANGLE_COLUMNS,   /* Compressed columns. */
  TRISTAR_TRIANGLE_ROWS,      /* Compressed rows. */
  TRISTAR_TRIANGLE_SUPERNODES /* Dense blocks of columns that share their rows. */
} tristar_triangle_format;

/* A triangular matrix of order n in arrays of the caller, which are only read. Numbers count from 0. Its
 * place in tristar_factors decides whether it is lower or upper. An entry in the other triangle is an error.
 *
 * COLUMNS, ROWS: line j has the entries ptr[j] .. end[j] - 1 of index and values, in any order. Values of
 * equal indices are summed. If no line has an entry, index and values may be NULL.
 *
 * SUPERNODES (lower triangles only): supernode s has the columns first[s] .. first[s+1] - 1. Its rows are
 * index[ptr[s]] .. index[ptr[s+1] - 1]: first its own columns, ascending, then the rows below in any order.
 * blocks[s] is its dense block, column-major; the leading dimension is the number of its rows. Entries above
 * the diagonal are not read. */
typedef struct tristar_triangle {
  tristar_triangle_format format; /* Decides which of the following fields are used. */
  int unit_diagonal; /* 1: ones on the diagonal. Stored diagonal entries are not read, and may be missing. */
  int ptr_bits, index_bits; /* 32 or 64. */
  const void *ptr;          /* n + 1 (SUPERNODES: supernodes + 1) integers of ptr_bits bits. */
  const void *end; /* COLUMNS, ROWS: n integers of ptr_bits bits. NULL: a line ends where the next begins. */
  const void *index;         /* Integers of index_bits bits. */
  const void *values;        /* COLUMNS, ROWS: the values. */
  int64_t supernodes;        /* SUPERNODES: their number. */
  const void *first;         /* SUPERNODES: supernodes + 1 integers of index_bits bits, from 0 to n. */
  const void *const *blocks; /* SUPERNODES: one pointer for each. */
} tristar_triangle;

/* COLUMNS, 32-bit ptr and index, no unit diagonal; sizes 0 and arrays NULL. */
TRISTAR_API void tristar_triangle_init(tristar_triangle *triangle);

/* The factors of a matrix A, of any solver, in arrays of the caller, which are only read:
 *
 *   row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l)      r = row_order[k], c = column_order[l]
 *
 *   METHOD_LLT   D = I, U = L^T, or L^H if hermitian
 *   METHOD_LDLT  U = L^T, or L^H if hermitian; D diagonal
 *   METHOD_LU    D = I; the structures of L and U may be unrelated (partial pivoting) */
typedef struct tristar_factors {
  int64_t n;                               /* Order of A. */
  tristar_scalar scalar;                   /* Type of all values. */
  tristar_method method;                   /* LLT, LDLT or LU. */
  int hermitian;                           /* 1: complex LLT and LDLT with L^H. */
  tristar_triangle lower;                  /* L */
  tristar_triangle upper;                  /* U; METHOD_LU only. */
  const void *diagonal;                    /* METHOD_LDLT: the n diagonal entries of D. */
  const int64_t *row_order, *column_order; /* n entries each. NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale;  /* n entries each, by row and by column of A. NULL: ones. */
  const tristar_view *matrix; /* A, for refinement and condition estimates. NULL: without these. */
} tristar_factors;

/* METHOD_LU and DOUBLE; all else 0 and NULL. */
TRISTAR_API void tristar_factors_init(tristar_factors *factors);

/* Makes a factor of the library from factors of another solver. It copies the values, and inverts diagonal
 * blocks unless that would spoil solves (tristar_stats.h). Columns of similar structure become supernodes,
 * whatever the format; L and U keep structures of their own. Plans and solves use the factor like one of
 * tristar_factor; tristar_refactor returns UNSUPPORTED. Errors: ARGUMENT, FORMAT (an index outside the
 * triangle, an order that is no permutation: the message names the place), SINGULAR (a zero or missing
 * diagonal entry), NOT_FINITE (NaN or infinity; or the reciprocal of a diagonal entry exceeds the range of
 * the type), TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_supernodal(tristar_t *ts,
                                                                     const tristar_factors *factors,
                                                                     tristar_factor_t **factor);

/* Imports new values in the same structure. Plans of the factor use them from their next solve on. Errors: as
 * tristar_import_supernodal; NOT_FINITE also if the inverse of a diagonal block exceeds the range of the
 * type, where a new import would use substitution; STALE: n, scalar, method, an order or the pattern of the
 * matrix is another one, or a nonzero entry is outside the structure of the first import; UNSUPPORTED: the
 * factor was not imported, or is a triangle. After ARGUMENT and UNSUPPORTED the factor is as before. After
 * other errors it may have no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport(tristar_factor_t *factor,
                                                            const tristar_factors *factors);

/* ---- Triangular matrices ----------------------------------------------------------------------------- */

/* A triangle of a view. */
typedef enum tristar_uplo {
  TRISTAR_LOWER = 'L', /* On and below the diagonal. */
  TRISTAR_UPPER = 'U'  /* On and above the diagonal. */
} tristar_uplo;

/* The diagonal of a triangle. */
typedef enum tristar_diag {
  TRISTAR_UNIT = 'U',    /* Ones, whatever is stored. */
  TRISTAR_NON_UNIT = 'N' /* As stored. */
} tristar_diag;

/* Partition of a triangular matrix into chunks. LEVELS, SUPERSTEPS and WHOLE go by rows: they sum each row
 * from the entry farthest from the diagonal on, and so return the same bits. SUPERNODES multiplies by
 * inverted diagonal blocks. COLUMN, ROW and RECURSIVE (the block algorithms of Lu, Niu, Liu 2020) sum a row
 * block by block. Each of these four returns bits of its own; the last three go by rows for sparse right-hand
 * sides and chosen rows. Bits never depend on workers or engine. */
typedef enum tristar_partition {
  TRISTAR_PARTITION_AUTO, /* SUPERNODES, if 7 of 10 columns continue the column before. Else WHOLE, if level
                             sets have few rows, or if on one core the given order is faster. Else SUPERSTEPS.
                           */
  TRISTAR_PARTITION_SUPERNODES, /* Columns of similar structure as dense panels: for factors of direct
                                   solvers. */
  TRISTAR_PARTITION_LEVELS, /* Rows, by level sets (Anderson and Saad 1989). The cores share each set; narrow
                               sets are joined. */
  TRISTAR_PARTITION_SUPERSTEPS, /* Rows, several level sets at a time, with as few waits between cores as the
                                   matrix allows. On one core: windows of the given order, in which
                                   independent rows follow each other. */
  TRISTAR_PARTITION_WHOLE,      /* Rows, all in one chunk, without parallelism. */
  TRISTAR_PARTITION_COLUMN,     /* Triangles on the diagonal, below each a rectangle with its columns. */
  TRISTAR_PARTITION_ROW,        /* Triangles on the diagonal, left of each a rectangle with its rows. */
  TRISTAR_PARTITION_RECURSIVE   /* The lower left quarter is a rectangle, and both halves are cut likewise. */
} tristar_partition;

/* Options of tristar_import_triangle. Call tristar_triangle_options_init first.
 *
 * The triangle T may be a permutation and scaling of the matrix A that is solved with, as in tristar_factors:
 *
 *   row_scale[r] A(r, c) column_scale[c] = T(k, l)      r = row_order[k], c = column_order[l]
 *
 * Then a solve scales and permutes the rows of b, solves with T, and permutes and scales the result. The
 * arrays are copied. */
typedef struct tristar_triangle_options {
  size_t size;                             /* Set by tristar_triangle_options_init. */
  tristar_uplo uplo;                       /* The triangle of the view; default LOWER. */
  tristar_diag diag;                       /* The diagonal; default NON_UNIT. */
  tristar_partition partition;             /* The partition of plans; default AUTO. */
  const int64_t *row_order, *column_order; /* n entries each. NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale; /* n nonzero entries each, by row and by column of A. NULL: ones. */
  int permuted; /* 0: entry (k, l) of the view is T(k, l). 1: entry (row_order[k], column_order[l]) is, as
                   tristar_find_triangle returns them, and the view is GENERAL. */
} tristar_triangle_options;

/* LOWER, NON_UNIT, AUTO, no orders and no scales. */
#define tristar_triangle_options_init(options)                                                               \
  tristar_triangle_options_init_sized((options), sizeof *(options))

/* Makes a factor of a triangular matrix T: solves with T, T^T and T^H; with orders or scales solves with A,
 * A^T and A^H. Entries of view in the other triangle are not read, and with UNIT neither is the diagonal.
 * A symmetric, skew-symmetric or Hermitian view has both triangles, whichever it stores. Refinement uses T,
 * or A, whose entries are rounded if scales are no powers of two. options may be NULL. view->values may be
 * NULL if the view has no entries. Errors: as tristar_import_supernodal; UNSUPPORTED: a permuted view that is
 * not GENERAL. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_triangle(tristar_t *ts, const tristar_view *view,
                                                                   const tristar_triangle_options *options,
                                                                   tristar_factor_t **factor);
/* The same with TRISTAR_PARTITION_AUTO. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_csr(tristar_t *ts, const tristar_view *view,
                                                              tristar_uplo uplo, tristar_diag diag,
                                                              tristar_factor_t **factor);

/* Result of tristar_find_triangle. */
typedef enum tristar_shape {
  TRISTAR_SHAPE_OTHER,   /* No permutations make the matrix triangular, or it is singular. */
  TRISTAR_SHAPE_LOWER,   /* Lower triangular as given, or diagonal. */
  TRISTAR_SHAPE_UPPER,   /* Upper triangular as given. */
  TRISTAR_SHAPE_PERMUTED /* Lower triangular after permutations of rows and columns. */
} tristar_shape;

/* Finds permutations of rows and columns that make a matrix triangular. All stored entries count, zeros too.
 * The diagonal must be stored, and must have no zeros if view has values. Unless the shape is OTHER, entry
 * (row_order[k], column_order[l]) becomes entry (k, l) of the triangle, as tristar_triangle_options takes it
 * with `permuted`. Each array has n entries or is NULL. A view that is not GENERAL is OTHER. The algorithm
 * removes rows (of CSR: columns) with one entry, one after the other, in time linear in rows and entries. If
 * no such row exists at first, as in most matrices, it only counts entries. Errors: those of a view, as
 * tristar_analyze returns them; RECTANGULAR, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_find_triangle(tristar_t *ts, const tristar_view *view,
                                                                 tristar_shape *shape, int64_t *row_order,
                                                                 int64_t *column_order);

#ifdef __cplusplus
}
#endif
#endif
