/* Groups of rows of a sparse approximate inverse: see fsai.h. Compiled for each scalar type and instruction
 * set.
 *
 * In a step each row separately computes its gradient, picks its columns, and gathers their rows of K to its
 * lane; then all lanes are factored and solved together. A row that reaches more columns than fit in the
 * arrays leaves the group. */
#include "codelets/cpu/fsai/fsai_lanes.h"
#include "codelets/cpu/fsai/fsai_pattern.h"

#define HOMES TSI_FSAI_GROUP_HOMES
#define SLOTS TSI_FSAI_GROUP_SLOTS
#define FETCHED 64 /* number of entries of a row that are prefetched before it joins */
#define CHUNK 8    /* number of slots that are compared at a time */

_Static_assert(LANES <= TSI_FSAI_GROUP_LANES, "callers have room for so many rows");

typedef struct group_run {
  const tsi_matrix_rows *a;
  const tsi_fsai_limits *limits;
  tsi_fsai_work *work;
  tsi_fsai_group *group;
  tsi_index count;
  tsi_fsai_row *row; /* count */
  bool requested[LANES];
} group_run;

/* ---- Reach --------------------------------------------------------------------------------------------- */

/* Returns the hash of a column: adjacent columns have adjacent homes; columns a power of two apart do not
 * collide. */
INLINE tsi_index home_of(tsi_index column) {
  return (tsi_index)(((uint32_t)column + ((uint32_t)column / HOMES) * 37) % HOMES);
}

/* Returns the home of a column, or the free home for it. */
INLINE tsi_fsai_home *find_home(tsi_fsai_reach *reach, tsi_index column) {
  tsi_fsai_home *home = &reach->home[home_of(column)];
  while (home->column != column && home->column != TSI_NONE)
    home = home + 1 < reach->home + HOMES ? home + 1 : reach->home;
  return home;
}

/* Returns the home of a column; gives the column a slot if it has none. */
INLINE tsi_fsai_home *settle(tsi_fsai_reach *reach, tsi_index column, tsi_index outside) {
  tsi_fsai_home *home = find_home(reach, column);
  if (home->column == column) return home;
  const tsi_index s = reach->slots++;
  *home = (tsi_fsai_home){column, (uint16_t)s, (uint16_t)outside};
  reach->at[s] = (uint16_t)(home - reach->home);
  reach->column[s] = column;
  return home;
}

/* Does row p fit? All of its columns, and all given columns, may be new. */
INLINE bool has_space(const tsi_matrix_rows *a, tsi_index p, tsi_index number, const tsi_fsai_reach *reach) {
  const tsi_count entries = a->ptr[p + 1] - a->ptr[p];
  return reach->slots + entries <= SLOTS - TSI_FSAI_GROUP_MOST &&
         reach->first[number] + entries <= TSI_FSAI_GROUP_ENTRIES;
}

/* Writes an entry of a row of K. */
INLINE void put_entry(tsi_real *k, tsi_index position, tsi_scalar value) {
  tsi_real *entry = k + (ptrdiff_t)position * (PARTS * LANES);
  entry[0] = tsi_re(value);
#if TSI_COMPLEX
  entry[LANES] = -tsi_im(value);
#endif
}

/* Adds the entries of row p left of i as row `number`. k: lane of the row of K for p; NULL: none. */
INLINE void take_row(const tsi_matrix_rows *a, tsi_index p, tsi_index i, tsi_index number,
                     tsi_fsai_reach *reach, tsi_index outside, tsi_real *k) {
  const tsi_index *index = a->index;
  const tsi_scalar *values = a->values;
  uint16_t *slot = reach->slot + reach->first[number];
  for (tsi_count e = a->ptr[p]; e < a->ptr[p + 1] && index[e] < i; e++) {
    const tsi_fsai_home *home = settle(reach, index[e], outside);
    *slot++ = home->slot;
    if (k != NULL) put_entry(k, home->position, values[e]);
  }
  reach->first[number + 1] = (tsi_index)(slot - reach->slot);
}

