/* Products with the lower half of a Hermitian matrix against a plain loop in double precision, for every
 * instruction set of this processor. Pieces of each kind occur. Stretches have the same bits in any order,
 * and several columns have the bits of one. A NaN in x reaches exactly the rows that use it. The stored size
 * is about half. Compiled for each scalar type. */
#include "runtime/matrix/halves.h"

#include "tests/support/random.h"
#include "tests/support/rows_product.h"
#include "tests/support/subtests.h"

enum { COLUMNS = 3, GAP = 2 };

/* Nodes with several unknowns on a line; each node is coupled with near ones and with two far ones.
 * unknowns 0: rows with single, scattered entries. */
static bool is_coupled(int unknowns, tsi_index i, tsi_index j) {
  if (unknowns > 0) {
    const tsi_index apart = abs(i / unknowns - j / unknowns);
    return apart <= 1 || apart == 90 || apart == 700;
  }
  const uint64_t pair = (uint64_t)tsi_index_min(i, j) * 7919 + (uint64_t)tsi_index_max(i, j);
  return i == j || (abs(i - j) < 3000 && pair * UINT64_C(0x9e3779b97f4a7c15) >> 52 == 0);
}

enum { BAND = 4300 }; /* maximum distance of an entry from the diagonal */

static tsi_scalar value_at(tsi_index i, tsi_index j) {
  double part[2];
  fill_random(part, 2, (uint64_t)tsi_index_min(i, j) * 100003 + (uint64_t)tsi_index_max(i, j));
  tsi_scalar value = (tsi_real)part[0];
#if TSI_COMPLEX
  __imag__ value = (tsi_real)(i == j ? 0 : i < j ? part[1] : -part[1]);
#endif
  return value;
}

static tsi_entries make_rows(tsi_env *env, tsi_index n, int unknowns) {
  tsi_entries e;
  CHECK_OK(tsi_entries_begin(env, n, sizeof(tsi_scalar), &e));
  for (tsi_index i = 0; i < n; i++)
    for (tsi_index j = tsi_index_max(0, i - BAND); j < n && j < i + BAND; j++)
      e.ptr[i + 1] += is_coupled(unknowns, i, j);
  CHECK_OK(tsi_entries_reserve(env, &e));
  for (tsi_index i = 0; i < n; i++)
    for (tsi_index j = tsi_index_max(0, i - BAND); j < n && j < i + BAND; j++)
      if (is_coupled(unknowns, i, j)) ((tsi_scalar *)e.item)[tsi_entries_put(&e, i, j)] = value_at(i, j);
  tsi_entries_end(&e);
  return e;
}

/* Like tsi_halves_take, also for a matrix that is not worth it. */
static void halve(tsi_env *env, const tsi_entries *e, tsi_halves *a, tsi_entries *lower) {
  tsi_entries rest;
  CHECK_OK(tsi_halves_split(env, e, &rest, lower));
  CHECK_OK(tsi_halved_make(env, lower, sizeof(tsi_scalar), &a->half));
  CHECK_OK(tsi_halved_check(env, &a->half, lower));
  CHECK_OK(tsi_slices_take(env, &rest, false, &a->rest));
  for (tsi_index w = 0; w < a->half.windows; w++)
    tsi_halved_fill(&a->half, w, lower->ptr,
                    (const tsi_scalar *)lower->item + lower->ptr[w * TSI_WINDOW_ROWS]);
  tsi_entries_finish(&rest);
}

/* Multiplies all columns; reversed: begins with the last unit. */
static void multiply(const tsi_halves *a, const char *isa, int64_t columns, const tsi_scalar *x, int64_t ldx,
                     tsi_scalar *y, int64_t ldy, bool reversed) {
  const tsi_halves_kernels kernels = tsi_halves_kernels_select(LETTER, isa);
  const tsi_index unit = tsi_halves_unit(a), units = tsi_units(a->rest.windows, unit);
  CHECK(strcmp(kernels.halved->isa, isa) == 0);
  for (tsi_index u = 0; u < units; u++)
    tsi_halves_multiply(&kernels, a, (reversed ? units - 1 - u : u) * unit, unit, columns, x, ldx, y, ldy);
}

