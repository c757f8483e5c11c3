/* Chooses the subtrees of a plan that are solved on devices: by its options, the devices of StarPU, and the
 * costs of devices, buses and cores.
 *
 * Costs. For a device and its bus the costs of the model's device with this name, or of the model's first
 * device; for the cores the costs of predictions. All devices are assumed to be equal to the first one.
 *
 * PLACE_AUTO does not fail if the cores can do the work alone: subtrees that cannot be cut for devices stay
 * on the cores, and the log has the reason.
 *
 * Reads   a factor, options, the calibration; starts StarPU if devices may be worthwhile.
 * Writes  its result. */
#pragma once

#include "codelets/cpu/kernels.h"
#include "runtime/exec/device/device_build.h"
#include "runtime/factor/factor.h"
#include "runtime/rows/device_triangle.h"

typedef struct tsi_device_split_options {
  tsi_index *device;      /* by supernode (partition/device/device_split.h); NULL: all are on the cores */
  tsi_device_options cut; /* options of the cut of subtrees on devices */
  tsi_device_triangle *triangle; /* a triangle by rows on a device; moves to the plan. NULL: none */
  double unfit_bytes;            /* stored bytes of subtrees that did not fit in the memory of devices */
  double memory;                 /* bytes of a device that may be used; 0: unknown */
  bool optional; /* PLACE_AUTO: if choosing or using devices fails, the cores do all the work */
} tsi_device_split_options;

/* Returns the number of right-hand sides that a plan, or a distributed factor, is made for, at most one
 * block. nrhs: of its options. */
static inline tsi_index tsi_columns_of(int64_t nrhs) {
  return (tsi_index)tsi_count_min(tsi_count_max(nrhs, 1), TSI_NRHS_BLOCK);
}
static inline tsi_index tsi_plan_columns(const tristar_plan_options *options) {
  return tsi_columns_of(tsi_count_max(options->nrhs, options->fuse_columns));
}

/* Returns the number of solves in flight for which device memory is planned. */
static inline tsi_index tsi_plan_device_solves(const tristar_plan_options *options) {
  return (tsi_index)tsi_count_min(tsi_count_max(options->device_solves, 1), TSI_INDEX_MAX);
}

/* Returns the reason why a plan with these options cannot have subtrees on devices; NULL: it can. */
const char *tsi_device_split_options_obstacle(const tristar_factor_t *factor,
                                              const tristar_plan_options *options);

/* Adds the time for the start of StarPU to *start_seconds. After a failure *places is empty except for
 * `optional`. Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER; those of tsi_context_need_starpu; TOO_LARGE, MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_device_split_options_choose(const tristar_factor_t *factor,
                                                               const tristar_plan_options *options,
                                                               double *start_seconds,
                                                               tsi_device_split_options *places);
/* Does the same for a share of a factor. shared: by supernode, whether other processes share it
 * (place_schedule.h). */
TRISTAR_CHECKED tristar_status tsi_device_split_options_choose_shared(const tristar_factor_t *factor,
                                                                      const tristar_plan_options *options,
                                                                      const bool *shared,
                                                                      double *start_seconds,
                                                                      tsi_device_split_options *places);
void tsi_device_split_options_finish(tsi_env *env, tsi_device_split_options *places);
