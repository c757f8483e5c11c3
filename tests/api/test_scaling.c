/* Systems that are well conditioned once rows and columns are scaled are solved, whatever they were scaled
 * by: rows, columns, or both by factors between 1e-200 and 1e200, both alike for symmetric kinds, down to
 * subnormal values; in all types, by all methods, with and without a matching, also when the values are
 * replaced by others of another scale. Where numbers leave the range all the same, the message names the row.
 * The scaling of a matching that is taken in one pass over the values is the one that is chosen otherwise. */
#include "runtime/factor/scaling.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { N_MOST = 40 };

/* A sparse system S x = b with S = D1 A D2 and x = D2^-1 u. A and u have moderate size. d1, d2: exponents
 * of D1 and D2. */
typedef struct problem {
  const typed *type;
  tristar_symmetry symmetry;
  int n;
  number a[N_MOST][N_MOST], u[N_MOST];
  bool there[N_MOST][N_MOST];
  int d1[N_MOST], d2[N_MOST];
} system_of;

static uint64_t state = 1;
static double unit(void) { /* in [-1, 1) */
  return (double)next_random(&state) / 1073741824.0 - 1;
}
static int below(int bound) {
  return (int)(next_random(&state) % (uint64_t)bound);
}

static number random_number(const typed *t) {
  number x = unit();
  if (t->is_complex) __imag__ x = unit();
  return x;
}

/* Fills in the entries of the pattern; the diagonal dominates rows and columns. */
static void fill_matrix(system_of *s, bool indefinite) {
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) s->there[i][j] = i == j || below(s->n) < 3;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j <= i; j++) {
      if (s->symmetry != TRISTAR_GENERAL) s->there[i][j] = s->there[j][i] = s->there[i][j] || s->there[j][i];
      s->a[i][j] = s->there[i][j] ? random_number(s->type) : 0;
      s->a[j][i] = s->there[j][i] ? random_number(s->type) : 0;
      if (s->symmetry == TRISTAR_SYMMETRIC) s->a[j][i] = s->a[i][j];
      if (s->symmetry == TRISTAR_HERMITIAN) s->a[j][i] = conj(s->a[i][j]);
    }
  for (int i = 0; i < s->n; i++) {
    double sum = 1;
    for (int j = 0; j < s->n; j++)
      if (j != i) sum += cabs(s->a[i][j]) + cabs(s->a[j][i]);
    s->a[i][i] = indefinite && below(2) ? -sum : sum;
  }
}

/* Draws exponents of D1 and D2 up to `rows` and `columns`, plus `all` in total; D1 = D2 if the kind is
 * symmetric. */
static void fill_scales(system_of *s, int rows, int columns, int all) {
  for (int i = 0; i < s->n; i++) {
    s->d1[i] = (int)(rows * unit()) + all / 2;
    s->d2[i] = s->symmetry != TRISTAR_GENERAL ? s->d1[i] : (int)(columns * unit()) + all - all / 2;
    s->u[i] = random_number(s->type);
  }
}

static number times(number x, int exponent) {
  __real__ x = ldexp(creal(x), exponent);
  __imag__ x = ldexp(cimag(x), exponent);
  return x;
}

typedef struct arrays {
  int32_t ptr[N_MOST + 1], index[N_MOST * N_MOST];
  number values[N_MOST * N_MOST], b[N_MOST], x[N_MOST]; /* large enough for all types */
  tristar_view view;
} arrays;

static void fill_arrays(const system_of *s, arrays *o) {
  int32_t at = 0;
  for (int j = 0; j < s->n; j++) {
    o->ptr[j] = at;
    for (int i = s->symmetry == TRISTAR_GENERAL ? 0 : j; i < s->n; i++) {
      if (!s->there[i][j]) continue;
      put(s->type, o->values, at, times(s->a[i][j], s->d1[i] + s->d2[j]));
      o->index[at++] = i;
    }
  }
  o->ptr[s->n] = at;
  for (int i = 0; i < s->n; i++) {
    number sum = 0;
    for (int j = 0; j < s->n; j++) sum += s->a[i][j] * s->u[j];
    put(s->type, o->b, i, times(sum, s->d1[i]));
  }
  o->view = (tristar_view){
      TRISTAR_CSC, s->symmetry, s->type->scalar, s->n, s->n, o->ptr, o->index, o->values, 32, 32, 0};
}

