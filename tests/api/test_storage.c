/* Plans whose factor is stored in single precision or bfloat16 (tristar_plan_options.storage): plain solves
 * have the backward error of the format, refined ones that of double precision; all engines give the same
 * bits; new values are copied; what is not supported is refused by name; accuracy holds or is an error.
 * Without an accuracy, factors that the format spoils are refined. */
#include <math.h>
#include <unistd.h>

#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_save.h"
#include "tristar_schur.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#include "tristar_triangle.h"

#define MOST 70 /* maximum number of right-hand sides */

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
static const double units[] = {0x1p-53, 0x1p-24, 0x1p-8}; /* unit roundoff of each storage format */

/* A matrix in double precision, its factor, and right-hand sides. */
typedef struct system {
  int64_t n, parts; /* reals in a scalar */
  tristar_matrix_t *matrix;
  double *values, *b, *x, *y;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
} system_t;

static void make_system(tristar_t *ts, const char *kind, int64_t k, tristar_scalar scalar,
                        const tristar_analysis_options *options, system_t *z) {
  tristar_view v = generated_view(ts, kind, k, &z->matrix);
  const int64_t entries = ((const int64_t *)v.ptr)[v.rows];
  z->n = v.rows;
  z->parts = scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
  const size_t size = (size_t)(MOST * z->n * z->parts) * sizeof(double);
  z->values = xcalloc((size_t)(entries * z->parts), sizeof(double));
  z->b = xmalloc(size);
  z->x = xmalloc(size);
  z->y = xmalloc(size);
  for (int64_t i = 0; i < entries; i++) z->values[i * z->parts] = ((const double *)v.values)[i];
  fill_random(z->b, MOST * z->n * z->parts, 5);
  v.values = z->values;
  v.scalar = scalar;
  if (z->parts == 2 && v.symmetry == TRISTAR_SYMMETRIC) v.symmetry = TRISTAR_HERMITIAN;
  CHECK_OK(tristar_analyze(ts, &v, options, &z->analysis));
  CHECK_OK(tristar_factor(z->analysis, z->values, &z->factor));
}

static void free_system(system_t *z) {
  tristar_factor_destroy(&z->factor);
  tristar_analysis_destroy(&z->analysis);
  tristar_matrix_destroy(&z->matrix);
  free(z->values);
  free(z->b);
  free(z->x);
  free(z->y);
}

static size_t bytes_of(const system_t *z, int64_t nrhs) {
  return (size_t)(nrhs * z->n * z->parts) * sizeof(double);
}

/* Returns the componentwise backward error; the residual is computed in the next wider precision. */
static double error_of(const system_t *z, tristar_op op, int64_t nrhs, const double *x) {
  double error = 0;
  OWNED double *r = xmalloc(bytes_of(z, nrhs));
  CHECK_OK(tristar_residual(z->factor, op, nrhs, z->b, z->n, x, z->n, r, z->n, &error));
  return error;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static void check_solves(const system_t *z, tristar_storage storage, tristar_plan_t *plan, bool first) {
  static const int64_t counts[] = {1, 2, 8, MOST};
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      const int64_t nrhs = counts[c];
      tristar_refine_result result;
      CHECK_OK(tristar_solve(plan, ops[o], nrhs, z->b, z->n, z->x, z->n));
      const double error = error_of(z, ops[o], nrhs, z->x);
      CHECK_MSG(error <= 300 * units[storage] && error >= units[storage] / 4096,
                "storage %d, op %c, %lld: %g", (int)storage, (char)ops[o], (long long)nrhs, error);
      memcpy(z->y, z->x, bytes_of(z, nrhs));
      CHECK_OK(tristar_solve(plan, ops[o], nrhs, z->b, z->n, z->x, z->n));
      CHECK(memcmp(z->x, z->y, bytes_of(z, nrhs)) == 0);
      if (nrhs > (first ? 8 : 3)) continue;
      CHECK_OK(tristar_solve_refined(plan, ops[o], nrhs, z->b, z->n, z->x, z->n, NULL, &result));
      CHECK_MSG(result.backward_error < 2e-14 && result.initial_backward_error > units[storage] / 4096,
                "storage %d, op %c: %g, before %g", (int)storage, (char)ops[o], result.backward_error,
                result.initial_backward_error);
    }
}

