/* New values of matrices whose rows are on all ranks, and of their approximate inverses. An updated object
 * has the bits of a new one. Inverses keep their pattern, and equal inverses that one process updates. After
 * a failure a matrix is unchanged, and an inverse gives STALE. */
#include <limits.h>

#include "tests/support/mpi/dmatrix.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"

typedef struct problem {
  const world *w;
  const typed *t;
  shared_matrix s;
  int64_t rows;
  tristar_dmatrix_t *d;
} problem;

static problem open_problem(const world *w, const char *kind, int64_t k, const typed *t) {
  problem p = {.w = w, .t = t, .s = share_matrix(w, kind, k, t, TRISTAR_HERMITIAN)};
  p.rows = p.s.end - p.s.first;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &p.d));
  return p;
}

static void close_problem(problem *p) {
  tristar_dmatrix_destroy(&p->d);
  release_shared(&p->s);
}

static double scale_of(int64_t i) {
  return 1 + 0.125 * (double)(i % 7);
}

/* Replaces A by D A D; a definite A stays definite. */
static void change_values(problem *p) {
  const tristar_view *v = &p->s.view;
  const int64_t *ptr = v->ptr;
  const int32_t *index = v->index;
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
      put(p->t, p->s.values, e, scale_of(j) * scale_of(index[e]) * get(p->t, p->s.values, e));
  release_rows(&p->s.rows);
  p->s.rows = take_rows(v, p->t->bytes, p->s.first, p->s.end, p->w->rank % 2);
}

static void must_name(const world *w, const char *text) {
  CHECK_ERROR(w->ts, text);
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* Returns op(A) X for all ops, one after the other. */
static char *all_products(const problem *p, tristar_dmatrix_t *d, const void *x) {
  const size_t bytes = (size_t)p->rows * COLUMNS * p->t->bytes;
  char *y = xmalloc(3 * bytes + 1), *own = take_vectors(&p->s, x);
  for (int op = 0; op < 3; op++)
    CHECK_OK(tristar_dmatrix_multiply(d, (tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op], COLUMNS, NULL,
                                      own, p->rows, NULL, y + (size_t)op * bytes, p->rows));
  free(own);
  return y;
}

static bool is_same(const problem *p, const char *a, const char *b) {
  return memcmp(a, b, 3 * (size_t)p->rows * COLUMNS * p->t->bytes) == 0;
}

/* before: the transposes and the contiguous rows exist before the update. */
static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t, bool before) {
  CLEANUP(close_problem) problem p = open_problem(w, kind, k, t);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *fresh;
  tristar_view view, diagonal, after;
  OWNED void *x = make_vectors(t, p.s.n, 5);
  if (before) {
    free(all_products(&p, p.d, x));
    CHECK_OK(tristar_dmatrix_get_view(p.d, &view));
    CHECK_OK(tristar_dmatrix_get_diagonal(p.d, &diagonal));
  }
  change_values(&p);
  CHECK_OK(tristar_dmatrix_update(p.d, &p.s.rows.view));
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &fresh));
  OWNED char *here = all_products(&p, p.d, x), *there = all_products(&p, fresh, x);
  CHECK(is_same(&p, here, there));
  check_view(t, &p.s.view, p.d);
  if (before) {
    CHECK_OK(tristar_dmatrix_get_view(p.d, &after));
    CHECK(after.values == view.values);
    CHECK_OK(tristar_dmatrix_get_diagonal(p.d, &after));
    CHECK(after.values == diagonal.values);
  }
}

/* The rows of a rank: a dense block on the diagonal. */
enum { BLOCK = 30 };
typedef struct dense_rows {
  int64_t ptr[BLOCK + 1];
  int32_t index[BLOCK * BLOCK];
  double values[BLOCK * BLOCK];
} dense_rows;

