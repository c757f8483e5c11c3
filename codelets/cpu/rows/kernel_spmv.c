/* Sparse matrix by rows times vectors: see spmv.h. Compiled for each scalar type and instruction set.
 *
 * One right-hand side: 8 entries at a time, one sum per lane. Several: 2, 4 or 8 right-hand sides at a time,
 * entry by entry. */
#include "codelets/cpu/rows/spmv.h"

#include "codelets/cpu/base/vector.h"

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

/* few: 2, 4 or 8 right-hand sides, a constant; work and to begin at the first one. */
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

/* ---- Triangular rows ----------------------------------------------------------------------------------- */

/* Products are subtracted in the order of the entries, with fused multiply-add if the instruction set has it.
 * So all partitions and both ways of numbering give the same bits. */
#if defined __FMA__ || defined __ARM_FEATURE_FMA
#if REAL_BYTES == 4
#define TIMES_PLUS(a, b, c) __builtin_fmaf(a, b, c)
#else
#define TIMES_PLUS(a, b, c) __builtin_fma(a, b, c)
#endif
#else
#define TIMES_PLUS(a, b, c) ((a) * (b) + (c))
#endif

/* a - v x */
INLINE tsi_scalar less_product(tsi_scalar a, tsi_scalar v, tsi_scalar x) {
#if TSI_COMPLEX
  tsi_scalar out;
  __real__ out = TIMES_PLUS(tsi_im(v), tsi_im(x), TIMES_PLUS(-tsi_re(v), tsi_re(x), tsi_re(a)));
  __imag__ out = TIMES_PLUS(-tsi_im(v), tsi_re(x), TIMES_PLUS(-tsi_re(v), tsi_im(x), tsi_im(a)));
  return out;
#else
  return TIMES_PLUS(-v, x, a);
#endif
}

INLINE tsi_scalar image(tsi_scalar a, bool adjoint) {
  return adjoint ? tsi_conj(a) : a;
}

INLINE tsi_scalar product(tsi_scalar a, tsi_scalar b) {
#if TSI_COMPLEX
  tsi_scalar out;
  __real__ out = TIMES_PLUS(-tsi_im(a), tsi_im(b), tsi_re(a) * tsi_re(b));
  __imag__ out = TIMES_PLUS(tsi_im(a), tsi_re(b), tsi_re(a) * tsi_im(b));
  return out;
#else
  return a * b;
#endif
}

/* The last entries of a row are subtracted one after the other, because they may use the latest x. The
 * entries before them have two or four sums in rows of so many entries, as each addition to a single sum
 * would wait for the previous one. */
#define LAST 4
#define TWO_SUMS 12
#define FOUR_SUMS 32

/* Entries of a row: VALUE(e) is the value of entry e, COLUMN(e) the index of its x. AGAIN: UNROLL if
 * `entries` is a constant. */
#define ONE_SUM(AGAIN, a, entries, VALUE, COLUMN)                                                            \
  AGAIN for (tsi_index e = 0; e < (entries); e++)(a) = less_product((a), VALUE(e), x[COLUMN(e)]);
#define SEVERAL_SUMS(AGAIN, sums, a, entries, VALUE, COLUMN)                                                 \
  {                                                                                                          \
    tsi_scalar part[sums] = {(a)};                                                                           \
    tsi_index e = 0;                                                                                         \
    AGAIN for (; e + (sums) + LAST <= (entries); e += (sums)) UNROLL for (int p = 0; p < (sums); p++)        \
        part[p] = less_product(part[p], VALUE(e + p), x[COLUMN(e + p)]);                                     \
    UNROLL for (int half = (sums) / 2; half > 0; half /= 2) UNROLL for (int p = 0; p < half; p++) part[p] += \
        part[p + half];                                                                                      \
    (a) = part[0];                                                                                           \
    AGAIN for (; e < (entries); e++)(a) = less_product((a), VALUE(e), x[COLUMN(e)]);                         \
  }
