/* train_kernels [REPEATS [ENTRIES]]: times of the kernels of rectangles (codelets/cpu/rows/blocks.h), in each
 * format and variant, over a grid of properties of a rectangle; comma-separated values on standard output. A
 * line:
 *
 *   row_entries   mean of the nonempty rows; they have 1 .. 2 row_entries - 1 entries, at random
 *   empty_share   share of empty rows, at random positions
 *   columns       the width; entries are at random columns
 *   stride        right-hand sides
 *   call_rows     rows of a call; 0: all
 *   csr32 ...     smallest nanoseconds per entry of REPEATS (default 15) runs over about ENTRIES (2^17)
 *                 entries, for rows that are consecutive (csr) or listed (dcsr), columns in 32 or 16 bits,
 *                 entry by entry or in lanes
 *
 * The variants of a case run in turn, so that disturbances of the machine affect all alike. The smallest time
 * is that of an undisturbed run. */
#include <stdio.h>
#include <stdlib.h>

#include "codelets/cpu/rows/blocks.h"
#include "runtime/base/clock.h"

enum { REPEATS = 15, ENTRIES = 1 << 17, VARIANTS = 8, SCALARS = 4, ISAS = 3 };

static const char *const isas[ISAS] = {"base", "avx2", "avx512"};
static const char scalars[SCALARS + 1] = "sdcz";
/* Bits of a variant's number: 1 listed, 2 in 16 bits, 4 in lanes. */
static const char *const variant_names[VARIANTS] = {
    "csr32", "dcsr32", "csr16", "dcsr16", "csr32_lanes", "dcsr32_lanes", "csr16_lanes", "dcsr16_lanes"};

typedef struct grid_case {
  tsi_index row_entries, columns;
  double empty_share;
  tsi_index stride, call_rows;
} grid_case;

typedef struct grid_rectangle {
  tsi_index rows, filled; /* all rows, nonempty rows */
  tsi_count entries;
  tsi_count *ptr, *listed_ptr;
  tsi_index *row, *column;
  uint16_t *short_column;
} grid_rectangle;

static void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count + 1, bytes);
  if (memory == NULL) {
    fprintf(stderr, "train_kernels: no memory for %zu times %zu bytes\n", count, bytes);
    exit(1);
  }
  return memory;
}

static tsi_index random_below(uint64_t *state, tsi_index limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (tsi_index)(((*state >> 33) * (uint64_t)limit) >> 31);
}

/* In the workspace rows 0 .. columns - 1 are the columns; the rows follow. */
static grid_rectangle make_rectangle(const grid_case *c, tsi_index entries) {
  const tsi_index filled = tsi_index_max(1, entries / c->row_entries);
  grid_rectangle r = {.rows = (tsi_index)(filled / (1 - c->empty_share))};
  const size_t room = 2 * (size_t)entries + (size_t)(2 * c->row_entries);
  uint64_t state = 1;
  r.ptr = allocate((size_t)r.rows + 1, sizeof *r.ptr);
  r.listed_ptr = allocate((size_t)r.rows + 1, sizeof *r.listed_ptr);
  r.row = allocate((size_t)r.rows, sizeof *r.row);
  r.column = allocate(room, sizeof *r.column);
  r.short_column = allocate(room, sizeof *r.short_column);
  for (tsi_index k = 0; k < r.rows; k++) {
    const bool empty = random_below(&state, 1000) < (tsi_index)(1000 * c->empty_share);
    tsi_index count = empty ? 0 : 1 + random_below(&state, 2 * c->row_entries - 1);
    if (r.entries + count > (tsi_count)room) count = 0;
    for (tsi_index e = 0; e < count; e++) {
      r.column[r.entries] = random_below(&state, c->columns);
      r.short_column[r.entries] = (uint16_t)r.column[r.entries];
      r.entries++;
    }
    r.ptr[k + 1] = r.entries;
    if (count == 0) continue;
    r.row[r.filled] = c->columns + k;
    r.listed_ptr[++r.filled] = r.entries;
  }
  return r;
}

static void free_rectangle(grid_rectangle *r) {
  free(r->ptr);
  free(r->listed_ptr);
  free(r->row);
  free(r->column);
  free(r->short_column);
}

