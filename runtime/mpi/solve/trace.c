/* tristar_distributed_trace: the traces of all ranks as one.
 *
 * Job. Each rank traces its part of a solve (runtime/solve/trace.h), and rank 0 joins the parts: an arrival
 * waits for the task, and for the step, that sent the message. Times count from a barrier before the solve,
 * by the clock of each node.
 *
 * Reads   the parts, the messages of each rank's program.   Writes  a tristar_trace_t on rank 0.
 * Invariants
 *   - tasks are listed by their start, but after the tasks that they wait for; steps are listed task by task,
 *     as on one process
 *   - a message has one sender and one receiver in each block of right-hand sides; a message that did not
 *     arrive is no edge */
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/solve/trace.h"

/* One end of a message. */
typedef struct end_point {
  int64_t from, to, tag, block;
  int64_t task, step; /* sender or arrival of the message: task and step, numbered in the whole once joined */
} end_point;

/* Sizes of a part, which rank 0 needs to receive it. */
typedef struct part_size {
  int64_t tasks, task_edges, steps, step_edges, workers, sent, came;
} part_size;

typedef struct part {
  part_size size;
  tristar_trace_list tasks, steps;
  end_point *sent, *came;
} part;

static void release_part(tsi_env *env, part *p) {
  TSI_FREE(env, p->tasks.item);
  TSI_FREE(env, p->tasks.before);
  TSI_FREE(env, p->steps.item);
  TSI_FREE(env, p->steps.before);
  TSI_FREE(env, p->sent);
  TSI_FREE(env, p->came);
}

/* ---- The part of a rank ------------------------------------------------------------------------------- */

/* Finds the task and the position of each step of the program in the first block of the trace. */
static void find_steps(const tsi_trace *trace, int64_t *task, int64_t *place) {
  for (tsi_index k = 0; k < trace->tasks.count; k++)
    for (tsi_count q = trace->first[k]; q < trace->first[k + 1]; q++) {
      task[trace->place[q]] = k;
      place[trace->place[q]] = q;
    }
}

/* Lists the ends of messages at this rank. */
static tristar_status list_messages(const tristar_distributed_t *d, const tsi_trace *trace, part *p) {
  tsi_env *env = &d->ts->env;
  const tsi_program *program = d->process->program;
  const int64_t me = tsi_transport_rank(d->transport);
  TSI_TRY(TSI_ALLOC(env, p->sent, trace->blocks * program->sends));
  TSI_TRY(TSI_ALLOC(env, p->came, trace->blocks * program->receives));
  TSI_SCRATCH(env, int64_t, task, trace->steps.count);
  TSI_SCRATCH(env, int64_t, place, trace->steps.count);
  find_steps(trace, task, place);
  for (int64_t block = 0; block < trace->noted; block++) {
    const int64_t tasks = block * trace->tasks.count, steps = block * trace->steps.count;
    for (tsi_index m = 0; m < program->sends; m++) {
      const tsi_message *s = &program->send[m];
      p->sent[p->size.sent++] =
          (end_point){me, s->peer, s->tag, block, tasks + task[s->step], steps + place[s->step]};
    }
    for (tsi_index m = 0; m < program->receives; m++) {
      const tsi_message *s = &program->receive[m];
      p->came[p->size.came++] =
          (end_point){s->peer, me, s->tag, block, tasks + task[s->step], steps + place[s->step]};
    }
  }
  return TRISTAR_OK;
}

/* Moves the arrays of the trace to the part. */
static void take_lists(tristar_trace_t *trace, part *p) {
  p->tasks = trace->tasks;
  p->steps = trace->steps;
  trace->tasks = trace->steps = (tristar_trace_list){0};
  p->size.tasks = p->tasks.count;
  p->size.task_edges = p->tasks.edges;
  p->size.steps = p->steps.count;
  p->size.step_edges = p->steps.edges;
  p->size.workers = trace->workers;
}

/* ---- Rank 0 gathers the parts ------------------------------------------------------------------------- */

