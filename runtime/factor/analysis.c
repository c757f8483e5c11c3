/* tristar_analyze: orders the matrix and prepares the assembly, after method.h has examined the values. See
 * analysis.h. */
#include "runtime/factor/analysis.h"

#include <inttypes.h>

#include "codelets/cpu/base/panel.h"
#include "partition/order/ordering.h"
#include "partition/order/pairs.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/matrix/full.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/base/progress.h"
#include "runtime/base/sort.h"
#include "runtime/factor/method.h"
#include "tristar_typed.h"
#include "runtime/matrix/view.h"

_Static_assert((int)TRISTAR_INVERSE_NONE == (int)TSI_INVERSE_NONE &&
                   (int)TRISTAR_INVERSE_PARTITIONED == (int)TSI_INVERSE_PARTITIONED,
               "tsi_analysis_inverse converts one to the other");
#define LU_THRESHOLD 0.1
#define LDLT_THRESHOLD 0.01
#define UNMERGED_WIDTH 8 /* Columns of a panel with MERGE_NONE. */

void tristar_analysis_options_init_sized(tristar_analysis_options *options, size_t size) {
  const tristar_analysis_options defaults = {
      .method = TRISTAR_METHOD_AUTO, .ordering = TRISTAR_ORDERING_AUTO, .seed = 1};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

tristar_status tsi_place_panels(tsi_env *env, const tsi_panels *panels, tsi_count **values) {
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(env, *values, (tsi_count)panels->count + 1));
  for (tsi_index p = 0; p < panels->count; p++) {
    (*values)[p] = at;
    at += tsi_panel_size(tsi_panel_width(panels, p), panels->height[p]);
  }
  (*values)[panels->count] = at;
  return TRISTAR_OK;
}

/* Computes place, the inverse of the map `row`. */
static tristar_status place_rows(tsi_env *env, const tristar_analysis_t *an, const tsi_index *row,
                                 tsi_index **place) {
  if (row == an->symbolic->perm) {
    *place = an->symbolic->inverse;
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC(env, *place, an->symbolic->n));
  for (tsi_index j = 0; j < an->symbolic->n; j++) (*place)[row[j]] = j;
  return TRISTAR_OK;
}

tristar_status tsi_analysis_place_rows(tsi_env *env, tristar_analysis_t *an) {
  TSI_TRY(place_rows(env, an, an->in_row, &an->in_place));
  TSI_TRY(place_rows(env, an, an->out_row, &an->out_place));
  an->one_order = an->in_row == an->out_row ||
                  memcmp(an->in_row, an->out_row, (size_t)an->symbolic->n * sizeof *an->in_row) == 0;
  return TRISTAR_OK;
}

/* Frees a map and its inverse, unless they are the arrays of symbolic. */
static void release_map(tsi_env *env, const tristar_analysis_t *an, tsi_index *row, tsi_index *place) {
  if (an->symbolic && row == an->symbolic->perm) return;
  TSI_FREE(env, row);
  TSI_FREE(env, place);
}

void tsi_analysis_fill_stats(tristar_analysis_t *an, bool symmetric_pattern) {
  const tsi_symbolic *symbolic = an->symbolic;
  tristar_analysis_stats *stats = &an->stats;
  stats->n = symbolic->n;
  if (an->pattern->ptr) stats->nnz = tsi_pattern_entries(an->pattern);
  stats->symmetric_pattern = symmetric_pattern;
  stats->nnz_lower = symbolic->nnz_exact;
  stats->stored_lower = symbolic->nnz_stored;
  stats->flops = an->imported ? 0 : symbolic->flops * (tsi_analysis_is_lu(an) ? 2 : 1);
  stats->supernodes = symbolic->count;
  stats->panels = an->panels->count;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->start[s + 1] - symbolic->start[s] > stats->widest_supernode)
      stats->widest_supernode = symbolic->start[s + 1] - symbolic->start[s];
  stats->tree_height = symbolic->tree_height;
  stats->elimination_tree_height = symbolic->etree_height;
  if (stats->ordering_reason != NULL) return;
  stats->ordering = TRISTAR_ORDERING_USER; /* Imported factors have their own order. */
  stats->ordering_reason = "";
}

