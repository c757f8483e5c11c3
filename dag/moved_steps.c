/* Steps that copy b and x before and after a sweep: see moved_steps.h. */
#include "dag/moved_steps.h"

/* Steps of a sweep that wait for another one of it, and steps that another one waits for. */
typedef struct ends {
  bool *waits, *awaited; /* steps of the sweep */
} ends;

static tristar_status find_ends(const tsi_steps *sweep, ends *e) {
  TSI_TRY(TSI_ALLOC_ZERO_IN(e, e->waits, sweep->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(e, e->awaited, sweep->count));
  for (tsi_count k = 0; k < sweep->edges; k++) {
    e->waits[sweep->edge[k].item] = true;
    e->awaited[sweep->edge[k].before] = true;
  }
  return TRISTAR_OK;
}

static tsi_count count_ends(const tsi_steps *sweep, const ends *e) {
  tsi_count count = 0;
  for (tsi_index s = 0; s < sweep->count; s++) count += !e->waits[s] + !e->awaited[s];
  return count;
}

static void fill_steps(const tsi_steps *sweep, tsi_index pieces, double bytes, tsi_steps *steps) {
  for (tsi_index p = 0; p < pieces; p++) {
    steps->step[p] = (tsi_step){.kind = TSI_STEP_READ, .argument = p, .bytes = bytes / pieces};
    steps->step[pieces + sweep->count + p] =
        (tsi_step){.kind = TSI_STEP_WRITE, .argument = p, .bytes = bytes / pieces};
  }
  for (tsi_index s = 0; s < sweep->count; s++) steps->step[pieces + s] = sweep->step[s];
  for (tsi_index s = 0; s < steps->count; s++) steps->step[s].priority = steps->count - s;
}

static void fill_edges(const tsi_steps *sweep, tsi_index pieces, const ends *e, tsi_steps *steps) {
  tsi_edge *edge = steps->edge;
  const tsi_index writes = pieces + sweep->count;
  for (tsi_count k = 0; k < sweep->edges; k++)
    *edge++ = (tsi_edge){pieces + sweep->edge[k].item, pieces + sweep->edge[k].before};
  for (tsi_index s = 0; s < sweep->count; s++)
    for (tsi_index p = 0; p < pieces; p++) {
      if (!e->waits[s]) *edge++ = (tsi_edge){pieces + s, p};
      if (!e->awaited[s]) *edge++ = (tsi_edge){writes + p, pieces + s};
    }
}

tristar_status tsi_moved_steps_create(tsi_env *env, const tsi_steps *sweep, tsi_index pieces, double bytes,
                                      tsi_steps **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, ends, e, 1);
  TSI_SCRATCH_ZERO(env, tsi_steps, steps, 1);
  if (!tsi_to_index(2 * (tsi_count)pieces + sweep->count, &steps->count))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(find_ends(sweep, e));
  steps->edges = sweep->edges + pieces * count_ends(sweep, e);
  TSI_TRY(TSI_ALLOC_IN(steps, steps->step, steps->count));
  TSI_TRY(TSI_ALLOC_IN(steps, steps->edge, steps->edges));
  fill_steps(sweep, pieces, bytes, steps);
  fill_edges(sweep, pieces, e, steps);
  if (env->check) TSI_TRY(tsi_moved_steps_check(env, steps, sweep, pieces));
  *out = tsi_take(&steps);
  return TRISTAR_OK;
}

/* ---- Check --------------------------------------------------------------------------------------------- */

static bool is_within(tsi_index step, tsi_index pieces, tsi_index count) {
  return step >= pieces && step < pieces + count;
}

tristar_status tsi_moved_steps_check(tsi_env *env, const tsi_steps *steps, const tsi_steps *sweep,
                                     tsi_index pieces) {
  TSI_OWNED tsi_index *reads = NULL;
  tsi_count within = 0;
  TSI_SCRATCH_ZERO(env, ends, e, 1);
  TSI_TRY(find_ends(sweep, e));
  TSI_TRY(TSI_ALLOC_ZERO(env, reads, sweep->count));
  /* For each step of the sweep: number of edges from READ, and to WRITE. */
  TSI_SCRATCH_ZERO(env, tsi_index, writes, sweep->count);
  for (tsi_count k = 0; k < steps->edges; k++) {
    const tsi_edge edge = steps->edge[k];
    const bool item = is_within(edge.item, pieces, sweep->count),
               before = is_within(edge.before, pieces, sweep->count);
    if (item && before) {
      const tsi_edge given = within < sweep->edges ? sweep->edge[within] : (tsi_edge){TSI_NONE, TSI_NONE};
      if (edge.item - pieces != given.item || edge.before - pieces != given.before)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d waits for %d, which is no edge of the sweep", edge.item,
                 edge.before);
      within++;
    } else if (item)
      reads[edge.item - pieces]++;
    else if (before)
      writes[edge.before - pieces]++;
  }
  if (within != sweep->edges)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld of %lld edges of the sweep", (long long)within,
             (long long)sweep->edges);
  for (tsi_index s = 0; s < sweep->count; s++)
    if ((!e->waits[s] && reads[s] != pieces) || (!e->awaited[s] && writes[s] != pieces))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d of the sweep: after %d, before %d of %d moves", s,
               reads[s], writes[s], pieces);
  return TRISTAR_OK;
}
