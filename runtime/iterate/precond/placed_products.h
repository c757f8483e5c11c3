/* Products with sparse matrices one after the other on a device, X = A_1 A_0 B: an application of a sparse
 * approximate inverse.
 *
 * Job. Keep the matrices on a device, send B there, multiply by the kernel of codelets/gpu/spmv.gpu.h, and
 * bring X back. What one product leaves for the next one stays on the device. Each product is a StarPU task
 * on the device.
 *
 * Reads   matrices by compressed rows, b.   Writes  x, arrays of its own.
 * Invariants
 *   - the matrices are sent once, with the first product
 *   - the order of sums depends on the matrices alone (spmv_launch.h)
 *   - one call at a time works with the arrays; others wait for it */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "runtime/context/context.h"
#include "tristar_precond.h"

enum { TSI_PLACED_PRODUCTS = 2 }; /* matrices */

typedef struct tsi_placed_products tsi_placed_products;

/* A_0, A_1: n x n, with values of the scalar type; they must outlive it. columns: right-hand sides of a task.
 * *out is NULL if the products are to be on the cores: options->place is CPU; or it is AUTO and there is no
 * device, or the cores are predicted to be faster; or the device has no room, with a warning in the log.
 * Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER, MEMORY if the device has no room; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_placed_products_create(tristar_t *ts,
                                                          const tristar_precond_options *options, char scalar,
                                                          size_t scalar_bytes, tsi_index n, tsi_index columns,
                                                          const tsi_matrix_rows matrix[TSI_PLACED_PRODUCTS],
                                                          tsi_placed_products **out);
void tsi_placed_products_destroy(tsi_placed_products **products);

/* x may be b. Errors: RUNTIME; UNSUPPORTED (inside a StarPU task). */
TRISTAR_CHECKED tristar_status tsi_placed_products_multiply(tsi_placed_products *products, int64_t nrhs,
                                                            const void *b, int64_t ldb, void *x, int64_t ldx);
