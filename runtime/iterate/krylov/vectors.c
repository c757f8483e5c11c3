/* Operations on vectors, block by block: see vectors.h. */
#include "runtime/iterate/krylov/run.h"
#include "runtime/iterate/krylov/vector_call.h"

tristar_status tsi_krylov_defer(tristar_krylov_t *k, tristar_status status) {
  if (tsi_krylov_is_alone(k)) return status;
  tsi_failure_keep(&k->ts->env, &k->failure, status);
  return TRISTAR_OK;
}

tristar_status tsi_krylov_agree(tristar_krylov_t *k, tristar_status status) {
  if (tsi_krylov_is_alone(k)) return status;
  if (status == TRISTAR_OK) status = tsi_failure_report(&k->ts->env, &k->failure);
  tsi_failure_clear(&k->failure);
  return tsi_team_agree(k->team, status);
}

static void run_block(void *context, tsi_index block, int member) {
  const tristar_krylov_t *k = context;
  (void)member;
  const tsi_index first = block * TSI_BLOCK_ROWS, end = tsi_index_min(k->n - first, TSI_BLOCK_ROWS) + first;
  k->call->run(k, k->call, first, end, k->work.shares + (size_t)block * (size_t)k->work.sums);
}

/* Multiplies a unit of windows, then runs the operation on its blocks. */
static void run_unit(void *context, tsi_index unit, int member) {
  const tristar_krylov_t *k = context;
  const tsi_vector_call *call = k->call;
  const tsi_index first = unit * k->unit, end = tsi_index_min(k->crew.blocks - first, k->unit) + first;
  tsi_halves_multiply(&k->products, &k->stored, first, k->unit, call->columns, call->from, call->ld, call->to,
                      call->ld);
  for (tsi_index b = first; b < end; b++) run_block(context, b, member);
}

/* Writes the signals of this member behind its sums: see TSI_SIGNALS. */
static void put_signals(tristar_krylov_t *k, int sums) {
  k->work.total[sums] = tsi_failure_exists(&k->failure);
  k->work.total[sums + 1] = k->cancelled;
}

/* Adds up k->work.gathered of all members. Errors: the failure of any member. */
static tristar_status add_members(tristar_krylov_t *k, int sums) {
  double *total = k->work.total;
  const int count = sums + TSI_SIGNALS;
  for (int i = 0; i < count; i++) total[i] = 0;
  for (int m = 0; m < k->team->members; m++)
    for (int i = 0; i < count; i++) total[i] += k->work.gathered[m * count + i];
  k->all_cancelled = total[sums + 1] > 0;
  return total[sums] > 0 ? tsi_krylov_agree(k, TRISTAR_OK) : TRISTAR_OK;
}

/* Runs the operation once for each block of rows. */
static tristar_status run_blocks(tristar_krylov_t *k, const tsi_vector_call *call) {
  const bool product = call->vectors == 0;
  const double vectors = (double)call->vectors * (double)k->n * (double)k->bytes;
  tsi_crew *units = k->unit > 1 ? &k->units : &k->crew;
  k->call = call;
  if (call->from == NULL)
    return tsi_crew_run(&k->crew, product ? TSI_CREW_MATRIX : TSI_CREW_VECTORS,
                        product ? k->crew.bytes : vectors, run_block, k);
  if (k->matrix.function != NULL) return k->matrix.blocks(k->matrix.arg, call->from, call->to, run_block, k);
  return tsi_crew_run(units, TSI_CREW_MATRIX, units->bytes, run_unit, k);
}

/* k->work.total[i] = the sum of share i < sums over the blocks of this rank. */
static tristar_status run_here(tristar_krylov_t *k, const tsi_vector_call *call, int sums) {
  TSI_TRY(tsi_krylov_defer(k, run_blocks(k, call)));
  for (int i = 0; i < sums; i++) k->work.total[i] = 0;
  for (tsi_index b = 0; b < k->crew.blocks; b++)
    for (int i = 0; i < sums; i++)
      k->work.total[i] += k->work.shares[(size_t)b * (size_t)k->work.sums + (size_t)i];
  return TRISTAR_OK;
}

tristar_status tsi_vectors_run(tristar_krylov_t *k, const tsi_vector_call *call, int sums) {
  tsi_team *team = k->team;
  TSI_TRY(run_here(k, call, sums));
  if (sums == 0 || tsi_krylov_is_alone(k)) return TRISTAR_OK;
  put_signals(k, sums);
  TSI_TRY(team->gather(team->context, sums + TSI_SIGNALS, k->work.total, k->work.gathered));
  return add_members(k, sums);
}

tristar_status tsi_vectors_start(tristar_krylov_t *k, const tsi_vector_call *call, int sums) {
  tsi_team *team = k->team;
  TSI_TRY(run_here(k, call, sums));
  if (tsi_krylov_is_alone(k)) return TRISTAR_OK;
  put_signals(k, sums);
  return team->gather_start(team->context, sums + TSI_SIGNALS, k->work.total, k->work.gathered);
}

