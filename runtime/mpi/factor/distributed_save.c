/* tristar_distributed_save and tristar_distributed_load: files of a distributed factor, one per rank.
 *
 * A file is PREFIX.RANK, in the format of records.h, of the kind "rank". Its records, in this order:
 *
 *   set                 figures and options, equal on all ranks, with the random number of the set
 *   own                 the rank; figures of the factorization on it
 *   first               blocks of rows of the user, by rank
 *   of rank 0           the shell of the factor (objects.h): analysis, figures, the matrix if it has one,
 *                       scalings, pivots
 *   share               sizes of the next arrays
 *   lower ... order     panels and columns of the share; the rank's block of the directory of pivot_order
 *   rows.*              the rank's rows of the matrix in the final order, and weights
 *   end
 *
 * tristar_distributed_load recomputes the layout, the owners of fronts and all that follows from them from
 * the analysis of rank 0. For a factor of rows rank 0 has no structure: it is gathered before it is saved.
 *
 * All ranks write temporary files, which get their final names when all of them are complete.
 *
 * Reads   a distributed factor that all ranks have factored, and that is ready.
 * Writes  its files; and back. Invariant: files of two sets are never mixed, as each has the set's number. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/random.h>

#include "runtime/base/clock.h"
#include "runtime/base/fingerprint.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/save/file.h"
#include "runtime/save/objects.h"

/* Record "set", the same on all ranks. */
typedef struct saved_set {
  int64_t id, ranks, n, nnz; /* nnz: as in tristar_analysis_stats */
  tristar_layout layout;
  double floor_bytes; /* of whole chunks (layout.h) */
  tristar_engine engine;
  tristar_place place;
  tristar_refinement refine;
  int64_t nrhs, pattern, perturbed_pivots; /* as in tristar_distributed_s */
  bool of_rows, pivoted, scaled, adjoint, has_matrix, ordered, singular, misfit, loses_digits, weighted;
  tristar_singular on_singular; /* options of the analysis */
  tristar_growth on_growth;
  tristar_matching matching;
  double scaled_error; /* of the part, the same on all ranks: the next verdict starts from it */
  int8_t loss;
  bool loses_by_weakness;
} saved_set;
#define S(member) TSI_FIELD(saved_set, member)
static const tsi_field set_fields[] = {S(id),
                                       S(ranks),
                                       S(n),
                                       S(nnz),
                                       S(layout.px),
                                       S(layout.py),
                                       S(layout.pz),
                                       S(layout.algorithm),
                                       S(layout.map),
                                       S(layout.message_tree),
                                       S(floor_bytes),
                                       S(engine),
                                       S(place),
                                       S(refine),
                                       S(nrhs),
                                       S(pattern),
                                       S(perturbed_pivots),
                                       S(of_rows),
                                       S(pivoted),
                                       S(scaled),
                                       S(adjoint),
                                       S(has_matrix),
                                       S(ordered),
                                       S(singular),
                                       S(misfit),
                                       S(loses_digits),
                                       S(weighted),
                                       S(on_singular),
                                       S(on_growth),
                                       S(matching),
                                       S(scaled_error),
                                       S(loss),
                                       S(loses_by_weakness)};

/* Record "own", of one rank. */
typedef struct saved_own {
  int64_t rank;
  double factor_seconds, factor_peak_bytes;
  tristar_message_count fan_in, hand_on;
} saved_own;
#define O(member) TSI_FIELD(saved_own, member)
static const tsi_field own_fields[] = {
    O(rank),         O(factor_seconds),   O(factor_peak_bytes), O(fan_in.messages),
    O(fan_in.bytes), O(hand_on.messages), O(hand_on.bytes)};

/* Record "share": sizes that follow from the structure. */
typedef struct saved_share {
  int64_t panels, columns, scalars, rows;
} saved_share;
#define H(member) TSI_FIELD(saved_share, member)
static const tsi_field share_fields[] = {H(panels), H(columns), H(scalars), H(rows)};

static tristar_status name_file(const tsi_env *env, const char *prefix, int rank, char path[PATH_MAX]) {
  if (prefix == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "prefix is NULL");
  if (snprintf(path, PATH_MAX, "%s.%d", prefix, rank) >= PATH_MAX)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "prefix has %zu characters", strlen(prefix));
  return TRISTAR_OK;
}

