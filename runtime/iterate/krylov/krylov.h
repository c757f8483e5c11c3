/* A Krylov solver: the matrix, the workspace of a method, and the threads and ranks that share the work.
 *
 * Job. Store all that solves need, so that a solve allocates nothing. Declare what a method can do with the
 * matrix and with vectors (vectors.h), and when it ends (run.h).
 *
 * Vectors are divided into blocks of TSI_BLOCK_ROWS rows. An operation on vectors runs block by block, so its
 * parts read a shared operand from memory once. Workers share the blocks. Each block writes its share of a
 * sum to its own entry, and the shares are added in the order of the blocks. So sums do not depend on which
 * thread computed them.
 *
 * If the rows of a matrix are distributed, each rank stores its entries of all vectors. Sums run over the
 * members of a team, in their order. A rank on which something fails continues, with whatever its vectors
 * contain, so that no rank waits for it forever. The next sum also carries the failure. Then all ranks end,
 * with its status. A request to cancel is sent in the same way.
 *
 * Reads   the user's matrix and vectors.   Writes  its own members, x.
 * Invariants
 *   - busy: a solve runs, or the members are being changed
 *   - the workspace has at least the vectors and sums that the options need */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "runtime/iterate/refine/hessenberg.h"
#include "runtime/iterate/refine/system.h"
#include "runtime/context/crew.h"
#include "runtime/matrix/full.h"
#include "runtime/matrix/halves.h"
#include "tristar_krylov.h"

#define TSI_BLOCK_ROWS TSI_WINDOW_ROWS
#define TSI_BLOCK_MOST 32 /* columns that block CG solves for together */
#define TSI_SIGNALS 2     /* numbers sent with each sum: has a member failed, does one cancel */

typedef struct tsi_vector_call tsi_vector_call;
typedef struct tsi_krylov_run tsi_krylov_run; /* run.h */

/* A matrix that the solver does not store. */
typedef struct tsi_krylov_operator {
  tsi_index n;                      /* number of rows on this rank */
  int64_t first;                    /* global number of the first of these rows */
  int64_t nnz;                      /* entries of the matrix; 0: unknown */
  size_t (*bytes)(const void *arg); /* of the matrix that a product reads here; NULL: unknown */
  tristar_scalar scalar;
  tristar_operator_fn function; /* NULL: the matrix is stored here */
  /* Y = A X for `count` vectors, both with leading dimension ld. NULL: products are computed one by one. */
  tristar_status (*columns)(void *arg, int count, const void *x, void *y, int64_t ld);
  /* y = A x; calls `done` for each block of TSI_BLOCK_ROWS rows as soon as these rows of y are computed.
   * NULL: not supported. */
  tristar_status (*blocks)(void *arg, const void *x, void *y, tsi_crew_function done, void *context);
  void *arg;
  void (*share)(void *arg);   /* called when the solver starts to use arg; NULL: the caller owns arg */
  void (*release)(void *arg); /* called when the solver no longer uses arg; collective if this frees arg */
  bool suits_cg;              /* Hermitian with a positive diagonal, on all ranks */
  tsi_team *team;             /* The ranks that store the rows. NULL: all rows are on this rank. */
  /* The system, for residuals. Only with a team; collective. Errors: MEMORY. */
  tristar_status (*get_system)(void *arg, const tsi_system **system);
  double (*square)(void *arg); /* sum of |a_ij|^2 over the rows of this rank */
} tsi_krylov_operator;

/* Like tristar_krylov_create_operator. With a team, this call and all calls with the solver are
 * collective. */
TRISTAR_CHECKED tristar_status tsi_krylov_create(tristar_t *ts, const tsi_krylov_operator *matrix,
                                                 const tristar_krylov_options *options,
                                                 tristar_krylov_t **krylov);

/* The memory that a method writes, besides x. */
typedef struct tsi_workspace {
  int vectors;      /* number of vectors; the last `runs` are for copies of b */
  size_t stride;    /* bytes between two vectors */
  char *vector;     /* their memory */
  int sums;         /* maximum number of doubles that a block adds to sums */
  double *shares;   /* shares of sums: `sums` doubles for each block */
  double *total;    /* the sums, then TSI_SIGNALS numbers */
  double *gathered; /* `total` of each member of a team; NULL: one process */
  tsi_hessenberg small;
  int runs;            /* number of columns that are solved for together */
  tsi_krylov_run *run; /* one for each of these columns */
  tsi_complex *square; /* block CG: three square matrices of order `runs` */
  size_t bytes;        /* size of vectors and sums */
} tsi_workspace;

/* Powers of two: methods use matrix^2 A and precond^2 M^-1 in place of A and M^-1 (range.c). */
typedef struct tsi_scales {
  double matrix, precond;
} tsi_scales;
#define TSI_NO_SCALES ((tsi_scales){1, 1})

