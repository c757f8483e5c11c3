/* Adds terms of rank one to a symmetric factor: see low_rank.h. */
#include "runtime/factor/low_rank.h"

#include <math.h>

#include "codelets/cpu/low_rank.h"
#include "runtime/base/progress.h"
#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "runtime/factor/update.h"
#include "runtime/matrix/view.h"

#define MOST_OF_LOST 0.1 /* Of the errors that solves may have: probes miss some. */

/* An entry of A before the update. */
typedef struct kept_value {
  tsi_count entry;
  double part[2];
} kept_value;

/* State of an update. Vectors are in final numbering, of the factor's type, one after the other. */
typedef struct job {
  tristar_factor_t *factor;
  const tsi_rank_kernels *kernels;
  const tristar_view *w;
  tsi_low_rank_verdict verdict;
  double sign;
  tsi_index terms, n;
  tsi_count kept_count;
  kept_value *kept; /* Changed entries of A; an entry may be listed more than once. */
  char *vector;     /* n for each term. */
  tsi_index *begin; /* By term: the first supernode of its path; TSI_NONE: zero. */
  bool *touched;    /* By supernode. */
  tsi_index *row;   /* n: the rows of touched supernodes. */
  tsi_index rows;
  char *panels, *pivots; /* Old values: touched panels one after the other, and D^-1. */
  char *alpha;           /* By term. */
  char *own, *rest, *work;
  double *size;  /* n, by final index: see bound_sizes. */
  double *sizes; /* Of the rows of a panel. */
} job;

static size_t bytes_of(const job *j) {
  return j->factor->scalar_bytes;
}

/* ---- Values of A --------------------------------------------------------------------------------------- */

static tsi_count term_begin(const job *j, tsi_index term) {
  return tsi_view_begin(j->w, term);
}

/* Finds the entry of A at (row, column) or, *image, its mirror image at (column, row). TSI_NONE: none. */
static tsi_count find_entry(const tsi_pattern *pattern, tsi_index row, tsi_index column, bool *image) {
  const tsi_index line = pattern->by_rows ? row : column, other = pattern->by_rows ? column : row;
  tsi_count p = tsi_pattern_find(pattern, line, other);
  *image = false;
  if (p != TSI_NONE || pattern->symmetry == TRISTAR_GENERAL) return p;
  *image = true;
  return tsi_pattern_find(pattern, other, line);
}

/* Does a pair of entries of one term count? For a symmetric kind only one of two mirror images does. */
static bool counts(const tsi_pattern *pattern, tsi_index row, tsi_index column) {
  return pattern->symmetry == TRISTAR_GENERAL || row >= column;
}

static tristar_status check_places(job *j) {
  const tsi_pattern *pattern = j->factor->analysis->pattern;
  bool image;
  for (tsi_index term = 0; term < j->terms; term++)
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++)
      for (tsi_count q = term_begin(j, term); q < term_begin(j, term + 1); q++) {
        const tsi_index row = (tsi_index)tsi_view_index(j->w, p), column = (tsi_index)tsi_view_index(j->w, q);
        if (!counts(pattern, row, column)) continue;
        j->kept_count++;
        if (find_entry(pattern, row, column, &image) != TSI_NONE) continue;
        TSI_FAIL(&j->factor->ts->env, TRISTAR_ERR_ARGUMENT,
                 "column %d of W has entries in rows %d and %d (counted from 0), but the matrix has no entry "
                 "there: "
                 "analyze it with explicit zeros at such places",
                 term, row, column);
      }
  return TRISTAR_OK;
}

static void add_value(job *j, tsi_count entry, const double part[2]) {
  const char scalar = j->factor->analysis->pattern->scalar;
  kept_value *kept = &j->kept[j->kept_count++];
  kept->entry = entry;
  tsi_scalar_read(scalar, j->factor->values, (size_t)entry, kept->part);
  const double now[2] = {kept->part[0] + part[0], kept->part[1] + part[1]};
  tsi_scalar_write(scalar, j->factor->values, (size_t)entry, now);
}

