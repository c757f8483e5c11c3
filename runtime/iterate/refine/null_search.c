/* Null spaces whose dimension is tested: see null_search.h. */
#include "runtime/iterate/refine/null_search.h"

#include "runtime/iterate/refine/refinement.h"

#define PROBES 3     /* probes in a row that must find nothing */
#define DOUBTS 2     /* probes in doubt that end the search if there is no other method */
#define PASSES 3     /* solves for a probe: each reduces the remainder of the previous one */
#define NOTHING 0.25 /* exponent of eps: remainder of a probe, of entries near one, if nothing is missing */
#define MISSED 0.75  /* exponent of eps: A d of a null vector d, relative to |A| |d| */
#define VECTORS 4e6  /* maximum count of numbers in the vectors of FGMRES if it makes over 30 iterations */
#define DIRECT 256   /* maximum number of unknowns of a matrix that is orthogonalized at once */
#define AT_LAST 640  /* the same, if probes leave a doubt */

typedef struct search {
  const tsi_system *system;
  tristar_op op;
  tsi_projection projection; /* its vectors are the null vectors found so far */
  tsi_refinement refinement; /* of the projection */
  tristar_refine_options options;
  bool patient;    /* a doubt would end the search without a result */
  int64_t probe;   /* number of probes so far */
  char *left;      /* n scalars: remainder of a probe, which may be a null vector, in the column scaling */
  char *x, *b, *z; /* n scalars each */
  double *real;    /* n, scratch */
} search;

