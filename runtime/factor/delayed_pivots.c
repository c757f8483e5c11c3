/* PIVOTING_DELAYED: an order in which pivots pass a threshold test, found by a multifrontal elimination with
 * delayed pivots, and factorizations in that order.
 *
 * Job. The static factorization takes pivots from the diagonal block of a panel. In the search, a column of a
 * front is eliminated only if it passes the test of threshold.h, with candidates in all columns of the front.
 * A column that fails is delayed: it becomes a column of the parent's front, with its row (Duff and Reid
 * 1983). Only the order of the pivots is kept. An analysis in this order (tsi_analysis_reorder) has a
 * structure in which the static factorization finds these pivots.
 *
 * If many processes make a factor, one of them searches for all (runtime/mpi/factor).
 *
 * Reads   a factor: its analysis, values and scalings.
 * Writes  another analysis of the factor, its streams, and its statistics.
 * Invariants: row and column of an order are permutations; LDLT: they are the same, and partner[partner[v]] =
 * v. The result does not depend on the number of workers, because one thread makes the search. */
#include "runtime/exec/starpu/blas.h"
#include "runtime/factor/factor.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/factor/numeric.h"
#include "runtime/base/progress.h"
#include "codelets/cpu/threshold.h"

#define NOISE 4 /* Limit of rounding errors, in epsilons of a column's largest entry. */

typedef struct pivot_order {
  tsi_index *row, *column; /* n: the user's row and column of pivot k. */
  tsi_index *partner;      /* LDLT, by the user's row: the other row of a pivot of order 2, or itself. */
  tsi_index pairs;         /* LDLT: pivots of order 2. */
  tsi_index delayed;       /* Columns eliminated in the front of another supernode. */
} pivot_order;

/* The contribution block of a front, with its delayed columns. */
typedef struct contribution {
  void *complement;        /* order x order, column-major; delayed rows and columns first. */
  tsi_index order;         /* Order of the complement. */
  tsi_index delayed;       /* Number of delayed columns. */
  tsi_index *row, *column; /* Final indices of the delayed rows and columns; `delayed` each. */
} contribution;

typedef struct search {
  const tristar_factor_t *factor;
  const tsi_symbolic *symbolic;
  const tsi_front_kernels *kernels;
  const tsi_threshold_kernels *threshold;
  tsi_numeric entries; /* State for tsi_entry_batch_put. */
  tsi_threshold_front front;
  double *row_scale, *col_scale;       /* n, by final index; NULL: ones. */
  contribution *child;                 /* By supernode: its contribution block, for the parent. */
  tristar_status status;               /* Returned by the function that follows the progress. */
  tsi_index *first_child, *next;       /* By supernode: lists of children, ascending. */
  tsi_index *final_row, *final_column; /* n: pivots found so far, by final index. */
  bool *second;                        /* n: the second column of a pivot of order 2. */
  tsi_index pivots, delayed;
} search;

static bool is_cancelled(void *arg, tsi_index pivots) {
  search *s = arg;
  const double share = (double)(s->pivots + pivots) / (double)s->symbolic->n;
  s->status = tsi_progress_look(s->entries.env, TRISTAR_PHASE_FACTOR, share);
  return s->status != TRISTAR_OK;
}

static tristar_status link_children(search *s) {
  const tsi_index count = s->symbolic->count;
  TSI_TRY(TSI_ALLOC_IN(s, s->first_child, count));
  TSI_TRY(TSI_ALLOC_IN(s, s->next, count));
  for (tsi_index k = 0; k < count; k++) s->first_child[k] = TSI_NONE;
  for (tsi_index k = count - 1; k >= 0; k--) {
    const tsi_index parent = s->symbolic->parent[k];
    if (parent == TSI_NONE) continue;
    s->next[k] = s->first_child[parent];
    s->first_child[parent] = k;
  }
  return TRISTAR_OK;
}

