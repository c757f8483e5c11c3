/* Makes the device tables of a triangle by rows (codelets/gpu/tables/device_rows.h) from its pattern and the
 * same partition that a CPU's plan has. Block algorithms have the same triangles and rectangles, rows ordered
 * in the same way; of the others the order of the rows is taken, and there is one triangle.
 *
 * Order. Blocks come as the cut has them. Inside a triangle rows come level by level, those of a level by
 * their threads (row_choice.h), else as in the partition; rows of a rectangle by their threads.
 * Tickets take the bundles in that order: what a row waits for has been drawn before.
 *
 * Reads   lines of F, a cut of them.
 * Writes  a tsi_device_row_plan, which owns its arrays; the tables' are one block of memory. */
#pragma once

#include "codelets/gpu/tables/device_rows.h"
#include "codelets/gpu/tables/row_choice.h"
#include "partition/cut/block_rows.h"

typedef struct tsi_device_row_options {
  tsi_device_row_way way; /* of all triangles */
  tsi_index lanes;        /* of the device's warps: 32 or 64 */
} tsi_device_row_options;

typedef struct tsi_device_row_plan {
  tsi_device_rows tables;
  tsi_index *order;  /* n: the given row that each row of the tables is */
  tsi_count *source; /* entries: where the value of each stands among those given */
} tsi_device_row_plan;

/* lines: rows or columns of a lower triangular F, with whatever diagonal, each ascending; the cut is one of
 * them. backward: the sweep with its transpose. After a failure *plan is empty. Errors: TOO_LARGE (more rows
 * of triangles and rectangles than 32-bit numbers), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_rows_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                                      const tsi_row_cut *cut,
                                                      const tsi_device_row_options *options,
                                                      tsi_device_row_plan *plan);
void tsi_device_rows_destroy(tsi_device_row_plan *plan);

/* Verifies the invariants that codelets/gpu/tables/device_rows.h states, against the lines that the tables
 * were made from: that each entry is with its row once, that each row is solved once and updated before, and
 * that what a row reads has been solved in a phase before, or in a bundle before whose flags it waits for.
 * Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_rows_check(tsi_env *env, const tsi_device_row_plan *plan,
                                                     const tsi_lines *lines, bool backward);

/* packed: the values of the lines' entries, as the tables have them. */
void tsi_device_rows_fill(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *values,
                          void *packed);
/* placed: scalars by given row, as the tables number them: the inverses of the diagonal. */
void tsi_device_rows_place(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *given,
                           void *placed);
