/* Sparse approximate inverses, of one factor and of two, of matrices whose rows are on all ranks. With enough
 * levels they equal the inverses of one process; with fewer levels the iterations stay near those of one
 * process; without levels they equal the inverses of the diagonal blocks.
 * An error of one rank is returned by all ranks, with the row number in the whole matrix. */
#include <limits.h>

#include "tests/support/mpi/dmatrix.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"

typedef struct problem {
  const world *w;
  shared_matrix s;
  tristar_dmatrix_t *d;
  int64_t rows;
} problem;

static problem open_symmetric(const world *w, const char *kind, int64_t k, const typed *t,
                              tristar_symmetry symmetry) {
  problem p = {.w = w, .s = share_matrix(w, kind, k, t, symmetry)};
  p.rows = p.s.end - p.s.first;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &p.d));
  return p;
}

static problem open_problem(const world *w, const char *kind, int64_t k, const typed *t) {
  return open_symmetric(w, kind, k, t, TRISTAR_HERMITIAN);
}

static void close_problem(problem *p) {
  tristar_dmatrix_destroy(&p->d);
  release_shared(&p->s);
}

static tristar_precond_options options_of(int64_t steps, int power) {
  tristar_precond_options o = DEFAULTS(tristar_precond_options);
  o.kind = TRISTAR_PRECOND_FSAI;
  o.steps = steps;
  o.power = power;
  return o;
}

static tristar_precond_options paired(tristar_precond_options o, tristar_pair pair) {
  o.pair = pair;
  return o;
}

/* ---- The inverse --------------------------------------------------------------------------------------- */

/* Returns this rank's rows of op(M)^-1 X, all columns. alone: M of one process, which has all rows. */
static void *apply(const problem *p, const tristar_precond_t *m, tristar_op op, bool alone, const void *x) {
  const shared_matrix *s = &p->s;
  const int64_t n = alone ? s->n : p->rows;
  char *b = alone ? NULL : take_vectors(s, x), *y = xmalloc((size_t)n * COLUMNS * s->t->bytes + 1);
  CHECK_OK(tristar_precond_apply((tristar_precond_t *)m, op, COLUMNS, alone ? x : b, n, y, n));
  free(b);
  if (!alone) return y;
  void *own = take_vectors(s, y);
  free(y);
  return own;
}

/* The order of sums of G^H y differs from one process, as each rank has a piece of them. */
static void check_same(const problem *p, const void *x, const void *y) {
  const typed *t = p->s.t;
  for (int64_t i = 0; i < p->rows * COLUMNS; i++) {
    const number a = get(t, x, i), b = get(t, y, i);
    CHECK_MSG(magnitude(a - b) <= 100 * t->roundoff * (1 + magnitude(b)), "row %d of column %d: %g, not %g",
              (int)(i % p->rows), (int)(i / p->rows), magnitude(a), magnitude(b));
  }
}

