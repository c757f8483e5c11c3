/* Lays out the assembly tree: see tree.h. Parents come before their children, so no recursion: trees can be
 * chains of any length. */
#include <stdlib.h>
#include <string.h>

#include "drivers/plot/tree.h"

/* A supernode during the layout. */
typedef struct node {
  double own, subtree;  /* bytes */
  int32_t first;        /* lowest-numbered supernode of its subtree, which ends with itself */
  int32_t child, next;  /* first child, next sibling, in ascending order; -1: none */
  int32_t children;     /* number of children */
  bool hidden;          /* its area is already covered */
  double x, y, width;   /* position of its subtree */
  tsi_tree_box waiting; /* thin boxes above it that merge with it; supernodes = 0: none */
} node;

typedef struct layout {
  const tristar_assembly_tree *tree;
  const int32_t *chunk_of;
  int32_t chunks;
  double smallest;
  node *nodes;
  tsi_tree_layout *out;
  int64_t capacity;
  bool failed;
} layout;

double tsi_supernode_entries(const tristar_assembly_tree *tree, int64_t k) {
  const double w = (double)(tree->first_column[k + 1] - tree->first_column[k]);
  return w * (w + 1) / 2 + w * (double)(tree->rows[k + 1] - tree->rows[k]);
}

static int32_t parts_of(const layout *l, int64_t k) {
  const int32_t end = k + 1 < l->tree->supernodes ? l->chunk_of[k + 1] : l->chunks;
  return end > l->chunk_of[k] ? end - l->chunk_of[k] : 1;
}

/* Is the whole subtree in one chunk? Chunks are intervals of the postorder. */
static bool is_uniform(const layout *l, int64_t k) {
  return l->chunk_of[l->nodes[k].first] == l->chunk_of[k] && parts_of(l, k) == 1;
}

static tsi_tree_box box_of(const layout *l, int64_t k) {
  const tristar_assembly_tree *t = l->tree;
  return (tsi_tree_box){.chunk = l->chunk_of[k],
                        .parts = parts_of(l, k),
                        .supernodes = 1,
                        .columns = t->first_column[k + 1] - t->first_column[k],
                        .rows = t->rows[k + 1] - t->rows[k],
                        .bytes = l->nodes[k].own};
}

/* Returns the box of the subtrees of the siblings from .. to, and hides them. */
static tsi_tree_box box_of_subtrees(layout *l, int32_t from, int32_t to) {
  tsi_tree_box box = box_of(l, to);
  const int32_t first = l->nodes[from].first;
  box.bytes = 0;
  for (int32_t c = from;; c = l->nodes[c].next) {
    box.bytes += l->nodes[c].subtree;
    l->nodes[c].hidden = true;
    if (c == to) break;
  }
  box.supernodes = to - first + 1;
  box.columns = l->tree->first_column[to + 1] - l->tree->first_column[first];
  return box;
}

static void emit(layout *l, tsi_tree_box box, double x, double y, double width) {
  tsi_tree_layout *out = l->out;
  if (out->count == l->capacity) {
    const int64_t capacity = l->capacity > 0 ? 2 * l->capacity : 1024;
    tsi_tree_box *more = realloc(out->boxes, (size_t)capacity * sizeof *more);
    l->failed = more == NULL;
    if (l->failed) return;
    out->boxes = more;
    l->capacity = capacity;
  }
  box.x = x;
  box.y = y;
  box.width = width;
  box.height = width > 0 ? box.bytes / out->bytes / width : 0;
  out->merged += box.supernodes > 1;
  out->boxes[out->count++] = box;
}

static void hide_children(layout *l, const node *k) {
  for (int32_t c = k->child; c >= 0; c = l->nodes[c].next) l->nodes[c].hidden = true;
}

/* Places the children below y; runs of small neighbours in one chunk become one box. An only child gets
 * `waiting`. */
static void place_children(layout *l, const node *parent, double y, const tsi_tree_box *waiting) {
  double total = 0, x = parent->x;
  for (int32_t c = parent->child; c >= 0; c = l->nodes[c].next) total += l->nodes[c].subtree;
  for (int32_t c = parent->child; c >= 0;) {
    int32_t end = c;
    double width = 0, next_width;
    for (int32_t d = c; d >= 0; d = l->nodes[d].next) { /* finds the end of the run */
      next_width = parent->width * l->nodes[d].subtree / total;
      if (d != c && !(next_width < l->smallest && width < 4 * l->smallest && is_uniform(l, d) &&
                      l->chunk_of[d] == l->chunk_of[c]))
        break;
      width += next_width;
      end = d;
      if (next_width >= l->smallest || !is_uniform(l, d)) break;
    }
    if (end != c) emit(l, box_of_subtrees(l, c, end), x, y, width);
    node *first = &l->nodes[c];
    first->x = x;
    first->y = y;
    first->width = width;
    first->waiting = *waiting;
    x += width;
    c = l->nodes[end].next;
  }
}

