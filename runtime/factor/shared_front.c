/* Steps of a front that a team of processes shares, on one of them: see factorization.h and front_teams.h.
 *
 * A stripe of this process has memory from the opening of the front, a received one from when it may be
 * received, each until its last use. The uses, steps and parcels, are counted before the first step. When a
 * front is closed, L and U have been packed or sent. After a failure nothing is freed before the end, as
 * messages may still be under way.
 *
 * All products are the products of a front of one process, tile by tile, so the bits are the same. No layout
 * has TSI_INVERSE_PARTITIONED, which would need diagonal blocks to pack rows. */
#include "runtime/factor/numeric.h"

static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

/* ---- Uses --------------------------------------------------------------------------------------------- */

static void use(tsi_numeric *numeric, tsi_held_stripe *stripe, int more) {
  const int left = atomic_fetch_add(&stripe->uses, more) + more;
  if (left == 0 && !tsi_numeric_failed(numeric)) TSI_FREE(numeric->env, stripe->memory);
}

void tsi_stripe_use_up(tsi_numeric *numeric, tsi_held_stripe *stripe) {
  use(numeric, stripe, -1);
}

/* Adds `more` uses, which may be negative, to the stripes that a step reads or writes. */
static void use_all(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part, int more) {
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, part->first);
  tsi_held_stripe *stripe = numeric->tiled[part->tiled].stripe;
  const tsi_index row = tsi_front_tile_of(&t, part->row), panel = part->panel - t.panel;
  switch (kind) {
  case TSI_STEP_FRONT_DIAGONAL:
    use(numeric, &stripe[panel], more);
    return;
  case TSI_STEP_FRONT_BELOW:
  case TSI_STEP_FRONT_RIGHT:
    use(numeric, &stripe[panel], more);
    use(numeric, &stripe[kind == TSI_STEP_FRONT_BELOW ? row : tsi_front_tile_of(&t, part->column)], more);
    return;
  case TSI_STEP_FRONT_SCHUR:
    use(numeric, &stripe[tsi_front_tile_of(&t, t.w + part->row)], more);
    use(numeric, &stripe[tsi_front_tile_of(&t, t.w + part->column)], more);
    return;
  case TSI_STEP_FRONT_PACK:
    use(numeric, &stripe[row], more);
    return;
  default:
    return;
  }
}

static tristar_status prepare_front(tsi_numeric *numeric, tsi_open_front *open) {
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, open->s);
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, open->stripe, t.count));
  for (tsi_index k = 0; k < t.count; k++) {
    open->stripe[k].shape = tsi_stripe_of(&t, numeric->dag->method, k);
    atomic_init(&open->stripe[k].uses, 0);
  }
  return TRISTAR_OK;
}

tristar_status tsi_stripes_prepare(tsi_numeric *numeric) {
  const tsi_factorization *dag = numeric->dag;
  for (tsi_index q = 0; q < dag->tiled_count; q++)
    if (tsi_factorization_shares(dag, dag->tiled[q])) TSI_TRY(prepare_front(numeric, &numeric->tiled[q]));
  for (tsi_index k = 0; k < dag->steps->count; k++) {
    const tsi_front_step *part = &dag->part[k];
    if (part->tiled != TSI_NONE && numeric->tiled[part->tiled].stripe)
      use_all(numeric, dag->steps->step[k].kind, part, 1);
  }
  for (tsi_index p = 0; p < dag->outs; p++)
    if (dag->out[p].kind == TSI_PARCEL_STRIPE)
      use(numeric, &numeric->tiled[dag->out[p].tiled].stripe[dag->out[p].tile], 1);
  return TRISTAR_OK;
}

void tsi_stripes_release(tsi_numeric *numeric) {
  for (tsi_index q = 0; numeric->tiled && q < numeric->dag->tiled_count; q++) {
    tsi_open_front *open = &numeric->tiled[q];
    if (open->stripe == NULL) continue;
    const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, open->s);
    for (tsi_index k = 0; k < t.count; k++) {
      TSI_FREE(numeric->env, open->stripe[k].memory);
      TSI_FREE(numeric->env, open->stripe[k].at.c);
    }
    TSI_FREE(numeric->env, open->stripe);
  }
}