/* Returns the largest error of D2 x relative to u. */
static double error_of_solution(const system_of *s, const arrays *o) {
  double error = 0, size = 0;
  for (int i = 0; i < s->n; i++) {
    const number x = times(get(s->type, o->x, i), s->d2[i]);
    error = larger_error(error, cabs(x - s->u[i]));
    size = fmax(size, cabs(s->u[i]));
  }
  return error / size;
}

/* With a scaling no scaled entry exceeds one. */
static void check_scaled(const system_of *s, const tristar_factor_t *f, const arrays *o, const char *what) {
  double row_scale[N_MOST], column_scale[N_MOST];
  bool scaled = false;
  CHECK_OK(tristar_factor_get_order(f, NULL, NULL, row_scale, column_scale));
  for (int i = 0; i < s->n; i++) scaled = scaled || row_scale[i] != 1 || column_scale[i] != 1;
  for (int j = 0; j < s->n && scaled; j++)
    for (int32_t p = o->ptr[j]; p < o->ptr[j + 1]; p++) {
      const int i = o->index[p];
      const long double a = cabs(get(s->type, o->values, p));
      CHECK_MSG(a * row_scale[i] * column_scale[j] <= 1.0L,
                "%s, type %c, n = %d: entry (%d, %d) is scaled to %Lg", what, s->type->scalar, s->n, i, j,
                a * row_scale[i] * column_scale[j]);
    }
}

/* Analyzes (with or without values), factors, solves and checks the accuracy. refactored: the first
 * factorization has values without units. */
static void check(tristar_t *ts, const system_of *s, tristar_method method, tristar_matching matching,
                  bool values, int single_factors, bool refactored, double accuracy, const char *what) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_refine_result result = {0};
  arrays o;
  char message[512] = "";
  options.method = method;
  options.matching = matching;
  options.single_factors = single_factors;
  fill_arrays(s, &o);
  if (refactored) { /* first the same matrix without units */
    system_of plain = *s;
    fill_scales(&plain, 0, 0, 0);
    fill_arrays(&plain, &o);
  }
  if (!values) o.view.values = NULL;
  tristar_status status = tristar_analyze(ts, &o.view, &options, &an);
  if (status == TRISTAR_OK) status = tristar_factor(an, o.values, &f);
  if (status == TRISTAR_OK && refactored) {
    fill_arrays(s, &o);
    status = tristar_refactor(f, o.values);
  }
  if (status == TRISTAR_OK) check_scaled(s, f, &o, what);
  if (status == TRISTAR_OK) status = tristar_plan(f, NULL, &p);
  if (status == TRISTAR_OK)
    status = tristar_solve_refined(p, TRISTAR_N, 1, o.b, s->n, o.x, s->n, NULL, &result);
  if (status != TRISTAR_OK) tristar_get_error(ts, message, sizeof message);
  const double error = error_of_solution(s, &o);
  CHECK_MSG(status == TRISTAR_OK && error < accuracy && result.backward_error < 100 * s->type->roundoff,
            "%s, type %c, n = %d, symmetry %d, method %d, matching %d, values %d, single %d, refactored %d: "
            "%s, error %g, "
            "backward error %g (%g at first, %d steps, %d iterations) %s",
            what, s->type->scalar, s->n, (int)s->symmetry, (int)method, (int)matching, values, single_factors,
            refactored, tristar_status_name(status), error, result.backward_error,
            result.initial_backward_error, result.steps, result.iterations, message);
}

/* Ranges of the exponents of two; tiny: exponent of all entries. */
typedef struct mode {
  const char *name;
  int rows, columns, both, tiny;
} mode;

static void check_general(tristar_t *ts, system_of *s, const mode *m, double accuracy) {
  s->symmetry = TRISTAR_GENERAL;
  fill_matrix(s, true);
  fill_scales(s, m->rows, m->columns, m->tiny);
  check(ts, s, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO, true, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF, true, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_AUTO, false, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_AUTO, true, 0, true, accuracy, m->name);
}