/* Translates the user's permutation of rows (and, after a matching, columns) for the symbolic analysis. */
static tristar_status given_order(tsi_env *env, const tristar_analysis_options *options, tsi_index n,
                                  tsi_index **given) {
  if (options->ordering != TRISTAR_ORDERING_USER) return TRISTAR_OK;
  if (options->permutation == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ORDERING_USER without a permutation");
  TSI_TRY(TSI_ALLOC(env, *given, n));
  for (tsi_index k = 0; k < n; k++)
    if (!tsi_to_index(options->permutation[k], &(*given)[k]) || (*given)[k] >= n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "permutation[%d] = %" PRId64 " is outside 0 .. %d", k,
               options->permutation[k], n - 1);
  return TRISTAR_OK;
}

/* Reads the rows of the option `schur`. */
static tristar_status take_schur(tsi_env *env, tristar_analysis_t *an,
                                 const tristar_analysis_options *options) {
  const tsi_index n = an->pattern->n;
  an->options.schur = NULL;
  if (options->schur_count == 0) return TRISTAR_OK;
  if (options->schur_count >= n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "schur_count is %" PRId64 ", the matrix has %d rows: at least one row must be eliminated",
             options->schur_count, n);
  TSI_SCRATCH_ZERO(env, bool, seen, n);
  TSI_TRY(TSI_ALLOC(env, an->schur, options->schur_count));
  an->schur_count = (tsi_index)options->schur_count;
  for (tsi_index k = 0; k < an->schur_count; k++) {
    const int64_t row = options->schur[k];
    if (row < 0 || row >= n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "schur[%d] = %" PRId64 " is outside 0 .. %d", k, row, n - 1);
    if (seen[row]) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "schur lists row %" PRId64 " twice", row);
    seen[row] = true;
    an->schur[k] = (tsi_index)row;
  }
  const tsi_index rest = n - an->schur_count;
  if (an->pattern->symmetry == TRISTAR_SKEW_SYMMETRIC && rest % 2 != 0 &&
      options->singular == TRISTAR_SINGULAR_REFUSE)
    TSI_FAIL(
        env, TRISTAR_ERR_SINGULAR,
        "schur leaves %d rows of a skew-symmetric matrix to be eliminated: an odd number of them is singular",
        rest);
  return TRISTAR_OK;
}

void tsi_analysis_discard_entries(tristar_analysis_t *an) {
  tsi_env *env = &an->ts->env;
  an->stats.nnz = tsi_pattern_entries(an->pattern);
  TSI_FREE(env, an->pattern->ptr);
  TSI_FREE(env, an->pattern->index);
}

static const struct {
  tristar_ordering ordering;
  tsi_ordering_kind kind;
} orderings[] = {
    {TRISTAR_ORDERING_METIS, TSI_ORDER_METIS},       {TRISTAR_ORDERING_NATURAL, TSI_ORDER_NATURAL},
    {TRISTAR_ORDERING_USER, TSI_ORDER_GIVEN},        {TRISTAR_ORDERING_PTSCOTCH, TSI_ORDER_GIVEN},
    {TRISTAR_ORDERING_AMD, TSI_ORDER_AMD},           {TRISTAR_ORDERING_DISSECTION, TSI_ORDER_DISSECTION},
    {TRISTAR_ORDERING_CALLBACK, TSI_ORDER_CALLBACK}, {TRISTAR_ORDERING_AUTO, TSI_ORDER_AUTO},
    {TRISTAR_ORDERING_SCOTCH, TSI_ORDER_SCOTCH}};

/* Options of the symbolic analysis. given: the permutation of USER or PTSCOTCH. */
static tsi_symbolic_options symbolic_options(const tristar_analysis_t *an, const tsi_index *given,
                                             tsi_order_choice *choice) {
  const tristar_analysis_options *from = &an->options;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(an->factor_scalar);
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  for (size_t k = 0; k < sizeof orderings / sizeof *orderings; k++)
    if (orderings[k].ordering == from->ordering) options.ordering = orderings[k].kind;
  options.given = given;
  if (given != NULL) options.ordering = TSI_ORDER_GIVEN;
  options.order = from->order;
  options.order_arg = from->order_arg;
  options.last = an->schur;
  options.last_count = an->schur_count;
  options.leaf_parts = from->leaf_parts > 1 ? from->leaf_parts : 1;
  options.seed = from->seed;
  if (an->ts->workers.allowed) options.cores = tsi_expected_helping_cores(an->ts->workers.wishes.workers);
  if (from->merge != TRISTAR_MERGE_RELAXED) options.relax = 0;
  if (from->factorizations > 0) options.costs.factorizations = (double)from->factorizations;
  if (from->solves > 0) options.costs.solves = (double)from->solves;
  options.costs.entry_bytes = (double)kernels->scalar_bytes;
  options.costs.flops_factor = (tsi_analysis_is_lu(an) ? 2 : 1) * (kernels->is_complex ? 4 : 1);
  options.choice = choice;
  return options;
}

