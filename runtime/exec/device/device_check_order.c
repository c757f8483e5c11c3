/* Verifies the tickets of device tables: see device_check.h.
 *
 * Nodes are steps (dag/access.h) in the order of their tickets; they read and write rows of the workspace.
 * Waits are edges from each node of one ticket to each node of another. There are no edges inside a ticket,
 * so two nodes of a ticket that access the same rows are a conflict. An earlier ticket must have written the
 * rows that a node reads; that the node also waits for this ticket follows from the absence of conflicts. */
#include "dag/access.h"
#include "runtime/exec/device/device_check.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* A sweep, and the tickets and chunks of its nodes. */
typedef struct order {
  const tsi_device_tables *t;
  const tsi_device_sweep *sweep;
  const tsi_index *node_of_row;
  bool backward;
  tsi_index *ticket_of; /* nodes */
  tsi_index *chunk_of;  /* nodes: the node itself, or the chunk of a slice */
} order;

static const char *name_of(const order *o) {
  return o->backward ? "backward" : "forward";
}

/* ---- Tickets ------------------------------------------------------------------------------------------- */

static tristar_status check_waits(tsi_env *env, const order *o, tsi_index number) {
  const tsi_device_ticket *ticket = &o->sweep->ticket[number];
  if (ticket->befores < 0 || ticket->before < 0 || ticket->before > o->sweep->waits - ticket->befores)
    BROKEN("%s ticket %d: waits %d + %d of %d", name_of(o), number, ticket->before, ticket->befores,
           o->sweep->waits);
  for (tsi_index k = 0; k < ticket->befores; k++) {
    const tsi_index *before = &o->sweep->before[ticket->before + k];
    if (*before < 0 || *before >= number || (k > 0 && before[0] <= before[-1]))
      BROKEN("%s ticket %d waits for ticket %d", name_of(o), number, *before);
  }
  return TRISTAR_OK;
}

static tristar_status check_tickets(tsi_env *env, const order *o) {
  const tsi_device_tables *t = o->t;
  tsi_index at = 0;
  for (tsi_index v = 0; v < t->nodes; v++) o->ticket_of[v] = TSI_NONE;
  for (tsi_index k = 0; k < o->sweep->tickets; k++) {
    const tsi_device_ticket *ticket = &o->sweep->ticket[k];
    if (ticket->first != at || ticket->nodes < 1 || ticket->nodes > TSI_TICKET_NODES ||
        ticket->nodes > t->nodes - at)
      BROKEN("%s ticket %d: nodes %d + %d", name_of(o), k, ticket->first, ticket->nodes);
    for (; at < ticket->first + ticket->nodes; at++) {
      const tsi_index v = o->sweep->order[at];
      if (v < 0 || v >= t->nodes || o->ticket_of[v] != TSI_NONE)
        BROKEN("%s ticket %d has node %d, as an earlier one has or none may", name_of(o), k, v);
      if (ticket->nodes > 1 && t->node[v].kind != TSI_DEVICE_WARP)
        BROKEN("%s ticket %d has node %d beside others, which is no warp's", name_of(o), k, v);
      o->ticket_of[v] = k;
    }
    TSI_TRY(check_waits(env, o, k));
  }
  if (at != t->nodes) BROKEN("%d of %d nodes have %s tickets", at, t->nodes, name_of(o));
  return TRISTAR_OK;
}

/* ---- What is read was written -------------------------------------------------------------------------- */

/* The node that writes off-row i of chunk c in the forward sweep. */
static tsi_index off_row_writer(const tsi_device_tables *t, tsi_index c, tsi_index i) {
  const tsi_device_node *chunk = &t->node[c];
  for (tsi_index k = chunk->slice; k < chunk->slice + chunk->slices; k++)
    if (i < t->node[k].first + t->node[k].count) return k;
  return c;
}

static tristar_status need_earlier(tsi_env *env, const order *o, tsi_index writer, tsi_index reader) {
  if (o->ticket_of[writer] >= o->ticket_of[reader])
    BROKEN("%s: node %d reads in ticket %d what node %d writes in ticket %d", name_of(o), reader,
           o->ticket_of[reader], writer, o->ticket_of[writer]);
  return TRISTAR_OK;
}

