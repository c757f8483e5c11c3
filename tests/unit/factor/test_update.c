/* Changes of few entries: factors, statistics and solutions have the bits of a factorization of all fronts
 * with the same values, and it fails in the same cases. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/factor_bits.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_schur.h"
#include "tristar_update.h"

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};

/* Two factors of the same values: one is updated, the other one refactored. */
typedef struct pair {
  const typed *t;
  tristar_matrix_t *matrix;
  tristar_view view;
  char *values;
  tristar_analysis_t *analysis;
  tristar_factor_t *updated, *anew;
  tristar_plan_t *plan[2];
  uint64_t state;
  int few; /* number of updates that did not factor all fronts */
} pair;

static void free_pair(pair *p) {
  for (int k = 0; k < 2; k++) tristar_plan_destroy(&p->plan[k]);
  tristar_factor_destroy(&p->updated);
  tristar_factor_destroy(&p->anew);
  tristar_analysis_destroy(&p->analysis);
  tristar_matrix_destroy(&p->matrix);
  free(p->values);
}

/* format: format of the generated matrix; by rows it is the transpose. */
static void make_pair(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_format format,
                      tristar_symmetry symmetry, tristar_method method, tristar_matching matching, pair *p) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  *p = (pair){.t = t, .state = 17};
  p->values = typed_matrix(ts, kind, k, t, symmetry, &p->matrix, &p->view);
  p->view.format = format;
  options.method = method;
  options.matching = matching;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &p->view, &options, &p->analysis));
  CHECK_OK(tristar_factor(p->analysis, p->values, &p->updated));
  CHECK_OK(tristar_factor(p->analysis, p->values, &p->anew));
  CHECK_OK(tristar_plan(p->updated, NULL, &p->plan[0]));
  CHECK_OK(tristar_plan(p->anew, NULL, &p->plan[1]));
}

static int64_t entries_of(const pair *p) {
  return ((const int64_t *)p->view.ptr)[p->view.cols];
}

/* Multiplies an entry. A diagonal entry of a Hermitian matrix stays real. */
static void change_entry(pair *p, int64_t at, double by) {
  put(p->t, p->values, at, by * get(p->t, p->values, at));
}

/* Changes all stored entries of a line; `kind`: how. */
static void change_line(pair *p, int64_t line, int kind) {
  const int64_t *ptr = p->view.ptr;
  const int32_t *index = p->view.index;
  for (int64_t q = ptr[line]; q < ptr[line + 1]; q++) {
    const double r = (double)(next_random(&p->state) % 1000) / 1000;
    const bool diagonal = index[q] == line;
    if (kind == 0) change_entry(p, q, diagonal ? 1 + r : 1 - 0.3 * r);
    if (kind == 1)
      change_entry(p, q, diagonal ? 1e3 : 1); /* a penalty, which changes the threshold of pivots */
    if (kind == 2) change_entry(p, q, 0.25);  /* changes the scaling */
    if (kind == 3) change_entry(p, q, diagonal ? 1 : 0);
  }
}

static void compare_stats(const pair *p) {
  tristar_factor_stats a, b;
  CHECK_OK(tristar_factor_get_stats(p->updated, &a));
  CHECK_OK(tristar_factor_get_stats(p->anew, &b));
  CHECK(a.perturbed_pivots == b.perturbed_pivots && a.judged == b.judged && a.singular == b.singular);
  CHECK_MSG(a.smallest_pivot == b.smallest_pivot && a.largest_pivot == b.largest_pivot &&
                a.growth == b.growth,
            "pivots %g .. %g, not %g .. %g; growth %g, not %g", a.smallest_pivot, a.largest_pivot,
            b.smallest_pivot, b.largest_pivot, a.growth, b.growth);
  CHECK_MSG(a.solve_error == b.solve_error && a.reciprocal_condition == b.reciprocal_condition,
            "solve_error %g, not %g", a.solve_error, b.solve_error);
  CHECK(p->updated->inherited_error == p->anew->inherited_error);
  CHECK(p->updated->inverse_growth == p->anew->inverse_growth);
  CHECK(p->updated->weakest_pivot == p->anew->weakest_pivot &&
        p->updated->weakest_row == p->anew->weakest_row);
}

static void compare_bits(const pair *p) {
  size_t size[2];
  OWNED char *a = bits_of(p->updated, &size[0]), *b = bits_of(p->anew, &size[1]);
  CHECK(size[0] == size[1] && memcmp(a, b, size[0]) == 0);
}

