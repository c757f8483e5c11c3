/* See fgmres.h. */
#include "runtime/iterate/refine/fgmres.h"

#include <math.h>

#include "runtime/iterate/refine/hessenberg.h"

#define REDUCTION 1e-12 /* largest reduction of the residual's norm that one correction can achieve */
#define GROWTH 4        /* iterations whose vectors are allocated together */

typedef struct fgmres {
  const tsi_system *system;
  const tsi_sparse_kernels *kernels;
  tsi_index n;
  tristar_op op;
  const double *row_scale;
  double size;    /* a power of two by which r and all vectors are divided, so that no square leaves the range
                     of numbers */
  int m;          /* largest number of iterations */
  size_t column;  /* bytes of a vector */
  char **vectors; /* arrays for GROWTH iterations each: a vector of V, a vector of Z, and so on */
  char *zero;     /* a vector of zeros, for residuals -A x */
  char *unscaled; /* a vector of V as a right-hand side */
  tsi_hessenberg small; /* the least-squares problem */
} fgmres;

static char *basis(const fgmres *s, int i) {
  return s->vectors[i / GROWTH] + (size_t)(2 * (i % GROWTH)) * s->column;
}

/* Makes vector i of V and of Z, after those before. Errors: MEMORY. */
static tristar_status grow(fgmres *s, int i) {
  const tsi_system *system = s->system;
  const int left = s->m + 1 - i, more = left < GROWTH ? left : GROWTH;
  if (i % GROWTH != 0) return TRISTAR_OK;
  return tsi_team_agree(system->team,
                        TSI_ALLOC_SIZED(system->env, s->vectors[i / GROWTH], 2 * more, s->column));
}

static tristar_status allocate(tsi_env *env, fgmres *s) {
  TSI_TRY(TSI_ALLOC_ZERO(env, s->vectors, (size_t)s->m / GROWTH + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, s->zero, s->column));
  TSI_TRY(TSI_ALLOC(env, s->unscaled, s->column));
  return tsi_hessenberg_begin(env, s->m, &s->small);
}

static void release(tsi_env *env, fgmres *s) {
  for (int k = 0; s->vectors != NULL && k <= s->m / GROWTH; k++) TSI_FREE(env, s->vectors[k]);
  TSI_FREE(env, s->vectors);
  TSI_FREE(env, s->zero);
  TSI_FREE(env, s->unscaled);
  tsi_hessenberg_finish(env, &s->small);
}

/* x^H y, over all members. */
static void dot(const fgmres *s, const void *x, const void *y, double out[2]) {
  s->kernels->dot(s->n, x, y, out);
  tsi_team_sum_two(s->system->team, out);
}

static double norm(const fgmres *s, const void *x) {
  double square[2];
  dot(s, x, x, square);
  return sqrt(square[0]);
}

/* w -= (v^H w) v for the basis so far, twice (Gram-Schmidt with reorthogonalization). The factors are added
 * to column j of H. */
static void orthogonalize(const fgmres *s, int j, char *w) {
  tsi_complex *h = tsi_hessenberg_column(&s->small, j);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i <= j; i++) {
      double factor[2];
      dot(s, basis(s, i), w, factor);
      h[i] += factor[0] + factor[1] * _Complex_I;
      const double minus[2] = {-factor[0], -factor[1]};
      s->kernels->axpy(s->n, minus, basis(s, i), w);
    }
}

/* Sets `size` to a power of two near the largest entry of r, and divides r by it. */
static void normalize(fgmres *s, void *r) {
  const double largest = tsi_team_largest(s->system->team, s->kernels->largest_size(s->n, r));
  const int exponent = tsi_exponent_of(largest);
  s->size = ldexp(1, exponent);
  if (exponent != 0) s->kernels->multiply(s->n, r, ldexp(1, -exponent));
}

/* d = size Z y with R y = g and k columns. */
static void combine(fgmres *s, int k, void *d) {
  memcpy(d, s->zero, s->column);
  tsi_hessenberg_solve(&s->small, k);
  for (int i = k; i-- > 0;) {
    const double factor[2] = {creal(s->small.y[i]) * s->size, cimag(s->small.y[i]) * s->size};
    s->kernels->axpy(s->n, factor, basis(s, i) + s->column, d);
  }
}

/* Iteration j: computes the next vectors of Z and V. *size: norm of the new component of V. */
static tristar_status step(fgmres *s, int j, double *size) {
  const tsi_system *system = s->system;
  const tsi_index n = s->n;
  TSI_TRY(grow(s, j + 1));
  char *v = basis(s, j), *z = v + s->column, *w = basis(s, j + 1);
  memcpy(s->unscaled, v, s->column);
  s->kernels->scale(n, s->unscaled, s->row_scale, true);
  TSI_TRY(system->functions->solve(system->context, s->op, 1, s->unscaled, n, z, n));
  TSI_TRY(tsi_system_residual(system, s->op, s->zero, z, w));
  s->kernels->multiply(n, w, -1); /* A z */
  s->kernels->scale(n, w, s->row_scale, false);
  orthogonalize(s, j, w);
  *size = norm(s, w);
  tsi_hessenberg_column(&s->small, j)[j + 1] = *size;
  if (*size > 0 && isfinite(*size)) s->kernels->multiply(n, w, 1 / *size);
  return TRISTAR_OK;
}

/* Is the correction of j iterations good enough? reduced: the norm of the residual is small enough for it. */
static bool is_enough(fgmres *s, int j, const tsi_fgmres_judge *judge, bool reduced, void *d) {
  if (!reduced && !judge->always) return false;
  combine(s, j, d);
  return judge->enough(judge->arg, j, d) && reduced;
}

tristar_status tsi_fgmres(const tsi_system *system, tristar_op op, void *r, void *d, int max_iterations,
                          const tsi_fgmres_judge *judge, int *iterations) {
  tristar_status status = TRISTAR_OK;
  fgmres s = {.system = system,
              .kernels = system->kernels,
              .n = system->n,
              .op = op,
              .row_scale = tsi_system_row_scale(system, op),
              .m = max_iterations,
              .column = (size_t)system->n * system->kernels->scalar_bytes};
  int j = 0;
  TSI_TRY_OUT(tsi_team_agree(system->team, allocate(system->env, &s)));
  s.kernels->scale(s.n, r, s.row_scale, false);
  normalize(&s, r);
  const double first = norm(&s, r);
  if (first > 0 && isfinite(first)) {
    s.kernels->multiply(s.n, r, 1 / first);
    TSI_TRY_OUT(grow(&s, 0));
    memcpy(basis(&s, 0), r, s.column);
    tsi_hessenberg_start(&s.small, first);
    while (j < max_iterations) {
      double size;
      TSI_TRY_OUT(step(&s, j, &size));
      if (!isfinite(size)) break; /* the preconditioner overflows: use the columns so far */
      const double left = tsi_hessenberg_rotate(&s.small, j++);
      if (is_enough(&s, j, judge, left <= judge->reduction * first, d)) break;
      if (left <= REDUCTION * first || size == 0) break;
    }
  }
  combine(&s, j, d);
  *iterations = j;
  status = system->team->failure;
out:
  release(system->env, &s);
  return status;
}
