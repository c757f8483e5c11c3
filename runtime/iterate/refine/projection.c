/* Solves without null vectors: see projection.h. */
#include "runtime/iterate/refine/projection.h"

#define MOST_VECTORS 64

enum { OPS = 3 };

struct tsi_kept_vectors {
  pthread_mutex_t *lock;
  int64_t generation;
  bool valid[OPS][2]; /* by place_of(op) and direct: vectors are stored, or none exist */
  tsi_null_vectors null[OPS][2];
};

static int place_of(tristar_op op) {
  return op == TRISTAR_N ? 0 : op == TRISTAR_T ? 1 : 2;
}

static const double *column_scale(const tsi_projection *p) {
  return tsi_system_column_weight(p->original, p->null.op);
}

/* x = M^-1 b without null vectors, in the column scaling. x may be b. */
static tristar_status solve_scaled(const tsi_projection *p, tristar_op op, const void *b, void *x) {
  const tsi_system *original = p->original;
  const tsi_index n = original->n;
  if (!tsi_null_vectors_solve(&p->null, b, x))
    TSI_TRY(original->functions->solve(original->context, op, 1, b, n, x, n));
  original->kernels->scale(n, x, column_scale(p), true);
  (void)tsi_null_vectors_remove(&p->null, x);
  return original->team->failure;
}

#define MUCH 1e-3 /* share of the largest entry of x */

void tsi_projection_clean(const tsi_projection *p, void *x) {
  const tsi_system *original = p->original;
  const tsi_sparse_kernels *kernels = original->kernels;
  memcpy(p->scratch, x, p->null.bytes);
  kernels->scale(original->n, p->scratch, column_scale(p), true);
  const double share = tsi_null_vectors_remove(&p->null, p->scratch);
  const double size = tsi_team_largest(original->team, kernels->largest_size(original->n, p->scratch));
  if (!(share > MUCH * size)) return;
  kernels->scale(original->n, p->scratch, column_scale(p), false);
  memcpy(x, p->scratch, p->null.bytes);
}

static tristar_status solve(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const tsi_projection *p = context;
  const tsi_sparse_kernels *kernels = p->original->kernels;
  for (int64_t c = 0; c < nrhs; c++) {
    char *of_x = (char *)x + (size_t)(c * ldx) * kernels->scalar_bytes;
    TSI_TRY(solve_scaled(p, op, (const char *)b + (size_t)(c * ldb) * kernels->scalar_bytes, of_x));
    kernels->scale(p->original->n, of_x, column_scale(p), false);
  }
  return TRISTAR_OK;
}

static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->take(original->context, bytes, x, all);
}

static void *space(void *context, size_t bytes) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->space(original->context, bytes);
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return original->functions->give(original->context, bytes, y, add);
}

static int64_t user_row(const void *context, tristar_op op, bool of_x, tsi_index i) {
  const tsi_system *original = ((const tsi_projection *)context)->original;
  return tsi_system_user_row(original, op, of_x, i);
}

void tsi_projection_use(const tsi_system *original, tsi_projection *p) {
  static const tsi_system_functions alone = {.solve = solve, .user_row = user_row},
                                    team = {.solve = solve,
                                            .take = take,
                                            .space = space,
                                            .give = give,
                                            .user_row = user_row};
  p->system = *original;
  p->original = original;
  p->system.functions = original->functions->take ? &team : &alone;
  p->system.context = p;
  p->system.singular = false;
}

tristar_status tsi_kept_vectors_create(tsi_env *env, pthread_mutex_t *lock, tsi_kept_vectors **kept) {
  TSI_TRY(TSI_ALLOC_ZERO(env, *kept, 1));
  (*kept)->lock = lock;
  return TRISTAR_OK;
}

static void clear(tsi_kept_vectors *kept) {
  for (int k = 0; k < OPS; k++)
    for (int direct = 0; direct < 2; direct++) {
      tsi_null_vectors_finish(&kept->null[k][direct]);
      kept->valid[k][direct] = false;
    }
}

void tsi_kept_vectors_destroy(tsi_kept_vectors **kept) {
  if (*kept != NULL) clear(*kept);
  tsi_release(tsi_take(kept));
}

size_t tsi_kept_vectors_bytes(tsi_index n, size_t scalar_bytes) {
  const size_t vectors = tsi_null_vectors_can_be_direct(n) ? 2 * (size_t)n + 2 : 0; /* and their products */
  return (vectors + TSI_FEW_NULL_VECTORS) * (size_t)n * scalar_bytes + sizeof(tsi_kept_vectors);
}

/* Returns the vectors stored for the current values; NULL: none yet. Frees vectors of old values, which no
 * solve uses. */
static const tsi_null_vectors *find_kept(const tsi_system *system, tristar_op op, bool direct) {
  tsi_kept_vectors *kept = system->kept;
  const tsi_null_vectors *found = NULL;
  if (kept == NULL) return NULL;
  pthread_mutex_lock(kept->lock);
  if (kept->generation != system->generation) clear(kept);
  kept->generation = system->generation;
  if (kept->valid[place_of(op)][direct]) found = &kept->null[place_of(op)][direct];
  pthread_mutex_unlock(kept->lock);
  return found;
}

/* Stores these vectors, unless another thread was faster, and borrows them. */
static tristar_status keep(const tsi_system *system, tristar_op op, bool direct, tsi_null_vectors *v) {
  tsi_kept_vectors *kept = system->kept;
  const int k = place_of(op);
  if (kept == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_null_vectors_trim(v));
  pthread_mutex_lock(kept->lock);
  const bool first = !kept->valid[k][direct];
  if (first) kept->null[k][direct] = *v;
  kept->valid[k][direct] = true;
  pthread_mutex_unlock(kept->lock);
  return first ? tsi_null_vectors_borrow(&kept->null[k][direct], v->system, v) : TRISTAR_OK;
}

tristar_status tsi_projection_begin(const tsi_system *original, tristar_op op, bool direct,
                                    tsi_projection *p) {
  *p = (tsi_projection){.original = NULL};
  tsi_projection_use(original, p);
  const tsi_null_vectors *found = find_kept(original, op, direct);
  if (found != NULL)
    TSI_TRY(tsi_null_vectors_borrow(found, original, &p->null));
  else {
    TSI_TRY(tsi_null_vectors_find(original, op, MOST_VECTORS, true, direct, &p->null));
    if (!p->null.are_certain) p->null.count = 0;
    TSI_TRY(keep(original, op, direct, &p->null));
  }
  if (p->null.count == 0) return original->team->failure;
  return tsi_team_agree(original->team, TSI_ALLOC(original->env, p->scratch, p->null.bytes));
}

void tsi_projection_finish(tsi_projection *p) {
  tsi_null_vectors_finish(&p->null);
  tsi_release(tsi_take(&p->scratch));
}
