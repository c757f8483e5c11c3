/* The books of the emulator: see emulator_books.h. Compiled without the thread sanitizer, as emulator.cpp is.
 */
#include "tests/gpu/emulator/emulator_books.h"

#include <stdio.h>

#include <algorithm>

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

namespace emulator {

namespace {

struct flag_names {
  std::string name;
  const int32_t *first = nullptr;
  size_t count = 0;
} flags;

constexpr size_t GUARD_BYTES = EMULATOR_ASAN ? 0 : 64; /* the address sanitizer has its own guards */
constexpr unsigned char FILL = 0xff;                   /* all bits set: NaN in single and double */

} // namespace

/* ---- Problems
 * ----------------------------------------------------------------------------------------------- */

void report_problem(const std::string &text) {
  quiet books;
  if (now->result.problem.empty()) now->result.problem = text;
}

std::string place_of(const thread &t) {
  return "block " + std::to_string(t.of->index) + ", thread " + std::to_string(t.index);
}

static std::string flag_name(const int32_t *address) {
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

/* Reports one line for all threads of a block that wait for the same event. */
std::string deadlock() {
  std::string text = "deadlock";
  if (!now->waiting.empty()) text += ", " + std::to_string(now->waiting.size()) + " blocks have not begun";
  for (const auto &b : now->resident) {
    std::map<std::string, std::pair<unsigned, unsigned>>
        groups; /* number of threads, and the index of the first one */
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

void name_flags(const char *name, const int32_t *first, size_t count) {
  flags.name = name;
  flags.first = first;
  flags.count = count;
}

/* ---- Atomics ------------------------------------------------------------------------------------------- */

void before_atomic(const void *address, scope reach) {
  give_way();
  quiet books;
  use &u = now->atomics.try_emplace(address, use{self->of->index, false, false}).first->second;
  u.many |= u.block != self->of->index;
  u.narrow |= reach == BLOCK;
  if (u.many && u.narrow)
    report_problem(place_of(*self) +
                   ": an atomic in block scope, for other blocks: " + flag_name((const int32_t *)address));
}

/* ---- Panel loads --------------------------------------------------------------------------------------- */

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
  count_load(load); /* all lanes have done this load, and so all earlier ones */
  w.load.pop_front();
  w.first++;
}

/* ---- Shared memory ------------------------------------------------------------------------------------- */

/* An array is identified by its place in the source. The first thread that uses it allocates it. */
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

/* Forgets the atomic accesses to an array, because other blocks may get its memory. */
static void discard_atomics(const shared_array &s) {
  const char *const begin = s.memory.get(), *const end = begin + s.bytes;
  for (auto use = now->atomics.begin(); use != now->atomics.end();) {
    const char *const address = (const char *)use->first;
    use = address >= begin && address < end ? now->atomics.erase(use) : std::next(use);
  }
}

void close_books(const block &b) {
  for (const auto &array : b.shared) {
    const shared_array &s = array.second;
    discard_atomics(s);
    for (size_t i = 0; i < GUARD_BYTES; i++)
      if ((unsigned char)s.memory[s.bytes + i] != FILL) {
        report_problem("block " + std::to_string(b.index) + ": written behind an array of " +
                       std::to_string(s.bytes) + " bytes in shared memory");
        break;
      }
  }
  for (size_t w = 0; w < b.warps.size(); w++)
    if (!b.warps[w].load.empty())
      report_problem("block " + std::to_string(b.index) + ", warp " + std::to_string(w) +
                     ": lanes made different numbers of panel loads");
  now->result.last_block = b.index;
}

} // namespace emulator
