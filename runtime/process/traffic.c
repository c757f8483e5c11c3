/* Layouts of distributed solves and their messages: counts of dag/traffic.h as figures over all processes. */
#include <math.h>

#include "codelets/cpu/rows/sparse.h"
#include "dag/factor/front_owners.h"
#include "runtime/base/range.h"
#include "runtime/machine/calibration.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/pairs.h"
#include "runtime/process/process.h"
#include "runtime/process/traffic.h"

/* ---- Fronts -------------------------------------------------------------------------------------------- */

/* Messages, arithmetic and memory of the fronts of each process of a layout, counted without a DAG. Messages
 * are those of its DAG (dag/factor/factorization.h), with the bytes that are sent; memory is the memory of
 * steps in their order. */

typedef struct front_counts {
  tsi_traffic_count sent, received; /* rows: bytes */
  double flops;
  double bytes, most_bytes; /* of complements until their parents assemble them; largest, with a front */
} front_counts;

typedef struct counter {
  const tristar_analysis_t *an;
  tsi_factorization dag; /* only structure, owners and teams */
  tsi_index *owner;
  tsi_front_teams *teams;
  tsi_index ranks;
  double scalar_bytes;
  front_counts *count;
  bool *tiled;   /* supernodes */
  double *waits; /* supernodes x processes that may have them: see waits_of */
  tsi_count *waits_ptr;
} counter;

/* Bytes that process r stores from the children of s until they are assembled. */
static double *waits_of(const counter *c, tsi_index s, tsi_index r) {
  tsi_index end;
  return &c->waits[c->waits_ptr[s] + r - tsi_factorization_team(&c->dag, s, &end)];
}

static void add_messages(const counter *c, tsi_index from, tsi_index to, tsi_index pieces, double bytes) {
  c->count[from].sent.messages += pieces;
  c->count[from].sent.rows += (tsi_count)bytes;
  c->count[to].received.messages += pieces;
  c->count[to].received.rows += (tsi_count)bytes;
}

/* Bytes of the Schur complement of s in memory, with a failure mark. */
static double whole_bytes(const counter *c, tsi_index s) {
  return (double)tsi_front_message_bytes(c->an->symbolic, tsi_analysis_is_lu(c->an), (size_t)c->scalar_bytes,
                                         s);
}

/* Bytes of the complement of s, or of the part of it, that process `from` has for process `to`. */
static double left_bytes(const counter *c, tsi_index s, tsi_index from, tsi_index to) {
  if (tsi_front_leaves_parts(c->teams, s))
    return c->scalar_bytes * (double)(tsi_part_scalars(c->teams, s, from, to) + 1);
  return whole_bytes(c, s);
}

/* Bytes of process r's rows of the Schur complement of s, which is shared. */
static double strip_bytes(const counter *c, tsi_index s, tsi_index r) {
  const tsi_front_tiles t = tsi_front_teams_tiles(c->teams, s);
  tsi_count scalars = 0;
  for (tsi_index k = t.inner; k < t.count; k++)
    if (tsi_front_tile_owner(c->teams, s, k) == r)
      scalars += tsi_front_tile_rows(&t, k) * (tsi_count)tsi_stripe_complement(&t, c->dag.method, k);
  return c->scalar_bytes * (double)scalars;
}

/* A complement exists until all its parts are made. */
static void make_parts(const counter *c, tsi_index s, tsi_index from) {
  const tsi_index parent = c->an->symbolic->parent[s];
  double bytes = tsi_front_is_shared(c->teams, s) ? strip_bytes(c, s, from) : whole_bytes(c, s);
  tsi_index end;
  for (tsi_index to = tsi_factorization_team(&c->dag, parent, &end); to < end; to++)
    bytes += left_bytes(c, s, from, to);
  c->count[from].most_bytes = fmax(c->count[from].most_bytes, c->count[from].bytes + bytes);
}

