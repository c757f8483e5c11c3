/* Under the thread sanitizer, each thread of the grid being one for it, the kernel of distributed solves has
 * no race between threads of one PE, nor of several, and these are races: a flag that is raised without a
 * fence, or before the data, a message or a step that is not awaited, and an inbox that is written again too
 * early. */
#include "tests/support/context.h"
#include "tests/support/gpu/count_reports.h"
#include "tests/support/gpu/program_solve.h"
#include "tests/support/mpi/process_checks.h"

enum { RUNS = 3, NRHS = 2 };

static int count_races(program_solver *v, int fault, char *b, char *x) {
  reports = 0;
  for (unsigned seed = 0; seed < 4 && reports == 0; seed++) {
    const run_grid grid = {.blocks = 1 + seed % 2, .threads = 32, .seed = seed, .fault = fault};
    const run_outcome got = program_solve(v, RUNS, &grid, b, x);
    CHECK_MSG(got.ended, "%s", got.problem);
  }
  return reports;
}

typedef struct layout {
  tsi_index px, pz;
  bool replicated;
  tristar_part part;
  int faults[4];
} layout;

static void check_layout_races(tsi_env *env, problem *q, const layout *l) {
  const tsi_process_options options = {.layout = {.px = l->px,
                                                  .py = 1,
                                                  .pz = l->pz,
                                                  .map = TSI_MAP_CYCLIC,
                                                  .replicated = l->replicated,
                                                  .floor_bytes = 400,
                                                  .ceiling_bytes = 2000,
                                                  .slice_bytes = 300,
                                                  .scalar_bytes = 8}};
  program_solver *v = program_open(env, q->factor, q->type, &options, NRHS, false);
  const size_t bytes = RUNS * NRHS * (size_t)q->view.rows * q->type->bytes;
  OWNED char *b = xcalloc(bytes, 1), *x = xcalloc(bytes, 1);
  program_prepare(v, TRISTAR_N, l->part, q->b, q->x);
  CHECK(count_races(v, GPU_NO_FAULT, b, x) == 0);
  for (int f = 0; f < 4 && l->faults[f] != GPU_NO_FAULT; f++)
    CHECK_MSG(count_races(v, l->faults[f], b, x) > 0, "fault %d is no race", l->faults[f]);
  program_close(&v);
}

int main(void) {
  static const layout both = {2,
                              2,
                              true,
                              TRISTAR_PART_ALL,
                              {GPU_FAULT_FENCE, GPU_FAULT_SIGNAL, GPU_FAULT_ARRIVAL, GPU_FAULT_FLAG}},
                      ahead = {1, 2, false, TRISTAR_PART_L, {GPU_FAULT_FENCE, GPU_FAULT_REUSE}};
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  CLEANUP(close_problem) problem q = open_problem(ts, "s2d9pt", 7, &typed_double, TRISTAR_SYMMETRIC);
  factor_problem(ts, &q, TRISTAR_METHOD_AUTO, 2);
  check_layout_races(tsi_context_env(ts), &q, &both);
  check_layout_races(tsi_context_env(ts), &q, &ahead);
  release_factor(&q);
  return 0;
}
