/* The sweeps of a preconditioner: triangular factors and their plans; see precond.h. */
#include "runtime/import/import.h"
#include "runtime/iterate/precond/precond.h"

void tsi_precond_drop_sweeps(tristar_precond_t *precond) {
  if (precond->sweep[1].factor == NULL) precond->sweep[1].plan = NULL; /* of sweep 0 */
  for (int i = 0; i < 2; i++) {
    tristar_plan_destroy(&precond->sweep[i].plan);
    tristar_factor_destroy(&precond->sweep[i].factor);
  }
}

/* One triangle of the rows, with a diagonal of ones if unit. */
static tristar_status extract(tsi_env *env, const tsi_sparse_kernels *sparse, const tsi_factor_rows *rows,
                              bool lower, bool unit, tsi_entries *out) {
  const tsi_index n = rows->n;
  const size_t bytes = sparse->scalar_bytes;
  const char *values = rows->values;
  const double one = 1;
  TSI_TRY(tsi_entries_begin(env, n, bytes, out));
  for (tsi_index i = 0; i < n; i++)
    out->ptr[i + 1] = lower ? rows->diagonal[i] + 1 - rows->ptr[i] : rows->ptr[i + 1] - rows->diagonal[i];
  TSI_TRY(tsi_entries_reserve(env, out));
  for (tsi_index i = 0; i < n; i++) {
    const tsi_count from = lower ? rows->ptr[i] : rows->diagonal[i], to = out->ptr[i],
                    count = out->ptr[i + 1] - to;
    char *item = (char *)out->item + (size_t)to * bytes;
    memcpy(out->index + to, rows->index + from, (size_t)count * sizeof *out->index);
    memcpy(item, values + (size_t)from * bytes, (size_t)count * bytes);
    if (unit) sparse->fill(1, &one, item + (size_t)(lower ? count - 1 : 0) * bytes);
  }
  return TRISTAR_OK;
}

static tristar_status make_plan(tristar_precond_t *p, int which) {
  tsi_precond_sweep *sweep = &p->sweep[which];
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_options_init(&options);
  options.engine = p->options.engine;
  options.nrhs = p->options.nrhs;
  TSI_TRY(tristar_plan(sweep->factor, &options, &sweep->plan));
  (void)tristar_plan_get_stats(sweep->plan, &stats);
  p->stats.partition[which] = stats.partition;
  return TRISTAR_OK;
}

tristar_status tsi_precond_make_sweep(tristar_precond_t *precond, int which, const tsi_factor_rows *rows,
                                      tristar_uplo uplo, tristar_diag diag, tristar_op op) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &precond->ts->env;
  tsi_precond_sweep *sweep = &precond->sweep[which];
  const bool stored = op == TRISTAR_N, lower = uplo == TRISTAR_LOWER;
  tsi_entries t = {.ptr = NULL};
  tsi_pattern *pattern;
  void *values;
  TSI_TRY_OUT(extract(env, precond->sparse, rows, lower, diag == TRISTAR_UNIT, &t));
  for (tsi_index j = 0; j < t.n && op == TRISTAR_C; j++)
    precond->kernels->conjugate((tsi_index)(t.ptr[j + 1] - t.ptr[j]),
                                (char *)t.item + (size_t)t.ptr[j] * precond->sparse->scalar_bytes);
  sweep->op = TRISTAR_N;
  if (sweep->plan != NULL) {
    TSI_TRY_OUT(tsi_reimport_lines(sweep->factor, t.item));
    goto out;
  }
  TSI_TRY_OUT(tsi_pattern_from_entries(env, &t, stored, (char)precond->stats.scalar, &pattern, &values));
  TSI_TRY_OUT(tsi_import_lines(precond->ts, pattern, values, lower == stored, precond->options.partition,
                               &sweep->factor));
  TSI_TRY_OUT(make_plan(precond, which));
out:
  tsi_entries_finish(&t);
  return status;
}

void tsi_precond_share_sweep(tristar_precond_t *precond, tristar_op op) {
  precond->sweep[1] = (tsi_precond_sweep){.factor = NULL, .plan = precond->sweep[0].plan, .op = op};
  precond->stats.partition[1] = precond->stats.partition[0];
}