static void check_problem(const world *w, problem p, const char *kind, const tristar_precond_options *o) {
  const typed *t = p.s.t;
  const bool hermitian =
      p.s.view.symmetry == TRISTAR_HERMITIAN || (p.s.view.symmetry == TRISTAR_SYMMETRIC && !t->is_complex);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m, *alone;
  tristar_precond_stats stats, all;
  int64_t entries;
  OWNED void *x = make_vectors(t, p.s.n, 17);
  CHECK_OK(tristar_dmatrix_fsai(p.d, o, INT_MAX, &m));
  CHECK_OK(tristar_precond(w->ts, &p.s.view, o, &alone));
  CHECK_OK(tristar_precond_get_stats(m, &stats));
  CHECK_OK(tristar_precond_get_stats(alone, &all));
  CHECK(stats.kind == TRISTAR_PRECOND_FSAI && stats.n == p.rows && stats.scalar == t->scalar);
  MPI_Allreduce(&stats.nnz_lower, &entries, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK_MSG(entries == all.nnz_lower, "%s, type %c: %d entries, %d on one process", kind, (int)t->scalar,
            (int)entries, (int)all.nnz_lower);
  CHECK(stats.nnz_upper == (all.nnz_upper > 0 ? stats.nnz_lower : 0));
  CHECK((all.nnz_upper > 0) == (o->pair == TRISTAR_PAIR_ALWAYS || !hermitian));
  for (int op = 0; op < 3; op++) {
    const tristar_op name = (tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op];
    OWNED void *here = apply(&p, m, name, false, x), *there = apply(&p, alone, name, true, x),
               *again = apply(&p, m, name, false, x);
    check_same(&p, here, there);
    CHECK(memcmp(here, again, (size_t)p.rows * COLUMNS * t->bytes) == 0);
  }
  close_problem(&p);
}

static void check_all(const world *w, const char *kind, int64_t k, const typed *t,
                      const tristar_precond_options *o) {
  check_problem(w, open_problem(w, kind, k, t), kind, o);
}

/* In place: b and x are the same array. */
static void check_in_place(const world *w, tristar_pair pair) {
  const typed *t = &typed_complex_double;
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 5, t);
  const tristar_precond_options o = paired(options_of(3, 0), pair);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  OWNED void *x = make_vectors(t, p.s.n, 3);
  CHECK_OK(tristar_dmatrix_fsai(p.d, &o, 3, &m));
  for (int op = 0; op < 3; op++) {
    const tristar_op name = (tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op];
    OWNED void *apart = apply(&p, m, name, false, x), *b = take_vectors(&p.s, x);
    CHECK_OK(tristar_precond_apply(m, name, COLUMNS, b, p.rows, b, p.rows));
    CHECK(memcmp(b, apart, (size_t)p.rows * COLUMNS * t->bytes) == 0);
  }
}

/* ---- Iterations ---------------------------------------------------------------------------------------- */

/* Iterations of CG or BiCGSTAB to eight digits, b of ones. d NULL: on one process. */
static int64_t count_iterations(const problem *p, tristar_dmatrix_t *d, tristar_precond_t *m) {
  const int64_t n = d != NULL ? p->rows : p->s.n;
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result result;
  OWNED double *b = xcalloc((size_t)n + 1, sizeof *b), *x = xcalloc((size_t)n + 1, sizeof *x);
  for (int64_t i = 0; i < n; i++) b[i] = 1;
  options.method = p->s.view.symmetry == TRISTAR_GENERAL ? TRISTAR_KRYLOV_BICGSTAB : TRISTAR_KRYLOV_CG;
  options.tolerance = 1e-8;
  if (d != NULL)
    CHECK_OK(tristar_dmatrix_krylov(d, &options, &k));
  else
    CHECK_OK(tristar_krylov_create(p->w->ts, &p->s.view, &options, &k));
  CHECK_OK(tristar_krylov_solve(k, m, 1, b, n, x, n, &result));
  CHECK(result.converged);
  return result.iterations;
}

