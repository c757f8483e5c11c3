/* Large arrays: they do not overlap, keep their contents and are aligned; unused regions are returned. */
#include <pthread.h>

#include "runtime/base/arena.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

enum { LIVE = 120, ROUNDS = 3000, THREADS = 2 };

typedef struct array {
  char *block;
  size_t bytes;
  tsi_region *region;
  char mark;
} array;

/* Writes the first and the last byte of each page, as writing all bytes would take long. */
static void write_marks(const array *a) {
  for (size_t at = 0; at < a->bytes; at += 4096) {
    a->block[at] = a->mark;
    a->block[at + (a->bytes - at < 4096 ? a->bytes - at : 4096) - 1] = a->mark;
  }
}

static void check_marks(const array *a) {
  for (size_t at = 0; at < a->bytes; at += 4096) {
    CHECK(a->block[at] == a->mark);
    CHECK(a->block[at + (a->bytes - at < 4096 ? a->bytes - at : 4096) - 1] == a->mark);
  }
}

static size_t random_bytes(uint64_t *state) {
  static const size_t least[] = {1, TSI_ARENA_LEAST - 1, TSI_ARENA_LEAST, TSI_ARENA_LEAST,
                                 TSI_ARENA_MOST - 9};
  static const size_t room[] = {1000, 2, 10000, (size_t)1 << 20, 20};
  const size_t kind = next_random(state) % 61;
  const size_t k = kind < 56 ? kind % 4 : 4;
  return least[k] + next_random(state) % room[k];
}

static void *use(void *arg) {
  uint64_t state = *(const uint64_t *)arg;
  static _Thread_local array live[LIVE];
  for (int round = 0; round < ROUNDS; round++) {
    array *a = &live[next_random(&state) % LIVE];
    if (a->block != NULL) {
      check_marks(a);
      tsi_arena_free(a->block, a->bytes, a->region);
      a->block = NULL;
    } else {
      a->bytes = random_bytes(&state);
      a->mark = (char)next_random(&state);
      a->block = tsi_arena_allocate(a->bytes, &a->region);
      CHECK(a->block != NULL);
      CHECK((uintptr_t)a->block % 64 == 0);
      write_marks(a);
    }
  }
  for (int k = 0; k < LIVE; k++) {
    if (live[k].block == NULL) continue;
    check_marks(&live[k]);
    tsi_arena_free(live[k].block, live[k].bytes, live[k].region);
  }
  return NULL;
}

static void check_threads(void) {
  pthread_t thread[THREADS];
  uint64_t seed[THREADS];
  for (int k = 0; k < THREADS; k++) {
    seed[k] = (uint64_t)k + 1;
    CHECK(pthread_create(&thread[k], NULL, use, &seed[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(thread[k], NULL) == 0);
}

/* After all arrays were freed at most one region remains, and tsi_arena_trim() frees it. */
static void check_return(void) {
  size_t regions, bytes;
  tsi_arena_count(&regions, &bytes);
  CHECK(regions <= 1);
  CHECK(bytes == 0);
  tsi_arena_trim();
  tsi_arena_count(&regions, &bytes);
  CHECK(regions == 0);
}

/* Arrays share a region. A new array reuses the place of a freed one. */
static void check_sharing(void) {
  enum { COUNT = 8 };
  array a[COUNT];
  size_t regions, bytes;
  for (int k = 0; k < COUNT; k++) {
    a[k].bytes = (size_t)1 << 20;
    a[k].block = tsi_arena_allocate(a[k].bytes, &a[k].region);
    CHECK(a[k].block != NULL);
  }
  tsi_arena_count(&regions, &bytes);
  const bool shares = a[0].region != NULL;
  CHECK(regions == (shares ? 1 : 0));
  CHECK(bytes == (shares ? COUNT * a[0].bytes : 0));
  char *given = a[3].block;
  tsi_arena_free(a[3].block, a[3].bytes, a[3].region);
  a[3].block = tsi_arena_allocate(a[3].bytes, &a[3].region);
  CHECK(a[3].block == given || !shares);
  tsi_arena_trim(); /* keeps regions in use */
  for (int k = 0; k < COUNT; k++) {
    memset(a[k].block, k, a[k].bytes);
    tsi_arena_free(a[k].block, a[k].bytes, a[k].region);
  }
}

/* Parts of arrays are freed and may be reused. The remaining bytes are unchanged. */
static void check_parts(void) {
  enum { COUNT = 40, PART = 24 };
  const size_t granule = TSI_ARENA_GRANULE;
  array a[COUNT];
  size_t regions, all, bytes;
  for (int k = 0; k < COUNT; k++) {
    a[k] = (array){.bytes = (size_t)(32 + k % 3) * granule, .mark = (char)(k + 1)};
    a[k].block = tsi_arena_allocate(a[k].bytes, &a[k].region);
    CHECK(a[k].block != NULL);
    write_marks(&a[k]);
  }
  const bool shares = a[0].region != NULL;
  tsi_arena_count(&regions, &all);
  for (int k = 0; k < COUNT; k++) /* adjacent parts, so that free spans grow */
    for (size_t at = 1; at < 1 + PART; at += PART / 2)
      tsi_arena_free_part(a[k].block, at * granule, (at + PART / 2) * granule, a[k].region);
  tsi_arena_count(&regions, &bytes);
  CHECK(bytes == (shares ? all - COUNT * PART * granule : 0));
  for (int k = 0; k < COUNT; k++) {
    CHECK(a[k].block[0] == a[k].mark && a[k].block[granule - 1] == a[k].mark);
    for (size_t at = (1 + PART) * granule; at < a[k].bytes; at += granule) CHECK(a[k].block[at] == a[k].mark);
    if (shares) {
      tsi_arena_free(a[k].block + (1 + PART) * granule, a[k].bytes - (1 + PART) * granule, a[k].region);
      tsi_arena_free(a[k].block, granule, a[k].region);
    } else
      tsi_arena_free(a[k].block, a[k].bytes, a[k].region);
  }
}

int test_arena(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_parts());
  RUN(check_return());
  RUN(check_sharing());
  RUN(check_return());
  RUN(check_threads());
  RUN(check_return());
  return 0;
}
