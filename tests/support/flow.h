/* The whole flow on a generated matrix, for tests that need a factor and a plan. */
#pragma once

#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_matrix.h"

typedef struct flow {
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} flow;

/* chunk_bytes 0: default. Every step must succeed. */
static inline void flow_create_ordered(tristar_t *ts, const char *kind, int64_t k, tristar_ordering ordering,
                                       tristar_engine engine, int64_t chunk_bytes, flow *f) {
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  analysis.ordering = ordering;
  f->view = generated_view(ts, kind, k, &f->matrix);
  CHECK_OK(tristar_analyze(ts, &f->view, &analysis, &f->analysis));
  CHECK_OK(tristar_factor(f->analysis, f->view.values, &f->factor));
  options.engine = engine;
  options.chunk_bytes_max = chunk_bytes;
  CHECK_OK(tristar_plan(f->factor, &options, &f->plan));
}

static inline void flow_create(tristar_t *ts, const char *kind, int64_t k, tristar_engine engine,
                               int64_t chunk_bytes, flow *f) {
  flow_create_ordered(ts, kind, k, TRISTAR_ORDERING_AUTO, engine, chunk_bytes, f);
}

static inline void flow_destroy(flow *f) {
  tristar_plan_destroy(&f->plan);
  tristar_factor_destroy(&f->factor);
  tristar_analysis_destroy(&f->analysis);
  tristar_matrix_destroy(&f->matrix);
}
