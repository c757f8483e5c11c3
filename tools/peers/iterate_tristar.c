/* iterate_tristar [--on-demand] MATRIX [REPEAT]: TriStar on one core, by its public functions. See iterate.h.
 * A symmetric matrix is passed as it is stored, other matrices by rows. */
#include <stdio.h>

#include "tools/peers/iterate.h"
#include "tristar_krylov.h"
#include "tristar_precond.h"

bool iterate_begin(peer *p) {
  snprintf(p->solver, sizeof p->solver, "TriStar %s", tristar_version());
  return true;
}

void iterate_end(void) {}

static bool good(peer *p, tristar_status status) {
  char message[512];
  if (status == TRISTAR_OK) return true;
  tristar_get_error(p->ts, message, sizeof message);
  peer_fail(p, (int)status, "%.200s", message);
  return false;
}

static tristar_view take_view(const peer *p, const iterate_system *s) {
  if (s->cg) return p->view;
  tristar_view view;
  tristar_view_init(&view);
  view.format = TRISTAR_CSR;
  view.rows = view.cols = p->n;
  view.ptr = s->rows.ptr;
  view.index = s->rows.index;
  view.values = s->rows.values;
  return view;
}

void iterate_solve(peer *p, iterate_system *s) {
  tristar_krylov_t *krylov = NULL;
  tristar_precond_t *precond = NULL;
  tristar_krylov_options options;
  tristar_precond_options made;
  tristar_krylov_result result;
  const double begin = iterate_seconds();
  const tristar_view view = take_view(p, s);
  tristar_krylov_options_init(&options);
  tristar_precond_options_init(&made);
  options.method = s->cg ? TRISTAR_KRYLOV_CG : TRISTAR_KRYLOV_BICGSTAB;
  options.side = s->cg ? TRISTAR_SIDE_LEFT : TRISTAR_SIDE_RIGHT;
  options.norm = TRISTAR_NORM_RESIDUAL;
  options.tolerance = ITERATE_TOLERANCE;
  options.max_iterations = ITERATE_MOST;
  made.kind = s->jacobi ? TRISTAR_PRECOND_JACOBI : s->cg ? TRISTAR_PRECOND_IC : TRISTAR_PRECOND_ILU;
  if (good(p, tristar_krylov_create(p->ts, &view, &options, &krylov)) &&
      good(p, tristar_precond(p->ts, &view, &made, &precond))) {
    s->setup_s = iterate_seconds() - begin;
    if (good(p, tristar_krylov_solve(krylov, precond, 1, p->b, p->n, p->x, p->n, &result))) {
      p->iterations = result.iterations;
      if (result.reason != TRISTAR_REASON_CONVERGED)
        peer_fail(p, 1, "%s", tristar_krylov_reason_text(result.reason));
    }
  }
  tristar_precond_destroy(&precond);
  tristar_krylov_destroy(&krylov);
}
