/* Checks of a distributed solve of a world (world.h). Backward errors are as for a solve on one process, and
 * repeated solves return the same bits. Solves with parts of the factors, in factor order, and with few rows
 * of b and x agree with a plan. */
#pragma once

#include "runtime/solve/reach.h"
#include "tests/support/mpi/world.h"
#include "tristar_matrix.h"

typedef struct problem {
  const char *kind;
  tristar_matrix_t *matrix;
  void *values;
  tristar_view view;
  const typed *type;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  char *b, *x, *again;
} problem;

/* symmetry: declared symmetry of a symmetric kind in a complex type. */
static inline problem open_problem(tristar_t *ts, const char *kind, int64_t k, const typed *t,
                                   tristar_symmetry symmetry) {
  problem q = {.kind = kind, .type = t};
  q.values = typed_matrix(ts, kind, k, t, symmetry, &q.matrix, &q.view);
  q.b = make_rhs(t, q.view.rows);
  q.x = malloc(TYPED_COLUMNS * (size_t)q.view.rows * t->bytes);
  q.again = malloc(TYPED_COLUMNS * (size_t)q.view.rows * t->bytes);
  return q;
}

static inline void close_problem(problem *q) {
  free(q->values);
  free(q->b);
  free(q->x);
  free(q->again);
  tristar_matrix_destroy(&q->matrix);
}

/* Makes its factor and a plan; release them with release_factor. */
static inline void factor_problem(tristar_t *ts, problem *q, tristar_method method, int leaf_parts) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = method;
  options.leaf_parts = leaf_parts;
  CHECK_OK(tristar_analyze(ts, &q->view, &options, &q->analysis));
  CHECK_OK(tristar_factor(q->analysis, q->values, &q->factor));
  CHECK_OK(tristar_plan(q->factor, NULL, &q->plan));
}

static inline void release_factor(problem *q) {
  tristar_plan_destroy(&q->plan);
  tristar_factor_destroy(&q->factor);
  tristar_analysis_destroy(&q->analysis);
}

/* max |x - y| / max |y| of rows 0 .. count-1 in the columns of x and y; which[i]: of row i of y, in x. */
static inline double difference(const typed *t, int64_t n, const int64_t *which, int64_t count,
                                tsi_index nrhs, const char *x, const char *y) {
  double worst = 0, size = 0;
  for (int64_t c = 0; c < nrhs; c++)
    for (int64_t i = 0; i < count; i++) {
      const number a = get(t, x, (which ? which[i] : i) + c * n), b = get(t, y, i + c * count);
      worst = larger_error(worst, magnitude(a - b));
      size = fmax(size, magnitude(b));
      CHECK(!isnan(magnitude(a)));
    }
  return size > 0 ? worst / size : worst;
}

/* Number of roundoffs allowed, because sums and their orders differ from those on one process. */
#define ROUNDING 2e4

/* Compares solves with a part of the factors, on the processes and with the plan. */
static inline void check_part(problem *q, world *w, tristar_op op, tristar_part part, int factor_order,
                              tsi_index nrhs) {
  const tsi_process_call call = {.op = op, .part = part, .factor_order = factor_order};
  const int64_t n = q->view.rows;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.op = op;
  options.part = part;
  options.factor_order = factor_order;
  CHECK_OK(tristar_solve_with(q->plan, &options, nrhs, q->b, q->again, NULL));
  memset(q->x, 0xff, (size_t)n * (size_t)nrhs * q->type->bytes);
  world_solve(w, q->factor, &call, q->b, q->x);
  const double other = difference(q->type, n, NULL, n, nrhs, q->x, q->again);
  CHECK_MSG(other < ROUNDING * q->type->roundoff, "%s %c, op %c, part %d, order %d: %g from the plan's",
            q->kind, q->type->scalar, op, (int)part, factor_order, other);
}

#define FEW 7 /* number of given and of requested rows */

