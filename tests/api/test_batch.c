/* Systems of one pattern (tristar_batch.h): every solution is held against its system, in double precision of
 * the test: all scalars, symmetries and operations; systems that the common pivots do not suit; bits that
 * depend on nothing but the system; what a call refuses. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_batch.h"
#include "tristar_forecast.h"
#include "tristar_machine.h"

enum { N = 90, EACH = 5, NRHS = 2, MOST = N * (EACH + 3) };

/* A pattern in compressed columns or rows, possibly with duplicates. */
typedef struct pattern {
  int n;
  tristar_format format;
  tristar_symmetry symmetry;
  double diagonal; /* mean of the diagonal entries */
  int32_t ptr[N + 1], index[MOST];
} pattern;

/* Column j has its diagonal entry and EACH others near it. twice: some entries are stored twice. */
static pattern make_pattern(int n, tristar_format format, tristar_symmetry symmetry, bool twice) {
  pattern p = {.n = n, .format = format, .symmetry = symmetry, .diagonal = 3};
  int at = 0;
  for (int j = 0; j < n; j++) {
    p.ptr[j] = at;
    p.index[at++] = j;
    for (int k = 1; k <= EACH; k++) {
      const int i = (j + k * k * 3 + 1) % n;
      if (i == j || (symmetry != TRISTAR_GENERAL && i < j)) continue;
      p.index[at++] = i;
      if (twice && k == 2) p.index[at++] = i;
    }
  }
  p.ptr[n] = at;
  return p;
}

static tristar_view view_of(const typed *t, const pattern *p, const void *values) {
  tristar_view v = DEFAULTS(tristar_view);
  v.format = p->format;
  v.symmetry = p->symmetry;
  v.scalar = t->scalar;
  v.rows = v.cols = p->n;
  v.ptr = p->ptr;
  v.index = p->index;
  v.values = values;
  return v;
}

/* The pattern of symmetric matrices whose diagonal has this size and dominates the rows. */
static pattern make_definite(tristar_symmetry symmetry, double diagonal, bool twice) {
  pattern p = make_pattern(N - 1, TRISTAR_CSC, symmetry, twice);
  p.diagonal = diagonal;
  return p;
}

/* Fills in the values of system s. Off-diagonal entries are of size 1. */
static void fill_values(const typed *t, const pattern *p, uint64_t s, void *values) {
  for (int j = 0; j < p->n; j++)
    for (int e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      number x = random_value(s * 10007 + (uint64_t)e + 5);
      const bool diagonal = p->index[e] == j;
      if (diagonal) x += p->diagonal;
      if (diagonal && p->symmetry == TRISTAR_HERMITIAN) __imag__ x = 0;
      put(t, values, e, x);
    }
}

/* Returns the largest componentwise backward error of op(A) x = b. */
static double system_error(const typed *t, const pattern *p, const void *values, tristar_op op, const void *b,
                           const void *x) {
  number r[N];
  double bound[N], worst = 0;
  for (int i = 0; i < p->n; i++) {
    r[i] = get(t, b, i);
    bound[i] = cabs(r[i]);
  }
  for (int line = 0; line < p->n; line++)
    for (int e = p->ptr[line]; e < p->ptr[line + 1]; e++) {
      const int other = p->index[e];
      const int i = p->format == TRISTAR_CSC ? other : line, j = p->format == TRISTAR_CSC ? line : other;
      for (int image = 0; image < (p->symmetry != TRISTAR_GENERAL && i != j ? 2 : 1); image++) {
        number a = get(t, values, e);
        if (image) a = mirrored(p->symmetry, a);
        if (op == TRISTAR_C) a = conj(a);
        const int to = (op == TRISTAR_N) == !image ? i : j, from = to == i ? j : i;
        r[to] -= a * get(t, x, from);
        bound[to] += cabs(a) * cabs(get(t, x, from));
      }
    }
  for (int i = 0; i < p->n; i++) worst = fmax(worst, cabs(r[i]) / bound[i]);
  return worst;
}

typedef struct systems {
  pattern p;
  int count, stride; /* stride of the values, in scalars */
  char *values, *b, *x;
  double *errors;
  tristar_status *status;
} systems;

static systems make_systems(const typed *t, pattern p, int count, uint64_t seed) {
  systems s = {.p = p, .count = count, .stride = p.ptr[p.n] + 3};
  const size_t vectors = (size_t)(count * NRHS * p.n);
  s.values = xcalloc((size_t)(count * s.stride), t->bytes);
  s.b = xcalloc(vectors, t->bytes);
  s.x = xcalloc(vectors, t->bytes);
  s.errors = xcalloc((size_t)count, sizeof *s.errors);
  s.status = xcalloc((size_t)count, sizeof *s.status);
  for (int k = 0; k < count; k++)
    fill_values(t, &p, seed + (uint64_t)k, s.values + (size_t)(k * s.stride) * t->bytes);
  for (size_t i = 0; i < vectors; i++) put(t, s.b, (int64_t)i, random_value(seed + i + 99));
  return s;
}

static void release_systems(systems *s) {
  free(s->values);
  free(s->b);
  free(s->x);
  free(s->errors);
  free(s->status);
}

static void *values_of(const typed *t, const systems *s, int k) {
  return s->values + (size_t)(k * s->stride) * t->bytes;
}

static tristar_batch_t *batch_of(tristar_t *ts, const typed *t, const systems *s,
                                 const tristar_batch_options *options) {
  const tristar_view v = view_of(t, &s->p, s->values);
  tristar_batch_t *batch;
  CHECK_OK(tristar_batch(ts, &v, options, &batch));
  return batch;
}

static tristar_status factor_solve(tristar_batch_t *batch, const systems *s, tristar_op op) {
  const int n = s->p.n;
  return tristar_batch_factor_solve(batch, s->count, s->values, s->stride, op, NRHS, s->b, n, NRHS * n, s->x,
                                    n, NRHS * n, s->errors, s->status);
}

/* Returns the error bound of solutions with the default options. */
static double passes(const typed *t) {
  return 2 * pow(2 * t->roundoff, 0.75);
}

