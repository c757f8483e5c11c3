/* A solver by Krylov methods: the matrix, the vectors of a method, and those who work on them.
 *
 * Job. Hold what solves need, so that they allocate nothing; say what a method can do with the matrix and
 * with vectors (vectors.h) and when it is to end (run.h).
 *
 * Vectors are cut into blocks of TSI_BLOCK_ROWS rows. An operation on vectors goes block by block, so that
 * what several of its parts read comes from memory once; workers share the blocks. Each block leaves its
 * share of a sum in a place of its own, and these are added up in the order of the blocks: sums do not depend
 * on who made them.
 *
 * Of a matrix whose rows lie on many ranks, each has its entries of all vectors; sums go over the members of
 * a team, in their order. A rank on which something fails goes on with whatever it has, so that none waits
 * for it for ever: the failure travels with the next sum, and all end there, with its status. So does the
 * wish to cancel.
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
#define TSI_BLOCK_MOST 32 /* columns that block CG takes together */
#define TSI_SIGNALS 2     /* that travel with sums: who has failed, who wants to end */

typedef struct tsi_vector_call tsi_vector_call;
typedef struct tsi_krylov_run tsi_krylov_run; /* run.h */

/* A matrix that this room does not store. */
typedef struct tsi_krylov_operator {
  tsi_index n;                      /* rows here */
  int64_t first;                    /* the number of the first of them */
  int64_t nnz;                      /* 0: not known */
  size_t (*bytes)(const void *arg); /* that a product has to read here; NULL: not known */
  tristar_scalar scalar;
  tristar_operator_fn function; /* NULL: the matrix is stored here */
  /* Y = A X of many vectors, both with this leading dimension; NULL: one by one. */
  tristar_status (*columns)(void *arg, int count, const void *x, void *y, int64_t ld);
  /* y = A x, and calls a function with each block of TSI_BLOCK_ROWS rows when these are there; NULL: the
   * operator cannot. */
  tristar_status (*blocks)(void *arg, const void *x, void *y, tsi_crew_function done, void *context);
  void *arg;
  void (*share)(void *arg);   /* the solver begins to need arg; NULL: it is the program's */
  void (*release)(void *arg); /* it does not need it any more; collective if that is the end of arg */
  bool suits_cg;              /* Hermitian with a positive diagonal, on all ranks */
  tsi_team *team;             /* who has the rows; NULL: they are all here */
  /* Of a team: the system, for residuals. Collective. Errors: MEMORY. */
  tristar_status (*get_system)(void *arg, const tsi_system **system);
  double (*square)(void *arg); /* the sum of |a_ij|^2 over the rows here */
} tsi_krylov_operator;

/* As tristar_krylov_create_operator, of a matrix with a team: collective, and so are all calls with the
 * solver then. */
TRISTAR_CHECKED tristar_status tsi_krylov_create(tristar_t *ts, const tsi_krylov_operator *matrix,
                                                 const tristar_krylov_options *options,
                                                 tristar_krylov_t **krylov);

/* What a method writes to, beside x. */
typedef struct tsi_workspace {
  int vectors;      /* how many there are; the last `runs` are for copies of b */
  size_t stride;    /* bytes from one to the next */
  char *vector;     /* theirs */
  int sums;         /* doubles that a block may leave */
  double *shares;   /* of the blocks, `sums` each */
  double *total;    /* sums, and TSI_SIGNALS */
  double *gathered; /* the same of all members of a team of many; NULL: alone */
  tsi_hessenberg small;
  int runs;            /* columns that are solved for together */
  tsi_krylov_run *run; /* runs */
  tsi_complex *square; /* block CG: three matrices of that order */
  size_t bytes;        /* of vectors and sums */
} tsi_workspace;

/* Powers of two: methods see matrix^2 A and precond^2 M^-1 (range.c). */
typedef struct tsi_scales {
  double matrix, precond;
} tsi_scales;
#define TSI_NO_SCALES ((tsi_scales){1, 1})