/* Records which ordering the option `ordering` led to. */
static void note_choice(tristar_analysis_t *an, const tsi_order_choice *choice) {
  an->stats.ordering = an->options.ordering;
  an->stats.ordering_reason = choice->reason;
  if (an->options.ordering != TRISTAR_ORDERING_AUTO && an->options.ordering != TRISTAR_ORDERING_DISSECTION)
    return;
  for (size_t k = 0; k < sizeof orderings / sizeof *orderings; k++)
    if (orderings[k].kind == choice->kind) an->stats.ordering = orderings[k].ordering;
}

static tsi_index panel_width(const tristar_analysis_t *an) {
  return an->options.merge == TRISTAR_MERGE_NONE ? UNMERGED_WIDTH : TSI_PANEL_WIDTH_MAX;
}

/* Finds supernodes in which a panel ends between the two columns of a pair. They must be cut into pieces of
 * one panel each, and each piece gets its own group. Returns whether there are any. groups: number of groups
 * in use. */
static bool cut_between_pairs(const tristar_analysis_t *an, const tsi_index *partner, tsi_index *groups,
                              tsi_index *group) {
  const tsi_symbolic *symbolic = an->symbolic;
  const tsi_panels *panels = an->panels;
  const tsi_index width = panel_width(an);
  bool any = false;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    bool cut = false;
    for (tsi_index p = panels->first[s] + 1; p < panels->first[s + 1]; p++)
      cut |= partner[symbolic->perm[panels->start[p]]] == symbolic->perm[panels->start[p] - 1];
    for (tsi_index j = symbolic->start[s], end; cut && j < symbolic->start[s + 1]; j = end) {
      end = tsi_index_min(j + width, symbolic->start[s + 1]);
      if (end < symbolic->start[s + 1] && partner[symbolic->perm[end]] == symbolic->perm[end - 1]) end--;
      *groups += 1;
      for (tsi_index k = j; k < end; k++) group[symbolic->perm[k]] = *groups;
    }
    any |= cut;
  }
  return any;
}

/* Makes supernodes and panels. If the matching keeps pairs, no panel ends inside a pair. */
static tristar_status make_structure(tsi_env *env, tristar_analysis_t *an, const tsi_graph *graph,
                                     const tsi_matched *found, tsi_symbolic_options *options) {
  TSI_OWNED tsi_index *group = NULL;
  tsi_index groups = 0;
  if (found->keeps_pairs) TSI_TRY(TSI_ALLOC_ZERO(env, group, an->pattern->n));
  do {
    TSI_FREE(env, an->symbolic);
    TSI_FREE(env, an->panels);
    if (groups > 0) options->group = group;
    TSI_TRY(tsi_symbolic_create(env, graph, options, &an->symbolic));
    TSI_TRY(tsi_panels_create(env, an->symbolic, panel_width(an), &an->panels));
  } while (found->keeps_pairs && cut_between_pairs(an, found->partner, &groups, group));
  return TRISTAR_OK;
}

static tristar_status note_seconds(tsi_env *env, tristar_analysis_t *an, const tsi_index *partner) {
  const tsi_index *perm = an->symbolic->perm;
  TSI_TRY(TSI_ALLOC_ZERO(env, an->second, an->pattern->n));
  for (tsi_index j = 1; j < an->pattern->n; j++) an->second[j] = partner[perm[j]] == perm[j - 1];
  return TRISTAR_OK;
}

/* Computes the ordering and supernodes of the row-permuted matrix. lean: the entries of the pattern are freed
 * afterwards. */
