/* Life of a front: open, assemble, factor, pack, close. See numeric.h. */
#include "runtime/base/scalars.h"
#include "runtime/factor/numeric.h"

#include <limits.h>
#include <math.h>

/* Limit of what cancellation leaves of a dependent row, in epsilons of a column's largest entry. */
#define DEPENDENT 4

/* Keeps the first failure only. */
static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

static tsi_index first_column(const tsi_numeric *numeric, tsi_index s) {
  return numeric->analysis->symbolic->start[s];
}

void tsi_front_place_child(const tsi_symbolic *symbolic, tsi_index s, tsi_index *position) {
  const tsi_index parent = symbolic->parent[s];
  const tsi_index first = symbolic->start[parent], end = symbolic->start[parent + 1];
  tsi_count q = symbolic->row_ptr[parent];
  for (tsi_count r = symbolic->row_ptr[s]; r < symbolic->row_ptr[s + 1]; r++) {
    const tsi_index row = symbolic->rows[r];
    if (row < end) {
      *position++ = row - first;
      continue;
    }
    while (symbolic->rows[q] < row) q++; /* It exists: containment. */
    *position++ = end - first + (tsi_index)(q - symbolic->row_ptr[parent]);
  }
}

static tsi_index rows_below(const tsi_symbolic *symbolic, tsi_index s) {
  return (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
}

tsi_count tsi_front_children_rows(const tsi_numeric *numeric, tsi_index s) {
  tsi_count rows = 0;
  for (tsi_index k = numeric->dag->child_ptr[s]; k < numeric->dag->child_ptr[s + 1]; k++)
    rows += rows_below(numeric->analysis->symbolic, numeric->dag->child[k]);
  return rows;
}

void tsi_front_set_sizes(const tsi_numeric *numeric, tsi_index s, tsi_front *front) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  front->w = symbolic->start[s + 1] - symbolic->start[s];
  front->m = rows_below(symbolic, s);
  front->f = front->w + front->m;
  front->full = numeric->full;
}

void tsi_front_place_children(const tsi_numeric *numeric, tsi_index s, tsi_index *position) {
  for (tsi_index k = numeric->dag->child_ptr[s]; k < numeric->dag->child_ptr[s + 1]; k++) {
    tsi_front_place_child(numeric->analysis->symbolic, numeric->dag->child[k], position);
    position += rows_below(numeric->analysis->symbolic, numeric->dag->child[k]);
  }
}

tristar_status tsi_front_need_complement(tsi_numeric *numeric, tsi_open_front *open) {
  tsi_front *front = &open->front;
  if (front->m > 0 && numeric->complement[open->s] == NULL)
    TSI_TRY(tsi_front_allocate(numeric, tsi_numeric_complement_scalars(numeric, open->s),
                               &numeric->complement[open->s]));
  front->c = numeric->complement[open->s];
  return TRISTAR_OK;
}

tristar_status tsi_front_begin(tsi_numeric *numeric, tsi_open_front *open) {
  tsi_front_set_sizes(numeric, open->s, &open->front);
  TSI_TRY(TSI_ALLOC(numeric->env, open->position, tsi_front_children_rows(numeric, open->s)));
  tsi_front_place_children(numeric, open->s, open->position);
  return TRISTAR_OK;
}

void tsi_front_open(tsi_numeric *numeric, tsi_open_front *open) {
  tristar_status status = TRISTAR_OK;
  tsi_front *front = &open->front;
  if (tsi_numeric_failed(numeric)) return;
  open->first_pieces = 0;
  TSI_TRY_OUT(tsi_front_begin(numeric, open));
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, open->s);
  TSI_TRY_OUT(TSI_ALLOC_ZERO(numeric->env, open->assembled, tsi_front_pieces(&t)));
  TSI_TRY_OUT(tsi_front_allocate(numeric, (tsi_count)front->f * front->w, &front->p));
  if (numeric->pivots && front->m == 0) TSI_TRY_OUT(tsi_front_allocate(numeric, 0, &front->q));
