/* See arena.h. */
#include "runtime/base/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/types.h"

#if defined(__SANITIZE_ADDRESS__)
#define SHARES_REGIONS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARES_REGIONS false
#endif
#endif
#ifndef SHARES_REGIONS
#define SHARES_REGIONS true
#endif

#define GRANULE TSI_ARENA_GRANULE
#define HUGE_PAGE ((size_t)2 << 20)
#define REGION ((size_t)32 << 20)
#define MOST_SPANS (REGION / GRANULE / 2 + 1)

/* Free bytes of a region. */
typedef struct span {
  size_t begin, end;
} span;

struct tsi_region {
  char *memory; /* REGION bytes */
  tsi_region *next;
  int spans;
  span span[MOST_SPANS];
};

static struct {
  pthread_mutex_t lock;
  tsi_region *first;
} arena = {PTHREAD_MUTEX_INITIALIZER, NULL};

static void lock_arena(void) {
  pthread_mutex_lock(&arena.lock);
}

static void unlock_arena(void) {
  pthread_mutex_unlock(&arena.lock);
}

/* A child of fork() gets a consistent arena, and can allocate. */
__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(lock_arena, unlock_arena, unlock_arena);
}

static size_t round_up(size_t bytes, size_t unit) {
  return bytes + (unit - bytes % unit) % unit;
}

static bool is_empty(const tsi_region *region) {
  return region->spans == 1 && region->span[0].end - region->span[0].begin == REGION;
}

/* ---- Regions ------------------------------------------------------------------------------------------- */

static void advise_huge(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  (void)madvise(memory, bytes, MADV_HUGEPAGE); /* a kernel without huge pages refuses */
#else
  (void)memory;
  (void)bytes;
#endif
}

/* Maps a region that begins at a huge page, and unmaps the bytes before and behind it. */
static char *map_region(void) {
  const size_t all = REGION + HUGE_PAGE;
  char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  const size_t before = round_up((uintptr_t)memory, HUGE_PAGE) - (uintptr_t)memory;
  if (before > 0) (void)munmap(memory, before);
  if (before < HUGE_PAGE) (void)munmap(memory + before + REGION, HUGE_PAGE - before);
  advise_huge(memory + before, REGION);
  return memory + before;
}

static tsi_region *add_region(void) {
  tsi_region *region = malloc(sizeof *region);
  if (region == NULL) return NULL;
  region->memory = map_region();
  if (region->memory == NULL) {
    free(region);
    return NULL;
  }
  region->spans = 1;
  region->span[0] = (span){0, REGION};
  region->next = arena.first;
  arena.first = region;
  return region;
}

/* Returns all empty regions to the system, except `kept` of them. */
static void drop_empty(int kept) {
  for (tsi_region **at = &arena.first; *at != NULL;) {
    tsi_region *region = *at;
    if (is_empty(region) && kept-- <= 0) {
      *at = region->next;
      (void)munmap(region->memory, REGION);
      free(region);
    } else
      at = &region->next;
  }
}

/* ---- Arrays of regions --------------------------------------------------------------------------------- */

/* The region with the smallest span of at least `bytes` bytes, NULL: there is none. *found: the span. */
static tsi_region *find_span(size_t bytes, int *found) {
  tsi_region *best = NULL;
  size_t least = SIZE_MAX;
  for (tsi_region *region = arena.first; region != NULL; region = region->next)
    for (int s = 0; s < region->spans; s++) {
      const size_t space = region->span[s].end - region->span[s].begin;
      if (space < bytes || space >= least) continue;
      best = region;
      least = space;
      *found = s;
    }
  return best;
}

static void remove_span(tsi_region *region, int s) {
  region->spans--;
  memmove(&region->span[s], &region->span[s + 1], (size_t)(region->spans - s) * sizeof(span));
}

static void *take(size_t bytes, tsi_region **out) {
  int s = 0;
  tsi_region *region = find_span(bytes, &s);
  if (region == NULL) region = add_region();
  *out = region;
  if (region == NULL) return NULL;
  span *from = &region->span[s];
  char *block = region->memory + from->begin;
  from->begin += bytes;
  if (from->begin == from->end) remove_span(region, s);
  return block;
}

