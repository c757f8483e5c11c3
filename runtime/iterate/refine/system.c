/* Products with op(A): see system.h.
 *
 * Rows of op(A) that are here give their rows of the result, and read entries of x that other members have.
 * Columns that are here read x here, and give parts of results that other members have. */
#include "runtime/iterate/refine/system.h"

/* What the codelets make of a vector; b NULL but for a residual. */
typedef void product(const tsi_system *system, tristar_op op, const void *b, const void *x, void *y);

static void residual(const tsi_system *system, tristar_op op, const void *b, const void *x, void *y) {
  system->kernels->residual(&system->a, op, b, x, y);
}

static void residual_wider(const tsi_system *system, tristar_op op, const void *b, const void *x, void *y) {
  system->kernels->residual_wider(&system->a, op, b, x, y);
}

static void bound(const tsi_system *system, tristar_op op, const void *b, const void *x, void *y) {
  (void)b;
  system->kernels->bound(&system->a, op, x, y);
}

static void weigh(const tsi_system *system, tristar_op op, const void *b, const void *g, void *y) {
  (void)b;
  system->kernels->weigh(&system->a, op, g, y);
}

static void count(const tsi_system *system, tristar_op op, const void *b, const void *x, void *y) {
  (void)b;
  (void)x;
  const tsi_sparse *a = &system->a;
  tsi_index *terms = y;
  const bool mirror = a->symmetry != TRISTAR_GENERAL, lines = a->by_rows == (op == TRISTAR_N);
  for (tsi_index i = 0; i < a->n; i++) terms[i] = 1;
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      terms[lines ? j : i]++;
      if (mirror && i != j) terms[lines ? i : j]++;
    }
}

static void add_doubles(tsi_count n, const tsi_count *place, const void *from, void *to) {
  for (tsi_count i = 0; i < n; i++) ((double *)to)[place[i]] += ((const double *)from)[i];
}

static void add_indices(tsi_count n, const tsi_count *place, const void *from, void *to) {
  for (tsi_count i = 0; i < n; i++) ((tsi_index *)to)[place[i]] += ((const tsi_index *)from)[i];
}

/* A vector as the product reads or makes it; NULL: there is none. */
typedef struct operand {
  const void *vector;
  size_t bytes; /* of an entry */
} operand;

static tristar_status multiply(const tsi_system *system, product *make, tristar_op op, const void *b,
                               operand x, void *y, size_t y_bytes, tsi_add_at *add) {
  const tsi_system_functions *f = system->functions;
  const void *all = x.vector;
  void *room = y;
  const bool reads = op == TRISTAR_N && x.vector != NULL, gives = op != TRISTAR_N;
  if (reads && f->take) TSI_TRY(f->take(system->context, x.bytes, x.vector, &all));
  if (gives && f->room) room = f->room(system->context, y_bytes);
  make(system, op, b, all, room);
  if (gives && f->give) TSI_TRY(f->give(system->context, y_bytes, y, add));
  return TRISTAR_OK;
}

tristar_status tsi_system_residual(const tsi_system *system, tristar_op op, const void *b, const void *x,
                                   void *r) {
  const size_t bytes = system->kernels->scalar_bytes;
  return multiply(system, residual, op, b, (operand){x, bytes}, r, bytes, system->kernels->add_at);
}

tristar_status tsi_system_precise_residual(const tsi_system *system, tristar_op op, const void *b,
                                           const void *x, void *r) {
  const tsi_sparse_kernels *kernels = system->kernels;
  TSI_OWNED char *wider = NULL;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC_SIZED(system->env, wider, system->n, kernels->wider_bytes)));
  TSI_TRY(multiply(system, residual_wider, op, b, (operand){x, kernels->scalar_bytes}, wider,
                   kernels->wider_bytes, kernels->add_wider_at));
  kernels->narrow(system->n, wider, r);
  return TRISTAR_OK;
}

tristar_status tsi_system_bound(const tsi_system *system, tristar_op op, const void *x, double *y) {
  const operand vector = {x, system->kernels->scalar_bytes};
  return multiply(system, bound, op, NULL, vector, y, sizeof *y, add_doubles);
}

tristar_status tsi_system_weigh(const tsi_system *system, tristar_op op, const double *g, double *y) {
  return multiply(system, weigh, op, NULL, (operand){g, sizeof *g}, y, sizeof *y, add_doubles);
}

tristar_status tsi_system_count_terms(const tsi_system *system, tristar_op op, tsi_index *terms) {
  return multiply(system, count, op, NULL, (operand){NULL, 0}, terms, sizeof *terms, add_indices);
}