out:
  fail(numeric, status);
}

void tsi_entry_batch_flush(tsi_entry_batch *batch) {
  const tsi_numeric *numeric = batch->numeric;
  if (batch->stripe)
    numeric->kernels->stripe_add_entries(batch->stripe, batch->entry, batch->count, numeric->values,
                                         numeric->wide);
  else
    numeric->kernels->add_entries(batch->front, batch->entry, batch->count, numeric->values, numeric->wide);
  batch->count = 0;
}

static tsi_index place_of(const tsi_symbolic *symbolic, tsi_index s, const tsi_assembly *list, tsi_count q) {
  return list->place ? list->place[q] : tsi_front_row(symbolic, s, list->other[q]);
}

/* Adds entries of a list whose places and sources are stored. */
static void add_lines(const tsi_numeric *numeric, const tsi_open_front *open, bool upper, tsi_index c0,
                      tsi_index c1) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_assembly *list = upper ? &an->upper : &an->lower;
  const tsi_index first = first_column(numeric, open->s);
  const double *lines = upper ? numeric->row_scale : numeric->col_scale;
  const tsi_front_lines of_front = {
      .ptr = list->ptr + first,
      .other = list->other,
      .place = list->place,
      .source = list->source,
      .line_scale = lines ? lines + first : NULL,
      .other_scale = upper ? numeric->col_scale : numeric->row_scale,
      .sign = an->pattern->symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1,
      .upper = upper,
      .conjugate = an->pattern->symmetry == TRISTAR_HERMITIAN,
  };
  numeric->kernels->add_lines(&open->front, &of_front, c0, c1, numeric->values, numeric->wide);
}

static void add_entries(const tsi_numeric *numeric, const tsi_open_front *open, tsi_index c0, tsi_index c1) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_front *front = &open->front;
  const tsi_index s = open->s, first = first_column(numeric, s);
  if (an->lower.source != NULL) {
    add_lines(numeric, open, false, c0, c1);
    if (front->full) add_lines(numeric, open, true, c0, c1);
    return;
  }
  tsi_entry_batch batch;
  batch.numeric = numeric;
  batch.front = front;
  batch.stripe = NULL;
  batch.count = 0;
  for (tsi_index k = c0; k < tsi_index_min(c1, front->w); k++)
    for (tsi_count q = an->lower.ptr[first + k]; q < an->lower.ptr[first + k + 1]; q++)
      tsi_entry_batch_put(&batch, &an->lower, q, an->lower.other[q], first + k,
                          place_of(an->symbolic, s, &an->lower, q), k);
  for (tsi_index i = 0; i < front->w && front->full; i++)
    for (tsi_count q = an->upper.ptr[first + i]; q < an->upper.ptr[first + i + 1]; q++) {
      const tsi_index k = place_of(an->symbolic, s, &an->upper, q);
      if (k >= c0 && k < c1) tsi_entry_batch_put(&batch, &an->upper, q, first + i, an->upper.other[q], i, k);
    }
  tsi_entry_batch_flush(&batch);
}

void tsi_front_assemble(tsi_numeric *numeric, const tsi_open_front *open, tsi_index c0, tsi_index c1) {
  if (!tsi_numeric_computes(numeric)) return;
  const tsi_front *front = &open->front;
  const tsi_index *position = open->position;
  numeric->kernels->zero(front, c0, c1);
  add_entries(numeric, open, c0, c1);
  for (tsi_index k = numeric->dag->child_ptr[open->s]; k < numeric->dag->child_ptr[open->s + 1]; k++) {
    const tsi_index child = numeric->dag->child[k], m = rows_below(numeric->analysis->symbolic, child);
    if (tsi_front_leaves_parts(numeric->dag->teams, child))
      tsi_parts_add(numeric, open, child, position, TSI_NONE, c0, c1);
    else
      numeric->kernels->extend_add(front, numeric->complement[child], m, position, c0, c1);
    position += m;
  }
}

