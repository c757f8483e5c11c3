/* Computes rows of G: see fsai_rows.h. */
#include "runtime/iterate/precond/fsai_rows.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/base/grow.h"
#include "runtime/context/crew.h"
#include "runtime/iterate/precond/fsai_node_rows.h"
#include "runtime/iterate/precond/fsai_pair.h"
#include "runtime/iterate/precond/hermitian_part.h"
#include "runtime/iterate/precond/power_pattern.h"
#include "runtime/iterate/precond/row_failure.h"

#define BLOCK_ROWS 64
/* Bytes read in the time of one entry of G, for each entry of a row of A. */
#define BYTES_OF_ENTRY 200
#define SLACK 8 /* up to 1 / SLACK of the allocated space may stay unused */

/* A computation. Its scalar type is the type of the set-up, which may be single. */
typedef struct numeric {
  const tsi_fsai_job *job;
  char scalar;
  tsi_matrix_rows a,
      whole;         /* the matrix from which patterns are computed; A. Both are the same for one factor. */
  tsi_count longest; /* entries of the longest row of A */
  tsi_fsai_limits limits;
  const tsi_sparse_kernels *sparse;
  const tsi_fsai_kernels *kernels;
  tsi_entries rows;    /* G; ptr: the space of each row */
  tsi_index most;      /* maximum number of columns of a pattern without the diagonal */
  tsi_index side;      /* the same for rows that are computed side by side */
  tsi_index *entries;  /* entries of each row */
  tsi_fsai_work *work; /* for each member */
  int members;
  tsi_fsai_pair pair; /* for two factors */
  tsi_row_failure failure;
} numeric;

/* ---- What is wanted ------------------------------------------------------------------------------------ */

bool tsi_fsai_is_single(const tristar_precond_options *options, char scalar) {
  return options->single && (scalar == 'd' || scalar == 'z');
}

tsi_fsai_job tsi_fsai_job_of(tristar_t *ts, const tristar_precond_options *o, char scalar,
                             const tsi_factor_rows *a) {
  const tsi_fsai_limits limits = {.steps = (tsi_index)tsi_count_min(o->steps, a->n),
                                  .per_step = tsi_index_max(1, (tsi_index)tsi_count_min(o->per_step, a->n)),
                                  .reduction = o->reduction,
                                  .postfilter = o->postfilter};
  return (tsi_fsai_job){.ts = ts,
                        .scalar = scalar,
                        .single = tsi_fsai_is_single(o, scalar),
                        .engine = o->engine,
                        .a = a,
                        .rows = a->n,
                        .limits = limits};
}

void tsi_fsai_keep_patterns(tsi_fsai_job *job, const tsi_entries *g) {
  job->given = g;
  job->diagonals = 1;
  job->limits = (tsi_fsai_limits){.per_step = 1};
}

tristar_status tsi_fsai_start(tsi_env *env, const tristar_precond_options *options, char scalar,
                              const tsi_factor_rows *a, const tsi_fsai_nodes *nodes, bool pair,
                              tsi_entries *start) {
  const tsi_count entries = a->ptr[a->n];
  if (options->power == 0) return TRISTAR_OK;
  TSI_SCRATCH(env, double, magnitude, entries);
  tsi_sparse_kernels_select(scalar)->part(entries, a->values, TSI_PART_MAGNITUDE, magnitude);
  if (pair) TSI_TRY(tsi_symmetrize_magnitudes(env, a, magnitude));
  TSI_TRY(tsi_power_pattern(env, a, magnitude, options->prefilter, options->power, nodes, start));
  if (nodes->count > 0) TSI_TRY(tsi_fsai_nodes_spread(env, nodes, start));
  return TRISTAR_OK;
}

/* ---- Room ---------------------------------------------------------------------------------------------- */

static tsi_index given_of(const tsi_fsai_job *job, tsi_index i) {
  const tsi_entries *given = job->given;
  return given != NULL ? (tsi_index)(given->ptr[i + 1] - given->ptr[i]) - job->diagonals : 0;
}

