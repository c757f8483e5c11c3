/* Values of a factorization, and rows of its matrix, from all ranks: see dmatrix_factor.h.
 *
 * Entries go to the rank that factors the front of their line, the lesser of row and column in the final
 * order, or has the stripe of a shared front that the other one is in; rows to the rank that is home of them.
 * Places travel first, the values follow the same way, in arrays of their own. */
#include <math.h>

#include "runtime/mpi/dmatrix_factor.h"
#include "runtime/mpi/route.h"

static const tsi_rows_supply *supply_of(const tsi_supply *supply) {
  return (const tsi_rows_supply *)supply; /* the first member */
}

/* An entry of a row here, in the final order. */
typedef struct walk {
  const tristar_dmatrix_t *d;
  const tsi_index *row, *column; /* of rows here, of columns that they meet */
  tsi_index first;
} walk;

static walk walk_of(const tsi_rows_supply *s) {
  return (walk){s->matrix, s->place[0], s->place[1], (tsi_index)tsi_dmatrix_first(s->matrix)};
}

/* Collective: asks for the places of rows and columns. */
static tristar_status find_places(const tsi_rows_supply *s, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tristar_dmatrix_t *m = s->matrix;
  const tsi_index rows = m->n, first = (tsi_index)tsi_dmatrix_first(m), ghosts = m->halo->ghosts;
  const tsi_count columns = (tsi_count)rows + ghosts;
  tsi_index *asked = NULL;
  for (int k = 0; k < 2; k++) TSI_FREE(env, s->place[k]);
  status = TSI_ALLOC(env, asked, columns);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, s->place[0], rows);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, s->place[1], columns);
  for (tsi_index i = 0; status == TRISTAR_OK && i < rows; i++) asked[i] = first + i;
  for (tsi_index g = 0; status == TRISTAR_OK && g < ghosts; g++) asked[rows + g] = m->ghost_column[g];
  TSI_TRY(tsi_directory_ask(env, d->transport, d->in_place, status, rows, asked, s->place[0]));
  TSI_TRY(tsi_directory_ask(env, d->transport, d->out_place, TRISTAR_OK, columns, asked, s->place[1]));
out:
  TSI_FREE(env, asked);
  return status;
}

#define FOR_ENTRIES(w, i, e, row, column)                                                                    \
  for (tsi_index i = 0; i < (w)->d->n; i++)                                                                  \
    for (tsi_count e = (w)->d->whole->ptr[i]; e < (w)->d->whole->ptr[i + 1]; e++)                            \
      for (tsi_index once = 0, row = (w)->row[i], column = (w)->column[(w)->d->whole->index[e]]; once < 1;   \
           once++)

/* ---- Scalings and sizes -------------------------------------------------------------------------------- */

/* On rank 0 what is told of the whole factor has them too. */
static tristar_status keep_scaling(const tristar_distributed_t *d, const double *from, double **to) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const size_t n = (size_t)d->source->analysis->pattern->n;
  if (from == NULL) TSI_FREE(env, *to);
  if (from == NULL) return TRISTAR_OK;
  if (*to == NULL) TSI_TRY(TSI_ALLOC(env, *to, n));
  if (n > 0) memcpy(*to, from, n * sizeof *from);
out:
  return status;
}

static tristar_status measure(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_supply *s = supply_of(supply);
  double *matched[2] = {NULL, NULL};
  (void)sizes;
  TSI_TRY(tsi_rows_share_matching(s->matrix, d->source, matched));
  TSI_TRY(tsi_rows_find_scaling(s->matrix, s->method, s->factor_scalar, matched, &s->scale[0], &s->scale[1]));
  if (d->source) {
    d->source->adjoint = s->adjoint;
    status = keep_scaling(d, s->scale[0], &d->source->row_scale);
    if (status == TRISTAR_OK) status = keep_scaling(d, s->scale[1], &d->source->col_scale);
  }
  TSI_TRY(tsi_transport_agree(d->transport, status));
out:
  for (int k = 0; k < 2; k++) TSI_FREE(&d->ts->env, matched[k]);
  return status;
}