/* Frees a span, and joins it with the free spans that it touches. */
static void give(tsi_region *region, span given) {
  int s = 0;
  while (s < region->spans && region->span[s].begin < given.begin) s++;
  const bool before = s > 0 && region->span[s - 1].end == given.begin;
  const bool behind = s < region->spans && region->span[s].begin == given.end;
  if (before && behind) {
    region->span[s - 1].end = region->span[s].end;
    remove_span(region, s);
  } else if (before) {
    region->span[s - 1].end = given.end;
  } else if (behind) {
    region->span[s].begin = given.begin;
  } else {
    memmove(&region->span[s + 1], &region->span[s], (size_t)(region->spans - s) * sizeof(span));
    region->span[s] = given;
    region->spans++;
  }
}

/* ---- All arrays ---------------------------------------------------------------------------------------- */

/* Largest bytes for which malloc with one more cache line is several times faster than aligned_alloc. */
#define SMALL (SHARES_REGIONS ? (size_t)16 << 10 : 0)

/* The address from malloc is stored before the block. There is space for it, because malloc aligns to more
 * than a pointer. */
static void *allocate_small(size_t bytes) {
  char *all = malloc(bytes + TSI_CACHE_LINE);
  if (all == NULL) return NULL;
  char *block = all + TSI_CACHE_LINE - (uintptr_t)all % TSI_CACHE_LINE;
  memcpy(block - sizeof all, &all, sizeof all);
  return block;
}

static void free_small(void *block) {
  char *all;
  memcpy(&all, (char *)block - sizeof all, sizeof all);
  free(all);
}

/* Allocates by the C library, with huge pages if these are not much more than the array. */
static void *allocate_alone(size_t bytes) {
  void *block;
  if (bytes <= SMALL) return allocate_small(bytes);
  if (bytes < TSI_ARENA_MOST) return aligned_alloc(TSI_CACHE_LINE, round_up(bytes, TSI_CACHE_LINE));
  if (bytes > SIZE_MAX - HUGE_PAGE) return NULL;
  bytes = round_up(bytes, HUGE_PAGE);
  if (posix_memalign(&block, HUGE_PAGE, bytes) != 0) return NULL;
  advise_huge(block, bytes);
  return block;
}

void *tsi_arena_allocate(size_t bytes, tsi_region **region) {
  void *block = NULL;
  *region = NULL;
  if (SHARES_REGIONS && bytes >= TSI_ARENA_LEAST && bytes <= TSI_ARENA_MOST) {
    pthread_mutex_lock(&arena.lock);
    block = take(round_up(bytes, GRANULE), region);
    pthread_mutex_unlock(&arena.lock);
  }
  return block ? block : allocate_alone(bytes); /* also if no region can be added */
}

void tsi_arena_free(void *block, size_t bytes, tsi_region *region) {
  if (region == NULL && bytes <= SMALL) {
    free_small(block);
    return;
  }
  if (region == NULL) {
    free(block);
    return;
  }
  const size_t begin = (size_t)((char *)block - region->memory);
  pthread_mutex_lock(&arena.lock);
  give(region, (span){begin, begin + round_up(bytes, GRANULE)});
  if (is_empty(region)) drop_empty(1);
  pthread_mutex_unlock(&arena.lock);
}

void tsi_arena_free_part(void *block, size_t begin, size_t end, tsi_region *region) {
  if (region == NULL) {
#ifdef MADV_DONTNEED
    if (SHARES_REGIONS && (uintptr_t)block % GRANULE == 0)
      (void)madvise((char *)block + begin, end - begin, MADV_DONTNEED);
#endif
    return;
  }
  const size_t at = (size_t)((char *)block - region->memory);
  pthread_mutex_lock(&arena.lock);
  give(region, (span){at + begin, at + end});
  pthread_mutex_unlock(&arena.lock);
}

void tsi_arena_trim(void) {
  pthread_mutex_lock(&arena.lock);
  drop_empty(0);
  pthread_mutex_unlock(&arena.lock);
}

void tsi_arena_count(size_t *regions, size_t *bytes) {
  *regions = *bytes = 0;
  pthread_mutex_lock(&arena.lock);
  for (const tsi_region *region = arena.first; region != NULL; region = region->next) {
    ++*regions;
    *bytes += REGION;
    for (int s = 0; s < region->spans; s++) *bytes -= region->span[s].end - region->span[s].begin;
  }
  pthread_mutex_unlock(&arena.lock);
}
