/* Records tasks and steps, and finds the chains that bound the time: see trace.h. */
#include "runtime/solve/trace.h"

#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/solve/request.h"

/* Both enumerations have the same kinds, except the kinds of factorizations at the end. */
_Static_assert((int)TRISTAR_STEP_FORWARD_PUSH == (int)TSI_STEP_FORWARD_PUSH &&
                   (int)TRISTAR_STEP_BACKWARD_SLICE == (int)TSI_STEP_BACKWARD_SLICE &&
                   (int)TRISTAR_STEP_READ == (int)TSI_STEP_READ &&
                   (int)TRISTAR_STEP_WRITE == (int)TSI_STEP_WRITE &&
                   (int)TRISTAR_STEP_ARRIVAL == (int)TSI_STEP_ARRIVAL &&
                   (int)TRISTAR_STEP_GRID_BACKWARD == (int)TSI_STEP_GRID_BACKWARD &&
                   (int)TRISTAR_STEP_BACKWARD_BORDER == (int)TSI_STEP_BACKWARD_BORDER &&
                   (int)TRISTAR_STEP_BUNDLE == (int)TSI_STEP_BACKWARD_BORDER + 1,
               "kinds of steps");

/* ---- Chains ------------------------------------------------------------------------------------------- */

/* Returns the item with the largest value among those that item k waits for; -1: it waits for none. */
static int64_t largest_before(const tristar_trace_list *list, int64_t k, const double *value) {
  int64_t best = -1;
  const tristar_trace_item *item = &list->item[k];
  for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
    if (best < 0 || value[list->before[e]] > value[best]) best = list->before[e];
  return best;
}

/* Marks the longest chain. If items of a chain overlap in time, the overlap counts once: a step that sends a
 * message can end after its arrival. longest, reached: by item, the seconds of the longest chain to it, and
 * the end of this chain. */
static void mark_critical(tristar_trace_list *list, double *longest, double *reached) {
  int64_t last = -1;
  for (int64_t k = 0; k < list->count; k++) {
    const tristar_trace_item *item = &list->item[k];
    const int64_t before = largest_before(list, k, longest);
    const double begin = before < 0 ? item->start : fmax(item->start, reached[before]);
    reached[k] = fmax(begin, item->end);
    longest[k] = reached[k] - begin + (before < 0 ? 0 : longest[before]);
    if (last < 0 || longest[k] > longest[last]) last = k;
  }
  list->critical_seconds = last < 0 ? 0 : longest[last];
  for (; last >= 0; last = largest_before(list, last, longest)) list->item[last].critical = 1;
}

/* Lists the previous task on the worker of each task. A worker runs tasks in the order of their starts, not
 * of their numbers, and may alternate between two blocks. So tasks are sorted by their start. */
static void list_previous(const tristar_trace_list *tasks, int workers, int64_t *latest, int64_t *previous) {
  for (int w = 0; w < workers; w++) latest[w] = -1;
  for (int64_t k = 0; k < tasks->count; k++) {
    int64_t after = -1, before = latest[tasks->item[k].worker];
    while (before >= 0 && tasks->item[before].start > tasks->item[k].start) {
      after = before;
      before = previous[before];
    }
    previous[k] = before;
    if (after < 0)
      latest[tasks->item[k].worker] = k;
    else
      previous[after] = k;
  }
}

static void mark_binding(tristar_trace_list *tasks, int workers, int64_t *latest, int64_t *previous) {
  int64_t k = -1;
  list_previous(tasks, workers, latest, previous);
  for (int64_t i = 0; i < tasks->count; i++)
    if (k < 0 || tasks->item[i].end > tasks->item[k].end) k = i;
  while (k >= 0) {
    tristar_trace_item *item = &tasks->item[k];
    int64_t next = previous[k];
    item->binding = 1;
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
      if (next < 0 || tasks->item[tasks->before[e]].end > tasks->item[next].end) next = tasks->before[e];
    k = next;
  }
}

/* ---- Notes -------------------------------------------------------------------------------------------- */

