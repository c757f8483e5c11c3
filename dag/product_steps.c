/* Lists the steps of a solve by products: see product_steps.h. */
#include "dag/product_steps.h"

double tsi_product_block_bytes(const tsi_product_steps_source *source, bool backward, tsi_index b) {
  const tsi_products *products = source->products[backward];
  const tsi_row_block *block = &products->block[b];
  return (double)(products->ptr[block->end] - products->ptr[block->first]) *
         (double)(source->scalar_bytes + sizeof(tsi_index));
}

/* Steps and levels under construction: every new step belongs to the open level. */
typedef struct builder {
  const tsi_product_steps_source *source;
  tsi_steps *steps;
  tsi_levels *levels;
} builder;

static void add_step(builder *b, tsi_step_kind kind, tsi_index argument, double bytes) {
  b->levels->item[b->steps->count] = b->steps->count;
  b->steps->step[b->steps->count++] =
      (tsi_step){.kind = kind, .argument = argument, .priority = 1, .bytes = bytes};
}

static void end_level(builder *b) {
  b->levels->ptr[++b->levels->count] = b->steps->count;
}

static void add_chunks(builder *b, tsi_step_kind kind) {
  const tsi_chunks *chunks = b->source->chunks;
  for (tsi_index c = 0; c < chunks->count; c++)
    add_step(b, kind, c, 2.0 * tsi_chunk_columns(chunks, c) * (double)b->source->scalar_bytes);
  end_level(b);
}

static void add_products(builder *b, bool backward) {
  const tsi_products *products = b->source->products[backward];
  for (tsi_index stage = 0; stage < products->stages; stage++) {
    for (tsi_index k = products->block_ptr[stage]; k < products->block_ptr[stage + 1]; k++)
      add_step(b, backward ? TSI_STEP_BACKWARD_ROWS : TSI_STEP_FORWARD_ROWS, k,
               tsi_product_block_bytes(b->source, backward, k));
    end_level(b);
  }
}

