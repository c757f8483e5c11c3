/* The verdict on suspicious pivots, on many processes: see accuracy/judge.h. */
#include "runtime/iterate/refine/judge.h"

#include "runtime/mpi/factor/team_factor.h"
#include "runtime/mpi/solve/system.h"

/* The system has messages. */
static tristar_status judge(tristar_distributed_t *d, bool last) {
  TSI_CLEANUP(tsi_distributed_system_finish) tsi_distributed_system s = {.distributed = d};
  TSI_TRY(tsi_distributed_system_create(d, &s));
  return tsi_judge(&s.system, &d->team_factor->part, last);
}

/* Rank 0 reports the figures of the whole factor. */
static void note_verdict(tristar_distributed_t *d) {
  const tristar_factor_stats *part = &d->team_factor->part.stats;
  d->singular = part->singular != 0;
  d->loses_digits = tsi_factor_loses_digits(&d->team_factor->part);
  if (d->source == NULL) return;
  d->source->stats.judged = part->judged;
  d->source->stats.singular = part->singular;
  d->source->stats.solve_error = part->solve_error;
  d->source->stats.reciprocal_condition = part->reciprocal_condition;
}

tristar_status tsi_distributed_judge(tristar_distributed_t *d, bool last) {
  tristar_status status = TRISTAR_OK;
  if (tsi_judge_is_needed(&d->team_factor->part)) {
    status = judge(d, last);
    tsi_distributed_reset_times(d);
  }
  note_verdict(d);
  if (status != TRISTAR_OK) d->valid = false;
  return status;
}
