/* See problem.h. */
#include "tools/gpu/problem.h"

#include "codelets/cpu/front.h"
#include "runtime/machine/devices.h"

static tsi_index below(const tsi_symbolic *sy, tsi_index s) {
  return (tsi_index)(sy->row_ptr[s + 1] - sy->row_ptr[s]);
}

static void *room(tsi_count count, size_t bytes) {
  void *at = aligned_alloc(TSI_CACHE_LINE, ((size_t)count * bytes / TSI_CACHE_LINE + 1) * TSI_CACHE_LINE);
  CHECK_MSG(at != NULL, "no memory for %lld elements of %zu bytes", (long long)count, bytes);
  return at;
}

/* ---- L by rows ----------------------------------------------------------------------------------------- */

/* Calls do_entry(context, i, j) for all entries of L, column by column, with ascending rows. */
static void for_entries(const tsi_symbolic *sy, void (*do_entry)(void *context, tsi_index i, tsi_index j),
                        void *context) {
  for (tsi_index s = 0; s < sy->count; s++)
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) {
      for (tsi_index i = j; i < sy->start[s + 1]; i++) do_entry(context, i, j);
      for (tsi_count r = sy->row_ptr[s]; r < sy->row_ptr[s + 1]; r++) do_entry(context, sy->rows[r], j);
    }
}

static void count_entry(void *context, tsi_index i, tsi_index j) {
  problem *p = context;
  p->lower.ptr[i + 1]++;
  p->upper.ptr[j + 1]++;
}

/* Returns a pseudo-random entry with parts in [-1, 1), a function of i and j. */
static number made_up(tsi_index i, tsi_index j, bool is_complex) {
  double part[2];
  fill_random(part, 2, ((uint64_t)i << 32 | (uint32_t)j) * 0x9e3779b97f4a7c15u);
  number value = part[0];
  if (is_complex) __imag__ value = part[1];
  return value;
}

typedef struct filling {
  problem *p;
  tsi_count *next; /* n: position of the next entry of each row of L */
  tsi_count at;    /* position in L^T */
} filling;

/* Off-diagonal entries are at most 1/4 divided by the number of entries of the row and of the column. So sums
 * stay below 1/2, also of complex numbers. */
static void fill_entry(void *context, tsi_index i, tsi_index j) {
  filling *f = context;
  problem *p = f->p;
  const tsi_count in_row = p->lower.ptr[i + 1] - p->lower.ptr[i],
                  in_column = p->upper.ptr[j + 1] - p->upper.ptr[j];
  const number value =
      i == j ? 1.5 : made_up(i, j, p->t->is_complex) / (4 * (double)tsi_count_max(in_row, in_column));
  const tsi_count at = f->next[i]++;
  p->lower.index[at] = j;
  put(p->t, p->lower.values, at, value);
  p->upper.index[f->at] = i;
  put(p->t, p->upper.values, f->at++, value);
}

static csr csr_of(tsi_index n) {
  csr m = {.n = n, .ptr = room(n + 1, sizeof(tsi_count))};
  memset(m.ptr, 0, ((size_t)n + 1) * sizeof *m.ptr);
  return m;
}
static void csr_reserve(csr *m, size_t bytes) {
  for (tsi_index i = 0; i < m->n; i++) m->ptr[i + 1] += m->ptr[i];
  m->index = room(m->ptr[m->n], sizeof *m->index);
  m->values = room(m->ptr[m->n], bytes);
}
static void csr_free(csr *m) {
  free(m->ptr);
  free(m->index);
  free(m->values);
}

static void fill_rows(problem *p) {
  const tsi_index n = p->a.n;
  filling f = {.p = p, .next = room(n, sizeof *f.next)};
  p->lower = csr_of(n);
  p->upper = csr_of(n);
  for_entries(p->s.symbolic, count_entry, p);
  csr_reserve(&p->lower, p->t->bytes);
  csr_reserve(&p->upper, p->t->bytes);
  memcpy(f.next, p->lower.ptr, (size_t)n * sizeof *f.next);
  for_entries(p->s.symbolic, fill_entry, &f);
  free(f.next);
  p->inverse = room(n, p->t->bytes);
  for (tsi_index j = 0; j < n; j++) put(p->t, p->inverse, j, 1 / 1.5);
}

/* ---- L in panels --------------------------------------------------------------------------------------- */

