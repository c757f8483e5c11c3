/* Shared code of tests that factor matrices with rows on all ranks. */
#pragma once

#include "runtime/mpi/matrix/dmatrix.h"
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/mpi/same_factor.h"

/* Options of a factorization. */
typedef struct wish {
  tristar_analysis_options analysis;
  tristar_distributed_options options;
} wish;

static inline wish wish_of(const tristar_layout *layout, tristar_method method) {
  wish o;
  tristar_analysis_options_init(&o.analysis);
  tristar_distributed_options_init(&o.options);
  o.analysis.method = method;
  o.analysis.leaf_parts = layout->pz;
  o.options.layout = *layout;
  return o;
}

/* Options with delayed pivots, for a matrix with zero pivots in this order. */
static inline wish delaying(const tristar_layout *layout, tristar_method method, const int64_t *order) {
  wish o = wish_of(layout, method);
  o.analysis.ordering = TRISTAR_ORDERING_USER;
  o.analysis.permutation = order;
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  o.analysis.pivoting = TRISTAR_PIVOTING_DELAYED;
  return o;
}

/* Returns a layout of all ranks with pz grids. */
static inline tristar_layout grid(const world *w, int pz) {
  tristar_layout layout = DEFAULTS(tristar_layout);
  layout.pz = pz;
  layout.px = w->ranks / pz;
  return layout;
}

static inline tristar_layout some_grid(const world *w) {
  return grid(w, w->ranks % 2 == 0 ? 2 : 1);
}

static inline tristar_dmatrix_t *make(const world *w, const rows_block *rows) {
  tristar_dmatrix_t *d;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &rows->view, NULL, &d));
  return d;
}

/* A solve and a refined one, of this rank's rows; x: two columns. */
static inline void solve(const shared_matrix *s, tristar_distributed_t *d, char *x) {
  const size_t bytes = s->t->bytes, rows = (size_t)(s->end - s->first);
  OWNED char *all = make_some_rhs(s->t, s->n, 1);
  const char *b = all + (size_t)s->first * bytes;
  const int64_t ld = rows > 0 ? (int64_t)rows : 1;
  tristar_refine_result result;
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, ld, x, ld));
  CHECK_OK(tristar_distributed_solve_refined(d, TRISTAR_T, 1, b, ld, x + rows * bytes, ld, NULL, &result));
  CHECK_MSG(result.backward_error < s->error, "backward error %g", result.backward_error);
}

static inline void same_solutions(const char *what, const shared_matrix *s, tristar_distributed_t *one,
                                  tristar_distributed_t *two) {
  const size_t bytes = 2 * (size_t)(s->end - s->first) * s->t->bytes;
  OWNED char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  CHECK(x != NULL && y != NULL);
  solve(s, one, x);
  solve(s, two, y);
  same_bytes(what, "x", x, y, bytes);
}

/* The values of a view, times a factor. */
static inline void *scaled_values(const shared_matrix *s, double factor) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->n];
  void *values = malloc((size_t)entries * s->t->bytes + 1);
  CHECK(values != NULL);
  for (int64_t p = 0; p < entries; p++) put(s->t, values, p, factor * get(s->t, s->values, p));
  return values;
}

/* Checks new values, and rows in blocks of equal size. In single precision the roundoff of new values may be
 * too large for a real matrix. */
static inline void check_new_values(const world *w, const char *what, const shared_matrix *s,
                                    tristar_distributed_t *one, tristar_distributed_t *two) {
  shared_matrix other = *s;
  other.values = scaled_values(s, 1.5);
  other.view.values = other.values;
  rows_block rows =
      take_rows(&other.view, s->t->bytes, s->n * w->rank / w->ranks, s->n * (w->rank + 1) / w->ranks, 0);
  tristar_dmatrix_t *matrix = make(w, &rows);
  const tristar_status status = tristar_distributed_refactor(one, w->rank == 0 ? other.values : NULL);
  CHECK_MSG(status == TRISTAR_OK || s->t->is_single, "%s: new values give %s", what,
            tristar_status_name(status));
  CHECK_STATUS(tristar_dmatrix_refactor(matrix, two), status);
  tristar_dmatrix_destroy(&matrix);
  if (status == TRISTAR_OK) {
    check_same(what, one, two);
    same_solutions(what, s, one, two);
  }
  release_rows(&rows);
  free(other.values);
}

/* Compares the figures of the whole factor on rank 0. */
static inline void same_figures(const world *w, const char *what, const tristar_distributed_t *one,
                                const tristar_distributed_t *two) {
  tristar_factor_stats f, g;
  tristar_analysis_stats a, b;
  if (w->rank > 0) return;
  CHECK_OK(tristar_distributed_get_factor_stats(one, &f, &a));
  CHECK_OK(tristar_distributed_get_factor_stats(two, &g, &b));
  CHECK_MSG(f.nnz_factor == g.nnz_factor && f.factor_bytes == g.factor_bytes && a.nnz == b.nnz &&
                a.n == b.n && f.perturbed_pivots == g.perturbed_pivots &&
                f.smallest_pivot == g.smallest_pivot && a.method == b.method && a.flops == b.flops &&
                a.symmetric_pattern == b.symmetric_pattern && a.missing_mirrors == b.missing_mirrors &&
                a.rounded == b.rounded && f.pivot_rounds == g.pivot_rounds &&
                f.delayed_pivots == g.delayed_pivots && f.added_entries == g.added_entries &&
                f.unstable_pivots == g.unstable_pivots,
            "%s: other figures", what);
}

static inline void compare_inputs(const world *w, const char *kind, const shared_matrix *s, const wish *o) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *one, *two;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  tristar_dmatrix_t *matrix = make(w, &s->rows);
  char what[200];
  const tristar_layout *l = &o->options.layout;
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, method %d", kind, s->t->scalar, l->px, l->py, l->pz,
           (int)o->analysis.method);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                      &o->options, &one));
  CHECK_OK(tristar_distributed_set_rows(one, s->first, s->end - s->first));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &two));
  check_same(what, one, two);
  same_figures(w, what, one, two);
  same_solutions(what, s, one, two);
  CHECK(matrix->whole == NULL);
  check_new_values(w, what, s, one, two);
  CHECK_OK(tristar_dmatrix_refactor(matrix, two));
  CHECK_OK(tristar_distributed_refactor(one, w->rank == 0 ? s->values : NULL));
  check_same(what, one, two);
  tristar_dmatrix_destroy(&matrix);
  same_solutions(what, s, one, two);
  CHECK_STATUS(tristar_distributed_refactor(two, w->rank == 0 ? s->values : NULL), TRISTAR_ERR_UNSUPPORTED);
  same_solutions(what, s, one, two);
}
