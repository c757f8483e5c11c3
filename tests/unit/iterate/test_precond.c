/* Preconditioners against their definitions, on small random matrices in dense arithmetic: every kind, scalar
 * type and storage; N, T and C; one right-hand side and several, also in place.
 *
 *   ILU, IC of level k   the pattern of the textbook's levels, and the factors on it; level 0: L U = A there;
 *                        level n: L U = A; modified: the same row sums as A
 *   ILUT, ICT            the factors defined by the documented rules; drop 0, fill n: L U = A
 *   SSOR, Jacobi         the formula */
#include "runtime/iterate/precond/level_fill.h"
#include "tests/support/context.h"
#include "tests/support/preconds.h"
#include "tests/support/subtests.h"

enum { N = 30, FAR = 1000 };

static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                     &typed_complex_single};

/* L and U in one square; L is below the diagonal and unit. */
typedef struct factored {
  square f;
  square m, size;       /* L U, |L| |U| */
  int64_t lower, upper; /* numbers of entries */
} factored;

/* ---- Definitions --------------------------------------------------------------------------------------- */

/* Computes the level of fill of each entry: the minimum over all paths. */
static void find_levels(const square *s, int level[N][N]) {
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) level[i][j] = s->there[i][j] ? 0 : FAR;
  for (int k = 0; k < s->n; k++)
    for (int i = k + 1; i < s->n; i++)
      for (int j = k + 1; j < s->n; j++) {
        const int by_k = level[i][k] + level[k][j] + 1;
        if (by_k < level[i][j]) level[i][j] = by_k;
      }
}

static void multiply_factors(factored *f) {
  const int n = f->f.n;
  f->m = f->size = f->f;
  f->lower = f->upper = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      number sum = 0;
      double size = 0;
      for (int k = 0; k <= i && k <= j; k++) {
        const number l = k == i ? 1 : f->f.a[i][k];
        sum += l * f->f.a[k][j];
        size += cabs(l * f->f.a[k][j]);
      }
      f->m.a[i][j] = sum;
      f->size.a[i][j] = size;
      f->lower += f->f.there[i][j] && i > j;
      f->upper += f->f.there[i][j] && i <= j;
    }
}

/* Computes U^H U or U^T U; f contains U. */
static void multiply_roots(factored *f, bool adjoint) {
  const int n = f->f.n;
  f->m = f->size = f->f;
  f->lower = f->upper = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      number sum = 0;
      double size = 0;
      for (int k = 0; k <= i && k <= j; k++) {
        const number l = adjoint ? conj(f->f.a[k][i]) : f->f.a[k][i];
        sum += l * f->f.a[k][j];
        size += cabs(l * f->f.a[k][j]);
      }
      f->m.a[i][j] = sum;
      f->size.a[i][j] = size;
      f->lower += f->f.there[i][j] && i <= j;
    }
}

/* Eliminates column by column within the pattern. */
static factored dense_ilu(const square *s, int most, double modified, double shift) {
  factored f = {.f = *s};
  int level[N][N];
  find_levels(s, level);
  for (int i = 0; i < s->n; i++) {
    f.f.a[i][i] *= 1 + shift;
    for (int j = 0; j < s->n; j++) f.f.there[i][j] = level[i][j] <= most;
  }
  for (int k = 0; k < s->n; k++)
    for (int i = k + 1; i < s->n; i++) {
      if (!f.f.there[i][k]) continue;
      f.f.a[i][k] /= f.f.a[k][k];
      for (int j = k + 1; j < s->n; j++) {
        if (!f.f.there[k][j]) continue;
        const number product = f.f.a[i][k] * f.f.a[k][j];
        if (f.f.there[i][j])
          f.f.a[i][j] -= product;
        else
          f.f.a[i][i] -= modified * product;
      }
    }
  multiply_factors(&f);
  return f;
}

