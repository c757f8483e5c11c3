/* tristar_plan_explain names the way of a solve and its reason, and then the solve goes this way: statistics
 * of the solve have tasks and workers where the explanation has them. Every way but devices (test_gpu_place),
 * and every cause that a program can bring about: options, small systems, parts, few rows, StarPU tasks. */
#include <starpu.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_starpu.h"
#include "tristar_trace.h"
#include "tristar_matrix.h"

typedef struct expected {
  tristar_way way;
  const char *name, *reason; /* reason: a word of the explanation */
} expected;

static tristar_explanation check(tristar_plan_t *plan, const tristar_solve_options *options, int64_t nrhs,
                                 const expected *e) {
  tristar_explanation x;
  CHECK_OK(tristar_plan_explain(plan, options, nrhs, &x));
  CHECK_MSG(x.way == e->way && strcmp(x.name, e->name) == 0, "%s because %s, not %s", x.name, x.reason,
            e->name);
  CHECK_MSG(strstr(x.reason, e->reason) != NULL, "%s because %s, not of %s", x.name, x.reason, e->reason);
  const size_t length = strlen(x.reason);
  CHECK(length > 0 && length < sizeof x.reason && x.reason[length - 1] != '.');
  tristar_plan_stats stats;
  CHECK_OK(tristar_plan_get_stats(plan, &stats));
  const bool shared = e->way >= TRISTAR_WAY_LANES;
  CHECK_MSG(x.threads == (shared ? stats.workers : 1), "%d threads", x.threads);
  return x;
}

/* Compares the explanation with the expected one, and with the solve. */
static void check_solve(tristar_plan_t *plan, const tristar_solve_options *options, int64_t n, int64_t nrhs,
                        const expected *e) {
  tristar_solve_stats stats;
  OWNED double *b = malloc((size_t)(n * nrhs) * sizeof *b), *x = malloc((size_t)(n * nrhs) * sizeof *x);
  CHECK(b != NULL && x != NULL);
  fill_random(b, n * nrhs, 3);
  (void)check(plan, options, nrhs, e);
  if (options)
    CHECK_OK(tristar_solve_with(plan, options, nrhs, b, x, NULL));
  else
    CHECK_OK(tristar_solve(plan, TRISTAR_N, nrhs, b, n, x, n));
  CHECK_OK(tristar_plan_get_solve_stats(plan, &stats));
  CHECK_MSG((stats.workers > 1) == (e->way >= TRISTAR_WAY_TASKS), "%s: %d workers", e->name, stats.workers);
}

typedef struct problem {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_factor_t *factor;
  int64_t n;
} problem;

static void make_context(int use_starpu, problem *p) {
  tristar_config config = DEFAULTS(tristar_config);
  config.use_starpu = use_starpu;
  CHECK_OK(tristar_create(&config, &p->ts));
}

static void factor(const char *generator, int64_t size, problem *p) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view view = generated_view(p->ts, generator, size, &p->matrix);
  p->n = view.rows;
  options.ordering = TRISTAR_ORDERING_METIS; /* AMD's trees have longer paths than the test expects */
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(p->ts, &view, &options);
  CHECK_OK(tristar_factor(analysis, view.values, &p->factor));
}

static void import(const char *generator, int64_t size, tristar_partition partition, problem *p) {
  tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
  tristar_view view = generated_view(p->ts, generator, size, &p->matrix);
  p->n = view.rows;
  options.partition = partition;
  CHECK_OK(tristar_import_triangle(p->ts, &view, &options, &p->factor));
}

static void release(problem *p) {
  tristar_factor_destroy(&p->factor);
  tristar_matrix_destroy(&p->matrix);
}

