/* Singular systems without a solution, on all ranks. They are factored with perturbed pivots; the residual of
 * the refinement is the true residual, which is large; Krylov methods do not converge. x is so large that b -
 * A x in the type of the matrix may be zero. Also systems with a solution and with units of very different
 * sizes: a returned solution solves the system in any units.
 *
 *   test_no_solution_mpi */
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/mpi/solve/system.h"
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
  /* Half of the smallest possible residual, whose entries have similar sizes. */
  CHECK_MSG(result.true_residual > 0.5 * h->whole.residual,
            "method %d, n = %d: true residual %g, at least %g", (int)method, h->whole.n, result.true_residual,
            h->whole.residual);
}

enum { UNITS_MOST = 24 };

/* [H B^T; B 0] of small integers with a constraint that is a multiple of another one, and b = A x for
 * integers x. Rows and columns have units, which are powers of two. */
typedef struct far_system {
  int n;
  double a[UNITS_MOST][UNITS_MOST], b[UNITS_MOST], row[UNITS_MOST], column[UNITS_MOST];
} far_system;

static int draw(uint64_t *state, int limit) {
  return (int)(next_random(state) % (uint64_t)limit);
}

static void make_far_system(uint64_t seed, far_system *s) {
  uint64_t state = seed;
  double x[UNITS_MOST];
  memset(s, 0, sizeof *s);
  s->n = 6 + draw(&state, UNITS_MOST - 5);
  const int n = s->n, last = n - 1, free_rows = n - n / 3;
  for (int i = 0; i < free_rows; i++) s->a[i][i] = 1 + draw(&state, 5);
  for (int i = free_rows; i < n; i++)
    for (int k = 0; k < 3; k++) {
      const int j = draw(&state, free_rows);
      s->a[i][j] = s->a[j][i] = (1 + draw(&state, 3)) * (draw(&state, 2) ? 1 : -1);
    }
  const int times = 1 + draw(&state, 3);
  for (int j = 0; j < free_rows; j++) s->a[last][j] = s->a[j][last] = times * s->a[free_rows][j];
  for (int i = 0; i < n; i++) {
    x[i] = draw(&state, 9) - 4;
    s->row[i] = ldexp(1, draw(&state, 23) - 11);
    s->column[i] = ldexp(1, draw(&state, 23) - 11);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) s->b[i] += s->a[i][j] * x[j];
}

/* This rank's rows, in units or without them. */
static tristar_dmatrix_t *share_far_system(const world *w, const far_system *s, bool units) {
  int32_t ptr[UNITS_MOST + 1], index[UNITS_MOST * UNITS_MOST], at = 0;
  float values[UNITS_MOST * UNITS_MOST];
  const int first = (int)first_row(w, s->n, w->rank), end = (int)first_row(w, s->n, w->rank + 1);
  tristar_dmatrix_t *matrix = NULL;
  for (int i = first; i < end; i++) {
    ptr[i - first] = at;
    for (int j = 0; j < s->n; j++) {
      if (s->a[i][j] == 0) continue;
      values[at] = (float)(units ? s->a[i][j] * s->row[i] * s->column[j] : s->a[i][j]);
      index[at++] = j;
    }
  }
  ptr[end - first] = at;
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_SINGLE, end - first, s->n, ptr, index, values, 32, 32, 0};
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &matrix));
  return matrix;
}

/* The residual in units. All ranks have the whole x. */
static double residual_of(const far_system *s, const float *x) {
  double of_r = 0, of_b = 0;
  for (int i = 0; i < s->n; i++) {
    long double r = s->b[i];
    for (int j = 0; j < s->n; j++) r -= s->a[i][j] * (long double)x[j] * s->column[j];
    of_r = larger_error(of_r, fabs((double)r));
    of_b = fmax(of_b, fabs(s->b[i]));
  }
  return of_b > 0 ? of_r / of_b : 0;
}

