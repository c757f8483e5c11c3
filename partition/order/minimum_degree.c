/* Minimum degree on sets of bits: see minimum_degree.h. */
#include "partition/order/minimum_degree.h"

static tsi_index degree(uint64_t set) {
  return (tsi_index)__builtin_popcountll(set);
}
static tsi_index first_of(uint64_t set) {
  return (tsi_index)__builtin_ctzll(set);
}

void tsi_minimum_degree(tsi_index n, uint64_t *near, tsi_index *order) {
  uint64_t left = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index v = first_of(left);
    for (uint64_t rest = left & (left - 1); rest != 0; rest &= rest - 1)
      if (degree(near[first_of(rest)]) < degree(near[v])) v = first_of(rest);
    order[k] = v;
    left &= ~((uint64_t)1 << v);
    for (uint64_t rest = near[v]; rest != 0; rest &= rest - 1) {
      const tsi_index u = first_of(rest);
      near[u] = (near[u] | near[v]) & ~((uint64_t)1 << u) & ~((uint64_t)1 << v);
    }
  }
}
