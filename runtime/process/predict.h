/* Simulated solves and factorizations of a layout. The programs of all its processes are created one after
 * the other, as by tsi_process_create and tristar_distributed_factor, and dag/simulate.h runs them.
 *
 * Reads   the structure of an analysis.   Writes  a tsi_world and a tsi_simulation, which the caller frees.
 */
#pragma once

#include "dag/simulate.h"
#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

typedef struct tsi_predicted {
  tsi_world *world;
  tsi_simulation *simulation;
} tsi_predicted;

/* tristar_layout_predict, or tristar_layout_predict_factor if nrhs is 0, with another clock (NULL: LogGP).
 * predicted may be NULL; else the caller calls tsi_predicted_release, also after a failure. */
TRISTAR_CHECKED tristar_status tsi_layout_simulate(const tristar_analysis_t *analysis,
                                                   const tristar_layout *layout, int64_t nrhs,
                                                   const tristar_cluster *cluster,
                                                   const tsi_simulation_clock *clock, tristar_simulated *out,
                                                   tsi_predicted *predicted);
/* The times of both sweeps of process r in a solve: until its last forward step has ended, and from its first
 * backward step to the end. The sums between grids count for neither sweep. */
typedef struct tsi_simulated_sweeps {
  double forward, backward; /* seconds */
} tsi_simulated_sweeps;
tsi_simulated_sweeps tsi_simulation_sweeps(const tsi_simulation *s, tsi_index r);
void tsi_predicted_release(const tristar_analysis_t *analysis, tsi_predicted *predicted);
/* Creates the programs of a factorization, before it runs (predict_factor.c). Errors: those of
 * tristar_layout_predict_factor. */
TRISTAR_CHECKED tristar_status tsi_predict_factor_world(tsi_env *env, const tristar_analysis_t *analysis,
                                                        const tristar_layout *layout,
                                                        const tristar_cluster *cluster,
                                                        tsi_predicted *predicted);