static tristar_status order(tsi_env *env, tristar_analysis_t *an, const tsi_matched *found,
                            const tsi_index *given, bool lean, tsi_watch *watch) {
  const tsi_index *row_map = found->row_map;
  const tsi_pattern *pattern = an->pattern;
  const tsi_index n = pattern->n;
  TSI_OWNED tsi_graph *joined = NULL, *graph = NULL;
  TSI_OWNED tsi_index *paired = NULL;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries a = {0};
  tsi_order_choice choice = {TSI_ORDER_GIVEN, ""};
  tsi_symbolic_options options = symbolic_options(an, given, &choice);
  options.watch = watch;
  if (row_map != NULL && !tsi_pattern_is_columns(pattern)) { /* Needs full columns. */
    TSI_TRY(tsi_full_columns(env, pattern, NULL, TSI_PART_REAL, &a));
    TSI_TRY(tsi_graph_create(env, n, a.ptr, a.index, row_map, false, &graph));
  } else
    TSI_TRY(tsi_graph_create(env, n, pattern->ptr, pattern->index, row_map,
                             pattern->symmetry != TRISTAR_GENERAL, &graph));
  tsi_entries_finish(&a);
  if (lean) tsi_analysis_discard_entries(an);
  TSI_TRY(tsi_watch_look(env, watch, "joining the pattern"));
  if (found->partner != NULL && /* METIS's separator tree takes precedence over pairs. */
      (options.leaf_parts == 1 || found->keeps_pairs)) {
    TSI_TRY(TSI_ALLOC(env, paired, n));
    TSI_TRY(tsi_pairs_order(env, graph, found->partner, &options, paired));
    TSI_TRY(tsi_pairs_graph(env, graph, found->partner, &joined));
    options.ordering = TSI_ORDER_GIVEN;
    options.given = paired;
    options.choice = NULL;
  }
  TSI_TRY(make_structure(env, an, joined ? joined : graph, found, &options));
  if (an->schur_count > 0)
    an->schur_supernode =
        tsi_find_range(an->symbolic->start, an->symbolic->count, an->symbolic->inverse[an->schur[0]]);
  note_choice(an, &choice);
  tsi_analysis_fill_stats(an, an->stats.missing_mirrors == 0);
  TSI_TRY(TSI_ALLOC(env, an->out_row, n));
  TSI_TRY(TSI_ALLOC(env, an->in_row, n));
  for (tsi_index j = 0; j < n; j++) an->out_row[j] = an->in_row[j] = an->symbolic->perm[j];
  if (row_map != NULL)
    for (tsi_index i = 0; i < n; i++) an->in_row[an->symbolic->inverse[row_map[i]]] = i;
  return found->keeps_pairs ? note_seconds(env, an, found->partner) : TRISTAR_OK;
}

char tsi_factor_scalar(char scalar, bool single) {
  if (!single) return scalar;
  return scalar == 'd' ? 's' : scalar == 'z' ? 'c' : scalar;
}

/* Makes the choices that depend on the values or the pattern. */
static tristar_status choose(tsi_env *env, tristar_analysis_t *an, const void *values, tsi_matched *found,
                             tsi_watch *watch) {
  if (values != NULL) TSI_TRY(tsi_pattern_check_values(env, an->pattern, values));
  TSI_TRY(tsi_choose_method(env, an, values));
  if (values != NULL)
    TSI_TRY(tsi_use_values(env, an, values, found, watch));
  else
    TSI_TRY(tsi_use_pattern(env, an, watch));
  return TRISTAR_OK;
}

/* Moves the scalings of a matching into the analysis. */
static void take_scalings(tristar_analysis_t *an, tsi_matched *found) {
  if (found->row_scale == NULL) return;
  an->row_scale = found->row_scale;
  an->col_scale = found->col_scale;
  an->stats.matched = 1;
  an->stats.pairs = found->pairs;
  found->row_scale = found->col_scale = NULL;
}

/* Takes over pattern, also after a failure. values: of the pattern's entries; may be NULL. chosen: see
 * analysis.h; NULL: the choices are made here. */
