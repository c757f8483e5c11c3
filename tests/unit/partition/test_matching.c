/* Matching against all permutations of small matrices, its invariants on larger ones, structural ranks. */
#include <string.h>

#include "partition/order/matching.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

/* A matrix and the result of tsi_matching. */
typedef struct problem {
  pattern a;
  double *magnitude;
  tsi_index *row_of;
  double *r, *c;
  tsi_index rank;
} problem;

static double random_in(uint64_t *seed, double low, double high) {
  return low + (high - low) * (double)lcg(seed) / 2147483648.0;
}

/* Merges duplicates and draws magnitudes 10^-digits .. 10^digits, some of them zero. */
static problem begin(pattern a, double digits, int zero_percent, uint64_t *seed) {
  problem p = {.a = a};
  tsi_count to = 0;
  for (tsi_index j = 0; j < a.n; j++) {
    tsi_count from = p.a.ptr[j], first = to;
    p.a.ptr[j] = to;
    for (; from < a.ptr[j + 1]; from++) {
      tsi_count q = first;
      while (q < to && a.index[q] != a.index[from]) q++;
      if (q == to) a.index[to++] = a.index[from];
    }
  }
  p.a.ptr[a.n] = to;
  size_t n = (size_t)a.n + 1;
  p.magnitude = xmalloc(((size_t)to + 1) * sizeof(double));
  p.row_of = xmalloc(n * sizeof *p.row_of);
  p.r = xmalloc(n * sizeof *p.r);
  p.c = xmalloc(n * sizeof *p.c);
  for (tsi_count q = 0; q < to; q++)
    p.magnitude[q] = (int)lcg_below(seed, 100) < zero_percent ? 0 : pow(10, random_in(seed, -digits, digits));
  return p;
}

static void end(problem *p) {
  pattern_free(&p->a);
  free(p->magnitude);
  free(p->row_of);
  free(p->r);
  free(p->c);
}

static void match(tsi_env *env, problem *p) {
  CHECK_OK(
      tsi_matching(env, p->a.n, p->a.ptr, p->a.index, p->magnitude, p->row_of, p->r, p->c, &p->rank, NULL));
}

/* Checks the invariants of the header. slack: a matched entry may be smaller than 1 by this amount. */
static void check_invariants(const char *name, const problem *p, double slack) {
  const pattern *a = &p->a;
  tsi_index matched = 0;
  OWNED bool *taken = xcalloc((size_t)a->n + 1, sizeof *taken);
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_index i = p->row_of[j];
    bool found = false;
    CHECK_MSG(isnormal(p->r[j]) && isnormal(p->c[j]) && p->r[j] > 0 && p->c[j] > 0, "%s: scalings %g, %g",
              name, p->r[j], p->c[j]);
    for (tsi_count q = a->ptr[j]; q < a->ptr[j + 1]; q++) {
      double scaled = p->r[a->index[q]] * p->magnitude[q] * p->c[j];
      found = found || (a->index[q] == i && p->magnitude[q] > 0);
      if (p->rank < a->n) continue;
      CHECK_MSG(scaled <= 1 + 1e-11, "%s: entry %d,%d is scaled to %.17g", name, a->index[q], j, scaled);
      CHECK_MSG(a->index[q] != i || scaled >= 1 - slack, "%s: diagonal %d is scaled to %.17g", name, j,
                scaled);
    }
    if (p->rank < a->n) CHECK_MSG(p->r[j] == 1 && p->c[j] == 1, "%s", name);
    if (i == TSI_NONE) continue;
    CHECK_MSG(i >= 0 && i < a->n && !taken[i] && found, "%s: column %d has row %d", name, j, i);
    taken[i] = true;
    matched++;
  }
  CHECK_MSG(matched == p->rank, "%s: %d columns matched, rank %d", name, matched, p->rank);
}

/* ---- All permutations ---- */

/* Computes for each set S of rows and the columns 0 .. |S|-1: best[S], the largest sum of logarithms of a
 * matching; most[S], the largest number of entries with at most one in a row and a column. */
static void try_all(const problem *p, double *best_product, tsi_index *best_rank) {
  static double value[8][8], best[256];
  static tsi_index most[256][9];
  tsi_index n = p->a.n;
  memset(value, 0, sizeof value);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count q = p->a.ptr[j]; q < p->a.ptr[j + 1]; q++) value[p->a.index[q]][j] = p->magnitude[q];
  for (int set = 0; set < 1 << n; set++) {
    tsi_index column = __builtin_popcount((unsigned)set) - 1;
    best[set] = set == 0 ? 0 : -INFINITY;
    for (tsi_index i = 0; i < n; i++)
      if (set >> i & 1) best[set] = fmax(best[set], best[set ^ (1 << i)] + log(value[i][column]));
    most[set][0] = 0;
    for (tsi_index j = 0; j < n; j++) { /* column j may stay unmatched */
      most[set][j + 1] = most[set][j];
      for (tsi_index i = 0; i < n; i++)
        if ((set >> i & 1) && value[i][j] > 0)
          most[set][j + 1] = tsi_index_max(most[set][j + 1], most[set ^ (1 << i)][j] + 1);
    }
  }
  *best_product = best[(1 << n) - 1];
  *best_rank = most[(1 << n) - 1][n];
}

