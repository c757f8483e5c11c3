/* Chosen entries of the inverse: see tristar_inverse.h.
 *
 * Z is the inverse of the scaled and permuted matrix B (analysis.h): (A^-1)_rc = C_r Z(j, i) R_c for the
 * final column j of r and the final row i of c. An entry belongs to the supernode of the lower of both
 * numbers. It has a place if the other number is in the front of this supernode. The recursion visits
 * supernodes from the last to the first, so parents before children. The rows of a front below its supernode
 * are rows of the parent's front, so their part of Z is copied from there.
 *
 * If pivots were perturbed, or solves lose digits, both ways lose digits. Then each column of the entries is
 * computed by a refined solve with a unit vector. An inaccurate solution is an error.
 *
 * Reads   a plan and its factor.   Writes  the caller's values, plan->stats.inverse_solves. */
#include <inttypes.h>
#include <math.h>

#include "codelets/cpu/base/panel.h"
#include "codelets/cpu/kernels.h"
#include "codelets/cpu/selected.h"
#include "dag/factor/front_teams.h"
#include "runtime/base/progress.h"
#include "runtime/base/scalars.h"
#include "runtime/factor/storage.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/solve/plan.h"
#include "runtime/solve/request.h"
#include "tristar_inverse.h"

enum { BLOCK = 64, REFINED_BLOCK = 16 }; /* unit vectors of one solve; of one refined solve */

/* The requested entries. */
typedef struct requested {
  tristar_plan_t *plan;
  tsi_count count;
  const tsi_index *row, *column; /* of A^-1 */
  void *values;                  /* count */
  tsi_index *supernode; /* count: the supernode that has the place of the entry; TSI_NONE: computed by unit
                           vectors */
  bool refined;         /* Solutions with unit vectors are refined. */
} requested;

static double epsilon_of(const tristar_factor_t *factor) {
  return tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
}

/* The largest backward error that entries may have. */
static double most_of(const tristar_factor_t *factor) {
  return tsi_acceptable_error(epsilon_of(factor));
}

/* Do solves need refinement? Entries must have the accuracy of solves with the scaled matrix, for any
 * units. */
static bool needs_refinement(const tristar_factor_t *factor) {
  return factor->stats.perturbed_pivots > 0 || !(factor->scaled_error <= most_of(factor));
}

/* Returns the supernode that has the place of entry (j, i) of Z; TSI_NONE: there is no place. */
static tsi_index find_place(const tristar_analysis_t *an, const tsi_index *owner, tsi_index j, tsi_index i) {
  const tsi_symbolic *sy = an->symbolic;
  const tsi_index s = owner[tsi_index_min(i, j)], other = i < j ? j : i;
  const tsi_index below = other < sy->start[s + 1] ? 0 : tsi_row_below(sy, s, other);
  if (other >= sy->start[s + 1] &&
      (sy->row_ptr[s] + below == sy->row_ptr[s + 1] || sy->rows[sy->row_ptr[s] + below] != other))
    return TSI_NONE;
  return s;
}

/* Sorts the entries k with a key[k] other than TSI_NONE. In `order`, entries with key i are at first[i] ..
 * first[i + 1] - 1. first: keys + 1 zeros before. */
static void sort_entries(tsi_count count, const tsi_index *key, tsi_index keys, tsi_count *first,
                         tsi_count *order) {
  for (tsi_count k = 0; k < count; k++)
    if (key[k] != TSI_NONE) first[key[k] + 1]++;
  for (tsi_index i = 0; i < keys; i++) first[i + 1] += first[i];
  for (tsi_count k = 0; k < count; k++)
    if (key[k] != TSI_NONE) order[first[key[k]]++] = k;
  for (tsi_index i = keys; i > 0; i--) first[i] = first[i - 1];
  first[0] = 0;
}

/* ---- The recursion ------------------------------------------------------------------------------------- */