static tristar_status allocate_part(tsi_env *env, part *p) {
  p->tasks.count = p->size.tasks;
  p->tasks.edges = p->size.task_edges;
  p->steps.count = p->size.steps;
  p->steps.edges = p->size.step_edges;
  TSI_TRY(TSI_ALLOC(env, p->tasks.item, p->tasks.count));
  TSI_TRY(TSI_ALLOC(env, p->tasks.before, p->tasks.edges));
  TSI_TRY(TSI_ALLOC(env, p->steps.item, p->steps.count));
  TSI_TRY(TSI_ALLOC(env, p->steps.before, p->steps.edges));
  TSI_TRY(TSI_ALLOC(env, p->sent, p->size.sent));
  return TSI_ALLOC(env, p->came, p->size.came);
}

#define PART_ARRAYS 6

static void list_arrays(const part *p, tsi_array array[PART_ARRAYS]) {
  const part_size *n = &p->size;
  array[0] = (tsi_array){p->tasks.item, (size_t)n->tasks * sizeof *p->tasks.item};
  array[1] = (tsi_array){p->tasks.before, (size_t)n->task_edges * sizeof *p->tasks.before};
  array[2] = (tsi_array){p->steps.item, (size_t)n->steps * sizeof *p->steps.item};
  array[3] = (tsi_array){p->steps.before, (size_t)n->step_edges * sizeof *p->steps.before};
  array[4] = (tsi_array){p->sent, (size_t)n->sent * sizeof *p->sent};
  array[5] = (tsi_array){p->came, (size_t)n->came * sizeof *p->came};
}

/* Collective. all: the parts of all ranks on rank 0, which has stored its own part already; NULL on other
 * ranks. */
static tristar_status gather_parts(tristar_distributed_t *d, part *own, part *all) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int ranks = tsi_transport_size(d->transport), me = tsi_transport_rank(d->transport);
  TSI_OWNED part_size *size = NULL;
  tsi_array array[PART_ARRAYS];
  tristar_status status = me > 0 ? TRISTAR_OK : TSI_ALLOC(env, size, ranks);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(TSI_MPI(
      env, "MPI_Gather",
      MPI_Gather(&own->size, (int)sizeof *size, MPI_BYTE, size, (int)sizeof *size, MPI_BYTE, 0, comm)));
  for (int r = 1; r < ranks && me == 0 && status == TRISTAR_OK; r++) {
    all[r].size = size[r];
    status = allocate_part(env, &all[r]);
  }
  TSI_TRY(tsi_transport_agree(d->transport, status));
  list_arrays(own, array);
  if (me > 0) TSI_TRY(tsi_send_arrays(env, comm, PART_ARRAYS, array, 0));
  for (int r = 1; r < ranks && me == 0; r++) {
    list_arrays(&all[r], array);
    TSI_TRY(tsi_receive_arrays(env, comm, PART_ARRAYS, array, r));
  }
  return TRISTAR_OK;
}

/* ---- The whole, on rank 0 ----------------------------------------------------------------------------- */

/* The whole trace while it is built: items of all parts, one part after the other, and the final position of
 * each. */
typedef struct whole {
  tsi_index tasks, steps;
  tristar_trace_item *task, *step;
  tsi_count task_edges, step_edges;
  tsi_edge *task_edge, *step_edge;
  tsi_index *order; /* of tasks */
  tsi_index *task_place, *step_place;
  tsi_adjacency *before;
} whole;