static void test_small(tsi_env *env) {
  int singular = 0, regular = 0;
  uint64_t seed = 17;
  for (int round = 0; round < 3000; round++) {
    tsi_index n = 1 + lcg_below(&seed, 7), rank;
    /* every third matrix has many equal magnitudes */
    problem p = begin(pattern_random(n, 1 + lcg_below(&seed, n * n), seed), round % 3 == 0 ? 0 : 6, 5, &seed);
    double product, got = 0;
    try_all(&p, &product, &rank);
    match(env, &p);
    check_invariants("small", &p, 1e-11);
    CHECK_MSG(p.rank == rank, "round %d: rank %d, not %d", round, p.rank, rank);
    for (tsi_index j = 0; p.rank == n && j < n; j++)
      for (tsi_count q = p.a.ptr[j]; q < p.a.ptr[j + 1]; q++)
        if (p.a.index[q] == p.row_of[j]) got += log(p.magnitude[q]);
    CHECK_MSG(p.rank < n || fabs(got - product) < 1e-9, "round %d: product exp(%g), not exp(%g)", round, got,
              product);
    if (rank < n)
      singular++;
    else
      regular++;
    end(&p);
  }
  CHECK(singular > 300 && regular > 300);
}

/* ---- Larger ones ---- */

/* Makes a random pattern that contains a permutation. */
static pattern random_regular(tsi_index n, tsi_index entries, uint64_t *seed) {
  pattern a = pattern_begin(n);
  OWNED tsi_index *row = xmalloc((size_t)n * sizeof *row);
  for (tsi_index i = 0; i < n; i++) {
    tsi_index k = lcg_below(seed, i + 1);
    row[i] = row[k];
    row[k] = i;
  }
  for (tsi_index j = 0; j < n; j++) pattern_add(&a, row[j], j);
  for (tsi_index e = 0; e < entries; e++) {
    tsi_index i = lcg_below(seed, n);
    pattern_add(&a, i, lcg_below(seed, n));
  }
  pattern_finish(&a);
  return a;
}

static void test_random(tsi_env *env) {
  uint64_t seed = 23;
  for (int round = 0; round < 60; round++) {
    tsi_index n = 10 + lcg_below(&seed, 400);
    double digits = round % 4 == 0 ? 0 : 3 * (round % 4);
    problem p = begin(random_regular(n, n * (round % 6), &seed), digits, 0, &seed);
    match(env, &p);
    CHECK(p.rank == n);
    check_invariants("random", &p, 1e-11);
    end(&p);
  }
}

/* Magnitudes from the smallest denormal to the largest number. */
static void test_extremes(tsi_env *env) {
  uint64_t seed = 29;
  for (int round = 0; round < 4; round++) {
    /* all magnitudes, or a range that scalings can equalize */
    problem p = begin(random_regular(100, 300, &seed), round < 2 ? 300 : 20, 0, &seed);
    p.magnitude[0] = 4.9e-324;
    if (round < 2) p.magnitude[1] = 1.79e308;
    p.magnitude[2] = 1e-310;
    match(env, &p);
    CHECK(p.rank == 100);
    check_invariants("extremes", &p, round < 2 ? 1 : 1e-10);
    end(&p);
  }

  /* 1 x 1: the scale is divided between row and column */
  problem p = begin(pattern_diagonal(1), 0, 0, &seed);
  p.magnitude[0] = 4.9e-324;
  match(env, &p);
  check_invariants("1 x 1", &p, 1e-11);
  end(&p);
}

/* If no representable scalings exist, the permutation is still optimal, and nothing overflows. */
static void test_overflow(tsi_env *env) {
  const tsi_index n = 1000;
  uint64_t seed = 31;
  pattern a = pattern_begin(n);
  for (tsi_index j = 0; j < n; j++) {
    pattern_add(&a, j, j);
    if (j + 1 < n) pattern_add(&a, j + 1, j);
  }
  pattern_finish(&a);
  problem p = begin(a, 0, 0, &seed);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count q = a.ptr[j]; q < a.ptr[j + 1]; q++) p.magnitude[q] = a.index[q] == j ? 1e-3 : 1e3;
  match(env, &p);
  CHECK(p.rank == n);
  for (tsi_index j = 0; j < n; j++) CHECK(p.row_of[j] == j);
  check_invariants("overflow", &p, 1);
  end(&p);
}

