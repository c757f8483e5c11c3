/* Rows of a sparse approximate inverse, node by node: see fsai_nodes.h. Compiled for each scalar type and
 * instruction set.
 *
 * The stages of a node: its own rows (begin), P (join, from the rows of A of each node of P), the Schur
 * complement of the node's block (finish), gradient and selection (find_gradient, pick), the rows (write). */
#include "codelets/cpu/fsai/fsai_blocks.h"
#include "codelets/cpu/fsai/fsai_cells.h"
#include "codelets/cpu/fsai/fsai_pattern.h"
#include "runtime/base/sort.h"

/* A node during its computation. rest: S = A[J, J] - z z^H, its lower triangle; down: D^-1, column by column,
 * and as cells. */
typedef struct node_run {
  const tsi_matrix_rows *a;
  const tsi_fsai_nodes *nodes;
  tsi_fsai_node_work *work;
  int vecs;
  tsi_index node, i, size; /* i: its first row; size: number of its rows */
  tsi_wide rest[MOST][MOST], down[MOST][MOST];
  double psi[MOST], psi_0[MOST];
  four factor[MOST * 2 * PARTS];
  tsi_breakdown_kind kind;
  tsi_index failed; /* its row */
} node_run;

/* ---- A node on its way --------------------------------------------------------------------------------- */

/* r: of the own rows. */
static void fail(node_run *t, tsi_breakdown_kind kind, tsi_index r) {
  if (t->kind != TSI_BREAKDOWN_NONE || kind == TSI_BREAKDOWN_NONE) return;
  t->kind = kind;
  t->failed = t->i + r;
}

/* ---- Reach --------------------------------------------------------------------------------------------- */

/* Returns the slot of a node; gives the node cells if it has none. */
INLINE tsi_index settle(const node_run *t, tsi_index node) {
  tsi_fsai_node_work *w = t->work;
  tsi_index s = w->place[node];
  if (s >= 0) return s;
  s = w->slots++;
  w->place[node] = s;
  w->node[s] = node;
  w->first[s] = w->cells;
  for (tsi_index c = t->nodes->start[node]; c < t->nodes->start[node + 1]; c++)
    w->position[w->cells++] = TSI_NONE;
  return s;
}

/* Lists the cells of the entries of a row left of the node. Returns their number. */
static tsi_index take_cells(const node_run *t, tsi_index row, tsi_index *cell) {
  const tsi_index *index = t->a->index + t->a->ptr[row], *of = t->nodes->of;
  const tsi_index count = (tsi_index)(t->a->ptr[row + 1] - t->a->ptr[row]);
  tsi_index node = TSI_NONE, shift = 0, e = 0;
  for (; e < count && index[e] < t->i; e++) {
    if (of[index[e]] != node) {
      node = of[index[e]];
      shift = t->work->first[settle(t, node)] - t->nodes->start[node];
    }
    cell[e] = shift + index[e];
  }
  return e;
}

/* Lists the positions in P of the entries of a row left of the node; TSI_NONE: not in P. Returns their
 * number. */
static tsi_index take_positions(const node_run *t, tsi_index row, tsi_index *position) {
  const tsi_index *index = t->a->index + t->a->ptr[row], *of = t->nodes->of;
  const tsi_index count = (tsi_index)(t->a->ptr[row + 1] - t->a->ptr[row]);
  const tsi_fsai_node_work *w = t->work;
  tsi_index e = 0;
  for (; e < count && index[e] < t->i; e++) {
    const tsi_index node = of[index[e]], s = w->place[node];
    position[e] = s >= 0 ? w->position[w->first[s] + index[e] - t->nodes->start[node]] : TSI_NONE;
  }
  return e;
}

/* Begins a node: A[J, J], psi of the empty P, and the entries of J left of the node. */
static void begin(node_run *t) {
  tsi_fsai_node_work *w = t->work;
  const tsi_matrix_rows *a = t->a;
  const tsi_scalar *values = a->values;
  tsi_index taken[MOST];
  tsi_count at[MOST];
  w->slots = w->cells = w->lines = w->joined = 0;
  w->entries = 0;
  w->begin[0] = 0;
  memset(t->rest, 0, sizeof t->rest);
  for (tsi_index r = 0; r < t->size; r++) {
    const bool again = r > 0 && t->nodes->alike[t->node];
    at[r] = again ? at[0] : w->entries;
    taken[r] = again ? taken[0] : take_cells(t, t->i + r, w->cell + at[r]);
    w->entries = tsi_count_max(w->entries, at[r] + taken[r]);
    take_block_row(a, t->i + r, a->ptr[t->i + r] + taken[r], t->i, t->rest[r]);
    t->psi_0[r] = tsi_re(t->rest[r][r]);
    tsi_scalar root;
    fail(t, tsi_pivot_root((tsi_real)tsi_re(t->rest[r][r]), true, &root), r);
  }
  w->own_cells = w->cells;
  memset(w->own, 0, (size_t)w->cells * (size_t)STEP(t->vecs) * sizeof(four));
  for (tsi_index r = 0; r < t->size; r++)
    for (tsi_index e = 0; e < taken[r]; e++)
      put_lane((tsi_real *)cell_at(w->own, t->vecs, w->cell[at[r] + e]), r, values[a->ptr[t->i + r] + e]);
  w->entries = 0;
}

