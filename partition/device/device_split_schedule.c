/* See device_split_schedule.h. */
#include "partition/device/device_split_schedule.h"

#include "runtime/base/heap.h"

/* Seconds that a task takes a core: once for the task, once more until the next one begins. */
#define TASKS 2

/* The stage of a node. */
typedef enum step { STEP_WORK, STEP_DEVICE, STEP_BORDER } step;

/* A chunk, or, after all chunks, a slice. */
typedef struct node {
  double entries;    /* Entries that it reads on a core. */
  double priority;   /* Seconds of the longest path from its beginning to the root. */
  tsi_index next;    /* The node that waits for it, besides slices; TSI_NONE. */
  tsi_index waits;   /* Number of nodes that it waits for. */
  tsi_index subtree; /* Its subtree in the list; TSI_NONE: it is in no subtree. */
  step step;
} node;

/* The times at which a device, and its bus to the host, are free again. */
typedef struct lane {
  double work, down;
} lane;

struct tsi_device_split_schedule {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  const tsi_device_split_costs *costs;
  double *entries;       /* panels + 1: entries of the panels before */
  tsi_index *panel_of;   /* columns */
  tsi_index *chunk_of;   /* panels */
  tsi_index *device;     /* supernodes; TSI_NONE */
  tsi_index *subtree_of; /* supernodes; TSI_NONE: in no subtree */
  lane *lane;            /* devices */
  const tsi_split_subtree *subtree;
  tsi_chunks *chunks;
  tsi_index nodes;
  node *node;     /* chunks and slices */
  tsi_heap ready; /* nodes, by priority */
  tsi_heap event; /* Nodes at the end of a task or a transfer, by -time: the next one first. */
  tsi_index idle; /* Number of idle cores. */
};

static double larger(double a, double b) {
  return a > b ? a : b;
}
static double smaller(double a, double b) {
  return a < b ? a : b;
}

double tsi_device_split_device_seconds(const tsi_device_split_costs *c, const tsi_split_subtree *t) {
  const double path = c->device_path ? c->device_path[t->root] : 0;
  return c->task_seconds + larger(path, t->entries * c->stream_bytes / c->device_bandwidth);
}

double tsi_device_split_bus_seconds(const tsi_device_split_costs *c, double rows) {
  return rows > 0 ? c->bus_seconds + rows * c->row_bytes / c->bus_bandwidth : 0;
}

tsi_index tsi_device_split_border(const tsi_device_split_costs *c, const tsi_symbolic *symbolic,
                                  tsi_index root) {
  return c->border ? c->border[root] : (tsi_index)(symbolic->row_ptr[root + 1] - symbolic->row_ptr[root]);
}