/* Allocates rows with space for the most entries that they can get. */
static tristar_status make_space(tsi_env *env, numeric *c) {
  const tsi_fsai_job *job = c->job;
  const tsi_count joins = (tsi_count)job->limits.steps * job->limits.per_step;
  TSI_TRY(tsi_entries_begin(env, job->rows, c->sparse->scalar_bytes, &c->rows));
  for (tsi_index l = 0; l < job->rows; l++) {
    const tsi_index i = job->first + l;
    const tsi_count all = given_of(job, i) + joins, before = tsi_count_min(i, all);
    c->rows.ptr[l + 1] = before + 1;
    c->most = tsi_index_max(c->most, (tsi_index)before);
    if (all <= TSI_FSAI_GROUP_MOST) c->side = tsi_index_max(c->side, (tsi_index)all);
  }
  TSI_TRY(tsi_entries_reserve(env, &c->rows));
  return TSI_ALLOC(env, c->entries, job->rows);
}

static tristar_status allocate(const numeric *c, tsi_count count, void **scalars) {
  return TSI_ALLOC_SIZED_IN(c->work, *scalars, count, c->sparse->scalar_bytes);
}

static tristar_status allocate_zero(const numeric *c, tsi_count count, void **scalars) {
  TSI_TRY(allocate(c, count, scalars));
  memset(*scalars, 0, (size_t)count * c->sparse->scalar_bytes);
  return TRISTAR_OK;
}

static tristar_status begin_group(const numeric *c, tsi_fsai_group *g) {
  const tsi_index lanes = c->kernels->lanes;
  g->most = c->side;
  g->stride = c->side + 1;
  TSI_TRY(TSI_ALLOC_IN(c->work, g->reach, lanes));
  for (tsi_index l = 0; l < lanes; l++)
    for (int h = 0; h < TSI_FSAI_GROUP_HOMES; h++) g->reach[l].home[h].column = TSI_NONE;
  TSI_TRY(allocate(c, (tsi_count)g->most * g->stride * lanes, &g->l));
  TSI_TRY(allocate(c, (tsi_count)g->most * lanes, &g->inverse));
  TSI_TRY(allocate(c, (tsi_count)g->most * lanes, &g->b));
  TSI_TRY(allocate(c, (tsi_count)g->most * lanes, &g->z));
  TSI_TRY(allocate(c, (tsi_count)g->most * lanes, &g->g));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c->work, g->psi, lanes));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c->work, g->psi_0, lanes));
  TSI_TRY(allocate(c, TSI_FSAI_GROUP_SLOTS, &g->gradient));
  TSI_TRY(TSI_ALLOC_IN(c->work, g->size, TSI_FSAI_GROUP_SLOTS));
  TSI_TRY(allocate(c, g->most, &g->row));
  /* a row that could pick more columns per step is computed alone */
  return TSI_ALLOC_IN(c->work, g->picked,
                      (tsi_count)tsi_index_min(TSI_FSAI_GROUP_MOST, c->job->limits.per_step) * lanes);
}

/* Maximum number of entries of the rows of A that belong to a row and its pattern. */
static tsi_count reach_of(const numeric *c) {
  return tsi_count_min(((tsi_count)c->most + 1) * c->longest, c->a.ptr[c->job->a->n]);
}

/* Maximum number of columns of these entries. */
static tsi_count slots_of(const numeric *c) {
  return tsi_count_min((tsi_count)c->most + reach_of(c), c->job->a->n);
}

static tristar_status begin_work(const numeric *c, tsi_fsai_work *w) {
  const tsi_index n = c->job->a->n, most = c->most;
  const tsi_count reach = reach_of(c), slots = slots_of(c);
  const tsi_count stride = ((tsi_count)most + TSI_FSAI_LANES - 1) / TSI_FSAI_LANES * TSI_FSAI_LANES;
  w->most = most;
  w->stride = (tsi_index)stride;
  TSI_TRY(TSI_ALLOC_IN(c->work, w->place, n));
  for (tsi_index j = 0; j < n; j++) w->place[j] = TSI_NONE;
  TSI_TRY(TSI_ALLOC_IN(c->work, w->column, slots));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->position, slots));
  TSI_TRY(allocate(c, slots, &w->gradient));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->first, (tsi_count)most + 2));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->slot, reach));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->pattern, most));
  TSI_TRY(allocate(c, most * stride, &w->by_rows));
  TSI_TRY(allocate_zero(c, most * stride, &w->by_columns));
  TSI_TRY(allocate(c, stride, &w->inverse));
  TSI_TRY(allocate(c, stride, &w->z));
  TSI_TRY(allocate_zero(c, stride, &w->g));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->picked, c->job->limits.per_step));
  TSI_TRY(TSI_ALLOC_IN(c->work, w->magnitude, c->job->limits.per_step));
  return begin_group(c, &w->group);
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

