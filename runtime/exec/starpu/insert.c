/* tristar_solve_insert: see insert.h. */
#include "runtime/exec/starpu/insert.h"
#include "runtime/base/options.h"

#include <inttypes.h>

#include "runtime/exec/starpu/acquisition.h"
#include "tristar_starpu.h"

#define IN_FLIGHT_DEFAULT 16

typedef struct tsi_insertion {
  const tsi_insertable *target;
  void *solve;
  tsi_operand b, x;
  tsi_acquisition holds;
} tsi_insertion;

void tristar_insert_options_init_sized(tristar_insert_options *options, size_t size) {
  const tristar_insert_options defaults = {.op = TRISTAR_N, .part = TRISTAR_PART_ALL};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

static tsi_env *env_of(const tsi_insertion *insertion) {
  return tsi_context_env(insertion->target->ts);
}

static void insertion_free(tsi_insertion *insertion) {
  tsi_env *env = env_of(insertion);
  tsi_operand_finish(env, &insertion->b);
  tsi_operand_finish(env, &insertion->x);
  tsi_acquisition_finish(env, &insertion->holds);
  TSI_FREE(env, insertion);
}

/* ---- The end ------------------------------------------------------------------------------------------- */

static void finish(void *arg, tristar_status status) {
  const tsi_insertion *insertion = arg;
  if (status == TRISTAR_OK) tsi_operand_scatter(&insertion->x);
}

static void release(void *arg) {
  tsi_insertion *insertion = arg;
  tsi_acquisition_release(&insertion->holds);
  insertion_free(insertion);
}

/* ---- The start ----------------------------------------------------------------------------------------- */

static bool overlap(const tsi_operand *b, const tsi_operand *x) {
  const uintptr_t from[2] = {(uintptr_t)b->data, (uintptr_t)x->data};
  uintptr_t to[2];
  const tsi_operand *operand[2] = {b, x};
  for (int i = 0; i < 2; i++)
    to[i] = from[i] + (uintptr_t)(operand[i]->rows + (operand[i]->columns - 1) * operand[i]->stride) *
                          (uintptr_t)operand[i]->scalar;
  return from[0] < to[1] && from[1] < to[0];
}

/* Chooses the arrays of b and x. */
static tristar_status choose_arrays(tsi_insertion *insertion) {
  tsi_env *env = env_of(insertion);
  tsi_operand *b = &insertion->b, *x = &insertion->x;
  bool b_direct = tsi_operand_locate(b);
  const bool x_direct = tsi_operand_locate(x);
  if (b->columns == 0) return TRISTAR_OK;
  const bool same = b_direct && x_direct && b->data == x->data && b->stride == x->stride;
  if (b_direct && x_direct && !same && overlap(b, x)) b_direct = false;
  if (!b_direct) {
    TSI_TRY(tsi_operand_use_buffer(env, b));
    tsi_operand_gather(b);
  }
  if (!x_direct) TSI_TRY(tsi_operand_use_buffer(env, x));
  return TRISTAR_OK;
}

/* All handles are granted. */
static void begin(void *arg, tristar_status status) {
  tsi_insertion *insertion = arg;
  if (status == TRISTAR_OK) status = choose_arrays(insertion);
  insertion->target->functions->launch(insertion->solve, status, insertion->b.data, insertion->b.stride,
                                       insertion->x.data, insertion->x.stride);
}

/* ---- The insertion ------------------------------------------------------------------------------------- */

static tristar_status insert(tristar_plan_t *plan, const tristar_insert_options *options, int64_t b_pieces,
                             const starpu_data_handle_t *b, int64_t x_pieces, const starpu_data_handle_t *x) {
  tristar_status status = TRISTAR_OK;
  const tsi_insertable *target = (const tsi_insertable *)plan;
  tsi_env *env = tsi_context_env(target->ts);
  tsi_insertion *insertion = NULL;
  TSI_TRY_OUT(target->functions->open(plan));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, insertion, 1));
  insertion->target = target;
  TSI_TRY_OUT(tsi_operands_create(env, target->rows, target->scalar, b_pieces, b, x_pieces, x, &insertion->b,
                                  &insertion->x));
  TSI_TRY_OUT(tsi_acquisition_create(env, &insertion->b, &insertion->x, &insertion->holds));
  const tsi_insert_order order = {.op = options->op,
                                  .part = options->part,
                                  .columns = insertion->b.columns,
                                  .limit = options->in_flight == 0 ? IN_FLIGHT_DEFAULT : options->in_flight,
                                  .busy = options->busy != 0,
                                  .end = options->end,
                                  .end_arg = options->end_arg,
                                  .finish = finish,
                                  .release = release,
                                  .insertion = insertion};
  TSI_TRY_OUT(target->functions->reserve(plan, &order, &insertion->solve));
  tsi_acquisition_request(target->order, &insertion->holds, begin, insertion);
  return TRISTAR_OK;
out:
  if (insertion) insertion_free(insertion);
  return status;
}

tristar_status tristar_solve_insert_pieces(tristar_plan_t *plan, const tristar_insert_options *options,
                                           int64_t b_pieces, const starpu_data_handle_t *b, int64_t x_pieces,
                                           const starpu_data_handle_t *x) {
  tristar_status status = TRISTAR_OK;
  tristar_insert_options full;
  TSI_ENTER(plan, ((const tsi_insertable *)plan)->ts);
  tsi_env *env = tsi_context_env(((const tsi_insertable *)plan)->ts);
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_insert_options, options, &full));
  if (full.in_flight < 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "in_flight is %" PRId64, full.in_flight);
  TSI_TRY_OUT(insert(plan, &full, b_pieces, b, x_pieces, x));
out:
  return tsi_answer(env, status);
}

tristar_status tristar_solve_insert_with(tristar_plan_t *plan, const tristar_insert_options *options,
                                         starpu_data_handle_t b, starpu_data_handle_t x) {
  return tristar_solve_insert_pieces(plan, options, 1, &b, 1, &x);
}

tristar_status tristar_solve_insert(tristar_plan_t *plan, tristar_op op, starpu_data_handle_t b,
                                    starpu_data_handle_t x) {
  tristar_insert_options options;
  tristar_insert_options_init(&options);
  options.op = op;
  return tristar_solve_insert_with(plan, &options, b, x);
}
