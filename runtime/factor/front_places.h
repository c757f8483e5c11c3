/* Which tiled fronts of a factorization devices have: what the options of the analysis ask for, what devices
 * StarPU has, what these, their buses and the cores take.
 *
 * Method. A list schedule of all supernodes, those first that the longest path to a root begins with
 * (Topcuoglu, Hariri, Wu 2002): each begins when its children are done and where it goes is free, and a tiled
 * front goes to where it ends first: the cores, which count as one processor as fast as all of them, or a
 * device that has memory for it. With PLACE_GPU those go to devices for which there is memory, whatever the
 * cores would take. A device works on one front at a time, so each front may have all of the memory.
 *
 * Costs are assumed: of a core what tasks of factorizations are estimated by, of a device half of what its
 * data sheet says of products of matrices, its bus as placings of solves have it (device_choice.h).
 *
 * Reads   the analysis, its options; starts StarPU where there are tiled fronts.
 * Writes  its result. */
#pragma once

#include "dag/factor/factorization.h"
#include "runtime/factor/factor.h"

typedef struct tsi_front_places {
  tsi_index *device;       /* by supernode; TSI_NONE: the cores. NULL: they have all */
  bool optional;           /* PLACE_AUTO: should a device fail, the cores do it all */
  int64_t fronts, unfit;   /* on devices; that devices have no memory for */
  double flops, bus_bytes; /* of the fronts on devices */
} tsi_front_places;

/* What the schedule is made with. */
typedef struct tsi_front_costs {
  size_t scalar_bytes;
  double scale;       /* arithmetic of a scalar, in that of a real one */
  double cores_flops; /* a second, all cores */
  tsi_index devices;
  double device_flops;
  double device_memory; /* bytes */
  double bus_bandwidth; /* bytes a second */
  double front_seconds; /* of a device, for a front, beside */
  double panel_seconds; /* of a device, for each panel, beside */
  bool devices_first;   /* PLACE_GPU */
} tsi_front_costs;

/* device: supernodes, written. places: only counted in; device is not looked at. tiled: by supernode. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fronts_place(tsi_env *env, const tsi_symbolic *symbolic,
                                                const tsi_panels *panels, tristar_method method,
                                                const bool *tiled, const tsi_front_costs *costs,
                                                tsi_index *device, tsi_front_places *places);

/* start_seconds is increased by the time that StarPU took to start. After a failure *places is empty. Errors:
 * PLACE_GPU: UNSUPPORTED, NO_WORKER; those of tsi_context_need_starpu; MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_places_choose(const tristar_factor_t *factor, double *start_seconds,
                                                       tsi_front_places *places);
void tsi_front_places_finish(tsi_env *env, tsi_front_places *places);
