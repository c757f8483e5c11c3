/* Makes the tables of the published GPU solvers (codelets/gpu/tables/variant_tables.h) from device tables.
 *
 * Reads   device tables, whose panels and rows of panels it names by final columns.
 * Writes  a tsi_variant_tables that owns its arrays. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"
#include "runtime/base/env.h"

/* To be destroyed, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_variant_tables_create(tsi_env *env, const tsi_device_tables *from,
                                                         tsi_variant_tables *tables);
void tsi_variant_tables_destroy(tsi_variant_tables *tables);

/* Verifies the invariants that variant_tables.h states. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_variant_tables_check(tsi_env *env, const tsi_variant_tables *tables);
