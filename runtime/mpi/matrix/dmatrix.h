/* A matrix whose rows lie on all ranks: see tristar_dmatrix_mpi.h.
 *
 * Job. Hold the rows of this rank in pieces: the diagonal block, whose columns are its own, and one block for
 * each owner, a rank that has other columns that the rows meet; and say who needs which entries of this rank
 * (an asker). Multiply with these pieces while entries travel.
 *
 *   op N      to each asker go the entries that it needs; y = D x; y += O_k g_k for each owner k, in order,
 * as its entries g_k arrive op T, C   to each owner k goes O_k' x, its share of y; y = D' x; the shares of
 * askers are added in order
 *
 * A product takes up to TSI_DCOLUMNS vectors at once. Messages of each width have a mailbox of their own;
 * those of a width begin where those of one vector do, times the width, and hold one vector after the other.
 *
 * Reads   rows of the user's, entries of other ranks.   Writes  its own members.
 * Invariants (tsi_dmatrix_check)
 *   - owners and askers ascend by rank and are other ranks; ghosts are numbered by owner, then by column
 *   - columns of a row of the diagonal block, and of a row of a block, ascend strictly
 *   - a row that a block does not meet has no line in it; `row` ascends
 *   - products read the diagonal block in slices (sliced.h), of a Hermitian one the lower half (halves.h);
 * both have the values of its entries
 *   - mailboxes are made by all ranks at the same call; at most one run is in flight */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "runtime/iterate/krylov/krylov.h"
#include "runtime/matrix/halves.h"
#include "runtime/matrix/pattern.h"
#include "runtime/mpi/matrix/refine_rows.h"
#include "tristar_dmatrix_mpi.h"

#define TSI_DWIDTHS 4                         /* 1, 2, 4, 8 vectors */
#define TSI_DCOLUMNS (1 << (TSI_DWIDTHS - 1)) /* the most at once */

/* A rank that has ghosts, or that needs entries of this one; which ones: first .. first + count - 1. */
typedef struct tsi_dpeer {
  int rank;
  tsi_index first, count;
} tsi_dpeer;

enum { TSI_DPLAIN, TSI_DTRANSPOSE, TSI_DADJOINT, TSI_DFORMS }; /* of ops N, T, C */

/* op(A) as products read it. Items are values. */
typedef struct tsi_dform {
  bool there;
  tsi_entries diagonal; /* N: kept; else ptr is NULL */
  tsi_halves stored;    /* the diagonal block, for products */
  tsi_entries *block;   /* owners. N: lines are rows of op(A), indices ghosts of the owner; else the reverse,
                           and indices are rows of this rank */
  tsi_count **row;      /* owners. N: which row a line is; else NULL */
} tsi_dform;

/* Messages of products of one width, in one direction. */
typedef struct tsi_dexchange {
  tsi_mailbox *mailbox;   /* NULL: not made yet */
  _Atomic(bool) *arrived; /* by receive */
} tsi_dexchange;

struct tristar_dmatrix_s {
  atomic_int references; /* the program, solvers and preconditioners */
  tristar_t *ts;
  tsi_transport *transport;
  const tsi_sparse_kernels *sparse;
  const tsi_krylov_kernels *kernels;
  tsi_halves_kernels products;
  tristar_scalar scalar;
  size_t bytes;   /* of a scalar */
  bool narrow;    /* the diagonal block is stored in half of that for products */
  int64_t *start; /* ranks + 1: the first row of each */
  tsi_index n;    /* rows here */
  tsi_halo *halo;
  int owners, askers;
  tsi_dpeer *owner, *asker;
  tsi_index *ghost_column; /* ghosts: their columns, over the whole matrix */
  tsi_dform form[TSI_DFORMS];
  tsi_dexchange exchange[2][TSI_DWIDTHS]; /* entries to askers; shares to owners */
  char *ghost, *asked;                    /* TSI_DCOLUMNS scalars for each; what travels */
  char *part;                             /* a scalar for each line of the longest block, or row */
  char *product;                          /* n scalars for each of TSI_DCOLUMNS; NULL: not needed yet */
  bool *coupled;                          /* windows: do rows have columns of other ranks? */
  tsi_index unit; /* windows of the diagonal block that are multiplied with together */
  tristar_engine engine;
  tsi_crew *crew; /* who works on units */
  tsi_team team;
  tsi_rows_matrix *whole; /* the rows in one piece; NULL: not needed yet */
  tsi_index *column;      /* of its entries, over the whole matrix */
  tsi_system system;      /* the same */
  tsi_index *origin;      /* n: rows here in the matrix that this one was made of; NULL: it is that matrix */
  double square;          /* the sum of |a_ij|^2 over the rows here; 0: not known yet */
  int64_t generation;     /* of the values: the number of updates */
  tsi_halo *origins;      /* brings vectors from the blocks of that matrix; it had old_rows rows here */
  tsi_index old_rows;
  tristar_dmatrix_stats stats;
};

