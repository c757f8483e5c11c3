/* Products with a matrix on many ranks: see dmatrix.h. */
#include "runtime/base/clock.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

enum { TO_REQUESTERS, TO_OWNERS }; /* directions: entries of x, shares of y */

static int direction_of(tristar_op op) {
  return op == TRISTAR_N ? TO_REQUESTERS : TO_OWNERS;
}

static int form_of(const tristar_dmatrix_t *d, tristar_op op) {
  if (op == TRISTAR_N) return TSI_DPLAIN;
  return op == TRISTAR_C && d->sparse->is_complex ? TSI_DADJOINT : TSI_DTRANSPOSE;
}

/* ---- The diagonal block --------------------------------------------------------------------------------*/

/* Bytes that a product with one vector reads and writes on this rank, without the ghosts. */
static double product_bytes(const tristar_dmatrix_t *d) {
  return (double)tsi_halves_bytes(&d->form[TSI_DPLAIN].stored) + 2 * (double)d->n * (double)d->bytes;
}

tristar_status tsi_dmatrix_hire_crew(tristar_dmatrix_t *d, tristar_engine engine) {
  tsi_dmatrix_dismiss_crew(d);
  TSI_TRY(TSI_ALLOC_ZERO(&d->ts->env, d->crew, 1));
  d->engine = engine;
  return tsi_crew_begin(d->ts, "matrix_rows", engine, TSI_RUNS_SHORT,
                        tsi_units(d->form[TSI_DPLAIN].stored.rest.windows, d->unit), product_bytes(d),
                        &d->stats.start_seconds, d->crew);
}

void tsi_dmatrix_dismiss_crew(tristar_dmatrix_t *d) {
  if (d->crew != NULL) tsi_crew_finish(d->crew);
  TSI_FREE(&d->ts->env, d->crew);
}

/* Local. Tests whether each entry of the diagonal block has its mirror image. */
static tristar_status find_hermitian(const tristar_dmatrix_t *d, bool *hermitian) {
  tsi_env *env = &d->ts->env;
  const tsi_entries *e = &d->form[TSI_DPLAIN].diagonal;
  const tsi_sparse a = {e->n, true, TRISTAR_GENERAL, e->ptr, e->index, e->item};
  bool rounded = false;
  *hermitian = false;
  if (d->narrow || d->stats.symmetry == TRISTAR_SKEW_SYMMETRIC) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_count, next, e->n);
  *hermitian = d->sparse->first_unlike(&a, true, 0, next, &rounded) == e->ptr[e->n];
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_store(tristar_dmatrix_t *d) {
  tsi_dform *plain = &d->form[TSI_DPLAIN];
  bool hermitian;
  TSI_TRY(find_hermitian(d, &hermitian));
  TSI_TRY(tsi_halves_take(&d->ts->env, &plain->diagonal, hermitian, d->narrow, &plain->stored));
  d->unit = tsi_halves_unit(&plain->stored);
  TSI_TRY(TSI_ALLOC_ZERO_IN(d, d->coupled, plain->stored.rest.windows));
  for (int o = 0; o < d->owners; o++)
    for (tsi_index l = 0; l < plain->block[o].n; l++) d->coupled[plain->row[o][l] / TSI_WINDOW_ROWS] = true;
  return TRISTAR_OK;
}

size_t tsi_dpiece_bytes(const tsi_entries *piece) {
  if (piece->ptr == NULL) return 0;
  const size_t entries = (size_t)piece->ptr[piece->n];
  return ((size_t)piece->n + 1) * sizeof *piece->ptr + entries * (sizeof *piece->index + piece->bytes);
}

size_t tsi_dmatrix_product_bytes(const tristar_dmatrix_t *d) {
  const tsi_dform *plain = &d->form[TSI_DPLAIN];
  size_t bytes = tsi_halves_bytes(&plain->stored) + ((size_t)d->n + (size_t)d->halo->ghosts) * d->bytes;
  for (int o = 0; o < d->owners; o++) bytes += tsi_dpiece_bytes(&plain->block[o]);
  return bytes;
}

/* ---- Transposes ---------------------------------------------------------------------------------------- */

/* Lines become indices. columns: number of lines of the result. conjugate: values are conjugated. */
static tristar_status transpose(const tristar_dmatrix_t *d, bool conjugate, tsi_index columns,
                                const tsi_entries *from, tsi_entries *to) {
  tsi_env *env = &d->ts->env;
  const tsi_count image = ~(tsi_count)0; /* mirror image of the first value */
  TSI_TRY(tsi_entries_begin(env, columns, d->bytes, to));
  to->ptr[columns] = from->ptr[from->n];
  TSI_TRY(tsi_entries_allocate(env, to));
  tsi_entries_transpose(from, to);
  for (tsi_count e = 0; conjugate && e < to->ptr[columns]; e++) {
    char value[2 * sizeof(double)], *place = (char *)to->item + (size_t)e * d->bytes;
    memcpy(value, place, d->bytes);
    d->sparse->gather(1, &image, TRISTAR_HERMITIAN, value, place);
  }
  return TRISTAR_OK;
}

