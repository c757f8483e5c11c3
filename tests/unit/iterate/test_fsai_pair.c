/* Pairs of factors of sparse approximate inverses against their definition, on small random matrices in dense
 * arithmetic: every scalar type and storage.
 *
 *   rows         (G_L A)_ij = 0 = (A G_U)_ji at places (i, j) of the pattern left of the diagonal,
 *                (G_L A G_U)_ii = 1, the same places in both
 *   patterns     equal to the pattern of G for the Hermitian matrix near A, if that is definite
 *   Hermitian    the factors are G and G^H
 *   application  G_U G_L, for N, T and C, one right-hand side and several, by several threads at a time
 *   nodes        none: `block` changes no bit
 *   choice       one factor or two, by the matrix
 *   workers      the same bits for 1 to 4, and without tasks */
#include <pthread.h>

#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/fsai.h"
#include "tests/support/subtests.h"

enum { N = FSAI_ROWS };

static tristar_precond_options pair_of(int64_t steps, int64_t per_step, double reduction) {
  tristar_precond_options options = options_of(steps, per_step, reduction);
  options.pair = TRISTAR_PAIR_ALWAYS;
  return options;
}

/* ---- What the library has ------------------------------------------------------------------------------ */

/* Returns G_U^T. */
static square upper_of(const tristar_precond_t *p, const typed *t) {
  return triangle_of(p, t, p->fsai->upper);
}

static number shifted(const square *a, double shift, int i, int j) {
  return a->a[i][j] * (i == j ? 1 + shift : 1);
}

/* Checks row i of G_L and column i of G_U, up to rounding errors. */
static void check_row(const square *a, const square *lower, const square *upper, int i, double shift,
                      double roundoff) {
  const int n = a->n;
  number one = 0;
  double size[2] = {0, 0}, whole = 0;
  for (int k = 0; k <= i; k++)
    for (int j = 0; j <= i; j++) {
      const number entry = shifted(a, shift, k, j);
      size[0] = fmax(size[0], cabs(lower->a[i][k]) * cabs(entry));
      size[1] = fmax(size[1], cabs(entry) * cabs(upper->a[i][j]));
      one += lower->a[i][k] * entry * upper->a[i][j];
      whole += cabs(lower->a[i][k]) * cabs(entry) * cabs(upper->a[i][j]);
    }
  for (int j = 0; j < i; j++) {
    number ga = 0, ah = 0;
    if (!lower->there[i][j]) continue;
    for (int k = 0; k <= i; k++) {
      ga += lower->a[i][k] * shifted(a, shift, k, j);
      ah += shifted(a, shift, j, k) * upper->a[i][k];
    }
    CHECK_MSG(cabs(ga) <= 100 * n * roundoff * size[0], "(G_L A)(%d,%d) is %g of %g", i, j, cabs(ga),
              size[0]);
    CHECK_MSG(cabs(ah) <= 100 * n * roundoff * size[1], "(A G_U)(%d,%d) is %g of %g", j, i, cabs(ah),
              size[1]);
  }
  CHECK_MSG(cabs(one - 1) <= 100 * n * roundoff * whole, "(G_L A G_U)(%d,%d) is 1 + %g of %g", i, i,
            cabs(one - 1), whole);
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

/* Returns the Hermitian matrix H near A, zero outside the pattern of A + A^H. Before, rows are multiplied
 * by numbers that make the diagonal positive. */
static square hermitian_part(const square *a) {
  square h = *a;
  h.symmetry = a->t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < a->n; j++) {
      const number di = conj(a->a[i][i]) / cabs(a->a[i][i]), dj = conj(a->a[j][j]) / cabs(a->a[j][j]);
      h.there[i][j] = a->there[i][j] || a->there[j][i];
      h.a[i][j] = (di * a->a[i][j] + conj(dj * a->a[j][i])) / 2;
    }
  return h;
}

static bool is_definite(const square *h) {
  square l = *h;
  for (int k = 0; k < h->n; k++) {
    if (!(creal(l.a[k][k]) > 1e-4 * creal(h->a[k][k]))) return false;
    for (int i = k + 1; i < h->n; i++)
      for (int j = k + 1; j < h->n; j++) l.a[i][j] -= l.a[i][k] / l.a[k][k] * l.a[k][j];
  }
  return true;
}

