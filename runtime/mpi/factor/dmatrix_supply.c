/* Supply of values from all ranks: see dmatrix_factor.h.
 *
 * The line of an entry is the lesser of row and column in the final order. The entry is sent to the rank that
 * factors the front of its line. If the front is shared, it is sent to the rank with the stripe of its other
 * index. */
#include <math.h>

#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/matrix/row_reader.h"

static const tsi_rows_supply *supply_of(const tsi_supply *supply) {
  return (const tsi_rows_supply *)supply; /* the first member */
}

/* Numbers of this rank's entries in the final order. */
typedef struct walk {
  const tristar_dmatrix_t *d;
  const tsi_index *row, *column; /* of this rank's rows, and of their columns */
  tsi_index first;
} walk;

static walk walk_of(const tsi_rows_supply *s) {
  return (walk){s->matrix, tsi_rows_places(s), s->place[1], (tsi_index)tsi_dmatrix_first(s->matrix)};
}

/* Collective. Requests the final numbers of rows and columns. */
static tristar_status find_places(const tsi_rows_supply *s, tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  const tristar_dmatrix_t *m = s->matrix;
  const tsi_index rows = m->n, first = (tsi_index)tsi_dmatrix_first(m), ghosts = m->halo->ghosts;
  const tsi_count columns = (tsi_count)rows + ghosts;
  TSI_OWNED tsi_index *requested = NULL;
  for (int k = 0; k < 2; k++) TSI_FREE(env, s->place[k]);
  tristar_status status = TSI_ALLOC(env, requested, columns);
  if (status == TRISTAR_OK && !d->one_place) status = TSI_ALLOC(env, s->place[0], rows);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, s->place[1], columns);
  for (tsi_index i = 0; status == TRISTAR_OK && i < rows; i++) requested[i] = first + i;
  for (tsi_index g = 0; status == TRISTAR_OK && g < ghosts; g++) requested[rows + g] = m->ghost_column[g];
  TSI_TRY(tsi_directory_query(env, d->transport, d->out_place, status, columns, requested, s->place[1]));
  if (!d->one_place)
    TSI_TRY(tsi_directory_query(env, d->transport, d->in_place, TRISTAR_OK, rows, requested, s->place[0]));
  return TRISTAR_OK;
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
  bool keeps;
  (void)sizes;
  TSI_TRY_OUT(tsi_rows_share_matching(s->matrix, d->source, matched, &keeps));
  TSI_TRY_OUT(tsi_rows_find_scaling(s->matrix, s->method, s->factor_scalar, matched, keeps,
                                    s->pivoting == TRISTAR_PIVOTING_DELAYED, s->scale));
  if (d->source) d->source->adjoint = s->adjoint;
out:
  for (int k = 0; k < 2; k++) TSI_FREE(&d->ts->env, matched[k]);
  return status;
}

/* Local. Adds this rank's entries to size, as in tsi_pivot_sizes_measure; returns the largest. */
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
  tsi_env *env = &d->ts->env;
  const tsi_rows_supply *s = supply_of(supply);
  const tristar_dmatrix_t *m = s->matrix;
  tsi_team_factor *team_factor = d->team_factor;
  double largest;
  TSI_OWNED double *magnitude = NULL;
  TSI_TRY(find_places(s, d));
  const walk w = walk_of(s);
  tristar_status status = TSI_ALLOC_ZERO(env, team_factor->sizes.column, d->n);
  if (status == TRISTAR_OK) status = tsi_rows_measure(m, &magnitude);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  largest = gather_sizes(s, &w, magnitude, team_factor->sizes.column);
  TSI_TRY(tsi_rows_unite(m, d->n, team_factor->sizes.column));
  TSI_TRY(tsi_rows_unite(m, 1, &largest));
  TSI_TRY(
      tsi_transport_agree(d->transport, tsi_team_factor_take_columns(env, team_factor, sizeof(double),
                                                                     (void **)&team_factor->sizes.column)));
  team_factor->sizes.tiny = tsi_tiny_pivot(&team_factor->analysis, largest);
  d->process->kind.adjoint = team_factor->part.adjoint = s->adjoint;
  team_factor->analysis.options.singular = s->singular;
  team_factor->analysis.options.growth = s->growth;
  team_factor->analysis.options.matching = s->matching;
  team_factor->part.row_scale = s->scale[0]; /* the part owns them now */
  team_factor->part.col_scale = s->scale[1];
  s->scale[0] = s->scale[1] = NULL;
  return TRISTAR_OK;
}

/* ---- Entries of fronts --------------------------------------------------------------------------------- */

/* This rank's entries, by the rank to which they are sent. */
typedef struct delivery {
  tsi_env *env;
  const tsi_rows_supply *supply;
  const tsi_front_part *fronts;
  tsi_route *route;
  walk w;
  bool upper;        /* upper lists exist */
  tsi_count *source; /* [sent entries]: number of each entry, ascending for each rank */
  tsi_index row;     /* row of the entry written last */
} delivery;

/* The rank that assembles an entry. */
static tsi_index goes_to(const delivery *v, tsi_index row, tsi_index column) {
  return tsi_front_part_taker(v->fronts, row, column);
}

/* Whether an entry is sent, and not represented by its mirror image. */
static bool counts(const delivery *v, tsi_index row, tsi_index column) {
  return row >= column || v->upper;
}

/* Local. Consecutive entries mostly have the same receiver, but which of them are sent cannot be predicted.
 * So this loop, like the one below, has no branch for the latter. */
static void count_entries(const delivery *v) {
  tsi_count *goes = v->route->goes, count = 0;
  tsi_index to = 0;
  FOR_ENTRIES(&v->w, i, e, row, column) {
    const tsi_index rank = goes_to(v, row, column);
    if (rank != to) {
      goes[to + 1] += count;
      count = 0;
      to = rank;
    }
    count += counts(v, row, column);
  }
  goes[to + 1] += count;
}

