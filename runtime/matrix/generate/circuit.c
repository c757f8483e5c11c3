/* Nodal analysis of a linear circuit of K nodes, G v = i.
 *
 * The nodes are arranged in rows of s = floor(sqrt(K)), as on a chip. The hash chooses all components:
 *   - each node has a conductance to ground, 10^-3
 *   - wires to the node on the right (3 in 4 nodes) and below (3 in 4), conductance 1 to 2
 *   - devices to a node within two rows or columns (1 in 2), conductance 10^-3 to 10^-2
 *   - one node in eight is connected to a supply rail: one of H = max(1, min(64, K / 64)) hub nodes, hub r
 *     with a probability of about 1 / r: degrees follow a power law
 *   - every third node has a source of current gm (v_c - v_d), controlled by the voltage between two nodes
 *     nearby, gm = 0.1 to 0.2, with an output conductance of 2 gm
 *
 * K unknowns. The sources make pattern and values unsymmetric (from K = 6 on). Rows are strictly diagonally
 * dominant: nonsingular, and LU needs no pivoting. */
#include "runtime/matrix/generate/generate.h"
#include "runtime/matrix/triplets.h"

typedef struct circuit {
  tsi_triplets *triplets;
  tsi_index nodes, side, hubs;
} circuit;

/* Random number `use` of a node. */
static uint64_t draw(tsi_index node, unsigned use) {
  return tsi_hash((uint64_t)node * 16 + use);
}

static double draw_between(tsi_index node, unsigned use, double low, double high) {
  return low + (high - low) * tsi_hash_unit((uint64_t)node * 16 + use);
}

static tristar_status add(circuit *c, tsi_index i, tsi_index j, double value) {
  return tsi_triplets_push(c->triplets, i, j, &value);
}

static tristar_status add_resistor(circuit *c, tsi_index a, tsi_index b, double conductance) {
  if (b >= c->nodes || a == b) return TRISTAR_OK;
  TSI_TRY(add(c, a, a, conductance));
  TSI_TRY(add(c, b, b, conductance));
  TSI_TRY(add(c, a, b, -conductance));
  return add(c, b, a, -conductance);
}

/* A node up to two rows further and up to two columns to either side; c->nodes: there is none. */
static tsi_index node_nearby(const circuit *c, tsi_index node, uint64_t choice) {
  int64_t to = (int64_t)node + (int64_t)(choice % 3) * c->side + (int64_t)(choice / 3 % 5) - 2;
  return to < 0 || to >= c->nodes ? c->nodes : (tsi_index)to;
}

/* Chooses an octave of hubs, all with the same probability, then a hub of the octave: hub r has probability ~
 * 1 / r. */
static tsi_index choose_hub(const circuit *c, uint64_t choice) {
  unsigned octaves = 0;
  while ((tsi_index)2 << octaves <= c->hubs) octaves++;
  tsi_index low = (tsi_index)1 << (choice % (octaves + 1));
  tsi_index width = tsi_index_min(low, c->hubs + 1 - low);
  tsi_index rank = low + (tsi_index)(choice / (octaves + 1) % (uint64_t)width);
  return (tsi_index)((int64_t)(rank - 1) * c->nodes / c->hubs); /* hubs are spread evenly */
}

static tristar_status add_source(circuit *c, tsi_index node) {
  tsi_index plus = node_nearby(c, node, draw(node, 9)), minus = node_nearby(c, node, draw(node, 10));
  double gm = draw_between(node, 11, 0.1, 0.2);
  if (plus == minus) return TRISTAR_OK;
  TSI_TRY(add(c, node, node, 2 * gm));
  if (plus < c->nodes) TSI_TRY(add(c, node, plus, gm));
  if (minus < c->nodes) TSI_TRY(add(c, node, minus, -gm));
  return TRISTAR_OK;
}

static tristar_status add_node(circuit *c, tsi_index node) {
  TSI_TRY(add(c, node, node, 0.001));
  if (draw(node, 0) % 4 != 0 && (node + 1) % c->side != 0)
    TSI_TRY(add_resistor(c, node, node + 1, draw_between(node, 1, 1, 2)));
  if (draw(node, 2) % 4 != 0 && node < c->nodes - c->side)
    TSI_TRY(add_resistor(c, node, node + c->side, draw_between(node, 3, 1, 2)));
  if (draw(node, 4) % 2 == 0)
    TSI_TRY(add_resistor(c, node, node_nearby(c, node, draw(node, 5)), draw_between(node, 6, 0.001, 0.01)));
  if (draw(node, 7) % 8 == 0)
    TSI_TRY(add_resistor(c, node, choose_hub(c, draw(node, 8)), draw_between(node, 12, 1, 2)));
  if (node % 3 == 2) TSI_TRY(add_source(c, node));
  return TRISTAR_OK;
}

tristar_status tsi_generate_circuit(tsi_env *env, int64_t k, tsi_matrix_part *part,
                                    tristar_matrix_t **matrix) {
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets triplets = {.env = env};
  circuit c = {.triplets = &triplets, .nodes = (tsi_index)k, .side = 1};
  *matrix = NULL;
  TSI_TRY(tsi_generate_refuse_part(env, part));
  while ((int64_t)(c.side + 1) * (c.side + 1) <= k) c.side++;
  c.hubs = tsi_index_max(1, tsi_index_min(64, c.nodes / 64));
  tsi_triplets_init(&triplets, env, c.nodes, c.nodes, TRISTAR_GENERAL, 1, 0);
  for (tsi_index node = 0; node < c.nodes; node++) TSI_TRY(add_node(&c, node));
  return tsi_triplets_finish(&triplets, matrix);
}
