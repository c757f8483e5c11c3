/* The emulator itself: barriers, shuffles, atomics, limited residency, starvation, and what it reports. */
#include "tests/gpu/emulator/emulator.h"

#include <atomic>
#include <set>
#include <vector>

#include "tests/support/check.h"

static constexpr int SEEDS = TSI_TESTS_RACES ? 4 : 40; /* few, because the thread sanitizer is slow */

static bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

static emulator::grid shape_of(unsigned blocks, unsigned threads, unsigned warp, uint64_t seed) {
  emulator::grid shape;
  shape.blocks = blocks;
  shape.threads = threads;
  shape.warp = warp;
  shape.seed = seed;
  return shape;
}

static void check_ended(const emulator::outcome &got) {
  CHECK_MSG(got, "%s", got.problem.c_str());
}

/* Each thread reads what its neighbour wrote to shared memory. Returns how many threads read an old value. */
static int count_missed(bool with_barrier, uint64_t seed) {
  std::vector<int> missed(128, 0);
  check_ended(emulator::run(shape_of(2, 64, 32, seed), [&] {
    GPU_SHARED(unsigned, given, 64);
    for (unsigned round = 0; round < 3; round++) {
      given[gpu_thread()] = 100 * round + gpu_thread();
      if (with_barrier)
        gpu_barrier();
      else
        emulator::give_way();
      const unsigned next = (gpu_thread() + 1) % 64;
      missed[64 * gpu_block() + gpu_thread()] += given[next] != 100 * round + next;
      gpu_barrier();
    }
  }));
  int sum = 0;
  for (int m : missed) sum += m;
  return sum;
}

/* The thread sanitizer would report the missing barrier, so it only runs the correct version. */
static void test_barriers() {
  int without = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    CHECK(count_missed(true, seed) == 0);
    without += !TSI_TESTS_RACES && count_missed(false, seed) > 0;
  }
  CHECK_MSG(TSI_TESTS_RACES || without >= SEEDS / 2, "%d of %d schedules see that there is no barrier",
            without, SEEDS);
}

/* Lanes read what other lanes of their warp wrote. Warps do not wait for each other. */
static void test_warp_barriers() {
  std::vector<unsigned> taken(128);
  for (uint64_t seed = 0; seed < SEEDS / 2; seed++) {
    check_ended(emulator::run(shape_of(1, 128, 64, seed), [&] {
      GPU_SHARED(unsigned, given, 128);
      const unsigned t = gpu_thread();
      for (unsigned round = 0; round < 1 + t / 64; round++) gpu_warp_barrier();
      given[t] = t;
      gpu_warp_barrier();
      taken[t] = given[t ^ 63];
    }));
    for (unsigned t = 0; t < 128; t++) CHECK(taken[t] == (t ^ 63));
  }
}

struct wide {
  double a, b;
};

static void test_shuffles(unsigned warp, unsigned width) {
  std::vector<double> sum(192), of_wide(192);
  for (uint64_t seed = 0; seed < SEEDS / 4; seed++) {
    check_ended(emulator::run(shape_of(1, 192, warp, seed), [&] {
      double s = gpu_thread();
      wide v = {1.0 * gpu_thread(), 2.0 * gpu_thread()};
      for (unsigned mask = 1; mask < width; mask *= 2) {
        s += gpu_shuffle_xor(s, mask, width);
        v = gpu_shuffle_xor(v, mask, width);
      }
      sum[gpu_thread()] = s;
      of_wide[gpu_thread()] = v.a + v.b;
    }));
    for (unsigned t = 0; t < 192; t++) {
      const unsigned first = t / width * width, other = first + (t - first) % width;
      CHECK(sum[t] == width * first + width * (width - 1) / 2.0);
      CHECK(of_wide[t] == 3.0 * (first + ((other - first) ^ (width - 1))));
    }
  }
}

/* Each block has a number, which it draws or which is its index. It waits for the flag of the previous
 * number. */
