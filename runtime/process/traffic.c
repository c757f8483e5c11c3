/* Layouts of distributed solves, and what a solve sends with them: counts of dag/traffic.h as figures over
 * all processes. */
#include "codelets/cpu/rows/sparse.h"
#include "runtime/machine/calibration.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/front_traffic.h"
#include "runtime/process/pairs.h"
#include "runtime/process/process.h"

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

static void add_rank(tristar_range *range, double value, tsi_index rank) {
  if (rank == 0 || value < range->min) range->min = value;
  if (rank == 0 || value > range->max) range->max = value;
  range->total += value;
}

static void add_counts(tristar_messages *messages, const tsi_traffic_count *sent,
                       const tsi_traffic_count *received, double row_bytes, tsi_index rank) {
  add_rank(&messages->sent, (double)sent->messages, rank);
  add_rank(&messages->received, (double)received->messages, rank);
  add_rank(&messages->sent_bytes, row_bytes * (double)sent->rows, rank);
  add_rank(&messages->received_bytes, row_bytes * (double)received->rows, rank);
}

static tsi_traffic_count sum_classes(const tsi_traffic_count *count) {
  tsi_traffic_count sum = {0};
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) {
    sum.messages += count[k].messages;
    sum.rows += count[k].rows;
  }
  return sum;
}

static void find_means(tristar_messages *messages, double ranks) {
  messages->sent.mean = messages->sent.total / ranks;
  messages->received.mean = messages->received.total / ranks;
  messages->sent_bytes.mean = messages->sent_bytes.total / ranks;
  messages->received_bytes.mean = messages->received_bytes.total / ranks;
}

static void summarize(const tsi_traffic *traffic, double scalar_bytes, double row_bytes,
                      tristar_traffic *out) {
  tristar_messages *of[] = {&out->broadcast, &out->reduction, &out->grids};
  for (tsi_index r = 0; r < traffic->ranks; r++) {
    const tsi_traffic_rank *rank = &traffic->rank[r];
    const tsi_traffic_count sent = sum_classes(rank->sent), received = sum_classes(rank->received);
    for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++)
      add_counts(of[k], &rank->sent[k], &rank->received[k], row_bytes, r);
    add_counts(&out->all, &sent, &received, row_bytes, r);
    add_rank(&out->factor_bytes, scalar_bytes * (double)rank->entries, r);
  }
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) find_means(of[k], traffic->ranks);
  find_means(&out->all, traffic->ranks);
  out->factor_bytes.mean = out->factor_bytes.total / traffic->ranks;
  out->balance = out->factor_bytes.mean > 0 ? out->factor_bytes.max / out->factor_bytes.mean : 1;
  out->ranks = traffic->ranks;
  out->grid_steps = traffic->grid_steps;
}

/* ---- The factorization -------------------------------------------------------------------------------- */

static tristar_status summarize_fronts(tsi_env *env, const tristar_analysis_t *an, const tsi_layout *layout,
                                       tristar_traffic *out) {
  const tsi_index ranks = tsi_layout_ranks(layout);
  TSI_SCRATCH_ZERO(env, tsi_front_counts, count, ranks);
  TSI_TRY(tsi_front_traffic_count(env, an, layout, count, &out->factor_path_flops));
  for (tsi_index r = 0; r < ranks; r++) {
    add_counts(&out->fan_in, &count[r].sent, &count[r].received, 1, r);
    add_rank(&out->factor_flops, count[r].flops, r);
    add_rank(&out->front_bytes, count[r].most_bytes, r);
  }
  find_means(&out->fan_in, ranks);
  out->factor_flops.mean = out->factor_flops.total / ranks;
  out->front_bytes.mean = out->front_bytes.total / ranks;
  return TRISTAR_OK;
}

/* ---- The layout of an analysis ------------------------------------------------------------------------ */

static size_t scalar_bytes_of(const tristar_analysis_t *analysis) {
  return tsi_sparse_kernels_select(analysis->factor_scalar)->scalar_bytes;
}

static tristar_status make_layout(tsi_env *env, const tristar_analysis_t *analysis,
                                  const tristar_layout *layout, int64_t nrhs, tsi_layout **made) {
  TSI_TRY(check_arguments(env, analysis, layout, nrhs));
  const tsi_layout_options options =
      tsi_layout_options_of(layout, tsi_calibration_now(&analysis->ts->machine).floor_bytes,
                            analysis->symbolic->nnz_stored, scalar_bytes_of(analysis));
  return tsi_layout_create(env, analysis->symbolic, analysis->panels, &options, made);
}

tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                      int64_t nrhs, tristar_traffic *out) {
  tristar_status status = TRISTAR_OK;
  if (out == NULL) return TSI_NULL(out);
  memset(out, 0, sizeof *out);
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = tsi_context_env(analysis->ts);
  const double scalar_bytes = (double)scalar_bytes_of(analysis);
  tristar_layout fallback;
  tsi_layout *made = NULL;
  tsi_traffic *traffic = NULL;
  tristar_layout_init(&fallback);
  if (layout == NULL) layout = &fallback;
  TSI_TRY_OUT(make_layout(env, analysis, layout, nrhs, &made));
  TSI_TRY_OUT(tsi_traffic_create(env, made, analysis->panels, tsi_tree_of(layout), &traffic));
  summarize(traffic, scalar_bytes, scalar_bytes * (double)nrhs, out);
  if (!analysis->imported) TSI_TRY_OUT(summarize_fronts(env, analysis, made, out));
  out->chunks = made->chunks->count;
  for (tsi_index c = 0; c < made->chunks->count; c++) out->spread_chunks += !made->whole[c];
out:
  tsi_traffic_destroy(env, &traffic);
  TSI_FREE(env, made);
  return tsi_answer(env, status);
}

tristar_status tsi_layout_pairs(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                int64_t nrhs, tsi_index cells, tsi_pairs **out, double *row_bytes) {
  tsi_env *env = tsi_context_env(analysis->ts);
  TSI_OWNED tsi_layout *made = NULL;
  *out = NULL;
  *row_bytes = (double)scalar_bytes_of(analysis) * (double)nrhs;
  TSI_TRY(make_layout(env, analysis, layout, nrhs, &made));
  return tsi_pairs_create(env, made, analysis->panels, tsi_tree_of(layout), cells, out);
}

void tsi_layout_pairs_destroy(const tristar_analysis_t *analysis, tsi_pairs **pairs) {
  if (analysis != NULL) tsi_pairs_destroy(tsi_context_env(analysis->ts), pairs);
}
