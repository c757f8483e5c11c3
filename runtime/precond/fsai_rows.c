/* The rows of G, and G^H: see fsai.h. */
#include "runtime/base/grow.h"
#include "runtime/precond/fsai_state.h"
#include "runtime/precond/row_failure.h"

#define BLOCK_ROWS 64
/* Bytes that could be read while an entry of G is computed, for each entry of a row of A. */
#define BYTES_OF_ENTRY 200

/* One computation. Its scalars are those of the set-up, which may be single. */
typedef struct numeric {
  tsi_fsai *f;
  tsi_matrix_rows a;
  tsi_count longest; /* row of A */
  const tsi_sparse_kernels *sparse;
  const tsi_fsai_kernels *kernels;
  tsi_fsai_limits limits;
  const tsi_entries *given; /* patterns to begin with; NULL: diagonals */
  tsi_index diagonals;      /* 1: they end with the diagonal */
  tsi_entries rows;         /* G: ptr tells where rows have room */
  tsi_index *entries;       /* n: of each row */
  tsi_fsai_work *work;      /* of each member */
  int members;
  tsi_row_failure failure;
} numeric;

/* ---- Room ---------------------------------------------------------------------------------------------- */

static tsi_index given_of(const numeric *c, tsi_index i) {
  return c->given ? (tsi_index)(c->given->ptr[i + 1] - c->given->ptr[i]) - c->diagonals : 0;
}

/* Room for as many entries as rows can get. */
static tristar_status make_room(tsi_env *env, numeric *c, tsi_index *most) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = c->f->n;
  const tsi_count joins = (tsi_count)c->limits.steps * c->limits.per_step;
  *most = 0;
  TSI_TRY(tsi_entries_begin(env, n, c->sparse->scalar_bytes, &c->rows));
  for (tsi_index i = 0; i < n; i++) {
    const tsi_index beside = (tsi_index)tsi_count_min(i, given_of(c, i) + joins);
    c->rows.ptr[i + 1] = (tsi_count)beside + 1;
    *most = tsi_index_max(*most, beside);
  }
  TSI_TRY(tsi_entries_reserve(env, &c->rows));
  TSI_TRY(TSI_ALLOC(env, c->entries, n));
out:
  return status;
}

static tristar_status allocate(tsi_env *env, const numeric *c, tsi_count count, void **scalars) {
  return tsi_allocate(env, (size_t)count, c->sparse->scalar_bytes, __func__, __FILE__, __LINE__, scalars);
}

static tristar_status allocate_zero(tsi_env *env, const numeric *c, tsi_count count, void **scalars) {
  return tsi_allocate_zero(env, (size_t)count, c->sparse->scalar_bytes, __func__, __FILE__, __LINE__,
                           scalars);
}

static tristar_status begin_work(tsi_env *env, const numeric *c, tsi_index most, tsi_fsai_work *w) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = c->f->n;
  const tsi_count reach = tsi_count_min(((tsi_count)most + 1) * c->longest, c->a.ptr[n]);
  const tsi_count slots = tsi_count_min((tsi_count)most + reach, n);
  const tsi_count stride = ((tsi_count)most + TSI_FSAI_LANES - 1) / TSI_FSAI_LANES * TSI_FSAI_LANES;
  w->most = most;
  w->stride = (tsi_index)stride;
  TSI_TRY(TSI_ALLOC(env, w->place, n));
  for (tsi_index j = 0; j < n; j++) w->place[j] = TSI_NONE;
  TSI_TRY(TSI_ALLOC(env, w->column, slots));
  TSI_TRY(TSI_ALLOC(env, w->position, slots));
  TSI_TRY(allocate(env, c, slots, &w->gradient));
  TSI_TRY(TSI_ALLOC(env, w->first, (tsi_count)most + 2));
  TSI_TRY(TSI_ALLOC(env, w->slot, reach));
  TSI_TRY(allocate(env, c, reach, &w->value));
  TSI_TRY(TSI_ALLOC(env, w->pattern, most));
  TSI_TRY(allocate(env, c, most * stride, &w->by_rows));
  TSI_TRY(allocate_zero(env, c, most * stride, &w->by_columns));
  TSI_TRY(allocate(env, c, stride, &w->inverse));
  TSI_TRY(allocate(env, c, stride, &w->z));
  TSI_TRY(allocate_zero(env, c, stride, &w->g));
  TSI_TRY(TSI_ALLOC(env, w->picked, c->limits.per_step));
  TSI_TRY(TSI_ALLOC(env, w->magnitude, c->limits.per_step));
