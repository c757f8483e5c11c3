/* Krylov methods in any units: with 2^p A and 2^q b, all methods make the same iterations as with A and b,
 * and give the same bits of x times 2^(q - p), though squares of products may be far beyond the range of
 * numbers.
 */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_krylov.h"

enum { N = 12, ENTRIES = 3 * N - 2, NO_PRECOND = -1 };

typedef struct system_of {
  const typed *type;
  tristar_krylov_options options;
  int kind;    /* kind of preconditioner, or NO_PRECOND */
  number x[N]; /* set by solve() */
  tristar_krylov_result result;
} system_of;

/* Solves with 2^p A and 2^q b. If the options request an initial guess, x is 2^(q - p) times the guess. */
static void solve(tristar_t *ts, system_of *s, int p, int q) {
  const typed *t = s->type;
  int32_t ptr[N + 1], index[ENTRIES];
  number values[ENTRIES], b[N], x[N]; /* large enough for all types */
  tristar_precond_options how;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m = NULL;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *krylov = NULL;
  for (int i = 0, at = 0; i < N; i++) {
    ptr[i] = at;
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, at++) {
      index[at] = j;
      put(t, values, at, ldexp(i == j ? 3 + 0.1 * i : -1 - 0.01 * (i + j), p));
    }
    put(t, b, i, ldexp(1 + (i * 5 % 7), q));
    put(t, x, i, ldexp(i % 3, q - p));
    ptr[i + 1] = at;
  }
  const tristar_view view = {TRISTAR_CSR, TRISTAR_GENERAL, t->scalar, N, N, ptr, index, values, 32, 32, 0};
  tristar_precond_options_init(&how);
  how.kind = (tristar_precond_kind)s->kind;
  if (s->kind != NO_PRECOND) CHECK_OK(tristar_precond(ts, &view, &how, &m));
  CHECK_OK(tristar_krylov_create(ts, &view, &s->options, &krylov));
  CHECK_OK(tristar_krylov_solve(krylov, m, 1, b, N, x, N, &s->result));
  for (int i = 0; i < N; i++) s->x[i] = get(t, x, i);
}

/* Compares the system with the same one scaled by 2^p and 2^q. */
static void check_scaled(tristar_t *ts, const typed *t, tristar_krylov_method method, int kind, int p,
                         int q) {
  for (int variant = 0; variant < 3;
       variant++) { /* plain; with an initial guess; with an absolute tolerance */
    system_of base = {.type = t, .kind = kind}, scaled;
    tristar_krylov_options_init(&base.options);
    base.options.method = method;
    base.options.tolerance = variant == 2 ? 0 : t->is_single ? 1e-5 : 1e-11;
    base.options.absolute = variant == 2 ? 0x1p-12 : 0;
    base.options.guess = variant == 1;
    scaled = base;
    const bool of_x = kind > TRISTAR_PRECOND_NONE &&
                      method != TRISTAR_KRYLOV_FGMRES; /* the residual of the test is M^-1 r */
    const int unit = of_x ? q - p : q;
    scaled.options.absolute = ldexp(base.options.absolute, unit);
    solve(ts, &base, 0, 0);
    solve(ts, &scaled, p, q);
    CHECK_MSG(base.result.converged && scaled.result.converged &&
                  base.result.iterations == scaled.result.iterations,
              "type %c, method %d, preconditioner %d, variant %d, 2^%d A, 2^%d b: %s after %lld iterations, "
              "else %lld",
              (char)t->scalar, (int)method, kind, variant, p, q,
              tristar_krylov_reason_text(scaled.result.reason), (long long)scaled.result.iterations,
              (long long)base.result.iterations);
    CHECK_MSG(
        fabs(scaled.result.residual - base.result.residual) <= t->roundoff * t->roundoff &&
            scaled.result.reference == ldexp(base.result.reference, unit),
        "type %c, method %d, preconditioner %d, variant %d, 2^%d A, 2^%d b: residual %g of %g, else %g of %g",
        (char)t->scalar, (int)method, kind, variant, p, q, scaled.result.residual, scaled.result.reference,
        base.result.residual, base.result.reference);
    for (int i = 0; i < N; i++)
      CHECK_MSG(creal(scaled.x[i]) == ldexp(creal(base.x[i]), q - p) &&
                    cimag(scaled.x[i]) == ldexp(cimag(base.x[i]), q - p),
                "type %c, method %d, preconditioner %d, variant %d, 2^%d A, 2^%d b: x[%d]", (char)t->scalar,
                (int)method, kind, variant, p, q, i);
  }
}

static void check_method(tristar_t *ts, const typed *t, tristar_krylov_method method, int kind) {
  static const int powers[] = {-960, -660, -500, -332, -200, 0, 200, 332, 500, 660, 960};
  static const int powers_of_single[] = {-108, -66, -30, 0, 30, 66, 108};
  const int *power = t->is_single ? powers_of_single : powers;
  const int count = t->is_single ? 7 : 11, most = t->is_single ? 110 : 980;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++)
      if (abs(power[j] - power[i]) <= most) check_scaled(ts, t, method, kind, power[i], power[j]);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  static const int kinds[] = {NO_PRECOND,           TRISTAR_PRECOND_NONE, TRISTAR_PRECOND_JACOBI,
                              TRISTAR_PRECOND_SSOR, TRISTAR_PRECOND_ILU,  TRISTAR_PRECOND_IC};
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (int t = 0; t < 4; t++)
    for (int method = TRISTAR_KRYLOV_CG; method <= TRISTAR_KRYLOV_BLOCK_CG; method++)
      for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        RUN(check_method(ts, types[t], (tristar_krylov_method)method, kinds[k]));
  return 0;
}