/* Checks the solutions of all systems but `except`. */
static void check_solutions(const typed *t, const systems *s, tristar_op op, double most, int except) {
  for (int k = 0; k < s->count; k++) {
    if (k == except) continue;
    CHECK_MSG(s->status[k] == TRISTAR_OK, "system %d: %s", k, tristar_status_name(s->status[k]));
    for (int c = 0; c < NRHS; c++) {
      const size_t at = (size_t)((k * NRHS + c) * s->p.n) * t->bytes;
      const double error = system_error(t, &s->p, values_of(t, s, k), op, s->b + at, s->x + at);
      CHECK_MSG(error <= most, "system %d, op %c: error %.1e", k, (char)op, error);
    }
    CHECK(s->errors[k] <= most);
  }
}

/* ---- All kinds ----------------------------------------------------------------------------------------- */

static void check_kind(tristar_t *ts, const typed *t, tristar_method method, tristar_ordering ordering,
                       const pattern *p, bool twice) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const double most = 40 * t->roundoff;
  tristar_batch_options options = DEFAULTS(tristar_batch_options);
  CLEANUP(release_systems)
  systems s = make_systems(t, *p, 37, 3);
  const int n = s.p.n;
  options.tolerance = most;
  options.method = method;
  options.ordering = ordering;
  /* The pivots of METIS suit all of these systems, those of the default ordering nearly all. */
  const int64_t most_apart = ordering == TRISTAR_ORDERING_METIS ? 0 : s.count / 10;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, &options);
  tristar_batch_stats stats;
  const size_t bytes = (size_t)(s.count * NRHS * n) * t->bytes;
  OWNED char *kept = xcalloc(bytes, 1);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(factor_solve(batch, &s, ops[k]));
    check_solutions(t, &s, ops[k], 2 * most, -1); /* the library measures complex numbers by |Re| + |Im| */
    CHECK_OK(tristar_batch_get_stats(batch, &stats));
    CHECK_MSG(stats.apart <= most_apart, "%lld systems by themselves, ordering %d", (long long)stats.apart,
              (int)ordering);
    /* the same in place, with factors that are kept */
    memcpy(kept, s.b, bytes);
    CHECK_OK(tristar_batch_factor(batch, s.count, s.values, s.stride, s.status));
    CHECK_OK(tristar_batch_solve(batch, ops[k], NRHS, kept, n, NRHS * n, kept, n, NRHS * n, NULL, NULL));
    CHECK(memcmp(kept, s.x, bytes) == 0);
  }
  CHECK(stats.n == n && stats.lanes == (t->is_single ? 16 : 8) && stats.nnz >= s.p.ptr[n] - (twice ? n : 0));
  CHECK(stats.method == (method == TRISTAR_METHOD_LU ? method : TRISTAR_METHOD_LDLT));
  CHECK(stats.nnz_factor >= (method == TRISTAR_METHOD_LU ? stats.nnz : (stats.nnz + n) / 2));
  CHECK(stats.flops > 0 && stats.group_bytes > 0);
}

static void check_lu(tristar_t *ts, const typed *t, tristar_ordering ordering, tristar_symmetry symmetry,
                     tristar_format format, bool twice) {
  const pattern p = make_pattern(N - (int)symmetry, format, symmetry, twice);
  check_kind(ts, t, TRISTAR_METHOD_LU, ordering, &p, twice);
}

/* L D L^T with positive definite, negative definite and complex symmetric systems. */
static void check_ldlt(tristar_t *ts, const typed *t, tristar_ordering ordering, tristar_symmetry symmetry,
                       bool twice) {
  const pattern p = make_definite(symmetry, 40, twice), q = make_definite(symmetry, -40, twice);
  check_kind(ts, t, TRISTAR_METHOD_LDLT, ordering, &p, twice);
  check_kind(ts, t, TRISTAR_METHOD_AUTO, ordering, &q, twice);
  if (!t->is_complex || symmetry == TRISTAR_HERMITIAN)
    check_kind(ts, t, TRISTAR_METHOD_LLT, ordering, &p, twice);
}

static void check_kinds(tristar_t *ts, const typed *t, tristar_ordering ordering) {
  check_lu(ts, t, ordering, TRISTAR_GENERAL, TRISTAR_CSC, false);
  check_lu(ts, t, ordering, TRISTAR_GENERAL, TRISTAR_CSR, true);
  check_lu(ts, t, ordering, TRISTAR_SYMMETRIC, TRISTAR_CSC, true);
  if (t->is_complex) check_lu(ts, t, ordering, TRISTAR_HERMITIAN, TRISTAR_CSC, false);
  check_ldlt(ts, t, ordering, TRISTAR_SYMMETRIC, true);
  if (t->is_complex) check_ldlt(ts, t, ordering, TRISTAR_HERMITIAN, false);
}

/* L D L^T stores half the factors and needs about half the operations. The solutions equal those of L U up
 * to rounding errors. */
static void check_half(tristar_t *ts, const typed *t) {
  tristar_batch_options options = DEFAULTS(tristar_batch_options);
  tristar_batch_stats lu, ldlt;
  CLEANUP(release_systems) systems s = make_systems(t, make_definite(TRISTAR_SYMMETRIC, 40, false), 21, 5);
  const size_t scalars = (size_t)(s.count * NRHS * s.p.n);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, &options);
  CHECK_OK(factor_solve(batch, &s, TRISTAR_N));
  OWNED char *x = xmalloc(scalars * t->bytes);
  memcpy(x, s.x, scalars * t->bytes);
  CHECK_OK(tristar_batch_get_stats(batch, &lu));
  options.method = TRISTAR_METHOD_LDLT;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *half = batch_of(ts, t, &s, &options);
  CHECK_OK(factor_solve(half, &s, TRISTAR_N));
  CHECK_OK(tristar_batch_get_stats(half, &ldlt));
  for (size_t i = 0; i < scalars; i++)
    CHECK(cabs(get(t, x, (int64_t)i) - get(t, s.x, (int64_t)i)) <= 100 * t->roundoff);
  CHECK(ldlt.group_bytes < lu.group_bytes && ldlt.apart == 0);
  CHECK_MSG(ldlt.flops < 0.7 * lu.flops, "%.0f operations, L U %.0f", ldlt.flops, lu.flops);
}

/* One system is indefinite: an error for L L^T, but not for L D L^T. Then it also has zero pivots, so it is
 * solved separately. */
