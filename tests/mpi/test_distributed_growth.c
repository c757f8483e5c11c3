/* Values on ranks that an old matching does not suit. With TRISTAR_GROWTH_MATCH tristar_distributed_factor
 * repeats the analysis, so that plain solves are accurate. Refactorizations return STALE on all ranks, and
 * still accept values that suit the matching. With TRISTAR_GROWTH_WARN factorizations proceed, as on one
 * process.
 *
 *   test_distributed_growth */
#include "tests/support/mpi/dmatrix.h"

enum { RING = 60, ENTRIES = 3 * RING };

/* Rows of a ring. The large entries of `old` are beside the diagonal, those of `new` on it: a matching for
 * `old` does not suit `new`. */
typedef struct problem {
  const typed *t;
  int32_t ptr[RING + 1], column[ENTRIES];
  number old[ENTRIES], new[ENTRIES]; /* large enough for all types */
  tristar_view view;
} problem;

static void make_problem(const typed *t, problem *q) {
  const double least = t->is_single ? 1e-5 : 1e-7;
  q->t = t;
  for (int i = 0, at = 0; i < RING; i++) {
    const double link = 0.3 + 0.01 * i;
    const number first[] = {1e-3, 100, link}, second[] = {5 + 0.01 * i, least, link};
    const int columns[] = {i, (i + 1) % RING, (i + 7) % RING};
    for (int k = 0; k < 3; k++, at++) {
      number turn = t->is_complex ? cos(0.1 * (i + k)) : 1;
      if (t->is_complex) __imag__ turn = sin(0.1 * (i + k));
      q->column[at] = columns[k];
      put(t, q->old, at, first[k] * turn);
      put(t, q->new, at, second[k] * turn);
    }
    q->ptr[i + 1] = at;
  }
  q->view = (tristar_view){TRISTAR_CSR, TRISTAR_GENERAL, t->scalar, RING, RING, q->ptr,
                           q->column,   q->old,          32,        32,   0};
}

/* Returns on all ranks the largest error of a plain solve whose solution is 1, 2, ... */
static double plain_error(const world *w, const problem *q, const number *values, tristar_op op,
                          tristar_distributed_t *d) {
  number sum[RING] = {0}, b[RING] = {0}, x[RING];
  double error = 0, all;
  for (int i = 0; i < RING; i++)
    for (int p = q->ptr[i]; p < q->ptr[i + 1]; p++) {
      const int j = q->column[p];
      const number entry = get(q->t, values, p), a = op == TRISTAR_C ? conj(entry) : entry;
      if (op == TRISTAR_N)
        sum[i] += a * (j + 1);
      else
        sum[j] += a * (i + 1);
    }
  const int64_t first = first_row(w, RING, w->rank), rows = first_row(w, RING, w->rank + 1) - first;
  const int64_t ld = rows > 0 ? rows : 1;
  for (int i = 0; i < rows; i++) put(q->t, b, i, sum[first + i]);
  CHECK_OK(tristar_distributed_solve(d, op, 1, b, ld, x, ld));
  for (int i = 0; i < rows; i++) error = larger_error(error, cabs(get(q->t, x, i) - (double)(first + i + 1)));
  MPI_Allreduce(&error, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void check_accurate(const world *w, const problem *q, const number *values, tristar_distributed_t *d) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  for (int o = 0; o < 3; o++) {
    const double error = plain_error(w, q, values, ops[o], d);
    CHECK_MSG(error < 1e5 * q->t->roundoff, "type %c, op %c: error %g", (char)q->t->scalar, (char)ops[o],
              error);
  }
}

static tristar_analysis_options options_of(tristar_growth growth) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.growth = growth;
  options.matching = TRISTAR_MATCHING_ON;
  return options;
}

static tristar_distributed_options layout_of(const world *w) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout.px = w->ranks;
  return options;
}

