/* triangle_cxsparse [--on-demand] --uplo L|U MATRIX [REPEAT [NRHS]]: cs_lsolve and cs_usolve of CXSparse, by
 * columns and in place. See triangle.h. */
#include <cs.h>
#include <stdio.h>

#include "tools/peers/triangle.h"

/* The diagonal entry is the first one in a column of L, the last one in a column of U: entries are in
 * ascending order. */
static void solve_lower(void *solver, const double *b, double *x) {
  (void)b;
  (void)cs_di_lsolve(solver, x);
}

static void solve_upper(void *solver, const double *b, double *x) {
  (void)b;
  (void)cs_di_usolve(solver, x);
}

void triangle_solve_real(peer *p) {
  peer_compressed columns;
  const double begin = peer_seconds();
  peer_compress(p, false, &columns);
  p->factor_s = peer_seconds() - begin;
  cs_di t = {.nzmax = columns.ptr[p->n],
             .m = (int)p->n,
             .n = (int)p->n,
             .p = columns.ptr,
             .i = columns.index,
             .x = columns.values,
             .nz = -1};
  snprintf(p->solver, sizeof p->solver, "CXSparse %d.%d.%d", CS_VER, CS_SUBVER, CS_SUBSUB);
  p->method = "columns";
  p->nnz_factor = (double)columns.ptr[p->n];
  triangle_rounds(p, true, p->uplo == 'U' ? solve_upper : solve_lower, &t);
  peer_compressed_free(&columns);
}
