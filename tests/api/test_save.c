/* Analyses, factors and plans in files and in memory: a loaded object solves with the bits of the saved one,
 * takes new values, and has its statistics. Damaged, truncated, foreign or refused files are errors. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/given_factors.h"
#include "tests/support/saved_bytes.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_solve.h"
#include "tristar_triangle.h"

enum { COLUMNS = 17 };

/* Returns the solutions of op(A) X = B by a plan for N, T and C, plain and refined; the caller frees them. */
static char *solutions(const typed *t, tristar_plan_t *plan, int64_t n) {
  const size_t size = COLUMNS * (size_t)n * t->bytes;
  OWNED void *b = make_rhs(t, n);
  char *x = xcalloc(1, 7 * size);
  for (size_t o = 0; o < TYPED_OPS; o++) {
    CHECK_OK(tristar_solve(plan, typed_ops[o], COLUMNS, b, n, x + 2 * o * size, n));
    CHECK_OK(tristar_solve_refined(plan, typed_ops[o], 1, b, n, x + (2 * o + 1) * size, n, NULL, NULL));
  }
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x + 6 * size, n));
  return x;
}

static void check_same(const typed *t, tristar_plan_t *a, tristar_plan_t *b, int64_t n) {
  OWNED char *x = solutions(t, a, n), *y = solutions(t, b, n);
  CHECK(memcmp(x, y, 7 * COLUMNS * (size_t)n * t->bytes) == 0);
}

/* Compares all statistics except seconds and memory. */
static void check_factor_stats(const tristar_factor_t *a, const tristar_factor_t *b) {
  tristar_factor_stats s, l;
  tristar_analysis_stats sa, la;
  double rows[2][4000], columns[2][4000];
  int64_t orders[4][4000];
  CHECK_OK(tristar_factor_get_stats(a, &s));
  CHECK_OK(tristar_factor_get_stats(b, &l));
  CHECK(s.perturbed_pivots == l.perturbed_pivots && s.smallest_pivot == l.smallest_pivot &&
        s.largest_pivot == l.largest_pivot && s.nnz_factor == l.nnz_factor &&
        s.stored_factor == l.stored_factor && s.factor_bytes == l.factor_bytes && s.growth == l.growth &&
        s.judged == l.judged && s.solve_error == l.solve_error &&
        s.reciprocal_condition == l.reciprocal_condition && s.singular == l.singular);
  tristar_analysis_get_stats(tristar_factor_get_analysis(a), &sa);
  tristar_analysis_get_stats(tristar_factor_get_analysis(b), &la);
  CHECK(sa.n == la.n && sa.nnz == la.nnz && sa.method == la.method && sa.matched == la.matched &&
        sa.nnz_lower == la.nnz_lower && sa.stored_lower == la.stored_lower && sa.flops == la.flops &&
        sa.supernodes == la.supernodes && sa.panels == la.panels && sa.ordering == la.ordering &&
        sa.symmetric_pattern == la.symmetric_pattern && sa.pairs == la.pairs);
  CHECK(sa.n <= 4000);
  CHECK_OK(tristar_factor_get_order(a, orders[0], orders[1], rows[0], columns[0]));
  CHECK_OK(tristar_factor_get_order(b, orders[2], orders[3], rows[1], columns[1]));
  const size_t n = (size_t)sa.n;
  CHECK(memcmp(orders[0], orders[2], n * 8) == 0 && memcmp(orders[1], orders[3], n * 8) == 0 &&
        memcmp(rows[0], rows[1], n * 8) == 0 && memcmp(columns[0], columns[1], n * 8) == 0);
}

/* A factor and a plan with options that files must keep. */
typedef struct system {
  tristar_matrix_t *matrix;
  void *values;
  tristar_view view;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} system_;

