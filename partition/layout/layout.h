/* Layouts: the owner of each piece of the factors, for Px x Py x Pz processes.
 *
 * Words. Rank p + Px (q + Py z) is process (p, q) of grid z. The top separator tree (ordering.h) has Pz
 * leaves. 2^l grids share a node of level l, counted from the leaves; the lowest of them is its home. The
 * nodes of a grid are its leaf and the ancestors of this leaf.
 *
 * Chunks are intervals of panels inside one node. A chunk has an anchor in every grid that has it: the
 * process that solves with its diagonal blocks. There are two kinds:
 *
 *   whole      all its rows are on the anchor
 *   spread     one panel; the rows that are columns of chunk I are on process (row[I], column[K]), where K is
 *              this chunk: the panel is cut into blocks, the 2D block-cyclic layout of dense factorizations
 *
 * Two maps choose them:
 *
 *   subtree    subtrees of supernodes, cut until they balance, are whole on one process of the grid of their
 *              leaf. Their ancestors are spread, chunk t to row t mod Px and column (t + t / lcm(Px, Py)) mod
 *              Py: neighbours are in different columns, and the processes are anchors in turn. t counts from
 *              the root's last chunk down: a node continues where its parent ended
 *   cyclic     every panel is spread, chunk c to row c mod Px and column c mod Py (Liu, Ding, Williams, Li,
 *              "Unified communication optimization strategies for sparse triangular solver on CPU and GPU
 *              clusters", SC 2023)
 *
 * In a grid of one process the leaf is whole. Copies of the factor: if `replicated`, all grids that share a
 * node have its panels (the algorithm of SC 2023); otherwise only its home does (Sao, Kannan, Li, Vuduc, "A
 * communication-avoiding 3D sparse triangular solver", ICS 2019).
 *
 * Reads   tsi_symbolic with a separator tree of Pz leaves or more, tsi_panels.
 * Writes  a tsi_layout that owns its arrays and is immutable afterwards. It depends on its arguments alone,
 * so all processes compute the same one.
 * Invariants (tsi_layout_check)
 *   - 0 <= row[c] < px, 0 <= column[c] < py; a spread chunk is one panel
 *   - all columns of a chunk are in node[c]; the rows of a chunk are in node[c] or its ancestors
 *   - the rows of a whole chunk are in whole chunks of the same anchor or in spread chunks; the rows of a
 *     spread chunk are in spread chunks
 *   - bytes[c] > 0 */
#pragma once

#include "partition/cut/chunks.h"

typedef enum tsi_map { TSI_MAP_SUBTREE, TSI_MAP_CYCLIC } tsi_map;

typedef struct tsi_layout_options {
  tsi_index px, py, pz; /* pz must be a power of two. */
  tsi_map map : 8;
  bool replicated;
  double floor_bytes, ceiling_bytes, slice_bytes; /* For whole chunks, as in chunks.h. */
  double panel_bytes;                             /* As in chunks.h. */
  double wait_bytes; /* Priorities count this for a step, and for each panel of it, besides the bytes. */
  size_t scalar_bytes;
  const tsi_index *device; /* supernodes: as in chunks.h, for subtrees that are whole on a process, which has
                              the device; NULL: none */
} tsi_layout_options;

typedef struct tsi_layout {
  tsi_index px, py, pz;
  tsi_index levels; /* Levels of the separator tree above its leaves: log2 pz. */
  tsi_map map;
  bool replicated;
  tsi_chunks *chunks;      /* Spread chunks have no slices: the holders of their rows cut them. */
  tsi_index *node;         /* chunks: its node in the separator tree with pz leaves */
  tsi_index *row, *column; /* chunks: process coordinates of the anchor */
  bool *whole;             /* chunks */
  double *bytes;           /* chunks: bytes of the factor, in one direction */
  double wait_bytes;       /* As in the options. */
} tsi_layout;

/* Errors: ARGUMENT (pz is no power of two, or there are too few leaves: the message has their number),
 * MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_layout_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                 const tsi_panels *panels, const tsi_layout_options *options,
                                                 tsi_layout **out);
TRISTAR_CHECKED tristar_status tsi_layout_check(tsi_env *env, const tsi_layout *layout,
                                                const tsi_symbolic *symbolic, const tsi_panels *panels);

static inline tsi_index tsi_layout_ranks(const tsi_layout *layout) {
  return layout->px * layout->py * layout->pz;
}
static inline tsi_index tsi_layout_rank(const tsi_layout *layout, tsi_index p, tsi_index q, tsi_index z) {
  return p + layout->px * (q + layout->py * z);
}
/* A part of a layout, for a process that sends panels of spread chunks to others. number: for each panel its
 * number in the part, or TSI_NONE; the part has `panels` of them, in the same order. The part has the
 * columns, the kind and the anchor of every chunk; if a spread chunk has its panel in the part, also its
 * rows; no slices and local rows. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_layout_part_create(tsi_env *env, const tsi_layout *layout,
                                                      const tsi_index *number, tsi_index panels,
                                                      tsi_layout **out);
/* Frees all rows of the chunks: for a process that has made its share, and only uses whole chunks. */
void tsi_layout_discard_rows(tsi_env *env, tsi_layout *layout);
static inline bool tsi_layout_has_rows(const tsi_layout *layout) {
  return layout->chunks->panel_row != NULL;
}

/* The anchor of chunk c in grid z. */
static inline tsi_index tsi_layout_anchor(const tsi_layout *layout, tsi_index c, tsi_index z) {
  return tsi_layout_rank(layout, layout->row[c], layout->column[c], z);
}
/* The level of a node of a separator tree with `leaves` leaves: 0 for a leaf. */
tsi_index tsi_separator_level(tsi_index leaves, tsi_index node);
/* The lowest of the grids that share a node. */
tsi_index tsi_layout_home(const tsi_layout *layout, tsi_index node);
/* Is the node the leaf of grid z, or an ancestor of this leaf? */
bool tsi_layout_has(const tsi_layout *layout, tsi_index z, tsi_index node);
/* Does grid z have the panels of chunks of this node? */
bool tsi_layout_holds(const tsi_layout *layout, tsi_index z, tsi_index node);
