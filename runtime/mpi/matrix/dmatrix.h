/* A matrix whose rows are distributed over all ranks: see tristar_dmatrix_mpi.h.
 *
 * Job. Store the rows of this rank in pieces: the diagonal block, whose columns this rank owns, and one block
 * for each owner, a rank that owns other columns of these rows. Store which entries of this rank each
 * requester needs, a rank whose ghosts they are. Multiply with these pieces while messages are in flight.
 *
 *   op N      send each requester the entries that it needs; y = D x; for each owner k, in order, when its
 *             entries g_k have arrived: y += O_k g_k
 *   op T, C   send each owner k its share O_k' x of y; y = D' x; add the shares of the requesters in order
 *
 * A product takes up to TSI_DCOLUMNS vectors at once. Messages of each width have their own mailbox. A
 * message of width w begins at w times the offset of the message of one vector, and holds one vector after
 * the other.
 *
 * Reads   rows of the user, entries of other ranks.   Writes  its own members.
 * Invariants (tsi_dmatrix_check)
 *   - owners and requesters ascend by rank, and this rank is none of them; ghosts are numbered by owner,
 *     then by column
 *   - columns ascend strictly in each row of the diagonal block and of the other blocks
 *   - a block has lines only for the rows with entries in it; `row` ascends
 *   - products read the diagonal block in slices (sliced.h); of a Hermitian block they read the lower half
 *     (halves.h). Both have the values of its entries
 *   - all ranks create a mailbox in the same call; at most one run is in flight */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "runtime/iterate/krylov/krylov.h"
#include "runtime/matrix/halves.h"
#include "runtime/matrix/pattern.h"
#include "runtime/mpi/matrix/refine_rows.h"
#include "tristar_dmatrix_mpi.h"

#define TSI_DWIDTHS 4                         /* 1, 2, 4, 8 vectors */
#define TSI_DCOLUMNS (1 << (TSI_DWIDTHS - 1)) /* maximum number of vectors at once */

/* A rank that owns ghosts first .. first + count - 1, or that needs these entries of this rank. */
typedef struct tsi_dpeer {
  int rank;
  tsi_index first, count;
} tsi_dpeer;

enum { TSI_DPLAIN, TSI_DTRANSPOSE, TSI_DADJOINT, TSI_DFORMS }; /* for ops N, T, C */

/* op(A) in the form that products read. Items are values. */
typedef struct tsi_dform {
  bool there;
  tsi_entries diagonal; /* N: stored; else ptr is NULL */
  tsi_halves stored;    /* the diagonal block, for products */
  tsi_entries *block;   /* one per owner. N: lines are rows of op(A), indices are ghosts of the owner. Else
                           lines are ghosts, indices are rows of this rank */
  tsi_count **row;      /* one per owner. N: the row of each line; else NULL */
} tsi_dform;

/* Messages of products of one width, in one direction. */
typedef struct tsi_dexchange {
  tsi_mailbox *mailbox;   /* NULL: not created yet */
  _Atomic(bool) *arrived; /* [receives] */
} tsi_dexchange;

struct tristar_dmatrix_s {
  atomic_int references; /* references of the program, solvers and preconditioners */
  tristar_t *ts;
  tsi_transport *transport;
  const tsi_sparse_kernels *sparse;
  const tsi_krylov_kernels *kernels;
  tsi_halves_kernels products;
  tristar_scalar scalar;
  size_t bytes;   /* bytes of a scalar */
  bool narrow;    /* for products the diagonal block is stored in half of these bytes */
  int64_t *start; /* ranks + 1: the first row of each rank */
  tsi_index n;    /* rows of this rank */
  tsi_halo *halo;
  int owners, requesters;
  tsi_dpeer *owner, *requester;
  tsi_index *ghost_column; /* ghosts: their columns in the whole matrix */
  tsi_dform form[TSI_DFORMS];
  tsi_dexchange exchange[2][TSI_DWIDTHS]; /* [0]: entries for requesters; [1]: shares for owners */
  char *ghost, *requested;                /* TSI_DCOLUMNS scalars for each; buffers of messages */
  char *part;                             /* a scalar for each line of the longest block, or row */
  char *product;                          /* n scalars for each of TSI_DCOLUMNS; NULL: not needed yet */
  bool *coupled;                          /* windows: whether some row has a column of another rank */
  tsi_index unit; /* number of windows of the diagonal block in a unit of work of a product */
  tristar_engine engine;
  tsi_crew *crew; /* threads that work on units */
  tsi_team team;
  tsi_rows_matrix *whole; /* the rows of this rank in one piece; NULL: not needed yet */
  tsi_index *column;      /* columns of its entries in the whole matrix */
  tsi_system system;      /* the rows as a system */
  tsi_index *origin;  /* n: numbers of these rows in the matrix from which this one was made; NULL: it is not
                         made from another one */
  double square;      /* sum of |a_ij|^2 over the rows of this rank; 0: not computed yet */
  int64_t generation; /* of the values: number of updates */
  tsi_halo *origins;  /* copies vectors between the rows of that original matrix, old_rows on this rank, and
                         these rows; NULL: not made from another one */
  tsi_index old_rows;
  tristar_dmatrix_stats stats;
};