static tristar_status count(const tsi_supply *supply, tristar_distributed_t *d, tsi_route *route,
                            void **from) {
  const tsi_rows_supply *s = supply_of(supply);
  delivery *v = NULL;
  TSI_TRY(TSI_ALLOC(&d->ts->env, v, 1));
  *v = (delivery){.env = &d->ts->env,
                  .supply = s,
                  .fronts = &d->team_factor->fronts,
                  .route = route,
                  .w = walk_of(s),
                  .upper = s->method == TRISTAR_METHOD_LU};
  *from = v;
  count_entries(v);
  return TRISTAR_OK;
}

/* Entries that are not sent are written to the last element, which is not read. */
static tristar_status list(void *from) {
  delivery *v = from;
  const tsi_count all = tsi_route_sent(v->route);
  tsi_count *next = v->route->next, at = next[0];
  tsi_index to = 0;
  TSI_TRY(TSI_ALLOC_IN(v, v->source, all + 1));
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

/* Places for a rank, in the order of this rank's rows. */
static void give_places(void *from, int rank, tsi_count first, tsi_count count, tsi_entry_place *to) {
  delivery *v = from;
  const tsi_rows_matrix *whole = v->w.d->whole;
  const tsi_count *source = v->source + v->route->goes[rank] + first;
  if (first == 0) v->row = 0;
  for (tsi_count k = 0; k < count; k++) {
    while (whole->ptr[v->row + 1] <= source[k]) v->row++;
    const tsi_index row = v->w.row[v->row], column = v->w.column[whole->index[source[k]]];
    to[k] = (tsi_entry_place){row >= column ? column : ~row, tsi_index_max(row, column)};
  }
}

static void give_values(void *from, int rank, tsi_count first, tsi_count count, void *to) {
  const delivery *v = from;
  const tristar_dmatrix_t *d = v->w.d;
  d->sparse->gather(count, v->source + v->route->goes[rank] + first, TRISTAR_GENERAL, d->whole->values, to);
}

static void end(void *from) {
  delivery *v = from;
  if (v == NULL) return;
  if (v->supply->lean) tsi_dmatrix_release_whole(v->supply->matrix);
  tsi_release(v);
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* This rank's rows, with columns of the final order. */
typedef struct final_rows {
  tsi_row_reader reader;
  const tsi_index *column;
} final_rows;

static tsi_index seek(void *context, tsi_index row) {
  return tsi_row_reader_seek(&((final_rows *)context)->reader, row);
}

static void read_columns(void *context, tsi_index from, tsi_index count, tsi_index *to) {
  const final_rows *rows = context;
  tsi_row_reader_columns(&rows->reader, from, count, to);
  for (tsi_index e = 0; e < count; e++) to[e] = rows->column[to[e]];
}

static void read_values(void *context, tsi_index from, tsi_index count, char *to) {
  tsi_row_reader_values(&((const final_rows *)context)->reader, from, count, to);
}

/* The rows are sent after the factorization. */
static tristar_status bring_matrix(const tsi_supply *supply, tristar_distributed_t *d) {
  const tsi_rows_supply *s = supply_of(supply);
  final_rows rows = {.column = s->place[1]};
  const tsi_rows_source source = {.n = s->matrix->n,
                                  .row = tsi_rows_places(s),
                                  .seek = seek,
                                  .columns = read_columns,
                                  .values = read_values,
                                  .context = &rows};
  tsi_team_factor_release_lists(&d->ts->env, d->team_factor);
  const tristar_status mine = tsi_row_reader_begin(s->matrix, &rows.reader);
  const tristar_status status = tsi_bring_matrix(d, mine, &source);
  tsi_row_reader_end(&rows.reader);
  return status;
}

/* ---- The whole matrix ---------------------------------------------------------------------------------- */

/* Rank 0's analysis was made with the same pattern. */
static tristar_status bring_whole(const tsi_supply *supply, tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  const tsi_rows_supply *s = supply_of(supply);
  tristar_factor_t *source = d->source;
  tsi_pattern *pattern = NULL;
  void *values = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, tsi_dmatrix_need_whole(s->matrix)));
  TSI_TRY(tsi_dmatrix_gather_pattern(s->matrix, true, true, &pattern, &values));
  tristar_status status = TRISTAR_OK;
  if (source != NULL) {
    TSI_FREE(env, source->analysis->pattern);
    TSI_FREE(env, source->values);
    source->analysis->pattern = pattern;
    source->values = values;
    if (source->analysis->lower.ptr == NULL) status = tsi_assembly_create(env, source->analysis);
  }
  return tsi_transport_agree(d->transport, status);
}

static void discard_whole(const tsi_supply *supply, tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  tristar_factor_t *source = d->source;
  (void)supply;
  if (source->values != NULL) tsi_analysis_discard_entries(source->analysis);
  TSI_FREE(env, source->values);
  TSI_FREE(env, source->row_scale);
  TSI_FREE(env, source->col_scale);
  tsi_analysis_discard_rows(source->analysis);
}

void tsi_rows_supply_begin(tristar_dmatrix_t *matrix, double *scale[2], tsi_index *places[2],
                           tsi_rows_supply *out) {
  *out = (tsi_rows_supply){.supply = {.measure = measure,
                                      .scales = take_scales,
                                      .moved = true,
                                      .count = count,
                                      .list = list,
                                      .places = give_places,
                                      .put_values = give_values,
                                      .end = end,
                                      .matrix = bring_matrix,
                                      .bring = bring_whole,
                                      .discard = discard_whole},
                           .matrix = matrix,
                           .scale = scale,
                           .place = places};
}
