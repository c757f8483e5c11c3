/* Plans with a triangle by rows on an emulated device, by public calls: imported triangles, permuted
 * and scaled ones and others, all partitions by rows and in blocks, N, T and C solve as a plan of the cores
 * does, within roundoff, with the same bits in every run. New values reach the device; several solves are in
 * flight; some rows of b are given, and some of x chosen. Too little memory leaves the triangle on the cores,
 * and what cannot be is refused. */
#include "runtime/import/import.h"
#include "tests/support/context.h"
#include "tests/support/gpu/row_ways.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"

static tristar_plan_options placed(tristar_place place) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.place = place;
  options.nrhs = 3;
  return options;
}

static tristar_plan_t *make(tristar_factor_t *factor, tristar_place place) {
  const tristar_plan_options options = placed(place);
  tristar_plan_t *plan = NEW_PLAN(factor, &options);
  CHECK(tristar_plan_get_device(plan, 0, NULL) == (place == TRISTAR_PLACE_GPU));
  CHECK(!tristar_plan_get_subtree(plan, 0, NULL) && !tristar_plan_get_device(plan, 1, NULL));
  return plan;
}

static void check_close(const system_of *s, const char *expected, const char *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    CHECK_MSG(magnitude(get(s->t, expected, i) - get(s->t, x, i)) <=
                  1e3 * s->t->roundoff * (1 + magnitude(get(s->t, expected, i))),
              "entry %d", (int)i);
}

/* Two solves with the same b have the same bits, and equal x of the cores up to roundoff. */
static void check(tristar_t *ts, const system_of *s, const way *w) {
  const size_t bytes = (size_t)(N * w->nrhs) * s->t->bytes;
  OWNED char *b = xmalloc(bytes), *x = xmalloc(bytes), *y = xmalloc(bytes), *z = xmalloc(bytes);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, s, w);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *cores = make(factor, TRISTAR_PLACE_CPU);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *device = make(factor, TRISTAR_PLACE_GPU);
  const tristar_solve_options solve = way_solve_options(s, w);
  fill_b(s, (tsi_index)w->nrhs, b);
  memcpy(x, b, bytes);
  memcpy(y, b, bytes);
  memcpy(z, b, bytes);
  CHECK_OK(tristar_solve_with(cores, &solve, w->nrhs, b, x, NULL));
  CHECK_OK(tristar_solve_with(device, &solve, w->nrhs, b, y, NULL));
  CHECK_OK(tristar_solve_with(device, &solve, w->nrhs, b, z, NULL));
  check_close(s, x, y, N * w->nrhs);
  CHECK(memcmp(y, z, bytes) == 0);
}

static void check_all(tristar_t *ts) {
  static const int kinds[] = {TRIANGLE_RANDOM, TRIANGLE_GRID, TRIANGLE_POWER_LAW, TRIANGLE_EMPTY_ROWS};
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  unsigned variant = 0;
  for (int k = 0; k < 4; k++) {
    CLEANUP(system_free) system_of s = system_create(triangle_create(kinds[k], N, 5), types[k]);
    for (int p = 0; p < PARTITIONS; p++, variant++)
      for (int op = 0; op < TYPED_OPS; op++) {
        const way w = {.uplo = (variant + (unsigned)op) % 2 ? TRISTAR_UPPER : TRISTAR_LOWER,
                       .partition = partitions[p],
                       .op = typed_ops[op],
                       .diag = variant % 7 == 0 ? TRISTAR_UNIT : TRISTAR_NON_UNIT,
                       .moved = variant / 2 % 2,
                       .nrhs = 1 + (variant + (unsigned)op) % 3};
        check(ts, &s, &w);
      }
  }
}

static const way plain = {TRISTAR_LOWER, TRISTAR_PARTITION_LEVELS, TRISTAR_N, TRISTAR_NON_UNIT, false, 1};

static system_of some_system(void) {
  return system_create(triangle_create(TRIANGLE_RANDOM, N, 5), &typed_double);
}

/* New values, as set for preconditioners, are used by plans of both kinds in both directions. Several
 * solves are in flight. */
static void check_values(tristar_t *ts) {
  CLEANUP(system_free) system_of s = some_system();
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, &s, &plain);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *cores = make(factor, TRISTAR_PLACE_CPU);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *device = make(factor, TRISTAR_PLACE_GPU);
  double b[N], x[N], y[3][N];
  tristar_request_t *request[3];
  fill_b(&s, 1, (char *)b);
  for (int round = 0; round < 3; round++) {
    double *values = (double *)s.values[0];
    for (int64_t e = 0; e < s.pattern[0].ptr[N]; e++) values[e] *= 1.5;
    CHECK_OK(tsi_reimport_lines(factor, values, false));
    tristar_solve_options solve = way_solve_options(&s, &plain);
    solve.op = round % 2 ? TRISTAR_T : TRISTAR_N;
    CHECK_OK(tristar_solve(cores, solve.op, 1, b, N, x, N));
    for (int k = 0; k < 3; k++) CHECK_OK(tristar_solve_start(device, &solve, 1, b, y[k], &request[k]));
    for (int k = 0; k < 3; k++) {
      CHECK_OK(tristar_wait(&request[k], NULL));
      check_close(&s, (char *)x, (char *)y[k], N);
    }
  }
}

