/* tristar_null_space.
 *
 * Reads   a plan.   Writes  a basis of the null space. */
#include <math.h>

#include "runtime/factor/storage.h"
#include "runtime/iterate/refine/null_search.h"
#include "runtime/iterate/refine/system_plan.h"
#include "runtime/solve/request.h"
#include "tristar_solve.h"

static tristar_status check_arguments(const tristar_plan_t *plan, tristar_op op, int64_t most,
                                      const void *basis, int64_t ld) {
  tsi_env *env = &plan->ts->env;
  const tsi_index n = plan->factor->analysis->pattern->n;
  TSI_TRY(tsi_check_op(env, op));
  TSI_TRY(tsi_analysis_need_whole(plan->factor->analysis));
  if (most < 0 || ld < n || ld < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "most is %lld, ld %lld, of %d rows", (long long)most, (long long)ld,
             (int)n);
  if (basis == NULL && most > 0 && n > 0) return TSI_NULL(basis);
  return TRISTAR_OK;
}

#define SPARSE 256 /* rows; vectors of larger matrices may have rounding errors instead of zeros */

/* Data to verify a vector: magnitudes of the entries, and arrays of rows. */
typedef struct rows {
  double *magnitude;
  void *left;         /* A v, in the next wider precision */
  long double *bound; /* |A| |v| */
  double *noise;      /* threshold for the terms of a row of a large matrix, relative to |v| */
} rows;

static void finish_rows(rows *r) {
  tsi_release(tsi_take(&r->magnitude));
  tsi_release(tsi_take(&r->left));
  tsi_release(tsi_take(&r->bound));
  tsi_release(tsi_take(&r->noise));
}

static tristar_status begin_rows(const tsi_system *system, tristar_op op, rows *r) {
  const tsi_sparse_kernels *kernels = system->kernels;
  const tsi_index n = system->n;
  const tsi_count entries = system->a.ptr[n];
  TSI_TRY(TSI_ALLOC(system->env, r->magnitude, entries));
  TSI_TRY(TSI_ALLOC_SIZED(system->env, r->left, n, kernels->wider_bytes));
  TSI_TRY(TSI_ALLOC(system->env, r->bound, n));
  TSI_TRY(TSI_ALLOC_ZERO(system->env, r->noise, n));
  kernels->part(entries, system->a.values, TSI_PART_MAGNITUDE, r->magnitude);
  if (n > SPARSE) kernels->weigh(&system->a, op, NULL, r->noise);
  return TRISTAR_OK;
}

/* Computes left and bound, whose terms may be below the range of the type. size: magnitudes of v. */
static void multiply(const tsi_system *system, tristar_op op, const char *zero, const char *v,
                     const double *size, rows *r) {
  const tsi_sparse *a = &system->a;
  const bool mirror = a->symmetry != TRISTAR_GENERAL, lines = a->by_rows == (op == TRISTAR_N);
  for (tsi_index i = 0; i < a->n; i++) r->bound[i] = 0;
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p], row = lines ? j : i, column = lines ? i : j;
      const long double magnitude = r->magnitude[p];
      r->bound[row] += magnitude * size[column];
      if (mirror && i != j) r->bound[column] += magnitude * size[row];
    }
  system->kernels->residual_wider(a, op, zero, v, r->left);
}

/* |A v| in row i. */
static long double left_in(const tsi_sparse_kernels *kernels, const rows *r, tsi_index i) {
  const size_t width = kernels->is_complex ? 2 : 1;
  long double part[2] = {0, 0};
  for (size_t k = 0; k < width; k++)
    part[k] = kernels->epsilon > 1e-10 ? ((const double *)r->left)[(size_t)i * width + k]
                                       : ((const long double *)r->left)[(size_t)i * width + k];
  return hypotl(part[0], part[1]);
}

/* Verifies the vectors in the user's units: each row of A v vanishes, and the vectors are orthonormal. If
 * units are far apart, the vectors may only satisfy the scaled matrix, or need entries below the range of
 * numbers. In a large matrix, rows whose terms are rounding errors are ignored. */
