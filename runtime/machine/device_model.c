/* See device_model.h. */
#include "runtime/machine/device_model.h"

/* Demand of a ticket: a latency independent of other tickets, and bytes, with its own largest rate. */
typedef struct demand {
  double latency;
  double bytes, rate;
  double factor_bytes;
} demand;

/* A resident block: its latest work. */
typedef struct worker {
  double begin, end;
  double streaming; /* part of this time in which it moves bytes */
} worker;

/* Moved scalars and indices. */
typedef struct traffic {
  double scalars, indices;
} traffic;

/* Entries of lists first .. first+count-1, and their positions. */
static traffic of_lists(const tsi_device_tables *t, tsi_index first, tsi_index count) {
  const double entries = t->gather_ptr[first + count] - t->gather_ptr[first];
  return (traffic){entries, entries};
}

static void add(traffic *sum, traffic more) {
  sum->scalars += more.scalars;
  sum->indices += more.indices;
}

/* Columns of the node that are read from b or written to the user's x, and the row of each. */
static traffic of_user(double columns) {
  return (traffic){columns, columns};
}

/* Traffic of a triangle node besides its values. Forward: b of the columns that its rows need, gathered
 * updates for these, x. Backward: x of the columns, from its own on, their partial sums, its own solution,
 * which is also written to the user's x. */
static traffic of_triangle(const tsi_device_tables *t, const tsi_device_node *node, bool backward) {
  const double from = node->columns - node->begin, solved = node->end - node->begin;
  traffic sum = {0};
  if (backward) {
    sum.scalars = from * (1 + node->adds) + solved;
    add(&sum, of_user(solved));
    return sum;
  }
  sum.scalars = node->first + 2.0 * node->count;
  add(&sum, of_lists(t, node->column, node->first + node->count));
  return sum;
}

/* Traffic of a slice: x or gathered updates; its off-rows; backward x of their owners, sums. */
static traffic of_slice(const tsi_device_tables *t, const tsi_device_node *node, bool backward) {
  traffic sum = {.scalars = node->count};
  if (backward) {
    add(&sum, (traffic){node->count, node->count});
    sum.scalars += (1.0 + node->adds) * node->columns;
    return sum;
  }
  add(&sum, of_lists(t, t->n + node->off + node->first, node->count));
  sum.scalars += node->columns;
  if (t->inverse == TSI_INVERSE_PARTITIONED) add(&sum, of_lists(t, node->column, node->columns));
  return sum;
}

/* Traffic of the columns of a sliced chunk: from b to the workspace; read and written. */
static traffic of_sliced(const tsi_device_node *node, bool backward) {
  const double columns = node->columns;
  return (traffic){2 * columns, backward ? 0 : columns};
}

/* Traffic of a chunk: its columns, from b or to the user's x; off-rows, with gathered updates, or x of their
 * owners; rows of panels. */
static traffic of_chunk(const tsi_device_tables *t, const tsi_device_node *node, bool backward) {
  traffic sum = {.scalars = node->columns + node->count};
  add(&sum, of_user(node->columns));
  for (tsi_index p = node->panel; p < node->panel + node->panels; p++) sum.indices += t->panel[p].height;
  if (backward) {
    add(&sum, (traffic){node->count, node->count});
    return sum;
  }
  add(&sum, of_lists(t, node->column, node->columns));
  add(&sum, of_lists(t, t->n + node->off, node->off_rows));
  return sum;
}

/* Bytes that a node moves in addition to the factor. */
static double other_bytes(const tsi_device_tables *t, const tsi_device_node *node, bool backward,
                          size_t scalar_bytes) {
  const traffic sum = node->kind == TSI_DEVICE_TRIANGLE ? of_triangle(t, node, backward)
                      : node->kind == TSI_DEVICE_SLICED ? of_sliced(node, backward)
                      : node->kind == TSI_DEVICE_SLICE  ? of_slice(t, node, backward)
                                                        : of_chunk(t, node, backward);
  return sum.scalars * (double)scalar_bytes + sum.indices * (double)sizeof(tsi_index);
}

static demand demand_of(const tsi_device_tables *t, const tsi_device_sweep *sweep,
                        const tsi_device_ticket *ticket, bool backward, size_t scalar_bytes,
                        const tsi_device_costs *costs) {
  demand d = {.rate = costs->block_bandwidth};
  double slowest = 0; /* bytes of one warp */
  for (tsi_index q = ticket->first; q < ticket->first + ticket->nodes; q++) {
    const tsi_index v = sweep->order[q];
    const tsi_device_node *node = &t->node[v];
    const double factor = tsi_device_node_bytes(t, v, scalar_bytes);
    const double bytes = factor + other_bytes(t, node, backward, scalar_bytes);
    d.latency = tsi_double_max(d.latency, tsi_device_node_latency(t, v, costs));
    d.factor_bytes += factor;
    d.bytes += bytes;
    if (node->kind == TSI_DEVICE_WARP) slowest = tsi_double_max(slowest, bytes);
  }
  if (slowest > 0) { /* all bytes in the time of the slowest warp */
    const double rate = d.bytes / slowest * costs->warp_bandwidth;
    if (rate < d.rate) d.rate = rate;
  }
  return d;
}

/* The block that is free first. */
static worker *next_free(worker *workers, int count) {
  worker *best = workers;
  for (int k = 1; k < count; k++)
    if (workers[k].end < best->end) best = &workers[k];
  return best;
}