static tristar_status allocate_whole(tsi_env *env, const part *all, int ranks, whole *w) {
  int64_t tasks = 0, steps = 0, task_edges = 0, step_edges = 0;
  for (int r = 0; r < ranks; r++) {
    tasks += all[r].size.tasks;
    steps += all[r].size.steps;
    task_edges += all[r].size.task_edges + all[r].size.came;
    step_edges += all[r].size.step_edges + all[r].size.came;
  }
  if (!tsi_to_index(tasks, &w->tasks) || !tsi_to_index(steps, &w->steps))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "all ranks together have more than 2^31 steps");
  TSI_TRY(TSI_ALLOC_IN(w, w->task, tasks));
  TSI_TRY(TSI_ALLOC_IN(w, w->step, steps));
  TSI_TRY(TSI_ALLOC_IN(w, w->task_edge, task_edges));
  TSI_TRY(TSI_ALLOC_IN(w, w->step_edge, step_edges));
  TSI_TRY(TSI_ALLOC_IN(w, w->order, tasks));
  TSI_TRY(TSI_ALLOC_IN(w, w->task_place, tasks));
  return TSI_ALLOC_IN(w, w->step_place, steps);
}

/* The texts are of this process. */
static const char *name_of(tristar_step_kind kind) {
  return kind == TRISTAR_STEP_BUNDLE    ? "bundle"
         : kind == TRISTAR_STEP_BARRIER ? "barrier"
                                        : tsi_step_name((tsi_step_kind)kind);
}

static void add_list(const tristar_trace_list *list, int rank, int64_t worker, int64_t first_step,
                     tristar_trace_item *item, tsi_index first, tsi_edge *edge, tsi_count *edges) {
  for (int64_t k = 0; k < list->count; k++) {
    const tristar_trace_item *from = &list->item[k];
    tristar_trace_item *to = &item[first + k];
    *to = *from;
    to->name = name_of(to->kind);
    to->rank = rank;
    to->worker += (int)worker;
    to->first_step += first_step;
    for (int64_t e = from->first_before; e < from->first_before + from->befores; e++)
      edge[(*edges)++] = (tsi_edge){first + (tsi_index)k, first + (tsi_index)list->before[e]};
  }
}

static int by_message(const void *a, const void *b) {
  const end_point *x = a, *y = b;
  const int64_t difference[] = {x->from - y->from, x->to - y->to, x->tag - y->tag, x->block - y->block};
  for (int k = 0; k < 4; k++)
    if (difference[k] != 0) return difference[k] < 0 ? -1 : 1;
  return 0;
}

/* Joins all parts, one after the other, and the messages between them. */
static tristar_status join_parts(tsi_env *env, const part *all, int ranks, whole *w) {
  int64_t sends = 0, workers = 0;
  tsi_index tasks = 0, steps = 0;
  for (int r = 0; r < ranks; r++) sends += all[r].size.sent;
  TSI_SCRATCH(env, end_point, sent, sends);
  sends = 0;
  for (int r = 0; r < ranks; r++) {
    const part *p = &all[r];
    add_list(&p->tasks, r, workers, steps, w->task, tasks, w->task_edge, &w->task_edges);
    add_list(&p->steps, r, workers, steps, w->step, steps, w->step_edge, &w->step_edges);
    for (int64_t m = 0; m < p->size.sent; m++) {
      sent[sends] = p->sent[m];
      sent[sends].task += tasks;
      sent[sends++].step += steps;
    }
    tasks += (tsi_index)p->size.tasks;
    steps += (tsi_index)p->size.steps;
    workers += p->size.workers;
  }
  qsort(sent, (size_t)sends, sizeof *sent, by_message);
  tasks = steps = 0;
  for (int r = 0; r < ranks; r++) {
    const part *p = &all[r];
    for (int64_t m = 0; m < p->size.came; m++) {
      const end_point *came = &p->came[m], *from;
      from = bsearch(came, sent, (size_t)sends, sizeof *sent, by_message);
      if (from == NULL)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rank %d waits for a message %lld of rank %lld that is not sent",
                 r, (long long)came->tag, (long long)came->from);
      w->task_edge[w->task_edges++] = (tsi_edge){tasks + (tsi_index)came->task, (tsi_index)from->task};
      w->step_edge[w->step_edges++] = (tsi_edge){steps + (tsi_index)came->step, (tsi_index)from->step};
    }
    tasks += (tsi_index)p->size.tasks;
    steps += (tsi_index)p->size.steps;
  }
  return TRISTAR_OK;
}