static saved_share share_of(const tsi_process *p) {
  const tsi_panels *panels = p->share->panels;
  saved_share share = {.panels = panels->count,
                       .columns = panels->start[panels->count],
                       .scalars = p->begin[panels->count] - p->begin[0]};
  for (tsi_index k = 0; k < p->share->chunks->count; k++)
    if (p->home[k]) share.rows += tsi_chunk_columns(p->share->chunks, k);
  return share;
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* A number that identifies the set. */
static int64_t choose_id(void) {
  int64_t id = 0;
  if (getrandom(&id, sizeof id, GRND_NONBLOCK) == (ssize_t)sizeof id) return id;
  const double now = tsi_clock();
  return (int64_t)tsi_fingerprint((uint64_t)(uintptr_t)&id, &now, sizeof now);
}

/* On rank 0. */
static saved_set describe(const tristar_distributed_t *d) {
  const tsi_process *p = d->process;
  const tristar_analysis_options *options = &d->team_factor->analysis.options;
  const struct tristar_factor_s *part = &d->team_factor->part;
  return (saved_set){.id = choose_id(),
                     .ranks = tsi_transport_size(d->transport),
                     .n = d->n,
                     .nnz = d->source ? d->source->analysis->stats.nnz : 0,
                     .layout = d->options.layout,
                     .floor_bytes = p->layout_options.floor_bytes,
                     .engine = d->options.engine,
                     .place = d->options.place,
                     .refine = d->options.refine,
                     .nrhs = d->options.nrhs,
                     .pattern = (int64_t)d->pattern,
                     .perturbed_pivots = d->stats.perturbed_pivots,
                     .of_rows = d->of_rows,
                     .pivoted = p->pivoted,
                     .scaled = p->row_scale != NULL,
                     .adjoint = p->kind.adjoint,
                     .has_matrix = d->has_matrix,
                     .ordered = d->pivot_order != NULL,
                     .singular = d->singular,
                     .misfit = d->misfit,
                     .loses_digits = d->loses_digits,
                     .weighted = d->has_matrix && d->weighted,
                     .on_singular = options->singular,
                     .on_growth = options->growth,
                     .matching = options->matching,
                     .scaled_error = part->scaled_error,
                     .loss = part->loss,
                     .loses_by_weakness = part->loses_by_weakness};
}

/* Local. */
static tristar_status check(const tristar_distributed_t *d, const char *prefix, char path[PATH_MAX]) {
  const tsi_env *env = &d->ts->env;
  TSI_TRY(tsi_distributed_check_ready(d));
  if (d->team_factor == NULL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "rank 0 factored alone: save its factor by tristar_factor_save, and distribute it when it is "
             "loaded");
  return name_file(env, prefix, tsi_transport_rank(d->transport), path);
}

/* Collective. *column: final columns of the entries of this rank's rows; the caller frees it. */
static tristar_status name_columns(const tristar_distributed_t *d, tsi_index **column) {
  tsi_env *env = &d->ts->env;
  const tsi_rows_matrix *m = d->matrix;
  TSI_OWNED tsi_index *ghost = NULL;
  if (m == NULL) return TRISTAR_OK;
  tristar_status status = TSI_ALLOC(env, ghost, m->halo->ghosts);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, *column, m->ptr[m->n]);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(tsi_halo_fill(env, m->halo, sizeof *ghost, m->column, ghost));
  for (tsi_count q = 0; q < m->ptr[m->n]; q++)
    (*column)[q] = m->index[q] < m->n ? m->column[m->index[q]] : ghost[m->index[q] - m->n];
  return TRISTAR_OK;
}

static tristar_status put_share(tsi_sink *sink, const tristar_distributed_t *d) {
  const tsi_process *p = d->process;
  const saved_share share = share_of(p);
  const size_t bytes = p->scalar_bytes, skip = (size_t)p->begin[0] * bytes;
  TSI_TRY(TSI_PUT_FIELDS(sink, "share", share_fields, &share));
  TSI_TRY(tsi_put(sink, "lower", bytes, share.scalars, (const char *)p->lower + skip));
  if (p->kind.lu) TSI_TRY(tsi_put(sink, "upper", bytes, share.scalars, (const char *)p->upper + skip));
  TSI_TRY(TSI_PUT(sink, "pivots", share.columns, p->pivots));
  TSI_TRY(tsi_put(sink, "inverse", bytes, 2 * share.columns, p->inverse));
  TSI_TRY(TSI_PUT(sink, "row_scale", share.columns, p->row_scale));
  TSI_TRY(TSI_PUT(sink, "col_scale", share.columns, p->col_scale));
  if (d->pivot_order == NULL) return TRISTAR_OK;
  return TSI_PUT(sink, "order", d->pivot_order->count, d->pivot_order->own);
}

