/* The records of an analysis: see objects.h. */
#include <math.h>
#include <stdio.h>

#include "partition/order/ordering.h"
#include "runtime/factor/method.h"
#include "runtime/save/objects.h"

#define A(member) TSI_FIELD(tristar_analysis_t, member)
static const tsi_field analysis_fields[] = {
    A(fallback),
    A(factor_scalar),
    A(imported),
    A(stats.n),
    A(stats.symmetric_pattern),
    A(stats.missing_mirrors),
    A(stats.rounded),
    A(stats.method),
    A(stats.matched),
    A(stats.pairs),
    A(stats.analyze_seconds),
    A(stats.ordering),
    A(keeps_scaling),
    A(extended),
    A(options.method),
    A(options.ordering),
    A(options.leaf_parts),
    A(options.seed),
    A(options.matching),
    A(options.single_factors),
    A(options.inverse),
    A(options.merge),
    A(options.singular),
    A(options.growth),
    A(options.place),
    A(options.device_bytes),
    A(options.solves),
    A(options.pivoting),
    A(options.pivot_threshold),
};

#define P(member) TSI_FIELD(tsi_pattern, member)
static const tsi_field pattern_fields[] = {P(n), P(by_rows), P(scalar), P(symmetry), P(given)};

/* The symbolic structure of one side, and the width of its panels. */
typedef struct side {
  tsi_symbolic symbolic;
  tsi_index width_max;
} side;
#define S(member) TSI_FIELD(side, member)
static const tsi_field side_fields[] = {
    S(symbolic.n),          S(symbolic.count), S(symbolic.nnz_exact),    S(symbolic.nnz_stored),
    S(symbolic.closed),     S(symbolic.flops), S(symbolic.etree_height), S(symbolic.tree_height),
    S(symbolic.leaf_parts), S(width_max)};

/* ---- Writing --------------------------------------------------------------------------------------------
 */

static tristar_status put_pattern(tsi_sink *sink, const tsi_pattern *pattern) {
  TSI_TRY(TSI_PUT_FIELDS(sink, "pattern", pattern_fields, pattern));
  if (pattern->ptr == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_PUT(sink, "pattern.ptr", pattern->n + 1, pattern->ptr));
  TSI_TRY(TSI_PUT(sink, "pattern.index", pattern->ptr[pattern->n], pattern->index));
  return TSI_PUT(sink, "pattern.place", pattern->given, pattern->place);
}

static tristar_status put_side(tsi_sink *sink, const tsi_structure *structure) {
  const tsi_symbolic *sy = structure->symbolic;
  const side fields = {.symbolic = *sy, .width_max = structure->panels->width_max};
  TSI_TRY(TSI_PUT_FIELDS(sink, "side", side_fields, &fields));
  TSI_TRY(TSI_PUT(sink, "perm", sy->n, sy->perm));
  TSI_TRY(TSI_PUT(sink, "start", sy->count + 1, sy->start));
  TSI_TRY(TSI_PUT(sink, "parent", sy->count, sy->parent));
  TSI_TRY(TSI_PUT(sink, "row_ptr", sy->count + 1, sy->row_ptr));
  TSI_TRY(TSI_PUT(sink, "rows", sy->row_ptr[sy->count], sy->rows));
  TSI_TRY(TSI_PUT(sink, "part_columns", 2 * sy->leaf_parts - 1, sy->part_columns));
  return TSI_PUT(sink, "part", sy->count, sy->part);
}