/* Lists the steps of each task in their order. */
static tristar_status list_places(tsi_env *env, const tsi_recording *recording, tsi_trace *trace) {
  const tsi_index tasks = tsi_task_list_count(recording->list);
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(env, trace->first, (tsi_count)tasks + 1));
  TSI_TRY(TSI_ALLOC(env, trace->place, recording->steps->count));
  for (tsi_index k = 0; k < tasks; k++) {
    tsi_index first, end;
    tsi_recording_steps(recording, k, &first, &end);
    trace->first[k] = at;
    for (tsi_index q = first; q < end; q++) trace->place[at++] = recording->item[q];
  }
  trace->first[tasks] = at;
  if (at != recording->steps->count)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld of %d steps are in tasks", (long long)at,
             recording->steps->count);
  return TRISTAR_OK;
}

/* Lists the edges of the steps in the order of trace->place. */
static tristar_status list_step_edges(tsi_env *env, const tsi_steps *steps, tsi_trace *trace) {
  TSI_SCRATCH(env, tsi_index, rank, steps->count);
  TSI_SCRATCH(env, tsi_edge, edge, steps->edges);
  for (tsi_index q = 0; q < steps->count; q++) rank[trace->place[q]] = q;
  for (tsi_count e = 0; e < steps->edges; e++)
    edge[e] = (tsi_edge){rank[steps->edge[e].item], rank[steps->edge[e].before]};
  trace->steps.count = steps->count;
  return tsi_adjacency_create(env, steps->count, steps->edges, edge, TSI_BEFORE, &trace->steps.before);
}

static tristar_status make_list(tsi_env *env, int64_t blocks, const tsi_trace_graph *graph,
                                tristar_trace_list *list) {
  list->count = blocks * graph->count;
  list->edges = blocks * graph->before->ptr[graph->count];
  TSI_TRY(TSI_ALLOC_ZERO(env, list->item, list->count));
  return TSI_ALLOC(env, list->before, list->edges);
}

tristar_status tsi_trace_open(tristar_t *ts, tsi_trace *trace) {
  TSI_TRY(TSI_ALLOC_ZERO(&ts->env, trace->out, 1));
  trace->out->owner = ts;
  tsi_env_retain(&ts->env);
  trace->out->ranks = 1;
  return TRISTAR_OK;
}

/* Allocates the trace before the first block. */
static tristar_status make_space(tsi_env *env, const tsi_recording *recording, tsi_trace *trace) {
  const tsi_task_list *list = recording->list;
  TSI_TRY(list_places(env, recording, trace));
  TSI_TRY(list_step_edges(env, recording->steps, trace));
  trace->tasks.count = tsi_task_list_count(list);
  TSI_TRY(tsi_adjacency_create(env, trace->tasks.count, list->edges, list->edge, TSI_BEFORE,
                               &trace->tasks.before));
  TSI_TRY(make_list(env, trace->blocks, &trace->tasks, &trace->out->tasks));
  TSI_TRY(make_list(env, trace->blocks, &trace->steps, &trace->out->steps));
  return TSI_ALLOC_ZERO(env, trace->start, trace->out->steps.count);
}

tristar_status tsi_trace_begin(tsi_trace *trace, const tsi_executor *executor) {
  const tsi_recording *recording = &executor->recording;
  if (trace->start == NULL) TSI_TRY(make_space(tsi_context_env(trace->out->owner), recording, trace));
  recording->execution->step_start = trace->start + trace->begun * recording->steps->count;
  trace->begun++;
  recording->list->note_here = true;
  return TRISTAR_OK;
}

/* Returns the chunk whose columns a step works on. */
static int64_t chunk_of(const tsi_trace *trace, const tsi_step *step) {
  tsi_index chunk = step->argument;
  switch (step->kind) {
  case TSI_STEP_FORWARD_SLICE:
    chunk = trace->forward->slice_chunk[chunk];
    break;
  case TSI_STEP_BACKWARD_SLICE:
    chunk = trace->backward->slice_chunk[chunk];
    break;
  case TSI_STEP_FORWARD_PUSH:
    chunk = trace->forward->pair[trace->forward->by_target[chunk]].target;
    break;
  case TSI_STEP_BACKWARD_PUSH:
    chunk = trace->backward->pair[chunk].source;
    break;
  case TSI_STEP_READ:
  case TSI_STEP_WRITE:
    if (trace->pieces) return -1;
    break;
  case TSI_STEP_FORWARD_ROWS:
  case TSI_STEP_BACKWARD_ROWS:
  case TSI_STEP_ARRIVAL:
  case TSI_STEP_EXCHANGE:
  case TSI_STEP_GRID_FORWARD:
  case TSI_STEP_GRID_BACKWARD:
    return -1;
  default:
    break;
  }
  return trace->chunk ? trace->chunk[chunk] : chunk;
}