static tristar_status allocate_lists(tsi_env *env, builder *b) {
  const tsi_products *forward = b->source->products[0], *backward = b->source->products[1];
  tsi_index most;
  if (!tsi_to_index(3 * (tsi_count)b->source->chunks->count + forward->blocks + backward->blocks, &most))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(TSI_ALLOC_ZERO(env, b->steps, 1));
  TSI_TRY(TSI_ALLOC_IN(b->steps, b->steps->step, most));
  TSI_TRY(TSI_ALLOC_ZERO(env, b->levels, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(b->levels, b->levels->ptr, (tsi_count)forward->stages + backward->stages + 4));
  return TSI_ALLOC_IN(b->levels, b->levels->item, most);
}

tristar_status tsi_product_steps_create(tsi_env *env, const tsi_product_steps_source *source,
                                        tsi_steps **steps, tsi_levels **levels) {
  tristar_status status = TRISTAR_OK;
  builder b = {.source = source};
  TSI_TRY_OUT(allocate_lists(env, &b));
  add_chunks(&b, TSI_STEP_READ);
  add_products(&b, false);
  if (source->diagonal) add_chunks(&b, TSI_STEP_DIAGONAL);
  add_products(&b, true);
  add_chunks(&b, TSI_STEP_WRITE);
  if (env->check) TSI_TRY_OUT(tsi_product_steps_check(env, b.steps, b.levels, source));
out:
  if (status != TRISTAR_OK) {
    TSI_FREE(env, b.steps);
    TSI_FREE(env, b.levels);
  }
  *steps = b.steps;
  *levels = b.levels;
  return status;
}

/* ---- Accesses ----------------------------------------------------------------------------------------- */

typedef struct described {
  const tsi_product_steps_source *source;
  const tsi_steps *steps;
} described;

/* Adds the rows of blocks first .. end - 1 that are set, or those that are added to, as runs of consecutive
 * rows. */
static void add_rows(tsi_access_lister *lister, tsi_access_mode mode, tsi_buffer_kind kind,
                     const tsi_products *products, tsi_index first, tsi_index end, bool add) {
  for (tsi_index b = first; b < end; b++) {
    const tsi_row_block *block = &products->block[b];
    tsi_count r = block->first;
    while (block->add == add && r < block->end) {
      tsi_count next = r + 1;
      while (next < block->end && products->row[next] == products->row[next - 1] + 1) next++;
      tsi_access_add(lister, mode, kind, 0, products->row[r], products->row[next - 1] + 1);
      r = next;
    }
  }
}

/* A block reads the columns of the panels of its level; backward also the rows below these. */
static void list_block(const tsi_product_steps_source *source, bool backward, tsi_index b,
                       tsi_access_lister *lister) {
  const tsi_products *products = source->products[backward], *forward = source->products[0];
  tsi_index stage = 0;
  while (products->block_ptr[stage + 1] <= b) stage++;
  const tsi_index level = tsi_product_level(products, stage), first = forward->block_ptr[level],
                  end = forward->block_ptr[level + 1];
  add_rows(lister, TSI_ACCESS_R, backward ? TSI_BUFFER_Y : TSI_BUFFER_T, forward, first, end, false);
  if (backward) add_rows(lister, TSI_ACCESS_R, TSI_BUFFER_T, forward, first, end, true);
  if (products->block[b].add)
    add_rows(lister, TSI_ACCESS_RW, TSI_BUFFER_T, products, b, b + 1, true);
  else
    add_rows(lister, TSI_ACCESS_W, backward ? TSI_BUFFER_T : TSI_BUFFER_Y, products, b, b + 1, false);
}

void tsi_access_add_move(const tsi_chunks *chunks, const tsi_step *step, bool in_place,
                         tsi_access_lister *lister) {
  const tsi_index c = step->argument, first = chunks->column[c], columns = tsi_chunk_columns(chunks, c);
  const bool reads = step->kind == TSI_STEP_READ;
  tsi_access_add(lister, reads ? TSI_ACCESS_R : TSI_ACCESS_W, reads || in_place ? TSI_BUFFER_B : TSI_BUFFER_X,
                 c, 0, columns);
  tsi_access_add(lister, reads ? TSI_ACCESS_W : TSI_ACCESS_R, TSI_BUFFER_T, 0, first, first + columns);
}

static void list_step(const void *arg, tsi_index number, tsi_access_lister *lister) {
  const described *d = arg;
  const tsi_step *step = &d->steps->step[number];
  const tsi_index c = step->argument;
  if (step->kind == TSI_STEP_FORWARD_ROWS || step->kind == TSI_STEP_BACKWARD_ROWS) {
    list_block(d->source, step->kind == TSI_STEP_BACKWARD_ROWS, c, lister);
    return;
  }
  const tsi_chunks *chunks = d->source->chunks;
  if (step->kind == TSI_STEP_DIAGONAL)
    tsi_access_add(lister, TSI_ACCESS_RW, TSI_BUFFER_Y, 0, chunks->column[c], chunks->column[c + 1]);
  else
    tsi_access_add_move(chunks, step, false, lister);
}

tristar_status tsi_product_steps_list_accesses(tsi_env *env, const tsi_steps *steps,
                                               const tsi_product_steps_source *source,
                                               tsi_access_list **out) {
  const described d = {source, steps};
  return tsi_access_list_create(env, steps->count, list_step, &d, out);
}

tristar_status tsi_product_steps_check(tsi_env *env, const tsi_steps *steps, const tsi_levels *levels,
                                       const tsi_product_steps_source *source) {
  TSI_OWNED tsi_access_list *accesses = NULL;
  TSI_TRY(tsi_product_steps_list_accesses(env, steps, source, &accesses));
  return tsi_access_check_levels(env, accesses, levels);
}
