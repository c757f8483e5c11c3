/* Faults that are planted in the kernel of spread triangles are seen: a schedule of few gives other bits, or
 * does not end. Without one none does. (A missing fence shows to the thread sanitizer only:
 * test_gpu_spread_races.) */
#include "tests/support/gpu/spread_solve.h"
#include "tests/support/subtests.h"

static tsi_env env;

enum { SCHEDULES = 12, N = 150, PES = 3, NRHS = 5, SOLVES = 2 };

/* Returns in how many schedules x differs from `right`. */
static int count_wrong(const spread_solver *v, int fault, const char *b, const char *right) {
  const size_t bytes = (size_t)N * NRHS * v->s->t->bytes;
  OWNED char *x = xcalloc(bytes, 1);
  int wrong = 0;
  for (unsigned k = 0; k < SCHEDULES; k++) {
    const run_grid grid = {.blocks = 2, .threads = 64, .warp = 32, .seed = k, .fault = fault};
    int64_t polls;
    const run_outcome got = spread_solve(v, NRHS, SOLVES, &grid, b, x, &polls);
    wrong += !got.ended || memcmp(right, x, bytes) != 0;
  }
  return wrong;
}

static const struct {
  int fault;
  const char *name;
} faults[] = {{GPU_FAULT_FLAG, "flag"},     {GPU_FAULT_EPOCH, "epoch"},
              {GPU_FAULT_SIGNAL, "signal"}, {GPU_FAULT_WARP_BARRIER, "warp barrier"},
              {GPU_FAULT_SLOT, "slot"},     {GPU_FAULT_BUFFER, "buffer"},
              {GPU_FAULT_OWNER, "owner"},   {GPU_FAULT_LOST, "lost"},
              {GPU_FAULT_SCOPE, "scope"},   {GPU_FAULT_LANE, "lane"},
              {GPU_FAULT_TAIL, "tail"}};

static void check_fault(const spread_solver *v, const char *b, const char *right, size_t k) {
  CHECK_MSG(count_wrong(v, faults[k].fault, b, right) > 0, "no schedule of %d shows the fault \"%s\"",
            SCHEDULES, faults[k].name);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env_init(&env);
  CLEANUP(system_free)
  system_of s = system_create(triangle_create(TRIANGLE_RANDOM, N, 7), &typed_double);
  spread_solver v = spread_open(&env, &s, false, PES, 4);
  const run_grid plain = {.blocks = 1, .threads = 32, .warp = 32};
  OWNED char *b = xcalloc((size_t)N * NRHS, s.t->bytes), *right = xcalloc((size_t)N * NRHS, s.t->bytes);
  int64_t polls;
  fill_b(&s, NRHS, b);
  const run_outcome got = spread_solve(&v, NRHS, SOLVES, &plain, b, right, &polls);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK(count_wrong(&v, GPU_NO_FAULT, b, right) == 0);
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) RUN(check_fault(&v, b, right, k));
  spread_close(&v);
  return 0;
}
