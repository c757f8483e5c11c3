/* See device_walk.h. */
#include "tests/support/device_walk.h"

#include <complex.h>

#include "tests/support/check.h"
#include "tests/support/random.h"
#undef I

typedef double _Complex number;

typedef struct walk {
  char scalar;
  const tsi_device_tables *t; /* tables of the current sweep */
  const tsi_device_call *call;
  bool backward;
  tsi_index column; /* number of the right-hand side */
  number *w;        /* workspace: one number per row */
} walk;

/* ---- Numbers of any type ------------------------------------------------------------------------------- */

static number get(char scalar, const void *array, int64_t at) {
  switch (scalar) {
  case 's':
    return (double)((const float *)array)[at];
  case 'd':
    return ((const double *)array)[at];
  case 'c':
    return (number)((const float _Complex *)array)[at];
  default:
    return ((const number *)array)[at];
  }
}

static void put(char scalar, void *array, int64_t at, number x) {
  switch (scalar) {
  case 's':
    ((float *)array)[at] = (float)creal(x);
    break;
  case 'd':
    ((double *)array)[at] = creal(x);
    break;
  case 'c':
    ((float _Complex *)array)[at] = (float _Complex)x;
    break;
  default:
    ((number *)array)[at] = x;
  }
}

/* Returns the scalar type of b and x. */
static char user_scalar(const walk *k) {
  return !k->call->wide ? k->scalar : k->scalar == 's' ? 'd' : 'z';
}

static number as_number(const double part[2]) {
  number x = part[0];
  __imag__ x = part[1];
  return x;
}

/* ---- The user's rows ----------------------------------------------------------------------------------- */

static number read_row(const walk *k, tsi_index j) {
  const tsi_device_call *call = k->call;
  const tsi_index r = call->in_row ? call->in_row[j] : j;
  number value = get(user_scalar(k), call->b, r * call->b_row + k->column * call->b_column);
  if (call->in_scale) value *= call->in_scale[r];
  return call->conjugate_in ? conj(value) : value;
}

static void write_row(const walk *k, tsi_index j, number value) {
  const tsi_device_call *call = k->call;
  const tsi_index r = call->out_row ? call->out_row[j] : j;
  const int64_t at = r * call->x_row + k->column * call->x_column;
  if (call->conjugate_out) value = conj(value);
  if (call->out_scale) value *= call->out_scale[r];
  if (call->combines) {
    value *= as_number(call->alpha);
    if (as_number(call->beta) != 0) value += as_number(call->beta) * get(user_scalar(k), call->x, at);
  }
  put(user_scalar(k), call->x, at, value);
}

/* ---- Panels -------------------------------------------------------------------------------------------- */

static const tsi_device_values *values_of(const walk *k) {
  return k->backward ? &k->call->backward : &k->call->forward;
}

/* Entry (r, c), c <= r, of a panel's triangle. */
static number triangle_entry(const walk *k, const tsi_panel *panel, tsi_index r, tsi_index c) {
  const tsi_index b = r / TSI_ROW_BLOCK * TSI_ROW_BLOCK,
                  rows = tsi_index_min(TSI_ROW_BLOCK, panel->width - b);
  const tsi_count block = panel->values + tsi_triangle_block(b);
  const tsi_count at =
      c < b ? (tsi_count)c * rows + r - b : (tsi_count)rows * b + tsi_corner_column(rows, c - b) + r - c;
  return get(k->scalar, values_of(k)->values, block + at);
}

/* Entry (i, c) of its rectangle. */
static number rectangle_entry(const walk *k, const tsi_panel *panel, tsi_index i, tsi_index c) {
  const tsi_index b = i / TSI_ROW_BLOCK * TSI_ROW_BLOCK,
                  rows = tsi_index_min(TSI_ROW_BLOCK, panel->height - b);
  return get(k->scalar, values_of(k)->values,
             panel->values + tsi_triangle_size(panel->width) + (tsi_count)b * panel->width +
                 (tsi_count)c * rows + i - b);
}

/* x := P x, or, undo, P' x. */
static void interchange(const walk *k, const tsi_panel *panel, number *x, bool undo) {
  number old[TSI_PANEL_WIDTH_MAX];
  const tsi_index *from = values_of(k)->from;
  if (from == NULL) return;
  memcpy(old, x, (size_t)panel->width * sizeof *x);
  for (tsi_index j = 0; j < panel->width; j++) {
    const tsi_index q = from[panel->column + j];
    if (undo)
      x[q] = old[j];
    else
      x[j] = old[q];
  }
}

/* x := T x, or T^-1 x, by rows downwards. The diagonal of a triangle that is not inverted holds reciprocals.
 */
