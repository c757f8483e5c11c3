/* Solves by the reference walk of device tables, compared with those of a plan. */
#pragma once

#include <math.h>

#include "runtime/solve/device_plan.h"
#include "runtime/solve/request.h"
#include "tests/support/check.h"
#include "tests/support/device_walk.h"
#include "tests/support/random.h"

/* A factor's device plan, and its interchanges as permutations. */
typedef struct device_solver {
  tsi_env *env;
  tristar_plan_t *plan; /* plan for the CPU */
  tsi_device_plan *device;
  tsi_index *from;
} device_solver;

/* node_bytes: size of nodes. If it is small enough, a small factor has nodes of all kinds. */
static inline device_solver device_solver_open(tristar_plan_t *plan, double node_bytes) {
  const tristar_factor_t *factor = plan->factor;
  device_solver s = {&plan->ts->env, plan, NULL, NULL};
  tsi_device_options options;
  tsi_device_options_init(&options, factor->scalar_bytes);
  options.node_bytes = node_bytes;
  options.group_bytes = options.warp_bytes = node_bytes / 4;
  options.costs.warp_seconds = 0; /* the weight of a panel is its bytes, so groups have several panels */
  CHECK_OK(tsi_device_plan_create(s.env, factor, &options, &s.device));
  s.from = malloc(((size_t)factor->analysis->symbolic->n + 1) * sizeof *s.from);
  if (factor->pivots) tsi_device_interchanges(factor->analysis->panels, factor->pivots, s.from);
  return s;
}

static inline void device_solver_close(device_solver *s) {
  tsi_device_plan_destroy(&s->device);
  free(s->from);
}

static inline tsi_tables_source device_source(const device_solver *s, int side) {
  const tsi_structure structure = tsi_analysis_structure(s->plan->factor->analysis, side);
  return (tsi_tables_source){.chunks = s->device->side[side].chunks,
                             .sweep = s->device->side[side].sweep,
                             .panels = structure.panels,
                             .panel_values = structure.panel_values,
                             .rows_of = s->device->side[s->device->sides - 1].chunks};
}

/* Returns real number `at` of an array of this scalar type. */
static inline double device_real(char scalar, const void *array, int64_t at) {
  return scalar == 's' || scalar == 'c' ? (double)((const float *)array)[at] : ((const double *)array)[at];
}

/* Solves by one walk, with tickets in ascending order (seed 0) or in another legal order. */
static inline void device_solve(const device_solver *s, const tristar_solve_options *options, int64_t nrhs,
                                const void *b, void *x, unsigned seed) {
  tristar_request_t r;
  CHECK_OK(tsi_request_prepare(&r, s->plan, options, nrhs));
  r.call.b = b;
  r.call.x = x;
  r.call.nrhs = (tsi_index)nrhs;
  const tsi_device_call call = tsi_device_call_of(&r.call, s->from);
  const tsi_device_side *side = s->device->side;
  const tsi_device_tables *forward = &side[r.forward ? r.forward - s->plan->side : 0].tables,
                          *backward = &side[r.backward ? r.backward - s->plan->side : 0].tables;
  tsi_index *order[2] = {NULL, NULL};
  if (seed > 0) {
    order[0] = malloc(((size_t)forward->forward.tickets + 1) * sizeof(tsi_index));
    order[1] = malloc(((size_t)backward->backward.tickets + 1) * sizeof(tsi_index));
    device_walk_order(&forward->forward, seed, order[0]);
    device_walk_order(&backward->backward, seed + 1, order[1]);
  }
  device_walk(s->plan->factor->analysis->factor_scalar, forward, backward, &call, order[0], order[1]);
  free(order[0]);
  free(order[1]);
  tsi_request_cancel(&r);
}

/* Checks that the walk returns x of the plan, up to `tolerance` times the largest entry, and the same bits in
 * every legal order. With several right-hand sides it computes x = beta x + alpha times the solution. */
static inline void device_compare(const device_solver *s, tristar_op op, tristar_part part, int64_t nrhs,
                                  double tolerance) {
  const tristar_analysis_t *an = s->plan->factor->analysis;
  const char scalar = an->pattern->scalar;
  const int64_t reals = an->pattern->n * nrhs * (scalar == 'c' || scalar == 'z' ? 2 : 1);
  const size_t bytes = (size_t)(an->pattern->n * nrhs) * s->plan->factor->user_bytes;
  char *b = malloc(bytes + 1), *x = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1),
       *z = calloc(bytes + 1, 1);
  double *random = malloc(((size_t)reals + 1) * sizeof *random), largest = 0, worst = 0;
  const bool is_single = scalar == 's' || scalar == 'c';
  const double alpha[] = {0.5, 0.25}, beta[] = {-2, 1};
  const float alpha_single[] = {0.5f, 0.25f}, beta_single[] = {-2, 1};
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.op = op;
  options.part = part;
  if (nrhs > 1) {
    options.alpha = is_single ? (const void *)alpha_single : alpha;
    options.beta = is_single ? (const void *)beta_single : beta;
  }
  CHECK(b && x && y && z && random);
  fill_random(random, reals, 7);
  for (int64_t i = 0; i < reals; i++)
    if (is_single)
      ((float *)b)[i] = (float)random[i];
    else
      ((double *)b)[i] = random[i];
  memcpy(x, b, bytes);
  memcpy(y, b, bytes);
  CHECK_OK(tristar_solve_with(s->plan, &options, nrhs, b, x, NULL));
  device_solve(s, &options, nrhs, b, y, 0);
  for (unsigned seed = 1; seed < 4; seed++) {
    memcpy(z, b, bytes);
    device_solve(s, &options, nrhs, b, z, seed);
    CHECK(memcmp(y, z, bytes) == 0);
  }
  for (int64_t i = 0; i < reals; i++) {
    const double of_plan = device_real(scalar, x, i), of_walk = device_real(scalar, y, i);
    largest = fmax(largest, fabs(of_plan));
    worst = larger_error(worst, fabs(of_plan - of_walk));
  }
  CHECK_MSG(worst <= tolerance * largest, "scalar %c, op %d, part %d: the walk differs by %g of %g", scalar,
            (int)op, (int)part, worst, largest);
  free(b);
  free(x);
  free(y);
  free(z);
  free(random);
}