static void check_definite(tristar_t *ts, const typed *t, tristar_symmetry symmetry) {
  enum { BAD = 6, COLUMN = 30 };
  tristar_batch_options options = DEFAULTS(tristar_batch_options);
  tristar_batch_stats stats;
  CLEANUP(release_systems) systems s = make_systems(t, make_definite(symmetry, 40, false), 19, 7);
  options.method = TRISTAR_METHOD_LLT;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *llt = batch_of(ts, t, &s, &options);
  options.method = TRISTAR_METHOD_LDLT;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *ldlt = batch_of(ts, t, &s, &options);
  put(t, values_of(t, &s, BAD), s.p.ptr[COLUMN], -40);
  CHECK_STATUS(factor_solve(llt, &s, TRISTAR_N), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  CHECK(s.status[BAD] == TRISTAR_ERR_NOT_POSITIVE_DEFINITE && isinf(s.errors[BAD]));
  check_solutions(t, &s, TRISTAR_N, passes(t), BAD);
  CHECK_OK(factor_solve(ldlt, &s, TRISTAR_N));
  check_solutions(t, &s, TRISTAR_N, passes(t), -1);
  CHECK_OK(tristar_batch_get_stats(ldlt, &stats));
  CHECK(stats.apart == 0);
  for (int j = 0; j < s.p.n; j++) put(t, values_of(t, &s, BAD), s.p.ptr[j], 0);
  CHECK_OK(factor_solve(ldlt, &s, TRISTAR_N));
  check_solutions(t, &s, TRISTAR_N, passes(t), -1);
  CHECK_OK(tristar_batch_get_stats(ldlt, &stats));
  CHECK(stats.apart == 1);
}

/* ---- Bits ---------------------------------------------------------------------------------------------- */

/* A system has the same bits alone and among others, with any engine and any number of workers. */
static void check_bits(tristar_t *ts, tristar_t *parallel, const typed *t, tristar_method method) {
  tristar_batch_options options = DEFAULTS(tristar_batch_options);
  CLEANUP(release_systems)
  systems s = make_systems(t,
                           method == TRISTAR_METHOD_LU ? make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false)
                                                       : make_definite(TRISTAR_SYMMETRIC, 40, false),
                           53, 8);
  const int n = s.p.n;
  const size_t each = (size_t)(NRHS * n) * t->bytes;
  OWNED char *first = xcalloc((size_t)s.count, each);
  options.method = method;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, &options);
  /* one system needs refinement, which must not change the others */
  for (int i = 0; i < n && method == TRISTAR_METHOD_LU; i++) put(t, values_of(t, &s, 20), s.p.ptr[i], 1e-3);
  CHECK_OK(factor_solve(batch, &s, TRISTAR_N));
  check_solutions(t, &s, TRISTAR_N, t->is_single ? 1e-5 : 1e-11, -1);
  memcpy(first, s.x, (size_t)s.count * each);
  for (int k = 0; k < s.count; k += 4) {
    systems alone = s;
    alone.count = 1;
    alone.values = values_of(t, &s, k);
    alone.b = s.b + (size_t)k * each;
    CHECK_OK(factor_solve(batch, &alone, TRISTAR_N));
    CHECK_MSG(memcmp(s.x, first + (size_t)k * each, each) == 0, "system %d alone has other bits", k);
  }
  options.engine = TRISTAR_ENGINE_TASKS;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *tasks = batch_of(parallel, t, &s, &options);
  for (int repeat = 0; repeat < 5; repeat++) {
    CHECK_OK(factor_solve(tasks, &s, TRISTAR_N));
    CHECK(memcmp(s.x, first, (size_t)s.count * each) == 0);
  }
}

/* ---- Systems of other kinds ---------------------------------------------------------------------------- */

/* In-place solves have the same bits. factors: solves with kept factors, else factors and solves in one
 * call. */
static void check_in_place(tristar_batch_t *batch, const typed *t, const systems *s, tristar_op op,
                           bool factors) {
  const int n = s->p.n;
  const size_t bytes = (size_t)(s->count * NRHS * n) * t->bytes;
  char *place = xcalloc(bytes, 1);
  memcpy(place, s->b, bytes);
  if (factors)
    CHECK_OK(tristar_batch_solve(batch, op, NRHS, place, n, NRHS * n, place, n, NRHS * n, NULL, NULL));
  else
    CHECK_OK(tristar_batch_factor_solve(batch, s->count, s->values, s->stride, op, NRHS, place, n, NRHS * n,
                                        place, n, NRHS * n, NULL, NULL));
  CHECK(memcmp(place, s->x, bytes) == 0);
  free(place);
}

/* Some systems have zero or tiny pivots where the typical values have none. They are solved separately. */
static void check_other_pivots(tristar_t *ts, const typed *t) {
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 20, 21);
  const int n = s.p.n;
  tristar_batch_stats stats;
  for (int i = 0; i < n; i++) {
    put(t, values_of(t, &s, 3), s.p.ptr[i], 0);
    put(t, values_of(t, &s, 11), s.p.ptr[i], t->is_single ? 1e-12 : 1e-25);
  }
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, NULL);
  CHECK_OK(factor_solve(batch, &s, TRISTAR_N));
  CHECK_OK(tristar_batch_get_stats(batch, &stats));
  CHECK_MSG(stats.apart >= 2, "%lld systems by themselves", (long long)stats.apart);
  check_solutions(t, &s, TRISTAR_N, passes(t), -1);
  check_in_place(batch, t, &s, TRISTAR_N, false);
  CHECK_OK(tristar_batch_factor(batch, s.count, s.values, s.stride, s.status));
  for (int repeat = 0; repeat < 2; repeat++) {
    memset(s.x, 0, (size_t)(s.count * NRHS * n) * t->bytes);
    CHECK_OK(
        tristar_batch_solve(batch, TRISTAR_T, NRHS, s.b, n, NRHS * n, s.x, n, NRHS * n, s.errors, s.status));
    check_solutions(t, &s, TRISTAR_T, passes(t), -1);
  }
  check_in_place(batch, t, &s, TRISTAR_T, true);
}

/* Cancels a phase. */
static int cancel(void *phase, const tristar_progress_point *point) {
  return point->phase == *(tristar_phase *)phase;
}

