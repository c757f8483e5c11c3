/* Sparse matrix by rows times vectors: see spmv.h. Compiled for each scalar type and instruction set.
 *
 * One right-hand side: 8 entries at once, summed lane by lane. Several: 2, 4 or 8 right-hand sides at once,
 * entry by entry. */
#include "codelets/cpu/spmv.h"

#include "codelets/cpu/vector.h"

static tsi_scalar row_1(const tsi_scalar *values, const tsi_index *index, tsi_count count,
                        const tsi_scalar *work) {
  sum a = no_sum();
  tsi_count e = 0;
  for (; e + B <= count; e += B)
    add_products(&a, load(values + e), as_factors(gather_rows(work, index + e, B)));
  if (e < count) {
    const tsi_index rest = (tsi_index)(count - e);
    add_products(&a, load_some(values + e, rest), as_factors(gather_rows(work, index + e, rest)));
  }
  return sum_vec(sum_value(a));
}

/* 2, 4 or 8 right-hand sides, a constant; work and to are theirs. */
INLINE void row_few(const int few, const tsi_scalar *values, const tsi_index *index, tsi_count count,
                    ptrdiff_t stride, bool add, const tsi_scalar *work, tsi_scalar *to) {
  reg_sum a[REGS];
  const int regs = few < WIDE ? 1 : few / WIDE;
  UNROLL for (int v = 0; v < regs; v++) a[v] = no_reg_sum();
  for (tsi_count e = 0; e < count; e++)
    UNROLL for (int v = 0; v < regs; v++)
        add_reg_times(&a[v], load_first(few, work + index[e] * stride + v * WIDE), values[e]);
  UNROLL for (int v = 0; v < regs; v++) {
    reg value = reg_value(a[v]);
    if (add) value += load_first(few, to + v * WIDE);
    store_first(few, to + v * WIDE, value);
  }
}

static void multiply(const tsi_spmv_rows *rows, tsi_count first, tsi_count end, bool add, tsi_index stride,
                     void *workspace) {
  tsi_scalar *work = workspace;
  for (tsi_count r = first; r < end; r++) {
    const tsi_count begin = rows->ptr[r], count = rows->ptr[r + 1] - begin;
    const tsi_scalar *values = (const tsi_scalar *)rows->values + begin;
    const tsi_index *index = rows->index + begin;
    tsi_scalar *to = work + (ptrdiff_t)rows->row[r] * stride;
    if (stride == 1) {
      const tsi_scalar value = row_1(values, index, count, work);
      *to = add ? *to + value : value;
      continue;
    }
    if (stride == 2) row_few(2, values, index, count, stride, add, work, to);
    if (stride == 4) row_few(4, values, index, count, stride, add, work, to);
    for (tsi_index c = 0; c + B <= stride; c += B)
      row_few(B, values, index, count, stride, add, work + c, to + c);
  }
}

/* Short rows, which most sparse triangles have, are not worth lanes. */
static tsi_scalar row_sum(const tsi_scalar *values, const tsi_index *index, tsi_count count,
                          const tsi_scalar *work) {
  if (count >= 2 * B) return row_1(values, index, count, work);
  tsi_scalar a = 0;
  for (tsi_count e = 0; e < count; e++) a += values[e] * work[index[e]];
  return a;
}

/* 2, 4 or 8 right-hand sides, a constant; work and to are theirs. */
INLINE void solve_row_few(const int few, const tsi_scalar *values, const tsi_index *index, tsi_count count,
                          tsi_scalar inverse, ptrdiff_t stride, const tsi_scalar *work, tsi_scalar *to) {
  tsi_scalar a[B];
  UNROLL for (int c = 0; c < few; c++) a[c] = to[c];
  for (tsi_count e = 0; e < count; e++) {
    const tsi_scalar value = values[e], *from = work + index[e] * stride;
    UNROLL for (int c = 0; c < few; c++) a[c] -= value * from[c];
  }
  UNROLL for (int c = 0; c < few; c++) to[c] = inverse * a[c];
}

static void solve_rows(const tsi_triangle_rows *rows, tsi_index first, tsi_index end, bool backward,
                       tsi_index stride, void *workspace) {
  tsi_scalar *work = workspace;
  for (tsi_index k = first; k < end; k++) {
    const tsi_index r = backward ? first + (end - 1 - k) : k;
    const tsi_count begin = rows->ptr[r], count = rows->ptr[r + 1] - begin;
    const tsi_scalar *values = (const tsi_scalar *)rows->values + begin;
    const tsi_scalar inverse = ((const tsi_scalar *)rows->inverse)[r];
    const tsi_index *index = rows->index + begin;
    tsi_scalar *to = work + (ptrdiff_t)r * stride;
    if (stride == 1) *to = inverse * (*to - row_sum(values, index, count, work));
    if (stride == 2) solve_row_few(2, values, index, count, inverse, stride, work, to);
    if (stride == 4) solve_row_few(4, values, index, count, inverse, stride, work, to);
    for (tsi_index c = 0; c + B <= stride; c += B)
      solve_row_few(B, values, index, count, inverse, stride, work + c, to + c);
  }
}

static void identity(tsi_index w, tsi_index stride, void *x) {
  tsi_scalar *to = x;
  memset(to, 0, (size_t)w * (size_t)stride * sizeof *to);
  for (tsi_index k = 0; k < w; k++) to[(ptrdiff_t)k * stride + k] = 1;
}

static void take_column(tsi_index count, tsi_index stride, const void *from, void *to) {
  const tsi_scalar *x = from;
  tsi_scalar *y = to;
  for (tsi_index i = 0; i < count; i++, x += stride) y[i] = *x;
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_spmv_kernels), isa)
#define TEXT_(isa) #isa
#define TEXT(isa) TEXT_(isa)

const tsi_spmv_kernels TABLE(TSI_ISA) = {.isa = TEXT(TSI_ISA),
                                         .multiply = multiply,
                                         .solve_rows = solve_rows,
                                         .identity = identity,
                                         .take_column = take_column};
