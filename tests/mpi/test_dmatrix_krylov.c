/* Krylov methods on matrices whose rows are on all ranks. Each method converges for each scalar type. With a
 * preconditioner that is the same on one process it takes as many iterations. Repeated solves have the same
 * bits. A failure or a request on one rank is returned by all ranks. */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/subtests.h"

/* ---- Solves -------------------------------------------------------------------------------------------- */

typedef struct problem {
  const world *w;
  shared_matrix s;
  tristar_dmatrix_t *d;
  tristar_precond_t *m; /* of the diagonal block */
  int64_t rows;
  void *b, *x; /* this rank's rows */
} problem;

static void fill_rhs(const typed *t, int64_t n, void *b) {
  for (int64_t i = 0; i < n; i++) put(t, b, i, random_value(3 * (uint64_t)i));
}

static tristar_precond_t *make_precond(const world *w, const tristar_view *view, tristar_precond_kind kind) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = kind;
  tristar_precond_t *m = NEW_PRECOND(w->ts, view, &options);
  return m;
}

/* kind NONE: no preconditioner. */
static problem open_problem(const world *w, const char *name, int64_t k, const typed *t,
                            tristar_precond_kind kind) {
  problem p = {.w = w, .s = share_matrix(w, name, k, t, TRISTAR_HERMITIAN)};
  tristar_view diagonal;
  char *b = xmalloc((size_t)p.s.n * t->bytes);
  fill_rhs(t, p.s.n, b);
  p.rows = p.s.end - p.s.first;
  p.b = xmalloc((size_t)p.rows * t->bytes + 1);
  p.x = xmalloc((size_t)p.rows * t->bytes + 1);
  memcpy(p.b, b + (size_t)p.s.first * t->bytes, (size_t)p.rows * t->bytes);
  free(b);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &p.d));
  CHECK_OK(tristar_dmatrix_get_diagonal(p.d, &diagonal));
  if (kind != TRISTAR_PRECOND_NONE) p.m = make_precond(w, &diagonal, kind);
  return p;
}

static void close_problem(problem *p) {
  tristar_precond_destroy(&p->m);
  tristar_dmatrix_destroy(&p->d);
  release_shared(&p->s);
  free(p->b);
  free(p->x);
}

static tristar_krylov_options options_of(const typed *t, tristar_krylov_method method) {
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  options.method = method;
  options.tolerance = t->is_single ? 1e-4 : 1e-10;
  return options;
}

/* Iterations on one process with the whole matrix and the same kind of preconditioner. */
static int64_t count_alone(const problem *p, const tristar_krylov_options *options,
                           tristar_precond_kind kind) {
  const typed *t = p->s.t;
  const int64_t n = p->s.n;
  CLEANUP(tristar_precond_destroy)
  tristar_precond_t *m = kind != TRISTAR_PRECOND_NONE ? make_precond(p->w, &p->s.view, kind) : NULL;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result result;
  OWNED void *b = xmalloc((size_t)n * t->bytes), *x = xmalloc((size_t)n * t->bytes);
  fill_rhs(t, n, b);
  CHECK_OK(tristar_krylov_create(p->w->ts, &p->s.view, options, &k));
  CHECK_OK(tristar_krylov_solve(k, m, 1, b, n, x, n, &result));
  CHECK(result.converged);
  return result.iterations;
}