/* Copies the edges of one block. */
static void note_edges(const tsi_trace_graph *graph, int64_t block, tristar_trace_list *list) {
  const int64_t first = block * graph->count, first_edge = block * graph->before->ptr[graph->count];
  for (tsi_index k = 0; k < graph->count; k++) {
    list->item[first + k].first_before = first_edge + graph->before->ptr[k];
    list->item[first + k].befores = tsi_degree(graph->before, k);
  }
  for (tsi_count e = 0; e < graph->before->ptr[graph->count]; e++)
    list->before[first_edge + e] = first + graph->before->list[e];
}

static void note_steps(const tsi_trace *trace, const tsi_recording *recording, tsi_index task,
                       tristar_trace_item *item, tristar_trace_item *steps) {
  const double *start = trace->start + trace->noted * trace->steps.count;
  for (tsi_count q = trace->first[task]; q < trace->first[task + 1]; q++) {
    const tsi_step *step = &recording->steps->step[trace->place[q]];
    const double began = start[trace->place[q]] - trace->begin;
    tristar_trace_item *s = &steps[q];
    *s = *item;
    s->kind = (tristar_step_kind)step->kind;
    s->name = tsi_step_name(step->kind);
    s->start = q > trace->first[task] && began > item->start ? began : item->start;
    if (q > trace->first[task]) steps[q - 1].end = s->start;
    s->bytes = step->bytes;
    s->chunk = chunk_of(trace, step);
    s->number = step->argument;
    s->first_step = item->first_step + (q - trace->first[task]);
    s->steps = 1;
    item->bytes += step->bytes;
  }
}

/* Adds the transfers of a sweep on a device: x before the first sweep and after the last sweep, the border
 * after a forward and before a backward sweep. */
static void note_bus(const tsi_trace *trace, const tsi_task_data *data, bool backward,
                     tristar_trace_item *item) {
  const bool first = !backward || trace->forward == NULL, last = backward || trace->backward == NULL;
  item->up_bytes = (first ? data->x_bytes : 0) + (backward ? data->border_bytes : 0);
  item->down_bytes = (last ? data->x_bytes : 0) + (backward ? 0 : data->border_bytes);
}

static void note_task(const tsi_trace *trace, const tsi_recording *recording, tsi_index task,
                      tristar_trace_item *item, tristar_trace_item *steps) {
  const tsi_task_span span = recording->list->task[task].span;
  const tsi_task_data *data = recording->list->task[task].data;
  item->name = recording->list->task[task].name;
  item->device = data && data->device >= 0 ? data->device : -1;
  item->worker = tsi_statistics_worker(trace->statistics, span.worker);
  item->start = span.start - trace->begin;
  item->end = span.end - trace->begin;
  item->first_step = trace->noted * trace->steps.count + trace->first[task];
  item->steps = trace->first[task + 1] - trace->first[task];
  item->chunk = item->number = -1;
  if (item->steps == 1 && recording->steps->step[trace->place[trace->first[task]]].kind == TSI_STEP_ARRIVAL)
    item->start = item->end; /* time spent waiting is not counted */
  note_steps(trace, recording, task, item, steps);
  const tristar_trace_item *first = &steps[trace->first[task]]; /* if any */
  item->kind = item->steps == 0 ? TRISTAR_STEP_BARRIER : item->steps == 1 ? first->kind : TRISTAR_STEP_BUNDLE;
  if (item->steps == 0) return;
  item->chunk = first->chunk;
  item->number = first->number;
  if (item->device < 0) return;
  note_bus(trace, data, first->kind == TRISTAR_STEP_BACKWARD_CHUNK, item);
  note_bus(trace, data, first->kind == TRISTAR_STEP_BACKWARD_CHUNK, &steps[trace->first[task]]);
}