/* ---- Memory ------------------------------------------------------------------------------------------- */

/* Address of scalar `at` of a stripe. */
static char *scalar_at(const tsi_numeric *numeric, const tsi_held_stripe *stripe, tsi_count at) {
  return stripe->memory + (size_t)(at - stripe->skip) * numeric->kernels->scalar_bytes;
}

static tsi_index *pivots_of(const tsi_numeric *numeric, const tsi_held_stripe *stripe) {
  return (tsi_index *)(void *)scalar_at(numeric, stripe, stripe->shape.pivot);
}

tristar_status tsi_stripe_make_space(const tsi_numeric *numeric, tsi_open_front *open, tsi_index k,
                                     tsi_count skip) {
  tsi_held_stripe *stripe = &open->stripe[k];
  const tsi_stripe *shape = &stripe->shape;
  const tsi_count diagonal = (tsi_count)shape->rows * shape->begin;
  const bool inside = shape->columns > shape->begin;
  void *memory;
  TSI_TRY(tsi_front_allocate(numeric, shape->scalars - skip + 1, &memory));
  stripe->memory = memory;
  stripe->skip = skip;
  stripe->at.begin = shape->begin;
  stripe->at.rows = shape->rows;
  stripe->at.ldl = shape->rows;
  stripe->at.l = skip == 0 ? stripe->memory : NULL;
  stripe->at.d = inside ? scalar_at(numeric, stripe, diagonal) : NULL;
  stripe->at.u = numeric->pivots ? scalar_at(numeric, stripe, shape->u) : NULL;
  stripe->at.ldu = tsi_index_max(1, shape->above);
  return TRISTAR_OK;
}

static tristar_status open_stripes(tsi_numeric *numeric, tsi_open_front *open) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_front_tiles t = tsi_factorization_tiles(dag, open->s);
  TSI_TRY(tsi_front_begin(numeric, open));
  for (tsi_index k = 0; k < t.count; k++) {
    if (!tsi_factorization_has_tile(dag, open->s, k)) continue;
    TSI_TRY(tsi_stripe_make_space(numeric, open, k, 0));
    if (k < t.inner) continue;
    const tsi_count columns = tsi_stripe_complement(&t, dag->method, k);
    TSI_TRY(tsi_front_allocate(numeric, columns * tsi_front_tile_rows(&t, k), &open->stripe[k].at.c));
  }
  return TRISTAR_OK;
}

/* ---- Assembly ----------------------------------------------------------------------------------------- */

/* Final indices first .. last of the front's rows begin .. end - 1. Indices in between may belong to other
 * fronts. */
static void final_rows(const tsi_symbolic *symbolic, tsi_index s, const tsi_front_stripe *at,
                       tsi_index *first, tsi_index *last) {
  const tsi_index w = symbolic->start[s + 1] - symbolic->start[s];
  const tsi_index *rows = symbolic->rows + symbolic->row_ptr[s];
  *first = at->begin < w ? symbolic->start[s] + at->begin : rows[at->begin - w];
  *last = at->begin < w ? *first + at->rows - 1 : rows[at->begin - w + at->rows - 1];
}

static void add_entries(const tsi_numeric *numeric, const tsi_open_front *open, const tsi_front_stripe *at) {
  const tristar_analysis_t *an = numeric->analysis;
  const tsi_index s = open->s, start = an->symbolic->start[s], w = open->front.w;
  tsi_entry_batch batch;
  tsi_index first, last;
  batch.numeric = numeric;
  batch.front = NULL;
  batch.stripe = at;
  batch.count = 0;
  final_rows(an->symbolic, s, at, &first, &last);
  for (tsi_index k = 0; k < tsi_index_min(w, at->begin + at->rows); k++)
    for (tsi_count q = an->lower.ptr[start + k]; q < an->lower.ptr[start + k + 1]; q++) {
      const tsi_index row = an->lower.other[q];
      if (row >= first && row <= last)
        tsi_entry_batch_put(&batch, &an->lower, q, row, start + k, tsi_front_row(an->symbolic, s, row), k);
    }
  for (tsi_index i = 0; numeric->full && i < tsi_index_min(w, at->begin + at->rows); i++)
    for (tsi_count q = an->upper.ptr[start + i]; q < an->upper.ptr[start + i + 1]; q++) {
      const tsi_index column = an->upper.other[q];
      if (column >= first && column <= last)
        tsi_entry_batch_put(&batch, &an->upper, q, start + i, column, i,
                            tsi_front_row(an->symbolic, s, column));
    }
  tsi_entry_batch_flush(&batch);
}