/* Entries of any rows, in any order, as they travel. A column is complemented where the entry is the mirror
 * image of a stored one. */
typedef struct tsi_dplace {
  tsi_index row, col;
} tsi_dplace;
typedef struct tsi_dlist {
  tsi_count count;
  tsi_dplace *place;
  char *value; /* of the matrix's type */
} tsi_dlist;

static inline int64_t tsi_dmatrix_first(const tristar_dmatrix_t *d) {
  return d->start[tsi_transport_rank(d->transport)];
}
/* Has this rank a row of the whole matrix? */
static inline bool tsi_dmatrix_has_row(const tristar_dmatrix_t *d, int64_t row) {
  return row >= tsi_dmatrix_first(d) && row < tsi_dmatrix_first(d) + d->n;
}
/* The rank that has a row. */
int tsi_dmatrix_owner(const tristar_dmatrix_t *d, int64_t row);
/* Collective. Connects `count` rows, ascending, with the ranks that have them; d may have another transport,
 * of the same ranks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_connect(const tristar_dmatrix_t *d, tsi_transport *transport,
                                                   tsi_index count, const tsi_index *row, tsi_halo **out);
static inline tsi_matrix_rows tsi_dmatrix_rows(const tsi_entries *e) {
  return (tsi_matrix_rows){e->ptr, e->index, e->item};
}

/* Of rows of this rank, CSR, with so many columns; the arrays are the caller's to set. */
tristar_view tsi_dmatrix_view(const tristar_dmatrix_t *d, int64_t cols);

/* values[k] = value, a real and an imaginary part, in that type. */
void tsi_dvalue_put(tristar_scalar scalar, const double value[2], void *values, tsi_count k);

/* Collective. Reads the entries of a file of which this rank has a part; d->start and the scalar type are
 * set. Errors: those of tristar_dmatrix_read. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_read_file(tristar_dmatrix_t *d, const char *path,
                                                     const tristar_dmatrix_options *options, tsi_dlist *list,
                                                     tristar_symmetry *symmetry, bool *is_complex);
/* Local. The type of the values, and the kernels, for values of `given`. Errors: ARGUMENT, UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_choose_scalar(tristar_dmatrix_t *d,
                                                         const tristar_dmatrix_options *options,
                                                         tristar_scalar given, bool values);
/* Collective: do all ranks want the same? mine: what this rank has found before. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_agree(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                                 tristar_status mine);

/* Local. Room for so many entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dlist_make(const tristar_dmatrix_t *d, tsi_count count, tsi_dlist *list);
void tsi_dlist_release(tsi_dlist *list);
/* Collective. The list becomes that of the entries of this rank's rows; symmetry: of what is listed. Errors:
 * MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_route(tristar_dmatrix_t *d, tsi_dlist *list,
                                                 tristar_symmetry symmetry);
/* Collective. Makes the pieces of the entries of any rows that the ranks list, whose arrays it frees. Errors:
 * FORMAT, NOT_FINITE, TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_assemble(tristar_dmatrix_t *d, tsi_dlist *list,
                                                    tristar_symmetry symmetry);
/* Collective. The same of the rows of a view, a block a rank; borrowed. Errors: those of that. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_take_rows(tristar_dmatrix_t *d, const tristar_view *view);
/* Another share of the matrix, which tristar_dmatrix_destroy gives back. */
tristar_dmatrix_t *tsi_dmatrix_share(tristar_dmatrix_t *d);
/* Collective. A matrix without rows; mine: what this rank has found before. Errors: those of the transport,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_begin(tristar_t *ts, MPI_Comm comm, tristar_status mine,
                                                 tristar_dmatrix_t **out);
/* Collective. tristar_dmatrix_create, of values that have the single type's precision only: narrow, products
 * read as much of the diagonal block, and have the same bits. Errors: those of tristar_dmatrix_create. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_create(tristar_t *ts, MPI_Comm comm, const tristar_view *rows,
                                                  const tristar_dmatrix_options *options, bool narrow,
                                                  tristar_dmatrix_t **matrix);
/* Collective. What products need beside the pieces. Errors: MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_finish(tristar_dmatrix_t *d, tristar_engine engine);

/* Local. Bytes that a product with op N of one vector has to read: the matrix as it is stored for that, x and
 * what comes of it from others. */
