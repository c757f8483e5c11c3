/* The steps of a solve by products (products.h), and their level sets.
 *
 * The order is: READ b, the forward products stage by stage, DIAGONAL if source.diagonal is set, the backward
 * products, WRITE x. A level contains steps that may run at the same time: the chunks, or the blocks of a
 * stage. There are no edges, as barriers between levels replace them.
 *
 * Reads   chunks, the products of both directions.
 * Writes  a tsi_steps and a tsi_levels that own their arrays.
 * Invariant (tsi_product_steps_check): if two steps touch the same rows and one of them writes, the later one
 * has a higher level. */
#pragma once

#include "dag/products.h"
#include "dag/steps.h"

typedef struct tsi_product_steps_source {
  const tsi_chunks *chunks;
  const tsi_products *products[2]; /* forward, backward */
  size_t scalar_bytes;
  bool diagonal; /* Whether DIAGONAL runs between the sweeps. */
} tsi_product_steps_source;

/* Bytes of the entries of block b and of their column numbers. */
double tsi_product_block_bytes(const tsi_product_steps_source *source, bool backward, tsi_index b);

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_product_steps_create(tsi_env *env, const tsi_product_steps_source *source,
                                                        tsi_steps **steps, tsi_levels **levels);
/* Lists what the steps read and write. As a simplification, a block reads all rows that its stage reads. Rows
 * count before the interchanges, which permute rows inside a panel and are the same for all blocks of the
 * panel. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_product_steps_list_accesses(tsi_env *env, const tsi_steps *steps,
                                                               const tsi_product_steps_source *source,
                                                               tsi_access_list **out);
TRISTAR_CHECKED tristar_status tsi_product_steps_check(tsi_env *env, const tsi_steps *steps,
                                                       const tsi_levels *levels,
                                                       const tsi_product_steps_source *source);

/* Adds the accesses of READ and WRITE: rows of a chunk of b or x, and its rows of T. Block cuts have these
 * steps, too (runtime/solve/block_plan.h). in_place: x may be b. */
void tsi_access_add_move(const tsi_chunks *chunks, const tsi_step *step, bool in_place,
                         tsi_access_lister *lister);