static void add_values(job *j) {
  const tsi_pattern *pattern = j->factor->analysis->pattern;
  const bool adjoint = j->factor->adjoint;
  j->kept_count = 0;
  for (tsi_index term = 0; term < j->terms; term++)
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++)
      for (tsi_count q = term_begin(j, term); q < term_begin(j, term + 1); q++) {
        const tsi_index row = (tsi_index)tsi_view_index(j->w, p), column = (tsi_index)tsi_view_index(j->w, q);
        double a[2], b[2];
        bool image;
        if (!counts(pattern, row, column)) continue;
        const tsi_count entry = find_entry(pattern, row, column, &image);
        tsi_view_value(j->w, p, a);
        tsi_view_value(j->w, q, b);
        if (adjoint) b[1] = -b[1];
        double part[2] = {j->sign * (a[0] * b[0] - a[1] * b[1]), j->sign * (a[0] * b[1] + a[1] * b[0])};
        if (image && adjoint) part[1] = -part[1];
        if (row == column && adjoint) part[1] = 0;
        add_value(j, entry, part);
      }
}

static void restore_values(job *j) {
  const char scalar = j->factor->analysis->pattern->scalar;
  for (tsi_count k = j->kept_count; k-- > 0;)
    tsi_scalar_write(scalar, j->factor->values, (size_t)j->kept[k].entry, j->kept[k].part);
}

/* ---- Paths --------------------------------------------------------------------------------------------- */

static tsi_rank_panel panel_of(const job *j, tsi_index p) {
  const tristar_analysis_t *an = j->factor->analysis;
  char *inverse = j->factor->inverse;
  return (tsi_rank_panel){
      .w = tsi_panel_width(an->panels, p),
      .m = an->panels->height[p],
      .inverse = tsi_analysis_inverse(an),
      .adjoint = j->factor->adjoint,
      .values = tsi_factor_panel(j->factor, false, p),
      .pivots = inverse ? inverse + 2 * (size_t)an->panels->start[p] * bytes_of(j) : NULL,
  };
}

/* Final row of row k of the panel: first its own w rows in the order of pivots, then the rows below. */
static tsi_index row_of(const job *j, tsi_index p, tsi_index k) {
  const tristar_factor_t *factor = j->factor;
  const tsi_panels *panels = factor->analysis->panels;
  const tsi_symbolic *symbolic = factor->analysis->symbolic;
  const tsi_index s = panels->supernode[p], column = panels->start[p] + k, end = symbolic->start[s + 1];
  if (column < panels->start[p + 1]) return factor->pivot_order ? factor->pivot_order[column] : column;
  return column < end ? column : symbolic->rows[symbolic->row_ptr[s] + column - end];
}

/* Copies the panel's rows of a vector, or (back) copies the rows below the panel back. */
static void take_rows(const job *j, tsi_index p, const char *vector) {
  const size_t bytes = bytes_of(j);
  const tsi_rank_panel panel = panel_of(j, p);
  for (tsi_index k = 0; k < panel.w + panel.m; k++)
    memcpy(k < panel.w ? j->own + (size_t)k * bytes : j->rest + (size_t)(k - panel.w) * bytes,
           vector + (size_t)row_of(j, p, k) * bytes, bytes);
}

static void give_rest(const job *j, tsi_index p, char *vector) {
  const size_t bytes = bytes_of(j);
  const tsi_rank_panel panel = panel_of(j, p);
  for (tsi_index k = 0; k < panel.m; k++)
    memcpy(vector + (size_t)row_of(j, p, panel.w + k) * bytes, j->rest + (size_t)k * bytes, bytes);
}

static size_t panel_bytes(const job *j, tsi_index p) {
  const tsi_panels *panels = j->factor->analysis->panels;
  return (size_t)tsi_panel_size(tsi_panel_width(panels, p), panels->height[p]) * bytes_of(j);
}

static void find_path(job *j, tsi_index term, tsi_index first_row) {
  const tsi_symbolic *symbolic = j->factor->analysis->symbolic;
  tsi_index s = 0;
  j->begin[term] = TSI_NONE;
  if (first_row == TSI_NONE) return;
  for (tsi_index low = 0, high = symbolic->count; high - low > 1; s = low) {
    const tsi_index middle = low + (high - low) / 2;
    if (symbolic->start[middle] <= first_row)
      low = middle;
    else
      high = middle;
  }
  j->begin[term] = s;
  for (; s != TSI_NONE && !j->touched[s]; s = symbolic->parent[s]) j->touched[s] = true;
}

