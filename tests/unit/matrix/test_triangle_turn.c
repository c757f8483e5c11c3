/* tsi_triangle_turn on random triangles, of each scalar type, lower and upper, with and without diagonal
 * entries, with empty columns. Rows and diagonals equal a transposition, level sets equal the level sets of
 * the rows. Values that are not finite are found. Columns that are out of order, or out of range between
 * their ends, are refused. Each allocation fails once. */
#include "partition/cut/row_chunks.h"
#include "runtime/matrix/triangle_turn.h"
#include "tests/support/env_allocations.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

enum { MOST = 2000, ROOM = 30 * MOST };

static uint64_t state = 7;

typedef struct triangle {
  tsi_count ptr[MOST + 1];
  tsi_index index[ROOM];
  double values[2 * ROOM]; /* large enough for any type */
  tsi_column_arrays columns;
} triangle;

static triangle t;

static tsi_count count_falls(tsi_index n) {
  tsi_count falls = 0;
  tsi_index last = -1;
  for (tsi_index j = 0; j < n; j++) {
    if (t.ptr[j] == t.ptr[j + 1]) continue;
    falls += t.index[t.ptr[j]] <= last;
    last = t.index[t.ptr[j + 1] - 1];
  }
  return falls;
}

static void draw_values(char scalar, tsi_count count) {
  const bool is_single = scalar == 's' || scalar == 'c';
  const tsi_count parts = scalar == 'c' || scalar == 'z' ? 2 * count : count;
  for (tsi_count p = 0; p < parts; p++) {
    const double value = (double)next_random(&state) / 1e9 - 1;
    const float single = (float)value;
    if (is_single)
      memcpy((char *)t.values + (size_t)p * sizeof single, &single, sizeof single);
    else
      t.values[p] = value;
  }
}

/* near: many rows depend on the previous row. */
static void draw(tsi_index n, bool lower, char scalar, bool near) {
  tsi_count count = 0;
  for (tsi_index j = 0; j < n; j++) {
    const tsi_index first = lower ? j : 0, end = lower ? n : j + 1;
    t.ptr[j] = count;
    for (tsi_index i = first; i < end; i++) {
      const tsi_index distance = lower ? i - j : j - i;
      const uint64_t drawn = next_random(&state) % 1000;
      if (distance == 0 ? drawn < 700 : drawn < (near && distance < 3 ? 600 : (uint64_t)(6000 / n)))
        t.index[count++] = i;
    }
    CHECK(count + n < ROOM);
  }
  t.ptr[n] = count;
  draw_values(scalar, count);
  t.columns = (tsi_column_arrays){n, lower, scalar, t.ptr, t.index, t.values, count_falls(n)};
}

static void check_rows(tsi_env *env, const tsi_turned *turned) {
  const tsi_index n = t.columns.n;
  const tsi_count count = t.ptr[n];
  const size_t bytes = tsi_sparse_kernels_select(t.columns.scalar)->scalar_bytes;
  const tsi_entries given = {n, bytes, t.ptr, t.index, t.values};
  tsi_entries right;
  CHECK_STATUS(tsi_entries_begin(env, n, bytes, &right), TRISTAR_OK);
  right.ptr[n] = count;
  CHECK_STATUS(tsi_entries_allocate(env, &right), TRISTAR_OK);
  tsi_entries_transpose(&given, &right);
  CHECK(memcmp(turned->rows.ptr, right.ptr, ((size_t)n + 1) * sizeof *right.ptr) == 0);
  CHECK(memcmp(turned->rows.index, right.index, (size_t)count * sizeof *right.index) == 0);
  CHECK(memcmp(turned->rows.item, right.item, (size_t)count * bytes) == 0);
  for (tsi_index j = 0; j < n; j++) {
    static const char zero[16];
    const tsi_count at = t.columns.lower ? t.ptr[j] : t.ptr[j + 1] - 1;
    const bool there = t.ptr[j] < t.ptr[j + 1] && t.index[at] == j;
    const char *value = (const char *)t.values + (size_t)at * bytes;
    CHECK(memcmp((const char *)turned->properties.diagonal + (size_t)j * bytes, there ? value : zero,
                 bytes) == 0);
  }
  static tsi_index level[MOST];
  const tsi_lines rows = {n, right.ptr, right.index, !t.columns.lower};
  CHECK(turned->levels == tsi_row_levels(&rows, level));
  CHECK(memcmp(turned->level, level, (size_t)n * sizeof *level) == 0);
  tsi_entries_finish(&right);
}

