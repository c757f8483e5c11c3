/* See lane_run.h. */
#include "runtime/exec/steps/lane_run.h"

#include <sched.h>

/* The word of a lane. */
#define PASSED(word) ((tsi_index)((word)&0xffffffffu))
#define TAKEN ((uint64_t)1 << 32)
#define GENERATION 33
#define GENERATIONS (((uint64_t)1 << (64 - GENERATION)) - 1)

/* Polls of another lane before the core is yielded to other threads: about 20 us. */
#define LOOKS 500

static inline void look_again(int *looks) {
  if (++*looks > LOOKS) {
    (void)sched_yield();
    return;
  }
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

tristar_status tsi_lane_run_create(tsi_env *env, tsi_execution *execution, const tsi_steps *steps,
                                   tsi_lanes *lanes, tsi_lane_run **out) {
  TSI_OWNED tsi_lanes *taken = lanes;
  TSI_OWNED tsi_lane_run *run = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, run, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(run, run->state, lanes->count));
  tsi_own(run, tsi_take(&taken));
  run->execution = execution;
  run->steps = steps;
  run->lanes = lanes;
  for (int k = 0; k < lanes->count; k++) /* before the first run all lanes are completed */
    atomic_init(&run->state[k].word, (uint64_t)tsi_lane_steps(lanes, k));
  *out = tsi_take(&run);
  return TRISTAR_OK;
}

void tsi_lane_run_begin(tsi_lane_run *run) {
  const uint64_t generation = (atomic_load(&run->generation) + 1) & GENERATIONS;
  for (int k = 0; k < run->lanes->count; k++)
    atomic_store_explicit(&run->state[k].word, generation << GENERATION, memory_order_relaxed);
  atomic_store_explicit(&run->generation, generation, memory_order_release);
}

/* A member of one run. */
typedef struct member {
  tsi_lane_run *run;
  uint64_t base; /* word of a lane in this run before its first step */
  int worker;
} member;

static inline uint64_t word_of(const member *m, int lane) {
  return atomic_load_explicit(&m->run->state[lane].word, memory_order_acquire);
}
static inline bool is_over(const member *m, uint64_t word) {
  return word >> GENERATION != m->base >> GENERATION;
}
static inline bool is_through(const member *m, int lane, uint64_t word) {
  return PASSED(word) == tsi_lane_steps(m->run->lanes, lane);
}

/* Whether the lane is free: no member works on it, and it is not completed. */
static inline bool is_free(const member *m, int lane, uint64_t word) {
  return !is_over(m, word) && !(word & TAKEN) && !is_through(m, lane, word);
}

static bool take(const member *m, int lane) {
  uint64_t word = word_of(m, lane);
  return is_free(m, lane, word) &&
         atomic_compare_exchange_strong_explicit(&m->run->state[lane].word, &word, word | TAKEN,
                                                 memory_order_acquire, memory_order_relaxed);
}

/* Waits until the step at `place` can run; returns TSI_NONE. If it waits for a free lane, returns that lane.
 */
static tsi_index await(const member *m, tsi_index place) {
  const tsi_lanes *lanes = m->run->lanes;
  for (tsi_count w = lanes->wait_ptr[place]; w < lanes->wait_ptr[place + 1]; w++) {
    const tsi_lane_wait *wait = &lanes->wait[w];
    for (int looks = 0;; look_again(&looks)) {
      const uint64_t word = word_of(m, wait->lane);
      if (PASSED(word) >= wait->passed) break;
      if (!(word & TAKEN)) return wait->lane;
    }
  }
  return TSI_NONE;
}

/* Works on a taken lane, and releases it. Returns TSI_NONE if the lane is completed, else a free lane that it
 * waits for. */
static tsi_index work(const member *m, int lane) {
  const tsi_lanes *lanes = m->run->lanes;
  const tsi_index steps = tsi_lane_steps(lanes, lane);
  _Atomic(uint64_t) *word = &m->run->state[lane].word;
  for (tsi_index passed = PASSED(atomic_load_explicit(word, memory_order_relaxed)); passed < steps;) {
    const tsi_index place = lanes->first[lane] + passed, other = await(m, place);
    if (other != TSI_NONE) {
      atomic_store_explicit(word, m->base | (uint64_t)passed, memory_order_release);
      return other;
    }
    tsi_execution_run(m->run->execution, m->run->steps, 1, &lanes->step[place], m->worker);
    passed++;
    const uint64_t taken = passed < steps ? TAKEN : 0; /* the last write to a completed lane */
    atomic_store_explicit(word, m->base | taken | (uint64_t)passed, memory_order_release);
  }
  return TSI_NONE;
}

/* Finds a free lane, beginning with `lane`. Returns the number of lanes if none is free now, TSI_NONE if the
 * run is over. */
static tsi_index find(const member *m, int lane) {
  const int count = m->run->lanes->count;
  bool all = true;
  for (int k = 0; k < count; k++) {
    const int other = (lane + k) % count;
    const uint64_t word = word_of(m, other);
    if (is_over(m, word)) return TSI_NONE;
    if (is_free(m, other, word)) return other;
    all = all && is_through(m, other, word);
  }
  return all ? TSI_NONE : count;
}

void tsi_lane_run_join(tsi_lane_run *run, int lane, int worker) {
  const uint64_t generation = atomic_load_explicit(&run->generation, memory_order_acquire);
  const member m = {run, generation << GENERATION, worker};
  const int count = run->lanes->count;
  if (count == 0) return;
  for (tsi_index next = lane % count, looks = 0; (next = find(&m, (int)next)) != TSI_NONE;) {
    if (next == count) {
      next = lane % count;
      look_again(&looks);
      continue;
    }
    looks = 0;
    while (next != TSI_NONE && take(&m, (int)next)) next = work(&m, (int)next);
    if (next == TSI_NONE) next = lane % count;
  }
}