static double growth_of(const world *w, const tristar_distributed_t *d) {
  tristar_factor_stats stats = {.growth = 0};
  if (w->rank == 0) CHECK_OK(tristar_distributed_get_factor_stats(d, &stats, NULL));
  MPI_Bcast(&stats.growth, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return stats.growth;
}

static void set_rows(const world *w, tristar_distributed_t *d) {
  const int64_t first = first_row(w, RING, w->rank);
  CHECK_OK(tristar_distributed_set_rows(d, first, first_row(w, RING, w->rank + 1) - first));
}

/* Growth of a factor of one process, on rank 0. */
static double growth_alone(const world *w, const problem *q, tristar_analysis_t *an) {
  tristar_factor_stats stats = {.growth = 0};
  if (w->rank == 0) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
    CHECK_OK(tristar_factor(an, q->new, &factor));
    CHECK_OK(tristar_factor_get_stats(factor, &stats));
  }
  MPI_Bcast(&stats.growth, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return stats.growth;
}

/* Rank 0 has the matrix. */
static void check_of_one(const world *w, const problem *q, tristar_growth growth) {
  const tristar_analysis_options options = options_of(growth);
  const tristar_distributed_options layout = layout_of(w);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  tristar_distributed_t *d;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &q->view, &options, &an));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, an, w->rank == 0 ? q->new : NULL, &layout, &d));
  set_rows(w, d);
  if (growth == TRISTAR_GROWTH_MATCH) {
    CHECK_MSG(growth_of(w, d) < 10, "type %c: growth %g", (char)q->t->scalar, growth_of(w, d));
    check_accurate(w, q, q->new, d);
    CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? q->new : NULL));
    check_accurate(w, q, q->new, d);
  } else {
    const double alone = growth_alone(w, q, an);
    CHECK_MSG(growth_of(w, d) == alone, "type %c: growth %g, %g on one process", (char)q->t->scalar,
              growth_of(w, d), alone);
  }
  tristar_distributed_destroy(&d);
  /* A plan relies on the analysis. */
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, an, w->rank == 0 ? q->old : NULL, &layout, &d));
  set_rows(w, d);
  check_accurate(w, q, q->old, d);
  const tristar_status wanted = growth == TRISTAR_GROWTH_MATCH ? TRISTAR_ERR_STALE : TRISTAR_OK;
  CHECK_STATUS(tristar_distributed_refactor(d, w->rank == 0 ? q->new : NULL), wanted);
  if (wanted != TRISTAR_OK) {
    number b[RING] = {0}, x[RING];
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, b, RING, x, RING), TRISTAR_ERR_STALE);
  } else { /* the old matching does not suit them: pivots grow, and solves are refined */
    CHECK_MSG(growth_of(w, d) > 1000, "type %c: growth %g", (char)q->t->scalar, growth_of(w, d));
    check_accurate(w, q, q->new, d);
  }
  CHECK_OK(tristar_distributed_refactor(d, w->rank == 0 ? q->old : NULL));
  check_accurate(w, q, q->old, d);
  tristar_distributed_destroy(&d);
}

/* View of this rank's rows with the given values. */
static tristar_view rows_of(const world *w, const problem *q, const number *values, int32_t *ptr) {
  const int64_t first = first_row(w, RING, w->rank), rows = first_row(w, RING, w->rank + 1) - first;
  for (int i = 0; i <= rows; i++) ptr[i] = q->ptr[first + i] - q->ptr[first];
  tristar_view view = q->view;
  view.rows = rows;
  view.ptr = ptr;
  view.index = q->column + q->ptr[first];
  view.values = (const char *)values + (size_t)q->ptr[first] * q->t->bytes;
  return view;
}

/* All ranks have rows: tristar_dmatrix_factor computes a matching for the values that it factors. */
static void check_of_all(const world *w, const problem *q) {
  const tristar_analysis_options options = options_of(TRISTAR_GROWTH_MATCH);
  const tristar_distributed_options layout = layout_of(w);
  int32_t ptr[RING + 1];
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d, *anew;
  tristar_view rows = rows_of(w, q, q->old, ptr);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &rows, NULL, &matrix));
  CHECK_OK(tristar_dmatrix_factor(matrix, &options, &layout, &d));
  check_accurate(w, q, q->old, d);
  rows = rows_of(w, q, q->new, ptr);
  CHECK_OK(tristar_dmatrix_update(matrix, &rows));
  CHECK_STATUS(tristar_dmatrix_refactor(matrix, d), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_dmatrix_factor(matrix, &options, &layout, &anew));
  check_accurate(w, q, q->new, anew);
  rows = rows_of(w, q, q->old, ptr);
  CHECK_OK(tristar_dmatrix_update(matrix, &rows));
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  check_accurate(w, q, q->old, d);
}

int main(void) {
  const typed *types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};
  static problem q;
  CLEANUP(close_world) world w = open_world();
  for (int k = 0; k < 4; k++) {
    make_problem(types[k], &q);
    check_of_one(&w, &q, TRISTAR_GROWTH_MATCH);
    check_of_one(&w, &q, TRISTAR_GROWTH_WARN);
    check_of_all(&w, &q);
  }
  return 0;
}
