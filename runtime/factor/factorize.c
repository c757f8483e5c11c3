/* One factorization, from its scalings to its statistics, and a second one where it helps. See numeric.h. */
#include <limits.h>
#include <math.h>

#include "runtime/base/threads.h"
#include "runtime/factor/front_device.h"
#include "runtime/factor/front_places.h"
#include "runtime/factor/scaling_work.h"
#include "runtime/factor/update.h"

/* ---- Scaling and sizes -------------------------------------------------------------------------------- */

/* a may be NaN; then *largest stays. */
static void raise_to(double *largest, double a) {
  *largest = a > *largest ? a : *largest; /* Has no branch, which no processor could predict. */
}

/* Computes the largest entries of all columns of a GENERAL matrix. L U assembles each entry once. Returns the
 * largest of all. */
static double gather_by_lines(const tristar_factor_t *factor, const double *magnitude, double *size) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  double largest = 0;
  for (tsi_index j = 0; j < pattern->n; j++) {
    double of_line = 0;
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p], row = pattern->by_rows ? j : i,
                      column = pattern->by_rows ? i : j;
      const double a = factor->row_scale
                           ? tsi_scaled(magnitude[p], factor->row_scale[row], factor->col_scale[column])
                           : magnitude[p];
      raise_to(&of_line, a);
      if (pattern->by_rows) raise_to(&size[an->out_place[column]], a);
    }
    if (!pattern->by_rows) size[an->out_place[j]] = of_line;
    raise_to(&largest, of_line);
  }
  return largest;
}

/* Raises the sizes of columns to the entries of one list; upper: the list of U. Returns the largest. */
static double gather_sizes(const tristar_factor_t *factor, const tsi_assembly *list, const double *magnitude,
                           bool upper, double *size) {
  const tristar_analysis_t *an = factor->analysis;
  const bool llt = an->stats.method == TRISTAR_METHOD_LLT, ldlt = an->stats.method == TRISTAR_METHOD_LDLT,
             scaled = factor->row_scale != NULL;
  const double *own = upper ? factor->row_scale : factor->col_scale,
               *crossing = upper ? factor->col_scale : factor->row_scale;
  const tsi_index *line = upper ? an->in_row : an->out_row, *number = upper ? an->out_row : an->in_row;
  double largest = 0;
  for (tsi_index j = 0; j < an->pattern->n; j++) {
    const tsi_count end = list->ptr[j + 1];
    const double scale = scaled ? own[line[j]] : 1;
    double of_line = 0;
    for (tsi_count q = list->ptr[j]; q < end; q++) {
      const tsi_index other = list->other[q];
      const tsi_count source = tsi_assembly_source(list, q), p = source < 0 ? ~source : source;
      const double a = scaled ? tsi_scaled(magnitude[p], crossing[number[other]], scale) : magnitude[p];
      raise_to(&of_line, a);
      if (upper || ldlt) raise_to(&size[other], a);
      if (llt && other == j) raise_to(&size[j], a);
    }
    if (!upper && !llt) raise_to(&size[j], of_line);
    raise_to(&largest, of_line);
  }
  return largest;
}

/* For L L^T of values that are stored once and need no scaling, the common case. Finds the sizes of the
 * diagonal entries and the largest of all in one pass, and leaves the factor without scalings. Returns false
 * in other cases. */
static bool take_unscaled(tristar_factor_t *factor, const double *magnitude, double *size, double *largest) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  double low = INFINITY, high = 0;
  *largest = 0;
  if (an->stats.method != TRISTAR_METHOD_LLT || pattern->symmetry == TRISTAR_GENERAL || an->schur_count > 0)
    return false;
  for (tsi_index j = 0; j < pattern->n; j++) {
    double diagonal = 0;
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      raise_to(largest, magnitude[p]);
      diagonal = pattern->index[p] == j ? magnitude[p] : diagonal;
    }
    size[an->out_place[j]] = diagonal;
    raise_to(&high, diagonal);
    low = diagonal > 0 && diagonal < low ? diagonal : low;
  }
  if (low > high || !tsi_scaling_llt_is_free(an->factor_scalar, tsi_scaling_exponent(low),
                                             tsi_scaling_exponent(high), tsi_scaling_exponent(*largest))) {
    memset(size, 0, (size_t)pattern->n * sizeof *size);
    return false;
  }
  TSI_FREE(&factor->ts->env, factor->row_scale);
  TSI_FREE(&factor->ts->env, factor->col_scale);
  return true;
}