/* Makes the vectors of scaled terms, and their paths. Entries in the same row are summed. */
static void make_vectors(job *j) {
  const tristar_factor_t *factor = j->factor;
  const tristar_analysis_t *an = factor->analysis;
  for (tsi_index term = 0; term < j->terms; term++) {
    tsi_index first = TSI_NONE;
    char *vector = j->vector + (size_t)term * (size_t)j->n * bytes_of(j);
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++) {
      const tsi_index user = (tsi_index)tsi_view_index(j->w, p), row = an->in_place[user];
      const double scale = factor->row_scale ? factor->row_scale[user] : 1;
      double value[2], sum[2];
      tsi_view_value(j->w, p, value);
      tsi_scalar_read(an->factor_scalar, vector, (size_t)row, sum);
      for (int k = 0; k < 2; k++) sum[k] += scale * value[k];
      tsi_scalar_write(an->factor_scalar, vector, (size_t)row, sum);
      if (first == TSI_NONE || row < first) first = row;
    }
    find_path(j, term, first);
  }
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    for (tsi_index k = an->symbolic->start[s]; j->touched[s] && k < an->symbolic->start[s + 1]; k++)
      j->row[j->rows++] = k;
}

/* ---- Panels -------------------------------------------------------------------------------------------- */

/* Saves the touched panels, or (restore) restores them. */
static void keep_panels(const job *j, bool restore) {
  const tsi_panels *panels = j->factor->analysis->panels;
  const size_t all = j->factor->inverse ? 2 * (size_t)j->n * bytes_of(j) : 0;
  char *kept = j->panels;
  for (tsi_index p = 0; p < panels->count; p++) {
    if (!j->touched[panels->supernode[p]]) continue;
    char *panel = tsi_factor_panel(j->factor, false, p);
    memcpy(restore ? panel : kept, restore ? kept : panel, panel_bytes(j, p));
    kept += panel_bytes(j, p);
  }
  if (all > 0)
    memcpy(restore ? j->factor->inverse : j->pivots, restore ? j->pivots : j->factor->inverse, all);
}

static tristar_status add_terms(job *j) {
  const tristar_analysis_t *an = j->factor->analysis;
  const tsi_panels *panels = an->panels;
  const double alpha[2] = {j->sign, 0};
  TSI_SCRATCH(&j->factor->ts->env, tsi_index, at, j->terms);
  for (tsi_index term = 0; term < j->terms; term++) {
    at[term] = j->begin[term];
    tsi_scalar_write(an->factor_scalar, j->alpha, (size_t)term, alpha);
  }
  for (tsi_index s = 0; s < an->symbolic->count; s++) {
    if (!j->touched[s]) continue;
    for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++) {
      const tsi_rank_panel panel = panel_of(j, p);
      for (tsi_index term = 0; term < j->terms; term++) {
        char *vector = j->vector + (size_t)term * (size_t)j->n * bytes_of(j);
        if (at[term] != s) continue;
        take_rows(j, p, vector);
        if (!j->kernels->add(&panel, j->own, j->rest, j->alpha + (size_t)term * bytes_of(j), j->work))
          TSI_FAIL(&j->factor->ts->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
                   "the matrix is not positive definite after column %d of W: a pivot of row %d or of the %d "
                   "rows that "
                   "are eliminated after it would not be positive; the factor is as before",
                   term, an->out_row[panels->start[p]], panel.w - 1);
        give_rest(j, p, vector);
      }
    }
    for (tsi_index term = 0; term < j->terms; term++)
      if (at[term] == s) at[term] = an->symbolic->parent[s];
  }
  return TRISTAR_OK;
}

/* ---- Test of the path ---------------------------------------------------------------------------------- */

/* Unit of a row, which gives the entries of products similar sizes. L L^T: root of the old diagonal entry. */
static double unit_of(const job *j, tsi_index row) {
  const tristar_factor_t *factor = j->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index user = an->out_row[row];
  double part[2];
  if (an->stats.method != TRISTAR_METHOD_LLT) return 1;
  const tsi_count p = tsi_pattern_find(an->pattern, user, user);
  if (p == TSI_NONE) return 1;
  tsi_scalar_read(an->pattern->scalar, factor->values, (size_t)p, part);
  const double scale = factor->row_scale ? factor->row_scale[user] : 1;
  return part[0] > 0 ? scale * sqrt(part[0]) : 1;
}