#define ANY_SUM(AGAIN, a, entries, VALUE, COLUMN)                                                            \
  {                                                                                                          \
    if ((entries) < TWO_SUMS)                                                                                \
      ONE_SUM(AGAIN, a, entries, VALUE, COLUMN)                                                              \
    else if ((entries) < FOUR_SUMS)                                                                          \
      SEVERAL_SUMS(AGAIN, 2, a, entries, VALUE, COLUMN)                                                      \
    else                                                                                                     \
      SEVERAL_SUMS(AGAIN, 4, a, entries, VALUE, COLUMN)                                                      \
  }
#define ONCE /* no pragma */
#define IN_ORDER(e) values[e]
#define BY_INDEX(e) index[e]

static void solve_rows_one(const tsi_triangle_rows *rows, tsi_index first, tsi_index end, bool backward,
                           tsi_scalar *x) {
  for (tsi_index k = first; k < end; k++) {
    const tsi_index r = backward ? first + (end - 1 - k) : k;
    const tsi_scalar *values = (const tsi_scalar *)rows->values + rows->ptr[r];
    const tsi_index *index = rows->index + rows->ptr[r];
    const tsi_index count = (tsi_index)(rows->ptr[r + 1] - rows->ptr[r]);
    tsi_scalar a = x[r];
    ANY_SUM(ONCE, a, count, IN_ORDER, BY_INDEX)
    x[r] = product(((const tsi_scalar *)rows->inverse)[r], a);
  }
}

/* few: 2, 4 or 8 right-hand sides, a constant; work and to begin at the first one. */
INLINE void solve_row_few(const int few, const tsi_scalar *values, const tsi_index *index, tsi_count count,
                          tsi_scalar inverse, ptrdiff_t stride, const tsi_scalar *work, tsi_scalar *to) {
  tsi_scalar a[B];
  UNROLL for (int c = 0; c < few; c++) a[c] = to[c];
  for (tsi_count e = 0; e < count; e++) {
    const tsi_scalar value = values[e], *from = work + index[e] * stride;
    UNROLL for (int c = 0; c < few; c++) a[c] = less_product(a[c], value, from[c]);
  }
  UNROLL for (int c = 0; c < few; c++) to[c] = product(inverse, a[c]);
}

static void solve_rows(const tsi_triangle_rows *rows, tsi_index first, tsi_index end, bool backward,
                       tsi_index stride, void *workspace) {
  tsi_scalar *work = workspace;
  if (stride == 1) {
    solve_rows_one(rows, first, end, backward, work);
    return;
  }
  for (tsi_index k = first; k < end; k++) {
    const tsi_index r = backward ? first + (end - 1 - k) : k;
    const tsi_count begin = rows->ptr[r], count = rows->ptr[r + 1] - begin;
    const tsi_scalar *values = (const tsi_scalar *)rows->values + begin;
    const tsi_scalar inverse = ((const tsi_scalar *)rows->inverse)[r];
    const tsi_index *index = rows->index + begin;
    tsi_scalar *to = work + (ptrdiff_t)r * stride;
    if (stride == 2) solve_row_few(2, values, index, count, inverse, stride, work, to);
    if (stride == 4) solve_row_few(4, values, index, count, inverse, stride, work, to);
    for (tsi_index c = 0; c + B <= stride; c += B)
      solve_row_few(B, values, index, count, inverse, stride, work + c, to + c);
  }
}

/* The two storages of columns in a stream; r is the row. AHEAD: the second one, with prefetches of x. */
#define NEAR(e) around + (ptrdiff_t)column[e]
#define PLAIN(e) column[e]
#define AHEAD(e) (__builtin_prefetch(x + column[(e) + TSI_ENTRIES_AHEAD]), column[e])

/* The two storages of rows, and of their lengths. */
#define ORDERED(k) s->row[k]
#define GIVEN(k) zero + step *(ptrdiff_t)(k)
#define BY_PTR(k) (tsi_index)(ptr[(k) + 1] - ptr[k])
#define BY_LENGTH(k) s->length[k]

