/* Small fronts (small_front.h) against the functions that factor a front piece by piece (front.h): the same
 * interchanges, and panels and Schur complements that differ by rounding errors alone. Every width, several
 * heights, every instruction set, real types, L U, L L^T and L D L^T. */
#include "codelets/cpu/small_front.h"
#include "tests/support/dense_systems.h"
#include "tests/support/subtests.h"

enum { F = TSI_SMALL_WIDTH + TSI_SMALL_ROWS, GUARD = 8 };

/* Numbers of one front in any real type. */
typedef struct memory {
  double p[F * TSI_SMALL_WIDTH], q[TSI_SMALL_WIDTH * TSI_SMALL_ROWS + 1],
      c[TSI_SMALL_ROWS * TSI_SMALL_ROWS + GUARD];
  double lower[F * TSI_SMALL_WIDTH + 64], upper[F * TSI_SMALL_WIDTH + 64];
  double inverse[2 * TSI_SMALL_WIDTH];
  tsi_index pivot[TSI_SMALL_WIDTH];
} memory;

typedef enum method { LU, LLT, LDL } method;

static const double ones[TSI_SMALL_WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* LLT: the front is positive definite. */
static tsi_front make_front(tristar_scalar scalar, method how, tsi_index w, tsi_index m, memory *out) {
  uint64_t state = (uint64_t)(64 * w + m) + 1;
  const bool lu = how == LU;
  const tsi_front front = {
      .w = w, .m = m, .f = w + m, .full = lu, .p = out->p, .q = how == LLT ? NULL : out->q, .c = out->c};
  memset(out, 0, sizeof *out);
  for (int j = 0; j < w; j++)
    for (int i = lu ? 0 : j; i < w + m; i++)
      put(scalar, out->p, i + j * (w + m),
          (long double)(int)(next_random(&state) % 2001) / 1000 - 1 + (how == LLT && i == j ? 2 * F : 0));
  for (int i = 0; i < w * m && lu; i++)
    put(scalar, out->q, i, (long double)(int)(next_random(&state) % 2001) / 1000 - 1);
  for (int i = 0; i < m * m + GUARD; i++) put(scalar, out->c, i, i % 7);
  return front;
}

static tsi_pivoting pivoting(method how, memory *m) {
  static double size[TSI_SMALL_WIDTH];
  memcpy(size, ones, sizeof size);
  return (tsi_pivoting){.column_size = size,
                        .least = -1,
                        .tiny = how == LLT ? 0 : 1e-12,
                        .inverse = how == LDL ? m->inverse : NULL};
}

/* Factors with the kernels for the pieces of a front. */
static void factor_pieces(tristar_scalar scalar, method how, const tsi_front *front, tsi_inverse inverse,
                          memory *m) {
  const tsi_front_kernels *kernels = tsi_front_kernels_select((char)scalar);
  static double work[TSI_PANEL_WIDTH_MAX * TSI_SMALL_WIDTH];
  tsi_pivoting result = pivoting(how, m);
  const tsi_index w = front->w, f = front->f;
  if (how == LDL)
    kernels->diagonal_ldl(front, 0, w, m->pivot, &result);
  else
    kernels->diagonal(front, 0, w, how == LU ? m->pivot : NULL, &result);
  CHECK(result.failed == TSI_NONE);
  if (f > w && how == LDL)
    kernels->below_ldl(front, 0, w, w, f, m->pivot, m->inverse, false);
  else if (f > w)
    kernels->below(front, 0, w, w, f);
  if (f > w && how == LU) kernels->right(front, 0, w, w, f, m->pivot);
  if (f > w) kernels->schur_all(front);
  kernels->pack(front, 0, w, inverse, m->lower, front->full ? m->upper : NULL, work);
}

/* Factors with the kernel for whole fronts. The growth of the inverses must be that of the packed panels. */
static tsi_pivoting factor_whole(tristar_scalar scalar, const char *isa, method how, const tsi_front *front,
                                 tsi_inverse inverse, memory *m) {
  const tsi_small_kernels *kernels = tsi_small_kernels_select((char)scalar, isa);
  tsi_pivoting result = pivoting(how, m);
  tsi_small_factors factors = {m->pivot, m->lower, front->full ? m->upper : NULL, inverse, &result, 0};
  (how == LU ? kernels->lu : how == LLT ? kernels->llt : kernels->ldl)(front, &factors);
  if (result.failed == TSI_NONE) {
    const tsi_front_kernels *plain = tsi_front_kernels_select((char)scalar);
    double growth = inverse == TSI_INVERSE_NONE ? 0 : plain->inverse_growth(front->w, m->lower);
    if (inverse != TSI_INVERSE_NONE && front->full)
      growth = fmax(growth, plain->inverse_growth(front->w, m->upper));
    CHECK(factors.growth == growth);
  }
  return result;
}

static void check_near(tristar_scalar scalar, int count, const double *x, const double *y) {
  long double largest = 0;
  for (int i = 0; i < count; i++) largest = fmaxl(largest, cabsl(get(scalar, y, i)));
  for (int i = 0; i < count; i++)
    CHECK(cabsl(get(scalar, x, i) - get(scalar, y, i)) <= (is_single(scalar) ? 1e-3L : 1e-11L) * largest);
}

static void check_same(tristar_scalar scalar, const char *isa, method how, tsi_index w, tsi_index m,
                       tsi_inverse inverse) {
  static memory whole, pieces;
  const bool lu = how == LU;
  const tsi_front front = make_front(scalar, how, w, m, &whole),
                  other = make_front(scalar, how, w, m, &pieces);
  const tsi_pivoting result = factor_whole(scalar, isa, how, &front, inverse, &whole);
  factor_pieces(scalar, how, &other, inverse, &pieces);
  CHECK(result.failed == TSI_NONE && result.perturbed == 0);
  for (int k = 0; k < w && how != LLT; k++) CHECK(whole.pivot[k] == pieces.pivot[k]);
  check_near(scalar, how == LDL ? 2 * w : 0, whole.inverse, pieces.inverse);
  check_near(scalar, (int)tsi_panel_size(w, m), whole.lower, pieces.lower);
  if (lu) check_near(scalar, (int)tsi_panel_size(w, m), whole.upper, pieces.upper);
  for (int j = 0; j < m; j++) {
    double x[2][TSI_SMALL_ROWS];
    for (int i = 0; i < m; i++) { /* unless L U: only the lower triangle */
      put(scalar, x[0], i, lu || i >= j ? get(scalar, whole.c, i + j * m) : 0);
      put(scalar, x[1], i, lu || i >= j ? get(scalar, pieces.c, i + j * m) : 0);
    }
    check_near(scalar, m, x[0], x[1]);
  }
  for (int i = m * m; i < m * m + GUARD; i++) CHECK(get(scalar, whole.c, i) == i % 7); /* must be unchanged */
}

static void check_sizes(tristar_scalar scalar, const char *isa, method how, tsi_inverse inverse) {
  static const tsi_index heights[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 23, TSI_SMALL_ROWS};
  for (tsi_index w = 1; w <= TSI_SMALL_WIDTH; w++)
    for (size_t k = 0; k < sizeof heights / sizeof *heights; k++)
      check_same(scalar, isa, how, w, heights[k], inverse);
}

/* Entries that are not finite, and pivots that are not positive, are reported. */
static void check_failures(tristar_scalar scalar, const char *isa) {
  static memory made;
  tsi_front front = make_front(scalar, LU, 3, 5, &made);
  put(scalar, made.q, 7, NAN);
  tsi_pivoting result = factor_whole(scalar, isa, LU, &front, TSI_INVERSE_DIAGONAL, &made);
  CHECK(result.failed == 0 && result.why == TSI_PIVOT_NOT_FINITE);
  front = make_front(scalar, LLT, 3, 5, &made);
  put(scalar, made.p, 1 + front.f, -1);
  result = factor_whole(scalar, isa, LLT, &front, TSI_INVERSE_DIAGONAL, &made);
  CHECK(result.failed == 1 && result.why == TSI_PIVOT_NOT_POSITIVE);
  front = make_front(scalar, LLT, 3, 5, &made);
  put(scalar, made.p, 6, NAN);
  result = factor_whole(scalar, isa, LLT, &front, TSI_INVERSE_DIAGONAL, &made);
  CHECK(result.failed == 0 && result.why == TSI_PIVOT_NOT_FINITE);
  front = make_front(scalar, LDL, 3, 5, &made);
  put(scalar, made.p, 6, NAN);
  result = factor_whole(scalar, isa, LDL, &front, TSI_INVERSE_DIAGONAL, &made);
  CHECK(result.failed == 0 && result.why == TSI_PIVOT_NOT_FINITE);
}

/* Small pivots are replaced by +-tiny. */
static void check_perturbed(tristar_scalar scalar, const char *isa) {
  static memory made;
  const tsi_front front = make_front(scalar, LU, 2, 0, &made);
  for (int i = 0; i < 4; i++) put(scalar, made.p, i, i == 3 ? -0x1p-45L : i == 0);
  const tsi_pivoting result = factor_whole(scalar, isa, LU, &front, TSI_INVERSE_NONE, &made);
  CHECK(result.failed == TSI_NONE && result.perturbed == 1 && result.weakest_column == 1);
  CHECK(cabsl(get(scalar, made.upper, 2) * 1e-12L + 1) < 1e-6L); /* the reciprocal of -1e-12 */
  const tsi_front definite = make_front(scalar, LDL, 2, 0, &made);
  for (int i = 0; i < 3; i++) put(scalar, made.p, i, i == 0);
  put(scalar, made.p, 3, -0x1p-45L);
  const tsi_pivoting of_ldl = factor_whole(scalar, isa, LDL, &definite, TSI_INVERSE_NONE, &made);
  CHECK(of_ldl.failed == TSI_NONE && of_ldl.perturbed == 1 && of_ldl.weakest_column == 1);
  CHECK(cabsl(get(scalar, made.inverse, 2) * 1e-12L + 1) < 1e-6L);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const char *const sets[] = {"base", "avx2", "avx512"};
  static const tristar_scalar scalars[] = {TRISTAR_SINGLE, TRISTAR_DOUBLE};
  for (int k = 0; k < 6; k++) {
    const tristar_scalar scalar = scalars[k % 2];
    const char *isa = sets[k / 2];
    if (tsi_small_kernels_select((char)scalar, isa) == NULL) continue; /* the processor does not support it */
    for (method how = LU; how <= LDL; how++) {
      RUN(check_sizes(scalar, isa, how, TSI_INVERSE_DIAGONAL));
      RUN(check_sizes(scalar, isa, how, TSI_INVERSE_NONE));
      RUN(check_sizes(scalar, isa, how, TSI_INVERSE_PARTITIONED));
    }
    RUN(check_failures(scalar, isa));
    RUN(check_perturbed(scalar, isa));
  }
  CHECK(tsi_small_kernels_select('z', NULL)->lu == NULL && tsi_small_kernels_select('c', NULL)->llt == NULL);
  return 0;
}
