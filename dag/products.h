/* The partitioned inverse of a triangular factor F as sparse products, one for each level of the assembly
 * tree (Alvarado, Pothen, Schreiber 1993; as a solver: Yamazaki, Rajamanickam, Ellingwood, ICPP 2020).
 *
 * Panels of the same level do not update each other. T is the inverse of their diagonal blocks, R the rows
 * below these blocks. A level takes two products for F x = b, and one for F' x = y. t, x and y are arrays of
 * n rows:
 *
 *   forward, levels up      x_i = sum T_ij t_j             rows i of the level (t is b at first)
 *                           t_i -= sum (R T)_ij t_j        rows i below
 *   backward, levels down   x_i = sum T'_ij y_j - sum (R T)'_ij x_j
 *
 * All rows of a product may be computed at the same time: a product reads no row that it writes. The products
 * of one direction are one matrix by compressed rows; its columns and values are computed elsewhere. It has
 * as many entries as F stores.
 *
 * Forward, a level first has the columns of its panels, ascending; these rows are set. Then follow the rows
 * below any of its panels, ascending; the product is added to these. The entries of such a row are the
 * entries in the first panel that contains it, then in the next one. Backward, a level has the columns of its
 * panels.
 *
 * Blocks cut the rows of a product into consecutive pieces of about `block_bytes`.
 *
 * Reads   tsi_symbolic, tsi_panels.
 * Writes  a tsi_products that owns its arrays and is immutable afterwards.
 * Invariants (tsi_products_check)
 *   - exactly one row of the products sets each column; no row below is a column of its level or of an
 *     earlier stage
 *   - no row is written twice in a level
 *   - blocks cut all rows in order, none is empty; stage l has the blocks block_ptr[l] .. block_ptr[l+1]-1 */
#pragma once

#include "dag/levels.h"
#include "partition/cut/panels.h"

typedef struct tsi_row_block {
  tsi_count first, end;
  bool add; /* true: the block adds to its rows; false: it sets them. */
} tsi_row_block;

typedef struct tsi_products {
  bool backward;
  tsi_count rows;
  tsi_index *row; /* rows: the row of the vectors that each row of the product computes */
  tsi_count *ptr; /* rows + 1: first entry of each row */
  tsi_index blocks;
  tsi_row_block *block;
  tsi_index stages;     /* levels, in the order of the direction */
  tsi_index *block_ptr; /* stages + 1 */
} tsi_products;

/* Levels of the panels: a panel waits for each panel that has its first row below in the columns of this one.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_panel_levels(tsi_env *env, const tsi_symbolic *symbolic,
                                                const tsi_panels *panels, tsi_levels **out);

/* entry_bytes: bytes of an entry, with its column number. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_products_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                   const tsi_panels *panels, const tsi_levels *levels,
                                                   bool backward, size_t entry_bytes, double block_bytes,
                                                   tsi_products **out);
TRISTAR_CHECKED tristar_status tsi_products_check(tsi_env *env, const tsi_products *products,
                                                  const tsi_symbolic *symbolic);

/* Row i of the rows of panel p below its diagonal block, i < height(p), in the final ordering. */
static inline tsi_index tsi_panel_row(const tsi_symbolic *symbolic, const tsi_panels *panels, tsi_index p,
                                      tsi_index i) {
  const tsi_index s = panels->supernode[p], inside = symbolic->start[s + 1] - panels->start[p + 1];
  return i < inside ? panels->start[p + 1] + i : symbolic->rows[symbolic->row_ptr[s] + i - inside];
}
/* The level of stage q. */
static inline tsi_index tsi_product_level(const tsi_products *products, tsi_index stage) {
  return products->backward ? products->stages - 1 - stage : stage;
}
