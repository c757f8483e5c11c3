/* The order in which blocks of a GPU draw the steps of a program: see program.h. */
#include "dag/program.h"

#include <stdlib.h>

/* Position of a step in the order: by part of the solve, then by descending priority, then in the order of
 * the list. */
typedef struct place {
  double priority;
  tsi_index part, step;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  if (x->priority > y->priority || x->priority < y->priority) return x->priority > y->priority ? -1 : 1;
  return x->step < y->step ? -1 : 1;
}

/* The level at which a grid works on a chunk: at most the level at which the grid sends its sums to another
 * grid. */
static tsi_index level_of(const tsi_layout *layout, const tsi_share *share, tsi_index k) {
  const tsi_index level = tsi_separator_level(layout->pz, layout->node[share->chunk[k]]);
  tsi_index own = 0;
  while (own < layout->levels && (share->z >> own & 1) == 0) own++;
  return tsi_index_min(level, own);
}

/* The local chunk of a step; TSI_NONE: the step has none. */
static tsi_index chunk_of(const tsi_share *share, const tsi_step *step) {
  const tsi_chunks *chunks = share->chunks;
  switch (step->kind) {
  case TSI_STEP_ARRIVAL:
  case TSI_STEP_EXCHANGE:
  case TSI_STEP_GRID_FORWARD:
  case TSI_STEP_GRID_BACKWARD:
    return TSI_NONE;
  case TSI_STEP_FORWARD_SLICE:
  case TSI_STEP_BACKWARD_SLICE:
    return tsi_find_range(chunks->slice_ptr, chunks->count, step->argument);
  default:
    return step->argument;
  }
}

/* Replicated: the forward sweep, the sums over the grids, the backward sweep. Not replicated, by level:
 * forward, the chunks of each level, then the message to the next grid; backward, the message to the grids of
 * a level, then its chunks. So a message between grids arrives in a later part. */
static tsi_index part_of(const tsi_layout *layout, const tsi_share *share, const tsi_step *step) {
  const tsi_index chunk = chunk_of(share, step), backward = 2 * layout->levels + 2;
  const bool forward = tsi_step_is_forward(step->kind);
  if (layout->replicated) return step->kind == TSI_STEP_EXCHANGE ? 1 : forward ? 0 : 2;
  if (step->kind == TSI_STEP_GRID_FORWARD) return 2 * step->argument + 1;
  if (step->kind == TSI_STEP_GRID_BACKWARD) return backward + 2 * (layout->levels - step->argument);
  const tsi_index level = chunk == TSI_NONE ? 0 : level_of(layout, share, chunk);
  return forward ? 2 * level : backward + 2 * (layout->levels - level) + 1;
}

static void list_places(const tsi_program *program, const tsi_layout *layout, const tsi_share *share,
                        place *at) {
  const tsi_steps *steps = program->steps;
  for (tsi_index s = 0; s < steps->count; s++)
    at[s] = (place){steps->step[s].priority, part_of(layout, share, &steps->step[s]), s};
  for (tsi_index m = 0; m < program->receives; m++) at[program->receive[m].step].part = TSI_INDEX_MAX;
  for (tsi_count e = 0; e < steps->edges; e++) { /* an arrival comes just before its first user */
    place *before = &at[steps->edge[e].before], needs = at[steps->edge[e].item];
    if (steps->step[before->step].kind != TSI_STEP_ARRIVAL) continue;
    needs.step = before->step;
    if (by_place(&needs, before) < 0) *before = needs;
  }
}

tristar_status tsi_program_list_draws(tsi_env *env, const tsi_program *program, const tsi_layout *layout,
                                      const tsi_share *share, tsi_index *draw) {
  const tsi_steps *steps = program->steps;
  TSI_SCRATCH(env, place, at, steps->count);
  TSI_SCRATCH(env, tsi_index, turn, steps->count);
  list_places(program, layout, share, at);
  if (steps->count > 0) qsort(at, (size_t)steps->count, sizeof *at, by_place);
  for (tsi_index k = 0; k < steps->count; k++) turn[draw[k] = at[k].step] = k;
  for (tsi_count e = 0; e < steps->edges; e++)
    if (turn[steps->edge[e].before] > turn[steps->edge[e].item])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d is drawn before step %d, which it waits for",
               steps->edge[e].item, steps->edge[e].before);
  return TRISTAR_OK;
}