static tristar_status put_matrix(tsi_sink *sink, const tristar_distributed_t *d, const tsi_index *column) {
  const tsi_rows_matrix *m = d->matrix;
  if (m == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_PUT(sink, "rows.ptr", m->n + 1, m->ptr));
  TSI_TRY(TSI_PUT(sink, "rows.column", m->ptr[m->n], column));
  TSI_TRY(tsi_put(sink, "rows.values", d->process->user_bytes, m->ptr[m->n], m->values));
  TSI_TRY(TSI_PUT(sink, "rows.weight", m->n, m->weight[0]));
  return TSI_PUT(sink, "columns.weight", m->n, m->weight[1]);
}

/* Local. */
static tristar_status put_all(tsi_sink *sink, const tristar_distributed_t *d, const saved_set *set,
                              const tsi_index *column) {
  const tristar_distributed_stats *stats = &d->stats;
  const saved_own own = {stats->rank, stats->factor_seconds, stats->factor_peak_bytes, stats->fan_in,
                         stats->hand_on};
  TSI_TRY(tsi_sink_begin(sink, TSI_SAVED_RANK));
  TSI_TRY(TSI_PUT_FIELDS(sink, "set", set_fields, set));
  TSI_TRY(TSI_PUT_FIELDS(sink, "own", own_fields, &own));
  TSI_TRY(TSI_PUT(sink, "first", set->ranks + 1, d->first));
  if (d->source) TSI_TRY(tsi_factor_put_shell(sink, d->source));
  TSI_TRY(put_share(sink, d));
  TSI_TRY(put_matrix(sink, d, column));
  return tsi_sink_end(sink);
}

/* Collective. */
static tristar_status write_files(const tristar_distributed_t *d, const saved_set *set,
                                  const tsi_index *column, const char *path) {
  tsi_sink_file file;
  tristar_status status = tsi_sink_file_open(&d->ts->env, path, &file);
  const bool opened = status == TRISTAR_OK;
  if (opened) status = tsi_sink_file_close(&file, put_all(&file.sink, d, set, column));
  status = tsi_transport_agree(d->transport, status);
  const tristar_status ended = opened ? tsi_sink_file_end(&file, status == TRISTAR_OK) : TRISTAR_OK;
  return status != TRISTAR_OK ? status : tsi_transport_agree(d->transport, ended);
}

/* Collective. */
static tristar_status save(tristar_distributed_t *d, const char *prefix) {
  tsi_env *env = &d->ts->env;
  char path[PATH_MAX];
  saved_set set;
  TSI_OWNED tsi_index *column = NULL;
  TSI_TRY(tsi_distributed_check_ranks(d));
  TSI_TRY(tsi_transport_agree(d->transport, check(d, prefix, path)));
  set = describe(d);
  TSI_TRY(tsi_broadcast_bytes(env, tsi_transport_comm(d->transport), &set, sizeof set));
  TSI_TRY(name_columns(d, &column));
  tristar_status status = d->of_rows ? tsi_team_factor_remember_rows(d) : TRISTAR_OK;
  if (status == TRISTAR_OK) status = write_files(d, &set, column, path);
  if (d->of_rows && d->source) tsi_analysis_discard_rows(d->source->analysis);
  return status;
}