/* Ranks scale the entries as one process with all entries does. */
static void check_scaling(const world *w, const far_system *s, tristar_distributed_t *d) {
  double row[UNITS_MOST], column[UNITS_MOST], of_row[UNITS_MOST], of_column[UNITS_MOST];
  int32_t ptr[UNITS_MOST + 1] = {0}, index[UNITS_MOST * UNITS_MOST], at = 0;
  float values[UNITS_MOST * UNITS_MOST];
  for (int i = 0; i < s->n; i++) {
    for (int j = 0; j < s->n; j++) {
      if (s->a[i][j] == 0) continue;
      values[at] = (float)(s->a[i][j] * s->row[i] * s->column[j]);
      index[at++] = j;
    }
    ptr[i + 1] = at;
  }
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_SINGLE, s->n, s->n, ptr, index, values, 32, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tsi_plan_system whole;
  tsi_distributed_system here;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  options.method = TRISTAR_METHOD_LU;
  CHECK_OK(tristar_analyze(w->ts, &view, &options, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  tsi_factor_system_create(f, &whole);
  CHECK_OK(tsi_system_bring_together(&whole.system, row, column));
  CHECK_OK(tsi_distributed_system_create(d, &here));
  CHECK_OK(tsi_system_bring_together(&here.system, of_row, of_column));
  for (int i = 0; i < here.system.n; i++) {
    const int64_t k = d->matrix->user[0][i], l = d->matrix->user[1][i];
    CHECK_MSG(of_row[i] == row[k] && of_column[i] == column[l], "row %d: %g, not %g; column %d: %g, not %g",
              (int)k, of_row[i], row[k], (int)l, of_column[i], column[l]);
  }
  tsi_distributed_system_finish(&here);
}

static int check_far_units(const world *w, uint64_t seed) {
  far_system s;
  float b[UNITS_MOST], own[UNITS_MOST], x[UNITS_MOST];
  int count[16], at[16];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_distributed_options layout = DEFAULTS(tristar_distributed_options);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d = NULL;
  make_far_system(seed, &s);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *plain = share_far_system(w, &s, false);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = share_far_system(w, &s, true);
  options.singular = TRISTAR_SINGULAR_PERTURB;
  options.method = TRISTAR_METHOD_LU;
  layout.layout.px = w->ranks;
  if (tristar_dmatrix_factor(plain, &options, &layout, &d) == TRISTAR_ERR_SINGULAR)
    return 0; /* its pattern */
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  check_scaling(w, &s, d);
  for (int r = 0; r < w->ranks; r++) {
    at[r] = (int)first_row(w, s.n, r);
    count[r] = (int)first_row(w, s.n, r + 1) - at[r];
  }
  const int rows = count[w->rank], ld = rows > 0 ? rows : 1;
  for (int i = 0; i < rows; i++) b[i] = (float)(s.b[at[w->rank] + i] * s.row[at[w->rank] + i]);
  const tristar_status status = tristar_distributed_solve(d, TRISTAR_N, 1, b, ld, own, ld);
  if (status == TRISTAR_ERR_ACCURACY) return 0;
  CHECK_OK(status);
  MPI_Allgatherv(own, rows, MPI_FLOAT, x, count, at, MPI_FLOAT, MPI_COMM_WORLD);
  const double residual = residual_of(&s, x);
  CHECK_MSG(residual <= 10 * sqrt(0x1p-23), "seed %d, n = %d: residual %g", (int)seed, s.n, residual);
  return 1;
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
    if (h.whole.residual < 0.02) continue; /* nearly solvable */
    check_krylov(&h, matrix, TRISTAR_KRYLOV_GMRES);
    check_krylov(&h, matrix, TRISTAR_KRYLOV_BICGSTAB);
  }
  const int systems = TSI_TESTS_SANITIZED ? 40 : 200;
  int solved = 0;
  for (int k = 1; k <= systems; k++) solved += check_far_units(&w, (uint64_t)k);
  if (w.rank == 0) printf("%d of %d systems in far units were solved\n", solved, systems);
  CHECK(solved > systems / 2);
  return 0;
}
