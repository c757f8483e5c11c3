/* Device tables of triangles by rows: their check passes on every partition, pattern and sweep, and finds
 * faults that are planted into any array. Tables are copied as one block; a failed allocation leaks nothing;
 * the choice of kernels. */
#include "tests/support/env_allocations.h"
#include "tests/support/device_rows.h"
#include "tests/support/subtests.h"

static tsi_env env;

#define TRIALS 12

static void check_tables(const system_of *s, bool all) {
  for (int k = 0; k < (all ? 8 * ROW_PARTITIONS : ROW_PARTITIONS); k++) {
    const int way = all ? k / ROW_PARTITIONS : 5 * k % 8;
    const row_problem p = {.columns = way & 1,
                           .backward = way >> 1 & 1,
                           .partition = row_partitions[k % ROW_PARTITIONS],
                           .blocks = 1 + k % 7,
                           .options = {(tsi_device_row_way)(k % 3), way & 4 ? 64 : 32}};
    tsi_device_row_plan plan;
    CHECK_OK(row_problem_create(&env, s, &p, &plan)); /* verifies the tables */
    CHECK(plan.tables.n == 0 || plan.tables.phases > 0);
    tsi_device_rows_destroy(&plan);
  }
}

static void check_patterns(void) {
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int32_t n = 0; n < 200; n = 4 * n + kind % 3 + 1) {
      CLEANUP(system_free)
      system_of s = system_create(triangle_create(kind, n, (uint64_t)(kind + n)), &typed_double);
      check_tables(&s, n < 100);
    }
}

/* Columns that differ by more than 16 bits can hold, and rows with more entries than a warp has lanes. */
static void check_wide(void) {
  enum { N = 70000 };
  triangle_pattern t = {N, xcalloc(N + 1, sizeof *t.ptr), xmalloc(4 * N * sizeof *t.index)};
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < N; i++) {
    int64_t e = t.ptr[i];
    if (i > 9 && i % 5 == 0) t.index[e++] = 0;
    if (i > 9 && i % 2 == 0) t.index[e++] = i - 3;
    if (i == N - 1)
      for (int32_t j = 1; j < N - 4; j += 2) t.index[e++] = j;
    if (i == N - 1) t.index[e++] = i - 1;
    t.index[e++] = i;
    t.ptr[i + 1] = e;
  }
  CLEANUP(system_free) system_of s = system_create(t, &typed_double);
  const row_problem p = {.options = {TSI_DEVICE_ROWS_AUTO, 32}};
  tsi_device_row_plan plan;
  CHECK_OK(row_problem_create(&env, &s, &p, &plan));
  CHECK(plan.tables.narrow > 0 && plan.tables.narrow < plan.tables.entries);
  tsi_device_rows_destroy(&plan);
}

/* ---- Faults -------------------------------------------------------------------------------------------- */

static uint64_t state = 3;

/* Returns a random index of an array of `count` elements. */
static size_t any(tsi_count count) {
  return (size_t)(next_random(&state) % (uint64_t)count);
}

#define CHECK_TABLES tsi_device_rows_check(&env, plan, &lines, p->backward)

static void break_bundles(const tsi_device_row_plan *plan, const row_problem *p, const tsi_lines lines,
                          tsi_index by) {
  tsi_device_bundle *b = (tsi_device_bundle *)plan->tables.bundle + any(plan->tables.bundles);
  BROKEN(b->entry, b->entry + by, CHECK_TABLES);
  BROKEN(b->at, b->at + by, CHECK_TABLES);
  BROKEN(b->first, b->first + by, CHECK_TABLES);
  BROKEN(b->steps, b->steps + by, CHECK_TABLES);
  BROKEN(b->rows, (uint8_t)(b->rows + by), CHECK_TABLES);
  BROKEN(b->threads, (uint8_t)(b->threads * 2), CHECK_TABLES);
  BROKEN(b->fresh, !b->fresh, CHECK_TABLES);
  if (b->steps > 0 && b->narrow) BROKEN(b->base, b->base + by, CHECK_TABLES);
}

