/* `tristar info --gpu`: the cost model's forecast of a solve on a GPU.
 *
 * Reads   the factor of a session, the table of devices.   Writes  its report; lines on stdout; JSON. */
#pragma once

#include "drivers/report/report.h"
#include "runtime/machine/devices.h"
#include "runtime/solve/device_choice.h"

enum { TSI_GPU_WIDTHS = 2 };

typedef struct tsi_gpu_report {
  const tsi_device *device;                   /* NULL: --gpu was not given */
  tsi_device_forecast best;                   /* forecast with the panels of the factor */
  tsi_device_forecast narrow[TSI_GPU_WIDTHS]; /* forecasts with narrower panels */
  tsi_device_split *placing;                  /* device split; NULL: --devices was not given */
} tsi_gpu_report;

/* Makes the report if --gpu is given. Records a failure in the session. */
bool tsi_gpu_make(tsi_session *s, const tsi_bandwidth *bandwidth, tsi_gpu_report *report);
/* Makes only the fields device, best and placing, for so many devices of the type of --gpu. */
bool tsi_gpu_place(tsi_session *s, const tsi_bandwidth *bandwidth, int64_t devices, tsi_gpu_report *report);
/* Frees the report. Call it before the session's context is destroyed. */
void tsi_gpu_free(const tsi_session *s, tsi_gpu_report *report);
void tsi_gpu_print(const tsi_gpu_report *report);
/* Adds the object "gpu". */
void tsi_gpu_add_json(cJSON *object, const tsi_gpu_report *report);
