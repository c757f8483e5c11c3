/* Maximum-product matching: see matching.h.
 *
 * With the costs c_ij = log max|a_j| - log |a_ij| >= 0 the product is largest if the sum of costs is least.
 * Row duals u and column duals v keep c_ij - u_i - v_j >= 0, with equality on the matched entries. They start
 * as minima of columns and rows. As many columns as possible are matched along entries of equality; a
 * shortest augmenting path in c - u - v (Dijkstra) matches each of the others. In the end r_i = exp(u_i),
 * c_j = exp(v_j) / max|a_j|. If a search reaches no free row, the rank is not full, and only then it is
 * computed. */
#include "partition/order/matching.h"

#include <math.h>

#define WORK "matching" /* in messages */

/* ---- Maximum transversals ------------------------------------------------------------------------------ */

/* As many entries as possible with no two in the same row or column, of a square pattern that may have
 * duplicates. J. E. Hopcroft and R. M. Karp, SIAM J. Comput. 2 (1973): O(sqrt(n) nnz), not recursive.
 *
 * Each phase labels the columns by their distance from the unmatched ones, along alternating paths (breadth
 * first), and then augments along disjoint shortest paths (depth first, each entry visited once). */

typedef struct search {
  tsi_index n;
  const tsi_count *ptr;
  const tsi_index *index;
  tsi_index *row_of, *column_of;
  tsi_index *level; /* For each column; TSI_NONE: not reached, or a dead end. */
  tsi_count *next;  /* The next entry of each column to visit. */
  tsi_index *queue; /* columns; then the path of the depth-first search */
} search;

/* Matches each unmatched column with its first free row; returns the number of matched columns. */
static tsi_index match_greedily(search *s) {
  tsi_index matched = 0;
  for (tsi_index j = 0; j < s->n; j++) {
    for (tsi_count p = s->ptr[j]; p < s->ptr[j + 1] && s->row_of[j] == TSI_NONE; p++) {
      tsi_index i = s->index[p];
      if (s->column_of[i] != TSI_NONE) continue;
      s->column_of[i] = j;
      s->row_of[j] = i;
    }
    matched += s->row_of[j] != TSI_NONE;
  }
  return matched;
}

/* Labels the columns, up to the distance of the nearest free row; returns false if no free row can be
 * reached. */
static bool label_columns(search *s) {
  tsi_index head = 0, tail = 0, last = s->n;
  bool found = false;
  for (tsi_index j = 0; j < s->n; j++) {
    s->level[j] = s->row_of[j] == TSI_NONE ? 0 : TSI_NONE;
    s->next[j] = s->ptr[j];
    if (s->level[j] == 0) s->queue[tail++] = j;
  }
  while (head < tail) {
    tsi_index j = s->queue[head++];
    if (s->level[j] >= last) break;
    for (tsi_count p = s->ptr[j]; p < s->ptr[j + 1]; p++) {
      tsi_index up = s->column_of[s->index[p]];
      if (up == TSI_NONE) {
        found = true;
        last = s->level[j];
      } else if (s->level[up] == TSI_NONE) {
        s->level[up] = s->level[j] + 1;
        s->queue[tail++] = up;
      }
    }
  }
  return found;
}

/* Matches the columns of the path in queue[0 .. length-1], each with its last visited row. */
static void flip_path(search *s, tsi_index length) {
  for (tsi_index k = 0; k < length; k++) {
    tsi_index j = s->queue[k], i = s->index[s->next[j] - 1];
    s->row_of[j] = i;
    s->column_of[i] = j;
  }
}

/* Searches a path from the free column j, one level per step. */
static bool augment_from(search *s, tsi_index j) {
  tsi_index length = 1;
  s->queue[0] = j;
  while (length > 0) {
    j = s->queue[length - 1];
    if (s->next[j] == s->ptr[j + 1]) {
      s->level[j] = TSI_NONE;
      length--;
      continue;
    }
    tsi_index up = s->column_of[s->index[s->next[j]++]];
    if (up == TSI_NONE) {
      flip_path(s, length);
      return true;
    }
    if (s->level[up] == s->level[j] + 1) s->queue[length++] = up;
  }
  return false;
}

/* row_of, column_of: n entries each, the row of each column and vice versa: all TSI_NONE, or a matching. Rows
 * and columns of this matching stay matched (its pairs need not be entries of the pattern, and may be
 * separated). *rank = number of matched columns. Errors: MEMORY, CANCELLED. */