/* Three levels: within 2 % of one process. No levels: as many as for the diagonal blocks alone. */
static void check_levels(const world *w, const char *kind, int64_t k, int block) {
  CLEANUP(close_problem) problem p = open_problem(w, kind, k, &typed_double);
  tristar_precond_options o = paired(options_of(5, 0), TRISTAR_PAIR_AUTO);
  tristar_view diagonal;
  int64_t count[4];
  o.block = block;
  tristar_precond_t *m = NEW_PRECOND(w->ts, &p.s.view, &o);
  count[0] = count_iterations(&p, NULL, m);
  tristar_precond_destroy(&m);
  for (int levels = 3; levels >= 0; levels -= 3) {
    CHECK_OK(tristar_dmatrix_fsai(p.d, &o, levels, &m));
    count[levels == 3 ? 1 : 2] = count_iterations(&p, p.d, m);
    tristar_precond_destroy(&m);
  }
  CHECK_OK(tristar_dmatrix_get_diagonal(p.d, &diagonal));
  CHECK_OK(tristar_precond(w->ts, &diagonal, &o, &m));
  count[3] = count_iterations(&p, p.d, m);
  tristar_precond_destroy(&m);
  CHECK_MSG(llabs(count[1] - count[0]) <= 1 + count[0] / 50,
            "%s:%d: %d iterations, %d with three levels, %d without", kind, (int)k, (int)count[0],
            (int)count[1], (int)count[2]);
  CHECK(llabs(count[2] - count[3]) <= 1);
  if (w->rank == 0)
    printf("%s:%d on %d ranks: %d iterations on one, %d with three levels, %d with none\n", kind, (int)k,
           w->ranks, (int)count[0], (int)count[1], (int)count[2]);
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Three unknowns a point: if no boundary between ranks divides a point, G is that of one process. */
static void check_nodes(const world *w) {
  const int64_t k = w->ranks == 4 ? 5 : 6, n = 3 * k * (k + 1) * (k + 1);
  for (int r = 0; r <= w->ranks; r++) CHECK(first_row(w, n, r) % 3 == 0);
  for (int c = 0; c < 5; c++) {
    tristar_precond_options o = options_of(c == 2 ? 0 : 4, c);
    if (c == 4) o = options_of(5, 1);
    o.block = c % 2 == 0 ? 3 : TRISTAR_PRECOND_BLOCK_AUTO;
    o.per_step = c == 0 ? 4 : 3;
    o.postfilter = c == 4 ? 0.02 : 0;
    o.single = c == 1;
    check_all(w, "elasticity3d", k, c == 3 ? &typed_complex_double : &typed_double, &o);
  }
}

/* A pair has no nodes: the bits are those without `block`. */
static void check_pair_nodes(const world *w) {
  CLEANUP(close_problem) problem p = open_problem(w, "convdiff3d", 5, &typed_double);
  void *x = make_vectors(p.s.t, p.s.n, 7), *y[2];
  for (int k = 0; k < 2; k++) {
    tristar_precond_options o = paired(options_of(3, k), TRISTAR_PAIR_ALWAYS);
    for (int block = 0; block < 2; block++) {
      CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
      tristar_precond_stats stats;
      o.block = block == 0 ? 0 : k == 0 ? 3 : TRISTAR_PRECOND_BLOCK_AUTO;
      CHECK_OK(tristar_dmatrix_fsai(p.d, &o, 2, &m));
      CHECK_OK(tristar_dmatrix_fsai_update(p.d, m));
      CHECK_OK(tristar_precond_get_stats(m, &stats));
      CHECK(stats.nodes == 0 && stats.nnz_upper == stats.nnz_lower);
      y[block] = apply(&p, m, TRISTAR_N, false, x);
    }
    CHECK(memcmp(y[0], y[1], (size_t)p.rows * COLUMNS * sizeof(double)) == 0);
    free(y[0]);
    free(y[1]);
  }
  free(x);
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

static void must_name(const world *w, const char *text) {
  CHECK_ERROR(w->ts, text);
}

/* A tridiagonal general matrix of n rows, in blocks on the ranks; a function of (i, j) gives the entries. */
typedef double entry_at(int64_t i, int64_t j, int64_t special);

static tristar_status make_of(const world *w, int64_t n, entry_at *at, int64_t special,
                              const tristar_precond_options *o, int levels, tristar_precond_t **m) {
  const int64_t first = first_row(w, n, w->rank), end = first_row(w, n, w->rank + 1);
  OWNED int64_t *ptr = xcalloc((size_t)(end - first) + 1, sizeof *ptr);
  OWNED int32_t *index = xcalloc(3 * (size_t)(end - first) + 1, sizeof *index);
  OWNED double *values = xcalloc(3 * (size_t)(end - first) + 1, sizeof *values);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  for (int64_t i = first; i < end; i++) {
    ptr[i - first + 1] = ptr[i - first];
    for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
      const double a = at(i, j, special);
      if (a == 0) continue;
      index[ptr[i - first + 1]] = (int32_t)j;
      values[ptr[i - first + 1]++] = a;
    }
  }
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, end - first, n, ptr, index, values);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &d));
  const tristar_status status = tristar_dmatrix_fsai(d, o, levels, m);
  CHECK((status == TRISTAR_OK) == (*m != NULL));
  return status;
}

static double indefinite(int64_t i, int64_t j, int64_t special) {
  return i != j ? -1 : i == special ? -3 : 3;
}
static double no_diagonal(int64_t i, int64_t j, int64_t special) {
  return i != j ? -1 : i == special ? 0 : 3;
}
static double one_sided(int64_t i, int64_t j, int64_t special) {
  return i == j ? 3 : i == special && j == special - 1 ? 0 : -1;
}
static double unlike(int64_t i, int64_t j, int64_t special) {
  return i == j ? 3 : i == special && j == special - 1 ? -2 : -1;
}

