/* Declarations that the files of `tristar simulate --ranks` share: the clock of SimGrid, files of a
 * simulation, and curves over numbers of processes.
 *
 * Reads   simulations.   Writes  files, tables. */
#pragma once

#include "drivers/report/json.h"
#include "drivers/session/cluster.h"
#include "drivers/session/session.h"
#include "runtime/process/predict.h"

/* Does the same as tsi_layout_simulate, but processes share the network and the memory of a cluster. Call it
 * once in a process. Further errors: UNSUPPORTED (built without SimGrid), RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_simulate_by_simgrid(const tristar_analysis_t *analysis,
                                                       const tristar_layout *layout, int64_t nrhs,
                                                       const tsi_cluster *cluster, tristar_simulated *out,
                                                       tsi_predicted *predicted);

/* Writes the programs of all processes in the format GOAL of LogGOPSim (Hoefler, Schneider, Lumsdaine, 2010),
 * with the simulated durations in nanoseconds, and bytes. Returns false with errno set on failure. */
bool tsi_simulate_write_goal(const tsi_predicted *predicted, const char *path);
/* Draws the steps of up to 64 processes, evenly chosen, over time. Returns false with errno set on failure.
 */
bool tsi_simulate_write_gantt(const tsi_predicted *predicted, bool factorization, const char *name,
                              const char *path);

/* Maximum number of grids, and number of powers of two up to it: 1, 2, 4, ..., 64. */
enum { TSI_SIMULATE_GRIDS = 64, TSI_SIMULATE_POWERS = 7 };

/* A layout and its simulated solve or factorization. */
typedef struct tsi_simulate_point {
  tristar_layout layout;
  tristar_simulated figures;
} tsi_simulate_point;

/* The fastest layout for each number of processes and each number of grids, sorted by processes, then grids.
 */
typedef struct tsi_simulate_curves {
  tsi_simulate_point *point;
  int count;
} tsi_simulate_curves;

/* Prints a table. what: name of the simulated operation. */
void tsi_curves_print(const char *what, const tsi_simulate_curves *curves);
void tsi_curves_add_json(cJSON *object, const tsi_simulate_curves *curves);
/* Draws the file of --svg. nrhs 0: a factorization was simulated. */
bool tsi_curves_draw(tsi_session *s, const tsi_simulate_curves *curves, const char *cluster, int64_t nrhs);
