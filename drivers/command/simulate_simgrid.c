/* The clock of SimGrid for a simulation: loads the plug-in, and connects it to the simulator. */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "drivers/command/simulate_ranks.h"
#include "runtime/base/child.h"

typedef struct adapter {
  tsi_env *env;
  tsi_simgrid_clock clock;
  tsi_simulation *simulation; /* the running simulation */
  tristar_status status;      /* status of the first failure of an event */
} adapter;

static tristar_status answer(const adapter *a, const char *why) {
  if (why != NULL) TSI_FAIL(a->env, TRISTAR_ERR_RUNTIME, "%s", why);
  return TRISTAR_OK;
}

static tristar_status work(void *context, tsi_index rank, const tsi_work *work, tsi_index item) {
  const adapter *a = context;
  return answer(a, a->clock.work(a->clock.context, rank, work->seconds, work->bytes, work->rate, item));
}

static tristar_status send(void *context, tsi_index from, tsi_index to, double bytes, tsi_index item) {
  const adapter *a = context;
  return answer(a, a->clock.send(a->clock.context, from, to, bytes, item));
}

static void happen(void *context, double now, int item) {
  adapter *a = context;
  if (a->status == TRISTAR_OK) a->status = tsi_simulation_happen(a->simulation, now, item);
}

static tristar_status run(void *context, tsi_simulation *simulation) {
  adapter *a = context;
  a->simulation = simulation;
  TSI_TRY(answer(a, a->clock.run(a->clock.context)));
  return a->status;
}

/* SimGrid defines functions of MPI and must call its own ones. */
static tristar_status load(tsi_env *env, tsi_simgrid_create_fn **create) {
  char path[PATH_MAX];
  if (!tsi_child_find("simgrid_clock.so", path, sizeof path))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "--network simgrid: this TriStar was built without SimGrid (Debian: libsimgrid-dev)");
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void *function = handle != NULL ? dlsym(handle, "tsi_simgrid_create") : NULL;
  if (function == NULL) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "cannot load %s: %s", path, dlerror());
  memcpy(create, &function, sizeof function);
  return TRISTAR_OK;
}

tristar_status tsi_simulate_by_simgrid(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                       int64_t nrhs, const tsi_cluster *cluster, tristar_simulated *out,
                                       tsi_predicted *predicted) {
  const tristar_cluster *m = &cluster->model;
  adapter a = {.env = tsi_context_env(analysis->ts), .status = TRISTAR_OK};
  const tsi_simgrid_cluster described = {.topology = cluster->topology,
                                         .shape = {cluster->shape[0], cluster->shape[1], cluster->shape[2]},
                                         .ranks = layout->px * layout->py * layout->pz,
                                         .ranks_per_node = m->ranks_per_node,
                                         .cores = m->cores,
                                         .share = tsi_cluster_share(m),
                                         .node = m->node_bytes_per_second,
                                         .seconds = {m->local_latency_seconds, m->latency_seconds},
                                         .rate = {m->local_bytes_per_second, m->bytes_per_second}};
  tsi_simgrid_create_fn *create;
  const char *why = NULL;
  if (m->process_bytes_per_second > 0)
    TSI_FAIL(a.env, TRISTAR_ERR_UNSUPPORTED,
             "--network simgrid: %s: cores that share the rate of a process are not simulated there",
             cluster->name);
  TSI_TRY(load(a.env, &create));
  if (!create(&described, happen, &a, &a.clock, &why)) return answer(&a, why);
  return tsi_layout_simulate(analysis, layout, nrhs, m, &(tsi_simulation_clock){&a, work, send, run}, out,
                             predicted);
}
