/* The rows of the matrix that are at home on each rank: see refine_rows.h. */
#include "runtime/mpi/matrix/refine_rows.h"

#include <stdlib.h>

#include "runtime/mpi/comm/mailbox.h"

/* Iterates over the entries of the full matrix: row and column in the final order, position of the value. */
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

static tsi_index seek(void *context, tsi_index row) {
  tsi_rows_of_factor *rows = context;
  rows->row = row;
  return (tsi_index)(rows->whole.ptr[row + 1] - rows->whole.ptr[row]);
}

static void read_columns(void *context, tsi_index from, tsi_index count, tsi_index *to) {
  const tsi_rows_of_factor *rows = context;
  memcpy(to, rows->whole.index + rows->whole.ptr[rows->row] + from, (size_t)count * sizeof *to);
}

static void read_values(void *context, tsi_index from, tsi_index count, char *to) {
  const tsi_rows_of_factor *rows = context;
  const size_t bytes = rows->whole.bytes, first = (size_t)(rows->whole.ptr[rows->row] + from);
  memcpy(to, (const char *)rows->whole.item + first * bytes, (size_t)count * bytes);
}

tristar_status tsi_rows_of_factor_begin(tsi_env *env, const tristar_factor_t *factor,
                                        tsi_rows_of_factor *out) {
  *out = (tsi_rows_of_factor){.row = 0};
  if (factor != NULL) TSI_TRY(write_whole(env, factor, &out->whole));
  out->source = (tsi_rows_source){
      .n = out->whole.n, .seek = seek, .columns = read_columns, .values = read_values, .context = out};
  return TRISTAR_OK;
}

void tsi_rows_of_factor_finish(tsi_rows_of_factor *rows) {
  tsi_entries_finish(&rows->whole);
}

/* ---- Places ------------------------------------------------------------------------------------------- */

/* Local. Lists the rows that are at home here. */
static tristar_status list_columns(const tsi_process *p, tsi_rows_matrix *m) {
  const tsi_chunks *chunks = p->share->chunks;
  tsi_index at = 0;
  for (tsi_index k = 0; k < chunks->count; k++)
    if (p->home[k]) m->n += tsi_chunk_columns(chunks, k);
  TSI_TRY(TSI_ALLOC_IN(m, m->column, m->n));
  TSI_TRY(TSI_ALLOC_IN(m, m->local, m->n));
  for (tsi_index k = 0; k < chunks->count; k++)
    for (tsi_index j = chunks->column[k]; p->home[k] && j < chunks->column[k + 1]; j++, at++) {
      m->column[at] = p->layout->chunks->column[p->share->chunk[k]] + j - chunks->column[k];
      m->local[at] = j;
    }
  return TRISTAR_OK;
}

/* An entry at home on another rank. */
typedef struct ghost {
  int owner;
  tsi_index column;
} ghost;

static int compare_ghosts(const void *a, const void *b) {
  const ghost *x = a, *y = b;
  if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
  return (x->column > y->column) - (x->column < y->column);
}

/* Local. Finds the ghosts and their owners, and replaces columns of entries by positions. place: n of the
 * whole matrix, scratch. */
static tristar_status find_ghosts(tsi_env *env, const tsi_process *p, tsi_rows_matrix *m, tsi_index **column,
                                  int **owner, tsi_index *ghosts) {
  tsi_index count = 0;
  TSI_SCRATCH(env, tsi_index, place, p->kind.n);
  for (tsi_index j = 0; j < p->kind.n; j++) place[j] = TSI_NONE;
  for (tsi_index i = 0; i < m->n; i++) place[m->column[i]] = i;
  for (tsi_count q = 0; q < m->ptr[m->n]; q++) {
    const tsi_index j = m->index[q];
    const bool here = place[j] != TSI_NONE && place[j] < m->n;
    m->index[q] = here ? place[j] : ~j; /* of a ghost, until its position is computed */
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
  tsi_index ghosts = 0;
  TSI_OWNED tsi_index *column = NULL;
  TSI_OWNED int *owner = NULL;
  tristar_status status = find_ghosts(env, p, m, &column, &owner, &ghosts);
  if (status == TRISTAR_OK)
    status = TSI_ALLOC_SIZED_IN(m, m->vector, (size_t)m->n + (size_t)ghosts, tsi_halo_bytes(p->user_bytes));
  TSI_TRY(tsi_transport_agree(transport, status));
  return tsi_halo_create(env, transport, p->user_bytes, m->n, m->column, ghosts, column, owner, &m->halo);
}

/* Local. */
static tristar_status take_scaling(tsi_env *env, tsi_rows_matrix *m, const double *from, double **to) {
  if (from == NULL)
    TSI_FREE(env, *to);
  else if (*to == NULL)
    TSI_TRY(TSI_ALLOC_IN(m, *to, m->n));
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

void *tsi_rows_matrix_space(const tsi_rows_matrix *m, size_t bytes) {
  memset(ghosts_of(m, bytes), 0, (size_t)m->halo->ghosts * bytes);
  return m->vector;
}

tristar_status tsi_rows_matrix_give(tsi_env *env, const tsi_rows_matrix *m, size_t bytes, void *y,
                                    tsi_add_at *add) {
  if (m->n > 0) memcpy(y, m->vector, (size_t)m->n * bytes);
  return tsi_halo_add(env, m->halo, bytes, ghosts_of(m, bytes), y, add);
}

tristar_status tsi_rows_matrix_update(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                                      tristar_status mine, const tsi_rows_source *source,
                                      tsi_rows_matrix *m) {
  TSI_TRY(tsi_rows_bring(env, transport, p, mine, source, m));
  tristar_status status = take_scaling(env, m, p->row_scale, &m->row_scale);
  if (status == TRISTAR_OK) status = take_scaling(env, m, p->col_scale, &m->col_scale);
  return tsi_transport_agree(transport, status);
}

tristar_status tsi_rows_matrix_create(tsi_env *env, tsi_transport *transport, const tsi_process *p,
                                      tristar_status mine, const tsi_rows_source *source,
                                      tsi_rows_matrix **out) {
  tristar_status status = mine;
  TSI_CLEANUP(tsi_rows_matrix_destroy) tsi_rows_matrix *m = NULL;
  *out = NULL;
  if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, m, 1);
  if (status == TRISTAR_OK) status = list_columns(p, m);
  TSI_TRY(tsi_transport_agree(transport, status));
  TSI_TRY(tsi_rows_matrix_update(env, transport, p, TRISTAR_OK, source, m));
  TSI_TRY(connect(env, transport, p, m));
  *out = tsi_take(&m);
  return TRISTAR_OK;
}

void tsi_rows_matrix_destroy(tsi_rows_matrix **matrix) {
  if (*matrix == NULL) return;
  tsi_halo_destroy(&(*matrix)->halo);
  tsi_release(tsi_take(matrix));
}
