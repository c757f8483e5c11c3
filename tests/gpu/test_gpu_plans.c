/* Plans with subtrees on emulated devices, on StarPU's workers. They solve like the serial executor, within
 * roundoff, with the same bits in every run, under every scheduler, alone and several at a time. New values
 * of the factor reach the devices. Rows of b and x can be chosen; unsupported options are refused. */
#include "partition/device/device_split.h"
#include "runtime/solve/device_plan.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

#include "runtime/exec/starpu/devices.h"

static const problem problems[] = {
    {"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 0},
    {"s2d9pt", 10, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 0},
    {"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 0},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 0},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 0},
    {"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 0}, /* with a matching */
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 0},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, REQUESTS = 2 };

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

/* A factor with a plan for the calling thread and one for cores and devices. */
typedef struct placed_system {
  const typed *type;
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values;
  int64_t n;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *serial, *placed;
} placed_system;

/* Assigns subtrees to two devices with memory for a part of the factor. Returns the number of subtrees. */
static tsi_index place(tsi_env *env, const tristar_factor_t *factor, tsi_index *device) {
  const tristar_analysis_t *an = factor->analysis;
  const double scalar = (double)factor->scalar_bytes,
               bytes = scalar * (double)an->panel_values[an->panels->count];
  OWNED double *stored = xmalloc((size_t)an->symbolic->count * sizeof *stored);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    stored[s] = scalar *
                (double)(an->panel_values[an->panels->first[s + 1]] - an->panel_values[an->panels->first[s]]);
  const tsi_device_split_costs costs = {.devices = 2,
                                        .device_bandwidth = 4,
                                        .device_memory = 0.4 * bytes,
                                        .bus_bandwidth = 100,
                                        .cores = 2,
                                        .core_bandwidth = 0.5,
                                        .cores_bandwidth = 1,
                                        .cut = tsi_plan_chunk_options(factor, &options),
                                        .stream_bytes = scalar,
                                        .stored = stored,
                                        .row_bytes = scalar};
  tsi_device_split *placing;
  tsi_index placed = 0;
  CHECK_OK(tsi_device_split_create(env, an->symbolic, an->panels, &costs, &placing));
  tsi_device_split_devices(placing, an->symbolic, device);
  for (tsi_index d = 0; d < 2; d++) placed += placing->load[d].subtrees;
  TSI_FREE(env, placing);
  return placed;
}

/* Options in which each device has enough memory. */
static tsi_device_split_options places_of(const tristar_factor_t *factor) {
  tsi_device_split_options places = {
      .device = xcalloc((size_t)factor->analysis->symbolic->count, sizeof(tsi_index))};
  tsi_device_options_init(&places.cut, factor->scalar_bytes);
  return places;
}

static placed_system system_open(tristar_t *ts, const problem *p, const typed *t) {
  placed_system s = {.type = t};
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  s.values = typed_matrix(ts, p->kind, p->size, t, p->symmetry, &s.matrix, &s.view);
  s.n = s.view.rows;
  analysis.method = p->method;
  analysis.inverse = p->inverse;
  CHECK_OK(tristar_analyze(ts, &s.view, &analysis, &s.analysis));
  CHECK_OK(tristar_factor(s.analysis, s.values, &s.factor));
  plan.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(s.factor, &plan, &s.serial));
  tsi_device_split_options places = places_of(s.factor);
  CHECK(place(&ts->env, s.factor, places.device) >= 2);
  plan.engine = TRISTAR_ENGINE_TASKS;
  plan.chunk_bytes_max = 8000;
  CHECK_OK(tsi_plan_create(s.factor, &plan, NULL, &places, &s.placed));
  free(places.device);
  return s;
}

static void system_close(placed_system *s) {
  tristar_plan_destroy(&s->placed);
  tristar_plan_destroy(&s->serial);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

/* Solves with both plans. Returns x of the placed one, which the caller frees. */
static void *solve(const placed_system *s, const tristar_solve_options *options, int64_t nrhs) {
  const int64_t rows = options->x_row ? options->x_rows : s->n;
  const size_t bytes = (size_t)(rows * nrhs) * s->type->bytes;
  void *b = random_scalars(s->type, s->n * nrhs, 5), *expected = xcalloc(bytes + 1, 1),
       *x = xcalloc(bytes + 1, 1), *again = xcalloc(bytes + 1, 1);
  CHECK_OK(tristar_solve_with(s->serial, options, nrhs, b, expected, NULL));
  CHECK_OK(tristar_solve_with(s->placed, options, nrhs, b, x, NULL));
  CHECK_OK(tristar_solve_with(s->placed, options, nrhs, b, again, NULL));
  const double differs = difference(s->type, rows * nrhs, expected, x);
  CHECK_MSG(differs <= (s->type->is_single ? 2e-3 : 1e-10), "op %d, part %d, %d right-hand sides: %g",
            (int)options->op, (int)options->part, (int)nrhs, differs);
  CHECK(memcmp(x, again, bytes) == 0);
  free(b);
  free(expected);
  free(again);
  return x;
}

/* Concurrent solves give the bits of a single one. */
static void check_requests(const placed_system *s, const tristar_solve_options *options, int64_t nrhs,
                           const void *expected) {
  const size_t bytes = (size_t)(s->n * nrhs) * s->type->bytes;
  void *b = random_scalars(s->type, s->n * nrhs, 5), *x[REQUESTS];
  tristar_request_t *request[REQUESTS];
  for (int k = 0; k < REQUESTS; k++) {
    x[k] = xcalloc(bytes + 1, 1);
    CHECK_OK(tristar_solve_start(s->placed, options, nrhs, b, x[k], &request[k]));
  }
  for (int k = REQUESTS; k-- > 0;) {
    CHECK_OK(tristar_wait(&request[k], NULL));
    CHECK(memcmp(x[k], expected, bytes) == 0);
    free(x[k]);
  }
  free(b);
}

static void check_sparse(const placed_system *s) {
  const int64_t given[] = {3, 0, 7}, wanted[] = {5, 1};
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.b_rows = 3;
  options.b_row = given;
  options.x_rows = 2;
  options.x_row = wanted;
  free(solve(s, &options, 2));
}

/* Twice the matrix gives half the solution. */
static void check_refactor(placed_system *s) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->view.cols];
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  for (int64_t e = 0; e < entries; e++) put(s->type, s->values, e, 2 * get(s->type, s->values, e));
  CHECK_OK(tristar_refactor(s->factor, s->values));
  free(solve(s, &options, 1));
}