/* The pattern must be that of the factor of H. */
static void check_pattern(tristar_t *ts, const square *a, const square *lower,
                          const tristar_precond_options *given) {
  const square h = hermitian_part(a);
  tristar_precond_options options = *given;
  if (!is_definite(&h) || given->prefilter > 0 || given->postfilter > 0) return;
  CLEANUP(free_stored) tristar_view view = store(&h, &storages[0]);
  options.pair = TRISTAR_PAIR_NEVER;
  tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const square g = factor_of(p, a->t);
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j <= i; j++)
      CHECK_MSG(g.there[i][j] == lower->there[i][j], "place (%d,%d) is %s the pattern", i, j,
                lower->there[i][j] ? "in" : "not in");
  tristar_precond_destroy(&p);
}

static void check_case(tristar_t *ts, const square *s, const storage *how,
                       const tristar_precond_options *options) {
  const double roundoff = options->single ? typed_single.roundoff : s->t->roundoff;
  CLEANUP(free_stored) tristar_view view = store(s, how);
  tristar_precond_t *p, *nodes;
  tristar_precond_options blocks = *options;
  tristar_precond_stats stats;
  blocks.block = 3;
  CHECK_OK(tristar_precond(ts, &view, options, &p));
  CHECK_OK(tristar_precond(ts, &view, &blocks, &nodes));
  const square lower = factor_of(p, s->t), upper = upper_of(p, s->t);
  const square same[] = {factor_of(nodes, s->t), upper_of(nodes, s->t)};
  CHECK(nodes->stats.nodes == 0 && memcmp(same[0].there, lower.there, sizeof lower.there) == 0);
  CHECK(memcmp(same[0].a, lower.a, sizeof lower.a) == 0 && memcmp(same[1].a, upper.a, sizeof upper.a) == 0);
  tristar_precond_destroy(&nodes);
  for (int i = 0; i < s->n; i++) check_row(s, &lower, &upper, i, options->shift, roundoff);
  check_pattern(ts, s, &lower, options);
  check_pair_products(p, &lower, &upper);
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.bytes >= (size_t)stats.nnz_lower * (2 * s->t->bytes + sizeof(int32_t)));
  CHECK(stats.nnz_lower == p->fsai->lower.ptr[s->n] && stats.nnz_upper == stats.nnz_lower);
  CHECK(stats.fill == 2.0 * (double)stats.nnz_lower / (double)stats.nnz && stats.levels_lower == 0);
  tristar_precond_destroy(&p);
}

static void check_cases(tristar_t *ts, const square *s, const storage *how) {
  tristar_precond_options options[FSAI_CASES];
  list_cases(options);
  for (size_t k = 0; k < FSAI_CASES; k++) {
    options[k].pair = TRISTAR_PAIR_ALWAYS;
    options[k].nrhs = (int64_t)k;
    check_case(ts, s, how, &options[k]);
  }
}

/* If rows are multiplied by numbers of magnitude 1, the pattern stays the same. */
static void check_phases(tristar_t *ts, const typed *t) {
  square s = square_random(t, N, 3, TRISTAR_GENERAL, 2, 6);
  const tristar_precond_options options = pair_of(4, 2, 0);
  square lower[2];
  for (int k = 0; k < 2; k++) {
    CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
    CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
    lower[k] = factor_of(p, t);
    const square upper = upper_of(p, t);
    for (int i = 0; i < N; i++) check_row(&s, &lower[k], &upper, i, 0, t->roundoff);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) s.a[i][j] *= i % 3 == 0 ? 1 : -1;
  }
  CHECK(memcmp(lower[0].there, lower[1].there, sizeof lower[0].there) == 0);
}

/* G_L is G, and G_U is G^H. */
static void check_hermitian(tristar_t *ts, const typed *t) {
  const square s = square_random(t, N, 4, t->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC, 1.1, 12);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[2]);
  tristar_precond_options options = pair_of(5, 2, 1e-3);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *pair, *one;
  options.postfilter = 0.01;
  CHECK_OK(tristar_precond(ts, &view, &options, &pair));
  options.pair = TRISTAR_PAIR_AUTO;
  CHECK_OK(tristar_precond(ts, &view, &options, &one));
  CHECK(tsi_fsai_is_pair(pair->fsai) && !tsi_fsai_is_pair(one->fsai) && one->stats.nnz_upper == 0);
  const square lower = factor_of(pair, t), upper = upper_of(pair, t), g = factor_of(one, t);
  CHECK(memcmp(lower.there, g.there, sizeof g.there) == 0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j <= i; j++) {
      const double bound = 1000 * N * t->roundoff * cabs(g.a[i][i]);
      CHECK(cabs(lower.a[i][j] - g.a[i][j]) <= bound);
      CHECK(cabs(upper.a[i][j] - conj(g.a[i][j])) <= bound);
    }
}