/* Local: what this rank's entries say, as tsi_pivot_sizes_measure; gives the largest. */
static double gather_sizes(const tsi_rows_supply *s, const walk *w, const double *magnitude, double *size) {
  const bool llt = s->method == TRISTAR_METHOD_LLT, ldlt = s->method == TRISTAR_METHOD_LDLT;
  const double *row_scale = s->scale[0], *col_scale = s->scale[1];
  double largest = 0;
  FOR_ENTRIES(w, i, e, row, column) {
    if (row < column && (llt || ldlt)) continue;
    const double a = row_scale ? tsi_scaled(magnitude[e], row_scale[w->first + i], col_scale[w->d->column[e]])
                               : magnitude[e];
    if (a > largest) largest = a;
    if ((!llt || row == column) && a > size[column]) size[column] = a;
    if (ldlt && a > size[row]) size[row] = a;
  }
  return largest;
}

static tristar_status take_scales(const tsi_supply *supply, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_rows_supply *s = supply_of(supply);
  const tristar_dmatrix_t *m = s->matrix;
  tsi_joint *joint = d->joint;
  double *magnitude = NULL, largest;
  TSI_TRY(find_places(s, d));
  const walk w = walk_of(s);
  status = TSI_ALLOC_ZERO(env, joint->sizes.column, d->n);
  if (status == TRISTAR_OK) status = tsi_rows_measure(m, &magnitude);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  largest = gather_sizes(s, &w, magnitude, joint->sizes.column);
  TSI_TRY(tsi_rows_unite(m, d->n, joint->sizes.column));
  TSI_TRY(tsi_rows_unite(m, 1, &largest));
  TSI_TRY(tsi_transport_agree(d->transport, tsi_joint_take_columns(env, joint, &joint->sizes.column)));
  joint->sizes.tiny =
      sqrt(tsi_sparse_kernels_select(s->factor_scalar)->epsilon) * (largest > 0 ? largest : 1);
  d->process->kind.adjoint = joint->part.adjoint = s->adjoint;
  joint->analysis.options.singular = s->singular;
  joint->part.row_scale = s->scale[0]; /* which owns them now */
  joint->part.col_scale = s->scale[1];
  s->scale[0] = s->scale[1] = NULL;
out:
  TSI_FREE(env, magnitude);
  return status;
}

/* ---- Entries of fronts --------------------------------------------------------------------------------- */

/* An entry on its way: its line, of an upper list complemented, and its other index. */
typedef struct place {
  tsi_index line, other;
} place;

/* Entries, by the rank that they go to. */
typedef struct delivery {
  tsi_env *env;
  tristar_distributed_t *d;
  walk w;
  bool upper; /* there are upper lists */
  tsi_route route;
  tsi_count *next; /* ranks + 1: where the next entry for a rank is listed */
  place *given, *taken;
  tsi_count *source; /* given: the entry that each is */
  char *value;
} delivery;

/* Who assembles an entry. */
static tsi_index goes_to(const delivery *v, tsi_index row, tsi_index column) {
  return tsi_front_part_taker(&v->d->joint->fronts, row, column);
}

/* Does it go there, or stand for another one? */
static bool counts(const delivery *v, tsi_index row, tsi_index column) {
  return row >= column || v->upper;
}

/* Local. Consecutive entries mostly go to the same rank, but which of them count is not to be foreseen: here
 * and below that makes no branch. */
static tristar_status count_entries(delivery *v) {
  tristar_status status = TRISTAR_OK;
  tsi_index to = 0;
  tsi_count count = 0;
  TSI_TRY(tsi_route_begin(v->env, v->d->transport, &v->route));
  FOR_ENTRIES(&v->w, i, e, row, column) {
    const tsi_index rank = goes_to(v, row, column);
    if (rank != to) {
      v->route.goes[to + 1] += count;
      count = 0;
      to = rank;
    }
    count += counts(v, row, column);
  }
  v->route.goes[to + 1] += count;
out:
  return status;
}

