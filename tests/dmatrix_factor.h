/* Factors of matrices whose rows lie on all ranks: what their tests share. */
#ifndef TSI_TESTS_DMATRIX_FACTOR_H
#define TSI_TESTS_DMATRIX_FACTOR_H

#include "runtime/mpi/dmatrix.h"
#include "tests/dmatrix.h"
#include "tests/same_factor.h"

/* How a matrix is factored. */
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

/* The whole machine as one grid of each kind. */
static inline tristar_layout grid(const world *w, int pz) {
  tristar_layout layout;
  tristar_layout_init(&layout);
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
  char *all = make_rhs(s->t, s->n);
  const char *b = all + (size_t)s->first * bytes;
  const int64_t ld = rows > 0 ? (int64_t)rows : 1;
  tristar_refine_result result;
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, ld, x, ld));
  CHECK_OK(tristar_distributed_solve_refined(d, TRISTAR_T, 1, b, ld, x + rows * bytes, ld, NULL, &result));
  const bool single = d->process->kind.user_scalar == 's' || d->process->kind.user_scalar == 'c';
  CHECK_MSG(result.backward_error < (single ? 1e-5 : 1e-13), "backward error %g", result.backward_error);
  free(all);
}

static inline void same_solutions(const char *what, const shared_matrix *s, tristar_distributed_t *one,
                                  tristar_distributed_t *two) {
  const size_t bytes = 2 * (size_t)(s->end - s->first) * s->t->bytes;
  char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  CHECK(x != NULL && y != NULL);
  solve(s, one, x);
  solve(s, two, y);
  same_bytes(what, "x", x, y, bytes);
  free(x);
  free(y);
}

#endif
