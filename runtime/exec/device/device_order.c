/* See device_order.h. */
#include "runtime/exec/device/device_order.h"

#include <stdlib.h>

#include "runtime/base/sort.h"
#include "runtime/exec/device/device_edges.h"

/* ---- Priorities ---------------------------------------------------------------------------------------- */

typedef struct ranked {
  double priority;
  tsi_index place; /* in the natural order */
  tsi_index node;
} ranked;

static int by_priority(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Nodes in descending priority: the seconds of the heaviest path from the start of a node to the end of the
 * sweep. The order of the edges becomes the one by priority. priority: nodes, zero. */
static void sort_by_priority(const tsi_device_edges *edges, tsi_index nodes, const double *seconds,
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

/* Nodes in the order of their tickets, as it grows; an open ticket of warp nodes, which has no number yet. */
typedef struct packer {
  const tsi_device_edges *edges;
  const tsi_device_node *node;
  tsi_device_tickets *t;
  tsi_index *ticket_of; /* nodes; TSI_NONE: it has none yet */
  tsi_index placed;     /* nodes in t->order */
  tsi_index open[TSI_TICKET_NODES], opened;
} packer;

static void close_ticket(packer *p, tsi_index nodes, const tsi_index *node) {
  if (nodes == 0) return;
  p->t->ticket[p->t->tickets] = (tsi_device_ticket){.first = p->placed, .nodes = nodes};
  for (tsi_index k = 0; k < nodes; k++) {
    p->t->order[p->placed++] = node[k];
    p->ticket_of[node[k]] = p->t->tickets;
  }
  p->t->tickets++;
}

static void close_open(packer *p) {
  close_ticket(p, p->opened, p->open);
  p->opened = 0;
}

static bool waits_for_open(const packer *p, tsi_index v) {
  for (tsi_count e = p->edges->ptr[v]; e < p->edges->ptr[v + 1]; e++)
    if (p->ticket_of[p->edges->list[e]] == TSI_NONE) return true;
  return false;
}

/* The next node in the order of priorities: all that it waits for is placed or in the open ticket. */
static void place_node(packer *p, tsi_index v) {
  if (waits_for_open(p, v)) close_open(p);
  if (p->node[v].kind != TSI_DEVICE_WARP) {
    close_ticket(p, 1, &v);
    return;
  }
  p->open[p->opened++] = v;
  if (p->opened == TSI_TICKET_NODES) close_open(p);
}

/* What a ticket waits for: the tickets of all edges that lead to its nodes, ascending, each once. list NULL:
 * only an upper bound of their number. */
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

static tristar_status list_all_waits(tsi_env *env, const packer *p) {
  tsi_device_tickets *t = p->t;
  tsi_count most = 0;
  for (tsi_index k = 0; k < t->tickets; k++) most += list_waits(p, &t->ticket[k], NULL);
  if (most > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld waits of tickets are beyond %d", (long long)most,
             TSI_INDEX_MAX);
  TSI_TRY(TSI_ALLOC(env, t->before, most));
  for (tsi_index k = 0; k < t->tickets; k++) {
    t->ticket[k].before = t->waits;
    t->ticket[k].befores = (tsi_index)list_waits(p, &t->ticket[k], t->before + t->waits);
    t->waits += t->ticket[k].befores;
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_tickets_create(tsi_env *env, const tsi_device_tables *tables,
                                         const tsi_sweep *sweep, bool backward, const double *seconds,
                                         tsi_device_tickets *tickets) {
  tristar_status status = TRISTAR_OK;
  const tsi_index nodes = tables->nodes;
  double *priority = NULL;
  ranked *list = NULL;
  tsi_device_edges edges = {0};
  packer p = {.edges = &edges, .node = tables->node, .t = tickets};
  *tickets = (tsi_device_tickets){0};
  TSI_TRY_OUT(tsi_device_edges_create(env, tables, sweep, backward, &edges));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, priority, nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, list, nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, p.ticket_of, nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, tickets->ticket, nodes));
  TSI_TRY_OUT(TSI_ALLOC(env, tickets->order, nodes));
  sort_by_priority(&edges, nodes, seconds, priority, list);
  for (tsi_index v = 0; v < nodes; v++) p.ticket_of[v] = TSI_NONE;
  for (tsi_index q = 0; q < nodes; q++) place_node(&p, edges.order[q]);
  close_open(&p);
  TSI_TRY_OUT(list_all_waits(env, &p));
out:
  tsi_device_edges_destroy(env, &edges);
  TSI_FREE(env, priority);
  TSI_FREE(env, list);
  TSI_FREE(env, p.ticket_of);
  if (status != TRISTAR_OK) tsi_device_tickets_destroy(env, tickets);
  return status;
}

void tsi_device_tickets_destroy(tsi_env *env, tsi_device_tickets *tickets) {
  TSI_FREE(env, tickets->ticket);
  TSI_FREE(env, tickets->order);
  TSI_FREE(env, tickets->before);
  *tickets = (tsi_device_tickets){0};
}