/* The diagonal of a system is zero, but its front has other pivots: it is not analyzed again. */
static void check_same_analysis(tristar_t *ts, const typed *t) {
  enum { M = 3 };
  static const int64_t ptr[] = {0, 3, 6, 9};
  static const int32_t index[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  static tristar_phase analysis = TRISTAR_PHASE_ANALYSIS;
  char values[M * M * sizeof(number)], b[M * sizeof(number)], x[M * sizeof(number)];
  tristar_batch_stats stats;
  for (int e = 0; e < M * M; e++) put(t, values, e, e % (M + 1) == 0 ? 4 : 1);
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, M, M, ptr, index, values);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  for (int i = 0; i < M; i++) {
    put(t, values, i * (M + 1), 0);
    put(t, b, i, 5 - i); /* x = 1, 2, 3 */
  }
  CHECK_OK(tristar_set_progress(ts, cancel, &analysis));
  CHECK_OK(tristar_batch_factor_solve(batch, 1, values, M * M, TRISTAR_N, 1, b, M, M, x, M, M, NULL, NULL));
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK_OK(tristar_batch_get_stats(batch, &stats));
  CHECK(stats.apart == 1);
  for (int i = 0; i < M; i++)
    CHECK_MSG(cabs(get(t, x, i) - (i + 1)) <= 16 * t->roundoff, "x[%d] = %g", i, creal(get(t, x, i)));
}

/* One system cannot be solved. It gets the error status and NaN, all others their solutions. */
static void check_breakdown(tristar_t *ts, const typed *t, tristar_status expected) {
  enum { BAD = 6 };
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 11, 33);
  const int n = s.p.n, column = 17;
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, NULL);
  for (int e = s.p.ptr[column]; e < s.p.ptr[column + 1]; e++)
    put(t, values_of(t, &s, BAD), e, expected == TRISTAR_ERR_SINGULAR ? 0 : (double)NAN);
  CHECK_STATUS(factor_solve(batch, &s, TRISTAR_N), expected);
  CHECK_ERROR(ts, "system 6 of 11, counted from 0");
  CHECK(s.status[BAD] == expected && isinf(s.errors[BAD]));
  for (int i = 0; i < n * NRHS; i++) CHECK(isnan(creal(get(t, s.x, BAD * n * NRHS + i))));
  check_solutions(t, &s, TRISTAR_N, passes(t), BAD);
  CHECK_STATUS(tristar_batch_factor(batch, s.count, s.values, s.stride, s.status), expected);
  CHECK(s.status[BAD] == expected && s.status[0] == TRISTAR_OK);
  CHECK_STATUS(
      tristar_batch_solve(batch, TRISTAR_N, NRHS, s.b, n, NRHS * n, s.x, n, NRHS * n, s.errors, s.status),
      TRISTAR_ERR_STALE);
  check_solutions(t, &s, TRISTAR_N, passes(t), BAD);
}

/* A call that fails or is cancelled: systems without a solution get its status and an infinite error.
 * Cancelling in the plan phase only affects the systems that are solved separately. */
static void check_ended(tristar_t *ts, const typed *t) {
  static tristar_phase factor = TRISTAR_PHASE_FACTOR, plan = TRISTAR_PHASE_PLAN;
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 20, 21);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, NULL);
  for (int i = 0; i < N; i++)
    for (int k = 3; k <= 11; k += 8) put(t, values_of(t, &s, k), s.p.ptr[i], 0);
  for (int way = 0; way < 3; way++) {
    const tristar_status expected = way == 0 ? TRISTAR_ERR_MEMORY : TRISTAR_ERR_CANCELLED;
    for (int keeps = 0; keeps < 2; keeps++) {
      tristar_batch_stats stats;
      CHECK_OK(tristar_batch_factor(batch, 2, s.values, s.stride, NULL));
      if (way == 0)
        CHECK_OK(tristar_fail_allocation(ts, 1));
      else
        CHECK_OK(tristar_set_progress(ts, cancel, way == 1 ? &factor : &plan));
      CHECK_STATUS(keeps ? tristar_batch_factor(batch, s.count, s.values, s.stride, s.status)
                         : factor_solve(batch, &s, TRISTAR_N),
                   expected);
      CHECK_OK(tristar_fail_allocation(ts, 0));
      CHECK_OK(tristar_set_progress(ts, NULL, NULL));
      CHECK_OK(tristar_batch_get_stats(batch, &stats));
      CHECK(stats.systems == (keeps ? 0 : 2));
      for (int k = 0; k < s.count; k++) {
        const bool solved = way == 2 && !keeps && k != 3 && k != 11;
        CHECK_MSG(s.status[k] == (solved ? TRISTAR_OK : expected), "way %d, system %d: %s", way, k,
                  tristar_status_name(s.status[k]));
        CHECK(keeps || (isinf(s.errors[k]) != 0) == !solved);
      }
    }
  }
}

/* Each allocation fails in turn, also those of systems that are factored by themselves. The first of these
 * has NaN, which does not hide the later failure. The call fails as a whole, or does without the memory. */
static void check_no_memory(tristar_t *ts, const typed *t) {
  enum { BAD = 3, APART = 7, UNUSED = 30 };
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 9, 21);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, NULL);
  put(t, values_of(t, &s, BAD), 0, NAN);
  for (int i = 0; i < N; i++) put(t, values_of(t, &s, APART), s.p.ptr[i], 0);
  for (int keeps = 0; keeps < 2; keeps++) {
    int failed = 0;
    for (int k = 1, unused = 0; unused < UNUSED; k++) {
      tristar_batch_stats stats;
      CHECK_OK(tristar_fail_allocation(ts, k));
      const tristar_status result = keeps ? tristar_batch_factor(batch, s.count, s.values, s.stride, s.status)
                                          : factor_solve(batch, &s, TRISTAR_N);
      CHECK_OK(tristar_fail_allocation(ts, 0));
      CHECK_OK(tristar_batch_get_stats(batch, &stats));
      const bool ended = result == TRISTAR_ERR_MEMORY;
      CHECK_MSG(ended || result == TRISTAR_ERR_NOT_FINITE, "allocation %d: %s", k,
                tristar_status_name(result));
      CHECK_MSG(stats.systems == (keeps && !ended ? s.count : 0), "allocation %d: %lld systems", k,
                (long long)stats.systems);
      for (int i = 0; i < s.count; i++) {
        const bool bad = s.status[i] == result, good = s.status[i] == TRISTAR_OK;
        CHECK_MSG(i == BAD || (ended && (keeps || i == APART)) ? bad : good || (ended && bad),
                  "allocation %d, system %d: %s", k, i, tristar_status_name(s.status[i]));
        CHECK(keeps || (isinf(s.errors[i]) != 0) == !good);
      }
      failed += ended;
      unused = ended ? 0 : unused + 1;
    }
    CHECK_MSG(failed > 20, "%d allocations", failed);
  }
}

