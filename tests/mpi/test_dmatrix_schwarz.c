/* Additive Schwarz preconditioners of matrices whose rows are on all ranks. Without overlap they are block
 * Jacobi. If each subdomain has all rows, each one is A^-1. They are Hermitian unless restricted. More
 * overlap takes fewer iterations. Repeated applications have the same bits. An error of one rank is returned
 * by all ranks. */
#include <limits.h>

#include "tests/support/mpi/dmatrix.h"
#include "tests/support/subtests.h"

typedef struct problem {
  const world *w;
  shared_matrix s;
  tristar_dmatrix_t *d;
  int64_t rows;
  char *b, *x, *y; /* this rank's rows */
} problem;

static problem open_problem(const world *w, const char *kind, int64_t k, const typed *t,
                            tristar_symmetry symmetry) {
  problem p = {.w = w, .s = share_matrix(w, kind, k, t, symmetry)};
  OWNED void *vectors = make_vectors(t, p.s.n, 7);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &p.d));
  p.rows = p.s.end - p.s.first;
  p.b = take_vectors(&p.s, vectors);
  p.x = take_vectors(&p.s, vectors);
  p.y = take_vectors(&p.s, vectors);
  return p;
}

static void close_problem(problem *p) {
  tristar_dmatrix_destroy(&p->d);
  release_shared(&p->s);
  free(p->b);
  free(p->x);
  free(p->y);
}

static tristar_precond_options options_of(tristar_precond_kind kind) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = kind;
  options.engine = TRISTAR_ENGINE_SERIAL; /* the processes share few cores */
  return options;
}

static tristar_precond_t *make(const problem *p, tristar_precond_kind kind, int overlap, int restricted) {
  const tristar_precond_options options = options_of(kind);
  tristar_precond_t *m;
  CHECK_OK(tristar_dmatrix_schwarz(p->d, &options, overlap, restricted, &m));
  return m;
}

static void apply(const problem *p, tristar_precond_t *m, tristar_op op, int64_t columns, const char *b,
                  char *x) {
  CHECK_OK(tristar_precond_apply(m, op, columns, p->rows > 0 ? b : NULL, p->rows, p->rows > 0 ? x : NULL,
                                 p->rows));
}

/* Returns x^H y over all ranks. */
static number inner(const problem *p, const char *x, const char *y) {
  double sum[2] = {0, 0};
  for (int64_t i = 0; i < p->rows; i++) {
    const number product = conj(get(p->s.t, x, i)) * get(p->s.t, y, i);
    sum[0] += (double)creal(product);
    sum[1] += (double)cimag(product);
  }
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  number all = sum[0];
  __imag__ all = sum[1];
  return all;
}

/* ---- What it is ---------------------------------------------------------------------------------------- */

static void check_without_overlap(const world *w, const typed *t, tristar_precond_kind kind) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 6, t, TRISTAR_HERMITIAN);
  const tristar_precond_options options = options_of(kind);
  tristar_view diagonal;
  CHECK_OK(tristar_dmatrix_get_diagonal(p.d, &diagonal));
  CLEANUP(tristar_precond_destroy) tristar_precond_t *block = NEW_PRECOND(w->ts, &diagonal, &options);
  apply(&p, block, TRISTAR_N, 3, p.b, p.x);
  for (int restricted = 0; restricted < 2; restricted++) {
    CLEANUP(tristar_precond_destroy) tristar_precond_t *m = make(&p, kind, 0, restricted);
    apply(&p, m, TRISTAR_N, 3, p.b, p.y);
    CHECK(memcmp(p.x, p.y, 3 * (size_t)p.rows * t->bytes) == 0);
  }
}

/* Complete factors of subdomains that have all rows: M is A, or A divided by the number of ranks that have
 * rows. */
static void check_whole(const world *w, const typed *t) {
  CLEANUP(close_problem) problem p = open_problem(w, "convdiff3d", 4, t, TRISTAR_GENERAL);
  for (int restricted = 0; restricted < 2; restricted++) {
    CLEANUP(tristar_precond_destroy)
    tristar_precond_t *m = make(&p, TRISTAR_PRECOND_PLAN, INT_MAX, restricted);
    int solvers = p.rows > 0; /* a rank without rows has no subdomain */
    double wrong[2] = {0, 0};
    MPI_Allreduce(MPI_IN_PLACE, &solvers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (restricted) solvers = 1;
    apply(&p, m, TRISTAR_N, 1, p.b, p.x);
    CHECK_OK(tristar_dmatrix_multiply(p.d, TRISTAR_N, 1, NULL, p.x, p.rows, NULL, p.y, p.rows));
    for (int64_t i = 0; i < p.rows; i++) {
      wrong[0] = fmax(wrong[0], magnitude(get(t, p.y, i) - solvers * get(t, p.b, i)));
      wrong[1] = fmax(wrong[1], magnitude(get(t, p.b, i)));
    }
    CHECK_MSG(wrong[0] <= 1e3 * t->roundoff * fmax(wrong[1], 1), "restricted %d: %g", restricted, wrong[0]);
  }
}

static void check_hermitian(const world *w, const typed *t, tristar_precond_kind kind) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 6, t, TRISTAR_HERMITIAN);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m = make(&p, kind, 2, 0);
  const char *c = p.b + (size_t)p.rows * t->bytes;
  apply(&p, m, TRISTAR_N, 2, p.b, p.x);
  const char *mc = p.x + (size_t)p.rows * t->bytes;
  const number left = inner(&p, c, p.x), right = inner(&p, mc, p.b);
  CHECK_MSG(magnitude(left - right) <= 1e3 * t->roundoff * magnitude(inner(&p, p.x, p.x)), "%g + %g i",
            (double)creal(left - right), (double)cimag(left - right));
  apply(&p, m, TRISTAR_C, 2, p.b, p.y);
  for (int64_t i = 0; i < 2 * p.rows; i++)
    CHECK(magnitude(get(t, p.x, i) - get(t, p.y, i)) <= 1e3 * t->roundoff * (1 + magnitude(get(t, p.x, i))));
  apply(&p, m, TRISTAR_N, 2, p.b, p.y);
  CHECK(memcmp(p.x, p.y, 2 * (size_t)p.rows * t->bytes) == 0);
}

