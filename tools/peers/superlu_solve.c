/* superlu_solve [--on-demand] MATRIX [REPEAT [NRHS]]: sequential SuperLU with METIS and refinement in double
 * precision. See peer.h.
 *
 * Compiled twice: for real matrices and, with PEER_COMPLEX, for complex ones. Symmetric matrices are passed
 * in full.
 *   - A symmetric pattern with no zero on the diagonal: symmetric mode, the columns in METIS' order of A, and
 *     diagonal pivots that are at least 0.001 of the largest entry. Others: METIS' order of A^T A, partial
 *     pivoting.
 *   - If A^T A is too large: COLAMD, SuperLU's default.
 * The time of the factorization includes scaling and the symbolic factorization, which SuperLU does in the
 * same step. Timed solves are dgstrs for all right-hand sides in one call, without the scaling of b and x.
 * Threads are those of the BLAS (OPENBLAS_NUM_THREADS). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/metis_order.h"

#ifdef PEER_COMPLEX
#include <slu_zdefs.h>
typedef doublecomplex scalar;
#define TYPED(name) z##name
#define SLU_TYPE SLU_Z
#define peer_solve peer_solve_complex
#else
#include <slu_ddefs.h>
typedef double scalar;
#define TYPED(name) d##name
#define SLU_TYPE SLU_D
#define peer_solve peer_solve_real
#endif

typedef struct solver {
  peer_compressed columns;
  superlu_options_t options;
  SuperLUStat_t stat;
  SuperMatrix a, l, u; /* the library scales the values of a, which are those of columns */
  GlobalLU_t global;
  int *column_order, *row_order, *tree;
  double *row_scale, *column_scale;
  char scaled[1];
} solver;

static void order_columns(peer *p, solver *s) {
  peer_compressed rows;
  peer_compress(p, true, &rows);
  const double begin = peer_seconds();
  if (peer_symmetric_pattern(p, &s->columns, &rows)) {
    s->options.SymmetricMode = YES;
    s->options.DiagPivotThresh = 0.001;
  }
  const bool symmetric = s->options.SymmetricMode == YES;
  if (peer_metis_order(p->n, symmetric ? PEER_GRAPH_SYMMETRIC : PEER_GRAPH_PRODUCT, &s->columns, &rows,
                       s->column_order)) {
    s->options.ColPerm = MY_PERMC;
    p->ordering = symmetric ? "METIS" : "METIS of A^T A";
  } else
    p->ordering = "COLAMD";
  p->analyze_s = peer_seconds() - begin;
  peer_compressed_free(&rows);
}

/* The expert driver with the options, for nrhs right-hand sides; it overwrites b. */
static bool drive(peer *p, solver *s, int nrhs, void *b) {
  SuperMatrix right, solution;
  mem_usage_t memory;
  double growth, rcond, *errors = peer_allocate(2 * p->nrhs, sizeof *errors);
  int info = 0;
  TYPED(Create_Dense_Matrix)(&right, (int)p->n, nrhs, b, (int)p->n, SLU_DN, SLU_TYPE, SLU_GE);
  TYPED(Create_Dense_Matrix)(&solution, (int)p->n, nrhs, p->x, (int)p->n, SLU_DN, SLU_TYPE, SLU_GE);
  TYPED(gssvx)
  (&s->options, &s->a, s->column_order, s->row_order, s->tree, s->scaled, s->row_scale, s->column_scale,
   &s->l, &s->u, NULL, 0, &right, &solution, &growth, &rcond, errors, errors + p->nrhs, &s->global, &memory,
   &s->stat, &info);
  Destroy_SuperMatrix_Store(&right);
  Destroy_SuperMatrix_Store(&solution);
  free(errors);
  if (info != 0)
    peer_fail(p, info, "info = %d%s", info,
              info < 0       ? ""
              : info <= p->n ? " (a pivot is zero)"
                             : " (out of memory)");
  return info == 0;
}

static bool factor(peer *p, solver *s, void *b) {
  const bool factored = drive(p, s, 0, b);
  const double *time = s->stat.utime;
  p->analyze_s += time[COLPERM] + time[ETREE];
  p->factor_s = time[EQUIL] + time[FACT];
  /* Both counts include the diagonal. */
  if (factored)
    p->nnz_factor =
        (double)((SCformat *)s->l.Store)->nnz + (double)((NCformat *)s->u.Store)->nnz - (double)p->n;
  return factored;
}

static void solve_all(peer *p, solver *s, void *b) {
  SuperMatrix x;
  int info = 0;
  TYPED(Create_Dense_Matrix)(&x, (int)p->n, p->nrhs, p->x, (int)p->n, SLU_DN, SLU_TYPE, SLU_GE);
  for (int k = -1; k < p->repeat && info == 0; k++) {
    memcpy(p->x, p->b, p->block_bytes);
    const double begin = peer_seconds();
    TYPED(gstrs)(NOTRANS, &s->l, &s->u, s->column_order, s->row_order, &x, &s->stat, &info);
    if (k >= 0) p->solves_s[k] = peer_seconds() - begin;
  }
  Destroy_SuperMatrix_Store(&x);
  if (info != 0)
    peer_fail(p, info, "info = %d", info);
  else if (p->rounds == 0) {
    s->options.Fact = FACTORED;
    s->options.IterRefine = SLU_DOUBLE;
    memcpy(b, p->b, p->block_bytes);
    drive(p, s, p->nrhs, b);
    p->refinement_steps = s->stat.RefineSteps;
  }
}

static void prepare(peer *p, solver *s) {
  const int n = (int)p->n;
  set_default_options(&s->options);
  s->options.PrintStat = NO;
  StatInit(&s->stat);
  peer_compress(p, false, &s->columns);
  TYPED(Create_CompCol_Matrix)
  (&s->a, n, n, s->columns.ptr[n], s->columns.values, s->columns.index, s->columns.ptr, SLU_NC, SLU_TYPE,
   SLU_GE);
  s->column_order = peer_allocate(n, sizeof *s->column_order);
  s->row_order = peer_allocate(n, sizeof *s->row_order);
  s->tree = peer_allocate(n, sizeof *s->tree);
  s->row_scale = peer_allocate(n, sizeof *s->row_scale);
  s->column_scale = peer_allocate(n, sizeof *s->column_scale);
}

static void finish(solver *s) {
  if (s->l.Store != NULL) Destroy_SuperNode_Matrix(&s->l);
  if (s->u.Store != NULL) Destroy_CompCol_Matrix(&s->u);
  Destroy_SuperMatrix_Store(&s->a);
  StatFree(&s->stat);
  free(s->column_order);
  free(s->row_order);
  free(s->tree);
  free(s->row_scale);
  free(s->column_scale);
  peer_compressed_free(&s->columns);
}

void peer_solve(peer *p) {
  solver s = {.scaled = {'N'}};
  snprintf(p->solver, sizeof p->solver, "SuperLU %d.%d.%d", SUPERLU_MAJOR_VERSION, SUPERLU_MINOR_VERSION,
           SUPERLU_PATCH_VERSION);
  p->method = "LU";
  if (p->n * p->nrhs > INT32_MAX) {
    peer_fail(p, -1, "more than 2^31 - 1 unknowns in all right-hand sides");
    return;
  }
  prepare(p, &s);
  order_columns(p, &s);
  void *b = peer_allocate(p->nrhs, p->column_bytes);
  if (factor(p, &s, b)) do
      solve_all(p, &s, b);
    while (peer_again(p));
  free(b);
  finish(&s);
}