static factored dense_ic(const square *s, int most, double modified, double shift) {
  factored f = {.f = *s};
  const bool adjoint = s->symmetry == TRISTAR_HERMITIAN || !s->t->is_complex;
  int level[N][N];
  find_levels(s, level);
  for (int i = 0; i < s->n; i++) {
    f.f.a[i][i] *= 1 + shift;
    for (int j = 0; j < s->n; j++) f.f.there[i][j] = level[i][j] <= most;
  }
  for (int k = 0; k < s->n; k++) {
    f.f.a[k][k] = csqrt(f.f.a[k][k]);
    for (int j = k + 1; j < s->n; j++) f.f.a[k][j] = f.f.there[k][j] ? f.f.a[k][j] / f.f.a[k][k] : 0;
    for (int i = k + 1; i < s->n; i++)
      for (int j = k + 1; j < s->n; j++) {
        const number product = (adjoint ? conj(f.f.a[k][i]) : f.f.a[k][i]) * f.f.a[k][j];
        if (f.f.there[i][j])
          f.f.a[i][j] -= product;
        else
          f.f.a[i][i] -= modified * (adjoint ? creal(product) : product);
      }
  }
  multiply_roots(&f, adjoint);
  return f;
}

static double row_norm(const square *s, int i) {
  double sum = 0;
  for (int j = 0; j < s->n; j++) sum += creal(s->a[i][j] * conj(s->a[i][j]));
  return sqrt(sum);
}

/* Sets all but the `most` largest entries of row[begin..end-1] to zero. */
static void keep_largest(number *row, int begin, int end, int most) {
  for (;;) {
    int count = 0, least = -1;
    for (int j = begin; j < end; j++) {
      if (row[j] == 0) continue;
      count++;
      if (least < 0 || cabs(row[j]) <= cabs(row[least])) least = j;
    }
    if (count <= most) return;
    row[least] = 0;
  }
}

static int count_row(const square *s, int i, int begin, int end) {
  int count = 0;
  for (int j = begin; j < end; j++) count += s->there[i][j];
  return count;
}

static factored dense_ilut(const square *s, double drop, int fill) {
  factored f = {.f = *s};
  const int n = s->n;
  for (int i = 0; i < n; i++) {
    number *row = f.f.a[i];
    const double least = drop * row_norm(s, i);
    for (int k = 0; k < i; k++) {
      if (cabs(row[k]) <= least) row[k] = 0;
      row[k] /= f.f.a[k][k];
      for (int j = k + 1; j < n; j++) row[j] -= row[k] * f.f.a[k][j];
    }
    for (int j = i + 1; j < n; j++)
      if (cabs(row[j]) <= least) row[j] = 0;
    keep_largest(row, 0, i, count_row(s, i, 0, i) + fill);
    keep_largest(row, i + 1, n, count_row(s, i, i + 1, n) + fill);
    for (int j = 0; j < n; j++) f.f.there[i][j] = i == j || row[j] != 0;
  }
  multiply_factors(&f);
  return f;
}

static factored dense_ict(const square *s, double drop, int fill) {
  factored f = {.f = *s};
  const int n = s->n;
  const bool adjoint = s->symmetry == TRISTAR_HERMITIAN || !s->t->is_complex;
  for (int i = 0; i < n; i++) {
    number *row = f.f.a[i];
    const double least = drop * row_norm(s, i);
    for (int k = 0; k < i; k++)
      for (int j = i; j < n; j++) row[j] -= (adjoint ? conj(f.f.a[k][i]) : f.f.a[k][i]) * f.f.a[k][j];
    for (int j = 0; j < n; j++)
      if (j != i && (j < i || cabs(row[j]) <= least)) row[j] = 0;
    keep_largest(row, i + 1, n, count_row(s, i, i + 1, n) + fill);
    row[i] = csqrt(row[i]);
    for (int j = i + 1; j < n; j++) row[j] /= row[i];
    for (int j = 0; j < n; j++) f.f.there[i][j] = i == j || row[j] != 0;
  }
  multiply_roots(&f, adjoint);
  return f;
}

static factored dense_ssor(const square *s, double w) {
  factored f = {.f = *s};
  f.m = f.size = *s;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) {
      number sum = 0;
      double size = 0;
      for (int k = 0; k <= i && k <= j; k++) {
        const number l = k == i ? s->a[i][i] / w : s->a[i][k], u = k == j ? s->a[j][j] / w : s->a[k][j];
        sum += l * u / s->a[k][k] * w / (2 - w);
        size += cabs(l * u / s->a[k][k] * w / (2 - w));
      }
      f.m.a[i][j] = sum;
      f.size.a[i][j] = size;
      f.lower += s->there[i][j] && i >= j;
      f.upper += s->there[i][j] && i <= j;
    }
  return f;
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

/* The library's preconditioner must solve with the M of the definition and count its entries, in each
 * partition. */
