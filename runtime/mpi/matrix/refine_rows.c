/* Gives the ranks their rows of the matrix: see refine_rows.h.
 *
 * Rank 0 writes the whole matrix in the final order, both triangles, row by row, and then sends each rank the
 * rows that it is the home of. */
#include "runtime/mpi/matrix/refine_rows.h"

#include <stdlib.h>

#include "runtime/mpi/comm/shipment.h"
#include "runtime/mpi/comm/mailbox.h"

/* Calls once for each entry of the full matrix: row and column of the final order, place of the value. */
#define FOR_ENTRIES(an, i, j, p, image)                                                                      \
  for (tsi_index line = 0; line < (an)->pattern->n; line++)                                                  \
    for (tsi_count p = (an)->pattern->ptr[line]; p < (an)->pattern->ptr[line + 1]; p++)                      \
      for (int image = 0;                                                                                    \
           image < ((an)->pattern->symmetry != TRISTAR_GENERAL && (an)->pattern->index[p] != line ? 2 : 1);  \
           image++)                                                                                          \
        for (tsi_index once = 0, first = (an)->pattern->index[p],                                            \
                       i = (an)->in_place[((an)->pattern->by_rows != (image != 0)) ? line : first],          \
                       j = (an)->out_place[((an)->pattern->by_rows != (image != 0)) ? first : line];         \
             once < 1; once++)

/* w: the whole matrix in the final order. */
static tristar_status write_whole(tsi_env *env, const tristar_factor_t *factor, tsi_entries *w) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  TSI_TRY(tsi_entries_begin(env, pattern->n, kernels->scalar_bytes, w));
  FOR_ENTRIES(an, i, j, p, image) {
    (void)j;
    w->ptr[i + 1]++;
  }
  TSI_TRY(tsi_entries_reserve(env, w));
  FOR_ENTRIES(an, i, j, p, image) {
    const tsi_count at = tsi_entries_put(w, i, j), from = image ? ~p : p;
    kernels->gather(1, &from, pattern->symmetry, factor->values, (char *)w->item + (size_t)at * w->bytes);
  }
  tsi_entries_end(w);
  return TRISTAR_OK;
}

/* The whole matrix, and who gets which rows of it. */
typedef struct whole {
  tsi_env *env;
  const tsi_layout *layout;
  tsi_entries entries;
  size_t bytes;
} whole;

/* The rows that are at home on a rank. */
static tristar_status collect(void *context, int rank, tsi_shipment *lines) {
  const whole *all = context;
  const tsi_entries *w = &all->entries;
  const tsi_chunks *chunks = all->layout->chunks;
  const size_t bytes = all->bytes;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (tsi_home_rank(all->layout, c) != rank) continue;
    lines->lines += (size_t)tsi_chunk_columns(chunks, c);
    lines->entries += (size_t)(w->ptr[chunks->column[c + 1]] - w->ptr[chunks->column[c]]);
  }
  TSI_TRY(tsi_shipment_allocate(all->env, bytes, lines));
  size_t row = 0, at = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (tsi_home_rank(all->layout, c) != rank) continue;
    const size_t first = (size_t)w->ptr[chunks->column[c]], end = (size_t)w->ptr[chunks->column[c + 1]];
    memcpy(lines->values + at * bytes, (const char *)w->item + first * bytes, (end - first) * bytes);
    for (tsi_index j = chunks->column[c]; lines->pattern && j < chunks->column[c + 1]; j++)
      lines->lengths[row++] = (tsi_index)(w->ptr[j + 1] - w->ptr[j]);
    if (lines->pattern) memcpy(lines->index + at, w->index + first, (end - first) * sizeof *lines->index);
    at += end - first;
  }
  return TRISTAR_OK;
}

/* The matrix of this rank as it arrives, which takes its arrays over: index has columns of the final order.
 */