typedef struct recursion {
  const tristar_factor_t *factor;
  const tsi_selected_kernels *kernels;
  const tsi_kernels *sweep;
  bool *needed;        /* for each supernode: it or a descendant has an entry */
  tsi_index *left;     /* for each supernode: number of needed children not visited yet */
  void **z;            /* for each supernode: its part of Z, f x f */
  tsi_index *position; /* rows in the parent's front; sized for the largest front */
  tsi_index *identity; /* 0, 1, ...: row numbers of a panel in the workspace */
  void *lower, *upper; /* workspaces of a panel */
  void *scratch;
} recursion;

static tsi_index rows_of(const tsi_symbolic *sy, tsi_index s) {
  return (tsi_index)(sy->row_ptr[s + 1] - sy->row_ptr[s]);
}

static tsi_index front_of(const tsi_symbolic *sy, tsi_index s) {
  return sy->start[s + 1] - sy->start[s] + rows_of(sy, s);
}

/* Scalars of a workspace of panel p. */
static tsi_count workspace_of(const tsi_panels *panels, tsi_index p) {
  const tsi_index w = tsi_panel_width(panels, p);
  return (tsi_count)(w + panels->height[p]) * tsi_workspace_stride(w);
}

static tristar_status begin(recursion *r) {
  const tristar_analysis_t *an = r->factor->analysis;
  const tsi_symbolic *sy = an->symbolic;
  const size_t bytes = r->factor->scalar_bytes;
  tsi_count most = 0;
  tsi_index front = 0;
  for (tsi_index p = 0; p < an->panels->count; p++)
    if (r->needed[an->panels->supernode[p]]) most = tsi_count_max(most, workspace_of(an->panels, p));
  for (tsi_index s = 0; s < sy->count; s++)
    if (r->needed[s]) front = tsi_index_max(front, front_of(sy, s));
  TSI_TRY(TSI_ALLOC_ZERO_IN(r, r->z, sy->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(r, r->left, sy->count));
  TSI_TRY(TSI_ALLOC_IN(r, r->position, front));
  TSI_TRY(TSI_ALLOC_IN(r, r->identity, front));
  TSI_TRY(TSI_ALLOC_SIZED_IN(r, r->lower, (size_t)most, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(r, r->upper, (size_t)most, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(r, r->scratch, TSI_KERNEL_SCRATCH, bytes));
  for (tsi_index k = 0; k < front; k++) r->identity[k] = k;
  for (tsi_index s = 0; s < sy->count; s++)
    if (r->needed[s] && sy->parent[s] != TSI_NONE) r->left[sy->parent[s]]++;
  return TRISTAR_OK;
}

/* Allocates a front and copies the rows of Z below the supernode from the parent. The parent's front is freed
 * after its last child. */
static tristar_status open_front(tsi_env *env, recursion *r, tsi_index s) {
  const tsi_symbolic *sy = r->factor->analysis->symbolic;
  const tsi_index parent = sy->parent[s], m = rows_of(sy, s), f = front_of(sy, s);
  TSI_TRY(TSI_ALLOC_SIZED(env, r->z[s], (size_t)f * (size_t)f, r->factor->scalar_bytes));
  if (parent == TSI_NONE) return TRISTAR_OK;
  for (tsi_index k = 0; k < m; k++) r->position[k] = tsi_front_row(sy, parent, sy->rows[sy->row_ptr[s] + k]);
  r->kernels->gather(m, r->position, r->z[parent], front_of(sy, parent), r->z[s], f);
  if (--r->left[parent] == 0) TSI_FREE(env, r->z[parent]);
  return TRISTAR_OK;
}

/* Applies the kernels of a solve to a unit matrix. */
static void apply(const recursion *r, tsi_index p, bool upper, void *x) {
  const tristar_factor_t *factor = r->factor;
  const tsi_panels *panels = factor->analysis->panels;
  const tsi_index w = tsi_panel_width(panels, p);
  const tsi_panel panel = {.values = factor->analysis->panel_values[p],
                           .row = w,
                           .width = w,
                           .height = panels->height[p],
                           .x = 0,
                           .column = panels->start[p]};
  r->kernels->unit(w, panels->height[p], tsi_workspace_stride(w), x);
  r->sweep->forward(1, &panel, upper ? factor->upper : factor->lower, r->identity,
                    upper || !factor->pivoted ? NULL : factor->pivots, w, x, r->scratch);
}

/* Computes the front of a supernode. Errors: CANCELLED. */
static tristar_status run_front(tsi_env *env, const recursion *r, tsi_index s) {
  const tristar_factor_t *factor = r->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_panels *panels = an->panels;
  const bool lu = tsi_analysis_is_lu(an);
  for (tsi_index p = panels->first[s + 1]; p-- > panels->first[s];) {
    const tsi_index w = tsi_panel_width(panels, p);
    TSI_TRY(tsi_progress_look(env, TRISTAR_PHASE_SOLVE, 1 - (double)(p + 1) / panels->count));
    apply(r, p, false, r->lower);
    if (lu) apply(r, p, true, r->upper);
    const char *inverse = factor->inverse;
    const tsi_selected_panel panel = {
        .o = panels->start[p] - an->symbolic->start[s],
        .w = w,
        .m = panels->height[p],
        .f = front_of(an->symbolic, s),
        .stride = tsi_workspace_stride(w),
        .z = r->z[s],
        .lower = r->lower,
        .upper = r->upper,
        .full = lu,
        .adjoint = factor->adjoint,
        .inverse = inverse ? inverse + 2 * (size_t)panels->start[p] * factor->scalar_bytes : NULL};
    r->kernels->panel(&panel);
  }
  return TRISTAR_OK;
}

/* Copies entry k from its place in Z, in the units of A. */
static void take(const requested *w, const recursion *r, tsi_count k) {
  const tristar_factor_t *factor = r->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index s = w->supernode[k], j = tsi_front_row(an->symbolic, s, an->out_place[w->row[k]]),
                  i = tsi_front_row(an->symbolic, s, an->in_place[w->column[k]]);
  const double row = factor->col_scale ? factor->col_scale[w->row[k]] : 1,
               column = factor->row_scale ? factor->row_scale[w->column[k]] : 1;
  double part[2];
  tsi_scalar_read(an->factor_scalar, r->z[s], (size_t)j + (size_t)i * (size_t)front_of(an->symbolic, s),
                  part);
  for (int of = 0; of < 2; of++) part[of] = row > column ? part[of] * column * row : part[of] * row * column;
  tsi_scalar_write((char)an->pattern->scalar, w->values, (size_t)k, part);
}

static tristar_status run(tsi_env *env, recursion *r, const requested *w, const tsi_count *first,
                          const tsi_count *order) {
  const tsi_symbolic *sy = r->factor->analysis->symbolic;
  for (tsi_index s = sy->count; s-- > 0;) {
    if (!r->needed[s]) continue;
    TSI_TRY(open_front(env, r, s));
    TSI_TRY(run_front(env, r, s));
    for (tsi_count q = first[s]; q < first[s + 1]; q++) take(w, r, order[q]);
    if (r->left[s] == 0) TSI_FREE(env, r->z[s]);
  }
  return TRISTAR_OK;
}

static void free_fronts(tsi_env *env, recursion *r) {
  for (tsi_index s = 0; r->z && s < r->factor->analysis->symbolic->count; s++) TSI_FREE(env, r->z[s]);
}

static tristar_status recurse(tsi_env *env, const requested *w, bool *needed) {
  const tristar_factor_t *factor = w->plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index supernodes = an->symbolic->count;
  TSI_SCRATCH_ZERO(env, tsi_count, first, (tsi_count)supernodes + 1);
  TSI_SCRATCH(env, tsi_count, order, w->count);
  TSI_SCRATCH(env, recursion, r, 1);
  *r = (recursion){.factor = factor,
                   .kernels = tsi_selected_kernels_select(an->factor_scalar),
                   .sweep = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), NULL),
                   .needed = needed};
  sort_entries(w->count, w->supernode, supernodes, first, order);
  TSI_TRY(begin(r));
  TSI_TRY(tsi_blas_reserve(env, 1));
  tsi_blas_acquire();
  const tristar_status status = run(env, r, w, first, order);
  tsi_blas_release();
  free_fronts(env, r);
  return status;
}

/* ---- Solves with unit vectors -------------------------------------------------------------------------- */

/* Writes the marked numbers to `list`, ascending; at[i]: index of i in the list. Returns their number. */
static int64_t list_marked(tsi_index n, const bool *mark, int64_t *list, tsi_index *at) {
  int64_t count = 0;
  for (tsi_index i = 0; i < n; i++)
    if (mark[i]) {
      at[i] = (tsi_index)count;
      list[count++] = i;
    }
  return count;
}

/* Solutions with unit vectors. x has the entries (row[k], column[c]) at index k + c * rows. */
typedef struct unit_block {
  int64_t columns;
  const int64_t *column;
  int64_t rows;
  const int64_t *row; /* ascending */
  char *x;
} unit_block;

static tristar_status solve_units(const requested *w, const unit_block *u) {
  const tristar_factor_t *factor = w->plan->factor;
  const int64_t columns = u->columns;
  const double one[2] = {1, 0};
  TSI_OWNED char *b = NULL;
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(&factor->ts->env, b, (size_t)(columns * columns), factor->user_bytes));
  for (int64_t c = 0; c < columns; c++)
    tsi_scalar_write((char)factor->analysis->pattern->scalar, b, (size_t)(c * (columns + 1)), one);
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  options.b_rows = columns;
  options.b_row = u->column;
  options.x_rows = u->rows;
  options.x_row = u->row;
  const tristar_status status = tristar_solve_with(w->plan, &options, columns, b, u->x, NULL);
  return status == TRISTAR_ERR_NOT_FINITE ? TRISTAR_OK : status; /* each requested entry is checked */
}

