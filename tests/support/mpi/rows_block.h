/* Rows of a matrix as a rank passes them: a block in compressed rows. */
#ifndef TSI_TESTS_SUPPORT_MPI_ROWS_BLOCK_H
#define TSI_TESTS_SUPPORT_MPI_ROWS_BLOCK_H

#include "tests/support/check.h"

/* Rows first .. end - 1 of a view in compressed columns, as compressed rows of a block. */
typedef struct rows_block {
  int64_t *ptr;
  int64_t *index;
  char *values;
  tristar_view view;
} rows_block;

static inline rows_block take_rows(const tristar_view *view, size_t bytes, int64_t first, int64_t end,
                                   int base) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  const size_t entries = (size_t)ptr[view->cols];
  rows_block o = {.ptr = calloc((size_t)(end - first) + 2, sizeof *o.ptr),
                  .index = malloc(entries * sizeof *o.index + 1),
                  .values = malloc(entries * bytes + 1)};
  int64_t *next = o.ptr + 1; /* first counts, shifted by one more; then where the next entry of a row goes */
  for (int64_t k = 0; k < ptr[view->cols]; k++)
    if (index[k] >= first && index[k] < end && index[k] + 1 < end) next[index[k] - first + 1]++;
  for (int64_t i = 1; i <= end - first; i++) o.ptr[i] += o.ptr[i - 1];
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) {
      if (index[k] < first || index[k] >= end) continue;
      const int64_t at = next[index[k] - first]++;
      o.index[at] = j + base;
      memcpy(o.values + (size_t)at * bytes, (const char *)view->values + (size_t)k * bytes, bytes);
    }
  for (int64_t i = 0; i <= end - first; i++) o.ptr[i] += base;
  o.view = *view;
  o.view.format = TRISTAR_CSR;
  o.view.rows = end - first;
  o.view.ptr = o.ptr;
  o.view.index = o.index;
  o.view.values = o.values;
  o.view.index_bits = 64;
  o.view.base = base;
  return o;
}

static inline void release_rows(rows_block *o) {
  free(o->ptr);
  free(o->index);
  free(o->values);
}

#endif
