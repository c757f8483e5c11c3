/* tsi_solve_plain, tristar_solve_with, tristar_solve_start: describe a solve as a request (request.h).
 *
 * Reads   plan, factor, options, b.   Writes  a request, and through it x.
 *
 * Storage. lower = L, upper = U^T (LU), each by columns. A forward sweep applies the inverse of the stored
 * factor, a backward sweep the inverse of its transpose. For symmetric factors U^T is lower, or its
 * conjugate.
 *
 *             op = N                  op = T                  op = C
 *   L         forward(lower)          backward(lower)         as T, on conjugates
 *   U         backward(upper)         forward(upper)          as T, on conjugates
 *   all       forward(lower), D,      forward(upper), D,      as T, on conjugates
 *             backward(upper)         backward(lower)
 *
 * On conjugates: A^H x = b is A^T conj(x) = conj(b). Hermitian: U^T = conj(lower), A^T = conj(A). */
#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/base/scalars.h"
#include "runtime/factor/storage.h"
#include "runtime/rows/row_factor.h"
#include "runtime/solve/in_flight.h"
#include "runtime/solve/request.h"

void tristar_solve_options_init_sized(tristar_solve_options *options, size_t size) {
  const tristar_solve_options defaults = {.op = TRISTAR_N, .part = TRISTAR_PART_ALL};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* Chooses sweeps, sides and the list of steps. */
static void choose_sides(tristar_request_t *r, const tsi_operation *o) {
  tristar_plan_t *plan = r->plan;
  r->diagonal = o->diagonal;
  r->sweeps = o->sweeps;
  r->in_user = o->in_user;
  r->out_user = o->out_user;
  r->forward = o->sweeps == TSI_BACKWARD ? NULL : &plan->side[o->forward_upper ? plan->sides - 1 : 0];
  r->backward = o->sweeps == TSI_FORWARD ? NULL : &plan->side[o->backward_upper ? plan->sides - 1 : 0];
  const bool swapped = r->forward ? r->forward == &plan->side[1] : r->backward == &plan->side[0];
  r->list = plan->sides == 2 && swapped ? TSI_LIST_SWAPPED : TSI_LIST_SIDES;
}

/* Returns the values of the lower, or the upper, factor for the kernels of the plan. */
static const void *values_of(const tristar_plan_t *plan, bool upper) {
  const void *values = upper ? plan->factor->upper : plan->factor->lower;
  return values && plan->storage ? &plan->storage->stream[upper] : values;
}

static tsi_factor_parts parts_of(const tristar_plan_t *plan) {
  const tristar_factor_t *factor = plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  return (tsi_factor_parts){.lu = tsi_analysis_is_lu(an),
                            .adjoint = factor->adjoint,
                            .is_complex = tsi_sparse_kernels_select(an->pattern->scalar)->is_complex,
                            .imported = an->imported,
                            .lower = values_of(plan, false),
                            .upper = values_of(plan, true),
                            .pivots = factor->pivoted ? factor->pivots : NULL,
                            .inverse = factor->inverse,
                            .row_scale = factor->row_scale,
                            .col_scale = factor->col_scale};
}

static tsi_user_rows user_rows(const tristar_plan_t *plan, const tsi_index *list) {
  return (tsi_user_rows){list, list + plan->factor->analysis->symbolic->n};
}

/* Chooses the permutations of b and x. */
static void choose_orders(tristar_request_t *r, const tsi_operation *o) {
  const tristar_factor_t *factor = r->plan->factor;
  const tristar_analysis_t *an = factor->analysis;
  const bool by_rows = o->by_rows;
  tsi_solve_call *call = &r->call;
  if (r->in_user) {
    call->in_row = by_rows ? an->in_row : an->out_row;
    r->call.in_place = by_rows ? an->in_place : an->out_place;
  } else if (o->in_moved) {
    call->in_row = factor->position;
    r->call.in_place = factor->pivot_order;
  }
  if (r->out_user) {
    call->out_row = by_rows ? an->out_row : an->in_row;
    r->call.out_place = by_rows ? an->out_place : an->in_place;
  } else if (o->out_moved) {
    call->out_row = factor->position;
    r->call.out_place = factor->pivot_order;
  }
}

/* Chooses the permutations as lists, unless a sweep works in place. */
static tristar_status choose_lists(tristar_request_t *r, const tsi_operation *o) {
  tristar_plan_t *plan = r->plan;
  if (r->stream) return TRISTAR_OK;
  TSI_TRY(tsi_plan_need_lists(plan));
  if (r->in_user) r->call.in_rows = user_rows(plan, o->by_rows ? plan->in_list : plan->out_list);
  if (r->out_user) r->call.out_rows = user_rows(plan, o->by_rows ? plan->out_list : plan->in_list);
  return TRISTAR_OK;
}

/* Checks that need the addresses of b and x. */
static tristar_status check_arrays(const tristar_request_t *r) {
  const tsi_env *env = &r->plan->ts->env;
  const tsi_solve_call *call = &r->call;
  if (r->nrhs == 0) return TRISTAR_OK;
  if (call->b == NULL || call->x == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b or x is NULL");
  if (call->b == call->x && call->sparse)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x is b, which a list of rows does not allow");
  return tsi_check_in_place(env, (tsi_named_array){"b", call->b, call->b_row, call->b_column, 0},
                            (tsi_named_array){"x", call->x, call->x_row, call->x_column, 0});
}

tristar_status tsi_check_op(tsi_env *env, tristar_op op) {
  if (op != TRISTAR_N && op != TRISTAR_T && op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)op);
  return TRISTAR_OK;
}

tristar_status tsi_solve_options_check(tsi_env *env, const tristar_solve_options *o, int64_t nrhs) {
  TSI_TRY(tsi_check_op(env, o->op));
  if ((unsigned)o->part > TRISTAR_PART_U) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "part is %d", (int)o->part);
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (o->b_row_stride < 1 || o->b_column_stride < 1 || o->x_row_stride < 1 || o->x_column_stride < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "strides of b %" PRId64 " and %" PRId64 ", of x %" PRId64 " and %" PRId64
             " are not all positive",
             o->b_row_stride, o->b_column_stride, o->x_row_stride, o->x_column_stride);
  return TRISTAR_OK;
}