/* nan: x contains a NaN. */
static void check_product(const tsi_halves *a, const tsi_entries *e, const char *isa, bool nan) {
  const tsi_index n = e->n, ld = n + GAP;
  const size_t bytes = COLUMNS * (size_t)ld * sizeof(tsi_scalar);
  OWNED tsi_scalar *x = xmalloc(bytes), *y = xmalloc(bytes), *z = xmalloc(bytes);
  for (tsi_index i = 0; i < COLUMNS * ld; i++) {
    x[i] = (tsi_real)sin(i);
    y[i] = z[i] = 99;
  }
  if (nan && n > 0) x[n / 2] = (tsi_real)NAN;
  multiply(a, isa, COLUMNS, x, ld, y, ld, false);
  for (int c = 0; c < COLUMNS; c++) multiply(a, isa, 1, x + c * ld, 0, z + c * ld, 0, true);
  CHECK_MSG(memcmp(y, z, bytes) == 0, "%s: other bits in another order, or in several columns", isa);
  for (int c = 0; c < COLUMNS; c++) check_rows_product(e, x + c * ld, y + c * ld, 4, isa);
}

/* A wrong word must be detected. */
static void check_words(tsi_env *env, const tsi_halved *a, const tsi_entries *lower) {
  uint16_t *word = &a->word[a->window[a->windows].word - 1];
  (*word)++;
  CHECK_STATUS(tsi_halved_check(env, a, lower), TRISTAR_ERR_INTERNAL);
  (*word)--;
  CHECK_OK(tsi_halved_check(env, a, lower));
}

static void check_rows(tsi_index n, int unknowns) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  tsi_env env;
  tsi_env_init(&env);
  tsi_entries e = make_rows(&env, n, unknowns), lower;
  tsi_halves a, chosen;
  tsi_sliced full;
  tsi_index kinds[2] = {0, 0};
  halve(&env, &e, &a, &lower);
  for (int i = 0; i < 3; i++) {
    if (tsi_halved_kernels_select(LETTER, isas[i]) == NULL) continue;
    check_product(&a, &e, isas[i], false);
    check_product(&a, &e, isas[i], true);
  }
  for (tsi_index p = 0; p < a.half.window[a.half.windows].piece; p++)
    kinds[a.half.piece[p].kind] +=
        a.half.piece[p].kind == TSI_HALF_ROWS ? a.half.piece[p].count : a.half.piece[p].rows;
  CHECK(kinds[0] + kinds[1] == n);
  if (n > 5000) {
    CHECK(unknowns >= 3 ? kinds[TSI_HALF_TILES] > n - 10 : kinds[TSI_HALF_ROWS] > n - n / 10);
    check_words(&env, &a.half, &lower);
    CHECK_OK(tsi_slices_take(&env, &e, false, &full));
    CHECK_OK(tsi_halves_take(&env, &e, true, false, &chosen));
    CHECK((chosen.half.window != NULL) == (unknowns >= 3));
    if (unknowns >= 3) CHECK((double)tsi_halves_bytes(&chosen) < 0.75 * (double)tsi_slices_bytes(&full));
    tsi_slices_finish(&full);
    tsi_halves_finish(&chosen);
    CHECK_OK(tsi_halves_take(&env, &e, false, false, &chosen));
    CHECK(chosen.half.window == NULL);
    tsi_halves_finish(&chosen);
  }
  tsi_halves_finish(&a);
  tsi_entries_finish(&lower);
  tsi_entries_finish(&e);
  CHECK(env.memory.current == 0);
}

/* A row without a diagonal entry. */
static void check_diagonal(void) {
  tsi_env env;
  tsi_env_init(&env);
  tsi_entries e = make_rows(&env, 60, 3);
  CHECK(tsi_halves_are_worth(&e));
  e.index[e.ptr[60] - 1] = 60; /* replaces the entry (59,59) */
  CHECK(!tsi_halves_are_worth(&e));
  tsi_entries_finish(&e);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tsi_index sizes[] = {0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int unknowns = 0; unknowns < 7; unknowns++) RUN(check_rows(sizes[s], unknowns));
  for (int unknowns = 0; unknowns < 7; unknowns += 3) RUN(check_rows(9001, unknowns)); /* three windows */
  RUN(check_diagonal());
  return 0;
}
