/* Index lists of all lengths are sorted from any order and keep their elements; unique lists contain each
 * index once. The range that is found for an index contains it. */
#include "runtime/base/sort.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

enum { RANDOM, FEW, UP, DOWN, SAME, ORGAN, SAW, KINDS };

static tsi_index entry(int kind, tsi_index count, tsi_index k, uint64_t *seed) {
  switch (kind) {
  case RANDOM:
    return (tsi_index)next_random(seed);
  case FEW:
    return (tsi_index)(next_random(seed) % 5);
  case UP:
    return k;
  case DOWN:
    return count - k;
  case ORGAN:
    return k < count - k ? k : count - k;
  case SAW:
    return k % 7 * 1000 + k;
  default:
    return 3;
  }
}

static int compare(const void *a, const void *b) {
  const tsi_index x = *(const tsi_index *)a, y = *(const tsi_index *)b;
  return (x > y) - (x < y);
}

static void check_list(int kind, tsi_index count) {
  uint64_t seed = (uint64_t)(kind + 1);
  const size_t bytes = ((size_t)count + 1) * sizeof(tsi_index);
  OWNED tsi_index *list = xmalloc(bytes), *expected = xmalloc(bytes);
  list[count] = expected[count] = -7; /* must stay unchanged */
  for (tsi_index k = 0; k < count; k++) list[k] = expected[k] = entry(kind, count, k, &seed);
  qsort(expected, (size_t)count, sizeof *expected, compare);
  tsi_sort_indices(list, count);
  CHECK_MSG(memcmp(list, expected, bytes) == 0, "kind %d, %d entries", kind, count);
  tsi_count kept = 0;
  for (tsi_index k = 0; k < count; k++)
    if (k == 0 || expected[k] != expected[kept - 1]) expected[kept++] = expected[k];
  CHECK(tsi_sort_unique(list, count) == kept);
  CHECK(memcmp(list, expected, (size_t)kept * sizeof *list) == 0);
}

static void check_ranges(void) {
  static const tsi_index begin[] = {0, 3, 3, 10};
  static const tsi_index range[] = {0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 3, 3};
  for (tsi_index i = 0; i < 12; i++) CHECK(tsi_find_range(begin, 4, i) == range[i]);
}

int test_sort(int argc, char **argv) {
  subtests_begin(&argc, argv);
  for (int kind = 0; kind < KINDS; kind++) {
    for (tsi_index count = 0; count < 100; count++) RUN(check_list(kind, count));
    RUN(check_list(kind, 12345));
    RUN(check_list(kind, 100000));
  }
  RUN(check_ranges());
  return 0;
}