tristar_status tristar_distributed_save(tristar_distributed_t *d, const char *prefix) {
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  return tsi_answer(&d->ts->env, save(d, prefix));
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

typedef struct loader {
  tristar_distributed_t *d;
  char path[PATH_MAX];
  tsi_source_file file;
  saved_set set;
  saved_own own;
  int64_t *first; /* ranks + 1 */
  /* Rows of the matrix, with columns of the final order; row: the selected row. */
  tsi_index rows, row;
  tsi_count *ptr;
  tsi_index *number, *column;
  char *values;
  double *weight[2];
} loader;

static void release_loader(loader *l) {
  tsi_source_file_close(&l->file);
  tsi_release(l->first);
  tsi_release(l->ptr);
  tsi_release(l->number);
  tsi_release(l->column);
  tsi_release(l->values);
  for (int k = 0; k < 2; k++) tsi_release(l->weight[k]);
}

/* Collective. mine: an earlier failure of this rank, for example in reading its file. */
static tristar_status agree(loader *l, tristar_status mine) {
  return tsi_transport_agree(l->d->transport, tsi_source_file_explain(&l->file, mine));
}

/* Local. */
static tristar_status open_file(loader *l, const char *prefix) {
  tsi_env *env = &l->d->ts->env;
  const int rank = tsi_transport_rank(l->d->transport);
  tsi_source *source = &l->file.source;
  char kind[TSI_RECORD_NAME];
  TSI_TRY(name_file(env, prefix, rank, l->path));
  TSI_TRY(tsi_source_file_open(l->d->ts, l->path, &l->file));
  source->lean = true;
  TSI_TRY(tsi_source_begin(source, kind));
  if (strcmp(kind, TSI_SAVED_RANK) != 0)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s: it is of the kind \"%s\", and has no share of a rank", l->path,
             kind);
  TSI_TRY(TSI_TAKE_FIELDS(source, "set", set_fields, &l->set));
  TSI_TRY(TSI_TAKE_FIELDS(source, "own", own_fields, &l->own));
  if (l->own.rank != rank)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s: it is the file of rank %lld", l->path, (long long)l->own.rank);
  return TRISTAR_OK;
}

/* Rank 0. */
static tristar_status check_ranks(const loader *l) {
  const saved_set *set = &l->set;
  const int ranks = tsi_transport_size(l->d->transport);
  if (set->ranks != ranks)
    TSI_FAIL(&l->d->ts->env, TRISTAR_ERR_ARGUMENT, "%s: saved by %lld ranks, in layout %dx%dx%d; here are %d",
             l->path, (long long)set->ranks, set->layout.px, set->layout.py, set->layout.pz, ranks);
  if (set->n < 0 || set->n > TSI_INDEX_MAX || !(set->floor_bytes > 0 && isfinite(set->floor_bytes)))
    TSI_DAMAGED(&l->file.source, "a factor of order %lld", (long long)set->n);
  return TRISTAR_OK;
}

/* Checks that the file is of the same set as the file of rank 0. */
static tristar_status check_set(const loader *l, const saved_set *of_rank_0) {
  for (size_t k = 0; k < sizeof set_fields / sizeof *set_fields; k++) {
    const char kind = set_fields[k].kind;
    const size_t at = set_fields[k].offset, bytes = kind == 'b' || kind == '1' ? 1 : kind == '4' ? 4 : 8;
    if (memcmp((const char *)&l->set + at, (const char *)of_rank_0 + at, bytes) != 0)
      TSI_FAIL(&l->d->ts->env, TRISTAR_ERR_FORMAT,
               "%s: another call of tristar_distributed_save wrote it than the file of rank 0", l->path);
  }
  return TRISTAR_OK;
}

/* Collective. Rank 0 opens its file first, because it holds the number of ranks. */
static tristar_status open_files(loader *l, const char *prefix) {
  tristar_status status = TRISTAR_OK;
  const bool root = tsi_transport_rank(l->d->transport) == 0;
  if (root) status = open_file(l, prefix);
  if (root && status == TRISTAR_OK) status = check_ranks(l);
  TSI_TRY(agree(l, status));
  saved_set set = l->set;
  TSI_TRY(tsi_broadcast_bytes(&l->d->ts->env, tsi_transport_comm(l->d->transport), &set, sizeof set));
  if (!root) status = open_file(l, prefix);
  if (!root && status == TRISTAR_OK) status = check_set(l, &set);
  return agree(l, status);
}

