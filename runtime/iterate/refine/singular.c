/* The verdict on a solution of a singular system: tsi_refine_singular (refinement.h).
 *
 * Job. Null vectors in x can hide that b has a component outside of the range of A, in rows that the factors
 * scale down. They can also be so large that rounding errors of A x exceed b. A solution without null vectors
 * settles both cases: its backward error is large if b has such a component, in any row scaling. It replaces
 * an x that is worse, or large relative to b. It is not needed if the residual is small in any row scaling.
 * An x that stays large has at least the residual that rounding errors of A x cause. If units differ widely,
 * the solution without null vectors is used if it solves the system: x may be large in some unknowns although
 * its norm is not.
 *
 * Blocks that share neither rows nor unknowns, such as the components of a graph, are separate systems. A
 * scaling may make all entries of b and x of a block large or small relative to other blocks. So sizes are
 * compared within a block, and blocks are solved together only if their b have similar sizes.
 *
 * Reads   a system, b.   Writes  x, its own work arrays. */
#include <math.h>

#include "runtime/iterate/refine/fgmres.h"
#include "runtime/iterate/refine/refinement.h"

#define LARGE 100   /* |A| |x| relative to b: x may contain null vectors if it exceeds LARGE and */
#define DIGITS 0.25 /* this power of 1 / eps */
#define TOGETHER 6  /* exponent of two: ratio of the b of blocks that are solved together */

/* The backward error of x. Rows whose unknowns consist of rounding errors have an error of about 1. So the
 * error is also computed for x without such unknowns; the better x is kept. copy: scratch. */
static tristar_status look_without_noise(const tsi_refinement *projected, const tsi_projection *projection,
                                         const void *b, void *x, void *copy, double *error) {
  const size_t bytes = (size_t)projected->system->n * projected->kernels->scalar_bytes;
  double other;
  TSI_TRY(tsi_residual_find(&projected->residual, b, x, error));
  if (*error <= sqrt(projected->kernels->epsilon)) return TRISTAR_OK;
  memcpy(copy, x, bytes);
  tsi_null_vectors_drop_noise(&projection->null, x);
  TSI_TRY(tsi_residual_find(&projected->residual, b, x, &other));
  if (!(other < *error)) memcpy(x, copy, bytes);
  *error = fmin(*error, other);
  return TRISTAR_OK;
}

static bool is_solved(const tsi_refinement *r, const tristar_refine_result *found) {
  const double limit = sqrt(r->kernels->epsilon);
  return found->backward_error <= limit && found->residual <= limit;
}

/* Refines x, the solution without null vectors. Computes its backward error, and its residual in the scaling
 * of the factors. copy: scratch. */
static tristar_status refine_projected(tsi_refinement projected, const tsi_projection *projection,
                                       const void *b, void *x, void *copy,
                                       const tristar_refine_options *options, tristar_refine_result *result) {
  *result = (tristar_refine_result){.backward_error = 0};
  tristar_status status = tsi_refine(&projected, b, x, options, result);
  if (status == TRISTAR_ERR_NOT_FINITE) {
    result->backward_error = INFINITY;
    return TRISTAR_OK;
  }
  TSI_TRY(status);
  tsi_projection_clean(projection, x);
  projected.residual.strict = projected.uneven;
  return look_without_noise(&projected, projection, b, x, copy, &result->backward_error);
}

/* Computes x, the solution without null vectors, and its errors. FGMRES may find an x that is large although
 * null vectors are removed: large terms of A x make its backward error small. Then x is computed without
 * FGMRES. The second result replaces the first, even if it is worse. If the first error is small, x is large,
 * which proves nothing. Otherwise the second error can only make the verdict milder. */
static tristar_status solve_projected(const tsi_refinement *r, tsi_projection *projection, const void *b,
                                      void *x, const tristar_refine_options *options,
                                      tristar_refine_result *result) {
  const size_t bytes = (size_t)r->system->n * r->kernels->scalar_bytes;
  tristar_refine_options corrections = *options;
  TSI_OWNED char *copy = NULL;
  TSI_TRY(tsi_team_agree(r->system->team, TSI_ALLOC_SIZED(r->system->env, copy, 2, bytes)));
  char *first = copy + bytes;
  memcpy(copy, b, bytes);
  tsi_refinement projected = *r;
  projected.system = projected.residual.system = &projection->system;
  projected.residual.precise = true;
  TSI_TRY(tsi_solve_in_range(&projected, 1, copy, x));
  memcpy(first, x, bytes);
  TSI_TRY(refine_projected(projected, projection, b, x, copy, options, result));
  if (is_solved(r, result) || options->max_iterations == 0) return TRISTAR_OK;
  corrections.max_iterations = 0;
  memcpy(x, first, bytes);
  return refine_projected(projected, projection, b, x, copy, &corrections, result);
}