/* Checks that all nodes which solve the columns of a chunk are earlier. */
static tristar_status need_chunk(tsi_env *env, const order *o, tsi_index c, tsi_index reader) {
  const tsi_device_node *chunk = &o->t->node[c];
  if (chunk->pieces == 0) TSI_TRY(need_earlier(env, o, c, reader));
  for (tsi_index k = chunk->piece; k < chunk->piece + chunk->pieces; k++)
    TSI_TRY(need_earlier(env, o, k, reader));
  return TRISTAR_OK;
}

static tristar_status need_lists(tsi_env *env, const order *o, tsi_index first, tsi_index count,
                                 tsi_index reader) {
  const tsi_device_tables *t = o->t;
  for (tsi_index e = t->gather_ptr[first]; e < t->gather_ptr[first + count]; e++) {
    const tsi_index c = o->node_of_row[t->gather[e]];
    TSI_TRY(need_earlier(env, o, off_row_writer(t, c, t->gather[e] - t->node[c].update), reader));
  }
  return TRISTAR_OK;
}

/* Whether a slice reads x of its chunk, and not gathered rows. */
static bool reads_triangle(const order *o, const tsi_device_node *node) {
  return node->kind == TSI_DEVICE_SLICE && o->t->inverse != TSI_INVERSE_PARTITIONED;
}

static tristar_status check_reads_forward(tsi_env *env, const order *o, tsi_index v) {
  const tsi_device_node *node = &o->t->node[v];
  if (node->kind == TSI_DEVICE_SLICED) return TRISTAR_OK;
  if (o->chunk_of[v] != v) TSI_TRY(need_earlier(env, o, o->chunk_of[v], v));
  if (reads_triangle(o, node))
    TSI_TRY(need_chunk(env, o, o->chunk_of[v], v));
  else
    TSI_TRY(need_lists(env, o, node->column, node->columns, v));
  if (node->kind != TSI_DEVICE_TRIANGLE)
    TSI_TRY(need_lists(env, o, o->t->n + node->off + node->first, node->count, v));
  return TRISTAR_OK;
}

/* The first slice whose partial sum a node adds. */
static tsi_index first_added(const order *o, tsi_index v) {
  const tsi_device_node *chunk = &o->t->node[o->chunk_of[v]];
  return chunk->slice + (o->t->node[v].add - chunk->sums) / tsi_index_max(1, chunk->columns);
}

static tristar_status check_reads_backward(tsi_env *env, const order *o, tsi_index v) {
  const tsi_device_tables *t = o->t;
  const tsi_device_node *node = &t->node[v];
  for (tsi_index k = 0; k < node->adds; k++) TSI_TRY(need_earlier(env, o, first_added(o, v) + k, v));
  if (node->kind == TSI_DEVICE_TRIANGLE) TSI_TRY(need_earlier(env, o, o->chunk_of[v], v));
  if (node->kind == TSI_DEVICE_TRIANGLE || node->kind == TSI_DEVICE_SLICED) return TRISTAR_OK;
  for (tsi_index i = node->first; i < node->first + node->count; i++)
    TSI_TRY(need_chunk(env, o, o->node_of_row[t->owner[node->off + i]], v));
  return TRISTAR_OK;
}

/* ---- What touches the same rows is ordered ------------------------------------------------------------- */

static void touch(tsi_access_lister *lister, tsi_access_mode mode, tsi_count first, tsi_count count) {
  tsi_access_add(lister, mode, TSI_BUFFER_T, 0, first, first + count);
}

/* Adds the reads of a list of rows: one access for each run of consecutive rows. */
static void read_rows(tsi_access_lister *lister, const tsi_index *row, tsi_index count) {
  for (tsi_index i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && row[end] == row[end - 1] + 1;) end++;
    touch(lister, TSI_ACCESS_R, row[i], end - i);
  }
}

static void read_lists(const tsi_device_tables *t, tsi_index first, tsi_index count,
                       tsi_access_lister *lister) {
  const tsi_index begin = t->gather_ptr[first];
  read_rows(lister, t->gather + begin, t->gather_ptr[first + count] - begin);
}

static void list_forward(const order *o, const tsi_device_node *node, tsi_access_lister *lister) {
  const tsi_device_tables *t = o->t;
  if (node->kind == TSI_DEVICE_SLICED) {
    touch(lister, TSI_ACCESS_W, node->solution, node->columns);
    return;
  }
  if (reads_triangle(o, node))
    touch(lister, TSI_ACCESS_R, node->x, node->columns);
  else if (node->solution != node->x)
    touch(lister, TSI_ACCESS_R, node->solution, node->columns);
  if (!reads_triangle(o, node)) read_lists(t, node->column, node->columns, lister);
  if (node->kind == TSI_DEVICE_TRIANGLE) {
    touch(lister, TSI_ACCESS_W, (tsi_count)node->x + node->first, node->count);
    return;
  }
  read_lists(t, t->n + node->off + node->first, node->count, lister);
  touch(lister, TSI_ACCESS_W, (tsi_count)node->update + node->first, node->count);
  if (node->kind != TSI_DEVICE_SLICE) touch(lister, TSI_ACCESS_W, node->x, node->columns);
}

