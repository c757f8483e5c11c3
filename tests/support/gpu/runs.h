/* Solves by the GPU kernels, for tests in C: in the emulator with the schedule of a grid (emulated_*.cpp), or
 * on a device (device_runs.c), which has its own schedules. */
#pragma once

#include "codelets/gpu/tables/gpu_faults.h"
#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_grid {
  unsigned blocks, resident; /* blocks of the grid; blocks that are resident at once */
  unsigned threads, warp;
  uint64_t seed;
  int fault; /* gpu_fault_kind */
  bool count_loads;
} run_grid;

typedef struct run_outcome {
  bool ended; /* false: `problem` has the reason */
  char problem[4096];
  double loads, sectors, bytes; /* panel loads of warps */
  double seconds;               /* of all runs of run_programs on a device; else 0 */
} run_outcome;

/* Returns the number of lanes of a warp if a test prefers `wanted`: in the emulator the same number. */
unsigned run_warp(unsigned wanted);
/* Do faults of a grid have an effect? */
bool run_has_faults(void);
/* Returns the number of processors of a GPU. Not for the emulator, unless it stands for a board. */
unsigned run_processors(void);

/* Runs the sweeps of the call, with a table for each direction; both may be the same. scalars: "s", "d", "c",
 * "z", "sd", "cz" as in codelets/gpu/tables/launch.h. The call's workspace is copied to the device and back.
 * If the call has none (NULL), a workspace with another stride is made here, which begins with NaN in all
 * rows. */
run_outcome run_sweeps(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, const run_grid *grid);

typedef enum run_variant_kind { RUN_SC23, RUN_KK20 } run_variant_kind;

/* Does the same by a published solver (codelets/gpu/tables/variants.h); the call's workspace is not used.
 * SC23: grid->blocks is not used; KK20: one launch per level, with one block per supernode. */
run_outcome run_variant(run_variant_kind variant, const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call,
                        const run_grid *grid);

#ifdef __cplusplus
}
#endif