/* Rows one by one. Only a few pointers advance with the rows, so that they fit into registers. */
#define STREAM_ROWS(name, type, columns, COLUMN, ROW, LENGTH)                                                \
  static void rows_##name(const tsi_row_stream *s, tsi_index first, tsi_index end, const tsi_scalar *b,      \
                          tsi_scalar *x) {                                                                   \
    const tsi_count *ptr = s->ptr;                                                                           \
    const tsi_scalar *values = (const tsi_scalar *)s->values + ptr[first], *inverse = s->inverse;            \
    const type *column = s->columns + ptr[first];                                                            \
    const ptrdiff_t base = s->base, zero = s->step != 0 ? s->row[0] : 0, step = s->step;                     \
    (void)zero, (void)step;                                                                                  \
    for (tsi_index k = first; k < end; k++) {                                                                \
      const tsi_index count = LENGTH(k);                                                                     \
      const ptrdiff_t r = ROW(k), around = r - base;                                                         \
      tsi_scalar a = b[r];                                                                                   \
      (void)around;                                                                                          \
      ANY_SUM(ONCE, a, count, IN_ORDER, COLUMN)                                                              \
      x[r] = product(inverse[k], a);                                                                         \
      values += count;                                                                                       \
      column += count;                                                                                       \
    }                                                                                                        \
  }
STREAM_ROWS(near, uint16_t, offset, NEAR, ORDERED, BY_PTR)
STREAM_ROWS(plain, tsi_index, index, PLAIN, ORDERED, BY_PTR)
STREAM_ROWS(near_short, uint16_t, offset, NEAR, ORDERED, BY_LENGTH)
STREAM_ROWS(plain_short, tsi_index, index, PLAIN, ORDERED, BY_LENGTH)
STREAM_ROWS(near_given, uint16_t, offset, NEAR, GIVEN, BY_LENGTH)
STREAM_ROWS(plain_given, tsi_index, index, PLAIN, GIVEN, BY_LENGTH)
STREAM_ROWS(ahead_given, tsi_index, index, AHEAD, GIVEN, BY_LENGTH)

/* Rows by runs of the same length, with a separate loop for each frequent length (SHORT_RUNS): only one
 * branch per run depends on the matrix. */
#define RUN_CASE(length, AGAIN, COLUMN)                                                                      \
  for (tsi_index q = 0; q < run->rows; q++, k++) {                                                           \
    const ptrdiff_t r = row[k], around = r - base;                                                           \
    tsi_scalar a = b[r];                                                                                     \
    (void)around;                                                                                            \
    ANY_SUM(AGAIN, a, length, IN_ORDER, COLUMN)                                                              \
    x[r] = product(inverse[k], a);                                                                           \
    values += (length);                                                                                      \
    column += (length);                                                                                      \
  }                                                                                                          \
  break
#if FEW_REGISTERS_ONLY
#define SHORT_RUNS(COLUMN)
#else
#define SHORT_RUNS(COLUMN)                                                                                   \
  case 0:                                                                                                    \
    RUN_CASE(0, UNROLL, COLUMN);                                                                             \
  case 1:                                                                                                    \
    RUN_CASE(1, UNROLL, COLUMN);                                                                             \
  case 2:                                                                                                    \
    RUN_CASE(2, UNROLL, COLUMN);                                                                             \
  case 3:                                                                                                    \
    RUN_CASE(3, UNROLL, COLUMN);                                                                             \
  case 4:                                                                                                    \
    RUN_CASE(4, UNROLL, COLUMN);                                                                             \
  case 5:                                                                                                    \
    RUN_CASE(5, UNROLL, COLUMN);                                                                             \
  case 6:                                                                                                    \
    RUN_CASE(6, UNROLL, COLUMN);                                                                             \
  case 7:                                                                                                    \
    RUN_CASE(7, UNROLL, COLUMN);                                                                             \
  case 8:                                                                                                    \
    RUN_CASE(8, UNROLL, COLUMN);                                                                             \
  case 9:                                                                                                    \
    RUN_CASE(9, UNROLL, COLUMN);                                                                             \
  case 10:                                                                                                   \
    RUN_CASE(10, UNROLL, COLUMN);                                                                            \
  case 11:                                                                                                   \
    RUN_CASE(11, UNROLL, COLUMN);                                                                            \
  case 12:                                                                                                   \
    RUN_CASE(12, UNROLL, COLUMN);                                                                            \
  case 13:                                                                                                   \
    RUN_CASE(13, UNROLL, COLUMN);                                                                            \
  case 14:                                                                                                   \
    RUN_CASE(14, UNROLL, COLUMN);                                                                            \
  case 15:                                                                                                   \
    RUN_CASE(15, UNROLL, COLUMN);                                                                            \
  case 16:                                                                                                   \
    RUN_CASE(16, UNROLL, COLUMN);
