/* Plans on two devices that have memory for all that a plan takes there, for three quarters of it, a half, a
 * quarter, nothing: they solve as the serial executor does, with the same bits each time; with less memory no
 * more of the factor is on devices, the figures of plans add up, and do not exceed the memory. Solves of many
 * right-hand sides are divided into blocks that fit; so are several in flight if the plan was made for them.
 *
 *   test_gpu_memory [nodes]     nodes: devices have a memory node of their own. The bytes that StarPU
 * counts there equal the figures of plans */

#include <starpu.h>

#include "runtime/solve/plan.h"
#include "runtime/exec/starpu/devices.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"

enum { SHARES = 5, SOLVES = 3 };

static bool nodes; /* devices have their own memory nodes */

/* ---- Bytes that StarPU counts
 * ------------------------------------------------------------------------------ */

/* Returns the used bytes of the memory of device 0, which is not main memory. */
static double taken(void) {
  const unsigned node = starpu_worker_get_memory_node((unsigned)tsi_device_describe(0).worker);
  const starpu_ssize_t all = starpu_memory_get_total(node);
  CHECK(node != STARPU_MAIN_RAM && all > 0);
  return (double)(all - starpu_memory_get_available(node));
}

/* Checks the memory that a plan with this number of solves in flight has allocated. */
static void check_taken(const tristar_plan_t *plan, double before, int solves) {
  tristar_device_stats d;
  double reported = 0;
  if (!nodes) return;
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++)
    if (d.device == 0) reported = d.factor_bytes + d.table_bytes + solves * d.workspace_bytes;
  CHECK_MSG(taken() - before == reported, "%g bytes are taken, the plan reports %g", taken() - before,
            reported);
}

/* ---- Shares of what is needed -------------------------------------------------------------------------- */

static double solve_differs(const flow *f, tristar_plan_t *plan, const double *expected) {
  const int64_t n = f->view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b), *x = xmalloc((size_t)n * sizeof *x),
               *again = xmalloc((size_t)n * sizeof *x);
  double worst = 0;
  fill_random(b, n, 3);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, again, n));
  CHECK(memcmp(x, again, (size_t)n * sizeof *x) == 0);
  for (int64_t i = 0; i < n; i++) worst = larger_error(worst, fabs(x[i] - expected[i]));
  return worst;
}

/* Returns the bytes of one device that a plan needs. */
static double bytes_of(const tristar_device_stats *d, int solves) {
  return d->factor_bytes + d->table_bytes + solves * d->workspace_bytes;
}

/* Returns the bytes of all devices if all subtrees fit. */
static double needed_bytes(const flow *f, int64_t nrhs) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_device_stats device;
  double bytes = 0;
  options.place = TRISTAR_PLACE_GPU;
  options.nrhs = nrhs;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f->factor, &options);
  for (int i = 0; tristar_plan_get_device(plan, i, &device); i++) bytes += bytes_of(&device, 1);
  return bytes;
}

/* Returns the bytes of the factor in subtrees on devices. They equal the statistics of the devices, and no
 * device uses more than `room`. */
static double placed_bytes(const tristar_plan_t *plan, double room) {
  tristar_subtree_stats subtree;
  tristar_device_stats device;
  double bytes = 0, reported = 0;
  for (int64_t k = 0; tristar_plan_get_subtree(plan, k, &subtree); k++) bytes += subtree.factor_bytes;
  for (int i = 0; tristar_plan_get_device(plan, i, &device); i++) {
    CHECK_MSG(bytes_of(&device, 1) <= room, "%g bytes on a device, %g are allowed", bytes_of(&device, 1),
              room);
    CHECK(device.factor_bytes > 0 && device.table_bytes > 0 && device.workspace_bytes > 0);
    reported += device.factor_bytes;
  }
  CHECK(bytes == reported);
  return bytes;
}

static void check_shares(tristar_t *ts, const char *kind, int64_t size) {
  static const double shares[SHARES] = {2, 0.75, 0.5, 0.25, 0};
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_t *plan;
  CLEANUP(flow_destroy) flow f;
  double before = INFINITY, unfit = 0;
  /* With METIS's trees more memory means more bytes in subtrees. This need not hold for AMD's trees. */
  flow_create_ordered(ts, kind, size, TRISTAR_ORDERING_METIS, TRISTAR_ENGINE_SERIAL, 0, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b), *expected = xmalloc((size_t)n * sizeof *expected);
  fill_random(b, n, 3);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, expected, n));
  const double needed = needed_bytes(&f, 1);
  for (int k = 0; k < SHARES; k++) {
    tristar_plan_options_init(&options);
    options.place = TRISTAR_PLACE_GPU;
    options.device_bytes = 1 + (int64_t)(shares[k] * needed);
    const double empty = nodes ? taken() : 0;
    CHECK_OK(tristar_plan(f.factor, &options, &plan));
    CHECK_OK(tristar_plan_get_stats(plan, &stats));
    const double placed = placed_bytes(plan, (double)options.device_bytes),
                 differs = solve_differs(&f, plan, expected);
    check_taken(plan, empty, 1);
    CHECK_MSG(differs <= 1e-10, "%s, %g of the panels: x differs by %g", kind, shares[k], differs);
    CHECK_MSG(placed <= before && stats.unfit_bytes >= unfit,
              "%s, %g of the panels: %g bytes, more memory: %g", kind, shares[k], placed, before);
    CHECK_MSG((placed > 0) == (shares[k] > 0) && (stats.devices > 0) == (placed > 0),
              "%s, %g of the panels: %g bytes on %d devices", kind, shares[k], placed, (int)stats.devices);
    CHECK((stats.unfit_bytes > 0) == (k > 0));
    before = placed;
    unfit = stats.unfit_bytes;
    tristar_plan_destroy(&plan);
  }
}