static tristar_status check_arguments(tristar_plan_t *plan, const tristar_solve_options *o, int64_t nrhs) {
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  TSI_TRY(tsi_solve_options_check(env, o, nrhs));
  if (tsi_factor_is_triangle(factor) &&
      ((o->part == TRISTAR_PART_L && !factor->lower) || (o->part == TRISTAR_PART_U && !factor->upper)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the factor has no %s", factor->lower ? "U" : "L");
  if (o->part == TRISTAR_PART_ALL) TSI_TRY(tsi_analysis_need_whole(factor->analysis));
  if (plan->spmv && (o->part != TRISTAR_PART_ALL || o->b_row || o->x_row))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a plan with KERNEL_SPMV solves with the whole of A only, and with all rows of b and x");
  return tsi_plan_need_values(plan);
}

tristar_solve_options tsi_solve_options_columns(tristar_op op, int64_t ldb, int64_t ldx) {
  tristar_solve_options o;
  tristar_solve_options_init(&o);
  o.op = op;
  o.b_row_stride = o.x_row_stride = 1;
  o.b_column_stride = tsi_count_max(1, ldb);
  o.x_column_stride = tsi_count_max(1, ldx);
  return o;
}

tristar_solve_options tsi_solve_options_fill(const tristar_solve_options *given, int64_t n) {
  tristar_solve_options o = *given;
  if (o.b_row_stride == 0 && o.b_column_stride == 0) {
    o.b_row_stride = 1;
    o.b_column_stride = tsi_count_max(1, o.b_row ? o.b_rows : n);
  }
  if (o.x_row_stride == 0 && o.x_column_stride == 0) {
    o.x_row_stride = 1;
    o.x_column_stride = tsi_count_max(1, o.x_row ? o.x_rows : n);
  }
  return o;
}

/* Chooses the chunks that take part, by the given and the requested rows. */
static tristar_status choose_chunks(tristar_request_t *r, const tristar_solve_options *o) {
  const tsi_reach_source source = {.chunks = r->plan->side[0].chunks,
                                   .forward = r->forward ? r->forward->sweep : NULL,
                                   .backward = r->backward ? r->backward->sweep : NULL,
                                   .given = {o->b_rows, o->b_row, r->call.in_place, "b_row", NULL},
                                   .requested = {o->x_rows, o->x_row, r->call.out_place, "x_row", NULL}};
  if (!o->b_row && !o->x_row) return TRISTAR_OK;
  TSI_TRY(tsi_reach_create(&r->plan->ts->env, &source, &r->reach));
  r->call.sparse = &r->reach.sparse;
  if (r->reach.all_bytes > 0) r->share = r->reach.bytes / r->reach.all_bytes;
  return TRISTAR_OK;
}

/* Sets alpha and beta of x = beta x + alpha times the solution. */
static void choose_combination(tristar_request_t *r, const tristar_solve_options *o) {
  const char type = r->plan->factor->analysis->pattern->scalar;
  tsi_solve_call *call = &r->call;
  call->alpha[0] = 1;
  if (o->alpha) tsi_scalar_read(type, o->alpha, 0, call->alpha);
  if (o->beta) tsi_scalar_read(type, o->beta, 0, call->beta);
  call->combines = call->alpha[0] != 1 || call->alpha[1] != 0 || call->beta[0] != 0 || call->beta[1] != 0;
}

/* For a matrix by rows: chooses the form in which the sweep reads it. */
static tristar_status choose_rows(tristar_request_t *r, const tsi_operation *o) {
  tsi_env *env = &r->plan->ts->env;
  const tristar_factor_t *factor = r->plan->factor;
  const bool backward = o->sweeps == TSI_BACKWARD;
  tsi_row_factor *rows = factor->rows;
  tsi_solve_call *call = &r->call;
  if (r->plan->triangle) return TRISTAR_OK; /* on a device: the sweep uses the workspace */
  if (r->plan->blocks && !call->sparse) {
    r->list = TSI_LIST_OWN;
    return TRISTAR_OK;
  }
  const bool conjugates = call->conjugate_in || call->conjugate_backward || call->conjugate_out;
  if (r->nrhs == 1 && call->b_row == 1 && call->x_row == 1 && !call->wide && !call->sparse && !conjugates) {
    call->moves_in =
        call->in_scale || (o->in_user && (o->by_rows ? factor->moves_rows : factor->moves_columns));
    call->moves_out = call->out_scale || call->combines ||
                      (o->out_user && (o->by_rows ? factor->moves_columns : factor->moves_rows));
    TSI_TRY(tsi_row_factor_sweep(env, rows, backward, &r->stream));
    r->plain = tsi_row_factor_has_plain(rows) && !call->moves_in && !call->moves_out;
    r->list = tsi_plan_list(r->plan);
  } else
    TSI_TRY(tsi_row_factor_rows(env, rows, backward, &r->call.triangle_rows[backward]));
  return TRISTAR_OK;
}

tristar_status tsi_request_prepare(tristar_request_t *r, tristar_plan_t *plan,
                                   const tristar_solve_options *options, int64_t nrhs) {
  tristar_status status = TRISTAR_OK;
  tristar_solve_options o;
  memset(r, 0, sizeof *r);
  r->plan = plan;
  r->begin = tsi_clock();
  r->share = 1;
  r->solves = 1;
  r->nrhs = plan->factor->analysis->pattern->n > 0 ? nrhs : 0;
  tristar_solve_options_init(&o);
  o = tsi_solve_options_fill(options ? options : &o, plan->factor->analysis->pattern->n);
  TSI_TRY_OUT(check_arguments(plan, &o, nrhs));
  if (plan->storage) TSI_TRY_OUT(tsi_storage_explain(plan->factor, tsi_storage_prepare(plan->storage)));
  const tsi_factor_parts parts = parts_of(plan);
  const tsi_operation operation = tsi_operation_choose(&parts, o.op, o.part, o.factor_order != 0, &r->call);
  r->op = o.op;
  r->call.least = plan->fuse.least;
  choose_sides(r, &operation);
  choose_orders(r, &operation);
  r->call.wide = plan->factor->analysis->factor_scalar != plan->factor->analysis->pattern->scalar;
  r->call.b_row = o.b_row_stride;
  r->call.b_column = o.b_column_stride;
  r->call.x_row = o.x_row_stride;
  r->call.x_column = o.x_column_stride;
  choose_combination(r, &o);
  TSI_TRY_OUT(choose_chunks(r, &o));
  if (plan->factor->rows && !operation.diagonal) TSI_TRY_OUT(choose_rows(r, &operation));
  TSI_TRY_OUT(choose_lists(r, &operation));
  r->given = o.b_row ? o.b_rows : plan->factor->analysis->pattern->n;
  r->requested = o.x_row ? o.x_rows : plan->factor->analysis->pattern->n;
  TSI_TRY_OUT(tsi_sums_begin(&plan->ts->env, &plan->solved, &r->sums));
out:
  if (status != TRISTAR_OK) tsi_reach_finish(&r->reach);
  return status;
}

static tristar_status prepare(tristar_request_t *r, tristar_plan_t *plan,
                              const tristar_solve_options *options, int64_t nrhs, const void *b, void *x) {
  TSI_TRY(tsi_request_prepare(r, plan, options, nrhs));
  r->call.b = b;
  r->call.x = x;
  tristar_status status = check_arrays(r);
  if (status != TRISTAR_OK) tsi_request_cancel(r);
  return status;
}

/* Solves, alone or in a pass with others, and waits. */
static void run(tristar_request_t *r) {
  if (tsi_fuse_takes(r)) tsi_fuse_start(r);
  (void)tsi_request_advance(r, true);
}

tristar_status tristar_solve_with(tristar_plan_t *plan, const tristar_solve_options *options, int64_t nrhs,
                                  const void *b, void *x, tristar_solve_result *result) {
  tristar_status status = TRISTAR_OK;
  tristar_request_t r;
  tristar_solve_options full;
  TSI_ENTER(plan, plan->ts);
  TSI_TRY_OUT(TSI_OPTIONS(&plan->ts->env, tristar_solve_options, options, &full));
  TSI_TRY_OUT(prepare(&r, plan, &full, nrhs, b, x));
  tsi_request_check_range(&r);
  run(&r);
  TSI_TRY_OUT(tsi_failure_report(&plan->ts->env, &r.failure));
  if (result) *result = tsi_request_result(&r);
out:
  return tsi_answer(&plan->ts->env, status);
}

/* The last block of a request with `end` has ended. */
static void end_started(tristar_request_t *r) {
  r->end(r->end_arg, tsi_failure_report(&r->plan->ts->env, &r->failure));
  tsi_in_flight_finish_started(r->plan, &r->done);
}

/* Starts a request that holds a reference to the plan. After a failure nothing is in flight. */
static tristar_status start(tristar_request_t *r) {
  if (tsi_fuse_takes(r)) {
    const bool tasks = tsi_way_has_tasks(&r->plan->way);
    tsi_fuse_start(r);
    if (tasks) return TRISTAR_OK; /* the request may already be freed */
  } else if (r->end && tsi_request_has_tasks(r)) {
    TSI_TRY(tsi_request_reserve(r));
    r->context = tsi_tasks_context();
    r->ended = end_started;
    tsi_in_flight_start(r->plan);
    tsi_request_launch(r);
    return TRISTAR_OK;
  }
  if (!tsi_request_advance(r, false) && tsi_failure_exists(&r->failure))
    (void)tsi_request_advance(r, true); /* waits for blocks that did start */
  TSI_TRY(tsi_failure_report(&r->plan->ts->env, &r->failure));
  if (r->end) r->end(r->end_arg, TRISTAR_OK);
  return TRISTAR_OK;
}

tristar_status tristar_solve_start(tristar_plan_t *plan, const tristar_solve_options *options, int64_t nrhs,
                                   const void *b, void *x, tristar_request_t **request) {
  tristar_status status = TRISTAR_OK;
  tristar_request_t *r = NULL;
  tristar_solve_options full;
  if (request != NULL) *request = NULL;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (request == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "request is NULL");
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_solve_options, options, &full));
  TSI_TRY_OUT(TSI_ALLOC(env, r, 1));
  TSI_TRY_OUT(prepare(r, plan, &full, nrhs, b, x));
  tsi_request_check_range(r);
  r->end = full.end;
  r->end_arg = full.end_arg;
  atomic_fetch_add(&plan->references, 1); /* the caller holds a reference, so this is never the last one */
  *request = r;                           /* `end` may read it */
  status = start(r);
  if (status != TRISTAR_OK) {
    *request = NULL;
    atomic_fetch_sub(&plan->references, 1);
  } else
    r = NULL;
out:
  TSI_FREE(env, r);
  return tsi_answer(env, status);
}