/* The special row is the first row of the last rank, so that it couples two ranks. */
static void check_errors(const world *w) {
  const int64_t n = 40, special = first_row(w, n, w->ranks - 1) + (w->ranks == 1);
  const tristar_precond_options o = options_of(4, 0);
  char place[64];
  tristar_precond_t *m;
  for (int levels = 0; levels < 3; levels++) {
    snprintf(place, sizeof place, "row %d,", (int)special);
    CHECK_STATUS(make_of(w, n, indefinite, special, &o, levels, &m), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
    must_name(w, place);
    CHECK_STATUS(make_of(w, n, no_diagonal, special, &o, levels, &m), TRISTAR_ERR_SINGULAR);
    must_name(w, place);
    CHECK_STATUS(make_of(w, n, one_sided, special, &o, levels, &m), TRISTAR_ERR_ARGUMENT);
    must_name(w, "mirror image");
    if (levels == 0 && w->ranks > 1) continue; /* couplings of ranks are not used */
    CHECK_STATUS(make_of(w, n, unlike, special, &o, levels, &m), TRISTAR_ERR_ARGUMENT);
    must_name(w, "mirror images");
  }
}

/* Row `special` of a pair forms a system of two equal rows with the row before it; or entries have no mirror
 * images. */
static double dependent(int64_t i, int64_t j, int64_t special) {
  return i == j ? 3 : (i == special && j == i - 1) || (i == special - 1 && j == i + 1) ? 3 : -1;
}

static void check_pair_errors(const world *w) {
  const int64_t n = 40, special = first_row(w, n, w->ranks - 1) + (w->ranks == 1);
  const tristar_precond_options fixed = paired(options_of(0, 1), TRISTAR_PAIR_ALWAYS);
  const tristar_precond_options automatic = paired(options_of(4, 0), TRISTAR_PAIR_AUTO);
  char place[64];
  tristar_precond_t *m;
  snprintf(place, sizeof place, "row %d,", (int)special);
  CHECK_STATUS(make_of(w, n, dependent, special, &fixed, 1, &m), TRISTAR_ERR_SINGULAR);
  must_name(w, place);
  CHECK_STATUS(make_of(w, n, no_diagonal, special, &fixed, 1, &m), TRISTAR_ERR_SINGULAR);
  must_name(w, place);
  for (int k = 0; k < 2; k++) {
    tristar_precond_stats stats;
    int64_t upper;
    CHECK_OK(make_of(w, n, k ? one_sided : unlike, special, &automatic, 2, &m));
    CHECK_OK(tristar_precond_get_stats(m, &stats));
    MPI_Allreduce(&stats.nnz_upper, &upper, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(upper > n);
    tristar_precond_destroy(&m);
  }
}

static void check_arguments(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 4, &typed_double);
  tristar_precond_options o = options_of(3, 0);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  CHECK_STATUS(tristar_dmatrix_fsai(NULL, &o, 3, &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, 3, last ? NULL : &m), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, last ? -1 : 3, &m), TRISTAR_ERR_ARGUMENT);
  must_name(w, "levels");
  if (w->ranks > 1) {
    CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, last ? 2 : 3, &m), TRISTAR_ERR_ARGUMENT);
    must_name(w, "levels");
    o.reduction = last ? 0.5 : 0.25;
    CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, 3, &m), TRISTAR_ERR_ARGUMENT);
    must_name(w, "reduction");
    o = paired(options_of(3, 0), last ? TRISTAR_PAIR_AUTO : TRISTAR_PAIR_NEVER);
    CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, 3, &m), TRISTAR_ERR_ARGUMENT);
    must_name(w, "pair");
  }
  o = options_of(3, last ? -1 : 0);
  CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, 3, &m), TRISTAR_ERR_ARGUMENT);
  o = options_of(3, 0);
  o.kind = TRISTAR_PRECOND_IC;
  CHECK_STATUS(tristar_dmatrix_fsai(p.d, &o, 3, &m), TRISTAR_ERR_ARGUMENT);
  CHECK(m == NULL);
  CHECK_OK(tristar_dmatrix_fsai(p.d, NULL, 3, &m));
  CHECK_STATUS(tristar_precond_update(m, &p.s.rows.view), TRISTAR_ERR_UNSUPPORTED);
}

