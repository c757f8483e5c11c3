/* Plans with a compressed factor (tristar_plan_options.compress): solves have the backward error of the
 * tolerance, refined ones that of the matrix; all engines give the same bits, and so does the same plan made
 * again, and fused columns have the bits that they have alone; with release_factor the factor's memory is
 * released, what reads the factor is refused, and new values bring the entries back; what is not supported is
 * refused by name. */
#include <math.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_inverse.h"
#include "tristar_save.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#include "tristar_triangle.h"
#include "tristar_update.h"

#define MOST 70 /* maximum number of right-hand sides */

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

typedef struct system {
  const typed *t;
  int64_t n;
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values, *b, *x, *y;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
} system_t;

static void make_system(tristar_t *ts, const char *kind, int64_t k, const typed *t,
                        const tristar_analysis_options *options, system_t *z) {
  z->t = t;
  z->values = typed_matrix(ts, kind, k, t, TRISTAR_HERMITIAN, &z->matrix, &z->view);
  z->n = z->view.rows;
  z->b = xmalloc((size_t)(MOST * z->n) * t->bytes);
  z->x = xmalloc((size_t)(MOST * z->n) * t->bytes);
  z->y = xmalloc((size_t)(MOST * z->n) * t->bytes);
  for (int64_t i = 0; i < MOST * z->n; i++) put(t, z->b, i, random_value((uint64_t)i + 3));
  CHECK_OK(tristar_analyze(ts, &z->view, options, &z->analysis));
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
  return (size_t)(nrhs * z->n) * z->t->bytes;
}

static double backward_error_of(const system_t *z, tristar_op op, int64_t nrhs, const void *x) {
  double error = 0;
  OWNED void *r = xmalloc(bytes_of(z, nrhs));
  CHECK_OK(tristar_residual(z->factor, op, nrhs, z->b, z->n, x, z->n, r, z->n, &error));
  return error;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static void check_solves(const system_t *z, double tolerance, tristar_plan_t *plan) {
  static const int64_t counts[] = {1, 2, 8, MOST};
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      const int64_t nrhs = counts[c];
      tristar_refine_options refine = DEFAULTS(tristar_refine_options);
      tristar_refine_result result;
      if (nrhs > 8 && ops[o] != TRISTAR_N) continue;
      CHECK_OK(tristar_solve(plan, ops[o], nrhs, z->b, z->n, z->x, z->n));
      const double error = backward_error_of(z, ops[o], nrhs, z->x);
      CHECK_MSG(error <= 100 * tolerance + 300 * z->t->roundoff, "tolerance %g, op %c, %lld: %g", tolerance,
                (char)ops[o], (long long)nrhs, error);
      if (nrhs > 2) continue;
      refine.max_steps = tolerance > 1e-3 ? 10 : 5;
      CHECK_OK(tristar_solve_refined(plan, ops[o], nrhs, z->b, z->n, z->x, z->n, &refine, &result));
      CHECK_MSG(result.backward_error < 100 * z->t->roundoff, "tolerance %g, op %c: %g after %d steps",
                tolerance, (char)ops[o], result.backward_error, (int)result.steps);
    }
}

/* With a tolerance of 1e-8 factors of this size have few blocks that are worth a compression. */
static void check_stats(const tristar_plan_stats *s, double tolerance, double full_bytes) {
  const double all = s->storage_bytes + s->storage_saved;
  CHECK(s->compress == tolerance && s->storage == TRISTAR_STORAGE_FULL);
  CHECK(s->compressed_blocks >= s->compressed_panels && s->low_rank_blocks <= s->compressed_blocks);
  CHECK(s->rank_share >= 0 && s->rank_share < 1 && s->compressed_full_bytes < all);
  CHECK(fabs(s->stream_bytes / full_bytes * all / s->storage_bytes - 1) < 1e-12);
  if (tolerance < 1e-4) return;
  CHECK(s->compressed_panels > 0 && s->low_rank_blocks > 0);
  CHECK(s->compressed_bytes < s->compressed_full_bytes && s->storage_saved > 0);
}