/* The typical values of a grid are analyzed by nested dissection and, in comparison, by AMD. If an allocation
 * of the comparison fails, the batch has the first analysis. */
static void check_no_memory_for_amd(tristar_t *ts) {
  enum { SIDE = 40, M = SIDE * SIDE };
  static int64_t ptr[M + 1];
  static int32_t index[3 * M];
  static double values[3 * M], b[M], x[M];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_stats stats;
  tristar_batch_stats made;
  int at = 0, kept = 0;
  for (int i = 0; i < M; i++) {
    ptr[i] = at;
    index[at] = i, values[at++] = 4.5;
    if (i % SIDE < SIDE - 1) index[at] = i + 1, values[at++] = -1;
    if (i + SIDE < M) index[at] = i + SIDE, values[at++] = -1;
    b[i] = 0.5 + (i < SIDE) + (i >= M - SIDE) + (i % SIDE == 0) + (i % SIDE == SIDE - 1); /* x = 1 */
  }
  ptr[M] = at;
  const tristar_view v =
      stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, M, M, ptr, index, values);
  options.factorizations = 100, options.solves = 1;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CHECK_OK(tristar_analysis_get_stats(an, &stats));
  CHECK(stats.ordering == TRISTAR_ORDERING_DISSECTION);
  allocation_failures failing = fail_allocations_of(ts);
  failing.recovers = true;
  while (next_failure(&failing)) {
    CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
    const tristar_status status = tristar_batch(ts, &v, NULL, &batch);
    end_failure(&failing, status);
    CHECK((batch == NULL) == (status != TRISTAR_OK));
    if (batch == NULL) continue;
    CHECK_OK(tristar_batch_get_stats(batch, &made));
    CHECK(made.nnz_factor == 2 * stats.nnz_lower - M); /* L and U of that analysis */
    if (!failing.reached || kept++ % 16 > 0) continue;
    CHECK_OK(tristar_batch_factor_solve(batch, 1, values, at, TRISTAR_N, 1, b, M, M, x, M, M, NULL, NULL));
    for (int i = 0; i < M; i++) CHECK(fabs(x[i] - 1) < 1e-13);
  }
  CHECK_MSG(kept > 20, "%d", kept);
}

/* Systems with stored factors remain usable after a solve that does not succeed. b is so large that the
 * analysis of the typical values does not suit, and the solve is cancelled, or has no memory, in the second
 * factorization. The lane of the system has weak pivots. */
static void check_ended_solve(tristar_t *ts, const typed *t) {
  enum { M = 3, MOST_ALLOCATIONS = 10000 };
  static const int64_t ptr[] = {0, 3, 6, 9};
  static const int32_t index[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  static tristar_phase analysis = TRISTAR_PHASE_ANALYSIS;
  const int tiny = t->is_single ? -90 : -900, weak = t->is_single ? -15 : -30,
            large = t->is_single ? 60 : 300;
  char values[M * M * sizeof(number)], b[2][M * sizeof(number)], x[2][M * sizeof(number)];
  tristar_status status;
  tristar_batch_stats stats;
  for (int e = 0; e < M * M; e++) put(t, values, e, ldexp(e % (M + 1) == 0 ? 4 : 1, tiny));
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, M, M, ptr, index, values);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  for (int i = 0; i < M; i++) {
    put(t, values, i * (M + 1), ldexp(1, tiny + weak));
    put(t, b[0], i, ldexp(5 - i, tiny)); /* x = 1, 2, 3, nearly */
    put(t, b[1], i, ldexp(5 - i, large));
  }
  CHECK_OK(tristar_batch_factor(batch, 1, values, M * M, NULL));
  CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 1, b[0], M, M, x[0], M, M, NULL, NULL));
  /* NaN in b: not factored again */
  put(t, x[1], 0, NAN);
  put(t, x[1], 1, 0);
  put(t, x[1], 2, 0);
  CHECK_OK(tristar_set_progress(ts, cancel, &analysis));
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, x[1], M, M, x[1], M, M, NULL, &status),
               TRISTAR_ERR_NOT_FINITE);
  CHECK(status == TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, "b has NaN or infinity in row 0, column 0");
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, b[1], M, M, x[1], M, M, NULL, &status),
               TRISTAR_ERR_CANCELLED);
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 1, b[0], M, M, x[1], M, M, NULL, NULL));
  CHECK_OK(tristar_batch_get_stats(batch, &stats));
  CHECK(stats.apart == 1 && memcmp(x[0], x[1], M * t->bytes) == 0);
  int k = 1;
  for (status = TRISTAR_ERR_MEMORY; status == TRISTAR_ERR_MEMORY && k < MOST_ALLOCATIONS; k++) {
    CHECK_OK(tristar_fail_allocation(ts, k));
    status = tristar_batch_solve(batch, TRISTAR_N, 1, b[1], M, M, x[1], M, M, NULL, NULL);
    CHECK_OK(tristar_fail_allocation(ts, 0));
    CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 1, b[0], M, M, x[1], M, M, NULL, NULL));
    for (int i = 0; i < M; i++)
      CHECK_MSG(cabs(get(t, x[1], i) - get(t, x[0], i)) <= 16 * t->roundoff, "allocation %d: x[%d] = %g", k,
                i, creal(get(t, x[1], i)));
  }
  CHECK_MSG(status == TRISTAR_ERR_NOT_FINITE && k > 3, "allocation %d: %s", k, tristar_status_name(status));
}

/* The units of rows and columns differ widely, and some systems have much larger values than the typical
 * ones. */
