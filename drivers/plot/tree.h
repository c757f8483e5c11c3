/* The assembly tree of a plan as a picture: layout (tree_layout.c) and SVG (tree_svg.c).
 *
 * Each supernode is a rectangle whose area is proportional to its bytes; its children lie side by side below
 * it and share its width by the bytes of their subtrees. So the picture is one rectangle without gaps: areas
 * compare, and what lies above a supernode, up to the top, is what its solve depends on.
 *
 * Small supernodes are merged: a subtree too small to be seen, neighbouring small subtrees, thin links of a
 * chain; never across the border of two chunks. */
#pragma once

#include <cjson/cJSON.h>
#include <stdio.h>

#include "drivers/session/session.h"
#include "tristar_stats.h"

/* One rectangle: x, y, width and height as shares of the picture, y downwards from the roots. */
typedef struct tsi_tree_box {
  double x, y, width, height;
  int32_t chunk; /* of the first panel of the lowest supernode */
  int32_t parts; /* chunks that one supernode is cut into; 1: it lies in one */
  int64_t supernodes, columns;
  int64_t rows; /* below the diagonal block of the uppermost supernode */
  double bytes;
} tsi_tree_box;

typedef struct tsi_tree_layout {
  tsi_tree_box *boxes; /* to be freed with free */
  int64_t count, merged;
  double bytes; /* of the whole tree */
} tsi_tree_layout;

/* Entries of L in supernode k: its triangle and its rectangle. */
double tsi_supernode_entries(const tristar_assembly_tree *tree, int64_t k);

/* chunk_of: for each supernode the chunk of its first panel; chunks: how many there are. smallest: boxes are
 * not narrower or lower than this share of the picture, as far as merging helps. Fails without memory. */
bool tsi_tree_lay_out(const tristar_assembly_tree *tree, const int32_t *chunk_of, int32_t chunks,
                      double bytes_per_entry, double smallest, tsi_tree_layout *layout);

/* The same of the session's factor in a picture so many pixels wide, in boxes that can be seen, few enough
 * for a file of an SVG. Notes a failure in the session. */
bool tsi_tree_lay_out_pixels(tsi_session *s, const int32_t *chunk_of, int32_t chunks, double width,
                             tsi_tree_layout *layout);

enum { TSI_TREE_LABEL = 11 }; /* size of the letters of a label */
/* Writes a label around (x, y), base line at y, if it is not wider than the pixels of its box. halo: the
 * colour around its letters. */
void tsi_tree_label(FILE *file, double x, double y, double width, const char *halo, const char *text);

/* Writes the picture of the session's plan; its boxes too, as JSON, unless figures is NULL. */
bool tsi_tree_draw(tsi_session *s, const char *path, cJSON *figures);