tristar_status tsi_check_columns(tsi_env *env, int64_t n, int64_t nrhs, const void *b, int64_t ldb,
                                 const void *x, int64_t ldx) {
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (ldb < n || ldx < n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "ldb = %" PRId64 ", ldx = %" PRId64 ", but there are %" PRId64 " rows", ldb, ldx, n);
  if (n > 0 && nrhs > 0 && (b == NULL || x == NULL))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", b == NULL ? "b" : "x");
  return TRISTAR_OK;
}

tristar_status tsi_check_solve_columns(tsi_env *env, int64_t n, int64_t nrhs, const void *b, int64_t ldb,
                                       const void *x, int64_t ldx) {
  TSI_TRY(tsi_check_columns(env, n, nrhs, b, ldb, x, ldx));
  if (n == 0 || nrhs == 0) return TRISTAR_OK;
  return tsi_check_in_place(env, (tsi_named_array){"b", b, 1, ldb, 0}, (tsi_named_array){"x", x, 1, ldx, 0});
}

tristar_status tsi_request_plain(tristar_request_t *r, tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
  const tristar_solve_options options = tsi_solve_options_columns(op, ldb, ldx);
  TSI_TRY(tsi_check_solve_columns(&plan->ts->env, plan->factor->analysis->pattern->n, nrhs, b, ldb, x, ldx));
  return prepare(r, plan, &options, nrhs, b, x);
}

