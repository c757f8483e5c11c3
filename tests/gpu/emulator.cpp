/* The scheduler of the emulator and what fibers wait for, see emulator.h. Compiled without the thread
 * sanitizer: the emulator's own books are not what it is to look at; it is told by hand what barriers order.
 */
#include "tests/gpu/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "tests/gpu/fiber.h"

#if defined __has_feature
#define EMULATOR_FEATURE(name) __has_feature(name)
#else
#define EMULATOR_FEATURE(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || EMULATOR_FEATURE(address_sanitizer)
#define EMULATOR_ASAN 1
#else
#define EMULATOR_ASAN 0
#endif
#ifdef TSI_FIBER_TSAN
#define EMULATOR_TSAN 1
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
#else
#define EMULATOR_TSAN 0
static void __tsan_acquire(void *) {}
static void __tsan_release(void *) {}
static void AnnotateIgnoreWritesBegin(const char *, int) {}
static void AnnotateIgnoreWritesEnd(const char *, int) {}
#endif

namespace emulator {

int planted_fault = 0;

namespace {

/* What a fiber allocates for the emulator's books belongs to none of its threads. Not across a switch. */
struct quiet {
  quiet() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~quiet() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
};

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, AT_SHUFFLE, ASLEEP, ENDED };

constexpr unsigned WARP_MAX = 64;
constexpr unsigned EXCHANGE_WORDS = 4;
constexpr unsigned BITS = 64; /* of a word of block.is_ready */

struct block;

struct thread {
  std::unique_ptr<fiber> runs;
  block *of = nullptr;
  unsigned index = 0;
  state is = READY;
  size_t place = 0;                 /* in the block's list of ready threads */
  int line = 0;                     /* of the barrier or shuffle */
  const int32_t *address = nullptr; /* ASLEEP: the flag, what it was, what is waited for */
  int32_t seen = 0, wanted = 0;
  unsigned barriers = 0, warp_barriers = 0, shuffles = 0, loads = 0; /* passed so far */
  uint64_t slot[2][EXCHANGE_WORDS] = {}; /* what others take: of even, of odd shuffles */
};

/* One panel load of a warp, until all lanes have come. */
struct warp_load {
  unsigned come = 0, bytes = 0, active = 0;
  uintptr_t address[WARP_MAX];
};

struct warp {
  unsigned arrived[WARP_MAX] = {}; /* at a shuffle: by group, which the first lane names */
  std::deque<warp_load> load;      /* those that some lanes have not come to */
  unsigned first = 0;              /* number of the first of them */
  unsigned at_barrier = 0;
  char order[2]; /* what its even, odd barriers order */
};

struct shared_array {
  std::unique_ptr<char[]> memory;
  size_t bytes;
};

struct block {
  unsigned index = 0, arrived = 0, ended = 0;
  std::vector<thread> threads;
  std::vector<thread *> ready;
  std::vector<uint64_t> is_ready; /* the same as bits, by index */
  std::vector<warp> warps;
  std::map<const void *, shared_array> shared;
  char order[2]; /* what even, odd barriers order, for the thread sanitizer */
};

/* Where blocks use an address by atomics. */
struct use {
  unsigned block;
  bool many, narrow;
};

struct machine {
  grid shape;
  const std::function<void()> *kernel;
  std::vector<std::unique_ptr<block>> resident, past;
  std::vector<unsigned> waiting; /* blocks that have not begun, the next one last */
  std::vector<thread *> asleep;
  std::unordered_map<const void *, use> atomics;
  std::mt19937_64 random;
  outcome result;
  char order; /* all that the grid does, for the thread sanitizer */
};

machine *now = nullptr;
thread *self = nullptr;

struct flag_names {
  std::string name;
  const int32_t *first = nullptr;
  size_t count = 0;
} flags;

constexpr size_t GUARD_BYTES = EMULATOR_ASAN ? 0 : 64; /* the address sanitizer has guards of its own */
constexpr unsigned char FILL = 0xff;                   /* all ones are a NaN in either precision */

/* ---- States -------------------------------------------------------------------------------------------- */

void tell(const std::string &text) {
  quiet books;
  if (now->result.problem.empty()) now->result.problem = text;
}

std::string place_of(const thread &t) {
  return "block " + std::to_string(t.of->index) + ", thread " + std::to_string(t.index);
}

void make_ready(thread &t) {
  quiet books;
  t.is = READY;
  t.place = t.of->ready.size();
  t.of->ready.push_back(&t);
  t.of->is_ready[t.index / BITS] |= (uint64_t)1 << t.index % BITS;
}

/* The calling thread waits, or has ended. */
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

/* What can be seen only when a block has ended. */
void end_block(block &b) {
  for (const auto &array : b.shared) {
    const shared_array &s = array.second;
    for (size_t i = 0; i < GUARD_BYTES; i++)
      if ((unsigned char)s.memory[s.bytes + i] != FILL) {
        tell("block " + std::to_string(b.index) + ": written behind an array of " + std::to_string(s.bytes) +
             " bytes in shared memory");
        break;
      }
  }
  for (size_t w = 0; w < b.warps.size(); w++)
    if (!b.warps[w].load.empty())
      tell("block " + std::to_string(b.index) + ", warp " + std::to_string(w) +
           ": lanes made different numbers of panel loads");
  now->result.last_block = b.index;
}

/* ---- Who goes on --------------------------------------------------------------------------------------- */

/* For a while, one block only, or all but one, and a preference within a block. */
struct mood {
  enum { ANY, ONLY, BUT } blocks = ANY;
  enum { RANDOM, FIRST, LAST, SAME } threads = RANDOM;
  size_t block = 0;
  unsigned left = 0;
};

mood draw_mood() {
  mood m;
  auto &random = now->random;
  m.blocks = (decltype(m.blocks))(random() % 3);
  m.threads = (decltype(m.threads))(random() % 4);
  m.block = random() % now->resident.size();
  m.left = 1u << random() % 11;
  return m;
}

/* Some thread of the block is ready. */
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
  return b.ready[now->random() % b.ready.size()];
}