tristar_status tsi_analysis_put(tsi_sink *sink, const tristar_analysis_t *an) {
  const tsi_index *perm = an->symbolic->perm;
  TSI_TRY(TSI_PUT_FIELDS(sink, "analysis", analysis_fields, an));
  TSI_TRY(put_pattern(sink, an->pattern));
  for (int i = 0; i < tsi_analysis_sides(an); i++) {
    const tsi_structure structure = tsi_analysis_structure(an, i);
    TSI_TRY(put_side(sink, &structure));
  }
  TSI_TRY(TSI_PUT(sink, "in_row", an->symbolic->n, an->in_row == perm ? NULL : an->in_row));
  TSI_TRY(TSI_PUT(sink, "out_row", an->symbolic->n, an->out_row == perm ? NULL : an->out_row));
  TSI_TRY(TSI_PUT(sink, "second", an->symbolic->n, an->second));
  TSI_TRY(TSI_PUT(sink, "match.row_scale", an->symbolic->n, an->row_scale));
  return TSI_PUT(sink, "match.col_scale", an->symbolic->n, an->col_scale);
}

/* ---- Reading --------------------------------------------------------------------------------------------
 */

static tristar_status check_lines(const tsi_source *source, const tsi_pattern *pattern) {
  const tsi_count entries = pattern->ptr[pattern->n];
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++)
      if (pattern->index[p] < 0 || pattern->index[p] >= pattern->n ||
          (p > pattern->ptr[j] && pattern->index[p] <= pattern->index[p - 1]))
        TSI_DAMAGED(source, "line %d of the pattern has index %d", j, pattern->index[p]);
  for (tsi_count q = 0; pattern->place != NULL && q < pattern->given; q++)
    if (pattern->place[q] < 0 || pattern->place[q] >= entries)
      TSI_DAMAGED(source, "entry %lld of the matrix goes to place %lld", (long long)q,
                  (long long)pattern->place[q]);
  return TRISTAR_OK;
}

static tristar_status take_pattern(tsi_source *source, tsi_pattern **out) {
  TSI_OWNED tsi_pattern *pattern = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(source->env, pattern, 1));
  TSI_TRY(TSI_TAKE_FIELDS(source, "pattern", pattern_fields, pattern));
  if (pattern->n < 0 || pattern->n > TSI_INDEX_MAX || pattern->given < 0 ||
      (unsigned)pattern->symmetry > TRISTAR_HERMITIAN || tsi_sparse_kernels_select(pattern->scalar) == NULL)
    TSI_DAMAGED(source, "a matrix of %d rows, type %d, symmetry %d", pattern->n, pattern->scalar,
                (int)pattern->symmetry);
  if (source->lean && !tsi_source_has(source, "pattern.ptr")) {
    *out = tsi_take(&pattern);
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_TAKE(source, "pattern.ptr", (tsi_count)pattern->n + 1, pattern, pattern->ptr));
  for (tsi_index j = 0; j < pattern->n; j++)
    if (pattern->ptr[j + 1] < pattern->ptr[j]) TSI_DAMAGED(source, "line %d of the pattern ends early", j);
  if (pattern->ptr[0] != 0)
    TSI_DAMAGED(source, "line 0 of the pattern begins at %lld", (long long)pattern->ptr[0]);
  TSI_TRY(TSI_TAKE(source, "pattern.index", pattern->ptr[pattern->n], pattern, pattern->index));
  TSI_TRY(TSI_TAKE_IF(source, "pattern.place", pattern->given, pattern, pattern->place));
  if (pattern->place == NULL && pattern->given != pattern->ptr[pattern->n] && pattern->given != 0)
    TSI_DAMAGED(source, "%lld entries of the matrix have no places", (long long)pattern->given);
  TSI_TRY(check_lines(source, pattern));
  *out = tsi_take(&pattern);
  return TRISTAR_OK;
}

