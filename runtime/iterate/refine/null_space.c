/* A basis of the null space of op(A), by what factors of a perturbed A leave out.
 *
 * Job. Where B are the factors, u - B^-1 (A u) has the null vectors of A that u has; what else u has shrinks
 * by the errors of the factors, beside A. So a block of vectors without a pattern spans the null space after
 * a few steps, if it has enough columns: it is doubled until at least SPARE of them depend on others. (With
 * fewer, a null vector could be so weak in all columns that it is missed.) A last step and a comparison with
 * |A| |v| decide whether the vectors are null vectors.
 *
 * Reads   a system.   Writes  the basis, and work of its own.
 * Source  block inverse iteration; Golub and Van Loan, Matrix Computations, section 8.2. */
#include <math.h>

#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/request.h"
#include "tristar_solve.h"

#define STEPS 3
#define FIRST_COLUMNS 8
#define SPARE 4
#define DEPENDENT 0.25   /* exponent of eps: that share of what a column has of a null vector is nothing */
#define NULL_VECTOR 0.75 /* the same: |A v| beside |A| |v| */

/* Vectors of the user's scalar type, one behind the other. */
typedef struct block {
  const tsi_system *system;
  tristar_op op;
  tsi_index columns;
  size_t bytes; /* of a column */
  char *x, *r;  /* columns */
  char *zero;   /* one column */
  double *real; /* n, scratch */
} block;

static void *column_of(const block *b, char *array, tsi_index column) {
  return array + (size_t)column * b->bytes;
}

static void finish(block *b) {
  tsi_release(tsi_take(&b->x));
  tsi_release(tsi_take(&b->r));
  tsi_release(tsi_take(&b->zero));
  tsi_release(tsi_take(&b->real));
}

/* In [-1/2, 1/2): numbers with no pattern that a matrix has. */
static double scatter(tsi_index i, tsi_index column) {
  const uint64_t mixed =
      ((uint64_t)(uint32_t)i << 32 | (uint32_t)column) * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x5851f42d);
  return ldexp((double)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 11), -53) - 0.5;
}

/* Makes the block. The unknowns have the sizes that the scaling of the columns gives them. */
static tristar_status begin(const tsi_system *system, tristar_op op, tsi_index columns, block *b) {
  const double *weight = tsi_system_column_weight(system, op);
  *b = (block){.system = system, .op = op, .columns = columns};
  b->bytes = (size_t)system->n * system->kernels->scalar_bytes;
  TSI_TRY(TSI_ALLOC_SIZED(system->env, b->x, columns, b->bytes));
  TSI_TRY(TSI_ALLOC_SIZED(system->env, b->r, columns, b->bytes));
  TSI_TRY(TSI_ALLOC_SIZED(system->env, b->zero, 1, b->bytes));
  TSI_TRY(TSI_ALLOC(system->env, b->real, system->n));
  memset(b->zero, 0, b->bytes);
  for (tsi_index k = 0; k < columns; k++) {
    for (tsi_index i = 0; i < system->n; i++) b->real[i] = scatter(i, k);
    system->kernels->fill(system->n, b->real, column_of(b, b->x, k));
    system->kernels->scale(system->n, column_of(b, b->x, k), weight, false);
  }
  return TRISTAR_OK;
}

/* X = X - B^-1 A X */
static tristar_status step(const block *b) {
  const tsi_system *system = b->system;
  for (tsi_index k = 0; k < b->columns; k++)
    TSI_TRY(tsi_system_residual(system, b->op, b->zero, column_of(b, b->x, k), column_of(b, b->r, k)));
  TSI_TRY(system->functions->solve(system->context, b->op, b->columns, b->r, system->n, b->r, system->n));
  for (tsi_index k = 0; k < b->columns; k++)
    system->kernels->add(system->n, column_of(b, b->x, k), column_of(b, b->r, k));
  const tsi_count entries = (tsi_count)b->columns * system->n;
  if (system->kernels->first_not_finite(entries, b->x) < entries)
    TSI_FAIL(system->env, TRISTAR_ERR_NOT_FINITE, "the search for null vectors leaves the range of numbers");
  return TRISTAR_OK;
}

static double length_of(const block *b, const void *x) {
  double out[2];
  b->system->kernels->dot(b->system->n, x, x, out);
  return sqrt(out[0]);
}

/* Takes what column `from`, of length one, has of column `to`. Twice, as the first time leaves errors. */
static void make_orthogonal(const block *b, tsi_index from, tsi_index to) {
  const tsi_sparse_kernels *kernels = b->system->kernels;
  for (int time = 0; time < 2; time++) {
    double out[2];
    kernels->dot(b->system->n, column_of(b, b->x, from), column_of(b, b->x, to), out);
    kernels->axpy(b->system->n, (const double[]){-out[0], -out[1]}, column_of(b, b->x, from),
                  column_of(b, b->x, to));
  }
}

/* The longest column from `first` on; its length. */
static tsi_index longest(const block *b, tsi_index first, double *length) {
  tsi_index best = first;
  *length = -1;
  for (tsi_index k = first; k < b->columns; k++) {
    const double one = length_of(b, column_of(b, b->x, k));
    if (one > *length) best = k;
    if (one > *length) *length = one;
  }
  return best;
}

