/* Tables for published GPU solvers, with which the sweeps of device_tables.h are compared: a factor F as
 * panels and rows of panels, without chunks.
 *
 * Panels have the order of their columns. Row i of panel p is row row[panel[p].row + i] of x, a final column.
 * A segment is a run of a panel's rows that are columns of one other panel, its target.
 *
 * Workspace: n rows of x, row j for final column j, then n rows of sums, which are zero before a solve.
 *
 * Invariants (tsi_variant_tables_check)
 *   - panels follow each other without gap, from column 0 to n
 *   - the segments of a panel cover its rows in their order; rows of a segment ascend and are columns of the
 *     target, which has a higher number than the panel
 *   - into lists each segment once, under its target, ascending
 *   - levels list each panel once; the target of a segment is in a higher level than its panel */
#pragma once

#include "codelets/cpu/base/panel.h"

typedef struct tsi_variant_segment {
  tsi_index panel, target;
  tsi_index first, count; /* rows of the panel */
} tsi_variant_segment;

typedef struct tsi_variant_tables {
  tsi_inverse inverse; /* treatment of the diagonal blocks in the values */
  tsi_index n, panels, segments, levels;
  tsi_count rows;                     /* length of row */
  const tsi_panel *panel;             /* panels; x and row are those of these tables */
  const tsi_index *row;               /* final columns */
  const tsi_index *segment_ptr;       /* panels + 1: segments of a panel */
  const tsi_variant_segment *segment; /* segments */
  const tsi_index *into_ptr;          /* panels + 1: range in into of the segments with this target */
  const tsi_index *into;              /* segments */
  const tsi_index *level_ptr;         /* levels + 1 */
  const tsi_index *level;             /* panels, level by level, forward */
} tsi_variant_tables;
