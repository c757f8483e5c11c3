/* The assembly tree of a plan as a picture: layout (tree_layout.c) and SVG (tree_svg.c).
 *
 * Each supernode is a rectangle whose area is proportional to its bytes. Its children are side by side below
 * it and share its width in proportion to the bytes of their subtrees. So the picture is one rectangle
 * without gaps, and areas can be compared. The supernodes above a supernode, up to the top, are its
 * ancestors: its backward solve depends on them.
 *
 * Small supernodes are merged: invisibly small subtrees, neighbouring small subtrees, and thin links of a
 * chain; never across the border of two chunks. */
#pragma once

#include <cjson/cJSON.h>
#include <stdio.h>

#include "drivers/session/session.h"
#include "tristar_stats.h"

/* One rectangle: x, y, width and height as shares of the picture, y downwards from the roots. */
typedef struct tsi_tree_box {
  double x, y, width, height;
  int32_t chunk; /* chunk of the first panel of the lowest supernode */
  int32_t parts; /* number of chunks of a supernode that is cut; 1: not cut */
  int64_t supernodes, columns;
  int64_t rows; /* number of rows below the diagonal block of the uppermost supernode */
  double bytes;
} tsi_tree_box;

typedef struct tsi_tree_layout {
  tsi_tree_box *boxes; /* free it with free */
  int64_t count, merged;
  double bytes; /* bytes of the whole tree */
} tsi_tree_layout;

/* Returns the entries of L in supernode k: its triangle and its rectangle. */
double tsi_supernode_entries(const tristar_assembly_tree *tree, int64_t k);

/* chunk_of: for each supernode the chunk of its first panel; chunks: their number. smallest: minimum width
 * and height of boxes as a share of the picture, if merging can achieve it. Returns false if memory is short.
 */
bool tsi_tree_lay_out(const tristar_assembly_tree *tree, const int32_t *chunk_of, int32_t chunks,
                      double bytes_per_entry, double smallest, tsi_tree_layout *layout);

/* Does the same for the session's factor in a picture of this width in pixels. Boxes are visible, and few
 * enough for an SVG file. Records a failure in the session. */
bool tsi_tree_lay_out_pixels(tsi_session *s, const int32_t *chunk_of, int32_t chunks, double width,
                             tsi_tree_layout *layout);

enum { TSI_TREE_LABEL = 11 }; /* size of the letters of a label */
/* Writes a label centred at x, base line at y, if it fits in `width` pixels. halo: colour around its letters.
 */
void tsi_tree_label(FILE *file, double x, double y, double width, const char *halo, const char *text);

/* Writes the picture of the session's plan, and its boxes as JSON unless figures is NULL. */
bool tsi_tree_draw(tsi_session *s, const char *path, cJSON *figures);