static tristar_status analyze(tristar_t *ts, tsi_pattern *pattern, const void *values,
                              const tristar_analysis_options *options, const tsi_chosen_method *chosen,
                              tristar_analysis_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_analysis_t *an = NULL;
  tsi_index *given = NULL;
  tsi_matched found = {.pairs = 0};
  const double begin = tsi_clock();
  tsi_watch watching = tsi_watch_begin(options->progress, options->progress_arg);
  tsi_watch *watch = options->progress != NULL || tsi_progress_follows(env) ? &watching : NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, an, 1));
  atomic_init(&an->references, 1);
  an->ts = ts;
  tsi_env_retain(&ts->env);
  an->pattern = tsi_take(&pattern);
  an->options = *options;
  an->options.permutation = NULL;
  an->options.progress = NULL; /* An analysis by tristar_factor does not call it. */
  TSI_TRY_OUT(take_schur(env, an, options));
  an->stats.method = options->method;
  an->factor_scalar = tsi_factor_scalar(an->pattern->scalar, options->single_factors != 0);
  TSI_TRY_OUT(tsi_watch_look(env, watch, "reading the pattern"));
  TSI_TRY_OUT(tsi_pattern_missing_mirrors(env, an->pattern, &an->stats.missing_mirrors));
  TSI_TRY_OUT(tsi_watch_look(env, watch, "reading the pattern"));
  if (chosen == NULL)
    TSI_TRY_OUT(choose(env, an, values, &found, watch));
  else {
    an->stats.method = chosen->method;
    an->fallback = chosen->fallback;
    an->stats.rounded = chosen->rounded;
    if (chosen->matched != NULL) {
      found = *chosen->matched;
      *chosen->matched = (tsi_matched){.pairs = 0};
    }
  }
  take_scalings(an, &found);
  TSI_TRY_OUT(tsi_watch_look(env, watch, "matching"));
  if (options->ordering == TRISTAR_ORDERING_PTSCOTCH && (chosen == NULL || chosen->order == NULL))
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED,
                 "PT-Scotch orders matrices whose rows lie on all ranks, which this one's do not: "
                 "tristar_dmatrix_factor, or solve --layout PXxPYxPZ under mpiexec");
  const bool whole = chosen == NULL || chosen->whole;
  if (chosen == NULL || chosen->order == NULL) TSI_TRY_OUT(given_order(env, options, an->pattern->n, &given));
  TSI_TRY_OUT(order(env, an, &found, given ? given : chosen ? chosen->order : NULL, !whole, watch));
  watching.share = 1;
  watching.next = 0; /* The last call always reaches the function. */
  TSI_TRY_OUT(tsi_watch_look(env, watch, "preparing the factorization"));
  TSI_TRY_OUT(tsi_analysis_place_rows(env, an));
  TSI_TRY_OUT(tsi_place_panels(env, an->panels, &an->panel_values));
  TSI_TRY_OUT(tsi_watch_look(env, watch, "preparing the factorization"));
  if (whole) TSI_TRY_OUT(tsi_assembly_create(env, an));
  if (env->check && whole) TSI_TRY_OUT(tsi_analysis_check(env, an));
  an->stats.analyze_seconds = tsi_clock() - begin;
  tsi_log(env, TRISTAR_LOG_INFO, "analysis: %s%s, %lld rows, %lld entries in L, %lld supernodes, %.3g s",
          an->stats.method == TRISTAR_METHOD_LU    ? "LU"
          : an->stats.method == TRISTAR_METHOD_LLT ? "LLT"
                                                   : "LDLT",
          an->stats.matched ? " with matching" : "", (long long)an->stats.n, (long long)an->stats.nnz_lower,
          (long long)an->stats.supernodes, an->stats.analyze_seconds);
out:
  tsi_matched_finish(&found);
  TSI_FREE(env, given);
  TSI_FREE(env, pattern);
  if (status != TRISTAR_OK) tristar_analysis_destroy(&an);
  *out = an;
  return status;
}

static tristar_status check_pivoting(const tsi_env *env, const tristar_analysis_options *options) {
  const double most = options->method == TRISTAR_METHOD_LU ? 1 : 0.5;
  if (!(options->pivot_threshold >= 0 && options->pivot_threshold <= most))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "pivot_threshold is %g: it must be between 0 and %g",
             options->pivot_threshold, most);
  if (options->pivoting == TRISTAR_PIVOTING_STATIC) return TRISTAR_OK;
  if (options->schur_count > 0 || options->inverse == TRISTAR_INVERSE_PARTITIONED)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "pivoting: PIVOTING_DELAYED does not support schur or INVERSE_PARTITIONED");
  return TRISTAR_OK;
}

