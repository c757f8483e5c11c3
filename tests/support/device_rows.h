/* Device tables of triangles by rows, for tests. */
#pragma once

#include "runtime/exec/device/device_rows.h"
#include "tests/support/triangle_system.h"

/* One problem: a triangle, the sweep, the partition and the tables. */
typedef struct row_problem {
  bool columns, backward; /* lines are columns of F; the sweep uses the transpose */
  tsi_row_way partition;
  tsi_index blocks; /* number of blocks of block partitions */
  tsi_device_row_options options;
} row_problem;

static const tsi_row_way row_partitions[] = {TSI_ROWS_WHOLE,      TSI_ROWS_LEVELS,
                                             TSI_ROWS_SUPERSTEPS, TSI_ROWS_COLUMN_BLOCKS,
                                             TSI_ROWS_ROW_BLOCKS, TSI_ROWS_RECURSIVE_BLOCKS};
enum { ROW_PARTITIONS = sizeof row_partitions / sizeof *row_partitions };

static inline tsi_lines row_problem_lines(const system_of *s, const row_problem *p) {
  const triangle_pattern *pattern = &s->pattern[p->columns];
  return (tsi_lines){pattern->n, pattern->ptr, pattern->index, p->columns};
}

static inline tristar_status row_problem_create(tsi_env *env, const system_of *s, const row_problem *p,
                                                tsi_device_row_plan *plan) {
  const tsi_lines lines = row_problem_lines(s, p);
  tsi_row_options options;
  TSI_OWNED tsi_row_cut *cut = NULL;
  *plan = (tsi_device_row_plan){.order = NULL};
  tsi_row_options_init(&options, p->partition, 2, s->t->bytes);
  options.blocks = p->blocks;
  TSI_TRY(tsi_row_cut_create(env, &lines, &options, NULL, 0, &cut));
  return tsi_device_rows_create(env, &lines, p->backward, cut, &p->options, plan);
}