/* y += (product of the factors in touched panels) x; size += sum of the absolute values of its terms. */
static void multiply(const job *j, const char *x, char *y, double *size) {
  const tsi_panels *panels = j->factor->analysis->panels;
  const char scalar = j->factor->analysis->factor_scalar;
  const size_t bytes = bytes_of(j);
  for (tsi_index p = 0; p < panels->count; p++) {
    if (!j->touched[panels->supernode[p]]) continue;
    const tsi_rank_panel panel = panel_of(j, p);
    const tsi_index rows = panel.w + panel.m;
    char *sum = j->work + 2 * (size_t)panel.w * bytes;
    take_rows(j, p, x);
    memset(sum, 0, (size_t)rows * bytes);
    memset(j->sizes, 0, (size_t)rows * sizeof *j->sizes);
    j->kernels->apply(&panel, j->own, j->rest, sum, sum + (size_t)panel.w * bytes, j->sizes, j->work);
    for (tsi_index k = 0; k < rows; k++) {
      double a[2], b[2];
      const size_t row = (size_t)row_of(j, p, k);
      tsi_scalar_read(scalar, sum, (size_t)k, a);
      tsi_scalar_read(scalar, y, row, b);
      for (int c = 0; c < 2; c++) b[c] += a[c];
      tsi_scalar_write(scalar, y, row, b);
      size[row] += j->sizes[k];
    }
  }
}

/* y += sign W (W^H x). Runs before add_terms, which overwrites the vectors of W. */
static void multiply_terms(const job *j, const char *x, char *y) {
  const tristar_analysis_t *an = j->factor->analysis;
  for (tsi_index term = 0; term < j->terms; term++) {
    const char *vector = j->vector + (size_t)term * (size_t)j->n * bytes_of(j);
    double sum[2] = {0, 0}, a[2], b[2];
    for (int pass = 0; pass < 2; pass++)
      for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++) {
        const size_t row = (size_t)an->in_place[tsi_view_index(j->w, p)];
        tsi_scalar_read(an->factor_scalar, vector, row, a);
        if (pass == 0) {
          tsi_scalar_read(an->factor_scalar, x, row, b);
          if (j->factor->adjoint) a[1] = -a[1];
          sum[0] += a[0] * b[0] - a[1] * b[1];
          sum[1] += a[0] * b[1] + a[1] * b[0];
          continue;
        }
        tsi_scalar_read(an->factor_scalar, y, row, b);
        b[0] += j->sign * (a[0] * sum[0] - a[1] * sum[1]);
        b[1] += j->sign * (a[0] * sum[1] + a[1] * sum[0]);
        tsi_scalar_write(an->factor_scalar, y, row, b);
      }
  }
}

/* Absolute value of a scaled entry of W. */
static double scaled_size(const job *j, tsi_count p) {
  const double *scale = j->factor->row_scale;
  double part[2];
  tsi_view_value(j->w, p, part);
  return hypot(part[0], part[1]) * (scale ? scale[tsi_view_index(j->w, p)] : 1);
}

/* Computes units of the rows before the change or, where they are smaller, after it: errors that are small
 * beside the subtracted terms need not be small beside the rest. Returns the largest ratio of the squares of
 * both. left: n, scratch. */
static double find_units(const job *j, double *unit, double *left) {
  const tristar_analysis_t *an = j->factor->analysis;
  double ratio = 1;
  for (tsi_index k = 0; k < j->rows; k++) {
    const tsi_index row = j->row[k];
    unit[row] = unit_of(j, row);
    left[row] = unit[row] * unit[row];
  }
  if (an->stats.method != TRISTAR_METHOD_LLT || j->sign > 0) return ratio;
  for (tsi_count p = term_begin(j, 0); p < term_begin(j, j->terms); p++) {
    const double size = scaled_size(j, p);
    left[an->in_place[tsi_view_index(j->w, p)]] -= size * size;
  }
  for (tsi_index k = 0; k < j->rows; k++) {
    const tsi_index row = j->row[k];
    const double before = unit[row] * unit[row];
    if (left[row] >= before) continue;
    ratio = fmax(ratio, left[row] > 0 ? before / left[row] : INFINITY);
    if (left[row] > 0) unit[row] = sqrt(left[row]);
  }
  return ratio;
}