static tristar_status take_side(tsi_source *source, tsi_index n, tsi_structure *out) {
  tsi_env *env = source->env;
  side fields = {.width_max = 0};
  TSI_OWNED tsi_symbolic *sy = NULL;
  TSI_TRY(TSI_TAKE_FIELDS(source, "side", side_fields, &fields));
  if (fields.symbolic.n != n || fields.symbolic.count < 0 || fields.symbolic.count > n ||
      fields.symbolic.leaf_parts < 1 || fields.symbolic.leaf_parts > TSI_MAX_LEAF_PARTS ||
      fields.width_max < 1 || fields.width_max > TSI_PANEL_WIDTH_MAX)
    TSI_DAMAGED(source, "a structure of %d columns, %d supernodes, %d leaves, panels of %d columns",
                fields.symbolic.n, fields.symbolic.count, fields.symbolic.leaf_parts, fields.width_max);
  TSI_TRY(TSI_ALLOC_ZERO(env, sy, 1));
  *sy = fields.symbolic;
  TSI_TRY(TSI_TAKE(source, "perm", n, sy, sy->perm));
  TSI_TRY(TSI_TAKE(source, "start", (tsi_count)sy->count + 1, sy, sy->start));
  TSI_TRY(TSI_TAKE(source, "parent", sy->count, sy, sy->parent));
  TSI_TRY(TSI_TAKE(source, "row_ptr", (tsi_count)sy->count + 1, sy, sy->row_ptr));
  TSI_TRY(TSI_TAKE(source, "rows", sy->row_ptr[sy->count], sy, sy->rows));
  TSI_TRY(TSI_TAKE_IF(source, "part_columns", 2 * (tsi_count)sy->leaf_parts - 1, sy, sy->part_columns));
  TSI_TRY(TSI_TAKE_IF(source, "part", sy->count, sy, sy->part));
  TSI_TRY(TSI_ALLOC_ZERO_IN(sy, sy->inverse, n));
  for (tsi_index k = 0; k < n; k++)
    if (sy->perm[k] >= 0 && sy->perm[k] < n) sy->inverse[sy->perm[k]] = k;
  const tristar_status status = tsi_symbolic_check(env, sy, NULL);
  if (status == TRISTAR_ERR_INTERNAL) {
    char why[TSI_MESSAGE_SIZE / 2];
    snprintf(why, sizeof why, "%s", tsi_error_text(env));
    TSI_DAMAGED(source, "%s", why);
  }
  TSI_TRY(status);
  TSI_TRY(tsi_panels_create(env, sy, fields.width_max, &out->panels));
  out->symbolic = tsi_take(&sy);
  return tsi_place_panels(env, out->panels, &out->panel_values);
}

/* Do both sides have the same columns, supernodes and tree? */
static bool are_alike(const tsi_structure *one, const tsi_structure *other) {
  const tsi_symbolic *a = one->symbolic, *b = other->symbolic;
  const size_t n = (size_t)a->n, count = (size_t)a->count, index = sizeof(tsi_index);
  return a->count == b->count && one->panels->width_max == other->panels->width_max &&
         memcmp(a->perm, b->perm, n * index) == 0 && memcmp(a->start, b->start, count * index) == 0 &&
         memcmp(a->parent, b->parent, count * index) == 0;
}

/* Reads the order `name`, a permutation. If it is missing, uses the order of the structure. */
static tristar_status take_order(tsi_source *source, const char *name, const tsi_symbolic *sy,
                                 tsi_index **out) {
  const tsi_index n = sy->n;
  if (!tsi_source_has(source, name)) {
    *out = sy->perm;
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_TAKE(source, name, n, NULL, *out));
  TSI_SCRATCH_ZERO(source->env, bool, seen, n);
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index row = (*out)[k];
    if (row < 0 || row >= n || seen[row]) TSI_DAMAGED(source, "row %d of \"%s\" is %d", k, name, row);
    seen[row] = true;
  }
  return TRISTAR_OK;
}

static tristar_status check_figures(const tsi_source *source, tristar_analysis_t *an) {
  const char scalar = an->pattern->scalar;
  const bool single = an->factor_scalar == tsi_factor_scalar(scalar, true);
  if (an->stats.n != an->pattern->n || (unsigned)(an->stats.method - TRISTAR_METHOD_LLT) > 2 ||
      (an->factor_scalar != scalar && !single) || (unsigned)an->stats.ordering > TRISTAR_ORDERING_SCOTCH)
    TSI_DAMAGED(source, "an analysis of %lld rows, method %d, factors of type %d", (long long)an->stats.n,
                (int)an->stats.method, an->factor_scalar);
  if (tsi_analysis_check_options(source->env, &an->options) == TRISTAR_OK) return TRISTAR_OK;
  TSI_DAMAGED(source, "%s", "an option of the analysis is unknown");
}