/* Frees all slots. */
static void end(tsi_fsai_node_work *w) {
  for (tsi_index s = 0; s < w->slots; s++) w->place[w->node[s]] = TSI_NONE;
}

/* ---- The system ---------------------------------------------------------------------------------------- */

/* Writes rows of K of the last node of P, from row q on; their entries have these positions. */
static void put_rows(const node_run *t, tsi_index row, tsi_index rows, tsi_index q, tsi_index entries,
                     const tsi_index *position) {
  const tsi_fsai_node_work *w = t->work;
  tsi_real *k = (tsi_real *)rows_of_l(w, t->vecs, w->joined - 1);
  const tsi_scalar *values = t->a->values;
  const ptrdiff_t step = STEP(t->vecs) * FOUR;
  for (tsi_index e = 0; e < entries; e++) {
    if (position[e] < 0) continue;
    for (tsi_index r = 0; r < rows; r++)
      put_lane(k + position[e] * step, q + r, tsi_conj(values[t->a->ptr[row + r] + e]));
  }
}

/* Subtracts from S the products of z at the columns of the last node of P. */
static void reduce_rest(node_run *t) {
  const tsi_fsai_node_work *w = t->work;
  for (tsi_index c = w->begin[w->joined - 1]; c < w->begin[w->joined]; c++) {
    const tsi_real *z = (const tsi_real *)cell_at(w->z, t->vecs, c);
    for (tsi_index r = 0; r < t->size; r++)
      for (tsi_index s = 0; s <= r; s++)
        add_wide(&t->rest[r][s], -(tsi_wide)lane_of(z, r), (tsi_wide)tsi_conj(lane_of(z, s)));
  }
}

/* Takes the rows of A of the node that joined last: its rows of K, and, unless it ends, the cells of their
 * columns. */
static void take_rows(const node_run *t, bool ends) {
  tsi_fsai_node_work *w = t->work;
  const tsi_index k = w->joined - 1, node = w->node[w->pattern[k]], first = t->nodes->start[node];
  const tsi_index size = t->nodes->start[node + 1] - first;
  const tsi_index rows = t->nodes->alike[node] ? size : 1;
  for (tsi_index q = 0; q < size; q += rows) {
    tsi_index *cell = w->cell + w->entries;
    const tsi_index entries = ends ? take_positions(t, first + q, cell) : take_cells(t, first + q, cell);
    if (ends) {
      put_rows(t, first + q, rows, q, entries, cell);
      continue;
    }
    tsi_index *position = cell + entries;
    for (tsi_index e = 0; e < entries; e++) position[e] = w->position[cell[e]];
    put_rows(t, first + q, rows, q, entries, position);
    w->line[w->lines++] = (tsi_fsai_lines){first + q, rows, w->begin[k] + q, entries, w->entries};
    w->entries += entries;
  }
}

/* Joins the node of a slot to P. ends: the gradient is no longer needed. */
static void join(node_run *t, tsi_index s, bool ends) {
  tsi_fsai_node_work *w = t->work;
  const tsi_index k = w->joined++, first = w->begin[k], node = w->node[s];
  const tsi_index end = first + t->nodes->start[node + 1] - t->nodes->start[node];
  const size_t cell = (size_t)STEP(t->vecs) * sizeof(four);
  w->pattern[k] = s;
  w->begin[k + 1] = end;
  memset(rows_of_l(w, t->vecs, k), 0, (size_t)end * cell);
  memset(cell_at(w->z, t->vecs, first), 0, (size_t)(end - first) * cell);
  for (tsi_index c = first; c < end; c++) {
    const tsi_index own = w->first[s] + c - first;
    const four *from = cell_at(w->own, t->vecs, own);
    w->position[own] = c;
    for (int v = 0; v < STEP(t->vecs) && own < w->own_cells; v++) cell_at(w->z, t->vecs, c)[v] = -from[v];
  }
  take_rows(t, ends);
  fail(t, factor_last(w, t->vecs), 0);
  if (t->kind == TSI_BREAKDOWN_NONE) reduce_rest(t);
}

