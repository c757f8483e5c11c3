/* Lists the steps of a solve and their edges: see steps.h. */
#include "dag/steps.h"

#include "dag/access_sweep.h"

static const char *const names[TSI_STEP_KINDS] = {
    [TSI_STEP_FORWARD_CHUNK] = "forward_chunk",
    [TSI_STEP_FORWARD_SLICE] = "forward_slice",
    [TSI_STEP_FORWARD_PUSH] = "forward_push",
    [TSI_STEP_BACKWARD_CHUNK] = "backward_chunk",
    [TSI_STEP_BACKWARD_SLICE] = "backward_slice",
    [TSI_STEP_BACKWARD_PUSH] = "backward_push",
    [TSI_STEP_READ] = "read_chunk",
    [TSI_STEP_FORWARD_ROWS] = "forward_rows",
    [TSI_STEP_DIAGONAL] = "solve_diagonal",
    [TSI_STEP_BACKWARD_ROWS] = "backward_rows",
    [TSI_STEP_WRITE] = "write_chunk",
    [TSI_STEP_ARRIVAL] = "arrival",
    [TSI_STEP_FORWARD_SUM] = "forward_sum",
    [TSI_STEP_FORWARD_RECEIVE] = "forward_receive",
    [TSI_STEP_BACKWARD_SUM] = "backward_sum",
    [TSI_STEP_BACKWARD_RECEIVE] = "backward_receive",
    [TSI_STEP_EXCHANGE] = "exchange",
    [TSI_STEP_GRID_FORWARD] = "grid_forward",
    [TSI_STEP_GRID_BACKWARD] = "grid_backward",
    [TSI_STEP_FORWARD_BORDER] = "forward_border",
    [TSI_STEP_BACKWARD_BORDER] = "backward_border",
    [TSI_STEP_SUBTREE] = "subtree",
    [TSI_STEP_FRONT] = "front",
    [TSI_STEP_FRONT_OPEN] = "front_open",
    [TSI_STEP_FRONT_ASSEMBLE] = "front_assemble",
    [TSI_STEP_FRONT_ASSEMBLED] = "front_assembled",
    [TSI_STEP_FRONT_DIAGONAL] = "front_diagonal",
    [TSI_STEP_FRONT_BELOW] = "front_below",
    [TSI_STEP_FRONT_RIGHT] = "front_right",
    [TSI_STEP_FRONT_SCHUR] = "front_schur",
    [TSI_STEP_FRONT_DEVICE] = "front_device",
    [TSI_STEP_FRONT_PACK] = "front_pack",
    [TSI_STEP_FRONT_CLOSE] = "front_close",
};

tsi_step_part tsi_step_part_of(tsi_step_kind kind) {
  switch (kind) {
  case TSI_STEP_FORWARD_CHUNK:
  case TSI_STEP_BACKWARD_CHUNK:
  case TSI_STEP_DIAGONAL:
  case TSI_STEP_SUBTREE:
  case TSI_STEP_FRONT:
  case TSI_STEP_FRONT_DIAGONAL:
  case TSI_STEP_FRONT_DEVICE:
    return TSI_PART_DIAGONAL;
  case TSI_STEP_FORWARD_SLICE:
  case TSI_STEP_BACKWARD_SLICE:
  case TSI_STEP_FORWARD_ROWS:
  case TSI_STEP_BACKWARD_ROWS:
  case TSI_STEP_FRONT_BELOW:
  case TSI_STEP_FRONT_RIGHT:
  case TSI_STEP_FRONT_SCHUR:
    return TSI_PART_ROWS;
  default:
    return TSI_PART_NEITHER;
  }
}

const char *tsi_step_name(tsi_step_kind kind) {
  return names[kind];
}

double tsi_steps_bytes(const tsi_steps *steps) {
  double bytes = 0;
  for (tsi_index k = 0; k < steps->count; k++) bytes += steps->step[k].bytes;
  return bytes;
}