static void note_line(void *arg, tristar_log_level level, const char *text) {
  (void)level;
  if (strstr(text, "too much work") != NULL) *(bool *)arg = true;
}

/* Makes a dense matrix for which shortest paths are known to be slow (R. E. Machol and M. Wien, 1976). The
 * search gives up and returns a permutation with scalings that bound all entries. */
static problem slow_problem(tsi_index n) {
  uint64_t seed = 37;
  problem p = begin(pattern_dense(n), 0, 0, &seed);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_index i = 0; i < n; i++)
      p.magnitude[(tsi_count)j * n + i] = exp(-400.0 * (i + 1) * (j + 1) / ((double)n * n));
  return p;
}

static void test_too_much_work(tsi_env *env) {
  const tsi_index n = 700;
  bool noted = false;
  problem p = slow_problem(n);
  env->log = note_line;
  env->log_arg = &noted;
  match(env, &p);
  env->log = NULL;
  CHECK(noted && p.rank == n);
  check_invariants("too much work", &p, 1);
  end(&p);
}

static int cancel(void *arg, const tristar_analysis_point *point) {
  (void)point;
  return ++*(int *)arg;
}

/* A search can be cancelled. */
static void test_cancelled(tsi_env *env) {
  const tsi_index n = 700;
  int calls = 0;
  problem p = slow_problem(n);
  tsi_watch watch = tsi_watch_begin(cancel, &calls);
  CHECK_STATUS(tsi_matching(env, n, p.a.ptr, p.a.index, p.magnitude, p.row_of, p.r, p.c, &p.rank, &watch),
               TRISTAR_ERR_CANCELLED);
  CHECK(calls == 1);
  end(&p);
}

/* ---- Structural rank ---- */

static tsi_index rank_of(tsi_env *env, pattern a) {
  tsi_index rank = -7;
  CHECK_OK(tsi_structural_rank(env, a.n, a.ptr, a.index, &rank, NULL));
  pattern_free(&a);
  return rank;
}

/* Columns first .. n-1 have entries only in the first `rows` rows; the others are dense. */
static pattern deficient(tsi_index n, tsi_index first, tsi_index rows) {
  pattern a = pattern_begin(n);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_index i = 0; i < (j < first ? n : rows); i++) pattern_add(&a, i, j);
  pattern_finish(&a);
  return a;
}

/* All greedy choices are wrong: one augmenting path leads through all n columns. */
static pattern staircase(tsi_index n) {
  pattern a = pattern_begin(n);
  for (tsi_index j = 0; j < n; j++) {
    if (j + 1 < n) pattern_add(&a, j + 1, j);
    pattern_add(&a, j, j);
  }
  for (tsi_index j = 0; j < n; j++) pattern_add(&a, 1, n - 1);
  pattern_finish(&a);
  return a;
}

static void test_ranks(tsi_env *env) {
  CHECK(rank_of(env, pattern_empty(0)) == 0);
  CHECK(rank_of(env, pattern_empty(5)) == 0);
  CHECK(rank_of(env, pattern_diagonal(1)) == 1);
  CHECK(rank_of(env, pattern_diagonal(9)) == 9);
  CHECK(rank_of(env, pattern_dense(20)) == 20);
  CHECK(rank_of(env, pattern_arrow(50, 1)) == 2); /* only the first row and the first column */
  CHECK(rank_of(env, pattern_chain(51)) == 50);   /* no diagonal, odd: one end remains unmatched */
  CHECK(rank_of(env, pattern_chain(50)) == 50);
  CHECK(rank_of(env, deficient(40, 10, 17)) == 10 + 17);
  CHECK(rank_of(env, deficient(40, 0, 1)) == 1);
  CHECK(rank_of(env, staircase(20000)) == 20000);
}

static void test_edge_cases(tsi_env *env) {
  uint64_t seed = 1;
  problem p = begin(pattern_empty(0), 0, 0, &seed);
  match(env, &p);
  CHECK(p.rank == 0);
  end(&p);

  p = begin(pattern_dense(6), 2, 100, &seed); /* only explicit zeros */
  match(env, &p);
  CHECK(p.rank == 0);
  check_invariants("zeros", &p, 1e-11);
  end(&p);

  p = begin(pattern_dense(6), 2, 0, &seed); /* one zero column */
  for (int q = 0; q < 6; q++) p.magnitude[6 * 2 + q] = 0;
  match(env, &p);
  CHECK(p.rank == 5 && p.row_of[2] == TSI_NONE);
  check_invariants("zero column", &p, 1e-11);
  end(&p);
}

int test_matching(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  RUN(test_small(&env));
  RUN(test_random(&env));
  RUN(test_extremes(&env));
  RUN(test_overflow(&env));
  RUN(test_too_much_work(&env));
  RUN(test_cancelled(&env));
  RUN(test_ranks(&env));
  RUN(test_edge_cases(&env));
  CHECK(env.memory.current == 0);
  return 0;
}