/* Local. What does not count is written behind the lists. */
static tristar_status list_places(delivery *v) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(v->d->transport);
  const tsi_count all = v->route.goes[ranks];
  tsi_index to = 0;
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(v->env, v->next, ranks + 1));
  TSI_TRY(TSI_ALLOC(v->env, v->given, all + 1));
  TSI_TRY(TSI_ALLOC(v->env, v->source, all + 1));
  TSI_TRY(TSI_ALLOC(v->env, v->taken, v->route.comes[ranks]));
  memcpy(v->next, v->route.goes, ((size_t)ranks + 1) * sizeof *v->next);
  place *given = v->given;
  tsi_count *source = v->source;
  FOR_ENTRIES(&v->w, i, e, row, column) {
    const tsi_index rank = goes_to(v, row, column);
    const bool listed = counts(v, row, column);
    if (rank != to) {
      v->next[to] = at;
      at = v->next[rank];
      to = rank;
    }
    given[listed ? at : all] = (place){row >= column ? column : ~row, tsi_index_max(row, column)};
    source[listed ? at : all] = e;
    at += listed;
  }
out:
  return status;
}

/* Local. */
static tristar_status list_values(delivery *v) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = v->w.d;
  const int ranks = tsi_transport_size(v->d->transport);
  tsi_shipment *lines = &v->d->joint->lines;
  TSI_TRY(tsi_allocate(v->env, (size_t)v->route.goes[ranks], d->bytes, __func__, __FILE__, __LINE__,
                       (void **)&v->value));
  lines->entries = (size_t)v->route.comes[ranks];
  TSI_TRY(
      tsi_allocate(v->env, lines->entries, d->bytes, __func__, __FILE__, __LINE__, (void **)&lines->values));
  d->sparse->gather(v->route.goes[ranks], v->source, TRISTAR_GENERAL, d->whole->values, v->value);
out:
  TSI_FREE(v->env, v->source);
  return status;
}

/* Local: lists of own entries, in the order in which they came. */
static tristar_status make_lists(const delivery *v) {
  tristar_status status = TRISTAR_OK;
  tsi_joint *joint = v->d->joint;
  struct tristar_analysis_s *an = &joint->analysis;
  const size_t n = (size_t)joint->pattern.n;
  const tsi_count entries = v->route.comes[tsi_transport_size(v->d->transport)];
  TSI_TRY(TSI_ALLOC_ZERO(v->env, an->lower.ptr, n + 1));
  if (v->upper) TSI_TRY(TSI_ALLOC_ZERO(v->env, an->upper.ptr, n + 1));
  TSI_TRY(TSI_ALLOC(v->env, joint->lines.index, entries));
  TSI_TRY(TSI_ALLOC(v->env, joint->place, entries));
  for (tsi_count k = 0; k < entries; k++) {
    place *taken = &v->taken[k];
    taken->line = taken->line < 0 ? ~tsi_front_part_here(&joint->fronts, ~taken->line)
                                  : tsi_front_part_here(&joint->fronts, taken->line);
    taken->other = tsi_front_part_here(&joint->fronts, taken->other);
    const tsi_index line = taken->line;
    (*(line < 0 ? &an->upper : &an->lower)).ptr[line < 0 ? ~line : line]++;
  }
  tsi_count before = 0;
  for (tsi_assembly *list = &an->lower; list != NULL;
       list = list == &an->lower && v->upper ? &an->upper : NULL) {
    const tsi_count begin = before;
    list->other = joint->lines.index + begin;
    list->source = joint->place + begin;
    for (size_t j = 0; j <= n; j++) { /* of line j its end, while it is filled from there down */
      before += j < n ? list->ptr[j] : 0;
      list->ptr[j] = before - begin;
    }
  }
  for (tsi_count k = entries - 1; k >= 0; k--) {
    const tsi_index line = v->taken[k].line;
    tsi_assembly *list = line < 0 ? &an->upper : &an->lower;
    const tsi_count at = --list->ptr[line < 0 ? ~line : line];
    list->other[at] = v->taken[k].other;
    list->source[at] = k;
  }
out:
  return status;
}