struct tristar_krylov_s {
  tristar_t *ts;
  tristar_krylov_options options; /* the method is not AUTO, side and norm are not DEFAULT */
  tristar_scalar scalar;
  tsi_index n;
  size_t bytes; /* of a scalar */
  const tsi_sparse_kernels *sparse;
  const tsi_krylov_kernels *kernels;
  tsi_halves_kernels products;
  bool valid;           /* the rows have values, or there is a function */
  tsi_pattern *pattern; /* the user's matrix */
  void *taken;          /* the values of its entries */
  tsi_entries rows;     /* in full, or the rest beside the lower half: where each value is from; no indices */
  tsi_entries lower;    /* of a matrix that is halved, the same of its lower half; else ptr is NULL */
  tsi_halves stored;    /* both, with values */
  void *window_values;  /* room for those of a window */
  double square;        /* the sum of |a_ij|^2 over `taken`; 0: not known yet */
  tsi_scales scales;    /* mostly 1 */
  tsi_krylov_operator matrix;
  tsi_team *team, alone;
  tsi_failure failure;     /* of this member, until all know of it */
  bool wants_end, all_end; /* progress was told to end here; at any member */
  int64_t written;         /* points in the history */
  double told;             /* when the log was told of the latest norm */
  tsi_workspace work;
  tsi_crew crew;
  tsi_index unit;              /* windows that a product takes together */
  tsi_crew units;              /* who multiplies, if that is more than one */
  const tsi_vector_call *call; /* the operation that runs */
  tristar_krylov_stats stats;
  atomic_bool busy;
};

/* Columns that are solved for together. */
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

/* stored.c. The matrix, with values; new values, which are of no use after a failure. Errors: those of
 * tsi_pattern_create, tsi_pattern_check_values; ARGUMENT, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_take_matrix(tristar_krylov_t *k, const tristar_view *view);
TRISTAR_CHECKED tristar_status tsi_krylov_take_values(tristar_krylov_t *k, const void *values);
/* Is the stored matrix Hermitian (real: symmetric) with a positive diagonal? Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_suits_cg(const tristar_krylov_t *k, bool *suits);
/* Has each of n rows or columns a diagonal entry with a positive real part? */
bool tsi_diagonal_is_positive(tristar_scalar scalar, tsi_index n, const tsi_count *ptr,
                              const tsi_index *index, const void *values);
void tsi_krylov_release_matrix(tristar_krylov_t *k);

/* Are the entries of the matrix known, and not only its products? */
static inline bool tsi_krylov_has_entries(const tristar_krylov_t *k) {
  return k->matrix.function == NULL || k->matrix.team != NULL;
}
/* The system of a matrix whose entries are known. alone, team: room for it. Of a team collective. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_krylov_system(const tristar_krylov_t *k, tsi_system *alone, tsi_team *team,
                                                 const tsi_system **system);
/* The sum of the squares of magnitudes. */
double tsi_sum_of_squares(const tsi_krylov_kernels *kernels, size_t bytes, tsi_count count,
                          const void *values);
/* The Frobenius norm of such a matrix, to a factor of 2. Of a team collective. */
double tsi_krylov_norm(tristar_krylov_t *k);

/* STALE: the matrix has no values. */
TRISTAR_CHECKED tristar_status tsi_krylov_need_values(const tristar_krylov_t *k);
/* Errors: BUSY. */
TRISTAR_CHECKED tristar_status tsi_krylov_take(tristar_krylov_t *k);
void tsi_krylov_give(tristar_krylov_t *k);

static inline bool tsi_krylov_is_alone(const tristar_krylov_t *k) {
  return k->team->members == 1;
}
/* Does progress want the solve to end, as far as all members know? */
static inline bool tsi_krylov_is_cancelled(const tristar_krylov_t *k) {
  return tsi_krylov_is_alone(k) ? k->wants_end : k->all_end;
}
/* Alone: the status. Of many: OK; a failure is kept until the next sum, or tsi_krylov_agree. */
TRISTAR_CHECKED tristar_status tsi_krylov_defer(tristar_krylov_t *k, tristar_status status);
/* Collective: the worst status of all members, their failures kept so far included. */
TRISTAR_CHECKED tristar_status tsi_krylov_agree(tristar_krylov_t *k, tristar_status status);
/* Collective: do all members ask for the same? Errors: ARGUMENT, on all of them. */
TRISTAR_CHECKED tristar_status tsi_krylov_alike(tristar_krylov_t *k, const char *name, double value);