/* NULL: nobody can go on. */
thread *pick(const mood &m) {
  const size_t count = now->resident.size(), from = now->random() % count;
  block *second = nullptr; /* against the mood: if there is no other */
  if (m.blocks == mood::ONLY && m.block < count && !now->resident[m.block]->ready.empty())
    return pick_of(*now->resident[m.block], m);
  for (size_t i = 0; i < count; i++) {
    const size_t k = (from + i) % count;
    block *b = now->resident[k].get();
    if (b->ready.empty()) continue;
    if (m.blocks != mood::BUT || k != m.block) return pick_of(*b, m);
    second = b;
  }
  return second ? pick_of(*second, m) : nullptr;
}

/* ---- Deadlocks ----------------------------------------------------------------------------------------- */

std::string flag_name(const int32_t *address) {
  if (flags.first && address >= flags.first && address < flags.first + flags.count)
    return flags.name + "[" + std::to_string(address - flags.first) + "]";
  char text[32];
  snprintf(text, sizeof text, "the flag at %p", (const void *)address);
  return text;
}

std::string wait_of(const thread &t) {
  switch (t.is) {
  case AT_WARP_BARRIER:
    return "waits at the warp's barrier of line " + std::to_string(t.line);
  case AT_BARRIER:
    return "waits at the barrier of line " + std::to_string(t.line);
  case AT_SHUFFLE:
    return "waits for other lanes at the shuffle of line " + std::to_string(t.line);
  case ASLEEP:
    return "waits for " + flag_name(t.address) + " to be " + std::to_string(t.wanted) + "; it is " +
           std::to_string(t.seen);
  case ENDED:
    return "has ended";
  default:
    return "can go on";
  }
}

/* Nobody can go on: one line for all threads of a block that wait for the same. */
std::string deadlock() {
  std::string text = "deadlock";
  if (!now->waiting.empty()) text += ", " + std::to_string(now->waiting.size()) + " blocks have not begun";
  for (const auto &b : now->resident) {
    std::map<std::string, std::pair<unsigned, unsigned>> groups; /* how many, and the first of them */
    for (const thread &t : b->threads) {
      auto &g = groups.insert({wait_of(t), {0, t.index}}).first->second;
      g.first++;
    }
    for (const auto &g : groups)
      text += "\n  block " + std::to_string(b->index) + ", thread " + std::to_string(g.second.second) +
              (g.second.first > 1 ? " and " + std::to_string(g.second.first - 1) + " more: " : ": ") +
              g.first;
  }
  return text;
}

/* ---- The grid ------------------------------------------------------------------------------------------ */