out:
  return status;
}

static void finish_work(tsi_env *env, tsi_fsai_work *w) {
  TSI_FREE(env, w->place);
  TSI_FREE(env, w->column);
  TSI_FREE(env, w->position);
  TSI_FREE(env, w->gradient);
  TSI_FREE(env, w->first);
  TSI_FREE(env, w->slot);
  TSI_FREE(env, w->value);
  TSI_FREE(env, w->pattern);
  TSI_FREE(env, w->by_rows);
  TSI_FREE(env, w->by_columns);
  TSI_FREE(env, w->inverse);
  TSI_FREE(env, w->z);
  TSI_FREE(env, w->g);
  TSI_FREE(env, w->picked);
  TSI_FREE(env, w->magnitude);
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

static void run_block(void *context, tsi_index block, int member) {
  numeric *c = context;
  const tsi_index first = block * BLOCK_ROWS, end = tsi_index_min(c->f->n - first, BLOCK_ROWS) + first;
  for (tsi_index i = first; i < end && !tsi_row_failure_before(&c->failure, i); i++) {
    const tsi_count at = c->rows.ptr[i];
    char *values = (char *)c->rows.item + (size_t)at * c->sparse->scalar_bytes;
    const tsi_breakdown_kind kind =
        c->kernels->row(&c->a, i, &c->limits, c->given ? c->given->index + c->given->ptr[i] : NULL,
                        given_of(c, i), &c->work[member], c->rows.index + at, values, &c->entries[i]);
    tsi_row_failure_keep(&c->failure, kind, i);
  }
}

static tristar_status run(tsi_env *env, numeric *c, tsi_index most) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = c->f->n, blocks = (tsi_index)(((int64_t)n + BLOCK_ROWS - 1) / BLOCK_ROWS);
  const double mean = n > 0 ? (double)c->a.ptr[n] / n : 0;
  const double bytes = BYTES_OF_ENTRY * mean * (double)c->rows.ptr[n];
  double start_seconds;
  tsi_crew crew = {.tasks = NULL};
  TSI_TRY(
      tsi_crew_begin(c->f->ts, "inverse_rows", c->f->options.engine, blocks, bytes, &start_seconds, &crew));
  c->members = crew.workers;
  TSI_TRY(TSI_ALLOC_ZERO(env, c->work, c->members));
  for (int m = 0; m < c->members; m++) TSI_TRY(begin_work(env, c, most, &c->work[m]));
  TSI_TRY(tsi_crew_run(&crew, run_block, c));
out:
  tsi_crew_finish(&crew);
  return status;
}

/* Rows move together, and what is left of the room is given back. */
static tristar_status compress(tsi_env *env, numeric *c) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = c->f->n;
  const size_t bytes = c->sparse->scalar_bytes;
  const tsi_count room = c->rows.ptr[n];
  char *item = c->rows.item;
  tsi_count at = 0;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_count from = c->rows.ptr[i];
    const size_t count = (size_t)c->entries[i];
    memmove(c->rows.index + at, c->rows.index + from, count * sizeof *c->rows.index);
    memmove(item + (size_t)at * bytes, item + (size_t)from * bytes, count * bytes);
    c->rows.ptr[i] = at;
    at += c->entries[i];
  }
  c->rows.ptr[n] = at;
  if (at == room) goto out;
  TSI_TRY(tsi_grow(env, (void **)&c->rows.index, sizeof *c->rows.index, at, at));
  TSI_TRY(tsi_grow(env, &c->rows.item, bytes, at, at));
out:
  return status;
}

/* ---- Precisions ---------------------------------------------------------------------------------------- */

/* A complex number is two reals. */
static tsi_index parts_of(const tsi_fsai *f) {
  return f->sparse->is_complex ? 2 : 1;
}

static bool in_single(const tsi_fsai *f) {
  return f->options.single && (f->scalar == 'd' || f->scalar == 'z');
}

/* The values of A in single precision, row by row. */
static tristar_status round_values(tsi_env *env, const numeric *c, const tsi_factor_rows *a, void **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_sparse_kernels *reals = tsi_sparse_kernels_select('s');
  const tsi_index parts = parts_of(c->f);
  float *to;
  TSI_TRY(allocate(env, c, a->ptr[a->n], out));
  to = *out;
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count at = parts * a->ptr[i];
    reals->fill((tsi_index)(parts * (a->ptr[i + 1] - a->ptr[i])), (const double *)a->values + at, to + at);
  }
