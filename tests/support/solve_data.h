/* The data of a structure with tables for the kernels of the host, for tests without a plan. */
#pragma once

#include "codelets/cpu/kernels.h"
#include "runtime/exec/steps/tables.h"
#include "tests/support/dags.h"

/* Updates are pulled. */
static inline tsi_solve_data solve_data_of(char scalar, tsi_inverse inverse, const structure *s,
                                           const tsi_tables *tables) {
  return (tsi_solve_data){.kernels = tsi_kernels_select(scalar, inverse, NULL),
                          .chunks = s->chunks->count,
                          .chunk = tables->chunk,
                          .slice = tables->slice,
                          .panel = tables->panel,
                          .local_row = s->chunks->local_row,
                          .off = s->chunks->off,
                          .pair = tables->pair,
                          .by_target = s->sweep->by_target};
}