tristar_status tsi_vectors_finish(tristar_krylov_t *k, int sums) {
  tristar_status status = TRISTAR_OK;
  if (tsi_krylov_is_alone(k)) return status;
  TSI_TRY(k->team->gather_wait(k->team->context));
  return add_members(k, sums);
}

enum { SUMS = 4 }; /* doubles for tsi_sums: x^H y, y^H y, each a pair */

/* y^H y, and x^H y unless x is NULL. */
static void leave_sums(const tristar_krylov_t *k, const void *x, const void *y, tsi_index first,
                       tsi_index count, double *share) {
  share[0] = share[1] = 0;
  if (x != NULL) k->kernels->dot(count, tsi_vector_from(k, x, first), tsi_vector_from(k, y, first), share);
  k->kernels->dot(count, tsi_vector_from(k, y, first), tsi_vector_from(k, y, first), share + 2);
}

static tsi_sums total_sums(const tristar_krylov_t *k) {
  return (tsi_sums){{k->work.total[0], k->work.total[1]}, k->work.total[2]};
}

/* ---- Products ------------------------------------------------------------------------------------------ */

/* After x = A a: x = b - x unless b is NULL; if count > 0, sums of c and x. */
static void product_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  if (call->b != NULL)
    k->kernels->subtract(end - first, tsi_vector_from(k, call->b, first), tsi_vector_to(k, call->x, first));
  if (call->count > 0) leave_sums(k, call->c, call->x, first, end - first, share);
}

static tristar_status call_function(const tristar_krylov_t *k, const void *x, void *y) {
  tristar_status status = k->matrix.function(k->matrix.arg, x, y);
  if (status != TRISTAR_OK && k->matrix.team == NULL)
    TSI_FAIL(&k->ts->env, status, "the function that multiplies with the matrix gave %s",
             tristar_status_name(status));
  return status;
}

static tristar_status multiply(tristar_krylov_t *k, tsi_vector_call *call) {
  const bool plain = call->b == NULL && call->count == 0;
  call->columns = 1;
  call->from = call->a;
  call->to = call->x;
  if (k->scales.matrix != 1) {
    TSI_TRY(tsi_krylov_multiply_scaled(k, (void *)(uintptr_t)call->a, call->x));
    if (plain) return TRISTAR_OK;
    call->from = NULL;
  } else if (k->matrix.function != NULL && (plain || k->matrix.blocks == NULL)) {
    if (k->n > 0 || !tsi_krylov_is_alone(k)) TSI_TRY(tsi_krylov_defer(k, call_function(k, call->a, call->x)));
    if (plain) return TRISTAR_OK;
    call->from = NULL;
  }
  return tsi_vectors_run(k, call, call->count);
}

tristar_status tsi_vectors_multiply(tristar_krylov_t *k, const void *p, void *q, const void *w,
                                    tsi_sums *sums) {
  tsi_vector_call call = {.run = product_block, .a = p, .c = w, .x = q, .count = sums ? SUMS : 0};
  const tristar_status status = multiply(k, &call);
  if (status == TRISTAR_OK && sums != NULL) *sums = total_sums(k);
  return status;
}

tristar_status tsi_vectors_residual(tristar_krylov_t *k, const void *b, const void *x, void *r,
                                    double *square) {
  tsi_vector_call call = {.run = product_block, .a = x, .b = b, .x = r, .count = SUMS};
  const tristar_status status = multiply(k, &call);
  if (status == TRISTAR_OK) *square = total_sums(k).square;
  return status;
}

/* ---- Steps --------------------------------------------------------------------------------------------- */

static void sums_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
                       double *share) {
  leave_sums(k, call->a, call->b, first, end - first, share);
}

tristar_status tsi_vectors_sums(tristar_krylov_t *k, const void *x, const void *y, tsi_sums *sums) {
  const tristar_status status =
      tsi_vectors_run(k, &(tsi_vector_call){.run = sums_block, .vectors = 2, .a = x, .b = y}, SUMS);
  if (status == TRISTAR_OK) *sums = total_sums(k);
  return status;
}

static void direction_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                            tsi_index end, double *share) {
  (void)share;
  if (call->b != NULL)
    k->kernels->axpy(end - first, call->alpha, tsi_vector_from(k, call->b, first),
                     tsi_vector_to(k, call->x, first));
  k->kernels->xpay(end - first, call->beta, tsi_vector_from(k, call->a, first),
                   tsi_vector_to(k, call->x, first));
}

