/* The calibration of a machine: the cost of a task, the bandwidth of a core, and the granularity of plans
 * that follows from both.
 *
 * Reads   the file of the machine, once, when the context is created; a clock and hwloc in tristar_calibrate.
 * Writes  machine->calibration; the file, only in tristar_calibrate.
 * Invariants
 *   - a calibration is either the defaults or has passed every check of the file format
 *   - the file has all figures as whole numbers of their unit (nanoseconds, 1e6 bytes per second), so that it
 *     is read as it was written, in any locale
 *   - floor_bytes = tsi_calibration_floor(task_microseconds, read_gbps_one). Only the cost of a task in it
 *     depends on the number of workers, and only through a power of two
 *   - a broken or missing file is never a failure: it is logged, and the defaults are used */
#pragma once

#include "runtime/machine/machine.h"
#include "runtime/exec/starpu/workers.h"

/* Figures of a common machine. Only source, task, read_gbps_one and floor_bytes are not zero. */
void tsi_calibration_init(tristar_calibration *calibration);

/* 0.1 MB times a power of two, 1 to 32: the nearest to the bytes that a core reads in the time of 16 tasks.
 */
double tsi_calibration_floor(double task_microseconds, double read_gbps_one);

/* The calibration in use. */
tristar_calibration tsi_calibration_now(tsi_machine *machine);

/* Fills the fields from hwloc: cores to l3_cores. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_calibration_describe(tsi_machine *machine,
                                                        tristar_calibration *calibration);

/* ---- The file (calibration_file.c) --------------------------------------------------------------------- */

/* Path of the file of this machine. false: it is longer than `size` allows. */
bool tsi_calibration_path(char *path, size_t size);

/* Fills all of *calibration except path and source. Returns OK; IO if the file cannot be read, FORMAT if it
 * is broken: then *calibration is unchanged and `why` holds the file, the line and the cause. */
TRISTAR_CHECKED tristar_status tsi_calibration_read(const char *path, tristar_calibration *calibration,
                                                    char *why, size_t size);

/* Rounds measured figures to the precision of the file, and derives the rest. Errors: RUNTIME (a figure is
 * out of its range). */
TRISTAR_CHECKED tristar_status tsi_calibration_round(tsi_env *env, tristar_calibration *calibration);

/* Checks that a calibration can be written to this path. Creates the folders. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_try(tsi_env *env, const char *path);

/* Writes rounded figures to calibration->path, and creates its folders if necessary. Uses a temporary file in
 * the same folder, so that readers see the old file or the new one. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_write(tsi_env *env, const tristar_calibration *calibration);

/* ---- Measurements (measure.c) -------------------------------------------------------------------------- */

/* Reliability of measured figures. */
typedef struct tsi_calibration_quality {
  int attempts;       /* measurements of all figures, of which the best figures count */
  double other_cores; /* cores used by other processes during the quietest two; negative: unknown */
  double spread;      /* difference of the best two, as a part of the best: the largest of all figures */
  bool trusted;       /* two quiet measurements agree */
} tsi_calibration_quality;

/* Measurements so far. */
enum {
  TSI_FIGURE_TASK,
  TSI_FIGURE_BARRIER,
  TSI_FIGURE_READ_ONE,
  TSI_FIGURE_READ_ALL,
  TSI_FIGURE_MULTIPLY,
  TSI_FIGURES
};
#define TSI_ATTEMPTS 12
typedef struct tsi_attempts {
  int count;
  double figure[TSI_FIGURES][TSI_ATTEMPTS]; /* less is better: rates as their inverses; 0: not measured */
  double other_cores[TSI_ATTEMPTS];         /* cores used by other processes meanwhile; negative: unknown */
} tsi_attempts;

/* Returns the best figures, and their reliability on a machine with `cores` cores. */
tsi_calibration_quality tsi_attempts_judge(const tsi_attempts *attempts, int cores, double best[TSI_FIGURES]);

/* Measures the operations per second of one core in products of dense matrices of doubles. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_products_measure(tsi_env *env, double *flops_per_second);

/* Fills all measured figures of *calibration. Repeats the measurements until they are reliable, or some
 * seconds have passed. Starts StarPU. Errors: those of tristar_calibrate except IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_measure(tsi_machine *machine, tsi_workers *workers,
                                                       tristar_calibration *calibration,
                                                       tsi_calibration_quality *quality);

/* tristar_calibrate, which also returns the quality. The log gets a warning of unreliable figures. */
TRISTAR_CHECKED tristar_status tsi_calibrate(tsi_machine *machine, tsi_workers *workers,
                                             tristar_calibration *calibration,
                                             tsi_calibration_quality *quality);
