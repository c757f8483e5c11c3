/* The steps of one tiled front: see factorization.h. */
#include "dag/factor/factorization_builder.h"

#define OPEN_WORK 1e6         /* Work of `open`, which allocates. */
#define PACK_COLUMN_WORK 2560 /* Work to pack a row of a panel. */

typedef tsi_front_cut cut;

/* ---- Any tiled front ---------------------------------------------------------------------------------- */

tsi_front_cut tsi_front_cut_begin(tsi_factorization_builder *b, tsi_index s) {
  cut c = {.b = b, .s = s, .t = tsi_factorization_tiles(b->dag, s)};
  c.lu = b->dag->method == TRISTAR_METHOD_LU;
  c.below = b->latest;
  c.right = b->latest + c.t.count;
  return c;
}

tsi_index tsi_front_cut_add(const cut *c, tsi_step_kind kind, tsi_front_step part) {
  part.first = part.last = c->s;
  part.tiled = c->b->tiled;
  return tsi_factorization_add_step(c->b, kind, c->s, &part);
}

static double tile_flops(const cut *c, tsi_index panel, tsi_index k) {
  const tsi_index o = tsi_front_tile_begin(&c->t, panel);
  const double b = tsi_front_tile_rows(&c->t, panel);
  return 2 * (double)tsi_front_tile_rows(&c->t, k) * b * (o + b / 2);
}

tsi_index tsi_front_cut_open(const cut *c) {
  const tsi_index open = tsi_front_cut_add(c, TSI_STEP_FRONT_OPEN, (tsi_front_step){.work = OPEN_WORK});
  tsi_factorization_wait_for_children(c->b, c->s, c->s, open);
  return open;
}

tsi_index tsi_front_cut_diagonal(const cut *c, tsi_index panel) {
  return tsi_front_cut_add(
      c, TSI_STEP_FRONT_DIAGONAL,
      (tsi_front_step){.panel = c->t.panel + panel, .work = tile_flops(c, panel, panel)});
}

tsi_index tsi_front_cut_tile(const cut *c, bool right, tsi_index panel, tsi_index k) {
  tsi_front_step part = {.panel = c->t.panel + panel, .work = tile_flops(c, panel, k)};
  *(right ? &part.column : &part.row) = tsi_front_tile_begin(&c->t, k);
  *(right ? &part.column_end : &part.row_end) = tsi_front_tile_end(&c->t, k);
  return tsi_front_cut_add(c, right ? TSI_STEP_FRONT_RIGHT : TSI_STEP_FRONT_BELOW, part);
}

void tsi_front_cut_close(const cut *c, tsi_index first) {
  const tsi_index close = tsi_front_cut_add(c, TSI_STEP_FRONT_CLOSE, (tsi_front_step){.work = 0});
  for (tsi_index k = first; k < close; k++) tsi_front_cut_after(c, close, k);
  c->b->done[c->s] = close;
}

/* ---- Of one process ----------------------------------------------------------------------------------- */

/* Opens the front and assembles it in column pieces. Returns the step after all of them. */
static tsi_index add_assembly(const cut *c) {
  const tsi_front_tiles *t = &c->t;
  const tsi_index pieces = tsi_front_pieces(t), open = tsi_front_cut_open(c);
  for (tsi_index k = 0; k < pieces; k++) {
    const tsi_index piece =
        tsi_front_cut_add(c, TSI_STEP_FRONT_ASSEMBLE,
                          (tsi_front_step){.column = tsi_front_piece_begin(t, k),
                                           .column_end = tsi_front_piece_end(t, k),
                                           .work = (double)TSI_ASSEMBLE_ENTRY_WORK * t->tile * t->f});
    tsi_front_cut_after(c, piece, open);
  }
  const tsi_index assembled = tsi_front_cut_add(c, TSI_STEP_FRONT_ASSEMBLED, (tsi_front_step){.work = 0});
  for (tsi_index k = 1; k <= pieces; k++) tsi_front_cut_after(c, assembled, open + k);
  return assembled;
}

static void add_tile(const cut *c, bool right, tsi_index panel, tsi_index k, tsi_index diagonal) {
  tsi_index *latest = right ? &c->right[k] : &c->below[k];
  const tsi_index step = tsi_front_cut_tile(c, right, panel, k);
  tsi_front_cut_after(c, step, diagonal);
  if (panel > 0) tsi_front_cut_after(c, step, *latest);
  *latest = step;
}