/* The shares of owners are computed from this rank's rows, so indices become numbers of these rows. */
tristar_status tsi_dmatrix_make_form(tristar_dmatrix_t *d, int form) {
  const tsi_dform *from = &d->form[TSI_DPLAIN];
  tsi_dform *to = &d->form[form];
  tsi_env *env = &d->ts->env;
  const bool conjugate = form == TSI_DADJOINT;
  TSI_TRY(TSI_ALLOC_ZERO(env, to->block, d->owners));
  TSI_TRY(transpose(d, conjugate, d->n, &from->diagonal, &to->diagonal));
  TSI_TRY(tsi_halves_take(env, &to->diagonal, false, d->narrow, &to->stored));
  tsi_entries_finish(&to->diagonal);
  for (int o = 0; o < d->owners; o++) {
    tsi_entries *block = &to->block[o];
    TSI_TRY(transpose(d, conjugate, d->owner[o].count, &from->block[o], block));
    for (tsi_count e = 0; e < block->ptr[block->n]; e++)
      block->index[e] = (tsi_index)from->row[o][block->index[e]];
  }
  to->there = true;
  return TRISTAR_OK;
}

static void release_form(const tristar_dmatrix_t *d, tsi_dform *form) {
  tsi_env *env = &d->ts->env;
  tsi_entries_finish(&form->diagonal);
  tsi_halves_finish(&form->stored);
  for (int o = 0; o < d->owners; o++) {
    if (form->block != NULL) tsi_entries_finish(&form->block[o]);
    if (form->row != NULL) TSI_FREE(env, form->row[o]);
  }
  TSI_FREE(env, form->block);
  TSI_FREE(env, form->row);
  form->there = false;
}

/* ---- Mailboxes ----------------------------------------------------------------------------------------- */

static void note_arrival(void *context, tsi_index receive) {
  tsi_dexchange *x = context;
  atomic_store_explicit(&x->arrived[receive], true, memory_order_release);
}

/* Local. */
static tristar_status list_channels(const tristar_dmatrix_t *d, int width, int count, const tsi_dpeer *peer,
                                    char *area, tsi_channel **out) {
  const size_t entry = d->bytes << width;
  TSI_TRY(TSI_ALLOC(&d->ts->env, *out, count));
  for (int k = 0; k < count; k++)
    (*out)[k] = (tsi_channel){.peer = peer[k].rank,
                              .tag = width,
                              .buffer = area + (size_t)peer[k].first * entry,
                              .bytes = (size_t)peer[k].count * entry};
  return TRISTAR_OK;
}

/* Local. */
static tristar_status open_exchange(tristar_dmatrix_t *d, int direction, int width) {
  tsi_env *env = &d->ts->env;
  tsi_dexchange *x = &d->exchange[direction][width];
  const int receives = direction == TO_REQUESTERS ? d->owners : d->requesters;
  const int sends = direction == TO_REQUESTERS ? d->requesters : d->owners;
  TSI_OWNED tsi_channel *requesters = NULL, *owners = NULL;
  TSI_TRY(list_channels(d, width, d->owners, d->owner, d->ghost, &owners));
  TSI_TRY(list_channels(d, width, d->requesters, d->requester, d->requested, &requesters));
  if (x->arrived == NULL) TSI_TRY(TSI_ALLOC_ZERO(env, x->arrived, receives));
  return tsi_mailbox_create(d->transport, receives, direction == TO_REQUESTERS ? owners : requesters, sends,
                            direction == TO_REQUESTERS ? requesters : owners, note_arrival, x, &x->mailbox);
}

/* log2 of the widest strip of at most `columns` columns. */
static int width_of(int64_t columns) {
  int width = 0;
  while (width + 1 < TSI_DWIDTHS && (int64_t)1 << (width + 1) <= columns) width++;
  return width;
}

static void close_exchange(const tristar_dmatrix_t *d, tsi_dexchange *x) {
  tsi_mailbox_destroy(&x->mailbox);
  TSI_FREE(&d->ts->env, x->arrived);
}

/* Local. */
static tristar_status make_needed(tristar_dmatrix_t *d, int form, int direction, int width, bool scaled) {
  tristar_status status = TRISTAR_OK;
  if (!d->form[form].there) TSI_TRY(tsi_dmatrix_make_form(d, form));
  for (int w = 0; w <= width; w++)
    if (d->exchange[direction][w].mailbox == NULL) TSI_TRY(open_exchange(d, direction, w));
  if (scaled && d->product == NULL)
    status = TSI_ALLOC_SIZED(&d->ts->env, d->product, (size_t)d->n * TSI_DCOLUMNS, d->bytes);
  return status;
}