/* Bytes that a push moves for each row of its pair: two reads, a write, and the row number. */
#define PUSH_BYTES_PER_ROW 28.0

/* State of the construction. The first pass counts the edges, the second one lists them. */
typedef struct builder {
  const tsi_steps_source *source;
  const tsi_dag *dag;
  tsi_steps *steps;
  tsi_index *number_of;     /* tasks: its step; TSI_NONE: it does not run. On a device: its last step */
  tsi_index *first_of;      /* tasks: its step; on a device: the step that waits for other tasks */
  tsi_index *forward_push;  /* pairs of the forward sweep, by position in by_target: their steps */
  tsi_index *backward_push; /* pairs of the backward sweep: their steps */
  bool counting;
} builder;

static tsi_index add_step(builder *b, tsi_step_kind kind, tsi_index argument, double priority, double bytes) {
  b->steps->step[b->steps->count] =
      (tsi_step){.kind = kind, .argument = argument, .priority = priority, .bytes = bytes};
  return b->steps->count++;
}

static void add_edge(builder *b, tsi_index item, tsi_index before) {
  if (item == TSI_NONE || before == TSI_NONE) return;
  if (!b->counting) b->steps->edge[b->steps->edges] = (tsi_edge){item, before};
  b->steps->edges++;
}

/* ---- Steps -------------------------------------------------------------------------------------------- */

/* Adds the pushes into a chunk, in the order of their sources. Each has a higher priority than the next. */
static void add_forward_pushes(builder *b, tsi_index chunk) {
  const tsi_sweep *sweep = b->dag->forward;
  for (tsi_count q = sweep->target_ptr[chunk]; q < sweep->target_ptr[chunk + 1]; q++)
    b->forward_push[q] = add_step(b, TSI_STEP_FORWARD_PUSH, (tsi_index)q,
                                  b->dag->priority[chunk] + (double)(sweep->target_ptr[chunk + 1] - q),
                                  PUSH_BYTES_PER_ROW * sweep->pair[sweep->by_target[q]].count);
}

/* Adds the copies of a chunk's x, with a priority just above the steps that read them. */
static void add_backward_pushes(builder *b, tsi_index chunk) {
  const tsi_sweep *sweep = b->dag->backward;
  for (tsi_count q = sweep->target_ptr[chunk]; q < sweep->target_ptr[chunk + 1]; q++) {
    const tsi_count pair = sweep->by_target[q];
    const tsi_index reader = sweep->pair[pair].source;
    b->backward_push[pair] = add_step(b, TSI_STEP_BACKWARD_PUSH, (tsi_index)pair,
                                      b->dag->priority[b->dag->forward->nodes + reader] + 1,
                                      PUSH_BYTES_PER_ROW * sweep->pair[pair].count);
  }
}

/* ---- On a device --------------------------------------------------------------------------------------- */

#define STEPS_ON_DEVICE 4 /* Maximum number of steps of a chunk in one direction. */

/* Lists the steps of a chunk in one direction, in their order. Returns their number. *waits: the step that
 * waits for other tasks. */
static int kinds_on_device(const tsi_steps_source *source, bool backward, tsi_step_kind kind[STEPS_ON_DEVICE],
                           int *waits) {
  int count = 0;
  if (!backward || !source->forward) kind[count++] = TSI_STEP_READ;
  *waits = backward ? count : 0;
  if (backward) kind[count++] = TSI_STEP_BACKWARD_BORDER;
  kind[count++] = backward ? TSI_STEP_BACKWARD_CHUNK : TSI_STEP_FORWARD_CHUNK;
  if (!backward) kind[count++] = TSI_STEP_FORWARD_BORDER;
  if (backward || !source->backward) kind[count++] = TSI_STEP_WRITE;
  return count;
}

static bool on_device(const builder *b, tsi_index chunk) {
  return b->source->on_device && b->source->on_device[chunk];
}

