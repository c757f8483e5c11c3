/* cholmod_solve [--on-demand] [--quick] MATRIX [REPEAT [NRHS]]: CHOLMOD's supernodal Cholesky factorization
 * with METIS, and its solve phase, for real symmetric matrices. See peer.h.
 *
 * The time of the factorization is the median of 3, with --quick of 1. The time of the solve is that of
 * cholmod_solve2, which solves for all right-hand sides at once and keeps its workspace between calls.
 * CHOLMOD has no refinement. Threads are those of the BLAS (OPENBLAS_NUM_THREADS). */
#include <cholmod.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/median.h"
#include "tools/peers/peer.h"

#ifdef PEER_COMPLEX
void peer_solve_complex(peer *p) {
  snprintf(p->solver, sizeof p->solver, "CHOLMOD");
  peer_fail(p, CHOLMOD_INVALID, "not a real matrix");
}
#else

/* The lower triangle of the matrix. */
static cholmod_sparse *convert(const peer *p, cholmod_common *common) {
  peer_entries entries;
  peer_entries_make(p, false, 0, &entries);
  cholmod_triplet *t =
      cholmod_l_allocate_triplet((size_t)p->n, (size_t)p->n, (size_t)entries.count, -1, CHOLMOD_REAL, common);
  cholmod_sparse *a = NULL;
  if (t != NULL) {
    for (int64_t e = 0; e < entries.count; e++) {
      const int32_t i = entries.row[e], j = entries.column[e];
      ((SuiteSparse_long *)t->i)[e] = i > j ? i : j;
      ((SuiteSparse_long *)t->j)[e] = i > j ? j : i;
    }
    memcpy(t->x, entries.values, (size_t)entries.count * sizeof(double));
    t->nnz = (size_t)entries.count;
    a = cholmod_l_triplet_to_sparse(t, 0, common);
  }
  cholmod_l_free_triplet(&t, common);
  peer_entries_free(&entries);
  return a;
}

static bool factor(peer *p, cholmod_sparse *a, cholmod_factor **l, cholmod_common *common) {
  const int times = p->quick ? 1 : 3;
  double begin = peer_seconds(), factor_s[3];
  *l = cholmod_l_analyze(a, common);
  p->analyze_s = peer_seconds() - begin;
  p->ordering = common->method[common->selected].ordering == CHOLMOD_METIS ? "METIS" : "not METIS";
  for (int k = 0; k < times && *l != NULL && common->status == CHOLMOD_OK; k++) {
    begin = peer_seconds();
    cholmod_l_factorize(a, *l, common);
    factor_s[k] = peer_seconds() - begin;
  }
  if (common->status == CHOLMOD_NOT_POSDEF)
    peer_fail(p, common->status, "not positive definite");
  else if (common->status != CHOLMOD_OK)
    peer_fail(p, common->status, "CHOLMOD status %d", common->status);
  else
    p->factor_s = tsi_median(factor_s, (size_t)times);
  return p->status == 0;
}

static void solve(peer *p, cholmod_factor *l, cholmod_common *common) {
  cholmod_dense *b =
      cholmod_l_allocate_dense((size_t)p->n, (size_t)p->nrhs, (size_t)p->n, CHOLMOD_REAL, common);
  cholmod_dense *x = NULL, *y = NULL, *e = NULL;
  if (b != NULL) memcpy(b->x, p->b, p->block_bytes);
  for (int k = -1; k < p->repeat && b != NULL; k++) {
    const double begin = peer_seconds();
    cholmod_l_solve2(CHOLMOD_A, l, b, NULL, &x, NULL, &y, &e, common);
    if (k >= 0) p->solves_s[k] = peer_seconds() - begin;
  }
  if (x != NULL && common->status == CHOLMOD_OK)
    memcpy(p->x, x->x, p->block_bytes);
  else
    peer_fail(p, common->status != CHOLMOD_OK ? common->status : CHOLMOD_OUT_OF_MEMORY, "no solution");
  cholmod_l_free_dense(&b, common);
  cholmod_l_free_dense(&x, common);
  cholmod_l_free_dense(&y, common);
  cholmod_l_free_dense(&e, common);
}

void peer_solve_real(peer *p) {
  cholmod_common common;
  cholmod_factor *l = NULL;
  snprintf(p->solver, sizeof p->solver, "CHOLMOD %d.%d.%d", CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION,
           CHOLMOD_SUBSUB_VERSION);
  p->method = "LLT";
  if (p->view.symmetry != TRISTAR_SYMMETRIC) {
    peer_fail(p, CHOLMOD_INVALID, "not a symmetric matrix");
    return;
  }
  cholmod_l_start(&common);
  common.print = 0;
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_METIS;
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.postorder = 1;
  cholmod_sparse *a = convert(p, &common);
  if (a == NULL)
    peer_fail(p, common.status, "CHOLMOD status %d", common.status);
  else if (factor(p, a, &l, &common)) {
    p->nnz_factor = common.lnz;
    do solve(p, l, &common);
    while (peer_again(p));
  }
  cholmod_l_free_factor(&l, &common);
  cholmod_l_free_sparse(&a, &common);
  cholmod_l_finish(&common);
}
#endif