static tristar_status begin(search *s, const tristar_factor_t *factor, const tsi_pivot_sizes *sizes) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->pattern->n;
  s->factor = factor;
  s->symbolic = an->symbolic;
  s->kernels = tsi_front_kernels_select(an->factor_scalar);
  s->threshold = tsi_threshold_kernels_select(an->factor_scalar);
  s->entries.env = &factor->ts->env;
  s->entries.factor = factor;
  s->entries.analysis = an;
  s->entries.kernels = s->kernels;
  s->entries.values = factor->values;
  s->entries.wide = an->factor_scalar != an->pattern->scalar;
  s->front.size = sizes->column;
  s->front.is_cancelled = is_cancelled;
  s->front.arg = s;
  s->front.threshold = tsi_analysis_threshold(an);
  s->front.noise = NOISE * tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->child, an->symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(s, s->final_row, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->final_column, n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->second, n));
  if (factor->row_scale != NULL) {
    TSI_TRY(TSI_ALLOC_IN(s, s->row_scale, n));
    TSI_TRY(TSI_ALLOC_IN(s, s->col_scale, n));
    for (tsi_index j = 0; j < n; j++) {
      s->row_scale[j] = factor->row_scale[an->in_row[j]];
      s->col_scale[j] = factor->col_scale[an->out_row[j]];
    }
    s->entries.row_scale = s->row_scale;
    s->entries.col_scale = s->col_scale;
  }
  return link_children(s);
}

/* ---- Assembly ------------------------------------------------------------------------------------------ */

/* Adds entry q of a list at (i, j); for L D L^T also its image. */
static void put(const search *s, tsi_entry_batch *batch, const tsi_assembly *list, tsi_count q, tsi_index row,
                tsi_index column, tsi_index i, tsi_index j) {
  const tsi_count most = (tsi_count)(sizeof batch->entry / sizeof *batch->entry);
  if (batch->count + 2 >= most) tsi_entry_batch_flush(batch); /* Both entries are in one batch. */
  tsi_entry_batch_put(batch, list, q, row, column, i, j);
  if (s->front.row != NULL || i == j) return;
  tsi_front_entry image = batch->entry[batch->count - 1];
  image.row = j;
  image.column = i;
  image.conjugate ^= s->factor->adjoint;
  batch->entry[batch->count++] = image;
}

/* Adds the entries of supernode k. Its first column is column `at` of the front. */
static void add_entries(const search *s, tsi_index k, tsi_index at, const tsi_front *to) {
  const tristar_analysis_t *an = s->factor->analysis;
  const tsi_index first = s->symbolic->start[k], end = s->symbolic->start[k + 1];
  tsi_entry_batch batch;
  batch.numeric = &s->entries;
  batch.front = to;
  batch.stripe = NULL;
  batch.count = 0;
  for (int side = 0; side < (tsi_analysis_is_lu(an) ? 2 : 1); side++) {
    const tsi_assembly *list = side > 0 ? &an->upper : &an->lower;
    for (tsi_index j = first; j < end; j++)
      for (tsi_count q = list->ptr[j]; q < list->ptr[j + 1]; q++) {
        const tsi_index own = at + j - first, other = at + tsi_front_row(s->symbolic, k, list->other[q]);
        if (side > 0)
          put(s, &batch, list, q, j, list->other[q], own, other);
        else
          put(s, &batch, list, q, list->other[q], j, other, own);
      }
  }
  tsi_entry_batch_flush(&batch);
}

static void free_contribution(const search *s, tsi_index k) {
  contribution *child = &s->child[k];
  tsi_env *env = s->entries.env;
  TSI_FREE(env, child->complement);
  TSI_FREE(env, child->row);
  TSI_FREE(env, child->column);
}

/* Adds the contribution blocks of the children of supernode k. Their delayed columns are the first ones of
 * the front, followed by its own. */