static void check_stats(const tristar_plan_stats *full, const tristar_plan_stats *narrow,
                        tristar_storage storage) {
  const double share = storage == TRISTAR_STORAGE_SINGLE ? 0.5 : 0.25;
  CHECK(full->storage == TRISTAR_STORAGE_FULL && full->storage_bytes == 0 && full->storage_saved == 0);
  CHECK(narrow->storage == storage && narrow->storage_panels[storage] > 0);
  CHECK(narrow->storage_panels[TRISTAR_STORAGE_FULL] == 0);
  CHECK(narrow->stream_bytes == share * full->stream_bytes && narrow->chunks == full->chunks);
  CHECK(fabs(narrow->storage_bytes / (narrow->storage_bytes + narrow->storage_saved) - share) < 1e-12);
}

static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, tristar_inverse inverse,
                  tristar_scalar scalar) {
  system_t z;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats full, narrow;
  analysis.method = method;
  analysis.inverse = inverse;
  make_system(ts, kind, k, scalar, &analysis, &z);
  OWNED double *serial = xmalloc(bytes_of(&z, 3));
  for (int large = 0; large < 2; large++) {
    options.chunk_bytes_max = large ? 0 : 20000; /* small chunks have slices */
    options.engine = TRISTAR_ENGINE_SERIAL;
    options.storage = TRISTAR_STORAGE_FULL;
    tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    tristar_plan_get_stats(plan, &full);
    tristar_plan_destroy(&plan);
    for (int s = TRISTAR_STORAGE_SINGLE; s <= TRISTAR_STORAGE_BFLOAT16; s++)
      for (int engine = TRISTAR_ENGINE_SERIAL; engine <= TRISTAR_ENGINE_TASKS; engine++) {
        options.engine = (tristar_engine)engine;
        options.storage = (tristar_storage)s;
        plan = NEW_PLAN(z.factor, &options);
        tristar_plan_get_stats(plan, &narrow);
        check_stats(&full, &narrow, options.storage);
        if (engine == TRISTAR_ENGINE_SERIAL && !TSI_TESTS_RACES)
          check_solves(&z, options.storage, plan, !large);
        CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, z.b, z.n, z.x, z.n));
        if (engine == TRISTAR_ENGINE_SERIAL) memcpy(serial, z.x, bytes_of(&z, 3));
        CHECK(memcmp(serial, z.x, bytes_of(&z, 3)) == 0);
        tristar_plan_destroy(&plan);
      }
  }
  free_system(&z);
}

/* ---- New values, parts, rows, NaN, files --------------------------------------------------------------- */

static int64_t entries_of(const system_t *z) {
  tristar_view v;
  CHECK_OK(tristar_matrix_get_view(z->matrix, &v));
  return ((const int64_t *)v.ptr)[z->n];
}

/* Refactors 4 A. All roundings are the same, so x is exactly a quarter. */
static void check_refactor(const system_t *z, tristar_plan_t *plan) {
  const int64_t entries = entries_of(z);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z->b, z->n, z->y, z->n));
  for (int64_t i = 0; i < entries; i++) z->values[i] *= 4;
  CHECK_OK(tristar_refactor(z->factor, z->values));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z->b, z->n, z->x, z->n));
  for (int64_t i = 0; i < z->n; i++) CHECK(4 * z->x[i] == z->y[i]);
  for (int64_t i = 0; i < entries; i++) z->values[i] /= 4;
  CHECK_OK(tristar_refactor(z->factor, z->values));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z->b, z->n, z->x, z->n));
  CHECK(memcmp(z->x, z->y, bytes_of(z, 1)) == 0);
}

static void solve_part(tristar_plan_t *plan, tristar_part part, const double *b, double *x) {
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.part = part;
  CHECK_OK(tristar_solve_with(plan, &options, 1, b, x, NULL));
}

/* The parts one after the other give the whole solution. A few rows equal those of the whole solution. A
 * NaN affects only its column. */