/* Entries of any rows, in any order, for sending. The column is complemented if the entry is the mirror image
 * of a stored one. */
typedef struct tsi_dplace {
  tsi_index row, col;
} tsi_dplace;
typedef struct tsi_dlist {
  tsi_count count;
  tsi_dplace *place;
  char *value; /* values in the scalar type of the matrix */
} tsi_dlist;

static inline int64_t tsi_dmatrix_first(const tristar_dmatrix_t *d) {
  return d->start[tsi_transport_rank(d->transport)];
}
/* Whether this rank owns a row of the whole matrix. */
static inline bool tsi_dmatrix_has_row(const tristar_dmatrix_t *d, int64_t row) {
  return row >= tsi_dmatrix_first(d) && row < tsi_dmatrix_first(d) + d->n;
}
/* The rank that owns a row. */
int tsi_dmatrix_owner(const tristar_dmatrix_t *d, int64_t row);
/* Collective. Connects `count` rows, ascending, with their owners in a halo. The transport may differ from
 * the transport of d, but has the same ranks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_connect(const tristar_dmatrix_t *d, tsi_transport *transport,
                                                   tsi_index count, const tsi_index *row, tsi_halo **out);
static inline tsi_matrix_rows tsi_dmatrix_rows(const tsi_entries *e) {
  return (tsi_matrix_rows){e->ptr, e->index, e->item};
}

/* A view of the rows of this rank, CSR, with `cols` columns. The caller sets the arrays. */
tristar_view tsi_dmatrix_view(const tristar_dmatrix_t *d, int64_t cols);

/* values[k] = value (real and imaginary part), converted to the scalar type. */
void tsi_dvalue_put(tristar_scalar scalar, const double value[2], void *values, tsi_count k);

/* Collective. Each rank reads the entries of its part of a file. Sets d->start and the scalar type. Errors:
 * those of tristar_dmatrix_read. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_read_file(tristar_dmatrix_t *d, const char *path,
                                                     const tristar_dmatrix_options *options, tsi_dlist *list,
                                                     tristar_symmetry *symmetry, bool *is_complex);
/* Local. Chooses the scalar type and the kernels for values of type `given`. Errors: ARGUMENT, UNSUPPORTED.
 */
TRISTAR_CHECKED tristar_status tsi_dmatrix_choose_scalar(tristar_dmatrix_t *d,
                                                         const tristar_dmatrix_options *options,
                                                         tristar_scalar given, bool values);