static void add_steps_on_device(builder *b, tsi_index task, tsi_index chunk, bool backward, double bytes) {
  tsi_step_kind kind[STEPS_ON_DEVICE];
  int waits;
  const int count = kinds_on_device(b->source, backward, kind, &waits);
  for (int k = 0; k < count; k++) {
    const bool works = kind[k] == TSI_STEP_FORWARD_CHUNK || kind[k] == TSI_STEP_BACKWARD_CHUNK;
    const tsi_index number = add_step(b, kind[k], chunk, b->dag->priority[task], works ? bytes : 0);
    b->steps->step[number].alone = b->steps->step[number].on_device = true;
    if (k == waits) b->first_of[task] = number;
    b->number_of[task] = number;
  }
}

static void add_edges_on_device(builder *b) {
  for (tsi_index s = 1; s < b->steps->count; s++) {
    const tsi_step *step = &b->steps->step[s], *before = step - 1;
    const bool opens = step->kind == TSI_STEP_READ ||
                       (step->kind == TSI_STEP_BACKWARD_BORDER && before->kind != TSI_STEP_READ);
    if (step->on_device && !opens) add_edge(b, s, s - 1);
  }
}

static void add_task(builder *b, tsi_index task) {
  const tsi_dag *dag = b->dag;
  const bool backward = task >= dag->forward->nodes;
  const tsi_sweep *sweep = backward ? dag->backward : dag->forward;
  const tsi_index node = backward ? task - dag->forward->nodes : task;
  const bool slice = node >= sweep->chunks;
  static const tsi_step_kind kind[2][2] = {{TSI_STEP_FORWARD_CHUNK, TSI_STEP_FORWARD_SLICE},
                                           {TSI_STEP_BACKWARD_CHUNK, TSI_STEP_BACKWARD_SLICE}};
  b->number_of[task] = b->first_of[task] = TSI_NONE;
  if (!(backward ? b->source->backward : b->source->forward)) return;
  if (!slice && on_device(b, node)) {
    add_steps_on_device(b, task, node, backward, sweep->bytes[node]);
    return;
  }
  if (b->source->push && !backward && !slice) add_forward_pushes(b, node);
  b->first_of[task] = b->number_of[task] = add_step(
      b, kind[backward][slice], slice ? node - sweep->chunks : node, dag->priority[task], sweep->bytes[node]);
  if (b->source->push && backward && !slice) add_backward_pushes(b, node);
}

/* ---- Edges -------------------------------------------------------------------------------------------- */

static void add_dag_edge(void *arg, tsi_index task, tsi_index before) {
  builder *b = arg;
  add_edge(b, b->first_of[task], b->number_of[before]);
}

/* Calls add_edge for the step of a pair and each task that makes (forward) or reads (backward) its rows: the
 * chunk, or its slices. */
static void join_pair(builder *b, const tsi_sweep *sweep, const tsi_chunks *chunks, tsi_index tasks,
                      const tsi_sweep_pair *pair, tsi_index push, bool backward) {
  const tsi_index c = pair->source, end = pair->first + pair->count;
  tsi_index k = chunks->slice_ptr[c];
  const tsi_index last = chunks->slice_ptr[c + 1];
  if (k == last) {
    const tsi_index step = b->number_of[tasks + c];
    add_edge(b, backward ? step : push, backward ? push : step);
    return;
  }
  for (; k < last && chunks->slice_row[k] < end; k++) {
    const tsi_index step = b->number_of[tasks + sweep->chunks + k];
    if (k + 1 < last && chunks->slice_row[k + 1] <= pair->first) continue;
    add_edge(b, backward ? step : push, backward ? push : step);
  }
}

