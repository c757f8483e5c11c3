/* Faults that are planted in the GPU kernels are seen: a schedule of few gives other bits, or does not end.
 * Without one none does. (A missing fence shows to the thread sanitizer only: test_gpu_races.) */
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"

/* Solves that together run all code in which faults are planted. */
typedef struct work {
  problem of;
  const char *scalars;
  const typed *type;
  tristar_op op;
  int64_t nrhs;
} work;

static const work works[] = {
    {{"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
     "d",
     &typed_double,
     TRISTAR_N,
     1},
    {{"kkt3d", 3, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_NONE, 2000},
     "z",
     &typed_complex_double,
     TRISTAR_C,
     5},
    {{"maxwell3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000},
     "z",
     &typed_complex_double,
     TRISTAR_N,
     1},
    /* with matrix units */
    {{"poisson3d7", 5, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 1500},
     "d",
     &typed_double,
     TRISTAR_N,
     5},
};
enum { WORKS = sizeof works / sizeof *works, SCHEDULES = 10 };

/* The faults, and the solves that must detect them. */
static const struct {
  gpu_fault_kind kind;
  const char *name;
  int work;
} faults[] = {
    {GPU_FAULT_BARRIER, "barrier", 0},
    {GPU_FAULT_WARP_BARRIER, "warp barrier", 1},
    {GPU_FAULT_FLAG, "flag", 0},
    {GPU_FAULT_EPOCH, "epoch", 0},
    {GPU_FAULT_SCOPE, "scope", 0},
    {GPU_FAULT_COUNTER, "counter", 0},
    {GPU_FAULT_LANE, "lane", 0},
    {GPU_FAULT_TAIL, "tail", 0},
    {GPU_FAULT_TILE, "tile", 1},
    {GPU_FAULT_GATHER, "gather", 0},
    {GPU_FAULT_OWNER, "owner", 0},
    {GPU_FAULT_SLICE, "slice", 0},
    {GPU_FAULT_PIVOTS, "pivots", 2},
    {GPU_FAULT_CONJUGATE, "conjugate", 1},
    {GPU_FAULT_ADJOINT, "adjoint", 2},
    {GPU_FAULT_LANE, "lane of a matrix unit", 3},
    {GPU_FAULT_BARRIER, "barrier before a matrix unit", 3},
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* Returns in how many schedules x differs from `right`. */
static int count_wrong(const solver *s, const work *w, device_sweeps *sweeps, int fault, const void *right) {
  const size_t bytes = (size_t)(s->n * w->nrhs) * s->bytes;
  OWNED void *x = xcalloc(bytes, 1);
  int wrong = 0;
  for (unsigned k = 0; k < SCHEDULES; k++) {
    const run_grid grid = {.blocks = 4, .resident = 4, .threads = 64, .warp = 32, .seed = k, .fault = fault};
    sweeps->call.x = x;
    const run_outcome got = run_sweeps(w->scalars, sweeps->forward, sweeps->backward, &sweeps->call, &grid);
    wrong += !got.ended || memcmp(right, x, bytes) != 0;
  }
  return wrong;
}

static void check(tristar_t *ts, int k) {
  const work *w = &works[k];
  const run_grid grid = {.blocks = 1, .resident = 1, .threads = 32, .warp = 32};
  solver s = solver_open(ts, &w->of, w->type, false);
  OWNED void *b = random_scalars(w->type, s.n * w->nrhs, 3),
             *right = xcalloc((size_t)(s.n * w->nrhs), s.bytes);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  device_sweeps sweeps;
  options.op = w->op;
  device_sweeps_open(&s, &options, w->nrhs, b, right, &sweeps);
  const run_outcome got = run_sweeps(w->scalars, sweeps.forward, sweeps.backward, &sweeps.call, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  CHECK(count_wrong(&s, w, &sweeps, GPU_NO_FAULT, right) == 0);
  for (int f = 0; f < FAULTS; f++)
    if (faults[f].work == k)
      CHECK_MSG(count_wrong(&s, w, &sweeps, (int)faults[f].kind, right) > 0,
                "no schedule of %d shows the fault \"%s\"", SCHEDULES, faults[f].name);
  device_sweeps_close(&sweeps);
  solver_close(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (int k = 0; k < WORKS; k++) RUN(check(ts, k));
  return 0;
}
