/* See device_order.h. */
#include "runtime/exec/device/device_order.h"

#include <stdlib.h>

#include "codelets/gpu/tables/device_tables.h"
#include "dag/sweep.h"
#include "runtime/base/sort.h"

/* ---- Edges --------------------------------------------------------------------------------------------- */

/* The edges of a sweep: nodes of device tables that read the results of other nodes.
 *
 * The nodes of a sliced chunk's triangle come after the node of the chunk, and so do its slices if they
 * gather. Forward edges follow from the gather lists; a slice also comes after all nodes of its triangle,
 * unless its values contain the inverse of the triangle. Backward edges are the edges of the CPU's sweep,
 * without edges that others imply; an edge from a chunk with a triangle becomes edges from all nodes of the
 * triangle. In addition, a slice and a triangle come after the slices whose partial sums they add. As the
 * first slice of each group adds the sums of the next group, all slices of a chunk come before its triangle.
 */

typedef struct device_edges {
  tsi_index *order; /* nodes, in a legal order */
  tsi_count *ptr;   /* nodes + 1 */
  tsi_index *list;  /* nodes before each node, each once */
} device_edges;

/* Collects edges; list NULL: only counts. */
typedef struct finder {
  const tsi_device_tables *t;
  const tsi_sweep *sweep;
  const tsi_index *writer; /* gathered rows of the workspace: the node that writes them */
  tsi_index *mark;         /* nodes: the last node with an edge from it */
  tsi_index *list;
  tsi_count count;
} finder;

static void put_edge(finder *f, tsi_index v, tsi_index before) {
  if (f->mark[before] == v) return;
  f->mark[before] = v;
  if (f->list) f->list[f->count] = before;
  f->count++;
}

/* Adds edges from all nodes that solve the columns of a chunk. */
static void put_chunk(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[chunk];
  if (node->pieces == 0) put_edge(f, v, chunk);
  for (tsi_index k = node->piece; k < node->piece + node->pieces; k++) put_edge(f, v, k);
}

/* Adds edges from the nodes that write the rows which lists first .. first+count-1 gather. */
static void put_lists(finder *f, tsi_index v, tsi_index first, tsi_index count) {
  for (tsi_index e = f->t->gather_ptr[first]; e < f->t->gather_ptr[first + count]; e++)
    put_edge(f, v, f->writer[f->t->gather[e]]);
}

/* chunk: the chunk of node v. */
static void find_forward(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[v];
  if (node->kind == TSI_DEVICE_SLICED) return;
  if (chunk != v) put_edge(f, v, chunk);
  if (node->kind == TSI_DEVICE_SLICE && f->t->inverse != TSI_INVERSE_PARTITIONED)
    put_chunk(f, v, chunk);
  else
    put_lists(f, v, node->column, node->columns);
  if (node->kind != TSI_DEVICE_TRIANGLE) put_lists(f, v, f->t->n + node->off + node->first, node->count);
}

static void find_backward(finder *f, tsi_index v, tsi_index chunk) {
  const tsi_device_node *node = &f->t->node[v];
  if (node->kind == TSI_DEVICE_SLICED) return;
  const tsi_index slice = f->t->node[chunk].slice,
                  next = node->kind == TSI_DEVICE_SLICE ? v + TSI_SUM_SLICES : slice;
  for (tsi_index k = next; k < next + node->adds; k++) put_edge(f, v, k);
  if (node->kind == TSI_DEVICE_TRIANGLE) {
    put_edge(f, v, chunk);
    return;
  }
  for (tsi_count e = f->sweep->next_ptr[v]; e < f->sweep->next_ptr[v + 1]; e++)
    put_chunk(f, v, f->sweep->next[e]);
}

/* Lists the nodes of a chunk in a legal order: slices after the triangle, but backward before it. */
static void list_chunk(const tsi_device_tables *t, tsi_index chunk, bool backward, tsi_index *order) {
  const tsi_device_node *node = &t->node[chunk];
  *order++ = chunk;
  for (tsi_index k = 0; k < node->pieces + node->slices; k++)
    if (backward)
      *order++ = k < node->slices ? node->slice + node->slices - 1 - k : node->piece + k - node->slices;
    else
      *order++ = k < node->pieces ? node->piece + k : node->slice + k - node->pieces;
}

/* chunk_of: the chunk of each node. */
static void list_nodes(const tsi_device_tables *t, bool backward, tsi_index *order, tsi_index *chunk_of) {
  tsi_index at = 0;
  for (tsi_index q = 0; q < t->chunks; q++) {
    const tsi_index chunk = backward ? t->chunks - 1 - q : q, begin = at;
    list_chunk(t, chunk, backward, order + at);
    at += 1 + t->node[chunk].pieces + t->node[chunk].slices;
    for (tsi_index k = begin; k < at; k++) chunk_of[order[k]] = chunk;
  }
}

