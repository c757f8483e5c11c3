/* Solves without null vectors: see projection.h. */
#include "runtime/iterate/refine/projection.h"

/* x -= Z Z^H x, twice against rounding errors; x as it is scaled. Gives the largest entry of Z^H x. */
static double remove_null_vectors(const tsi_projection *p, void *x) {
  const tsi_system *original = p->original;
  double largest = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < p->count; k++) {
      double share[2];
      original->kernels->dot(original->n, p->vector[k], x, share);
      tsi_team_sum_two(original->team, share);
      largest = fmax(largest, hypot(share[0], share[1]));
      original->kernels->axpy(original->n, (double[2]){-share[0], -share[1]}, p->vector[k], x);
    }
  return largest;
}

/* x = M^-1 b without null vectors, as it is scaled. x may be b. */
static tristar_status solve_scaled(const tsi_projection *p, tristar_op op, const void *b, void *x) {
  const tsi_system *original = p->original;
  const tsi_index n = original->n;
  TSI_TRY(original->functions->solve(original->context, op, 1, b, n, x, n));
  original->kernels->scale(n, x, p->column_scale, true);
  (void)remove_null_vectors(p, x);
  return original->team->failure;
}

#define MUCH 1e-3 /* of the largest entry of x */

void tsi_projection_clean(const tsi_projection *p, void *x) {
  const tsi_system *original = p->original;
  const tsi_sparse_kernels *kernels = original->kernels;
  memcpy(p->product, x, (size_t)original->n * kernels->scalar_bytes);
  kernels->scale(original->n, p->product, p->column_scale, true);
  const double share = remove_null_vectors(p, p->product);
  const double size = tsi_team_largest(original->team, kernels->largest_size(original->n, p->product));
  if (!(share > MUCH * size)) return;
  kernels->scale(original->n, p->product, p->column_scale, false);
  memcpy(x, p->product, (size_t)original->n * kernels->scalar_bytes);
}

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const tsi_projection *p = context;
  const tsi_sparse_kernels *kernels = p->original->kernels;
  for (int64_t c = 0; c < nrhs; c++) {
    char *of_x = (char *)x + (size_t)(c * ldx) * kernels->scalar_bytes;
    TSI_TRY(solve_scaled(p, op, (const char *)b + (size_t)(c * ldb) * kernels->scalar_bytes, of_x));
    kernels->scale(p->original->n, of_x, p->column_scale, false);
  }
  return TRISTAR_OK;
}

static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->take(original->context, bytes, x, all);
}

static void *room(void *context, size_t bytes) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->room(original->context, bytes);
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->give(original->context, bytes, y, add);
}

static int64_t user_row(const void *context, tristar_op op, bool of_x, tsi_index i) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->user_row(original->context, op, of_x, i);
}

/* ---- Finding null vectors ------------------------------------------------------------------------------ */

/* x /= |x|; gives |x|. */
static double normalize(const tsi_system *original, void *x) {
  const double largest = tsi_team_largest(original->team, original->kernels->largest_size(original->n, x));
  double square[2];
  if (!(largest > 0 && isfinite(largest))) return largest;
  original->kernels->multiply(original->n, x, ldexp(1, -tsi_exponent_of(largest)));
  original->kernels->dot(original->n, x, x, square);
  tsi_team_sum_two(original->team, square);
  original->kernels->multiply(original->n, x, 1 / sqrt(square[0]));
  return ldexp(sqrt(square[0]), tsi_exponent_of(largest));
}

/* product = -op(A) z for a z as it is scaled; gives the size of that, as it is scaled. */
static tristar_status multiply(const tsi_projection *p, tristar_op op, const void *z, void *unscaled,
                               double *size) {
  const tsi_system *original = p->original;
  const tsi_sparse_kernels *kernels = original->kernels;
  memcpy(unscaled, z, (size_t)original->n * kernels->scalar_bytes);
  kernels->scale(original->n, unscaled, p->column_scale, false);
  TSI_TRY(tsi_system_precise_residual(original, op, p->zero, unscaled, p->product));
  *size = tsi_team_largest(original->team, kernels->largest_scaled(original->n, p->product, p->row_scale));
  return original->team->failure;
}

