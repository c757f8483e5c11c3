/* Triangles by rows with vectors longer than a core's cache, on several lanes. Either b and x are moved, or
 * one core processes the rows in the given order. Both give the bits of the rows in one chunk, with any
 * permutation, scaling, combination, transposition, in place, and with new values. Checks of the steps that
 * move rows find planted faults. */
#include <string.h>

#include "dag/moved_steps.h"
#include "runtime/context/context.h"
#include "runtime/import/import.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_solve.h"

/* So many rows that a vector of the smallest scalars counts as long (partition/cut/row_chunks.h); entries
 * per row. */
enum { ROWS = 520000, ENTRIES = 4, SOLVES = TSI_TESTS_SANITIZED ? 6 : 12 };

typedef struct problem {
  tristar_scalar scalar;
  size_t bytes;
  int32_t n;
  int64_t *ptr;
  int32_t *index;
  void *values, *b;
  int64_t *order;
  double *scale;
} problem;

static double number(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 40) / (double)(1 << 24) - 0.5;
}

static void put(const problem *p, void *to, int64_t at, double re, double im) {
  if (p->scalar == TRISTAR_SINGLE) ((float *)to)[at] = (float)re;
  if (p->scalar == TRISTAR_DOUBLE) ((double *)to)[at] = re;
  if (p->scalar == TRISTAR_COMPLEX_SINGLE)
    ((float *)to)[2 * at] = (float)re, ((float *)to)[2 * at + 1] = (float)im;
  if (p->scalar == TRISTAR_COMPLEX_DOUBLE) ((double *)to)[2 * at] = re, ((double *)to)[2 * at + 1] = im;
}

static void fill_values(const problem *p, uint64_t seed) {
  for (int32_t i = 0; i < p->n; i++)
    for (int64_t e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
      const bool diagonal = p->index[e] == i;
      const double re = number(&seed);
      put(p, p->values, e, diagonal ? 2 + re : re / ENTRIES, diagonal ? 0 : number(&seed) / ENTRIES);
    }
}

/* Makes a lower triangle. Row i has some of the columns i - 1, i - 700, i - 701, and one of the 50000
 * columns before it. */
static problem make_problem(tristar_scalar scalar) {
  const size_t bytes = scalar == TRISTAR_SINGLE ? 4 : scalar == TRISTAR_COMPLEX_DOUBLE ? 16 : 8;
  problem p = {.scalar = scalar, .bytes = bytes, .n = (int32_t)(ROWS * 4 / bytes)};
  uint64_t seed = 7;
  int64_t to = 0;
  p.ptr = xmalloc(((size_t)p.n + 1) * sizeof *p.ptr);
  p.index = xmalloc((size_t)p.n * (ENTRIES + 1) * sizeof *p.index);
  p.values = xmalloc((size_t)p.n * (ENTRIES + 1) * p.bytes);
  p.b = xmalloc((size_t)p.n * p.bytes);
  p.order = xmalloc((size_t)p.n * sizeof *p.order);
  p.scale = xmalloc((size_t)p.n * sizeof *p.scale);
  for (int32_t i = 0; i < p.n; i++) {
    const int32_t far = i - 702 - (int32_t)((number(&seed) + 0.5) * 50000);
    p.ptr[i] = to;
    if (far >= 0 && i % 3 == 0) p.index[to++] = far;
    if (i >= 701 && i % 5 != 0) p.index[to++] = i - 701;
    if (i >= 700) p.index[to++] = i - 700;
    if (i % 700 > 0 && i % 4 == 0) p.index[to++] = i - 1;
    p.index[to++] = i;
    put(&p, p.b, i, number(&seed), number(&seed));
    p.order[i] = (i + (int64_t)p.n / 3) % p.n;
    p.scale[i] = 1 + 0.5 * number(&seed);
  }
  p.ptr[p.n] = to;
  fill_values(&p, 11);
  return p;
}

static void free_problem(problem *p) {
  free(p->ptr);
  free(p->index);
  free(p->values);
  free(p->b);
  free(p->order);
  free(p->scale);
}

typedef struct way {
  bool upper; /* the lines are those of the transpose */
  bool moves; /* rows are permuted and scaled, and x is combined with beta x */
  bool in_place;
  tristar_op op;
} way;

static tristar_factor_t *import(tristar_t *ts, const problem *p, const way *w, tristar_partition partition) {
  const tristar_view view = stored_view(w->upper ? TRISTAR_CSC : TRISTAR_CSR, TRISTAR_GENERAL, p->scalar,
                                        p->n, p->n, p->ptr, p->index, p->values);
  tristar_factor_t *factor;
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  o.uplo = w->upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.partition = partition;
  if (w->moves) {
    o.row_order = p->order;
    o.row_scale = p->scale;
  }
  CHECK_OK(tristar_import_triangle(ts, &view, &o, &factor));
  return factor;
}