static void break_tables(const tsi_device_row_plan *plan, const row_problem *p, const tsi_lines lines) {
  const tsi_device_rows *t = &plan->tables;
  for (int k = 0; k < TRIALS; k++) {
    const tsi_index by = k % 2 ? 1 : -1;
    tsi_device_phase *phase = (tsi_device_phase *)t->phase + any(t->phases);
    tsi_device_row_ticket *ticket = (tsi_device_row_ticket *)t->ticket + any(t->tickets);
    tsi_index *end = (tsi_index *)t->end + any((tsi_count)t->n + t->updates);
    uint16_t *column = (uint16_t *)t->short_column + any(t->narrow);
    tsi_index *order = plan->order + any(t->n);
    tsi_count *source = plan->source + any(t->entries);
    break_bundles(plan, p, lines, by);
    BROKEN(phase->ticket, phase->ticket + by, CHECK_TABLES);
    BROKEN(phase->tickets, phase->tickets + by, CHECK_TABLES);
    BROKEN(phase->kind, phase->kind == TSI_PHASE_UPDATE ? TSI_PHASE_SOLVE : TSI_PHASE_UPDATE, CHECK_TABLES);
    BROKEN(phase->kind, by * 9, CHECK_TABLES);
    BROKEN(ticket->phase, ticket->phase + by, CHECK_TABLES);
    BROKEN(ticket->bundle, ticket->bundle + by, CHECK_TABLES);
    BROKEN(ticket->bundles, ticket->bundles + by, CHECK_TABLES);
    BROKEN(*end, *end + by, CHECK_TABLES);
    BROKEN(*column, (uint16_t)(*column + by), CHECK_TABLES);
    BROKEN(*order, *order + by, CHECK_TABLES);
    BROKEN(*source, *source + by, CHECK_TABLES);
    if (t->updates == 0) continue;
    tsi_index *row = (tsi_index *)t->row + any(t->updates);
    BROKEN(*row, *row + by, CHECK_TABLES);
  }
  CHECK_OK(CHECK_TABLES);
}

/* Level pointers: moves a ticket to the previous phase, whose rows it reads. */
static int break_levels(const tsi_device_row_plan *plan, const row_problem *p, const tsi_lines lines) {
  const tsi_device_rows *t = &plan->tables;
  int broken = 0;
  for (tsi_index k = 1; k < t->phases; k++) {
    tsi_device_phase *before = (tsi_device_phase *)t->phase + k - 1, *phase = before + 1;
    tsi_device_row_ticket *ticket = (tsi_device_row_ticket *)t->ticket + phase->ticket;
    if (phase->tickets < 2 || phase->kind != TSI_PHASE_SOLVE || before->kind != TSI_PHASE_SOLVE) continue;
    const tsi_device_phase kept[2] = {*before, *phase};
    before->tickets++;
    phase->ticket++;
    phase->tickets--;
    ticket->phase--;
    CHECK_STATUS(CHECK_TABLES, TRISTAR_ERR_INTERNAL);
    ticket->phase++;
    *before = kept[0];
    *phase = kept[1];
    broken++;
  }
  return broken;
}

static void check_faults(void) {
  int levels = 0;
  for (int kind = 0; kind < TRIANGLES; kind++) {
    if (kind == TRIANGLE_DIAGONAL || kind == TRIANGLE_CHAIN) continue;
    CLEANUP(system_free) system_of s = system_create(triangle_create(kind, 300, 5), &typed_double);
    for (int k = 0; k < 2; k++) {
      const row_problem p = {.partition = k ? TSI_ROWS_RECURSIVE_BLOCKS : TSI_ROWS_WHOLE,
                             .blocks = 4,
                             .backward = kind % 2,
                             .options = {k ? TSI_DEVICE_ROWS_FREE : TSI_DEVICE_ROWS_LEVELS, 32}};
      tsi_device_row_plan plan;
      CHECK_OK(row_problem_create(&env, &s, &p, &plan));
      break_tables(&plan, &p, row_problem_lines(&s, &p));
      levels += break_levels(&plan, &p, row_problem_lines(&s, &p));
      tsi_device_rows_destroy(&plan);
    }
  }
  CHECK(levels > 0);
}

