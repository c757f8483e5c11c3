/* Where plans put subtrees, on emulated devices: AUTO on devices where the cores are slow, and where they are
 * fast a plan of the cores, to the bit; CPU, the default, on the cores; GPU on devices, as much as there is
 * room for; figures of plans for devices; what cannot be is refused. Plans of a factor share what devices
 * have of it, and all follow new values. Inserted solves, several at a time, take b from a task on a device
 * and give x to one. */
#include "runtime/solve/device_subtrees.h"
#include "runtime/exec/starpu/devices.h"
#include "tests/support/allocations.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_starpu.h"

/* A machine whose cores read one megabyte per second, so any device is faster. */
static const char slow[] = "tristar-calibration 1\n"
                           "task_ns 2000\nbarrier_ns 9000\nread_one_core_mb_per_s 1\n"
                           "read_all_cores_mb_per_s 0\nworkers 2\ncores 2\nnuma_nodes 1\n"
                           "l2_bytes 0\nl3_bytes 0\nl3_cores 0\n";

static tristar_t *create(const char *calibration, int use_starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.calibration = calibration;
  config.use_starpu = use_starpu;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static tristar_plan_options placed(tristar_place place, int64_t nrhs) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.place = place;
  options.nrhs = nrhs;
  return options;
}

static tristar_plan_stats stats_of(const tristar_plan_t *plan) {
  tristar_plan_stats stats;
  CHECK_OK(tristar_plan_get_stats(plan, &stats));
  return stats;
}

/* Returns x computed by a plan. */
static double *solve(const flow *f, tristar_plan_t *plan, int64_t nrhs) {
  const int64_t n = f->view.rows;
  double *b = xmalloc((size_t)(n * nrhs) * sizeof *b), *x = xmalloc((size_t)(n * nrhs) * sizeof *x);
  fill_random(b, n * nrhs, 3);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, nrhs, b, n, x, n));
  free(b);
  return x;
}

/* Compares a plan with the serial executor. The bits are the same if the plan uses only the cores. */
static void check_solution(const flow *f, tristar_plan_t *plan, int64_t nrhs) {
  tristar_plan_options options = placed(TRISTAR_PLACE_CPU, nrhs);
  double *x = solve(f, plan, nrhs), worst = 0;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *serial = NEW_PLAN(f->factor, &options);
  OWNED double *expected = solve(f, serial, nrhs);
  for (int64_t i = 0; i < f->view.rows * nrhs; i++) worst = larger_error(worst, fabs(x[i] - expected[i]));
  CHECK_MSG(worst <= 1e-10 && (stats_of(plan).devices > 0 || worst == 0), "x differs by %g", worst);
  free(x);
}

/* The statistics of devices must equal those of the plan's chunks on them. Returns the number of chunks. */
static int64_t check_devices(const tristar_plan_t *plan, int64_t nrhs) {
  const double row = 8.0 * (double)(nrhs == 1 ? 1 : (nrhs + 7) / 8 * 8);
  const tsi_solve_chunk *chunk = plan->side[0].tables.chunk;
  tristar_device_stats d;
  tristar_subtree_stats s;
  double reported = 0, rows = 0, entries = 0, factor = 0, down = 0, tables = 0;
  int64_t chunks = 0, there = 0, transfers = 0, supernode = 0;
  int count = 0;
  for (; tristar_plan_get_device(plan, count, &d); count++) {
    CHECK(d.chunks > 0 && d.factor_bytes > 0 && d.table_bytes > 0 && d.up_bytes == d.down_bytes);
    CHECK(d.worker >= 0 && strstr(d.name, "CPU"));
    chunks += d.chunks;
    reported += d.up_bytes;
    down += d.down_bytes;
    factor += d.factor_bytes;
    tables += d.table_bytes;
    transfers += d.transfers;
  }
  CHECK(count == stats_of(plan).devices && tristar_plan_get_device(plan, 0, NULL) == (count > 0));
  CHECK(!tristar_plan_get_device(plan, -1, &d) && !tristar_plan_get_device(NULL, 0, &d));
  for (tsi_index c = 0; plan->subtrees && c < plan->side[0].chunks->count; c++) {
    if (!plan->subtrees->on_device[c]) continue;
    there++;
    rows += chunk[c].columns + chunk[c].off_rows;
    entries += (double)(plan->factor->analysis->panel_values[plan->side[0].chunks->panel[c + 1]] -
                        plan->factor->analysis->panel_values[plan->side[0].chunks->panel[c]]);
  }
  CHECK_MSG(chunks == there && reported == row * rows, "%g bytes up, not %g", reported, row * rows);
  CHECK(chunks == 0 || (transfers >= 2 * chunks && transfers <= 4 * chunks));
  for (int64_t i = 0; tristar_plan_get_subtree(plan, i, &s);
       i++) { /* subtrees add up to the figures of the devices */
    CHECK(s.first_supernode >= supernode && s.supernodes > 0 && s.columns > 0 && s.predicted_seconds > 0);
    CHECK(s.columns == chunk[s.chunk].columns && s.border == chunk[s.chunk].off_rows && s.device >= 0);
    supernode = s.first_supernode + s.supernodes;
    chunks--;
    reported -= s.up_bytes;
    down -= s.down_bytes;
    tables -= s.table_bytes;
    transfers -= s.transfers;
  }
  CHECK(chunks == 0 && reported == 0 && down == 0 && tables == 0 && transfers == 0);
  CHECK(!tristar_plan_get_subtree(plan, -1, &s) && !tristar_plan_get_subtree(plan, there, NULL) &&
        !tristar_plan_get_subtree(NULL, 0, NULL));
  CHECK(factor >= 8 * entries && factor <= 8 * (entries + 256.0 * (double)there));
  return there;
}

