/* `tristar info MATRIX --gpu NAME --layout`: predicts the time of a solve on many GPUs by the simulator of
 * dag/simulate.h on nodes of that GPU.
 *
 * A header of its own because info_layout.c counts without a model, and these predictions need no counts.
 *
 * Reads   an analysis, the table of devices.   Writes  a report; lines on stdout; JSON. */
#pragma once

#include "drivers/report/report.h"
#include "drivers/session/cluster.h"

enum { TSI_INFO_GPUS_POINTS = 21 }; /* powers of two up to 2^20 */

typedef struct tsi_info_gpu {
  int node;
  double solve, wait;       /* seconds in which a block works; seconds in which none does */
  double forward, backward; /* seconds of the sweeps */
  double messages, bytes;   /* messages and bytes that the GPU sends */
  double factor_bytes;      /* bytes of the factor that it reads in both sweeps */
} tsi_info_gpu;

/* The fastest shape of a single grid with a number of GPUs, and its time. */
typedef struct tsi_info_grid {
  tristar_layout layout;
  double seconds;
} tsi_info_grid;

typedef struct tsi_info_gpus {
  tsi_cluster cluster;
  tristar_simulated solve; /* ranks 0: nothing was predicted */
  tsi_info_gpu *gpu;       /* solve.ranks entries */
  tsi_info_grid single[TSI_INFO_GPUS_POINTS];
  int singles; /* number of single grids, with 1, 2, 4, ... GPUs */
  int pays;    /* index of the fastest single grid */
  bool chosen; /* the layout was chosen as the fastest for its number of GPUs */
} tsi_info_gpus;

/* Chooses the layout if layout->px is 0, for `ranks` GPUs. */
bool tsi_info_gpus_choose(tsi_session *s, int64_t nrhs, tristar_layout *layout, tsi_info_gpus *r);
/* Simulates the layout, and single grids of up to as many GPUs. */
bool tsi_info_gpus_make(tsi_session *s, int64_t nrhs, const tristar_layout *layout, tsi_info_gpus *r);
void tsi_info_gpus_print(const tsi_info_gpus *r);
void tsi_info_gpus_add_json(cJSON *object, const tsi_info_gpus *r);