static void release(delivery *v) {
  tsi_route_finish(v->env, &v->route);
  TSI_FREE(v->env, v->next);
  TSI_FREE(v->env, v->given);
  TSI_FREE(v->env, v->taken);
  TSI_FREE(v->env, v->source);
  TSI_FREE(v->env, v->value);
}

static void release_lists(tsi_env *env, tsi_joint *joint) {
  TSI_FREE(env, joint->analysis.lower.ptr);
  TSI_FREE(env, joint->analysis.upper.ptr);
  TSI_FREE(env, joint->lines.index);
  TSI_FREE(env, joint->place);
  joint->analysis.lower = joint->analysis.upper = (tsi_assembly){.ptr = NULL};
}

/* The lists are made anew each time: rows may lie on other ranks than before. */
static tristar_status take_entries(const tsi_supply *supply, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_supply *s = supply_of(supply);
  tsi_env *env = &d->ts->env;
  tsi_joint *joint = d->joint;
  delivery v = {.env = env, .d = d, .w = walk_of(s), .upper = s->method == TRISTAR_METHOD_LU};
  release_lists(env, joint);
  TSI_TRY(tsi_route_connect(env, d->transport, count_entries(&v), &v.route));
  TSI_TRY(tsi_transport_agree(d->transport, list_places(&v)));
  TSI_TRY(tsi_route_pass(env, d->transport, &v.route, sizeof *v.given, v.given, v.taken));
  TSI_FREE(env, v.given);
  status = make_lists(&v);
  TSI_FREE(env, v.taken);
  if (status == TRISTAR_OK) status = list_values(&v);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  if (s->lean) tsi_dmatrix_release_whole(s->matrix);
  TSI_TRY(tsi_route_pass(env, d->transport, &v.route, s->matrix->bytes, v.value, joint->lines.values));
  joint->part.values = joint->lines.values;
out:
  release(&v);
  return status;
}

/* ---- Rows of the matrix -------------------------------------------------------------------------------- */

/* A row on its way: its number in the final order, and its entries. */
typedef struct head {
  tsi_index row, length;
} head;

/* Rows, by the rank that they go to; their entries follow a route of their own. Rows that are at home here go
 * straight to their places. */
typedef struct convoy {
  tsi_env *env;
  const tristar_dmatrix_t *d;
  walk w;
  size_t bytes;
  int rank, ranks;
  int *home; /* d->n */
  tsi_route heads, entries;
  tsi_count *next; /* ranks + 1 */
  head *given, *taken;
  char *given_items, *taken_items; /* columns, or values */
  tsi_index *place;                /* final rows: where those that are at home here are in the matrix */
  tsi_count *begin;                /* its rows: where the entries of each begin */
} convoy;

static tsi_index length_of(const tristar_dmatrix_t *d, tsi_index i) {
  return (tsi_index)(d->whole->ptr[i + 1] - d->whole->ptr[i]);
}

static tsi_index final_row(const convoy *v, tsi_index i) {
  return v->w.row[i];
}

