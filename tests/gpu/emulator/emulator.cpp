/* The scheduler of the emulator and what fibers wait for, see emulator.h. Compiled without the thread
 * sanitizer, which does not check the emulator's own data; calls declare to it what barriers order.
 */
#include "tests/gpu/emulator/emulator_books.h"

#include <sched.h>
#include <string.h>

#include <algorithm>

#ifdef TSI_FIBER_TSAN
#define EMULATOR_TSAN 1
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
#else
#define EMULATOR_TSAN 0
static void __tsan_acquire(void *) {}
static void __tsan_release(void *) {}
#endif

namespace emulator {

int planted_fault = 0;
machine *now = nullptr;
thread *self = nullptr;

namespace {

/* ---- States -------------------------------------------------------------------------------------------- */

void make_ready(thread &t) {
  quiet books;
  t.is = READY;
  t.place = t.of->ready.size();
  t.of->ready.push_back(&t);
  t.of->is_ready[t.index / BITS] |= (uint64_t)1 << t.index % BITS;
}

/* Removes the calling thread from the ready threads, because it waits or has ended. */
void leave_ready(state is) {
  auto &ready = self->of->ready;
  ready[self->place] = ready.back();
  ready[self->place]->place = self->place;
  ready.pop_back();
  self->of->is_ready[self->index / BITS] &= ~((uint64_t)1 << self->index % BITS);
  self->is = is;
}

void run_thread(void *arg) {
  thread *t = (thread *)arg;
  __tsan_acquire(&now->order);
  (*now->kernel)();
  __tsan_release(&now->order);
  leave_ready(ENDED);
  t->of->ended++;
  t->runs->leave();
}

void begin_block() {
  auto made = std::make_unique<block>();
  made->index = now->waiting.back();
  now->waiting.pop_back();
  made->threads = std::vector<thread>(now->shape.threads);
  made->is_ready.resize((now->shape.threads + BITS - 1) / BITS);
  made->warps = std::vector<warp>(now->shape.threads / now->shape.warp);
  for (unsigned i = 0; i < now->shape.threads; i++) {
    thread &t = made->threads[i];
    t.of = made.get();
    t.index = i;
    t.runs = std::make_unique<fiber>(run_thread, &t);
    make_ready(t);
  }
  now->resident.push_back(std::move(made));
}

/* ---- Who goes on --------------------------------------------------------------------------------------- */

/* A preference that holds for some switches: any block, only one block, or all but one; and an order of
 * threads within a block. */
struct mood {
  enum { ANY, ONLY, BUT } blocks = ANY;
  enum { RANDOM, FIRST, LAST, SAME } threads = RANDOM;
  size_t block = 0;
  unsigned left = 0;
};

mood draw_mood() {
  mood m;
  auto &random = now->random;
  m.blocks = (decltype(m.blocks))random.below(3);
  m.threads = (decltype(m.threads))random.below(4);
  m.block = random.below(now->resident.size());
  m.left = 1u << random.below(now->shape.longest + 1);
  return m;
}

/* Returns the first ready thread. The block must have one. */
thread *first_ready(block &b) {
  size_t word = 0;
  while (b.is_ready[word] == 0) word++;
  return &b.threads[BITS * word + (size_t)__builtin_ctzll(b.is_ready[word])];
}

thread *last_ready(block &b) {
  size_t word = b.is_ready.size() - 1;
  while (b.is_ready[word] == 0) word--;
  return &b.threads[BITS * word + BITS - 1 - (size_t)__builtin_clzll(b.is_ready[word])];
}

thread *pick_of(block &b, const mood &m) {
  if (m.threads == mood::FIRST) return first_ready(b);
  if (m.threads == mood::LAST) return last_ready(b);
  if (m.threads == mood::SAME && self && self->of == &b && self->is == READY) return self;
  return b.ready[now->random.below(b.ready.size())];
}

/* Returns the thread that continues; NULL: all threads wait. */
thread *pick(const mood &m) {
  const size_t count = now->resident.size();
  block *second = nullptr; /* the excluded block, which runs if no other one can */
  if (m.blocks == mood::ONLY && m.block < count && !now->resident[m.block]->ready.empty())
    return pick_of(*now->resident[m.block], m);
  size_t k = count > 1 ? now->random.below(count) : 0;
  for (size_t i = 0; i < count; i++, k = k + 1 < count ? k + 1 : 0) {
    block *b = now->resident[k].get();
    if (b->ready.empty()) continue;
    if (m.blocks != mood::BUT || k != m.block) return pick_of(*b, m);
    second = b;
  }
  return second ? pick_of(*second, m) : nullptr;
}

/* ---- The grid ------------------------------------------------------------------------------------------ */

void end_blocks() {
  auto &resident = now->resident;
  for (size_t i = 0; i < resident.size();) {
    if (resident[i]->ended < now->shape.threads) {
      i++;
      continue;
    }
    close_books(*resident[i]);
    /* On a device reused memory implies no order. So with the thread sanitizer no memory is freed. */
    if (EMULATOR_TSAN) now->past.push_back(std::move(resident[i]));
    resident.erase(resident.begin() + (ptrdiff_t)i);
    if (!now->waiting.empty()) begin_block();
  }
}

void run_grid() {
  mood m;
  while (!now->resident.empty() && now->result.problem.empty()) {
    if (m.left-- == 0) m = draw_mood();
    thread *t = pick(m);
    if (t == nullptr) {
      report_problem(deadlock());
      return;
    }
    self = t;
    t->runs->enter();
    now->result.switches++;
    if (!t->runs->stack_is_whole()) report_problem(place_of(*t) + ": the stack was too small");
    if (t->is == ENDED && t->of->ended == now->shape.threads) {
      self = nullptr;
      end_blocks();
    }
  }
}

/* Adds the threads whose stacks were too small to the text of a problem, because this may be its cause. */
void add_small_stacks() {
  for (const auto &b : now->resident)
    for (const thread &t : b->threads)
      if (!t.runs->end_is_whole()) now->result.problem += "; " + place_of(t) + ": the stack was too small";
}

} // namespace

outcome run(const grid &shape, const std::function<void()> &kernel) {
  machine here;
  here.shape = shape;
  here.kernel = &kernel;
  here.random.state = shape.seed;
  now = &here;
  if (shape.threads == 0 || shape.threads % shape.warp != 0 || (shape.warp != 32 && shape.warp != 64)) {
    report_problem("a block has " + std::to_string(shape.threads) + " threads, a warp " +
                   std::to_string(shape.warp));
    return here.result;
  }
  for (unsigned b = 0; b < shape.blocks; b++) here.waiting.push_back(b);
  std::shuffle(here.waiting.begin(), here.waiting.end(), here.random);
  __tsan_release(&here.order);
  const unsigned resident = shape.resident == 0 ? shape.blocks : std::min(shape.resident, shape.blocks);
  for (unsigned b = 0; b < resident; b++) begin_block();
  run_grid();
  __tsan_acquire(&here.order);
  {
    quiet books;
    add_small_stacks();
    here.resident.clear();
    here.past.clear();
  }
  now = nullptr;
  self = nullptr;
  return here.result;
}

/* ---- What kernels call --------------------------------------------------------------------------------- */

unsigned thread_index() {
  return self->index;
}
unsigned block_index() {
  return self->of->index;
}
unsigned block_size() {
  return now->shape.threads;
}
unsigned grid_size() {
  return now->shape.blocks / now->shape.devices;
}
unsigned warp_size() {
  return now->shape.warp;
}

void give_way() {
  self->runs->back();
}

/* All `count` threads from `first` on wait at the barrier or shuffle of this line. Makes them ready. */
static void let_go(block &b, unsigned first, unsigned count, state waits, int line) {
  for (unsigned i = first; i < first + count; i++) {
    thread &t = b.threads[i];
    if (t.is != waits || t.line != line)
      report_problem(place_of(t) + ": " + wait_of(t) + ", others wait at line " + std::to_string(line));
    else
      make_ready(t);
  }
}

/* Waits at a barrier; the last thread makes the others ready. Even and odd barriers have separate tags for
 * the thread sanitizer. So a thread that is already at the next barrier is not ordered before threads that
 * still leave this one. */
static void meet(state waits, unsigned first, unsigned count, unsigned &arrived, char *order, int line) {
  thread *t = self;
  __tsan_release(order);
  t->line = line;
  leave_ready(waits);
  if (++arrived == count) {
    arrived = 0;
    let_go(*t->of, first, count, waits, line);
  }
  give_way();
  __tsan_acquire(order);
}

void barrier(int line) {
  block *b = self->of;
  meet(AT_BARRIER, 0, now->shape.threads, b->arrived, &b->order[self->barriers++ % 2], line);
}

void warp_barrier(int line) {
  const unsigned lanes = now->shape.warp, first = self->index / lanes * lanes;
  warp &w = self->of->warps[self->index / lanes];
  meet(AT_WARP_BARRIER, first, lanes, w.at_barrier, &w.order[self->warp_barriers++ % 2], line);
}

/* Each lane of a group stores its words and waits until all lanes have stored theirs. Returns the slot that
 * holds the words. Two slots alternate: no lane can reach the shuffle after the next one before all lanes
 * have read this slot. */
static unsigned meet(const uint64_t *mine, unsigned words, unsigned group, unsigned width, int line) {
  thread *t = self;
  const unsigned lane = group % now->shape.warp, parity = t->shuffles++ % 2;
  warp &w = t->of->warps[group / now->shape.warp];
  for (unsigned k = 0; k < words; k++) t->slot[parity][k] = mine[k];
  t->line = line;
  leave_ready(AT_SHUFFLE);
  if (++w.arrived[lane] == width) {
    w.arrived[lane] = 0;
    let_go(*t->of, group, width, AT_SHUFFLE, line);
  }
  give_way();
  return parity;
}

void exchange(const uint64_t *mine, unsigned words, unsigned from, unsigned width, int line,
              uint64_t *theirs) {
  const thread *t = self;
  const unsigned group = t->index / width * width;
  if (words > EXCHANGE_WORDS || width > now->shape.warp || from >= width) {
    report_problem(place_of(*t) + ": no such shuffle: width " + std::to_string(width) + ", lane " +
                   std::to_string(from));
    give_way();
  }
  const unsigned parity = meet(mine, words, group, width, line);
  const uint64_t *value = t->of->threads[group + from].slot[parity];
  for (unsigned k = 0; k < words; k++) theirs[k] = value[k];
}

void multiply_matrices(double d[2], double a, double b, int line) {
  constexpr unsigned LANES = 32, K = 4;
  const thread *t = self;
  const unsigned group = t->index / LANES * LANES, lane = t->index % LANES;
  if (now->shape.warp != LANES) {
    report_problem(place_of(*t) + ": a matrix unit of a warp of " + std::to_string(now->shape.warp) +
                   " lanes");
    give_way();
  }
  const double given[2] = {a, b};
  uint64_t mine[2];
  memcpy(mine, given, sizeof mine);
  const unsigned parity = meet(mine, 2, group, LANES, line);
  const auto word = [&](unsigned from, unsigned k) {
    double value;
    memcpy(&value, &t->of->threads[group + from].slot[parity][k], sizeof value);
    return value;
  };
  for (unsigned i = 0; i < 2; i++)
    for (unsigned k = 0; k < K; k++) d[i] += word(lane / K * K + k, 0) * word((lane % K * 2 + i) * K + k, 1);
}

void after_store(const void *address) {
  auto &asleep = now->asleep;
  now->idle = 0;
  for (size_t i = 0; i < asleep.size();) {
    if (asleep[i]->address != address) {
      i++;
      continue;
    }
    make_ready(*asleep[i]);
    asleep[i] = asleep.back();
    asleep.pop_back();
  }
  give_way();
}

void poll() {
  size_t ready = 0;
  for (const auto &b : now->resident) ready += b->ready.size();
  if (++now->polls >= ready) { /* roughly one round of all ready threads */
    now->polls = 0;
    sched_yield();
  }
  if (++now->idle == now->shape.polls) report_problem(place_of(*self) + " waits in vain, as all others do");
  give_way();
}

void sleep(const int32_t *address, int32_t seen, int32_t wanted) {
  self->address = address;
  self->seen = seen;
  self->wanted = wanted;
  leave_ready(ASLEEP);
  {
    quiet books;
    now->asleep.push_back(self);
  }
  give_way();
}

} // namespace emulator