static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, tristar_inverse inverse,
                  const typed *t) {
  static const double tolerances[] = {1e-2, 1e-4, 1e-8};
  system_t z;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  analysis.method = method;
  analysis.inverse = inverse;
  make_system(ts, kind, k, t, &analysis, &z);
  OWNED void *serial = xmalloc(bytes_of(&z, 3));
  for (int large = 0; large < 2; large++) {
    options.chunk_bytes_max = large ? 0 : 50000; /* small chunks have slices */
    options.engine = TRISTAR_ENGINE_SERIAL;
    options.compress = 0;
    tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    tristar_plan_get_stats(plan, &stats);
    CHECK(stats.compress == 0 && stats.compressed_panels == 0 && stats.storage_bytes == 0);
    const double full_bytes = stats.stream_bytes;
    tristar_plan_destroy(&plan);
    for (size_t i = t->is_single ? 1 : 0; i < (t->is_single ? 2 : 3); i++)
      for (int run = 0; run < 3; run++) { /* serial, tasks, serial again */
        options.engine = run == 1 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
        options.compress = tolerances[i];
        plan = NEW_PLAN(z.factor, &options);
        tristar_plan_get_stats(plan, &stats);
        check_stats(&stats, tolerances[i], full_bytes);
        CHECK(!stats.factor_released);
        if (run == 0 && !TSI_TESTS_RACES) check_solves(&z, tolerances[i], plan);
        CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, z.b, z.n, z.x, z.n));
        if (run == 0) memcpy(serial, z.x, bytes_of(&z, 3));
        CHECK(memcmp(serial, z.x, bytes_of(&z, 3)) == 0);
        tristar_plan_destroy(&plan);
      }
  }
  free_system(&z);
}

/* Compressed blocks are stored in the storage format of the plan, if it is narrower. */
static void check_formats(tristar_t *ts) {
  system_t z;
  double bytes = INFINITY;
  make_system(ts, "poisson3d7", 24, &typed_double, NULL, &z);
  for (int s = TRISTAR_STORAGE_FULL; s <= TRISTAR_STORAGE_BFLOAT16; s++) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_plan_stats stats;
    tristar_refine_result result;
    options.storage = (tristar_storage)s;
    options.compress = 1e-6;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    tristar_plan_get_stats(plan, &stats);
    CHECK(stats.compressed_panels > 0 && stats.storage_bytes < bytes && stats.storage == options.storage);
    bytes = stats.storage_bytes;
    CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, z.b, z.n, z.x, z.n, NULL, &result));
    CHECK(result.backward_error < 2e-14);
  }
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.compress = 1e-4;
  options.accuracy = 1e-10; /* tristar_solve refines to this accuracy */
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 2, z.b, z.n, z.x, z.n));
  CHECK(backward_error_of(&z, TRISTAR_N, 2, z.x) <= 1e-10);
  free_system(&z);
}

/* A column of a plan with fuse_columns has the same bits in each group of columns. The plan has columns of
 * all formats. */
static void check_fused(tristar_t *ts, int64_t most, const typed *t) {
  static const int64_t counts[] = {1, 2, 3, 4, 5, 8, 17, 33, 64};
  system_t z;
  make_system(ts, "poisson3d7", 16, t, NULL, &z);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.compress = 1e-6;
  options.fuse_columns = most;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, most, z.b, z.n, z.y, z.n));
  for (size_t c = 0; c < sizeof counts / sizeof *counts && counts[c] <= most; c++) {
    CHECK_OK(tristar_solve(plan, TRISTAR_N, counts[c], z.b, z.n, z.x, z.n));
    CHECK_MSG(memcmp(z.x, z.y, bytes_of(&z, counts[c])) == 0, "%lld of %lld columns", (long long)counts[c],
              (long long)most);
  }
  free_system(&z);
}

/* ---- The factor is released ---------------------------------------------------------------------------- */

static void check_readers_refused(tristar_t *ts, const system_t *z, tristar_plan_t *other) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_t *plan;
  CHECK_STATUS(tristar_plan(z->factor, NULL, &plan), TRISTAR_ERR_STALE);
  CHECK_ERROR(ts, "a plan with release_factor has taken them over");
  options.compress = 1e-3;
  CHECK_STATUS(tristar_plan(z->factor, &options, &plan), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_solve(other, TRISTAR_N, 1, z->b, z->n, z->x, z->n), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_factor_save(z->factor, "never_written.tristar"), TRISTAR_ERR_STALE);
}

/* Each allocation of a plan that releases the factor fails in turn. Either the factor keeps its entries, or
 * the message says that they are lost until the next factorization. */
static void check_release_fails(tristar_t *ts) {
  system_t z;
  int lost = 0;
  make_system(ts, "poisson3d7", 12, &typed_double, NULL, &z);
  CHECK_OK(tristar_refactor(z.factor, z.values)); /* allocates memory that the factor keeps */
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_plan_t *plan, *other = NULL;
    options.compress = 1e-3;
    options.release_factor = 1;
    const tristar_status status = tristar_plan(z.factor, &options, &plan);
    char message[512];
    tristar_get_error(ts, message, sizeof message);
    end_failure(&failing, status);
    if (status != TRISTAR_OK) {
      const bool emptied = strstr(message, "tristar_refactor makes them again") != NULL;
      const tristar_status again = tristar_plan(z.factor, NULL, &other);
      CHECK_MSG(again == (emptied ? TRISTAR_ERR_STALE : TRISTAR_OK), "%d after: %s", (int)again, message);
      if (emptied) CHECK_ERROR(ts, "or failed while it did");
      lost += emptied;
    }
    tristar_plan_destroy(&other);
    tristar_plan_destroy(&plan);
    CHECK_OK(tristar_refactor(z.factor, z.values));
  }
  CHECK(lost > 0);
  free_system(&z);
}

