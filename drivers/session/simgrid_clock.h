/* The clock of SimGrid, in a plug-in that the program loads (tools/simgrid). No other file needs SimGrid.
 *
 * Job. Compute durations of work and messages on a cluster with shared memories and links. Processes of a
 * node share its memory, and messages share the links of the network, each by max-min fairness.
 *
 * Reads   a tsi_simgrid_cluster.   Writes  SimGrid's engine; a process has one.
 * Invariant: happen is called once for each item that began, in the order of time. Only plain C types,
 * because the plug-in is C++. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsi_topology {
  TSI_TOPOLOGY_NONE,     /* nothing is shared, as in LogGP */
  TSI_TOPOLOGY_CROSSBAR, /* each node has a link up and a link down */
  TSI_TOPOLOGY_FAT_TREE, /* shape: nodes of a leaf switch, its links up */
  TSI_TOPOLOGY_DRAGONFLY /* shape: chassis of a group, routers of a chassis, nodes of a router */
} tsi_topology;

typedef struct tsi_simgrid_cluster {
  tsi_topology topology;
  int shape[3];
  int ranks, ranks_per_node, cores; /* cores: cores per rank */
  double share;                     /* bytes per second of a core, if memory is not shared */
  double node;                      /* bytes per second of a node; 0: no limit */
  double seconds[2];                /* latency inside nodes, between nodes */
  double rate[2];                   /* bytes per second inside nodes, between nodes */
} tsi_simgrid_cluster;

typedef struct tsi_simgrid_clock {
  void *context;
  /* Takes so many seconds, then reads bytes with at most this rate. All three return an error as static text,
   * or NULL. */
  const char *(*work)(void *context, int rank, double seconds, double bytes, double rate, int item);
  const char *(*send)(void *context, int from, int to, double bytes, int item);
  const char *(*run)(void *context);
} tsi_simgrid_clock;

/* Type of tsi_simgrid_create, which the plug-in exports. Call it once in a process. Returns false with static
 * text in *why if it cannot describe the cluster. */
typedef bool tsi_simgrid_create_fn(const tsi_simgrid_cluster *cluster,
                                   void (*happen)(void *argument, double now, int item), void *argument,
                                   tsi_simgrid_clock *clock, const char **why);

#ifdef __cplusplus
}
#endif
