/* The emulator's data about the running grid, for its own files: emulator.cpp, which picks the next fiber,
 * and emulator_books.cpp, which records atomics, panel loads, shared memory and waits, and reports errors. */
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/gpu/emulator/emulator.h"
#include "tests/gpu/emulator/fiber.h"

#ifdef TSI_FIBER_TSAN
extern "C" void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char *file, int line);
#else
static inline void AnnotateIgnoreWritesBegin(const char *, int) {}
static inline void AnnotateIgnoreWritesEnd(const char *, int) {}
#endif

namespace emulator {

/* Hides accesses to the emulator's own data from the thread sanitizer. Must not exist across a switch of
 * fibers. */
struct quiet {
  quiet() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~quiet() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
};

enum state { READY, AT_BARRIER, AT_WARP_BARRIER, AT_SHUFFLE, ASLEEP, ENDED };

constexpr unsigned WARP_MAX = 64;
constexpr unsigned EXCHANGE_WORDS = 4;
constexpr unsigned BITS = 64; /* bits in a word of block.is_ready */

struct block;

struct thread {
  std::unique_ptr<fiber> runs;
  block *of = nullptr;
  unsigned index = 0;
  state is = READY;
  size_t place = 0;                 /* position in the block's list of ready threads */
  int line = 0;                     /* source line of the barrier or shuffle */
  const int32_t *address = nullptr; /* if ASLEEP: the flag, the value read, the value awaited */
  int32_t seen = 0, wanted = 0;
  unsigned barriers = 0, warp_barriers = 0, shuffles = 0, loads = 0; /* numbers of those passed so far */
  uint64_t slot[2][EXCHANGE_WORDS] = {}; /* words for other lanes: of even and of odd shuffles */
};

/* A panel load of a warp that some lanes have not reached. */
struct warp_load {
  unsigned come = 0, bytes = 0, active = 0;
  uintptr_t address[WARP_MAX];
};

struct warp {
  unsigned arrived[WARP_MAX] = {}; /* lanes at a shuffle, by the first lane of the group */
  std::deque<warp_load> load;      /* loads that some lanes have not reached */
  unsigned first = 0;              /* number of load[0] */
  unsigned at_barrier = 0;
  char order[2]; /* tags of even and of odd barriers, for the thread sanitizer */
};

struct shared_array {
  std::unique_ptr<char[]> memory;
  size_t bytes;
};

struct block {
  unsigned index = 0, arrived = 0, ended = 0;
  std::vector<thread> threads;
  std::vector<thread *> ready;
  std::vector<uint64_t> is_ready; /* the ready threads as bits, by index */
  std::vector<warp> warps;
  std::map<const void *, shared_array> shared;
  char order[2]; /* tags of even and of odd barriers, for the thread sanitizer */
};

/* The blocks that access an address atomically. */
struct use {
  unsigned block;
  bool many, narrow;
};

/* The generator SplitMix64 of Steele, Lea and Flood. Each launch sets the state; each switch draws one or
 * two numbers. */
struct random_numbers {
  typedef uint64_t result_type;
  uint64_t state;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /* Returns a number from 0 to n - 1; n < 2^32. */
  size_t below(size_t n) { return (size_t)(((*this)() >> 32) * n >> 32); }
};

struct machine {
  grid shape;
  const std::function<void()> *kernel;
  std::vector<std::unique_ptr<block>> resident, past;
  std::vector<unsigned> waiting; /* blocks that have not begun; the last one begins next */
  std::vector<thread *> asleep;
  std::unordered_map<const void *, use> atomics;
  random_numbers random;
  outcome result;
  size_t polls = 0; /* polls since the process last yielded its core */
  size_t idle = 0;  /* polls since the latest store */
  char order;       /* tag of all operations of the grid, for the thread sanitizer */
};

/* The current grid, and its current thread. */
extern machine *now;
extern thread *self;

/* ---- The books ----------------------------------------------------------------------------------------- */

/* Reports a problem; only the first one becomes the outcome. */
void report_problem(const std::string &text);
std::string place_of(const thread &t);
/* Describe what a thread waits for, and what all threads wait for after a deadlock. */
std::string wait_of(const thread &t);
std::string deadlock();
/* Checks a block that has ended. */
void close_books(const block &b);

} // namespace emulator