/* The next null vector z: what M^-1 makes of a vector without a pattern, then a correction that leaves null
 * vectors. *found: it is one. work: n scalars. */
static tristar_status find_next(const tsi_projection *p, tristar_op op, char *z, char *work, double *real,
                                bool *found) {
  const tsi_system *original = p->original;
  const tsi_sparse_kernels *kernels = original->kernels;
  const double least = pow(kernels->epsilon, -0.4), limit = sqrt(kernels->epsilon);
  double size;
  *found = false;
  for (tsi_index i = 0; i < original->n; i++) {
    const double number = tsi_team_scatter(original->team, i) * (1 + 0.618 * p->count);
    real[i] = number - floor(number) - 0.5;
  }
  kernels->fill(original->n, real, z);
  kernels->scale(original->n, z, p->row_scale, true);
  TSI_TRY(solve_scaled(p, op, z, z));
  const double grown = normalize(original, z);
  if (!(grown > least && isfinite(grown))) return TRISTAR_OK;
  TSI_TRY(multiply(p, op, z, work, &size));
  TSI_TRY(solve_scaled(p, op, p->product, work));
  kernels->add(original->n, z, work);
  if (!isfinite(normalize(original, z))) return TRISTAR_OK;
  (void)remove_null_vectors(p, z);
  TSI_TRY(multiply(p, op, z, work, &size));
  *found = size <= limit;
  return TRISTAR_OK;
}

static tristar_status find_null_vectors(tsi_projection *p, tristar_op op) {
  const tsi_system *original = p->original;
  const tsi_count bytes = (tsi_count)original->n * (tsi_count)original->kernels->scalar_bytes;
  TSI_OWNED double *real = NULL;
  TSI_OWNED char *work = NULL;
  tristar_status status = TSI_ALLOC(original->env, real, original->n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(original->env, work, bytes);
  TSI_TRY(tsi_team_agree(original->team, status));
  while (p->count < TSI_NULL_VECTORS && p->count < original->team->n) {
    char **z = &p->vector[p->count];
    bool found;
    TSI_TRY(tsi_team_agree(original->team, TSI_ALLOC(original->env, *z, bytes)));
    TSI_TRY(find_next(p, op, *z, work, real, &found));
    if (!found) return TRISTAR_OK;
    p->count++;
  }
  return TRISTAR_OK;
}

tristar_status tsi_projection_begin(const tsi_system *original, tristar_op op, tsi_projection *p) {
  static const tsi_system_functions alone = {.solve = solve, .user_row = user_row},
                                    team = {.solve = solve,
                                            .take = take,
                                            .room = room,
                                            .give = give,
                                            .user_row = user_row};
  const tsi_count bytes = (tsi_count)original->n * (tsi_count)original->kernels->scalar_bytes;
  *p = (tsi_projection){.system = *original,
                        .original = original,
                        .row_scale = tsi_system_row_scale(original, op),
                        .column_scale = tsi_system_column_weight(original, op)};
  p->system.functions = original->functions->take ? &team : &alone;
  p->system.context = p;
  p->system.singular = false;
  tristar_status status = TSI_ALLOC_ZERO(original->env, p->zero, bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC(original->env, p->product, bytes);
  TSI_TRY(tsi_team_agree(original->team, status));
  return find_null_vectors(p, op);
}

void tsi_projection_finish(tsi_projection *p) {
  if (p->original == NULL) return;
  for (int k = 0; k < TSI_NULL_VECTORS; k++) TSI_FREE(p->original->env, p->vector[k]);
  TSI_FREE(p->original->env, p->zero);
  TSI_FREE(p->original->env, p->product);
}
