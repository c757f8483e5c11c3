/* Block triangular form of L U: the choice in an analysis, and the rows of U behind the diagonal blocks.
 *
 * The fronts of a factorization are those of the diagonal blocks D = L U_D. Their panels of U_D are packed to
 * factor->inner. Then the rows of L^-1 F, F what is above the blocks, are computed supernode by supernode:
 *
 *            e                E   the columns of later blocks, in the rows of the supernode and of those
 * below w  [  E1 ]             E1 := L11^-1 P E1, rows of U m  [  E2 ]             E2 := E2 - L21 E1, to the
 * parent: its rows and columns are among the parent's
 *
 * E is row-major, so that this is the forward sweep of a solve with e right-hand sides. At last each panel of
 * U_D and the columns of E1 are packed as a panel of U.
 *
 * Reads   factor->lower, ->inner, pivots, scalings, values.   Writes  factor->upper.
 * One after the other, on the calling thread: the matrices of this form are small (BLOCKS_MOST). */
#include "codelets/cpu/front.h"
#include "codelets/cpu/kernels.h"
#include "partition/order/imported_structure.h"
#include "runtime/factor/numeric.h"

/* ---- The choice ---------------------------------------------------------------------------------------- */

#define BLOCKS_MOST 50000 /* rows: fronts of larger matrices are factored by all cores, E is not */
#define SINGLE_LINES 8    /* one line in so many has no entry but one: a cheap test */
#define BLOCKS_SHARE 2    /* a block for so many rows */
#define MOST_ENTRIES 4.0  /* of L and U, for each of A and its diagonal */

bool tsi_block_form_fits(const tristar_analysis_t *an) {
  const tristar_analysis_options *o = &an->options;
  const bool own = o->ordering == TRISTAR_ORDERING_NATURAL || o->ordering == TRISTAR_ORDERING_USER ||
                   o->ordering == TRISTAR_ORDERING_PTSCOTCH || o->ordering == TRISTAR_ORDERING_CALLBACK;
  if (o->block_triangular == TRISTAR_BLOCK_TRIANGULAR_OFF || !tsi_analysis_is_lu(an) ||
      an->pattern->symmetry != TRISTAR_GENERAL || an->schur_count > 0 || o->leaf_parts > 1 ||
      o->pivoting != TRISTAR_PIVOTING_STATIC || o->inverse == TRISTAR_INVERSE_PARTITIONED || own ||
      an->pattern->n == 0)
    return false;
  return o->block_triangular == TRISTAR_BLOCK_TRIANGULAR_ON ||
         (o->place == TRISTAR_PLACE_CPU && an->pattern->n <= BLOCKS_MOST);
}

/* Could half of the blocks be single columns or rows? Most of such matrices have many lines of one entry. */
static bool looks_triangular(const tsi_matched_lines *a) {
  tsi_index single = 0;
  for (tsi_index j = 0; j < a->n; j++) single += a->ptr[j + 1] - a->ptr[j] == 1;
  return single >= a->n / SINGLE_LINES && single > 0;
}

static void release(tsi_block_structures *s) {
  tsi_release(tsi_take(&s->lower));
  tsi_release(tsi_take(&s->upper));
  tsi_release(tsi_take(&s->swept));
}

tristar_status tsi_block_form_choose(tsi_env *env, tristar_analysis_t *an, const tsi_matched_lines *a,
                                     const tsi_symbolic_options *options, bool *taken) {
  const bool automatic = an->options.block_triangular == TRISTAR_BLOCK_TRIANGULAR_AUTO;
  TSI_CLEANUP(release) tsi_block_structures s = {.lower = NULL};
  TSI_OWNED tsi_graph *graph = NULL;
  TSI_OWNED tsi_symbolic *forest = NULL;
  tsi_index blocks;
  *taken = false;
  if (automatic && !looks_triangular(a)) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_index, block, a->n);
  TSI_TRY(tsi_blocks_find(env, a, block, &blocks));
  if (blocks == 1 || (automatic && blocks < a->n / BLOCKS_SHARE)) return TRISTAR_OK;
  TSI_TRY(tsi_blocks_graph(env, a, block, &graph));
  TSI_TRY(tsi_symbolic_create(env, graph, options, &forest));
  TSI_TRY(tsi_blocks_structures(env, a, block, blocks, forest, &s));
  const double entries = (double)(s.lower->nnz_exact + s.upper->nnz_exact);
  if (automatic && entries > MOST_ENTRIES * (double)(a->ptr[a->n] + a->n)) return TRISTAR_OK;
  *taken = true;
  an->blocks = blocks;
  an->symbolic = tsi_take(&s.lower);
  an->swept = tsi_take(&s.swept);
  an->other.symbolic = tsi_take(&s.upper);
  tsi_log(env, TRISTAR_LOG_INFO, "analysis: %d diagonal blocks", blocks);
  return TRISTAR_OK;
}