static tristar_status maximum_transversal(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                          const tsi_index *index, tsi_index *row_of, tsi_index *column_of,
                                          tsi_index *rank, tsi_watch *watch) {
  *rank = 0;
  TSI_SCRATCH(env, search, s, 1);
  *s = (search){.n = n, .ptr = ptr, .index = index, .row_of = row_of, .column_of = column_of};
  TSI_TRY(TSI_ALLOC_IN(s, s->level, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->next, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->queue, n));
  *rank = match_greedily(s);
  while (*rank < n && label_columns(s)) {
    TSI_TRY(tsi_watch_look(env, watch, WORK));
    for (tsi_index j = 0; j < n; j++)
      if (row_of[j] == TSI_NONE && s->level[j] == 0) *rank += augment_from(s, j);
  }
  return TRISTAR_OK;
}

tristar_status tsi_structural_rank(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                                   tsi_index *rank, tsi_watch *watch) {
  *rank = 0;
  TSI_SCRATCH(env, tsi_index, row_of, n);
  TSI_SCRATCH(env, tsi_index, column_of, n);
  for (tsi_index i = 0; i < n; i++) row_of[i] = column_of[i] = TSI_NONE;
  return maximum_transversal(env, n, ptr, index, row_of, column_of, rank, watch);
}

/* ---- Matchings with the largest product ---------------------------------------------------------------- */

#define UNREACHED INFINITY
#define FINAL (-1.0)

/* Maximum number of entries that the searches may visit (some seconds); then the other columns are matched
 * without them. Matrices from practice need less than a tenth; random ones of 10^5 rows and more would take
 * minutes. */
enum { WORK_MINIMUM = 100000000, WORK_PER_ENTRY = 100 };

#define LOOK 1000000 /* entries between two checks of the watch: about 10 ms */

/* The data of a row for the searches, in one cache line. */
typedef struct searched {
  double u;      /* the dual */
  double nearer; /* A smaller distance is an improvement: the distance in the heap, infinite if unreached, -1
                    if final. */
  double distance;  /* Of a final row. */
  tsi_index column; /* The matched column. */
  tsi_index place;  /* Position in the heap. */
} searched;

/* A row in the heap. */
typedef struct waiting_row {
  double distance;
  tsi_index row;
} waiting_row;

typedef struct matcher {
  tsi_index n;
  tsi_count *ptr; /* the nonzero entries, column by column */
  tsi_index *row;
  double *cost;
  double *log_max;      /* For each column. */
  double *u, *v;        /* duals of rows and columns */
  tsi_index *row_of;    /* For each column: the caller's array. */
  tsi_index *column_of; /* For each row. */
  searched *rows;       /* During searches it holds u and column_of. */
  tsi_index *before;    /* the column from which a row was reached */
  waiting_row *heap;    /* nearest first */
  tsi_index heap_size;
  tsi_index *ready, waiting;   /* Rows with the distance of the current column: they need no heap. */
  tsi_index *reached, touched; /* Rows with a distance. */
  tsi_count budget;            /* Number of entries that the searches may still visit. */
  tsi_count next_look;         /* Budget at the next check of the watch. */
  tsi_env *env;
  tsi_watch *watch; /* May be NULL. */
} matcher;

/* The result of one search: the free row it ends at, and the length of the path. */
typedef struct path {
  tsi_index end;
  double length;
} path;

/* ---- Set-up ---- */

static tristar_status allocate(matcher *m, tsi_count entries) {
  TSI_TRY(TSI_ALLOC_IN(m, m->ptr, m->n + 1));
  TSI_TRY(TSI_ALLOC_IN(m, m->row, entries));
  TSI_TRY(TSI_ALLOC_IN(m, m->cost, entries));
  TSI_TRY(TSI_ALLOC_IN(m, m->log_max, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->u, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->v, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->column_of, m->n));
  return TRISTAR_OK;
}

static tristar_status allocate_search(matcher *m) {
  TSI_TRY(TSI_ALLOC_IN(m, m->rows, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->before, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->heap, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->ready, m->n));
  return TSI_ALLOC_IN(m, m->reached, m->n);
}

/* Removes negative roundoff. */
static double not_negative(double x) {
  return x > 0 ? x : 0;
}

