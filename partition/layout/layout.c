/* Chooses chunks and their owners: see layout.h. */
#include "partition/layout/layout.h"

#include "partition/order/ordering.h"
#include "partition/cut/subtrees.h"

tsi_index tsi_separator_level(tsi_index leaves, tsi_index node) {
  tsi_index level = 0;
  for (tsi_index first = 0, count = leaves; node >= first + count; count /= 2, level++) first += count;
  return level;
}

/* Position of a node in its level, from the left. */
static tsi_index place_in_level(tsi_index leaves, tsi_index node) {
  tsi_index count = leaves;
  for (; node >= count; count /= 2) node -= count;
  return node;
}

tsi_index tsi_layout_home(const tsi_layout *layout, tsi_index node) {
  return place_in_level(layout->pz, node) << tsi_separator_level(layout->pz, node);
}

bool tsi_layout_has(const tsi_layout *layout, tsi_index z, tsi_index node) {
  const tsi_index home = tsi_layout_home(layout, node);
  return z >= home && z < home + (1 << tsi_separator_level(layout->pz, node));
}

bool tsi_layout_holds(const tsi_layout *layout, tsi_index z, tsi_index node) {
  return layout->replicated ? tsi_layout_has(layout, z, node) : z == tsi_layout_home(layout, node);
}

/* The node of a tree with `pz` leaves that contains a node of a tree with `leaves` >= pz leaves. */
static tsi_index coarser_node(tsi_index leaves, tsi_index pz, tsi_index node) {
  tsi_index below = 0; /* levels that the coarser tree lacks */
  while ((pz << below) < leaves) below++;
  tsi_index level = tsi_separator_level(leaves, node), place = place_in_level(leaves, node);
  for (; level < below; level++) place /= 2;
  tsi_index first = 0;
  for (tsi_index count = pz; level > below; level--, count /= 2) first += count;
  return first + place;
}

static tristar_status check_options(tsi_env *env, const tsi_symbolic *symbolic,
                                    const tsi_layout_options *options) {
  const tsi_index pz = options->pz;
  tsi_count ranks;
  if (options->px < 1 || options->py < 1 || pz < 1 || (pz & (pz - 1)) != 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "layout %dx%dx%d: all three must be at least 1, and the last one a power of two", options->px,
             options->py, pz);
  if (!tsi_count_mul((tsi_count)options->px * options->py, pz, &ranks) || ranks > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "layout %dx%dx%d has too many processes", options->px, options->py,
             pz);
  if (pz > symbolic->leaf_parts)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "layout %dx%dx%d: the separator tree of the analysis has %d leaves (leaf_parts), not %d",
             options->px, options->py, pz, symbolic->leaf_parts, pz);
  return TRISTAR_OK;
}

/* node[s] for every supernode. */
static void find_nodes(const tsi_symbolic *symbolic, tsi_index pz, tsi_index *node) {
  for (tsi_index s = 0; s < symbolic->count; s++)
    node[s] = symbolic->part && pz > 1 ? coarser_node(symbolic->leaf_parts, pz, symbolic->part[s]) : 0;
}

/* label[s]: the process of its grid that has supernode s whole, combined with its leaf; TSI_NONE: it is
 * spread. */
static tristar_status label_supernodes(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                       const tsi_layout_options *options, const tsi_index *node,
                                       tsi_index *label) {
  const tsi_index grid = options->px * options->py;
  for (tsi_index s = 0; s < symbolic->count; s++)
    label[s] = node[s] < options->pz && grid == 1 ? node[s] : TSI_NONE;
  if (grid == 1 || options->map == TSI_MAP_CYCLIC) return TRISTAR_OK;
  return tsi_assign_subtrees(env, symbolic, panels, options->pz, node, grid,
                             options->floor_bytes / (double)options->scalar_bytes, label);
}

