/* Costs of the steps of a factorization on a core: see front_costs.h. */
#include "dag/factor/front_costs.h"

#include "dag/simulate.h"

/* Operations of large products that take as long as one operation of a step. */
#define RANGE_FLOPS 2.6    /* Small fronts, one after the other. */
#define TILE_FLOPS 1.7     /* A triangular solve with many columns, and products with few columns. */
#define DIAGONAL_FLOPS 1.7 /* LU, LDLT, with a search for pivots. */
#define INVERSE_FLOPS 3.0  /* The inverse of a diagonal block. */
/* Number of times that an entry is read or written. */
#define ASSEMBLE_TIMES 3.0
#define ADD_TIMES 2.4 /* Small fronts: entries of the children. */
#define PACK_TIMES 4.0
/* Seconds for the calls of a small front: L L^T; other methods. */
#define FRONT_SECONDS 0.4e-6
#define PIVOTED_SECONDS 1.3e-6

typedef struct cost {
  double flops, seconds, entries; /* seconds: calls */
} cost;

static double rows_below(const tsi_symbolic *symbolic, tsi_index s) {
  return (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
}

/* Adds a whole small front. */
static void add_front(const tsi_factorization *dag, tsi_index s, cost *c) {
  const tsi_symbolic *symbolic = dag->symbolic;
  const double w = symbolic->start[s + 1] - symbolic->start[s], m = rows_below(symbolic, s);
  c->flops += RANGE_FLOPS * tsi_front_flops(symbolic, dag->method, s);
  c->seconds += dag->method == TRISTAR_METHOD_LLT ? FRONT_SECONDS : PIVOTED_SECONDS;
  c->entries += PACK_TIMES * w * (w + (dag->method == TRISTAR_METHOD_LU ? 2 : 1) * m);
  for (tsi_index k = dag->child_ptr[s]; k < dag->child_ptr[s + 1]; k++) {
    const double rows = rows_below(symbolic, dag->child[k]);
    c->entries += ADD_TIMES * rows * rows;
  }
}

static double cube(double a) {
  return a * a * a;
}

/* Entries of the columns of a front; of the rows of a shared front. */
static double assembled_entries(const tsi_factorization *dag, const tsi_front_step *part,
                                const tsi_front_tiles *t) {
  if (!tsi_factorization_shares(dag, part->first)) return (double)(part->column_end - part->column) * t->f;
  const bool lu = dag->method == TRISTAR_METHOD_LU;
  return (double)(part->row_end - part->row) * (lu ? t->f : part->row_end);
}

/* Adds the packing of a panel; of a shared front: of a stripe. */
static void add_pack(const tsi_factorization *dag, const tsi_front_step *part, const tsi_front_tiles *t,
                     cost *c) {
  const double streams = dag->method == TRISTAR_METHOD_LU ? 2 : 1;
  const bool shared = tsi_factorization_shares(dag, part->first);
  const tsi_index begin = shared ? part->row : tsi_front_tile_begin(t, part->panel - t->panel);
  const double width = shared ? part->row_end - part->row : tsi_front_tile_rows(t, part->panel - t->panel);
  const double length = shared ? tsi_index_min(part->row_end, t->w) : t->f - begin;
  c->entries += PACK_TIMES * streams * width * length;
  if (begin < t->w) c->flops += INVERSE_FLOPS * streams * cube(width);
}

/* Parts of complements are copied before they are sent. */
static double copied_entries(const tsi_factorization *dag, tsi_index step) {
  double scalars = 0;
  for (tsi_index m = dag->send_ptr[step]; m < dag->send_ptr[step + 1]; m++) {
    const tsi_front_parcel *parcel = &dag->out[dag->send[m].parcel];
    if (parcel->kind == TSI_PARCEL_PART && dag->send[m].piece == 0) scalars += (double)parcel->scalars;
  }
  return 2 * scalars;
}

static void add_tiled(const tsi_factorization *dag, tsi_step_kind kind, const tsi_front_step *part, cost *c) {
  const tsi_front_tiles t = tsi_factorization_tiles(dag, part->first);
  switch (kind) {
  case TSI_STEP_FRONT_ASSEMBLE:
    c->entries += ASSEMBLE_TIMES * assembled_entries(dag, part, &t);
    return;
  case TSI_STEP_FRONT_DIAGONAL:
    c->flops += (dag->method == TRISTAR_METHOD_LLT ? 1 : DIAGONAL_FLOPS) * part->work;
    return;
  case TSI_STEP_FRONT_BELOW:
  case TSI_STEP_FRONT_RIGHT:
    c->flops += TILE_FLOPS * part->work;
    return;
  case TSI_STEP_FRONT_SCHUR:
    c->flops += part->work;
    return;
  case TSI_STEP_FRONT_PACK:
    add_pack(dag, part, &t, c);
    return;
  default: /* opens, or ends */
    return;
  }
}

void tsi_front_cost_of(const tsi_front_rates *rates, const tsi_factorization *dag, tsi_index step,
                       double *seconds, double *bytes) {
  const tsi_front_step *part = &dag->part[step];
  const tsi_step_kind kind = dag->steps->step[step].kind;
  cost c = {.entries = copied_entries(dag, step)};
  cost small = {.entries = 0};
  if (kind == TSI_STEP_SUBTREE || kind == TSI_STEP_FRONT)
    for (tsi_index s = part->first; s <= part->last; s++) add_front(dag, s, &small);
  else if (kind != TSI_STEP_ARRIVAL)
    add_tiled(dag, kind, part, &c);
  *seconds = (c.flops + small.flops) * rates->flop_seconds + small.seconds +
             small.entries * rates->scalar_bytes * rates->byte_seconds;
  *bytes = c.entries * rates->scalar_bytes;
}
