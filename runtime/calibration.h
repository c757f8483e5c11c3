/* The calibration of a machine: what a task costs and how fast a core reads, and the granularity of plans
 * that follows from it.
 *
 * Reads   the file of the machine, once, when the context is created; a clock and hwloc in tristar_calibrate.
 * Writes  ts->calibration; the file, only in tristar_calibrate.
 * Invariants
 *   - a calibration is either the defaults or has passed every check of the file format
 *   - all figures are whole numbers of their unit in the file (nanoseconds, 1e6 bytes per second), so that
 *     what is read is what was written, in any locale
 *   - floor_bytes = tsi_calibration_floor(task_microseconds, read_gbps_one): nothing in it depends on the
 *     number of workers but the cost of a task, and that only through a power of two
 *   - a broken or missing file is never a failure: the log tells, and the defaults are taken */
#ifndef TSI_RUNTIME_CALIBRATION_H
#define TSI_RUNTIME_CALIBRATION_H

#include "runtime/context.h"

/* Figures of a common machine. Only source, task, read_gbps_one and floor_bytes are not zero. */
void tsi_calibration_init(tristar_calibration *calibration);

/* 0.1 MB times the power of two, 1 to 32, that is nearest to what a core reads while 16 tasks pass. */
double tsi_calibration_floor(double task_microseconds, double read_gbps_one);

/* Sets ts->calibration. chosen: file, "off" or NULL, as in tristar_config. For tristar_create. */
void tsi_calibration_load(tristar_t *ts, const char *chosen);

/* The calibration in use. */
tristar_calibration tsi_calibration_now(tristar_t *ts);

/* Fills what hwloc tells of the machine: cores to l3_cores. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_calibration_describe(tristar_t *ts, tristar_calibration *calibration);

/* ---- The file (calibration_file.c) --------------------------------------------------------------------- */

/* The file of this machine. false: its name is longer than `size` allows. */
bool tsi_calibration_path(char *path, size_t size);

/* Fills all of *calibration but path and source. Gives OK; IO if the file cannot be read, FORMAT if it is
 * broken: then *calibration is untouched and `why` tells the file, the line and the cause. */
TRISTAR_CHECKED tristar_status tsi_calibration_read(const char *path, tristar_calibration *calibration,
                                                    char *why, size_t size);

/* Rounds measured figures to what the file holds, and derives the rest. Errors: RUNTIME: a figure out of its
 * range. */
TRISTAR_CHECKED tristar_status tsi_calibration_round(tsi_env *env, tristar_calibration *calibration);

/* Writes rounded figures to calibration->path, whose folders are made if need be, through a temporary file
 * beside it, so that readers see the old file or the new one. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_write(tsi_env *env, const tristar_calibration *calibration);

/* ---- The measuring (measure.c) ------------------------------------------------------------------------- */

/* Fills all figures of *calibration that are measured. Starts StarPU. Errors: those of tristar_calibrate but
 * IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_measure(tristar_t *ts, tristar_calibration *calibration);

#endif