static tristar_status take(tsi_env *env, tsi_rows_matrix *m, tsi_shipment *lines) {
  if (lines->pattern) {
    TSI_TRY(TSI_ALLOC(env, m->ptr, (size_t)m->n + 1));
    m->ptr[0] = 0;
    for (tsi_index i = 0; i < m->n; i++) m->ptr[i + 1] = m->ptr[i] + lines->lengths[i];
    m->index = lines->index;
    lines->index = NULL;
  }
  TSI_FREE(env, m->values);
  m->values = lines->values;
  lines->values = NULL;
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status ship(const tsi_rows_source *source, tsi_env *env, tsi_transport *transport,
                           const tsi_process *p, const tsi_rows_matrix *m, tsi_shipment *own) {
  tristar_status status = TRISTAR_OK;
  const tristar_factor_t *factor = source->from;
  whole all = {.env = env, .layout = p->layout, .bytes = p->user_bytes};
  if (factor == NULL)
    own->lines = (size_t)m->n;
  else
    status = write_whole(env, factor, &all.entries);
  status = tsi_ship(env, transport, p->user_bytes, factor ? collect : NULL, &all, status, own);
  tsi_entries_finish(env, &all.entries);
  return status;
}

tsi_rows_source tsi_rows_of_factor(const tristar_factor_t *factor) {
  return (tsi_rows_source){.bring = ship, .from = factor};
}

/* Collective: rows, or values alone where the pattern is here. */
static tristar_status bring(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                            const tsi_rows_source *source, tsi_rows_matrix *m) {
  tsi_shipment own = {.pattern = m->ptr == NULL};
  tristar_status status = source->bring(source, env, transport, p, m, &own);
  if (status == TRISTAR_OK) status = tsi_transport_agree(transport, take(env, m, &own));
  tsi_shipment_release(env, &own);
  return status;
}

/* ---- Places ------------------------------------------------------------------------------------------- */

/* Local: the rows that are at home here. */
static tristar_status list_columns(tsi_env *env, const tsi_process *p, tsi_rows_matrix *m) {
  const tsi_chunks *chunks = p->share->chunks;
  tsi_index at = 0;
  for (tsi_index k = 0; k < chunks->count; k++)
    if (p->home[k]) m->n += tsi_chunk_columns(chunks, k);
  TSI_TRY(TSI_ALLOC(env, m->column, m->n));
  TSI_TRY(TSI_ALLOC(env, m->local, m->n));
  for (tsi_index k = 0; k < chunks->count; k++)
    for (tsi_index j = chunks->column[k]; p->home[k] && j < chunks->column[k + 1]; j++, at++) {
      m->column[at] = p->layout->chunks->column[p->share->chunk[k]] + j - chunks->column[k];
      m->local[at] = j;
    }
  return TRISTAR_OK;
}

/* An entry that lies elsewhere. */
typedef struct ghost {
  int owner;
  tsi_index column;
} ghost;

static int compare_ghosts(const void *a, const void *b) {
  const ghost *x = a, *y = b;
  if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
  return (x->column > y->column) - (x->column < y->column);
}

/* Local: where the ghosts are, and columns of entries become places. place: n of the whole matrix, scratch.
 */
static tristar_status find_ghosts(tsi_env *env, const tsi_process *p, tsi_rows_matrix *m, tsi_index **column,
                                  int **owner, tsi_index *ghosts) {
  tsi_index count = 0;
  TSI_SCRATCH(env, tsi_index, place, p->kind.n);
  for (tsi_index j = 0; j < p->kind.n; j++) place[j] = TSI_NONE;
  for (tsi_index i = 0; i < m->n; i++) place[m->column[i]] = i;
  for (tsi_count q = 0; q < m->ptr[m->n]; q++) {
    const tsi_index j = m->index[q];
    const bool here = place[j] != TSI_NONE && place[j] < m->n;
    m->index[q] = here ? place[j] : ~j; /* of a ghost until its place is known */
    if (place[j] != TSI_NONE) continue;
    place[j] = m->n;
    count++;
  }
  TSI_SCRATCH(env, ghost, list, count);
  TSI_TRY(TSI_ALLOC(env, *column, count));
  TSI_TRY(TSI_ALLOC(env, *owner, count));
  count = 0;
  for (tsi_index j = 0; j < p->kind.n; j++)
    if (place[j] == m->n) list[count++] = (ghost){tsi_home_of(p->layout, j), j};
  if (count > 0) qsort(list, (size_t)count, sizeof *list, compare_ghosts);
  for (tsi_index g = 0; g < count; g++) {
    (*column)[g] = list[g].column;
    (*owner)[g] = list[g].owner;
    place[list[g].column] = m->n + g;
  }
  for (tsi_count q = 0; q < m->ptr[m->n]; q++)
    if (m->index[q] < 0) m->index[q] = place[~m->index[q]];
  *ghosts = count;
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status connect(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                              tsi_rows_matrix *m) {
  tristar_status status = TRISTAR_OK;
  tsi_index *column = NULL, ghosts = 0;
  int *owner = NULL;
  status = find_ghosts(env, p, m, &column, &owner, &ghosts);
  if (status == TRISTAR_OK)
    status = tsi_allocate(env, (size_t)m->n + (size_t)ghosts, 2 * sizeof(double), __func__, __FILE__,
                          __LINE__, &m->vector);
  TSI_TRY_OUT(tsi_transport_agree(transport, status));
  TSI_TRY_OUT(tsi_halo_create(env, transport, m->n, m->column, ghosts, column, owner, &m->halo));
out:
  TSI_FREE(env, column);
  TSI_FREE(env, owner);
  return status;
}

/* Local. */
static tristar_status take_scaling(tsi_env *env, const tsi_rows_matrix *m, const double *from, double **to) {
  if (from == NULL)
    TSI_FREE(env, *to);
  else if (*to == NULL)
    TSI_TRY(TSI_ALLOC(env, *to, m->n));
  for (tsi_index i = 0; from && i < m->n; i++) (*to)[i] = from[m->local[i]];
  return TRISTAR_OK;
}

void tsi_rows_matrix_move(const tsi_rows_matrix *m, size_t bytes, tsi_index nrhs, tsi_row_array local,
                          tsi_row_array vectors, bool to_local) {
  for (int64_t c = 0; c < nrhs; c++)
    for (int64_t i = 0; i < m->n; i++) {
      char *here = (char *)local.data + (size_t)(m->local[i] * local.row + c * local.column) * bytes;
      char *entry = (char *)vectors.data + (size_t)(i * vectors.row + c * vectors.column) * bytes;
      memcpy(to_local ? here : entry, to_local ? entry : here, bytes);
    }
}

static char *ghosts_of(const tsi_rows_matrix *m, size_t bytes) {
  return (char *)m->vector + (size_t)m->n * bytes;
}

tristar_status tsi_rows_matrix_take(tsi_env *env, const tsi_rows_matrix *m, size_t bytes, const void *x,
                                    const void **all) {
  if (m->n > 0) memcpy(m->vector, x, (size_t)m->n * bytes);
  *all = m->vector;
  return tsi_halo_fill(env, m->halo, bytes, x, ghosts_of(m, bytes));
}

void *tsi_rows_matrix_room(const tsi_rows_matrix *m, size_t bytes) {
  memset(ghosts_of(m, bytes), 0, (size_t)m->halo->ghosts * bytes);
  return m->vector;
}

tristar_status tsi_rows_matrix_give(tsi_env *env, const tsi_rows_matrix *m, size_t bytes, void *y,
                                    tsi_add_at *add) {
  if (m->n > 0) memcpy(y, m->vector, (size_t)m->n * bytes);
  return tsi_halo_add(env, m->halo, bytes, ghosts_of(m, bytes), y, add);
}

tristar_status tsi_rows_matrix_update(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                                      const tsi_rows_source *source, tsi_rows_matrix *m) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(bring(env, transport, p, source, m));
  status = take_scaling(env, m, p->row_scale, &m->row_scale);
  if (status == TRISTAR_OK) status = take_scaling(env, m, p->col_scale, &m->col_scale);
  status = tsi_transport_agree(transport, status);
out:
  return status;
}

tristar_status tsi_rows_matrix_create(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                                      const tsi_rows_source *source, tsi_rows_matrix **out) {
  tristar_status status = TRISTAR_OK;
  tsi_rows_matrix *m = NULL;
  *out = NULL;
  status = TSI_ALLOC_ZERO(env, m, 1);
  if (status == TRISTAR_OK) status = list_columns(env, p, m);
  TSI_TRY_OUT(tsi_transport_agree(transport, status));
  TSI_TRY_OUT(tsi_rows_matrix_update(env, transport, p, source, m));
  TSI_TRY_OUT(connect(env, transport, p, m));
out:
  if (status != TRISTAR_OK) tsi_rows_matrix_destroy(env, &m);
  *out = m;
  return status;
}

void tsi_rows_matrix_destroy(tsi_env *env, tsi_rows_matrix **matrix) {
  if (*matrix == NULL) return;
  tsi_rows_matrix *m = *matrix;
  tsi_halo_destroy(env, &m->halo);
  TSI_FREE(env, m->column);
  TSI_FREE(env, m->local);
  for (int k = 0; k < 2; k++) TSI_FREE(env, m->user[k]);
  TSI_FREE(env, m->ptr);
  TSI_FREE(env, m->index);
  TSI_FREE(env, m->values);
  TSI_FREE(env, m->row_scale);
  TSI_FREE(env, m->col_scale);
  TSI_FREE(env, m->vector);
  TSI_FREE(env, *matrix);
}