/* Without a branch, which processors could not predict. */
static void lower(double *least, double x) {
  *least = x < *least ? x : *least;
}

/* Keeps the nonzero entries, as costs. */
static void copy_entries(matcher *m, const tsi_count *ptr, const tsi_index *index, const double *magnitude) {
  tsi_count at = 0;
  for (tsi_index j = 0; j < m->n; j++) {
    double largest = 0;
    m->ptr[j] = at;
    for (tsi_count p = ptr[j]; p < ptr[j + 1]; p++) {
      if (!(magnitude[p] > 0)) continue;
      m->row[at] = index[p];
      m->cost[at++] = magnitude[p];
      largest = magnitude[p] > largest ? magnitude[p] : largest;
    }
    const double log_max = m->log_max[j] = log(largest);
    double latest = largest, cost = 0; /* neighbours are often equal, and the largest entry costs nothing */
    for (tsi_count q = m->ptr[j]; q < at; q++) {
      if (m->cost[q] != latest) {
        latest = m->cost[q];
        cost = not_negative(log_max - log(latest));
      }
      m->cost[q] = cost;
    }
  }
  m->ptr[m->n] = at;
}

/* c - u - v */
static double reduced_cost(const matcher *m, tsi_count p, tsi_index j) {
  return not_negative(m->cost[p] - m->u[m->row[p]] - m->v[j]);
}

/* The largest v of a column with c - u - v >= 0; infinite for a column without entries. */
static double largest_dual(const matcher *m, tsi_index j) {
  double least = INFINITY;
  for (tsi_count p = m->ptr[j]; p < m->ptr[j + 1]; p++) lower(&least, m->cost[p] - m->u[m->row[p]]);
  return least;
}

/* Feasible duals of rows: the least costs. */
static void start_duals(matcher *m) {
  for (tsi_index i = 0; i < m->n; i++) m->u[i] = INFINITY;
  for (tsi_count p = 0; p < m->ptr[m->n]; p++) lower(&m->u[m->row[p]], m->cost[p]);
}

static void discard_matching(matcher *m) {
  for (tsi_index i = 0; i < m->n; i++) m->row_of[i] = m->column_of[i] = TSI_NONE;
}

/* Matches as many more columns as possible along entries with c - u - v <= slack. first: computes v, the
 * largest feasible dual, which gives each column an entry of equality. */
static tristar_status match_within(matcher *m, double slack, bool first, tsi_index *matched) {
  tsi_env *env = m->env;
  tsi_count at = 0;
  TSI_TRY(tsi_watch_look(env, m->watch, WORK));
  TSI_SCRATCH(env, tsi_count, ptr, m->n + 1);
  TSI_SCRATCH(env, tsi_index, row, m->ptr[m->n]);
  for (tsi_index j = 0; j < m->n; j++) {
    ptr[j] = at;
    if (first) m->v[j] = largest_dual(m, j);
    for (tsi_count p = m->ptr[j]; p < m->ptr[j + 1]; p++) {
      row[at] = m->row[p];
      at += reduced_cost(m, p, j) <= slack;
    }
  }
  ptr[m->n] = at;
  TSI_TRY(maximum_transversal(env, m->n, ptr, row, m->row_of, m->column_of, matched, m->watch));
  tsi_log(env, TRISTAR_LOG_DEBUG, "matching: %d of %d columns within a factor of %.3g", *matched, m->n,
          exp(slack));
  return TRISTAR_OK;
}

/* ---- A binary heap of rows ---- */

static void put(matcher *m, tsi_index at, waiting_row w) {
  m->heap[at] = w;
  m->rows[w.row].place = at;
}

/* Moves row i up: it is in the heap, or was just appended, and has become nearer. */
static void sift_up(matcher *m, tsi_index i) {
  const waiting_row nearer = {m->rows[i].nearer, i};
  tsi_index at = m->rows[i].place;
  while (at > 0) {
    tsi_index up = (at - 1) / 2;
    if (m->heap[up].distance <= nearer.distance) break;
    put(m, at, m->heap[up]);
    at = up;
  }
  put(m, at, nearer);
}

static void make_final(searched *row, double distance) {
  row->distance = distance;
  row->nearer = FINAL;
}