static tristar_plan_t *check_plan(const flow *f, const tristar_plan_options *options) {
  tristar_plan_t *plan = NEW_PLAN(f->factor, options);
  check_solution(f, plan, options->nrhs);
  (void)check_devices(plan, options->nrhs);
  return plan;
}

static void check_auto(bool fast) {
  CLEANUP(tristar_destroy) tristar_t *ts = create(fast ? "off" : "slow", 1);
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "s2d9pt", 14, TRISTAR_ENGINE_AUTO, 0, &f);
  CHECK(stats_of(f.plan).devices == 0); /* no device was requested */
  const tristar_plan_options cores = placed(TRISTAR_PLACE_CPU, 1), any = placed(TRISTAR_PLACE_AUTO, 1),
                             several = placed(TRISTAR_PLACE_AUTO, 5);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = check_plan(&f, &cores);
  CHECK(stats_of(plan).devices == 0 && stats_of(plan).unfit_bytes == 0);
  tristar_plan_destroy(&plan);
  plan = check_plan(&f, &any);
  CHECK((stats_of(plan).devices > 0) == !fast);
  tristar_plan_destroy(&plan);
  plan = check_plan(&f, &several);
}

/* If an allocation fails, AUTO falls back to a plan for the cores, or returns MEMORY if that also fails. */
static void check_fallback(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = create("slow", 1);
  const tristar_plan_options any = placed(TRISTAR_PLACE_AUTO, 1);
  CLEANUP(flow_destroy) flow f;
  int fallbacks = 0, refusals = 0;
  flow_create(ts, "s2d9pt", 8, TRISTAR_ENGINE_AUTO, 0, &f);
  allocation_failures failing = fail_allocations_of(ts);
  failing.recovers = failing.keeps_memory = true;
  while (next_failure(&failing)) {
    tristar_plan_t *plan;
    const tristar_status status = tristar_plan(f.factor, &any, &plan);
    end_failure(&failing, status);
    if (status != TRISTAR_OK) {
      CHECK(failing.reached);
      refusals++;
      continue;
    }
    const bool on_cores = stats_of(plan).devices == 0;
    CHECK(on_cores == failing.reached);
    fallbacks += on_cores;
    check_solution(&f, plan, 1);
    tristar_plan_destroy(&plan);
  }
  CHECK_MSG(fallbacks > 20 && refusals < fallbacks, "%d plans of the cores, %d refused", fallbacks, refusals);
}

/* Memory for the whole factor, for a quarter, for a tenth, and for nothing. */
static void check_space(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = create("off", 1);
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "s2d9pt", 14, TRISTAR_ENGINE_AUTO, 0, &f);
  const double all = 8.0 * (double)f.factor->analysis->panel_values[f.factor->analysis->panels->count];
  const int64_t room[] = {0, (int64_t)(0.25 * all), (int64_t)(0.1 * all), 1};
  for (int k = 0; k < 4; k++) {
    tristar_plan_options options = placed(TRISTAR_PLACE_GPU, 1);
    tristar_device_stats d;
    options.device_bytes = room[k];
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = check_plan(&f, &options);
    CHECK((stats_of(plan).devices > 0) == (k < 3));
    CHECK((stats_of(plan).unfit_bytes > 0) == (k > 0));
    for (int i = 0; k > 0 && tristar_plan_get_device(plan, i, &d); i++)
      CHECK(d.factor_bytes <= (double)room[k]);
  }
}