static void make_system(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_method method,
                        bool single, system_ *s) {
  tristar_analysis_options options;
  tristar_plan_options cut;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  s->values = typed_matrix(ts, kind, k, t, TRISTAR_HERMITIAN, &s->matrix, &s->view);
  tristar_analysis_options_init(&options);
  options.method = method;
  options.single_factors = single;
  options.singular = TRISTAR_SINGULAR_PERTURB;
  tristar_plan_options_init(&cut);
  cut.chunk_bytes_max = 12345;
  cut.nrhs = 3;
  CHECK_OK(tristar_analyze(ts, &s->view, &options, &an));
  CHECK_OK(tristar_factor(an, s->values, &s->factor));
  CHECK_OK(tristar_plan(s->factor, &cut, &s->plan));
}

static void free_system(system_ *s) {
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

/* New values give both factors the same bits. */
static void check_refactor(const typed *t, const system_ *s, tristar_factor_t *loaded, tristar_plan_t *plan) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->view.cols];
  OWNED void *values = xcalloc((size_t)entries, t->bytes);
  for (int64_t p = 0; p < entries; p++) put(t, values, p, 1.25 * get(t, s->values, p));
  CHECK_OK(tristar_refactor(s->factor, values));
  CHECK_OK(tristar_refactor(loaded, values));
  check_same(t, s->plan, plan, s->view.rows);
}

static void check_round_trip(tristar_t *ts, const typed *t, const char *kind, int64_t k,
                             tristar_method method, bool single, const char *path) {
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  make_system(ts, t, kind, k, method, single, &s);
  const int64_t n = s.view.rows;
  CHECK_OK(tristar_plan_save(s.plan, path));
  CHECK_OK(tristar_plan_write(s.plan, keep_bytes, &bytes));
  for (int from_memory = 0; from_memory < 2; from_memory++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *alone = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    tristar_plan_stats saved, loaded;
    bytes.at = 0;
    CHECK_OK(from_memory ? tristar_plan_read(ts, give_bytes, &bytes, &factor, &plan)
                         : tristar_plan_load(ts, path, &factor, &plan));
    tristar_plan_get_stats(s.plan, &saved);
    tristar_plan_get_stats(plan, &loaded);
    CHECK(saved.chunks == loaded.chunks && saved.slices == loaded.slices &&
          saved.ceiling_bytes == loaded.ceiling_bytes && saved.floor_bytes == loaded.floor_bytes);
    check_factor_stats(s.factor, factor);
    check_same(t, s.plan, plan, n);
    bytes.at = 0; /* the file of a plan also contains the factor and the analysis */
    CHECK_OK(from_memory ? tristar_factor_read(ts, give_bytes, &bytes, &alone)
                         : tristar_factor_load(ts, path, &alone));
    check_factor_stats(s.factor, alone);
    CHECK_OK(tristar_analysis_load(ts, path, &an));
    if (from_memory) check_refactor(t, &s, factor, plan);
  }
}

#define FILE_NAME "test_save.tristar"

static void check_scalars(tristar_t *ts) {
  const typed *types[] = {&typed_single, &typed_double, &typed_complex_single, &typed_complex_double};
  for (int k = 0; k < 4; k++) {
    const typed *t = types[k];
    if (TSI_TESTS_SANITIZED && t->is_single != t->is_complex) continue;
    check_round_trip(ts, t, "s2d9pt", 20, TRISTAR_METHOD_LLT, false, FILE_NAME);
    check_round_trip(ts, t, "kkt3d", 4, TRISTAR_METHOD_LDLT, false, FILE_NAME);
    check_round_trip(ts, t, "circuit", 600, TRISTAR_METHOD_LU, false, FILE_NAME);
    if (!t->is_single) check_round_trip(ts, t, "poisson3d7", 8, TRISTAR_METHOD_LLT, true, FILE_NAME);
  }
  unlink(FILE_NAME);
}