size_t tsi_dmatrix_product_bytes(const tristar_dmatrix_t *d);
/* Local. Bytes of a piece with its lines; 0: there is none. */
size_t tsi_dpiece_bytes(const tsi_entries *piece);
/* Local. The diagonal block as products read it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_store(tristar_dmatrix_t *d);
/* Local. Those who multiply, in the place of those who are there. Errors: those of tsi_crew_begin, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_hire_crew(tristar_dmatrix_t *d, tristar_engine engine);
void tsi_dmatrix_dismiss_crew(tristar_dmatrix_t *d);

/* Local. Errors: INTERNAL names the first invariant that is broken. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_check(const tristar_dmatrix_t *d);

/* Collective. What a product with op, of so many vectors, needs: the form, mailboxes; scaled: d->product too.
 * Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_need(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                                                bool scaled);
/* Y = A X of one vector, and a function called with each block of TSI_BLOCK_ROWS rows when all is there that
 * belongs to y. The rest as tsi_dmatrix_apply. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_apply_blocks(tristar_dmatrix_t *d, const char *x, char *y,
                                                        tsi_crew_function done, void *context);
/* Y = op(A) X, that being there. All ranks call it; an error is this rank's own. Errors: RUNTIME, NO_WORKER.
 */
TRISTAR_CHECKED tristar_status tsi_dmatrix_apply(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                                                 const char *x, int64_t ldx, char *y, int64_t ldy);
void tsi_dmatrix_release_product(tristar_dmatrix_t *d);

/* Local. One of the forms but N, made of that one. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_make_form(tristar_dmatrix_t *d, int form);

/* Local. Have the same ranks the same rows? */
bool tsi_dmatrix_same_blocks(const tristar_dmatrix_t *a, const tristar_dmatrix_t *b);
/* Collective. tristar_dmatrix_update, of a matrix that may be narrow. Errors: those of that. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_take_values(tristar_dmatrix_t *d, const tristar_view *rows);

/* The rows are in one piece. Collective. *out: on rank 0 the pattern, by rows, elsewhere NULL. triangle: of
 * each pair of a symmetric kind one entry; zeros: with entries that are zero. values: NULL, or on rank 0 the
 * values, the caller's to free. Errors: TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_gather_pattern(const tristar_dmatrix_t *d, bool triangle,
                                                          bool zeros, tsi_pattern **out, void **values);
/* The rows are in one piece. Collective. A number by which the pattern can be recognized, however its rows
 * are distributed. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_fingerprint(const tristar_dmatrix_t *d, uint64_t *out);

/* The rows are in one piece. Local. Where the entry of a row of this rank is among them; -1: there is none.
 */
tsi_count tsi_dmatrix_find(const tristar_dmatrix_t *d, tsi_index row, tsi_index column);
/* Local. The rows in one piece. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_need_whole(tristar_dmatrix_t *d);
void tsi_dmatrix_release_whole(tristar_dmatrix_t *d);
