/* The published GPU solvers give what the serial executor does, within roundoff, in adversarial schedules
 * with 1 to 8 resident blocks: for each scalar type, method, operation and treatment of diagonal blocks, 1
 * and 5 right-hand sides, whole and one sweep only. A planted fault is seen: one update too few is waited
 * for. */
#include "runtime/exec/device/device_variants.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

static const problem problems[] = {
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
    {"maxwell3d", 2, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500},
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 2000},
    {"chem3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_DIAGONAL, 2000},
};

/* Widths of warps, one for each scalar type. */
static const unsigned warps[] = {64, 32, 32, 64};

/* Makes the tables of a solver's sides. */
static void open_tables(const solver *s, tsi_variant_tables tables[2]) {
  const tsi_device_plan *plan = s->device.device;
  for (int k = 0; k < plan->sides; k++) {
    CHECK_OK(tsi_variant_tables_create(s->device.env, &plan->side[k].tables, &tables[k]));
    CHECK_OK(tsi_variant_tables_check(s->device.env, &tables[k]));
  }
}

/* Returns the variant tables that belong to these tables of a sweep. */
static const tsi_variant_tables *tables_of(const solver *s, const tsi_variant_tables tables[2],
                                           const tsi_device_tables *sweep) {
  return &tables[sweep != &s->device.device->side[0].tables];
}

/* Returns in how many schedules a variant does not end, or its x differs from the serial executor. */
static int count_wrong(const solver *s, const tsi_variant_tables tables[2], run_variant_kind variant,
                       unsigned type, const trial *t, int fault) {
  const int64_t count = s->n * t->nrhs;
  OWNED void *b = random_scalars(t->user, count, 7 + t->first);
  OWNED void *x = xcalloc((size_t)count, s->bytes), *y = xcalloc((size_t)count, s->bytes);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  CLEANUP(device_sweeps_close) device_sweeps sweeps;
  int wrong = 0;
  options.op = t->op;
  options.part = t->part;
  CHECK_OK(tristar_solve_with(s->plan, &options, t->nrhs, b, x, NULL));
  device_sweeps_open(s, &options, t->nrhs, b, y, &sweeps);
  for (unsigned k = 0; k < t->schedules; k++) {
    run_grid grid = grid_of(warps[type], t->first + k);
    grid.fault = fault;
    memset(y, 0, (size_t)count * s->bytes);
    const run_outcome got = run_variant(variant, t->scalars, tables_of(s, tables, sweeps.forward),
                                        tables_of(s, tables, sweeps.backward), &sweeps.call, &grid);
    CHECK_MSG(got.ended || fault, TRIAL_FORMAT ": %s", TRIAL_ARGS(t), got.problem);
    const double differs = got.ended ? difference(t->user, count, x, y) : INFINITY;
    wrong += !(differs <= t->tolerance);
  }
  return wrong;
}

static void check(const solver *s, const tsi_variant_tables tables[2], unsigned type) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const tristar_part parts[] = {TRISTAR_PART_ALL, TRISTAR_PART_ALL, TRISTAR_PART_L, TRISTAR_PART_U};
  for (unsigned variant = 0; variant < 2; variant++)
    for (unsigned k = 0; k < 3 * 4; k++) {
      const trial t = {.scalars = types[type].scalars,
                       .user = types[type].type,
                       .tolerance = types[type].type->is_single ? 1e-3 : 1e-11,
                       .op = ops[k % 3],
                       .part = parts[k / 3],
                       .nrhs = k / 3 % 2 ? 5 : 1,
                       .warp = warps[type],
                       .first = k,
                       .schedules = 2};
      const int wrong = count_wrong(s, tables, (run_variant_kind)variant, type, &t, GPU_NO_FAULT);
      CHECK_MSG(wrong == 0, "variant %u, " TRIAL_FORMAT ": %d schedules differ", variant, TRIAL_ARGS(&t),
                wrong);
    }
}

static void check_fault(const solver *s, const tsi_variant_tables tables[2]) {
  const trial t = {.scalars = "d",
                   .user = &typed_double,
                   .tolerance = 1e-11,
                   .op = TRISTAR_N,
                   .part = TRISTAR_PART_ALL,
                   .nrhs = 1,
                   .warp = 32,
                   .schedules = 10};
  CHECK(count_wrong(s, tables, RUN_SC23, 1, &t, GPU_FAULT_COUNT) > 0);
}

/* The check detects damaged tables. */
static void check_broken(tsi_env *env, tsi_variant_tables *t) {
  tsi_variant_segment *segment = (tsi_variant_segment *)t->segment;
  tsi_index *row = (tsi_index *)t->row, *into = (tsi_index *)t->into, *level = (tsi_index *)t->level;
  BROKEN(t->n, t->n + 1, tsi_variant_tables_check(env, t));
  BROKEN(row[0], -1, tsi_variant_tables_check(env, t));
  BROKEN(segment[0].count, segment[0].count + 1, tsi_variant_tables_check(env, t));
  BROKEN(segment[0].target, 0, tsi_variant_tables_check(env, t));
  BROKEN(into[0], into[0] + 1, tsi_variant_tables_check(env, t));
  BROKEN(level[0], level[t->panels - 1], tsi_variant_tables_check(env, t));
  CHECK_OK(tsi_variant_tables_check(env, t));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    for (unsigned type = 0; type < 4; type++) {
      tsi_variant_tables tables[2] = {{.n = 0}, {.n = 0}};
      CLEANUP(solver_close) solver s = solver_open(ts, &problems[k], types[type].type, false);
      open_tables(&s, tables);
      RUN(check(&s, tables, type));
      if (k == 0 && type == 1) {
        if (run_has_faults()) RUN(check_fault(&s, tables));
        RUN(check_broken(s.device.env, &tables[0]));
      }
      for (int side = 0; side < 2; side++) tsi_variant_tables_destroy(&tables[side]);
    }
  return 0;
}