/* ---- Blocks -------------------------------------------------------------------------------------------- */

/* Sizes that are measured for each block. */
typedef enum size { SIZE_B, SIZE_RESIDUAL, SIZE_TERMS, SIZES } size;

typedef struct blocks {
  const tsi_refinement *r;
  tsi_index *of; /* 2 n: block of each row, then of each unknown */
  tsi_index count;
  double *largest[SIZES]; /* count each: largest entries of b, b - A x and |A| |x| */
  tsi_index *group;       /* count: blocks with the same number, from 1 on, are solved together */
  double *real;           /* n, scratch */
  char *b, *x, *other;    /* n scalars each: b and x of a group; scratch */
} blocks;

static void finish(blocks *k) {
  tsi_release(tsi_take(&k->of));
  for (int which = 0; which < SIZES; which++) tsi_release(tsi_take(&k->largest[which]));
  tsi_release(tsi_take(&k->group));
  tsi_release(tsi_take(&k->real));
  tsi_release(tsi_take(&k->b));
  tsi_release(tsi_take(&k->x));
  tsi_release(tsi_take(&k->other));
}

static tsi_index root_of(tsi_index *parent, tsi_index i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void unite(tsi_index *parent, tsi_index one, tsi_index other) {
  one = root_of(parent, one);
  other = root_of(parent, other);
  parent[one > other ? one : other] = one > other ? other : one;
}

/* Finds the blocks. Stored zeros connect nothing. A distributed matrix counts as one block, and so does one
 * with too many rows. */
static void find_blocks(blocks *k) {
  const tsi_system *system = k->r->system;
  const tsi_sparse_kernels *kernels = k->r->kernels;
  const tsi_sparse *a = &system->a;
  const tsi_index n = system->n;
  const bool lines = a->by_rows == (k->r->op == TRISTAR_N),
             alone = system->functions->take == NULL && n <= INT32_MAX / 2;
  for (tsi_count i = 0; i < 2 * (tsi_count)n; i++) k->of[i] = alone ? (tsi_index)i : 0;
  for (tsi_index j = 0; j < n && alone; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      double value;
      kernels->part(1, (const char *)a->values + (size_t)p * kernels->scalar_bytes, TSI_PART_MAGNITUDE,
                    &value);
      if (value == 0) continue;
      unite(k->of, lines ? j : i, n + (lines ? i : j));
      if (a->symmetry != TRISTAR_GENERAL) unite(k->of, lines ? i : j, n + (lines ? j : i));
    }
  for (tsi_index i = 0; alone && i < 2 * n; i++) /* the root of a block has its smallest number */
    k->of[i] = k->of[i] == i ? k->count++ : k->of[k->of[i]];
  if (!alone) k->count = 1;
}

static tristar_status begin(const tsi_refinement *r, blocks *k) {
  tsi_env *env = r->system->env;
  const tsi_count n = r->system->n;
  k->r = r;
  tristar_status status = TSI_ALLOC(env, k->of, 2 * n);
  if (status == TRISTAR_OK) find_blocks(k);
  for (int which = 0; which < SIZES && status == TRISTAR_OK; which++)
    status = TSI_ALLOC(env, k->largest[which], k->count);
  if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, k->group, k->count);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, k->real, n);
  return tsi_team_agree(r->system->team, status);
}

static tristar_status begin_groups(blocks *k) {
  tsi_env *env = k->r->system->env;
  const size_t bytes = (size_t)k->r->system->n * k->r->kernels->scalar_bytes;
  tristar_status status = TSI_ALLOC(env, k->b, bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, k->x, bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, k->other, bytes);
  return tsi_team_agree(k->r->system->team, status);
}

