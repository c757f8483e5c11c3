/* New values of a distributed matrix: see tristar_dmatrix_mpi.h.
 *
 * Job. Create a new matrix from the passed rows, with all checks of a new matrix; check that its pieces have
 * the pattern of the old ones; copy its values.
 *
 * Reads   rows of the user.   Writes  values of the matrix, in the existing arrays.
 * Invariant: all ranks have agreed that nothing failed before the first value is copied. So after a failure
 * the matrix is unchanged. */
#include "runtime/mpi/matrix/dmatrix.h"

/* ---- The pattern --------------------------------------------------------------------------------------- */

static bool is_same(const void *a, const void *b, tsi_count count, size_t bytes) {
  return count == 0 || memcmp(a, b, (size_t)count * bytes) == 0;
}

static bool is_same_piece(const tsi_entries *a, const tsi_entries *b) {
  return a->n == b->n && is_same(a->ptr, b->ptr, (tsi_count)a->n + 1, sizeof *a->ptr) &&
         is_same(a->index, b->index, a->ptr[a->n], sizeof *a->index);
}

bool tsi_dmatrix_same_blocks(const tristar_dmatrix_t *a, const tristar_dmatrix_t *b) {
  const int ranks = tsi_transport_size(a->transport);
  return ranks == tsi_transport_size(b->transport) &&
         is_same(a->start, b->start, (tsi_count)ranks + 1, sizeof *a->start);
}

static bool is_same_pattern(const tristar_dmatrix_t *a, const tristar_dmatrix_t *b) {
  const tsi_dform *x = &a->form[TSI_DPLAIN], *y = &b->form[TSI_DPLAIN];
  bool same = a->owners == b->owners && a->halo->ghosts == b->halo->ghosts &&
              is_same(a->ghost_column, b->ghost_column, a->halo->ghosts, sizeof *a->ghost_column) &&
              is_same_piece(&x->diagonal, &y->diagonal);
  for (int o = 0; same && o < a->owners; o++)
    same = is_same_piece(&x->block[o], &y->block[o]) &&
           is_same(x->row[o], y->row[o], x->block[o].n, sizeof **x->row);
  return same;
}

/* Local. */
static tristar_status check_pattern(const tristar_dmatrix_t *d, const tristar_dmatrix_t *next) {
  if (!tsi_dmatrix_same_blocks(d, next))
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_STALE, "the ranks have not the rows of the matrix: make another one");
  if (!is_same_pattern(d, next))
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_STALE,
             "the rows of this rank have not the pattern of the matrix: make another one");
  return TRISTAR_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Local. Gives the new matrix all the data that the old one has. */
static tristar_status complete(const tristar_dmatrix_t *d, tristar_dmatrix_t *next) {
  TSI_TRY(check_pattern(d, next));
  if (d->unit != next->unit) TSI_TRY(tsi_dmatrix_hire_crew(next, d->engine)); /* only one is halved */
  for (int f = TSI_DPLAIN + 1; f < TSI_DFORMS; f++)
    if (d->form[f].there) TSI_TRY(tsi_dmatrix_make_form(next, f));
  if (d->whole != NULL) TSI_TRY(tsi_dmatrix_need_whole(next));
  return TRISTAR_OK;
}

static void copy_piece(const tristar_dmatrix_t *d, const tsi_entries *from, tsi_entries *to) {
  if (from->ptr[from->n] > 0) memcpy(to->item, from->item, (size_t)from->ptr[from->n] * d->bytes);
}

static void exchange_stored(tsi_halves *a, tsi_halves *b) {
  const tsi_halves old = *a;
  *a = *b;
  *b = old;
}

/* Copies values of pieces into their arrays; exchanges storage to which no other object has a pointer. */
static void take_values(tristar_dmatrix_t *d, tristar_dmatrix_t *next) {
  for (int f = 0; f < TSI_DFORMS; f++) {
    tsi_dform *to = &d->form[f], *from = &next->form[f];
    if (!to->there) continue;
    if (f == TSI_DPLAIN) copy_piece(d, &from->diagonal, &to->diagonal);
    for (int o = 0; o < d->owners; o++) copy_piece(d, &from->block[o], &to->block[o]);
    exchange_stored(&to->stored, &from->stored);
  }
  if (d->whole != NULL && d->stats.nnz > 0)
    memcpy(d->whole->values, next->whole->values, (size_t)d->stats.nnz * d->bytes);
  if (d->unit != next->unit) {
    tsi_crew *crew = d->crew;
    d->crew = next->crew;
    next->crew = crew;
    d->unit = next->unit;
    d->stats.workers = d->crew->workers;
    d->stats.start_seconds += next->stats.start_seconds;
  }
  d->stats.symmetry = next->stats.symmetry;
  d->square = 0;
  d->generation++;
}

tristar_status tsi_dmatrix_take_values(tristar_dmatrix_t *d, const tristar_view *rows) {
  const tristar_dmatrix_options options = {
      .size = sizeof options, .engine = TRISTAR_ENGINE_SERIAL, .scalar = (int)d->scalar};
  TSI_CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *next = NULL;
  TSI_TRY(tsi_dmatrix_create(d->ts, tsi_transport_comm(d->transport), rows, &options, d->narrow, &next));
  TSI_TRY(tsi_transport_agree(d->transport, complete(d, next)));
  take_values(d, next);
  return TRISTAR_OK;
}

tristar_status tristar_dmatrix_update(tristar_dmatrix_t *matrix, const tristar_view *rows) {
  TSI_ENTER(matrix, matrix->ts);
  return tsi_answer(&matrix->ts->env, tsi_dmatrix_take_values(matrix, rows));
}