/* Collective. given: the caller has passed options. */
static tristar_status take_options(loader *l, bool given) {
  tristar_distributed_t *d = l->d;
  tristar_distributed_options *o = &d->options;
  const tristar_layout *layout = &l->set.layout;
  tristar_status status = TRISTAR_OK;
  if (given && o->layout.px > 0 &&
      (o->layout.px != layout->px || o->layout.py != layout->py || o->layout.pz != layout->pz ||
       o->layout.algorithm != layout->algorithm || o->layout.map != layout->map ||
       o->layout.message_tree != layout->message_tree))
    status =
        tsi_fail(&d->ts->env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                 "%s: saved in layout %dx%dx%d, algorithm %d, map %d, message tree %d; not %dx%dx%d, %d, "
                 "%d, %d",
                 l->path, layout->px, layout->py, layout->pz, (int)layout->algorithm, (int)layout->map,
                 (int)layout->message_tree, o->layout.px, o->layout.py, o->layout.pz,
                 (int)o->layout.algorithm, (int)o->layout.map, (int)o->layout.message_tree);
  o->layout = *layout;
  if (!given) {
    o->engine = l->set.engine;
    o->place = l->set.place;
    o->refine = l->set.refine;
    o->nrhs = l->set.nrhs;
    d->on_device = d->one_sided && o->place == TRISTAR_PLACE_GPU;
  }
  return tsi_distributed_agree(d, status);
}

/* Local. Reads the blocks of rows; on rank 0 also the factor without panels. */
static tristar_status take_shell(loader *l) {
  tristar_distributed_t *d = l->d;
  tsi_source *source = &l->file.source;
  TSI_TRY(TSI_TAKE(source, "first", l->set.ranks + 1, NULL, l->first));
  if (l->first[0] != 0 || l->first[l->set.ranks] != l->set.n)
    TSI_DAMAGED(source, "the ranks have %lld rows", (long long)l->first[l->set.ranks]);
  for (int64_t r = 0; r < l->set.ranks; r++)
    if (l->first[r] > l->first[r + 1]) TSI_DAMAGED(source, "the block of rank %lld", (long long)r);
  if (tsi_transport_rank(d->transport) > 0) return TRISTAR_OK;
  TSI_TRY(tsi_factor_take_shell(d->ts, source, &d->source));
  tristar_analysis_t *an = d->source->analysis;
  if (an->pattern->n != l->set.n || (an->pattern->ptr == NULL) != l->set.of_rows)
    TSI_DAMAGED(source, "a matrix of %d rows", an->pattern->n);
  an->stats.nnz = l->set.nnz;
  return l->set.of_rows ? TRISTAR_OK : tsi_assembly_create(&d->ts->env, an);
}

static tristar_status take_scale(tsi_source *source, const char *name, tsi_count count, double *to) {
  TSI_TRY(tsi_get_to(source, name, sizeof *to, count, to));
  for (tsi_count j = 0; j < count; j++)
    if (!isfinite(to[j]) || to[j] == 0) TSI_DAMAGED(source, "entry %lld of \"%s\"", (long long)j, name);
  return TRISTAR_OK;
}

/* Local. */
static tristar_status take_order(loader *l) {
  tristar_distributed_t *d = l->d;
  tsi_source *source = &l->file.source;
  if (!l->set.ordered) return TRISTAR_OK;
  TSI_TRY(tsi_directory_begin(&d->ts->env, d->transport, d->n, &d->pivot_order));
  tsi_index *own = d->pivot_order->own;
  TSI_TRY(tsi_get_to(source, "order", sizeof *own, d->pivot_order->count, own));
  for (int64_t j = 0; j < d->pivot_order->count; j++)
    if (own[j] < 0 || own[j] >= d->n) TSI_DAMAGED(source, "entry %lld of \"order\"", (long long)j);
  return TRISTAR_OK;
}

