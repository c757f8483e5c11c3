/* The line of each entry of a file, for messages about entries that were read long before.
 *
 * Entries follow each other line by line but for blank lines and comments between them: all that is kept is
 * where such a gap is, so that a file without gaps costs no memory.
 * Invariant: entry k of run r, runs[r].entry <= k < runs[r+1].entry, is in line runs[r].line + k -
 * runs[r].entry. */
#ifndef TSI_RUNTIME_MATRIX_FILE_LINE_RUNS_H
#define TSI_RUNTIME_MATRIX_FILE_LINE_RUNS_H

#include "runtime/base/env.h"

typedef struct tsi_line_run {
  tsi_count entry, line; /* the first entry of the run, and its line */
} tsi_line_run;

typedef struct tsi_line_runs {
  tsi_env *env;
  tsi_line_run *runs;
  tsi_count count, capacity;
} tsi_line_runs;

void tsi_line_runs_init(tsi_line_runs *lines, tsi_env *env);
/* Entry k is in this line; k counts from 0, and comes after k - 1. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_line_runs_note(tsi_line_runs *lines, tsi_count k, tsi_count line);
/* The line of an entry that has been noted. */
tsi_count tsi_line_runs_find(const tsi_line_runs *lines, tsi_count k);
void tsi_line_runs_free(tsi_line_runs *lines);

#endif