static emulator::outcome run_chain(unsigned resident, uint64_t seed, bool drawn, std::vector<int32_t> &flag) {
  int32_t ticket = 0;
  emulator::grid shape = shape_of(12, 32, 32, seed);
  shape.resident = resident;
  flag.assign(12, 0);
  emulator::name_flags("flag", flag.data(), flag.size());
  std::vector<int> value(12, 0);
  const auto got = emulator::run(shape, [&] {
    GPU_SHARED(int32_t, number, 1);
    if (gpu_thread() == 0) *number = drawn ? gpu_fetch_add(&ticket, 1, GPU_DEVICE) : (int32_t)gpu_block();
    gpu_barrier();
    const int32_t k = *number;
    if (k > 0 && gpu_thread() == 5) gpu_await(&flag[k - 1], 7, GPU_DEVICE);
    gpu_barrier();
    if (gpu_thread() == 3) value[k] = 1 + (k > 0 ? value[k - 1] : 0);
    gpu_barrier();
    if (gpu_thread() == 0) gpu_store_release(&flag[k], 7, GPU_DEVICE);
  });
  for (int k = 0; got && k < 12; k++) CHECK(value[k] == k + 1);
  return got;
}

/* With drawn numbers one resident block is sufficient. With indices a block can wait for one that has not
 * begun. */
static void test_residency() {
  std::vector<int32_t> flag;
  int stuck = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    for (unsigned resident = 1; resident <= 12; resident += 1 + (unsigned)(seed % 4))
      check_ended(run_chain(resident, seed, true, flag));
    const auto got = run_chain(2, seed, false, flag);
    if (got) continue;
    stuck++;
    CHECK(contains(got.problem, "deadlock") && contains(got.problem, "blocks have not begun"));
    CHECK(contains(got.problem, "waits for flag[") && contains(got.problem, "] to be 7; it is 0"));
    CHECK(contains(got.problem, "and 30 more: waits at the barrier of line"));
  }
  CHECK(stuck >= SEEDS / 4);
}

/* For some seed each block is the last one to end, and each thread the first one to run. */
static void test_starvation() {
  std::set<unsigned> last;
  std::set<int> first;
  for (uint64_t seed = 0; seed < 60; seed++) {
    std::atomic<int> first_thread{-1};
    const auto got = emulator::run(shape_of(4, 32, 32, seed), [&] {
      emulator::give_way();
      int none = -1;
      first_thread.compare_exchange_strong(none, (int)(32 * gpu_block() + gpu_thread()));
      for (int round = 0; round < 10; round++) gpu_barrier();
    });
    check_ended(got);
    last.insert(got.last_block);
    first.insert(first_thread);
  }
  CHECK(last.size() == 4);
  CHECK(first.size() >= 10);
}

static void test_reports() {
  int32_t counter = 0;
  auto got = emulator::run(shape_of(2, 32, 32, 1), [&] { gpu_fetch_add(&counter, 1, GPU_BLOCK); });
  CHECK(contains(got.problem, "an atomic in block scope"));
  got = emulator::run(shape_of(1, 64, 32, 2), [&] {
    if (gpu_thread() < 40)
      gpu_barrier();
    else
      gpu_barrier();
  });
  CHECK(contains(got.problem, "waits at the barrier of line") &&
        contains(got.problem, "others wait at line"));
  got = emulator::run(shape_of(1, 64, 32, 3), [&] {
    if (gpu_thread() != 9) gpu_barrier();
  });
  CHECK(contains(got.problem, "deadlock") && contains(got.problem, "thread 9: has ended"));
  got = emulator::run(shape_of(1, 32, 32, 4), [&] {
    if (gpu_thread() != 1) gpu_shuffle_xor(1, 1, 32);
  });
  CHECK(contains(got.problem, "waits for other lanes at the shuffle"));
  got = emulator::run(shape_of(1, 48, 32, 5), [] {});
  CHECK(contains(got.problem, "48 threads"));
#if !TSI_TESTS_SANITIZED
  got = emulator::run(shape_of(1, 32, 32, 6), [&] {
    GPU_SHARED(double, few, 32);
    few[gpu_thread() + 1] = 0;
  });
  CHECK(contains(got.problem, "written behind an array of 256 bytes"));
#endif
}

