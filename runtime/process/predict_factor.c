/* tristar_layout_predict_factor: the programs of all processes of a factorization, created one after the
 * other as in a real run (runtime/mpi/factor/team_factor.h), and run by dag/simulate.h. See predict.h.
 *
 * Owners and teams of all fronts are chosen once. For each process, a part of the tree is cut and the DAG of
 * its fronts is created from it; both are released when its program is in the world. So memory holds the
 * world and one process. */
#include "codelets/cpu/rows/sparse.h"
#include "dag/factor/front_part.h"
#include "runtime/process/front_program.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/predict.h"
#include "runtime/process/traffic.h"

typedef struct maker {
  tsi_front_structure fronts;
  tsi_layout *layout;
  tsi_index *owner;
  tsi_front_teams *teams;
  tsi_front_weights weights;
  tsi_handing *handing;
  tsi_front_rates rates;
  double agree_seconds; /* time of a collective call of all processes */
  bool edges;
} maker;

/* Adds the process with this part of the tree. */
static tristar_status add_part(tsi_env *env, const maker *m, tsi_index rank, const tsi_front_part *part,
                               tsi_world *world) {
  TSI_OWNED tsi_factorization *dag = NULL;
  const tsi_front_owners owners = tsi_front_part_owners(part, rank);
  TSI_TRY(tsi_factorization_create(env, part->tree->symbolic, part->tree->panels, m->fronts.method,
                                   m->fronts.options, &owners, &dag));
  const tsi_front_program program = {.dag = dag,
                                     .handing = m->handing,
                                     .rates = &m->rates,
                                     .agree_seconds = m->agree_seconds,
                                     .grid = m->layout->px * m->layout->py,
                                     .lu = m->fronts.method == TRISTAR_METHOD_LU,
                                     .edges = m->edges};
  return tsi_front_program_add(env, &program, world);
}

static tristar_status add_rank(tsi_env *env, const maker *m, tsi_index rank, tsi_world *world) {
  const tsi_front_whole whole = {&m->fronts, m->owner, m->teams, &m->weights};
  tsi_front_part part;
  TSI_SCRATCH_ZERO(env, bool, requested, m->fronts.symbolic->count);
  TSI_TRY(tsi_front_part_create(env, &whole, rank, requested, &part));
  const tristar_status status = add_part(env, m, rank, &part, world);
  tsi_front_part_destroy(env, &part);
  return status;
}

/* Time of messages to process rank + 2^k, for all k. */
static double seconds_to_agree(const tristar_cluster *cluster, tsi_index ranks) {
  double seconds = 0;
  for (tsi_index k = 0; k < 31 && 1 << k < ranks; k++)
    seconds += tsi_cluster_is_local(cluster, 0, 1 << k)
                   ? cluster->local_latency_seconds + 2 * cluster->local_overhead_seconds
                   : cluster->latency_seconds + 2 * cluster->overhead_seconds;
  return seconds;
}

static tristar_status make_world(tsi_env *env, const tristar_analysis_t *an, const tristar_layout *words,
                                 const tristar_cluster *cluster, tsi_world **out) {
  TSI_OWNED tsi_world *world = NULL;
  TSI_SCRATCH_ZERO(env, maker, m, 1);
  *m = (maker){.edges = !tsi_cluster_in_order(cluster)};
  m->fronts = (tsi_front_structure){an->symbolic, an->panels, an->stats.method, &an->ts->fronts};
  TSI_TRY(tsi_layout_make(env, an, words, 1, false, &m->layout));
  tsi_own(m, m->layout);
  const tsi_index ranks = tsi_layout_ranks(m->layout);
  const tsi_layout_options options = tsi_analysis_layout_options(an, words, false);
  const tsi_share_options share = tsi_share_options_of(&options);
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(an->factor_scalar);
  m->rates = tsi_front_rates_of(cluster->dense_flops_per_second, cluster->core_bytes_per_second,
                                kernels->scalar_bytes, kernels->is_complex);
  m->agree_seconds = seconds_to_agree(cluster, ranks);
  TSI_TRY(TSI_ALLOC_IN(m, m->owner, an->symbolic->count));
  TSI_TRY(tsi_front_owners_choose(env, m->layout, &m->fronts, m->owner, &m->teams, NULL));
  tsi_own(m, m->teams);
  TSI_TRY(tsi_factorization_weigh(env, an->symbolic, m->fronts.method, m->fronts.options, &m->weights));
  tsi_own(m, m->weights.subtree);
  TSI_TRY(tsi_handing_create(env, m->layout, an->panels, &share, m->owner, &m->handing));
  tsi_own(m, m->handing);
  TSI_TRY(tsi_world_create(env, ranks, &world));
  for (tsi_index r = 0; r < ranks; r++) TSI_TRY(add_rank(env, m, r, world));
  TSI_TRY(tsi_world_join(env, world));
  *out = tsi_take(&world);
  return TRISTAR_OK;
}

tristar_status tsi_predict_factor_world(tsi_env *env, const tristar_analysis_t *an,
                                        const tristar_layout *layout, const tristar_cluster *cluster,
                                        tsi_predicted *p) {
  if (an->imported)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the factors are imported: there is no factorization to simulate");
  TSI_TRY(make_world(env, an, layout, cluster, &p->world));
  const double scalar_bytes = (double)tsi_sparse_kernels_select(an->factor_scalar)->scalar_bytes;
  return tsi_simulation_create(env, p->world, cluster, scalar_bytes, 0, 1, &p->simulation);
}