static tristar_status solve_units_refined(const requested *w, const unit_block *u) {
  const tristar_factor_t *factor = w->plan->factor;
  const char scalar = (char)factor->analysis->pattern->scalar;
  const int64_t n = factor->analysis->pattern->n;
  const double one[2] = {1, 0};
  tristar_refine_result result;
  TSI_OWNED char *b = NULL, *x = NULL;
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(&factor->ts->env, b, (size_t)(n * u->columns), factor->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED(&factor->ts->env, x, (size_t)(n * u->columns), factor->user_bytes));
  for (int64_t c = 0; c < u->columns; c++) tsi_scalar_write(scalar, b, (size_t)(c * n + u->column[c]), one);
  TSI_TRY(tristar_solve_refined(w->plan, TRISTAR_N, u->columns, b, n, x, n, NULL, &result));
  if (!(result.backward_error <= most_of(factor)))
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ACCURACY,
             "entries of the inverse would be inaccurate: refined solves have the backward error %.1e",
             result.backward_error);
  for (int64_t c = 0; c < u->columns; c++)
    for (int64_t k = 0; k < u->rows; k++)
      memcpy(u->x + (size_t)(k + c * u->rows) * factor->user_bytes,
             x + (size_t)(u->row[k] + c * n) * factor->user_bytes, factor->user_bytes);
  return TRISTAR_OK;
}