/* Number of blocks that stream at a time, as a sum of parts. */
static double streaming_at(const worker *workers, int count, const worker *but, double time) {
  double sum = 0;
  for (int k = 0; k < count; k++)
    if (&workers[k] != but && workers[k].begin <= time && workers[k].end > time) sum += workers[k].streaming;
  return sum;
}

/* Schedules the work; returns its end. */
static double place(const demand *d, const tsi_device_costs *costs, double ready, worker *workers) {
  worker *w = next_free(workers, costs->blocks);
  const double begin = tsi_double_max(w->end, ready);
  const double others = streaming_at(workers, costs->blocks, w, begin);
  const double alone = d->bytes / d->rate;
  const double part = d->latency + alone > 0 ? alone / (d->latency + alone) : 0;
  const double share = costs->bandwidth / (others + part > 1 ? others + part : 1);
  const double moving = d->bytes / (share < d->rate ? share : d->rate);
  const double seconds = d->latency + moving;
  *w = (worker){begin, begin + seconds, seconds > 0 ? moving / seconds : 0};
  return w->end;
}

/* End of a ticket: in the schedule; on the critical path, with its latency; number of tickets in its chain.
 */
typedef struct finish {
  double schedule, path, latency;
  tsi_index depth;
} finish;

/* The latest end of the tickets that a ticket waits for. */
static finish latest(const tsi_device_sweep *sweep, const tsi_device_ticket *ticket, const finish *ends) {
  finish last = {0};
  for (tsi_index w = ticket->before; w < ticket->before + ticket->befores; w++) {
    const finish *end = &ends[sweep->before[w]];
    last.schedule = tsi_double_max(last.schedule, end->schedule);
    last.depth = tsi_index_max(last.depth, end->depth);
    if (end->path <= last.path) continue;
    last.path = end->path;
    last.latency = end->latency;
  }
  return last;
}

tristar_status tsi_device_predict(tsi_env *env, const tsi_device_tables *tables, bool backward,
                                  size_t scalar_bytes, const tsi_device_costs *costs,
                                  tsi_sweep_prediction *prediction) {
  const tsi_device_sweep *sweep = backward ? &tables->backward : &tables->forward;
  tsi_sweep_prediction p = {.tickets = sweep->tickets};
  TSI_SCRATCH_ZERO(env, worker, workers, costs->blocks);
  TSI_SCRATCH(env, finish, ends, sweep->tickets);
  for (tsi_index q = 0; q < sweep->tickets; q++) {
    const tsi_device_ticket *ticket = &sweep->ticket[q];
    const demand d = demand_of(tables, sweep, ticket, backward, scalar_bytes, costs);
    finish *end = &ends[q];
    *end = latest(sweep, ticket, ends);
    end->schedule = place(&d, costs, end->schedule, workers);
    end->path += d.latency + d.bytes / d.rate;
    end->latency += d.latency;
    end->depth++;
    p.factor_bytes += d.factor_bytes;
    p.bytes += d.bytes;
    p.work_seconds += d.latency + d.bytes / d.rate;
    p.seconds = tsi_double_max(p.seconds, end->schedule);
    p.depth = tsi_index_max(p.depth, end->depth);
    if (end->path > p.path_seconds) {
      p.path_seconds = end->path;
      p.path_latency = end->latency;
    }
  }
  p.work_seconds /= costs->blocks;
  p.stream_seconds = p.bytes / costs->bandwidth;
  p.seconds = tsi_double_max(p.seconds, p.stream_seconds); /* shares are computed at the start of a ticket */
  *prediction = p;
  return TRISTAR_OK;
}

tristar_status tsi_device_paths(tsi_env *env, const tsi_device_tables *tables, size_t scalar_bytes,
                                const tsi_device_costs *costs, double *path) {
  const tsi_device_sweep *sweep = &tables->forward;
  TSI_SCRATCH(env, finish, ends, sweep->tickets);
  for (tsi_index q = 0; q < sweep->tickets; q++) {
    const tsi_device_ticket *ticket = &sweep->ticket[q];
    const demand d = demand_of(tables, sweep, ticket, false, scalar_bytes, costs);
    ends[q] = latest(sweep, ticket, ends);
    ends[q].path += d.latency + d.bytes / d.rate;
    for (tsi_index v = ticket->first; v < ticket->first + ticket->nodes; v++)
      path[sweep->order[v]] = ends[q].path;
  }
  return TRISTAR_OK;
}

tsi_sweep_prediction tsi_predictions_add(tsi_sweep_prediction a, tsi_sweep_prediction b) {
  return (tsi_sweep_prediction){.seconds = a.seconds + b.seconds,
                                .factor_bytes = a.factor_bytes + b.factor_bytes,
                                .bytes = a.bytes + b.bytes,
                                .stream_seconds = a.stream_seconds + b.stream_seconds,
                                .path_seconds = a.path_seconds + b.path_seconds,
                                .path_latency = a.path_latency + b.path_latency,
                                .work_seconds = a.work_seconds + b.work_seconds,
                                .tickets = a.tickets + b.tickets,
                                .depth = a.depth + b.depth};
}

tsi_device_bound tsi_prediction_bound(const tsi_sweep_prediction *p) {
  const double largest = tsi_double_max(p->stream_seconds, tsi_double_max(p->path_seconds, p->work_seconds));
  if (p->seconds > 1.5 * largest) return TSI_BOUND_ORDER;
  if (largest == p->stream_seconds) return TSI_BOUND_BANDWIDTH;
  if (largest == p->work_seconds) return TSI_BOUND_BLOCKS;
  return 2 * p->path_latency > p->path_seconds ? TSI_BOUND_LATENCY : TSI_BOUND_PATH;
}