static double largest_of(const double *size, tsi_index n) {
  double largest = 0;
  for (tsi_index j = 0; j < n; j++) raise_to(&largest, size[j]);
  return largest;
}

double tsi_tiny_pivot(const tristar_analysis_t *an, double largest) {
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  return (an->extended ? epsilon : sqrt(epsilon)) * (largest > 0 ? largest : 1);
}

tristar_status tsi_pivot_sizes_measure(tristar_factor_t *factor, tsi_pivot_sizes *sizes) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  TSI_OWNED double *magnitude = NULL;
  double largest = 0;
  bool known; /* Are sizes->column computed? */
  *sizes = (tsi_pivot_sizes){.column = NULL};
  TSI_TRY(tsi_pattern_part(env, an->pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  TSI_TRY(TSI_ALLOC_ZERO(env, sizes->column, an->pattern->n));
  TSI_TRY(tsi_scaling_take_matching(factor, magnitude, sizes->column, &known));
  const bool unscaled = !known && take_unscaled(factor, magnitude, sizes->column, &largest);
  if (!known && !unscaled) TSI_TRY(tsi_scaling_choose(factor, magnitude));
  if (known)
    largest = largest_of(sizes->column, an->pattern->n);
  else if (unscaled)
    known = true;
  else if (tsi_analysis_is_lu(an) && an->pattern->symmetry == TRISTAR_GENERAL)
    largest = gather_by_lines(factor, magnitude, sizes->column);
  else
    largest = gather_sizes(factor, &an->lower, magnitude, false, sizes->column);
  if (tsi_analysis_is_lu(an) && an->pattern->symmetry != TRISTAR_GENERAL)
    largest = fmax(largest, gather_sizes(factor, &an->upper, magnitude, true, sizes->column));
  if (an->schur_count > 0) { /* Rows without pivots do not count for the size of pivots. */
    largest = 0;
    const tsi_index first = tsi_analysis_schur_first(an), end = first + an->schur_count;
    for (tsi_index j = 0; j < an->pattern->n; j++)
      if (j < first || j >= end) largest = fmax(largest, sizes->column[j]);
  }
  sizes->tiny = tsi_tiny_pivot(an, largest);
  return TRISTAR_OK;
}

void tsi_pivot_sizes_release(tsi_pivot_sizes *sizes) {
  tsi_release(tsi_take(&sizes->column));
}

/* ---- Life --------------------------------------------------------------------------------------------- */

tristar_status tsi_numeric_place_scales(tsi_numeric *numeric) {
  const tristar_factor_t *factor = numeric->factor;
  const tristar_analysis_t *an = factor->analysis;
  if (factor->row_scale == NULL) return TRISTAR_OK;
  if (numeric->row_scale == NULL) {
    TSI_TRY(TSI_ALLOC_IN(numeric, numeric->row_scale, an->pattern->n));
    TSI_TRY(TSI_ALLOC_IN(numeric, numeric->col_scale, an->pattern->n));
  }
  for (tsi_index j = 0; j < an->pattern->n; j++) {
    numeric->row_scale[j] = factor->row_scale[an->in_row[j]];
    numeric->col_scale[j] = factor->col_scale[an->out_row[j]];
  }
  return TRISTAR_OK;
}

/* Selects the kernel for small fronts, if there is one. fixed: as in tsi_numeric. */
static void choose_small(tsi_numeric *numeric, bool fixed) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_small_kernels *kernels = tsi_small_kernels_select(an->factor_scalar, NULL);
  if (fixed || an->extended) return;
  numeric->small = an->stats.method == TRISTAR_METHOD_LU    ? kernels->lu
                   : an->stats.method == TRISTAR_METHOD_LLT ? kernels->llt
                                                            : kernels->ldl;
}