double tsi_analysis_threshold(const tristar_analysis_t *analysis) {
  const double given = analysis->options.pivot_threshold;
  return given > 0 ? given : tsi_analysis_is_lu(analysis) ? LU_THRESHOLD : LDLT_THRESHOLD;
}

tristar_status tsi_analysis_check_options(const tsi_env *env, const tristar_analysis_options *options) {
  if ((unsigned)options->method > TRISTAR_METHOD_LDLT ||
      (unsigned)options->ordering > TRISTAR_ORDERING_SCOTCH ||
      (unsigned)options->matching > TRISTAR_MATCHING_ON ||
      (unsigned)options->inverse > TRISTAR_INVERSE_PARTITIONED ||
      (unsigned)options->merge > TRISTAR_MERGE_NONE ||
      (unsigned)options->singular > TRISTAR_SINGULAR_PERTURB ||
      (unsigned)options->growth > TRISTAR_GROWTH_MATCH || (unsigned)options->place > TRISTAR_PLACE_GPU ||
      (unsigned)options->pivoting > TRISTAR_PIVOTING_DELAYED)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "method %d, ordering %d, matching %d, inverse %d, merge %d, singular %d, growth %d, place %d, "
             "pivoting %d",
             (int)options->method, (int)options->ordering, (int)options->matching, (int)options->inverse,
             (int)options->merge, (int)options->singular, (int)options->growth, (int)options->place,
             (int)options->pivoting);
  TSI_TRY(check_pivoting(env, options));
  if (options->device_bytes < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "device_bytes is %lld", (long long)options->device_bytes);
  if (options->solves < 0 || options->factorizations < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "solves is %" PRId64 ", factorizations %" PRId64, options->solves,
             options->factorizations);
  if (options->ordering == TRISTAR_ORDERING_CALLBACK && options->order == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ORDERING_CALLBACK without a function");
  if (options->leaf_parts < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "leaf_parts is %d", options->leaf_parts);
  if (options->schur_count < 0 || (options->schur_count > 0 && options->schur == NULL) ||
      (options->schur_count == 0 && options->schur != NULL))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "schur_count is %" PRId64 ", and schur is %s", options->schur_count,
             options->schur ? "a list" : "NULL");
  if (options->schur_count > 0 && options->leaf_parts > 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "schur with a separator tree: leaf_parts is %d",
             options->leaf_parts);
  return TRISTAR_OK;
}

tristar_status tsi_analyze_pattern(tristar_t *ts, tsi_pattern *pattern,
                                   const tristar_analysis_options *options, const tsi_chosen_method *chosen,
                                   tristar_analysis_t **out) {
  return analyze(ts, pattern, NULL, options, chosen, out);
}

tristar_status tristar_analyze(tristar_t *ts, const tristar_view *view,
                               const tristar_analysis_options *options, tristar_analysis_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_analysis_options full;
  tsi_pattern *pattern = NULL, *handed_over;
  void *values = NULL; /* Summed. */
  if (out != NULL) *out = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  if (out == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "analysis is NULL");
  if (view == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "view is NULL");
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_analysis_options, options, &full));
  TSI_TRY_OUT(tsi_analysis_check_options(env, &full));
  TSI_TRY_OUT(tsi_pattern_create(env, view, &pattern));
  if (view->values != NULL && pattern->place != NULL) {
    TSI_TRY_OUT(tsi_pattern_allocate_values(env, pattern, &values));
    tsi_pattern_take(pattern, view->values, values);
  }
  handed_over = tsi_take(&pattern);
  TSI_TRY_OUT(analyze(ts, handed_over, values ? values : view->values, &full, NULL, out));
out:
  TSI_FREE(env, pattern);
  TSI_FREE(env, values);
  return tsi_answer(env, status);
}