static void refuse(tristar_t *ts, tristar_factor_t *factor, const tristar_plan_options *options,
                   tristar_status status, const char *cause) {
  tristar_plan_t *plan;
  char text[512];
  CHECK_STATUS(tristar_plan(factor, options, &plan), status);
  CHECK(plan == NULL && tristar_get_error(ts, text, sizeof text) > 0);
  CHECK_MSG(strstr(text, cause), "%s", text);
}

static void check_refusals(void) {
  tristar_t *ts = create("off", 1), *without = create("off", 0);
  tristar_factor_t *triangle;
  flow f;
  tristar_plan_options o = placed(TRISTAR_PLACE_GPU, 1);
  flow_create(ts, "s2d9pt", 5, TRISTAR_ENGINE_AUTO, 0, &f);
  o.engine = TRISTAR_ENGINE_SERIAL;
  refuse(ts, f.factor, &o, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: there are no tasks");
  o = placed(TRISTAR_PLACE_GPU, 1);
  o.updates = TRISTAR_UPDATES_PUSH;
  refuse(ts, f.factor, &o, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: devices have tasks of chunks only");
  o = placed((tristar_place)3, 1);
  refuse(ts, f.factor, &o, TRISTAR_ERR_ARGUMENT, "place 3");
  o = placed(TRISTAR_PLACE_AUTO, 1);
  o.device_bytes = -1;
  refuse(ts, f.factor, &o, TRISTAR_ERR_ARGUMENT, "device bytes -1");
  flow_destroy(&f);
  flow_create(without, "s2d9pt", 5, TRISTAR_ENGINE_AUTO, 0, &f);
  o = placed(TRISTAR_PLACE_GPU, 1);
  refuse(without, f.factor, &o, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: there are no tasks");
  tristar_view view = f.view;
  view.symmetry = TRISTAR_GENERAL;
  CHECK_OK(tristar_import_csr(ts, &view, TRISTAR_LOWER, TRISTAR_NON_UNIT, &triangle));
  o = placed(TRISTAR_PLACE_GPU, 1); /* a partition by rows can be on a device: test_gpu_triangles */
  o.kernel = TRISTAR_KERNEL_SPMV;
  refuse(ts, triangle, &o, TRISTAR_ERR_UNSUPPORTED, "KERNEL_SPMV does not serve a triangular matrix alone");
  tristar_factor_destroy(&triangle);
  flow_destroy(&f);
  tristar_destroy(&without);
  tristar_destroy(&ts);
}

/* ---- Residents ----------------------------------------------------------------------------------------- */

/* Do two plans share the factor's data on the device? */
static bool shares(const tristar_plan_t *a, const tristar_plan_t *b) {
  bool same = a->subtrees->count == b->subtrees->count;
  for (tsi_index k = 0; same && k < a->subtrees->count; k++)
    same = a->subtrees->subtree[k].resident == b->subtrees->subtree[k].resident;
  return same;
}

/* Refactors with twice the previous matrix. */
static void refactor(flow *f) {
  OWNED double *values = xmalloc((size_t)((const int64_t *)f->view.ptr)[f->view.cols] * sizeof *values);
  for (int64_t e = 0; e < ((const int64_t *)f->view.ptr)[f->view.cols]; e++)
    values[e] = 2 * ((const double *)f->view.values)[e];
  CHECK_OK(tristar_refactor(f->factor, values));
}

static void check_residents(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = create("off", 1);
  const tristar_plan_options one = placed(TRISTAR_PLACE_GPU, 1);
  tristar_plan_options cut = one;
  CLEANUP(flow_destroy) flow f;
  tristar_plan_t *first, *second, *third;
  flow_create(ts, "convdiff3d", 4, TRISTAR_ENGINE_AUTO, 0, &f);
  cut.chunk_bytes_max = 3000; /* applies to chunks on the cores */
  CHECK_OK(tristar_plan(f.factor, &one, &first));
  CHECK_OK(tristar_plan(f.factor, &cut, &second));
  CHECK(shares(first, second) && first->subtrees->subtree[0].resident->plans == 2);
  check_solution(&f, first, 1);
  refactor(&f);
  check_solution(&f, second, 1);
  check_solution(&f, first, 1);
  refactor(&f);
  CHECK_OK(tristar_plan(f.factor, &one, &third)); /* created before any solve with the new values */
  CHECK(shares(first, third));
  tristar_plan_destroy(&first);
  check_solution(&f, third, 1);
  check_solution(&f, second, 1);
  tristar_plan_destroy(&third);
  tristar_plan_destroy(&second);
  CHECK(f.factor->residents.first == NULL);
}

/* ---- Inserted solves ----------------------------------------------------------------------------------- */

enum { SOLVES = 4 };

static void fill(void *buffers[], void *arg) {
  fill_random((double *)STARPU_MATRIX_GET_PTR(buffers[0]), (int64_t)STARPU_MATRIX_GET_NX(buffers[0]),
              (uint64_t)(uintptr_t)arg);
}
static void scale(void *buffers[], void *arg) {
  double *x = (double *)STARPU_MATRIX_GET_PTR(buffers[0]);
  for (size_t i = 0; i < STARPU_MATRIX_GET_NX(buffers[0]); i++) x[i] *= 2;
  (void)arg;
}
static struct starpu_codelet fill_codelet = {.cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}},
                             scale_codelet = {.cpu_funcs = {scale}, .nbuffers = 1, .modes = {STARPU_RW}};

/* Submits a task of the program to the worker of device 0. */
static void submit_on_device(struct starpu_codelet *codelet, starpu_data_handle_t handle, uint64_t arg) {
  struct starpu_task *task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  task->cl_arg = (void *)(uintptr_t)arg;
  task->execute_on_a_specific_worker = 1;
  task->workerid = (unsigned)tsi_device_describe(0).worker;
  CHECK(starpu_task_submit(task) == 0);
}

/* Inserts SOLVES solves, each with its own b. Their x are twice those of tristar_solve. */
static void check_inserted(tristar_plan_t *plan, int64_t n) {
  double *b[SOLVES], *x[SOLVES], *expected = xmalloc((size_t)n * sizeof *expected);
  starpu_data_handle_t b_handle[SOLVES], x_handle[SOLVES];
  for (int k = 0; k < SOLVES; k++) {
    b[k] = xmalloc((size_t)n * sizeof *b[k]);
    x[k] = xcalloc((size_t)n, sizeof *x[k]);
    starpu_matrix_data_register(&b_handle[k], STARPU_MAIN_RAM, (uintptr_t)b[k], (uint32_t)n, (uint32_t)n, 1,
                                sizeof(double));
    starpu_matrix_data_register(&x_handle[k], STARPU_MAIN_RAM, (uintptr_t)x[k], (uint32_t)n, (uint32_t)n, 1,
                                sizeof(double));
    submit_on_device(&fill_codelet, b_handle[k], (uint64_t)k + 7);
    CHECK_OK(tristar_solve_insert(plan, TRISTAR_N, b_handle[k], x_handle[k]));
    submit_on_device(&scale_codelet, x_handle[k], 0);
  }
  CHECK_OK(tristar_plan_wait(plan));
  for (int k = 0; k < SOLVES; k++) {
    starpu_data_unregister(x_handle[k]);
    starpu_data_unregister(b_handle[k]);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b[k], n, expected, n));
    for (int64_t i = 0; i < n; i++) CHECK(x[k][i] == 2 * expected[i]);
    free(b[k]);
    free(x[k]);
  }
  free(expected);
}

