/* A part of a component that is being dissected: its own vertices, and its halo: their neighbours in
 * separators, which are eliminated later.
 *
 * Reads   a tsi_component, separators.
 * Writes  tsi_order_parts, which own their arrays.
 * Invariant: the neighbours of an own vertex are all in the part. */
#pragma once

#include "partition/order/core_graph.h"

/* The side of a vertex of a part that was separated. */
enum { TSI_SIDE_LEFT, TSI_SIDE_RIGHT, TSI_SIDE_SEPARATOR };

typedef struct tsi_order_part {
  struct tsi_order_part *next; /* on a list of parts, which does not own it */
  idx_t n, halo;               /* vertices: own 0 .. n-1, halo n .. n+halo-1 */
  idx_t at;                    /* its first place in the order */
  idx_t leaf;                  /* parts of so many vertices are not separated; > 0 */
  idx_t *vertex;               /* n: the numbers of the own ones in the component */
  idx_t *xadj, *adj;           /* n + 1: the neighbours of own vertices, in any order */
  idx_t *weight;               /* n: of own vertices; NULL: all are equal */
  idx_t *result; /* n, of METIS or CAMD: the sides, or the own vertices in the order of elimination */
} tsi_order_part;

/* A part without contents. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_create(tsi_env *env, idx_t n, idx_t edges, bool weighted,
                                                     tsi_order_part **out);
/* The whole component; weight (n) may be NULL. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_of_component(tsi_env *env, const tsi_component *c,
                                                           const idx_t *weight, tsi_order_part **out);
/* One side of p, whose result has the sides. at: its first place. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_take_side(tsi_env *env, const tsi_order_part *p, idx_t side,
                                                        idx_t at, tsi_order_part **out);

/* result becomes the sides of a separator by METIS. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_order_part_separate(tsi_env *env, tsi_order_part *p, int seed);
/* result becomes an order by approximate minimum degree, for which the halo counts (CAMD). Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_order_part_eliminate(tsi_env *env, tsi_order_part *p);