/* Items for qsort, which passes no context to its function. */
typedef struct begun {
  double start;
  tsi_index task;
} begun;

static int by_start(const void *a, const void *b) {
  const begun *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

/* Orders each task after the tasks that it waits for, else by its start. Place TSI_NONE: not ordered yet. */
static tristar_status order_tasks(tsi_env *env, whole *w) {
  tsi_index placed = 0;
  TSI_TRY(tsi_adjacency_create(env, w->tasks, w->task_edges, w->task_edge, TSI_BEFORE, &w->before));
  tsi_own(w, w->before);
  TSI_SCRATCH(env, begun, list, w->tasks);
  TSI_SCRATCH(env, tsi_index, stack, w->tasks);
  TSI_SCRATCH(env, tsi_count, next, w->tasks);
  for (tsi_index k = 0; k < w->tasks; k++) {
    list[k] = (begun){w->task[k].start, k};
    w->task_place[k] = TSI_NONE;
    next[k] = w->before->ptr[k];
  }
  qsort(list, (size_t)w->tasks, sizeof *list, by_start);
  for (tsi_index k = 0; k < w->tasks; k++) {
    tsi_index depth = 0;
    if (w->task_place[list[k].task] == TSI_NONE) stack[depth++] = list[k].task;
    while (depth > 0) {
      const tsi_index top = stack[depth - 1];
      while (next[top] < w->before->ptr[top + 1] && w->task_place[w->before->list[next[top]]] != TSI_NONE)
        next[top]++;
      if (next[top] < w->before->ptr[top + 1]) {
        if (depth == w->tasks) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "tasks wait for each other");
        stack[depth++] = w->before->list[next[top]];
      } else {
        w->order[placed] = top;
        w->task_place[top] = placed++;
        depth--;
      }
    }
  }
  return TRISTAR_OK;
}

/* Fills a list with items, which already are in their final order, and their edges. */
static tristar_status fill_list(tsi_env *env, tsi_index count, tristar_trace_item **item, tsi_count edges,
                                tsi_edge *edge, const tsi_index *place, tristar_trace_list *list) {
  TSI_OWNED tsi_adjacency *before = NULL;
  for (tsi_count e = 0; e < edges; e++) edge[e] = (tsi_edge){place[edge[e].item], place[edge[e].before]};
  TSI_TRY(tsi_adjacency_create(env, count, edges, edge, TSI_BEFORE, &before));
  TSI_TRY(TSI_ALLOC(env, list->before, edges));
  list->count = count;
  list->edges = edges;
  list->item = *item;
  *item = NULL;
  for (tsi_index k = 0; k < count; k++) {
    list->item[k].first_before = before->ptr[k];
    list->item[k].befores = tsi_degree(before, k);
  }
  for (tsi_count e = 0; e < edges; e++) list->before[e] = before->list[e];
  return TRISTAR_OK;
}

/* Places tasks by w->order, and the steps of each task one after the other. */
static tristar_status place_items(tsi_env *env, whole *w, tristar_trace_t *trace) {
  tsi_index next = 0;
  TSI_SCRATCH(env, tristar_trace_item, task, w->tasks);
  TSI_SCRATCH(env, tristar_trace_item, step, w->steps);
  for (tsi_index q = 0; q < w->tasks; q++) {
    tristar_trace_item *t = &task[q];
    *t = w->task[w->order[q]];
    for (int64_t s = t->first_step; s < t->first_step + t->steps; s++) {
      w->step_place[s] = next;
      step[next] = w->step[s];
      step[next].first_step = next;
      next++;
    }
    t->first_step = next - t->steps;
  }
  TSI_TRY(fill_list(env, w->tasks, &task, w->task_edges, w->task_edge, w->task_place, &trace->tasks));
  return fill_list(env, w->steps, &step, w->step_edges, w->step_edge, w->step_place, &trace->steps);
}

