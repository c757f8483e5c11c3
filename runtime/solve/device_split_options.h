/* Which subtrees of a plan are solved on devices: what its options ask for, what devices StarPU has, what
 * these, their buses and the cores take.
 *
 * Costs. Of a device and its bus those that the model assumes of the one that its name tells, or of the
 * model's first; of the cores those that predictions have. All devices count as the first of them.
 *
 * Where the cores could do it alone, PLACE_AUTO does not fail: what cannot be cut for devices stays with the
 * cores, and the log tells why.
 *
 * Reads   a factor, options, the calibration; starts StarPU where devices may be worth while.
 * Writes  its result. */
#pragma once

#include "codelets/cpu/kernels.h"
#include "runtime/exec/device/device_build.h"
#include "runtime/factor/factor.h"
#include "runtime/rows/device_triangle.h"

typedef struct tsi_device_split_options {
  tsi_index *device;      /* by supernode (partition/device/device_split.h); NULL: all are on the cores */
  tsi_device_options cut; /* of the subtrees on devices */
  tsi_device_triangle *triangle; /* a triangle by rows on a device, which the plan takes; NULL: none is */
  double unfit_bytes;            /* stored, of subtrees that were to be on devices which have no room */
  double memory;                 /* bytes of a device that may be taken; 0: nobody knows */
  bool optional; /* PLACE_AUTO: if it fails to choose devices, or to use these, the cores have all */
} tsi_device_split_options;

/* Right-hand sides that a plan, or a distributed factor, is made for, as one block of them. nrhs: of its
 * options. */
static inline tsi_index tsi_columns_of(int64_t nrhs) {
  return (tsi_index)tsi_count_min(tsi_count_max(nrhs, 1), TSI_NRHS_BLOCK);
}
static inline tsi_index tsi_plan_columns(const tristar_plan_options *options) {
  return tsi_columns_of(tsi_count_max(options->nrhs, options->fuse_columns));
}

/* Solves in flight that devices have room for. */
static inline tsi_index tsi_plan_device_solves(const tristar_plan_options *options) {
  return (tsi_index)tsi_count_min(tsi_count_max(options->device_solves, 1), TSI_INDEX_MAX);
}

/* Why a plan with these options cannot have subtrees on devices; NULL: it can. */
const char *tsi_device_split_options_obstacle(const tristar_factor_t *factor,
                                              const tristar_plan_options *options);

/* start_seconds is increased by the time that StarPU took to start. After a failure *places is empty, but for
 * `optional`. Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER; those of tsi_context_need_starpu; TOO_LARGE, MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_device_split_options_choose(const tristar_factor_t *factor,
                                                               const tristar_plan_options *options,
                                                               double *start_seconds,
                                                               tsi_device_split_options *places);
/* The same of a part of a factor whose supernodes are `shared` with other processes, or not
 * (place_schedule.h).
 */
TRISTAR_CHECKED tristar_status tsi_device_split_options_choose_shared(const tristar_factor_t *factor,
                                                                      const tristar_plan_options *options,
                                                                      const bool *shared,
                                                                      double *start_seconds,
                                                                      tsi_device_split_options *places);
void tsi_device_split_options_finish(tsi_env *env, tsi_device_split_options *places);