struct tristar_krylov_s {
  tristar_t *ts;
  tristar_krylov_options options; /* the method is not AUTO, side and norm are not DEFAULT */
  tristar_scalar scalar;
  tsi_index n;
  size_t bytes; /* size of a scalar */
  const tsi_sparse_kernels *sparse;
  const tsi_krylov_kernels *kernels;
  tsi_halves_kernels products;
  bool valid;           /* the rows have values, or the matrix is a function */
  tsi_pattern *pattern; /* the user's matrix */
  void *taken;          /* values of the pattern's entries */
  tsi_entries rows;  /* All rows in full; with `lower`, all but the lower half. They hold where each value is
                        in `taken`; they have no indices. */
  tsi_entries lower; /* the same for the lower half; ptr NULL: not stored in halves */
  tsi_halves stored; /* rows and lower half, with values */
  void *window_values; /* scratch for the values of one window */
  double square;       /* sum of |a_ij|^2 over `taken`; 0: not computed yet */
  tsi_scales scales;   /* usually 1 */
  tsi_krylov_operator matrix;
  tsi_team *team, alone;
  tsi_failure failure;           /* of this member, until a sum has sent it to all */
  bool cancelled, all_cancelled; /* the progress function cancelled: on this rank; on any rank */
  int64_t written;               /* number of points in the history */
  double reported;               /* time of the latest line in the log */
  tsi_workspace work;
  tsi_crew crew;
  tsi_index unit;              /* number of windows that a product multiplies at a time */
  tsi_crew units;              /* the crew for products if `unit` is more than one */
  const tsi_vector_call *call; /* the operation in progress */
  tristar_krylov_stats stats;
  atomic_bool busy;
};

/* Number of columns that are solved for together. */
static inline int tsi_krylov_group(const tristar_krylov_options *options) {
  return options->method == TRISTAR_KRYLOV_BLOCK_CG ? options->block : 1;
}

/* The i-th vector of the workspace. */
static inline char *tsi_krylov_vector(const tristar_krylov_t *k, int i) {
  return k->work.vector + (size_t)i * k->work.stride;
}

static inline bool tsi_krylov_is_cg(const tristar_krylov_options *o) {
  return o->method == TRISTAR_KRYLOV_CG || o->method == TRISTAR_KRYLOV_PIPELINED_CG ||
         o->method == TRISTAR_KRYLOV_BLOCK_CG;
}

/* stored.c. Stores the matrix with its values; stores new values. After a failure the values must not be
 * used. Errors: those of tsi_pattern_create, tsi_pattern_check_values; ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_take_matrix(tristar_krylov_t *k, const tristar_view *view);
TRISTAR_CHECKED tristar_status tsi_krylov_take_values(tristar_krylov_t *k, const void *values);
/* Is the stored matrix Hermitian (real: symmetric) with a positive diagonal? Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_suits_cg(const tristar_krylov_t *k, bool *suits);
/* Does each of n rows or columns have a diagonal entry with a positive real part? */
bool tsi_diagonal_is_positive(tristar_scalar scalar, tsi_index n, const tsi_count *ptr,
                              const tsi_index *index, const void *values);
void tsi_krylov_release_matrix(tristar_krylov_t *k);

/* Are the entries of the matrix available, and not only products with it? */
static inline bool tsi_krylov_has_entries(const tristar_krylov_t *k) {
  return k->matrix.function == NULL || k->matrix.team != NULL;
}
/* The system of a matrix whose entries are available. alone, team: memory for it. Collective for a team.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_system(const tristar_krylov_t *k, tsi_system *alone, tsi_team *team,
                                                 const tsi_system **system);
/* The sum of the squares of magnitudes. */
double tsi_sum_of_squares(const tsi_krylov_kernels *kernels, size_t bytes, tsi_count count,
                          const void *values);
/* The Frobenius norm of such a matrix, accurate to a factor of 2. Collective for a team. */
double tsi_krylov_norm(tristar_krylov_t *k);

/* Errors: STALE (the matrix has no values). */
TRISTAR_CHECKED tristar_status tsi_krylov_need_values(const tristar_krylov_t *k);
/* Errors: BUSY. */
TRISTAR_CHECKED tristar_status tsi_krylov_take(tristar_krylov_t *k);
void tsi_krylov_give(tristar_krylov_t *k);

static inline bool tsi_krylov_is_alone(const tristar_krylov_t *k) {
  return k->team->members == 1;
}
/* Has a progress function cancelled the solve? For a team: as of the latest sum. */
static inline bool tsi_krylov_is_cancelled(const tristar_krylov_t *k) {
  return tsi_krylov_is_alone(k) ? k->cancelled : k->all_cancelled;
}
/* On one process: returns the status. In a team: returns OK; a failure is kept until the next sum, or
 * tsi_krylov_agree. */
TRISTAR_CHECKED tristar_status tsi_krylov_defer(tristar_krylov_t *k, tristar_status status);
/* Collective: the worst status of all members, including failures kept so far. */
TRISTAR_CHECKED tristar_status tsi_krylov_agree(tristar_krylov_t *k, tristar_status status);
/* Collective: do all members pass the same value? Errors: ARGUMENT, on all of them. */
TRISTAR_CHECKED tristar_status tsi_krylov_alike(tristar_krylov_t *k, const char *name, double value);
