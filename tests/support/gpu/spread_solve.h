/* Solves with triangles that are spread over PEs, in the emulator. */
#pragma once

#include "runtime/exec/device/spread_rows.h"
#include "tests/support/gpu/run_spread.h"
#include "tests/support/triangle_system.h"

enum { SPREAD_PES = 8 };

typedef struct spread_solver {
  const system_of *s;
  bool backward, polls_all;
  int pes;
  tsi_env *env;
  tsi_spread_plan plan[SPREAD_PES];
  char *values[SPREAD_PES], *inverse[SPREAD_PES];
} spread_solver;

static inline spread_solver spread_open(tsi_env *env, const system_of *s, bool backward, int pes,
                                        tsi_index tasks) {
  const triangle_pattern *p = &s->pattern[backward];
  const tsi_lines lines = {p->n, p->ptr, p->index, backward};
  spread_solver v = {.s = s, .backward = backward, .pes = pes, .env = env};
  OWNED tsi_index *owner = xcalloc((size_t)p->n + 1, sizeof *owner);
  CHECK(pes <= SPREAD_PES);
  CHECK_OK(tsi_spread_place(env, &lines, pes, tasks, owner));
  for (int k = 0; k < pes; k++) {
    const tsi_spread_options options = {k, pes, owner};
    tsi_spread_plan *plan = &v.plan[k];
    CHECK_OK(tsi_spread_create(env, &lines, &options, plan));
    v.values[k] = xcalloc((size_t)plan->entries + 1, s->t->bytes);
    v.inverse[k] = xcalloc((size_t)plan->rows + 1, s->t->bytes);
    for (tsi_count e = 0; e < plan->entries; e++)
      memcpy(v.values[k] + (size_t)e * s->t->bytes,
             s->values[backward] + (size_t)plan->source[e] * s->t->bytes, s->t->bytes);
    for (tsi_index r = 0; r < plan->rows; r++)
      memcpy(v.inverse[k] + (size_t)r * s->t->bytes, s->inverse + (size_t)plan->order[r] * s->t->bytes,
             s->t->bytes);
  }
  return v;
}

static inline void spread_close(spread_solver *v) {
  for (int k = 0; k < v->pes; k++) {
    tsi_spread_destroy(v->env, &v->plan[k]);
    free(v->values[k]);
    free(v->inverse[k]);
  }
}

/* Returns the number of left sums of other PEs that all rows need. */
static inline tsi_count spread_gets(const spread_solver *v) {
  tsi_count gets = 0;
  for (int k = 0; k < v->pes; k++) gets += v->plan[k].gets;
  return gets;
}

/* b and x: rows of nrhs scalars. *polls: number of flags of other PEs that all PEs read in the last solve. */
static inline run_outcome spread_solve(const spread_solver *v, tsi_index nrhs, unsigned solves,
                                       const run_grid *grid, const void *b, void *x, int64_t *polls) {
  const char scalars[] = {(char)v->s->t->scalar, 0};
  tsi_gpu_spread pe[SPREAD_PES];
  tsi_index rows[SPREAD_PES];
  int32_t read[SPREAD_PES] = {0};
  for (int k = 0; k < v->pes; k++) {
    pe[k] = v->plan[k].tables;
    pe[k].call = (tsi_device_call){.in_row = v->plan[k].order,
                                   .out_row = v->plan[k].order,
                                   .b = b,
                                   .x = x,
                                   .b_row = nrhs,
                                   .b_column = 1,
                                   .x_row = nrhs,
                                   .x_column = 1,
                                   .nrhs = nrhs};
    pe[k].polls_all = v->polls_all;
    pe[k].values = v->values[k];
    pe[k].inverse = v->inverse[k];
    rows[k] = v->plan[k].rows;
  }
  const run_outcome got = run_spread(scalars, v->pes, pe, rows, v->plan[0].most_slots, solves, grid, read);
  *polls = 0;
  for (int k = 0; k < v->pes; k++) *polls += read[k];
  return got;
}