static tristar_status make_whole(tsi_env *env, const part *all, int ranks, tristar_trace_t *trace) {
  TSI_SCRATCH_ZERO(env, whole, w, 1);
  TSI_TRY(allocate_whole(env, all, ranks, w));
  TSI_TRY(join_parts(env, all, ranks, w));
  TSI_TRY(order_tasks(env, w));
  TSI_TRY(place_items(env, w, trace));
  trace->ranks = ranks;
  trace->workers = 0;
  for (int r = 0; r < ranks; r++) trace->workers += (int)all[r].size.workers;
  return tsi_trace_mark_chains(env, trace);
}

/* ---- Calls -------------------------------------------------------------------------------------------- */

/* Collective. The time from which seconds count: when the first rank of this node left a barrier. The ranks
 * of a node share one clock. */
static tristar_status find_begin(const tristar_distributed_t *d, double *begin) {
  tristar_status status = TRISTAR_OK;
  const tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport), node = MPI_COMM_NULL;
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Comm_split_type",
                      MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)));
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Barrier", MPI_Barrier(comm)));
  *begin = tsi_clock();
  TSI_TRY_OUT(
      TSI_MPI(env, "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, begin, 1, MPI_DOUBLE, MPI_MIN, node)));
out:
  if (node != MPI_COMM_NULL) MPI_Comm_free(&node);
  return status;
}

/* Collective. Solves, and records this rank's part. */
static tristar_status solve(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                            void *x, int64_t ldx, tsi_trace *trace) {
  const bool tasks = d->process->workers > 0;
  trace->blocks = (nrhs + TSI_NRHS_BLOCK - 1) / TSI_NRHS_BLOCK;
  trace->forward = trace->backward = d->process->sweep;
  trace->chunk = d->process->share->chunk;
  TSI_TRY(find_begin(d, &trace->begin));
  d->trace = trace;
  tristar_status status = tsi_distributed_solve_plain(d, op, nrhs, b, ldb, x, ldx);
  d->trace = NULL;
  trace->out->seconds = tsi_clock() - trace->begin;
  trace->out->workers = tasks ? trace->statistics->workers : 1;
  trace->out->scheduler = tasks ? tsi_starpu_scheduler() : "serial";
  return status;
}

tristar_status tristar_distributed_trace(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b,
                                         int64_t ldb, void *x, int64_t ldx, tristar_trace_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_trace trace = {0};
  tsi_statistics workers = {0};
  part own = {0}, *all = NULL;
  if (out != NULL) *out = NULL;
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport), me = tsi_transport_rank(d->transport);
  tsi_queue_drain(d);
  if (out == NULL || (b == x && b != NULL))
    status = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s",
                      out == NULL ? "trace is NULL" : "x is b");
  if (status == TRISTAR_OK && d->on_device)
    status = tsi_fail(env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "traces of one-sided solves on GPUs");
  if (status == TRISTAR_OK) status = tsi_trace_open(d->ts, &trace);
  if (status == TRISTAR_OK)
    status = tsi_statistics_create(env, d->process->workers > 0, d->process->subtrees != NULL, &workers);
  if (status == TRISTAR_OK && me == 0) status = TSI_ALLOC_ZERO(env, all, ranks);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  TSI_TRY_OUT(tsi_distributed_solve_plain(d, op, nrhs, b, ldb, x, ldx)); /* a warm-up */
  trace.statistics = &workers;
  TSI_TRY_OUT(solve(d, op, nrhs, b, ldb, x, ldx, &trace));
  if (trace.noted > 0) status = list_messages(d, &trace, &own);
  take_lists(trace.out, &own);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  if (me == 0) all[0] = own;
  TSI_TRY_OUT(gather_parts(d, &own, all));
  if (me == 0) status = make_whole(env, all, ranks, trace.out);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  if (me == 0) *out = trace.out;
  if (me == 0) trace.out = NULL;
out:
  for (int r = 1; r < ranks && all; r++) release_part(env, &all[r]);
  TSI_FREE(env, all);
  release_part(env, &own);
  tsi_statistics_destroy(env, &workers);
  tsi_trace_release(env, &trace);
  return tsi_answer(env, status);
}