static tsi_index take_nearest(matcher *m) {
  const waiting_row *heap = m->heap, last = heap[--m->heap_size];
  tsi_index nearest = heap[0].row, at = 0;
  make_final(&m->rows[nearest], heap[0].distance);
  if (m->heap_size == 0) return nearest;
  for (;;) {
    tsi_index down = 2 * at + 1;
    if (down >= m->heap_size) break;
    if (down + 1 < m->heap_size) down += heap[down + 1].distance < heap[down].distance;
    if (last.distance <= heap[down].distance) break;
    put(m, at, heap[down]);
    at = down;
  }
  put(m, at, last);
  return nearest;
}

/* ---- Shortest augmenting paths ---- */

/* Visits the entries of column j, which has the distance base. Most of them are too long, so this test comes
 * first. */
static void scan_column(matcher *m, tsi_index j, double base, path *best) {
  const double *cost = m->cost, v = m->v[j];
  const tsi_index *row = m->row;
  const tsi_count end = m->ptr[j + 1];
  double limit = best->length;
  m->budget -= end - m->ptr[j] + 1;
  for (tsi_count p = m->ptr[j]; p < end; p++) {
    searched *i = &m->rows[row[p]];
    const double d = tsi_double_max(base + (cost[p] - i->u - v), base);
    if (d >= (limit < i->nearer ? limit : i->nearer)) continue; /* one branch: neither is predictable */
    if (i->column == TSI_NONE) {
      *best = (path){row[p], limit = d};
      m->before[row[p]] = j;
      continue;
    }
    const bool reached = i->nearer < UNREACHED;
    m->before[row[p]] = j;
    if (!reached) m->reached[m->touched++] = row[p];
    if (d > base || reached) {
      i->nearer = d;
      if (!reached) i->place = m->heap_size++;
      sift_up(m, row[p]);
    } else {
      make_final(i, d);
      m->ready[m->waiting++] = row[p];
    }
  }
}

static tristar_status look(matcher *m) {
  if (m->budget > m->next_look) return TRISTAR_OK;
  m->next_look = m->budget - LOOK;
  return tsi_watch_look(m->env, m->watch, WORK);
}

/* The shortest path from the unmatched column j to a free row. Errors: CANCELLED. */
static tristar_status find_path(matcher *m, tsi_index j, path *best) {
  double base = 0;
  *best = (path){TSI_NONE, INFINITY};
  m->heap_size = m->touched = m->waiting = 0;
  for (;;) {
    TSI_TRY(look(m));
    scan_column(m, j, base, best);
    if (best->length <= base) break;
    if (m->waiting == 0 && (m->heap_size == 0 || m->heap[0].distance >= best->length)) break;
    const searched *i = &m->rows[m->waiting > 0 ? m->ready[--m->waiting] : take_nearest(m)];
    base = i->distance;
    j = i->column;
  }
  return TRISTAR_OK;
}

/* Changes the duals so that the path consists of equalities and no reduced cost becomes negative. */
static void move_duals(matcher *m, tsi_index start, path best) {
  m->v[start] += best.length;
  for (tsi_index k = 0; k < m->touched; k++) {
    searched *i = &m->rows[m->reached[k]];
    if (i->nearer == FINAL) {
      double step = best.length - i->distance;
      i->u -= step;
      m->v[i->column] += step;
    }
    i->nearer = UNREACHED;
  }
}

static void augment(matcher *m, tsi_index start, path best) {
  tsi_index i = best.end, j;
  do {
    j = m->before[i];
    tsi_index next = m->row_of[j];
    m->row_of[j] = i;
    m->rows[i].column = j;
    i = next;
  } while (j != start);
}

/* Matches the remaining columns, large entries first: no search, no optimum. The duals stay, so no scaled
 * entry exceeds one, but some diagonal entries are smaller than one. */
static tristar_status match_loosely(matcher *m, tsi_index *rank) {
  const double slack[] = {0, log(10), log(1e3), log(1e6), INFINITY};
  for (size_t k = 0; k < sizeof slack / sizeof *slack && *rank < m->n; k++)
    TSI_TRY(match_within(m, slack[k], false, rank));
  return TRISTAR_OK;
}

/* The structural rank is not full: a maximum transversal of all entries replaces the matching. */
static tristar_status find_rank(const matcher *m, tsi_index *rank) {
  return maximum_transversal(m->env, m->n, m->ptr, m->row, m->row_of, m->column_of, rank, m->watch);
}

