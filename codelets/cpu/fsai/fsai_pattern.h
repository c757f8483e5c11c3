/* Operations on patterns of rows of a sparse approximate inverse, single or in groups (fsai.h): choose the
 * largest entries, and write the result of a row. For the file's scalar type. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"
#include "codelets/cpu/rows/pivots.h"
#include "codelets/cpu/base/scalar.h"

#define TSI_FSAI_ALONE TSI_PASTE(TSI_TYPED(tsi_fsai_alone), TSI_ISA)
/* kernel_fsai.c: computes a single row of any size. */
void TSI_FSAI_ALONE(const tsi_matrix_rows *a, const tsi_fsai_limits *limits, tsi_fsai_row *row,
                    tsi_fsai_work *work);

/* Inserts the entry of slot s among the `count` largest so far, the largest first; of equal ones the smaller
 * column first. Its size is not below the minimum. Returns the new count, at most `most`. column: by slot. */
INLINE tsi_index tsi_fsai_keep(tsi_index s, double size, tsi_index count, tsi_index most,
                               const tsi_index *column, tsi_index *picked, double *magnitude) {
  tsi_index at = count;
  while (at > 0 &&
         (size > magnitude[at - 1] || (size == magnitude[at - 1] && column[s] < column[picked[at - 1]])))
    at--;
  if (at == most) return count;
  if (count < most) count++;
  for (tsi_index k = count - 1; k > at; k--) {
    magnitude[k] = magnitude[k - 1];
    picked[k] = picked[k - 1];
  }
  magnitude[at] = size;
  picked[at] = s;
  return count;
}

/* Returns the key that orders entries by magnitude: for complex numbers the square of the magnitude. */
INLINE double tsi_fsai_size(tsi_scalar x) {
  const double re = (double)tsi_re(x), im = (double)tsi_im(x);
  return TSI_COMPLEX ? re * re + im * im : fabs(re);
}

/* Lists the columns of the pattern, ascending, whose entries of g are large enough. */
INLINE tsi_index tsi_fsai_list_large(tsi_index size, const tsi_index *pattern, const tsi_scalar *g,
                                     double share, tsi_index *list) {
  double square = 1;
  tsi_index count = 0;
  for (tsi_index r = 0; r < size; r++) square += (double)tsi_abs(g[r]) * (double)tsi_abs(g[r]);
  const double least = share * sqrt(square);
  for (tsi_index r = 0; r < size; r++) {
    tsi_index at = count;
    if ((double)tsi_abs(g[r]) < least) continue;
    for (; at > 0 && list[at - 1] > pattern[r]; at--) list[at] = list[at - 1];
    list[at] = pattern[r];
    count++;
  }
  return count;
}

/* Writes the pattern of a row that broke down: the columns so far, or the given columns, if they are more. */
INLINE void tsi_fsai_list(tsi_index size, const tsi_index *pattern, tsi_fsai_row *row) {
  tsi_index *index = row->index;
  if (size < row->count) {
    size = row->count;
    for (tsi_index r = 0; r < size; r++) index[r] = row->given[r];
  } else
    for (tsi_index r = 0; r < size; r++) {
      tsi_index at = r;
      for (; at > 0 && index[at - 1] > pattern[r]; at--) index[at] = index[at - 1];
      index[at] = pattern[r];
    }
  index[size] = row->i;
  row->entries = size + 1;
}

/* Writes g / sqrt(psi), columns ascending. */
INLINE void tsi_fsai_write(tsi_index size, const tsi_index *pattern, const tsi_scalar *g, double psi,
                           tsi_fsai_row *row) {
  tsi_index *index = row->index;
  tsi_scalar root, *values = row->values;
  row->entries = size + 1;
  row->kind = tsi_pivot_root((tsi_real)psi, true, &root);
  if (row->kind != TSI_BREAKDOWN_NONE) return;
  const tsi_real factor = 1 / tsi_re(root);
  for (tsi_index r = 0; r < size; r++) {
    const tsi_index column = pattern[r];
    tsi_index before = 0;
    for (tsi_index k = 0; k < size; k++) before += pattern[k] < column;
    index[before] = column;
    values[before] = g[r] * factor;
  }
  index[size] = row->i;
  values[size] = factor;
  row->kind = tsi_judge_row(1, (tsi_count)size + 1, values);
}
