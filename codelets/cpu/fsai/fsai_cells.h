/* Systems of nodes: K = L L^H, L z = b, L^H x = z for all rows of a node at the same time (fsai_nodes.h), for
 * the file's scalar type.
 *
 * A cell has `vecs` times FOUR real parts and then, for complex numbers, as many imaginary parts; lane q
 * belongs to row q of the node. Rows of L that belong to a node of P are also cells. Sums over columns of L
 * read memory in ascending order, for up to FOUR results at a time. Functions that need constants for vecs
 * and the number of results are expanded for each pair (CHOOSE), except with SSE2 alone. */
#pragma once

#include "codelets/cpu/fsai/fsai_nodes.h"
#include "codelets/cpu/rows/pivots.h"
#include "codelets/cpu/base/vector.h"

#define FOUR TSI_FSAI_NODE_LANES
typedef tsi_real four
    __attribute__((vector_size(FOUR * sizeof(tsi_real)), aligned(sizeof(tsi_real)), may_alias));

/* Results of sums: FOUR cells. */
typedef struct results {
  four v[FOUR][2][PARTS];
} results;

#define EACH_VEC(v) UNROLL_IN_REGISTERS for (int v = 0; v < vecs; v++)
#define EACH_RESULT(c) UNROLL_IN_REGISTERS for (int c = 0; c < count; c++)
#if FEW_REGISTERS_ONLY
#define CHOOSE(f, vecs, count, ...) f(vecs, count, __VA_ARGS__)
#else
#define CHOOSE_COUNT(f, vecs, count, ...)                                                                    \
  do {                                                                                                       \
    if ((count) == 1) f(vecs, 1, __VA_ARGS__);                                                               \
    if ((count) == 2) f(vecs, 2, __VA_ARGS__);                                                               \
    if ((count) == 3) f(vecs, 3, __VA_ARGS__);                                                               \
    if ((count) == 4) f(vecs, 4, __VA_ARGS__);                                                               \
  } while (0)
#define CHOOSE(f, vecs, count, ...)                                                                          \
  do {                                                                                                       \
    if ((vecs) == 1)                                                                                         \
      CHOOSE_COUNT(f, 1, count, __VA_ARGS__);                                                                \
    else                                                                                                     \
      CHOOSE_COUNT(f, 2, count, __VA_ARGS__);                                                                \
  } while (0)
#endif

/* Number of vectors of a cell. */
#define STEP(vecs) ((vecs)*PARTS)
/* Position of lane q in a cell. */
#define LANE(q) ((q) / FOUR * FOUR * PARTS + (q) % FOUR)

INLINE tsi_scalar lane_of(const tsi_real *cell, tsi_index q) {
#if TSI_COMPLEX
  tsi_scalar x;
  __real__ x = cell[LANE(q)];
  __imag__ x = cell[LANE(q) + FOUR];
  return x;
#else
  return cell[LANE(q)];
#endif
}

INLINE void put_lane(tsi_real *cell, tsi_index q, tsi_scalar x) {
  cell[LANE(q)] = tsi_re(x);
#if TSI_COMPLEX
  cell[LANE(q) + FOUR] = tsi_im(x);
#endif
}

INLINE four *cell_at(const void *cells, const int vecs, tsi_count c) {
  return (four *)cells + c * STEP(vecs);
}

/* Returns row k of L, by nodes. */
INLINE four *rows_of_l(const tsi_fsai_node_work *w, const int vecs, tsi_index k) {
  return cell_at(w->l, vecs, (tsi_count)k * w->most);
}

INLINE void load_result(const int vecs, results *x, int c, const four *from) {
  EACH_VEC(v) EACH_PART(p) x->v[c][v][p] = from[v * PARTS + p];
}
INLINE void store_result(const int vecs, const results *x, int c, four *to) {
  EACH_VEC(v) EACH_PART(p) to[v * PARTS + p] = x->v[c][v][p];
}

/* x_c += y (re + i im) */
INLINE void add_scaled(const int vecs, results *x, int c, const four *y, tsi_real re, tsi_real im) {
  EACH_VEC(v) {
    x->v[c][v][0] += y[v * PARTS] * re;
#if TSI_COMPLEX
    x->v[c][v][0] -= y[v * PARTS + 1] * im;
    x->v[c][v][1] += y[v * PARTS] * im;
    x->v[c][v][1] += y[v * PARTS + 1] * re;
#else
    (void)im;
#endif
  }
}

/* x_c -= y L, or y conj(L), where l: lane of L in its cell. */
INLINE void subtract_entry(const int vecs, bool adjoint, results *x, int c, const four *y,
                           const tsi_real *l) {
  const tsi_real im = TSI_COMPLEX ? l[TSI_COMPLEX * FOUR] : 0;
  add_scaled(vecs, x, c, y, -l[0], adjoint ? im : -im);
}

INLINE void scale_result(const int vecs, results *x, int c, tsi_real factor) {
  EACH_VEC(v) EACH_PART(p) x->v[c][v][p] *= factor;
}

/* ---- Factoring ----------------------------------------------------------------------------------------- */

/* x_c -= sum of y_j L[c][j], j < end, for the rows of L whose first lane is at l; adjoint: conj(L). */
INLINE void subtract_sums(const int vecs, const int count, bool adjoint, tsi_index end, const four *y,
                          const tsi_real *l, results *x) {
  for (tsi_index j = 0; j < end; j++, y += STEP(vecs), l += STEP(vecs) * FOUR)
    EACH_RESULT(c) subtract_entry(vecs, adjoint, x, c, y, l + c);
}

/* Computes columns first .. first + count - 1 of the rows of L of node k. The columns belong to node m, from
 * lane q on. own: they are the node's own columns, so pivots are computed; returns the breakdown of the first
 * bad pivot. */
