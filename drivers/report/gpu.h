/* `tristar info --gpu`: what a solve should take on a GPU, by the cost model.
 *
 * Reads   the factor of a session, the table of devices.   Writes  its report; lines on stdout; JSON. */
#pragma once

#include "drivers/report/report.h"
#include "runtime/machine/devices.h"
#include "runtime/solve/device_choice.h"

enum { TSI_GPU_WIDTHS = 2 };

typedef struct tsi_gpu_report {
  const tsi_device *device;                   /* NULL: none was asked for */
  tsi_device_forecast best;                   /* with the panels that the factor has */
  tsi_device_forecast narrow[TSI_GPU_WIDTHS]; /* the same nodes, with narrower ones */
  tsi_device_split *placing;                  /* NULL: --devices was not given */
} tsi_gpu_report;

/* The report for --gpu, if that is given. Notes a failure in the session. */
bool tsi_gpu_make(tsi_session *s, const tsi_bandwidth *bandwidth, tsi_gpu_report *report);
/* Of the report the device, which --gpu names, `best`, and the placing on so many of them. */
bool tsi_gpu_place(tsi_session *s, const tsi_bandwidth *bandwidth, int64_t devices, tsi_gpu_report *report);
/* Before the session's context ends. */
void tsi_gpu_free(const tsi_session *s, tsi_gpu_report *report);
void tsi_gpu_print(const tsi_gpu_report *report);
/* Adds the object "gpu". */
void tsi_gpu_add_json(cJSON *object, const tsi_gpu_report *report);