static tristar_status verify(const tsi_system *system, tristar_op op, const tsi_null_vectors *v) {
  const tsi_sparse_kernels *kernels = system->kernels;
  const double most = sqrt(kernels->epsilon);
  const tsi_index n = system->n;
  TSI_CLEANUP(finish_rows) rows r = {.left = NULL};
  if (v->count > 0) TSI_TRY(begin_rows(system, op, &r));
  for (tsi_index k = 0; k < v->count; k++) {
    const char *vector = v->vector + (size_t)k * v->bytes;
    memset(v->zero, 0, v->bytes);
    kernels->part(n, vector, TSI_PART_MAGNITUDE, v->real);
    multiply(system, op, v->zero, vector, v->real, &r);
    const double size = (double)n * kernels->epsilon * kernels->largest_size(n, vector);
    for (tsi_index i = 0; i < n; i++) {
      const long double left = left_in(kernels, &r, i);
      if (!(left <= most * r.bound[i] || left <= (long double)size * r.noise[i]))
        TSI_FAIL(
            system->env, TRISTAR_ERR_ACCURACY,
            "the null space is unknown: row %d (counted from 0) of A v is %.1Le times |A| |v| for a vector v "
            "that the scaled matrix has as a null vector",
            i, left / r.bound[i]);
    }
    for (tsi_index other = 0; other <= k; other++) {
      double product[2];
      kernels->dot(n, v->vector + (size_t)other * v->bytes, vector, product);
      if (!(hypot(product[0] - (other == k), product[1]) <= most))
        TSI_FAIL(system->env, TRISTAR_ERR_ACCURACY, "%s",
                 "the null space is unknown: the vectors that were found are not orthonormal in these units");
    }
  }
  return TRISTAR_OK;
}

static tristar_status find(const tsi_system *system, tristar_op op, tsi_index most, void *basis,
                           size_t step_bytes, int64_t *count) {
  TSI_CLEANUP(tsi_null_vectors_finish) tsi_null_vectors v = {0};
  TSI_TRY(tsi_null_search(system, op, most, &v));
  if (isinf(v.error))
    TSI_FAIL(system->env, TRISTAR_ERR_NOT_FINITE, "the search for null vectors leaves the range of numbers");
  if (!v.are_certain && v.error <= pow(system->kernels->epsilon, 0.75))
    TSI_FAIL(
        system->env, TRISTAR_ERR_ACCURACY, "%s",
        "the null space is unknown: solves with the factors are not accurate enough to show that no null "
        "vector is missing");
  if (!v.are_certain)
    TSI_FAIL(system->env, TRISTAR_ERR_ACCURACY,
             "the null space is unknown: a vector v that the factors leave as a null vector has A v of %.1e "
             "times |A| |v|",
             v.error);
  if (v.count > most)
    TSI_FAIL(system->env, TRISTAR_ERR_ARGUMENT, "the null space has more than %d dimensions", (int)most);
  if (v.count == 0 && system->singular && !v.direct)
    TSI_FAIL(system->env, TRISTAR_ERR_ACCURACY, "%s",
             "the null space is unknown: the matrix is singular, but no null vector was found");
  TSI_TRY(verify(system, op, &v));
  for (tsi_index k = 0; k < v.count; k++)
    memcpy((char *)basis + (size_t)k * step_bytes, v.vector + (size_t)k * v.bytes, v.bytes);
  *count = v.count;
  return TRISTAR_OK;
}

tristar_status tristar_null_space(tristar_plan_t *plan, tristar_op op, int64_t most, void *basis, int64_t ld,
                                  int64_t *count) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_system s;
  TSI_ENTER(plan, plan->ts);
  if (count == NULL) return TSI_NULL(count);
  *count = 0;
  TSI_TRY_OUT(check_arguments(plan, op, most, basis, ld));
  TSI_TRY_OUT(tsi_plan_system_create(plan, &s));
  if (s.system.rounded)
    TSI_FAIL_OUT(&plan->ts->env, TRISTAR_ERR_UNSUPPORTED,
                 "null vectors need the factor itself, which a plan with storage in %s does not read",
                 tsi_storage_words(&plan->options));
  const tsi_index n = s.system.n;
  if (!plan->factor->analysis->imported && !plan->factor->stats.singular)
    goto out; /* the verdict is regular */
  status = find(&s.system, op, most < n ? (tsi_index)most : n, basis, (size_t)ld * plan->factor->user_bytes,
                count);
out:
  return tsi_answer(&plan->ts->env, status);
}