/* Returns || b - A x || / || b || of all rows, in the scalar type, with r = b - A x of the matrix. */
static double find_residual(const problem *p) {
  const typed *t = p->s.t;
  char factor[2][16];
  double squares[2] = {0, 0};
  void *r = xmalloc((size_t)p->rows * t->bytes + 1);
  memcpy(r, p->b, (size_t)p->rows * t->bytes);
  put(t, factor[0], 0, -1);
  put(t, factor[1], 0, 1);
  CHECK_OK(tristar_dmatrix_multiply(p->d, TRISTAR_N, 1, factor[0], p->x, p->rows, factor[1], r, p->rows));
  for (int64_t i = 0; i < p->rows; i++) {
    squares[0] += pow(magnitude(get(t, r, i)), 2);
    squares[1] += pow(magnitude(get(t, p->b, i)), 2);
  }
  MPI_Allreduce(MPI_IN_PLACE, squares, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(r);
  return sqrt(squares[0] / squares[1]);
}

/* Returns the backward error of x, computed on one process. */
static double error_alone(const problem *p) {
  const size_t bytes = p->s.t->bytes;
  const int64_t n = p->s.n;
  OWNED int *count = xmalloc((size_t)p->w->ranks * sizeof *count),
            *first = xmalloc((size_t)p->w->ranks * sizeof *first);
  OWNED void *b = xmalloc((size_t)n * bytes), *x = xmalloc((size_t)n * bytes);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  double error;
  for (int r = 0; r < p->w->ranks; r++) {
    first[r] = (int)((size_t)first_row(p->w, n, r) * bytes);
    count[r] = (int)((size_t)first_row(p->w, n, r + 1) * bytes) - first[r];
  }
  MPI_Allgatherv(p->x, count[p->w->rank], MPI_BYTE, x, count, first, MPI_BYTE, MPI_COMM_WORLD);
  fill_rhs(p->s.t, n, b);
  CHECK_OK(tristar_krylov_create(p->w->ts, &p->s.view, NULL, &k));
  CHECK_OK(tristar_krylov_residual(k, 1, b, n, x, n, NULL, n, &error));
  return error;
}

/* All ranks have the same number. */
static void check_alike(double value) {
  double ends[2] = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK(ends[0] == value && ends[1] == -value);
}

/* same: the preconditioner is that of one process. Then iterations differ by at most one. */
static void check_solve(const world *w, const char *name, int64_t k, const typed *t,
                        tristar_krylov_method method, tristar_precond_kind kind, bool same) {
  CLEANUP(close_problem) problem p = open_problem(w, name, k, t, kind);
  tristar_krylov_options options = options_of(t, method);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_result result, again;
  double error;
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result));
  const double residual = find_residual(&p);
  CHECK_MSG(result.converged && residual <= 20 * options.tolerance,
            "%s:%d, type %c, method %d, preconditioner %d: %s after %d iterations, residual %g", name, (int)k,
            (int)t->scalar, (int)method, (int)kind, tristar_krylov_reason_text(result.reason),
            (int)result.iterations, residual);
  CHECK(fabs(result.true_residual - residual) <= 1e-2 * residual + 50 * t->roundoff);
  check_alike((double)result.iterations);
  check_alike(result.residual);
  check_alike(result.true_residual);
  if (same) {
    const int64_t alone = count_alone(&p, &options, kind);
    CHECK_MSG(llabs(alone - result.iterations) <= 1, "%d iterations, %d on one process",
              (int)result.iterations, (int)alone);
  }
  CHECK_OK(tristar_krylov_residual(krylov, 1, p.b, p.rows, p.x, p.rows, NULL, p.rows, &error));
  CHECK(fabs(error - error_alone(&p)) <= 1e-2 * error + 50 * t->roundoff);
  check_alike(error);
  OWNED void *x = xmalloc((size_t)p.rows * t->bytes + 1);
  CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, x, p.rows, &again));
  CHECK(again.iterations == result.iterations && again.residual == result.residual);
  CHECK(memcmp(x, p.x, (size_t)p.rows * t->bytes) == 0);
}

static void check_methods(const world *w, const typed *t, int count) {
  static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_JACOBI, TRISTAR_PRECOND_ILU,
                                               TRISTAR_PRECOND_NONE};
  for (int k = 0; k < count; k++) {
    const bool same = kinds[k] != TRISTAR_PRECOND_ILU;
    check_solve(w, "poisson3d7", 6, t, TRISTAR_KRYLOV_CG, kinds[k], same);
    check_solve(w, "poisson3d7", 6, t, TRISTAR_KRYLOV_PIPELINED_CG, kinds[k], same);
    check_solve(w, "poisson3d7", 6, t, TRISTAR_KRYLOV_BLOCK_CG, kinds[k], same);
    check_solve(w, "convdiff3d", 6, t, TRISTAR_KRYLOV_BICGSTAB, kinds[k], false);
    check_solve(w, "convdiff3d", 6, t, TRISTAR_KRYLOV_GMRES, kinds[k], same);
    check_solve(w, "convdiff3d", 6, t, TRISTAR_KRYLOV_FGMRES, kinds[k], same);
  }
  check_solve(w, "poisson3d7", 1, t, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_JACOBI, true); /* one row */
}

/* ---- Sums ---------------------------------------------------------------------------------------------- */

static int waited_for, started; /* calls of MPI_Allgather, MPI_Iallgather */

int MPI_Allgather(const void *from, int sent, MPI_Datatype type, void *to, int received, MPI_Datatype other,
                  MPI_Comm comm) {
  waited_for++;
  return PMPI_Allgather(from, sent, type, to, received, other, comm);
}

int MPI_Iallgather(const void *from, int sent, MPI_Datatype type, void *to, int received, MPI_Datatype other,
                   MPI_Comm comm, MPI_Request *request) {
  started++;
  return PMPI_Iallgather(from, sent, type, to, received, other, comm, request);
}