/* Copies only the row of K. */
static void take_system(const tsi_matrix_rows *a, tsi_index p, tsi_index i, tsi_fsai_reach *reach,
                        tsi_index outside, tsi_real *k) {
  const tsi_index *index = a->index;
  const tsi_scalar *values = a->values;
  for (tsi_count e = a->ptr[p]; e < a->ptr[p + 1] && index[e] < i; e++) {
    const tsi_fsai_home *home = find_home(reach, index[e]);
    put_entry(k, home->column == index[e] ? home->position : outside, values[e]);
  }
}

static void clear(tsi_fsai_reach *reach) {
  for (tsi_index s = 0; s < reach->slots; s++) reach->home[reach->at[s]].column = TSI_NONE;
  reach->slots = 0;
}

/* ---- A lane -------------------------------------------------------------------------------------------- */

/* Begins a lane with the empty pattern. */
static void begin_lane(const group_run *t, int l) {
  tsi_fsai_group *w = t->group;
  tsi_fsai_reach *reach = &w->reach[l];
  tsi_fsai_row *row = &t->row[l];
  tsi_scalar root;
  reach->size = reach->slots = 0;
  reach->first[0] = 0;
  reach->large = !has_space(t->a, row->i, 0, reach);
  reach->grows = false;
  if (reach->large) return;
  take_row(t->a, row->i, row->i, 0, reach, w->most, NULL);
  const tsi_scalar diagonal = ((const tsi_scalar *)t->a->values)[t->a->ptr[row->i] + reach->first[1]];
  w->psi_0[l] = w->psi[l] = (double)tsi_re(diagonal);
  row->kind = tsi_pivot_root(diagonal, true, &root);
  reach->grows = row->kind == TSI_BREAKDOWN_NONE;
}

/* Joins the column of a slot to the pattern as row r of K. ends: the gradient is no longer needed. */
static void join(const group_run *t, int l, tsi_index s, tsi_index r, bool ends) {
  const tsi_fsai_group *w = t->group;
  tsi_fsai_reach *reach = &w->reach[l];
  const tsi_index i = t->row[l].i, column = reach->column[s], k = reach->size++;
  tsi_real *system = (tsi_real *)row_of(w, r) + l, *b = (tsi_real *)((cell *)w->b + r) + l;
  reach->pattern[k] = column;
  reach->own[k] = s;
  reach->place[k] = r;
  reach->home[reach->at[s]].position = (uint16_t)r;
  if (s < reach->first[1]) {
    const tsi_scalar right = ((const tsi_scalar *)t->a->values)[t->a->ptr[i] + s];
    b[0] = -tsi_re(right);
#if TSI_COMPLEX
    b[LANES] = -tsi_im(right);
#endif
  }
  if (ends)
    take_system(t->a, column, i, reach, w->most, system);
  else if (has_space(t->a, column, k + 1, reach))
    take_row(t->a, column, i, k + 1, reach, w->most, system);
  else
    reach->large = true;
  reach->grows = !reach->large;
}

/* Returns g of a lane as scalars. */
static const tsi_scalar *row_of_lane(const tsi_fsai_group *w, int l) {
  const tsi_fsai_reach *reach = &w->reach[l];
  tsi_scalar *row = w->row;
  for (tsi_index k = 0; k < reach->size; k++) {
    const tsi_real *from = (const tsi_real *)((const cell *)w->g + reach->place[k]) + l;
    tsi_real *to = (tsi_real *)(row + k);
    to[0] = from[0];
#if TSI_COMPLEX
    to[1] = from[LANES];
#endif
  }
  return row;
}

/* ---- Gradient and selection ---------------------------------------------------------------------------- */

INLINE void add_row(tsi_count count, tsi_scalar g, const uint16_t *restrict slot,
                    const tsi_scalar *restrict value, tsi_scalar *restrict y) {
  _Pragma("GCC unroll 4") for (tsi_count e = 0; e < count; e++) tsi_add_product(&y[slot[e]], value[e], g);
}

