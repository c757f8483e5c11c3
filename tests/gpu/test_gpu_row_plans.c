/* The GPU kernels of rows solve as the serial executor does: imported triangles, permuted and scaled ones and
 * others, all partitions by rows and in blocks, N, T and C, x over what it holds, with the rows, scales and
 * values that a plan of the CPU has. */
#include "runtime/exec/device/device_rows.h"
#include "runtime/rows/row_factor.h"
#include "runtime/solve/device_plan.h"
#include "runtime/solve/request.h"
#include "tests/support/context.h"
#include "tests/support/gpu/row_ways.h"
#include "tests/support/gpu/run_rows.h"
#include "tests/support/subtests.h"

/* Maps the plan's row j to rows[j]; NULL: to j. The result is ordered by the rows of the tables. */
static void renumber(const tsi_device_row_plan *plan, const tsi_row_cut *cut, const tsi_index *rows,
                     tsi_index *out) {
  tsi_index place[N];
  for (tsi_index j = 0; j < cut->n; j++) place[cut->order[j]] = j;
  for (tsi_index k = 0; k < cut->n; k++) {
    const tsi_index j = place[plan->order[k]];
    out[k] = rows ? rows[j] : j;
  }
}

/* Emulates the solve of a request with the tables of its sweep. x: in and out. */
static void solve_emulated(tsi_env *env, const system_of *s, const tristar_request_t *r,
                           const tsi_row_factor *rows, unsigned seed) {
  const bool backward = r->call.read_backward;
  const tsi_device_row_options options = {TSI_DEVICE_ROWS_AUTO, (tsi_index)run_warp(32)};
  const run_grid grid = {.blocks = 3, .resident = 3, .threads = 64, .warp = 32, .seed = seed};
  const char scalars[] = {(char)s->t->scalar, 0};
  tsi_index in_row[N], out_row[N];
  tsi_device_row_plan plan;
  CHECK_OK(tsi_device_rows_create(env, &rows->lines, backward, rows->cut, &options, &plan));
  tsi_gpu_rows launch = {.tables = plan.tables, .call = tsi_device_call_of(&r->call, NULL)};
  OWNED void *values = xmalloc((size_t)(plan.tables.entries + 1) * s->t->bytes),
             *inverse = xmalloc((N + 1) * s->t->bytes);
  tsi_device_rows_fill(&plan, s->t->bytes, rows->values, values);
  tsi_device_rows_place(&plan, s->t->bytes, rows->inverse, inverse);
  renumber(&plan, rows->cut, launch.call.in_row, in_row);
  renumber(&plan, rows->cut, launch.call.out_row, out_row);
  launch.call.in_row = in_row;
  launch.call.out_row = out_row;
  launch.call.conjugate_in ^= backward && launch.call.conjugate_backward;
  launch.values = values;
  launch.inverse = inverse;
  const run_outcome got = run_rows(scalars, &launch, true, 1, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  tsi_device_rows_destroy(&plan);
}

static void check(tristar_t *ts, const system_of *s, const way *w, unsigned seed) {
  const size_t bytes = (size_t)(N * w->nrhs) * s->t->bytes;
  OWNED char *b = xmalloc(bytes), *x = xmalloc(bytes), *y = xmalloc(bytes);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = way_import(ts, s, w);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  const tristar_solve_options solve = way_solve_options(s, w);
  tristar_request_t r;
  CHECK(factor->rows != NULL);
  options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, &options);
  fill_b(s, (tsi_index)w->nrhs, b);
  memcpy(x, b, bytes);
  memcpy(y, b, bytes);
  CHECK_OK(tristar_solve_with(plan, &solve, w->nrhs, b, x, NULL));
  CHECK_OK(tsi_request_prepare(&r, plan, &solve, w->nrhs));
  r.call.b = b;
  r.call.x = y;
  r.call.nrhs = (tsi_index)w->nrhs;
  solve_emulated(&ts->env, s, &r, factor->rows, seed);
  tsi_request_cancel(&r);
  for (int64_t i = 0; i < N * w->nrhs; i++)
    CHECK_MSG(magnitude(get(s->t, x, i) - get(s->t, y, i)) <=
                  1e3 * s->t->roundoff * (1 + magnitude(get(s->t, x, i))),
              "partition %d, op %d, row %d of %d right-hand sides", (int)w->partition, (int)w->op, (int)i,
              (int)w->nrhs);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const int kinds[] = {TRIANGLE_RANDOM, TRIANGLE_GRID, TRIANGLE_POWER_LAW, TRIANGLE_EMPTY_ROWS};
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  unsigned variant = 0;
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  for (int k = 0; k < 4; k++) {
    CLEANUP(system_free) system_of s = system_create(triangle_create(kinds[k], N, 5), types[k]);
    for (int p = 0; p < PARTITIONS; p++)
      for (int op = 0; op < TYPED_OPS; op++, variant++) {
        const way w = {.uplo = variant % 2 ? TRISTAR_UPPER : TRISTAR_LOWER,
                       .partition = partitions[p],
                       .op = typed_ops[op],
                       .diag = variant % 7 == 0 ? TRISTAR_UNIT : TRISTAR_NON_UNIT,
                       .moved = variant / 2 % 2,
                       .nrhs = 1 + variant % 3};
        RUN(check(ts, &s, &w, variant));
      }
  }
  return 0;
}