static void compare_solutions(const pair *p) {
  const int64_t n = p->view.rows;
  const size_t bytes = (size_t)n * p->t->bytes;
  OWNED char *b = xmalloc(bytes), *x = xmalloc(2 * bytes);
  for (int64_t i = 0; i < n; i++) put(p->t, b, i, random_value((uint64_t)i + 3));
  for (int op = 0; op < 2; op++) {
    for (int k = 0; k < 2; k++)
      CHECK_OK(tristar_solve(p->plan[k], op ? TRISTAR_T : TRISTAR_N, 1, b, n, x + (size_t)k * bytes, n));
    CHECK(memcmp(x, x + bytes, bytes) == 0);
  }
}

/* Sets the new values in both factors. entries: as a list of the changed entries, each twice. */
static void take_values(pair *p, const char *before, bool entries) {
  const int64_t count = entries_of(p);
  const size_t bytes = p->t->bytes;
  tristar_update_result result = {.entries = -1};
  tristar_status status;
  int64_t changed = 0;
  OWNED int64_t *entry = xmalloc(2 * (size_t)count * sizeof *entry);
  OWNED char *values = xmalloc(2 * (size_t)count * bytes);
  for (int64_t q = 0; q < count; q++)
    if (memcmp(before + (size_t)q * bytes, p->values + (size_t)q * bytes, bytes) != 0) entry[changed++] = q;
  for (int64_t k = 0; k < changed; k++) {
    entry[changed + k] = entry[k];
    put(p->t, values, k, 1);
    memcpy(values + (size_t)(changed + k) * bytes, p->values + (size_t)entry[k] * bytes, bytes);
  }
  if (entries)
    status = tristar_update_entries(p->updated, 2 * changed, entry, values, &result);
  else
    status = tristar_update_values(p->updated, p->values, &result);
  const tristar_status wanted = tristar_refactor(p->anew, p->values);
  CHECK_MSG(status == wanted, "%s, not %s", tristar_status_name(status), tristar_status_name(wanted));
  if (status != TRISTAR_OK) return;
  if (!entries) CHECK(result.entries == changed);
  CHECK((result.entries == 0) == (result.fronts == 0) && result.fronts <= result.all_fronts);
  CHECK(result.whole == 0 || result.fronts == result.all_fronts);
  p->few += result.fronts > 0 && result.fronts < result.all_fronts / 2;
  compare_stats(p);
  compare_bits(p);
  compare_solutions(p);
}

static void change_at_random(tristar_t *ts, const typed *t, const char *kind, int64_t k,
                             tristar_format format, tristar_symmetry symmetry, tristar_method method,
                             tristar_matching matching) {
  CLEANUP(free_pair) pair p;
  make_pair(ts, t, kind, k, format, symmetry, method, matching, &p);
  const size_t bytes = (size_t)entries_of(&p) * t->bytes;
  OWNED char *before = xmalloc(bytes);
  const int rounds = TSI_TESTS_SANITIZED ? 12 : 24; /* 12 rounds contain each kind of change */
  for (int round = 0; round < rounds; round++) {
    memcpy(before, p.values, bytes);
    const int lines = round % 8 == 7 ? 20 : (int)(next_random(&p.state) % 3);
    for (int line = 0; line < lines; line++)
      change_line(&p, (int64_t)(next_random(&p.state) % (uint64_t)p.view.cols),
                  round % 5 == 4 ? 0 : round % 4);
    take_values(&p, before,
                tristar_factor_get_analysis(p.updated) != NULL && p.updated->valid && round % 3 == 1);
  }
  CHECK_MSG(8 * p.few > rounds, "%d of %d changes left out fronts", p.few, rounds);
}

static void change_all_kinds(tristar_t *ts, const typed *t, tristar_format format) {
  const tristar_matching off = TRISTAR_MATCHING_OFF, on = TRISTAR_MATCHING_ON;
  change_at_random(ts, t, "s2d9pt", 24, format, TRISTAR_HERMITIAN, TRISTAR_METHOD_LLT, off);
  change_at_random(ts, t, "s2d9pt", 24, format, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, off);
  change_at_random(ts, t, "kkt3d", 5, format, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, off);
  change_at_random(ts, t, "kkt3d", 5, format, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, on);
  change_at_random(ts, t, "poisson3d7", 9, format, TRISTAR_HERMITIAN, TRISTAR_METHOD_LU, off);
  change_at_random(ts, t, "convdiff3d", 8, format, TRISTAR_GENERAL, TRISTAR_METHOD_LU, off);
  change_at_random(ts, t, "circuit", 700, format, TRISTAR_GENERAL, TRISTAR_METHOD_LU, on);
  change_at_random(ts, t, "circuit", 700, format, TRISTAR_GENERAL, TRISTAR_METHOD_LU, off);
}