static void set_factor(tsi_numeric *numeric, const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  numeric->env = &factor->ts->env;
  numeric->factor = factor;
  numeric->analysis = an;
  numeric->kernels = tsi_front_kernels_select(an->factor_scalar);
  numeric->values = factor->values;
  numeric->wide = an->factor_scalar != an->pattern->scalar;
  numeric->adjoint = factor->adjoint;
  numeric->full = tsi_analysis_is_lu(an);
  numeric->epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  numeric->refuse = an->options.singular == TRISTAR_SINGULAR_REFUSE && !numeric->wide;
  numeric->pivots = factor->pivots;
  numeric->inverse = factor->inverse;
  atomic_init(&numeric->dependent, INT_MAX);
  numeric->dependent_row = TSI_NONE;
  atomic_init(&numeric->smallest, INFINITY);
  atomic_init(&numeric->inverse_growth, 0);
  numeric->weakest = INFINITY;
  numeric->weakest_row = TSI_NONE;
}

tristar_status tsi_numeric_create(tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                  const tsi_factorization_options *options, const tsi_front_owners *owners,
                                  bool fixed, tsi_numeric **out) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  TSI_CLEANUP(tsi_numeric_destroy) tsi_numeric *numeric = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, numeric, 1));
  set_factor(numeric, factor);
  TSI_TRY(tsi_mutex_init(env, &numeric->lock));
  numeric->has_lock = true;
  TSI_TRY(tsi_numeric_place_scales(numeric));
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->share, an->pattern->n));
  numeric->sizes = sizes;
  numeric->fixed = fixed;
  choose_small(numeric, fixed);
  if (fixed) {
    TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->kept, an->pattern->n));
    TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->term, an->pattern->n));
  }
  TSI_TRY(tsi_factorization_create(env, an->symbolic, an->panels, an->stats.method, options, owners,
                                   &numeric->dag));
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->complement, an->symbolic->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->tiled, numeric->dag->tiled_count));
  for (tsi_index k = 0; k < numeric->dag->steps->count; k++) numeric->work += numeric->dag->part[k].work;
  for (tsi_index k = 0; k < numeric->dag->tiled_count; k++) numeric->tiled[k].s = numeric->dag->tiled[k];
  TSI_TRY(tsi_numeric_prepare_messages(numeric));
  *out = tsi_take(&numeric);
  return TRISTAR_OK;
}

/* Also frees the arrays left by a failed factorization. */
void tsi_numeric_destroy(tsi_numeric **out) {
  tsi_numeric *numeric = *out;
  if (numeric == NULL) return;
  tsi_env *env = numeric->env;
  tsi_tasks_destroy(&numeric->tasks);
  tsi_device_fronts_release(numeric);
  TSI_FREE(env, numeric->list);
  tsi_numeric_release_messages(numeric);
  for (tsi_index s = 0; numeric->complement && s < numeric->analysis->symbolic->count; s++)
    TSI_FREE(env, numeric->complement[s]);
  for (tsi_index k = 0; numeric->tiled && k < numeric->dag->tiled_count; k++) {
    TSI_FREE(env, numeric->tiled[k].front.p);
    TSI_FREE(env, numeric->tiled[k].front.q);
    TSI_FREE(env, numeric->tiled[k].position);
    TSI_FREE(env, numeric->tiled[k].assembled);
  }
  if (numeric->has_lock) pthread_mutex_destroy(&numeric->lock);
  TSI_FREE(env, numeric->dag);
  TSI_FREE(env, numeric->device);
  TSI_FREE(env, *out);
}

tsi_pivot_figures tsi_numeric_figures(const tsi_numeric *numeric) {
  return (tsi_pivot_figures){.perturbed = atomic_load(&numeric->perturbed),
                             .stray = atomic_load(&numeric->stray),
                             .dependent = atomic_load(&numeric->dependent),
                             .dependent_row = tsi_numeric_dependent_row(numeric),
                             .smallest = atomic_load(&numeric->smallest),
                             .largest = atomic_load(&numeric->largest),
                             .weakest = numeric->weakest,
                             .strongest = atomic_load(&numeric->strongest),
                             .weakest_row = numeric->weakest_row};
}

void tsi_numeric_set_figures(tsi_numeric *numeric, const tsi_pivot_figures *figures) {
  atomic_store(&numeric->perturbed, figures->perturbed);
  atomic_store(&numeric->stray, figures->stray);
  atomic_store(&numeric->dependent, (int)figures->dependent);
  numeric->dependent_row = figures->dependent_row;
  atomic_store(&numeric->smallest, figures->smallest);
  atomic_store(&numeric->largest, figures->largest);
  numeric->weakest = figures->weakest;
  atomic_store(&numeric->strongest, figures->strongest);
  numeric->weakest_row = figures->weakest_row;
}

