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

/* Random numbers of Steele, Lea and Flood's SplitMix64: a launch seeds them, and each switch takes one or
 * two. */
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
  /* One of 0 .. n - 1; n < 2^32. */
  size_t below(size_t n) { return (size_t)(((*this)() >> 32) * n >> 32); }
};

struct machine {
  grid shape;
  const std::function<void()> *kernel;
  std::vector<std::unique_ptr<block>> resident, past;
  std::vector<unsigned> waiting; /* blocks that have not begun, the next one last */
  std::vector<thread *> asleep;
  std::unordered_map<const void *, use> atomics;
  random_numbers random;
  outcome result;
  size_t polls = 0; /* since the process last gave its core away */
  size_t idle = 0;  /* polls since the latest store */
  char order;       /* all that the grid does, for the thread sanitizer */
};

/* The grid that runs, and the thread of it. */
extern machine *now;
extern thread *self;

/* ---- The books ----------------------------------------------------------------------------------------- */

/* The first problem is the outcome's. */
void tell(const std::string &text);
std::string place_of(const thread &t);
/* What a thread waits for; who waits for what, when nobody can go on. */
std::string wait_of(const thread &t);
std::string deadlock();
/* What can be seen only when a block has ended. */
void close_books(const block &b);

} // namespace emulator