/* Local. */
static tristar_status count_rows(convoy *v, const tsi_process *p, const tsi_rows_matrix *m,
                                 const tsi_transport *transport) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_route_begin(v->env, transport, &v->heads));
  TSI_TRY(tsi_route_begin(v->env, transport, &v->entries));
  TSI_TRY(TSI_ALLOC(v->env, v->home, v->d->n));
  TSI_TRY(TSI_ALLOC(v->env, v->place, p->kind.n));
  TSI_TRY(TSI_ALLOC_ZERO(v->env, v->next, v->ranks + 1));
  for (int64_t k = 0; k < p->kind.n; k++) v->place[k] = TSI_NONE;
  for (tsi_index k = 0; k < m->n; k++) v->place[m->column[k]] = k;
  for (tsi_index i = 0; i < v->d->n; i++) {
    const tsi_index row = final_row(v, i);
    v->home[i] = v->place[row] != TSI_NONE ? v->rank : tsi_home_of(p->layout, row);
    if (v->home[i] == v->rank) continue;
    v->heads.goes[v->home[i] + 1]++;
    v->entries.goes[v->home[i] + 1] += length_of(v->d, i);
  }
out:
  return status;
}

/* Local. */
static tristar_status list_heads(convoy *v) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(v->env, v->given, v->heads.goes[v->ranks]));
  TSI_TRY(TSI_ALLOC(v->env, v->taken, v->heads.comes[v->ranks]));
  for (int r = 0; r <= v->ranks; r++) v->next[r] = v->heads.goes[r];
  for (tsi_index i = 0; i < v->d->n; i++)
    if (v->home[i] != v->rank) v->given[v->next[v->home[i]]++] = (head){final_row(v, i), length_of(v->d, i)};
out:
  return status;
}

/* Items of a row here: values, or columns of the final order. */
static void write_items(const convoy *v, tsi_index i, bool values, char *to) {
  const tsi_rows_matrix *whole = v->d->whole;
  const size_t from = (size_t)whole->ptr[i], length = (size_t)length_of(v->d, i);
  tsi_index *column = (tsi_index *)(void *)to;
  if (values && length > 0) memcpy(to, (const char *)whole->values + from * v->bytes, length * v->bytes);
  for (size_t e = 0; e < length && !values; e++) column[e] = v->w.column[whole->index[from + e]];
}

/* Local. Items of `bytes` of the rows that leave. */
static tristar_status list_items(convoy *v, bool values, size_t bytes) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_allocate(v->env, (size_t)v->entries.goes[v->ranks], bytes, __func__, __FILE__, __LINE__,
                       (void **)&v->given_items));
  TSI_TRY(tsi_allocate(v->env, (size_t)v->entries.comes[v->ranks], bytes, __func__, __FILE__, __LINE__,
                       (void **)&v->taken_items));
  for (int r = 0; r <= v->ranks; r++) v->next[r] = v->entries.goes[r];
  for (tsi_index i = 0; i < v->d->n; i++) {
    if (v->home[i] == v->rank) continue;
    write_items(v, i, values, v->given_items + (size_t)v->next[v->home[i]] * bytes);
    v->next[v->home[i]] += length_of(v->d, i);
  }
out:
  return status;
}

/* Local: where the entries of the rows that are at home here go. */
static tristar_status place_rows(convoy *v, const tsi_rows_matrix *m, tsi_shipment *own) {
  tristar_status status = TRISTAR_OK;
  own->lines = (size_t)m->n;
  TSI_TRY(TSI_ALLOC_ZERO(v->env, v->begin, (size_t)m->n + 1));
  for (tsi_count k = 0; k < v->heads.comes[v->ranks]; k++)
    v->begin[v->place[v->taken[k].row] + 1] = v->taken[k].length;
  for (tsi_index i = 0; i < v->d->n; i++)
    if (v->home[i] == v->rank) v->begin[v->place[final_row(v, i)] + 1] = length_of(v->d, i);
  for (tsi_index k = 0; k < m->n; k++) v->begin[k + 1] += v->begin[k];
  own->entries = (size_t)v->begin[m->n];
  TSI_TRY(tsi_shipment_allocate(v->env, v->bytes, own));
  for (tsi_index k = 0; own->pattern && k < m->n; k++)
    own->lengths[k] = (tsi_index)(v->begin[k + 1] - v->begin[k]);
out:
  return status;
}