double tsi_device_split_seconds_alone(const tsi_device_split_costs *c, const tsi_split_subtree *t) {
  return tsi_device_split_bus_seconds(c, t->columns) + tsi_device_split_device_seconds(c, t) +
         tsi_device_split_bus_seconds(c, t->border) + 2 * c->handover_seconds;
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Fills device and subtree_of. */
static void describe_subtrees(tsi_device_split_schedule *s, tsi_index count) {
  const tsi_symbolic *symbolic = s->symbolic;
  for (tsi_index k = 0; k < symbolic->count; k++) s->device[k] = s->subtree_of[k] = TSI_NONE;
  for (tsi_index k = 0; k < count; k++) {
    s->device[s->subtree[k].root] = s->subtree[k].device;
    s->subtree_of[s->subtree[k].root] = k;
  }
  for (tsi_index k = symbolic->count; k-- > 0;) { /* parents come later: values are passed down */
    const tsi_index parent = symbolic->parent[k];
    if (parent == TSI_NONE || s->subtree_of[parent] == TSI_NONE) continue;
    s->device[k] = s->device[parent];
    s->subtree_of[k] = s->subtree_of[parent];
  }
}

/* The chunk with a column. */
static tsi_index owner_of(const tsi_device_split_schedule *s, tsi_index column) {
  return s->chunk_of[s->panel_of[column]];
}

/* The chunk of the first row below a chunk; TSI_NONE: there is none. */
static tsi_index next_of_chunk(const tsi_device_split_schedule *s, tsi_index chunk) {
  const tsi_symbolic *symbolic = s->symbolic;
  const tsi_index end = s->chunks->panel[chunk + 1], last = s->panels->supernode[end - 1];
  tsi_index row = TSI_NONE;
  if (end < s->panels->first[last + 1]) return s->chunk_of[end]; /* the supernode continues */
  for (tsi_index k = s->panels->supernode[s->chunks->panel[chunk]]; k <= last; k++) {
    if (symbolic->parent[k] == TSI_NONE || symbolic->parent[k] <= last) continue;
    const bool rows = symbolic->row_ptr[k + 1] > symbolic->row_ptr[k]; /* else only U has rows */
    const tsi_index first =
        rows ? symbolic->rows[symbolic->row_ptr[k]] : symbolic->start[symbolic->parent[k]];
    if (row == TSI_NONE || first < row) row = first;
  }
  return row == TSI_NONE ? TSI_NONE : owner_of(s, row);
}

/* The chunk of a row of the rectangle of a panel. */
static tsi_index next_of_row(const tsi_device_split_schedule *s, tsi_index panel, tsi_index row) {
  const tsi_index k = s->panels->supernode[panel], begin = s->panels->start[panel + 1],
                  rest = s->symbolic->start[k + 1] - begin;
  return owner_of(s, row < rest ? begin + row : s->symbolic->rows[s->symbolic->row_ptr[k] + row - rest]);
}

/* The subtree of a node, if it is on a device; otherwise NULL. */
static const tsi_split_subtree *on_device(const tsi_device_split_schedule *s, const node *v) {
  const tsi_split_subtree *t = v->subtree == TSI_NONE ? NULL : &s->subtree[v->subtree];
  return t && t->device != TSI_NONE ? t : NULL;
}

/* Seconds of a node if it waits for nothing else. */
static double node_seconds(const tsi_device_split_schedule *s, const node *v) {
  const tsi_split_subtree *t = on_device(s, v);
  if (t) return 2 * TASKS * s->costs->core_task_seconds + tsi_device_split_seconds_alone(s->costs, t);
  return TASKS * s->costs->core_task_seconds + v->entries * s->costs->stream_bytes / s->costs->core_bandwidth;
}

static double priority_of(const tsi_device_split_schedule *s, tsi_index number) {
  return number == TSI_NONE ? 0 : s->node[number].priority;
}

static void add_slices(tsi_device_split_schedule *s, tsi_index chunk) {
  const tsi_chunks *chunks = s->chunks;
  const tsi_index panel = chunks->panel[chunk], width = tsi_panel_width(s->panels, panel);
  node *whole = &s->node[chunk];
  whole->entries = 0.5 * width * (width + 1.0);
  whole->priority = 0;
  for (tsi_index k = chunks->slice_ptr[chunk]; k < chunks->slice_ptr[chunk + 1]; k++) {
    node *slice = &s->node[chunks->count + k];
    *slice = (node){.entries = (double)width * tsi_slice_rows(chunks, s->panels, chunk, k),
                    .next = next_of_row(s, panel, chunks->slice_row[k]),
                    .waits = 1,
                    .subtree = whole->subtree};
    slice->priority = node_seconds(s, slice) + priority_of(s, slice->next);
    whole->priority = larger(whole->priority, slice->priority);
  }
  whole->priority += node_seconds(s, whole);
}

static void add_chunk(tsi_device_split_schedule *s, tsi_index chunk) {
  const tsi_index *panel = s->chunks->panel;
  node *v = &s->node[chunk];
  *v = (node){.entries = s->entries[panel[chunk + 1]] - s->entries[panel[chunk]],
              .subtree = s->subtree_of[s->panels->supernode[panel[chunk + 1] - 1]]};
  if (tsi_chunk_slices(s->chunks, chunk) > 0) {
    v->next = TSI_NONE;
    add_slices(s, chunk);
    return;
  }
  v->next = next_of_chunk(s, chunk);
  v->priority = node_seconds(s, v) + priority_of(s, v->next);
}

static void describe_nodes(tsi_device_split_schedule *s) {
  const tsi_chunks *chunks = s->chunks;
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++) s->chunk_of[p] = c;
  for (tsi_index c = chunks->count; c-- > 0;) add_chunk(s, c); /* priorities of waiting nodes come first */
  for (tsi_index v = 0; v < s->nodes; v++)
    if (s->node[v].next != TSI_NONE) s->node[s->node[v].next].waits++;
}

/* ---- Ready nodes --------------------------------------------------------------------------------------- */

static void push_ready(tsi_device_split_schedule *s, tsi_index v) {
  tsi_heap_push(&s->ready, s->node[v].priority, v);
}

/* ---- Time ---------------------------------------------------------------------------------------------- */

static void add_event(tsi_device_split_schedule *s, double end, tsi_index v) {
  tsi_heap_push(&s->event, -end, v);
}

static void start_on_core(tsi_device_split_schedule *s, tsi_index v, double now) {
  const tsi_device_split_costs *c = s->costs;
  const double entries = on_device(s, &s->node[v]) ? 0 : s->node[v].entries;
  const double readers = s->costs->cores - --s->idle;
  const double rate = smaller(c->core_bandwidth, c->cores_bandwidth / readers);
  add_event(s, now + TASKS * c->core_task_seconds + entries * c->stream_bytes / rate, v);
}