static void scale_values(const system_t *z, double factor) {
  const int64_t entries = ((const int64_t *)z->view.ptr)[z->n];
  for (int64_t i = 0; i < entries; i++) put(z->t, z->values, i, factor * get(z->t, z->values, i));
}

static void check_release(tristar_t *ts, const char *kind, int64_t k, tristar_method method, const typed *t,
                          tristar_storage storage, double tolerance) {
  system_t z;
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  tristar_factor_stats factor;
  analysis.method = method;
  make_system(ts, kind, k, t, &analysis, &z);
  tristar_factor_get_stats(z.factor, &factor);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *other = NEW_PLAN(z.factor, NULL);
  options.compress = tolerance;
  options.storage = storage;
  tristar_plan_t *copy = NEW_PLAN(z.factor, &options);
  CHECK_OK(tristar_solve(copy, TRISTAR_N, 3, z.b, z.n, z.y, z.n));
  tristar_plan_destroy(&copy);
  options.release_factor = 1;
  const size_t before = bytes_held(ts);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  const size_t after = bytes_held(ts);
  tristar_plan_get_stats(plan, &stats);
  CHECK(stats.factor_released && stats.storage_saved > 0);
  if (factor.factor_bytes > 4000000) /* for small factors, tasks and workspace need more */
    CHECK_MSG((double)after < (double)before - 0.5 * stats.storage_saved, "%zu before, %zu after", before,
              after);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, z.b, z.n, z.x, z.n));
  CHECK(memcmp(z.x, z.y, bytes_of(&z, 3)) == 0);
  check_readers_refused(ts, &z, other);
  for (int round = 0; round < 2; round++) { /* all numbers of 4 A differ by powers of 2 */
    scale_values(&z, 4);
    CHECK_OK(tristar_refactor(z.factor, z.values));
    CHECK_OK(tristar_solve(other, TRISTAR_N, 1, z.b, z.n, z.x, z.n));
    CHECK(backward_error_of(&z, TRISTAR_N, 1, z.x) < 1000 * t->roundoff);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, z.b, z.n, z.x, z.n));
    CHECK(backward_error_of(&z, TRISTAR_N, 3, z.x) < 100 * (tolerance + 0.01));
    check_readers_refused(ts, &z, other);
  }
  scale_values(&z, 1.0 / 16);
  CHECK_OK(tristar_refactor(z.factor, z.values));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, z.b, z.n, z.x, z.n));
  CHECK(memcmp(z.x, z.y, bytes_of(&z, 3)) == 0);
  free_system(&z);
}

/* Without the entries of the factor an update cannot use the complements that it keeps. All fronts are
 * factored. */
static void check_release_update(tristar_t *ts) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_update_result result;
  system_t z;
  make_system(ts, "poisson3d7", 8, &typed_double, NULL, &z);
  options.compress = 1e-6;
  options.release_factor = 1;
  CHECK_OK(tristar_update_begin(z.factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
  put(z.t, z.values, 0, 2 * get(z.t, z.values, 0));
  CHECK_OK(tristar_update_values(z.factor, z.values, &result));
  CHECK(result.whole && result.entries == 1 && result.fronts == result.all_fronts);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *other = NEW_PLAN(z.factor, NULL);
  CHECK_OK(tristar_solve(other, TRISTAR_N, 1, z.b, z.n, z.x, z.n));
  CHECK(backward_error_of(&z, TRISTAR_N, 1, z.x) < 1e-13);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z.b, z.n, z.x, z.n));
  CHECK(backward_error_of(&z, TRISTAR_N, 1, z.x) < 1e-4);
  free_system(&z);
}

/* The factor keeps its entries while formats fail the accuracy test. The first format that passes replaces
 * the entries; if none does, the factor remains. New values use the same format. */