void tsi_front_free_children(tsi_numeric *numeric, tsi_index s) {
  if (numeric->panel) return;
  for (tsi_index k = numeric->dag->child_ptr[s]; k < numeric->dag->child_ptr[s + 1]; k++) {
    const tsi_index child = numeric->dag->child[k];
    if (tsi_front_leaves_parts(numeric->dag->teams, child))
      tsi_parts_free(numeric, child);
    else
      TSI_FREE(numeric->env, numeric->complement[child]);
  }
}

static void raise_atomic(_Atomic double *largest, double value) {
  double before = atomic_load(largest);
  while (value > before && !atomic_compare_exchange_weak(largest, &before, value)) continue;
}

/* Keeps the weakest pivot. Of equally weak pivots it is the one with the largest row, whatever the order of
 * the steps. */
static void keep_weakest(tsi_numeric *numeric, tsi_index column, double share) {
  const tsi_index row = numeric->analysis->out_row[column];
  pthread_mutex_lock(&numeric->lock);
  if (share < numeric->weakest || (share == numeric->weakest && row > numeric->weakest_row)) {
    numeric->weakest = share;
    numeric->weakest_row = row;
  }
  pthread_mutex_unlock(&numeric->lock);
}

static tsi_panel_figures figures_of(const tsi_pivoting *result) {
  return (tsi_panel_figures){.smallest = result->smallest,
                             .largest = result->largest,
                             .weakest = result->weakest,
                             .strongest = result->strongest,
                             .deciding = fmin(result->smallest, result->nearest),
                             .weakest_column = result->weakest_column,
                             .perturbed = result->perturbed,
                             .stray = result->stray,
                             .dependent = result->dependent};
}

static void add_figures(tsi_numeric *numeric, tsi_index column, const tsi_panel_figures *result) {
  double smallest = atomic_load(&numeric->smallest);
  int first = atomic_load(&numeric->dependent);
  if (result->perturbed > 0) atomic_fetch_add(&numeric->perturbed, result->perturbed);
  if (result->stray > 0) atomic_fetch_add(&numeric->stray, result->stray);
  while (result->dependent != TSI_NONE && column + result->dependent < first &&
         !atomic_compare_exchange_weak(&numeric->dependent, &first, column + result->dependent))
    continue;
  while (result->smallest < smallest &&
         !atomic_compare_exchange_weak(&numeric->smallest, &smallest, result->smallest))
    continue;
  raise_atomic(&numeric->largest, result->largest);
  raise_atomic(&numeric->strongest, result->strongest);
  if (result->weakest < TSI_WEAK) keep_weakest(numeric, column + result->weakest_column, result->weakest);
}

static void keep_pivots(tsi_numeric *numeric, tsi_index panel, const tsi_pivoting *result) {
  const tsi_panel_figures figures = figures_of(result);
  if (numeric->panel) numeric->panel[panel] = figures;
  add_figures(numeric, numeric->analysis->panels->start[panel], &figures);
}

/* Called after keep_pivots of the panel. */
static void keep_growth(tsi_numeric *numeric, tsi_index panel, double growth) {
  if (numeric->panel)
    numeric->panel[panel].inverse_growth = fmax(numeric->panel[panel].inverse_growth, growth);
  raise_atomic(&numeric->inverse_growth, growth);
}

void tsi_numeric_clear_figures(tsi_numeric *numeric) {
  const tsi_pivot_figures none = {.dependent = INT_MAX,
                                  .dependent_row = TSI_NONE,
                                  .smallest = INFINITY,
                                  .weakest = INFINITY,
                                  .weakest_row = TSI_NONE};
  tsi_numeric_set_figures(numeric, &none);
  atomic_store(&numeric->inverse_growth, 0);
}

void tsi_numeric_add_figures(tsi_numeric *numeric, tsi_index panel) {
  add_figures(numeric, numeric->analysis->panels->start[panel], &numeric->panel[panel]);
  raise_atomic(&numeric->inverse_growth, numeric->panel[panel].inverse_growth);
}