/* A loaded analysis gives the same factor as the saved one. */
static void check_analysis(tristar_t *ts) {
  const typed *t = &typed_double;
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *none = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_plan_options cut;
  make_system(ts, t, "circuit", 500, TRISTAR_METHOD_LU, false, &s);
  tristar_plan_options_init(&cut);
  cut.chunk_bytes_max = 12345;
  CHECK_OK(tristar_analysis_save(tristar_factor_get_analysis(s.factor), FILE_NAME));
  CHECK_OK(tristar_analysis_load(ts, FILE_NAME, &an));
  CHECK_OK(tristar_factor(an, s.values, &factor));
  CHECK_OK(tristar_plan(factor, &cut, &plan));
  check_same(t, s.plan, plan, s.view.rows);
  CHECK_STATUS(tristar_factor_load(ts, FILE_NAME, &none), TRISTAR_ERR_FORMAT);
  unlink(FILE_NAME);
}

/* Imported factors: L and U have different structures, permutations and scalings. */
static void check_imported(tristar_t *ts) {
  const tristar_method methods[] = {TRISTAR_METHOD_LU, TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT};
  for (int k = 0; k < 12; k++) {
    CLEANUP(release) dense m = draw(60 + 3 * k, k % 2, methods[k % 3], methods[k % 3] != TRISTAR_METHOD_LU);
    CLEANUP(release_view) given_view given;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *loaded = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL, *again = NULL;
    int64_t count;
    const int64_t *place;
    tristar_view matrix;
    make_view(&m, k % 3, k % 4 < 2, &given);
    CHECK_OK(tristar_import_supernodal(ts, &given.factors, &factor));
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    CHECK_OK(tristar_plan_save(plan, FILE_NAME));
    CHECK_OK(tristar_plan_load(ts, FILE_NAME, &loaded, &again));
    check_factor_stats(factor, loaded);
    const typed *t = m.is_complex ? &typed_complex_double : &typed_double;
    const size_t size = 3 * (size_t)m.n * t->bytes;
    OWNED void *b = make_rhs(t, m.n);
    OWNED char *x = xcalloc(1, size), *y = xcalloc(1, size);
    for (int o = 0; o < TYPED_OPS; o++) {
      CHECK_OK(tristar_solve(plan, typed_ops[o], 3, b, m.n, x, m.n));
      CHECK_OK(tristar_solve(again, typed_ops[o], 3, b, m.n, y, m.n));
      CHECK(memcmp(x, y, size) == 0);
    }
    CHECK_OK(tristar_reimport(loaded, &given.factors));
    CHECK_OK(tristar_solve(again, TRISTAR_N, 3, b, m.n, x, m.n));
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 3, b, m.n, y, m.n));
    CHECK(memcmp(x, y, size) == 0);
    CHECK_STATUS(tristar_factor_get_matrix(loaded, &matrix),
                 k % 4 < 2 ? TRISTAR_OK : TRISTAR_ERR_UNSUPPORTED);
    CHECK_STATUS(tristar_factor_get_places(loaded, &count, &place),
                 k % 4 < 2 ? TRISTAR_OK : TRISTAR_ERR_UNSUPPORTED);
  }
  unlink(FILE_NAME);
}

/* tristar_factor_get_matrix returns the matrix of which the factor was computed. */
static void check_matrix(tristar_t *ts) {
  const typed *t = &typed_double;
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  tristar_view v;
  make_system(ts, t, "circuit", 300, TRISTAR_METHOD_LU, false, &s);
  CHECK_OK(tristar_factor_get_matrix(s.factor, &v));
  CHECK(v.rows == s.view.rows && v.format == s.view.format && v.symmetry == s.view.symmetry);
  const int64_t n = v.rows;
  OWNED number *x = xcalloc((size_t)n, sizeof *x), *y = xcalloc((size_t)n, sizeof *y),
               *z = xcalloc((size_t)n, sizeof *z);
  OWNED double *size = xcalloc((size_t)n, sizeof *size);
  for (int64_t i = 0; i < n; i++) x[i] = 1 + (double)(i % 7);
  multiply(t, &v, TRISTAR_N, x, y, size);
  multiply(t, &s.view, TRISTAR_N, x, z, size);
  for (int64_t i = 0; i < n; i++) CHECK(magnitude(y[i] - z[i]) <= 1e-12 * size[i]);
}