void tsi_trace_note(tsi_trace *trace, const tsi_executor *executor) {
  const tsi_recording *recording = &executor->recording;
  tristar_trace_t *out = trace->out;
  tristar_trace_item *steps = out->steps.item + trace->noted * trace->steps.count;
  for (tsi_index k = 0; k < trace->tasks.count; k++)
    note_task(trace, recording, k, &out->tasks.item[trace->noted * trace->tasks.count + k], steps);
  note_edges(&trace->tasks, trace->noted, &out->tasks);
  note_edges(&trace->steps, trace->noted, &out->steps);
  trace->noted++;
}

void tsi_trace_discard(const tsi_executor *executor) {
  executor->recording.execution->step_start = NULL;
  executor->recording.list->note_here = false;
}

void tsi_trace_release(tsi_env *env, tsi_trace *trace) {
  tristar_trace_destroy(&trace->out);
  TSI_FREE(env, trace->start);
  TSI_FREE(env, trace->first);
  TSI_FREE(env, trace->place);
  TSI_FREE(env, trace->tasks.before);
  TSI_FREE(env, trace->steps.before);
}

tristar_status tsi_trace_mark_chains(tsi_env *env, tristar_trace_t *trace) {
  const int64_t most = tsi_count_max(trace->tasks.count, trace->steps.count);
  TSI_SCRATCH(env, double, longest, 2 * most);
  TSI_SCRATCH(env, int64_t, latest, trace->workers);
  TSI_SCRATCH(env, int64_t, previous, trace->tasks.count);
  mark_critical(&trace->tasks, longest, longest + most);
  mark_critical(&trace->steps, longest, longest + most);
  mark_binding(&trace->tasks, trace->workers, latest, previous);
  return TRISTAR_OK;
}

/* ---- Calls -------------------------------------------------------------------------------------------- */

static tristar_status solve(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                            void *x, int64_t ldx, tsi_trace *trace) {
  tristar_request_t r;
  TSI_TRY(tsi_request_plain(&r, plan, op, nrhs, b, ldb, x, ldx));
  r.trace = trace;
  trace->pieces = plan->pieces > 0;
  trace->blocks = (r.nrhs + plan->block - 1) / plan->block;
  trace->begin = r.begin;
  trace->statistics = &plan->solved;
  trace->forward = r.forward ? r.forward->sweep : NULL;
  trace->backward = r.backward ? r.backward->sweep : NULL;
  (void)tsi_request_advance(&r, true);
  TSI_TRY(tsi_failure_report(&plan->ts->env, &r.failure));
  trace->out->seconds = tsi_clock() - r.begin;
  trace->out->workers = r.sums.here ? 1 : plan->solved.workers;
  trace->out->scheduler = r.sums.here ? "serial" : plan->stats.scheduler;
  return TRISTAR_OK;
}

tristar_status tristar_trace(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                             void *x, int64_t ldx, tristar_trace_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_trace trace = {0};
  if (out != NULL) *out = NULL;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (out == NULL || (b == x && b != NULL))
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s", out == NULL ? "trace is NULL" : "x is b");
  TSI_TRY_OUT(tsi_solve_plain(plan, op, nrhs, b, ldb, x, ldx)); /* a warm-up */
  TSI_TRY_OUT(tsi_trace_open(plan->ts, &trace));
  TSI_TRY_OUT(solve(plan, op, nrhs, b, ldb, x, ldx, &trace));
  TSI_TRY_OUT(tsi_trace_mark_chains(env, trace.out));
  *out = tsi_take(&trace.out);
out:
  tsi_trace_release(env, &trace);
  return tsi_answer(env, status);
}

void tristar_trace_destroy(tristar_trace_t **trace) {
  if (trace == NULL || *trace == NULL) return;
  tristar_trace_t *t = *trace;
  tsi_env *env = tsi_context_env(t->owner);
  *trace = NULL;
  if (tsi_env_abandon(env, t)) return;
  TSI_FREE(env, t->tasks.item);
  TSI_FREE(env, t->tasks.before);
  TSI_FREE(env, t->steps.item);
  TSI_FREE(env, t->steps.before);
  TSI_FREE(env, t);
  tsi_env_release(env);
}