out:
  return status;
}

static tristar_status widen_rows(tsi_env *env, numeric *c) {
  tristar_status status = TRISTAR_OK;
  const tsi_count count = c->rows.ptr[c->f->n];
  void *wide = NULL;
  TSI_TRY(tsi_allocate(env, (size_t)count, c->f->sparse->scalar_bytes, __func__, __FILE__, __LINE__, &wide));
  tsi_sparse_kernels_select('s')->part(parts_of(c->f) * count, c->rows.item, TSI_PART_REAL, wide);
  TSI_FREE(env, c->rows.item);
  c->rows.item = wide;
  c->rows.bytes = c->f->sparse->scalar_bytes;
out:
  return status;
}

/* ---- G and G^H ----------------------------------------------------------------------------------------- */

static tristar_status make_adjoint(tsi_fsai *f) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &f->ts->env;
  const size_t bytes = f->sparse->scalar_bytes;
  if (f->upper.ptr == NULL) {
    TSI_TRY(tsi_entries_begin(env, f->n, bytes, &f->upper));
    f->upper.ptr[f->n] = f->lower.ptr[f->n];
    TSI_TRY(tsi_entries_allocate(env, &f->upper));
  }
  tsi_entries_transpose(&f->lower, &f->upper);
  for (tsi_index i = 0; i < f->n && f->sparse->is_complex; i++)
    tsi_incomplete_kernels_select(f->scalar)->conjugate((tsi_index)(f->upper.ptr[i + 1] - f->upper.ptr[i]),
                                                        (char *)f->upper.item +
                                                            (size_t)f->upper.ptr[i] * bytes);
out:
  if (status != TRISTAR_OK) tsi_entries_finish(env, &f->upper);
  return status;
}

/* The first time patterns begin as `start`, and grow; then they are those of G. */
static void choose_patterns(numeric *c) {
  const tristar_precond_options *o = &c->f->options;
  const tsi_index n = c->f->n;
  c->limits = (tsi_fsai_limits){.per_step = 1};
  c->given = &c->f->lower;
  c->diagonals = 1;
  if (c->f->lower.ptr != NULL) return;
  c->limits = (tsi_fsai_limits){.steps = (tsi_index)tsi_count_min(o->steps, n),
                                .per_step = tsi_index_max(1, (tsi_index)tsi_count_min(o->per_step, n)),
                                .reduction = o->reduction,
                                .postfilter = o->postfilter};
  c->given = c->f->start.ptr != NULL ? &c->f->start : NULL;
  c->diagonals = 0;
}

static void finish(tsi_env *env, numeric *c) {
  for (int m = 0; m < c->members && c->work != NULL; m++) finish_work(env, &c->work[m]);
  TSI_FREE(env, c->work);
  TSI_FREE(env, c->entries);
  tsi_entries_finish(env, &c->rows);
}

tristar_status tsi_fsai_compute(tsi_fsai *f, const tsi_factor_rows *a, tsi_breakdown *breakdown) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &f->ts->env;
  const bool single = in_single(f);
  const char scalar = !single ? f->scalar : f->scalar == 'd' ? 's' : 'c';
  numeric c = {.f = f,
               .a = {a->ptr, a->index, a->values},
               .sparse = tsi_sparse_kernels_select(scalar),
               .kernels = tsi_fsai_kernels_select(scalar, f->ts->isa)};
  void *rounded = NULL;
  tsi_index most;
  tsi_row_failure_clear(&c.failure);
  choose_patterns(&c);
  for (tsi_index i = 0; i < a->n; i++) c.longest = tsi_count_max(c.longest, a->ptr[i + 1] - a->ptr[i]);
  if (single) TSI_TRY(round_values(env, &c, a, &rounded));
  if (single) c.a.values = rounded;
  TSI_TRY(make_room(env, &c, &most));
  TSI_TRY(run(env, &c, most));
  *breakdown = tsi_row_failure_get(&c.failure);
  if (breakdown->kind != TSI_BREAKDOWN_NONE) goto out;
  TSI_TRY(compress(env, &c));
  if (single) TSI_TRY(widen_rows(env, &c));
  tsi_entries_finish(env, &f->lower);
  tsi_entries_finish(env, &f->start);
  f->lower = c.rows;
  c.rows = (tsi_entries){.ptr = NULL};
  TSI_TRY(make_adjoint(f));
  TSI_TRY(tsi_fsai_prepare_products(f));
out:
  TSI_FREE(env, rounded);
  finish(env, &c);
  return status;
}