/* Changes in fronts with tiles, on StarPU. */
static void change_tiles(tristar_t *ts, const typed *t) {
  ts->fronts.tile = 16;
  ts->fronts.tiled_flops = 2000;
  ts->fronts.task_work = 500;
  change_at_random(ts, t, "s2d9pt", 24, TRISTAR_CSC, TRISTAR_HERMITIAN, TRISTAR_METHOD_LLT,
                   TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "kkt3d", 5, TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT,
                   TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "convdiff3d", 8, TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_METHOD_LU,
                   TRISTAR_MATCHING_OFF);
}

/* An update also changes the Schur complement, which is in its own front. */
static void change_with_schur(tristar_t *ts, tristar_method method) {
  static const int64_t schur[] = {40, 3, 77};
  CLEANUP(free_pair) pair p = {.t = &typed_double, .state = 3};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double a[9], b[9];
  p.values = typed_matrix(ts, "s2d9pt", 12, p.t, TRISTAR_SYMMETRIC, &p.matrix, &p.view);
  options.method = method;
  options.schur = schur;
  options.schur_count = 3;
  CHECK_OK(tristar_analyze(ts, &p.view, &options, &p.analysis));
  CHECK_OK(tristar_factor(p.analysis, p.values, &p.updated));
  CHECK_OK(tristar_factor(p.analysis, p.values, &p.anew));
  for (int round = 0; round < 6; round++) {
    change_line(&p, (int64_t)(next_random(&p.state) % (uint64_t)p.view.cols), round % 3);
    CHECK_OK(tristar_update_values(p.updated, p.values, NULL));
    CHECK_OK(tristar_refactor(p.anew, p.values));
    compare_stats(&p);
    compare_bits(&p);
    CHECK_OK(tristar_schur_get(p.updated, a, 3));
    CHECK_OK(tristar_schur_get(p.anew, b, 3));
    CHECK(memcmp(a, b, sizeof a) == 0);
  }
}

/* ---- Errors ------------------------------------------------------------------------------------------- */

/* The change is not on the path to the front of the complement, whose rows have no pivots. */
static void change_beside_schur(tristar_t *ts, tristar_method method, tristar_singular singular) {
  static const int32_t ptr[] = {0, 2, 3, 4}, row[] = {0, 1, 1, 2};
  static const double first[] = {1, -1, 1, 3}, values[] = {1, -1, 1, 4}; /* [1, -1; -1, 1], 4 */
  static const int64_t schur[] = {0};
  pair p = {.t = &typed_double};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  double a, b;
  options.method = method;
  options.singular = singular;
  options.schur = schur;
  options.schur_count = 1;
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, row, first, 32, 32, 0};
  CHECK_OK(tristar_analyze(ts, &view, &options, &p.analysis));
  CHECK_OK(tristar_factor(p.analysis, first, &p.updated));
  CHECK_OK(tristar_factor(p.analysis, first, &p.anew));
  CHECK_OK(tristar_update_begin(p.updated));
  CHECK_OK(tristar_update_values(p.updated, values, NULL));
  CHECK_OK(tristar_refactor(p.anew, values));
  compare_stats(&p);
  CHECK_OK(tristar_schur_get(p.updated, &a, 1));
  CHECK_OK(tristar_schur_get(p.anew, &b, 1));
  CHECK(a == b);
  free_pair(&p);
}

/* Between updates some values are factored a second time, without interchanges. The next update must use
 * the second factors. */
