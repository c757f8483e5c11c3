/* Creates the device tables of a triangle by rows (codelets/gpu/tables/device_rows.h) from its pattern and
 * the partition of a CPU's plan. Block algorithms have the same triangles and rectangles as on the CPU, with
 * rows in the same order. For other algorithms the tables have the order of the rows, and one triangle.
 *
 * Order. Blocks keep the order of the cut. Inside a triangle rows are sorted by level, within a level by
 * their threads (row_choice.h), else as in the partition; rows of a rectangle are sorted by their threads.
 * Tickets take the bundles in this order, so the rows that a row waits for have been drawn before.
 *
 * Reads   lines of F, a cut of them.
 * Writes  a tsi_device_row_plan, which owns its arrays; the arrays of the tables are one block of memory. */
#pragma once

#include "codelets/gpu/tables/device_rows.h"
#include "codelets/gpu/tables/row_choice.h"
#include "partition/cut/block_rows.h"

typedef struct tsi_device_row_options {
  tsi_device_row_way way; /* of all triangles */
  tsi_index lanes;        /* lanes of a warp: 32 or 64 */
} tsi_device_row_options;

typedef struct tsi_device_row_plan {
  tsi_device_rows tables;
  tsi_index *order;  /* n: the given row of each row of the tables */
  tsi_count *source; /* entries: position of the value of each among the given values */
} tsi_device_row_plan;

/* lines: rows or columns of a lower triangular F, with any diagonal, each ascending; the cut is a cut of
 * these lines. backward: the sweep with its transpose. After a failure *plan is empty. Errors: TOO_LARGE
 * (more rows of triangles and rectangles than 32-bit numbers), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_rows_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                                      const tsi_row_cut *cut,
                                                      const tsi_device_row_options *options,
                                                      tsi_device_row_plan *plan);
void tsi_device_rows_destroy(tsi_device_row_plan *plan);

/* Verifies the invariants of codelets/gpu/tables/device_rows.h against the lines: each entry is in its row
 * once; each row is solved once, after all its updates; a row reads only rows solved in an earlier phase, or
 * in an earlier bundle for whose flags it waits. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_rows_check(tsi_env *env, const tsi_device_row_plan *plan,
                                                     const tsi_lines *lines, bool backward);

/* packed: the values of the lines' entries, in the order of the tables. */
void tsi_device_rows_fill(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *values,
                          void *packed);
/* placed: the inverses of the diagonal, given by row, in the order of the tables. */
void tsi_device_rows_place(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *given,
                           void *placed);
