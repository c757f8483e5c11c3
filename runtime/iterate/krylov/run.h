/* One column on its way to a solution: what a method is given, and what it tells of each iteration.
 *
 * Job. Apply the preconditioner, keep norms, times and the history, and decide when the column is done. The
 * methods do the rest: each begins with x as it is, iterates until `ended`, and leaves its last iterate in x.
 *
 * Reads   b, the preconditioner.   Writes  x, the column's result, the history.
 * Invariants
 *   - ended: result.reason says why; nothing is iterated any more
 *   - the norm that is judged is of what the options say, after result.iterations iterations */
#pragma once

#include "runtime/iterate/krylov/vectors.h"

struct tsi_krylov_run {
  tristar_krylov_t *k;
  tristar_precond_t *precond; /* NULL: none */
  int slot;                   /* of the columns that are solved for together */
  const void *given, *b;      /* the right-hand side of the user's; what is solved for */
  void *x;
  double factor;  /* that b and x are multiplied with during the solve; 1: they are not touched */
  bool guess;     /* x is not zero */
  bool is_scaled; /* x and absolute are, by k->scales */
  int64_t column;
  double absolute;             /* the tolerance, of b as it is here */
  double b_norm;               /* of it */
  double reference, threshold; /* set by tsi_krylov_refer */
  double first;                /* the norm of the residual of the initial x */
  double tighten;              /* the threshold is multiplied by it; 1 until the run is resumed */
  bool resumed;                /* the next norm is that of an iterate that is judged already */
  double best;                 /* the smallest norm so far */
  int64_t best_iteration;      /* where it was */
  bool ended;
  tristar_krylov_result result;
};

/* z = M^-1 r; z may be r. Without a preconditioner z becomes r. Errors: of the preconditioner. */
TRISTAR_CHECKED tristar_status tsi_krylov_precondition(tsi_krylov_run *run, const void *r, void *z);
/* q = A p with sums, as tsi_vectors_multiply; counted. */
TRISTAR_CHECKED tristar_status tsi_krylov_multiply(tsi_krylov_run *run, const void *p, void *q, const void *w,
                                                   tsi_sums *sums);
/* r = b - A x, or b where x is zero; counted. */
TRISTAR_CHECKED tristar_status tsi_krylov_residual(tsi_krylov_run *run, void *r, double *square);

/* Finds the reference, given the norm of the residual of the initial x. work: a vector. */
TRISTAR_CHECKED tristar_status tsi_krylov_refer(tsi_krylov_run *run, double norm, void *work);
/* Takes the norm after result.iterations iterations: true, the run has ended. */
bool tsi_krylov_judge(tsi_krylov_run *run, double norm);
void tsi_krylov_end(tsi_krylov_run *run, tristar_krylov_reason reason);
/* The run goes on from its x with a threshold that is smaller by `factor`: its method is called again. */
void tsi_krylov_resume(tsi_krylov_run *run, double factor);

/* range.c. Scales for a run that has begun. Of a team collective. */
TRISTAR_CHECKED tristar_status tsi_krylov_choose_scales(tsi_krylov_run *run, tsi_scales *scales);
/* Between these, methods see the scaled matrix, preconditioner and x. Runs that have ended are left alone. */
TRISTAR_CHECKED tristar_status tsi_krylov_enter_scales(tsi_krylov_run *run, int count,
                                                       const tsi_scales *scales);
TRISTAR_CHECKED tristar_status tsi_krylov_leave_scales(tsi_krylov_run *run, int count);
/* q = matrix^2 A p; p is written, and restored. */
TRISTAR_CHECKED tristar_status tsi_krylov_multiply_scaled(tristar_krylov_t *k, void *p, void *q);

/* Vectors of the workspace that a method needs, for these options. */
int tsi_cg_vectors(const tristar_krylov_options *options);
int tsi_bicgstab_vectors(const tristar_krylov_options *options);
int tsi_gmres_vectors(const tristar_krylov_options *options);
int tsi_pipelined_cg_vectors(const tristar_krylov_options *options);
int tsi_block_cg_vectors(const tristar_krylov_options *options);
/* Doubles that their blocks of rows leave. */
int tsi_pipelined_cg_sums(void);
int tsi_block_cg_sums(const tristar_krylov_options *options);

/* The methods. */
TRISTAR_CHECKED tristar_status tsi_cg(tsi_krylov_run *run);
TRISTAR_CHECKED tristar_status tsi_bicgstab(tsi_krylov_run *run);
TRISTAR_CHECKED tristar_status tsi_gmres(tsi_krylov_run *run); /* and FGMRES */
TRISTAR_CHECKED tristar_status tsi_pipelined_cg(tsi_krylov_run *run);
/* Of so many columns at once, some of which may have ended. */
TRISTAR_CHECKED tristar_status tsi_block_cg(tsi_krylov_run *run, int count);