/* Computes the entries order[from] .. order[to - 1], which have these columns. */
static tristar_status solve_block(tsi_env *env, const requested *w, const tsi_count *order, tsi_count from,
                                  tsi_count to, int64_t columns, const int64_t *column) {
  const tristar_factor_t *factor = w->plan->factor;
  const tsi_index n = factor->analysis->pattern->n;
  const char scalar = (char)factor->analysis->pattern->scalar;
  TSI_OWNED char *x = NULL;
  TSI_SCRATCH_ZERO(env, bool, mark, n);
  TSI_SCRATCH(env, int64_t, row, n);
  TSI_SCRATCH(env, tsi_index, at, n);
  for (tsi_count q = from; q < to; q++) mark[w->row[order[q]]] = true;
  const int64_t rows = list_marked(n, mark, row, at);
  TSI_TRY(TSI_ALLOC_SIZED(env, x, (size_t)(rows * columns), factor->user_bytes));
  const unit_block u = {columns, column, rows, row, x};
  TSI_TRY(w->refined ? solve_units_refined(w, &u) : solve_units(w, &u));
  int64_t c = 0;
  for (tsi_count q = from; q < to; q++) {
    double part[2];
    while (column[c] != w->column[order[q]]) c++;
    tsi_scalar_read(scalar, x, (size_t)(at[w->row[order[q]]] + c * rows), part);
    tsi_scalar_write(scalar, w->values, (size_t)order[q], part);
  }
  return TRISTAR_OK;
}

