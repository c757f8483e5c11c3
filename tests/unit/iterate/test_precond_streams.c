/* The first applications of a preconditioner make the streams of its triangular factors:
 *
 *   together     threads that begin at the same time get the same bits, also after updates
 *   failures     an allocation that fails gives MEMORY, and the next application succeeds
 *   memory       the memory of the first applications is counted, and later ones allocate nothing
 *   rows         applications by rows have the bits of applications with plans, before and after these are
 *   made */
#include <pthread.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/preconds.h"
#include "tests/support/subtests.h"

enum { N = 40, CALLERS = 4, UPDATES = 10 };

static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_ILU, TRISTAR_PRECOND_IC, TRISTAR_PRECOND_SSOR,
                                             TRISTAR_PRECOND_ILUT};

static tristar_precond_options options_of(tristar_precond_kind kind, tristar_partition partition) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = kind;
  options.partition = partition;
  return options;
}

typedef struct caller {
  tristar_precond_t *p;
  pthread_barrier_t *begin;
  tristar_op op;
  const double *b;
  double x[N];
} caller;

static void *call(void *arg) {
  caller *c = arg;
  (void)pthread_barrier_wait(c->begin);
  CHECK_OK(tristar_precond_apply(c->p, c->op, 1, c->b, N, c->x, N));
  return NULL;
}

/* x: the result of a single thread. */
static void apply_together(tristar_precond_t *p, const double *b, double x[2][N]) {
  static caller callers[CALLERS];
  pthread_t thread[CALLERS];
  pthread_barrier_t begin;
  CHECK(pthread_barrier_init(&begin, NULL, CALLERS) == 0);
  for (int k = 0; k < CALLERS; k++) {
    callers[k] = (caller){.p = p, .begin = &begin, .op = k % 2 ? TRISTAR_T : TRISTAR_N, .b = b};
    CHECK(pthread_create(&thread[k], NULL, call, &callers[k]) == 0);
  }
  for (int k = 0; k < CALLERS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
  for (int k = 0; k < CALLERS; k++) CHECK(memcmp(callers[k].x, x[k % 2], sizeof x[0]) == 0);
  CHECK(pthread_barrier_destroy(&begin) == 0);
}

static void check_together(tristar_precond_kind kind, tristar_partition partition) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const square s = square_random(&typed_double, N, 4, TRISTAR_SYMMETRIC, 1.2, 7);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  const tristar_precond_options options = options_of(kind, partition);
  tristar_precond_t *p, *alone;
  double b[N], x[2][N];
  fill_random(b, N, 3);
  CHECK_OK(tristar_precond(ts, &view, &options, &alone));
  CHECK_OK(tristar_precond_apply(alone, TRISTAR_N, 1, b, N, x[0], N));
  CHECK_OK(tristar_precond_apply(alone, TRISTAR_T, 1, b, N, x[1], N));
  tristar_precond_destroy(&alone);
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  for (int update = 0; update < UPDATES; update++) {
    apply_together(p, b, x);
    CHECK_OK(tristar_precond_update(p, &view));
  }
  tristar_precond_destroy(&p);
}

/* With two columns: after a failure for one column, the next attempt succeeds. */
static void check_failures(tristar_precond_kind kind) {
  enum { COLUMNS = 2 };
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const square s = square_random(&typed_double, N, 4, TRISTAR_SYMMETRIC, 1.2, 7);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  tristar_precond_options options = options_of(kind, TRISTAR_PARTITION_AUTO);
  tristar_precond_t *p, *other;
  tristar_memory_stats memory;
  double b[COLUMNS * N], x[COLUMNS * N], right[COLUMNS * N];
  options.nrhs = COLUMNS;
  fill_random(b, COLUMNS * N, 3);
  CHECK_OK(tristar_precond(ts, &view, &options, &other));
  CHECK_OK(tristar_precond_apply(other, TRISTAR_N, COLUMNS, b, N, right, N));
  tristar_precond_destroy(&other);
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  const size_t before = bytes_held(ts);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* streams of the first sweep remain if the second one fails */
  while (next_failure(&failing))
    end_failure(&failing, tristar_precond_apply(p, TRISTAR_N, COLUMNS, b, N, x, N));
  CHECK(failing.count > 6);
  CHECK(memcmp(x, right, sizeof x) == 0 && bytes_held(ts) > before);
  CHECK_OK(tristar_get_memory(ts, &memory));
  const int64_t allocations = memory.allocations;
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, COLUMNS, b, N, x, N));
  CHECK_OK(tristar_get_memory(ts, &memory));
  CHECK(memory.allocations == allocations);
  tristar_precond_destroy(&p);
}

