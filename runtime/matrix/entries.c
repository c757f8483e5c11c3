/* Entries by lines: see entries.h. */
#include "runtime/matrix/entries.h"

tristar_status tsi_entries_begin(tsi_env *env, tsi_index n, size_t bytes, tsi_entries *out) {
  *out = (tsi_entries){.n = n, .bytes = bytes};
  return TSI_ALLOC_ZERO(env, out->ptr, (tsi_count)n + 1);
}

static void add_up(tsi_entries *e) {
  for (tsi_index j = 0; j < e->n; j++) e->ptr[j + 1] += e->ptr[j];
}

tristar_status tsi_entries_reserve(tsi_env *env, tsi_entries *entries) {
  add_up(entries);
  return tsi_entries_allocate(env, entries);
}

tristar_status tsi_entries_allocate(tsi_env *env, tsi_entries *entries) {
  const tsi_count count = entries->ptr[entries->n];
  TSI_TRY(TSI_ALLOC(env, entries->index, count));
  if (entries->bytes > 0) TSI_TRY(TSI_ALLOC_SIZED(env, entries->item, count, entries->bytes));
  return TRISTAR_OK;
}

/* ptr[j] has moved from the start of line j to its end. */
void tsi_entries_end(tsi_entries *entries) {
  memmove(entries->ptr + 1, entries->ptr, (size_t)entries->n * sizeof *entries->ptr);
  entries->ptr[0] = 0;
}

void tsi_entries_finish(tsi_entries *entries) {
  tsi_release(tsi_take(&entries->ptr));
  tsi_release(tsi_take(&entries->index));
  tsi_release(tsi_take(&entries->item));
}

/* Counts entries whose index is not above the index before. No early exit, so compilers can vectorize the
 * loop. */
static tsi_count count_falls(const tsi_index *index, tsi_count entries) {
  enum { BLOCK = 1 << 20 };
  tsi_count falls = 0;
  for (tsi_count begin = 1; begin < entries; begin += BLOCK) {
    const tsi_index some = (tsi_index)tsi_count_min(BLOCK, entries - begin);
    const tsi_index *own = index + begin;
    tsi_index here = 0;
    for (tsi_index k = 0; k < some; k++) here += own[k - 1] >= own[k];
    falls += here;
  }
  return falls;
}

bool tsi_entries_ascend(const tsi_entries *entries) {
  const tsi_count *ptr = entries->ptr, falls = count_falls(entries->index, ptr[entries->n]);
  tsi_count between = 0; /* lines */
  for (tsi_index j = 1; j < entries->n; j++)
    if (ptr[j] > 0 && ptr[j] < ptr[j + 1]) between += entries->index[ptr[j] - 1] >= entries->index[ptr[j]];
  return falls == between;
}

/* bytes: a constant. */
static inline __attribute__((always_inline)) void move(const tsi_entries *from, tsi_entries *to,
                                                       const size_t bytes) {
  for (tsi_index j = 0; j < from->n; j++)
    for (tsi_count e = from->ptr[j]; e < from->ptr[j + 1]; e++) {
      const tsi_count at = tsi_entries_put(to, from->index[e], j);
      if (bytes > 0)
        memcpy((char *)to->item + (size_t)at * bytes, (const char *)from->item + (size_t)e * bytes, bytes);
    }
}

void tsi_entries_transpose(const tsi_entries *from, tsi_entries *to) {
  memset(to->ptr, 0, ((size_t)to->n + 1) * sizeof *to->ptr);
  for (tsi_count e = 0; e < from->ptr[from->n]; e++) to->ptr[from->index[e] + 1]++;
  add_up(to);
  switch (from->bytes) {
  case 0:
    move(from, to, 0);
    break;
  case 4:
    move(from, to, 4);
    break;
  case 8:
    move(from, to, 8);
    break;
  default:
    move(from, to, 16);
  }
  tsi_entries_end(to);
}

tristar_status tsi_entries_sort(tsi_env *env, tsi_entries *entries) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries other = {.ptr = NULL};
  if (tsi_entries_ascend(entries)) return TRISTAR_OK;
  TSI_TRY(tsi_entries_begin(env, entries->n, entries->bytes, &other));
  other.ptr[other.n] = entries->ptr[entries->n];
  TSI_TRY(tsi_entries_allocate(env, &other));
  tsi_entries_transpose(entries, &other);
  tsi_entries_transpose(&other, entries);
  return TRISTAR_OK;
}