static void change_doubtful(tristar_t *ts) {
  enum { N = 6, ENTRIES = 6, SETS = 6 };
  static const int32_t ptr[] = {0, 0, 1, 3, 3, 4, 6}, row[] = {0, 0, 1, 3, 3, 4};
  static const double values[SETS][ENTRIES] = {
      {-0.62727090230160731, 0.85355172002267699, 0.53576917537996893, 0.37627774120011259,
       0.50405572164066093, 0.066595928987863304},
      {-0.62727090230160742, 0.85355172002267699, 0.53576917537996893, 0.37627774120011259,
       0.50405572164066093, 0.066595928987863304},
      {-0.62727090230160742, 0.85355172002267699, 0.53576917537996893, 0, 5.0405572164066097e-19,
       0.066595928987863304},
      {-0.62727090230160742, -0.70808174464448448, 0.53576917537996893, 0, 5.0405572164066097e-19,
       0.066595928987863304},
      {-1.1045102821619568, -0.70808174464448448, -1.1569372907072859, 0, 5.0405572164066097e-19,
       0.066595928987863304},
      {-1.1045102821619568, -0.70808174464448448, 0, 0, 5.0405572164066097e-19, 0.066595928987863304},
  };
  CLEANUP(free_pair) pair p = {.t = &typed_double};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  const double b[N] = {1, 1, 1, 1, 1, 1};
  double x[2][N];
  options.singular = TRISTAR_SINGULAR_PERTURB;
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_SKEW_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, values[0], 32, 32, 0};
  CHECK_OK(tristar_analyze(ts, &view, &options, &p.analysis));
  CHECK_OK(tristar_factor(p.analysis, values[0], &p.updated));
  CHECK_OK(tristar_factor(p.analysis, values[0], &p.anew));
  CHECK_OK(tristar_plan(p.updated, NULL, &p.plan[0]));
  CHECK_OK(tristar_plan(p.anew, NULL, &p.plan[1]));
  for (int s = 1; s < SETS; s++) {
    CHECK_OK(tristar_update_values(p.updated, values[s], NULL));
    CHECK_OK(tristar_refactor(p.anew, values[s]));
    compare_stats(&p);
    const tristar_status status = tristar_solve(p.plan[0], TRISTAR_N, 1, b, N, x[0], N);
    CHECK_STATUS(tristar_solve(p.plan[1], TRISTAR_N, 1, b, N, x[1], N), status);
    CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);
  }
}

static void make_small(tristar_t *ts, pair *p) {
  make_pair(ts, &typed_double, "s2d9pt", 9, TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LLT,
            TRISTAR_MATCHING_OFF, p);
}

static void expect_message(tristar_t *ts, const char *words) {
  char text[512];
  (void)tristar_get_error(ts, text, sizeof text);
  CHECK_MSG(strstr(text, words) != NULL, "%s", text);
}

/* Arguments that are refused. The factor is unchanged. */
static void refuse_arguments(tristar_t *ts) {
  CLEANUP(free_pair) pair p;
  make_small(ts, &p);
  const double one = 1, nan = NAN;
  int64_t entry = 3;
  for (int begun = 0; begun < 2; begun++) {
    CHECK_STATUS(tristar_update_values(p.updated, NULL, NULL), TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_update_entries(p.updated, -1, &entry, &one, NULL), TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_update_entries(p.updated, 1, NULL, &one, NULL), TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, NULL, NULL), TRISTAR_ERR_ARGUMENT);
    entry = entries_of(&p);
    CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, &one, NULL), TRISTAR_ERR_ARGUMENT);
    expect_message(ts, "entry[0] is ");
    entry = -1;
    CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, &one, NULL), TRISTAR_ERR_ARGUMENT);
    entry = 3;
    CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, &nan, NULL), TRISTAR_ERR_NOT_FINITE);
    expect_message(ts, "row ");
    ((double *)p.values)[5] += INFINITY;
    CHECK_STATUS(tristar_update_values(p.updated, p.values, NULL), TRISTAR_ERR_NOT_FINITE);
    ((double *)p.values)[5] = ((const double *)p.view.values)[5];
    compare_bits(&p);
    compare_solutions(&p);
    CHECK_OK(tristar_update_begin(p.updated));
  }
  CHECK_STATUS(tristar_update_begin(NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_update_values(NULL, &one, NULL), TRISTAR_ERR_ARGUMENT);
  tristar_update_end(NULL);
}

/* After a failure the factor has no values. An update of all values repairs that, also if entries were
 * NaN. */