static int64_t iterate(const problem *p, tristar_precond_t *m, tristar_krylov_method method) {
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result result;
  options.method = method;
  options.tolerance = 1e-8;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_dmatrix_krylov(p->d, &options, &k));
  CHECK_OK(tristar_krylov_solve(k, m, 1, p->b, p->rows, p->x, p->rows, &result));
  CHECK(result.converged);
  return result.iterations;
}

static void check_iterations(const world *w, const char *kind, tristar_precond_kind local,
                             tristar_krylov_method method) {
  const bool cg = method == TRISTAR_KRYLOV_CG;
  CLEANUP(close_problem)
  problem p = open_problem(w, kind, 9, &typed_double, cg ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL);
  int64_t before = 0;
  /* Starts at 1: the sums of the first overlap may cost more iterations than they save. */
  for (int overlap = 1; overlap <= 3; overlap += 2) {
    tristar_precond_t *m = make(&p, local, overlap, !cg);
    const int64_t now = iterate(&p, m, method);
    CHECK_MSG(overlap == 1 || now <= before, "%s, overlap %d: %d iterations, not fewer than %d", kind,
              overlap, (int)now, (int)before);
    before = now;
    tristar_precond_destroy(&m);
  }
}

/* ---- Mistakes ------------------------------------------------------------------------------------------ */

static void check_mistakes(const world *w) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 5, &typed_double, TRISTAR_SYMMETRIC);
  tristar_precond_options options = options_of(TRISTAR_PRECOND_ILU);
  const bool last = w->rank == w->ranks - 1;
  tristar_precond_t *m;
  CHECK_STATUS(tristar_dmatrix_schwarz(NULL, &options, 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, 1, 0, last ? NULL : &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, last ? -1 : 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  CHECK(m == NULL);
  if (w->ranks > 1)
    CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, last ? 2 : 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  options.level = last ? -1 : 0;
  CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  options = options_of(TRISTAR_PRECOND_FSAI);
  options.postfilter = last ? 0.1 : 0;
  if (w->ranks > 1) CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  options = options_of(TRISTAR_PRECOND_FUNCTION);
  CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, 1, 0, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_dmatrix_schwarz(p.d, NULL, 1, 1, &m));
  CHECK_STATUS(tristar_precond_apply(m, TRISTAR_T, 1, p.b, p.rows, p.x, p.rows), TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_precond_update(m, &p.s.view), TRISTAR_ERR_UNSUPPORTED);
  tristar_precond_destroy(&m);
  close_problem(&p);
  p = open_problem(w, "kkt3d", 3, &typed_double, TRISTAR_SYMMETRIC); /* zeros on the diagonal of some ranks */
  options = options_of(TRISTAR_PRECOND_JACOBI);
  CHECK_STATUS(tristar_dmatrix_schwarz(p.d, &options, 1, 0, &m), TRISTAR_ERR_SINGULAR);
  CHECK(m == NULL);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_without_overlap(&w, &typed_double, TRISTAR_PRECOND_ILU));
  RUN(check_without_overlap(&w, &typed_complex_double, TRISTAR_PRECOND_IC));
  RUN(check_whole(&w, &typed_double));
  RUN(check_whole(&w, &typed_complex_double));
  RUN(check_hermitian(&w, &typed_double, TRISTAR_PRECOND_IC));
  RUN(check_hermitian(&w, &typed_complex_double, TRISTAR_PRECOND_PLAN));
  RUN(check_iterations(&w, "poisson3d7", TRISTAR_PRECOND_PLAN, TRISTAR_KRYLOV_CG));
  RUN(check_iterations(&w, "convdiff3d", TRISTAR_PRECOND_ILU, TRISTAR_KRYLOV_GMRES));
  RUN(check_mistakes(&w));
  return 0;
}