static tristar_view fill_dense(const world *w, bool symmetric, dense_rows *rows) {
  for (int i = 0; i < BLOCK; i++) {
    rows->ptr[i + 1] = (int64_t)BLOCK * (i + 1);
    for (int j = 0; j < BLOCK; j++) {
      rows->index[BLOCK * i + j] = BLOCK * w->rank + j;
      rows->values[BLOCK * i + j] = (i == j ? 100 : 1) + (symmetric ? i + j : i);
    }
  }
  return stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, BLOCK, (int64_t)BLOCK * w->ranks,
                     rows->ptr, rows->index, rows->values);
}

static size_t product_bytes(const tristar_krylov_t *k) {
  tristar_krylov_stats stats;
  CHECK_OK(tristar_krylov_get_stats(k, &stats));
  return stats.product_bytes;
}

/* Products read one triangle while the values are symmetric, else all rows. The statistics of a solver
 * created before have the bytes of the present products. */
static void check_halving(const world *w) {
  OWNED dense_rows *rows = xcalloc(1, sizeof *rows);
  double x[BLOCK], y[BLOCK];
  size_t bytes[4];
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d = NULL;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k = NULL;
  for (int i = 0; i < BLOCK; i++) x[i] = i - 3;
  for (int turn = 0; turn < 4; turn++) {
    const tristar_view view = fill_dense(w, turn % 2 == 0, rows);
    if (turn == 0)
      CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &d));
    else
      CHECK_OK(tristar_dmatrix_update(d, &view));
    if (turn == 0) CHECK_OK(tristar_dmatrix_krylov(d, NULL, &k));
    bytes[turn] = product_bytes(k);
    CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, x, BLOCK, NULL, y, BLOCK));
    for (int i = 0; i < BLOCK; i++) { /* integers: exact */
      double sum = 0;
      for (int j = 0; j < BLOCK; j++) sum += rows->values[BLOCK * i + j] * x[j];
      CHECK_MSG(y[i] == sum, "turn %d, row %d: %g, not %g", turn, i, y[i], sum);
    }
  }
  CHECK(bytes[0] < bytes[1] && bytes[2] == bytes[0] && bytes[3] == bytes[1]);
}

/* ---- Inverses ------------------------------------------------------------------------------------------ */

static tristar_precond_options options_of(int64_t steps, int power) {
  tristar_precond_options o = DEFAULTS(tristar_precond_options);
  o.kind = TRISTAR_PRECOND_FSAI;
  o.steps = steps;
  o.power = power;
  return o;
}

/* Returns this rank's rows of M^-1 X. alone: M of one process. */
static void *apply(const problem *p, tristar_precond_t *m, bool alone, const void *x) {
  const int64_t n = alone ? p->s.n : p->rows;
  char *b = alone ? NULL : take_vectors(&p->s, x), *y = xmalloc((size_t)n * COLUMNS * p->t->bytes + 1);
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, COLUMNS, alone ? x : b, n, y, n));
  free(b);
  if (!alone) return y;
  void *own = take_vectors(&p->s, y);
  free(y);
  return own;
}

static void check_near(const problem *p, void *x, void *y, double roundoff) {
  for (int64_t i = 0; i < p->rows * COLUMNS; i++) {
    const number a = get(p->t, x, i), b = get(p->t, y, i);
    CHECK_MSG(magnitude(a - b) <= 200 * roundoff * (1 + magnitude(b)), "row %d of column %d: %g, not %g",
              (int)(i % p->rows), (int)(i / p->rows), magnitude(a), magnitude(b));
  }
  free(x);
  free(y);
}