/* Number of reductions of an iteration: those awaited at once, and those that overlap the next product. */
static void check_sums(const world *w, tristar_krylov_method method, tristar_precond_kind kind, int at_once,
                       int beside) {
  enum { FEW = 4, MORE = 5 };
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 6, &typed_double, kind);
  tristar_krylov_options options = options_of(&typed_double, method);
  int before[2] = {0, 0};
  options.tolerance = options.absolute = 0;
  for (options.max_iterations = FEW; options.max_iterations <= FEW + MORE; options.max_iterations += MORE) {
    CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
    CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
    waited_for = started = 0;
    CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, NULL));
    if (options.max_iterations > FEW && w->ranks > 1)
      CHECK_MSG(waited_for - before[0] == MORE * at_once && started - before[1] == MORE * beside,
                "method %d: %d and %d in %d iterations", (int)method, waited_for - before[0],
                started - before[1], MORE);
    before[0] = waited_for;
    before[1] = started;
  }
}

/* ---- One rank among others ----------------------------------------------------------------------------- */

typedef struct trouble {
  int calls, fails_at; /* fails_at: the call that fails; 0: none */
} trouble;

static tristar_status copy_or_fail(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                                   void *x, int64_t ldx) {
  trouble *t = arg;
  (void)op;
  if (++t->calls == t->fails_at) return TRISTAR_ERR_SINGULAR;
  for (int64_t c = 0; c < nrhs; c++)
    memcpy((double *)x + c * ldx, (const double *)b + c * ldb, (size_t)ldb * sizeof(double));
  return TRISTAR_OK;
}

/* The preconditioner fails on the last rank, in any application: all ranks return its status. */
static void check_failing_precond(const world *w, tristar_krylov_method method) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 5, &typed_double, TRISTAR_PRECOND_NONE);
  const tristar_krylov_options options = options_of(&typed_double, method);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_result result;
  trouble t = {.calls = 0};
  CHECK_OK(tristar_precond_of_function(w->ts, p.rows, TRISTAR_DOUBLE, copy_or_fail, &t, &p.m));
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
  for (int at = 1; at < 12; at += 3) {
    t.calls = 0;
    t.fails_at = w->rank == w->ranks - 1 ? at : 0;
    CHECK_STATUS(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result),
                 TRISTAR_ERR_SINGULAR);
    t.fails_at = 0;
    CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result));
    CHECK(result.converged);
  }
}

static int cancel_on_one(void *arg, const tristar_krylov_point *point) {
  return *(const bool *)arg && point->iteration >= 3;
}

/* Different options, or wrong arguments, of one rank. */
static void check_one_rank(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 5, &typed_double, TRISTAR_PRECOND_JACOBI);
  tristar_krylov_options options = options_of(&typed_double, TRISTAR_KRYLOV_CG);
  tristar_krylov_t *krylov;
  tristar_krylov_result result;
  options.progress = cancel_on_one;
  options.progress_arg = (void *)(uintptr_t)&last;
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result));
  CHECK(result.reason == TRISTAR_REASON_CANCELLED && result.iterations >= 3 && result.iterations <= 4);
  check_alike((double)result.iterations);
  options.progress = NULL;
  options.tolerance = last ? 1e-3 : 1e-4;
  CHECK_STATUS(tristar_krylov_set_options(krylov, &options),
               w->ranks > 1 ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
  options.tolerance = last ? -1 : 1e-4;
  CHECK_STATUS(tristar_krylov_set_options(krylov, &options), TRISTAR_ERR_ARGUMENT);
  options.tolerance = 1e-4;
  options.method = TRISTAR_KRYLOV_GMRES; /* needs more vectors and reductions */
  CHECK_OK(tristar_krylov_set_options(krylov, &options));
  CHECK_OK(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result));
  CHECK(result.converged);
  if (w->ranks > 1) {
    CHECK_STATUS(tristar_krylov_solve(krylov, last ? NULL : p.m, 1, p.b, p.rows, p.x, p.rows, &result),
                 TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_krylov_solve(krylov, p.m, last, p.b, p.rows, p.x, p.rows, &result),
                 TRISTAR_ERR_ARGUMENT);
  }
  if (last) ((double *)p.b)[p.rows - 1] = NAN;
  CHECK_STATUS(tristar_krylov_solve(krylov, p.m, 1, p.b, p.rows, p.x, p.rows, &result),
               TRISTAR_ERR_NOT_FINITE);
  char text[512], place[64];
  tristar_get_error(w->ts, text, sizeof text);
  snprintf(place, sizeof place, "row %d,", (int)p.s.n - 1);
  CHECK_MSG(strstr(text, place) != NULL, "%s is not in \"%s\"", place, text);
  if (last) ((double *)p.b)[p.rows - 1] = 1;
  CHECK_STATUS(tristar_krylov_update_values(krylov, p.b), TRISTAR_ERR_UNSUPPORTED);
  tristar_krylov_destroy(&krylov);
  CHECK_STATUS(tristar_dmatrix_krylov(p.d, &options, last ? NULL : &krylov), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_krylov(NULL, &options, &krylov), TRISTAR_ERR_ARGUMENT);
  options.restart = last ? 0 : 10;
  CHECK_STATUS(tristar_dmatrix_krylov(p.d, &options, &krylov), TRISTAR_ERR_ARGUMENT);
  CHECK(krylov == NULL);
}