static tsi_fsai_row row_at(const numeric *c, tsi_index l) {
  const tsi_entries *given = c->job->given;
  const tsi_index i = c->job->first + l;
  const tsi_count at = c->rows.ptr[l];
  return (tsi_fsai_row){.i = i,
                        .given = given != NULL ? given->index + given->ptr[i] : NULL,
                        .count = given_of(c->job, i),
                        .index = c->rows.index + at,
                        .values = (char *)c->rows.item + (size_t)at * c->sparse->scalar_bytes};
}

static void run_block(void *context, tsi_index block, int member) {
  numeric *c = context;
  const tsi_fsai_job *job = c->job;
  const tsi_index first = block * BLOCK_ROWS, end = tsi_index_min(job->rows - first, BLOCK_ROWS) + first;
  const tsi_index first_row = job->first;
  tsi_fsai_row row[TSI_FSAI_GROUP_LANES];
  for (tsi_index l = first; l < end && !tsi_row_failure_before(&c->failure, first_row + l);) {
    const tsi_index count = tsi_index_min(c->kernels->lanes, end - l);
    for (tsi_index k = 0; k < count; k++) row[k] = row_at(c, l + k);
    if (job->upper == NULL || job->part != NULL)
      c->kernels->rows(&c->a, &c->limits, count, row, &c->work[member]);
    for (tsi_index k = 0; k < count; k++, l++) {
      if (job->upper != NULL) tsi_fsai_pair_row(&c->pair, l, &row[k], &c->work[member], member);
      c->entries[l] = row[k].entries;
      tsi_row_failure_keep(&c->failure, row[k].kind, row[k].i);
    }
  }
}

static tristar_status run(tsi_env *env, numeric *c) {
  const tsi_fsai_job *job = c->job;
  const tsi_index n = job->a->n, blocks = (tsi_index)(((int64_t)job->rows + BLOCK_ROWS - 1) / BLOCK_ROWS);
  const double mean = n > 0 ? (double)c->a.ptr[n] / n : 0;
  const double bytes = BYTES_OF_ENTRY * mean * (double)c->rows.ptr[job->rows];
  double start_seconds;
  TSI_CLEANUP(tsi_crew_finish) tsi_crew crew = {.ts = NULL};
  TSI_TRY(tsi_crew_begin(job->ts, "inverse_rows", job->engine, TSI_RUNS_LONG, blocks, bytes, &start_seconds,
                         &crew));
  c->members = crew.members;
  TSI_TRY(TSI_ALLOC_ZERO(env, c->work, c->members));
  for (int m = 0; m < c->members; m++) TSI_TRY(begin_work(c, &c->work[m]));
  if (job->upper != NULL)
    TSI_TRY(tsi_fsai_pair_begin(env, job, c->scalar, c->whole, c->a.values, &c->rows, c->members, c->most,
                                slots_of(c), &c->pair));
  return tsi_crew_run(&crew, TSI_CREW_MATRIX, bytes, run_block, c);
}

/* Moves the rows together. Frees the unused space, if that is worth a copy. */
static tristar_status compress(tsi_env *env, numeric *c) {
  const tsi_index n = c->job->rows;
  const size_t bytes = c->sparse->scalar_bytes;
  const tsi_count space = c->rows.ptr[n];
  char *item = c->rows.item, *upper = c->pair.upper;
  tsi_count at = 0;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_count from = c->rows.ptr[i];
    const size_t count = (size_t)c->entries[i];
    memmove(c->rows.index + at, c->rows.index + from, count * sizeof *c->rows.index);
    memmove(item + (size_t)at * bytes, item + (size_t)from * bytes, count * bytes);
    if (upper != NULL) memmove(upper + (size_t)at * bytes, upper + (size_t)from * bytes, count * bytes);
    c->rows.ptr[i] = at;
    at += c->entries[i];
  }
  c->rows.ptr[n] = at;
  if (space - at <= space / SLACK) return TRISTAR_OK;
  TSI_TRY(tsi_grow(env, (void **)&c->rows.index, sizeof *c->rows.index, at, at));
  TSI_TRY(tsi_grow(env, &c->rows.item, bytes, at, at));
  if (upper != NULL) TSI_TRY(tsi_grow(env, (void **)&c->pair.upper, bytes, at, at));
  return TRISTAR_OK;
}