static int64_t count_columns(tsi_index n, const tsi_count *first) {
  int64_t columns = 0;
  for (tsi_index j = 0; j < n; j++) columns += first[j + 1] > first[j];
  return columns;
}

static void note_solves(tristar_plan_t *plan, int64_t columns) {
  pthread_mutex_lock(&plan->lock);
  plan->stats.inverse_solves = columns;
  pthread_mutex_unlock(&plan->lock);
}

static tristar_status solve_rest(tsi_env *env, const requested *w) {
  const tsi_index n = w->plan->factor->analysis->pattern->n;
  TSI_SCRATCH_ZERO(env, tsi_count, first, (tsi_count)n + 1);
  TSI_SCRATCH(env, tsi_count, order, w->count);
  TSI_SCRATCH(env, tsi_index, key, w->count);
  for (tsi_count k = 0; k < w->count; k++) key[k] = w->supernode[k] == TSI_NONE ? w->column[k] : TSI_NONE;
  sort_entries(w->count, key, n, first, order);
  const tsi_count rest = first[n];
  const int64_t all = count_columns(n, first), most = w->refined ? REFINED_BLOCK : BLOCK;
  int64_t column[BLOCK], columns = 0, done = 0;
  note_solves(w->plan, w->refined ? all : 0);
  if (rest == 0) return TRISTAR_OK;
  tsi_count from = 0;
  for (tsi_count q = 0; q < rest; q++) {
    const tsi_index j = w->column[order[q]];
    if (columns == 0 || column[columns - 1] != j) {
      if (columns == most) {
        TSI_TRY(tsi_progress_look(env, TRISTAR_PHASE_SOLVE, (double)done / (double)all));
        TSI_TRY(solve_block(env, w, order, from, q, columns, column));
        done += columns;
        columns = 0;
        from = q;
      }
      column[columns++] = j;
    }
  }
  return solve_block(env, w, order, from, rest, columns, column);
}

/* ---- The choice ---------------------------------------------------------------------------------------- */

/* Finds the places of entries and the supernodes that the recursion needs. */
static tristar_status find_places(tsi_env *env, const requested *w, bool *needed) {
  const tristar_analysis_t *an = w->plan->factor->analysis;
  const tsi_symbolic *sy = an->symbolic;
  TSI_SCRATCH(env, tsi_index, owner, sy->n);
  for (tsi_index s = 0; s < sy->count; s++)
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) owner[j] = s;
  for (tsi_count k = 0; k < w->count; k++) {
    w->supernode[k] = find_place(an, owner, an->out_place[w->row[k]], an->in_place[w->column[k]]);
    if (w->supernode[k] != TSI_NONE) needed[w->supernode[k]] = true;
  }
  for (tsi_index s = 0; s < sy->count; s++)
    if (needed[s] && sy->parent[s] != TSI_NONE) needed[sy->parent[s]] = true;
  return TRISTAR_OK;
}

/* Is the work of solves with unit vectors less? Each column costs the products with the panels on its path,
 * in both directions. */