static void check_release_auto(tristar_t *ts) {
  static const struct {
    double compress, accuracy;
    tristar_storage storage;
    int released;
  } cases[] = {{1e-2, 0x1p-7, TRISTAR_STORAGE_FULL, 1},
               {0, 1e-5, TRISTAR_STORAGE_SINGLE, 1},
               {0, 0x1p-8, TRISTAR_STORAGE_SINGLE, 1},
               {0, 0x1p-24, TRISTAR_STORAGE_FULL, 0},
               {0, 1e-14, TRISTAR_STORAGE_FULL, 0}};
  system_t z;
  make_system(ts, "poisson3d7", 20, &typed_double, NULL, &z);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_plan_stats stats;
    options.storage = TRISTAR_STORAGE_AUTO;
    options.release_factor = 1;
    options.compress = cases[c].compress;
    options.accuracy = cases[c].accuracy;
    const size_t before = bytes_held(ts);
    tristar_plan_t *plan = NEW_PLAN(z.factor, &options);
    const size_t after = bytes_held(ts);
    tristar_plan_get_stats(plan, &stats);
    CHECK_MSG(stats.storage == cases[c].storage && stats.factor_released == cases[c].released,
              "case %d: storage %d, released %d", (int)c, (int)stats.storage, stats.factor_released);
    CHECK_MSG(!stats.factor_released || (double)after < (double)before - 0.5 * stats.storage_saved,
              "case %d: %zu bytes before, %zu after", (int)c, before, after);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z.b, z.n, z.x, z.n));
    CHECK(backward_error_of(&z, TRISTAR_N, 1, z.x) <= options.accuracy);
    CHECK_OK(tristar_refactor(z.factor, z.values));
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, z.b, z.n, z.y, z.n));
    CHECK(memcmp(z.x, z.y, bytes_of(&z, 1)) == 0);
    tristar_plan_get_stats(plan, &stats);
    CHECK(stats.factor_released == cases[c].released);
    tristar_plan_destroy(&plan);
    CHECK_OK(tristar_refactor(z.factor, z.values));
  }
  free_system(&z);
}

/* ---- What is refused ----------------------------------------------------------------------------------- */

static void check_refused(tristar_t *ts) {
  static const double wrong[] = {-1e-3, 1, 2, INFINITY, NAN};
  system_t z;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_t *plan;
  make_system(ts, "poisson3d7", 6, &typed_double, NULL, &z);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    options.compress = wrong[i];
    CHECK_STATUS(tristar_plan(z.factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
    CHECK_ERROR(ts, "compress is");
  }
  options.compress = 1e-6;
  options.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_STATUS(tristar_plan(z.factor, &options, &plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK_ERROR(ts, "compressed with the tolerance 1.0e-06: plans with KERNEL_SPMV read the factor itself");
  options.kernel = TRISTAR_KERNEL_PANELS;
  options.compress = 0;
  options.release_factor = 1;
  CHECK_STATUS(tristar_plan(z.factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "release_factor");
  free_system(&z);
}

int main(int argc, char **argv) {
  const bool all = !TSI_TESTS_SANITIZED; /* with sanitizers, only real and complex types of one precision */
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  RUN(check(ts, "poisson3d7", 16, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_DIAGONAL, &typed_double));
  RUN(check(ts, "convdiff3d", 14, TRISTAR_METHOD_LU, TRISTAR_INVERSE_DIAGONAL, &typed_double));
  if (all) {
    RUN(check(ts, "poisson3d7", 18, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_NONE, &typed_complex_double));
    RUN(check(ts, "convdiff3d", 17, TRISTAR_METHOD_LU, TRISTAR_INVERSE_PARTITIONED, &typed_complex_double));
    RUN(check(ts, "poisson3d7", 16, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_DIAGONAL, &typed_single));
  }
  RUN(check(ts, "convdiff3d", 17, TRISTAR_METHOD_LU, TRISTAR_INVERSE_NONE, &typed_complex_single));
  RUN(check_formats(ts));
  RUN(check_fused(ts, 64, &typed_double));
  RUN(check_fused(ts, 8, &typed_double));
  if (all) RUN(check_fused(ts, 17, &typed_complex_double));
  RUN(check_release(ts, "poisson3d7", 24, TRISTAR_METHOD_LLT, &typed_double, TRISTAR_STORAGE_FULL, 1e-6));
  if (all)
    RUN(check_release(ts, "convdiff3d", 16, TRISTAR_METHOD_LU, &typed_complex_double, TRISTAR_STORAGE_FULL,
                      1e-3));
  if (all)
    RUN(check_release(ts, "poisson3d7", 16, TRISTAR_METHOD_LDLT, &typed_single, TRISTAR_STORAGE_FULL, 1e-3));
  RUN(check_release(ts, "convdiff3d", 14, TRISTAR_METHOD_LU, &typed_double, TRISTAR_STORAGE_SINGLE, 0));
  RUN(check_release_update(ts));
  RUN(check_release_fails(ts));
  RUN(check_release_auto(ts));
  RUN(check_refused(ts));
  return 0;
}