static void check_parts(const system_t *z, tristar_plan_t *plan) {
  const int64_t row[] = {3, z->n - 1}, n = z->n;
  const double keep = z->b[n];
  double some[2];
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z->b, n, z->y, n));
  solve_part(plan, TRISTAR_PART_L, z->b, z->x);
  solve_part(plan, TRISTAR_PART_D, z->x, z->x);
  solve_part(plan, TRISTAR_PART_U, z->x, z->x);
  CHECK(memcmp(z->x, z->y, bytes_of(z, 1)) == 0);
  options.x_rows = 2;
  options.x_row = row;
  CHECK_OK(tristar_solve_with(plan, &options, 1, z->b, some, NULL));
  CHECK(some[0] == z->y[row[0]] && some[1] == z->y[row[1]]);
  for (int64_t nrhs = 2; nrhs <= 9; nrhs += 7) {
    CHECK_OK(tristar_solve(plan, TRISTAR_N, nrhs, z->b, n, z->y, n));
    z->b[n] = NAN;
    CHECK_OK(tristar_solve(plan, TRISTAR_N, nrhs, z->b, n, z->x, n));
    z->b[n] = keep;
    CHECK(memcmp(z->x, z->y, bytes_of(z, 1)) == 0);
    CHECK(memcmp(z->x + 2 * n, z->y + 2 * n, bytes_of(z, nrhs - 2)) == 0);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += z->x[n + i];
    CHECK(isnan(sum));
  }
}

static void check_saved(tristar_t *ts, const system_t *z, tristar_plan_t *plan) {
  char path[] = "/tmp/tristar_storage_XXXXXX";
  const int file = mkstemp(path);
  tristar_factor_t *factor;
  tristar_plan_t *loaded;
  CHECK(file >= 0 && close(file) == 0);
  CHECK_OK(tristar_plan_save(plan, path));
  CHECK_OK(tristar_plan_load(ts, path, &factor, &loaded));
  remove(path);
  CHECK_OK(tristar_solve(plan, TRISTAR_T, 2, z->b, z->n, z->y, z->n));
  CHECK_OK(tristar_solve(loaded, TRISTAR_T, 2, z->b, z->n, z->x, z->n));
  CHECK(memcmp(z->x, z->y, bytes_of(z, 2)) == 0);
  tristar_plan_destroy(&loaded);
  tristar_factor_destroy(&factor);
}

static void check_uses(tristar_t *ts, const char *kind, int64_t k) {
  system_t z;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  make_system(ts, kind, k, TRISTAR_DOUBLE, NULL, &z);
  for (int s = TRISTAR_STORAGE_SINGLE; s <= TRISTAR_STORAGE_BFLOAT16; s++) {
    options.storage = (tristar_storage)s;
    tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    check_refactor(&z, plan);
    check_parts(&z, plan);
    check_saved(ts, &z, plan);
    tristar_plan_destroy(&plan);
  }
  options.fuse_columns = 8; /* a column has the same bits in any group of columns */
  tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 8, z.b, z.n, z.x, z.n));
  for (int64_t c = 0; c < 8; c++) {
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z.b + c * z.n, z.n, z.y, z.n));
    CHECK(memcmp(z.x + c * z.n, z.y, bytes_of(&z, 1)) == 0);
  }
  tristar_plan_destroy(&plan);
  free_system(&z);
}

/* ---- Values at the ends of the range ------------------------------------------------------------------- */

/* Cholesky factors are not scaled. Factors of tridiagonal matrices with such entries exceed the range of
 * floats, in all panels or in half of them. */
static void check_range(tristar_t *ts, double first, double second) {
  enum { N = 400 };
  static int64_t ptr[N + 1];
  static int32_t row[2 * N];
  static double value[2 * N], b[N], x[N];
  int64_t at = 0;
  for (int i = 0; i < N; i++) {
    const double size = i < N / 2 ? first : second;
    row[at] = i;
    value[at++] = 2.5 * size;
    if (i + 1 < N && i + 1 != N / 2) {
      row[at] = i + 1;
      value[at++] = -size;
    }
    ptr[i + 1] = at;
    b[i] = size * (1 + i % 3);
  }
  const tristar_view a = stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value);
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  analysis.method = TRISTAR_METHOD_LLT;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &a, &analysis);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, value);
  for (int s = TRISTAR_STORAGE_SINGLE; s <= TRISTAR_STORAGE_BFLOAT16; s++) {
    options.storage = (tristar_storage)s;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
    double error = 0;
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, N, x, N, value, N, &error));
    CHECK_MSG(error <= 30 * units[s], "%g and %g, storage %d: backward error %g", first, second, s, error);
  }
}