static void check_kind(tristar_t *ts, const square *s, const storage *how, tristar_precond_options *options,
                       const factored *f, const char *what) {
  options->partition = (tristar_partition)((options->partition + 1) % (TRISTAR_PARTITION_RECURSIVE + 1));
  CLEANUP(free_stored) tristar_view view = store(s, how);
  tristar_precond_stats stats;
  tristar_precond_t *p = NEW_PRECOND(ts, &view, options);
  check_inverse(p, &f->m, &f->size, what);
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.kind == options->kind && stats.n == s->n && stats.scalar == s->t->scalar);
  const bool once = options->kind == TRISTAR_PRECOND_IC || options->kind == TRISTAR_PRECOND_ICT ||
                    (options->kind == TRISTAR_PRECOND_SSOR && view.symmetry != TRISTAR_GENERAL);
  CHECK_MSG(stats.nnz_lower == f->lower && stats.nnz_upper == (once ? 0 : f->upper),
            "%s: %lld and %lld entries, not %lld and %lld", what, (long long)stats.nnz_lower,
            (long long)stats.nnz_upper, (long long)f->lower, (long long)f->upper);
  CHECK(stats.levels_lower >= 1 && stats.levels_lower <= s->n && stats.fill > 0);
  tristar_precond_destroy(&p);
  CHECK(p == NULL);
}

static void check_same(const square *a, const square *b, const bool there[MOST_ROWS][MOST_ROWS]) {
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < a->n; j++)
      CHECK(!there[i][j] || cabs(a->a[i][j] - b->a[i][j]) <= 1e-12 * cabs(a->a[i][i]));
}

static void check_levels(tristar_t *ts, const square *s, const storage *how) {
  static const int most[] = {0, 1, 2, N};
  const bool definite = s->symmetry != TRISTAR_GENERAL;
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  for (int k = 0; k < 4; k++)
    for (int m = 0; m < 3; m++)
      for (int is_ic = 0; is_ic <= definite; is_ic++) {
        options.kind = is_ic ? TRISTAR_PRECOND_IC : TRISTAR_PRECOND_ILU;
        options.level = most[k];
        options.modified = m == 1 ? 1 : m == 2 ? 0.5 : 0;
        options.shift = m == 2 ? 0.1 : 0;
        const factored f = (is_ic ? dense_ic : dense_ilu)(s, most[k], options.modified, options.shift);
        if (m == 0) check_same(s, &f.m, k == 3 ? f.f.there : s->there); /* checks the reference itself */
        check_kind(ts, s, how, &options, &f, is_ic ? "IC" : "ILU");
      }
}

static void check_sizes(tristar_t *ts, const square *s, const storage *how) {
  static const double drops[] = {0, 0.02, 0.1, 0};
  static const int fills[] = {N, N, 2, 0};
  const bool definite = s->symmetry != TRISTAR_GENERAL;
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  for (int k = 0; k < 4; k++)
    for (int is_ic = 0; is_ic <= definite; is_ic++) {
      options.kind = is_ic ? TRISTAR_PRECOND_ICT : TRISTAR_PRECOND_ILUT;
      options.drop = drops[k];
      options.fill = fills[k] == N ? INT64_MAX : fills[k];
      const factored f = (is_ic ? dense_ict : dense_ilut)(s, drops[k], fills[k]);
      if (k == 0) check_same(s, &f.m, f.f.there);
      check_kind(ts, s, how, &options, &f, is_ic ? "ICT" : "ILUT");
    }
}

static void check_relaxation(tristar_t *ts, const square *s, const storage *how) {
  static const double omegas[] = {1, 0.7, 1.6};
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = TRISTAR_PRECOND_SSOR;
  for (int k = 0; k < 3; k++) {
    options.omega = omegas[k];
    const factored f = dense_ssor(s, omegas[k]);
    check_kind(ts, s, how, &options, &f, "SSOR");
  }
}

/* Modified ILU keeps row sums: L U e = A e, even if many entries are dropped. */
static void check_row_sums(const square *s) {
  const factored f = dense_ilu(s, 0, 1, 0);
  for (int i = 0; i < s->n; i++) {
    number sum = 0;
    for (int j = 0; j < s->n; j++) sum += f.m.a[i][j] - s->a[i][j];
    CHECK(cabs(sum) <= 1e-12 * cabs(s->a[i][i]));
  }
}

