/* Memory limit of a factorization by all ranks: see team_factor.h. */
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/process/rank_forecast.h"

tristar_status tsi_team_factor_forecast(const tristar_distributed_t *d, const tsi_shared_structure *structure,
                                        double *bytes) {
  tsi_env *env = &d->ts->env;
  const tsi_team_factor *team_factor = d->team_factor;
  tsi_rank_bytes needed;
  *bytes = 0;
  if (atomic_load(&env->memory.limit) == 0) return TRISTAR_OK;
  const tsi_rank_source source = {.ts = d->ts,
                                  .panels = structure->panels,
                                  .method = team_factor->analysis.stats.method,
                                  .process = d->process,
                                  .part = &team_factor->fronts,
                                  .entries = structure->entries};
  TSI_TRY(tsi_rank_forecast_make(env, &source, &needed));
  *bytes = tsi_rank_peak(&needed) - (d->of_rows ? needed.present : 0);
  return TRISTAR_OK;
}

tristar_status tsi_team_factor_check_limit(const tristar_distributed_t *d, double bytes) {
  const tsi_memory *memory = &d->ts->env.memory;
  const size_t limit = atomic_load(&memory->limit), held = atomic_load(&memory->current);
  if (limit > 0 && bytes > 0 && (double)held + bytes > (double)limit)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_MEMORY,
             "the factorization would need %.0f bytes beside the %zu bytes that are in use (forecast): more "
             "than the limit of %zu bytes (tristar_limit_memory)",
             bytes, held, limit);
  return TRISTAR_OK;
}