/* ---- Factors that a narrower format spoils ------------------------------------------------------------- */

enum { ARROW_MOST = 34, ARROWS = TSI_TESTS_RACES ? 10 : 100 };

/* A dense last row and column; the other diagonal entries are `small`. The factor has entries of size 1 /
 * small, whose rounding errors are far larger than the rows of A. */
static tristar_view make_arrow(double small, uint64_t seed, int64_t *ptr, int32_t *index, double *values) {
  const int n = 4 + (int)(next_random(&seed) % (ARROW_MOST - 3));
  int64_t at = 0;
  for (int j = 0; j < n; j++) {
    ptr[j] = at;
    for (int i = j; i < n; i += i == j && j < n - 1 ? n - 1 - j : 1) {
      const double random = (double)next_random(&seed) / 1073741824 - 1;
      index[at] = i;
      values[at++] = i == j && j < n - 1 ? small * (1.5 + random) : random;
    }
  }
  ptr[n] = at;
  return stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, n, n, ptr, index, values);
}

/* Without an accuracy tristar_solve refines if the format causes larger errors than its roundoff. */
static void check_arrows(tristar_t *ts, tristar_storage storage, double small) {
  int64_t ptr[ARROW_MOST + 1];
  int32_t index[2 * ARROW_MOST];
  double values[2 * ARROW_MOST], b[ARROW_MOST], x[ARROW_MOST], error;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  analysis.method = TRISTAR_METHOD_LDLT;
  options.storage = storage;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= ARROWS; seed++) {
    const tristar_view v = make_arrow(small, seed, ptr, index, values);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &analysis);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
    for (int k = 0; k < 2; k++) {
      fill_random(b, v.rows, seed + 7777);
      if (k == 1) { /* b = A x for x with entries of one size */
        memcpy(x, b, sizeof x);
        memset(b, 0, sizeof b);
        CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, v.rows, x, v.rows, b, v.rows, NULL));
      }
      CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, v.rows, x, v.rows));
      CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, v.rows, x, v.rows, NULL, v.rows, &error));
      wrong += !(error <= fmin(1000 * units[storage], 0.3));
    }
  }
  CHECK_MSG(wrong == 0, "storage %d, diagonal %g: %d of %d solves are wrong", (int)storage, small, wrong,
            2 * ARROWS);
}

/* A plan judges its format again for new values. */
static void check_new_arrow(tristar_t *ts, tristar_storage storage) {
  int64_t ptr[ARROW_MOST + 1];
  int32_t index[2 * ARROW_MOST];
  double values[2 * ARROW_MOST], even[2 * ARROW_MOST], b[ARROW_MOST], x[ARROW_MOST], error;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  const tristar_view v = make_arrow(1e-6, 1, ptr, index, values);
  for (int64_t p = 0; p < ptr[v.rows]; p++) even[p] = values[p] / 20;
  for (int64_t j = 0; j < v.rows; j++) even[ptr[j]] = 1;
  analysis.method = TRISTAR_METHOD_LDLT;
  analysis.matching = TRISTAR_MATCHING_OFF;
  options.storage = storage;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &analysis);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, even);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
  tristar_plan_get_stats(plan, &stats);
  CHECK(!stats.refines && stats.solves == 0);
  CHECK_OK(tristar_refactor(f, values));
  fill_random(b, v.rows, 3);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, v.rows, x, v.rows));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, v.rows, x, v.rows, NULL, v.rows, &error));
  CHECK_MSG(error <= 1e-5, "%g", error);
  CHECK_OK(tristar_refactor(f, even));
  CHECK_OK(tristar_fail_allocation(ts, 1)); /* the trial solves fail, so solves are refined */
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, v.rows, x, v.rows));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, v.rows, x, v.rows, NULL, v.rows, &error));
  CHECK(error < 1e-12);
  tristar_plan_get_stats(plan, &stats);
  CHECK(stats.refines);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, v.rows, x, v.rows));
  const int64_t before = stats.solves;
  tristar_plan_get_stats(plan, &stats);
  CHECK(!stats.refines && stats.solves == before + 1);
}