/* An application by rows creates no plan. One with op T or C of an unsymmetric M, or a late one, creates
 * plans. */
static void check_rows(const typed *t, tristar_precond_kind kind) {
  enum { APPLICATIONS = 40 };
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const tristar_symmetry symmetry = t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  const square s = square_random(t, N, 12, symmetry, 1.2, 7);
  for (int stored = 0; stored < STORAGES; stored++)
    for (int level = 0; level < (kind == TRISTAR_PRECOND_ILUT ? 1 : 2); level++) {
      CLEANUP(free_stored) tristar_view view = store(&s, &storages[stored]);
      tristar_precond_options options = options_of(kind, TRISTAR_PARTITION_WHOLE);
      tristar_precond_t *planned, *p;
      tristar_precond_stats stats, expected;
      double b[2 * N], x[2 * N], right[2 * N];
      options.level = level;
      fill_random(b, 2 * N, 3);
      CHECK_OK(tristar_precond(ts, &view, &options, &planned));
      options.partition = TRISTAR_PARTITION_AUTO;
      CHECK_OK(tristar_precond(ts, &view, &options, &p));
      CHECK_OK(tristar_precond_apply(planned, TRISTAR_N, 1, b, N, right, N));
      CHECK_OK(tristar_precond_get_stats(planned, &expected));
      CHECK_OK(tristar_precond_get_stats(p, &stats));
      CHECK(stats.partition[0] == TRISTAR_PARTITION_AUTO && stats.partition[1] == TRISTAR_PARTITION_AUTO);
      CHECK(stats.levels_lower == expected.levels_lower && stats.levels_upper == expected.levels_upper);
      CHECK(stats.nnz_lower == expected.nnz_lower && stats.nnz_upper == expected.nnz_upper);
      for (int update = 0; update < 2; update++) {
        for (int k = 0; k < APPLICATIONS; k++) {
          memcpy(x, b, sizeof x); /* in place */
          CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N));
          CHECK(memcmp(x, right, N * sizeof(double) * (t->is_complex ? 2 : 1)) == 0);
        }
        CHECK_OK(tristar_precond_get_stats(p, &stats));
        CHECK(stats.partition[0] != TRISTAR_PARTITION_AUTO && stats.partition[1] != TRISTAR_PARTITION_AUTO);
        CHECK_OK(tristar_precond_update(p, &view));
      }
      tristar_precond_destroy(&planned);
      tristar_precond_destroy(&p);
    }
}

/* If there is no memory for plans, applications continue to use the factors. */
static void check_late_plans(tristar_precond_kind kind) {
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  const square s = square_random(&typed_double, N, 4, TRISTAR_SYMMETRIC, 1.2, 7);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  const tristar_precond_options options = options_of(kind, TRISTAR_PARTITION_AUTO);
  double b[2 * N], x[2 * N], right[2 * N];
  fill_random(b, 2 * N, 3);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, N, right, N));
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* streams are kept */
  while (next_failure(&failing)) {
    end_failure(&failing, tristar_precond_apply(p, TRISTAR_N, 2, b, N, x, N));
    CHECK_OK(tristar_fail_allocation(ts, 0));
    if (failing.count == 1) {
      CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, N, x, N));
      CHECK(memcmp(x, right, N * sizeof *x) == 0);
    }
  }
  CHECK(failing.count > 20);
  CHECK_OK(
      tristar_precond_apply(p, TRISTAR_N, 1, b, N, x, N)); /* for several columns sums have another order */
  CHECK(memcmp(x, right, N * sizeof *x) == 0);
}

int test_precond_streams(int argc, char **argv) {
  subtests_begin(&argc, argv);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    RUN(check_together(kinds[k], TRISTAR_PARTITION_AUTO));
    RUN(check_together(kinds[k], TRISTAR_PARTITION_LEVELS));
    RUN(check_failures(kinds[k]));
    if (kinds[k] == TRISTAR_PRECOND_SSOR) continue; /* creates plans at once */
    RUN(check_rows(&typed_double, kinds[k]));
    RUN(check_rows(&typed_complex_double, kinds[k]));
    RUN(check_late_plans(kinds[k]));
  }
  return 0;
}
