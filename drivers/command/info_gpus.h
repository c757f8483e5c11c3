/* `tristar info MATRIX --gpu NAME --layout`: the time of a solve that GPUs run with each other, by the
 * simulator of dag/simulate.h on nodes of that GPU.
 *
 * A header of its own because counts need no model, and its figures no counts.
 *
 * Reads   an analysis, the table of devices.   Writes  a report; lines on stdout; JSON. */
#pragma once

#include "drivers/report/report.h"
#include "drivers/session/cluster.h"

enum { TSI_INFO_GPUS_POINTS = 21 }; /* powers of two up to 2^20 */

typedef struct tsi_info_gpu {
  int node;
  double solve, wait;       /* seconds in which a block works, and in which none does */
  double forward, backward; /* seconds */
  double messages, bytes;   /* that it sends */
  double factor_bytes;      /* that it reads in both sweeps */
} tsi_info_gpu;

/* The fastest shape of a single grid, or of one with this number of GPUs and the grids of the layout. */
typedef struct tsi_info_grid {
  tristar_layout layout;
  double seconds;
} tsi_info_grid;

typedef struct tsi_info_gpus {
  tsi_cluster cluster;
  tristar_simulated solve; /* ranks 0: nothing was predicted */
  tsi_info_gpu *gpu;       /* solve.ranks */
  tsi_info_grid single[TSI_INFO_GPUS_POINTS];
  int singles; /* single grids of 1, 2, 4, ... GPUs */
  int pays;    /* of these the fastest */
  bool chosen; /* the layout is the fastest of its number of GPUs */
} tsi_info_gpus;

/* Chooses the layout if layout->px is 0, for `ranks` GPUs. */
bool tsi_info_gpus_choose(tsi_session *s, int64_t nrhs, tristar_layout *layout, tsi_info_gpus *r);
/* Simulates the layout, and single grids of up to as many GPUs. */
bool tsi_info_gpus_make(tsi_session *s, int64_t nrhs, const tristar_layout *layout, tsi_info_gpus *r);
void tsi_info_gpus_print(const tsi_info_gpus *r);
void tsi_info_gpus_add_json(cJSON *object, const tsi_info_gpus *r);
