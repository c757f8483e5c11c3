/* The run of one column: the input of a method, and the result of each iteration.
 *
 * Job. Apply the preconditioner, record norms, times and the history, and decide when the column has ended.
 * The methods do the rest. Each starts from the given x, iterates until `ended`, and stores its last iterate
 * in x.
 *
 * Reads   b, the preconditioner.   Writes  x, the column's result, the history.
 * Invariants
 *   - ended: result.reason holds the cause; no more iterations run
 *   - the norm that is tested is the one of the options, after result.iterations iterations */
#pragma once

#include "runtime/iterate/krylov/vectors.h"

struct tsi_krylov_run {
  tristar_krylov_t *k;
  tristar_precond_t *precond; /* NULL: none */
  int slot;                   /* index among the columns that are solved for together */
  const void *given, *b;      /* the user's right-hand side; the one in use, which may be scaled */
  void *x;
  double factor;  /* b and x are multiplied by it during the solve; 1: they are unchanged */
  bool guess;     /* the initial x may be nonzero */
  bool is_scaled; /* x and `absolute` are scaled by k->scales */
  int64_t column;
  double absolute;             /* absolute tolerance, in the scaling of b */
  double b_norm;               /* 2-norm of b */
  double reference, threshold; /* set by tsi_krylov_refer */
  double first;                /* norm of the residual of the initial x */
  double tighten;              /* factor of the threshold; 1 until the run is resumed */
  bool resumed;                /* the next norm belongs to an iterate that was tested before */
  double best;                 /* smallest norm so far */
  int64_t best_iteration;      /* the iteration of this norm */
  bool ended;
  tristar_krylov_result result;
};

/* z = M^-1 r; z may be r. Without a preconditioner z = r. Errors: those of the preconditioner. */
TRISTAR_CHECKED tristar_status tsi_krylov_precondition(tsi_krylov_run *run, const void *r, void *z);
/* q = A p with sums, like tsi_vectors_multiply. Counts the product. */
TRISTAR_CHECKED tristar_status tsi_krylov_multiply(tsi_krylov_run *run, const void *p, void *q, const void *w,
                                                   tsi_sums *sums);
/* r = b - A x, or b if x is zero. Counts the product. */
TRISTAR_CHECKED tristar_status tsi_krylov_residual(tsi_krylov_run *run, void *r, double *square);

/* Computes the reference. norm: of the residual of the initial x. work: a vector. */
TRISTAR_CHECKED tristar_status tsi_krylov_refer(tsi_krylov_run *run, double norm, void *work);
/* Tests the norm after result.iterations iterations. Returns true if the run has ended. */
bool tsi_krylov_judge(tsi_krylov_run *run, double norm);
void tsi_krylov_end(tsi_krylov_run *run, tristar_krylov_reason reason);
/* Continues the run from its x with the threshold multiplied by `factor`: the method is called again. */
void tsi_krylov_resume(tsi_krylov_run *run, double factor);

/* range.c. Chooses scales for a run that has begun. Collective for a team. */
TRISTAR_CHECKED tristar_status tsi_krylov_choose_scales(tsi_krylov_run *run, tsi_scales *scales);
/* Between these two calls, methods work with the scaled matrix, preconditioner and x. Runs that have ended
 * are not changed. */
TRISTAR_CHECKED tristar_status tsi_krylov_enter_scales(tsi_krylov_run *run, int count,
                                                       const tsi_scales *scales);
TRISTAR_CHECKED tristar_status tsi_krylov_leave_scales(tsi_krylov_run *run, int count);
/* q = matrix^2 A p; p is modified, then restored. */
TRISTAR_CHECKED tristar_status tsi_krylov_multiply_scaled(tristar_krylov_t *k, void *p, void *q);

/* Number of vectors that each method needs with these options. */
int tsi_cg_vectors(const tristar_krylov_options *options);
int tsi_bicgstab_vectors(const tristar_krylov_options *options);
int tsi_gmres_vectors(const tristar_krylov_options *options);
int tsi_pipelined_cg_vectors(const tristar_krylov_options *options);
int tsi_block_cg_vectors(const tristar_krylov_options *options);
/* Number of doubles that a block of rows adds to sums. */
int tsi_pipelined_cg_sums(void);
int tsi_block_cg_sums(const tristar_krylov_options *options);

/* The methods. */
TRISTAR_CHECKED tristar_status tsi_cg(tsi_krylov_run *run);
TRISTAR_CHECKED tristar_status tsi_bicgstab(tsi_krylov_run *run);
TRISTAR_CHECKED tristar_status tsi_gmres(tsi_krylov_run *run); /* also FGMRES */
TRISTAR_CHECKED tristar_status tsi_pipelined_cg(tsi_krylov_run *run);
/* For `count` columns at once, some of which may have ended. */
TRISTAR_CHECKED tristar_status tsi_block_cg(tsi_krylov_run *run, int count);