static void triangle(const walk *k, const tsi_panel *panel, number *x) {
  const bool solve = k->t->inverse == TSI_INVERSE_NONE;
  for (tsi_index q = 0; q < panel->width; q++) {
    const tsi_index r = solve ? q : panel->width - 1 - q;
    number sum = 0;
    for (tsi_index c = 0; c < r; c++) sum += triangle_entry(k, panel, r, c) * x[c];
    const number diagonal = triangle_entry(k, panel, r, r);
    x[r] = solve ? (x[r] - sum) * diagonal : sum + diagonal * x[r];
  }
}

/* x := T' x, or T'^-1 x. */
static void triangle_transposed(const walk *k, const tsi_panel *panel, number *x) {
  const bool solve = k->t->inverse == TSI_INVERSE_NONE;
  for (tsi_index q = 0; q < panel->width; q++) {
    const tsi_index c = solve ? panel->width - 1 - q : q;
    number sum = 0;
    for (tsi_index r = c + 1; r < panel->width; r++) sum += triangle_entry(k, panel, r, c) * x[r];
    const number diagonal = triangle_entry(k, panel, c, c);
    x[c] = solve ? (x[c] - sum) * diagonal : sum + diagonal * x[c];
  }
}

/* (R x)_i */
static number rectangle_row(const walk *k, const tsi_panel *panel, tsi_index i, const number *x) {
  number sum = 0;
  for (tsi_index c = 0; c < panel->width; c++) sum += rectangle_entry(k, panel, i, c) * x[c];
  return sum;
}