/* The complement of s is sent to the processes of its parent, or kept. */
static void pass_on(const counter *c, tsi_index s) {
  const tsi_index parent = c->an->symbolic->parent[s];
  tsi_index end, to_end;
  const tsi_index begin = tsi_factorization_team(&c->dag, s, &end);
  if (parent == TSI_NONE) return;
  const tsi_index to_begin = tsi_factorization_team(&c->dag, parent, &to_end);
  for (tsi_index from = begin; from < end; from++) {
    if (tsi_front_leaves_parts(c->teams, s)) make_parts(c, s, from);
    for (tsi_index to = to_begin; to < to_end; to++) {
      const tsi_index pieces = tsi_factorization_pieces(&c->dag, s, from, to);
      if (from != to && pieces == 0) continue;
      const double bytes = left_bytes(c, s, from, to);
      *waits_of(c, parent, to) += bytes;
      if (from == to)
        c->count[to].bytes += bytes;
      else
        add_messages(c, from, to, pieces, bytes);
    }
  }
}

/* Complements of children on other processes arrive just before their parent is processed; they are not
 * counted earlier. */
static double foreign_bytes(const counter *c, tsi_index s, tsi_index r) {
  double bytes = 0;
  for (tsi_index k = c->dag.child_ptr[s]; k < c->dag.child_ptr[s + 1]; k++) {
    tsi_index end;
    for (tsi_index from = tsi_factorization_team(&c->dag, c->dag.child[k], &end); from < end; from++)
      if (tsi_factorization_pieces(&c->dag, c->dag.child[k], from, r) > 0)
        bytes += left_bytes(c, c->dag.child[k], from, r);
  }
  return bytes;
}

/* Processes a front of s on process r, which takes `bytes` in addition to waiting complements. */
static void pass_front(const counter *c, tsi_index s, tsi_index r, double bytes, double flops) {
  front_counts *own = &c->count[r];
  own->flops += flops;
  own->bytes += foreign_bytes(c, s, r);
  own->most_bytes = fmax(own->most_bytes, own->bytes + bytes);
  own->bytes -= *waits_of(c, s, r);
}

/* Bytes of the own stripes, and of the largest received one. */
static double stripe_bytes(const counter *c, tsi_index s, tsi_index r, double *work) {
  const tsi_front_tiles t = tsi_front_teams_tiles(c->teams, s);
  double own = strip_bytes(c, s, r);
  tsi_count largest = 0;
  *work = 0;
  for (tsi_index k = 0; k < t.count; k++) {
    const tsi_stripe stripe = tsi_stripe_of(&t, c->dag.method, k);
    const bool has = tsi_front_tile_owner(c->teams, s, k) == r;
    if (has) *work += tsi_front_stripe_work(&t, c->dag.method, k);
    if (has)
      own += c->scalar_bytes * (double)stripe.scalars;
    else
      largest = tsi_count_max(largest, stripe.scalars);
  }
  return own + c->scalar_bytes * (double)largest;
}

/* Counts the messages with stripes, and the memory and work of each process of a team. */
static void pass_shared(const counter *c, tsi_index s) {
  const tsi_front_tiles t = tsi_front_teams_tiles(c->teams, s);
  const tsi_index begin = c->teams->begin[s], end = c->teams->end[s];
  const double flops = tsi_front_flops(c->an->symbolic, c->dag.method, s);
  double all = 0, work;
  for (tsi_index k = 0; k < t.count; k++) {
    const tsi_index from = tsi_front_tile_owner(c->teams, s, k);
    all += tsi_front_stripe_work(&t, c->dag.method, k);
    for (tsi_index to = begin; to < end; to++) {
      const tsi_count skip = tsi_stripe_goes(c->teams, s, k, c->owner[s], to);
      if (skip < 0) continue;
      const tsi_count scalars = tsi_stripe_of(&t, c->dag.method, k).scalars - skip;
      add_messages(c, from, to, tsi_front_pieces_of(scalars), c->scalar_bytes * (double)(scalars + 1));
    }
  }
  for (tsi_index r = begin; r < end; r++) {
    const double bytes = stripe_bytes(c, s, r, &work);
    pass_front(c, s, r, bytes, flops * work / all);
  }
}