#endif
#define STREAM_RUNS(name, type, columns, COLUMN)                                                             \
  static void runs_##name(const tsi_row_stream *s, tsi_index first, tsi_index end, const tsi_row_run *run,   \
                          const tsi_scalar *b, tsi_scalar *x) {                                              \
    const tsi_scalar *values = (const tsi_scalar *)s->values + s->ptr[first], *inverse = s->inverse;         \
    const type *column = s->columns + s->ptr[first];                                                         \
    const tsi_index *row = s->row;                                                                           \
    const ptrdiff_t base = s->base;                                                                          \
    for (tsi_index k = first; k < end; run++) {                                                              \
      const tsi_index length = run->entries;                                                                 \
      switch (length) {                                                                                      \
        SHORT_RUNS(COLUMN)                                                                                   \
      default:                                                                                               \
        RUN_CASE(length, ONCE, COLUMN);                                                                      \
      }                                                                                                      \
    }                                                                                                        \
  }
STREAM_RUNS(near, uint16_t, offset, NEAR)
STREAM_RUNS(plain, tsi_index, index, PLAIN)
STREAM_RUNS(ahead, tsi_index, index, AHEAD)

static void solve_stream(const tsi_row_stream *s, tsi_index first, tsi_index end, const tsi_row_run *run,
                         const void *b, void *x) {
  if (run != NULL)
    (s->offset ? runs_near : s->ahead ? runs_ahead : runs_plain)(s, first, end, run, b, x);
  else if (s->length != NULL && s->step != 0)
    (s->offset ? rows_near_given : s->ahead ? rows_ahead_given : rows_plain_given)(s, first, end, b, x);
  else if (s->length != NULL)
    (s->offset ? rows_near_short : rows_plain_short)(s, first, end, b, x);
  else
    (s->offset ? rows_near : rows_plain)(s, first, end, b, x);
}

/* ---- Rows of incomplete factors ------------------------------------------------------------------------ */

/* Is this a row with few entries whose last one is in the column of the previous row? Then x of the previous
 * row is used from a register, because a load would wait for the store. The order of the sum is that of
 * ANY_SUM. */
INLINE bool goes_on(const tsi_index *index, tsi_index count, ptrdiff_t last, tsi_index before) {
  return count > 0 && count < TWO_SUMS && index[last] == before;
}

/* x = L^-1 b with a unit diagonal, by the entries left of it. */
static void solve_left(const tsi_factor_rows *f, const tsi_scalar *b, tsi_scalar *x) {
  tsi_scalar latest = 0;
  for (tsi_index i = 0; i < f->n; i++) {
    const tsi_scalar *values = (const tsi_scalar *)f->values + f->ptr[i];
    const tsi_index *index = f->index + f->ptr[i];
    const tsi_index count = (tsi_index)(f->diagonal[i] - f->ptr[i]);
    tsi_scalar a = b[i];
    if (goes_on(index, count, count - 1, i - 1)) {
      ONE_SUM(ONCE, a, count - 1, IN_ORDER, BY_INDEX)
      a = less_product(a, values[count - 1], latest);
    } else
      ANY_SUM(ONCE, a, count, IN_ORDER, BY_INDEX)
    x[i] = latest = product(1, a);
  }
}

