/* Shares fronts out: see front_owners.h. */
#include "dag/front_owners.h"

typedef struct chooser {
  const tsi_layout *layout;
  const tsi_symbolic *symbolic;
  tsi_index *owner;
  double *load;  /* by process: flops of its fronts */
  double *share; /* by grid: of each of its processes */
} chooser;

static tsi_index grid_size(const chooser *c) {
  return c->layout->px * c->layout->py;
}

/* The process of grid z that has least. */
static tsi_index least_loaded(const chooser *c, tsi_index z) {
  const tsi_index first = grid_size(c) * z;
  tsi_index least = first;
  for (tsi_index r = first; r < first + grid_size(c); r++)
    if (c->load[r] < c->load[least]) least = r;
  return least;
}

static tsi_index choose(const chooser *c, tsi_index s, tsi_index z, double flops) {
  const tsi_index parent = c->symbolic->parent[s];
  const tsi_index above = parent == TSI_NONE ? TSI_NONE : c->owner[parent];
  const bool follows =
      above != TSI_NONE && above / grid_size(c) == z && c->load[above] + flops <= c->share[z];
  return follows ? above : least_loaded(c, z);
}

tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout, const tsi_symbolic *symbolic,
                                       tristar_method method, const tsi_index *chunk, tsi_index *owner) {
  tristar_status status = TRISTAR_OK;
  chooser c = {.layout = layout, .symbolic = symbolic, .owner = owner};
  TSI_TRY(TSI_ALLOC_ZERO(env, c.load, tsi_layout_ranks(layout)));
  TSI_TRY(TSI_ALLOC_ZERO(env, c.share, layout->pz));
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index k = chunk[symbolic->start[s]], z = tsi_layout_home(layout, layout->node[k]);
    const double flops = tsi_front_flops(symbolic, method, s);
    c.share[z] += flops / grid_size(&c);
    owner[s] = layout->whole[k] ? tsi_layout_anchor(layout, k, z) : TSI_NONE;
    if (owner[s] != TSI_NONE) c.load[owner[s]] += flops;
  }
  for (tsi_index s = symbolic->count; s-- > 0;) {
    if (owner[s] != TSI_NONE) continue;
    const tsi_index z = tsi_layout_home(layout, layout->node[chunk[symbolic->start[s]]]);
    const double flops = tsi_front_flops(symbolic, method, s);
    owner[s] = choose(&c, s, z, flops);
    c.load[owner[s]] += flops;
  }
out:
  TSI_FREE(env, c.load);
  TSI_FREE(env, c.share);
  return status;
}