tristar_status tsi_block_form_cut(tsi_env *env, tristar_analysis_t *an, tsi_index width) {
  TSI_TRY(tsi_panels_create(env, an->symbolic, width, &an->panels));
  TSI_TRY(tsi_panels_create(env, an->other.symbolic, width, &an->other.panels));
  return tsi_place_panels(env, an->other.panels, &an->other.panel_values);
}

/* ---- Rows of U behind the blocks ----------------------------------------------------------------------- */

/* What a supernode leaves to its parent: m rows of E. */
typedef struct left_rows {
  tsi_index s;
  tsi_count at; /* in the stack */
} left_rows;

typedef struct rows_work {
  tristar_factor_t *factor;
  const tristar_analysis_t *an;
  const tsi_front_kernels *kernels;
  const tsi_kernels *sweep;
  double *row_scale, *col_scale; /* n, by final index; NULL: ones */
  char *stack;                   /* what was left, and E of the supernode at hand on top */
  left_rows *left;
  tsi_index lefts;
  tsi_index *row, *column; /* places of a child's rows and columns */
  tsi_index *identity;
  tsi_panel *panel;
  void *scratch;
  size_t bytes;
} rows_work;

/* Columns of later blocks. */
static tsi_index extras_of(const tristar_analysis_t *an, tsi_index s) {
  return (tsi_index)(an->other.symbolic->row_ptr[s + 1] - an->other.symbolic->row_ptr[s] -
                     (an->symbolic->row_ptr[s + 1] - an->symbolic->row_ptr[s]));
}
static tsi_index width_of(const tristar_analysis_t *an, tsi_index s) {
  return an->symbolic->start[s + 1] - an->symbolic->start[s];
}
static tsi_index rows_of(const tristar_analysis_t *an, tsi_index s) {
  return (tsi_index)(an->symbolic->row_ptr[s + 1] - an->symbolic->row_ptr[s]);
}
/* The first of its columns of later blocks. */
static const tsi_index *extra_columns(const tristar_analysis_t *an, tsi_index s) {
  return an->other.symbolic->rows + an->other.symbolic->row_ptr[s] + rows_of(an, s);
}

/* Sizes of the arrays. The stack is used as the numbering, a postorder, has it. */
typedef struct rows_sizes {
  tsi_count stack; /* scalars */
  tsi_index lefts, front, extras, panels;
} rows_sizes;

static tristar_status find_sizes(tsi_env *env, const tristar_analysis_t *an, rows_sizes *z) {
  const tsi_symbolic *sy = an->symbolic;
  TSI_SCRATCH(env, left_rows, left, sy->count);
  tsi_index lefts = 0;
  tsi_count top = 0;
  *z = (rows_sizes){.stack = 0};
  for (tsi_index s = 0; s < sy->count; s++) {
    const tsi_index e = extras_of(an, s), m = rows_of(an, s), f = width_of(an, s) + m;
    if (e == 0) continue;
    const tsi_count stride = tsi_workspace_stride(e);
    z->stack = tsi_count_max(z->stack, top + f * stride);
    z->front = tsi_index_max(z->front, f);
    z->extras = tsi_index_max(z->extras, e);
    z->panels = tsi_index_max(z->panels, an->panels->first[s + 1] - an->panels->first[s]);
    while (lefts > 0 && sy->parent[left[lefts - 1].s] == s) top = left[--lefts].at;
    if (m == 0) continue;
    left[lefts++] = (left_rows){s, top};
    z->lefts = tsi_index_max(z->lefts, lefts);
    top += tsi_round_up_block(m * stride);
  }
  return TRISTAR_OK;
}

