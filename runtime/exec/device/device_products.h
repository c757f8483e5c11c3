/* Makes device tables (codelets/gpu/tables/device_rows.h) of the products of a partitioned inverse
 * (dag/products.h): a phase for each stage, all rows of which may be computed at the same time.
 *
 * Reads   products, rows and columns of their matrix as rows of the workspace.
 * Writes  a tsi_device_row_plan without solved rows and without an order; its tables know the workspace by
 * the numbers of its rows alone. */
#ifndef TSI_RUNTIME_EXEC_DEVICE_DEVICE_PRODUCTS_H
#define TSI_RUNTIME_EXEC_DEVICE_DEVICE_PRODUCTS_H

#include "codelets/cpu/rows/spmv.h"
#include "dag/products.h"
#include "runtime/exec/device/device_rows.h"

/* rows: the matrix of the products; values are not looked at. workspace: rows of the workspace. lanes: of the
 * device's warps. To be destroyed, also after a failure. Errors: TOO_LARGE (more rows than 32-bit numbers),
 * MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_device_products_create(tsi_env *env, const tsi_products *products,
                                                          const tsi_spmv_rows *rows, tsi_index workspace,
                                                          tsi_index lanes, tsi_device_row_plan *plan);

/* Verifies that each row of each stage is in the stage's phase once, with its entries in their order, and
 * that no phase reads what it writes. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_products_check(tsi_env *env, const tsi_device_row_plan *plan,
                                                         const tsi_products *products,
                                                         const tsi_spmv_rows *rows, tsi_index workspace);

#endif
