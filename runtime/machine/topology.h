/* What hwloc knows about the machine.
 *
 * Reads   the operating system, through hwloc, once for each context and only when first asked.
 * Writes  the context's topology, which is immutable once it is loaded and destroyed with the context.
 * Invariants: nodes are counted as hwloc's logical numbers, 0 .. numa_nodes - 1. */
#pragma once

#include "runtime/machine/machine.h"

typedef struct tsi_machine_facts {
  int cores, numa_nodes;
  int64_t l2_bytes; /* of a core: its part of an L2 that several share; 0: unknown */
  int64_t l3_bytes; /* of one L3; 0: unknown, or none */
  int l3_cores;     /* that share it */
} tsi_machine_facts;

/* Loads the topology, if it is not yet there. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_topology_need(tsi_machine *machine);
void tsi_topology_release(tsi_machine *machine);

/* Does the system say, without hwloc, which takes milliseconds, that there is one NUMA node only? */
bool tsi_topology_one_node(void);

/* The topology must be there. */
void tsi_topology_describe(const tsi_machine *machine, tsi_machine_facts *facts);
/* The node that a processor (the system's number of it) belongs to; -1: unknown. */
int tsi_topology_node(const tsi_machine *machine, int cpu);
/* Moves bytes begin .. end-1, whole pages, to a node, and wants later pages of them there. Gives 0 or an
 * errno: ENOSYS where the system cannot, EPERM where it does not let us. */
int tsi_topology_move(const tsi_machine *machine, uintptr_t begin, uintptr_t end, int node);
