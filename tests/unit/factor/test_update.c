/* Changes of few entries: factors, statistics and solutions have the bits of a factorization of all fronts with
 * the same values, and failures are those that it has. */
#include "tests/support/context.h"
#include "tests/support/factor_bits.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_update.h"

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};

/* A factor that is updated, and one that is factored anew. */
typedef struct pair {
  const typed *t;
  tristar_matrix_t *matrix;
  tristar_view view;
  char *values;
  tristar_analysis_t *analysis;
  tristar_factor_t *updated, *anew;
  tristar_plan_t *plan[2];
  uint64_t state;
  int few; /* updates that left out fronts */
} pair;

static void free_pair(pair *p) {
  for (int k = 0; k < 2; k++) tristar_plan_destroy(&p->plan[k]);
  tristar_factor_destroy(&p->updated);
  tristar_factor_destroy(&p->anew);
  tristar_analysis_destroy(&p->analysis);
  tristar_matrix_destroy(&p->matrix);
  free(p->values);
}

static void make_pair(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_symmetry symmetry,
                      tristar_method method, tristar_matching matching, pair *p) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  *p = (pair){.t = t, .state = 17};
  p->values = typed_matrix(ts, kind, k, t, symmetry, &p->matrix, &p->view);
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

/* Multiplies an entry; a diagonal one of a Hermitian matrix stays real. */
static void change_entry(pair *p, int64_t at, double by) {
  put(p->t, p->values, at, by * get(p->t, p->values, at));
}

/* All stored entries of a line; `kind`: what becomes of them. */
static void change_line(pair *p, int64_t line, int kind) {
  const int64_t *ptr = p->view.ptr;
  const int32_t *index = p->view.index;
  for (int64_t q = ptr[line]; q < ptr[line + 1]; q++) {
    const double r = (double)(next_random(&p->state) % 1000) / 1000;
    const bool diagonal = index[q] == line;
    if (kind == 0) change_entry(p, q, diagonal ? 1 + r : 1 - 0.3 * r);
    if (kind == 1) change_entry(p, q, diagonal ? 1e3 : 1); /* a penalty, and another threshold of pivots */
    if (kind == 2) change_entry(p, q, 0.25); /* other scalings */
    if (kind == 3) change_entry(p, q, diagonal ? 1 : 0);
  }
}

static void compare_stats(const pair *p) {
  tristar_factor_stats a, b;
  CHECK_OK(tristar_factor_get_stats(p->updated, &a));
  CHECK_OK(tristar_factor_get_stats(p->anew, &b));
  CHECK(a.perturbed_pivots == b.perturbed_pivots && a.judged == b.judged && a.singular == b.singular);
  CHECK_MSG(a.smallest_pivot == b.smallest_pivot && a.largest_pivot == b.largest_pivot && a.growth == b.growth,
            "pivots %g .. %g, not %g .. %g; growth %g, not %g", a.smallest_pivot, a.largest_pivot,
            b.smallest_pivot, b.largest_pivot, a.growth, b.growth);
  CHECK_MSG(a.solve_error == b.solve_error && a.reciprocal_condition == b.reciprocal_condition,
            "solve_error %g, not %g", a.solve_error, b.solve_error);
  CHECK(p->updated->inherited_error == p->anew->inherited_error);
  CHECK(p->updated->inverse_growth == p->anew->inverse_growth);
  CHECK(p->updated->weakest_pivot == p->anew->weakest_pivot && p->updated->weakest_row == p->anew->weakest_row);
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

/* Both factors take the values; entries: those that have changed are listed, twice. */
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

static void change_at_random(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_symmetry symmetry,
                             tristar_method method, tristar_matching matching) {
  CLEANUP(free_pair) pair p;
  make_pair(ts, t, kind, k, symmetry, method, matching, &p);
  const size_t bytes = (size_t)entries_of(&p) * t->bytes;
  OWNED char *before = xmalloc(bytes);
  for (int round = 0; round < 24; round++) {
    memcpy(before, p.values, bytes);
    const int lines = round % 8 == 7 ? 20 : (int)(next_random(&p.state) % 3);
    for (int line = 0; line < lines; line++)
      change_line(&p, (int64_t)(next_random(&p.state) % (uint64_t)p.view.cols), round % 5 == 4 ? 0 : round % 4);
    take_values(&p, before, tristar_factor_get_analysis(p.updated) != NULL && p.updated->valid && round % 3 == 1);
  }
  CHECK_MSG(p.few > 3, "%d of 24 changes left out fronts", p.few);
}

static void change_all_kinds(tristar_t *ts, const typed *t) {
  change_at_random(ts, t, "s2d9pt", 24, TRISTAR_HERMITIAN, TRISTAR_METHOD_LLT, TRISTAR_MATCHING_AUTO);
  change_at_random(ts, t, "s2d9pt", 24, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "kkt3d", 5, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "kkt3d", 5, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_ON);
  change_at_random(ts, t, "poisson3d7", 9, TRISTAR_HERMITIAN, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "convdiff3d", 8, TRISTAR_GENERAL, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF);
  change_at_random(ts, t, "circuit", 700, TRISTAR_GENERAL, TRISTAR_METHOD_LU, TRISTAR_MATCHING_ON);
  change_at_random(ts, t, "circuit", 700, TRISTAR_GENERAL, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int k = 0; k < 4; k++) RUN(change_all_kinds(ts, types[k]));
  return 0;
}