/* Collective. One array of the entries, to where it stays. */
static tristar_status bring_items(convoy *v, tsi_transport *transport, bool values, size_t bytes, void *to) {
  tristar_status status = TRISTAR_OK;
  tsi_count from = 0;
  TSI_TRY(tsi_transport_agree(transport, list_items(v, values, bytes)));
  TSI_TRY(tsi_route_pass(v->env, transport, &v->entries, bytes, v->given_items, v->taken_items));
  for (tsi_count k = 0; k < v->heads.comes[v->ranks]; k++) {
    const tsi_index length = v->taken[k].length;
    if (length > 0)
      memcpy((char *)to + (size_t)v->begin[v->place[v->taken[k].row]] * bytes,
             v->taken_items + (size_t)from * bytes, (size_t)length * bytes);
    from += length;
  }
  for (tsi_index i = 0; i < v->d->n; i++)
    if (v->home[i] == v->rank)
      write_items(v, i, values, (char *)to + (size_t)v->begin[v->place[final_row(v, i)]] * bytes);
out:
  TSI_FREE(v->env, v->given_items);
  TSI_FREE(v->env, v->taken_items);
  return status;
}

/* What the rows of a matrix come from. */
typedef struct origin {
  const tsi_rows_supply *supply;
} origin;

static tristar_status bring_rows(const tsi_rows_source *source, tsi_env *env, tsi_transport *transport,
                                 const tsi_process *p, const tsi_rows_matrix *m, tsi_shipment *own) {
  tristar_status status = TRISTAR_OK;
  const origin *from = source->from;
  convoy v = {.env = env,
              .d = from->supply->matrix,
              .w = walk_of(from->supply),
              .bytes = p->user_bytes,
              .rank = tsi_transport_rank(transport),
              .ranks = tsi_transport_size(transport)};
  status = count_rows(&v, p, m, transport);
  TSI_TRY(tsi_route_connect(env, transport, status, &v.heads));
  TSI_TRY(tsi_route_connect(env, transport, TRISTAR_OK, &v.entries));
  TSI_TRY(tsi_transport_agree(transport, list_heads(&v)));
  TSI_TRY(tsi_route_pass(env, transport, &v.heads, sizeof *v.given, v.given, v.taken));
  TSI_TRY(tsi_transport_agree(transport, place_rows(&v, m, own)));
  if (own->pattern) TSI_TRY(bring_items(&v, transport, false, sizeof *own->index, own->index));
  TSI_TRY(bring_items(&v, transport, true, v.bytes, own->values));
out:
  tsi_route_finish(env, &v.heads);
  tsi_route_finish(env, &v.entries);
  TSI_FREE(env, v.home);
  TSI_FREE(env, v.next);
  TSI_FREE(env, v.given);
  TSI_FREE(env, v.taken);
  TSI_FREE(env, v.place);
  TSI_FREE(env, v.begin);
  return status;
}

static tristar_status bring_matrix(const tsi_supply *supply, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_supply *s = supply_of(supply);
  const origin from = {s};
  const tsi_rows_source source = {bring_rows, &from};
  TSI_TRY(tsi_transport_agree(d->transport, tsi_dmatrix_need_whole(s->matrix)));
  TSI_TRY(tsi_bring_matrix(d, &source));
out:
  if (s->lean) tsi_dmatrix_release_whole(s->matrix);
  return status;
}

void tsi_rows_supply_begin(tristar_dmatrix_t *matrix, double *scale[2], tsi_index *places[2],
                           tsi_rows_supply *out) {
  *out = (tsi_rows_supply){
      .supply = {.measure = measure, .scales = take_scales, .entries = take_entries, .matrix = bring_matrix},
      .matrix = matrix,
      .scale = scale,
      .place = places};
}