typedef enum purpose { CHECKED, PLAIN, TRIAL } purpose;

static tristar_status solve_columns(purpose why, tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                    const void *b, int64_t ldb, void *x, int64_t ldx) {
  tristar_request_t r;
  const int64_t n = plan->factor->analysis->pattern->n;
  const bool fits = ldb >= n && ldx >= n && b && x && (x != b || ldx == ldb);
  if (why != TRIAL && nrhs == 1 && fits && tsi_small_triangle_solve(plan, op, b, x))
    return why == PLAIN
               ? TRISTAR_OK
               : tsi_solution_check(plan, 1, (tsi_numbers){b, n, 1, n}, (tsi_numbers){x, n, 1, n}, false);
  TSI_TRY(tsi_request_plain(&r, plan, op, nrhs, b, ldb, x, ldx));
  if (why == CHECKED) tsi_request_check_range(&r);
  if (why == TRIAL) r.solves = 0;
  run(&r);
  return tsi_failure_report(&plan->ts->env, &r.failure);
}

tristar_status tsi_solve_checked(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b,
                                 int64_t ldb, void *x, int64_t ldx) {
  return solve_columns(CHECKED, plan, op, nrhs, b, ldb, x, ldx);
}

tristar_status tsi_solve_plain(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                               void *x, int64_t ldx) {
  return solve_columns(PLAIN, plan, op, nrhs, b, ldb, x, ldx);
}

tristar_status tsi_solve_trial(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                               void *x, int64_t ldx) {
  return solve_columns(TRIAL, plan, op, nrhs, b, ldb, x, ldx);
}
