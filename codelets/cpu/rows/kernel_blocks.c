/* Products with rectangles and solves with triangles by rows: see blocks.h. Compiled for each scalar type and
 * instruction set.
 *
 * There is one function for each way and format of columns. Each row tests whether rows are listed; the
 * branch is always the same. */
#include "codelets/cpu/rows/blocks.h"

#include "codelets/cpu/base/vector.h"

/* What a row of a rectangle is made of; bits of a column, 16 or 32, are a constant. */
typedef struct row_entries {
  const tsi_scalar *values;
  const tsi_index *column;
  const uint16_t *short_column;
  tsi_count count;
} row_entries;

INLINE row_entries entries_of(const int bits, const tsi_rectangle *r, tsi_index k) {
  const tsi_count begin = r->ptr[k];
  row_entries row = {(const tsi_scalar *)r->values + begin, NULL, NULL, r->ptr[k + 1] - begin};
  if (bits == 16)
    row.short_column = r->short_column + begin;
  else
    row.column = r->column + begin;
  return row;
}
INLINE ptrdiff_t column_of(const int bits, const row_entries *row, tsi_count e) {
  return bits == 16 ? (ptrdiff_t)row->short_column[e] : (ptrdiff_t)row->column[e];
}
/* Return the base of columns, and the row of the workspace for row k. */
INLINE const tsi_scalar *columns_from(const int bits, const tsi_rectangle *r, ptrdiff_t stride,
                                      const tsi_scalar *work) {
  return bits == 16 ? work + r->first_column * stride : work;
}
INLINE ptrdiff_t row_of(const tsi_rectangle *r, tsi_index k) {
  return r->row ? (ptrdiff_t)r->row[k] : (ptrdiff_t)r->first_row + k;
}

/* ---- One right-hand side ------------------------------------------------------------------------------- */

INLINE tsi_scalar sum_entries(const int bits, const row_entries *row, const tsi_scalar *from) {
  tsi_scalar a = 0;
  for (tsi_count e = 0; e < row->count; e++) a += row->values[e] * from[column_of(bits, row, e)];
  return a;
}

/* Gathers x for entries e .. e + count - 1 <= e + 7; zero beyond. */
INLINE vec gather(const int bits, const row_entries *row, tsi_count e, tsi_index count,
                  const tsi_scalar *from) {
  const tsi_real *reals = (const tsi_real *)from;
  vec v;
  if (count >= B) {
#define FULL_LANE(l) reals[PARTS * column_of(bits, row, e + r * WIDE + (l) / PARTS) + (l) % PARTS]
    EACH_REG(r) v.r[r] = (reg){EACH_LANE(FULL_LANE)};
    return v;
  }
#define REST_LANE(l)                                                                                         \
  reals[PARTS * column_of(bits, row, e + tsi_index_min(r * WIDE + (l) / PARTS, count - 1)) + (l) % PARTS]
  EACH_REG(r) v.r[r] = (reg){EACH_LANE(REST_LANE)};
  return scalars_below(v, count);
}

INLINE tsi_scalar sum_lanes(const int bits, const row_entries *row, const tsi_scalar *from) {
  sum a = no_sum();
  tsi_count e = 0;
  for (; e + B <= row->count; e += B)
    add_products(&a, load(row->values + e), as_factors(gather(bits, row, e, B, from)));
  if (e < row->count) {
    const tsi_index rest = (tsi_index)(row->count - e);
    add_products(&a, load_some(row->values + e, rest), as_factors(gather(bits, row, e, rest, from)));
  }
  return sum_vec(sum_value(a));
}

/* inverse NULL: a rectangle. */
INLINE void work_one(const int bits, const bool lanes, const tsi_rectangle *r, tsi_index first, tsi_index end,
                     const tsi_scalar *inverse, tsi_scalar *work) {
  const tsi_scalar *from = columns_from(bits, r, 1, work);
  for (tsi_index k = first; k < end; k++) {
    const row_entries row = entries_of(bits, r, k);
    const ptrdiff_t i = row_of(r, k);
    if (row.count > 0) work[i] -= lanes ? sum_lanes(bits, &row, from) : sum_entries(bits, &row, from);
    if (inverse) work[i] *= inverse[i];
  }
}