static void check_symmetric(tristar_t *ts, system_of *s, const mode *m, double accuracy) {
  fill_matrix(s, true);
  fill_scales(s, m->both, 0, m->tiny);
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_AUTO, true, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_OFF, true, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_AUTO, false, 0, true, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_AUTO, true, 0, false, accuracy, m->name);
  if (s->type->is_complex && s->symmetry == TRISTAR_SYMMETRIC)
    return; /* a complex symmetric matrix is not positive definite */
  fill_matrix(s, false);
  check(ts, s, TRISTAR_METHOD_LLT, TRISTAR_MATCHING_AUTO, true, 0, false, accuracy, m->name);
  check(ts, s, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO, true, 0, true, accuracy, m->name);
}

/* Single factors of a double matrix of any size. The relative sizes of the unknowns must be within the
 * range of single numbers. */
static void check_single_factors(tristar_t *ts, system_of *s) {
  static const mode modes[] = {{"sd, rows", 600, 0, 0, 0},
                               {"sd, both", 60, 60, 60, 0},
                               {"sd, large", 20, 20, 20, 900},
                               {"sd, small", 20, 20, 20, -900}};
  for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
    const mode *m = &modes[k];
    s->symmetry = TRISTAR_GENERAL;
    fill_matrix(s, true);
    fill_scales(s, m->rows, m->columns, m->tiny);
    check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_OFF, true, 1, false, 1e-10, m->name);
    s->symmetry = s->type->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    fill_matrix(s, false);
    fill_scales(s, m->both, 0, m->tiny);
    check(ts, s, TRISTAR_METHOD_LLT, TRISTAR_MATCHING_OFF, true, 1, false, 1e-10, m->name);
    check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_OFF, true, 1, false, 1e-10, m->name);
  }
}

/* A matrix that is positive definite except for one row, whose diagonal entry is zero or missing. LLT has
 * no scale for that row and returns NOT_POSITIVE_DEFINITE. AUTO continues with L D L^T. */
static void check_zero_diagonal(tristar_t *ts, system_of *s, int both, int large, int single_factors) {
  if (s->n < 2) return;
  const int k = below(s->n), j = (k + 1 + below(s->n - 1)) % s->n;
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_factor_t *f;
  arrays o;
  s->symmetry = s->type->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  fill_matrix(s, false);
  for (int i = 0; i < s->n; i++) {
    s->a[i][k] = s->a[k][i] = i == j ? s->a[j][j] : 0;
    s->there[i][k] = s->there[k][i] = i == j || (i == k && below(2));
  }
  fill_scales(s, both, 0, 0);
  s->d1[k] = s->d2[k] = large; /* the scale of the only large entry of this row */
  s->d1[j] = s->d2[j] = 0;
  check(ts, s, TRISTAR_METHOD_AUTO, TRISTAR_MATCHING_AUTO, true, single_factors, false, 1e-10,
        "zero diagonal");
  fill_arrays(s, &o);
  tristar_analysis_options_init(&options);
  options.method = TRISTAR_METHOD_LLT;
  options.single_factors = single_factors;
  CHECK_OK(tristar_analyze(ts, &o.view, &options, &an));
  CHECK_STATUS(tristar_factor(an, o.values, &f), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  tristar_analysis_destroy(&an);
}

/* A diagonal matrix with one long row that is far larger than the others and has no diagonal entry. If the
 * largest entry of each row is scaled to one, the diagonal becomes small. It must not count as rounding
 * errors. */
static void check_long_row(tristar_t *ts, system_of *s, int weight, double accuracy) {
  const int k = below(s->n);
  if (s->n < 2) return;
  memset(s->a, 0, sizeof s->a);
  memset(s->there, 0, sizeof s->there);
  for (int i = 0; i < s->n; i++) {
    if (i == k) continue;
    number x = 0.75 + 0.25 * unit(); /* so that the sum of squares cannot cancel */
    if (s->type->is_complex) __imag__ x = 0.4 * unit();
    s->a[i][i] = 1.5 + 0.5 * unit();
    s->a[i][k] = x;
    s->a[k][i] = s->symmetry == TRISTAR_HERMITIAN ? conj(x) : x;
    s->there[i][i] = s->there[i][k] = s->there[k][i] = true;
  }
  fill_scales(s, 5, 5, 0);
  s->d1[k] = s->d2[k] = weight;
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_AUTO, false, 0, false, accuracy, "long row");
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_OFF, true, 0, false, accuracy, "long row");
}

/* A cycle of odd length. Entries of one row may have any sizes. A scaling that makes all of them one cannot
 * be found from single rows or columns. */