/* The first columns become orthonormal, those are left out that depend on them: shorter than `least` then. */
static void orthonormalize(block *b, double least) {
  double length;
  for (tsi_index k = 0; k < b->columns; k++) {
    const tsi_index best = longest(b, k, &length);
    if (!(length > least)) {
      b->columns = k;
      return;
    }
    if (best != k) {
      memcpy(b->r, column_of(b, b->x, k), b->bytes);
      memcpy(column_of(b, b->x, k), column_of(b, b->x, best), b->bytes);
      memcpy(column_of(b, b->x, best), b->r, b->bytes);
    }
    b->system->kernels->multiply(b->system->n, column_of(b, b->x, k), 1 / length);
    for (tsi_index other = k + 1; other < b->columns; other++) make_orthogonal(b, k, other);
  }
}

/* Leaves a basis of what the steps have kept, as the unknowns are scaled. */
static void find_rank(block *b) {
  const tsi_system *system = b->system;
  const double *weight = tsi_system_column_weight(system, b->op);
  for (tsi_index k = 0; k < b->columns; k++)
    system->kernels->scale(system->n, column_of(b, b->x, k), weight, true);
  const double usual = sqrt(1.0 / 12); /* of a null vector of length one in a column of `begin` */
  orthonormalize(b, usual * pow(system->kernels->epsilon, DEPENDENT));
  for (tsi_index k = 0; k < b->columns; k++)
    system->kernels->scale(system->n, column_of(b, b->x, k), weight, false);
}

/* Are these null vectors, but for rounding errors? */
static tristar_status check_basis(const block *b) {
  const tsi_system *system = b->system;
  const double *row = tsi_system_row_scale(system, b->op);
  for (tsi_index k = 0; k < b->columns; k++) {
    double size = 0;
    TSI_TRY(tsi_system_residual(system, b->op, b->zero, column_of(b, b->x, k), b->r));
    TSI_TRY(tsi_system_bound(system, b->op, column_of(b, b->x, k), b->real));
    for (tsi_index i = 0; i < system->n; i++) size = fmax(size, b->real[i] * (row ? fabs(row[i]) : 1));
    const double left = system->kernels->largest_scaled(system->n, b->r, row);
    if (!(left <= size * pow(system->kernels->epsilon, NULL_VECTOR)))
      TSI_FAIL(
          system->env, TRISTAR_ERR_ACCURACY,
          "the null space is unknown: a vector v that the factors leave as a null vector has A v of %.1e "
          "times |A| |v|",
          left / size);
  }
  return TRISTAR_OK;
}

/* Of a block of so many columns. *whole: it holds all of the null space. */
static tristar_status search(const tsi_system *system, tristar_op op, tsi_index columns, block *b,
                             bool *whole) {
  TSI_TRY(begin(system, op, columns, b));
  for (int k = 0; k < STEPS; k++) TSI_TRY(step(b));
  find_rank(b);
  *whole = b->columns + SPARE <= columns || columns == system->n;
  if (!*whole || b->columns == 0) return TRISTAR_OK;
  TSI_TRY(step(b));
  orthonormalize(b, 0);
  return check_basis(b);
}

static tristar_status find(const tsi_system *system, tristar_op op, tsi_index most, void *basis,
                           size_t step_bytes, int64_t *count) {
  bool whole = system->n == 0;
  for (tsi_index columns = tsi_index_min(FIRST_COLUMNS, system->n); !whole;
       columns = tsi_index_min(2 * columns, system->n)) {
    TSI_CLEANUP(finish) block b = {.system = system};
    const tsi_index tried =
        tsi_index_min(columns, most > system->n - SPARE - 1 ? system->n : most + SPARE + 1);
    TSI_TRY(search(system, op, tried, &b, &whole));
    if (b.columns > most)
      TSI_FAIL(system->env, TRISTAR_ERR_ARGUMENT, "the null space has more than %d dimensions", (int)most);
    for (tsi_index k = 0; whole && k < b.columns; k++)
      memcpy((char *)basis + (size_t)k * step_bytes, column_of(&b, b.x, k), b.bytes);
    *count = b.columns;
  }
  return TRISTAR_OK;
}

static tristar_status check_arguments(const tristar_plan_t *plan, tristar_op op, int64_t most,
                                      const void *basis, int64_t ld) {
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  TSI_TRY(tsi_check_op(env, op));
  if (most < 0 || ld < n || ld < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "most is %lld, ld %lld, of %d rows", (long long)most, (long long)ld,
             (int)n);
  if (basis == NULL && most > 0 && n > 0) return TSI_NULL(basis);
  return TRISTAR_OK;
}

tristar_status tristar_null_space(tristar_plan_t *plan, tristar_op op, int64_t most, void *basis, int64_t ld,
                                  int64_t *count) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_system s;
  int64_t found = 0;
  TSI_ENTER(plan, plan->ts);
  if (count == NULL) return TSI_NULL(count);
  *count = 0;
  TSI_TRY_OUT(check_arguments(plan, op, most, basis, ld));
  TSI_TRY_OUT(tsi_plan_system_create(plan, &s));
  const tsi_index n = s.system.n;
  status = find(&s.system, op, most < n ? (tsi_index)most : n, basis, (size_t)ld * plan->factor->user_bytes,
                &found);
  if (status == TRISTAR_OK) *count = found;
out:
  return tsi_answer(&plan->ts->env, status);
}