static void check_units(tristar_t *ts, const typed *t) {
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 19, 44);
  const int n = s.p.n, far = t->is_single ? 4 : 40;
  for (int k = 0; k < s.count; k++)
    for (int j = 0; j < n; j++)
      for (int e = s.p.ptr[j]; e < s.p.ptr[j + 1]; e++) {
        const int exponent = (s.p.index[e] % 3 - 1) * far + (j % 5 - 2) * far / 2 + (k % 4) * 10;
        put(t, values_of(t, &s, k), e, get(t, values_of(t, &s, k), e) * ldexp(1, exponent));
      }
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = batch_of(ts, t, &s, NULL);
  CHECK_OK(factor_solve(batch, &s, TRISTAR_N));
  check_solutions(t, &s, TRISTAR_N, passes(t), -1);
}

/* [d e; e 0] x = (5, -7). The typical values have f instead of 0, which suggests another scaling. With that
 * scaling the terms of the second equation are as small as rounding errors of the first one. */
static void check_far_typical(tristar_t *ts, const typed *t) {
  const double d = 0x1p-20, e = 0x1p20, f = 0x1p61, expected[] = {-7 / e, (5 + 7 * d / e) / e};
  const int32_t ptr[] = {0, 2, 4}, index[] = {0, 1, 0, 1};
  char values[4 * sizeof(number)], b[2 * sizeof(number)], x[2 * sizeof(number)];
  const double of[] = {d, e, e, f};
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  tristar_view view;
  tristar_status status;
  tristar_view_init(&view);
  view.rows = view.cols = 2;
  view.scalar = t->scalar;
  view.ptr = ptr;
  view.index = index;
  view.values = values;
  for (int k = 0; k < 4; k++) put(t, values, k, of[k]);
  CHECK_OK(tristar_batch(ts, &view, NULL, &batch));
  put(t, values, 3, 0);
  put(t, b, 0, 5);
  put(t, b, 1, -7);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(tristar_batch_factor_solve(batch, 1, values, 4, (tristar_op) "NTC"[k], 1, b, 2, 2, x, 2, 2, NULL,
                                        &status));
    for (int i = 0; i < 2; i++)
      CHECK_MSG(magnitude(get(t, x, i) - expected[i]) <= 4 * t->roundoff * fabs(expected[i]),
                "%c, op %c: x[%d] = %g, expected %g", t->scalar, "NTC"[k], i, creal(get(t, x, i)),
                expected[i]);
  }
}

/* Matrices of small integers; the last column is the sum of the others. So the last pivot is zero or a
 * rounding error. The typical values are regular. unit: of the other columns; row_unit: of the last row. */
static void check_singular(tristar_t *ts, const typed *t, double unit, double row_unit) {
  enum { M = 3, SYSTEMS = 300 };
  static const int64_t ptr[] = {0, 3, 6, 9};
  static const int32_t index[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  OWNED char *values = xcalloc(SYSTEMS * M * M, t->bytes), *typical = xcalloc(M * M, t->bytes);
  OWNED char *b = xcalloc(SYSTEMS * M, t->bytes), *x = xcalloc(SYSTEMS * M, t->bytes);
  tristar_status status[SYSTEMS];
  uint64_t state = 5;
  for (int e = 0; e < M * M; e++) put(t, typical, e, e % (M + 1) == 0 ? 4 : 1);
  for (int k = 0; k < SYSTEMS; k++)
    for (int i = 0; i < M; i++) {
      const double one = (double)(next_random(&state) % 9) - 4, other = (double)(next_random(&state) % 9) - 4;
      const double of_row = i == M - 1 ? row_unit : 1;
      put(t, values, k * M * M + i, unit * of_row * one);
      put(t, values, k * M * M + M + i, unit * of_row * other);
      put(t, values, k * M * M + 2 * M + i, of_row * (one + other));
      put(t, b, k * M + i, 1 + i * i);
    }
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, M, M, ptr, index, typical);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  CHECK_STATUS(
      tristar_batch_factor_solve(batch, SYSTEMS, values, M * M, TRISTAR_N, 1, b, M, M, x, M, M, NULL, status),
      TRISTAR_ERR_SINGULAR);
  for (int k = 0; k < SYSTEMS; k++)
    CHECK_MSG(status[k] == TRISTAR_ERR_SINGULAR, "system %d: %s", k, tristar_status_name(status[k]));
}

/* Row 0 has a large x and is not coupled with other rows. Small pivots cause errors in the other rows,
 * which the large x must not hide. */
static void check_hidden(tristar_t *ts, const typed *t) {
  static const int64_t ptr[] = {0, 1, 3, 5};
  static const int32_t index[] = {0, 1, 2, 1, 2};
  static const double typical[] = {2, 4, -4, 1, 3}, right[] = {6, 6, 1};
  OWNED char *values = xcalloc(5, t->bytes), *b = xcalloc(3, t->bytes), *x = xcalloc(3, t->bytes);
  for (int e = 0; e < 5; e++) put(t, values, e, typical[e]);
  for (int i = 0; i < 3; i++) put(t, b, i, right[i]);
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, 3, 3, ptr, index, values);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  const double small = t->is_single ? ldexp(1, -20) : ldexp(1, -45);
  put(t, values, 0, 2 * small);
  put(t, values, 1, small);
  put(t, values, 4, 2 * small);
  CHECK_OK(tristar_batch_factor_solve(batch, 1, values, 5, TRISTAR_N, 1, b, 3, 3, x, 3, 3, NULL, NULL));
  const double x1 = (12 * small - 1) / (2 * small * small + 4);
  CHECK_MSG(cabs(get(t, x, 1) - x1) < 8 * t->roundoff, "%g, not %g", creal(get(t, x, 1)), x1);
}

/* All entries are tiny, and the solution of one system overflows: this system has an error, the other one
 * has none. */
