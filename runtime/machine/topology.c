/* Queries hwloc: see topology.h. */
#include "runtime/machine/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>

tristar_status tsi_topology_need(tsi_machine *machine) {
  tristar_status status = TRISTAR_OK;
  hwloc_topology_t topology = NULL;
  pthread_mutex_lock(&machine->lock);
  if (machine->topology != NULL) goto out;
  if (hwloc_topology_init(&topology) != 0)
    TSI_FAIL_OUT(machine->env, TRISTAR_ERR_RUNTIME, "hwloc_topology_init failed: %s", strerror(errno));
  if (hwloc_topology_load(topology) != 0)
    TSI_FAIL_OUT(machine->env, TRISTAR_ERR_RUNTIME, "hwloc_topology_load failed: %s", strerror(errno));
  machine->topology = tsi_take(&topology);
out:
  pthread_mutex_unlock(&machine->lock);
  if (topology != NULL) hwloc_topology_destroy(topology);
  return status;
}

void tsi_topology_release(tsi_machine *machine) {
  if (machine->topology != NULL) hwloc_topology_destroy(machine->topology);
  machine->topology = NULL;
}

bool tsi_topology_one_node(void) {
  char nodes[64] = "-"; /* in the format of Linux: "0", "0-3", "0,2" */
  FILE *file = fopen("/sys/devices/system/node/online", "r");
  if (file == NULL) return false;
  const size_t length = fread(nodes, 1, sizeof nodes - 1, file);
  nodes[length] = '\0';
  fclose(file);
  return length > 0 && strpbrk(nodes, "-,") == NULL;
}

/* Cores below an object; at least one. */
static int cores_below(hwloc_topology_t topology, hwloc_obj_t object) {
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE);
  return cores > 0 ? cores : 1;
}

void tsi_topology_describe(const tsi_machine *machine, tsi_machine_facts *facts) {
  hwloc_topology_t topology = machine->topology;
  const hwloc_obj_t l2 = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L2CACHE, 0);
  const hwloc_obj_t l3 = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  *facts = (tsi_machine_facts){.cores = cores > 0 ? cores : hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
                               .numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE),
                               .l2_bytes = l2 ? (int64_t)l2->attr->cache.size / cores_below(topology, l2) : 0,
                               .l3_bytes = l3 ? (int64_t)l3->attr->cache.size : 0,
                               .l3_cores = l3 ? cores_below(topology, l3) : 0};
}

int tsi_topology_node(const tsi_machine *machine, int cpu) {
  if (cpu < 0) return -1;
  const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(machine->topology, (unsigned)cpu);
  if (unit == NULL || unit->nodeset == NULL) return -1;
  const int node = hwloc_bitmap_first(unit->nodeset);
  const hwloc_obj_t object =
      node < 0 ? NULL : hwloc_get_numanode_obj_by_os_index(machine->topology, (unsigned)node);
  return object ? (int)object->logical_index : -1;
}

int tsi_topology_move(const tsi_machine *machine, uintptr_t begin, uintptr_t end, int node) {
  const hwloc_obj_t object = hwloc_get_obj_by_type(machine->topology, HWLOC_OBJ_NUMANODE, (unsigned)node);
  if (object == NULL) return EINVAL;
  const int code =
      hwloc_set_area_membind(machine->topology, (const void *)begin, end - begin, object->nodeset,
                             HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE);
  return code == 0 ? 0 : errno;
}

tristar_status tsi_calibration_describe(tsi_machine *machine, tristar_calibration *calibration) {
  tsi_machine_facts facts;
  TSI_TRY(tsi_topology_need(machine));
  tsi_topology_describe(machine, &facts);
  calibration->cores = facts.cores;
  calibration->numa_nodes = facts.numa_nodes;
  calibration->l2_bytes = facts.l2_bytes;
  calibration->l3_bytes = facts.l3_bytes;
  calibration->l3_cores = facts.l3_cores;
  return TRISTAR_OK;
}