/* Numbers far from one, and several columns, one of zeros. b and x of an empty rank are NULL. */
static void check_columns(const world *w, tristar_krylov_method method) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 5, &typed_double, TRISTAR_PRECOND_JACOBI);
  const tristar_krylov_options options = options_of(&typed_double, method);
  const size_t rows = (size_t)p.rows;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_result result[3];
  OWNED double *b = xcalloc(3 * rows + 1, sizeof *b), *x = xcalloc(3 * rows + 1, sizeof *x);
  for (size_t i = 0; i < rows; i++) {
    b[i] = ((const double *)p.b)[i];
    b[2 * rows + i] = ldexp(b[i], 900);
  }
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
  CHECK_OK(
      tristar_krylov_solve(krylov, p.m, 3, rows > 0 ? b : NULL, p.rows, rows > 0 ? x : NULL, p.rows, result));
  CHECK(result[0].converged && result[1].converged && result[2].converged && result[1].iterations == 0);
  CHECK(llabs(result[0].iterations - result[2].iterations) <= 1);
  for (size_t i = 0; i < rows; i++)
    CHECK(x[rows + i] == 0 && fabs(ldexp(x[2 * rows + i], -900) - x[i]) <= 1e-8 * fabs(x[i]) + 1e-9);
}

/* All ranks detect an indefinite matrix. */
static void check_indefinite(const world *w, tristar_krylov_method method) {
  CLEANUP(close_problem) problem p = open_problem(w, "kkt3d", 3, &typed_double, TRISTAR_PRECOND_NONE);
  const tristar_krylov_options options = options_of(&typed_double, method);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov;
  tristar_krylov_result result;
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, p.b, p.rows, p.x, p.rows, &result));
  CHECK(result.reason == TRISTAR_REASON_INDEFINITE);
  check_alike((double)result.iterations);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const tristar_krylov_method definite[] = {TRISTAR_KRYLOV_CG, TRISTAR_KRYLOV_PIPELINED_CG,
                                                   TRISTAR_KRYLOV_BLOCK_CG};
  CLEANUP(close_world) world w = open_world();
  RUN(check_methods(&w, &typed_double, 3));
  RUN(check_methods(&w, &typed_complex_single, 1));
  RUN(check_solve(&w, "poisson3d7", 6, &typed_single, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_JACOBI, true));
  RUN(check_solve(&w, "poisson3d7", 6, &typed_complex_double, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_IC, false));
  RUN(check_solve(&w, "elasticity3d", 4, &typed_double, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_JACOBI, true));
  /* The kinds of preconditioners differ between ranks. */
  const tristar_precond_kind own = w.rank % 2 == 0 ? TRISTAR_PRECOND_JACOBI : TRISTAR_PRECOND_IC;
  RUN(check_solve(&w, "poisson3d7", 6, &typed_double, TRISTAR_KRYLOV_CG, own, false));
  RUN(check_failing_precond(&w, TRISTAR_KRYLOV_BICGSTAB));
  RUN(check_failing_precond(&w, TRISTAR_KRYLOV_GMRES));
  RUN(check_sums(&w, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_JACOBI, 2, 0));
  RUN(check_sums(&w, TRISTAR_KRYLOV_CG, TRISTAR_PRECOND_ILU, 3, 0));
  RUN(check_sums(&w, TRISTAR_KRYLOV_PIPELINED_CG, TRISTAR_PRECOND_JACOBI, 0, 1));
  RUN(check_sums(&w, TRISTAR_KRYLOV_BLOCK_CG, TRISTAR_PRECOND_JACOBI, 2, 0));
  RUN(check_one_rank(&w));
  for (size_t k = 0; k < sizeof definite / sizeof *definite; k++) {
    RUN(check_failing_precond(&w, definite[k]));
    RUN(check_columns(&w, definite[k]));
    RUN(check_indefinite(&w, definite[k]));
  }
  return 0;
}