static void assemble(tsi_numeric *numeric, tsi_open_front *open, const tsi_front_tiles *t, tsi_index k) {
  const tsi_factorization *dag = numeric->dag;
  tsi_held_stripe *stripe = &open->stripe[k];
  const size_t bytes = numeric->kernels->scalar_bytes;
  const tsi_index *position = open->position;
  memset(stripe->memory, 0, (size_t)stripe->shape.scalars * bytes);
  if (k >= t->inner)
    memset(stripe->at.c, 0,
           (size_t)tsi_stripe_complement(t, dag->method, k) * (size_t)stripe->at.rows * bytes);
  add_entries(numeric, open, &stripe->at);
  for (tsi_index c = dag->child_ptr[open->s]; c < dag->child_ptr[open->s + 1]; c++) {
    tsi_parts_add(numeric, open, dag->child[c], position, k, 0, 0);
    position += dag->symbolic->row_ptr[dag->child[c] + 1] - dag->symbolic->row_ptr[dag->child[c]];
  }
}

/* ---- Factoring ---------------------------------------------------------------------------------------- */

/* Records the terms of a complete stripe, by which a factorization with fixed pivots is judged. */
static void keep_terms(tsi_numeric *numeric, const tsi_open_front *open, tsi_index k) {
  const tsi_front_stripe *at = &open->stripe[k].at;
  const tsi_index first = numeric->analysis->symbolic->start[open->s];
  double term[TSI_TILE > TSI_PANEL_WIDTH_MAX ? TSI_TILE : TSI_PANEL_WIDTH_MAX];
  if (!numeric->fixed) return;
  numeric->kernels->stripe_terms(at, open->front.w, at->d ? numeric->kept + first + at->begin : NULL, term);
  for (tsi_index i = 0; i < at->rows; i++) tsi_numeric_raise_term(numeric, open->s, at->begin + i, term[i]);
}

/* Factors a diagonal block. Copies its pivots and D^-1 into the stripe. */
static void diagonal(tsi_numeric *numeric, const tsi_open_front *open, const tsi_front_tiles *t,
                     tsi_index k) {
  tsi_held_stripe *stripe = &open->stripe[k];
  const tsi_index column = t->start[k], b = stripe->shape.rows;
  tsi_front_diagonal(numeric, &stripe->at, open->front.f, t->panel + k);
  if (tsi_numeric_failed(numeric)) return;
  if (numeric->pivots)
    memcpy(pivots_of(numeric, stripe), numeric->pivots + column, (size_t)b * sizeof *numeric->pivots);
  if (numeric->inverse)
    memcpy(scalar_at(numeric, stripe, stripe->shape.inverse), tsi_numeric_inverse(numeric, column),
           2 * (size_t)b * numeric->kernels->scalar_bytes);
  keep_terms(numeric, open, k);
}

static void below(tsi_numeric *numeric, const tsi_open_front *open, const tsi_front_tiles *t, tsi_index panel,
                  tsi_index k) {
  const tsi_held_stripe *of = &open->stripe[panel], *stripe = &open->stripe[k];
  if (numeric->inverse)
    numeric->kernels->stripe_below_ldl(&of->at, &stripe->at, pivots_of(numeric, of),
                                       scalar_at(numeric, of, of->shape.inverse), numeric->adjoint);
  else
    numeric->kernels->stripe_below(&of->at, &stripe->at);
  if (k >= t->inner && panel + 1 == t->inner) keep_terms(numeric, open, k);
}

