/* A preconditioner: what an application does, and what an update needs.
 *
 * Job. X = op(M)^-1 B as at most two sweeps, each a plan of a triangular factor, with a diagonal between
 * them:
 *
 *   for OP_N   sweep[0], diagonal, sweep[1]
 *
 * For T and C of a GENERAL M the same comes backwards, transposed. A symmetric M is its own transpose, a
 * Hermitian one its own adjoint: what is left is done with conjugates of B and X.
 *
 * Reads   the user's matrix, during set-up and update.   Writes  its own members.
 * Invariants
 *   - valid: all that applications need is there, of one set of values; else they give STALE
 *   - an application changes nothing here: x is its only workspace */
#ifndef TSI_RUNTIME_PRECOND_PRECOND_H
#define TSI_RUNTIME_PRECOND_PRECOND_H

#include "codelets/cpu/incomplete.h"
#include "codelets/cpu/sparse.h"
#include "runtime/context/context.h"
#include "runtime/matrix/pattern.h"
#include "tristar_precond.h"

typedef struct tsi_precond_sweep {
  tristar_factor_t *factor;
  tristar_plan_t *plan; /* NULL: no such sweep */
  tristar_op op;        /* that it has where M is applied with OP_N */
} tsi_precond_sweep;

struct tristar_precond_s {
  tristar_t *ts;
  tristar_precond_options options;
  tsi_index n;
  const tsi_sparse_kernels *sparse;
  const tsi_incomplete_kernels *kernels;
  tristar_symmetry symmetry; /* of M: GENERAL, SYMMETRIC or HERMITIAN */
  bool valid;
  tsi_pattern *pattern; /* of A */
  void *diagonal;       /* n: factors of the entries; NULL: none */
  tsi_precond_sweep sweep[2];
  tristar_plan_t *plan;        /* PLAN, borrowed */
  tristar_precond_fn function; /* FUNCTION */
  void *arg;
  tristar_precond_stats stats;
};

/* Fills diagonal and sweeps from the values of the pattern's entries, which are finite; anew, if there are
 * some. After a failure what is there is of no use, but can be destroyed or filled. Errors: as
 * tristar_precond. */
TRISTAR_CHECKED tristar_status tsi_precond_set_up(tristar_precond_t *precond, const void *values);

#endif