/* Returns whether the triangle was converted. */
static bool turn(tsi_env *env, bool *finite) {
  tsi_turned turned;
  bool done;
  CHECK_STATUS(tsi_triangle_turn(env, &t.columns, &done, &turned), TRISTAR_OK);
  *finite = done && turned.properties.finite;
  if (done)
    check_rows(env, &turned);
  else
    CHECK(turned.rows.ptr == NULL && turned.rows.index == NULL && turned.level == NULL &&
          turned.properties.diagonal == NULL);
  tsi_turned_finish(&turned);
  CHECK(env->memory.current == 0);
  return done;
}

/* One value after the other is not finite. */
static void check_values(tsi_env *env) {
  const tsi_count count = t.ptr[t.columns.n];
  const char scalar = t.columns.scalar;
  const bool is_single = scalar == 's' || scalar == 'c';
  const tsi_count parts = scalar == 'c' || scalar == 'z' ? 2 * count : count;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int k = 0; k < 6 && parts > 0; k++) {
    const tsi_count p = k == 0 ? 0 : k == 1 ? parts - 1 : (tsi_count)next_random(&state) % parts;
    const double value = bad[k % 3], was = t.values[p];
    const float single = (float)value, single_was = ((const float *)t.values)[p];
    tsi_turned turned;
    bool done;
    if (is_single)
      ((float *)t.values)[p] = single;
    else
      t.values[p] = value;
    CHECK_STATUS(tsi_triangle_turn(env, &t.columns, &done, &turned), TRISTAR_OK);
    CHECK(done && !turned.properties.finite);
    tsi_turned_finish(&turned);
    if (is_single)
      ((float *)t.values)[p] = single_was;
    else
      t.values[p] = was;
  }
}

/* Columns with an index in the middle that is out of order or out of range. */
static void check_disorder(tsi_env *env) {
  const tsi_index n = t.columns.n;
  int tried = 0;
  for (tsi_index j = 0; j < n && tried < 5; j++) {
    const tsi_count middle = t.ptr[j] + 1;
    if (t.ptr[j + 1] - t.ptr[j] < 3) continue;
    const tsi_index was = t.index[middle],
                    others[] = {t.index[middle - 1], n, n + 5, -1, INT32_MAX, INT32_MIN};
    for (int k = 0; k < 6; k++) {
      bool finite;
      t.index[middle] = others[k];
      CHECK(!turn(env, &finite));
    }
    t.index[middle] = was;
    tried++;
  }
}

static void check_memory(void) {
  tsi_env env;
  tsi_env_init(&env);
  allocation_failures failing = fail_allocations(&env);
  draw(50, true, 'd', true);
  while (next_failure(&failing)) {
    tsi_turned turned;
    bool done;
    const tristar_status status = tsi_triangle_turn(&env, &t.columns, &done, &turned);
    end_failure(&failing, status);
    CHECK(done == (status == TRISTAR_OK));
    tsi_turned_finish(&turned);
  }
  CHECK(failing.count >= 5);
}

int test_triangle_turn(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tsi_index sizes[] = {0, 1, 2, 3, 40, 511, 512, 513, 1500};
  tsi_env env;
  tsi_env_init(&env);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int way = 0; way < 16; way++) {
      bool finite;
      draw(sizes[k], way % 2 == 0, "sdcz"[way / 4], way / 2 % 2 == 0);
      CHECK(turn(&env, &finite) && finite);
      RUN(check_values(&env));
      RUN(check_disorder(&env));
      CHECK(turn(&env, &finite) && finite);
    }
  RUN(check_memory());
  return 0;
}
