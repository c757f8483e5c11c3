/* This process's steps of a front that a team shares: see factorization.h. */
#include "dag/factor/factorization_builder.h"

#define PACK_ENTRY_WORK 10 /* Work to pack an entry. */

typedef struct sharing {
  tsi_front_cut cut;
  bool packs;
  tsi_index pack; /* The latest packing; TSI_NONE: none yet. */
} sharing;

typedef tsi_front_cut cut;

static bool has(const cut *c, tsi_index k) {
  return tsi_factorization_has_tile(c->b->dag, c->s, k);
}

/* Lets a step wait until stripe k is complete, on this process or another one. LU: `right` is the last step
 * on the columns of a tile behind the supernode. */
static void after_stripe(const cut *c, tsi_index item, tsi_index k) {
  if (has(c, k)) {
    tsi_front_cut_after(c, item, c->lu && k >= c->t.inner ? c->right[k] : c->below[k]);
    return;
  }
  for (tsi_index q = 0; q < c->right[k]; q++) tsi_front_cut_after(c, item, c->below[k] + q);
}

/* Opens the front and assembles its stripes. Returns the step after all of them. */
static tsi_index add_assembly(const cut *c) {
  const tsi_front_tiles *t = &c->t;
  const tsi_index open = tsi_front_cut_open(c);
  for (tsi_index k = 0; k < t->count; k++) {
    if (!has(c, k)) continue;
    const tsi_index rows = tsi_front_tile_rows(t, k), end = tsi_front_tile_end(t, k);
    const tsi_index step =
        tsi_front_cut_add(c, TSI_STEP_FRONT_ASSEMBLE,
                          (tsi_front_step){.row = tsi_front_tile_begin(t, k),
                                           .row_end = end,
                                           .work = (double)TSI_ASSEMBLE_ENTRY_WORK * rows * end});
    tsi_front_cut_after(c, step, open);
  }
  const tsi_index assembled = tsi_front_cut_add(c, TSI_STEP_FRONT_ASSEMBLED, (tsi_front_step){.work = 0});
  tsi_front_cut_after(c, assembled, open);
  for (tsi_index k = open + 1; k < assembled; k++) tsi_front_cut_after(c, assembled, k);
  return assembled;
}

/* Adds the arrivals of a stripe of another process. */
static void add_arrival(const cut *c, tsi_index k) {
  c->below[k] = tsi_factorization_receive_stripe(c->b, c->s, k, &c->right[k]);
}

/* Packing steps run one after the other: they write the same panels. */
static void add_pack(sharing *of, tsi_index k) {
  const cut *c = &of->cut;
  if (!of->packs) return;
  const tsi_stripe stripe = tsi_stripe_of(&c->t, c->b->dag->method, k);
  const tsi_index step =
      tsi_front_cut_add(c, TSI_STEP_FRONT_PACK,
                        (tsi_front_step){.row = stripe.begin,
                                         .row_end = stripe.begin + stripe.rows,
                                         .work = (double)PACK_ENTRY_WORK * stripe.rows * stripe.columns});
  after_stripe(c, step, k);
  if (c->lu && has(c, k) && k >= c->t.inner) tsi_front_cut_after(c, step, c->below[k]);
  if (of->pack != TSI_NONE) tsi_front_cut_after(c, step, of->pack);
  of->pack = step;
}

/* Adds the work on a tile of this process. */
static void add_tile(const cut *c, bool right, tsi_index panel, tsi_index k) {
  tsi_index *latest = right ? &c->right[k] : &c->below[k];
  const tsi_index step = tsi_front_cut_tile(c, right, panel, k);
  tsi_front_cut_after(c, step, *latest);
  after_stripe(c, step, panel);
  *latest = step;
}

/* The columns of the supernode. */
static void add_panels(sharing *of, tsi_index assembled) {
  const cut *c = &of->cut;
  const tsi_front_tiles *t = &c->t;
  for (tsi_index k = 0; k < t->count; k++) c->below[k] = c->right[k] = assembled;
  for (tsi_index panel = 0; panel < t->inner; panel++) {
    if (has(c, panel)) {
      const tsi_index step = tsi_front_cut_diagonal(c, panel);
      tsi_front_cut_after(c, step, c->below[panel]);
      if (c->lu) tsi_front_cut_after(c, step, c->right[panel]);
      c->below[panel] = c->right[panel] = step;
      tsi_factorization_send_stripe(c->b, c->s, panel);
    } else
      add_arrival(c, panel);
    for (tsi_index k = panel + 1; k < t->count; k++) {
      if (!has(c, k)) continue;
      const bool complete = panel + 1 == t->inner && k >= t->inner;
      if (c->lu) add_tile(c, true, panel, k);
      add_tile(c, false, panel, k);
      if (c->lu && complete) tsi_front_cut_after(c, c->below[k], c->right[k]);
      if (complete) tsi_factorization_send_stripe(c->b, c->s, k);
    }
    add_pack(of, panel);
  }
}

static void add_schur(const cut *c, tsi_index i, tsi_index j) {
  const tsi_front_tiles *t = &c->t;
  const double w = t->w, rows = tsi_front_tile_rows(t, i), columns = tsi_front_tile_rows(t, j);
  const tsi_index step = tsi_front_cut_add(c, TSI_STEP_FRONT_SCHUR,
                                           (tsi_front_step){.row = tsi_front_tile_begin(t, i) - t->w,
                                                            .row_end = tsi_front_tile_end(t, i) - t->w,
                                                            .column = tsi_front_tile_begin(t, j) - t->w,
                                                            .column_end = tsi_front_tile_end(t, j) - t->w,
                                                            .work = 2 * rows * columns * w});
  tsi_front_cut_after(c, step, c->below[i]);
  if (i != j || c->lu) after_stripe(c, step, j);
}

/* The rows behind the supernode, and the end of the front. */
static void add_end(sharing *of, tsi_index assembled) {
  const cut *c = &of->cut;
  const tsi_front_tiles *t = &c->t;
  for (tsi_index j = t->inner; j < t->count; j++) {
    if (!has(c, j)) add_arrival(c, j);
    for (tsi_index i = c->lu ? t->inner : j; i < t->count; i++)
      if (has(c, i)) add_schur(c, i, j);
    add_pack(of, j);
  }
  tsi_front_cut_close(c, assembled);
}

void tsi_factorization_add_shared_front(tsi_factorization_builder *b, tsi_index s) {
  sharing of = {.cut = tsi_front_cut_begin(b, s), .pack = TSI_NONE};
  of.packs = b->dag->owner[s] == b->dag->rank;
  const tsi_index assembled = add_assembly(&of.cut);
  add_panels(&of, assembled);
  add_end(&of, assembled);
}
