/* See core_inverse.h. */
#include "tools/gpu/core_inverse.h"

static void *room(tsi_count count, size_t bytes) {
  void *at = aligned_alloc(TSI_CACHE_LINE,
                           ((size_t)count * bytes + TSI_CACHE_LINE) / TSI_CACHE_LINE * TSI_CACHE_LINE);
  CHECK(at != NULL);
  memset(at, 0, (size_t)count * bytes);
  return at;
}

static void open_group(const core_inverse *c, size_t bytes, tsi_fsai_group *g) {
  const tsi_index lanes = c->kernels->lanes;
  g->most = c->limits.steps * c->limits.per_step;
  g->stride = g->most + 1;
  g->reach = room(lanes, sizeof *g->reach);
  for (tsi_index l = 0; l < lanes; l++)
    for (int h = 0; h < TSI_FSAI_GROUP_HOMES; h++) g->reach[l].home[h].column = TSI_NONE;
  g->l = room((tsi_count)g->most * g->stride * lanes, bytes);
  g->inverse = room((tsi_count)g->most * lanes, bytes);
  g->b = room((tsi_count)g->most * lanes, bytes);
  g->z = room((tsi_count)g->most * lanes, bytes);
  g->g = room((tsi_count)g->most * lanes, bytes);
  g->psi = room(lanes, sizeof *g->psi);
  g->psi_0 = room(lanes, sizeof *g->psi_0);
  g->gradient = room(TSI_FSAI_GROUP_SLOTS, bytes);
  g->size = room(TSI_FSAI_GROUP_SLOTS, sizeof *g->size);
  g->row = room(g->most, bytes);
  g->picked = room((tsi_count)c->limits.per_step * lanes, sizeof *g->picked);
}
static void close_group(tsi_fsai_group *g) {
  void *const all[] = {g->reach, g->l,     g->inverse,  g->b,    g->z,   g->g,
                       g->psi,   g->psi_0, g->gradient, g->size, g->row, g->picked};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

static void open_work(core_inverse *c, tsi_index longest, size_t bytes) {
  tsi_fsai_work *w = &c->work;
  const tsi_count most = c->most, reach = (most + 1) * longest, slots = most + reach,
                  stride = (most + TSI_FSAI_LANES - 1) / TSI_FSAI_LANES * TSI_FSAI_LANES;
  w->most = c->most;
  w->stride = (tsi_index)stride;
  w->place = room(c->n, sizeof *w->place);
  for (tsi_index j = 0; j < c->n; j++) w->place[j] = TSI_NONE;
  w->column = room(slots, sizeof *w->column);
  w->position = room(slots, sizeof *w->position);
  w->gradient = room(slots, bytes);
  w->first = room(most + 2, sizeof *w->first);
  w->slot = room(reach, sizeof *w->slot);
  w->pattern = room(most, sizeof *w->pattern);
  w->by_rows = room(most * stride, bytes);
  w->by_columns = room(most * stride, bytes);
  w->inverse = room(stride, bytes);
  w->z = room(stride, bytes);
  w->g = room(stride, bytes);
  w->picked = room(c->limits.per_step, sizeof *w->picked);
  w->magnitude = room(c->limits.per_step, sizeof *w->magnitude);
  open_group(c, bytes, &w->group);
}
static void close_work(tsi_fsai_work *w) {
  void *const all[] = {w->place, w->column,  w->position, w->gradient,   w->first,
                       w->slot,  w->pattern, w->by_rows,  w->by_columns, w->inverse,
                       w->z,     w->g,       w->picked,   w->magnitude};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
  close_group(&w->group);
}

void core_inverse_open(const csr *a, const typed *t, tsi_index longest, const tsi_fsai_limits *limits,
                       core_inverse *c) {
  *c =
      (core_inverse){.kernels = tsi_fsai_kernels_select((char)t->scalar, NULL),
                     .a = {a->ptr, a->index, a->values},
                     .limits = *limits,
                     .n = a->n,
                     .most = (tsi_index)tsi_count_min(a->n - 1, (tsi_count)limits->steps * limits->per_step)};
  const size_t entries = (size_t)c->most + 1;
  CHECK(c->kernels != NULL && limits->steps * limits->per_step <= TSI_FSAI_GROUP_MOST);
  c->row = room(c->n, sizeof *c->row);
  c->index = room((tsi_count)entries * c->n, sizeof *c->index);
  c->values = room((tsi_count)entries * c->n, t->bytes);
  for (tsi_index i = 0; i < c->n; i++)
    c->row[i] = (tsi_fsai_row){.i = i,
                               .index = c->index + (size_t)i * entries,
                               .values = (char *)c->values + (size_t)i * entries * t->bytes};
  open_work(c, longest, t->bytes);
}

void core_inverse_run(core_inverse *c) {
  for (tsi_index i = 0; i < c->n; i += c->kernels->lanes)
    c->kernels->rows(&c->a, &c->limits, tsi_index_min(c->kernels->lanes, c->n - i), c->row + i, &c->work);
}

void core_inverse_close(core_inverse *c) {
  close_work(&c->work);
  free(c->row);
  free(c->index);
  free(c->values);
}