static void add_forward_push_edges(builder *b) {
  const tsi_sweep *sweep = b->dag->forward;
  for (tsi_index c = 0; c < sweep->chunks; c++) {
    tsi_index latest = TSI_NONE;
    for (tsi_count q = sweep->target_ptr[c]; q < sweep->target_ptr[c + 1]; q++) {
      add_edge(b, b->forward_push[q], latest);
      latest = b->forward_push[q];
      join_pair(b, sweep, b->source->forward_chunks, 0, &sweep->pair[sweep->by_target[q]], latest, false);
    }
    add_edge(b, b->number_of[c], latest);
  }
  for (tsi_index k = 0; k < sweep->slices; k++)
    add_edge(b, b->number_of[sweep->chunks + k], b->number_of[sweep->slice_chunk[k]]);
}

static void add_backward_push_edges(builder *b) {
  const tsi_sweep *sweep = b->dag->backward;
  const tsi_index tasks = b->dag->forward->nodes;
  for (tsi_count p = 0; p < sweep->pairs; p++) {
    add_edge(b, b->backward_push[p], b->number_of[tasks + sweep->pair[p].target]);
    join_pair(b, sweep, b->source->backward_chunks, tasks, &sweep->pair[p], b->backward_push[p], true);
  }
  for (tsi_index k = 0; k < sweep->slices; k++)
    add_edge(b, b->number_of[tasks + sweep->slice_chunk[k]], b->number_of[tasks + sweep->chunks + k]);
}

/* Counts or lists the edges. */
static void add_edges(builder *b) {
  b->steps->edges = 0;
  if (!b->source->push) {
    tsi_dag_for_each_edge(b->dag, add_dag_edge, b);
    add_edges_on_device(b);
    return;
  }
  if (b->source->forward) add_forward_push_edges(b);
  if (b->source->backward) add_backward_push_edges(b);
  for (tsi_index v = 0; v < b->dag->forward->nodes; v++) {
    const tsi_index turn = tsi_dag_turn(b->dag, v);
    if (turn != TSI_NONE) add_edge(b, b->number_of[b->dag->forward->nodes + turn], b->number_of[v]);
  }
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static tristar_status allocate(tsi_env *env, builder *b) {
  const tsi_dag *dag = b->dag;
  const tsi_count pushes = b->source->push ? dag->forward->pairs + dag->backward->pairs : 0;
  const tsi_count more =
      b->source->on_device ? 2 * (STEPS_ON_DEVICE - 1) * (tsi_count)dag->forward->chunks : 0;
  tsi_index most;
  if (!tsi_to_index(dag->tasks + pushes + more, &most))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(TSI_ALLOC_IN(b->steps, b->steps->step, most));
  TSI_TRY(TSI_ALLOC_IN(b, b->number_of, dag->tasks));
  TSI_TRY(TSI_ALLOC_IN(b, b->first_of, dag->tasks));
  TSI_TRY(TSI_ALLOC_IN(b, b->forward_push, b->source->push ? dag->forward->pairs : 0));
  return TSI_ALLOC_IN(b, b->backward_push, b->source->push ? dag->backward->pairs : 0);
}

tristar_status tsi_steps_create(tsi_env *env, const tsi_steps_source *source, tsi_steps **out) {
  *out = NULL;
  TSI_SCRATCH(env, builder, b, 1);
  *b = (builder){.source = source, .dag = source->dag, .counting = true};
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->steps, 1));
  TSI_TRY(allocate(env, b));
  for (tsi_index k = 0; k < source->dag->tasks; k++) add_task(b, source->order[k]);
  add_edges(b);
  b->counting = false;
  TSI_TRY(TSI_ALLOC_IN(b->steps, b->steps->edge, b->steps->edges));
  add_edges(b);
  if (env->check) TSI_TRY(tsi_steps_check(env, b->steps, source));
  tsi_own(NULL, b->steps);
  *out = b->steps;
  return TRISTAR_OK;
}

typedef struct lister {
  tsi_access_sweeps sweeps;
  const tsi_step *step;
} lister;

static void list_step(const void *arg, tsi_index k, tsi_access_lister *l) {
  const lister *of = arg;
  tsi_access_add_sweep_step(&of->sweeps, &of->step[k], l);
}