/* For s, which is cut into tiles: bytes of the children's complements that are released when the columns of
 * its supernode are assembled (runtime/factor/front_pieces.c). */
static double used_bytes(const counter *c, tsi_index s) {
  const tsi_symbolic *symbolic = c->an->symbolic;
  const bool full = tsi_analysis_is_lu(c->an);
  double scalars = 0;
  for (tsi_index k = c->dag.child_ptr[s]; c->tiled[s] && k < c->dag.child_ptr[s + 1]; k++) {
    const tsi_index child = c->dag.child[k],
                    m = (tsi_index)(symbolic->row_ptr[child + 1] - symbolic->row_ptr[child]);
    const tsi_index j = tsi_row_below(symbolic, child, symbolic->start[s + 1]);
    if (tsi_front_leaves_parts(c->teams, child)) continue;
    scalars += (double)(j == m ? tsi_complement_size(m, full)
                               : tsi_complement_entry(m, tsi_tile_row(j, full), j, full));
  }
  return c->scalar_bytes * scalars;
}

/* The columns behind the supernode are allocated when the supernode's columns are assembled. */
static void pass_whole(const counter *c, tsi_index s) {
  const tsi_symbolic *symbolic = c->an->symbolic;
  const double w = symbolic->start[s + 1] - symbolic->start[s],
               m = (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  const bool upper = c->dag.method != TRISTAR_METHOD_LLT; /* during the factorization of the front */
  const double complement = symbolic->parent[s] == TSI_NONE ? 0 : whole_bytes(c, s);
  const double columns = c->scalar_bytes * w * (w + m),
               rest = complement + c->scalar_bytes * (upper ? w * m : 0);
  pass_front(c, s, c->owner[s], columns + fmax(0, rest - used_bytes(c, s)),
             tsi_front_flops(symbolic, c->dag.method, s));
}

static tristar_status list_children(void *owner, tsi_factorization *dag) {
  const tsi_symbolic *symbolic = dag->symbolic;
  TSI_TRY(TSI_ALLOC_ZERO_IN(owner, dag->child_ptr, (tsi_count)symbolic->count + 1));
  TSI_TRY(TSI_ALLOC_IN(owner, dag->child, symbolic->count));
  tsi_factorization_list_children(dag);
  return TRISTAR_OK;
}

static tristar_status allocate_waits(counter *c) {
  const tsi_index count = c->an->symbolic->count;
  TSI_TRY(TSI_ALLOC_IN(c, c->waits_ptr, (tsi_count)count + 1));
  c->waits_ptr[0] = 0;
  for (tsi_index s = 0; s < count; s++) {
    tsi_index end;
    const tsi_index begin = tsi_factorization_team(&c->dag, s, &end);
    c->waits_ptr[s + 1] = c->waits_ptr[s] + end - begin;
  }
  return TSI_ALLOC_ZERO_IN(c, c->waits, c->waits_ptr[count]);
}

/* count: by process, zeros. path: flops on the critical path. Errors: MEMORY. */
static tristar_status count_fronts(tsi_env *env, const tristar_analysis_t *an, const tsi_layout *layout,
                                   front_counts *count, double *path) {
  const tsi_front_structure fronts = {an->symbolic, an->panels, an->stats.method, &an->ts->fronts};
  TSI_SCRATCH(env, counter, c, 1);
  *c = (counter){.an = an,
                 .scalar_bytes = (double)tsi_sparse_kernels_select(an->factor_scalar)->scalar_bytes,
                 .count = count};
  c->dag = (tsi_factorization){.symbolic = an->symbolic,
                               .panels = an->panels,
                               .method = an->stats.method,
                               .tile = an->ts->fronts.tile};
  TSI_TRY(TSI_ALLOC_IN(c, c->owner, an->symbolic->count));
  TSI_TRY(tsi_front_owners_choose(env, layout, &fronts, c->owner, &c->teams, path));
  tsi_own(c, c->teams);
  c->dag.owner = c->owner;
  c->dag.teams = c->teams;
  TSI_TRY(TSI_ALLOC_IN(c, c->tiled, an->symbolic->count));
  TSI_TRY(tsi_factorization_find_tiled(env, an->symbolic, an->stats.method, fronts.options, c->tiled));
  TSI_TRY(list_children(c, &c->dag));
  TSI_TRY(allocate_waits(c));
  for (tsi_index s = 0; s < an->symbolic->count; s++) {
    if (tsi_front_is_shared(c->teams, s))
      pass_shared(c, s);
    else
      pass_whole(c, s);
    pass_on(c, s);
  }
  return TRISTAR_OK;
}

/* ---- Traffic ------------------------------------------------------------------------------------------- */

#define RANKS_MOST (1 << 20)

void tristar_layout_init(tristar_layout *layout) {
  memset(layout, 0, sizeof *layout);
  layout->px = layout->py = layout->pz = 1;
  layout->algorithm = TRISTAR_ALGORITHM_REPLICATED;
  layout->map = TRISTAR_MAP_SUBTREE;
  layout->message_tree = TRISTAR_MESSAGE_TREE_BINARY;
}

static tristar_status check_arguments(tsi_env *env, const tristar_analysis_t *analysis,
                                      const tristar_layout *layout, int64_t nrhs) {
  int64_t ranks;
  if (nrhs < 1) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs = %lld", (long long)nrhs);
  TSI_TRY(tsi_layout_check_words(env, layout));
  if (tsi_analysis_sides(analysis) > 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "L and U have different structures: no layout serves both");
  if (layout->px > 0 && layout->py > 0 && layout->pz > 0 &&
      (!tsi_count_mul((int64_t)layout->px * layout->py, layout->pz, &ranks) || ranks > RANKS_MOST))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "layout %dx%dx%d has more than %d processes", layout->px, layout->py,
             layout->pz, RANKS_MOST);
  return TRISTAR_OK;
}