/* The columns of the supernode: for each panel its diagonal block, the tiles below and (LU) to the right. */
static void add_panels(const cut *c, tsi_index assembled) {
  for (tsi_index k = 0; k < c->t.count; k++) c->below[k] = c->right[k] = assembled;
  for (tsi_index panel = 0; panel < c->t.inner; panel++) {
    const tsi_index diagonal = tsi_front_cut_diagonal(c, panel);
    tsi_front_cut_after(c, diagonal, c->below[panel]);                         /* its row left of the block */
    if (c->lu && panel > 0) tsi_front_cut_after(c, diagonal, c->right[panel]); /* and its column above */
    for (tsi_index k = panel + 1; k < c->t.count; k++) {
      add_tile(c, false, panel, k, diagonal);
      if (c->lu) add_tile(c, true, panel, k, diagonal);
    }
    c->below[panel] = c->right[panel] = diagonal; /* complete from here on */
  }
}

static void add_schur(const cut *c, tsi_index i, tsi_index j) {
  const tsi_front_tiles *t = &c->t;
  const tsi_index m = t->f - t->w;
  const tsi_index step = tsi_front_cut_add(c, TSI_STEP_FRONT_SCHUR,
                                           (tsi_front_step){.row = i * t->tile,
                                                            .row_end = tsi_index_min(m, (i + 1) * t->tile),
                                                            .column = j * t->tile,
                                                            .column_end = tsi_index_min(m, (j + 1) * t->tile),
                                                            .work = 2.0 * t->tile * t->tile * t->w});
  tsi_front_cut_after(c, step, c->below[t->inner + i]);
  if (c->lu)
    tsi_front_cut_after(c, step, c->right[t->inner + j]);
  else if (i != j)
    tsi_front_cut_after(c, step, c->below[t->inner + j]);
}

/* The packing of a panel comes after the last steps on all later tiles: the steps of tiles behind the
 * supernode, which come after all its panels, or, if there are no such tiles, the step of its last panel. */
static void add_pack(const cut *c, tsi_index panel) {
  const tsi_front_tiles *t = &c->t;
  const tsi_index step =
      tsi_front_cut_add(c, TSI_STEP_FRONT_PACK,
                        (tsi_front_step){.panel = t->panel + panel, .work = (double)PACK_COLUMN_WORK * t->f});
  if (t->count == t->inner) tsi_front_cut_after(c, step, c->below[t->inner - 1]);
  for (tsi_index k = t->inner; k < t->count; k++) {
    tsi_front_cut_after(c, step, c->below[k]);
    if (c->lu) tsi_front_cut_after(c, step, c->right[k]);
  }
}

/* Adds the tiles of the complement, the packing, and the end of a front. */
static void add_end(const cut *c) {
  const tsi_index outer = c->t.count - c->t.inner, first = (tsi_index)c->b->steps;
  for (tsi_index i = 0; i < outer; i++)
    for (tsi_index j = 0; j < (c->lu ? outer : i + 1); j++) add_schur(c, i, j);
  for (tsi_index panel = 0; panel < c->t.inner; panel++) add_pack(c, panel);
  tsi_front_cut_close(c, first);
}

/* Adds all work between assembly and packing as one step. The packing waits for it. */
static void add_device(const cut *c, tsi_index assembled) {
  const tsi_index first = tsi_front_cut_add(
      c, TSI_STEP_FRONT_DEVICE,
      (tsi_front_step){.work = tsi_front_flops(c->b->dag->symbolic, c->b->dag->method, c->s)});
  tsi_front_cut_after(c, first, assembled);
  for (tsi_index k = 0; k < c->t.count; k++) c->below[k] = c->right[k] = first;
  for (tsi_index panel = 0; panel < c->t.inner; panel++) add_pack(c, panel);
  tsi_front_cut_close(c, first);
}

void tsi_factorization_add_front(tsi_factorization_builder *b, tsi_index s) {
  const cut c = tsi_front_cut_begin(b, s);
  const tsi_index assembled = add_assembly(&c);
  if (tsi_factorization_device(b->dag, s) != TSI_NONE) {
    add_device(&c, assembled);
    return;
  }
  add_panels(&c, assembled);
  add_end(&c);
}