tristar_status tsi_steps_list_accesses(tsi_env *env, const tsi_steps *steps, const tsi_steps_source *source,
                                       tsi_access_list **out) {
  const lister of = {{.forward = source->dag->forward,
                      .backward = source->dag->backward,
                      .forward_chunks = source->forward_chunks,
                      .backward_chunks = source->backward_chunks,
                      .only_forward = !source->backward,
                      .only_backward = !source->forward,
                      .push = source->push,
                      .before = source->before,
                      .in_place = source->in_place},
                     steps->step};
  return tsi_access_list_create(env, steps->count, list_step, &of, out);
}

/* Number of arguments of each kind. */
static void count_kinds(const tsi_steps_source *source, tsi_count count[TSI_STEP_KINDS]) {
  const tsi_sweep *f = source->dag->forward, *b = source->dag->backward;
  memset(count, 0, TSI_STEP_KINDS * sizeof *count);
  if (source->forward) {
    count[TSI_STEP_FORWARD_CHUNK] = f->chunks;
    count[TSI_STEP_FORWARD_SLICE] = f->slices;
    if (source->push) count[TSI_STEP_FORWARD_PUSH] = f->pairs;
  }
  if (source->backward) {
    count[TSI_STEP_BACKWARD_CHUNK] = b->chunks;
    count[TSI_STEP_BACKWARD_SLICE] = b->slices;
    if (source->push) count[TSI_STEP_BACKWARD_PUSH] = b->pairs;
  }
  if (source->on_device)
    for (int backward = 0; backward < 2; backward++) {
      tsi_step_kind kind[STEPS_ON_DEVICE];
      int waits;
      if (!(backward ? source->backward : source->forward)) continue;
      for (int k = kinds_on_device(source, backward, kind, &waits); k-- > 0;) count[kind[k]] = f->chunks;
    }
}

/* Number of missing steps of these kinds: chunks that do not work on a device lack them. */
static tsi_count count_missing(const tsi_steps_source *source, const tsi_count count[TSI_STEP_KINDS]) {
  static const tsi_step_kind moves[] = {TSI_STEP_READ, TSI_STEP_WRITE, TSI_STEP_FORWARD_BORDER,
                                        TSI_STEP_BACKWARD_BORDER};
  tsi_count missing = 0;
  for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
    for (tsi_index c = 0; c < count[moves[k]]; c++) missing += !source->on_device[c];
  return missing;
}

tristar_status tsi_steps_check(tsi_env *env, const tsi_steps *steps, const tsi_steps_source *source) {
  tsi_count count[TSI_STEP_KINDS], first[TSI_STEP_KINDS + 1] = {0};
  TSI_OWNED tsi_access_list *accesses = NULL;
  count_kinds(source, count);
  for (int kind = 0; kind < TSI_STEP_KINDS; kind++) first[kind + 1] = first[kind] + count[kind];
  TSI_SCRATCH_ZERO(env, bool, seen, first[TSI_STEP_KINDS]);
  const tsi_count expected = first[TSI_STEP_KINDS] - count_missing(source, count);
  if (steps->count != expected)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d steps for %lld tasks", steps->count, (long long)expected);
  for (tsi_index k = 0; k < steps->count; k++) {
    const tsi_step *step = &steps->step[k];
    if ((unsigned)step->kind >= TSI_STEP_KINDS || step->argument < 0 || step->argument >= count[step->kind] ||
        seen[first[step->kind] + step->argument])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d: kind %d of %d", k, (int)step->kind, step->argument);
    seen[first[step->kind] + step->argument] = true;
  }
  for (tsi_count e = 0; e < steps->edges; e++)
    if (steps->edge[e].before < 0 || steps->edge[e].before >= steps->edge[e].item ||
        steps->edge[e].item >= steps->count)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d waits for step %d", steps->edge[e].item,
               steps->edge[e].before);
  TSI_TRY(tsi_steps_list_accesses(env, steps, source, &accesses));
  return tsi_access_check(env, accesses, steps->edges, steps->edge);
}