/* A sparse b, and a list of rows of x. */
static void check_rows(tristar_t *ts) {
  CLEANUP(system_free) system_of s = some_system();
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, &s, &plain);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *device = make(factor, TRISTAR_PLACE_GPU);
  const int64_t given[2] = {3, 17}, wanted[3] = {79, 20, 3};
  const double some[2] = {1, -2};
  double b[N] = {0}, x[N], y[3];
  tristar_solve_options solve = way_solve_options(&s, &plain);
  for (int k = 0; k < 2; k++) b[given[k]] = some[k];
  CHECK_OK(tristar_solve(device, TRISTAR_N, 1, b, N, x, N));
  solve.b_rows = 2, solve.b_row = given;
  solve.x_rows = 3, solve.x_row = wanted;
  CHECK_OK(tristar_solve_with(device, &solve, 1, some, y, NULL));
  for (int k = 0; k < 3; k++) CHECK(y[k] == x[wanted[k]]);
}

/* Statistics of the plan, and its explanation. */
static void check_figures(tristar_t *ts) {
  CLEANUP(system_free) system_of s = some_system();
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, &s, &plain);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *device = make(factor, TRISTAR_PLACE_GPU);
  tristar_device_stats d;
  tristar_explanation why;
  const double entries = (double)s.pattern[0].ptr[N];
  CHECK(tristar_plan_get_device(device, 0, &d) && d.device == 0 && d.chunks == 1 && d.transfers == 2);
  CHECK(d.factor_bytes == 8 * entries);                         /* the diagonal is stored as its inverse */
  CHECK(d.up_bytes == 4 * 8 * N && d.down_bytes == d.up_bytes); /* 3 right-hand sides are padded to 4 */
  CHECK(d.workspace_bytes > 2 * d.up_bytes && d.table_bytes > 4 * N);
  CHECK_OK(tristar_plan_explain(device, NULL, 1, &why));
  CHECK(why.way == TRISTAR_WAY_DEVICES && strcmp(why.reason, "the triangle is on a device") == 0);
}

static void check_error(tristar_t *ts, const char *expected) {
  CHECK_ERROR(ts, expected);
}

/* Too little memory: for the triangle, so that the cores have it; or for its transpose. */
static void check_memory(tristar_t *ts) {
  CLEANUP(system_free) system_of s = some_system();
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, &s, &plain);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *device = make(factor, TRISTAR_PLACE_GPU), *small = NULL;
  tristar_plan_options options = placed(TRISTAR_PLACE_GPU);
  tristar_device_stats d;
  tristar_plan_stats stats;
  double b[N], x[N];
  fill_b(&s, 1, (char *)b);
  CHECK(tristar_plan_get_device(device, 0, &d));
  const double all = d.factor_bytes + d.table_bytes + d.workspace_bytes;
  options.device_bytes = (int64_t)all - 1;
  CHECK_OK(tristar_plan(factor, &options, &small));
  CHECK_OK(tristar_plan_get_stats(small, &stats));
  CHECK(stats.devices == 0 && stats.unfit_bytes == d.factor_bytes);
  CHECK_OK(tristar_solve(small, TRISTAR_N, 1, b, N, x, N));
  tristar_plan_destroy(&small);
  options.device_bytes = (int64_t)all;
  CHECK_OK(tristar_plan(factor, &options, &small));
  CHECK_OK(tristar_plan_get_stats(small, &stats));
  CHECK(stats.devices == 1 && stats.unfit_bytes == 0 && stats.nrhs_block == 4);
  CHECK_OK(tristar_solve(small, TRISTAR_N, 1, b, N, x, N));
  CHECK(tristar_solve(small, TRISTAR_T, 1, b, N, x, N) == TRISTAR_ERR_MEMORY);
  check_error(ts, "both sweeps of the triangle need");
  tristar_plan_destroy(&small);
}

static void check_refused(tristar_t *ts) {
  CLEANUP(system_free) system_of s = some_system();
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, &s, &plain);
  tristar_plan_options options = placed(TRISTAR_PLACE_GPU);
  tristar_plan_t *plan;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK(tristar_plan(factor, &options, &plan) == TRISTAR_ERR_UNSUPPORTED && plan == NULL);
  check_error(ts, "PLACE_GPU: there are no tasks");
  options.place = TRISTAR_PLACE_AUTO;
  CHECK_OK(tristar_plan(factor, &options, &plan));
  CHECK(!tristar_plan_get_device(plan, 0, NULL));
  tristar_plan_destroy(&plan);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_with_starpu(0, true);
  RUN(check_all(ts));
  RUN(check_values(ts));
  RUN(check_rows(ts));
  RUN(check_figures(ts));
  RUN(check_memory(ts));
  RUN(check_refused(ts));
  return 0;
}