static void list_writers(const tsi_device_tables *t, tsi_index *writer) {
  for (tsi_index v = 0; v < t->nodes; v++) {
    const tsi_device_node *node = &t->node[v];
    if (node->kind == TSI_DEVICE_TRIANGLE || node->kind == TSI_DEVICE_SLICED) continue;
    for (tsi_index i = node->first; i < node->first + node->count; i++) writer[node->update + i] = v;
  }
}

static void find_all(finder *f, bool backward, const tsi_index *chunk_of, tsi_count *ptr) {
  f->count = 0;
  for (tsi_index v = 0; v < f->t->nodes; v++) f->mark[v] = TSI_NONE;
  for (tsi_index v = 0; v < f->t->nodes; v++) {
    ptr[v] = f->count;
    (backward ? find_backward : find_forward)(f, v, chunk_of[v]);
  }
  ptr[f->t->nodes] = f->count;
}

/* edges: owns its arrays. Errors: MEMORY. */
static tristar_status create_edges(tsi_env *env, const tsi_device_tables *tables, const tsi_sweep *sweep,
                                   bool backward, device_edges *edges) {
  TSI_SCRATCH(env, tsi_index, writer, tables->workspace_rows);
  TSI_SCRATCH(env, tsi_index, chunk_of, tables->nodes);
  TSI_SCRATCH(env, tsi_index, mark, tables->nodes);
  finder f = {.t = tables, .sweep = sweep, .writer = writer, .mark = mark};
  TSI_TRY(TSI_ALLOC_IN(edges, edges->order, tables->nodes));
  TSI_TRY(TSI_ALLOC_IN(edges, edges->ptr, (tsi_count)tables->nodes + 1));
  list_nodes(tables, backward, edges->order, chunk_of);
  list_writers(tables, writer);
  find_all(&f, backward, chunk_of, edges->ptr);
  TSI_TRY(TSI_ALLOC_IN(edges, edges->list, f.count));
  f.list = edges->list;
  find_all(&f, backward, chunk_of, edges->ptr);
  return TRISTAR_OK;
}

/* ---- Priorities ---------------------------------------------------------------------------------------- */

typedef struct ranked {
  double priority;
  tsi_index place; /* position in the natural order */
  tsi_index node;
} ranked;