tristar_status tsi_vectors_direction(tristar_krylov_t *k, const double beta[2], const void *z,
                                     const double omega[2], const void *v, void *p) {
  tsi_vector_call call = {.run = direction_block,
                          .vectors = v != NULL ? 5 : 3,
                          .a = z,
                          .b = v,
                          .x = p,
                          .beta = {beta[0], beta[1]}};
  if (v != NULL) {
    call.alpha[0] = -omega[0];
    call.alpha[1] = -omega[1];
  }
  return tsi_vectors_run(k, &call, 0);
}

static void step_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
                       double *share) {
  const double minus[2] = {-call->alpha[0], -call->alpha[1]};
  k->kernels->axpy(end - first, call->alpha, tsi_vector_from(k, call->a, first),
                   tsi_vector_to(k, call->x, first));
  k->kernels->axpy(end - first, minus, tsi_vector_from(k, call->b, first), tsi_vector_to(k, call->y, first));
  leave_sums(k, call->c, call->y, first, end - first, share);
}

tristar_status tsi_vectors_step(tristar_krylov_t *k, const double alpha[2], const void *p, const void *q,
                                void *x, void *r, const void *w, tsi_sums *sums) {
  const tsi_vector_call call = {
      .run = step_block, .vectors = 6, .a = p, .b = q, .c = w, .x = x, .y = r, .alpha = {alpha[0], alpha[1]}};
  const tristar_status status = tsi_vectors_run(k, &call, SUMS);
  if (status == TRISTAR_OK) *sums = total_sums(k);
  return status;
}

static void advance_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  k->kernels->advance(end - first, call->alpha[0], tsi_vector_from(k, call->a, first),
                      tsi_vector_from(k, call->b, first), tsi_vector_from(k, call->c, first),
                      tsi_vector_to(k, call->x, first), tsi_vector_to(k, call->y, first),
                      tsi_vector_to(k, call->to, first), share);
}

tristar_status tsi_vectors_advance(tristar_krylov_t *k, double alpha, const void *p, const void *q,
                                   const void *d, void *x, void *r, void *z, tsi_sums *sums, double *square) {
  const tsi_vector_call call = {.run = advance_block,
                                .vectors = 8,
                                .to = z,
                                .a = p,
                                .b = q,
                                .c = d,
                                .x = x,
                                .y = r,
                                .alpha = {alpha, 0}};
  const tristar_status status = tsi_vectors_run(k, &call, SUMS + 2);
  if (status == TRISTAR_OK) {
    *sums = total_sums(k);
    *square = k->work.total[4];
  }
  return status;
}

static void scale_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                        tsi_index end, double *share) {
  (void)share;
  k->kernels->scale(end - first, call->alpha[0], tsi_vector_from(k, call->a, first),
                    tsi_vector_to(k, call->x, first));
}

tristar_status tsi_vectors_scale(tristar_krylov_t *k, double factor, const void *x, void *y) {
  return tsi_vectors_run(
      k, &(tsi_vector_call){.run = scale_block, .vectors = 2, .a = x, .x = y, .alpha = {factor, 0}}, 0);
}

/* ---- Many vectors -------------------------------------------------------------------------------------- */

static void project_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  const char *v = tsi_vector_from(k, call->a, first);
  for (int i = 0; i < call->count; i++, v += k->work.stride)
    k->kernels->dot(end - first, v, tsi_vector_from(k, call->b, first), share + 2 * i);
}

tristar_status tsi_vectors_project(tristar_krylov_t *k, int first, int count, const void *w, tsi_complex *h) {
  const tsi_vector_call call = {
      .run = project_block, .vectors = count + 1, .a = tsi_krylov_vector(k, first), .b = w, .count = count};
  TSI_TRY(tsi_vectors_run(k, &call, 2 * count));
  for (int i = 0; i < count; i++) h[i] = k->work.total[2 * i] + k->work.total[2 * i + 1] * _Complex_I;
  return TRISTAR_OK;
}

static void combine_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  const char *v = tsi_vector_from(k, call->a, first);
  for (int i = 0; i < call->count; i++, v += k->work.stride) {
    const double factor[2] = {call->alpha[0] * creal(call->h[i]), call->alpha[0] * cimag(call->h[i])};
    k->kernels->axpy(end - first, factor, v, tsi_vector_to(k, call->x, first));
  }
  leave_sums(k, NULL, call->x, first, end - first, share);
}

tristar_status tsi_vectors_combine(tristar_krylov_t *k, int first, int count, double sign,
                                   const tsi_complex *h, void *w, double *square) {
  const tsi_vector_call call = {.run = combine_block,
                                .vectors = count + 2,
                                .a = tsi_krylov_vector(k, first),
                                .x = w,
                                .alpha = {sign, 0},
                                .count = count,
                                .h = h};
  const tristar_status status = tsi_vectors_run(k, &call, SUMS);
  if (status == TRISTAR_OK) *square = total_sums(k).square;
  return status;
}