static void fail_and_recover(tristar_t *ts) {
  CLEANUP(free_pair) pair p;
  make_small(ts, &p);
  const int64_t entry = ((const int64_t *)p.view.ptr)[40], n = p.view.rows;
  const double minus = -1;
  OWNED double *values = xmalloc((size_t)entries_of(&p) * sizeof *values), *x = xcalloc((size_t)n, sizeof *x);
  memcpy(values, p.values, (size_t)entries_of(&p) * sizeof *values);
  CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, &minus, NULL), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  CHECK_STATUS(tristar_solve(p.plan[0], TRISTAR_N, 1, x, n, x, n), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_update_entries(p.updated, 1, &entry, &minus, NULL), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_update_begin(p.updated), TRISTAR_ERR_STALE);
  values[7] = NAN;
  CHECK_STATUS(tristar_refactor(p.updated, values), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_update_values(p.updated, values, NULL), TRISTAR_ERR_NOT_FINITE);
  CHECK_OK(tristar_update_values(p.updated, p.values, NULL));
  compare_bits(&p);
  compare_solutions(&p);
  tristar_update_result result;
  CHECK_OK(tristar_update_values(p.updated, p.values, &result));
  CHECK(result.entries == 0 && result.fronts == 0 && result.kept_bytes > 0);
  tristar_update_end(p.updated);
  compare_solutions(&p);
}

/* With duplicates the factor stores their sum. */
static void refuse_duplicates(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 4, 5};
  static const int32_t index[] = {0, 0, 1, 2, 2};
  double values[] = {1, 2, 3, 1, 4};
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, values);
  const int64_t entry = 1;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_update_result result;
  CHECK_OK(tristar_analyze(ts, &view, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, values, &factor));
  CHECK_STATUS(tristar_update_entries(factor, 1, &entry, values, NULL), TRISTAR_ERR_UNSUPPORTED);
  CHECK_OK(tristar_update_begin(factor));
  values[1] = 5;
  CHECK_OK(tristar_update_values(factor, values, &result));
  CHECK(result.entries == 1 && result.whole == 0);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true;     /* of the first solve */
  while (next_failure(&failing)) { /* unchanged values: the factor is still that of [6 0 0; 0 3 1; 0 1 4] */
    double x[] = {6, 24, 30};
    end_failure(&failing, tristar_update_values(factor, values, &result));
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, 3, x, 3));
    CHECK(fabs(x[0] - 1) < 1e-13 && fabs(x[1] - 6) < 1e-13 && fabs(x[2] - 6) < 1e-13);
  }
  CHECK(failing.count > 0);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
}

static void fail_allocations(tristar_t *ts) {
  CLEANUP(free_pair) pair p;
  make_small(ts, &p);
  int64_t entry = 0;
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true;
  while (next_failure(&failing)) {
    const double value = ((const double *)p.values)[entry] + 1e-3 * (double)failing.at;
    tristar_status status = tristar_update_begin(p.updated);
    if (status == TRISTAR_OK) status = tristar_update_entries(p.updated, 1, &entry, &value, NULL);
    end_failure(&failing, status);
    CHECK_OK(tristar_refactor(p.updated, p.values));
    tristar_update_end(p.updated);
  }
  CHECK(failing.count > 20);
  compare_bits(&p);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int k = 0; k < 4; k++)
    for (int f = 0; f < 2; f++)
      if (argc > 1 || (TSI_TESTS_SANITIZED
                           ? k == 1 + f
                           : k % 2 == f)) /* all types have the same code; with an argument all are tested */
        RUN_ONE_THREAD(change_all_kinds(ts, types[k], f ? TRISTAR_CSR : TRISTAR_CSC));
  RUN_ONE_THREAD(change_with_schur(ts, TRISTAR_METHOD_LLT));
  RUN_ONE_THREAD(change_with_schur(ts, TRISTAR_METHOD_LU));
  RUN_ONE_THREAD(change_beside_schur(ts, TRISTAR_METHOD_LLT, TRISTAR_SINGULAR_REFUSE));
  RUN_ONE_THREAD(change_beside_schur(ts, TRISTAR_METHOD_LLT, TRISTAR_SINGULAR_PERTURB));
  RUN_ONE_THREAD(change_beside_schur(ts, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_REFUSE));
  RUN_ONE_THREAD(change_doubtful(ts));
  RUN_ONE_THREAD(refuse_arguments(ts));
  RUN_ONE_THREAD(fail_and_recover(ts));
  RUN_ONE_THREAD(refuse_duplicates(ts));
  RUN_ONE_THREAD(fail_allocations(ts));
  CLEANUP(close_context) tristar_t *tasks = open_with_starpu(2, true);
  for (int k = 0; k < 4; k += 1 + TSI_TESTS_SANITIZED) RUN(change_tiles(tasks, types[k]));
  return 0;
}