static tristar_status prepare(tsi_env *env, tristar_factor_t *factor, rows_work *w) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->symbolic->n;
  rows_sizes z;
  TSI_TRY(find_sizes(env, an, &z));
  w->factor = factor;
  w->an = an;
  w->bytes = factor->scalar_bytes;
  w->kernels = tsi_front_kernels_select(an->factor_scalar);
  w->sweep = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), factor->ts->isa);
  TSI_TRY(TSI_ALLOC_SIZED_IN(w, w->stack, (size_t)z.stack, w->bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(w, w->scratch, TSI_KERNEL_SCRATCH, w->bytes));
  TSI_TRY(TSI_ALLOC_IN(w, w->left, z.lefts));
  TSI_TRY(TSI_ALLOC_IN(w, w->row, z.front));
  TSI_TRY(TSI_ALLOC_IN(w, w->identity, z.front));
  TSI_TRY(TSI_ALLOC_IN(w, w->column, z.extras));
  TSI_TRY(TSI_ALLOC_IN(w, w->panel, z.panels));
  for (tsi_index k = 0; k < z.front; k++) w->identity[k] = k;
  if (factor->row_scale == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(w, w->row_scale, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->col_scale, n));
  for (tsi_index j = 0; j < n; j++) {
    w->row_scale[j] = factor->row_scale[an->in_row[j]];
    w->col_scale[j] = factor->col_scale[an->out_row[j]];
  }
  return TRISTAR_OK;
}

/* The entries of F in the rows of the supernode. */
static void add_entries(const rows_work *w, tsi_index s, tsi_index e, char *x) {
  const tristar_analysis_t *an = w->an;
  const tsi_index first = an->symbolic->start[s];
  const tsi_front rows = {.w = width_of(an, s), .f = tsi_workspace_stride(e), .full = true, .p = x};
  const tsi_front_lines lines = {.ptr = an->between.ptr + first,
                                 .other = an->between.other,
                                 .place = an->between.place,
                                 .source = an->between.source,
                                 .line_scale = w->row_scale ? w->row_scale + first : NULL,
                                 .other_scale = w->col_scale,
                                 .sign = 1};
  w->kernels->add_lines(&rows, &lines, 0, rows.w, w->factor->values,
                        an->factor_scalar != an->pattern->scalar);
}

/* What a child has left. */
static void add_child(const rows_work *w, tsi_index s, tsi_index child, const char *from, char *x) {
  const tristar_analysis_t *an = w->an;
  const tsi_index e = extras_of(an, child), *theirs = extra_columns(an, child), *ours = extra_columns(an, s);
  tsi_front_place_child(an->symbolic, child, w->row);
  for (tsi_index k = 0, at = 0; k < e; k++) {
    while (ours[at] < theirs[k]) at++; /* it is there: tsi_blocks_check */
    w->column[k] = at;
  }
  w->kernels->add_rows(rows_of(an, child), w->row, e, w->column, tsi_workspace_stride(e), from,
                       tsi_workspace_stride(extras_of(an, s)), x);
}

/* Has the supernode no children, no rows, and A no entries below the diagonal there? Then no rows are
 * exchanged, either: the other candidates are zero. */
static bool is_diagonal(const tristar_analysis_t *an, tsi_index s) {
  const tsi_index first = an->symbolic->start[s], end = an->symbolic->start[s + 1];
  if (rows_of(an, s) > 0 || (s > 0 && an->symbolic->parent[s - 1] == s)) return false;
  for (tsi_index j = first; j < end; j++)
    if (an->lower.ptr[j + 1] - an->lower.ptr[j] > 1 ||
        (an->lower.ptr[j + 1] > an->lower.ptr[j] && an->lower.other[an->lower.ptr[j]] != j))
      return false;
  return true;
}

/* E1 and E2. */
static void eliminate(const rows_work *w, tsi_index s, tsi_index e, char *x) {
  const tristar_analysis_t *an = w->an;
  const tsi_panels *panels = an->panels;
  const tsi_index first = panels->first[s], count = panels->first[s + 1] - first;
  if (is_diagonal(an, s)) return; /* L is a unit matrix */
  for (tsi_index k = 0; k < count; k++) {
    const tsi_index p = first + k, o = panels->start[p] - an->symbolic->start[s],
                    b = tsi_panel_width(panels, p);
    w->panel[k] = (tsi_panel){.values = an->panel_values[p],
                              .row = o + b,
                              .width = b,
                              .height = panels->height[p],
                              .x = o,
                              .column = panels->start[p]};
  }
  w->sweep->forward(count, w->panel, w->factor->lower, w->identity, w->factor->pivots, e, x, w->scratch);
}