static void start_on_device(tsi_device_split_schedule *s, tsi_index v, const tsi_split_subtree *t,
                            double now) {
  const tsi_device_split_costs *c = s->costs;
  lane *l = &s->lane[t->device];
  l->work = larger(now, l->work) + tsi_device_split_bus_seconds(c, t->columns) + c->handover_seconds +
            tsi_device_split_device_seconds(c, t);
  l->down = larger(l->work, l->down) + tsi_device_split_bus_seconds(c, t->border);
  s->node[v].step = STEP_DEVICE;
  add_event(s, l->down + c->handover_seconds, v);
}

static void end_node(tsi_device_split_schedule *s, tsi_index number, double now,
                     tsi_device_split_times *times) {
  const node *v = &s->node[number];
  times->end = larger(times->end, now);
  if (v->subtree != TSI_NONE) times->subtrees = larger(times->subtrees, now);
  if (v->subtree != TSI_NONE && !on_device(s, v)) times->cores = larger(times->cores, now);
  if (v->next != TSI_NONE && --s->node[v->next].waits == 0) push_ready(s, v->next);
  if (number >= s->chunks->count) return;
  for (tsi_index k = s->chunks->slice_ptr[number]; k < s->chunks->slice_ptr[number + 1]; k++)
    push_ready(s, s->chunks->count + k);
}

static void end_event(tsi_device_split_schedule *s, tsi_index number, double now,
                      tsi_device_split_times *times) {
  node *v = &s->node[number];
  const tsi_split_subtree *t = on_device(s, v);
  s->idle += v->step != STEP_DEVICE;
  if (t && v->step == STEP_WORK)
    start_on_device(s, number, t, now);
  else if (t && v->step == STEP_DEVICE) {
    v->step = STEP_BORDER;
    push_ready(s, number);
  } else
    end_node(s, number, now, times);
}

static tsi_device_split_times play(tsi_device_split_schedule *s) {
  tsi_device_split_times times = {0};
  double now = 0;
  s->ready.count = s->event.count = 0;
  s->idle = s->costs->cores;
  memset(s->lane, 0, (size_t)s->costs->devices * sizeof *s->lane);
  for (tsi_index v = 0; v < s->nodes; v++)
    if (s->node[v].waits == 0) push_ready(s, v);
  for (;;) {
    while (s->idle > 0 && s->ready.count > 0) start_on_core(s, tsi_heap_pop(&s->ready).item, now);
    if (s->event.count == 0) return times;
    const tsi_keyed next = tsi_heap_pop(&s->event);
    now = -next.key;
    end_event(s, next.item, now, &times);
  }
}

/* ---- All ----------------------------------------------------------------------------------------------- */

tristar_status tsi_device_split_schedule_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                const tsi_panels *panels, const tsi_device_split_costs *costs,
                                                tsi_device_split_schedule **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_device_split_schedule, s, 1);
  s->symbolic = symbolic;
  s->panels = panels;
  s->costs = costs;
  TSI_TRY(TSI_ALLOC_IN(s, s->entries, (tsi_count)panels->count + 1));
  TSI_TRY(TSI_ALLOC_IN(s, s->panel_of, symbolic->n));
  TSI_TRY(TSI_ALLOC_IN(s, s->chunk_of, panels->count));
  TSI_TRY(TSI_ALLOC_IN(s, s->device, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(s, s->subtree_of, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(s, s->lane, costs->devices));
  s->entries[0] = 0;
  for (tsi_index p = 0; p < panels->count; p++) {
    s->entries[p + 1] = s->entries[p] + (double)tsi_panel_entries(panels, p);
    for (tsi_index j = panels->start[p]; j < panels->start[p + 1]; j++) s->panel_of[j] = p;
  }
  *out = tsi_take(&s);
  return TRISTAR_OK;
}

tristar_status tsi_device_split_schedule_run(tsi_env *env, tsi_device_split_schedule *s,
                                             const tsi_split_subtree *subtree, tsi_index count,
                                             tsi_device_split_times *times) {
  const tsi_side side = {s->symbolic, s->panels};
  tsi_chunk_options cut = s->costs->cut;
  bool placed = false;
  for (tsi_index k = 0; k < count; k++) placed |= subtree[k].device != TSI_NONE;
  s->subtree = subtree;
  describe_subtrees(s, count);
  cut.label = NULL;
  cut.device = placed ? s->device : NULL;
  TSI_OWNED tsi_chunks *chunks = NULL;
  TSI_TRY(tsi_chunks_choose(env, &side, &cut, &chunks));
  s->chunks = chunks;
  s->nodes = chunks->count + chunks->slices;
  TSI_SCRATCH(env, node, nodes, s->nodes);
  TSI_SCRATCH(env, tsi_keyed, ready, s->nodes);
  TSI_SCRATCH(env, tsi_keyed, events, s->nodes);
  s->node = nodes;
  s->ready.entry = ready;
  s->event.entry = events;
  describe_nodes(s);
  *times = play(s);
  return TRISTAR_OK;
}