/* ---- The choice ---------------------------------------------------------------------------------------- */

/* Does the library compute one factor or two? The two factors of a complex symmetric matrix are transposes
 * of each other. */
static void check_choice(tristar_t *ts) {
  const square any = square_random(&typed_double, N, 3, TRISTAR_GENERAL, 1.5, 8);
  const square symmetric = square_random(&typed_complex_double, N, 3, TRISTAR_SYMMETRIC, 1.1, 8);
  tristar_precond_options options = pair_of(5, 3, 0);
  tristar_precond_t *p;
  tristar_view view = store(&any, &storages[1]);
  options.pair = TRISTAR_PAIR_NEVER;
  CHECK_STATUS(tristar_precond(ts, &view, &options, &p), TRISTAR_ERR_ARGUMENT);
  options.pair = (tristar_pair)3;
  CHECK_STATUS(tristar_precond(ts, &view, &options, &p), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "pair is 3");
  options.pair = TRISTAR_PAIR_AUTO;
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  CHECK(tsi_fsai_is_pair(p->fsai));
  tristar_precond_destroy(&p);
  free_stored(&view);
  for (int k = 0; k < 2; k++) {
    view = store(&symmetric, &storages[k]);
    CHECK_OK(tristar_precond(ts, &view, &options, &p));
    const square lower = factor_of(p, symmetric.t), upper = upper_of(p, symmetric.t);
    for (int i = 0; i < N; i++)
      for (int j = 0; j <= i; j++) {
        const number ratio = upper.a[i][i] / lower.a[i][i];
        CHECK(cabs(upper.a[i][j] - ratio * lower.a[i][j]) <= 1e-12 * cabs(lower.a[i][i]));
      }
    tristar_precond_destroy(&p);
    free_stored(&view);
  }
}

/* After an update the pattern is the same, the equations hold, and a pair is still a pair. */
static void check_pair_update(tristar_t *ts, const typed *t) {
  const square s = square_random(t, N, 3, TRISTAR_GENERAL, 0.8, 8);
  square other = s;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) other.a[i][j] *= i == j ? 3 : 0.5 + 0.5 * ((i + 2 * j) % 3);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]), next = store(&other, &storages[0]);
  tristar_precond_options options = pair_of(4, 2, 1e-3);
  options.postfilter = 0.02;
  options.pair = TRISTAR_PAIR_AUTO;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const square before = factor_of(p, t);
  for (int k = 0; k < 2; k++) {
    CHECK_OK(tristar_precond_update(p, k == 0 ? &next : &view));
    const square lower = factor_of(p, t), upper = upper_of(p, t);
    CHECK(memcmp(lower.there, before.there, sizeof before.there) == 0);
    for (int i = 0; i < N; i++) check_row(k == 0 ? &other : &s, &lower, &upper, i, 0, t->roundoff);
    check_pair_products(p, &lower, &upper);
    for (int i = 0; i < N && k == 1; i++)
      for (int j = 0; j <= i; j++) CHECK(lower.a[i][j] == before.a[i][j]);
  }
}

/* ---- Systems that are singular ------------------------------------------------------------------------- */

static square three(const double values[9]) {
  square s = {.n = 3, .t = &typed_double, .symmetry = TRISTAR_GENERAL};
  for (int i = 0; i < 9; i++) {
    s.a[i / 3][i % 3] = values[i];
    s.there[i / 3][i % 3] = true;
  }
  return s;
}

/* With a given pattern the message names the singular row. A growing pattern takes other columns, or its
 * previous ones. */