/* Runs all checks of a system. Adds the bits of the first solve to *bits. */
static void check_system(tristar_t *ts, const problem *p, const typed *t, unsigned variant, uint64_t *bits) {
  CLEANUP(system_close) placed_system s = system_open(ts, p, t);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  for (int k = 0; k < 3; k++) {
    const int64_t nrhs = k == 1 ? 5 : 1;
    options.op = ops[(variant + (unsigned)k) % 3];
    options.part = k < 2 ? TRISTAR_PART_ALL : variant % 2 ? TRISTAR_PART_L : TRISTAR_PART_U;
    OWNED void *x = solve(&s, &options, nrhs);
    if (k < 2) check_requests(&s, &options, nrhs, x);
    for (size_t i = 0; i < (size_t)(s.n * nrhs) * t->bytes; i++)
      *bits = *bits * 1099511628211u + ((unsigned char *)x)[i];
  }
  check_sparse(&s);
  check_refactor(&s);
}

static void check_refusals(tristar_t *ts) {
  CLEANUP(system_close) placed_system s = system_open(ts, &problems[0], &typed_double);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_t *plan;
  tsi_device_split_options places = places_of(s.factor);
  options.updates = TRISTAR_UPDATES_PUSH;
  CHECK_STATUS(tsi_plan_create(s.factor, &options, NULL, &places, &plan), TRISTAR_ERR_UNSUPPORTED);
  options.updates = TRISTAR_UPDATES_PULL;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_STATUS(tsi_plan_create(s.factor, &options, NULL, &places, &plan), TRISTAR_ERR_UNSUPPORTED);
  options.engine = TRISTAR_ENGINE_TASKS;
  for (tsi_index k = 0; k < s.factor->analysis->symbolic->count; k++) places.device[k] = TSI_DEVICES_MOST - 1;
  CHECK_STATUS(tsi_plan_create(s.factor, &options, NULL, &places, &plan), TRISTAR_ERR_NO_WORKER);
  free(places.device);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const char *const schedulers[] = {"lws", "eager", "dmdas"};
  uint64_t expected = 0;
  for (unsigned k = 0; k < (TSI_TESTS_RACES ? 1 : 3); k++) { /* the thread sanitizer is slow */
    tristar_t *ts;
    tristar_config config = DEFAULTS(tristar_config);
    uint64_t bits = 0;
    config.scheduler = schedulers[k];
    CHECK_OK(tristar_create(&config, &ts));
    for (unsigned i = 0; i < PROBLEMS; i++) RUN(check_system(ts, &problems[i], types[i % 4].type, i, &bits));
    if (k == 0 && !TSI_TESTS_RACES) {
      uint64_t others = 0;
      for (unsigned i = 1; i < 4; i++) RUN(check_system(ts, &problems[i + 2], types[i].type, i, &others));
    }
    CHECK_TOTAL(k == 0 || bits == expected, "scheduler %s gives other bits", schedulers[k]);
    expected = bits;
    if (k == 0) RUN(check_refusals(ts));
    tristar_destroy(&ts);
  }
  return 0;
}