/* Computes the largest |scale_i value_i| of each block. */
static void measure(const blocks *k, const double *value, const double *scale, size which) {
  double *largest = k->largest[which];
  for (tsi_index c = 0; c < k->count; c++) largest[c] = 0;
  for (tsi_index i = 0; i < k->r->system->n; i++) {
    const double one = value[i] * (scale ? fabs(scale[i]) : 1);
    largest[k->of[i]] = tsi_larger(largest[k->of[i]], one);
  }
  for (tsi_index c = 0; c < k->count; c++) largest[c] = tsi_team_largest(k->r->system->team, largest[c]);
}

/* The largest ratio to b of the same block; if that b is zero, to the whole b. */
static double share_of_b(const blocks *k, size which) {
  double share = 0, whole = 0;
  for (tsi_index c = 0; c < k->count; c++) whole = fmax(whole, k->largest[SIZE_B][c]);
  for (tsi_index c = 0; c < k->count; c++) {
    const double b = k->largest[SIZE_B][c], one = k->largest[which][c];
    if (one != 0) share = tsi_larger(share, one / (b > 0 ? b : whole));
  }
  return share;
}

/* Ratios to b. */
typedef struct shares {
  double residual, terms; /* of b - A x and |A| |x|, in the row scaling */
  double plain_terms;     /* of |A| |x| without a scaling */
} shares;

/* Computes the ratios for x; r->residual belongs to x. */
static tristar_status look(const blocks *k, const void *b, shares *s) {
  const tsi_refinement *r = k->r;
  const tsi_index n = r->system->n;
  for (int plain = 1; plain >= 0; plain--) { /* last in the row scaling, which take_group() needs */
    const double *scale = plain ? NULL : r->row_scale;
    r->kernels->part(n, b, TSI_PART_MAGNITUDE, k->real);
    measure(k, k->real, scale, SIZE_B);
    measure(k, r->residual.bound, scale, SIZE_TERMS);
    *(plain ? &s->plain_terms : &s->terms) = share_of_b(k, SIZE_TERMS);
  }
  r->kernels->part(n, r->residual.vector, TSI_PART_MAGNITUDE, k->real);
  measure(k, k->real, r->row_scale, SIZE_RESIDUAL);
  s->residual = share_of_b(k, SIZE_RESIDUAL);
  return r->system->team->failure;
}

/* ---- Verdict ------------------------------------------------------------------------------------------- */

/* Is x so large that it may contain null vectors? */
static bool is_large(const tsi_refinement *r, double terms) {
  return !(terms <= fmax(LARGE, pow(r->kernels->epsilon, -DIGITS)));
}

/* Tries projections for k->b: first with the factors. For a small system the direct one follows if that gave
 * no solution, or one that is large because null vectors were missed. The direct one misses none: its result
 * replaces the first, unless only the first is a solution. found: errors of k->x; *tried: k->x was
 * computed. */
static tristar_status try_projections(const blocks *k, const tristar_refine_options *options,
                                      tristar_refine_result *found, bool *tried) {
  const tsi_refinement *r = k->r;
  bool done = false;
  *tried = false;
  for (int direct = 0; direct < 2 && !done && (!direct || tsi_null_vectors_can_be_direct(r->system->team->n));
       direct++) {
    tsi_projection *projection = &r->projection[direct];
    tristar_refine_result one;
    if (projection->original == NULL) TSI_TRY(tsi_projection_begin(r->system, r->op, direct, projection));
    if (projection->null.count == 0) continue;
    TSI_TRY(solve_projected(r, projection, k->b, k->other, options, &one));
    if (*tried && is_solved(r, found) && !is_solved(r, &one)) break;
    measure(k, r->residual.bound, r->row_scale, SIZE_TERMS);
    memcpy(k->x, k->other, (size_t)r->system->n * r->kernels->scalar_bytes);
    *found = one;
    *tried = true;
    done = is_solved(r, found) && !is_large(r, share_of_b(k, SIZE_TERMS));
  }
  return TRISTAR_OK;
}

/* Assigns this group to blocks without a group whose b is near the largest. Returns false if all the others
 * have b = 0. */