static void place(layout *l, int64_t k) {
  node *v = &l->nodes[k];
  tsi_tree_box box = box_of(l, k);
  const tsi_tree_box none = {0};
  const double remaining = v->width > 0 ? v->subtree / l->out->bytes / v->width : 0;
  if (v->hidden) {
    hide_children(l, v);
    return;
  }
  if (v->waiting.supernodes > 0) { /* boxes above it are merged with it */
    box.supernodes += v->waiting.supernodes;
    box.columns += v->waiting.columns;
    box.bytes += v->waiting.bytes;
    box.rows = v->waiting.rows;
  }
  if (is_uniform(l, k) && v->child >= 0 && (v->width < l->smallest || remaining < l->smallest)) {
    tsi_tree_box all = box_of_subtrees(l, (int32_t)k, (int32_t)k);
    all.supernodes += v->waiting.supernodes;
    all.columns += v->waiting.columns;
    all.bytes += v->waiting.bytes;
    if (v->waiting.supernodes > 0) all.rows = v->waiting.rows;
    emit(l, all, v->x, v->y, v->width);
    hide_children(l, v);
    return;
  }
  const double height = v->width > 0 ? box.bytes / l->out->bytes / v->width : 0;
  if (height < l->smallest && v->children == 1 && box.parts == 1 && parts_of(l, v->child) == 1 &&
      l->chunk_of[v->child] == box.chunk) {
    place_children(l, v, v->y, &box);
    l->nodes[v->child].y = v->y;
    return;
  }
  emit(l, box, v->x, v->y, v->width);
  place_children(l, v, v->y + height, &none);
}

/* Makes lists of children in ascending order, the sizes of subtrees, and the total. */
static void link_nodes(layout *l, double bytes_per_entry) {
  const tristar_assembly_tree *t = l->tree;
  for (int32_t k = 0; k < t->supernodes; k++) {
    node *v = &l->nodes[k];
    v->first = k;
    v->child = v->next = -1;
    v->own = v->subtree = bytes_per_entry * tsi_supernode_entries(t, k);
  }
  for (int32_t k = 0; k < t->supernodes; k++) { /* children are complete before their parent */
    const int32_t p = t->parent[k];
    if (p < 0) {
      l->out->bytes += l->nodes[k].subtree;
      continue;
    }
    l->nodes[p].subtree += l->nodes[k].subtree;
    l->nodes[p].children++;
    if (l->nodes[k].first < l->nodes[p].first) l->nodes[p].first = l->nodes[k].first;
  }
  for (int32_t k = (int32_t)t->supernodes - 1; k >= 0; k--)
    if (t->parent[k] >= 0) {
      l->nodes[k].next = l->nodes[t->parent[k]].child;
      l->nodes[t->parent[k]].child = k;
    }
}

/* Places roots side by side, like children of a parent without bytes. */
static void place_roots(layout *l) {
  node above = {.child = -1, .width = 1};
  const tsi_tree_box none = {0};
  for (int32_t k = (int32_t)l->tree->supernodes - 1; k >= 0; k--)
    if (l->tree->parent[k] < 0) {
      l->nodes[k].next = above.child;
      above.child = k;
    }
  place_children(l, &above, 0, &none);
}

bool tsi_tree_lay_out(const tristar_assembly_tree *tree, const int32_t *chunk_of, int32_t chunks,
                      double bytes_per_entry, double smallest, tsi_tree_layout *out) {
  layout l = {.tree = tree, .chunk_of = chunk_of, .chunks = chunks, .smallest = smallest, .out = out};
  memset(out, 0, sizeof *out);
  if (tree->supernodes == 0) return true;
  l.nodes = calloc((size_t)tree->supernodes, sizeof *l.nodes);
  if (l.nodes == NULL) return false;
  link_nodes(&l, bytes_per_entry);
  place_roots(&l);
  for (int64_t k = tree->supernodes - 1; k >= 0 && !l.failed; k--) place(&l, k);
  free(l.nodes);
  if (!l.failed) return true;
  free(out->boxes);
  memset(out, 0, sizeof *out);
  return false;
}
