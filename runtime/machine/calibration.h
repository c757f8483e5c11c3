/* The calibration of a machine: what a task costs and how fast a core reads, and the granularity of plans
 * that follows from it.
 *
 * Reads   the file of the machine, once, when the context is created; a clock and hwloc in tristar_calibrate.
 * Writes  machine->calibration; the file, only in tristar_calibrate.
 * Invariants
 *   - a calibration is either the defaults or has passed every check of the file format
 *   - all figures are whole numbers of their unit in the file (nanoseconds, 1e6 bytes per second), so that
 *     what is read is what was written, in any locale
 *   - floor_bytes = tsi_calibration_floor(task_microseconds, read_gbps_one): nothing in it depends on the
 *     number of workers but the cost of a task, and that only through a power of two
 *   - a broken or missing file is never a failure: the log tells, and the defaults are taken */
#pragma once

#include "runtime/machine/machine.h"
#include "runtime/exec/starpu/workers.h"

/* Figures of a common machine. Only source, task, read_gbps_one and floor_bytes are not zero. */
void tsi_calibration_init(tristar_calibration *calibration);

/* 0.1 MB times the power of two, 1 to 32, that is nearest to what a core reads while 16 tasks pass. */
double tsi_calibration_floor(double task_microseconds, double read_gbps_one);

/* The calibration in use. */
tristar_calibration tsi_calibration_now(tsi_machine *machine);

/* Fills what hwloc tells of the machine: cores to l3_cores. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_calibration_describe(tsi_machine *machine,
                                                        tristar_calibration *calibration);

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

/* Could a calibration be written there? Makes the folders. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_try(tsi_env *env, const char *path);

/* Writes rounded figures to calibration->path, whose folders are made if need be, through a temporary file
 * beside it, so that readers see the old file or the new one. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_write(tsi_env *env, const tristar_calibration *calibration);

/* ---- The measuring (measure.c) ------------------------------------------------------------------------- */

/* How far measured figures can be trusted. */
typedef struct tsi_calibration_quality {
  int attempts;       /* measurements of everything, of which the best figures count */
  double other_cores; /* that other processes used during the quietest two; negative: unknown */
  double spread;      /* by which the best two differ, as a share of the best: the largest of all figures */
  bool trusted;       /* there were two quiet ones that agree */
} tsi_calibration_quality;

/* What was measured so far. */
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
  double other_cores[TSI_ATTEMPTS];         /* used by other processes meanwhile; negative: unknown */
} tsi_attempts;

/* Gives the best figures, and how far they can be trusted on a machine with so many cores. */
tsi_calibration_quality tsi_attempts_judge(const tsi_attempts *attempts, int cores, double best[TSI_FIGURES]);

/* Operations per second of one core in products of dense matrices of doubles. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_products_measure(tsi_env *env, double *flops_per_second);

/* Fills all figures of *calibration that are measured, again and again until they can be trusted, or some
 * seconds have passed. Starts StarPU. Errors: those of tristar_calibrate but IO. */
TRISTAR_CHECKED tristar_status tsi_calibration_measure(tsi_machine *machine, tsi_workers *workers,
                                                       tristar_calibration *calibration,
                                                       tsi_calibration_quality *quality);

/* tristar_calibrate, which also tells the quality. The log is warned of figures that cannot be trusted. */
TRISTAR_CHECKED tristar_status tsi_calibrate(tsi_machine *machine, tsi_workers *workers,
                                             tristar_calibration *calibration,
                                             tsi_calibration_quality *quality);