static bool take_group(const blocks *k, tsi_index group) {
  double largest = 0;
  for (tsi_index c = 0; c < k->count; c++)
    if (k->group[c] == 0) largest = fmax(largest, k->largest[SIZE_B][c]);
  for (tsi_index c = 0; c < k->count && largest > 0; c++)
    if (k->group[c] == 0 && k->largest[SIZE_B][c] >= ldexp(largest, -TOGETHER)) k->group[c] = group;
  return largest > 0;
}

/* Sets entries of other groups to zero. of: block of each entry. */
static void leave_group(const blocks *k, const tsi_index *of, tsi_index group, void *x) {
  const tsi_index n = k->r->system->n;
  for (tsi_index i = 0; i < n; i++) k->real[i] = k->group[of[i]] == group;
  k->r->kernels->scale(n, x, k->real, false);
}

/* x = a solution without null vectors, group by group; zero in blocks with b = 0. found: the largest errors;
 * *tried: all groups could be tried. */
static tristar_status solve_groups(blocks *k, const void *b, void *x, const tristar_refine_options *options,
                                   tristar_refine_result *found, bool *tried) {
  const tsi_refinement *r = k->r;
  const tsi_index n = r->system->n;
  const size_t bytes = (size_t)n * r->kernels->scalar_bytes;
  *tried = true;
  TSI_TRY(begin_groups(k));
  memset(x, 0, bytes);
  for (tsi_index group = 1; *tried && take_group(k, group); group++) {
    tristar_refine_result one = {.backward_error = INFINITY};
    memcpy(k->b, b, bytes);
    leave_group(k, k->of, group, k->b);
    TSI_TRY(try_projections(k, options, &one, tried));
    leave_group(k, k->of + n, group, k->x);
    r->kernels->add(n, x, k->x);
    found->backward_error = tsi_larger(found->backward_error, one.backward_error);
    found->residual = tsi_larger(found->residual, one.residual);
  }
  return TRISTAR_OK;
}

tristar_status tsi_refine_singular(const tsi_refinement *r, const void *b, void *x,
                                   const tristar_refine_options *options, double *error, double *residual) {
  const double limit = sqrt(r->kernels->epsilon);
  const tristar_refine_options plain = {.max_steps = options->max_steps,
                                        .max_iterations = options->max_iterations};
  tristar_refine_result found = {.backward_error = 0};
  TSI_CLEANUP(finish) blocks k = {.r = r};
  shares s;
  bool tried;
  TSI_OWNED char *other = NULL;
  TSI_TRY(begin(r, &k));
  TSI_TRY(look(&k, b, &s)); /* if x is not large, rounding errors of its residual are small relative to b */
  *residual = tsi_larger(*residual, s.residual);
  const bool large = is_large(r, tsi_larger(s.terms, s.plain_terms));
  const bool fine = *residual <= limit && *error <= limit;
  if (!r->uneven && !large && fine && *residual * r->spread <= limit) return TRISTAR_OK;
  const size_t bytes = (size_t)r->system->n * r->kernels->scalar_bytes;
  TSI_TRY(tsi_team_agree(r->system->team, TSI_ALLOC(r->system->env, other, bytes)));
  TSI_TRY(solve_groups(&k, b, other, &plain, &found, &tried));
  if (!tried && *residual > 0) *residual *= r->spread;
  if (tried && is_solved(r, &found) && (large || !fine || r->uneven)) {
    memcpy(x, other, bytes);
    *residual = found.residual;
  }
  if (tried && !(found.backward_error <= limit)) *residual = tsi_larger(*residual, found.backward_error);
  TSI_TRY(tsi_residual_find(&r->residual, b, x, error));
  TSI_TRY(tsi_system_precise_residual(r->system, r->op, b, x, r->residual.vector));
  TSI_TRY(look(&k, b, &s));
  *residual = tsi_larger(*residual, tsi_larger(s.residual, r->kernels->epsilon * s.terms));
  return TRISTAR_OK;
}

size_t tsi_refine_singular_bytes(tsi_index n, size_t scalar_bytes) {
  const size_t fgmres = 2 * (TSI_FGMRES_ITERATIONS + 1) + 2,
               vectors = 5 + 4 + 2 + 3, /* refinement, blocks, projection, copies of b and of two x */
      reals = 12;                       /* sizes, scalings, blocks */
  return (size_t)n * ((fgmres + vectors) * scalar_bytes + reals * sizeof(double));
}
