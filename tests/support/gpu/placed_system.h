/* A matrix whose factor has a plan with subtrees on emulated devices, or a plan on the cores, for tests of
 * vectors on devices; and entries of such vectors. */
#pragma once

#include "tests/support/typed.h"
#include "tristar_device.h"
#include "tristar_matrix.h"

typedef struct system_of {
  const typed *type;
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values;
  int64_t n;
  tristar_factor_t *factor;
  tristar_plan_t *plan; /* NULL before system_plan */
} system_of;

static inline system_of system_factor(tristar_t *ts, const typed *type) {
  system_of s = {.type = type};
  s.values = typed_matrix(ts, "convdiff3d", 5, type, TRISTAR_GENERAL, &s.matrix, &s.view);
  s.n = s.view.rows;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &s.view, NULL);
  CHECK_OK(tristar_factor(analysis, s.values, &s.factor));
  tristar_analysis_destroy(&analysis);
  return s;
}

/* GPU: a part of the factor is on devices. */
static inline void system_plan(system_of *s, tristar_place place, tristar_plan_options *options) {
  options->place = place;
  CHECK_OK(tristar_plan(s->factor, options, &s->plan));
  CHECK(tristar_plan_get_subtree(s->plan, 0, NULL) == (place == TRISTAR_PLACE_GPU));
}

static inline void system_destroy(system_of *s) {
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

/* Refactors with twice the previous matrix. No solve is in flight. */
static inline void refactor(system_of *s) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->view.cols];
  for (int64_t e = 0; e < entries; e++) put(s->type, s->values, e, 2 * get(s->type, s->values, e));
  CHECK_OK(tristar_refactor(s->factor, s->values));
}

/* Random entries, also between columns. */
static inline void fill(const typed *type, void *array, int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; i++) put(type, array, i, random_value(seed + (uint64_t)i));
}