static int by_priority(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Sorts nodes by descending priority, the seconds on the critical path from a node to the end of the sweep.
 * Replaces the order of the edges. priority: by node, zero. */
static void sort_by_priority(const device_edges *edges, tsi_index nodes, const double *seconds,
                             double *priority, ranked *list) {
  for (tsi_index q = nodes; q-- > 0;) {
    const tsi_index v = edges->order[q];
    priority[v] += seconds[v];
    for (tsi_count e = edges->ptr[v]; e < edges->ptr[v + 1]; e++)
      if (priority[edges->list[e]] < priority[v]) priority[edges->list[e]] = priority[v];
    list[q] = (ranked){priority[v], q, v};
  }
  qsort(list, (size_t)nodes, sizeof *list, by_priority);
  for (tsi_index q = 0; q < nodes; q++) edges->order[q] = list[q].node;
}

/* ---- Tickets ------------------------------------------------------------------------------------------- */

/* An open ticket: warp nodes that have no number of a ticket yet. */
typedef struct open_ticket {
  tsi_index nodes, node[TSI_TICKET_NODES];
} open_ticket;

/* Nodes in the order of their tickets, which grows, and an open ticket for each level. The level of a node is
 * the largest number of nodes in a chain before it. The nodes of a ticket have the same level, so that a
 * chain of tickets is no longer than a chain of nodes. */
typedef struct packer {
  const device_edges *edges;
  const tsi_device_node *node;
  tsi_device_tickets *t;
  tsi_index *ticket_of; /* nodes; TSI_NONE: no ticket yet */
  tsi_index *level;     /* nodes */
  tsi_index placed;     /* number of nodes in t->order */
  open_ticket *open;    /* levels */
} packer;

static void close_ticket(packer *p, tsi_index nodes, const tsi_index *node) {
  p->t->ticket[p->t->tickets] = (tsi_device_ticket){.first = p->placed, .nodes = nodes};
  for (tsi_index k = 0; k < nodes; k++) {
    p->t->order[p->placed++] = node[k];
    p->ticket_of[node[k]] = p->t->tickets;
  }
  p->t->tickets++;
}

static void close_open(packer *p, open_ticket *open) {
  if (open->nodes > 0) close_ticket(p, open->nodes, open->node);
  open->nodes = 0;
}

/* Places the next node by priority. All nodes before it are placed, or in open tickets. */
static void place_node(packer *p, tsi_index v) {
  for (tsi_count e = p->edges->ptr[v]; e < p->edges->ptr[v + 1]; e++) {
    const tsi_index before = p->edges->list[e];
    if (p->ticket_of[before] == TSI_NONE) close_open(p, &p->open[p->level[before]]);
  }
  if (p->node[v].kind != TSI_DEVICE_WARP) {
    close_ticket(p, 1, &v);
    return;
  }
  open_ticket *open = &p->open[p->level[v]];
  open->node[open->nodes++] = v;
  if (open->nodes == TSI_TICKET_NODES) close_open(p, open);
}

/* Fills the levels of all nodes; returns their number. */
static tsi_index find_levels(const device_edges *edges, tsi_index nodes, tsi_index *level) {
  tsi_index levels = 0;
  for (tsi_index q = 0; q < nodes; q++) {
    const tsi_index v = edges->order[q];
    level[v] = 0;
    for (tsi_count e = edges->ptr[v]; e < edges->ptr[v + 1]; e++)
      level[v] = tsi_index_max(level[v], level[edges->list[e]] + 1);
    levels = tsi_index_max(levels, level[v] + 1);
  }
  return levels;
}

/* Lists the tickets that a ticket waits for, from all edges to its nodes, ascending, each once. list NULL:
 * returns only an upper bound of their number. */
static tsi_count list_waits(const packer *p, const tsi_device_ticket *ticket, tsi_index *list) {
  tsi_count count = 0, different = 0;
  for (tsi_index q = ticket->first; q < ticket->first + ticket->nodes; q++) {
    const tsi_index v = p->t->order[q];
    for (tsi_count e = p->edges->ptr[v]; e < p->edges->ptr[v + 1]; e++) {
      if (list) list[count] = p->ticket_of[p->edges->list[e]];
      count++;
    }
  }
  if (list == NULL) return count;
  tsi_sort_indices(list, count);
  for (tsi_count k = 0; k < count; k++)
    if (k == 0 || list[k] != list[k - 1]) list[different++] = list[k];
  return different;
}

static tristar_status list_all_waits(void *owner, const packer *p) {
  tsi_device_tickets *t = p->t;
  tsi_count most = 0;
  for (tsi_index k = 0; k < t->tickets; k++) most += list_waits(p, &t->ticket[k], NULL);
  if (most > TSI_INDEX_MAX)
    TSI_FAIL(tsi_env_of_memory(owner), TRISTAR_ERR_TOO_LARGE, "%lld waits of tickets are beyond %d",
             (long long)most, TSI_INDEX_MAX);
  TSI_TRY(TSI_ALLOC_IN(owner, t->before, most));
  for (tsi_index k = 0; k < t->tickets; k++) {
    t->ticket[k].before = t->waits;
    t->ticket[k].befores = (tsi_index)list_waits(p, &t->ticket[k], t->before + t->waits);
    t->waits += t->ticket[k].befores;
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_tickets_create(void *owner, const tsi_device_tables *tables, const tsi_sweep *sweep,
                                         bool backward, const double *seconds, tsi_device_tickets *tickets) {
  tsi_env *env = tsi_env_of_memory(owner);
  const tsi_index nodes = tables->nodes;
  *tickets = (tsi_device_tickets){0};
  TSI_SCRATCH_ZERO(env, device_edges, edges, 1);
  TSI_TRY(create_edges(env, tables, sweep, backward, edges));
  TSI_SCRATCH_ZERO(env, double, priority, nodes);
  TSI_SCRATCH(env, ranked, list, nodes);
  TSI_SCRATCH(env, tsi_index, ticket_of, nodes);
  TSI_TRY(TSI_ALLOC_IN(owner, tickets->ticket, nodes));
  TSI_TRY(TSI_ALLOC_IN(owner, tickets->order, nodes));
  sort_by_priority(edges, nodes, seconds, priority, list);
  TSI_SCRATCH(env, tsi_index, level, nodes);
  const tsi_index levels = find_levels(edges, nodes, level);
  TSI_SCRATCH_ZERO(env, open_ticket, open, levels);
  for (tsi_index v = 0; v < nodes; v++) ticket_of[v] = TSI_NONE;
  packer p = {.edges = edges,
              .node = tables->node,
              .t = tickets,
              .ticket_of = ticket_of,
              .level = level,
              .open = open};
  for (tsi_index q = 0; q < nodes; q++) place_node(&p, edges->order[q]);
  for (tsi_index l = 0; l < levels; l++) close_open(&p, &open[l]);
  return list_all_waits(owner, &p);
}