static void begin_searches(matcher *m) {
  for (tsi_index i = 0; i < m->n; i++)
    m->rows[i] = (searched){.u = m->u[i], .column = m->column_of[i], .nearer = UNREACHED};
}

static void end_searches(matcher *m) {
  for (tsi_index i = 0; i < m->n; i++) {
    m->u[i] = m->rows[i].u;
    m->column_of[i] = m->rows[i].column;
  }
}

/* Matches one column after the other, from *j on. Ends at a column *j that it cannot match, or at n. */
static tristar_status search_all(matcher *m, tsi_index *j, tsi_index *rank) {
  for (; *j < m->n; ++*j) {
    path best;
    if (m->row_of[*j] != TSI_NONE) continue;
    if (m->budget < 0) break;
    TSI_TRY(find_path(m, *j, &best));
    if (best.end == TSI_NONE) break;
    move_duals(m, *j, best);
    augment(m, *j, best);
    ++*rank;
  }
  return TRISTAR_OK;
}

/* *rank: in, the number of matched columns; out, the structural rank. */
static tristar_status match_rest(matcher *m, tsi_index *rank) {
  tsi_index j = 0;
  if (*rank == m->n) return TRISTAR_OK;
  TSI_TRY(allocate_search(m));
  begin_searches(m);
  TSI_TRY(search_all(m, &j, rank));
  end_searches(m);
  if (j == m->n) return TRISTAR_OK;
  if (m->budget >= 0) return find_rank(m, rank);
  tsi_log(m->env, TRISTAR_LOG_INFO,
          "matching: too much work for the largest product, stopped at column %d of %d", j, m->n);
  return match_loosely(m, rank);
}

/* ---- Scalings ---- */

typedef struct range {
  double low, high;
} range;

static range range_of(tsi_index n, const double *x) {
  range r = {INFINITY, -INFINITY};
  for (tsi_index i = 0; i < n; i++) {
    lower(&r.low, x[i]);
    r.high = tsi_double_max(x[i], r.high);
  }
  return r;
}

/* Computes v again from u, against roundoff, and includes the maximum of the column. */
static void finish_duals(matcher *m) {
  for (tsi_index j = 0; j < m->n; j++) m->v[j] = largest_dual(m, j) - m->log_max[j];
}

/* A constant may be moved from all u to all v; it centres both ranges. If they are still too wide, columns
 * are scaled by their maxima alone: then no entry exceeds one either. */
static void write_scalings(const matcher *m, double *row_scale, double *col_scale) {
  const double limit = 700; /* of exponents: products of r, a and c do not overflow in any order */
  const double spare = 10;  /* so that the reciprocal of the largest number is not denormal */
  range u = range_of(m->n, m->u), v = range_of(m->n, m->v);
  double shift = (v.low + v.high - u.low - u.high) / 4;
  bool fits = fmax(u.high + shift, v.high - shift) <= limit && fmin(u.low + shift, v.low - shift) >= -limit;
  for (tsi_index i = 0; i < m->n; i++) {
    row_scale[i] = fits ? exp(m->u[i] + shift) : exp(-spare);
    col_scale[i] = exp(fits ? m->v[i] - shift : fmin(spare - m->log_max[i], limit));
  }
}

tristar_status tsi_matching(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                            const double *magnitude, tsi_index *row_of_column, double *row_scale,
                            double *col_scale, tsi_index *rank, tsi_watch *watch) {
  *rank = 0;
  TSI_SCRATCH(env, matcher, m, 1);
  *m = (matcher){.n = n, .row_of = row_of_column, .env = env, .watch = watch};
  for (tsi_index i = 0; i < n; i++) row_scale[i] = col_scale[i] = 1;
  TSI_TRY(allocate(m, ptr[n]));
  copy_entries(m, ptr, index, magnitude);
  discard_matching(m);
  start_duals(m);
  TSI_TRY(match_within(m, 0, true, rank));
  m->budget = WORK_MINIMUM + WORK_PER_ENTRY * (m->ptr[n] + n);
  m->next_look = m->budget - LOOK;
  TSI_TRY(match_rest(m, rank));
  if (*rank < n || n == 0) return TRISTAR_OK;
  finish_duals(m);
  write_scalings(m, row_scale, col_scale);
  return TRISTAR_OK;
}