/* Condensing and expanding refine, too; unknown 0 stays. */
static void check_schur_arrow(tristar_t *ts, tristar_storage storage) {
  static const int64_t schur[] = {0};
  int64_t ptr[ARROW_MOST + 1];
  int32_t index[2 * ARROW_MOST];
  double values[2 * ARROW_MOST], b[ARROW_MOST], y[ARROW_MOST], x[ARROW_MOST], r[ARROW_MOST], g;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  analysis.method = TRISTAR_METHOD_LDLT;
  analysis.matching = TRISTAR_MATCHING_OFF;
  analysis.schur = schur;
  analysis.schur_count = 1;
  options.storage = storage;
  for (int k = 0; k < ARROWS; k++) {
    const tristar_view v = make_arrow(1e-6, (uint64_t)k, ptr, index, values);
    const int64_t n = v.rows;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &analysis);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
    fill_random(x, n, (uint64_t)k);
    memset(b, 0, sizeof b);
    const double x_s = -x[0];
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, n, x, n, b, n, NULL)); /* b = -A x */
    CHECK_OK(tristar_schur_condense(plan, TRISTAR_N, 1, b, n, y, n, &g, 1));
    CHECK_OK(tristar_schur_expand(plan, TRISTAR_N, 1, y, n, &x_s, 1, x, n));
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, n, x, n, r, n, NULL));
    double last = fabs(b[n - 1]) + fabs(values[ptr[n - 1]] * x[n - 1]); /* sizes of the terms of the row */
    for (int64_t i = 0; i < n - 1; i++) last += fabs(values[ptr[i] + 1] * x[i]);
    CHECK_MSG(fabs(r[n - 1]) <= fmin(1000 * units[storage], 0.3) * last,
              "storage %d, arrow %d: residual %g of %g", (int)storage, k, r[n - 1], last);
  }
}

/* ---- What is refused ----------------------------------------------------------------------------------- */

/* D T D with T = [-1 2 -1] and units from 1 to 1024 in D. Rounding errors of neighbours cancel all digits
 * of rows with small units. So tristar_solve refines, also with a loaded factor. */
static void check_units(tristar_t *ts) {
  enum { N = 60 };
  int32_t ptr[N + 1], row[2 * N];
  double values[2 * N], x[N], b[N] = {0}, error;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  int32_t count = 0;
  fill_random(x, N, 5);
  for (int j = 0; j < N; j++) {
    ptr[j] = count;
    for (int i = j; i < N && i <= j + 1; i++) {
      const double value = ldexp(i == j ? 2 : -1, i * 7 % 11 + j * 7 % 11);
      row[count] = i, values[count++] = value;
      b[i] += value * x[j];
      if (i != j) b[j] += value * x[i];
    }
  }
  ptr[N] = count;
  const tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, values, 32, 32, 0};
  analysis.method = TRISTAR_METHOD_LLT;
  options.storage = TRISTAR_STORAGE_BFLOAT16;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &analysis);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values), *read = NULL;
  CHECK_OK(tristar_factor_save(f, "test_storage.units"));
  CHECK_OK(tristar_factor_load(ts, "test_storage.units", &read));
  unlink("test_storage.units");
  for (int k = 0; k < 2; k++) {
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(k ? read : f, &options);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, N, x, N, NULL, N, &error));
    tristar_plan_get_stats(plan, &stats);
    CHECK_MSG(error <= 1e-5 && stats.refines, "error %g, refines %d", error, stats.refines);
  }
  tristar_factor_destroy(&read);
}

static void refuse(tristar_t *ts, tristar_factor_t *factor, const tristar_plan_options *options,
                   tristar_status status, const char *text) {
  tristar_plan_t *plan;
  CHECK_STATUS(tristar_plan(factor, options, &plan), status);
  CHECK(plan == NULL);
  CHECK_ERROR(ts, text);
}