/* options: of the analysis, as changed by the caller. */
static tristar_status analyze_again(const tristar_analysis_t *analysis, tristar_analysis_options options,
                                    const void *values, tristar_analysis_t **out) {
  tsi_env *env = &analysis->ts->env;
  const tsi_pattern *from = analysis->pattern;
  tsi_pattern *pattern = NULL;
  TSI_OWNED int64_t *permutation = NULL, *schur = NULL;
  *out = NULL;
  if (analysis->schur_count > 0) {
    TSI_TRY(TSI_ALLOC(env, schur, analysis->schur_count));
    for (tsi_index k = 0; k < analysis->schur_count; k++) schur[k] = analysis->schur[k];
    options.schur = schur;
  }
  if (options.ordering == TRISTAR_ORDERING_USER || options.ordering == TRISTAR_ORDERING_CALLBACK) {
    /* The ordering is the given one, postordered. */
    options.ordering = TRISTAR_ORDERING_USER;
    TSI_TRY(TSI_ALLOC(env, permutation, from->n));
    for (tsi_index j = 0; j < from->n; j++) permutation[j] = analysis->symbolic->perm[j];
    options.permutation = permutation;
  }
  TSI_TRY(tsi_pattern_copy(env, from, &pattern));
  return analyze(analysis->ts, pattern, values, &options, NULL, out);
}

tristar_status tsi_analysis_again(const tristar_analysis_t *analysis, tristar_method method,
                                  const void *values, tristar_analysis_t **out) {
  tristar_analysis_options options = analysis->options;
  options.method = method;
  return analyze_again(analysis, options, values, out);
}

tristar_status tsi_analysis_match_again(const tristar_analysis_t *analysis, const void *values, bool full,
                                        tristar_analysis_t **out) {
  tristar_analysis_options options = analysis->options;
  options.method = analysis->stats.method;
  options.matching = TRISTAR_MATCHING_ON;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  options.growth = TRISTAR_GROWTH_WARN;
  if (full) options.single_factors = 0;
  if (full && options.method == TRISTAR_METHOD_LLT) options.method = TRISTAR_METHOD_LDLT;
  TSI_TRY(analyze_again(analysis, options, values, out));
  (*out)->keeps_scaling = true;
  return TRISTAR_OK;
}

static tristar_status copy_scale(tsi_env *env, tsi_index n, const double *from, double **to) {
  if (from == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, *to, n));
  memcpy(*to, from, (size_t)n * sizeof *from);
  return TRISTAR_OK;
}

tristar_status tsi_analysis_reorder(const tristar_analysis_t *analysis, const tsi_index *row,
                                    const tsi_index *column, tsi_index **partner, tristar_analysis_t **out) {
  tsi_env *env = &analysis->ts->env;
  const tsi_index n = analysis->pattern->n;
  TSI_CLEANUP(tsi_matched_finish) tsi_matched found = {.partner = tsi_take(partner)};
  tsi_pattern *pattern = NULL;
  *out = NULL;
  found.keeps_pairs = found.partner != NULL;
  for (tsi_index v = 0; found.keeps_pairs && v < n; v++) found.pairs += found.partner[v] > v;
  const tsi_index pairs = found.pairs;
  TSI_TRY(copy_scale(env, n, analysis->row_scale, &found.row_scale));
  TSI_TRY(copy_scale(env, n, analysis->col_scale, &found.col_scale));
  if (tsi_analysis_is_lu(analysis)) {
    TSI_TRY(TSI_ALLOC(env, found.row_map, n));
    for (tsi_index k = 0; k < n; k++) found.row_map[row[k]] = column[k];
  }
  const tsi_chosen_method chosen = {.method = analysis->stats.method,
                                    .fallback = analysis->fallback,
                                    .rounded = analysis->stats.rounded,
                                    .matched = &found,
                                    .order = column,
                                    .whole = true};
  TSI_TRY(tsi_pattern_copy(env, analysis->pattern, &pattern));
  TSI_TRY(analyze(analysis->ts, pattern, NULL, &analysis->options, &chosen, out));
  (*out)->extended = true;
  (*out)->keeps_scaling = analysis->keeps_scaling;
  (*out)->stats.pairs = pairs;
  (*out)->stats.matched = analysis->stats.matched || tsi_analysis_is_lu(analysis);
  (*out)->stats.ordering = analysis->stats.ordering;
  (*out)->stats.ordering_reason = analysis->stats.ordering_reason;
  return TRISTAR_OK;
}

tristar_analysis_t *tsi_analysis_share(tristar_analysis_t *analysis) {
  atomic_fetch_add(&analysis->references, 1);
  return analysis;
}