INLINE void work_one_in(const bool lanes, const tsi_rectangle *r, tsi_index first, tsi_index end,
                        const tsi_scalar *inverse, tsi_scalar *work) {
  if (r->column)
    work_one(32, lanes, r, first, end, inverse, work);
  else
    work_one(16, lanes, r, first, end, inverse, work);
}

/* ---- Several right-hand sides -------------------------------------------------------------------------- */

/* Processes 2, 4 or 8 right-hand sides, a constant; from and to belong to these. factor NULL: a rectangle. */
INLINE void work_row(const int few, const int bits, const row_entries *row, ptrdiff_t stride,
                     const tsi_scalar *factor, const tsi_scalar *from, tsi_scalar *to) {
  reg_sum a[REGS];
  const int regs = few < WIDE ? 1 : few / WIDE;
  UNROLL for (int v = 0; v < regs; v++) a[v] = no_reg_sum();
  for (tsi_count e = 0; e < row->count; e++) {
    const tsi_scalar value = row->values[e], *x = from + column_of(bits, row, e) * stride;
    UNROLL for (int v = 0; v < regs; v++) add_reg_times(&a[v], load_first(few, x + v * WIDE), value);
  }
  UNROLL for (int v = 0; v < regs; v++) {
    tsi_scalar *at = to + v * WIDE;
    reg value = load_first(few, at) - reg_value(a[v]);
    if (factor) {
      reg_sum product = no_reg_sum();
      add_reg_times(&product, value, *factor);
      value = reg_value(product);
    }
    store_first(few, at, value);
  }
}

INLINE void work_several(const int few, const int bits, const tsi_rectangle *r, tsi_index first,
                         tsi_index end, tsi_index stride, const tsi_scalar *inverse, tsi_scalar *work) {
  const tsi_scalar *from = columns_from(bits, r, stride, work);
  for (tsi_index k = first; k < end; k++) {
    const row_entries row = entries_of(bits, r, k);
    const ptrdiff_t i = row_of(r, k);
    if (row.count == 0 && inverse == NULL) continue;
    for (tsi_index c = 0; c + few <= stride; c += few)
      work_row(few, bits, &row, stride, inverse ? inverse + i : NULL, from + c, work + i * stride + c);
  }
}

INLINE void work_several_in(const int few, const tsi_rectangle *r, tsi_index first, tsi_index end,
                            tsi_index stride, const tsi_scalar *inverse, tsi_scalar *work) {
  if (r->column)
    work_several(few, 32, r, first, end, stride, inverse, work);
  else
    work_several(few, 16, r, first, end, stride, inverse, work);
}

/* ---- The table ----------------------------------------------------------------------------------------- */

/* 2 and 4 are strides; a wider one is a multiple of 8. */
#define WORK(inverse)                                                                                        \
  do {                                                                                                       \
    if (stride == 1 && lanes) work_one_in(true, r, first, end, inverse, workspace);                          \
    if (stride == 1 && !lanes) work_one_in(false, r, first, end, inverse, workspace);                        \
    if (stride == 2) work_several_in(2, r, first, end, stride, inverse, workspace);                          \
    if (stride == 4) work_several_in(4, r, first, end, stride, inverse, workspace);                          \
    if (stride >= B) work_several_in(B, r, first, end, stride, inverse, workspace);                          \
  } while (0)

static void update(const tsi_rectangle *r, tsi_index first, tsi_index end, bool lanes, tsi_index stride,
                   void *workspace) {
  WORK(NULL);
}

static void solve(const tsi_rectangle *r, tsi_index first, tsi_index end, bool lanes, tsi_index stride,
                  const void *inverse, void *workspace) {
  WORK(inverse);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_block_kernels), isa)

const tsi_block_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .update = update, .solve = solve};