static tristar_status add_children(search *s, tsi_index k, tsi_index delayed, const tsi_front *to) {
  tsi_index at = 0;
  for (tsi_index c = s->first_child[k]; c != TSI_NONE; c = s->next[c]) {
    const contribution *child = &s->child[c];
    TSI_SCRATCH(s->entries.env, tsi_index, position, child->order);
    for (tsi_index i = 0; i < child->delayed; i++) position[i] = at + i;
    tsi_front_place_child(s->symbolic, c, position + child->delayed);
    for (tsi_index i = child->delayed; i < child->order; i++) position[i] += delayed;
    if (child->order > 0) s->kernels->extend_add(to, child->complement, child->order, position, 0, to->f);
    for (tsi_index i = 0; i < child->delayed; i++) {
      s->front.column[at + i] = child->column[i];
      if (s->front.row != NULL) s->front.row[at + i] = child->row[i];
    }
    at += child->delayed;
    free_contribution(s, c);
  }
  return TRISTAR_OK;
}

/* ---- A front ------------------------------------------------------------------------------------------- */

/* Records the pivots of the front. At a root, the columns without a pivot follow in their order. */
static tsi_index keep_pivots(search *s, tsi_index k, bool root) {
  const tsi_threshold_front *front = &s->front;
  const tsi_index count = root ? front->candidates : front->eliminated;
  const tsi_index start = s->symbolic->start[k];
  for (tsi_index j = 0; j < count; j++) {
    s->final_column[s->pivots] = front->column[j];
    s->final_row[s->pivots] = front->row != NULL ? front->row[j] : front->column[j];
    s->second[s->pivots++] = front->second != NULL && j < front->eliminated && front->second[j];
    s->delayed += front->column[j] < start;
  }
  return count;
}

/* Stores the contribution block of supernode k after its pivots. */
static tristar_status keep_contribution(search *s, tsi_index k, tsi_index pivots) {
  const tsi_threshold_front *front = &s->front;
  contribution *child = &s->child[k];
  tsi_env *env = s->entries.env;
  child->delayed = front->candidates - pivots;
  child->order = front->f - pivots;
  if (child->order == 0) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_SIZED(env, child->complement, (size_t)child->order * (size_t)child->order,
                          s->kernels->scalar_bytes));
  s->threshold->copy_corner(front->f, front->a, child->order, child->complement);
  TSI_TRY(TSI_ALLOC(env, child->column, child->delayed));
  TSI_TRY(TSI_ALLOC(env, child->row, child->delayed));
  for (tsi_index i = 0; i < child->delayed; i++) {
    child->column[i] = front->column[pivots + i];
    child->row[i] = front->row != NULL ? front->row[pivots + i] : front->column[pivots + i];
  }
  return TRISTAR_OK;
}

static tristar_status search_front(search *s, tsi_index k) {
  const tsi_symbolic *symbolic = s->symbolic;
  tsi_env *env = s->entries.env;
  const tsi_index start = symbolic->start[k], w = symbolic->start[k + 1] - start;
  const tsi_index rows = (tsi_index)(symbolic->row_ptr[k + 1] - symbolic->row_ptr[k]);
  const bool lu = tsi_analysis_is_lu(s->factor->analysis);
  tsi_index delayed = 0;
  for (tsi_index c = s->first_child[k]; c != TSI_NONE; c = s->next[c]) delayed += s->child[c].delayed;
  const tsi_index candidates = delayed + w, f = candidates + rows;
  TSI_OWNED char *a = NULL;
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, a, (size_t)f * (size_t)f, s->kernels->scalar_bytes));
  TSI_SCRATCH(env, tsi_index, column, candidates);
  TSI_SCRATCH(env, tsi_index, row, candidates);
  TSI_SCRATCH_ZERO(env, bool, second, candidates);
  const tsi_front to = {.w = f, .m = 0, .f = f, .full = true, .p = a};
  s->front.f = f;
  s->front.candidates = candidates;
  s->front.a = a;
  s->front.column = column;
  s->front.row = lu ? row : NULL;
  s->front.second = lu ? NULL : second;
  for (tsi_index j = 0; j < w; j++) row[delayed + j] = column[delayed + j] = start + j;
  add_entries(s, k, delayed, &to);
  TSI_TRY(add_children(s, k, delayed, &to));
  s->threshold->eliminate(&s->front);
  TSI_TRY(s->status);
  return keep_contribution(s, k, keep_pivots(s, k, symbolic->parent[k] == TSI_NONE));
}