static tristar_status takes_solves(tsi_env *env, const requested *w, const bool *needed, bool *solves) {
  const tristar_analysis_t *an = w->plan->factor->analysis;
  const tsi_symbolic *sy = an->symbolic;
  TSI_SCRATCH_ZERO(env, bool, seen, sy->n);
  double columns = 0, products = 0, entries = 0;
  for (tsi_count k = 0; k < w->count; k++)
    if (w->supernode[k] != TSI_NONE && !seen[w->column[k]]) {
      seen[w->column[k]] = true;
      columns++;
    }
  for (tsi_index s = 0; s < sy->count; s++) {
    const double f = front_of(sy, s), width = sy->start[s + 1] - sy->start[s];
    if (!needed[s]) continue;
    products += f * f * width * (tsi_analysis_is_lu(an) ? 2 : 1);
    entries += 2 * f * width;
  }
  *solves = columns * entries < products;
  return TRISTAR_OK;
}

/* In the recursion an entry is a sum of products of two entries of L with one of the inverse. If pivots have
 * grown by g, the products are up to g^2 times as large as their sum, which loses as many digits. A solve
 * loses only g. */
static bool has_grown(const tristar_factor_t *factor) {
  return factor->stats.growth > pow(epsilon_of(factor), -1.0 / 6);
}

static tristar_status find_entries(tsi_env *env, const requested *w) {
  const tristar_factor_t *factor = w->plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  bool solves = an->imported || has_grown(factor) || w->refined;
  TSI_OWNED bool *needed = NULL;
  if (!solves) {
    TSI_TRY(TSI_ALLOC_ZERO(env, needed, an->symbolic->count));
    TSI_TRY(find_places(env, w, needed));
    TSI_TRY(takes_solves(env, w, needed, &solves));
  }
  if (w->refined)
    tsi_log(
        env, TRISTAR_LOG_INFO,
        "inverse: by refined solves, one for each column of the entries: %lld pivots were perturbed, a trial "
        "solve without refinement has the backward error %.1e",
        (long long)factor->stats.perturbed_pivots, factor->scaled_error);
  else if (has_grown(factor))
    tsi_log(env, TRISTAR_LOG_INFO, "inverse: by solves, as pivots have grown to %.1e times their columns",
            factor->stats.growth);
  if (solves)
    for (tsi_count k = 0; k < w->count; k++) w->supernode[k] = TSI_NONE;
  else
    TSI_TRY(recurse(env, w, needed));
  return solve_rest(env, w);
}

/* ---- Requests ------------------------------------------------------------------------------------------ */

static tristar_status check(const tristar_plan_t *plan, const void *values, tsi_count count) {
  const tristar_factor_t *factor = plan->factor;
  const tsi_env *env = &plan->ts->env;
  TSI_TRY(tsi_factor_need_values(factor));
  TSI_TRY(tsi_analysis_need_whole(factor->analysis));
  if (values == NULL && count > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  if (plan->storage != NULL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "entries of the inverse need the factor itself, which a plan with storage in %s does not read",
             tsi_storage_words(&plan->options));
  if (plan->spmv) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "entries of the inverse with KERNEL_SPMV");
  if (factor->analysis->factor_scalar != factor->analysis->pattern->scalar)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "entries of the inverse with single_factors: they would have the accuracy of single precision");
  if (factor->stats.singular)
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "entries of the inverse would be inaccurate: the matrix is singular to working precision, its "
             "estimated reciprocal condition is %.1e",
             factor->stats.reciprocal_condition);
  if (needs_refinement(factor) && !factor->has_matrix)
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "entries of the inverse would be inaccurate: %lld pivots were perturbed, a trial solve without "
             "refinement has the backward error %.1e; the factor does not store the matrix",
             (long long)factor->stats.perturbed_pivots, factor->scaled_error);
  return TRISTAR_OK;
}

