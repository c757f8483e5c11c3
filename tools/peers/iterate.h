/* Shared by the programs iterate_NAME, each of which solves by a Krylov method of another library.
 *
 * Job. `iterate_NAME [--on-demand] MATRIX [REPEAT]` is a program of peer.h that measures the time of a first
 * solution. A timed solve starts from the arrays of the matrix. It creates the solver and the preconditioner,
 * solves for the first right-hand side, and destroys both. "factor_s" is the time of the fastest solve before
 * its iterations. Times are CPU times of the process, which runs on one core, to reduce the influence of
 * other processes.
 *
 * The method is CG if the matrix is stored as symmetric and has a positive diagonal, else BiCGSTAB. The
 * preconditioner is IC(0) or ILU(0), or the diagonal if the environment variable PEER_PRECOND is "jacobi".
 * The iteration starts with zeros and ends when ||b - A x|| <= ITERATE_TOLERANCE ||b||. */
#ifndef TSI_TOOLS_ITERATE_H
#define TSI_TOOLS_ITERATE_H

#include "tools/peers/peer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ITERATE_TOLERANCE 1e-8
/* CPU seconds of the process. */
double iterate_seconds(void);

#define ITERATE_MOST 5000 /* iterations */

typedef struct iterate_system {
  peer_compressed rows; /* of the full matrix */
  bool cg, jacobi;
  double setup_s; /* out: seconds of the latest solve before its iterations */
} iterate_system;

/* Defined by each program. begin: work done once per process; sets the name of the solver. solve: solves from
 * the arrays to p->x, which holds zeros; sets setup_s, p->iterations and, on failure, p->status. */
bool iterate_begin(peer *p);
void iterate_solve(peer *p, iterate_system *s);
void iterate_end(void);

#ifdef __cplusplus
}
#endif

#endif