static void check_far_solution(tristar_t *ts, const typed *t) {
  static const int64_t ptr[] = {0, 2, 4};
  static const int32_t index[] = {0, 1, 0, 1};
  static const double entry[] = {3, 1, 1, 2};
  const int tiny = t->is_single ? -100 : -900, large = t->is_single ? 60 : 300;
  OWNED char *values = xcalloc(8, t->bytes), *b = xcalloc(4, t->bytes), *x = xcalloc(4, t->bytes);
  tristar_status status[2];
  for (int e = 0; e < 8; e++) put(t, values, e, ldexp(entry[e % 4], tiny));
  for (int i = 0; i < 4; i++) put(t, b, i, ldexp(1, i < 2 ? 0 : large));
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, 2, 2, ptr, index, values);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  for (int k = 0; k < 3; k++) {
    const tristar_op op = (tristar_op) "NTC"[k];
    CHECK_STATUS(tristar_batch_factor_solve(batch, 2, values, 4, op, 1, b, 2, 2, x, 2, 2, NULL, status),
                 TRISTAR_ERR_NOT_FINITE);
    CHECK(status[0] == TRISTAR_OK && status[1] == TRISTAR_ERR_NOT_FINITE);
    for (int i = 0; i < 2; i++) {
      const double expected = ldexp((i + 1) / 5.0, -tiny);
      CHECK_MSG(cabs(get(t, x, i) - expected) <= 8 * t->roundoff * expected, "x[%d] = %g, not %g", i,
                creal(get(t, x, i)), expected);
      CHECK(isnan(creal(get(t, x, 2 + i))));
    }
  }
}

/* ---- What is refused ----------------------------------------------------------------------------------- */

/* Scaled values of the second system are below the range of the scalars, or lose digits. typical, of: entries
 * 00, 01 = 10 and 11 of both systems. */
static void check_out_of_range(tristar_t *ts, const typed *t, const double typical[3], const double of[3],
                               const double right[2]) {
  static const int64_t ptr[] = {0, 2, 4};
  static const int32_t index[] = {0, 1, 0, 1};
  OWNED char *values = xcalloc(8, t->bytes), *b = xcalloc(4, t->bytes), *x = xcalloc(4, t->bytes);
  long double a[4], expected[2];
  tristar_status status[2];
  for (int e = 0; e < 4; e++) {
    put(t, values, e, typical[e - e / 2]);
    put(t, values, 4 + e, of[e - e / 2]);
    a[e] = creal(get(t, values, 4 + e));
  }
  for (int i = 0; i < 4; i++) put(t, b, i, right[i % 2]);
  const long double determinant = a[0] * a[3] - a[1] * a[2];
  expected[0] = (right[0] * a[3] - right[1] * a[2]) / determinant;
  expected[1] = (right[1] * a[0] - right[0] * a[1]) / determinant;
  const tristar_view v = stored_view(TRISTAR_CSC, TRISTAR_GENERAL, t->scalar, 2, 2, ptr, index, values);
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  for (int k = 0; k < 6; k++) {
    const tristar_op op = (tristar_op) "NTC"[k % 3];
    if (k == 3) CHECK_OK(tristar_batch_factor(batch, 2, values, 4, status));
    memset(x, 0, 4 * t->bytes);
    if (k < 3)
      CHECK_OK(tristar_batch_factor_solve(batch, 2, values, 4, op, 1, b, 2, 2, x, 2, 2, NULL, status));
    else
      CHECK_OK(tristar_batch_solve(batch, op, 1, b, 2, 2, x, 2, 2, NULL, status));
    for (int i = 0; i < 2; i++)
      CHECK_MSG(fabsl(creal(get(t, x, 2 + i)) - expected[i]) <= 16 * t->roundoff * fabsl(expected[i]),
                "%c, call %d: x[%d] = %g, not %Lg", t->scalar, k, i, creal(get(t, x, 2 + i)), expected[i]);
  }
}

static void check_ranges(tristar_t *ts, const typed *t) {
  const int far = t->is_single ? 60 : 500, tiny = t->is_single ? -80 : -760, b = t->is_single ? -20 : -500;
  const double apart[] = {ldexp(-3, far), ldexp(1, far), ldexp(1, -2 * far)}, ends[] = {0, 1};
  const double large[] = {ldexp(3, far), ldexp(1, far), ldexp(2, far)};
  const double small[] = {ldexp(3.3, tiny), ldexp(1.1, tiny), ldexp(2.7, tiny)};
  const double both[] = {ldexp(1, b), ldexp(-1, b)};
  check_out_of_range(ts, t, apart, apart, ends);
  check_out_of_range(ts, t, large, small, both);
}