/* Compares with one process, whose rows have the same patterns, also for the first values. */
static void check_inverse(const world *w, const char *kind, int64_t k, const typed *t,
                          const tristar_precond_options *o) {
  CLEANUP(close_problem) problem p = open_problem(w, kind, k, t);
  const double roundoff = o->single ? typed_single.roundoff : t->roundoff;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m, *alone;
  tristar_precond_stats first, stats;
  OWNED void *x = make_vectors(t, p.s.n, 11);
  CHECK_OK(tristar_dmatrix_fsai(p.d, o, INT_MAX, &m));
  CHECK_OK(tristar_precond(w->ts, &p.s.view, o, &alone));
  CHECK_OK(tristar_precond_get_stats(m, &first));
  CHECK_OK(tristar_dmatrix_fsai_update(p.d, m));
  check_near(&p, apply(&p, m, false, x), apply(&p, alone, true, x), roundoff);
  for (int turn = 0; turn < 2; turn++) {
    change_values(&p);
    CHECK_OK(tristar_dmatrix_update(p.d, &p.s.rows.view));
    CHECK_OK(tristar_dmatrix_fsai_update(p.d, m));
    CHECK_OK(tristar_precond_update(alone, &p.s.view));
    check_near(&p, apply(&p, m, false, x), apply(&p, alone, true, x), roundoff);
  }
  CHECK_OK(tristar_precond_get_stats(m, &stats));
  CHECK(stats.updates == 3 && stats.nnz_lower == first.nnz_lower && stats.nnz == first.nnz);
  CHECK(stats.setup_seconds >= stats.symbolic_seconds && stats.numeric_seconds >= 0);
}

/* A solver continues with the new values of its matrix. */
static void check_solver(const world *w) {
  CLEANUP(close_problem) problem p = open_problem(w, "diffusion3d", 7, &typed_double);
  const tristar_precond_options o = options_of(5, 0);
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *cg;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  OWNED double *b = xcalloc((size_t)p.rows + 1, sizeof *b), *x = xcalloc((size_t)p.rows + 1, sizeof *x);
  for (int64_t i = 0; i < p.rows; i++) b[i] = 1;
  options.tolerance = 1e-9;
  options.norm = TRISTAR_NORM_RESIDUAL;
  CHECK_OK(tristar_dmatrix_fsai(p.d, &o, 3, &m));
  CHECK_OK(tristar_dmatrix_krylov(p.d, &options, &cg));
  for (int turn = 0; turn < 3; turn++) {
    tristar_krylov_result result;
    CHECK_OK(tristar_krylov_solve(cg, m, 1, b, p.rows, x, p.rows, &result));
    CHECK(result.converged && result.true_residual <= 2e-9);
    change_values(&p);
    CHECK_OK(tristar_dmatrix_update(p.d, &p.s.rows.view));
    CHECK_OK(tristar_dmatrix_fsai_update(p.d, m));
  }
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

enum { ROWS = 40 };

/* A tridiagonal matrix of n rows. All blocks but the last end `moved` rows later. */
typedef struct band {
  int64_t first, end, ptr[ROWS + 2];
  int32_t index[3 * ROWS + 3];
  double values[3 * ROWS + 3];
  tristar_view view;
} band;

/* special: a row with another diagonal entry and, if `missing`, without couplings. */
static void make_band(const world *w, int64_t n, int64_t moved, int64_t special, double diagonal,
                      bool missing, band *a) {
  *a = (band){.first = first_row(w, n, w->rank), .end = first_row(w, n, w->rank + 1)};
  if (a->first > 0 && a->first < n) a->first += moved;
  if (a->end > 0 && a->end < n) a->end += moved;
  int64_t count = 0;
  for (int64_t i = a->first; i < a->end; i++) {
    for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
      if (i != j && missing && (i == special || j == special)) continue;
      a->index[count] = (int32_t)j;
      a->values[count++] = i != j ? -1 : i == special ? diagonal : 3;
    }
    a->ptr[i - a->first + 1] = count;
  }
  a->view = stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, a->end - a->first, n, a->ptr, a->index,
                        a->values);
}