/* Collective. Checks that all ranks pass the same options. mine: an earlier failure of this rank. Errors:
 * mine; ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_agree(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                                 tristar_status mine);

/* Local. Allocates a list of `count` entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dlist_make(const tristar_dmatrix_t *d, tsi_count count, tsi_dlist *list);
void tsi_dlist_release(tsi_dlist *list);
/* Collective. Sends each entry to the owner of its row, so the list becomes the list of the entries of this
 * rank's rows. symmetry: of the listed entries. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_route(tristar_dmatrix_t *d, tsi_dlist *list,
                                                 tristar_symmetry symmetry);
/* Collective. Creates the pieces from the entries of any rows that the ranks list, and frees the arrays of
 * the list. Errors: FORMAT, NOT_FINITE, TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_assemble(tristar_dmatrix_t *d, tsi_dlist *list,
                                                    tristar_symmetry symmetry);
/* Collective. The same for the rows of a view, one block per rank; the view is borrowed. Errors: the same. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_take_rows(tristar_dmatrix_t *d, const tristar_view *view);
/* Another reference to the matrix. tristar_dmatrix_destroy releases it. */
tristar_dmatrix_t *tsi_dmatrix_share(tristar_dmatrix_t *d);
/* Collective. Creates a matrix without rows. mine: an earlier failure of this rank. Errors: mine; those of
 * the transport, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_begin(tristar_t *ts, MPI_Comm comm, tristar_status mine,
                                                 tristar_dmatrix_t **out);
/* Collective. tristar_dmatrix_create for values that have single precision only. narrow: products read the
 * diagonal block in single precision, with the same bits as a result. Errors: those of
 * tristar_dmatrix_create. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_create(tristar_t *ts, MPI_Comm comm, const tristar_view *rows,
                                                  const tristar_dmatrix_options *options, bool narrow,
                                                  tristar_dmatrix_t **matrix);
/* Collective. Creates the data that products need in addition to the pieces. Errors: MEMORY, RUNTIME,
 * NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_finish(tristar_dmatrix_t *d, tristar_engine engine);

/* Local. Bytes that a product with op N of one vector reads: the matrix as stored for it, x and the ghosts.
 */
size_t tsi_dmatrix_product_bytes(const tristar_dmatrix_t *d);
/* Local. Bytes of a piece with its lines; 0: it does not exist. */
size_t tsi_dpiece_bytes(const tsi_entries *piece);
/* Local. Stores the diagonal block in the form that products read. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_store(tristar_dmatrix_t *d);
/* Local. Hires the threads that multiply, and dismisses the earlier ones. Errors: those of tsi_crew_begin,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_hire_crew(tristar_dmatrix_t *d, tristar_engine engine);
void tsi_dmatrix_dismiss_crew(tristar_dmatrix_t *d);

/* Local. Checks the invariants. Errors: INTERNAL (the message names the first broken invariant). */
TRISTAR_CHECKED tristar_status tsi_dmatrix_check(const tristar_dmatrix_t *d);

/* Collective. Creates the form and the mailboxes for a product with op of nrhs vectors; scaled: also
 * d->product. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_need(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                                                bool scaled);
/* y = A x, for one vector. Calls `done` with each block of TSI_BLOCK_ROWS rows when this block of y is
 * complete. Otherwise like tsi_dmatrix_apply. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_apply_blocks(tristar_dmatrix_t *d, const char *x, char *y,
                                                        tsi_crew_function done, void *context);
/* Y = op(A) X, after tsi_dmatrix_need. All ranks call it, but an error is returned on this rank only. Errors:
 * RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_apply(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                                                 const char *x, int64_t ldx, char *y, int64_t ldy);
void tsi_dmatrix_release_product(tristar_dmatrix_t *d);

/* Local. Creates form T or C from form N. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_make_form(tristar_dmatrix_t *d, int form);

/* Local. Whether each rank has the same rows of a and b. */
bool tsi_dmatrix_same_blocks(const tristar_dmatrix_t *a, const tristar_dmatrix_t *b);
/* Collective. tristar_dmatrix_update for a matrix that may be narrow. Errors: those of
 * tristar_dmatrix_update. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_take_values(tristar_dmatrix_t *d, const tristar_view *rows);

/* Collective, after tsi_dmatrix_need_whole. *out: the pattern by rows on rank 0, NULL on other ranks.
 * triangle: only the lower triangle; zeros: also entries that are zero. values: NULL, or on rank 0 receives
 * the values, which the caller frees. Errors: TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_gather_pattern(const tristar_dmatrix_t *d, bool triangle,
                                                          bool zeros, tsi_pattern **out, void **values);
/* Collective, after tsi_dmatrix_need_whole. A fingerprint of the pattern, independent of the distribution of
 * the rows. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_fingerprint(const tristar_dmatrix_t *d, uint64_t *out);

/* Local, after tsi_dmatrix_need_whole. Position of an entry among the entries of this rank's rows; -1: there
 * is none. */
tsi_count tsi_dmatrix_find(const tristar_dmatrix_t *d, tsi_index row, tsi_index column);
/* Local. Puts the rows of this rank in one piece, d->whole. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dmatrix_need_whole(tristar_dmatrix_t *d);
void tsi_dmatrix_release_whole(tristar_dmatrix_t *d);