/* Computes g A, by slot; zero in the rest of the last chunk, and for columns in the pattern. */
static void find_gradient(const group_run *t, int l) {
  const tsi_fsai_reach *reach = &t->group->reach[l];
  const tsi_scalar *values = t->a->values, *g = row_of_lane(t->group, l);
  tsi_scalar *y = t->group->gradient;
  const tsi_index own = reach->first[1]; /* row i: its slots are the first */
  memcpy(y, values + t->a->ptr[t->row[l].i], (size_t)own * sizeof *y);
  for (tsi_index s = own; s < (reach->slots + CHUNK - 1) / CHUNK * CHUNK; s++) y[s] = 0;
  for (tsi_index k = 0; k < reach->size; k++)
    add_row(reach->first[k + 2] - reach->first[k + 1], g[k], reach->slot + reach->first[k + 1],
            values + t->a->ptr[reach->pattern[k]], y);
  for (tsi_index k = 0; k < reach->size; k++) y[reach->own[k]] = 0;
}

/* As many doubles as a register holds. */
typedef double doubles __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(double)), may_alias));
#define DOUBLES (REGISTER_BYTES / (int)sizeof(double))

INLINE doubles larger_of(doubles a, doubles b) {
#if defined __AVX512F__
  return _mm512_max_pd(a, b);
#elif defined __AVX2__
  return _mm256_max_pd(a, b);
#elif defined __SSE2__
  return _mm_max_pd(a, b);
#else
  for (int k = 0; k < DOUBLES; k++) a[k] = a[k] > b[k] ? a[k] : b[k];
  return a;
#endif
}

/* Returns a lower bound for the `most` largest sizes: slots are divided into at least `most` groups, and each
 * group has an element of at least this size. */
static double find_least(const double *size, tsi_index slots, tsi_index most) {
  doubles part[CHUNK / DOUBLES];
  double largest[CHUNK], least = DBL_MAX;
  int groups = CHUNK;
  if (most > CHUNK) return DBL_TRUE_MIN;
  for (int p = 0; p < CHUNK / DOUBLES; p++) part[p] = (doubles){0};
  for (tsi_index s = 0; s < slots; s += CHUNK)
    UNROLL for (int p = 0; p < CHUNK / DOUBLES; p++) part[p] =
        larger_of(part[p], *(const doubles *)(size + s + p * DOUBLES));
  memcpy(largest, part, sizeof largest);
  for (; groups >= 2 * most; groups /= 2)
    for (int k = 0; k < groups / 2; k++)
      largest[k] = largest[k] > largest[k + groups / 2] ? largest[k] : largest[k + groups / 2];
  for (int k = 0; k < groups; k++) least = least < largest[k] ? least : largest[k];
  return least > DBL_TRUE_MIN ? least : DBL_TRUE_MIN;
}

/* Computes the keys that order the entries of the gradient. */
static void measure(const tsi_scalar *restrict y, tsi_index slots, double *restrict size) {
  for (tsi_index s = 0; s < slots; s++) size[s] = tsi_fsai_size(y[s]);
}

/* Returns a bit for each size of a chunk that is at least `least`. */
INLINE unsigned at_least(const double *size, double least) {
#if defined __AVX512F__
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(size), _mm512_set1_pd(least), _CMP_GE_OQ);
#elif defined __AVX2__
  const __m256d limit = _mm256_set1_pd(least);
  const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(size), limit, _CMP_GE_OQ));
  const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(size + 4), limit, _CMP_GE_OQ));
  return (unsigned)low | (unsigned)high << 4;
#else
  unsigned bits = 0;
  for (int k = 0; k < CHUNK; k++) bits |= (unsigned)(size[k] >= least) << k;
  return bits;
#endif
}

