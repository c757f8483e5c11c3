/* Solves by the GPU kernels, for tests in C: in the emulator, in the schedule that a grid asks for
 * (emulated_*.cpp), or on a device (device_runs.c), which has its own schedules. */
#pragma once

#include "codelets/gpu/tables/gpu_faults.h"
#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_grid {
  unsigned blocks, resident; /* of the grid; at once */
  unsigned threads, warp;
  uint64_t seed;
  int fault; /* gpu_fault_kind */
  bool count_loads;
} run_grid;

typedef struct run_outcome {
  bool ended; /* else: why not */
  char problem[4096];
  double loads, sectors, bytes; /* panel loads of warps */
  double seconds;               /* of all runs of run_programs on a device; else 0 */
} run_outcome;

/* The warps that kernels have where a test would like so many lanes: so many in the emulator. */
unsigned run_warp(unsigned wanted);
/* Do faults of a grid have an effect? */
bool run_has_faults(void);
/* Of a GPU; not in the emulator, unless it stands for a board. */
unsigned run_processors(void);

/* The sweeps that the call has, forward with one factor's tables and backward with the other one's or the
 * same. scalars: "s", "d", "c", "z", "sd", "cz" as in codelets/gpu/tables/launch.h. The call's workspace is
 * taken up, as the caller has left it, and brought back; a call without one (NULL) has one here, of a stride
 * of its own, which begins with NaN in all rows. */
run_outcome run_sweeps(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, const run_grid *grid);

typedef enum run_variant_kind { RUN_SC23, RUN_KK20 } run_variant_kind;

/* The same by a published solver (codelets/gpu/tables/variants.h); the call's workspace is not used. SC23:
 * grid->blocks is not used; KK20: a launch a level, of as many blocks as it has. */
run_outcome run_variant(run_variant_kind variant, const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call,
                        const run_grid *grid);

#ifdef __cplusplus
}
#endif
