/* The verdict on a factorization by many processes: see runtime/iterate/refine/verdict.h. */
#include "runtime/iterate/refine/judge.h"
#include "runtime/iterate/refine/verdict.h"
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/mpi/solve/system.h"

/* A factor of all ranks, and the factor for a second opinion. */
typedef struct owner {
  tsi_verdict verdict; /* first member */
  tristar_distributed_t *d, *other;
  const tsi_remaking *how;
} owner;

static void finish(owner *o) {
  tristar_distributed_destroy(&o->other);
}

/* Finds the verdict with a system of all ranks. measure: only the condition. */
static tristar_status judge_system(tristar_distributed_t *d, bool measure, bool last) {
  TSI_CLEANUP(tsi_distributed_system_finish) tsi_distributed_system s = {.distributed = d};
  TSI_TRY(tsi_distributed_system_create(d, &s));
  const tristar_status status = measure ? tsi_judge_measure(&s.system, &d->team_factor->part)
                                        : tsi_judge(&s.system, &d->team_factor->part, last);
  tsi_distributed_reset_times(d);
  return status;
}

static tristar_status judge(tsi_verdict *verdict, bool last) {
  if (!tsi_judge_is_due(verdict->factor, verdict->is_quiet)) return TRISTAR_OK;
  return judge_system(((owner *)verdict)->d, false, last);
}

static tristar_status factor_again(tsi_verdict *verdict, bool substitute) {
  owner *o = (owner *)verdict;
  verdict->factor = NULL;
  const tristar_status status = o->how->factor_again(o->how, o->d, substitute);
  if (o->d->team_factor != NULL) verdict->factor = &o->d->team_factor->part;
  return status;
}

static tristar_status rematch(tsi_verdict *verdict, const tristar_factor_t **other) {
  owner *o = (owner *)verdict;
  *other = NULL;
  TSI_TRY(tsi_distributed_create_twin(o->d, &o->other));
  const tristar_status status = o->how->rematch(o->how, o->d, o->other);
  if (tsi_status_ends_call(status)) return status;
  if (status != TRISTAR_OK) return TRISTAR_OK;
  TSI_TRY(judge_system(o->other, true, true));
  *other = &o->other->team_factor->part;
  return TRISTAR_OK;
}

static void take_other(tsi_verdict *verdict) {
  owner *o = (owner *)verdict;
  tristar_distributed_t *other = tsi_take(&o->other);
  const tristar_singular singular = verdict->factor->analysis->options.singular;
  other->team_factor->analysis.options.singular = singular;
  if (other->source != NULL) other->source->analysis->options.singular = singular;
  other->stats.start_seconds = o->d->stats.start_seconds;
  other->borrows = false;
  o->d->borrows = true;
  tristar_distributed_destroy(&o->d);
  o->d = other;
  verdict->factor = &other->team_factor->part;
}

/* Copies the verdict; rank 0 reports the figures of the whole factor. */
static void note_verdict(tristar_distributed_t *d) {
  const tristar_factor_stats *part = &d->team_factor->part.stats;
  d->singular = part->singular != 0;
  d->misfit = d->team_factor->part.misfit;
  d->condition = part->reciprocal_condition;
  d->loses_digits = tsi_factor_loses_digits(&d->team_factor->part);
  if (d->source == NULL) return;
  d->source->stats.judged = part->judged;
  d->source->stats.singular = part->singular;
  d->source->stats.solve_error = part->solve_error;
  d->source->stats.reciprocal_condition = part->reciprocal_condition;
}

static owner owner_of(tristar_distributed_t *d, const tsi_remaking *how) {
  static const tsi_verdict_functions functions = {judge, factor_again, rematch, take_other};
  return (owner){.verdict = {.functions = &functions,
                             .factor = d->team_factor ? &d->team_factor->part : NULL,
                             .suits = how->suits,
                             .is_quiet = tsi_transport_rank(d->transport) != 0,
                             .remedy = how->remedy},
                 .d = d,
                 .how = how};
}

tristar_status tsi_distributed_judge_first(tristar_distributed_t **d, const tsi_remaking *how,
                                           tristar_status made) {
  TSI_CLEANUP(finish) owner o = owner_of(*d, how);
  const tristar_status status = tsi_verdict_first(&o.verdict, made);
  *d = o.d;
  if (status == TRISTAR_OK) note_verdict(*d);
  return status;
}

tristar_status tsi_distributed_judge_renewed(tristar_distributed_t *d, const tsi_remaking *how,
                                             tristar_status made) {
  TSI_CLEANUP(finish) owner o = owner_of(d, how);
  const tristar_status status = tsi_verdict_renewed(&o.verdict, made);
  note_verdict(d);
  if (status != TRISTAR_OK) d->valid = false;
  return status;
}
