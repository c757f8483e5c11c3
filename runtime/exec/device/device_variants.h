/* Creates the tables of the published GPU solvers (codelets/gpu/tables/variant_tables.h) from device tables.
 *
 * Reads   device tables.
 * Writes  a tsi_variant_tables that owns its arrays, with panels and rows of panels by final columns. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"
#include "runtime/base/env.h"

/* The caller destroys the tables, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_variant_tables_create(tsi_env *env, const tsi_device_tables *from,
                                                         tsi_variant_tables *tables);
void tsi_variant_tables_destroy(tsi_variant_tables *tables);

/* Verifies the invariants of variant_tables.h. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_variant_tables_check(tsi_env *env, const tsi_variant_tables *tables);
