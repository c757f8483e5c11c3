/* See minimum_degree.h. */
#include "partition/order/minimum_degree.h"

#include <amd.h>

/* ---- Exact degrees ------------------------------------------------------------------------------------- */

/* Sets of vertices are the bits of a word, so a step takes a few instructions for each vertex: 50 times less
 * than nested dissection. */

static tsi_index members_of(uint64_t set) {
  return (tsi_index)__builtin_popcountll(set);
}
static tsi_index first_of(uint64_t set) {
  return (tsi_index)__builtin_ctzll(set);
}

/* near[v]: bit u is set if u is a neighbour of v; bit v is not set; symmetric. It is overwritten. order[k]:
 * the vertex eliminated as number k. */
static void eliminate(tsi_index n, uint64_t *near, idx_t *order, tsi_fill *fill) {
  uint64_t left = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index v = first_of(left);
    for (uint64_t rest = left & (left - 1); rest != 0; rest &= rest - 1)
      if (members_of(near[first_of(rest)]) < members_of(near[v])) v = first_of(rest);
    order[k] = v;
    left &= ~((uint64_t)1 << v);
    tsi_fill_add_column(fill, members_of(near[v]) + 1);
    for (uint64_t rest = near[v]; rest != 0; rest &= rest - 1) {
      const tsi_index u = first_of(rest);
      near[u] = (near[u] | near[v]) & ~((uint64_t)1 << u) & ~((uint64_t)1 << v);
    }
  }
}

void tsi_minimum_degree(const tsi_component *c, tsi_fill *fill) {
  uint64_t near[TSI_MINIMUM_DEGREE_VERTICES];
  for (idx_t v = 0; v < c->n; v++) {
    near[v] = 0;
    for (idx_t p = c->xadj[v]; p < c->xadj[v + 1]; p++) near[v] |= (uint64_t)1 << c->adj[p];
  }
  eliminate((tsi_index)c->n, near, c->perm, fill);
}

/* ---- Approximate degrees ------------------------------------------------------------------------------- */

/* AMD with METIS's integers. */
#if IDXTYPEWIDTH == 32
#define AMD_ORDER amd_2
#define AMD_INTEGER_MAX INT32_MAX
#else
#define AMD_ORDER amd_l2
#define AMD_INTEGER_MAX INT64_MAX
#endif

/* The parts of AMD's workspace, n integers each. */
enum { STARTS, LENGTHS, PIVOTS, NEXT, HEADS, ELEMENTS, DEGREES, WORK, PARTS };

tristar_status tsi_approximate_minimum_degree(tsi_env *env, const tsi_component *c, tsi_fill *fill) {
  const idx_t n = c->n;
  const int64_t edges = c->xadj[n];
  int64_t space = edges + edges / 5 + n; /* a fifth more than needed, as AMD advises */
  double control[AMD_CONTROL], info[AMD_INFO];
  if (edges + n > AMD_INTEGER_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "AMD cannot count %lld edges of %lld vertices with its integers",
             (long long)edges, (long long)n);
  if (space > AMD_INTEGER_MAX) space = AMD_INTEGER_MAX;
  TSI_SCRATCH(env, idx_t, neighbours, space);
  TSI_SCRATCH(env, idx_t, work, (tsi_count)PARTS * n);
  memcpy(neighbours, c->adj, (size_t)edges * sizeof *neighbours);
  for (idx_t v = 0; v < n; v++) {
    work[STARTS * (size_t)n + (size_t)v] = c->xadj[v];
    work[LENGTHS * (size_t)n + (size_t)v] = c->xadj[v + 1] - c->xadj[v];
  }
  amd_defaults(control);
  AMD_ORDER(n, work + STARTS * (size_t)n, neighbours, work + LENGTHS * (size_t)n, (idx_t)space, (idx_t)edges,
            work + PIVOTS * (size_t)n, work + NEXT * (size_t)n, c->perm, work + HEADS * (size_t)n,
            work + ELEMENTS * (size_t)n, work + DEGREES * (size_t)n, work + WORK * (size_t)n, control, info);
  /* a column with d entries below the diagonal: (d + 1)^2 = d (d + 1) + d + 1 */
  fill->entries += info[AMD_LNZ] + (double)n;
  fill->flops += 2 * info[AMD_NMULTSUBS_LDL] + info[AMD_NDIV] + (double)n;
  return TRISTAR_OK;
}