/* ---- The node's own block ------------------------------------------------------------------------------ */

/* Factors S = D D^H, and computes D^-1. */
static void finish(node_run *t) {
  tsi_index failed;
  const tsi_breakdown_kind kind = invert_root(t->size, t->rest, t->down, t->psi, &failed);
  fail(t, kind, failed);
  if (kind != TSI_BREAKDOWN_NONE) return;
  memset(t->factor, 0, sizeof t->factor);
  for (tsi_index c = 0; c < t->size; c++)
    for (tsi_index r = c; r < t->size; r++)
      put_lane((tsi_real *)cell_at(t->factor, t->vecs, c), r, (tsi_scalar)t->down[r][c]);
}

/* to = D^-1 from, cell by cell. */
INLINE void scale_vecs(const int vecs, const node_run *t, tsi_index cells, const four *from, four *to) {
  for (tsi_index c = 0; c < cells; c++, from += STEP(vecs), to += STEP(vecs)) {
    results x = {0};
    for (tsi_index q = 0; q < t->size; q++) {
      const tsi_scalar entry = lane_of((const tsi_real *)from, q);
      add_scaled(vecs, &x, 0, t->factor + q * STEP(vecs), tsi_re(entry), tsi_im(entry));
    }
    store_result(vecs, &x, 0, to);
  }
}
static void scale_cells(const node_run *t, tsi_index cells, const void *from, void *to) {
  if (t->vecs == 1)
    scale_vecs(1, t, cells, from, to);
  else
    scale_vecs(2, t, cells, from, to);
}

/* Computes G on the current P. */
static void compute(node_run *t) {
  const tsi_fsai_node_work *w = t->work;
  if (t->kind == TSI_BREAKDOWN_NONE) finish(t);
  if (t->kind != TSI_BREAKDOWN_NONE) return;
  solve(w, t->vecs);
  scale_cells(t, w->begin[w->joined], w->x, w->g);
}

/* Is the product of psi / psi_0 over the rows at most share^rows? */
static bool is_reduced(const node_run *t, double share) {
  double product = 1, limit = 1;
  for (tsi_index r = 0; r < t->size; r++) {
    product *= t->psi[r] / t->psi_0[r];
    limit *= share;
  }
  return product <= limit;
}

/* ---- Gradient and selection ---------------------------------------------------------------------------- */

/* Adds g times the entries of `count` rows of A to the gradient at these cells. */
INLINE void add_lines(const int vecs, const int count, const tsi_matrix_rows *a, tsi_index row,
                      tsi_index entries, const tsi_index *restrict cell, const four *restrict g,
                      four *restrict gradient) {
  const tsi_scalar *value[FOUR];
  results x, y;
  EACH_RESULT(c) {
    value[c] = (const tsi_scalar *)a->values + a->ptr[row + c];
    load_result(vecs, &x, c, g + c * STEP(vecs));
  }
  for (tsi_index e = 0; e < entries; e++) {
    four *to = gradient + (ptrdiff_t)cell[e] * STEP(vecs);
    load_result(vecs, &y, 0, to);
    EACH_RESULT(c)
    add_scaled(vecs, &y, 0, (const four *)x.v[c], tsi_re(value[c][e]), tsi_im(value[c][e]));
    store_result(vecs, &y, 0, to);
  }
}

/* Computes rows J of G A, by cell. */
static void find_gradient(const node_run *t) {
  const tsi_fsai_node_work *w = t->work;
  const size_t cell = (size_t)STEP(t->vecs) * sizeof(four);
  four *gradient = w->gradient;
  scale_cells(t, w->own_cells, w->own, gradient);
  memset(cell_at(gradient, t->vecs, w->own_cells), 0, (size_t)(w->cells - w->own_cells) * cell);
  for (tsi_index k = 0; k < w->lines; k++) {
    const tsi_fsai_lines *line = &w->line[k];
    for (tsi_index q = 0; q < line->rows; q += FOUR) {
      const tsi_index count = tsi_index_min(line->rows - q, FOUR);
      const four *g = cell_at(w->g, t->vecs, line->position + q);
      CHOOSE(add_lines, t->vecs, count, t->a, line->row + q, line->entries, w->cell + line->cell, g,
             gradient);
    }
  }
}