/* In shared memory, which several blocks get one after the other. */
static void test_shared_atomics() {
  auto shape = shape_of(6, 32, 32, 3);
  std::vector<int32_t> taken(6);
  shape.resident = 1;
  check_ended(emulator::run(shape, [&] {
    GPU_SHARED(int32_t, home, 2);
    if (gpu_thread() == 0) home[0] = home[1] = -1;
    gpu_barrier();
    gpu_compare_swap(home, -1, (int32_t)gpu_thread(), GPU_BLOCK);
    const int32_t first = gpu_compare_swap(home, -1, 100, GPU_BLOCK);
    if (first == (int32_t)gpu_thread()) gpu_fetch_add(home + 1, 2 + first, GPU_BLOCK);
    gpu_barrier();
    if (home[0] == (int32_t)gpu_thread()) taken[gpu_block()] = home[1] - home[0];
  }));
  for (const int32_t count : taken) CHECK(count == 1);
}

/* A failed run does not affect later ones. */
static void test_again() {
  CHECK(!emulator::run(shape_of(1, 32, 32, 1), [&] {
    if (gpu_thread() != 9) gpu_barrier();
  }));
  CHECK(count_missed(true, 3) == 0);
}

template <class T> static emulator::outcome loads_of(const T *from, unsigned stride, unsigned active) {
  emulator::grid shape = shape_of(1, 64, 32, 1);
  shape.count_loads = true;
  return emulator::run(shape, [=] {
    for (unsigned round = 0; round < 4; round++)
      (void)gpu_load_panel(from + 32 * round + gpu_thread() % 32 * stride, gpu_thread() % 32 < active);
  });
}

static void test_sectors() {
  alignas(64) static double values[4096];
  auto got = loads_of(values, 1, 32);
  check_ended(got);
  CHECK(got.loads == 8 && got.sectors == 8 * 8 && got.bytes == 8 * 256);
  got = loads_of(values + 1, 1, 32);
  CHECK(got.sectors == 8 * 9 && got.bytes == 8 * 256);
  got = loads_of(values, 4, 32);
  CHECK(got.sectors == 8 * 32);
  got = loads_of((const float *)values, 1, 8);
  CHECK(got.loads == 8 && got.sectors == 8 && got.bytes == 8 * 32);
  emulator::grid shape = shape_of(1, 32, 32, 1);
  shape.count_loads = true;
  got = emulator::run(shape, [&] {
    if (gpu_thread() < 8) (void)gpu_load_panel(values, true);
  });
  CHECK(contains(got.problem, "different numbers of panel loads"));
}

/* An 8 x 8 product with inner dimension 12, in steps of 4, by two warps. Integers make the sums exact. */
static void test_matrix_unit(uint64_t seed) {
  constexpr int N = 8, K = 12;
  double a[2][N][K], b[2][K][N], d[2][N][N];
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < N; i++)
      for (int k = 0; k < K; k++) a[w][i][k] = 1 + i * K + k + 1000 * w, b[w][k][i] = 3 * i - 5 * k + w;
  check_ended(emulator::run(shape_of(1, 64, 32, seed), [&] {
    const unsigned w = gpu_thread() / 32, lane = gpu_thread() % 32;
    double sum[2] = {};
    for (unsigned k = 0; k < K; k += 4)
      gpu_multiply_matrices(sum, a[w][lane / 4][k + lane % 4], b[w][k + lane % 4][lane / 4]);
    for (unsigned i = 0; i < 2; i++) d[w][lane / 4][lane % 4 * 2 + i] = sum[i];
  }));
  for (int w = 0; w < 2; w++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        double right = 0;
        for (int k = 0; k < K; k++) right += a[w][i][k] * b[w][k][j];
        CHECK(d[w][i][j] == right);
      }
}

/* Warps of 64 lanes have no matrix unit. */
static void test_no_matrix_unit() {
  const auto got = emulator::run(shape_of(1, 64, 64, 1), [] {
    double d[2] = {};
    gpu_multiply_matrices(d, 1, 1);
  });
  CHECK(contains(got.problem, "a matrix unit of a warp of 64 lanes"));
}

int main() {
  test_barriers();
  test_warp_barriers();
  test_shuffles(32, 32);
  test_shuffles(64, 64);
  test_shuffles(64, 32);
  test_shuffles(32, 8);
  for (uint64_t seed = 0; seed < SEEDS; seed++) test_matrix_unit(seed);
  test_no_matrix_unit();
  test_residency();
  test_starvation();
  test_reports();
  test_shared_atomics();
  test_again();
  test_sectors();
  return 0;
}
