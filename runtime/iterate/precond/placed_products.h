/* Consecutive products with sparse matrices on a device, X = A_1 A_0 B: an application of a sparse
 * approximate inverse.
 *
 * Job. Store the matrices on a device, send B there, multiply by the kernel of codelets/gpu/spmv.gpu.h, and
 * copy X back. The result of the first product stays on the device. Each product is a StarPU task on the
 * device.
 *
 * Reads   matrices by compressed rows, b.   Writes  x, its own arrays.
 * Invariants
 *   - the matrices are sent once, with the first product
 *   - the order of sums depends only on the matrices (spmv_launch.h)
 *   - one call at a time uses the arrays; others wait for it */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "runtime/context/context.h"
#include "tristar_precond.h"

enum { TSI_PLACED_PRODUCTS = 2 }; /* number of matrices */

typedef struct tsi_placed_products tsi_placed_products;

/* A_0, A_1: n x n, with values of the scalar type; they must outlive *out. columns: right-hand sides of a
 * task. *out is NULL if products are to run on cores: options->place is CPU, or AUTO without a suitable
 * device. A device is not suitable if cores are predicted to be faster, or if it lacks memory (with a warning
 * in the log). Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER, MEMORY if the device lacks memory; MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_placed_products_create(tristar_t *ts,
                                                          const tristar_precond_options *options, char scalar,
                                                          size_t scalar_bytes, tsi_index n, tsi_index columns,
                                                          const tsi_matrix_rows matrix[TSI_PLACED_PRODUCTS],
                                                          tsi_placed_products **out);
void tsi_placed_products_destroy(tsi_placed_products **products);

/* x may be b. Errors: RUNTIME; UNSUPPORTED (inside a StarPU task). */
TRISTAR_CHECKED tristar_status tsi_placed_products_multiply(tsi_placed_products *products, int64_t nrhs,
                                                            const void *b, int64_t ldb, void *x, int64_t ldx);