typedef double wide_four __attribute__((vector_size(FOUR * sizeof(double))));

INLINE void add_squares(const int vecs, const four *x, wide_four *total) {
  UNROLL_IN_REGISTERS for (int v = 0; v < STEP(vecs); v++) {
    const wide_four part = __builtin_convertvector(x[v], wide_four);
    *total += part * part;
  }
}

INLINE double sum_of(const wide_four *total) {
  return ((*total)[0] + (*total)[1]) + ((*total)[2] + (*total)[3]);
}

/* Returns the sum of the squares of cells. */
INLINE double measure(const int vecs, tsi_index cells, const four *x) {
  wide_four total = {0};
  for (tsi_index c = 0; c < cells; c++) add_squares(vecs, x + c * STEP(vecs), &total);
  return sum_of(&total);
}

static double measure_node(const node_run *t, const void *cells, tsi_index first, tsi_index count) {
  return t->vecs == 1 ? measure(1, count, cell_at(cells, 1, first))
                      : measure(2, count, cell_at(cells, 2, first));
}

/* Computes the sum of the squares of the gradient of a node of `count` rows, in the basis in which its own
 * block of A is I. */
INLINE void weigh_cells(const int vecs, const int count, const four *x, const tsi_scalar *weight,
                        tsi_index stride, double *square) {
  wide_four total = {0};
  UNROLL_IN_REGISTERS for (int r = 0; r < count; r++, weight += stride) {
    results y = {0};
    UNROLL_IN_REGISTERS for (int c = 0; c <= r; c++)
        add_scaled(vecs, &y, 0, x + c * STEP(vecs), tsi_re(weight[c]), -tsi_im(weight[c]));
    add_squares(vecs, (const four *)y.v[0], &total);
  }
  *square = sum_of(&total);
}

static double weigh_gradient(const node_run *t, tsi_index slot) {
  const tsi_fsai_node_work *w = t->work;
  const tsi_index row = t->nodes->start[w->node[slot]], stride = t->nodes->most;
  const tsi_index size = t->nodes->start[w->node[slot] + 1] - row;
  const tsi_scalar *weight = (const tsi_scalar *)w->weights + (ptrdiff_t)row * stride;
  const four *x = cell_at(w->gradient, t->vecs, w->first[slot]);
  double square = 0;
  if (size > FOUR)
    weigh_cells(2, size, x, weight, stride, &square);
  else
    CHOOSE(weigh_cells, t->vecs, size, x, weight, stride, &square);
  return square;
}

static tsi_index size_of(const node_run *t, tsi_index slot) {
  const tsi_index node = t->work->node[slot];
  return t->nodes->start[node + 1] - t->nodes->start[node];
}

/* Picks the nodes outside P with the largest gradients, the largest first; of equal ones the first. Returns
 * their number: as many as needed for so many columns. */
