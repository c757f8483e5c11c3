/* Streams of inserted solves, each with its own right-hand side, and the status that their ends receive; for
 * tests. */
#pragma once

#include <starpu.h>

#include "tests/support/flow.h"
#include "tristar_starpu.h"
#include "tristar_machine.h"

static inline starpu_data_handle_t vector(double *array, int64_t n) {
  starpu_data_handle_t handle;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)array, (uint32_t)n, sizeof *array);
  return handle;
}

typedef struct stream {
  tristar_plan_t *plan;
  double *b, *x, *expected;
  starpu_data_handle_t hb, hx;
  int64_t n;
  int left;  /* number of solves that `end` still has to insert */
  int ended; /* number of solves that have ended */
  int wrong;
} stream;

static inline void count_end(void *arg, tristar_status status) {
  stream *s = arg;
  const size_t bytes = (size_t)s->n * sizeof(double);
  if (status != TRISTAR_OK || memcmp(s->x, s->expected, bytes) != 0)
    __atomic_add_fetch(&s->wrong, 1, __ATOMIC_ACQ_REL);
  __atomic_add_fetch(&s->ended, 1, __ATOMIC_ACQ_REL);
}

static inline void stream_create(tristar_plan_t *plan, int64_t n, uint64_t seed, stream *s) {
  const size_t bytes = (size_t)n * sizeof(double);
  *s = (stream){.plan = plan, .n = n, .b = malloc(bytes), .x = calloc(1, bytes), .expected = malloc(bytes)};
  fill_random(s->b, n, seed);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, s->b, n, s->expected, n));
  s->hb = vector(s->b, n);
  s->hx = vector(s->x, n);
}

static inline void stream_destroy(stream *s) {
  starpu_data_unregister(s->hb);
  starpu_data_unregister(s->hx);
  free(s->b);
  free(s->x);
  free(s->expected);
}

static inline void insert(stream *s, tristar_end_fn end) {
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  options.end = end;
  options.end_arg = s;
  options.in_flight = 3;
  CHECK_OK(tristar_solve_insert_with(s->plan, &options, s->hb, s->hx));
}

static inline size_t memory_now(tristar_t *ts) {
  tristar_memory_stats memory;
  tristar_get_memory(ts, &memory);
  return memory.current_bytes;
}

typedef struct end_result {
  int calls;
  tristar_status status;
} end_result;
static inline void record_end(void *arg, tristar_status status) {
  end_result *t = arg;
  t->calls++;
  t->status = status;
}