/* x = U^-1 b, from the last entry of a row to the first. */
static void solve_right(const tsi_factor_rows *f, const tsi_scalar *inverse, const tsi_scalar *b,
                        tsi_scalar *x) {
  tsi_scalar latest = 0;
  for (tsi_index i = f->n - 1; i >= 0; i--) {
    const tsi_count last = f->ptr[i + 1] - 1;
    const tsi_scalar *values = (const tsi_scalar *)f->values + last;
    const tsi_index *index = f->index + last;
    const tsi_index count = (tsi_index)(last - f->diagonal[i]);
    tsi_scalar a = b[i];
#define VALUE_BEFORE(e) values[-(ptrdiff_t)(e)]
#define COLUMN_BEFORE(e) index[-(ptrdiff_t)(e)]
    if (goes_on(index, count, 1 - (ptrdiff_t)count, i + 1)) {
      ONE_SUM(ONCE, a, count - 1, VALUE_BEFORE, COLUMN_BEFORE)
      a = less_product(a, values[1 - (ptrdiff_t)count], latest);
    } else
      ANY_SUM(ONCE, a, count, VALUE_BEFORE, COLUMN_BEFORE)
    x[i] = latest = product(inverse[i], a);
  }
}

/* x = U^-H b or U^-T b. Entries left of the diagonal are the images of entries of U. adjoint: a constant. */
INLINE void solve_images(const tsi_factor_rows *f, const tsi_index *cross, const tsi_scalar *inverse,
                         const bool adjoint, const tsi_scalar *b, tsi_scalar *x) {
  const tsi_scalar *values = f->values;
  tsi_scalar latest = 0;
  for (tsi_index i = 0; i < f->n; i++) {
    const tsi_index *index = f->index + f->ptr[i], *from = cross + f->ptr[i];
    const tsi_index count = (tsi_index)(f->diagonal[i] - f->ptr[i]);
    tsi_scalar a = b[i];
#define IMAGE(e) image(values[f->diagonal[index[e]] + from[e]], adjoint)
    if (goes_on(index, count, count - 1, i - 1)) {
      ONE_SUM(ONCE, a, count - 1, IMAGE, BY_INDEX)
      a = less_product(a, IMAGE(count - 1), latest);
    } else
      ANY_SUM(ONCE, a, count, IMAGE, BY_INDEX)
    x[i] = latest = product(image(inverse[i], adjoint), a);
  }
}

static void solve_factors(const tsi_factor_rows *f, const tsi_index *cross, const void *inverse, bool adjoint,
                          const void *b, void *x) {
  if (cross == NULL)
    solve_left(f, b, x);
  else if (adjoint)
    solve_images(f, cross, inverse, true, b, x);
  else
    solve_images(f, cross, inverse, false, b, x);
  solve_right(f, inverse, x, x);
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

static bool sum_is_finite(tsi_count count, const void *xv) {
  enum { SUMMANDS = 8 };
  const tsi_scalar *x = xv;
  reg lanes[SUMMANDS] = {0};
  tsi_scalar rest = 0;
  tsi_real total;
  tsi_count i = 0;
  for (; i + SUMMANDS * WIDE <= count; i += SUMMANDS * WIDE)
    UNROLL for (int k = 0; k < SUMMANDS; k++) lanes[k] += load_reg(x + i + k * WIDE);
  for (; i < count; i++) rest += x[i];
  for (int k = 1; k < SUMMANDS; k++) lanes[0] += lanes[k];
  total = tsi_re(rest) + tsi_im(rest);
  for (int l = 0; l < LANES; l++) total += lanes[0][l];
  return total - total == 0;
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_spmv_kernels), isa)

const tsi_spmv_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA),
                                         .multiply = multiply,
                                         .solve_rows = solve_rows,
                                         .solve_stream = solve_stream,
                                         .solve_factors = solve_factors,
                                         .identity = identity,
                                         .take_column = take_column,
                                         .sum_is_finite = sum_is_finite};