/* tristar_factor_get_places returns the order of the values that a loaded factor takes: here lines descend,
 * and each entry is there twice. */
static void check_places(tristar_t *ts) {
  const int32_t ptr[] = {0, 4, 8}, index[] = {1, 1, 0, 0, 1, 0, 1, 0};
  const double values[] = {1, 2, 3, 4, 5, 0.5, 6, 0.5}, expected[] = {7, 3, 1, 11};
  const int64_t expected_place[] = {1, 1, 0, 0, 3, 2, 3, 2};
  tristar_view v, matrix;
  tristar_view_init(&v);
  v.rows = v.cols = 2;
  v.ptr = ptr;
  v.index = index;
  v.values = values;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *loaded = NULL;
  CHECK_OK(tristar_analyze(ts, &v, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, values, &factor));
  CHECK_OK(tristar_factor_save(factor, FILE_NAME));
  CHECK_OK(tristar_factor_load(ts, FILE_NAME, &loaded));
  const tristar_factor_t *const both[] = {factor, loaded};
  for (int f = 0; f < 2; f++) {
    int64_t count;
    const int64_t *place;
    CHECK_OK(tristar_factor_get_places(both[f], &count, &place));
    CHECK_OK(tristar_factor_get_matrix(both[f], &matrix));
    CHECK(count == 8 && memcmp(place, expected_place, sizeof expected_place) == 0);
    CHECK(memcmp(matrix.values, expected, sizeof expected) == 0);
    CHECK_STATUS(tristar_factor_get_places(both[f], NULL, &place), TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_factor_get_places(both[f], &count, NULL), TRISTAR_ERR_ARGUMENT);
  }
  unlink(FILE_NAME);
}

/* ---- Errors ---------------------------------------------------------------------------------------------
 */

