/* A part of a component during nested dissection: its own vertices and its halo, their neighbours in
 * separators, which are eliminated later.
 *
 * Reads   a tsi_component, separators.
 * Writes  tsi_order_parts, which own their arrays.
 * Invariant: the neighbours of an own vertex are all in the part. */
#pragma once

#include "partition/order/core_graph.h"

/* The side of a vertex after the separation of its part. */
enum { TSI_SIDE_LEFT, TSI_SIDE_RIGHT, TSI_SIDE_SEPARATOR };

typedef struct tsi_order_part {
  struct tsi_order_part *next; /* Next part in a list; the list does not own its parts. */
  idx_t n, halo;               /* vertices: own 0 .. n-1, halo n .. n+halo-1 */
  idx_t at;                    /* Position of its first vertex in the order. */
  idx_t leaf;                  /* Parts with at most this number of vertices are not separated; > 0. */
  idx_t *vertex;               /* n: number of each own vertex in the component */
  idx_t *xadj, *adj;           /* n + 1: the neighbours of own vertices, in any order */
  idx_t *weight;               /* n: weights of own vertices; NULL: all are equal */
  idx_t *result; /* n, written by METIS or CAMD: the sides, or the own vertices in the order of elimination */
} tsi_order_part;

/* A part whose arrays are not filled. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_create(tsi_env *env, idx_t n, idx_t edges, bool weighted,
                                                     tsi_order_part **out);
/* The whole component; weight (n) may be NULL. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_of_component(tsi_env *env, const tsi_component *c,
                                                           const idx_t *weight, tsi_order_part **out);
/* One side of p, whose result must be its sides. at: position of its first vertex in the order. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_order_part_take_side(tsi_env *env, const tsi_order_part *p, idx_t side,
                                                        idx_t at, tsi_order_part **out);

/* Sets result to the sides of a separator by METIS. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_order_part_separate(tsi_env *env, tsi_order_part *p, int seed);
/* Sets result to an order by approximate minimum degree that includes the halo (CAMD). Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_order_part_eliminate(tsi_env *env, tsi_order_part *p);