static void check_singular(tristar_t *ts) {
  static const double equal[9] = {1, 1, 0, 4, 4, 1, 0, 1, 2}, zero[9] = {2, 1, 0, 3, 0, 1, 0, 4, 0};
  static const double none[9] = {2, 1, 0, 0, 0, 1, 0, 3, 1};
  const struct {
    const double *values;
    bool given;
    const char *row; /* NULL: no row is singular */
  } cases[] = {{equal, true, "row 1"}, {equal, false, NULL},  {zero, true, "row 2"},
               {zero, false, NULL},    {none, true, "row 1"}, {none, false, "row 1"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const square s = three(cases[k].values);
    const tristar_precond_options options[] = {pair_of(5, 1, 0), pair_of(0, 1, 0)};
    tristar_precond_options wanted = options[cases[k].given];
    char message[400];
    CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
    tristar_precond_t *p;
    wanted.power = cases[k].given;
    if (cases[k].row == NULL) {
      CHECK_OK(tristar_precond(ts, &view, &wanted, &p));
      const square lower = factor_of(p, s.t), upper = upper_of(p, s.t);
      for (int i = 0; i < 3; i++) check_row(&s, &lower, &upper, i, 0, s.t->roundoff);
      tristar_precond_destroy(&p);
    } else {
      CHECK_STATUS(tristar_precond(ts, &view, &wanted, &p), TRISTAR_ERR_SINGULAR);
      (void)tristar_get_error(ts, message, sizeof message);
      CHECK_MSG(strstr(message, cases[k].row) != NULL, "\"%s\" has no \"%s\"", message, cases[k].row);
    }
  }
}

/* If the Hermitian part is indefinite, patterns continue to grow: with space for all columns G_U G_L is the
 * inverse. */
static void check_indefinite(tristar_t *ts, const typed *t) {
  const square s = square_random(t, N, 6, TRISTAR_GENERAL, 0.3, 21), h = hermitian_part(&s);
  const tristar_precond_options options = pair_of(N, 3, 0);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  char b[N * sizeof(number)];
  CHECK(!is_definite(&h));
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < N; i++) put(t, b, i, s.a[i][j]);
    CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, N, b, N));
    for (int i = 0; i < N; i++) {
      const double error = cabs(get(t, b, i) - (i == j));
      CHECK_MSG(error <= 1e-9, "(M^-1 A)(%d,%d) is off by %g", i, j, error);
    }
  }
}

/* ---- Threads and workers ------------------------------------------------------------------------------- */

/* Returns X of three right-hand sides for each op, twice, once after an update; the caller frees it. */
static double *apply_with(const char *workers, tristar_engine engine, int64_t *size) {
  tristar_precond_options options = pair_of(4, 2, 1e-2);
  CHECK(setenv("STARPU_NCPU", workers, 1) == 0);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = read_view(ts, "gen:convdiff3d:13", &matrix);
  options.engine = engine;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const int64_t n = view.rows;
  *size = 12 * n;
  double *b = xmalloc((size_t)(3 * n) * sizeof *b), *x = xmalloc((size_t)*size * sizeof *x);
  fill_random(b, 3 * n, 4);
  for (int k = 0; k < 4; k++) {
    CHECK_OK(tristar_precond_apply(p, k % 2 ? TRISTAR_T : TRISTAR_N, 3, b, n, x + 3 * k * n, n));
    if (k == 1) CHECK_OK(tristar_precond_update(p, &view));
  }
  free(b);
  return x;
}

typedef struct caller {
  tristar_precond_t *p;
  const double *b;
  double x[N];
} caller;

static void *call(void *arg) {
  caller *c = arg;
  CHECK_OK(tristar_precond_apply(c->p, TRISTAR_T, 1, c->b, N, c->x, N));
  return NULL;
}

/* Several threads need the transposes for the first time at the same moment. */
static void check_threads(tristar_t *ts) {
  enum { CALLERS = 4 };
  const square s = square_random(&typed_double, N, 3, TRISTAR_GENERAL, 1.5, 8);
  const tristar_precond_options options = pair_of(3, 2, 0);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  double b[N];
  fill_random(b, N, 3);
  for (int run = 0; run < 20; run++) {
    caller callers[CALLERS];
    pthread_t thread[CALLERS];
    CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
    for (int k = 0; k < CALLERS; k++) {
      callers[k] = (caller){.p = p, .b = b};
      CHECK(pthread_create(&thread[k], NULL, call, &callers[k]) == 0);
    }
    for (int k = 0; k < CALLERS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
    for (int k = 1; k < CALLERS; k++) CHECK(memcmp(callers[k].x, callers[0].x, sizeof b) == 0);
  }
}

int test_fsai_pair(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const double dominance[] = {1.5, 0.7, 0.3};
  tristar_t *ts = open_without_starpu(true);
  int round = 0;
  for (int t = 0; t < 4; t++) {
    for (int n = 1; n <= N; n += 7, round++) {
      const square s =
          square_random(types[t], n, 3, TRISTAR_GENERAL, dominance[round % 3], (uint64_t)(round + 3));
      RUN(check_cases(ts, &s, &storages[round % STORAGES]));
    }
    RUN(check_phases(ts, types[t]));
    RUN(check_hermitian(ts, types[t]));
    RUN(check_pair_update(ts, types[t]));
  }
  RUN(check_indefinite(ts, &typed_double));
  RUN(check_indefinite(ts, &typed_complex_double));
  RUN(check_choice(ts));
  RUN(check_singular(ts));
  RUN(check_threads(ts));
  close_context(&ts);
  RUN(check_workers(apply_with));
  return 0;
}
