/* A factor's structure cut for a GPU: chunks, sweeps and device tables, made like those of a plan for the CPU
 * but in finer pieces; and the conversion of a solve's call for a device.
 *
 * Reads   the structure of a factor. Each call has its values, so a plan stays valid after refactorizations.
 * Writes  a tsi_device_plan that owns its arrays and is immutable afterwards.
 * Invariants: those of chunks, sweeps and tables. L and U of different structure have separate tables, with x
 * in the same rows of the workspace. */
#pragma once

#include "runtime/exec/device/device_build.h"
#include "runtime/factor/factor.h"

typedef struct tsi_device_side {
  tsi_chunks *chunks;
  tsi_sweep *sweep;
  tsi_device_tables tables;
} tsi_device_side;

typedef struct tsi_device_plan {
  tsi_device_options options;
  int sides;
  tsi_device_side side[2]; /* 0: L, or the only factor; 1: U, if it has another structure */
} tsi_device_plan;

/* Sets the defaults: nodes of 64 KB, and the costs of the first device of the cost model. */
void tsi_device_options_init(tsi_device_options *options, size_t scalar_bytes);

/* Errors: UNSUPPORTED (a triangular matrix without supernodes), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_plan_create(tsi_env *env, const tristar_factor_t *factor,
                                                      const tsi_device_options *options,
                                                      tsi_device_plan **out);
void tsi_device_plan_destroy(tsi_device_plan **plan);

/* Converts the call of a solve of all rows (call->sparse is NULL) for a device. from: the factor's
 * interchanges as permutations (tsi_device_interchanges); NULL: none. Copies pointers without conversion. */
tsi_device_call tsi_device_call_of(const tsi_solve_call *call, const tsi_index *from);