/* All ranks have the same forms, mailboxes and buffers at all times: if one rank fails to create one, no rank
 * keeps it. */
tristar_status tsi_dmatrix_need(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs, bool scaled) {
  const int form = form_of(d, op), direction = direction_of(op), width = width_of(nrhs);
  const bool had_form = d->form[form].there, had_product = d->product != NULL;
  if (had_form && d->exchange[direction][width].mailbox != NULL && (had_product || !scaled))
    return TRISTAR_OK;
  const tristar_status status =
      tsi_transport_agree(d->transport, make_needed(d, form, direction, width, scaled));
  if (status == TRISTAR_OK) return status;
  if (!had_form) release_form(d, &d->form[form]);
  if (!had_product) TSI_FREE(&d->ts->env, d->product);
  for (int w = 0; w < TSI_DWIDTHS; w++) close_exchange(d, &d->exchange[direction][w]);
  return status;
}

void tsi_dmatrix_release_product(tristar_dmatrix_t *d) {
  for (int w = 0; w < TSI_DWIDTHS; w++) {
    close_exchange(d, &d->exchange[TO_REQUESTERS][w]);
    close_exchange(d, &d->exchange[TO_OWNERS][w]);
  }
  for (int f = 0; f < TSI_DFORMS; f++) release_form(d, &d->form[f]);
  TSI_FREE(&d->ts->env, d->product);
}

/* ---- A product ----------------------------------------------------------------------------------------- */

/* A strip of 2^width columns. */
typedef struct strip {
  tristar_dmatrix_t *d;
  const tsi_dform *form;
  tsi_dexchange *exchange;
  int columns;
  const char *x;
  char *y;
  size_t x_column, y_column; /* bytes between columns */
  tsi_crew_function done; /* called with each block of rows when this block of y is complete; may be NULL */
  void *context;
} strip;

static void multiply_unit(void *context, tsi_index unit, int member) {
  const strip *s = context;
  const tristar_dmatrix_t *d = s->d;
  tsi_halves_multiply(&d->products, &s->form->stored, unit * d->unit, d->unit, s->columns, s->x,
                      (int64_t)(s->x_column / d->bytes), s->y, (int64_t)(s->y_column / d->bytes));
  if (s->done == NULL) return;
  const tsi_index first = unit * d->unit, windows = s->form->stored.rest.windows;
  for (tsi_index w = first; w < first + d->unit && w < windows; w++)
    if (!d->coupled[w]) s->done(s->context, w, member);
}

/* Calls `done` for the windows that are coupled to ghosts, after all messages. */
static void finish_unit(void *context, tsi_index unit, int member) {
  const strip *s = context;
  const tristar_dmatrix_t *d = s->d;
  const tsi_index first = unit * d->unit, windows = s->form->stored.rest.windows;
  for (tsi_index w = first; w < first + d->unit && w < windows; w++)
    if (d->coupled[w]) s->done(s->context, w, member);
}

static tristar_status finish_coupled(strip *s) {
  const tristar_dmatrix_t *d = s->d;
  tsi_index coupled = 0;
  for (tsi_index w = 0; w < s->form->stored.rest.windows; w++) coupled += d->coupled[w];
  if (coupled == 0) return TRISTAR_OK;
  return tsi_crew_run(d->crew, TSI_CREW_VECTORS, 3.0 * coupled * TSI_WINDOW_ROWS * (double)d->bytes,
                      finish_unit, s);
}

/* Column c of the message between this rank and a peer. */
static char *travelling(const strip *s, char *area, const tsi_dpeer *peer, int c) {
  const tsi_count at = (tsi_count)peer->first * s->columns + (tsi_count)peer->count * c;
  return area + (size_t)at * s->d->bytes;
}

static void pack_entries(const strip *s, const tsi_dpeer *requester) {
  const tristar_dmatrix_t *d = s->d;
  for (int c = 0; c < s->columns; c++)
    d->sparse->gather(requester->count, d->halo->own + requester->first, TRISTAR_GENERAL,
                      s->x + (size_t)c * s->x_column, travelling(s, d->requested, requester, c));
}

static void add_share(const strip *s, const tsi_dpeer *requester) {
  const tristar_dmatrix_t *d = s->d;
  for (int c = 0; c < s->columns; c++)
    d->sparse->add_at(requester->count, d->halo->own + requester->first,
                      travelling(s, d->requested, requester, c), s->y + (size_t)c * s->y_column);
}