static void check_cycle(tristar_t *ts, system_of *s, int spread, double accuracy) {
  memset(s->a, 0, sizeof s->a);
  memset(s->there, 0, sizeof s->there);
  for (int i = 0; i < s->n; i++) {
    const int j = (i + 1) % s->n;
    number x = 0.75 + 0.25 * unit();
    if (s->type->is_complex) __imag__ x = 0.1 * unit();
    s->a[i][j] = x;
    s->a[j][i] = s->symmetry == TRISTAR_HERMITIAN ? conj(x) : x;
    s->there[i][j] = s->there[j][i] = true;
  }
  fill_scales(s, spread, spread, 0);
  check(ts, s, TRISTAR_METHOD_LDLT, TRISTAR_MATCHING_AUTO, false, 0, false, accuracy, "cycle");
  check(ts, s, TRISTAR_METHOD_LU, TRISTAR_MATCHING_AUTO, false, 0, false, accuracy, "cycle");
}

/* The matching of other units also finds the largest entries of the new values, but its scaling suits the
 * old units. Types with few digits need a new scaling sooner. */
static void check_old_matching(tristar_t *ts, system_of *s, double accuracy) {
  number row[N_MOST];
  bool there[N_MOST];
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_factor_stats stats;
  arrays o;
  s->symmetry = TRISTAR_GENERAL;
  fill_matrix(s, true);
  memcpy(row, s->a[0], sizeof row);
  memcpy(there, s->there[0], sizeof there);
  for (int i = 0; i + 1 < s->n; i++) { /* moves the largest entries off the diagonal */
    memcpy(s->a[i], s->a[i + 1], sizeof row);
    memcpy(s->there[i], s->there[i + 1], sizeof there);
  }
  memcpy(s->a[s->n - 1], row, sizeof row);
  memcpy(s->there[s->n - 1], there, sizeof there);
  fill_scales(s, 0, 0, 0);
  fill_arrays(s, &o);
  options.method = TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_ON;
  CHECK_OK(tristar_analyze(ts, &o.view, &options, &an));
  CHECK_OK(tristar_factor(an, o.values, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  for (int spread = 2; spread <= 32; spread += 2) {
    fill_scales(s, spread, spread, 0);
    fill_arrays(s, &o);
    CHECK_OK(tristar_refactor(f, o.values));
    CHECK_OK(tristar_factor_get_stats(f, &stats));
    CHECK_OK(tristar_solve(p, TRISTAR_N, 1, o.b, s->n, o.x, s->n));
    const double error = error_of_solution(s, &o);
    CHECK_MSG(!stats.singular && error < accuracy,
              "type %c, n = %d, units of 2^%d: %d pivots perturbed, 1 / condition %g, error %g",
              s->type->scalar, s->n, spread, (int)stats.perturbed_pivots, stats.reciprocal_condition, error);
  }
}

/* An overflow of the solution and a NaN in b are errors that name the row and the column. */
static void check_messages(tristar_t *ts) {
  static const int32_t ptr[] = {0, 1, 2, 3}, index[] = {0, 1, 2};
  static const double values[] = {1, 1e-300, 1};
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, ptr, index, values, 32, 32, 0};
  tristar_refine_result result;
  double b[6] = {1, 1, 1, 1, 1e200, 1}, x[6];
  char message[512];
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, NULL);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, 2, b, 3, x, 3, NULL, &result), TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(ts, "row 1 of x, column 1");
  CHECK(x[0] == 1 && fabs(x[1] / 1e300 - 1) < 1e-15 && x[2] == 1 &&
        result.backward_error < 1e-15); /* column 0 */
  b[4] = 1;
  b[2] = NAN;
  CHECK_STATUS(tristar_solve_refined(p, TRISTAR_N, 2, b, 3, x, 3, NULL, &result), TRISTAR_ERR_NOT_FINITE);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, "b has NaN or infinity in row 2, column 0") != NULL, "%s", message);
  CHECK(strstr(message, "nan") == NULL && x[3] == 1);
}

/* The analysis has badly scaled values, the factorization has others. The scaling of the matching suits
 * only the former. The reported backward error must be the true one. */