void tsi_analysis_discard_rows(tristar_analysis_t *an) {
  tsi_env *env = &an->ts->env;
  tsi_symbolic *symbolic = an->symbolic;
  release_map(env, an, an->in_row, an->in_place);
  release_map(env, an, an->out_row, an->out_place);
  an->in_row = an->in_place = an->out_row = an->out_place = NULL;
  TSI_FREE(env, symbolic->perm);
  TSI_FREE(env, symbolic->inverse);
  TSI_FREE(env, symbolic->parent);
  TSI_FREE(env, symbolic->row_ptr);
  TSI_FREE(env, symbolic->rows);
  TSI_FREE(env, symbolic->part_columns);
  TSI_FREE(env, symbolic->part);
  TSI_FREE(env, an->panels->supernode);
  TSI_FREE(env, an->panels->height);
  TSI_FREE(env, an->panels->first);
  tsi_assembly_finish(env, an);
}

void tristar_analysis_destroy(tristar_analysis_t **analysis) {
  if (analysis == NULL || *analysis == NULL) return;
  tristar_analysis_t *an = *analysis;
  tsi_env *env = &an->ts->env;
  *analysis = NULL;
  if (tsi_env_abandon(env, an) || atomic_fetch_sub(&an->references, 1) > 1) return;
  release_map(env, an, an->in_row, an->in_place);
  release_map(env, an, an->out_row, an->out_place);
  TSI_FREE(env, an->pattern);
  TSI_FREE(env, an->symbolic);
  TSI_FREE(env, an->panels);
  TSI_FREE(env, an->other.symbolic);
  TSI_FREE(env, an->other.panels);
  TSI_FREE(env, an->other.panel_values);
  tsi_assembly_finish(env, an);
  TSI_FREE(env, an->row_scale);
  TSI_FREE(env, an->col_scale);
  TSI_FREE(env, an->schur);
  TSI_FREE(env, an->second);
  TSI_FREE(env, an->panel_values);
  TSI_FREE(env, an);
  tsi_env_release(env);
}

size_t tsi_analysis_bytes(const tristar_analysis_t *an) {
  const bool in = an->in_row != an->symbolic->perm, out = an->out_row != an->symbolic->perm; /* release_map */
  const void *held[] = {an,
                        an->pattern,
                        an->symbolic,
                        an->panels,
                        an->other.symbolic,
                        an->other.panels,
                        an->other.panel_values,
                        an->lower.ptr,
                        an->lower.other,
                        an->lower.place,
                        an->lower.source,
                        an->upper.ptr,
                        an->upper.other,
                        an->upper.place,
                        an->upper.source,
                        an->row_scale,
                        an->col_scale,
                        an->schur,
                        an->second,
                        an->panel_values,
                        in ? an->in_row : NULL,
                        in ? an->in_place : NULL,
                        out ? an->out_row : NULL,
                        out ? an->out_place : NULL};
  size_t bytes = 0;
  for (size_t k = 0; k < sizeof held / sizeof *held; k++) bytes += tsi_memory_bytes(held[k]);
  return bytes;
}

tristar_status tristar_analysis_get_stats(const tristar_analysis_t *analysis, tristar_analysis_stats *stats) {
  TSI_GET(analysis, stats, analysis->stats);
}

tristar_status tristar_analysis_get_assembly_tree(const tristar_analysis_t *analysis,
                                                  tristar_assembly_tree *tree) {
  TSI_GET(analysis, tree,
          ((tristar_assembly_tree){.supernodes = analysis->symbolic->count,
                                   .first_column = analysis->symbolic->start,
                                   .parent = analysis->symbolic->parent,
                                   .rows = analysis->symbolic->row_ptr}));
}

tristar_status tristar_analysis_check_scalar(const tristar_analysis_t *analysis, tristar_scalar scalar) {
  TSI_ENTER(analysis, analysis->ts);
  return tsi_answer(&analysis->ts->env,
                    tsi_check_scalar(&analysis->ts->env, analysis->pattern->scalar, scalar));
}

tristar_status tsi_dissect(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                           tsi_index *position) {
  TSI_OWNED tsi_graph *graph = NULL;
  TSI_OWNED tsi_index *perm = NULL;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  TSI_TRY(TSI_ALLOC(env, perm, n));
  TSI_TRY(tsi_graph_create(env, n, ptr, index, NULL, false, &graph));
  TSI_TRY(tsi_order(env, graph, &options, perm, NULL, NULL));
  return tsi_invert_permutation(env, n, perm, position);
}