bool tsi_numeric_depends_on(const tsi_numeric *numeric, tsi_index panel, double tiny) {
  const tsi_panel_figures *figures = &numeric->panel[panel];
  return figures->perturbed > 0 || figures->deciding <= tiny * (1 + 1e-6); /* 1e-6: for tiny as a float. */
}

/* Reports an unusable pivot. column: final index. */
static tristar_status fail_at(const tsi_numeric *numeric, tsi_index column, tsi_pivot_failure why) {
  const tsi_env *env = numeric->env;
  const tsi_index row = numeric->analysis->out_row[column];
  if (why == TSI_PIVOT_NOT_FINITE)
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "the factors overflow at column %d of the matrix (counted from 0)",
             row);
  TSI_FAIL(env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
           "the matrix is not positive definite: the pivot of row %d (counted from 0) is not positive", row);
}

tsi_index tsi_numeric_dependent(const tsi_numeric *numeric) {
  const int column = atomic_load(&numeric->dependent);
  const bool known = numeric->refuse && column != INT_MAX && atomic_load(&numeric->stray) == 0;
  return known ? column : TSI_NONE;
}

tsi_index tsi_numeric_dependent_row(const tsi_numeric *numeric) {
  const int column = atomic_load(&numeric->dependent);
  if (column == INT_MAX || numeric->dependent_row != TSI_NONE) return numeric->dependent_row;
  return numeric->analysis->out_row[column];
}

tristar_status tsi_numeric_check_dependent(const tsi_numeric *numeric) {
  const tsi_index dependent = tsi_numeric_dependent(numeric);
  if (dependent == TSI_NONE) return TRISTAR_OK;
  const tsi_index row = tsi_numeric_dependent_row(numeric);
  if (numeric->pivots == NULL)
    TSI_FAIL(numeric->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
             "the matrix is not positive definite: the pivot of row %d (counted from 0) is nothing but "
             "rounding errors",
             row);
  TSI_FAIL(numeric->env, TRISTAR_ERR_SINGULAR,
           "the matrix is singular to working precision: nothing but rounding errors is left of row %d "
           "(counted from 0)",
           row);
}

static double largest_of(const double *size, tsi_index b) {
  double largest = 0;
  for (tsi_index k = 0; k < b; k++)
    if (size[k] > largest) largest = size[k];
  return largest;
}

/* Copies the lower triangle to the upper one. */
static void mirror(char scalar, bool adjoint, size_t n, void *a) {
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++) {
      double part[2];
      tsi_scalar_read(scalar, a, i + j * n, part);
      if (adjoint) part[1] = i == j ? 0 : -part[1];
      tsi_scalar_write(scalar, a, j + i * n, part);
    }
}

tristar_status tsi_front_keep_schur(tsi_numeric *numeric, const tsi_front *front) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_panels *panels = an->panels;
  const size_t n = (size_t)front->w, bytes = numeric->kernels->scalar_bytes;
  const tsi_index first = tsi_analysis_schur_first(an);
  const double one[2] = {1, 0};
  char *schur = numeric->factor->schur;
  memcpy(schur, front->p, n * n * bytes);
  if (!front->full) mirror(an->factor_scalar, numeric->adjoint, n, schur);
  if (tsi_sparse_kernels_select(an->factor_scalar)->first_not_finite((tsi_count)(n * n), schur) <
      (tsi_count)(n * n))
    TSI_FAIL(numeric->env, TRISTAR_ERR_NOT_FINITE, "the Schur complement of %d rows overflows",
             an->schur_count);
  memset(front->p, 0, n * n * bytes);
  for (size_t k = 0; k < n; k++) tsi_scalar_write(an->factor_scalar, front->p, k * (n + 1), one);
  for (tsi_index p = panels->first[an->schur_supernode]; p < panels->first[an->schur_supernode + 1]; p++)
    for (tsi_index j = panels->start[p]; j < panels->start[p + 1] && numeric->pivots; j++)
      numeric->pivots[j] = j - panels->start[p];
  if (numeric->inverse == NULL) return TRISTAR_OK;
  memset(tsi_numeric_inverse(numeric, first), 0, 2 * n * bytes);
  for (size_t k = 0; k < n; k++)
    tsi_scalar_write(an->factor_scalar, tsi_numeric_inverse(numeric, first), 2 * k, one);
  return TRISTAR_OK;
}

