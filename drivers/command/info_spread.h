/* `tristar info TRIANGLE --gpu NAME --devices N`: predicts the time of a solve with rows spread over N GPUs.
 *
 * A header of its own because a prediction is no part of a solve with the triangle.
 *
 * Reads   a factor by rows, the table of devices.   Writes  a report; lines on stdout; JSON. */
#pragma once

#include "drivers/report/report.h"
#include "runtime/process/predict_spread.h"

typedef struct tsi_info_spread_times { /* on one GPU, on all, on all with managed memory */
  tsi_spread_predicted one, spread, unified;
} tsi_info_spread_times;

typedef struct tsi_info_spread {
  int gpus; /* 0: nothing was predicted */
  int tasks;
  const tsi_device *device;
  tsi_info_spread_times own, published; /* of TriStar, of Xie et al. */
  tristar_status compared;              /* OK: published was predicted; else MEMORY or TOO_LARGE */
} tsi_info_spread;

bool tsi_info_spread_make(tsi_session *s, const tristar_factor_t *factor, tsi_info_spread *r);
void tsi_info_spread_print(const tsi_info_spread *r);
void tsi_info_spread_add_json(cJSON *object, const tsi_info_spread *r);