void end_blocks() {
  auto &resident = now->resident;
  for (size_t i = 0; i < resident.size();) {
    if (resident[i]->ended < now->shape.threads) {
      i++;
      continue;
    }
    end_block(*resident[i]);
    /* Memory that others get orders nothing on a device: with the thread sanitizer none is given back. */
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
      tell(deadlock());
      return;
    }
    self = t;
    t->runs->enter();
    now->result.switches++;
    if (!t->runs->stack_is_whole()) tell(place_of(*t) + ": the stack was too small");
    if (t->is == ENDED && t->of->ended == now->shape.threads) {
      self = nullptr;
      end_blocks();
    }
  }
}

} // namespace

outcome run(const grid &shape, const std::function<void()> &kernel) {
  machine here;
  here.shape = shape;
  here.kernel = &kernel;
  here.random.seed(shape.seed);
  now = &here;
  if (shape.threads == 0 || shape.threads % shape.warp != 0 || (shape.warp != 32 && shape.warp != 64)) {
    tell("a block has " + std::to_string(shape.threads) + " threads, a warp " + std::to_string(shape.warp));
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
    here.resident.clear();
    here.past.clear();
  }
  now = nullptr;
  self = nullptr;
  return here.result;
}

void name_flags(const char *name, const int32_t *first, size_t count) {
  flags.name = name;
  flags.first = first;
  flags.count = count;
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
  return now->shape.blocks;
}
unsigned warp_size() {
  return now->shape.warp;
}

void give_way() {
  self->runs->back();
}

/* All `count` threads from `first` on have come, who waits for the barrier or shuffle of a line: they go on.
 */
static void let_go(block &b, unsigned first, unsigned count, state waits, int line) {
  for (unsigned i = first; i < first + count; i++) {
    thread &t = b.threads[i];
    if (t.is != waits || t.line != line)
      tell(place_of(t) + ": " + wait_of(t) + ", others wait at line " + std::to_string(line));
    else
      make_ready(t);
  }
}

/* The last one to come lets the others go. Even and odd barriers order apart from each other, so that who is
 * early at the next one gives nothing to who is late to leave this one. */
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

/* All lanes of a group bring their words, and go on when all are there; returns the slot that holds them. Two
 * slots in turn: nobody comes to the meeting after the next one before all have taken from this one. */
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
    tell(place_of(*t) + ": no such shuffle: width " + std::to_string(width) + ", lane " +
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
    tell(place_of(*t) + ": a matrix unit of a warp of " + std::to_string(now->shape.warp) + " lanes");
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

void before_atomic(const void *address, scope reach) {
  give_way();
  quiet books;
  use &u = now->atomics.insert({address, {self->of->index, false, false}}).first->second;
  u.many |= u.block != self->of->index;
  u.narrow |= reach == BLOCK;
  if (u.many && u.narrow)
    tell(place_of(*self) +
         ": an atomic in block scope, for other blocks: " + flag_name((const int32_t *)address));
}

void after_store(const void *address) {
  auto &asleep = now->asleep;
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

static void count_load(const warp_load &load) {
  std::vector<uintptr_t> sectors;
  for (unsigned i = 0; i < load.active; i++)
    for (uintptr_t s = load.address[i] / SECTOR_BYTES; s <= (load.address[i] + load.bytes - 1) / SECTOR_BYTES;
         s++)
      sectors.push_back(s);
  std::sort(sectors.begin(), sectors.end());
  now->result.loads += load.active > 0;
  now->result.sectors += (uint64_t)(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
  now->result.bytes += (uint64_t)load.active * load.bytes;
}

void panel_load(const void *address, unsigned bytes, bool active) {
  if (!now->shape.count_loads) return;
  quiet books;
  warp &w = self->of->warps[self->index / now->shape.warp];
  const unsigned number = self->loads++ - w.first;
  if (number == w.load.size()) w.load.emplace_back();
  warp_load &load = w.load[number];
  if (active) load.address[load.active++] = (uintptr_t)address;
  load.bytes = bytes;
  if (++load.come < now->shape.warp) return;
  count_load(load); /* all lanes have come to it, and so to those before it */
  w.load.pop_front();
  w.first++;
}

/* Arrays have the place where they stand in the source as their name; the first thread to come makes them. */
void *shared(const void *site, size_t bytes) {
  quiet books;
  shared_array &s = self->of->shared[site];
  if (!s.memory) {
    s.memory.reset(new char[bytes + GUARD_BYTES]);
    s.bytes = bytes;
    for (size_t i = 0; i < bytes + GUARD_BYTES; i++) *(volatile char *)&s.memory[i] = (char)FILL;
  }
  return s.memory.get();
}

} // namespace emulator