/* With interchanges, a node of a triangle writes its columns to other rows of the solution; all nodes of the
 * triangle together still write each row once. */
static void list_backward(const order *o, const tsi_device_node *node, tsi_access_lister *lister) {
  if (node->kind == TSI_DEVICE_SLICED) {
    touch(lister, TSI_ACCESS_RW, node->x, node->columns);
    return;
  }
  touch(lister, TSI_ACCESS_R, node->add, (tsi_count)node->adds * node->columns);
  if (node->kind == TSI_DEVICE_TRIANGLE) {
    touch(lister, TSI_ACCESS_R, node->x, node->columns);
    touch(lister, TSI_ACCESS_W, (tsi_count)node->solution + node->begin, node->end - node->begin);
    return;
  }
  read_rows(lister, o->t->owner + node->off + node->first, node->count);
  touch(lister, TSI_ACCESS_W, (tsi_count)node->update + node->first, node->count);
  if (node->kind == TSI_DEVICE_SLICE)
    touch(lister, TSI_ACCESS_W, node->sums, node->columns);
  else
    touch(lister, TSI_ACCESS_RW, node->x, node->columns);
}

static void list_step(const void *arg, tsi_index step, tsi_access_lister *lister) {
  const order *o = arg;
  const tsi_device_node *node = &o->t->node[o->sweep->order[step]];
  (o->backward ? list_backward : list_forward)(o, node, lister);
}

/* Lists waits as edges between positions in the order; returns their number. edge NULL: only counts. */
static tsi_count list_edges(const tsi_device_sweep *sweep, tsi_edge *edge) {
  tsi_count count = 0;
  for (tsi_index k = 0; k < sweep->tickets; k++) {
    const tsi_device_ticket *ticket = &sweep->ticket[k];
    for (tsi_index w = ticket->before; w < ticket->before + ticket->befores; w++) {
      const tsi_device_ticket *before = &sweep->ticket[sweep->before[w]];
      for (tsi_index b = before->first; b < before->first + before->nodes; b++)
        for (tsi_index v = ticket->first; v < ticket->first + ticket->nodes; v++) {
          if (edge) edge[count] = (tsi_edge){.item = v, .before = b};
          count++;
        }
    }
  }
  return count;
}

static tristar_status check_conflicts(tsi_env *env, const order *o) {
  TSI_OWNED tsi_access_list *list = NULL;
  const tsi_count edges = list_edges(o->sweep, NULL);
  TSI_SCRATCH(env, tsi_edge, edge, edges);
  (void)list_edges(o->sweep, edge);
  TSI_TRY(tsi_access_list_create(env, o->t->nodes, list_step, o, &list));
  return tsi_access_check(env, list, edges, edge);
}

tristar_status tsi_device_order_check(tsi_env *env, const tsi_device_tables *tables,
                                      const tsi_index *node_of_row, bool backward) {
  TSI_SCRATCH(env, order, o, 1);
  *o = (order){.t = tables,
               .sweep = backward ? &tables->backward : &tables->forward,
               .node_of_row = node_of_row,
               .backward = backward};
  TSI_TRY(TSI_ALLOC_IN(o, o->ticket_of, tables->nodes));
  TSI_TRY(TSI_ALLOC_IN(o, o->chunk_of, tables->nodes));
  for (tsi_index c = 0; c < tables->chunks; c++) {
    const tsi_device_node *chunk = &tables->node[c];
    o->chunk_of[c] = c;
    for (tsi_index k = chunk->slice; k < chunk->slice + chunk->slices; k++) o->chunk_of[k] = c;
    for (tsi_index k = chunk->piece; k < chunk->piece + chunk->pieces; k++) o->chunk_of[k] = c;
  }
  TSI_TRY(check_tickets(env, o));
  for (tsi_index v = 0; v < tables->nodes; v++)
    TSI_TRY((backward ? check_reads_backward : check_reads_forward)(env, o, v));
  return check_conflicts(env, o);
}