static void check_diagonals(tristar_t *ts, const square *s, const storage *how) {
  CLEANUP(free_stored) tristar_view view = store(s, how);
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  for (int jacobi = 0; jacobi < 2; jacobi++) {
    square m = *s;
    for (int i = 0; i < s->n; i++)
      for (int j = 0; j < s->n; j++) m.a[i][j] = i != j ? 0 : jacobi ? s->a[i][i] : 1;
    options.kind = jacobi ? TRISTAR_PRECOND_JACOBI : TRISTAR_PRECOND_NONE;
    CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
    check_inverse(p, &m, &m, "diagonal");
  }
}

/* A matrix with both triangles changes from Hermitian to symmetric values and back. */
static void check_change(tristar_t *ts, const typed *t) {
  const square hermitian = square_random(t, 20, 3, TRISTAR_HERMITIAN, 1.1, 4);
  square symmetric = hermitian;
  symmetric.symmetry = TRISTAR_SYMMETRIC;
  for (int i = 0; i < symmetric.n; i++)
    for (int j = 0; j < i; j++) symmetric.a[i][j] = symmetric.a[j][i];
  CLEANUP(free_stored)
  tristar_view one = store(&hermitian, &storages[1]), other = store(&symmetric, &storages[1]);
  const factored f = dense_ic(&hermitian, 1, 0, 0), g = dense_ic(&symmetric, 1, 0, 0);
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = TRISTAR_PRECOND_IC;
  options.level = 1;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &one, &options);
  check_inverse(p, &f.m, &f.size, "Hermitian");
  CHECK_OK(tristar_precond_update(p, &other));
  check_inverse(p, &g.m, &g.size, "symmetric");
  CHECK_OK(tristar_precond_update(p, &one));
  check_inverse(p, &f.m, &f.size, "Hermitian again");
}

/* Compares the pattern of every level with the definition. */
static void check_pattern(const square *s) {
  tsi_env env;
  int level[N][N];
  tsi_count ptr[N + 1], diagonal[N];
  tsi_index index[N * N];
  tsi_factor_rows a = {.n = s->n, .ptr = ptr, .index = index, .diagonal = diagonal}, filled;
  tsi_env_init(&env);
  find_levels(s, level);
  ptr[0] = 0;
  for (int i = 0; i < s->n; i++) {
    ptr[i + 1] = ptr[i];
    for (int j = 0; j < s->n; j++) {
      if (!s->there[i][j]) continue;
      if (i == j) diagonal[i] = ptr[i + 1];
      index[ptr[i + 1]++] = j;
    }
  }
  for (int most = 0; most < 6; most++) {
    CHECK_OK(tsi_level_fill(&env, &a, most, &filled));
    for (int i = 0; i < s->n; i++) {
      tsi_count at = filled.ptr[i];
      for (int j = 0; j < s->n; j++) {
        if (level[i][j] > most) continue;
        CHECK(at < filled.ptr[i + 1] && filled.index[at] == j && (i != j || filled.diagonal[i] == at));
        at++;
      }
      CHECK(at == filled.ptr[i + 1]);
    }
    CHECK_OK(tsi_factor_rows_check(&env, &filled));
    BROKEN(filled.index[0], s->n, tsi_factor_rows_check(&env, &filled));
    BROKEN(filled.diagonal[s->n - 1], filled.ptr[s->n], tsi_factor_rows_check(&env, &filled));
    tsi_factor_rows_finish(&filled);
  }
}

int test_precond(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_symmetry symmetries[] = {TRISTAR_GENERAL, TRISTAR_SYMMETRIC, TRISTAR_HERMITIAN};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  int round = 0;
  for (int t = 0; t < 4; t++)
    for (int kind = 0; kind < 3; kind++)
      for (int n = 1; n <= N; n += kind == 0 ? 8 : 14, round++) {
        if (symmetries[kind] == TRISTAR_HERMITIAN && !types[t]->is_complex) continue;
        const square s = square_random(types[t], n, 2, symmetries[kind], 1.1, (uint64_t)(round + 3));
        const storage *how = &storages[round % STORAGES];
        RUN(check_pattern(&s));
        RUN(check_row_sums(&s));
        RUN(check_levels(ts, &s, how));
        RUN(check_sizes(ts, &s, how));
        RUN(check_relaxation(ts, &s, how));
        RUN(check_diagonals(ts, &s, how));
      }
  RUN(check_change(ts, &typed_complex_double));
  RUN(check_change(ts, &typed_complex_single));
  return 0;
}