/* An allocation that fails on one rank gives all ranks the error, and no memory is lost. */
static void check_memory(const world *w, const char *kind, int64_t k, int block) {
  CLEANUP(close_problem) problem p = open_problem(w, kind, k, &typed_double);
  tristar_precond_options o = paired(options_of(3, 2), TRISTAR_PAIR_AUTO);
  tristar_precond_t *m;
  o.block = block;
  CHECK_OK(tristar_dmatrix_fsai(p.d, &o, 2, &m)); /* the matrix keeps some memory */
  tristar_precond_destroy(&m);
  allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
  failing.stride = 13;
  while (next_failure(&failing)) {
    end_failure_everywhere(&failing, tristar_dmatrix_fsai(p.d, &o, 2, &m));
    tristar_precond_destroy(&m);
  }
  CHECK(failing.count > 5);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_single, &typed_single,
                                       &typed_complex_double};
  CLEANUP(close_world) world w = open_world();
  const tristar_precond_options adaptive = options_of(4, 0), both = options_of(2, 1);
  const tristar_precond_options pair = paired(adaptive, TRISTAR_PAIR_AUTO);
  tristar_precond_options fixed = options_of(0, 2), filtered = options_of(3, 1), single = options_of(3, 0);
  filtered.prefilter = 0.01;
  filtered.postfilter = 0.1;
  filtered.shift = 0.25;
  single.single = 1;
  RUN(check_all(&w, "poisson3d7", 6, &typed_double, &adaptive));
  RUN(check_all(&w, "poisson3d7", 6, &typed_double, &fixed));
  RUN(check_all(&w, "diffusion3d", 6, &typed_double, &both));
  RUN(check_all(&w, "elasticity3d", 3, &typed_double, &adaptive));
  RUN(check_all(&w, "poisson3d7", 5, &typed_double, &filtered));
  RUN(check_all(&w, "poisson3d7", 5, &typed_double, &single));
  RUN(check_all(&w, "poisson3d7", 5, &typed_single, &adaptive));
  RUN(check_all(&w, "poisson3d7", 5, &typed_complex_single, &both));
  RUN(check_all(&w, "poisson3d7", 5, &typed_complex_double, &fixed));
  RUN(check_all(&w, "poisson3d7", 1, &typed_double, &adaptive)); /* one row */
  for (int t = 0; t < (TSI_TESTS_SANITIZED ? 2 : 4); t++) {      /* the other types have the same code */
    const tristar_precond_options always = paired(adaptive, TRISTAR_PAIR_ALWAYS);
    RUN(check_all(&w, "convdiff3d", 5, types[t], &pair));
    RUN(check_all(&w, "poisson3d7", 4, types[t], &always));
  }
  RUN(check_all(&w, "circuit", 200, &typed_double, &pair));
  RUN(check_all(&w, "fusion2d", 3, &typed_double, &pair));
  RUN(check_problem(&w, open_symmetric(&w, "poisson3d7", 4, &typed_complex_double, TRISTAR_SYMMETRIC),
                    "complex symmetric", &pair));
  fixed.pair = filtered.pair = single.pair = TRISTAR_PAIR_AUTO;
  RUN(check_all(&w, "circuit", 150, &typed_double, &fixed));
  RUN(check_all(&w, "convdiff3d", 5, &typed_double, &filtered));
  RUN(check_all(&w, "convdiff3d", 5, &typed_complex_double, &single));
  RUN(check_in_place(&w, TRISTAR_PAIR_NEVER));
  RUN(check_in_place(&w, TRISTAR_PAIR_ALWAYS));
  RUN(check_levels(&w, "poisson3d7", 10, 0));
  RUN(check_levels(&w, "diffusion3d", 8, 0));
  RUN(check_levels(&w, "convdiff3d", 10, 0));
  RUN(check_levels(&w, "elasticity3d", 4, TRISTAR_PRECOND_BLOCK_AUTO));
  RUN(check_nodes(&w));
  RUN(check_pair_nodes(&w));
  RUN(check_errors(&w));
  RUN(check_pair_errors(&w));
  RUN(check_arguments(&w));
  RUN(check_memory(&w, "poisson3d7", 4, 0));
  RUN(check_memory(&w, "poisson3d7", 4, 4));
  RUN(check_memory(&w, "convdiff3d", 4, 0));
  return 0;
}