static void check_other_values(tristar_t *ts, bool symmetric, uint64_t seed) {
  enum { N = 17 };
  int64_t ptr[N + 1] = {0};
  int32_t index[N * N];
  double far[N * N], near[N * N], b[N], x[N], scale[N], draw;
  int at = 0;
  tristar_analysis_options options;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_refine_result result;
  for (int i = 0; i < N; i++) {
    fill_random(&draw, 1, seed + (uint64_t)i);
    scale[i] = ldexp(1, (int)(draw * 400));
    fill_random(&b[i], 1, seed + 100 + (uint64_t)i);
  }
  for (int j = 0; j < N; j++) {
    for (int i = symmetric ? j : 0; i < N; i++) {
      fill_random(&draw, 1, seed + 1000 + (uint64_t)(i * N + j));
      if (i != j && i != 0 && j != 0 && draw > -0.6) continue;
      index[at] = i;
      near[at] = i == j ? (i % 2 ? 3 : -3) : draw > 0 ? 1 : -1;
      far[at] = near[at] * scale[i] * scale[j];
      at++;
    }
    ptr[j + 1] = at;
  }
  const tristar_view view = {TRISTAR_CSC,
                             symmetric ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL,
                             TRISTAR_DOUBLE,
                             N,
                             N,
                             ptr,
                             index,
                             far,
                             64,
                             32,
                             0};
  tristar_view near_view = view;
  near_view.values = near;
  tristar_analysis_options_init(&options);
  options.method = symmetric ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_ON;
  CHECK_OK(tristar_analyze(ts, &view, &options, &an));
  CHECK_OK(tristar_factor(an, near, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, N, x, N, NULL, &result));
  const double error = error_of(&typed_double, &near_view, TRISTAR_N, b, x, 0, COMPONENTWISE, NULL);
  CHECK_MSG(error < 1e-13 && result.backward_error < 1e-13, "seed %llu: backward error %g, reported %g",
            (unsigned long long)seed, error, result.backward_error);
}

/* Analyzes values by columns or rows and factors them times 2^shift; one row and one column are also
 * multiplied by 2^-distance. Returns whether the scaling is computed in one pass. */
static bool check_one_pass(tristar_t *ts, bool by_rows, int shift, int distance) {
  enum { N = 23, MOST = 5 * N };
  int64_t ptr[N + 1] = {0};
  int32_t index[MOST];
  double values[MOST], others[MOST], size[N], expected[N] = {0};
  int at = 0;
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < N; i++) {
      if (i != (j + 1) % N && i != (5 * j) % N && (i + 2 * j) % 11 > 0) continue;
      index[at] = i;
      values[at] = ldexp(0.5 + below(1000) / 1000.0, (i * i) % 13 - j % 7);
      others[at] = ldexp(values[at], shift - (i == 3 || j == 4 ? distance : 0));
      at++;
    }
    ptr[j + 1] = at;
  }
  const tristar_view view = {by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                             TRISTAR_GENERAL,
                             TRISTAR_DOUBLE,
                             N,
                             N,
                             ptr,
                             index,
                             values,
                             64,
                             32,
                             0};
  tristar_analysis_options options;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  TSI_OWNED double *magnitude = NULL;
  bool taken;
  tristar_analysis_options_init(&options);
  options.method = TRISTAR_METHOD_LU;
  options.matching = TRISTAR_MATCHING_ON;
  CHECK_OK(tristar_analyze(ts, &view, &options, &an));
  CHECK_OK(tristar_factor(an, values, &f));
  CHECK_OK(tsi_pattern_part(&ts->env, an->pattern, others, TSI_PART_MAGNITUDE, &magnitude));
  CHECK_OK(tsi_scaling_take_matching(f, magnitude, size, &taken));
  double row[N], column[N];
  memcpy(row, f->row_scale, sizeof row);
  memcpy(column, f->col_scale, sizeof column);
  CHECK_OK(tsi_scaling_choose(f, magnitude));
  if (!taken) return false;
  CHECK(memcmp(row, f->row_scale, sizeof row) == 0 && memcmp(column, f->col_scale, sizeof column) == 0);
  for (int j = 0; j < N; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      const int r = by_rows ? j : index[p], c = by_rows ? index[p] : j;
      expected[an->out_place[c]] = fmax(expected[an->out_place[c]], tsi_scaled(others[p], row[r], column[c]));
    }
  CHECK(memcmp(size, expected, sizeof size) == 0);
  return true;
}