static void write_file(const void *data, size_t size) {
  FILE *file = fopen(FILE_NAME, "wb");
  CHECK(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void expect_failure(tristar_t *ts, tristar_status expected, const char *word) {
  tristar_factor_t *factor = (tristar_factor_t *)ts;
  tristar_plan_t *plan = (tristar_plan_t *)ts;
  char text[512];
  CHECK_STATUS(tristar_plan_load(ts, FILE_NAME, &factor, &plan), expected);
  CHECK(factor == NULL && plan == NULL);
  tristar_get_error(ts, text, sizeof text);
  CHECK_MSG(strstr(text, word) != NULL && strstr(text, FILE_NAME) != NULL, "%s", text);
}

static saved_bytes save_small(tristar_t *ts) {
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  saved_bytes bytes = {.fail_after = -1};
  make_system(ts, &typed_double, "circuit", 60, TRISTAR_METHOD_LU, false, &s);
  CHECK_OK(tristar_plan_write(s.plan, keep_bytes, &bytes));
  return bytes;
}

/* Each changed byte and each truncation is detected. */
static void check_damage(tristar_t *ts) {
  CLEANUP(free_saved_bytes) saved_bytes bytes = save_small(ts);
  const size_t step = TSI_TESTS_SANITIZED ? 13 : 3;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  for (size_t at = 0; at < bytes.size; at += at < 200 ? 1 : step) {
    bytes.data[at] ^= (unsigned char)(1 << at % 8);
    bytes.at = 0;
    const tristar_status status = tristar_plan_read(ts, give_bytes, &bytes, &factor, &plan);
    CHECK_MSG(status == TRISTAR_ERR_FORMAT || (status == TRISTAR_ERR_UNSUPPORTED && at < 16), "byte %zu: %s",
              at, tristar_status_name(status));
    CHECK(factor == NULL && plan == NULL);
    bytes.data[at] ^= (unsigned char)(1 << at % 8);
  }
  for (size_t length = 0; length < bytes.size; length += length < 200 ? 1 : 101 * step) {
    write_file(bytes.data, length);
    expect_failure(ts, TRISTAR_ERR_FORMAT, length < 56 ? "no saved object" : "damaged");
  }
  unlink(FILE_NAME);
}

/* Three objects in one stream. Each is read exactly to its end, including its last byte. */
static void check_ends(tristar_t *ts) {
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = -1};
  size_t end[3];
  make_system(ts, &typed_double, "s2d9pt", 6, TRISTAR_METHOD_LU, false, &s);
  CHECK_OK(tristar_analysis_write(tristar_factor_get_analysis(s.factor), keep_bytes, &bytes));
  end[0] = bytes.size;
  CHECK_OK(tristar_factor_write(s.factor, keep_bytes, &bytes));
  end[1] = bytes.size;
  CHECK_OK(tristar_plan_write(s.plan, keep_bytes, &bytes));
  end[2] = bytes.size;
  for (int damaged = -1; damaged < 3; damaged++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL, *other = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
    bytes.at = 0;
    if (damaged >= 0) bytes.data[end[damaged] - 1] ^= 1;
    CHECK_STATUS(tristar_analysis_read(ts, give_bytes, &bytes, &analysis),
                 damaged == 0 ? TRISTAR_ERR_FORMAT : TRISTAR_OK);
    if (damaged != 0) {
      CHECK(bytes.at == end[0]);
      CHECK_STATUS(tristar_factor_read(ts, give_bytes, &bytes, &factor),
                   damaged == 1 ? TRISTAR_ERR_FORMAT : TRISTAR_OK);
    }
    if (damaged < 0 || damaged == 2) {
      CHECK(bytes.at == end[1]);
      CHECK_STATUS(tristar_plan_read(ts, give_bytes, &bytes, &other, &plan),
                   damaged == 2 ? TRISTAR_ERR_FORMAT : TRISTAR_OK);
    }
    if (damaged < 0) CHECK(bytes.at == end[2]);
    if (damaged >= 0) bytes.data[end[damaged] - 1] ^= 1;
  }
}

static void check_foreign(tristar_t *ts) {
  CLEANUP(free_saved_bytes) saved_bytes bytes = save_small(ts);
  static const char text[] = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n";
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  unlink(FILE_NAME);
  expect_failure(ts, TRISTAR_ERR_IO, "cannot read");
  write_file(text, sizeof text - 1);
  expect_failure(ts, TRISTAR_ERR_FORMAT, "no saved object");
  bytes.data[12] = 99; /* a later version */
  write_file(bytes.data, bytes.size);
  expect_failure(ts, TRISTAR_ERR_UNSUPPORTED, "version 99");
  bytes.data[12] = 1;
  bytes.data[8] = 1, bytes.data[9] = 2, bytes.data[10] = 3, bytes.data[11] = 4; /* another byte order */
  write_file(bytes.data, bytes.size);
  expect_failure(ts, TRISTAR_ERR_UNSUPPORTED, "order of bytes");
  CHECK_STATUS(tristar_plan_load(ts, ".", &factor, &plan), TRISTAR_ERR_IO);
  CHECK_STATUS(tristar_plan_load(ts, NULL, &factor, &plan), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_load(ts, FILE_NAME, &factor, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_load(NULL, FILE_NAME, &factor, &plan), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_read(ts, NULL, NULL, &factor, &plan), TRISTAR_ERR_ARGUMENT);
  unlink(FILE_NAME);
}

/* Objects that cannot be written, and functions of the caller that fail. */
static void check_refused(tristar_t *ts) {
  CLEANUP(free_system) system_ s = {.matrix = NULL};
  CLEANUP(free_saved_bytes) saved_bytes bytes = {.fail_after = 5};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *rows = NULL;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  char text[512];
  make_system(ts, &typed_double, "s2d9pt", 10, TRISTAR_METHOD_LLT, false, &s);
  CHECK_STATUS(tristar_plan_save(s.plan, "no_folder/x"), TRISTAR_ERR_IO);
  CHECK_STATUS(tristar_plan_save(s.plan, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_factor_save(NULL, FILE_NAME), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_plan_write(s.plan, keep_bytes, &bytes), TRISTAR_ERR_RUNTIME);
  tristar_get_error(ts, text, sizeof text);
  CHECK_MSG(strstr(text, "returned 7") != NULL, "%s", text);
  if (access("/dev/full", W_OK) == 0) CHECK_STATUS(tristar_plan_save(s.plan, "/dev/full"), TRISTAR_ERR_IO);
  bytes.size = 0;
  bytes.fail_after = -1;
  CHECK_OK(tristar_plan_write(s.plan, keep_bytes, &bytes));
  for (int k = 0; k < 40; k += 3) {
    bytes.at = 0;
    bytes.fail_after = k;
    CHECK_STATUS(tristar_plan_read(ts, give_bytes, &bytes, &factor, &plan), TRISTAR_ERR_RUNTIME);
  }
  CHECK_STATUS(tristar_refactor(s.factor, (const double[1000]){NAN}), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_plan_save(s.plan, FILE_NAME), TRISTAR_ERR_STALE);
  CHECK(access(FILE_NAME, F_OK) != 0);
  const int64_t ptr[] = {0, 1, 2};
  const int32_t index[] = {0, 1};
  const double values[] = {1, 2};
  const tristar_view triangle = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, ptr, index, values, 64, 32, 0};
  CHECK_OK(tristar_import_triangle(ts, &triangle, NULL, &rows));
  CHECK_STATUS(tristar_factor_save(rows, FILE_NAME), TRISTAR_ERR_UNSUPPORTED);
  CHECK(access(FILE_NAME, F_OK) != 0);
}

static void check_allocations(tristar_t *ts) {
  CLEANUP(free_saved_bytes) saved_bytes bytes = save_small(ts);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    tristar_factor_t *factor;
    tristar_plan_t *plan;
    bytes.at = 0;
    const tristar_status status = tristar_plan_read(ts, give_bytes, &bytes, &factor, &plan);
    end_failure(&failing, status);
    CHECK((plan == NULL) == (status != TRISTAR_OK) && (factor == NULL) == (status != TRISTAR_OK));
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
  }
  CHECK(failing.count > 30);
}

/* n = 0 and n = 1, also in a separator tree with more leaves than rows. */
static void check_smallest(tristar_t *ts, int leaf_parts) {
  const int64_t ptr[] = {0, 1};
  const int32_t index[] = {0};
  const double values[] = {-4};
  for (int64_t n = 0; n < 2; n++) {
    const tristar_view v = {
        TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, index, values, 64, 32, 0};
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL, *loaded = NULL;
    tristar_analysis_options options;
    double x = 8;
    tristar_analysis_options_init(&options);
    options.leaf_parts = leaf_parts;
    CHECK_OK(tristar_analyze(ts, &v, &options, &an));
    CHECK_OK(tristar_factor(an, values, &factor));
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    CHECK_OK(tristar_plan_save(plan, FILE_NAME));
    CHECK_OK(tristar_plan_load(ts, FILE_NAME, NULL, &loaded));
    CHECK_OK(tristar_solve(loaded, TRISTAR_N, 1, &x, 1, &x, 1));
    CHECK(x == (n == 0 ? 8 : -2));
  }
  unlink(FILE_NAME);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  RUN(check_scalars(ts));
  RUN(check_analysis(ts));
  RUN(check_imported(ts));
  RUN(check_matrix(ts));
  RUN(check_places(ts));
  RUN(check_smallest(ts, 0));
  RUN(check_smallest(ts, 8));
  RUN(check_damage(ts));
  RUN(check_ends(ts));
  RUN(check_foreign(ts));
  RUN(check_refused(ts));
  RUN(check_allocations(ts));
  close_context(&ts);
  return 0;
}
