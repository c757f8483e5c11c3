/* This process's steps of a front that a team shares: see factorization.h. */
#include "dag/factorization_builder.h"

#define OPEN_WORK 1e6          /* of `open`, which allocates */
#define ASSEMBLE_ENTRY_WORK 20 /* to assemble an entry */
#define PACK_ENTRY_WORK 10     /* to pack one */

/* The front that is being cut. */
typedef struct cut {
  tsi_factorization_builder *b;
  tsi_index s;
  tsi_front_tiles t;
  bool lu, packs;
  tsi_index *below, *right; /* by tile: the latest step on its rows, columns; of a stripe that arrives: the
                               first arrival, and how many there are */
  tsi_index pack;           /* the latest; TSI_NONE: none yet */
} cut;

static tsi_index add(const cut *c, tsi_step_kind kind, tsi_front_step part) {
  part.first = part.last = c->s;
  part.tiled = c->b->tiled;
  return tsi_factorization_add_step(c->b, kind, c->s, &part);
}

static void after(const cut *c, tsi_index item, tsi_index before) {
  tsi_factorization_add_edge(c->b, item, before);
}

static bool has(const cut *c, tsi_index k) {
  return tsi_factorization_has_tile(c->b->dag, c->s, k);
}

/* The stripe is complete, on this process or another one: columns of a tile behind the supernode, LU, are
 * what `right` has made. */
static void after_stripe(const cut *c, tsi_index item, tsi_index k) {
  if (has(c, k)) {
    after(c, item, c->lu && k >= c->t.inner ? c->right[k] : c->below[k]);
    return;
  }
  for (tsi_index q = 0; q < c->right[k]; q++) after(c, item, c->below[k] + q);
}

static double flops_of(const cut *c, tsi_index panel, tsi_index k) {
  const tsi_index o = tsi_front_tile_begin(&c->t, panel);
  const double b = tsi_front_tile_end(&c->t, panel) - o;
  return 2 * (double)tsi_front_tile_rows(&c->t, k) * b * (o + b / 2);
}

/* Opens the front and assembles its stripes; the step after all of them. */
static tsi_index add_assembly(const cut *c) {
  const tsi_front_tiles *t = &c->t;
  const tsi_index open = add(c, TSI_STEP_FRONT_OPEN, (tsi_front_step){.work = OPEN_WORK});
  tsi_factorization_wait_for_children(c->b, c->s, c->s, open);
  for (tsi_index k = 0; k < t->count; k++) {
    if (!has(c, k)) continue;
    const tsi_index rows = tsi_front_tile_rows(t, k), end = tsi_front_tile_end(t, k);
    const tsi_index step = add(c, TSI_STEP_FRONT_ASSEMBLE,
                               (tsi_front_step){.row = tsi_front_tile_begin(t, k),
                                                .row_end = end,
                                                .work = (double)ASSEMBLE_ENTRY_WORK * rows * end});
    after(c, step, open);
  }
  const tsi_index assembled = add(c, TSI_STEP_FRONT_ASSEMBLED, (tsi_front_step){.work = 0});
  after(c, assembled, open);
  for (tsi_index k = open + 1; k < assembled; k++) after(c, assembled, k);
  return assembled;
}

/* A stripe of another process arrives. */
static void add_arrival(const cut *c, tsi_index k) {
  c->below[k] = tsi_factorization_receive_stripe(c->b, c->s, k, &c->right[k]);
}

/* One after the other: they write the same panels. */
static void add_pack(cut *c, tsi_index k) {
  if (!c->packs) return;
  const tsi_stripe stripe = tsi_stripe_of(&c->t, c->b->dag->method, k);
  const tsi_index step =
      add(c, TSI_STEP_FRONT_PACK,
          (tsi_front_step){.row = stripe.begin,
                           .row_end = stripe.begin + stripe.rows,
                           .work = (double)PACK_ENTRY_WORK * stripe.rows * stripe.columns});
  after_stripe(c, step, k);
  if (c->lu && has(c, k) && k >= c->t.inner) after(c, step, c->below[k]);
  if (c->pack != TSI_NONE) after(c, step, c->pack);
  c->pack = step;
}

