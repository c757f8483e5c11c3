/* Fails each allocation of an operation in turn:
 *
 *   allocation_failures failing = fail_allocations(env);
 *   while (next_failure(&failing)) {
 *     const tristar_status status = tsi_thing_create(env, &thing);
 *     end_failure(&failing, status);
 *     CHECK((thing == NULL) == (status != TRISTAR_OK));
 *     tsi_thing_destroy(env, &thing);
 *   }
 *   CHECK(failing.count > 12);
 *
 * Round k fails the k-th allocation. The operation must return TRISTAR_ERR_MEMORY, until there is no k-th
 * allocation; after each round as many bytes are allocated as before. */
#ifndef TSI_TESTS_SUPPORT_ALLOCATIONS_H
#define TSI_TESTS_SUPPORT_ALLOCATIONS_H

#include "runtime/base/env.h"
#include "tests/support/check.h"

typedef struct allocation_failures {
  tsi_env *env;
  int64_t stride;        /* between the allocations of two rounds */
  int64_t first, sparse; /* sparse > 0: beyond allocation `first` the stride is 1 + at / sparse */
  bool elsewhere;        /* an allocation of another rank fails, none of this one */
  bool keeps_memory;     /* a round may keep what it allocates */
  bool recovers;         /* the operation may succeed though an allocation failed */
  int64_t at, count;     /* allocation of the round, from 1; rounds that returned TRISTAR_ERR_MEMORY */
  size_t bytes;          /* allocated before the first round */
  tristar_status status; /* of the latest round */
  bool ended;            /* end_failure was called */
} allocation_failures;

static inline allocation_failures fail_allocations(tsi_env *env) {
  return (allocation_failures){.env = env, .stride = 1, .ended = true, .status = TRISTAR_ERR_MEMORY};
}

/* Of a context. */
static inline allocation_failures fail_allocations_of(tristar_t *ts) {
  return fail_allocations(tsi_context_env(ts));
}

/* Begins a round; false: the latest one succeeded. */
static inline bool next_failure(allocation_failures *f) {
  tsi_memory *memory = &f->env->memory;
  const size_t bytes = atomic_load(&memory->current);
  CHECK(f->ended); /* else a round lacks its end_failure */
  if (f->at == 0) f->bytes = bytes;
  CHECK_MSG(f->keeps_memory || bytes == f->bytes, "allocation %lld fails: %zu bytes, %zu before",
            (long long)f->at, bytes, f->bytes);
  if (f->status == TRISTAR_OK) return false;
  const bool sparse = f->sparse > 0 && f->at >= f->first;
  f->at += f->at == 0 ? 1 : sparse ? 1 + f->at / f->sparse : f->stride;
  f->ended = false;
  memory->fail_at = f->elsewhere ? 0 : atomic_load(&memory->calls) + f->at;
  return true;
}

/* Ends the failures of a round with the status of the operation. */
static inline void end_failure(allocation_failures *f, tristar_status status) {
  tsi_memory *memory = &f->env->memory;
  CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY, "allocation %lld fails: %s",
            (long long)f->at, tristar_status_name(status));
  CHECK_MSG(status != TRISTAR_OK || f->recovers || f->elsewhere ||
                atomic_load(&memory->calls) < memory->fail_at,
            "allocation %lld fails: TRISTAR_OK", (long long)f->at);
  memory->fail_at = 0;
  f->count += status != TRISTAR_OK;
  f->status = status;
  f->ended = true;
}

#endif
