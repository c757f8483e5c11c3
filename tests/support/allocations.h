/* Fails each allocation of an operation in turn:
 *
 *   allocation_failures failing = fail_allocations_of(ts);
 *   while (next_failure(&failing)) {
 *     const tristar_status status = tristar_thing_create(ts, &thing);
 *     end_failure(&failing, status);
 *     CHECK((thing == NULL) == (status != TRISTAR_OK));
 *     tristar_thing_destroy(&thing);
 *   }
 *   CHECK(failing.count > 12);
 *
 * Round k fails the k-th allocation. The operation must return TRISTAR_ERR_MEMORY until there is no k-th
 * allocation. After each round as many bytes must be allocated as before the first. */
#pragma once

#include <dirent.h>
#include <stdbool.h>

#include "tests/support/check.h"
#include "tristar_machine.h"

typedef struct allocation_failures {
  void *owner; /* whose allocations fail */
  void (*look)(void *owner, tristar_memory_stats *memory);
  void (*fail)(void *owner, int64_t k); /* the k-th allocation from now on; 0: none */
  int64_t stride;                       /* distance between the failing allocations of two rounds */
  int64_t first, sparse; /* sparse > 0: beyond allocation `first` the stride is 1 + at / sparse */
  bool elsewhere;        /* an allocation of another rank fails, none of this rank */
  bool keeps_memory;     /* a round may keep allocated memory */
  bool recovers;         /* the operation may succeed though an allocation failed */
  int64_t at, count;     /* allocation of the round, from 1; rounds that returned TRISTAR_ERR_MEMORY */
  int64_t calls;         /* number of the latest allocation before the round */
  size_t bytes;          /* allocated before the first round */
  bool reached;          /* the latest round reached its allocation */
  bool over;             /* the latest round did not reach it, and succeeded: it was the last round */
  bool ended;            /* end_failure was called */
} allocation_failures;

static inline void look_at_context(void *ts, tristar_memory_stats *memory) {
  CHECK_OK(tristar_get_memory(ts, memory));
}

static inline void fail_in_context(void *ts, int64_t k) {
  CHECK_OK(tristar_fail_allocation(ts, k));
}

static inline allocation_failures fail_allocations_of(tristar_t *ts) {
  return (allocation_failures){
      .owner = ts, .look = look_at_context, .fail = fail_in_context, .stride = 1, .ended = true};
}

/* Begins a round; returns false if the latest round was the last one. */
static inline bool next_failure(allocation_failures *f) {
  tristar_memory_stats memory;
  f->look(f->owner, &memory);
  CHECK(f->ended); /* each round must call end_failure */
  if (f->at == 0) f->bytes = memory.current_bytes;
  CHECK_MSG(f->keeps_memory || memory.current_bytes == f->bytes,
            "allocation %lld fails: %zu bytes, %zu before", (long long)f->at, memory.current_bytes, f->bytes);
  if (f->over) return false;
  const bool sparse = f->sparse > 0 && f->at >= f->first;
  f->at += f->at == 0 ? 1 : sparse ? 1 + f->at / f->sparse : f->stride;
  f->ended = false;
  f->calls = memory.allocations;
  f->fail(f->owner, f->elsewhere ? 0 : f->at);
  return true;
}

/* Ends the failures of a round with the status of the operation. */
static inline void end_failure(allocation_failures *f, tristar_status status) {
  tristar_memory_stats memory;
  f->look(f->owner, &memory);
  f->reached = !f->elsewhere && memory.allocations >= f->calls + f->at;
  CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY, "allocation %lld fails: %s",
            (long long)f->at, tristar_status_name(status));
  CHECK_MSG(status != TRISTAR_OK || f->recovers || !f->reached, "allocation %lld fails: TRISTAR_OK",
            (long long)f->at);
  f->fail(f->owner, 0);
  f->count += status != TRISTAR_OK;
  f->over = status == TRISTAR_OK && !f->reached;
  f->ended = true;
}

/* Returns the number of open files of this process plus a constant; 0: unknown. For tests that calls close
 * all files. */
static inline int open_files(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return 0;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}