static tsi_index pick(const node_run *t, tsi_index columns) {
  tsi_fsai_node_work *w = t->work;
  tsi_index count = 0, taken = 0;
  double least = DBL_TRUE_MIN;
  for (tsi_index s = 0; s < w->slots; s++) {
    if (w->position[w->first[s]] >= 0) continue;
    const double size = weigh_gradient(t, s);
    if (!(size >= least)) continue;
    count = tsi_fsai_keep(s, size, count, columns, w->node, w->picked, w->magnitude);
    if (count == columns) least = w->magnitude[columns - 1];
  }
  for (tsi_index k = 0; k < count; k++) {
    if (taken >= columns) return k;
    taken += size_of(t, w->picked[k]);
  }
  return count;
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Computes G on a given pattern; ends: the pattern does not grow. */
static void start(node_run *t, const tsi_index *given, tsi_index count, bool ends) {
  begin(t);
  for (tsi_index k = 0; k < count && t->kind == TSI_BREAKDOWN_NONE; k++) {
    const tsi_index s = settle(t, t->nodes->of[given[k]]);
    if (t->work->position[t->work->first[s]] < 0) join(t, s, ends);
  }
  compute(t);
}

static void grow(node_run *t, const tsi_fsai_limits *limits) {
  const tsi_fsai_node_work *w = t->work;
  for (tsi_index k = 0; k < limits->steps && t->kind == TSI_BREAKDOWN_NONE; k++) {
    if (is_reduced(t, limits->reduction)) return;
    find_gradient(t);
    const tsi_index count = pick(t, limits->per_step);
    if (count == 0) return;
    for (tsi_index p = 0; p < count && t->kind == TSI_BREAKDOWN_NONE; p++)
      join(t, w->picked[p], k + 1 == limits->steps);
    compute(t);
  }
}

/* Lists the nodes of P, ascending by their first columns; share > 0: only nodes whose part of G is large
 * enough. */
static tsi_index list_nodes(const node_run *t, double share, tsi_index *list) {
  const tsi_fsai_node_work *w = t->work;
  const double all = measure_node(t, w->g, 0, w->begin[w->joined]) + measure_node(t, t->factor, 0, t->size);
  tsi_index count = 0;
  for (tsi_index k = 0; k < w->joined; k++) {
    const tsi_index column = t->nodes->start[w->node[w->pattern[k]]];
    tsi_index at = count;
    if (measure_node(t, w->g, w->begin[k], w->begin[k + 1] - w->begin[k]) < share * share * all) continue;
    for (; at > 0 && list[at - 1] > column; at--) list[at] = list[at - 1];
    list[at] = column;
    count++;
  }
  return count;
}

/* list: nodes of P, ascending. */
static void write_row(const node_run *t, tsi_index r, tsi_index count, const tsi_index *list,
                      tsi_fsai_row *row) {
  const tsi_fsai_node_work *w = t->work;
  tsi_index *index = row->index;
  tsi_scalar *values = row->values;
  for (tsi_index k = 0; k < count; k++) {
    const tsi_index s = w->place[t->nodes->of[list[k]]];
    for (tsi_index c = 0; c < size_of(t, s); c++) {
      const void *g = cell_at(w->g, t->vecs, w->position[w->first[s] + c]);
      *index++ = list[k] + c;
      *values++ = lane_of(g, r);
    }
  }
  for (tsi_index c = 0; c <= r; c++) {
    *index++ = t->i + c;
    *values++ = (tsi_scalar)t->down[r][c];
  }
  row->entries = (tsi_index)(index - row->index);
  row->kind = tsi_judge_row(1, row->entries, row->values);
}

static void rows(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, const tsi_fsai_limits *limits,
                 tsi_index node, tsi_fsai_row *rows, tsi_fsai_node_work *work) {
  node_run t = {.a = a, .nodes = nodes, .work = work, .vecs = nodes->most > FOUR ? 2 : 1, .node = node};
  t.i = nodes->start[node];
  t.size = nodes->start[node + 1] - t.i;
  start(&t, rows[0].given, rows[0].count, limits->steps == 0);
  grow(&t, limits);
  if (limits->postfilter > 0 && t.kind == TSI_BREAKDOWN_NONE) {
    const tsi_index kept = list_nodes(&t, limits->postfilter, work->list);
    if (kept < work->joined) {
      end(work);
      start(&t, work->list, kept, true);
    }
  }
  for (tsi_index r = 0; r < t.size; r++) rows[r].kind = TSI_BREAKDOWN_NONE;
  if (t.kind != TSI_BREAKDOWN_NONE)
    rows[t.failed - t.i].kind = t.kind;
  else {
    const tsi_index count = list_nodes(&t, 0, work->list);
    for (tsi_index r = 0; r < t.size; r++) write_row(&t, r, count, work->list, &rows[r]);
  }
  end(work);
}

/* ---- Weights ------------------------------------------------------------------------------------------- */

static void weigh(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, tsi_index node, void *weights) {
  const tsi_index first = nodes->start[node], size = nodes->start[node + 1] - first;
  tsi_wide block[MOST][MOST] = {{0}}, down[MOST][MOST] = {{0}};
  tsi_scalar *weight = (tsi_scalar *)weights + (ptrdiff_t)first * nodes->most;
  double pivot[MOST];
  tsi_index failed;
  for (tsi_index row = first; row < first + size; row++) {
    const tsi_count from = tsi_lower_bound(a->index, a->ptr[row], a->ptr[row + 1], first);
    take_block_row(a, row, from, first, block[row - first]);
  }
  const bool good = invert_root(size, block, down, pivot, &failed) == TSI_BREAKDOWN_NONE;
  for (tsi_index r = 0; r < size; r++)
    for (tsi_index c = 0; c < nodes->most; c++)
      weight[r * nodes->most + c] = good && c <= r ? (tsi_scalar)down[r][c] : 0;
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_fsai_node_kernels), isa)

const tsi_fsai_node_kernels TABLE(TSI_ISA) = {
    .isa = TSI_TEXT(TSI_ISA), .real_bytes = sizeof(tsi_real), .weigh = weigh, .rows = rows};