/* Checks solves with few rows of b and of x, for each part. */
static inline void check_sparse(tsi_env *env, problem *q, world *w, tristar_op op, tsi_index nrhs) {
  const tristar_analysis_t *an = q->factor->analysis;
  const tsi_process *p = w->member[0].process;
  const int64_t n = q->view.rows;
  int64_t given[FEW], wanted[FEW];
  char *b = calloc((size_t)n * (size_t)nrhs, q->type->bytes),
       *few = malloc(FEW * (size_t)nrhs * q->type->bytes);
  for (int i = 0; i < FEW; i++) {
    given[i] = (n / FEW * i + 3) % n;
    wanted[i] = n - 1 - n / FEW * i;
    for (tsi_index c = 0; c < nrhs; c++) {
      const number value = get(q->type, q->b, given[i] + c * n);
      put(q->type, few, i + c * FEW, value);
      put(q->type, b, given[i] + c * n, value);
    }
  }
  for (tristar_part part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++) {
    tsi_process_call call = {.op = op, .part = part};
    const tsi_operation o = tsi_process_operation(p, &call);
    const tsi_index *in = o.by_rows ? an->in_place : an->out_place,
                    *out = o.by_rows ? an->out_place : an->in_place;
    const tsi_index *moved = q->factor->pivot_order;
    const tsi_reach_source source = {.chunks = p->layout->chunks,
                                     .forward = o.sweeps != TSI_BACKWARD ? p->whole : NULL,
                                     .backward = o.sweeps != TSI_FORWARD ? p->whole : NULL,
                                     .given = {.count = FEW,
                                               .row = given,
                                               .place = o.in_user    ? in
                                                        : o.in_moved ? moved
                                                                     : NULL,
                                               .name = "b_row"},
                                     .requested = {.count = FEW,
                                                   .row = wanted,
                                                   .place = o.out_user    ? out
                                                            : o.out_moved ? moved
                                                                          : NULL,
                                                   .name = "x_row"}};
    tsi_reach reach;
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    options.op = op;
    options.part = part;
    options.b_rows = options.x_rows = FEW;
    options.b_row = given;
    options.x_row = wanted;
    CHECK_OK(tristar_solve_with(q->plan, &options, nrhs, few, q->again, NULL));
    CHECK_OK(tsi_reach_create(env, &source, &reach));
    call.forward = reach.forward;
    call.backward = reach.backward;
    memset(q->x, 0xff, (size_t)n * (size_t)nrhs * q->type->bytes);
    world_solve(w, q->factor, &call, b, q->x);
    const double other = difference(q->type, n, wanted, FEW, nrhs, q->x, q->again);
    CHECK_MSG(other < ROUNDING * q->type->roundoff, "%s %c, op %c, part %d, few rows: %g from the plan's",
              q->kind, q->type->scalar, op, (int)part, other);
    tsi_reach_finish(&reach);
  }
  free(few);
  free(b);
}

/* turn: chooses the operation with which parts are tested. */
static inline void check_layout(tsi_env *env, problem *q, const tsi_process_options *options, tsi_index nrhs,
                                int turn) {
  const int64_t n = q->view.rows;
  const size_t bytes = (size_t)n * (size_t)nrhs * q->type->bytes;
  const tsi_layout_options *l = &options->layout;
  world w;
  world_create(env, q->factor, options, nrhs, &w);
  for (int o = 0; o < TYPED_OPS; o++) {
    typed_weights weights = make_weights(q->type, &q->view, typed_ops[o], q->factor);
    CHECK_OK(tristar_solve(q->plan, typed_ops[o], nrhs, q->b, n, q->x, n));
    double bound = 100 * q->type->roundoff;
    for (tsi_index c = 0; c < nrhs; c++)
      bound += 10 * error_of(q->type, &q->view, typed_ops[o], q->b, q->x, c, DOCUMENTED, &weights);
    for (int again = 0; again < 2; again++) {
      memset(q->x, 0xff, bytes);
      world_solve(&w, q->factor, &(tsi_process_call){.op = typed_ops[o]}, q->b, q->x);
      for (tsi_index c = 0; c < nrhs && again == 0; c++) {
        const double error = error_of(q->type, &q->view, typed_ops[o], q->b, q->x, c, DOCUMENTED, &weights);
        CHECK_MSG(error < bound, "%s %c %c, %dx%dx%d, map %d, replicated %d: backward error %g, not %g",
                  q->kind, q->type->scalar, typed_ops[o], l->px, l->py, l->pz, (int)l->map, l->replicated,
                  error, bound);
      }
      if (again == 0)
        memcpy(q->again, q->x, bytes);
      else
        CHECK_MSG(memcmp(q->again, q->x, bytes) == 0, "%s: other bits", q->kind);
    }
    free_weights(&weights);
    if (o != turn % TYPED_OPS) continue;
    for (tristar_part part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++)
      for (int order = 0; order < 2; order++) check_part(q, &w, typed_ops[o], part, order, nrhs);
    check_sparse(env, q, &w, typed_ops[o], nrhs);
  }
  world_destroy(&w);
}