static void check_refused(tristar_t *ts) {
  system_t z, single;
  const tristar_plan_options plain = DEFAULTS(tristar_plan_options);
  tristar_plan_options o = plain;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  make_system(ts, "s2d9pt", 9, TRISTAR_DOUBLE, NULL, &z);
  analysis.single_factors = 1;
  make_system(ts, "s2d9pt", 9, TRISTAR_DOUBLE, &analysis, &single);
  o.storage = (tristar_storage)9;
  refuse(ts, z.factor, &o, TRISTAR_ERR_ARGUMENT, "storage is 9");
  o.storage = TRISTAR_STORAGE_SINGLE;
  refuse(ts, single.factor, &o, TRISTAR_ERR_UNSUPPORTED, "storage in single precision");
  o.kernel = TRISTAR_KERNEL_SPMV;
  refuse(ts, z.factor, &o, TRISTAR_ERR_UNSUPPORTED, "storage in single precision: plans with KERNEL_SPMV");
  o.kernel = plain.kernel;
  o.place = TRISTAR_PLACE_GPU;
  refuse(ts, z.factor, &o, TRISTAR_ERR_UNSUPPORTED, "storage in single precision: plans with PLACE_GPU");
  o = plain;
  static const double wrong[] = {-1, 1, NAN, INFINITY};
  for (int k = 0; k < 4; k++) {
    o.accuracy = wrong[k];
    refuse(ts, z.factor, &o, TRISTAR_ERR_ARGUMENT, "accuracy is");
  }
  o.accuracy = 1e-6;
  o.refine = TRISTAR_REFINE_NEVER;
  refuse(ts, z.factor, &o, TRISTAR_ERR_ARGUMENT, "REFINE_NEVER");
  o = plain; /* AUTO stores the factor in full if no narrower format is possible */
  o.storage = TRISTAR_STORAGE_AUTO;
  for (int k = 0; k < 2; k++) {
    tristar_plan_stats stats;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(k ? single.factor : z.factor, &o);
    tristar_plan_get_stats(plan, &stats);
    CHECK(stats.storage == TRISTAR_STORAGE_FULL);
    o.accuracy = 1e-3;
  }
  free_system(&single);
  free_system(&z);
}

/* ---- Accuracy ------------------------------------------------------------------------------------------ */

static void check_accuracy(tristar_t *ts, const char *kind, int64_t k, tristar_method method) {
  static const double wanted[] = {0.5, 1e-1, 1e-2, 1e-5, 1e-6, 1e-7, 1e-10, 1e-15};
  system_t z;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  analysis.method = method;
  make_system(ts, kind, k, TRISTAR_DOUBLE, &analysis, &z);
  for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
    for (int s = TRISTAR_STORAGE_FULL; s <= TRISTAR_STORAGE_AUTO; s++) {
      tristar_plan_options options = DEFAULTS(tristar_plan_options);
      tristar_plan_stats stats;
      options.storage = (tristar_storage)s;
      options.accuracy = wanted[w];
      CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
      tristar_plan_get_stats(plan, &stats);
      CHECK(stats.refines);
      if (s == TRISTAR_STORAGE_AUTO) {
        CHECK(wanted[w] > 1e-7 || stats.storage == TRISTAR_STORAGE_FULL);
        CHECK(wanted[w] < 1e-5 || stats.storage != TRISTAR_STORAGE_FULL);
        CHECK(wanted[w] < 0.5 || stats.storage == TRISTAR_STORAGE_BFLOAT16);
      }
      for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        const tristar_status status = tristar_solve(plan, ops[o], 3, z.b, z.n, z.x, z.n);
        const double error = error_of(&z, ops[o], 3, z.x);
        if (status == TRISTAR_ERR_ACCURACY && wanted[w] < 2e-14) continue; /* FGMRES stops at 100 roundoffs */
        CHECK_OK(status);
        /* the test computes the error in wider precision than the solve: they differ by rounding errors */
        CHECK_MSG(error <= wanted[w] * (1 + 1e-3) + 0x1p-51, "%s, storage %d, op %c: %g, wanted %g", kind, s,
                  (char)ops[o], error, wanted[w]);
      }
    }
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.storage = TRISTAR_STORAGE_SINGLE;
  options.accuracy = 1e-30; /* cannot be reached */
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  CHECK_STATUS(tristar_solve(plan, TRISTAR_N, 1, z.b, z.n, z.x, z.n), TRISTAR_ERR_ACCURACY);
  CHECK_ERROR(ts, "accuracy 1.0e-30 of the plan");
  CHECK(error_of(&z, TRISTAR_N, 1, z.x) < 1e-14);
  free_system(&z);
}