/* ---- Memory -------------------------------------------------------------------------------------------- */

static void check_move(void) {
  CLEANUP(system_free) system_of s = system_create(triangle_create(TRIANGLE_RANDOM, 200, 3), &typed_double);
  const row_problem p = {
      .partition = TSI_ROWS_ROW_BLOCKS, .blocks = 3, .options = {TSI_DEVICE_ROWS_AUTO, 32}};
  const tsi_lines lines = row_problem_lines(&s, &p);
  tsi_device_row_plan plan;
  CHECK_OK(row_problem_create(&env, &s, &p, &plan));
  void *copy = aligned_alloc(TSI_CACHE_LINE, plan.tables.bytes);
  CHECK(copy != NULL);
  memcpy(copy, plan.tables.block, plan.tables.bytes);
  tsi_device_row_plan moved = plan;
  moved.tables = tsi_device_rows_move(&plan.tables, copy);
  memset(plan.tables.block, 0xff, plan.tables.bytes);
  CHECK_OK(tsi_device_rows_check(&env, &moved, &lines, false));
  moved.tables.bytes -= TSI_CACHE_LINE;
  CHECK_STATUS(tsi_device_rows_check(&env, &moved, &lines, false), TRISTAR_ERR_INTERNAL);
  free(copy);
  tsi_device_rows_destroy(&plan);
}

static void check_failures(void) {
  CLEANUP(system_free) system_of s = system_create(triangle_create(TRIANGLE_RANDOM, 40, 3), &typed_double);
  const row_problem p = {
      .partition = TSI_ROWS_RECURSIVE_BLOCKS, .blocks = 4, .options = {TSI_DEVICE_ROWS_AUTO, 32}};
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_device_row_plan plan;
    const tristar_status status = row_problem_create(&env, &s, &p, &plan);
    end_failure(&failing, status);
    CHECK((plan.order != NULL) == (status == TRISTAR_OK));
    tsi_device_rows_destroy(&plan);
  }
  CHECK(failing.count > 30);
}

/* ---- Choices ------------------------------------------------------------------------------------------- */

static void check_choice(void) {
  CHECK(tsi_device_row_threads(0) == 1 && tsi_device_row_threads(1) == 1 && tsi_device_row_threads(2) == 2);
  CHECK(tsi_device_row_threads(5) == 8 && tsi_device_row_threads(32) == 32);
  CHECK(tsi_device_row_threads(TSI_COUNT_MAX) == TSI_ROW_THREADS_MAX);
  CHECK(tsi_device_row_choose(1000, 0, 1) == TSI_DEVICE_ROWS_LEVELS);     /* a diagonal matrix */
  CHECK(tsi_device_row_choose(1000, 7000, 20) == TSI_DEVICE_ROWS_LEVELS); /* few levels of short rows */
  CHECK(tsi_device_row_choose(1000, 16000, 20) == TSI_DEVICE_ROWS_FREE);  /* few levels of long rows */
  CHECK(tsi_device_row_choose(1000, 7000, 21) == TSI_DEVICE_ROWS_FREE);   /* many levels */
  CHECK(tsi_device_row_choose(1000, 900, 100) ==
        TSI_DEVICE_ROWS_LEVELS); /* many levels with less than one entry per row */
  CHECK(tsi_device_row_choose(1000, 999, 1000) == TSI_DEVICE_ROWS_FREE); /* a chain */
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env_init(&env);
  env.check = true;
  RUN(check_choice());
  RUN(check_patterns());
  RUN(check_wide());
  RUN(check_faults());
  RUN(check_move());
  RUN(check_failures());
  return 0;
}
