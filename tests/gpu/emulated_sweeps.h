/* Solves by the GPU kernels in the emulator, for tests in C. */
#ifndef TSI_TESTS_GPU_EMULATED_SWEEPS_H
#define TSI_TESTS_GPU_EMULATED_SWEEPS_H

#include "codelets/gpu/gpu_faults.h"
#include "codelets/gpu/device_tables.h"
#include "codelets/gpu/variant_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emulated_grid {
  unsigned blocks, resident; /* of the grid; at once */
  unsigned threads, warp;
  uint64_t seed;
  int fault; /* gpu_fault_kind */
  bool count_loads;
} emulated_grid;

typedef struct emulated_outcome {
  bool ended; /* else: why not */
  char problem[4096];
  double loads, sectors, bytes; /* panel loads of warps */
} emulated_outcome;

/* The sweeps that the call has, forward with one factor's tables and backward with the other one's or the
 * same. scalars: "s", "d", "c", "z", "sd", "cz" as in codelets/gpu/launch.h. The call's workspace is not
 * used: there is one here, which begins with NaN in all rows. */
emulated_outcome emulated_sweeps(const char *scalars, const tsi_device_tables *forward,
                                 const tsi_device_tables *backward, const tsi_device_call *call,
                                 const emulated_grid *grid);

typedef enum emulated_variant { EMULATED_SC23, EMULATED_KK20 } emulated_variant;

/* The same by a published solver (codelets/gpu/variants.h). SC23: grid->blocks is not used; KK20: a launch a
 * level, of as many blocks as it has. */
emulated_outcome emulated_variant_sweeps(emulated_variant variant, const char *scalars,
                                         const tsi_variant_tables *forward,
                                         const tsi_variant_tables *backward, const tsi_device_call *call,
                                         const emulated_grid *grid);

#ifdef __cplusplus
}
#endif

#endif