/* Picks the largest entries of the gradient outside the pattern. Returns their number. */
static tsi_index pick(const group_run *t, int l, tsi_index most, tsi_index *picked) {
  const tsi_fsai_reach *reach = &t->group->reach[l];
  const tsi_fsai_work *work = t->work;
  const tsi_index slots = (reach->slots + CHUNK - 1) / CHUNK * CHUNK;
  double *size = t->group->size;
  tsi_index count = 0;
  measure(t->group->gradient, slots, size);
  double least = find_least(size, slots, most);
  for (tsi_index s = 0; s < slots; s += CHUNK)
    for (unsigned bits = at_least(size + s, least); bits != 0; bits &= bits - 1) {
      const tsi_index at = s + __builtin_ctz(bits);
      if (size[at] < least) continue;
      count = tsi_fsai_keep(at, size[at], count, most, reach->column, picked, work->magnitude);
      if (count == most && work->magnitude[most - 1] > least) least = work->magnitude[most - 1];
    }
  return count;
}

/* ---- All lanes ----------------------------------------------------------------------------------------- */

/* Marks lanes without a pivot in row r as broken down. */
static void judge(const group_run *t, const tsi_real pivot[LANES]) {
  for (int l = 0; l < t->count; l++) {
    tsi_fsai_reach *reach = &t->group->reach[l];
    tsi_scalar root;
    if (!t->requested[l] || reach->large || t->row[l].kind != TSI_BREAKDOWN_NONE) continue;
    t->row[l].kind = tsi_pivot_root(pivot[l], true, &root);
    if (t->row[l].kind != TSI_BREAKDOWN_NONE) reach->grows = false;
  }
}

/* Turns rows r .. end - 1 of K into rows of L, and computes g for the first `end` rows. */
static void factor(const group_run *t, tsi_index r, tsi_index end) {
  const tsi_fsai_group *w = t->group;
  tsi_real pivot[LANES];
  for (tsi_index first = r; first < end; first += ROWS_AT_ONCE) {
    const tsi_index last = tsi_index_min(end, first + ROWS_AT_ONCE);
    eliminate_before(w, first, last);
    for (tsi_index q = first; q < last; q++) {
      if (q > first) eliminate_rows(w, 1, q, first, q);
      if (!finish_row(w, q, pivot)) judge(t, pivot);
    }
  }
  solve_lanes(w, end);
}

/* Prefetches the data of a row that will join. */
INLINE void fetch_row(const tsi_matrix_rows *a, tsi_index p) {
  const tsi_index *index = a->index;
  const tsi_scalar *values = a->values;
  const tsi_count begin = a->ptr[p], end = tsi_count_min(a->ptr[p + 1], begin + FETCHED);
  for (tsi_count e = begin; e < end; e += TSI_CACHE_LINE / (int)sizeof *index) __builtin_prefetch(index + e);
  for (tsi_count e = begin; e < end; e += TSI_CACHE_LINE / (int)sizeof *values)
    __builtin_prefetch(values + e);
}

/* Picks the columns of a lane for a step, if there is one. Returns their number. */
static tsi_index choose(const group_run *t, int l) {
  const tsi_fsai_group *w = t->group;
  tsi_fsai_reach *reach = &w->reach[l];
  tsi_index *picked = w->picked + (ptrdiff_t)l * t->limits->per_step;
  const tsi_index space = tsi_index_min(t->limits->per_step, t->work->most - reach->size);
  reach->picks = 0;
  reach->grows &= space > 0 && w->psi[l] > t->limits->reduction * w->psi_0[l];
  if (!reach->grows) return 0;
  find_gradient(t, l);
  reach->picks = pick(t, l, space, picked);
  reach->grows = reach->picks > 0;
  for (tsi_index k = 0; k < reach->picks; k++) fetch_row(t->a, reach->column[picked[k]]);
  return reach->picks;
}

/* Joins the picked columns of a lane, from row r on. */
static void take_picks(const group_run *t, int l, tsi_index r, bool last) {
  tsi_fsai_reach *reach = &t->group->reach[l];
  const tsi_index *picked = t->group->picked + (ptrdiff_t)l * t->limits->per_step;
  for (tsi_index k = 0; k < reach->picks && reach->grows; k++) join(t, l, picked[k], r + k, last);
}