/* Translates the order to the user's numbering. */
static tristar_status translate(const search *s, pivot_order **out) {
  const tristar_analysis_t *an = s->factor->analysis;
  const tsi_index n = an->pattern->n;
  TSI_SCRATCH_ZERO(s->entries.env, pivot_order, order, 1);
  TSI_TRY(TSI_ALLOC_IN(order, order->row, n));
  TSI_TRY(TSI_ALLOC_IN(order, order->column, n));
  for (tsi_index k = 0; k < n; k++) {
    order->row[k] = an->in_row[s->final_row[k]];
    order->column[k] = an->out_row[s->final_column[k]];
  }
  order->delayed = s->delayed;
  if (!tsi_analysis_is_lu(an)) {
    TSI_TRY(TSI_ALLOC_IN(order, order->partner, n));
    for (tsi_index k = 0; k < n; k++) {
      order->partner[order->row[k]] = order->row[k];
      if (!s->second[k]) continue;
      order->partner[order->row[k]] = order->row[k - 1];
      order->partner[order->row[k - 1]] = order->row[k];
      order->pairs++;
    }
  }
  *out = tsi_take(&order);
  return TRISTAR_OK;
}

/* sizes: of the values of this factor. */
static tristar_status find_order(const tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                 pivot_order **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  *out = NULL;
  TSI_SCRATCH_ZERO(env, search, s, 1);
  TSI_TRY(begin(s, factor, sizes));
  TSI_TRY(tsi_blas_reserve(env, 1));
  tsi_blas_acquire();
  for (tsi_index k = 0; k < s->symbolic->count && status == TRISTAR_OK; k++) status = search_front(s, k);
  tsi_blas_release();
  for (tsi_index k = 0; k < s->symbolic->count; k++) free_contribution(s, k);
  TSI_TRY(status);
  return translate(s, out);
}

/* ---- Bytes --------------------------------------------------------------------------------------------- */

/* Computes the largest bytes of fronts and contribution blocks at one time, if no column is delayed. */
static tristar_status weigh_fronts(const tristar_analysis_t *an, double scalar, double *most) {
  const tsi_symbolic *symbolic = an->symbolic;
  double held = 0;
  *most = 0;
  TSI_SCRATCH_ZERO(&an->ts->env, double, children, symbolic->count);
  for (tsi_index k = 0; k < symbolic->count; k++) {
    const double rows = (double)(symbolic->row_ptr[k + 1] - symbolic->row_ptr[k]);
    const double w = symbolic->start[k + 1] - symbolic->start[k], f = w + rows;
    const double front = scalar * f * f + w * (2 * sizeof(tsi_index) + sizeof(bool));
    const double kept = scalar * rows * rows;
    *most = tsi_double_max(*most, held + front);
    held += kept - children[k];
    *most = tsi_double_max(*most, held + front);
    if (symbolic->parent[k] != TSI_NONE) children[symbolic->parent[k]] += kept;
  }
  return TRISTAR_OK;
}

