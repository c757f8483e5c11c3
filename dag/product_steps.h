/* The steps of a solve by products (products.h), and their level sets.
 *
 * READ b, the forward products stage by stage, DIAGONAL if there is something to do between the sweeps, the
 * backward products, WRITE x. A level is all that may run at the same time: the chunks, or the blocks of a
 * stage. There are no edges, as barriers between levels replace them.
 *
 * Reads   chunks, the products of both directions.
 * Writes  a tsi_steps and a tsi_levels that own their arrays.
 * Invariant (tsi_product_steps_check): of two steps that touch the same rows, one of them writing, the later
 * one is of a higher level. */
#pragma once

#include "dag/products.h"
#include "dag/steps.h"

typedef struct tsi_product_steps_source {
  const tsi_chunks *chunks;
  const tsi_products *products[2]; /* forward, backward */
  size_t scalar_bytes;
  bool diagonal; /* DIAGONAL runs */
} tsi_product_steps_source;

/* Bytes of block b's entries and their columns. */
double tsi_product_block_bytes(const tsi_product_steps_source *source, bool backward, tsi_index b);

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_product_steps_create(tsi_env *env, const tsi_product_steps_source *source,
                                                        tsi_steps **steps, tsi_levels **levels);
/* What the steps read and write. Blocks are said to read all rows that their stage reads. Rows are those
 * before the interchanges, which permute rows inside of a panel and are the same for all its blocks. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_product_steps_list_accesses(tsi_env *env, const tsi_steps *steps,
                                                               const tsi_product_steps_source *source,
                                                               tsi_access_list **out);
TRISTAR_CHECKED tristar_status tsi_product_steps_check(tsi_env *env, const tsi_steps *steps,
                                                       const tsi_levels *levels,
                                                       const tsi_product_steps_source *source);

/* Of READ and WRITE, which block cuts have too (runtime/solve/block_plan.h): what they move between a chunk
 * of b or x and its rows of T. in_place: x may be b. */
void tsi_access_add_move(const tsi_chunks *chunks, const tsi_step *step, bool in_place,
                         tsi_access_lister *lister);