static bool any_grows(const group_run *t) {
  bool any = false;
  for (int l = 0; l < t->count; l++) any |= t->requested[l] && t->group->reach[l].grows;
  return any;
}

/* Computes g of the active lanes, beginning with their given patterns. */
static void compute(const group_run *t, tsi_index steps) {
  tsi_fsai_group *w = t->group;
  tsi_index size = 0;
  for (int l = 0; l < t->count; l++)
    if (t->requested[l]) size = tsi_index_max(size, t->row[l].count);
  open_rows(w, 0, size);
  for (int l = 0; l < t->count; l++) {
    if (!t->requested[l]) continue;
    begin_lane(t, l);
    for (tsi_index k = 0; k < t->row[l].count && w->reach[l].grows; k++)
      join(t, l, settle(&w->reach[l], t->row[l].given[k], w->most)->slot, k, steps == 0);
  }
  factor(t, 0, size);
  for (tsi_index k = 0; k < steps && any_grows(t); k++) {
    tsi_index joined = 0;
    open_rows(w, size, size + t->limits->per_step);
    for (int l = 0; l < t->count; l++)
      if (t->requested[l]) joined = tsi_index_max(joined, choose(t, l));
    for (int l = 0; l < t->count; l++)
      if (t->requested[l]) take_picks(t, l, size, k + 1 == steps);
    if (joined == 0) break;
    factor(t, size, size + joined);
    size += joined;
  }
  for (int l = 0; l < t->count; l++)
    if (t->requested[l]) clear(&w->reach[l]);
}

static void write(const group_run *t, int l) {
  const tsi_fsai_reach *reach = &t->group->reach[l];
  tsi_fsai_write(reach->size, reach->pattern, row_of_lane(t->group, l), t->group->psi[l], &t->row[l]);
}

static bool is_whole(const group_run *t, int l) {
  return !t->group->reach[l].large && t->row[l].kind == TSI_BREAKDOWN_NONE;
}

/* Drops small entries. Rows with dropped entries must be computed again; the others are written. */
static bool filter(group_run *t) {
  bool any = false;
  for (int l = 0; l < t->count; l++) {
    const tsi_fsai_reach *reach = &t->group->reach[l];
    tsi_fsai_row *row = &t->row[l];
    if (!t->requested[l]) continue;
    t->requested[l] = false;
    if (!is_whole(t, l)) continue;
    if (t->limits->postfilter > 0)
      row->count = tsi_fsai_list_large(reach->size, reach->pattern, row_of_lane(t->group, l),
                                       t->limits->postfilter, row->index);
    if (t->limits->postfilter > 0 && row->count < reach->size) {
      row->given = row->index;
      t->requested[l] = any = true;
    } else
      write(t, l);
  }
  return any;
}

static void rows(const tsi_matrix_rows *a, const tsi_fsai_limits *limits, tsi_index count, tsi_fsai_row *rows,
                 tsi_fsai_work *work) {
  const tsi_count joins = (tsi_count)limits->steps * limits->per_step;
  group_run t = {.a = a, .limits = limits, .work = work, .group = &work->group, .count = count, .row = rows};
  bool alone[LANES];
  for (int l = 0; l < count; l++) t.requested[l] = rows[l].count + joins <= TSI_FSAI_GROUP_MOST;
  compute(&t, limits->steps);
  for (int l = 0; l < count; l++) alone[l] = !t.requested[l] || t.group->reach[l].large;
  if (filter(&t)) {
    compute(&t, 0);
    for (int l = 0; l < count; l++)
      if (t.requested[l] && is_whole(&t, l)) write(&t, l);
  }
  for (int l = 0; l < count; l++) {
    const tsi_fsai_reach *reach = &work->group.reach[l];
    if (alone[l])
      TSI_FSAI_ALONE(a, limits, &rows[l], work);
    else if (rows[l].kind != TSI_BREAKDOWN_NONE)
      tsi_fsai_list(reach->size, reach->pattern, &rows[l]);
  }
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_fsai_kernels), isa)

const tsi_fsai_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .lanes = LANES, .rows = rows};
