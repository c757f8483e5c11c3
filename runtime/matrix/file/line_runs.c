/* Lines of entries, run by run: see line_runs.h. */
#include "runtime/matrix/file/line_runs.h"

#include "runtime/base/grow.h"

void tsi_line_runs_init(tsi_line_runs *lines, tsi_env *env) {
  *lines = (tsi_line_runs){.env = env};
}

void tsi_line_runs_free(tsi_line_runs *lines) {
  TSI_FREE(lines->env, lines->runs);
  lines->count = lines->capacity = 0;
}

tristar_status tsi_line_runs_note(tsi_line_runs *lines, tsi_count k, tsi_count line) {
  const tsi_line_run *last = lines->count > 0 ? &lines->runs[lines->count - 1] : NULL;
  if (last != NULL && line - last->line == k - last->entry) return TRISTAR_OK;
  if (lines->count == lines->capacity) {
    const tsi_count capacity = lines->capacity > 0 ? 2 * lines->capacity : 16;
    TSI_TRY(tsi_grow(lines->env, (void **)&lines->runs, sizeof *lines->runs, lines->count, capacity));
    lines->capacity = capacity;
  }
  lines->runs[lines->count++] = (tsi_line_run){k, line};
  return TRISTAR_OK;
}

tsi_count tsi_line_runs_find(const tsi_line_runs *lines, tsi_count k) {
  tsi_count low = 0, high = lines->count; /* the run is in low .. high-1 */
  while (high - low > 1) {
    const tsi_count middle = low + (high - low) / 2;
    if (lines->runs[middle].entry <= k)
      low = middle;
    else
      high = middle;
  }
  return lines->runs[low].line + k - lines->runs[low].entry;
}