static tristar_plan_t *plan_of(const problem *p, const tristar_plan_options *options) {
  tristar_plan_t *plan = NEW_PLAN(p->factor, options);
  return plan;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

static void explain_task(void *buffers[], void *arg) {
  tristar_plan_t *plan;
  (void)buffers;
  starpu_codelet_unpack_args(arg, &plan);
  (void)check(plan, NULL, 1, &(expected){TRISTAR_WAY_SERIAL, "serial", "StarPU task must not wait"});
}
static struct starpu_codelet explainer = {.cpu_funcs = {explain_task}, .nbuffers = 0};

static void check_engines(const problem *p) {
  static const expected serial = {TRISTAR_WAY_SERIAL, "serial", "engine of the plan is SERIAL"},
                        tasks = {TRISTAR_WAY_TASKS, "tasks", "engine of the plan is TASKS"},
                        diagonal = {TRISTAR_WAY_DIRECT, "direct", "D alone"},
                        few = {TRISTAR_WAY_SERIAL, "serial", "of the factor, less than"};
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_solve_options solve;
  options.engine = TRISTAR_ENGINE_SERIAL;
  tristar_plan_t *plan = plan_of(p, &options);
  check_solve(plan, NULL, p->n, 1, &serial);
  tristar_plan_destroy(&plan);
  options.engine = TRISTAR_ENGINE_TASKS;
  plan = plan_of(p, &options);
  check_solve(plan, NULL, p->n, 1, &tasks);
  check_solve(plan, NULL, p->n, 7, &tasks);
  CHECK(starpu_task_insert(&explainer, STARPU_VALUE, &plan, sizeof plan, 0) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  tristar_solve_options_init(&solve);
  solve.part = TRISTAR_PART_D;
  check_solve(plan, &solve, p->n, 1, &diagonal);
  const int64_t row = p->n / 2;
  tristar_solve_options_init(&solve);
  solve.b_rows = solve.x_rows = 1;
  solve.b_row = solve.x_row = &row;
  check_solve(plan, &solve, p->n, 1, &few);
  tristar_plan_destroy(&plan);
}

static void check_errors(const problem *p) {
  tristar_explanation x;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = plan_of(p, NULL);
  tristar_solve_options solve = DEFAULTS(tristar_solve_options);
  CHECK_STATUS(tristar_plan_explain(NULL, NULL, 1, &x), TRISTAR_ERR_ARGUMENT);
  CHECK(*x.name == '\0' && *x.reason == '\0');
  CHECK_STATUS(tristar_plan_explain(plan, NULL, 1, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_explain(plan, NULL, -1, &x), TRISTAR_ERR_ARGUMENT);
  solve.op = (tristar_op)77;
  CHECK_STATUS(tristar_plan_explain(plan, &solve, 1, &x), TRISTAR_ERR_ARGUMENT);
}

/* AUTO chooses tasks by a prediction, or because an option needs them. */
static void check_auto(problem *p) {
  static const expected one = {TRISTAR_WAY_SERIAL, "serial", "one chunk"},
                        slower = {TRISTAR_WAY_SERIAL, "serial", "us with tasks and"},
                        faster = {TRISTAR_WAY_TASKS, "tasks", "us with tasks and"},
                        option = {TRISTAR_WAY_TASKS, "tasks", "how tasks are made"};
  static const struct {
    int64_t size, chunk_bytes;
    const expected *e;
  } cases[] = {{8, 0, &one}, {60, 0, &slower}, {400, 0, &faster}, {60, 4000, &option}};
  tristar_plan_options options;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tristar_plan_options_init(&options);
    options.chunk_bytes_max = cases[k].chunk_bytes;
    factor("s2d9pt", cases[k].size, p);
    tristar_plan_t *plan = plan_of(p, &options);
    check_solve(plan, NULL, p->n, 1, cases[k].e);
    tristar_plan_destroy(&plan);
    release(p);
  }
}

/* ---- Triangles ----------------------------------------------------------------------------------------- */

static void check_triangles(problem *p) {
  static const expected direct = {TRISTAR_WAY_DIRECT, "direct", "needs no list of steps"},
                        chunk = {TRISTAR_WAY_SERIAL, "serial", "one chunk"},
                        lanes = {TRISTAR_WAY_LANES, "lanes", "helpers"};
  tristar_solve_options strided = DEFAULTS(tristar_solve_options);
  import("poisson3d7", 8, TRISTAR_PARTITION_WHOLE, p);
  tristar_plan_t *plan = plan_of(p, NULL);
  check_solve(plan, NULL, p->n, 1, &direct);
  check_solve(plan, NULL, p->n, 2, &chunk);
  strided.b_row_stride = strided.x_row_stride = 2;
  strided.b_column_stride = strided.x_column_stride = 1;
  (void)check(plan, &strided, 1, &chunk);
  tristar_plan_destroy(&plan);
  release(p);
  import("poisson3d7", 26, TRISTAR_PARTITION_SUPERSTEPS, p);
  plan = plan_of(p, NULL);
  check_solve(plan, NULL, p->n, 1, &lanes);
  tristar_plan_destroy(&plan);
  release(p);
}

int main(void) {
  static const expected none = {TRISTAR_WAY_SERIAL, "serial", "does not use StarPU"};
  problem p;
  make_context(0, &p);
  factor("s2d9pt", 100, &p);
  tristar_plan_t *plan = plan_of(&p, NULL);
  check_solve(plan, NULL, p.n, 1, &none);
  tristar_plan_destroy(&plan);
  release(&p);
  tristar_destroy(&p.ts);
  make_context(1, &p);
  check_auto(&p);
  check_triangles(&p);
  factor("s2d9pt", 100, &p);
  check_engines(&p);
  check_errors(&p);
  release(&p);
  tristar_destroy(&p.ts);
  return 0;
}