/* ---- Precisions ---------------------------------------------------------------------------------------- */

/* Number of reals of a scalar. */
static tsi_index parts_of(const numeric *c) {
  return c->sparse->is_complex ? 2 : 1;
}

/* Converts values, in the order of A, to single precision, row by row. */
static tristar_status round_values(tsi_env *env, const numeric *c, const void *values, void **out) {
  const tsi_factor_rows *a = c->job->a;
  const tsi_sparse_kernels *reals = tsi_sparse_kernels_select('s');
  const tsi_index parts = parts_of(c);
  float *to;
  TSI_TRY(TSI_ALLOC_SIZED(env, *out, a->ptr[a->n], c->sparse->scalar_bytes));
  to = *out;
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count at = parts * a->ptr[i];
    reals->fill((tsi_index)(parts * (a->ptr[i + 1] - a->ptr[i])), (const double *)values + at, to + at);
  }
  return TRISTAR_OK;
}

static tristar_status widen(tsi_env *env, const numeric *c, void **values) {
  const tsi_count count = c->rows.ptr[c->job->rows];
  void *wide = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, wide, count, 2 * c->sparse->scalar_bytes));
  tsi_sparse_kernels_select('s')->part(parts_of(c) * count, *values, TSI_PART_REAL, wide);
  TSI_FREE(env, *values);
  *values = wide;
  return TRISTAR_OK;
}

static tristar_status widen_rows(tsi_env *env, numeric *c) {
  TSI_TRY(widen(env, c, &c->rows.item));
  c->rows.bytes = 2 * c->sparse->scalar_bytes;
  if (c->pair.upper != NULL) TSI_TRY(widen(env, c, (void **)&c->pair.upper));
  return TRISTAR_OK;
}

static void finish(numeric *c) {
  tsi_release(c->work);
  tsi_release(c->entries);
  tsi_fsai_pair_finish(&c->pair);
  tsi_entries_finish(&c->rows);
}

tristar_status tsi_fsai_rows(const tsi_fsai_job *job, tsi_entries *g, tsi_breakdown *breakdown) {
  tsi_env *env = &job->ts->env;
  const tsi_factor_rows *a = job->a;
  const bool single = job->single;
  const char scalar = !single ? job->scalar : job->scalar == 'd' ? 's' : 'c';
  TSI_CLEANUP(finish)
  numeric c = {.job = job,
               .scalar = scalar,
               .a = {a->ptr, a->index, job->part != NULL ? job->part : a->values},
               .whole = {a->ptr, a->index, a->values},
               .limits = job->limits,
               .sparse = tsi_sparse_kernels_select(scalar),
               .kernels = tsi_fsai_kernels_select(scalar, job->ts->isa)};
  TSI_OWNED void *rounded = NULL, *rounded_part = NULL;
  tsi_row_failure_clear(&c.failure);
  for (tsi_index i = 0; i < a->n; i++) c.longest = tsi_count_max(c.longest, a->ptr[i + 1] - a->ptr[i]);
  if (job->upper != NULL)
    c.limits.postfilter = 0; /* the rows of a pair decide with both factors which entries leave */
  if (single) {
    TSI_TRY(round_values(env, &c, a->values, &rounded));
    if (job->part != NULL) TSI_TRY(round_values(env, &c, job->part, &rounded_part));
    c.whole.values = rounded;
    c.a.values = job->part != NULL ? rounded_part : rounded;
  }
  if (job->nodes != NULL)
    TSI_TRY(tsi_fsai_node_rows(job, &c.a, scalar, &c.rows, &c.entries, &c.failure));
  else {
    TSI_TRY(make_space(env, &c));
    tsi_fsai_log_entries(job, "at most ", &c.rows);
    TSI_TRY(run(env, &c));
  }
  *breakdown = tsi_row_failure_get(&c.failure);
  if (breakdown->kind != TSI_BREAKDOWN_NONE) return TRISTAR_OK;
  TSI_TRY(compress(env, &c));
  if (single) TSI_TRY(widen_rows(env, &c));
  tsi_fsai_log_entries(job, "", &c.rows);
  *g = c.rows;
  c.rows = (tsi_entries){.ptr = NULL};
  if (job->upper != NULL) *job->upper = tsi_take(&c.pair.upper);
  return TRISTAR_OK;
}
