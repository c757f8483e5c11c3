/* Properties of the machine, from hwloc.
 *
 * Reads   the operating system, through hwloc, once for each context, at the first use.
 * Writes  the context's topology, which is immutable once it is loaded and destroyed with the context.
 * Invariants: nodes have hwloc's logical numbers, 0 .. numa_nodes - 1. */
#pragma once

#include "runtime/machine/machine.h"

typedef struct tsi_machine_facts {
  int cores, numa_nodes;
  int64_t l2_bytes; /* per core: its part of a shared L2; 0: unknown */
  int64_t l3_bytes; /* bytes of one L3; 0: unknown, or none */
  int l3_cores;     /* cores that share it */
} tsi_machine_facts;

/* Loads the topology, if it is not loaded yet. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_topology_need(tsi_machine *machine);
void tsi_topology_release(tsi_machine *machine);

/* True if the system reports, without hwloc, which takes milliseconds, that there is only one NUMA node. */
bool tsi_topology_one_node(void);

/* The topology must be loaded. */
void tsi_topology_describe(const tsi_machine *machine, tsi_machine_facts *facts);
/* The node of a processor, given by the system's number; -1: unknown. */
int tsi_topology_node(const tsi_machine *machine, int cpu);
/* Moves bytes begin .. end-1, whole pages, to a node, and allocates later pages of them there. Returns 0 or
 * an errno: ENOSYS if the system does not support it, EPERM if it is not permitted. */
int tsi_topology_move(const tsi_machine *machine, uintptr_t begin, uintptr_t end, int node);
