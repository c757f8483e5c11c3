/* Tasks that compute the rows of factors. Rows of one level set of L do not depend on each other (Anderson
 * and Saad 1989), so workers can share them.
 *
 * Job. Group the rows. A level set with enough entries becomes several groups; consecutive smaller level sets
 * become one group. Run a function on every row, on StarPU or in the calling thread.
 *
 * Reads   a pattern with L left of the diagonal.   Writes  its own members.
 * Invariants
 *   - a row runs after all rows that its entries of L refer to
 *   - groups of one part run one after the other, 0 <= part < parts, so each part has one scratch
 *   - one run at a time */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"

#define TSI_ROW_TASKS_LEAST 3 /* parts; with fewer, tasks are never faster than computing rows in order */

typedef struct tsi_row_tasks tsi_row_tasks;

/* Processes row i with the scratch of a part; must not fail. */
typedef void (*tsi_row_function)(void *context, tsi_index i, tsi_index part);

/* requested: make tasks in any case. Otherwise *out is NULL if computing rows in order is predicted to be
 * faster. Starts StarPU if it does not run. Errors: MEMORY, TOO_LARGE, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_row_tasks_create(tristar_t *ts, const tsi_factor_rows *rows,
                                                    tsi_index parts, bool requested, tsi_row_tasks **out);
void tsi_row_tasks_destroy(tsi_row_tasks **tasks);

tsi_index tsi_row_tasks_parts(const tsi_row_tasks *tasks);

/* Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_tasks_run(tsi_row_tasks *tasks, tsi_row_function function,
                                                 void *context);