/* A tile of this process below the diagonal block of a panel, or, LU, to the right of it. */
static void add_tile(const cut *c, bool right, tsi_index panel, tsi_index k) {
  const tsi_index begin = tsi_front_tile_begin(&c->t, k), end = tsi_front_tile_end(&c->t, k);
  tsi_index *latest = right ? &c->right[k] : &c->below[k];
  tsi_front_step part = {.panel = c->t.panel + panel, .work = flops_of(c, panel, k)};
  *(right ? &part.column : &part.row) = begin;
  *(right ? &part.column_end : &part.row_end) = end;
  const tsi_index step = add(c, right ? TSI_STEP_FRONT_RIGHT : TSI_STEP_FRONT_BELOW, part);
  after(c, step, *latest);
  after_stripe(c, step, panel);
  *latest = step;
}

/* The columns of the supernode. */
static void add_panels(cut *c, tsi_index assembled) {
  const tsi_front_tiles *t = &c->t;
  for (tsi_index k = 0; k < t->count; k++) c->below[k] = c->right[k] = assembled;
  for (tsi_index panel = 0; panel < t->inner; panel++) {
    if (has(c, panel)) {
      const tsi_index step =
          add(c, TSI_STEP_FRONT_DIAGONAL,
              (tsi_front_step){.panel = t->panel + panel, .work = flops_of(c, panel, panel)});
      after(c, step, c->below[panel]);
      if (c->lu) after(c, step, c->right[panel]);
      c->below[panel] = c->right[panel] = step;
      tsi_factorization_send_stripe(c->b, c->s, panel);
    } else
      add_arrival(c, panel);
    for (tsi_index k = panel + 1; k < t->count; k++) {
      if (!has(c, k)) continue;
      const bool complete = panel + 1 == t->inner && k >= t->inner;
      if (c->lu) add_tile(c, true, panel, k);
      add_tile(c, false, panel, k);
      if (c->lu && complete) after(c, c->below[k], c->right[k]);
      if (complete) tsi_factorization_send_stripe(c->b, c->s, k);
    }
    add_pack(c, panel);
  }
}

static void add_schur(const cut *c, tsi_index i, tsi_index j) {
  const tsi_front_tiles *t = &c->t;
  const double w = t->w, rows = tsi_front_tile_rows(t, i), columns = tsi_front_tile_rows(t, j);
  const tsi_index step = add(c, TSI_STEP_FRONT_SCHUR,
                             (tsi_front_step){.row = tsi_front_tile_begin(t, i) - t->w,
                                              .row_end = tsi_front_tile_end(t, i) - t->w,
                                              .column = tsi_front_tile_begin(t, j) - t->w,
                                              .column_end = tsi_front_tile_end(t, j) - t->w,
                                              .work = 2 * rows * columns * w});
  after(c, step, c->below[i]);
  if (i != j || c->lu) after_stripe(c, step, j);
}

/* Rows behind the supernode, and the end of the front. */
static void add_end(cut *c, tsi_index assembled) {
  const tsi_front_tiles *t = &c->t;
  for (tsi_index j = t->inner; j < t->count; j++) {
    if (!has(c, j)) add_arrival(c, j);
    for (tsi_index i = c->lu ? t->inner : j; i < t->count; i++)
      if (has(c, i)) add_schur(c, i, j);
    add_pack(c, j);
  }
  const tsi_index close = add(c, TSI_STEP_FRONT_CLOSE, (tsi_front_step){.work = 0});
  for (tsi_index k = assembled; k < close; k++) after(c, close, k);
  c->b->done[c->s] = close;
}

void tsi_factorization_add_shared_front(tsi_factorization_builder *b, tsi_index s) {
  cut c = {.b = b, .s = s, .t = tsi_factorization_tiles(b->dag, s), .pack = TSI_NONE};
  c.lu = b->dag->method == TRISTAR_METHOD_LU;
  c.packs = b->dag->owner[s] == b->dag->rank;
  c.below = b->latest;
  c.right = b->latest + c.t.count;
  const tsi_index assembled = add_assembly(&c);
  add_panels(&c, assembled);
  add_end(&c, assembled);
}
