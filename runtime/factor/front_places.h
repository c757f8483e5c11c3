/* Choice of the tiled fronts that are factored on devices. It depends on the options of the analysis, the
 * devices of StarPU, and the costs of devices, their buses and the cores.
 *
 * Method. A list schedule of all supernodes, in descending order of the longest path to a root (Topcuoglu,
 * Hariri, Wu 2002). Each begins when its children are done and its processor is free. A tiled front is
 * assigned to the processor that finishes it first. This is the cores, which count as one processor with the
 * speed of all of them, or a device with enough memory. With PLACE_GPU every front for which a device has
 * memory is assigned to a device, whatever the cores would take. A device works on one front at a time, so
 * each front may use all of its memory.
 *
 * Costs are assumed: for a core the estimate of factorization tasks, for a device half of the rate of matrix
 * products in its data sheet, for its bus the model of solves (device_choice.h).
 *
 * Reads   the analysis, its options; starts StarPU where there are tiled fronts.
 * Writes  its result. */
#pragma once

#include "dag/factor/factorization.h"
#include "runtime/factor/factor.h"

typedef struct tsi_front_places {
  tsi_index *device;       /* By supernode; TSI_NONE: the cores. NULL: all are on the cores. */
  bool optional;           /* PLACE_AUTO: if a device fails, the cores factor all fronts. */
  int64_t fronts, unfit;   /* Fronts on devices; fronts too large for any device. */
  double flops, bus_bytes; /* Of the fronts on devices. */
} tsi_front_places;

/* Costs that the schedule uses. */
typedef struct tsi_front_costs {
  size_t scalar_bytes;
  double scale;       /* Work of an operation on a scalar, relative to a real one. */
  double cores_flops; /* Per second, all cores. */
  tsi_index devices;
  double device_flops;
  double device_memory; /* Bytes. */
  double bus_bandwidth; /* Bytes per second. */
  double front_seconds; /* Additional time of a device per front. */
  double panel_seconds; /* Additional time of a device per panel. */
  bool devices_first;   /* PLACE_GPU */
} tsi_front_costs;

/* Writes the device of each supernode to `device`. places: only its counts are changed, its device is unused.
 * tiled: by supernode. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fronts_place(tsi_env *env, const tsi_symbolic *symbolic,
                                                const tsi_panels *panels, tristar_method method,
                                                const bool *tiled, const tsi_front_costs *costs,
                                                tsi_index *device, tsi_front_places *places);

/* Adds the time that StarPU took to start to start_seconds. After a failure *places is empty. Errors:
 * PLACE_GPU: UNSUPPORTED, NO_WORKER; those of tsi_context_need_starpu; MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_places_choose(const tristar_factor_t *factor, double *start_seconds,
                                                       tsi_front_places *places);
void tsi_front_places_finish(tsi_env *env, tsi_front_places *places);