static void check_one_passes(tristar_t *ts) {
  for (int by_rows = 0; by_rows < 2; by_rows++) {
    CHECK(check_one_pass(ts, by_rows, 0, 0));
    CHECK(check_one_pass(ts, by_rows, 19, 0) && check_one_pass(ts, by_rows, -19, 0));
    CHECK(!check_one_pass(ts, by_rows, 22, 0) && !check_one_pass(ts, by_rows, -22, 0));
    CHECK(check_one_pass(ts, by_rows, 0, 9) && !check_one_pass(ts, by_rows, 0, 70));
  }
}

/* Imported factors with a scaling that does not suit their matrix: a wrong x must not look right. */
static void check_imported_scaling(tristar_t *ts) {
  static const int64_t ptr[] = {0, 1, 2}, index[] = {0, 1};
  static const double ones[] = {1, 1}, b[] = {1, 1}, wrong[] = {0.5, 0.7};
  const double scale[] = {0x1p300, 0x1p-300};
  const tristar_view identity = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, ptr, index, ones, 64, 64, 0};
  const tristar_triangle lower = {.format = TRISTAR_TRIANGLE_COLUMNS,
                                  .ptr_bits = 64,
                                  .index_bits = 64,
                                  .ptr = ptr,
                                  .index = index,
                                  .values = ones};
  tristar_factors factors;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  double error = 0;
  tristar_factors_init(&factors);
  factors.n = 2;
  factors.scalar = TRISTAR_DOUBLE;
  factors.lower = factors.upper = lower;
  factors.upper.values = scale;
  factors.column_scale = scale;
  factors.matrix = &identity;
  CHECK_OK(tristar_import_supernodal(ts, &factors, &f));
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, 2, wrong, 2, NULL, 2, &error));
  CHECK_MSG(error > 0.1, "backward error %g", error);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                       &typed_complex_single};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  for (int round = 0; round < (TSI_TESTS_SANITIZED ? 64 : 300); round++) { /* random matrices */
    system_of s = {.type = types[round % 4], .n = 1 + below(N_MOST)};
    const bool single = s.type->is_single;
    const int most = single ? 66 : 664; /* 1e20, 1e200 */
    const mode modes[] = {{"plain", 0, 0, 0, 0},
                          {"rows", most, 0, most / 2, 0},
                          {"columns", 0, most, most / 3, 0},
                          {"both", single ? 55 : 470, single ? 55 : 470, single ? 55 : 470, 0},
                          {"tiny", 0, 0, 0, single ? -130 : -1040}};
    for (int k = 0; k < 5; k++) { /* subnormal values have few digits */
      const double accuracy = k < 4 ? (single ? 1e-3 : 1e-10) : single ? 0.2 : 1e-2;
      RUN(check_general(ts, &s, &modes[k], accuracy));
      s.symmetry = s.type->is_complex && round % 8 > 3 ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
      RUN(check_symmetric(ts, &s, &modes[k], accuracy));
    }
    if (!single) RUN(check_single_factors(ts, &s));
    if (!single) RUN(check_zero_diagonal(ts, &s, 20, 140, 1));
    if (!single) RUN(check_zero_diagonal(ts, &s, 470, 470, 0));
  }
  for (int round = 0; round < 40; round++) {
    system_of s = {.type = types[round % 4], .n = 1 + below(N_MOST)};
    s.symmetry = s.type->is_complex && round % 8 > 3 ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    RUN(check_long_row(ts, &s, below(s.type->is_single ? 40 : 200), s.type->is_single ? 1e-3 : 1e-10));
  }
  for (int round = 0; round < 40; round++) {
    system_of s = {.type = types[round % 4], .n = 3 + 2 * below((N_MOST - 1) / 2)};
    s.symmetry = s.type->is_complex && round % 8 > 3 ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    if (!s.type->is_single) RUN(check_cycle(ts, &s, 300, 1e-10));
  }
  for (int round = 0; round < 40; round++) {
    system_of s = {.type = types[round % 4], .n = 2 + below(N_MOST - 1)};
    RUN(check_old_matching(ts, &s, s.type->is_single ? 1e-3 : 1e-10));
  }
  for (uint64_t seed = 0; seed < 20; seed++) RUN(check_other_values(ts, seed % 2, 7919 * seed));
  RUN(check_messages(ts));
  RUN(check_one_passes(ts));
  RUN(check_imported_scaling(ts));
  return 0;
}