void tsi_front_assembled(tsi_numeric *numeric, tsi_open_front *open) {
  if (tsi_numeric_failed(numeric)) return; /* Some may still be received. */
  tsi_front_free_children(numeric, open->s);
  if (!numeric->dry && tsi_analysis_is_schur(numeric->analysis, open->s))
    fail(numeric, tsi_front_keep_schur(numeric, &open->front));
  TSI_FREE(numeric->env, open->position);
  TSI_FREE(numeric->env, open->assembled);
}

/* Options for the pivots of b columns. last: the last block of a root. All remaining rows are candidates
 * there, as in partial pivoting. */
static tsi_pivoting pivoting_of(const tsi_numeric *numeric, tsi_index column, tsi_index b, bool last) {
  double *size = numeric->sizes->column + column;
  tsi_pivoting result = {.column_size = size, .share = numeric->share + column};
  last = last && !numeric->fixed;
  result.least = last || numeric->pivots == NULL ? DEPENDENT * numeric->epsilon : -1;
  if (numeric->pivots && !numeric->fixed)
    result.tiny = last ? numeric->epsilon * largest_of(size, b) : numeric->sizes->tiny;
  result.fixed = numeric->fixed;
  result.adjoint = numeric->adjoint;
  if (numeric->analysis->extended && !numeric->fixed)
    result.threshold = tsi_analysis_threshold(numeric->analysis);
  result.inverse = tsi_numeric_inverse(numeric, column);
  return result;
}

/* Records the growth of the inverted diagonal block of a panel. */
static void note_inverse(tsi_numeric *numeric, tsi_index panel, bool upper) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_index b = tsi_panel_width(an->panels, panel);
  if (b == 1 || tsi_analysis_inverse(an) == TSI_INVERSE_NONE) return;
  keep_growth(numeric, panel,
              numeric->kernels->inverse_growth(b, tsi_factor_panel(numeric->factor, upper, panel)));
}

/* Copies of the data that L D L^T interchanges along with the columns of a panel. */
typedef struct interchanged {
  double size[TSI_PANEL_WIDTH_MAX];
  bool second[TSI_PANEL_WIDTH_MAX];
} interchanged;

static void copy_interchanged(const tsi_numeric *numeric, tsi_index column, tsi_index b, interchanged *own,
                              tsi_pivoting *result) {
  if (numeric->inverse == NULL) return;
  memcpy(own->size, result->column_size, (size_t)b * sizeof *own->size);
  result->column_size = own->size;
  if (numeric->analysis->second == NULL) return;
  memcpy(own->second, numeric->analysis->second + column, (size_t)b * sizeof *own->second);
  result->second = own->second;
}

tristar_status tsi_front_small(tsi_numeric *numeric, const tsi_front *front, tsi_index s) {
  const tsi_index column = first_column(numeric, s), panel = numeric->analysis->panels->first[s];
  tsi_pivoting result = pivoting_of(numeric, column, front->w, front->m == 0);
  interchanged own;
  copy_interchanged(numeric, column, front->w, &own, &result);
  for (int side = 0; side < (numeric->full ? 2 : 1); side++)
    TSI_TRY(tsi_factor_need_passing(numeric->factor, side, panel));
  tsi_small_factors factors = {
      .pivot = numeric->pivots ? numeric->pivots + column : NULL,
      .lower = tsi_factor_panel(numeric->factor, false, panel),
      .upper = numeric->full ? tsi_factor_panel(numeric->factor, true, panel) : NULL,
      .inverse = tsi_analysis_inverse(numeric->analysis),
      .result = &result,
  };
  numeric->small(front, &factors);
  keep_pivots(numeric, panel, &result);
  keep_growth(numeric, panel, factors.growth);
  return result.failed == TSI_NONE ? TRISTAR_OK : fail_at(numeric, column + result.failed, result.why);
}

void tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f, tsi_index panel) {
  if (!tsi_numeric_computes(numeric) ||
      tsi_analysis_is_schur(numeric->analysis, numeric->analysis->panels->supernode[panel]))
    return;
  const tsi_index column = numeric->analysis->panels->start[panel], b = stripe->rows;
  tsi_pivoting result = pivoting_of(numeric, column, b, stripe->begin + b == f);
  tsi_index *pivot = numeric->pivots ? numeric->pivots + column : NULL;
  interchanged own;
  copy_interchanged(numeric, column, b, &own, &result);
  if (numeric->inverse)
    numeric->kernels->stripe_diagonal_ldl(stripe, pivot, &result);
  else
    numeric->kernels->stripe_diagonal(stripe, pivot, &result);
  keep_pivots(numeric, panel, &result);
  if (result.failed != TSI_NONE) fail(numeric, fail_at(numeric, column + result.failed, result.why));
}

void tsi_front_tile(tsi_numeric *numeric, const tsi_front *front, tsi_index panel, bool right,
                    tsi_index begin, tsi_index end) {
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_index s = panels->supernode[panel], column = panels->start[panel];
  const tsi_index o = column - first_column(numeric, s), b = tsi_panel_width(panels, panel);
  if (begin == end || !tsi_numeric_computes(numeric) || tsi_analysis_is_schur(numeric->analysis, s)) return;
  if (right)
    numeric->kernels->right(front, o, b, begin, end, numeric->pivots + column);
  else if (numeric->inverse)
    numeric->kernels->below_ldl(front, o, b, begin, end, numeric->pivots + column,
                                tsi_numeric_inverse(numeric, column), numeric->adjoint);
  else
    numeric->kernels->below(front, o, b, begin, end);
}

/* Needed because the inverse of a diagonal block may overflow where the block does not. */
tristar_status tsi_front_check_packed(tsi_numeric *numeric, tsi_index panel, bool upper) {
  const tristar_analysis_t *an = numeric->analysis;
  const char *packed = tsi_factor_panel(numeric->factor, upper, panel);
  const tsi_count entries = tsi_panel_size(tsi_panel_width(an->panels, panel), an->panels->height[panel]);
  if (tsi_sparse_kernels_select(an->factor_scalar)->first_not_finite(entries, packed) < entries)
    return fail_at(numeric, an->panels->start[panel], TSI_PIVOT_NOT_FINITE);
  note_inverse(numeric, panel, upper);
  return TRISTAR_OK;
}

void tsi_numeric_raise_term(tsi_numeric *numeric, tsi_index s, tsi_index row, double term) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  const tsi_index w = symbolic->start[s + 1] - symbolic->start[s];
  raise_atomic(
      &numeric->term[row < w ? symbolic->start[s] + row : symbolic->rows[symbolic->row_ptr[s] + row - w]],
      term);
}

static tristar_status keep_terms(tsi_numeric *numeric, const tsi_front *front, tsi_index panel) {
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_index s = panels->supernode[panel], first = first_column(numeric, s);
  const tsi_index o = panels->start[panel] - first, b = tsi_panel_width(panels, panel);
  TSI_SCRATCH(numeric->env, double, term, front->f - o);
  numeric->kernels->pivot_terms(front, o, b, numeric->kept + first + o, term);
  for (tsi_index i = o; i < front->f; i++) tsi_numeric_raise_term(numeric, s, i, term[i - o]);
  return TRISTAR_OK;
}

void tsi_numeric_get_terms(const tsi_numeric *numeric, double *terms) {
  const tsi_index n = numeric->analysis->pattern->n;
  for (tsi_index j = 0; j < n; j++) {
    terms[j] = numeric->kept[j];
    terms[n + j] = atomic_load(&numeric->term[j]);
  }
}