/* The condition and the bounds of forward errors are those of the matrix, not of the rounded factors. */
static void check_condition(tristar_t *ts, const char *kind, int64_t k) {
  system_t z;
  double reciprocal[3], bound[3];
  make_system(ts, kind, k, TRISTAR_DOUBLE, NULL, &z);
  for (int s = TRISTAR_STORAGE_FULL; s <= TRISTAR_STORAGE_BFLOAT16; s++) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_refine_options refine = DEFAULTS(tristar_refine_options);
    tristar_refine_result result;
    int64_t count;
    options.storage = (tristar_storage)s;
    refine.forward_error = 1;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    CHECK_OK(tristar_condition(plan, &reciprocal[s]));
    CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, z.b, z.n, z.x, z.n, &refine, &result));
    bound[s] = result.forward_error;
    CHECK_MSG(reciprocal[s] > 0.5 * reciprocal[0] && reciprocal[s] < 2 * reciprocal[0], "%g, not %g",
              reciprocal[s], reciprocal[0]);
    CHECK_MSG(bound[s] > 0.1 * bound[0] && bound[s] < 1000 * bound[0], "%g, not %g", bound[s], bound[0]);
    if (s == TRISTAR_STORAGE_FULL) continue;
    CHECK_STATUS(tristar_null_space(plan, TRISTAR_N, 1, z.x, z.n, &count), TRISTAR_ERR_UNSUPPORTED);
    CHECK_ERROR(ts, "null vectors need the factor itself");
  }
  free_system(&z);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  for (int z = TSI_TESTS_SANITIZED; z < 2; z++) {
    const tristar_scalar scalar = z ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
    RUN(check(ts, "s2d9pt", 30, TRISTAR_METHOD_AUTO, TRISTAR_INVERSE_DIAGONAL, scalar));
    RUN(check(ts, "poisson3d7", 11, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_DIAGONAL, scalar));
    RUN(check(ts, "convdiff3d", 10, TRISTAR_METHOD_LU, TRISTAR_INVERSE_DIAGONAL, scalar));
    RUN(check(ts, "elasticity3d", 5, TRISTAR_METHOD_LU, TRISTAR_INVERSE_NONE, scalar));
    RUN(check(ts, "poisson3d7", 9, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_PARTITIONED, scalar));
  }
  RUN(check_uses(ts, "poisson3d7", 9));
  RUN(check_uses(ts, "s2d9pt", 20));
  RUN(check_uses(ts, "convdiff3d", 7));
  static const double sizes[] = {1, 1e-60, 1e-90, 1e-150, 1e-200, 1e80, 1e140, 1e250};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += 1 + 2 * TSI_TESTS_SANITIZED) {
    RUN(check_range(ts, sizes[i], sizes[i]));
    RUN(check_range(ts, 1, sizes[i]));
  }
  for (int k = 0; k < 2; k++) {
    const tristar_storage storage = k ? TRISTAR_STORAGE_BFLOAT16 : TRISTAR_STORAGE_SINGLE;
    RUN(check_arrows(ts, storage, 1e-3));
    RUN(check_arrows(ts, storage, 1e-6));
    RUN(check_new_arrow(ts, storage));
    RUN(check_schur_arrow(ts, storage));
  }
  RUN(check_units(ts));
  RUN(check_refused(ts));
  RUN(check_condition(ts, "poisson3d7", 12));
  RUN(check_condition(ts, "s2d9pt",
                      TSI_TESTS_SANITIZED ? 40 : 120)); /* refinement alone does not converge with bfloat16 */
  RUN(check_accuracy(ts, "poisson3d7", 8, TRISTAR_METHOD_AUTO));
  RUN(check_accuracy(ts, "convdiff3d", 8, TRISTAR_METHOD_LU));
  RUN(check_accuracy(ts, "s2d9pt", 30, TRISTAR_METHOD_LDLT));
  return 0;
}
