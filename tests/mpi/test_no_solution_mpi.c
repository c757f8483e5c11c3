/* Singular systems that have no solution, on all ranks: factored with perturbed pivots, the residual of the
 * refinement is the true one, which is large; Krylov methods do not converge. x is so large that b - A x in
 * the type of the matrix may be zero.
 *
 *   test_no_solution_mpi */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/singular_systems.h"

/* A system, and this rank's rows of it. */
typedef struct rows_here {
  small_system whole;
  int64_t first, rows, ld;
  int32_t ptr[SMALL_MOST + 1];
  tristar_view view;
  const char *b;
} rows_here;

static void make_rows(const world *w, const typed *t, uint64_t seed, rows_here *h) {
  const small_system *s = &h->whole;
  make_small_system(t, seed, &h->whole);
  h->first = first_row(w, s->n, w->rank);
  h->rows = first_row(w, s->n, w->rank + 1) - h->first;
  h->ld = h->rows > 0 ? h->rows : 1;
  for (int i = 0; i <= h->rows; i++) h->ptr[i] = s->ptr[h->first + i] - s->ptr[h->first];
  h->view = s->view;
  h->view.rows = h->rows;
  h->view.ptr = h->ptr;
  h->view.index = s->column + s->ptr[h->first];
  h->view.values = (const char *)s->values + (size_t)s->ptr[h->first] * t->bytes;
  h->b = (const char *)s->b + (size_t)h->first * t->bytes;
}

static void check_factor(const world *w, const typed *t, const rows_here *h, tristar_dmatrix_t *matrix) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_distributed_options layout = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  layout.layout.px = w->ranks;
  CHECK_OK(tristar_dmatrix_factor(matrix, &options, &layout, &d));
  for (int k = 0; k < 3; k++) {
    number x[SMALL_MOST];
    tristar_refine_result result;
    const tristar_status status =
        tristar_distributed_solve_refined(d, ops[k], 1, h->b, h->ld, x, h->ld, NULL, &result);
    if (status == TRISTAR_ERR_NOT_FINITE) continue;
    CHECK_OK(status);
    CHECK_MSG(result.residual > 0.01 * h->whole.residual, "type %c, op %c: residual %g, the least one is %g",
              (char)t->scalar, (char)ops[k], result.residual, h->whole.residual);
  }
}

static void check_krylov(const rows_here *h, tristar_dmatrix_t *matrix, tristar_krylov_method method) {
  number x[SMALL_MOST] = {0};
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  tristar_krylov_result result;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov = NULL;
  options.method = method;
  options.max_iterations = 200;
  options.tolerance = 1e-4;
  CHECK_OK(tristar_dmatrix_krylov(matrix, &options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, h->b, h->ld, x, h->ld, &result));
  CHECK_MSG(!result.converged, "method %d, n = %d: converged", (int)method, h->whole.n);
  /* of the least residual, which has entries of one size */
  CHECK_MSG(result.true_residual > 0.5 * h->whole.residual,
            "method %d, n = %d: true residual %g, at least %g", (int)method, h->whole.n, result.true_residual,
            h->whole.residual);
}

int main(void) {
  const typed *types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};
  static rows_here h;
  CLEANUP(close_world) world w = open_world_of(false);
  for (uint64_t seed = 0; seed < (TSI_TESTS_SANITIZED ? 40 : 200); seed++) {
    const typed *t = types[seed % 4];
    CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = NULL;
    make_rows(&w, t, seed, &h);
    CHECK_OK(tristar_dmatrix_create(w.ts, MPI_COMM_WORLD, &h.view, NULL, &matrix));
    check_factor(&w, t, &h, matrix);
    if (h.whole.residual < 0.02) continue; /* nearly a solution */
    check_krylov(&h, matrix, TRISTAR_KRYLOV_GMRES);
    check_krylov(&h, matrix, TRISTAR_KRYLOV_BICGSTAB);
  }
  return 0;
}