/* ---- Workspaces ---------------------------------------------------------------------------------------- */

/* A plan for one right-hand side whose memory is half of that for 64. More right-hand sides are solved in
 * blocks. */
static void check_blocks(tristar_t *ts) {
  enum { NRHS = 50 };
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_device_stats device;
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "poisson3d7", 9, TRISTAR_ENGINE_SERIAL, 0, &f);
  const int64_t n = f.view.rows, room = (int64_t)(needed_bytes(&f, 1) / 2 + needed_bytes(&f, 64) / 2);
  double *b = xmalloc((size_t)(n * NRHS) * sizeof *b), *x = xmalloc((size_t)(n * NRHS) * sizeof *x),
         *expected = xmalloc((size_t)(n * NRHS) * sizeof *x), worst = 0;
  options.place = TRISTAR_PLACE_GPU;
  options.device_bytes = room;
  const double empty = nodes ? taken() : 0;
  tristar_plan_t *plan = NEW_PLAN(f.factor, &options);
  CHECK(tristar_plan_get_device(plan, 0, &device));
  CHECK_MSG(plan->block < 64 && plan->block >= 1, "blocks of %d", (int)plan->block);
  fill_random(b, n * NRHS, 5);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, NRHS, b, n, expected, n));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, NRHS, b, n, x, n));
  for (int64_t i = 0; i < n * NRHS; i++) worst = larger_error(worst, fabs(x[i] - expected[i]));
  CHECK_MSG(worst <= 1e-10, "x differs by %g", worst);
  if (nodes) CHECK_MSG(taken() - empty <= (double)room, "%g bytes of %g", taken() - empty, (double)room);
  tristar_plan_destroy(&plan);
  free(b);
  free(x);
  free(expected);
}

/* Each solve in flight needs a workspace. The plan reserves memory for the given number of solves. */
static void check_solves(tristar_t *ts) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_solve_options solve = DEFAULTS(tristar_solve_options);
  tristar_device_stats device;
  tristar_request_t *request[SOLVES];
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "s2d9pt", 30, TRISTAR_ENGINE_SERIAL, 0, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b), *x = xmalloc((size_t)(n * SOLVES) * sizeof *x);
  fill_random(b, n, 3);
  options.place = TRISTAR_PLACE_GPU;
  options.device_bytes = (int64_t)(0.7 * needed_bytes(&f, 1));
  options.device_solves = SOLVES;
  const double empty = nodes ? taken() : 0;
  tristar_plan_t *plan = NEW_PLAN(f.factor, &options);
  for (int i = 0; tristar_plan_get_device(plan, i, &device); i++)
    CHECK_MSG(bytes_of(&device, SOLVES) <= (double)options.device_bytes,
              "%g bytes on a device, %g are allowed", bytes_of(&device, SOLVES),
              (double)options.device_bytes);
  for (int k = 0; k < SOLVES; k++) CHECK_OK(tristar_solve_start(plan, &solve, 1, b, x + k * n, &request[k]));
  for (int k = 0; k < SOLVES; k++) CHECK_OK(tristar_wait(&request[k], NULL));
  for (int k = 1; k < SOLVES; k++) CHECK(memcmp(x, x + k * n, (size_t)n * sizeof *x) == 0);
  check_taken(plan, empty, SOLVES);
  tristar_plan_destroy(&plan);
  options.device_solves = -1;
  CHECK_STATUS(tristar_plan(f.factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_starpu_info info;
  nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CHECK_OK(tristar_get_starpu(ts, &info));
  if (nodes && starpu_memory_nodes_get_count() < 2) SKIP("StarPU has one memory node for all workers");
  RUN(check_shares(ts, "s2d9pt", 30));
  RUN(check_shares(ts, "poisson3d7", 9));
  RUN(check_shares(ts, "convdiff3d", 8));
  RUN(check_shares(ts, "kkt3d", 5));
  RUN(check_blocks(ts));
  RUN(check_solves(ts));
  return 0;
}
