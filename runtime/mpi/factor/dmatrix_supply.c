/* Values of a factorization from all ranks: see dmatrix_factor.h.
 *
 * Entries go to the rank that factors the front of their line, the lesser of row and column in the final
 * order, or has the stripe of a shared front that the other one is in. Places flow first, the values follow
 * the same way. */
#include <math.h>

#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/comm/route.h"

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
  return (walk){s->matrix, tsi_rows_places(s), s->place[1], (tsi_index)tsi_dmatrix_first(s->matrix)};
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
  if (status == TRISTAR_OK && !d->one_place) status = TSI_ALLOC(env, s->place[0], rows);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, s->place[1], columns);
  for (tsi_index i = 0; status == TRISTAR_OK && i < rows; i++) asked[i] = first + i;
  for (tsi_index g = 0; status == TRISTAR_OK && g < ghosts; g++) asked[rows + g] = m->ghost_column[g];
  TSI_TRY_OUT(tsi_directory_ask(env, d->transport, d->out_place, status, columns, asked, s->place[1]));
  if (!d->one_place)
    TSI_TRY_OUT(tsi_directory_ask(env, d->transport, d->in_place, TRISTAR_OK, rows, asked, s->place[0]));
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

static tristar_status measure(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_supply *s = supply_of(supply);
  double *matched[2] = {NULL, NULL};
  (void)sizes;
  TSI_TRY_OUT(tsi_rows_share_matching(s->matrix, d->source, matched));
  TSI_TRY_OUT(
      tsi_rows_find_scaling(s->matrix, s->method, s->factor_scalar, matched, &s->scale[0], &s->scale[1]));
  if (d->source) d->source->adjoint = s->adjoint;
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
  tsi_team_factor *team_factor = d->team_factor;
  double *magnitude = NULL, largest;
  TSI_TRY_OUT(find_places(s, d));
  const walk w = walk_of(s);
  status = TSI_ALLOC_ZERO(env, team_factor->sizes.column, d->n);
  if (status == TRISTAR_OK) status = tsi_rows_measure(m, &magnitude);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  largest = gather_sizes(s, &w, magnitude, team_factor->sizes.column);
  TSI_TRY_OUT(tsi_rows_unite(m, d->n, team_factor->sizes.column));
  TSI_TRY_OUT(tsi_rows_unite(m, 1, &largest));
  TSI_TRY_OUT(tsi_transport_agree(
      d->transport, tsi_team_factor_take_columns(env, team_factor, &team_factor->sizes.column)));
  team_factor->sizes.tiny =
      sqrt(tsi_sparse_kernels_select(s->factor_scalar)->epsilon) * (largest > 0 ? largest : 1);
  d->process->kind.adjoint = team_factor->part.adjoint = s->adjoint;
  team_factor->analysis.options.singular = s->singular;
  team_factor->analysis.options.growth = s->growth;
  team_factor->part.row_scale = s->scale[0]; /* which owns them now */
  team_factor->part.col_scale = s->scale[1];
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
/* One that has come: the same, then where it is listed. */
typedef union arrival {
  place place;
  tsi_count at;
} arrival;

/* Entries, by the rank that they go to. */
typedef struct delivery {
  tsi_env *env;
  tristar_distributed_t *d;
  walk w;
  bool upper; /* there are upper lists */
  tsi_route route;
  tsi_count *source; /* those that leave: the entry that each is; of a rank ascending */
  tsi_index row;     /* of the entry that left last */
  arrival *taken;
} delivery;

/* Who assembles an entry. */
static tsi_index goes_to(const delivery *v, tsi_index row, tsi_index column) {
  return tsi_front_part_taker(&v->d->team_factor->fronts, row, column);
}

/* Does it go there, or stand for another one? */
static bool counts(const delivery *v, tsi_index row, tsi_index column) {
  return row >= column || v->upper;
}

/* Local. Consecutive entries mostly go to the same rank, but which of them count is not to be foreseen: here
 * and below that makes no subtree. */
static tristar_status count_entries(delivery *v) {
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
  return TRISTAR_OK;
}

/* Local. What does not count is written behind the lists. */
static tristar_status list_entries(delivery *v) {
  const tsi_count all = tsi_route_sent(&v->route);
  tsi_count *next = v->route.next;
  tsi_index to = 0;
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(v->env, v->source, all + 1));
  TSI_TRY(TSI_ALLOC(v->env, v->taken, tsi_route_received(&v->route)));
  tsi_count *source = v->source;
  FOR_ENTRIES(&v->w, i, e, row, column) {
    const tsi_index rank = goes_to(v, row, column);
    const bool listed = counts(v, row, column);
    if (rank != to) {
      next[to] = at;
      at = next[rank];
      to = rank;
    }
    source[listed ? at : all] = e;
    at += listed;
  }
  return TRISTAR_OK;
}

/* Places leave: of a rank in the order of its rows. */
static void give_places(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  delivery *v = context;
  place *given = items;
  const tsi_rows_matrix *whole = v->w.d->whole;
  const tsi_count *source = v->source + v->route.goes[rank] + first;
  if (first == 0) v->row = 0;
  for (tsi_count k = 0; k < count; k++) {
    while (whole->ptr[v->row + 1] <= source[k]) v->row++;
    const tsi_index row = v->w.row[v->row], column = v->w.column[whole->index[source[k]]];
    given[k] = (place){row >= column ? column : ~row, tsi_index_max(row, column)};
  }
}