static tsi_index common_multiple(tsi_index a, tsi_index b) {
  tsi_index x = a, y = b;
  while (y > 0) {
    const tsi_index rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

/* next[t], for each node: the number of spread chunks of the node and its ancestors. */
static void number_chunks(const tsi_layout *layout, const tsi_panels *panels, const tsi_index *node,
                          const tsi_index *label, tsi_index *next) {
  const tsi_index nodes = 2 * layout->pz - 1;
  for (tsi_index t = 0; t < nodes; t++) next[t] = 0;
  for (tsi_index c = 0; c < layout->chunks->count; c++) {
    const tsi_index s = panels->supernode[layout->chunks->panel[c]];
    if (label[s] == TSI_NONE) next[node[s]]++;
  }
  for (tsi_index t = nodes - 1; t-- > 0;) next[t] += next[tsi_separator_parent(layout->pz, t)];
}

/* next: scratch for each node. */
static void place_chunks(tsi_layout *layout, const tsi_panels *panels, const tsi_index *node,
                         const tsi_index *label, tsi_index *next) {
  const tsi_chunks *chunks = layout->chunks;
  const tsi_index period = common_multiple(layout->px, layout->py);
  number_chunks(layout, panels, node, label, next);
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index s = panels->supernode[chunks->panel[c]];
    layout->node[c] = node[s];
    layout->whole[c] = label[s] != TSI_NONE;
    if (layout->whole[c]) {
      const tsi_index process = label[s] % (layout->px * layout->py);
      layout->row[c] = process % layout->px;
      layout->column[c] = process / layout->px;
    } else if (layout->map == TSI_MAP_CYCLIC) {
      layout->row[c] = c % layout->px;
      layout->column[c] = c % layout->py;
    } else {
      const tsi_index t = --next[node[s]];
      layout->row[c] = t % layout->px;
      layout->column[c] = (t + t / period) % layout->py;
    }
  }
}

static void weigh(tsi_layout *layout, const tsi_panels *panels, size_t scalar_bytes) {
  const tsi_chunks *chunks = layout->chunks;
  for (tsi_index c = 0; c < chunks->count; c++) {
    tsi_count entries = 0;
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
      entries += tsi_panel_entries(panels, p);
    layout->bytes[c] = (double)entries * (double)scalar_bytes;
  }
}

static tristar_status allocate(tsi_layout *layout) {
  const tsi_index count = layout->chunks->count;
  TSI_TRY(TSI_ALLOC_IN(layout, layout->node, count));
  TSI_TRY(TSI_ALLOC_IN(layout, layout->row, count));
  TSI_TRY(TSI_ALLOC_IN(layout, layout->column, count));
  TSI_TRY(TSI_ALLOC_IN(layout, layout->whole, count));
  return TSI_ALLOC_IN(layout, layout->bytes, count);
}

tristar_status tsi_layout_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                 const tsi_layout_options *options, tsi_layout **out) {
  const tsi_side side = {symbolic, panels};
  *out = NULL;
  TSI_TRY(check_options(env, symbolic, options));
  TSI_SCRATCH_ZERO(env, tsi_layout, layout, 1);
  layout->px = options->px;
  layout->py = options->py;
  layout->pz = options->pz;
  layout->levels = tsi_separator_level(options->pz, 2 * options->pz - 2);
  layout->map = options->map;
  layout->replicated = options->replicated;
  layout->wait_bytes = options->wait_bytes;
  TSI_SCRATCH(env, tsi_index, node, symbolic->count);
  TSI_SCRATCH(env, tsi_index, label, symbolic->count);
  TSI_SCRATCH(env, tsi_index, next, 2 * (tsi_count)options->pz - 1);
  find_nodes(symbolic, options->pz, node);
  TSI_TRY(label_supernodes(env, symbolic, panels, options, node, label));
  const tsi_chunk_options chunk_options = {.floor_bytes = options->floor_bytes,
                                           .ceiling_bytes = options->ceiling_bytes,
                                           .panel_bytes = options->panel_bytes,
                                           .slice_bytes = options->slice_bytes,
                                           .scalar_bytes = options->scalar_bytes,
                                           .label = label,
                                           .device = options->device};
  TSI_TRY(tsi_chunks_create(env, 1, &side, &chunk_options, &layout->chunks));
  tsi_own(layout, layout->chunks);
  TSI_TRY(allocate(layout));
  place_chunks(layout, panels, node, label, next);
  weigh(layout, panels, options->scalar_bytes);
  if (env->check) TSI_TRY(tsi_layout_check(env, layout, symbolic, panels));
  *out = tsi_take(&layout);
  return TRISTAR_OK;
}

static tristar_status check_rows(tsi_env *env, const tsi_layout *layout, const tsi_index *owner,
                                 tsi_index c) {
  const tsi_chunks *chunks = layout->chunks;
  for (tsi_count q = chunks->off_ptr[c]; q < chunks->off_ptr[c + 1]; q++) {
    const tsi_index to = owner[chunks->off[q]];
    tsi_index node = layout->node[c];
    while (node != TSI_NONE && node != layout->node[to]) node = tsi_separator_parent(layout->pz, node);
    if (node == TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d of node %d has a row in chunk %d of node %d", c,
               layout->node[c], to, layout->node[to]);
    if (layout->whole[to] &&
        (!layout->whole[c] || layout->row[to] != layout->row[c] || layout->column[to] != layout->column[c]))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d has a row in chunk %d, which is whole elsewhere", c, to);
  }
  return TRISTAR_OK;
}

tristar_status tsi_layout_check(tsi_env *env, const tsi_layout *layout, const tsi_symbolic *symbolic,
                                const tsi_panels *panels) {
  const tsi_chunks *chunks = layout->chunks;
  TSI_SCRATCH(env, tsi_index, owner, symbolic->n);
  tsi_chunk_owners(chunks, owner);
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (layout->row[c] < 0 || layout->row[c] >= layout->px || layout->column[c] < 0 ||
        layout->column[c] >= layout->py || !(layout->bytes[c] > 0))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is on process (%d, %d) of a grid of %dx%d, %g bytes", c,
               layout->row[c], layout->column[c], layout->px, layout->py, layout->bytes[c]);
    if (!layout->whole[c] &&
        (chunks->panel[c + 1] != chunks->panel[c] + 1 || tsi_chunk_slices(chunks, c) > 0))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is spread and has panels %d to %d, %d slices", c,
               chunks->panel[c], chunks->panel[c + 1] - 1, tsi_chunk_slices(chunks, c));
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1] && symbolic->part && layout->pz > 1; p++)
      if (coarser_node(symbolic->leaf_parts, layout->pz, symbolic->part[panels->supernode[p]]) !=
          layout->node[c])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d of node %d has panel %d of another node", c,
                 layout->node[c], p);
    TSI_TRY(check_rows(env, layout, owner, c));
  }
  return TRISTAR_OK;
}