/* The special row is the first row of the last rank. */
static void check_errors(const world *w) {
  static band good, bad;
  const int64_t special = first_row(w, ROWS, w->ranks - 1) + (w->ranks == 1);
  const tristar_precond_options o = options_of(3, 0);
  const bool last = w->rank == w->ranks - 1;
  char place[64];
  double x[ROWS], y[ROWS], z[ROWS];
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  snprintf(place, sizeof place, "row %d,", (int)special);
  for (int i = 0; i < ROWS; i++) x[i] = 1 + 0.25 * (i % 5);
  make_band(w, ROWS, 0, special, 3, false, &good);
  const int64_t n = good.end - good.first;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &good.view, NULL, &d));
  CHECK_OK(tristar_dmatrix_fsai(d, &o, 3, &m));
  CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, x, ROWS, NULL, y, ROWS));
  make_band(w, ROWS, 0, special, NAN, false, &bad);
  CHECK_STATUS(tristar_dmatrix_update(d, &bad.view), TRISTAR_ERR_NOT_FINITE);
  make_band(w, ROWS, 0, special, 3, true, &bad);
  CHECK_STATUS(tristar_dmatrix_update(d, &bad.view), TRISTAR_ERR_STALE);
  must_name(w, "pattern");
  make_band(w, ROWS - 3, 0, special, 3, false, &bad);
  CHECK_STATUS(tristar_dmatrix_update(d, &bad.view), TRISTAR_ERR_STALE);
  if (w->ranks > 1) {
    make_band(w, ROWS, 1, special, 3, false, &bad);
    CHECK_STATUS(tristar_dmatrix_update(d, &bad.view), TRISTAR_ERR_STALE);
  }
  CHECK_STATUS(tristar_dmatrix_update(d, last ? NULL : &good.view), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_update(NULL, &good.view), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, x, ROWS, NULL, z, ROWS));
  CHECK(memcmp(y, z, (size_t)n * sizeof *y) == 0);
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, 1, x, ROWS, y, ROWS));

  make_band(w, ROWS, 0, special, -3, false, &bad);
  CHECK_OK(tristar_dmatrix_update(d, &bad.view));
  CHECK_STATUS(tristar_dmatrix_fsai_update(d, m), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  must_name(w, place);
  CHECK_STATUS(tristar_precond_apply(m, TRISTAR_N, 1, x, ROWS, z, ROWS), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_dmatrix_update(d, &good.view));
  CHECK_OK(tristar_dmatrix_fsai_update(d, m));
  CHECK_OK(tristar_precond_apply(m, TRISTAR_N, 1, x, ROWS, z, ROWS));
  for (int64_t i = 0; i < n; i++) CHECK(fabs(y[i] - z[i]) <= 1e-14);
}

/* Inverses of another matrix. */
static void check_other(const world *w) {
  static band a, b;
  const tristar_precond_options o = options_of(3, 0);
  const tristar_dmatrix_options single = {.size = sizeof single, .scalar = TRISTAR_SINGLE};
  const bool last = w->rank == w->ranks - 1;
  tristar_dmatrix_t *d, *other;
  tristar_precond_t *m, *jacobi;
  tristar_precond_options kind = DEFAULTS(tristar_precond_options);
  tristar_view diagonal;
  make_band(w, ROWS, 0, 0, 3, false, &a);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &a.view, NULL, &d));
  CHECK_OK(tristar_dmatrix_fsai(d, &o, 3, &m));
  CHECK_STATUS(tristar_dmatrix_fsai_update(NULL, m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_fsai_update(d, last ? NULL : m), TRISTAR_ERR_ARGUMENT);
  kind.kind = TRISTAR_PRECOND_JACOBI;
  CHECK_OK(tristar_dmatrix_get_diagonal(d, &diagonal));
  CHECK_OK(tristar_precond(w->ts, &diagonal, &kind, &jacobi));
  CHECK_STATUS(tristar_dmatrix_fsai_update(d, last ? jacobi : m), TRISTAR_ERR_ARGUMENT);
  must_name(w, "none of tristar_dmatrix_fsai");
  tristar_precond_destroy(&jacobi);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &a.view, &single, &other));
  CHECK_STATUS(tristar_dmatrix_fsai_update(other, m), TRISTAR_ERR_ARGUMENT);
  tristar_dmatrix_destroy(&other);
  for (int turn = 0; turn < 2; turn++) {
    make_band(w, turn ? ROWS : ROWS - 3, 0, 1, 3, true, &b);
    CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &b.view, NULL, &other));
    CHECK_STATUS(tristar_dmatrix_fsai_update(other, m), TRISTAR_ERR_STALE);
    must_name(w, turn ? "pattern" : "other rows");
    tristar_dmatrix_destroy(&other);
  }
  CHECK_OK(tristar_dmatrix_fsai_update(d, m));
  tristar_precond_destroy(&m);
  tristar_dmatrix_destroy(&d);
}

