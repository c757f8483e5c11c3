/* Sweeps over block cuts: every scheme, pattern, direction, scalar type, rows and columns, strides, positions
 * in the vectors. Solutions are right, and chunks in any order that their waits allow give the same bits. */
#include "runtime/rows/block_sweep.h"
#include "tests/support/env_allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/triangle_system.h"

static const tsi_block_scheme schemes[] = {TSI_BLOCKS_COLUMN, TSI_BLOCKS_ROW, TSI_BLOCKS_RECURSIVE};
static tsi_env env;

/* Runs the chunks in another legal order: the last ones first. */
static void run_late_first(const tsi_block_rows *rows, const tsi_block_program *program, tsi_index stride,
                           void *x) {
  OWNED bool *done = xcalloc((size_t)rows->count + 1, sizeof *done);
  for (tsi_index left = rows->count; left > 0;)
    for (tsi_index c = rows->count; c-- > 0;) {
      bool ready = !done[c];
      for (tsi_count w = rows->wait_ptr[c]; w < rows->wait_ptr[c + 1] && ready; w++)
        ready = done[rows->wait[w]];
      if (!ready) continue;
      tsi_block_run(program, c, stride, x);
      done[c] = true;
      left--;
    }
}

typedef struct way {
  bool columns, backward, reversed;
  tsi_block_options options;
} way;

static void check_way(const system_of *s, const way *w) {
  const triangle_pattern *p = &s->pattern[w->columns];
  const tsi_lines lines = {p->n, p->ptr, p->index, w->columns};
  const size_t n = (size_t)p->n;
  OWNED tsi_index *place = xmalloc(n * sizeof *place + 1);
  OWNED char *inverse = xmalloc((n + 1) * s->t->bytes), *b = xmalloc((n + 1) * 8 * s->t->bytes),
             *x = xmalloc((n + 1) * 8 * s->t->bytes), *other = xmalloc((n + 1) * 8 * s->t->bytes);
  tsi_block_sweep *sweep, *alone;
  for (tsi_index i = 0; i < p->n; i++) {
    place[i] = w->reversed ? p->n - 1 - i : i;
    put(s->t, inverse, place[i], get(s->t, s->inverse, i));
  }
  CHECK_OK(tsi_block_sweep_create(&env, &lines, w->backward, &w->options, (char)s->t->scalar, NULL,
                                  w->reversed ? place : NULL, &sweep));
  for (int again = 0; again < 2; again++) tsi_block_sweep_fill(sweep, s->values[w->columns]);
  tsi_block_options one = w->options; /* one lane gives the same bits */
  one.lanes = 1;
  one.least = 1000;
  CHECK_OK(tsi_block_sweep_create(&env, &lines, w->backward, &one, (char)s->t->scalar, NULL,
                                  w->reversed ? place : NULL, &alone));
  tsi_block_sweep_fill(alone, s->values[w->columns]);
  const tsi_block_program program = tsi_block_sweep_program(sweep, inverse),
                          alone_program = tsi_block_sweep_program(alone, inverse);
  for (tsi_index stride = 1; stride <= 8; stride *= 2) {
    const size_t bytes = n * (size_t)stride * s->t->bytes;
    fill_b(s, stride, b);
    memcpy(x, b, bytes);
    memcpy(other, b, bytes);
    for (tsi_index c = 0; c < sweep->rows->count; c++) tsi_block_run(&program, c, stride, x);
    check_residual(s, w->backward, place, stride, b, x);
    run_late_first(sweep->rows, &program, stride, other);
    CHECK(memcmp(x, other, bytes) == 0);
    memcpy(other, b, bytes);
    for (tsi_index c = 0; c < alone->rows->count; c++) tsi_block_run(&alone_program, c, stride, other);
    CHECK(memcmp(x, other, bytes) == 0);
  }
  TSI_FREE(&env, sweep);
  TSI_FREE(&env, alone);
}

static void check_system(int kind, int32_t n, const typed *t, bool all) {
  CLEANUP(system_free) system_of s = system_create(triangle_create(kind, n, (uint64_t)(kind + n)), t);
  for (int scheme = 0; scheme < 3; scheme++)
    for (int k = 0; k < (all ? 16 : 2); k++) {
      way w = {.columns = k & 1, .backward = k >> 1 & 1, .reversed = k >> 2 & 1};
      if (!all) w.backward = w.reversed = k;
      w.options = (tsi_block_options){schemes[scheme], 1 + (kind + k) % 9, k >> 3 & 1, 1 + k % 4, 10};
      check_way(&s, &w);
    }
}

/* Columns that differ by more than 16 bits can hold, and others. */
static void check_wide(void) {
  enum { N = 70000 };
  triangle_pattern p = {N, xcalloc(N + 1, sizeof *p.ptr), xmalloc(4 * N * sizeof *p.index)};
  CHECK(p.ptr != NULL && p.index != NULL);
  for (int32_t i = 0; i < N; i++) {
    int64_t e = p.ptr[i];
    if (i > 2) p.index[e++] = i % 2;
    if (i > 9) p.index[e++] = i / 2;
    p.index[e++] = i;
    p.ptr[i + 1] = e;
  }
  CLEANUP(system_free) system_of s = system_create(p, &typed_double);
  for (int scheme = 0; scheme < 3; scheme++)
    for (int backward = 0; backward < 2; backward++) {
      const way w = {.backward = backward, .options = {schemes[scheme], 4, false, 2, 1000}};
      check_way(&s, &w);
    }
}

static void check_options(void) {
  tsi_block_options options;
  tsi_block_options_init(&options, TSI_BLOCKS_ROW, 8, 4);
  CHECK(options.scheme == TSI_BLOCKS_ROW && options.blocks == 8 && options.lanes == 4 && options.least > 0);
}

static void check_failures(void) {
  CLEANUP(triangle_free) triangle_pattern t = triangle_create(TRIANGLE_RANDOM, 40, 3);
  const tsi_lines lines = {t.n, t.ptr, t.index, false};
  const tsi_block_options options = {TSI_BLOCKS_RECURSIVE, 4, true, 2, 10};
  tsi_block_sweep *sweep;
  CHECK_STATUS(tsi_block_sweep_create(&env, &lines, false, &options, 'd', "none", NULL, &sweep),
               TRISTAR_ERR_ARGUMENT);
  tsi_env failing_env;
  tsi_env_init(&failing_env);
  allocation_failures failing = fail_allocations(&failing_env);
  while (next_failure(&failing)) {
    const tristar_status status =
        tsi_block_sweep_create(&failing_env, &lines, true, &options, 'd', NULL, NULL, &sweep);
    end_failure(&failing, status);
    CHECK((sweep != NULL) == (status == TRISTAR_OK));
    TSI_FREE(&failing_env, sweep);
  }
  CHECK(failing.count > 30);
}

int test_block_sweep(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                       &typed_complex_double};
  tsi_env_init(&env);
  env.check = true;
  RUN(check_options());
  RUN(check_failures());
  RUN(check_wide());
  for (int kind = 0; kind < TRIANGLES; kind++) {
    for (int k = 0; k < 4; k++) RUN(check_system(kind, 60 + 7 * kind, types[k], k == 0));
    RUN(check_system(kind, kind % 3, &typed_double, true));
  }
  RUN(check_system(TRIANGLE_ERDOES_RENYI, 3000, &typed_double, false));
  return 0;
}
