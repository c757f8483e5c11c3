/* The sweeps of a preconditioner: triangular factors and their plans; see precond.h. */
#include "runtime/precond/precond.h"

void tsi_precond_drop_sweeps(tristar_precond_t *precond) {
  if (precond->sweep[1].factor == NULL) precond->sweep[1].plan = NULL; /* of sweep 0 */
  for (int i = 0; i < 2; i++) {
    tristar_plan_destroy(&precond->sweep[i].plan);
    tristar_factor_destroy(&precond->sweep[i].factor);
  }
}

static tristar_view view_of(const tristar_precond_t *p, const tsi_factor_rows *rows) {
  return (tristar_view){.format = TRISTAR_CSR,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = p->stats.scalar,
                        .rows = rows->n,
                        .cols = rows->n,
                        .ptr = rows->ptr,
                        .index = rows->index,
                        .values = rows->values,
                        .ptr_bits = 64,
                        .index_bits = 32};
}

tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which, const tsi_factor_rows *rows,
                                      tristar_uplo uplo, tristar_diag diag, tristar_op op) {
  tristar_status status = TRISTAR_OK;
  tsi_precond_sweep *sweep = &precond->sweep[which];
  const tristar_view view = view_of(precond, rows);
  const tristar_triangle_options triangle = {uplo, diag, precond->options.partition};
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_options_init(&options);
  options.engine = precond->options.engine;
  options.nrhs = precond->options.nrhs;
  sweep->op = op;
  TSI_TRY(tristar_import_triangle(precond->ts, &view, &triangle, &sweep->factor));
  TSI_TRY(tristar_plan(sweep->factor, &options, &sweep->plan));
  (void)tristar_plan_get_stats(sweep->plan, &stats);
  precond->stats.partition[which] = stats.partition;
out:
  return status;
}

void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op) {
  precond->sweep[1] = (tsi_precond_sweep){.factor = NULL, .plan = precond->sweep[0].plan, .op = op};
  precond->stats.partition[1] = precond->stats.partition[0];
}