static void take_places(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  const delivery *v = context;
  arrival *taken = v->taken + v->route.comes[rank] + first;
  for (tsi_count k = 0; k < count; k++) taken[k].place = ((const place *)items)[k];
}

static void give_values(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  const delivery *v = context;
  const tristar_dmatrix_t *d = v->w.d;
  d->sparse->gather(count, v->source + v->route.goes[rank] + first, TRISTAR_GENERAL, d->whole->values, items);
}

static void take_values(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  const delivery *v = context;
  const arrival *taken = v->taken + v->route.comes[rank] + first;
  for (tsi_count k = 0; k < count; k++)
    tsi_copy_scalar(v->w.d->bytes, v->d->team_factor->lines.values, taken[k].at, items, k);
}

/* Local: lists of own entries, in the order in which they came. */
static tristar_status make_lists(const delivery *v) {
  tsi_team_factor *team_factor = v->d->team_factor;
  struct tristar_analysis_s *an = &team_factor->analysis;
  const size_t n = (size_t)team_factor->pattern.n;
  const tsi_count entries = tsi_route_received(&v->route);
  TSI_TRY(TSI_ALLOC_ZERO(v->env, an->lower.ptr, n + 1));
  if (v->upper) TSI_TRY(TSI_ALLOC_ZERO(v->env, an->upper.ptr, n + 1));
  TSI_TRY(TSI_ALLOC(v->env, team_factor->lines.index, entries));
  for (tsi_count k = 0; k < entries; k++) {
    place *taken = &v->taken[k].place;
    taken->line = taken->line < 0 ? ~tsi_front_part_here(&team_factor->fronts, ~taken->line)
                                  : tsi_front_part_here(&team_factor->fronts, taken->line);
    taken->other = tsi_front_part_here(&team_factor->fronts, taken->other);
    const tsi_index line = taken->line;
    (*(line < 0 ? &an->upper : &an->lower)).ptr[line < 0 ? ~line : line]++;
  }
  tsi_count before = 0;
  for (tsi_assembly *list = &an->lower; list != NULL;
       list = list == &an->lower && v->upper ? &an->upper : NULL) {
    list->first = before;
    list->other = team_factor->lines.index + before;
    for (size_t j = 0; j <= n; j++) { /* of line j its end, while it is filled from there down */
      before += j < n ? list->ptr[j] : 0;
      list->ptr[j] = before - list->first;
    }
  }
  for (tsi_count k = entries - 1; k >= 0; k--) {
    const place taken = v->taken[k].place;
    tsi_assembly *list = taken.line < 0 ? &an->upper : &an->lower;
    const tsi_count at = --list->ptr[taken.line < 0 ? ~taken.line : taken.line];
    list->other[at] = taken.other;
    v->taken[k].at = list->first + at;
  }
  return TRISTAR_OK;
}

static void release(delivery *v) {
  tsi_route_finish(v->env, &v->route);
  TSI_FREE(v->env, v->taken);
  TSI_FREE(v->env, v->source);
}

/* Only a factorization reads them. */
static void release_lists(tsi_env *env, tsi_team_factor *team_factor) {
  TSI_FREE(env, team_factor->analysis.lower.ptr);
  TSI_FREE(env, team_factor->analysis.upper.ptr);
  TSI_FREE(env, team_factor->lines.index);
  team_factor->analysis.lower = team_factor->analysis.upper = (tsi_assembly){.ptr = NULL};
}

/* The lists are made anew each time: rows may lie on other ranks than before. */
static tristar_status take_entries(const tsi_supply *supply, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_supply *s = supply_of(supply);
  tsi_env *env = &d->ts->env;
  tsi_team_factor *team_factor = d->team_factor;
  delivery v = {.env = env, .d = d, .w = walk_of(s), .upper = s->method == TRISTAR_METHOD_LU};
  release_lists(env, team_factor);
  TSI_TRY_OUT(tsi_route_connect(env, d->transport, count_entries(&v), &v.route));
  TSI_TRY_OUT(tsi_route_flow(env, d->transport, list_entries(&v), &v.route, sizeof(place),
                             &(tsi_flow){give_places, take_places, &v}));
  status = make_lists(&v);
  team_factor->lines.entries = (size_t)tsi_route_received(&v.route);
  if (status == TRISTAR_OK)
    status = tsi_allocate(env, team_factor->lines.entries, s->matrix->bytes, __func__, __FILE__, __LINE__,
                          (void **)&team_factor->lines.values);
  TSI_TRY_OUT(tsi_route_flow(env, d->transport, status, &v.route, s->matrix->bytes,
                             &(tsi_flow){give_values, take_values, &v}));
  if (s->lean) tsi_dmatrix_release_whole(s->matrix);
  team_factor->part.values = team_factor->lines.values;
out:
  release(&v);
  return status;
}

/* The rows follow, once the entries are factored. */
static tristar_status bring_matrix(const tsi_supply *supply, tristar_distributed_t *d) {
  release_lists(&d->ts->env, d->team_factor);
  return tsi_rows_bring_home(supply_of(supply), d);
}

void tsi_rows_supply_begin(tristar_dmatrix_t *matrix, double *scale[2], tsi_index *places[2],
                           tsi_rows_supply *out) {
  *out = (tsi_rows_supply){
      .supply = {.measure = measure, .scales = take_scales, .entries = take_entries, .matrix = bring_matrix},
      .matrix = matrix,
      .scale = scale,
      .place = places};
}