/* Local. Reads the panels and columns of the share. */
static tristar_status take_share(loader *l) {
  tristar_distributed_t *d = l->d;
  tsi_process *p = d->process;
  tsi_source *source = &l->file.source;
  const saved_share share = share_of(p);
  const size_t bytes = p->scalar_bytes, skip = (size_t)p->begin[0] * bytes;
  saved_share saved;
  TSI_TRY(TSI_TAKE_FIELDS(source, "share", share_fields, &saved));
  if (saved.panels != share.panels || saved.columns != share.columns || saved.scalars != share.scalars ||
      saved.rows != share.rows)
    TSI_FAIL(source->env, TRISTAR_ERR_UNSUPPORTED,
             "%s: %lld panels with %lld entries, where this library gives the rank %lld with %lld: a GPU, or "
             "another version of TriStar, shared the factor out",
             l->path, (long long)saved.panels, (long long)saved.scalars, (long long)share.panels,
             (long long)share.scalars);
  if ((uint64_t)share.scalars * bytes > source->left)
    TSI_DAMAGED(source, "%s", "record \"lower\" is larger than the rest of the file");
  TSI_TRY(tsi_process_scale(p, l->set.scaled));
  TSI_TRY(tsi_process_need_streams(p));
  TSI_TRY(tsi_get_to(source, "lower", bytes, share.scalars, (char *)p->lower + skip));
  if (p->kind.lu) TSI_TRY(tsi_get_to(source, "upper", bytes, share.scalars, (char *)p->upper + skip));
  if (p->pivots) TSI_TRY(tsi_get_to(source, "pivots", sizeof *p->pivots, share.columns, p->pivots));
  if (p->inverse) TSI_TRY(tsi_get_to(source, "inverse", bytes, 2 * share.columns, p->inverse));
  TSI_TRY(tsi_pivots_check(source, p->share->panels, p->kind.factor_scalar, p->pivots, p->inverse));
  if (l->set.scaled) TSI_TRY(take_scale(source, "row_scale", share.columns, p->row_scale));
  if (l->set.scaled) TSI_TRY(take_scale(source, "col_scale", share.columns, p->col_scale));
  return take_order(l);
}

/* Copies the data that are not arrays. */
static void take_figures(loader *l) {
  tristar_distributed_t *d = l->d;
  tristar_analysis_options *options = &d->team_factor->analysis.options;
  struct tristar_factor_s *part = &d->team_factor->part;
  const saved_set *set = &l->set;
  d->process->pivoted = set->pivoted;
  d->process->kind.adjoint = set->adjoint;
  d->has_matrix = set->has_matrix;
  d->perturbed = set->perturbed_pivots > 0;
  d->singular = set->singular;
  d->misfit = set->misfit;
  d->loses_digits = set->loses_digits;
  d->weighted = set->weighted;
  d->stats.perturbed_pivots = set->perturbed_pivots;
  d->stats.factor_seconds = l->own.factor_seconds;
  d->stats.factor_peak_bytes = l->own.factor_peak_bytes;
  d->stats.fan_in = l->own.fan_in;
  d->stats.hand_on = l->own.hand_on;
  options->singular = set->on_singular;
  options->growth = set->on_growth;
  options->matching = set->matching;
  part->scaled_error = set->scaled_error;
  part->loss = set->loss;
  part->loses_by_weakness = set->loses_by_weakness;
}

/* Local. Reads the rows of the matrix, and the end. */
static tristar_status take_matrix(loader *l) {
  const tsi_process *p = l->d->process;
  const tsi_chunks *chunks = p->share->chunks;
  tsi_source *source = &l->file.source;
  if (!l->set.has_matrix) return tsi_get_to(source, "end", 1, 0, NULL);
  l->rows = (tsi_index)share_of(p).rows;
  TSI_TRY(TSI_ALLOC(source->env, l->number, l->rows));
  tsi_index at = 0;
  for (tsi_index k = 0; k < chunks->count; k++)
    for (tsi_index j = 0; p->home[k] && j < tsi_chunk_columns(chunks, k); j++)
      l->number[at++] = p->layout->chunks->column[p->share->chunk[k]] + j;
  TSI_TRY(TSI_TAKE(source, "rows.ptr", (tsi_count)l->rows + 1, NULL, l->ptr));
  for (tsi_index i = 0; i < l->rows; i++)
    if (l->ptr[0] != 0 || l->ptr[i + 1] < l->ptr[i] || l->ptr[i + 1] - l->ptr[i] > l->set.n)
      TSI_DAMAGED(source, "row %d of the matrix", i);
  const tsi_count entries = l->ptr[l->rows];
  TSI_TRY(TSI_TAKE(source, "rows.column", entries, NULL, l->column));
  for (tsi_count q = 0; q < entries; q++)
    if (l->column[q] < 0 || l->column[q] >= l->set.n)
      TSI_DAMAGED(source, "entry %lld of the matrix is in column %d", (long long)q, l->column[q]);
  TSI_TRY(tsi_get(source, "rows.values", p->user_bytes, entries, NULL, (void **)&l->values));
  if (l->set.weighted) TSI_TRY(TSI_TAKE(source, "rows.weight", l->rows, NULL, l->weight[0]));
  if (l->set.weighted) TSI_TRY(TSI_TAKE(source, "columns.weight", l->rows, NULL, l->weight[1]));
  return tsi_get_to(source, "end", 1, 0, NULL);
}

