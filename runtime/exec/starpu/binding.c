/* Cores of the affinity mask: see binding.h. */
#include "runtime/exec/starpu/binding.h"

#include <errno.h>
#include <hwloc.h>

/* The processing units on which the process may run. */
static void find_allowed(hwloc_topology_t topology, hwloc_bitmap_t allowed) {
  hwloc_bitmap_copy(allowed, hwloc_topology_get_topology_cpuset(topology));
  if (!hwloc_topology_is_thissystem(topology)) return;
  hwloc_bitmap_t mask = hwloc_bitmap_alloc();
  if (mask == NULL) return;
  if (hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_THREAD) == 0 && hwloc_bitmap_intersects(mask, allowed))
    hwloc_bitmap_and(allowed, allowed, mask);
  hwloc_bitmap_free(mask);
}

/* Appends unit number `which` of each allowed core; returns the number of units found. */
static int append(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, int which, int most,
                  tsi_unit *unit, int *count) {
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  const hwloc_obj_type_t type = cores > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  int found = 0;
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(topology, type, NULL); core != NULL;
       core = hwloc_get_next_obj_by_type(topology, type, core)) {
    hwloc_obj_t pu = NULL;
    int k = -1;
    while (k < which &&
           (pu = hwloc_get_next_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, pu)) != NULL)
      k += hwloc_bitmap_isset(allowed, pu->os_index) != 0;
    if (k < which || pu == NULL) continue;
    found++;
    if (*count < most) unit[(*count)++] = (tsi_unit){pu->logical_index, pu->os_index};
  }
  return found;
}

static tristar_status load(const tsi_env *env, hwloc_topology_t topology) {
  if (hwloc_topology_load(topology) != 0)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "hwloc_topology_load failed: %s", strerror(errno));
  return TRISTAR_OK;
}

tristar_status tsi_binding_find(const tsi_env *env, int most, tsi_unit *unit, tsi_binding *out) {
  tristar_status status = TRISTAR_OK;
  hwloc_topology_t topology = NULL;
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  int count = 0, found;
  *out = (tsi_binding){.cores = 0};
  if (allowed == NULL || hwloc_topology_init(&topology) != 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_RUNTIME, "hwloc_topology_init failed: %s", strerror(errno));
  TSI_TRY_OUT(load(env, topology));
  find_allowed(topology, allowed);
  out->units = hwloc_bitmap_weight(allowed);
  out->masked = out->units < hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  out->cores = append(topology, allowed, 0, most, unit, &count);
  for (int which = 1; which < out->units; which++) {
    found = append(topology, allowed, which, most, unit, &count);
    if (found == 0) break;
  }
out:
  if (topology != NULL) hwloc_topology_destroy(topology);
  hwloc_bitmap_free(allowed);
  return status;
}

bool tsi_binding_count(int *cores, int *units) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return false;
  const bool loaded = hwloc_topology_load(topology) == 0;
  *units = loaded ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) : 0;
  *cores = loaded ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) : 0;
  if (*cores <= 0) *cores = *units;
  hwloc_topology_destroy(topology);
  return *units > 0;
}