/* Fills the rows of touched supernodes with pseudorandom numbers in these units. */
static void fill_probe(const job *j, const double *unit, char *x) {
  const tristar_analysis_t *an = j->factor->analysis;
  uint64_t state = 1;
  for (tsi_index k = 0; k < j->rows; k++) {
    const tsi_index row = j->row[k];
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double part[2] = {((double)(state >> 33) / 1073741824.0 - 1) / unit[row], 0};
    tsi_scalar_write(an->factor_scalar, x, (size_t)row, part);
  }
}

/* Estimates the sizes of the terms in the rows of the product after the change. */
static void bound_products(const job *j, const double *unit, const char *x, double *size) {
  const tristar_analysis_t *an = j->factor->analysis;
  for (tsi_index k = 0; k < j->rows; k++) size[j->row[k]] = unit[j->row[k]];
  if (an->stats.method == TRISTAR_METHOD_LLT && j->sign < 0) return;
  for (tsi_index term = 0; term < j->terms; term++) {
    double sum = 0, part[2];
    for (int pass = 0; pass < 2; pass++)
      for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++) {
        const tsi_index row = an->in_place[tsi_view_index(j->w, p)];
        tsi_scalar_read(an->factor_scalar, x, (size_t)row, part);
        if (pass == 0)
          sum += scaled_size(j, p) * fabs(part[0]);
        else
          size[row] += scaled_size(j, p) * sum;
      }
  }
}

/* Largest difference of the two products, relative to these sizes. */
static double compare(const job *j, const double *size, const char *exact, const char *found) {
  const char scalar = j->factor->analysis->factor_scalar;
  double error = 0;
  for (tsi_index k = 0; k < j->rows; k++) {
    const tsi_index row = j->row[k];
    double a[2], b[2];
    tsi_scalar_read(scalar, exact, (size_t)row, a);
    tsi_scalar_read(scalar, found, (size_t)row, b);
    const double off = hypot(a[0] - b[0], a[1] - b[1]) / size[row];
    if (!(off <= error)) error = off; /* NaN stays. */
    if (isnan(off)) return off;
  }
  return error;
}

/* ---- The update ---------------------------------------------------------------------------------------- */

static tristar_status check(const tristar_factor_t *factor, const tristar_view *w) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const bool symmetric = an->pattern->symmetry == TRISTAR_SYMMETRIC;
  if (an->imported) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the factor was imported");
  if (tsi_analysis_is_lu(an))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "terms of low rank need L L^T or L D L^T: for LU, pass the new values to "
             "tristar_update_values");
  if (an->options.inverse == TRISTAR_INVERSE_PARTITIONED)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "terms of low rank do not support INVERSE_PARTITIONED");
  TSI_TRY(tsi_analysis_need_whole(an));
  TSI_TRY(tsi_factor_need_values(factor));
  if (symmetric && factor->adjoint && strchr("cz", an->pattern->scalar))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a complex symmetric view with real values does not support terms of low rank");
  if (w->format != TRISTAR_CSC || w->symmetry != TRISTAR_GENERAL || w->rows != an->pattern->n ||
      (w->values == NULL && w->cols > 0))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "W is to be GENERAL, by columns (CSC), with values and %d rows",
             an->pattern->n);
  if ((char)w->scalar != an->pattern->scalar)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "W has the scalar type %c, and A has %c", (char)w->scalar,
             an->pattern->scalar);
  return w->cols == 0 ? TRISTAR_OK : tsi_view_check(env, w);
}