static tsi_index seek(void *context, tsi_index row) {
  loader *l = context;
  l->row = row;
  return (tsi_index)(l->ptr[row + 1] - l->ptr[row]);
}

static void read_columns(void *context, tsi_index from, tsi_index count, tsi_index *to) {
  const loader *l = context;
  memcpy(to, l->column + l->ptr[l->row] + from, (size_t)count * sizeof *to);
}

static void read_values(void *context, tsi_index from, tsi_index count, char *to) {
  const loader *l = context;
  const size_t bytes = l->d->process->user_bytes;
  memcpy(to, l->values + (size_t)(l->ptr[l->row] + from) * bytes, (size_t)count * bytes);
}

/* Collective. mine: an earlier failure of this rank, in reading its rows. */
static tristar_status place_matrix(loader *l, tristar_status mine) {
  tristar_distributed_t *d = l->d;
  const tsi_rows_source rows = {.n = l->rows,
                                .row = l->number,
                                .seek = seek,
                                .columns = read_columns,
                                .values = read_values,
                                .context = l};
  if (!l->set.has_matrix) return agree(l, mine);
  TSI_TRY(tsi_bring_matrix(d, tsi_source_file_explain(&l->file, mine), &rows));
  tristar_status status = TRISTAR_OK;
  for (int k = 0; k < 2 && l->set.weighted && status == TRISTAR_OK; k++) {
    status = TSI_ALLOC_IN(d->matrix, d->matrix->weight[k], l->rows);
    if (status == TRISTAR_OK)
      memcpy(d->matrix->weight[k], l->weight[k], (size_t)l->rows * sizeof *l->weight[k]);
  }
  return tsi_transport_agree(d->transport, status);
}

/* Collective. */
static tristar_status load(tristar_distributed_t *d, const char *prefix, bool given) {
  TSI_CLEANUP(release_loader) loader l = {.d = d};
  TSI_TRY(open_files(&l, prefix));
  TSI_TRY(take_options(&l, given));
  d->of_rows = l.set.of_rows;
  d->pattern = (uint64_t)l.set.pattern;
  TSI_TRY(agree(&l, take_shell(&l)));
  TSI_TRY(tsi_broadcast_bytes(&d->ts->env, tsi_transport_comm(d->transport), l.first,
                              (size_t)(l.set.ranks + 1) * sizeof *l.first));
  if (d->source) d->condition = d->source->stats.reciprocal_condition;
  TSI_TRY(
      tsi_broadcast_bytes(&d->ts->env, tsi_transport_comm(d->transport), &d->condition, sizeof d->condition));
  TSI_TRY(tsi_team_factor_lay_out(d, l.set.floor_bytes));
  take_figures(&l);
  TSI_TRY(agree(&l, take_share(&l)));
  TSI_TRY(place_matrix(&l, take_matrix(&l)));
  TSI_TRY(tsi_distributed_use_rows(d, l.first));
  return tsi_distributed_make_ready(d);
}

tristar_status tristar_distributed_load(tristar_t *ts, MPI_Comm comm, const char *prefix,
                                        const tristar_distributed_options *options,
                                        tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_t *d = NULL;
  TSI_ENTER(ts, ts);
  const double begin = tsi_clock();
  if (out != NULL) *out = NULL;
  tsi_idle_dismiss();
  TSI_TRY_OUT(tsi_distributed_create(ts, comm, options, out, &d));
  TSI_TRY_OUT(load(d, prefix, options != NULL));
  d->stats.distribute_seconds = tsi_clock() - begin - d->stats.start_seconds;
out:
  tsi_idle_recall();
  if (status != TRISTAR_OK) tristar_distributed_destroy(&d);
  if (out != NULL) *out = d;
  return tsi_answer(&ts->env, status);
}