/* ---- Figures over all processes ----------------------------------------------------------------------- */

static void add_counts(tristar_messages *messages, const tsi_traffic_count *sent,
                       const tsi_traffic_count *received, double row_bytes, tsi_index rank) {
  tsi_range_add(&messages->sent, (double)sent->messages, rank);
  tsi_range_add(&messages->received, (double)received->messages, rank);
  tsi_range_add(&messages->sent_bytes, row_bytes * (double)sent->rows, rank);
  tsi_range_add(&messages->received_bytes, row_bytes * (double)received->rows, rank);
}

static tsi_traffic_count sum_classes(const tsi_traffic_count *count) {
  tsi_traffic_count sum = {0};
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) {
    sum.messages += count[k].messages;
    sum.rows += count[k].rows;
  }
  return sum;
}

void tsi_traffic_summarize(const tsi_traffic *traffic, double scalar_bytes, double row_bytes,
                           tristar_traffic *out) {
  tristar_messages *of[] = {&out->broadcast, &out->reduction, &out->grids};
  for (tsi_index r = 0; r < traffic->ranks; r++) {
    const tsi_traffic_rank *rank = &traffic->rank[r];
    const tsi_traffic_count sent = sum_classes(rank->sent), received = sum_classes(rank->received);
    for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++)
      add_counts(of[k], &rank->sent[k], &rank->received[k], row_bytes, r);
    add_counts(&out->all, &sent, &received, row_bytes, r);
    tsi_range_add(&out->factor_bytes, scalar_bytes * (double)rank->entries, r);
  }
  out->balance = out->factor_bytes.mean > 0 ? out->factor_bytes.max / out->factor_bytes.mean : 1;
  out->ranks = traffic->ranks;
  out->grid_steps = traffic->grid_steps;
}

/* ---- The factorization -------------------------------------------------------------------------------- */

