/* TriStar for truth_mumps, see truth.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/truth.h"
#include "tristar_inverse.h"
#include "tristar_schur.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#include "tristar_update.h"

typedef struct objects {
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} objects;

/* Notes the reason of a failed call. */
static bool works(const truth_problem *p, truth_answers *a, const char *subject, tristar_status status) {
  char message[400];
  if (status == TRISTAR_OK) return true;
  tristar_get_error(p->ts, message, sizeof message);
  truth_why(a, "%s: %s: %s", subject, tristar_status_name(status), message);
  return false;
}

static bool make(const truth_problem *p, truth_answers *a, const char *subject, const tristar_view *view,
                 const tristar_analysis_options *options, objects *o) {
  tristar_status status = tristar_analyze(p->ts, view, options, &o->analysis);
  if (status == TRISTAR_OK) status = tristar_factor(o->analysis, view->values, &o->factor);
  if (status == TRISTAR_OK) status = tristar_plan(o->factor, NULL, &o->plan);
  if (status == TRISTAR_ERR_SINGULAR && options->schur_count == 0) a->has_determinant = a->singular = true;
  return works(p, a, subject, status);
}

static void destroy(objects *o) {
  tristar_plan_destroy(&o->plan);
  tristar_factor_destroy(&o->factor);
  tristar_analysis_destroy(&o->analysis);
}

static bool take_determinant(const truth_problem *p, truth_answers *a, const objects *o,
                             truth_determinant *to) {
  tristar_determinant d;
  const bool has = works(p, a, "determinant", tristar_factor_get_determinant(o->factor, &d));
  if (has) *to = (truth_determinant){d.sign[0] + I * d.sign[1], d.log_abs};
  return has;
}

static void query_inverse(const truth_problem *p, truth_answers *a, const objects *o) {
  int64_t row[TRUTH_ENTRIES], column[TRUTH_ENTRIES];
  double values[2 * TRUTH_ENTRIES];
  for (int k = 0; k < p->entries; k++) {
    row[k] = p->entry_row[k];
    column[k] = p->entry_column[k];
  }
  a->has_inverse = works(p, a, "inverse", tristar_inverse_entries(o->plan, p->entries, row, column, values));
  for (int k = 0; k < p->entries && a->has_inverse; k++) a->inverse[k] = truth_get(p->view.scalar, values, k);
}

static void query_schur(const truth_problem *p, truth_answers *a) {
  objects o = {0};
  int64_t list[TRUTH_SCHUR];
  double *s = truth_allocate(2 * TRUTH_SCHUR * TRUTH_SCHUR, sizeof *s);
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  for (int k = 0; k < p->schur_count; k++) list[k] = p->schur[k];
  options.schur = list;
  options.schur_count = p->schur_count;
  a->has_schur = make(p, a, "schur", &p->view, &options, &o) &&
                 works(p, a, "schur", tristar_schur_get(o.factor, s, p->schur_count));
  for (int k = 0; k < p->schur_count * p->schur_count && a->has_schur; k++)
    a->schur[k] = truth_get(p->view.scalar, s, k);
  destroy(&o);
  free(s);
}

static void solve_updated(const truth_problem *p, truth_answers *a, const objects *o) {
  double *x = truth_allocate(2 * p->n, sizeof *x);
  for (int i = 0; i < p->n; i++) truth_set(p->view.scalar, x, i, truth_rhs(i));
  a->has_update = take_determinant(p, a, o, &a->updated) &&
                  works(p, a, "update", tristar_solve(o->plan, TRISTAR_N, 1, x, p->n, x, p->n));
  a->x = truth_allocate(p->n, sizeof *a->x);
  for (int i = 0; i < p->n && a->has_update; i++) a->x[i] = truth_get(p->view.scalar, x, i);
  free(x);
}

static void query_update(const truth_problem *p, truth_answers *a, const objects *o) {
  int32_t ptr[TRUTH_TERMS + 1] = {0}, index[2 * TRUTH_TERMS];
  double values[4 * TRUTH_TERMS];
  tristar_view w;
  tristar_view_init(&w);
  for (int k = 0; k < 2 * p->terms; k++) {
    const truth_term *term = &p->term[k / 2];
    index[k] = k % 2 ? term->second : term->first;
    truth_set(p->view.scalar, values, k, k % 2 ? -term->weight : term->weight);
    ptr[k / 2 + 1] = k + 1;
  }
  w.scalar = p->view.scalar;
  w.rows = p->n;
  w.cols = p->terms;
  w.ptr = ptr;
  w.index = index;
  w.values = values;
  if (works(p, a, "update", tristar_update_low_rank(o->factor, &w, 0, NULL))) solve_updated(p, a, o);
}

/* The dimension of the null space. */
static void query_null(const truth_problem *p, truth_answers *a, const objects *o) {
  const int most = p->n < 512 ? p->n : 512;
  int64_t count = 0;
  double *basis = truth_allocate(2 * (int64_t)most * p->n, sizeof *basis);
  a->has_null = works(p, a, "null", tristar_null_space(o->plan, TRISTAR_N, most, basis, p->n, &count));
  a->null = count;
  free(basis);
}

/* Computes entries of the inverse with delayed pivots if factors without them are too inaccurate. */
static void query_inverse_delayed(const truth_problem *p, truth_answers *a) {
  objects o = {0};
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  if (make(p, a, "delayed", &p->view, &options, &o)) query_inverse(p, a, &o);
  a->delayed = a->has_inverse;
  destroy(&o);
}

static void query_about(const truth_problem *p, truth_answers *a, const objects *o) {
  tristar_factor_stats stats;
  tristar_analysis_stats how;
  tristar_inertia inertia;
  (void)tristar_factor_get_stats(o->factor, &stats);
  (void)tristar_analysis_get_stats(tristar_factor_get_analysis(o->factor), &how);
  a->has_determinant = take_determinant(p, a, o, &a->determinant);
  if (p->hermitian) a->has_inertia = works(p, a, "inertia", tristar_factor_get_inertia(o->factor, &inertia));
  if (a->has_inertia) {
    a->positive = inertia.positive;
    a->negative = inertia.negative;
    a->zero = inertia.zero;
  }
  a->singular = stats.singular;
  if (stats.singular)
    query_null(p, a, o);
  else
    a->has_null = true;
  if (!works(p, a, "condition", tristar_condition(o->plan, &a->reciprocal))) a->reciprocal = -1;
  if (stats.singular) return;
  if (p->entries > 0) query_inverse(p, a, o);
  if (p->entries > 0 && !a->has_inverse) query_inverse_delayed(p, a);
  if (p->terms > 0 && how.method != TRISTAR_METHOD_LU) query_update(p, a, o);
}

void truth_query_tristar(const truth_problem *p, truth_answers *a) {
  objects o = {0};
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.singular = TRISTAR_SINGULAR_PERTURB; /* inertias of singular matrices */
  if (make(p, a, "factor", &p->view, &options, &o)) query_about(p, a, &o);
  destroy(&o);
  if (p->schur_count > 0) query_schur(p, a);
}
