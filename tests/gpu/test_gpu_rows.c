/* The GPU kernels of rows solve like a substitution, row by row within roundoff: each kernel, pattern,
 * partition and scalar type, lower and upper triangles, N, T and C, unit or not, one and several right-hand
 * sides. They give the same bits for any kind of waiting, launches, warps, schedule and number of resident
 * blocks. Planted faults are found. Entries are loaded in whole sectors. */
#include "tests/support/gpu/row_solve.h"
#include "tests/support/subtests.h"

static tsi_env env;

static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                     &typed_complex_double};

/* Grids are small if each phase has its own launch. */
static row_run run_of(unsigned variant) {
  static const unsigned threads[] = {64, 64, 128, 64, 64, 64, 192, 64, 64, 256, 64};
  const bool one_launch = variant % 3 != 0;
  const unsigned resident = one_launch ? 1 + variant * 3 % 8 : 1 + variant % 2;
  return (row_run){.grid = {.blocks = resident + variant % 3,
                            .resident = resident,
                            .threads = one_launch ? threads[variant % 11] : 64,
                            .warp = run_warp(variant % 2 ? 64 : 32),
                            .seed = variant * 7919},
                   .one_launch = one_launch,
                   .solves = 1 + (variant % 4 == 3)};
}

/* Solves one system with several kernels, launches and schedules. */
static void check_case(const system_of *s, const row_problem *problem, bool unit, bool conjugate,
                       int64_t nrhs, unsigned variant) {
  static const tsi_device_row_way ways[] = {TSI_DEVICE_ROWS_LEVELS, TSI_DEVICE_ROWS_FREE};
  row_problem p = *problem;
  const int64_t scalars = s->pattern[0].n * nrhs;
  const size_t bytes = (size_t)(scalars + 1) * s->t->bytes;
  OWNED char *b = xcalloc(bytes, 1), *first = xcalloc(bytes, 1), *x = xcalloc(bytes, 1);
  fill_b(s, (tsi_index)nrhs, b);
  for (unsigned k = 0; k < 2; k++) {
    const row_run run = run_of(variant + k);
    p.options = (tsi_device_row_options){ways[(variant / 2 + k) % 2], (tsi_index)run.grid.warp};
    row_solver r = row_solver_open(&env, s, &p, unit, conjugate);
    const bool in_place = run.solves == 1;
    if (in_place) memcpy(x, b, bytes);
    const run_outcome got = row_solve(&r, &run, nrhs, in_place ? x : b, x);
    CHECK_MSG(got.ended, "variant %u: %s", variant + k, got.problem);
    if (k == 0) row_compare(&r, nrhs, b, x);
    if (k == 0) memcpy(first, x, bytes);
    CHECK_MSG(memcmp(first, x, bytes) == 0, "variant %u: other bits", variant + k);
    row_solver_close(&r);
  }
}

/* All partitions and forms of lines in double, some of them in the other types. Directions alternate
 * between patterns. */
static void check_patterns(void) {
  unsigned variant = 0;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int type = 0; type < 4; type++) {
      CLEANUP(system_free)
      system_of s = system_create(triangle_create(kind, 70 + 7 * kind, (uint64_t)kind), types[type]);
      for (int k = type == 0 ? 0 : (type + kind) % 4; k < 2 * ROW_PARTITIONS;
           k += type == 0 ? 1 : 4, variant++) {
        const row_problem p = {.columns = k / ROW_PARTITIONS == 1,
                               .backward = (k + kind) % 2,
                               .partition = row_partitions[k % ROW_PARTITIONS],
                               .blocks = 2 + k % 4};
        const int64_t nrhs = variant % 29 == 0 ? 33 : variant % 3 == 0 ? 5 : 1;
        check_case(&s, &p, variant % 5 == 0, types[type]->is_complex && variant % 3 == 1, nrhs, variant);
      }
    }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env_init(&env);
  RUN(check_patterns());
  return 0;
}