/* sum[c] += R' of rows first .. first+count-1 of the panel. */
static void rectangle_transposed(const walk *k, const tsi_device_node *node, const tsi_panel *panel,
                                 tsi_index first, tsi_index count, number *sum) {
  for (tsi_index i = first; i < first + count; i++)
    for (tsi_index c = 0; c < panel->width; c++)
      sum[c] += rectangle_entry(k, panel, i, c) * k->w[node->x + k->t->row[panel->row + i]];
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

static void forward_panel(const walk *k, const tsi_device_node *node, const tsi_panel *panel) {
  const bool after = k->t->inverse == TSI_INVERSE_PARTITIONED;
  number *x = k->w + node->x + panel->x;
  interchange(k, panel, x, false);
  if (!after) triangle(k, panel, x);
  for (tsi_index i = 0; i < panel->height; i++)
    k->w[node->x + k->t->row[panel->row + i]] -= rectangle_row(k, panel, i, x);
  if (after) triangle(k, panel, x);
}

/* x += the sum of a list */
static void gather(const walk *k, tsi_index list, number *x) {
  for (tsi_index e = k->t->gather_ptr[list]; e < k->t->gather_ptr[list + 1]; e++) *x += k->w[k->t->gather[e]];
}

/* x = b in the columns of a chunk. */
static void read_columns(const walk *k, const tsi_device_node *node, number *x) {
  for (tsi_index j = 0; j < node->columns; j++) x[j] = read_row(k, node->column + j);
}

/* Adds the updates of other chunks to the columns. */
static void gather_columns(const walk *k, const tsi_device_node *node, number *x) {
  for (tsi_index j = 0; j < node->columns; j++) gather(k, node->column + j, &x[j]);
}

/* x = P (solution + updates), for a sliced chunk. */
static void gather_panel(const walk *k, const tsi_device_node *node, number *x) {
  memcpy(x, k->w + node->solution, (size_t)node->columns * sizeof *x);
  gather_columns(k, node, x);
  interchange(k, &k->t->panel[node->panel], x, false);
}

static void gather_off_rows(const walk *k, const tsi_device_node *node) {
  for (tsi_index i = node->first; i < node->first + node->count; i++) {
    k->w[node->update + i] = 0;
    gather(k, k->t->n + node->off + i, &k->w[node->update + i]);
  }
}

static void forward_chunk(const walk *k, const tsi_device_node *node) {
  read_columns(k, node, k->w + node->x);
  gather_columns(k, node, k->w + node->x);
  gather_off_rows(k, node);
  for (tsi_index p = node->panel; p < node->panel + node->panels; p++)
    forward_panel(k, node, &k->t->panel[p]);
}

static void forward_triangle(const walk *k, const tsi_device_node *node) {
  const tsi_panel *panel = &k->t->panel[node->panel];
  number x[TSI_PANEL_WIDTH_MAX];
  gather_panel(k, node, x);
  triangle(k, panel, x);
  for (tsi_index r = node->first; r < node->first + node->count; r++) k->w[node->x + r] = x[r];
}

static void forward_slice(const walk *k, const tsi_device_node *node) {
  const tsi_panel *panel = &k->t->panel[node->panel];
  number x[TSI_PANEL_WIDTH_MAX];
  if (k->t->inverse == TSI_INVERSE_PARTITIONED)
    gather_panel(k, node, x);
  else
    memcpy(x, k->w + node->x, (size_t)node->columns * sizeof *x);
  gather_off_rows(k, node);
  for (tsi_index i = node->first; i < node->first + node->count; i++)
    k->w[node->update + i] -= rectangle_row(k, panel, i, x);
}

static void copy_owners(const walk *k, const tsi_device_node *node) {
  for (tsi_index i = node->first; i < node->first + node->count; i++)
    k->w[node->update + i] = k->w[k->t->owner[node->off + i]];
}

static void apply_inverse(const walk *k, const tsi_device_node *node) {
  const tsi_device_call *call = k->call;
  number *x = k->w + node->x;
  for (tsi_index j = 0; j < node->columns && call->inverse; j++) {
    const int64_t d = 2 * ((int64_t)node->column + j);
    const number i11 = get(k->scalar, call->inverse, d), i21 = get(k->scalar, call->inverse, d + 1);
    if (i21 == 0) {
      x[j] *= i11;
      continue;
    }
    const number i22 = get(k->scalar, call->inverse, d + 2), x1 = x[j], x2 = x[j + 1];
    x[j] = i11 * x1 + (call->adjoint ? conj(i21) : i21) * x2;
    x[++j] = i21 * x1 + i22 * x2;
  }
  for (tsi_index j = 0; j < node->columns && call->conjugate_backward; j++) x[j] = conj(x[j]);
}

/* x := P' T' (x - sum), or P' (T' x - sum) */
static void solve_backward(const walk *k, const tsi_panel *panel, const number *sum, number *x) {
  const bool first = k->t->inverse == TSI_INVERSE_PARTITIONED; /* the triangle is applied first */
  if (first) triangle_transposed(k, panel, x);
  for (tsi_index c = 0; c < panel->width; c++) x[c] -= sum[c];
  if (!first) triangle_transposed(k, panel, x);
  interchange(k, panel, x, true);
}

static void backward_panel(const walk *k, const tsi_device_node *node, const tsi_panel *panel) {
  number sum[TSI_PANEL_WIDTH_MAX] = {0};
  rectangle_transposed(k, node, panel, 0, panel->height, sum);
  solve_backward(k, panel, sum, k->w + node->x + panel->x);
}

/* Sets x of the node's columns at the beginning of the backward sweep. */
static void turn(const walk *k, const tsi_device_node *node) {
  if (k->call->forward.values == NULL) read_columns(k, node, k->w + node->x);
  apply_inverse(k, node);
}

static void backward_chunk(const walk *k, const tsi_device_node *node) {
  turn(k, node);
  copy_owners(k, node);
  for (tsi_index p = node->panel + node->panels; p-- > node->panel;) backward_panel(k, node, &k->t->panel[p]);
}

static void add_sums(const walk *k, const tsi_device_node *node, number *sum) {
  for (tsi_index s = 0; s < node->adds; s++)
    for (tsi_index c = 0; c < node->columns; c++) sum[c] += k->w[node->add + s * node->columns + c];
}

/* Writes only the rows of the solution that are columns of this node. */
static void backward_triangle(const walk *k, const tsi_device_node *node) {
  const tsi_index *from = values_of(k)->from;
  number x[TSI_PANEL_WIDTH_MAX], sum[TSI_PANEL_WIDTH_MAX] = {0};
  memcpy(x, k->w + node->x, (size_t)node->columns * sizeof *x);
  add_sums(k, node, sum);
  solve_backward(k, &k->t->panel[node->panel], sum, x);
  for (tsi_index c = node->begin; c < node->end; c++) {
    const tsi_index j = from ? from[node->column + c] : c;
    k->w[node->solution + j] = x[j];
    write_row(k, node->column + j, x[j]);
  }
}

static void backward_slice(const walk *k, const tsi_device_node *node) {
  number sum[TSI_PANEL_WIDTH_MAX] = {0};
  copy_owners(k, node);
  add_sums(k, node, sum);
  rectangle_transposed(k, node, &k->t->panel[node->panel], node->first, node->count, sum);
  memcpy(k->w + node->sums, sum, (size_t)node->columns * sizeof *sum);
}

static void gather_border(const walk *k, const tsi_device_node *node) {
  for (tsi_index j = 0; j < node->columns; j++) k->w[node->x + j] = 0;
  gather_columns(k, node, k->w + node->x);
}

static void run_node(const walk *k, const tsi_device_node *node) {
  const bool triangle = node->kind == TSI_DEVICE_TRIANGLE;
  const tsi_index begin = triangle ? node->first : 0, columns = triangle ? node->count : node->columns;
  if (node->kind <= TSI_DEVICE_WARP && node->panels == 0) {
    if (!k->backward) gather_border(k, node);
    return;
  }
  if (node->kind == TSI_DEVICE_SLICED) {
    if (k->backward)
      turn(k, node);
    else
      read_columns(k, node, k->w + node->solution);
    return;
  }
  if (node->kind == TSI_DEVICE_SLICE) {
    (k->backward ? backward_slice : forward_slice)(k, node);
    return;
  }
  if (triangle && k->backward) {
    backward_triangle(k, node);
    return;
  }
  (triangle ? forward_triangle : k->backward ? backward_chunk : forward_chunk)(k, node);
  for (tsi_index j = begin; j < begin + columns && (k->backward || k->call->backward.values == NULL); j++)
    write_row(k, node->column + j, k->w[node->x + j]);
}

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

/* Runs the nodes of a ticket in reverse order, as they must not depend on each other. */
static void run_sweep(walk *k, const tsi_device_tables *t, bool backward, const tsi_index *order) {
  const tsi_device_sweep *sweep = backward ? &t->backward : &t->forward;
  k->t = t;
  k->backward = backward;
  for (tsi_index q = 0; q < sweep->tickets; q++) {
    const tsi_device_ticket *ticket = &sweep->ticket[order ? order[q] : q];
    for (tsi_index v = ticket->nodes; v-- > 0;) run_node(k, &t->node[sweep->order[ticket->first + v]]);
  }
}

void device_walk(char scalar, const tsi_device_tables *forward, const tsi_device_tables *backward,
                 const tsi_device_call *call, const tsi_index *forward_order,
                 const tsi_index *backward_order) {
  const tsi_index rows = tsi_index_max(forward->workspace_rows, backward->workspace_rows);
  OWNED number *w = xmalloc(((size_t)rows + 1) * sizeof *w);
  for (tsi_index c = 0; c < call->nrhs; c++) {
    walk k = {.scalar = scalar, .call = call, .column = c, .w = w};
    for (tsi_index r = 0; r < rows; r++) w[r] = NAN;
    if (call->forward.values) run_sweep(&k, forward, false, forward_order);
    if (call->backward.values) run_sweep(&k, backward, true, backward_order);
  }
}

void device_walk_sweep(char scalar, const tsi_device_tables *tables, const tsi_device_call *call,
                       bool backward) {
  const tsi_index rows = tables->workspace_rows;
  OWNED number *w = xmalloc(((size_t)rows + 1) * sizeof *w);
  for (tsi_index c = 0; c < call->nrhs; c++) {
    walk k = {.scalar = scalar, .call = call, .column = c, .w = w};
    for (tsi_index r = 0; r < rows; r++) w[r] = get(scalar, call->workspace, (int64_t)r * call->stride + c);
    run_sweep(&k, tables, backward, NULL);
    for (tsi_index r = 0; r < rows; r++) put(scalar, call->workspace, (int64_t)r * call->stride + c, w[r]);
  }
}

void device_walk_order(const tsi_device_sweep *sweep, unsigned seed, tsi_index *order) {
  const size_t tickets = (size_t)sweep->tickets + 1;
  OWNED tsi_index *left = xcalloc(tickets, sizeof *left), *ready = xcalloc(tickets, sizeof *ready);
  OWNED tsi_index *first = xcalloc(tickets + 1, sizeof *first),
                  *after = xcalloc((size_t)sweep->waits + 1, sizeof *after);
  tsi_index waiting = 0, done = 0;
  uint64_t state = seed;
  for (tsi_index e = 0; e < sweep->waits; e++) first[sweep->before[e] + 2]++;
  for (size_t k = 2; k <= tickets; k++) first[k] += first[k - 1];
  for (tsi_index k = 0; k < sweep->tickets; k++) {
    left[k] = sweep->ticket[k].befores;
    if (left[k] == 0) ready[waiting++] = k;
    for (tsi_index e = 0; e < left[k]; e++)
      after[first[sweep->before[sweep->ticket[k].before + e] + 1]++] = k;
  }
  while (waiting > 0) {
    const tsi_index pick = (tsi_index)(next_random(&state) % (uint64_t)waiting), k = ready[pick];
    ready[pick] = ready[--waiting];
    order[done++] = k;
    for (tsi_index e = first[k]; e < first[k + 1]; e++)
      if (--left[after[e]] == 0) ready[waiting++] = after[e];
  }
  CHECK(done == sweep->tickets);
}