static void check_insertion(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = create("off", 1);
  const tristar_plan_options options = placed(TRISTAR_PLACE_GPU, 1);
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "s2d9pt", 9, TRISTAR_ENGINE_AUTO, 0, &f);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f.factor, &options);
  CHECK(stats_of(plan).devices > 0);
  tristar_explanation why;
  CHECK_OK(tristar_plan_explain(plan, NULL, 1, &why));
  CHECK(why.way == TRISTAR_WAY_DEVICES && strstr(why.reason, "device") != NULL);
  check_inserted(plan, f.view.rows);
  refactor(&f);
  check_inserted(plan, f.view.rows);
}

/* GPUs that do not exist. */
static void check_choice(void) {
  static const int choice[][2] = {{1, 2}, {3, 0}, {0, -1}};
  for (size_t k = 0; k < sizeof choice / sizeof *choice; k++) {
    tristar_config config = DEFAULTS(tristar_config);
    tristar_starpu_info info;
    CLEANUP(tristar_destroy) tristar_t *ts;
    config.first_device = choice[k][0];
    config.devices = choice[k][1];
    CHECK_OK(tristar_create(&config, &ts));
    CHECK_STATUS(tristar_get_starpu(ts, &info), TRISTAR_ERR_ARGUMENT);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_starpu_info info;
  FILE *file = fopen("slow", "w");
  CHECK(file && fputs(slow, file) >= 0 && fclose(file) == 0);
  tristar_t *ts = create("off", 1);
  CHECK_OK(tristar_get_starpu(ts, &info));
  CHECK(info.devices == 2 && strcmp(info.driver, "the emulator") == 0);
  tristar_destroy(&ts);
  RUN(check_choice());
  RUN(check_auto(true));
  RUN(check_auto(false));
  RUN(check_fallback());
  RUN(check_space());
  RUN(check_refusals());
  RUN(check_residents());
  RUN(check_insertion());
  return 0;
}