static double run(const tsi_block_kernels *kernels, const grid_case *c, const grid_rectangle *r, int variant,
                  const void *values, void *work) {
  const bool listed = variant & 1, narrow = variant & 2, lanes = variant & 4;
  const tsi_rectangle rectangle = {.ptr = listed ? r->listed_ptr : r->ptr,
                                   .row = listed ? r->row : NULL,
                                   .column = narrow ? NULL : r->column,
                                   .short_column = narrow ? r->short_column : NULL,
                                   .values = values,
                                   .first_row = c->columns,
                                   .first_column = 0};
  const tsi_index rows = listed ? r->filled : r->rows, step = c->call_rows > 0 ? c->call_rows : rows;
  const double begin = tsi_clock();
  for (tsi_index k = 0; k < rows; k += step)
    kernels->update(&rectangle, k, tsi_index_min(rows, k + step), lanes, c->stride, work);
  return tsi_clock() - begin;
}

/* Measures all variants of the case. With several right-hand sides there are no lanes. */
static void measure(const char *isa, int scalar, const grid_case *c, const grid_rectangle *r, int repeats,
                    const void *values, void *work) {
  const tsi_block_kernels *kernels = tsi_block_kernels_select(scalars[scalar], isa);
  if (kernels == NULL) return;
  const int variants = c->stride == 1 ? VARIANTS : VARIANTS / 2;
  double least[VARIANTS];
  for (int k = 0; k <= repeats; k++)
    for (int v = 0; v < variants; v++) {
      const double seconds = run(kernels, c, r, v, values, work);
      if (k <= 1 || seconds < least[v]) least[v] = seconds; /* the first one warms up */
    }
  printf("%c,%s,%d,%g,%d,%d,%d", scalars[scalar], isa, c->row_entries, c->empty_share, c->columns, c->stride,
         c->call_rows);
  for (int v = 0; v < VARIANTS; v++)
    if (v < variants)
      printf(",%.3g", 1e9 * least[v] / (double)tsi_count_max(1, r->entries));
    else
      printf(",");
  printf("\n");
}

/* Each scalar and instruction set on the same rectangle. Values and vectors are zero: times do not depend on
 * them. */
static void measure_all(const grid_case *c, int repeats, tsi_index entries) {
  grid_rectangle r = make_rectangle(c, entries);
  void *values = allocate((size_t)r.entries, 16);
  void *work = allocate(((size_t)c->columns + (size_t)r.rows) * (size_t)c->stride, 16);
  for (int scalar = 0; scalar < SCALARS; scalar++)
    for (int i = 0; i < ISAS; i++) measure(isas[i], scalar, c, &r, repeats, values, work);
  free(values);
  free(work);
  free_rectangle(&r);
}

int main(int argc, char **argv) {
  static const tsi_index row_entries[] = {1, 2, 4, 8, 12, 16, 24, 32, 64}, call_rows[] = {1, 4, 16, 64, 256};
  static const double empty_share[] = {0, 0.1, 0.3, 0.6, 0.9};
  const int repeats = argc > 1 ? atoi(argv[1]) : REPEATS, entries = argc > 2 ? atoi(argv[2]) : ENTRIES;
  if (repeats < 1 || entries < 1 || argc > 3) {
    fprintf(stderr, "usage: train_kernels [REPEATS [ENTRIES]]\n");
    return 2;
  }
  printf("scalar,isa,row_entries,empty_share,columns,stride,call_rows");
  for (int v = 0; v < VARIANTS; v++) printf(",%s", variant_names[v]);
  printf("\n");
  for (int k = 0; k < 9; k++)
    for (int s = 0; s < 5; s++) {
      const tsi_index m = row_entries[k];
      measure_all(&(grid_case){m, 2048, empty_share[s], 1, 0}, repeats, entries);
      measure_all(&(grid_case){m, TSI_SHORT_COLUMNS, empty_share[s], 1, 0}, repeats, entries);
      measure_all(&(grid_case){m, 2048, empty_share[s], 8, 0}, repeats, entries);
    }
  for (int k = 0; k < 5; k++) /* effect of small calls */
    for (tsi_index m = 2; m <= 32; m *= 4)
      measure_all(&(grid_case){m, 2048, 0, 1, call_rows[k]}, repeats, entries);
  return 0;
}
