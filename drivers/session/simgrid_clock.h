/* The clock of SimGrid, in a plug-in that the program loads (tools/simgrid): no other file needs SimGrid.
 *
 * Job. Give durations to work and messages on a cluster whose memories and links are shared: processes of a
 * node share its memory, messages the links of the network, each by max-min fairness.
 *
 * Reads   a tsi_simgrid_cluster.   Writes  SimGrid's engine, of which a process has one.
 * Invariant: happen is called once for each item that began, in the order of time. Plain C types only: the
 * plug-in is C++. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsi_topology {
  TSI_TOPOLOGY_NONE,     /* nothing is shared: as LogGP */
  TSI_TOPOLOGY_CROSSBAR, /* a link up and down at each node */
  TSI_TOPOLOGY_FAT_TREE, /* shape: nodes of a leaf switch, its links up */
  TSI_TOPOLOGY_DRAGONFLY /* shape: chassis of a group, routers of a chassis, nodes of a router */
} tsi_topology;

typedef struct tsi_simgrid_cluster {
  tsi_topology topology;
  int shape[3];
  int ranks, ranks_per_node, cores; /* cores: of a rank */
  double share;                     /* bytes per second of a core, where memory is not shared */
  double node;                      /* of a node; 0: no limit */
  double seconds[2];                /* latency inside nodes, between them */
  double rate[2];                   /* bytes per second, likewise */
} tsi_simgrid_cluster;

typedef struct tsi_simgrid_clock {
  void *context;
  /* seconds, then bytes at most at rate. An error, as static text; NULL: none. */
  const char *(*work)(void *context, int rank, double seconds, double bytes, double rate, int item);
  const char *(*send)(void *context, int from, int to, double bytes, int item);
  const char *(*run)(void *context);
} tsi_simgrid_clock;

/* The function that the plug-in exports: tsi_simgrid_create. False: it cannot describe the cluster; *why is
 * static text. Once in a process. */
typedef bool tsi_simgrid_create_fn(const tsi_simgrid_cluster *cluster,
                                   void (*happen)(void *argument, double now, int item), void *argument,
                                   tsi_simgrid_clock *clock, const char **why);

#ifdef __cplusplus
}
#endif
