/* Nested dissection of the graph of A, A + A^T or A^T A: see metis_order.h.
 *
 * Two passes through the graph: the first counts the edges, the second stores them. */
#include "tools/peers/metis_order.h"

#include <math.h>
#include <metis.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
  peer_graph graph;
  const peer_compressed *columns, *rows;
  int32_t long_row; /* longer rows are omitted */
  int32_t *seen;    /* seen[i] == j: vertex i is a neighbour of j that was already visited, or is j */
  int64_t edges;    /* so far */
  idx_t *ends;      /* receives the edges; NULL: only count */
} walk;

static void visit(walk *w, int32_t from, int32_t to) {
  if (w->seen[to] == from) return;
  w->seen[to] = from;
  if (w->ends != NULL) w->ends[w->edges] = to;
  w->edges++;
}

/* Visits all edges that leave vertex j. */
static void visit_neighbours(walk *w, int32_t j) {
  w->seen[j] = j;
  for (int32_t e = w->columns->ptr[j]; e < w->columns->ptr[j + 1]; e++) {
    const int32_t i = w->columns->index[e];
    if (w->graph != PEER_GRAPH_PRODUCT)
      visit(w, j, i);
    else if (w->rows->ptr[i + 1] - w->rows->ptr[i] <= w->long_row)
      for (int32_t f = w->rows->ptr[i]; f < w->rows->ptr[i + 1]; f++) visit(w, j, w->rows->index[f]);
  }
  if (w->graph != PEER_GRAPH_SUM) return;
  for (int32_t e = w->rows->ptr[j]; e < w->rows->ptr[j + 1]; e++) visit(w, j, w->rows->index[e]);
}

/* start[j]: number of edges before those of vertex j; NULL: not stored. Returns the number of edges. */
static int64_t visit_all(walk *w, int64_t n, idx_t *start) {
  w->edges = 0;
  for (int64_t j = 0; j < n; j++) w->seen[j] = -1;
  for (int32_t j = 0; j < (int32_t)n; j++) {
    if (start != NULL) start[j] = (idx_t)w->edges;
    visit_neighbours(w, j);
  }
  if (start != NULL) start[n] = (idx_t)w->edges;
  return w->edges;
}

bool peer_metis_order(int64_t n, peer_graph graph, const peer_compressed *columns,
                      const peer_compressed *rows, int32_t *position) {
  walk w = {
      .graph = graph, .columns = columns, .rows = rows, .long_row = (int32_t)fmax(16, 10 * sqrt((double)n))};
  w.seen = peer_allocate(n, sizeof *w.seen);
  const int64_t edges = visit_all(&w, n, NULL);
  bool ordered = edges <= IDX_MAX;
  if (ordered) {
    idx_t vertices = (idx_t)n;
    idx_t *start = peer_allocate(n + 1, sizeof *start);
    idx_t *order = peer_allocate(n, sizeof *order), *inverse = peer_allocate(n, sizeof *inverse);
    w.ends = peer_allocate(edges, sizeof *w.ends);
    visit_all(&w, n, start);
    ordered = METIS_NodeND(&vertices, start, w.ends, NULL, NULL, order, inverse) == METIS_OK;
    for (int64_t j = 0; j < n && ordered; j++) position[j] = (int32_t)inverse[j];
    free(start);
    free(order);
    free(inverse);
    free(w.ends);
  }
  free(w.seen);
  return ordered;
}

bool peer_symmetric_pattern(const peer *p, const peer_compressed *columns, const peer_compressed *rows) {
  const size_t entries = (size_t)columns->ptr[p->n];
  const double *values = columns->values;
  const int parts = p->is_complex ? 2 : 1;
  int64_t diagonal = 0;
  for (int32_t j = 0; j < (int32_t)p->n; j++)
    for (int32_t e = columns->ptr[j]; e < columns->ptr[j + 1]; e++)
      diagonal +=
          columns->index[e] == j && (values[parts * e] != 0 || (parts == 2 && values[parts * e + 1] != 0));
  return diagonal == p->n && memcmp(columns->ptr, rows->ptr, (size_t)(p->n + 1) * sizeof *rows->ptr) == 0 &&
         memcmp(columns->index, rows->index, entries * sizeof *rows->index) == 0;
}