static tristar_status summarize_fronts(tsi_env *env, const tristar_analysis_t *an, const tsi_layout *layout,
                                       tristar_traffic *out) {
  const tsi_index ranks = tsi_layout_ranks(layout);
  TSI_SCRATCH_ZERO(env, front_counts, count, ranks);
  TSI_TRY(count_fronts(env, an, layout, count, &out->factor_path_flops));
  for (tsi_index r = 0; r < ranks; r++) {
    add_counts(&out->fan_in, &count[r].sent, &count[r].received, 1, r);
    tsi_range_add(&out->factor_flops, count[r].flops, r);
    tsi_range_add(&out->front_bytes, count[r].most_bytes, r);
  }
  return TRISTAR_OK;
}

/* ---- The layout of an analysis ------------------------------------------------------------------------ */

static size_t scalar_bytes_of(const tristar_analysis_t *analysis) {
  return tsi_sparse_kernels_select(analysis->factor_scalar)->scalar_bytes;
}

double tsi_layout_floor(const tristar_analysis_t *analysis, bool gpu_chunks) {
  return gpu_chunks ? TSI_GPU_FLOOR_BYTES : tsi_calibration_now(&analysis->ts->machine).floor_bytes;
}

tsi_layout_options tsi_analysis_layout_options(const tristar_analysis_t *analysis,
                                               const tristar_layout *layout, bool gpu_chunks) {
  return tsi_layout_options_of(layout, tsi_layout_floor(analysis, gpu_chunks), analysis->symbolic->nnz_stored,
                               scalar_bytes_of(analysis));
}

tristar_status tsi_layout_make(tsi_env *env, const tristar_analysis_t *analysis, const tristar_layout *layout,
                               int64_t nrhs, bool gpu_chunks, tsi_layout **made) {
  TSI_TRY(check_arguments(env, analysis, layout, nrhs));
  const tsi_layout_options options = tsi_analysis_layout_options(analysis, layout, gpu_chunks);
  return tsi_layout_create(env, analysis->symbolic, analysis->panels, &options, made);
}

tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                      int64_t nrhs, tristar_traffic *out) {
  if (out == NULL) return TSI_NULL(out);
  memset(out, 0, sizeof *out);
  TSI_ENTER(analysis, analysis->ts);
  return tsi_answer(tsi_context_env(analysis->ts), tsi_layout_count(analysis, layout, nrhs, false, out));
}

tristar_status tsi_layout_count(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                int64_t nrhs, bool gpu_chunks, tristar_traffic *out) {
  tsi_env *env = tsi_context_env(analysis->ts);
  const double scalar_bytes = (double)scalar_bytes_of(analysis);
  tristar_layout fallback;
  TSI_OWNED tsi_layout *made = NULL;
  TSI_OWNED tsi_traffic *traffic = NULL;
  memset(out, 0, sizeof *out);
  tristar_layout_init(&fallback);
  if (layout == NULL) layout = &fallback;
  TSI_TRY(tsi_layout_make(env, analysis, layout, nrhs, gpu_chunks, &made));
  TSI_TRY(tsi_traffic_create(env, made, analysis->panels, tsi_tree_of(layout), &traffic));
  tsi_traffic_summarize(traffic, scalar_bytes, scalar_bytes * (double)nrhs, out);
  if (!analysis->imported) TSI_TRY(summarize_fronts(env, analysis, made, out));
  out->chunks = made->chunks->count;
  for (tsi_index c = 0; c < made->chunks->count; c++) out->spread_chunks += !made->whole[c];
  return TRISTAR_OK;
}

tristar_status tsi_layout_pairs(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                int64_t nrhs, tsi_index cells, tsi_pairs **out, double *row_bytes) {
  tsi_env *env = tsi_context_env(analysis->ts);
  TSI_OWNED tsi_layout *made = NULL;
  *out = NULL;
  *row_bytes = (double)scalar_bytes_of(analysis) * (double)nrhs;
  TSI_TRY(tsi_layout_make(env, analysis, layout, nrhs, false, &made));
  return tsi_pairs_create(env, made, analysis->panels, tsi_tree_of(layout), cells, out);
}

void tsi_layout_pairs_destroy(const tristar_analysis_t *analysis, tsi_pairs **pairs) {
  if (analysis != NULL) tsi_pairs_destroy(tsi_context_env(analysis->ts), pairs);
}