static tristar_status answer(tristar_plan_t *plan, tsi_count count, const tsi_index *row,
                             const tsi_index *column, void *values) {
  tsi_env *env = &plan->ts->env;
  const tsi_pattern *pattern = plan->factor->analysis->pattern;
  TSI_SCRATCH(env, tsi_index, supernode, count);
  const requested w = {plan, count, row, column, values, supernode, needs_refinement(plan->factor)};
  if (count > 0) TSI_TRY(find_entries(env, &w));
  for (tsi_count k = 0; k < count; k++) {
    if (row[k] == column[k])
      tsi_scalar_fix_diagonal(pattern->symmetry, (char)pattern->scalar, values, (size_t)k);
    TSI_TRY(tsi_inverse_entry_check(env, (char)pattern->scalar, values, k, row[k], column[k]));
  }
  return TRISTAR_OK;
}

static tristar_status find_diagonal(tristar_plan_t *plan, void *values) {
  const tsi_index n = plan->factor->analysis->pattern->n;
  TSI_TRY(check(plan, values, n));
  TSI_SCRATCH(&plan->ts->env, tsi_index, row, n);
  for (tsi_index i = 0; i < n; i++) row[i] = i;
  return answer(plan, n, row, row, values);
}

tristar_status tristar_inverse_diagonal(tristar_plan_t *plan, void *values) {
  TSI_ENTER(plan, plan->ts);
  return tsi_answer(&plan->ts->env, find_diagonal(plan, values));
}

static tristar_status find_pattern(tristar_plan_t *plan, tristar_op op, char *values) {
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const tsi_pattern *pattern = factor->analysis->pattern;
  TSI_TRY(tsi_check_op(env, op));
  if (factor->analysis->imported)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "an imported factor has no view of the matrix");
  const tsi_count given = pattern->ptr[pattern->n];
  TSI_TRY(check(plan, values, given));
  const bool swapped = pattern->by_rows == (op == TRISTAR_N);
  TSI_OWNED char *sums = NULL;
  TSI_SCRATCH(env, tsi_index, line, given);
  TSI_TRY(TSI_ALLOC_SIZED(env, sums, (size_t)given, factor->user_bytes));
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) line[p] = j;
  TSI_TRY(answer(plan, given, swapped ? line : pattern->index, swapped ? pattern->index : line, sums));
  const tsi_count count = pattern->place ? pattern->given : given;
  for (tsi_count k = 0; k < count; k++) {
    double part[2];
    tsi_scalar_read((char)pattern->scalar, sums, (size_t)(pattern->place ? pattern->place[k] : k), part);
    if (op == TRISTAR_C) part[1] = -part[1];
    tsi_scalar_write((char)pattern->scalar, values, (size_t)k, part);
  }
  return TRISTAR_OK;
}

tristar_status tristar_inverse_pattern(tristar_plan_t *plan, tristar_op op, void *values) {
  TSI_ENTER(plan, plan->ts);
  return tsi_answer(&plan->ts->env, find_pattern(plan, op, values));
}

static tristar_status find_given(tristar_plan_t *plan, int64_t count, const int64_t *row,
                                 const int64_t *column, void *values) {
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  if (count < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "count is %" PRId64, count);
  TSI_TRY(check(plan, values, count));
  if (count > 0 && (row == NULL || column == NULL))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", row ? "column" : "row");
  TSI_SCRATCH(env, tsi_index, rows, count);
  TSI_SCRATCH(env, tsi_index, columns, count);
  for (int64_t k = 0; k < count; k++) {
    if (row[k] < 0 || row[k] >= n || column[k] < 0 || column[k] >= n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "entry %" PRId64 " is (%" PRId64 ", %" PRId64 "), the matrix has %d rows", k, row[k],
               column[k], n);
    rows[k] = (tsi_index)row[k];
    columns[k] = (tsi_index)column[k];
  }
  return answer(plan, count, rows, columns, values);
}

tristar_status tristar_inverse_entries(tristar_plan_t *plan, int64_t count, const int64_t *row,
                                       const int64_t *column, void *values) {
  TSI_ENTER(plan, plan->ts);
  return tsi_answer(&plan->ts->env, find_given(plan, count, row, column, values));
}