static tristar_status begin(const tsi_system *system, tristar_op op, search *s) {
  const size_t bytes = (size_t)system->n * system->kernels->scalar_bytes;
  s->system = system;
  s->op = op;
  tsi_projection_use(system, &s->projection);
  TSI_TRY(tsi_refinement_begin(&s->projection.system, op, &s->refinement));
  s->refinement.residual.precise = true;
  s->patient = system->team->n > AT_LAST;
  s->options = (tristar_refine_options){
      .max_steps = 5,
      .max_iterations = s->patient ? (int)fmin(100, fmax(30, VECTORS / (double)system->team->n)) : 60};
  tristar_status status = TSI_ALLOC_SIZED(system->env, s->left, 4, bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC(system->env, s->real, system->n);
  TSI_TRY(tsi_team_agree(system->team, status));
  s->x = s->left + bytes;
  s->b = s->x + bytes;
  s->z = s->b + bytes;
  return TRISTAR_OK;
}

static void finish(search *s) {
  tsi_refinement_finish(&s->refinement);
  tsi_projection_finish(&s->projection);
  tsi_release(tsi_take(&s->left));
  tsi_release(tsi_take(&s->real));
}

static double length_of(const search *s, const void *x) {
  double square[2];
  s->system->kernels->dot(s->system->n, x, x, square);
  tsi_team_sum_two(s->system->team, square);
  return sqrt(square[0]);
}

/* x = a vector without a pattern whose entries have the mean square 1. */
static void draw(const search *s, void *x) {
  const double root = sqrt(12);
  for (tsi_index i = 0; i < s->system->n; i++)
    s->real[i] = root * tsi_null_vectors_start(s->system, s->op, i, (tsi_index)(-1 - s->probe));
  s->system->kernels->fill(s->system->n, s->real, x);
}

/* b = op(A) d, with d in the column scaling. *size: |b| relative to |op(A)| |d| in the row scaling. */
static tristar_status multiply(const search *s, const void *d, double *size) {
  const tsi_system *system = s->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  const double *row = tsi_system_row_scale(system, s->op);
  const size_t bytes = (size_t)system->n * kernels->scalar_bytes;
  double bound = 0;
  memcpy(s->x, d, bytes);
  kernels->scale(system->n, s->x, tsi_system_column_weight(system, s->op), false);
  memset(s->z, 0, bytes);
  TSI_TRY(tsi_system_precise_residual(system, s->op, s->z, s->x, s->b));
  kernels->multiply(system->n, s->b, -1);
  TSI_TRY(tsi_system_bound(system, s->op, s->x, s->real));
  for (tsi_index i = 0; i < system->n; i++) bound = tsi_larger(bound, s->real[i] * (row ? fabs(row[i]) : 1));
  bound = tsi_team_largest(system->team, bound);
  *size = tsi_team_largest(system->team, kernels->largest_scaled(system->n, s->b, row)) / bound;
  return system->team->failure;
}

/* d -= z, for a solution z of op(A) z = b. *solved: numbers stayed in range. */
static tristar_status subtract_solution(search *s, void *d, bool *solved) {
  const tsi_system *system = s->system;
  tristar_refine_result result = {.backward_error = 0};
  *solved = false;
  memcpy(s->x, s->b, (size_t)system->n * system->kernels->scalar_bytes);
  TSI_TRY(tsi_solve_in_range(&s->refinement, 1, s->x, s->z));
  const tristar_status status = tsi_refine(&s->refinement, s->b, s->z, &s->options, &result);
  if (status == TRISTAR_ERR_NOT_FINITE) return system->team->failure;
  TSI_TRY(status);
  *solved = true;
  system->kernels->scale(system->n, s->z, tsi_system_column_weight(system, s->op), true);
  system->kernels->multiply(system->n, s->z, -1);
  system->kernels->add(system->n, d, s->z);
  (void)tsi_null_vectors_remove(&s->projection.null, d);
  return system->team->failure;
}

typedef enum finding { FOUND_NOTHING, FOUND_VECTOR, FOUND_DOUBT } finding;

/* Makes a probe and returns its finding. d: its remainder. */
static tristar_status probe(search *s, void *d, finding *found) {
  const double epsilon = s->system->kernels->epsilon;
  double size;
  bool solved;
  *found = FOUND_DOUBT;
  draw(s, d);
  s->probe++;
  (void)tsi_null_vectors_remove(&s->projection.null, d);
  TSI_TRY(multiply(s, d, &size));
  for (int pass = 0; pass < PASSES; pass++) {
    TSI_TRY(subtract_solution(s, d, &solved));
    if (!solved) return TRISTAR_OK;
    const double length = length_of(s, d);
    if (length <= pow(epsilon, NOTHING)) {
      *found = FOUND_NOTHING;
      return TRISTAR_OK;
    }
    TSI_TRY(multiply(s, d, &size));
    if (size <= pow(epsilon, MISSED)) *found = FOUND_VECTOR;
    if (size <= 100 * epsilon) return TRISTAR_OK;
  }
  return TRISTAR_OK;
}

/* Makes probes until nothing is missing. Vectors are added one by one: the remainder of a probe may be mostly
 * one huge null vector, and the next probe must find the others. */
static tristar_status complete(search *s, tsi_index most) {
  tsi_null_vectors *v = &s->projection.null;
  for (int nothing = 0, doubts = 0; nothing < PROBES && v->count <= most;) {
    finding found;
    TSI_TRY(probe(s, s->left, &found));
    if (found == FOUND_NOTHING) nothing++;
    if (found == FOUND_DOUBT && ++doubts == (s->patient ? DOUBTS : 1)) {
      v->are_certain = false;
      return TRISTAR_OK;
    }
    if (found != FOUND_VECTOR) continue;
    TSI_TRY(tsi_null_vectors_add(v, s->left));
    nothing = doubts = 0;
  }
  return TRISTAR_OK;
}

static tristar_status find_and_complete(const tsi_system *system, tristar_op op, tsi_index most,
                                        tsi_null_vectors *v) {
  TSI_CLEANUP(finish) search s = {.system = NULL};
  TSI_TRY(tsi_null_vectors_find(system, op, most, true, false, &s.projection.null));
  if (!s.projection.null.are_certain) tsi_null_vectors_discard(&s.projection.null);
  TSI_TRY(begin(system, op, &s));
  TSI_TRY(complete(&s, most));
  *v = s.projection.null;
  s.projection.null = (tsi_null_vectors){.system = NULL};
  return tsi_null_vectors_unscale(v);
}

tristar_status tsi_null_search(const tsi_system *system, tristar_op op, tsi_index most, tsi_null_vectors *v) {
  const bool direct = system->team->n <= DIRECT;
  if (!direct) TSI_TRY(find_and_complete(system, op, most, v));
  const bool contradicts = v->count == 0 && system->singular; /* the verdict on the factors is singular */
  if (!direct && ((v->are_certain && !contradicts) || system->team->n > AT_LAST)) return TRISTAR_OK;
  return tsi_null_vectors_find(system, op, most, false, true, v);
}