/* The panels of U: those of its block, and columns of E1. */
static void pack(const rows_work *w, tsi_index s, tsi_index e, const char *x) {
  const tristar_analysis_t *an = w->an;
  const tsi_panels *panels = an->panels;
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) {
    const size_t o = (size_t)(panels->start[p] - an->symbolic->start[s]);
    const char *from = (const char *)w->factor->inner + (size_t)an->panel_values[p] * w->bytes;
    char *to = (char *)w->factor->upper + (size_t)an->other.panel_values[p] * w->bytes;
    const tsi_index stride = tsi_workspace_stride(e);
    w->kernels->widen_panel(tsi_panel_width(panels, p), panels->height[p], e, from,
                            x + o * (size_t)stride * w->bytes, stride, to);
  }
}

/* Each begins at a multiple of TSI_ROW_BLOCK scalars. Pops what the children have left, and pushes what s
 * leaves. top: of the stack before the children's. */
static void run_supernode(rows_work *w, tsi_index s, tsi_count *top) {
  const tristar_analysis_t *an = w->an;
  const tsi_symbolic *sy = an->symbolic;
  const tsi_index e = extras_of(an, s), m = rows_of(an, s), width = width_of(an, s);
  char *x = w->stack + (size_t)*top * w->bytes;
  if (e == 0) {
    pack(w, s, 0, NULL);
    return;
  }
  const size_t row = (size_t)tsi_workspace_stride(e) * w->bytes;
  memset(x, 0, (size_t)(width + m) * row);
  add_entries(w, s, e, x);
  for (; w->lefts > 0 && sy->parent[w->left[w->lefts - 1].s] == s; w->lefts--) {
    const left_rows *child = &w->left[w->lefts - 1];
    add_child(w, s, child->s, w->stack + (size_t)child->at * w->bytes, x);
    *top = child->at;
  }
  eliminate(w, s, e, x);
  pack(w, s, e, x);
  if (m == 0) return;
  memmove(w->stack + (size_t)*top * w->bytes, x + (size_t)width * row, (size_t)m * row);
  w->left[w->lefts++] = (left_rows){s, *top};
  *top += tsi_round_up_block((tsi_count)m * tsi_workspace_stride(e));
}

tristar_status tsi_block_form_complete(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  tsi_count top = 0;
  if (an->blocks == 0) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, rows_work, w, 1);
  TSI_TRY(prepare(env, factor, w));
  for (tsi_index s = 0; s < an->symbolic->count; s++) run_supernode(w, s, &top);
  const tsi_count scalars = an->other.panel_values[an->other.panels->count];
  const tsi_count bad =
      tsi_sparse_kernels_select(an->factor_scalar)->first_not_finite(scalars, factor->upper);
  if (bad == scalars) return TRISTAR_OK;
  tsi_index p = 0;
  while (an->other.panel_values[p + 1] <= bad) p++;
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "the factors overflow at column %d of the matrix (counted from 0)",
           an->out_row[an->panels->start[p]]);
}

tristar_status tsi_block_form_weigh(tsi_env *env, const tristar_analysis_t *an, size_t *bytes) {
  const size_t scalar = tsi_front_kernels_select(an->factor_scalar)->scalar_bytes,
               n = (size_t)an->symbolic->n;
  rows_sizes z;
  *bytes = 0;
  if (an->blocks == 0) return TRISTAR_OK;
  TSI_TRY(find_sizes(env, an, &z));
  *bytes = ((size_t)z.stack + TSI_KERNEL_SCRATCH) * scalar + (size_t)z.lefts * sizeof(left_rows) +
           (2 * (size_t)z.front + (size_t)z.extras) * sizeof(tsi_index) +
           (size_t)z.panels * sizeof(tsi_panel) + 2 * n * sizeof(double);
  return TRISTAR_OK;
}