/* Checks scalings of a matching: powers of two. */
static tristar_status check_scale(const tsi_source *source, tsi_index n, const double *scale) {
  int exponent;
  for (tsi_index i = 0; scale != NULL && i < n; i++)
    if (!isfinite(scale[i]) || frexp(scale[i], &exponent) != 0.5)
      TSI_DAMAGED(source, "scaling %d of the matching is %g", i, scale[i]);
  return TRISTAR_OK;
}

static tristar_status take_analysis(tsi_source *source, tristar_analysis_t *an) {
  tsi_structure structure = {NULL, NULL, NULL};
  tristar_analysis_options_init(&an->options);
  TSI_TRY(TSI_TAKE_FIELDS(source, "analysis", analysis_fields, an));
  if (an->options.ordering == TRISTAR_ORDERING_CALLBACK) /* the callback function was not saved */
    an->options.ordering = TRISTAR_ORDERING_USER;
  an->stats.ordering_reason = an->options.ordering == TRISTAR_ORDERING_AUTO ? "the analysis was loaded" : "";
  TSI_TRY(take_pattern(source, &an->pattern));
  TSI_TRY(check_figures(source, an));
  const tristar_status status = take_side(source, an->pattern->n, &structure);
  an->symbolic = structure.symbolic;
  an->panels = structure.panels;
  an->panel_values = structure.panel_values;
  TSI_TRY(status);
  if (tsi_source_has(source, "side")) {
    if (!an->imported || !tsi_analysis_is_lu(an))
      TSI_DAMAGED(source, "%s", "U has a structure of its own, but is not imported");
    TSI_TRY(take_side(source, an->pattern->n, &an->other));
    structure = tsi_analysis_structure(an, 0);
    if (!are_alike(&structure, &an->other)) TSI_DAMAGED(source, "%s", "L and U have different supernodes");
  }
  TSI_TRY(take_order(source, "in_row", an->symbolic, &an->in_row));
  TSI_TRY(take_order(source, "out_row", an->symbolic, &an->out_row));
  TSI_TRY(TSI_TAKE_IF(source, "second", an->pattern->n, NULL, an->second));
  for (tsi_index j = 0; an->second != NULL && j < an->pattern->n; j++)
    if (((const unsigned char *)an->second)[j] > 1)
      TSI_DAMAGED(source, "column %d is no first or second one of a pivot", j);
  TSI_TRY(TSI_TAKE_IF(source, "match.row_scale", an->pattern->n, NULL, an->row_scale));
  TSI_TRY(TSI_TAKE_IF(source, "match.col_scale", an->pattern->n, NULL, an->col_scale));
  if ((an->row_scale == NULL) != (an->col_scale == NULL))
    TSI_DAMAGED(source, "%s", "the matching has one scaling of two");
  TSI_TRY(check_scale(source, an->pattern->n, an->row_scale));
  TSI_TRY(check_scale(source, an->pattern->n, an->col_scale));
  tsi_analysis_fill_stats(an, an->stats.symmetric_pattern != 0);
  return tsi_analysis_place_rows(source->env, an);
}

tristar_status tsi_analysis_take(tristar_t *ts, tsi_source *source, tristar_analysis_t **out) {
  TSI_CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(&ts->env, an, 1));
  atomic_init(&an->references, 1);
  an->ts = ts;
  tsi_env_retain(&ts->env);
  TSI_TRY(take_analysis(source, an));
  *out = tsi_take(&an);
  return TRISTAR_OK;
}
