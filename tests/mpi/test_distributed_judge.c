/* Verdicts on ranks. Chains with integer weights are exactly singular, though all pivots may be large. All
 * ranks refuse them, as one process does, for a matrix on rank 0 and for rows on all ranks. Anchored chains
 * are factored. With a penalty on a diagonal entry plain solves of A and its transposes lose no digits.
 *
 *   test_distributed_judge */
#include "tests/support/singular_systems.h"
#include "tests/support/mpi/dmatrix.h"

static tristar_distributed_options layout_of(const world *w, bool grids) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout.px = grids ? w->ranks / 2 : w->ranks;
  options.layout.pz = grids ? 2 : 1;
  return options;
}

/* View of the whole chain by rows, which equal its columns. */
static tristar_view by_rows(const chain *c) {
  tristar_view view = c->view;
  view.format = TRISTAR_CSR;
  return view;
}

/* View of this rank's rows. */
static tristar_view rows_of(const world *w, const chain *c, int32_t *ptr) {
  const int64_t n = c->view.cols, first = first_row(w, n, w->rank),
                rows = first_row(w, n, w->rank + 1) - first;
  tristar_view view = by_rows(c);
  for (int i = 0; i <= rows; i++) ptr[i] = c->ptr[first + i] - c->ptr[first];
  view.rows = rows;
  view.ptr = ptr;
  view.index = c->index + c->ptr[first];
  view.values = c->values + c->ptr[first];
  return view;
}

static tristar_status factor_of_one(const world *w, const chain *c, tristar_method method, bool grids,
                                    tristar_distributed_t **d) {
  const tristar_distributed_options layout = layout_of(w, grids);
  const tristar_view view = by_rows(c);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  options.method = method;
  options.leaf_parts = grids ? 2 : 0;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &view, &options, &an));
  return tristar_distributed_factor(w->ts, MPI_COMM_WORLD, an, w->rank == 0 ? c->values : NULL, &layout, d);
}

static tristar_status factor_of_all(const world *w, const chain *c, tristar_method method, bool grids,
                                    tristar_distributed_t **d) {
  const tristar_distributed_options layout = layout_of(w, grids);
  int32_t ptr[CHAIN_MOST + 1];
  const tristar_view view = rows_of(w, c, ptr);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = NULL;
  options.method = method;
  options.leaf_parts = grids ? 2 : 0;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &matrix));
  return tristar_dmatrix_factor(matrix, &options, &layout, d);
}

static void check_verdict(const world *w, const chain *c, tristar_method method, tristar_status wanted) {
  for (int grids = 0; grids < (w->ranks % 2 ? 1 : 2); grids++)
    for (int all = 0; all < 2; all++) {
      CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
      CHECK_STATUS((all ? factor_of_all : factor_of_one)(w, c, method, grids, &d), wanted);
    }
}

/* Plain solves whose solution is 1 everywhere. */
static void check_solves(const world *w, const chain *c, tristar_distributed_t *d) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = (int)c->view.cols;
  const int64_t first = first_row(w, n, w->rank), rows = first_row(w, n, w->rank + 1) - first;
  const int64_t ld = rows > 0 ? rows : 1;
  for (int o = 0; o < 3; o++) {
    double b[CHAIN_MOST] = {0}, x[CHAIN_MOST];
    for (int i = 0; i < n; i++)
      for (int32_t p = c->ptr[i]; p < c->ptr[i + 1]; p++)
        b[ops[o] == TRISTAR_N ? i : c->index[p]] += c->values[p];
    CHECK_OK(tristar_distributed_solve(d, ops[o], 1, b + first, ld, x, ld));
    for (int i = 0; i < rows; i++)
      CHECK_MSG(fabs(x[i] - 1) < 1e-10, "op %c: x[%d] is %.17g", (char)ops[o], i, x[i]);
  }
}

static void check_penalty(const world *w, uint64_t seed) {
  chain c;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *one = NULL;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *all = NULL;
  const int n = 20 + (int)(seed % 40), row = (int)(seed * 5 % (uint64_t)n);
  make_random_chain(&c, n, 2, true, row, seed);
  for (int32_t p = c.ptr[row]; p < c.ptr[row + 1]; p++)
    if (c.index[p] == row) c.values[p] = pow(10, 8 + (double)(seed % 11));
  CHECK_OK(factor_of_one(w, &c, TRISTAR_METHOD_LU, false, &one));
  const int64_t first = first_row(w, n, w->rank);
  CHECK_OK(tristar_distributed_set_rows(one, first, first_row(w, n, w->rank + 1) - first));
  check_solves(w, &c, one);
  CHECK_OK(factor_of_all(w, &c, TRISTAR_METHOD_LU, false, &all));
  check_solves(w, &c, all);
}

int main(void) {
  CLEANUP(close_world) world w = open_world_of(false);
  chain c;
  for (int base = 2; base < 6; base++) {
    make_graded_chain(&c, 60 / base, base, true, -1);
    check_verdict(&w, &c, TRISTAR_METHOD_LDLT, TRISTAR_ERR_SINGULAR);
    make_graded_chain(&c, 60 / base, base, true, 0);
    check_verdict(&w, &c, TRISTAR_METHOD_LDLT, TRISTAR_OK);
  }
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const int n = 20 + (int)(seed % 40);
    make_random_chain(&c, n, seed % 2 ? 100000 : 600, seed % 3 != 0, -1, seed);
    check_verdict(&w, &c, TRISTAR_METHOD_AUTO, TRISTAR_ERR_SINGULAR);
    make_random_chain(&c, n, 4, seed % 3 != 0, n / 2, seed);
    check_verdict(&w, &c, TRISTAR_METHOD_LU, TRISTAR_OK);
    check_penalty(&w, seed);
  }
  return 0;
}
