/* What the files of `tristar simulate --ranks` share: the clock of SimGrid, and files of a simulation.
 *
 * Reads   a simulation.   Writes  files. */
#pragma once

#include "drivers/session/cluster.h"
#include "drivers/session/session.h"
#include "runtime/process/predict.h"

/* tsi_layout_simulate with the network and the memory of a cluster shared. Once in a process. Errors: also
 * UNSUPPORTED (built without SimGrid), RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_simulate_by_simgrid(const tristar_analysis_t *analysis,
                                                       const tristar_layout *layout, int64_t nrhs,
                                                       const tsi_cluster *cluster, tristar_simulated *out,
                                                       tsi_predicted *predicted);

/* The programs of all processes in the format GOAL of LogGOPSim (Hoefler, Schneider, Lumsdaine, 2010), with
 * durations of the simulation in nanoseconds, and its bytes. False: errno says why. */
bool tsi_simulate_write_goal(const tsi_predicted *predicted, const char *path);
/* When steps of up to 64 processes ran, evenly chosen. False: errno says why. */
bool tsi_simulate_write_gantt(const tsi_predicted *predicted, const char *name, const char *path);