/* An allocation that fails on one rank gives all ranks the error, and no memory is lost. */
static void check_memory(const world *w) {
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 4, &typed_double);
  const tristar_precond_options o = options_of(3, 0);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  OWNED void *x = make_vectors(&typed_double, p.s.n, 2);
  OWNED char *y = all_products(&p, p.d, x);
  CHECK_OK(tristar_dmatrix_fsai(p.d, &o, 2, &m));
  CHECK_OK(tristar_dmatrix_update(p.d, &p.s.rows.view)); /* allocates the memory that is kept */
  CHECK_OK(tristar_dmatrix_fsai_update(p.d, m));
  allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
  failing.stride = 13;
  while (next_failure(&failing)) {
    tristar_status status = tristar_dmatrix_update(p.d, &p.s.rows.view);
    if (status == TRISTAR_OK) status = tristar_dmatrix_fsai_update(p.d, m);
    end_failure_everywhere(&failing, status);
  }
  CHECK(failing.count > 5);
  OWNED char *z = all_products(&p, p.d, x);
  CHECK(is_same(&p, y, z));
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                       &typed_complex_single};
  CLEANUP(close_world) world w = open_world();
  const tristar_precond_options adaptive = options_of(3, 0), fixed = options_of(0, 2);
  tristar_precond_options single = options_of(3, 1), filtered = options_of(3, 1), nodes = options_of(4, 0);
  single.single = 1;
  filtered.postfilter = 0.1;
  filtered.shift = 0.25;
  nodes.block = TRISTAR_PRECOND_BLOCK_AUTO;
  nodes.postfilter = 0.01;
  tristar_precond_options pair = filtered;
  pair.pair = TRISTAR_PAIR_AUTO;
  for (int t = 0; t < 4; t++) {
    RUN(check_inverse(&w, "convdiff3d", 5, types[t], &pair));
    RUN(check_matrix(&w, "poisson3d7", 4, types[t], t % 2 == 0));
    RUN(check_matrix(&w, "elasticity3d", 2, types[t], t % 2 == 1));
    RUN(check_inverse(&w, "poisson3d7", 5, types[t], &adaptive));
    RUN(check_inverse(&w, "poisson3d7", 4, types[t], &fixed));
  }
  RUN(check_inverse(&w, "diffusion3d", 5, &typed_double, &filtered));
  RUN(check_inverse(&w, "elasticity3d", w.ranks == 4 ? 5 : 6, &typed_double,
                    &nodes)); /* no rank divides a point */
  RUN(check_inverse(&w, "poisson3d7", 5, &typed_double, &single));
  RUN(check_matrix(&w, "poisson3d7", 1, &typed_double, true)); /* one row */
  RUN(check_inverse(&w, "poisson3d7", 1, &typed_double, &adaptive));
  RUN(check_halving(&w));
  RUN(check_solver(&w));
  RUN(check_errors(&w));
  RUN(check_other(&w));
  RUN(check_memory(&w));
  return 0;
}