static void check_errors(tristar_t *ts) {
  const typed *t = &typed_double;
  CLEANUP(release_systems)
  systems s = make_systems(t, make_pattern(N, TRISTAR_CSC, TRISTAR_GENERAL, false), 3, 1);
  const int64_t n = s.p.n;
  tristar_view v = view_of(t, &s.p, s.values);
  tristar_batch_options options = DEFAULTS(tristar_batch_options);
  tristar_batch_t *batch = NULL;
  tristar_batch_stats stats;
  CHECK(options.ordering == TRISTAR_ORDERING_AUTO && options.matching == TRISTAR_MATCHING_AUTO);
  CHECK_STATUS(tristar_batch(NULL, &v, NULL, &batch), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch(ts, NULL, NULL, &batch), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch(ts, &v, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  options.tolerance = NAN;
  CHECK_STATUS(tristar_batch(ts, &v, &options, &batch), TRISTAR_ERR_ARGUMENT);
  options.tolerance = 0;
  options.max_steps = -1;
  CHECK_STATUS(tristar_batch(ts, &v, &options, &batch), TRISTAR_ERR_ARGUMENT);
  options.max_steps = 3;
  options.systems = -1;
  CHECK_STATUS(tristar_batch(ts, &v, &options, &batch), TRISTAR_ERR_ARGUMENT);
  v.values = NULL;
  CHECK_STATUS(tristar_batch(ts, &v, NULL, &batch), TRISTAR_ERR_ARGUMENT);
  v.values = s.values;
  v.cols = n - 1;
  CHECK_STATUS(tristar_batch(ts, &v, NULL, &batch), TRISTAR_ERR_RECTANGULAR);
  CHECK(batch == NULL);
  CHECK_STATUS(tristar_batch_get_stats(NULL, &stats), TRISTAR_ERR_ARGUMENT);
  tristar_batch_destroy(&batch);
  tristar_batch_destroy(NULL);

  batch = batch_of(ts, t, &s, NULL);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, s.b, n, n, s.x, n, n, NULL, NULL), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_batch_factor(batch, -1, s.values, s.stride, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_factor(batch, 3, NULL, s.stride, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_factor(batch, 3, s.values, s.p.ptr[n] - 1, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_batch_factor(batch, 0, NULL, 0, NULL));
  CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 1, NULL, n, n, NULL, n, n, NULL, NULL));
  CHECK_OK(tristar_batch_factor(batch, 3, s.values, s.stride, NULL));
  CHECK_STATUS(tristar_batch_solve(batch, (tristar_op)'X', 1, s.b, n, n, s.x, n, n, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, -1, s.b, n, n, s.x, n, n, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, NULL, n, n, s.x, n, n, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, s.b, n - 1, n, s.x, n, n, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 2, s.b, n, n, s.x, n, n, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, s.x, n, n, s.x, n + 1, n + 1, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "x is b, but their strides differ: rows");
  CHECK_STATUS(tristar_batch_solve(batch, TRISTAR_N, 1, s.x, n, n, s.x, n, n + 1, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "x is b, but their strides differ: systems");
  CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 0, NULL, n, n, NULL, n, n, NULL, NULL));
  CHECK_OK(tristar_batch_solve(batch, TRISTAR_N, 1, s.b, n, 0, s.x, n, n, NULL,
                               NULL)); /* all systems share one b */
  tristar_batch_destroy(&batch);
}

static void check_empty(tristar_t *ts) {
  const typed *t = &typed_double;
  const int32_t ptr[1] = {0};
  const double none = 0;
  tristar_view v = DEFAULTS(tristar_view);
  v.scalar = t->scalar;
  v.ptr = ptr;
  v.index = ptr;
  v.values = &none;
  tristar_batch_t *batch;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  CHECK_OK(tristar_batch_factor_solve(batch, 4, &none, 0, TRISTAR_N, 1, &none, 0, 0, (void *)&v, 0, 0, NULL,
                                      NULL));
  tristar_batch_destroy(&batch);
}

/* Two rows are multiples, and the values of their columns differ so much that rounding errors of cancelled
 * terms look like pivots. No such system is accepted. */
static void check_hidden_singular(tristar_t *ts, const typed *t) {
  enum { COUNT = 320, ENTRIES = 7 };
  const int64_t ptr[] = {0, 2, 5, 7};
  const int32_t row[] = {0, 2, 0, 1, 2, 1, 2};
  const double typical[ENTRIES] = {4, 1, 1, 4, 1, 1, 4}, large = t->is_single ? 3e2 : 5e5;
  char values[COUNT * ENTRIES * sizeof(number)];
  tristar_status status[COUNT];
  CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
  tristar_view v;
  for (int e = 0; e < ENTRIES; e++) put(t, values, e, typical[e]);
  tristar_view_init(&v);
  v.format = TRISTAR_CSC;
  v.scalar = t->scalar;
  v.rows = v.cols = 3;
  v.ptr = ptr, v.index = row, v.values = values;
  v.ptr_bits = 64, v.index_bits = 32;
  CHECK_OK(tristar_batch(ts, &v, NULL, &batch));
  for (int s = 0; s < COUNT; s++) {
    const number a = random_value((uint64_t)(4 * s)) + 1.5,
                 b = large * (1.5 + random_value((uint64_t)(4 * s + 1)));
    const number entry[ENTRIES] = {a, 2 * a, b, 0.25, 2 * b, 30, 0};
    for (int e = 0; e < ENTRIES; e++) put(t, values, s * ENTRIES + e, entry[e]);
    put(t, values, s * ENTRIES + 1, 2 * get(t, values, s * ENTRIES));
    put(t, values, s * ENTRIES + 4, 2 * get(t, values, s * ENTRIES + 2));
  }
  CHECK_STATUS(tristar_batch_factor(batch, COUNT, values, ENTRIES, status), TRISTAR_ERR_SINGULAR);
  for (int s = 0; s < COUNT; s++) CHECK_MSG(status[s] == TRISTAR_ERR_SINGULAR, "system %d is accepted", s);
}

int main(int argc, char **argv) {
  const typed types[] = {typed_single, typed_double, typed_complex_single, typed_complex_double};
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int k = 0; k < 4; k++) {
    RUN_ONE_THREAD(check_hidden_singular(ts, &types[k]));
    RUN_ONE_THREAD(check_kinds(ts, &types[k], TRISTAR_ORDERING_METIS));
    RUN_ONE_THREAD(check_kinds(ts, &types[k], TRISTAR_ORDERING_AUTO));
    RUN_ONE_THREAD(check_half(ts, &types[k]));
    RUN_ONE_THREAD(
        check_definite(ts, &types[k], types[k].is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC));
    RUN_ONE_THREAD(check_other_pivots(ts, &types[k]));
    RUN_ONE_THREAD(check_same_analysis(ts, &types[k]));
    RUN_ONE_THREAD(check_breakdown(ts, &types[k], TRISTAR_ERR_SINGULAR));
    RUN_ONE_THREAD(check_breakdown(ts, &types[k], TRISTAR_ERR_NOT_FINITE));
    RUN_ONE_THREAD(check_ended(ts, &types[k]));
    if (k == 1 || k == 2) RUN_ONE_THREAD(check_no_memory(ts, &types[k]));
    RUN_ONE_THREAD(check_ended_solve(ts, &types[k]));
    RUN_ONE_THREAD(check_units(ts, &types[k]));
    RUN_ONE_THREAD(check_far_typical(ts, &types[k]));
    RUN_ONE_THREAD(check_singular(ts, &types[k], 1, 1));
    RUN_ONE_THREAD(check_singular(ts, &types[k], 0x1p-40, 1));
    RUN_ONE_THREAD(check_singular(ts, &types[k], 1, 0x1p40));
    RUN_ONE_THREAD(check_singular(ts, &types[k], 0x1p-30, 0x1p30));
    RUN_ONE_THREAD(check_hidden(ts, &types[k]));
    RUN_ONE_THREAD(check_far_solution(ts, &types[k]));
    RUN_ONE_THREAD(check_ranges(ts, &types[k]));
  }
  RUN_ONE_THREAD(check_errors(ts));
  RUN_ONE_THREAD(check_no_memory_for_amd(ts));
  RUN_ONE_THREAD(check_empty(ts));
  CLEANUP(close_context) tristar_t *parallel = open_with_starpu(2, true);
  for (int k = 0; k < 4; k++) {
    RUN(check_bits(ts, parallel, &types[k], TRISTAR_METHOD_LU));
    RUN(check_bits(ts, parallel, &types[k], TRISTAR_METHOD_LDLT));
  }
  return 0;
}