static void solve(tristar_plan_t *plan, const problem *p, const way *w, void *x) {
  static const double alpha[2] = {0.5, 0}, beta[2] = {2, 0};
  static const float alpha_single[2] = {0.5f, 0}, beta_single[2] = {2, 0};
  const bool single = p->scalar == TRISTAR_SINGLE || p->scalar == TRISTAR_COMPLEX_SINGLE;
  tristar_solve_options o = DEFAULTS(tristar_solve_options);
  o.op = w->op;
  if (w->moves) {
    o.alpha = single ? (const void *)alpha_single : alpha;
    o.beta = single ? (const void *)beta_single : beta;
  }
  memcpy(x, p->b, (size_t)p->n * p->bytes); /* this content of x is multiplied by beta */
  CHECK_OK(tristar_solve_with(plan, &o, 1, w->in_place ? x : p->b, x, NULL));
}

/* All ways to run a plan with this partition must give the bits of `expected`. */
static void check_partition(tristar_t *ts, const problem *p, const way *w, tristar_partition partition,
                            const void *expected, void *x) {
  static const tristar_engine engines[] = {TRISTAR_ENGINE_AUTO, TRISTAR_ENGINE_SERIAL, TRISTAR_ENGINE_TASKS};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = import(ts, p, w, partition);
  for (int e = 0; e < 3; e++) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    options.engine = engines[e];
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, &options);
    for (int k = 0; k < (e == 0 ? SOLVES : 1); k++) { /* some of them with help */
      solve(plan, p, w, x);
      CHECK(memcmp(x, expected, (size_t)p->n * p->bytes) == 0);
    }
  }
}

static void check_way(tristar_t *ts, const problem *p, const way *w, void *expected, void *x) {
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = import(ts, p, w, TRISTAR_PARTITION_WHOLE);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  solve(plan, p, w, expected);
  check_partition(ts, p, w, TRISTAR_PARTITION_SUPERSTEPS, expected, x);
  if (!w->moves) check_partition(ts, p, w, TRISTAR_PARTITION_LEVELS, expected, x);
}

/* New values must reach all forms of a factor. */
static void check_new_values(tristar_t *ts, const problem *p, void *expected, void *x) {
  const way w = {.op = TRISTAR_N};
  CLEANUP(tristar_factor_destroy)
  tristar_factor_t *factor = import(ts, p, &w, TRISTAR_PARTITION_SUPERSTEPS), *whole;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan, *other;
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  for (int k = 0; k < SOLVES; k++) solve(plan, p, &w, x);
  fill_values(p, 13);
  CHECK_OK(tsi_reimport_lines(factor, p->values, false));
  whole = import(ts, p, &w, TRISTAR_PARTITION_WHOLE);
  CHECK_OK(tristar_plan(whole, NULL, &other));
  solve(other, p, &w, expected);
  for (int k = 0; k < SOLVES; k++) {
    solve(plan, p, &w, x);
    CHECK(memcmp(x, expected, (size_t)p->n * p->bytes) == 0);
  }
}

/* Steps 0 and 1 before 2; step 3 is alone. A missing edge is detected: of the steps that move rows, and of
 * the sweep. */
static void check_steps(tsi_env *env) {
  enum { STEPS = 4, PIECES = 2 };
  tsi_step step[STEPS] = {{.kind = TSI_STEP_FORWARD_CHUNK}};
  tsi_edge edge[] = {{2, 0}, {2, 1}};
  const tsi_steps sweep = {.count = STEPS, .step = step, .edges = 2, .edge = edge};
  tsi_steps *steps;
  CHECK_OK(tsi_moved_steps_create(env, &sweep, PIECES, 100, &steps));
  CHECK(steps->count == STEPS + 2 * PIECES && steps->edges == 2 + 3 * PIECES + 2 * PIECES);
  CHECK_OK(tsi_moved_steps_check(env, steps, &sweep, PIECES));
  for (tsi_count k = 0; k < steps->edges; k++) {
    const tsi_edge lost = steps->edge[k], last = steps->edge[--steps->edges];
    steps->edge[k] = last;
    CHECK(tsi_moved_steps_check(env, steps, &sweep, PIECES) == TRISTAR_ERR_INTERNAL);
    steps->edge[k] = lost;
    steps->edge[steps->edges++] = last;
  }
  TSI_FREE(env, steps);
}

int test_moved_rows(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_scalar scalars[] = {TRISTAR_DOUBLE, TRISTAR_SINGLE, TRISTAR_COMPLEX_DOUBLE,
                                           TRISTAR_COMPLEX_SINGLE};
  static const way ways[] = {{.op = TRISTAR_N},
                             {.upper = true, .op = TRISTAR_N, .in_place = true},
                             {.moves = true, .op = TRISTAR_N},
                             {.upper = true, .moves = true, .op = TRISTAR_T},
                             {.op = TRISTAR_T}};
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, false);
  RUN(check_steps(&ts->env));
  for (int s = 0; s < (TSI_TESTS_SANITIZED ? 1 : 4); s++) { /* all types have the same code */
    problem p = make_problem(scalars[s]);
    void *expected = xmalloc((size_t)p.n * p.bytes), *x = xmalloc((size_t)p.n * p.bytes);
    for (int k = 0; k < (s == 0 ? 5 : 1); k++) RUN(check_way(ts, &p, &ways[s == 0 ? k : s], expected, x));
    if (s == 0) RUN(check_new_values(ts, &p, expected, x));
    free(expected);
    free(x);
    free_problem(&p);
  }
  return 0;
}
