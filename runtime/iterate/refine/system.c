/* Products with op(A): see system.h.
 *
 * With op N, a member computes its rows of the result and reads entries of x of other members. With T and C,
 * its rows of A are columns of op(A): it reads its own x, and adds contributions to entries of other
 * members. */
#include "runtime/iterate/refine/system.h"

#include "runtime/factor/scaling_work.h"

/* A product by the codelets. b is NULL except for a residual. */
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

/* A vector that a product reads; NULL: none. */
typedef struct operand {
  const void *vector;
  size_t bytes; /* size of an entry */
} operand;

static tristar_status multiply(const tsi_system *system, product *make, tristar_op op, const void *b,
                               operand x, void *y, size_t y_bytes, tsi_add_at *add) {
  const tsi_system_functions *f = system->functions;
  const void *all = x.vector;
  void *space = y;
  const bool reads = op == TRISTAR_N && x.vector != NULL, gives = op != TRISTAR_N;
  if (reads && f->take) TSI_TRY(f->take(system->context, x.bytes, x.vector, &all));
  if (gives && f->space) space = f->space(system->context, y_bytes);
  make(system, op, b, all, space);
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

/* ---- Scaling without units ----------------------------------------------------------------------------- */

/* The scaling if all entries are on this process. */
static tristar_status bring_all_together(const tsi_system *system, double *row, double *column) {
  const tsi_sparse *a = &system->a;
  const tsi_index n = a->n;
  TSI_OWNED double *magnitude = NULL;
  TSI_OWNED int *exponent = NULL;
  const tsi_scaling_lines lines = {.n = n,
                                   .count = n,
                                   .by_rows = a->by_rows,
                                   .mirror = a->symmetry != TRISTAR_GENERAL,
                                   .ptr = a->ptr,
                                   .index = a->index};
  TSI_TRY(TSI_ALLOC(system->env, magnitude, a->ptr[n]));
  TSI_TRY(TSI_ALLOC(system->env, exponent, a->ptr[n] + 2 * (tsi_count)n));
  system->kernels->part(a->ptr[n], a->values, TSI_PART_MAGNITUDE, magnitude);
  for (tsi_count p = 0; p < a->ptr[n]; p++) exponent[p] = tsi_scaling_exponent(magnitude[p]);
  tsi_scaling s = {.env = system->env,
                   .lines = &lines,
                   .exponent = exponent,
                   .symmetric = lines.mirror,
                   .row = exponent + a->ptr[n],
                   .column = exponent + a->ptr[n] + (lines.mirror ? 0 : n)};
  TSI_TRY(tsi_scaling_bring_together(&s));
  for (tsi_index i = 0; i < n; i++) {
    row[i] = tsi_scaling_power(s.row[i]);
    column[i] = tsi_scaling_power(s.column[i]);
  }
  return TRISTAR_OK;
}

/* Sums for distributed rows. Lines are the rows of this process, followed by the columns of its entries of
 * vectors. */
typedef struct shared_squares {
  const tsi_system *system;
  const int *exponent; /* Exponent of each entry. */
  const double *count; /* Number of entries of each line. */
  tristar_status failure;
} shared_squares;

/* What each entry adds to the sum of its line. */
typedef enum addend { ADD_ONES, ADD_EXPONENTS, ADD_CROSSING } addend;

static double addend_of(const shared_squares *s, addend what, tsi_count p, const double *crossing,
                        tsi_index i) {
  if (s->exponent[p] == TSI_NO_ENTRY) return 0;
  return what == ADD_ONES ? 1 : what == ADD_EXPONENTS ? s->exponent[p] : crossing[i];
}

/* sum: sum over the entries of each line. of: exponents of the crossing lines, only for ADD_CROSSING. Sums
 * are exact (scaling_means.c). take and space may use the same memory, so rows come first. */
static tristar_status add_entries(const shared_squares *s, addend what, const double *of, double *sum) {
  const tsi_system *system = s->system;
  const tsi_system_functions *f = system->functions;
  const tsi_sparse *a = &system->a;
  const tsi_index n = system->n;
  const void *all = NULL; /* Values of the columns. */
  if (what == ADD_CROSSING) TSI_TRY(f->take(system->context, sizeof *of, of + n, &all));
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) sum[j] += addend_of(s, what, p, all, a->index[p]);
  double *columns = f->space(system->context, sizeof *columns);
  memset(columns, 0, (size_t)n * sizeof *columns);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++)
      columns[a->index[p]] += addend_of(s, what, p, of, j);
  return f->give(system->context, sizeof *columns, sum + n, add_doubles);
}

static void add_shared_sums(void *context, const double *of, double *image, double *count) {
  shared_squares *s = context;
  if (count != NULL && s->failure == TRISTAR_OK) s->failure = add_entries(s, ADD_ONES, NULL, count);
  if (s->failure == TRISTAR_OK) s->failure = add_entries(s, of ? ADD_CROSSING : ADD_EXPONENTS, of, image);
  for (tsi_count i = 0; of && i < 2 * (tsi_count)s->system->n; i++) image[i] += s->count[i] * of[i];
}

static double sum_of_team(void *context, double mine) {
  return tsi_team_sum(((const shared_squares *)context)->system->team, mine);
}

static double largest_of_team(void *context, double mine) {
  return tsi_team_largest(((const shared_squares *)context)->system->team, mine);
}

static tristar_status bring_shared_together(const tsi_system *system, double *row, double *column) {
  const tsi_sparse *a = &system->a;
  const tsi_index n = system->n;
  TSI_OWNED double *magnitude = NULL;
  TSI_OWNED int *exponent = NULL;
  TSI_OWNED double *all = NULL;
  tristar_status status = TSI_ALLOC(system->env, magnitude, a->ptr[n]);
  if (status == TRISTAR_OK) status = TSI_ALLOC(system->env, exponent, a->ptr[n]);
  if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(system->env, all, 2 * TSI_SCALING_SQUARES * (size_t)n);
  TSI_TRY(tsi_team_agree(system->team, status));
  system->kernels->part(a->ptr[n], a->values, TSI_PART_MAGNITUDE, magnitude);
  for (tsi_count p = 0; p < a->ptr[n]; p++) exponent[p] = tsi_scaling_exponent(magnitude[p]);
  shared_squares s = {.system = system, .exponent = exponent};
  tsi_scaling_squares q = {.lines = 2 * (tsi_count)n,
                           .all = all,
                           .context = &s,
                           .add_sums = add_shared_sums,
                           .sum = sum_of_team,
                           .largest = largest_of_team};
  tsi_scaling_divide_squares(&q);
  s.count = q.count;
  tsi_scaling_solve_squares(&q);
  for (tsi_index i = 0; i < n; i++) {
    row[i] = tsi_scaling_power(tsi_scaling_clamp((int)lrint(q.x[i])));
    column[i] = tsi_scaling_power(tsi_scaling_clamp((int)lrint(q.x[n + i])));
  }
  return s.failure != TRISTAR_OK ? s.failure : system->team->failure;
}

tristar_status tsi_system_bring_together(const tsi_system *system, double *row, double *column) {
  return system->functions->take ? bring_shared_together(system, row, column)
                                 : bring_all_together(system, row, column);
}
