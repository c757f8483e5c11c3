/* What the files of `tristar simulate --ranks` share: the clock of SimGrid, files of a simulation, and curves
 * over numbers of processes.
 *
 * Reads   simulations.   Writes  files, tables. */
#pragma once

#include "drivers/report/json.h"
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
bool tsi_simulate_write_gantt(const tsi_predicted *predicted, bool factorization, const char *name,
                              const char *path);

/* The most grids, and how many powers of two there are up to that: 1, 2, 4, ..., 64. */
enum { TSI_SIMULATE_GRIDS = 64, TSI_SIMULATE_POWERS = 7 };

/* A layout and its simulated solve or factorization. */
typedef struct tsi_simulate_point {
  tristar_layout layout;
  tristar_simulated figures;
} tsi_simulate_point;

/* The fastest layout of each number of processes and of grids: in the order of the processes, then of the
 * grids. */
typedef struct tsi_simulate_curves {
  tsi_simulate_point *point;
  int count;
} tsi_simulate_curves;

/* what: is simulated. */
void tsi_curves_print(const char *what, const tsi_simulate_curves *curves);
void tsi_curves_add_json(cJSON *object, const tsi_simulate_curves *curves);
/* Draws the file of --svg. nrhs 0: of a factorization. */
bool tsi_curves_draw(tsi_session *s, const tsi_simulate_curves *curves, const char *cluster, int64_t nrhs);