#define UNTOUCHED 0.9 /* A pivot above this share of its column's largest entry has inherited no error. */

/* Traces the errors that pivots inherit. If a pivot is the share p of its column's largest entry, 1 - p of
 * that entry was subtracted. If the subtracted term has the relative error e, the pivot has the relative
 * error
 *
 *   epsilon / p + (1 / p - 1) e.
 *
 * The error e comes from earlier pivots of its subtree: in full from the previous pivot, and half as much
 * with each pivot in between of which much was subtracted. If many successive pivots are a tenth of their
 * columns, the last one can be only error, though none of them is small: a chain whose weights fall by a
 * factor of ten. Writes the largest of these errors, in units of epsilon. */
static tristar_status trace_errors(const tsi_numeric *numeric, double *largest) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  TSI_OWNED double *inherited = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, inherited, symbolic->count));
  *largest = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    double e = inherited[s];
    for (tsi_index j = symbolic->start[s]; j < symbolic->start[s + 1]; j++) {
      const double share = numeric->share[j], error = share > 0 ? 1 / share + fabs(1 / share - 1) * e : 0;
      e = share > UNTOUCHED ? e : e / 2;
      raise_to(&e, error);
      raise_to(largest, error);
    }
    if (parent != TSI_NONE) raise_to(&inherited[parent], e);
  }
  return TRISTAR_OK;
}

tristar_status tsi_numeric_finish(tsi_numeric *numeric, tristar_factor_t *factor) {
  TSI_TRY(tsi_failure_report(numeric->env, &numeric->failure));
  factor->dependent = numeric->pivots != NULL && tsi_numeric_dependent(numeric) != TSI_NONE;
  factor->surely_singular = factor->misfit = false;
  TSI_TRY(tsi_numeric_check_dependent(numeric));
  factor->stats.perturbed_pivots = atomic_load(&numeric->perturbed);
  factor->stats.smallest_pivot = numeric->analysis->pattern->n > 0 ? atomic_load(&numeric->smallest) : 0;
  factor->stats.largest_pivot = atomic_load(&numeric->largest);
  factor->stats.growth = atomic_load(&numeric->strongest);
  factor->stats.judged = factor->stats.singular = factor->stats.schur_refined = 0;
  factor->stats.solve_error = 0;
  factor->stats.reciprocal_condition = -1;
  factor->weakest_pivot = numeric->weakest;
  factor->weakest_row = numeric->weakest_row;
  factor->fixed = numeric->fixed;
  factor->inverse_growth = atomic_load(&numeric->inverse_growth);
  return trace_errors(numeric, &factor->inherited_error);
}

/* ---- A factorization, and a second one ----------------------------------------------------------------- */

/* Factors once, on StarPU or on one thread. */
static tristar_status run_once(tristar_factor_t *factor, const tsi_pivot_sizes *sizes, bool fixed,
                               tsi_front_places *places, tsi_numeric **out) {
  const tsi_front_owners owners = {.device = places->device};
  TSI_TRY(tsi_numeric_create(factor, sizes, &factor->ts->fronts, &owners, fixed, out));
  (*out)->device = tsi_take(&places->device);
  if (factor->update) TSI_TRY(tsi_numeric_stay(*out));
  if (factor->ts->workers.allowed && (*out)->dag->steps->count > 1 && !factor->alone) {
    TSI_TRY(tsi_context_need_starpu(factor->ts, &factor->stats.start_seconds));
    TSI_TRY(tsi_numeric_record(*out));
  }
  return tsi_numeric_run(*out);
}

/* Did tasks exceed the memory limit? They may run in an order that needs more memory than was forecast. */
static bool exceeds_limit(const tsi_numeric *numeric) {
  return numeric->tasks != NULL && atomic_load(&numeric->env->memory.limit) > 0 &&
         atomic_load(&numeric->failure.status) == TRISTAR_ERR_MEMORY;
}

/* Factors with the chosen fronts on devices. If a device fails and is optional, factors again on the cores
 * alone. */
