/* Plans with subtrees of imported factors on emulated devices: L and U of unrelated structures, which have
 * tables and borders of their own, and L of a symmetric matrix with entries missing. They solve as the serial
 * executor does, with A, its transposes, and each factor alone, one and several right-hand sides, each scalar
 * type; with the same bits in every run, several at a time, and with new values. What has no room stays with
 * the cores. */
#include "runtime/solve/device_subtrees.h"
#include "tests/support/given_factors.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { SOLVES = 2 };

static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                     &typed_complex_single};

/* Converts the values of a view to its type. The new array replaces the array of doubles. */
static void *narrow(const typed *t, void *values, int64_t count) {
  const typed *wide = t->is_complex ? &typed_complex_double : &typed_double;
  void *narrowed = xcalloc((size_t)count + 1, t->bytes);
  for (int64_t i = 0; i < count; i++) put(t, narrowed, i, get(wide, values, i));
  free(values);
  return narrowed;
}

static void view_of(const dense *m, const typed *t, int format, given_view *v) {
  make_view(m, format, false, v);
  v->lower.values = narrow(t, v->lower.values, v->lower.ptr[m->n]);
  v->factors.lower.values = v->lower.values;
  if (m->method == TRISTAR_METHOD_LU) v->upper.values = narrow(t, v->upper.values, v->upper.ptr[m->n]);
  if (m->method == TRISTAR_METHOD_LU) v->factors.upper.values = v->upper.values;
  v->diagonal = narrow(t, v->diagonal, m->n);
  v->factors.diagonal = v->diagonal;
  v->factors.scalar = t->scalar;
}

typedef struct placed_system {
  const typed *t;
  int64_t n;
  tristar_factor_t *factor;
  tristar_plan_t *serial, *placed;
} placed_system;

static void *random_vectors(const typed *t, int64_t count) {
  void *b = xcalloc((size_t)count + 1, t->bytes);
  for (int64_t i = 0; i < count; i++) {
    number x = uniform();
    if (t->is_complex) __imag__ x = uniform();
    put(t, b, i, x);
  }
  return b;
}

static double difference(const typed *t, int64_t count, const void *a, const void *b) {
  double worst = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    worst = larger_error(worst, cabs(get(t, a, i) - get(t, b, i)));
    size = larger_error(size, cabs(get(t, a, i)));
  }
  return worst / (1 + size);
}

static void check_solve(const placed_system *s, tristar_op op, tristar_part part, int64_t nrhs) {
  const size_t bytes = (size_t)(s->n * nrhs) * s->t->bytes;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  tristar_request_t *request[SOLVES];
  void *b = random_vectors(s->t, s->n * nrhs), *expected = xcalloc(bytes, 1), *x[SOLVES];
  options.op = op;
  options.part = part;
  CHECK_OK(tristar_solve_with(s->serial, &options, nrhs, b, expected, NULL));
  for (int k = 0; k < SOLVES; k++) {
    x[k] = xcalloc(bytes, 1);
    CHECK_OK(tristar_solve_start(s->placed, &options, nrhs, b, x[k], &request[k]));
  }
  for (int k = 0; k < SOLVES; k++) CHECK_OK(tristar_wait(&request[k], NULL));
  const double differs = difference(s->t, s->n * nrhs, expected, x[0]);
  CHECK_MSG(differs <= (s->t->is_single ? 1e-4 : 1e-12), "scalar %d, op %d, part %d, %d right-hand sides: %g",
            (int)s->t->scalar, (int)op, (int)part, (int)nrhs, differs);
  for (int k = 1; k < SOLVES; k++) CHECK(memcmp(x[0], x[k], bytes) == 0);
  for (int k = 0; k < SOLVES; k++) free(x[k]);
  free(expected);
  free(b);
}

static void check_table(const placed_system *s) {
  static const tristar_op op[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const tristar_part part[] = {TRISTAR_PART_ALL, TRISTAR_PART_L, TRISTAR_PART_U};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      check_solve(s, op[i], part[j], 1);
      check_solve(s, op[i], part[j], 5);
    }
}

/* Checks that devices report their subtrees and stay within their memory. Returns the number of subtrees. */
static int64_t check_figures(const tristar_plan_t *plan, double room) {
  tristar_device_stats d;
  tristar_subtree_stats s;
  int64_t count = 0;
  double factor = 0;
  for (; tristar_plan_get_subtree(plan, count, &s); count++) {
    CHECK(s.columns > 0 && s.table_bytes > 0 && s.predicted_seconds > 0);
    factor += s.factor_bytes;
  }
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++) {
    CHECK(d.factor_bytes + d.table_bytes + d.workspace_bytes <= room);
    factor -= d.factor_bytes;
  }
  CHECK(factor == 0);
  return count;
}

static void check_import(tristar_t *ts, int n, const typed *t, tristar_method method, bool hermitian) {
  const int format = t->is_complex;
  CLEANUP(release) dense m = draw(n, t->is_complex, method, hermitian);
  placed_system s = {.t = t, .n = n};
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_device_stats d;
  double all = 0;
  CLEANUP(release_view) given_view v;
  view_of(&m, t, format, &v);
  CHECK_OK(tristar_import_supernodal(ts, &v.factors, &s.factor));
  options.chunk_bytes_max = 1500;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(s.factor, &options, &s.serial));
  options.engine = TRISTAR_ENGINE_TASKS;
  options.place = TRISTAR_PLACE_GPU;
  tristar_plan_t *plan = NEW_PLAN(s.factor, &options);
  CHECK(check_figures(plan, INFINITY) > 0);
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++)
    all += d.factor_bytes + d.table_bytes + d.workspace_bytes;
  tristar_plan_destroy(&plan);
  options.device_bytes = (int64_t)(0.4 * all);
  CHECK_OK(tristar_plan(s.factor, &options, &s.placed));
  CHECK(check_figures(s.placed, (double)options.device_bytes) > 0);
  CHECK(s.placed->subtrees->sides == (method == TRISTAR_METHOD_LU ? 2 : 1));
  check_table(&s);
  for (int k = 0; k < n * n; k++) { /* the same structure, other values */
    m.l[k] *= k / n == k % n ? 1 : 0.5;
    m.u[k] *= 0.5;
  }
  release_view(&v);
  view_of(&m, t, format, &v);
  CHECK_OK(tristar_reimport(s.factor, &v.factors));
  check_solve(&s, TRISTAR_N, TRISTAR_PART_ALL, 1);
  check_solve(&s, TRISTAR_C, TRISTAR_PART_ALL, 5);
  tristar_plan_destroy(&s.placed);
  tristar_plan_destroy(&s.serial);
  tristar_factor_destroy(&s.factor);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts;
  tristar_config config = DEFAULTS(tristar_config);
  config.calibration = "off";
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  for (int k = 0; k < (TSI_TESTS_RACES ? 1 : 4); k++) /* the thread sanitizer is slow */
    RUN(check_import(ts, 70, types[k], TRISTAR_METHOD_LU, false));
  RUN(check_import(ts, 60, types[0], TRISTAR_METHOD_LLT, false));
  RUN(check_import(ts, 60, types[1], TRISTAR_METHOD_LDLT, true));
  return 0;
}