INLINE tsi_breakdown_kind eliminate(const int vecs, const int count, const tsi_fsai_node_work *w, tsi_index k,
                                    tsi_index m, tsi_index q) {
  four *row = rows_of_l(w, vecs, k);
  const four *l = rows_of_l(w, vecs, m);
  const tsi_index first = w->begin[m] + q;
  tsi_real *inverse = w->inverse;
  results x;
  EACH_RESULT(c) load_result(vecs, &x, c, row + (first + c) * STEP(vecs));
  subtract_sums(vecs, count, true, first, row, (const tsi_real *)l + LANE(q), &x);
  EACH_RESULT(c) {
    four *own = row + (first + c) * STEP(vecs);
    const tsi_real *below = (const tsi_real *)(l + (first + c) * STEP(vecs)) + LANE(q);
    if (k == m) {
      tsi_scalar root;
      store_result(vecs, &x, c, own);
      const tsi_breakdown_kind kind = tsi_pivot_root(((tsi_real *)own)[LANE(q) + c], true, &root);
      if (kind != TSI_BREAKDOWN_NONE) return kind;
      inverse[first + c] = 1 / tsi_re(root);
    }
    scale_result(vecs, &x, c, inverse[first + c]);
    store_result(vecs, &x, c, own);
    UNROLL_IN_REGISTERS for (int d = c + 1; d < count; d++) subtract_entry(vecs, true, &x, d, own, below + d);
  }
  return TSI_BREAKDOWN_NONE;
}

/* Computes z at these columns, in place of b. */
INLINE void forward(const int vecs, const int count, const tsi_fsai_node_work *w, tsi_index k, tsi_index q) {
  const four *l = rows_of_l(w, vecs, k);
  const tsi_index first = w->begin[k] + q;
  const tsi_real *inverse = w->inverse;
  results x;
  EACH_RESULT(c) load_result(vecs, &x, c, cell_at(w->z, vecs, first + c));
  subtract_sums(vecs, count, false, first, w->z, (const tsi_real *)l + LANE(q), &x);
  EACH_RESULT(c) {
    four *own = cell_at(w->z, vecs, first + c);
    const tsi_real *below = (const tsi_real *)(l + (first + c) * STEP(vecs)) + LANE(q);
    scale_result(vecs, &x, c, inverse[first + c]);
    store_result(vecs, &x, c, own);
    UNROLL_IN_REGISTERS for (int d = c + 1; d < count; d++)
        subtract_entry(vecs, false, &x, d, own, below + d);
  }
}

/* Turns the rows of K of the last node of P into rows of L, and its b into z. */
static tsi_breakdown_kind factor_last(const tsi_fsai_node_work *w, int vecs) {
  const tsi_index k = w->joined - 1;
  for (tsi_index m = 0; m <= k; m++) {
    const tsi_index size = w->begin[m + 1] - w->begin[m];
    for (tsi_index q = 0; q < size; q += FOUR) {
      const tsi_index count = tsi_index_min(size - q, FOUR);
      tsi_breakdown_kind kind = TSI_BREAKDOWN_NONE;
#define ELIMINATE(...) kind = eliminate(__VA_ARGS__)
      CHOOSE(ELIMINATE, vecs, count, w, k, m, q);
      if (kind != TSI_BREAKDOWN_NONE) return kind;
    }
  }
  const tsi_index size = w->begin[k + 1] - w->begin[k];
  for (tsi_index q = 0; q < size; q += FOUR) {
    const tsi_index count = tsi_index_min(size - q, FOUR);
    CHOOSE(forward, vecs, count, w, k, q);
  }
  return TSI_BREAKDOWN_NONE;
}

/* ---- Solving ------------------------------------------------------------------------------------------- */

/* Computes x at these columns, and subtracts their products from all columns before. */
INLINE void backward(const int vecs, const int count, const tsi_fsai_node_work *w, tsi_index k, tsi_index q) {
  const four *l = rows_of_l(w, vecs, k);
  const tsi_index first = w->begin[k] + q;
  const tsi_real *inverse = w->inverse;
  four *to = w->x;
  results x;
  UNROLL_IN_REGISTERS for (int c = count - 1; c >= 0; c--) {
    four *own = to + (first + c) * STEP(vecs);
    load_result(vecs, &x, c, own);
    UNROLL_IN_REGISTERS for (int d = count - 1; d > c; d--)
        subtract_entry(vecs, true, &x, c, to + (first + d) * STEP(vecs),
                       (const tsi_real *)(l + (first + c) * STEP(vecs)) + LANE(q) + d);
    scale_result(vecs, &x, c, inverse[first + c]);
    store_result(vecs, &x, c, own);
  }
  for (tsi_index j = 0; j < first; j++, to += STEP(vecs), l += STEP(vecs)) {
    results y;
    load_result(vecs, &y, 0, to);
    EACH_RESULT(c) subtract_entry(vecs, true, &y, 0, (const four *)x.v[c], (const tsi_real *)l + LANE(q) + c);
    store_result(vecs, &y, 0, to);
  }
}

/* Solves L^H x = z. */
static void solve(const tsi_fsai_node_work *w, int vecs) {
  const tsi_index size = w->begin[w->joined];
  memcpy(w->x, w->z, (size_t)size * (size_t)STEP(vecs) * sizeof(four));
  for (tsi_index k = w->joined - 1; k >= 0; k--) {
    const tsi_index rows = w->begin[k + 1] - w->begin[k];
    for (tsi_index q = (rows - 1) / FOUR * FOUR; q >= 0; q -= FOUR) {
      const tsi_index count = tsi_index_min(rows - q, FOUR);
      CHOOSE(backward, vecs, count, w, k, q);
    }
  }
}
