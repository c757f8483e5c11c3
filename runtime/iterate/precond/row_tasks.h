/* The rows of factors as tasks: rows of one level set of L do not wait for each other (Anderson and Saad
 * 1989), and are divided among the workers.
 *
 * Job. Group the rows: of a level set that is worth it several groups; level sets that are not come together
 * in one. Run a function on every row, on StarPU or here.
 *
 * Reads   a pattern with L left of the diagonal.   Writes  its own members.
 * Invariants
 *   - a row runs after the rows that it has entries of L in
 *   - groups of one part run one after the other: 0 <= part < parts, so scratch belongs to a part
 *   - one run at a time */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"

#define TSI_ROW_TASKS_LEAST 3 /* parts: with fewer, tasks are never faster than one row after the other */

typedef struct tsi_row_tasks tsi_row_tasks;

/* Works on row i, with the scratch of a part; must not fail. */
typedef void (*tsi_row_function)(void *context, tsi_index i, tsi_index part);

/* asked_for: whatever is faster; else *out is NULL where one row after the other is predicted to be. StarPU
 * is started if it does not run. Errors: MEMORY, TOO_LARGE, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_row_tasks_create(tristar_t *ts, const tsi_factor_rows *rows,
                                                    tsi_index parts, bool asked_for, tsi_row_tasks **out);
void tsi_row_tasks_destroy(tsi_row_tasks **tasks);

tsi_index tsi_row_tasks_parts(const tsi_row_tasks *tasks);

/* Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_tasks_run(tsi_row_tasks *tasks, tsi_row_function function,
                                                 void *context);