static void right(tsi_numeric *numeric, const tsi_open_front *open, tsi_index panel, tsi_index k) {
  const tsi_held_stripe *of = &open->stripe[panel];
  numeric->kernels->stripe_right(&of->at, &open->stripe[k].at, pivots_of(numeric, of));
}

/* ---- Packing ------------------------------------------------------------------------------------------ */

static char *packed(const tsi_numeric *numeric, bool upper, tsi_index panel) {
  return upper && !numeric->full ? NULL : tsi_factor_panel(numeric->factor, upper, panel);
}

static tristar_status begin_panel(tsi_numeric *numeric, const tsi_open_front *open, tsi_index panel,
                                  const tsi_front_stripe *at) {
  TSI_OWNED void *work = NULL;
  for (int side = 0; side < (numeric->full ? 2 : 1); side++)
    TSI_TRY(tsi_factor_need_passing(numeric->factor, side, panel));
  TSI_TRY(tsi_front_allocate(numeric, tsi_pack_work(at->rows), &work));
  numeric->kernels->stripe_pack_panel(at, open->front.f - at->begin - at->rows,
                                      tsi_analysis_inverse(numeric->analysis), packed(numeric, false, panel),
                                      packed(numeric, true, panel), work);
  return TRISTAR_OK;
}

/* Checks the panels, which are complete after the last stripe. */
static tristar_status check_panels(tsi_numeric *numeric, const tsi_front_tiles *t) {
  for (tsi_index panel = t->panel; panel < t->panel + t->inner; panel++)
    for (int side = 0; side < (numeric->full ? 2 : 1); side++)
      TSI_TRY(tsi_front_check_packed(numeric, panel, side));
  return TRISTAR_OK;
}

static tristar_status pack(tsi_numeric *numeric, const tsi_open_front *open, const tsi_front_tiles *t,
                           tsi_index k) {
  const tsi_front_stripe *at = &open->stripe[k].at;
  for (tsi_index p = 0; p < tsi_index_min(k, t->inner); p++) {
    const tsi_index panel = t->panel + p, o = tsi_front_tile_begin(t, p), b = tsi_front_tile_rows(t, p);
    numeric->kernels->stripe_pack(at, o, b, t->f - o - b, packed(numeric, false, panel),
                                  packed(numeric, true, panel));
  }
  if (k < t->inner) TSI_TRY(begin_panel(numeric, open, t->panel + k, at));
  if (k + 1 == t->count) TSI_TRY(check_panels(numeric, t));
  return TRISTAR_OK;
}

/* ---- Steps -------------------------------------------------------------------------------------------- */

static void run(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part) {
  tsi_open_front *open = &numeric->tiled[part->tiled];
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, open->s);
  const tsi_index panel = part->panel - t.panel, row = tsi_front_tile_of(&t, part->row);
  if (kind == TSI_STEP_FRONT_OPEN)
    fail(numeric, open_stripes(numeric, open));
  else if (kind == TSI_STEP_FRONT_ASSEMBLE)
    assemble(numeric, open, &t, row);
  else if (kind == TSI_STEP_FRONT_DIAGONAL)
    diagonal(numeric, open, &t, panel);
  else if (kind == TSI_STEP_FRONT_BELOW)
    below(numeric, open, &t, panel, row);
  else if (kind == TSI_STEP_FRONT_RIGHT)
    right(numeric, open, panel, tsi_front_tile_of(&t, part->column));
  else if (kind == TSI_STEP_FRONT_SCHUR)
    numeric->kernels->stripe_schur(&open->stripe[tsi_front_tile_of(&t, t.w + part->row)].at,
                                   &open->stripe[tsi_front_tile_of(&t, t.w + part->column)].at, t.w,
                                   part->column);
  else if (kind == TSI_STEP_FRONT_PACK)
    fail(numeric, pack(numeric, open, &t, row));
  else
    tsi_numeric_report(numeric, 1); /* Closed. */
}

void tsi_shared_front_run(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part) {
  const bool runs = !numeric->dry || kind == TSI_STEP_FRONT_OPEN;
  if (runs && !tsi_numeric_failed(numeric)) run(numeric, kind, part);
  use_all(numeric, kind, part, -1);
}