/* y += the block of an owner times its entries. */
static void add_block(const strip *s, int o) {
  const tristar_dmatrix_t *d = s->d;
  const tsi_entries *block = &s->form->block[o];
  const tsi_matrix_rows rows = tsi_dmatrix_rows(block);
  for (int c = 0; c < s->columns; c++) {
    d->kernels->multiply(&rows, 0, block->n, travelling(s, d->ghost, &d->owner[o], c), d->part);
    d->sparse->add_at(block->n, s->form->row[o], d->part, s->y + (size_t)c * s->y_column);
  }
}

static void make_share(const strip *s, int o) {
  const tristar_dmatrix_t *d = s->d;
  const tsi_matrix_rows rows = tsi_dmatrix_rows(&s->form->block[o]);
  for (int c = 0; c < s->columns; c++)
    d->kernels->multiply(&rows, 0, s->form->block[o].n, s->x + (size_t)c * s->x_column,
                         travelling(s, d->ghost, &d->owner[o], c));
}

static void wait_for(const strip *s, int receive) {
  const double begin = tsi_clock();
  for (int turn = 0; !atomic_load_explicit(&s->exchange->arrived[receive], memory_order_acquire); turn++) {
    tsi_mailbox_progress(s->exchange->mailbox);
    if (turn > 1) tsi_mpi_pause(turn);
  }
  s->d->stats.wait_seconds += tsi_clock() - begin;
}

/* Counts a message with entries for a peer, and sends it. */
static tristar_status send(const strip *s, int number, const tsi_dpeer *peer) {
  tristar_message_count *sent = &s->d->stats.sent;
  sent->messages++;
  sent->bytes += (int64_t)peer->count * s->columns * (int64_t)s->d->bytes;
  return tsi_mailbox_send(s->exchange->mailbox, number);
}

/* Sends and awaits all messages, even after a failure: else another rank would wait for a message forever. */
static tristar_status multiply_strip(strip *s, int direction) {
  tristar_status status = TRISTAR_OK, failed;
  tristar_dmatrix_t *d = s->d;
  const bool entries = direction == TO_REQUESTERS;
  const int receives = entries ? d->owners : d->requesters, sends = entries ? d->requesters : d->owners;
  const tsi_dpeer *to = entries ? d->requester : d->owner;
  for (int k = 0; k < receives; k++)
    atomic_store_explicit(&s->exchange->arrived[k], false, memory_order_relaxed);
  TSI_TRY(tsi_mailbox_start(s->exchange->mailbox, NULL, sends));
  for (int k = 0; k < sends; k++) {
    if (entries)
      pack_entries(s, &to[k]);
    else
      make_share(s, k);
    failed = send(s, k, &to[k]);
    if (status == TRISTAR_OK) status = failed;
  }
  failed = tsi_crew_run(d->crew, TSI_CREW_MATRIX, s->columns * d->crew->bytes, multiply_unit, s);
  if (status == TRISTAR_OK) status = failed;
  for (int k = 0; k < receives; k++) {
    wait_for(s, k);
    if (entries)
      add_block(s, k);
    else
      add_share(s, &d->requester[k]);
  }
  if (s->done != NULL) {
    failed = finish_coupled(s);
    if (status == TRISTAR_OK) status = failed;
  }
  failed = tsi_mailbox_wait(s->exchange->mailbox);
  if (status == TRISTAR_OK) status = failed;
  return status;
}

tristar_status tsi_dmatrix_apply_blocks(tristar_dmatrix_t *d, const char *x, char *y, tsi_crew_function done,
                                        void *context) {
  const double begin = tsi_clock();
  strip s = {.d = d,
             .form = &d->form[TSI_DPLAIN],
             .exchange = &d->exchange[TO_REQUESTERS][0],
             .columns = 1,
             .x = x,
             .y = y,
             .done = done,
             .context = context};
  const tristar_status status = multiply_strip(&s, TO_REQUESTERS);
  d->stats.products++;
  d->stats.product_seconds += tsi_clock() - begin;
  return status;
}

tristar_status tsi_dmatrix_apply(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs, const char *x,
                                 int64_t ldx, char *y, int64_t ldy) {
  tristar_status status = TRISTAR_OK;
  const double begin = tsi_clock();
  const size_t x_column = (size_t)ldx * d->bytes, y_column = (size_t)ldy * d->bytes;
  for (int64_t c = 0; c < nrhs;) {
    const int width = width_of(nrhs - c), direction = direction_of(op);
    strip s = {.d = d,
               .form = &d->form[form_of(d, op)],
               .exchange = &d->exchange[direction][width],
               .columns = 1 << width,
               .x = x + (size_t)c * x_column,
               .y = y + (size_t)c * y_column,
               .x_column = x_column,
               .y_column = y_column};
    const tristar_status own = multiply_strip(&s, direction);
    if (status == TRISTAR_OK) status = own;
    c += s.columns;
  }
  d->stats.products += nrhs;
  d->stats.product_seconds += tsi_clock() - begin;
  return status;
}
