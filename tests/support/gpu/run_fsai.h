/* The GPU kernels of sparse approximate inverses, for tests in C: see runs.h. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes rows as lists, in one launch; n: order of A. The workspace of `rows` is not used: it is made here,
 * or is shared memory. scalars: "s", "d", "c", "z". */
run_outcome run_fsai(const char *scalars, const tsi_gpu_fsai *rows, tsi_index n, bool shared,
                     const run_grid *grid);

/* Packs the lists; sums are allocated here. The packed arrays have space for all lists. */
run_outcome run_fsai_rows(const char *scalars, const tsi_gpu_fsai_rows *rows, const run_grid *grid);

/* Computes G^H; scratch is allocated here. */
run_outcome run_fsai_adjoint(const char *scalars, const tsi_gpu_fsai_adjoint *adjoint, const run_grid *grid);

#ifdef __cplusplus
}
#endif