static tristar_status factor_once(tristar_factor_t *factor, const tsi_pivot_sizes *sizes, bool fixed,
                                  tsi_numeric **out) {
  tsi_env *env = &factor->ts->env;
  tsi_front_places places;
  TSI_TRY(tsi_front_places_choose(factor, &factor->stats.start_seconds, &places));
  tristar_status status = run_once(factor, sizes, fixed, &places, out);
  if (status == TRISTAR_OK && exceeds_limit(*out)) {
    tsi_log(env, TRISTAR_LOG_INFO, "factor: again, on one thread: tasks exceed the limit of memory");
    tsi_numeric_destroy(out);
    tsi_front_places_finish(env, &places);
    factor->alone = true;
    status = run_once(factor, sizes, fixed, &places, out);
  }
  if (places.fronts > 0 && places.optional &&
      (status != TRISTAR_OK || (*out && atomic_load(&(*out)->device_failed)))) {
    if (status == TRISTAR_OK) status = tsi_failure_report(env, &(*out)->failure);
    tsi_log(env, TRISTAR_LOG_WARNING, "factor: on the cores, as devices fail: %s", tsi_error_text(env));
    tsi_numeric_destroy(out);
    tsi_front_places_finish(env, &places);
    status = run_once(factor, sizes, fixed, &places, out);
  }
  factor->stats.device_fronts = places.fronts;
  factor->stats.device_unfit_fronts = places.unfit;
  factor->stats.device_flops = places.flops;
  factor->stats.device_bus_bytes = places.bus_bytes;
  tsi_front_places_finish(env, &places);
  return status;
}

bool tsi_factor_interchanged(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  for (tsi_index panel = 0; panel < an->panels->count; panel++)
    for (tsi_index j = an->panels->start[panel]; j < an->panels->start[panel + 1]; j++)
      if (factor->pivots[j] != j - an->panels->start[panel]) return true;
  return false;
}

bool tsi_numeric_is_doubtful(const tsi_numeric *numeric) {
  const tristar_factor_t *factor = numeric->factor;
  return tsi_analysis_is_lu(factor->analysis) &&
         (tsi_numeric_dependent(numeric) != TSI_NONE ||
          (atomic_load(&numeric->perturbed) > 0 && tsi_scaling_spread(factor) > TSI_FAR_UNITS));
}

static void prefer(tsi_numeric **numeric, tsi_numeric **fixed) {
  if (!tsi_numeric_is_accurate(*fixed)) return;
  tsi_numeric *refused = *numeric;
  *numeric = *fixed;
  *fixed = refused;
}

/* If interchanges leave nothing of a row, it need not depend on the others. The interchanges, and the limit
 * of "nothing", depend on the scaling of rows and columns. The scaling that suits the largest entries may be
 * far from one that suits the matrix: for example, D T D can lose a row, with T tridiagonal of order 34 and
 * condition 50. The second opinion is a factorization with the pivots on the diagonal, which a matching has
 * made as large as possible. Without interchanges, rounding errors do not depend on scalings by powers of
 * two. numeric becomes that factorization if it kept half of the digits of every pivot. */
static tristar_status try_fixed(tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                tsi_numeric **numeric) {
  TSI_CLEANUP(tsi_numeric_destroy) tsi_numeric *fixed = NULL;
  TSI_TRY(factor_once(factor, sizes, true, &fixed));
  if (tsi_numeric_failed(fixed)) {
    const tristar_status failed = tsi_failure_report(fixed->env, &fixed->failure);
    if (failed != TRISTAR_ERR_NOT_FINITE) TSI_TRY(failed);
    return TRISTAR_OK;
  }
  prefer(numeric, &fixed);
  return TRISTAR_OK;
}

bool tsi_numeric_needs_fixed(tsi_numeric *numeric) {
  return !tsi_numeric_failed(numeric) && tsi_numeric_is_doubtful(numeric) &&
         tsi_factor_interchanged(numeric->factor);
}

tristar_status tsi_factorize(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_numeric *numeric = NULL;
  tsi_pivot_sizes sizes = {.column = NULL};
  TSI_TRY_OUT(tsi_pivot_sizes_measure(factor, &sizes));
  TSI_TRY_OUT(factor_once(factor, &sizes, false, &numeric));
  const bool tries = tsi_numeric_needs_fixed(numeric);
  if (tries) TSI_TRY_OUT(try_fixed(factor, &sizes, &numeric));
  TSI_TRY_OUT(tsi_numeric_finish(numeric, factor));
  if (!tries) tsi_update_take(factor->update, &numeric, &sizes);
out:
  tsi_pivot_sizes_release(&sizes);
  tsi_numeric_destroy(&numeric);
  return status;
}