/* L^T stores the columns of a supernode one after the other, without entries above the diagonal. */
static void pack_supernode(const problem *p, tsi_index s, void *work) {
  const tsi_symbolic *sy = p->s.symbolic;
  const tsi_panels *panels = p->s.panels;
  const tsi_front_kernels *kernels = tsi_front_kernels_select((char)p->t->scalar);
  const tsi_index w = sy->start[s + 1] - sy->start[s], m = below(sy, s);
  const tsi_front front = {.w = w, .m = m, .f = w + m, .p = calloc((size_t)(w + m) * (size_t)w, p->t->bytes)};
  CHECK(front.p != NULL);
  for (tsi_index k = 0; k < w; k++) {
    const tsi_count from = p->upper.ptr[sy->start[s] + k];
    memcpy((char *)front.p + ((size_t)k * (size_t)front.f + (size_t)k) * p->t->bytes,
           (const char *)p->upper.values + (size_t)from * p->t->bytes, (size_t)(front.f - k) * p->t->bytes);
  }
  for (tsi_index k = panels->first[s]; k < panels->first[s + 1]; k++)
    kernels->pack(&front, panels->start[k] - sy->start[s], tsi_panel_width(panels, k), TSI_INVERSE_DIAGONAL,
                  (char *)p->stream + (size_t)p->panel_values[k] * p->t->bytes, NULL, work);
  free(front.p);
}

static void pack(problem *p) {
  const tsi_panels *panels = p->s.panels;
  p->panel_values = room(panels->count + 1, sizeof *p->panel_values);
  p->panel_values[0] = 0;
  for (tsi_index q = 0; q < panels->count; q++)
    p->panel_values[q + 1] =
        p->panel_values[q] + tsi_panel_size(tsi_panel_width(panels, q), panels->height[q]);
  const tsi_count scalars = p->panel_values[panels->count] + TSI_STREAM_PAD;
  p->stream = room(scalars, p->t->bytes);
  memset(p->stream, 0, (size_t)scalars * p->t->bytes);
  void *work = room(TSI_PANEL_WIDTH_MAX * TSI_PANEL_WIDTH_MAX, p->t->bytes);
  for (tsi_index s = 0; s < p->s.symbolic->count; s++) pack_supernode(p, s, work);
  free(work);
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static void build_device(problem *p, double node_bytes) {
  const tsi_side side = {p->s.symbolic, p->s.panels};
  const tsi_device_options options = {.node_bytes = node_bytes,
                                      .group_bytes = node_bytes / 2,
                                      .warp_bytes = node_bytes / 2,
                                      .scalar_bytes = p->t->bytes,
                                      .costs = tsi_device_costs_of(tsi_device_get(0))};
  const tsi_chunk_options cut = tsi_device_chunk_options(&options);
  CHECK_OK(tsi_chunks_create(&p->env, 1, &side, &cut, &p->device_chunks));
  CHECK_OK(tsi_sweep_create(&p->env, p->device_chunks, p->s.panels, p->t->bytes, &p->device_sweep));
  const tsi_tables_source source = {.chunks = p->device_chunks,
                                    .sweep = p->device_sweep,
                                    .panels = p->s.panels,
                                    .panel_values = p->panel_values,
                                    .rows_of = p->device_chunks};
  CHECK_OK(tsi_device_tables_create(&p->env, &source, TSI_INVERSE_DIAGONAL, &options, &p->device));
  CHECK_OK(tsi_device_tables_check(&p->env, &p->device, &source));
}

void problem_open(tsi_index k, const typed *t, double node_bytes, problem *p) {
  static const structure_options cut = {.width = TSI_PANEL_WIDTH_MAX,
                                        .ceiling_bytes = 4e6,
                                        .floor_bytes = TSI_CHUNK_FLOOR_BYTES,
                                        .slice_bytes = 1e6};
  *p = (problem){.t = t};
  tsi_env_init(&p->env);
  p->a = pattern_grid(k, k, k, false);
  CHECK_OK(structure_build(&p->env, &p->a, &cut, &p->s));
  fill_rows(p);
  pack(p);
  const tsi_tables_source source = {.chunks = p->s.chunks,
                                    .sweep = p->s.sweep,
                                    .panels = p->s.panels,
                                    .panel_values = p->panel_values,
                                    .rows_of = p->s.chunks};
  CHECK_OK(tsi_tables_create(p->s.chunks, &source, &p->tables));
  build_device(p, node_bytes);
}

void problem_close(problem *p) {
  tsi_device_tables_destroy(&p->device);
  TSI_FREE(&p->env, p->device_sweep);
  TSI_FREE(&p->env, p->device_chunks);
  structure_release(&p->env, &p->s);
  pattern_free(&p->a);
  csr_free(&p->lower);
  csr_free(&p->upper);
  free(p->inverse);
  free(p->panel_values);
  free(p->stream);
}

double problem_bytes(const problem *p) {
  return (double)p->s.symbolic->nnz_exact * (double)p->t->bytes;
}

void problem_multiply(const problem *p, const csr *m, const number *x, number *y) {
  for (tsi_index i = 0; i < m->n; i++) {
    y[i] = 0;
    for (tsi_count e = m->ptr[i]; e < m->ptr[i + 1]; e++) y[i] += get(p->t, m->values, e) * x[m->index[e]];
  }
}
