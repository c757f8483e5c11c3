/* Triangles that are spread over PEs, in the emulator, the launches of all PEs in one grid: small residuals
 * for road networks, power laws, PDEs and others, forward and backward, four scalars, 1 and 17 right-hand
 * sides, by tasks dealt round robin and near each other; the same bits in all schedules and from solve
 * to solve; fewer flags of other PEs are read with the skip than without. */
#include "tests/support/gpu/spread_solve.h"
#include "tests/support/subtests.h"

static tsi_env env;

enum { N = 144, SCHEDULES = 4, MANY = 17 };

static const run_grid plain = {.blocks = 1, .threads = 32, .warp = 32};

static void check_bits(const spread_solver *v, tsi_index nrhs) {
  const size_t bytes = N * (size_t)nrhs * v->s->t->bytes;
  OWNED tsi_index *place = xcalloc(N, sizeof *place);
  OWNED char *b = xcalloc(bytes, 1), *x = xcalloc(bytes, 1), *again = xcalloc(bytes, 1);
  int64_t polls;
  for (tsi_index i = 0; i < N; i++) place[i] = i;
  fill_b(v->s, nrhs, b);
  const run_outcome got = spread_solve(v, nrhs, 1, &plain, b, x, &polls);
  CHECK_MSG(got.ended, "%s", got.problem);
  check_residual(v->s, v->backward, place, nrhs, b, x);
  for (unsigned k = 0; k < SCHEDULES; k++) {
    const run_grid grid = {.blocks = 1 + k % 3, .threads = 32U << k % 2, .warp = 32, .seed = k + 1};
    const run_outcome other = spread_solve(v, nrhs, 1 + k % 2, &grid, b, again, &polls);
    CHECK_MSG(other.ended, "%s", other.problem);
    CHECK_MSG(memcmp(x, again, bytes) == 0, "schedule %u gives other bits", k);
    CHECK(polls >= spread_gets(v));
  }
}

static void check_kind(int kind, const typed *t, int pes) {
  system_of s = system_create(triangle_create(kind, N, 11), t);
  static const tsi_index tasks[] = {0, 4, 16};
  for (int backward = 0; backward < 2; backward++)
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
      spread_solver v = spread_open(&env, &s, backward, pes, tasks[k]);
      check_bits(&v, 1);
      if (k == 1) check_bits(&v, MANY);
      spread_close(&v);
    }
  system_free(&s);
}

/* Counts the flags of other PEs that are read with and without the skip, in several schedules. */
static void check_polls(int kind, int pes) {
  system_of s = system_create(triangle_create(kind, N, 5), &typed_double);
  OWNED char *b = xcalloc(N, s.t->bytes), *x = xcalloc(N, s.t->bytes), *y = xcalloc(N, s.t->bytes);
  spread_solver v = spread_open(&env, &s, false, pes, 4);
  int64_t polls[2] = {0, 0};
  fill_b(&s, 1, b);
  for (unsigned k = 0; k < 2 * SCHEDULES; k++) {
    const run_grid grid = {.blocks = 2, .threads = 32, .warp = 32, .seed = k};
    int64_t more;
    v.polls_all = k % 2;
    CHECK(spread_solve(&v, 1, 1, &grid, b, k == 0 ? x : y, &more).ended);
    CHECK(k == 0 || memcmp(x, y, N * s.t->bytes) == 0);
    CHECK(more >= spread_gets(&v));
    polls[k % 2] += more;
  }
  CHECK_MSG(polls[0] < polls[1], "%s, %d PEs: %lld polls with the skip, %lld without", triangle_names[kind],
            pes, (long long)polls[0], (long long)polls[1]);
  printf("%s, %d PEs: %lld polls in %d solves, %lld without the skip\n", triangle_names[kind], pes,
         (long long)polls[0], SCHEDULES, (long long)polls[1]);
  spread_close(&v);
  system_free(&s);
}

/* Counts the left sums that are read, at most one for each row and other PE. A partition into neighbouring
 * rows reads fewer than one into many tasks. */
static void check_gets(int kind, int pes) {
  system_of s = system_create(triangle_create(kind, 4000, 5), &typed_double);
  tsi_count gets[3];
  static const tsi_index tasks[] = {0, 4, 32};
  for (int k = 0; k < 3; k++) {
    spread_solver v = spread_open(&env, &s, false, pes, tasks[k]);
    gets[k] = spread_gets(&v);
    spread_close(&v);
  }
  CHECK(gets[0] < gets[2] && gets[1] <= gets[2] && gets[2] <= 4000 * (tsi_count)(pes - 1));
  printf("%s, %d PEs: %lld left sums of %lld; 32 tasks: %lld; near: %lld\n", triangle_names[kind], pes,
         (long long)gets[1], 4000 * (long long)(pes - 1), (long long)gets[2], (long long)gets[0]);
  system_free(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env_init(&env);
  env.check = true;
  for (int kind = 0; kind < TRIANGLES; kind++) {
    static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_double,
                                         &typed_complex_single};
    RUN(check_kind(kind, types[kind % 4], kind % 2 ? 2 : 4));
  }
  static const int kinds[] = {TRIANGLE_ROAD, TRIANGLE_POWER_LAW, TRIANGLE_GRID};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    RUN(check_polls(kinds[k], 2));
    RUN(check_polls(kinds[k], 4));
    RUN(check_gets(kinds[k], 2));
    RUN(check_gets(kinds[k], 4));
  }
  return 0;
}