tristar_status tsi_factor_weigh_search(const tristar_analysis_t *an, double *bytes) {
  const double n = an->symbolic->n, supernodes = an->symbolic->count;
  const double order = (tsi_analysis_is_lu(an) ? 2.0 : 3.0) * sizeof(tsi_index) * n;
  double fronts;
  *bytes = 0;
  if (an->options.pivoting != TRISTAR_PIVOTING_DELAYED || an->stats.method == TRISTAR_METHOD_LLT)
    return TRISTAR_OK;
  TSI_TRY(weigh_fronts(an, (double)tsi_front_kernels_select(an->factor_scalar)->scalar_bytes, &fronts));
  const double lists = supernodes * (sizeof(contribution) + 2 * sizeof(tsi_index));
  const double sizes = sizeof(double) * n, scales = 2 * sizeof(double) * n;
  const double pivots = n * (2 * sizeof(tsi_index) + sizeof(bool));
  /* After the search: the order, from which the next analysis is made while this one exists. */
  *bytes = tsi_double_max(sizes + scales + lists + pivots + fronts, order + (double)tsi_analysis_bytes(an));
  return TRISTAR_OK;
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

tristar_status tsi_factor_test_pivots(tristar_factor_t *factor, const tsi_index *owner, tsi_index rank) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_threshold_kernels *kernels = tsi_threshold_kernels_select(an->factor_scalar);
  const double most = 1 / tsi_analysis_threshold(an);
  TSI_SCRATCH(&factor->ts->env, double, size, an->panels->width_max);
  factor->stats.unstable_pivots = 0;
  for (tsi_index p = 0; p < an->panels->count; p++)
    if (owner == NULL || owner[an->panels->supernode[p]] == rank)
      factor->stats.unstable_pivots +=
          kernels->count_above(tsi_panel_width(an->panels, p), an->panels->height[p],
                               tsi_factor_panel(factor, false, p), most, size);
  return TRISTAR_OK;
}

/* Replaces the analysis of the factor by one with this order of pivots. */
static tristar_status adopt_order(tristar_factor_t *factor, pivot_order *order) {
  tristar_factor_stats *stats = &factor->stats;
  tristar_analysis_t *again = NULL;
  TSI_TRY(tsi_analysis_reorder(factor->analysis, order->row, order->column, &order->partner, &again));
  stats->delayed_pivots += order->delayed;
  stats->added_entries +=
      (again->stats.nnz_lower - factor->analysis->stats.nnz_lower) * (tsi_analysis_is_lu(again) ? 2 : 1);
  TSI_TRY(tsi_factor_take_analysis(factor, again));
  return tsi_factor_check_values(factor);
}

/* A search that delays no column finds the order of the latest search. */
tristar_status tsi_factor_search_order(tristar_factor_t *factor, bool *changed) {
  TSI_CLEANUP(tsi_pivot_sizes_release) tsi_pivot_sizes sizes = {.column = NULL};
  TSI_OWNED pivot_order *order = NULL;
  const tristar_analysis_t *an = factor->analysis;
  tsi_log(&factor->ts->env, TRISTAR_LOG_INFO,
          "factor: %lld perturbed pivots, %lld fail the threshold test: searching another order of pivots",
          (long long)factor->stats.perturbed_pivots, (long long)factor->stats.unstable_pivots);
  TSI_TRY(tsi_pivot_sizes_measure(factor, &sizes));
  TSI_TRY(find_order(factor, &sizes, &order));
  tsi_pivot_sizes_release(&sizes);
  factor->stats.pivot_rounds++;
  *changed = order->delayed > 0 || !an->extended;
  return *changed ? adopt_order(factor, order) : TRISTAR_OK;
}

bool tsi_factor_needs_order(const tristar_factor_t *factor, tristar_status status) {
  const tristar_factor_stats *stats = &factor->stats;
  if (!tsi_factor_delays(factor)) return false;
  if (status != TRISTAR_OK) return status == TRISTAR_ERR_NOT_FINITE || factor->dependent;
  return stats->perturbed_pivots > 0 || stats->unstable_pivots > 0;
}

tristar_status tsi_factor_run_stable(tristar_factor_t *factor) {
  tristar_status status = tsi_factor_run(factor);
  for (int round = 0; round < TSI_PIVOT_ROUNDS && tsi_factor_needs_order(factor, status); round++) {
    bool changed;
    TSI_TRY(tsi_factor_search_order(factor, &changed));
    if (!changed) break;
    status = tsi_factor_run(factor);
  }
  return status;
}