static tristar_status allocate(job *j) {
  const tristar_analysis_t *an = j->factor->analysis;
  const size_t bytes = bytes_of(j), n = (size_t)j->n, terms = (size_t)j->terms;
  tsi_index height = 0;
  for (tsi_index p = 0; p < an->panels->count; p++) height = tsi_index_max(height, an->panels->height[p]);
  TSI_TRY(TSI_ALLOC_IN(j, j->kept, j->kept_count));
  TSI_TRY(TSI_ALLOC_SIZED_IN(j, j->vector, terms * n, bytes));
  memset(j->vector, 0, terms * n * bytes);
  TSI_TRY(TSI_ALLOC_IN(j, j->begin, terms));
  TSI_TRY(TSI_ALLOC_IN(j, j->row, n));
  TSI_TRY(TSI_ALLOC_IN(j, j->size, n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(j, j->touched, an->symbolic->count));
  TSI_TRY(TSI_ALLOC_SIZED_IN(j, j->alpha, terms, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(j, j->own, TSI_PANEL_WIDTH_MAX, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(j, j->rest, (size_t)height, bytes));
  TSI_TRY(TSI_ALLOC_IN(j, j->sizes, TSI_PANEL_WIDTH_MAX + (size_t)height));
  return TSI_ALLOC_SIZED_IN(j, j->work, 4 * TSI_PANEL_WIDTH_MAX + (size_t)height, bytes);
}

static tristar_status allocate_panels(job *j) {
  const tsi_panels *panels = j->factor->analysis->panels;
  size_t all = 0;
  for (tsi_index p = 0; p < panels->count; p++)
    if (j->touched[panels->supernode[p]]) all += panel_bytes(j, p);
  TSI_TRY(TSI_ALLOC_IN(j, j->panels, all));
  return j->factor->inverse ? TSI_ALLOC_SIZED_IN(j, j->pivots, 2 * (size_t)j->n, bytes_of(j)) : TRISTAR_OK;
}

/* Computes upper bounds of the entries of scaled columns, which were about one before. L L^T: the diagonal
 * entry. */
static void bound_sizes(const job *j) {
  const tristar_analysis_t *an = j->factor->analysis;
  for (tsi_index k = 0; k < j->rows; k++) {
    const tsi_index row = j->row[k];
    j->size[row] = j->factor->inverse ? 1 : unit_of(j, row) * unit_of(j, row);
  }
  for (tsi_index term = 0; term < j->terms && j->factor->inverse; term++) {
    double largest = 0;
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++)
      largest = fmax(largest, scaled_size(j, p));
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++)
      j->size[an->in_place[tsi_view_index(j->w, p)]] += largest * scaled_size(j, p);
  }
}

/* Size of the pivot of column k of a panel, as in tsi_pivoting. */
static double pivot_size(const job *j, const tsi_rank_panel *panel, tsi_index k) {
  const char scalar = j->factor->analysis->factor_scalar;
  double a[2], b[2], c[2];
  if (panel->pivots == NULL) {
    const tsi_index first = k / TSI_ROW_BLOCK * TSI_ROW_BLOCK,
                    rows = tsi_index_min(TSI_ROW_BLOCK, panel->w - first);
    const tsi_count at =
        tsi_triangle_block(first) + (tsi_count)rows * first + tsi_corner_column(rows, k - first);
    tsi_scalar_read(scalar, panel->values, (size_t)at, a);
    return 1 / (a[0] * a[0]);
  }
  tsi_scalar_read(scalar, panel->pivots, 2 * (size_t)k, a);
  tsi_scalar_read(scalar, panel->pivots, 2 * (size_t)k + 1, b);
  if (b[0] == 0 && b[1] == 0 && k > 0) { /* The second column of a pivot of order 2? */
    tsi_scalar_read(scalar, panel->pivots, 2 * (size_t)k - 1, b);
    if (b[0] != 0 || b[1] != 0) return pivot_size(j, panel, k - 1);
  }
  if (b[0] == 0 && b[1] == 0) return 1 / hypot(a[0], a[1]);
  tsi_scalar_read(scalar, panel->pivots, 2 * (size_t)k + 2, c);
  const double square = j->factor->adjoint ? -b[0] * b[0] - b[1] * b[1] : b[1] * b[1] - b[0] * b[0],
               cross = j->factor->adjoint ? 0 : -2 * b[0] * b[1];
  return 1 / sqrt(hypot(a[0] * c[0] - a[1] * c[1] + square, a[0] * c[1] + a[1] * c[0] + cross));
}

static void note_pivots(const job *j, tsi_index p, const tsi_rank_panel *panel) {
  tristar_factor_t *factor = j->factor;
  tristar_factor_stats *stats = &factor->stats;
  for (tsi_index k = 0; k < panel->w; k++) {
    const tsi_index row = row_of(j, p, k);
    const double size = pivot_size(j, panel, k), share = size / j->size[row];
    stats->smallest_pivot = fmin(stats->smallest_pivot, size);
    stats->largest_pivot = fmax(stats->largest_pivot, size);
    stats->growth = fmax(stats->growth, share);
    if (!(share < TSI_WEAK) || !(share < factor->weakest_pivot)) continue;
    factor->weakest_pivot = share;
    factor->weakest_row = factor->analysis->out_row[row];
  }
}

/* Updates the statistics with touched panels. Earlier values still count. */
static void note_figures(const job *j) {
  tristar_factor_t *factor = j->factor;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_front_kernels *kernels = tsi_front_kernels_select(an->factor_scalar);
  for (tsi_index p = 0; p < an->panels->count; p++) {
    if (!j->touched[an->panels->supernode[p]]) continue;
    const tsi_rank_panel panel = panel_of(j, p);
    note_pivots(j, p, &panel);
    if (panel.w > 1 && panel.inverse != TSI_INVERSE_NONE)
      factor->inverse_growth = fmax(factor->inverse_growth, kernels->inverse_growth(panel.w, panel.values));
  }
}

static void count(const job *j, tristar_update_result *result) {
  const tristar_analysis_t *an = j->factor->analysis;
  for (tsi_index s = 0; s < an->symbolic->count; s++) {
    const double w = an->symbolic->start[s + 1] - an->symbolic->start[s],
                 m = (double)(an->symbolic->row_ptr[s + 1] - an->symbolic->row_ptr[s]);
    if (!j->touched[s]) continue;
    result->fronts++;
    result->flops += 4 * j->terms * (w * m + w * w / 2);
  }
}

/* Unit of a row of the user, after the values were changed. */
static double user_unit(const job *j, tsi_index user) {
  const double *scale = j->factor->row_scale;
  return unit_of(j, j->factor->analysis->in_place[user]) / (scale ? scale[user] : 1);
}

/* Estimates by how much rounding errors exceed the errors of a factorization. Where terms cancel entries, the
 * factor has errors relative to the terms, not to the rest. They matter in rows that have smaller units than
 * the columns. */
static double measure_cancelled(const job *j) {
  const tristar_factor_t *factor = j->factor;
  const tsi_pattern *pattern = factor->analysis->pattern;
  double largest = 1;
  for (tsi_index term = 0; term < j->terms; term++)
    for (tsi_count p = term_begin(j, term); p < term_begin(j, term + 1); p++)
      for (tsi_count q = term_begin(j, term); q < p; q++) {
        const tsi_index row = (tsi_index)tsi_view_index(j->w, p), column = (tsi_index)tsi_view_index(j->w, q);
        double a[2], b[2], left[2];
        bool image;
        tsi_view_value(j->w, p, a);
        tsi_view_value(j->w, q, b);
        tsi_scalar_read(pattern->scalar, factor->values, (size_t)find_entry(pattern, row, column, &image),
                        left);
        const double added = hypot(a[0], a[1]) * hypot(b[0], b[1]), size = added / hypot(left[0], left[1]),
                     units = user_unit(j, row) / user_unit(j, column);
        if (added > 0) largest = fmax(largest, fmin(size, fmax(units, 1 / units)));
      }
  return largest;
}

/* Factors the new values. After a failure, factors the old ones again; this cannot be cancelled. */
static tristar_status factor_whole(job *j, tristar_update_result *result) {
  tristar_factor_t *factor = j->factor;
  tsi_failure first;
  result->whole = 1;
  result->fronts = result->all_fronts;
  factor->stats.start_seconds = 0;
  const tristar_status status = tsi_factor_run(factor);
  if (status == TRISTAR_OK) return status;
  tsi_failure_clear(&first);
  tsi_failure_keep(&factor->ts->env, &first, status);
  restore_values(j);
  struct tsi_progress *paused = tsi_progress_pause(&factor->ts->env);
  const tristar_status restored = tsi_factor_run(factor);
  tsi_progress_resume(&factor->ts->env, paused);
  return restored == TRISTAR_OK ? tsi_failure_report(&factor->ts->env, &first) : restored;
}

/* Growth of the terms by the change: their sizes after it, relative to the sizes before and the expected
 * ones. */
static double measure_growth(const job *j, const double *size, const double *before, const double *after) {
  double growth = 1;
  for (tsi_index k = 0; k < j->rows && j->factor->inverse; k++) {
    const tsi_index row = j->row[k];
    growth = fmax(growth, after[row] / (before[row] + size[row]));
  }
  return growth;
}

static double epsilon_of(const tristar_factor_t *factor) {
  return tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
}

/* Are errors of so many epsilons below the limit for solves without refinement? */
static bool is_small(const tristar_factor_t *factor, double epsilons) {
  return epsilons <= MOST_OF_LOST * pow(epsilon_of(factor), -1.0 / 3);
}

/* Changes the path. *fine: errors are below the limit for solves without refinement
 * (tsi_factor_loses_digits). They include the errors of earlier terms, and of solves with pivots that have
 * become small. */
static tristar_status change_path(job *j, bool *fine) {
  tristar_factor_t *factor = j->factor;
  const size_t n = (size_t)j->n, all = n * bytes_of(j);
  const double epsilon = epsilon_of(factor);
  TSI_SCRATCH(&factor->ts->env, double, unit, 4 * n);
  TSI_SCRATCH(&factor->ts->env, char, probe, 3 * all);
  double *size = unit + n, *before = size + n, *after = before + n;
  char *exact = probe + all, *found = exact + all;
  const double ratio = find_units(j, unit, size);
  for (tsi_index k = 0; k < j->rows; k++) before[j->row[k]] = after[j->row[k]] = 0;
  fill_probe(j, unit, probe);
  bound_products(j, unit, probe, size);
  memset(exact, 0, 2 * all);
  multiply(j, probe, exact, before);
  multiply_terms(j, probe, exact);
  TSI_TRY(add_terms(j));
  multiply(j, probe, found, after);
  factor->low_rank_error =
      (factor->low_rank_error + (ratio > 1 ? epsilon : 0)) * ratio + compare(j, size, exact, found);
  factor->low_rank_growth = fmax(factor->low_rank_growth, 1) * measure_growth(j, size, before, after);
  *fine = is_small(factor, factor->low_rank_error / epsilon + factor->low_rank_growth);
  return TRISTAR_OK;
}

/* Updates the statistics of the changed path, and calls the verdict. */
static tristar_status judge_path(job *j, bool *fine) {
  tristar_factor_t *factor = j->factor;
  tsi_update_discard(factor->update);
  bound_sizes(j);
  note_figures(j);
  factor->stats.judged = factor->stats.singular = 0;
  factor->stats.solve_error = factor->scaled_error = 0;
  factor->stats.reciprocal_condition = -1;
  factor->stats.start_seconds = 0;
  factor->generation++;
  tristar_status status = j->verdict(factor, fine);
  if (status == TRISTAR_OK && *fine && tsi_factor_delays(factor))
    status = tsi_factor_test_pivots(factor, NULL, 0);
  if (status != TRISTAR_OK) factor->valid = false;
  return status;
}

static tristar_status run(job *j, tristar_update_result *result) {
  tristar_factor_t *factor = j->factor;
  bool fine = false;
  make_vectors(j);
  TSI_TRY(allocate_panels(j));
  count(j, result);
  keep_panels(j, false);
  const tristar_status status = change_path(j, &fine);
  /* If terms are added, a pivot fails only by overflow: a factorization returns the right status. */
  const bool again = status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && (factor->inverse != NULL || j->sign > 0);
  if (status != TRISTAR_OK || !fine) keep_panels(j, true);
  if (status != TRISTAR_OK && !again) return status;
  add_values(j);
  result->entries = j->kept_count;
  fine = fine && factor->stats.perturbed_pivots == 0 && is_small(factor, measure_cancelled(j));
  if (fine) TSI_TRY(judge_path(j, &fine));
  return fine ? TRISTAR_OK : factor_whole(j, result);
}

tristar_status tsi_factor_add_low_rank(tristar_factor_t *factor, const tristar_view *w, bool subtract,
                                       tsi_low_rank_verdict verdict, tristar_update_result *result) {
  tsi_env *env = &factor->ts->env;
  TSI_OWNED job *j = NULL;
  *result = (tristar_update_result){.all_fronts = factor->analysis->symbolic->count};
  TSI_TRY(check(factor, w));
  if (w->cols == 0) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, j, 1));
  j->factor = factor;
  j->kernels = tsi_rank_kernels_select(factor->analysis->factor_scalar);
  j->w = w;
  j->verdict = verdict;
  j->sign = subtract ? -1 : 1;
  j->terms = (tsi_index)w->cols;
  j->n = factor->analysis->symbolic->n;
  TSI_TRY(check_places(j));
  TSI_TRY(allocate(j));
  return run(j, result);
}