void tsi_numeric_set_terms(tsi_numeric *numeric, const double *terms) {
  const tsi_index n = numeric->analysis->pattern->n;
  for (tsi_index j = 0; j < n; j++) {
    numeric->kept[j] = terms[j];
    atomic_store(&numeric->term[j], terms[n + j]);
  }
}

bool tsi_numeric_is_accurate(const tsi_numeric *numeric) {
  for (tsi_index j = 0; j < numeric->analysis->pattern->n; j++)
    if (!(numeric->kept[j] >= sqrt(numeric->epsilon) * atomic_load(&numeric->term[j]))) return false;
  return true;
}

tristar_status tsi_front_pack_in(tsi_numeric *numeric, const tsi_front *front, tsi_index panel, void *work) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_index s = an->panels->supernode[panel], b = tsi_panel_width(an->panels, panel);
  for (int side = 0; side < (numeric->full ? 2 : 1); side++)
    TSI_TRY(tsi_factor_need_passing(numeric->factor, side, panel));
  char *lower = tsi_factor_panel(numeric->factor, false, panel);
  char *upper = numeric->full ? tsi_factor_panel(numeric->factor, true, panel) : NULL;
  if (numeric->fixed) TSI_TRY(keep_terms(numeric, front, panel));
  numeric->kernels->pack(front, an->panels->start[panel] - first_column(numeric, s), b,
                         tsi_analysis_inverse(an), lower, upper, work);
  for (int side = 0; side < (numeric->full ? 2 : 1); side++)
    TSI_TRY(tsi_front_check_packed(numeric, panel, side));
  return TRISTAR_OK;
}

void tsi_front_pack(tsi_numeric *numeric, const tsi_front *front, tsi_index panel) {
  tristar_status status = TRISTAR_OK;
  void *work = NULL;
  if (tsi_numeric_failed(numeric)) return;
  TSI_TRY_OUT(
      tsi_front_allocate(numeric, tsi_pack_work(tsi_panel_width(numeric->analysis->panels, panel)), &work));
  if (!numeric->dry) TSI_TRY_OUT(tsi_front_pack_in(numeric, front, panel, work));
out:
  TSI_FREE(numeric->env, work);
  fail(numeric, status);
}

void tsi_numeric_report(tsi_numeric *numeric, tsi_index supernodes) {
  const long long done = atomic_fetch_add(&numeric->done, supernodes) + supernodes;
  const int percent = (int)(100 * done / numeric->analysis->symbolic->count);
  int before = atomic_load_explicit(&numeric->percent, memory_order_relaxed);
  if (percent > before && atomic_compare_exchange_strong(&numeric->percent, &before, percent))
    tsi_log(numeric->env, TRISTAR_LOG_PROGRESS, "factor %d%% of supernodes", percent);
}

void tsi_front_close(tsi_numeric *numeric, tsi_open_front *open) {
  TSI_FREE(numeric->env, open->front.p);
  TSI_FREE(numeric->env, open->front.q);
  tsi_numeric_report(numeric, 1);
}

void tsi_front_factor(tsi_numeric *numeric, const tsi_front *front, tsi_index s) {
  const tsi_panels *panels = numeric->analysis->panels;
  if (!tsi_numeric_computes(numeric)) return;
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) {
    const tsi_index end = panels->start[p + 1] - first_column(numeric, s);
    const tsi_front_stripe stripe = tsi_front_stripe_of(front, numeric->kernels->scalar_bytes,
                                                        panels->start[p] - first_column(numeric, s), end);
    tsi_front_diagonal(numeric, &stripe, front->f, p);
    fail(numeric, tsi_numeric_look(numeric));
    if (tsi_numeric_failed(numeric)) return;
    tsi_front_tile(numeric, front, p, false, end, front->f);
    if (!front->full) continue;
    tsi_front_tile(numeric, front, p, true, end, front->w);
    tsi_front_tile(numeric, front, p, true, front->w, front->f);
  }
  if (front->m > 0) numeric->kernels->schur_all(front);
}
