/* Memory of one rank in a factorization: see rank_forecast.h. */
#include "runtime/process/rank_forecast.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/base/range.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/factor/numeric.h"

#define FLOW_BYTES 0x1p20 /* bytes of the pieces of a flow, both directions (runtime/mpi/comm/route.h) */
#define MESSAGE_BYTES 64  /* bytes of a sent or received message, with its request */

/* Quantities that determine the sizes of arrays. */
typedef struct sizes {
  double n, columns;      /* of the factor; of the part */
  double own, home;       /* columns of own fronts, of the rows of b that this rank reads */
  double entries, listed; /* entries of a rank's rows; of own fronts */
  double user, scalar;    /* bytes of a scalar */
} sizes;

/* A shared front counts in equal parts for its team. */
static double own_columns(const tsi_rank_source *s) {
  const tsi_front_part *part = s->part;
  const tsi_symbolic *symbolic = part->tree->symbolic;
  double columns = 0;
  for (tsi_index k = 0; k < symbolic->count; k++) {
    const double width = symbolic->start[k + 1] - symbolic->start[k];
    const bool shared = tsi_front_is_shared(part->teams, k);
    if (shared && tsi_front_is_member(part->teams, k, s->process->share->rank))
      columns += width / (part->teams->end[k] - part->teams->begin[k]);
    else if (!shared && part->owner[k] == s->process->share->rank)
      columns += width;
  }
  return columns;
}

static double home_columns(const tsi_process *p) {
  const tsi_chunks *chunks = p->share->chunks;
  double columns = 0;
  for (tsi_index c = 0; c < chunks->count; c++)
    if (p->home[c]) columns += chunks->column[c + 1] - chunks->column[c];
  return columns;
}

static sizes sizes_of(const tsi_rank_source *s) {
  const tsi_process *p = s->process;
  const double n = (double)p->kind.n, all = (double)s->entries;
  sizes z = {.n = n,
             .columns = s->part->tree->symbolic->n,
             .own = own_columns(s),
             .home = home_columns(p),
             .user = (double)p->user_bytes,
             .scalar = (double)p->scalar_bytes};
  z.entries = all / tsi_layout_ranks(p->layout);
  z.listed = n > 0 ? (p->kind.lu ? all : (all + n) / 2) * z.own / n : 0;
  return z;
}

/* passing: by panel of the part, its bytes if it is of an own front and only other ranks store it; else 0.
 * Errors: MEMORY. */
static tristar_status weigh_passing(tsi_env *env, const tsi_rank_source *s, double *passing) {
  const tsi_panels *panels = s->panels;
  const tsi_tree_part *tree = s->part->tree;
  const tsi_process *p = s->process;
  const tsi_share *share = p->share;
  const double bytes = (double)p->scalar_bytes * (p->kind.lu ? 2 : 1);
  TSI_SCRATCH_ZERO(env, bool, placed, panels->count);
  for (tsi_index k = 0; k < share->chunks->count; k++)
    for (tsi_index j = share->chunks->panel[k]; j < share->chunks->panel[k + 1]; j++)
      placed[share->panel[j]] =
          (share->role[k] & TSI_ROLE_DIAGONAL) && share->panels->height[j] == panels->height[share->panel[j]];
  for (tsi_index k = 0; k < tree->symbolic->count; k++)
    for (tsi_index j = tree->panels->first[k]; j < tree->panels->first[k + 1]; j++) {
      const tsi_index whole = panels->first[tree->supernode[k]] + j - tree->panels->first[k];
      const bool passes = s->part->owner[k] == share->rank && !placed[whole];
      passing[j] =
          passes ? bytes * (double)tsi_panel_size(tsi_panel_width(panels, whole), panels->height[whole]) : 0;
    }
  return TRISTAR_OK;
}

/* ---- A run without arithmetic -------------------------------------------------------------------------- */

/* Messages are sent and received at once. */
static tristar_status send_from(void *numeric, tsi_index message, void *from) {
  (void)from;
  tsi_numeric_departed(numeric, message);
  return TRISTAR_OK;
}

static tristar_status receive_into(void *numeric, tsi_index message, void *to) {
  (void)to;
  tsi_numeric_arrived(numeric, message);
  return TRISTAR_OK;
}

static tristar_status wait_for(void *numeric, tsi_index message) {
  (void)numeric;
  (void)message;
  return TRISTAR_OK;
}

static double pass(double *passing, tsi_index first, tsi_index end) {
  double bytes = 0;
  for (tsi_index j = first; j < end; j++) {
    bytes += passing[j];
    passing[j] = 0;
  }
  return bytes;
}

/* Bytes of the panels that a step packs for other ranks. */
static double pass_panels(const tsi_numeric *numeric, tsi_index step, double *passing) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_step_kind kind = dag->steps->step[step].kind;
  const tsi_front_step *part = &dag->part[step];
  if (kind == TSI_STEP_FRONT || kind == TSI_STEP_SUBTREE)
    return pass(passing, dag->panels->first[part->first], dag->panels->first[part->last + 1]);
  if (kind != TSI_STEP_FRONT_PACK) return 0;
  if (!tsi_factorization_shares(dag, part->first)) return pass(passing, part->panel, part->panel + 1);
  const tsi_front_tiles t = tsi_factorization_tiles(dag, part->first);
  const tsi_index k = tsi_front_tile_of(&t, part->row); /* a stripe */
  return k < t.inner ? pass(passing, t.panel + k, t.panel + k + 1) : 0;
}

/* Runs step after step. dry: environment of the allocations of steps, except panels. */
static tristar_status run_dry(tsi_env *env, tsi_env *dry, tsi_numeric *numeric, double *passing,
                              double *peak) {
  double passed = 0;
  *peak = 0;
  numeric->env = dry;
  numeric->dry = true;
  numeric->port =
      (tsi_port){.context = numeric, .send_from = send_from, .receive_into = receive_into, .wait = wait_for};
  tsi_numeric_expect_next(numeric, TSI_NONE);
  for (tsi_index k = 0; k < numeric->dag->steps->count; k++) {
    (void)tsi_memory_watch(dry);
    tsi_numeric_run_step(numeric, k);
    if (numeric->dag->steps->step[k].kind != TSI_STEP_ARRIVAL) tsi_numeric_expect_next(numeric, k);
    *peak = tsi_double_max(*peak, passed + (double)atomic_load(&dry->memory.recent));
    passed += pass_panels(numeric, k, passing); /* panels are packed after the children are released */
    *peak = tsi_double_max(*peak, passed + (double)atomic_load(&dry->memory.current));
  }
  return tsi_failure_report(env, &numeric->failure);
}

/* Measures the steps, tasks and messages of the rank's fronts, and their allocations. Errors: MEMORY,
 * TOO_LARGE. */
static tristar_status weigh_run(tsi_env *env, const tsi_rank_source *s, tsi_numeric *numeric, size_t before,
                                double *passing, double *bytes) {
  size_t tasks = 0;
  double peak;
  tsi_env dry;
  tristar_status status = TRISTAR_OK;
  if (s->process->workers > 0 && numeric->dag->steps->count > 0)
    status = tsi_numeric_weigh_tasks(numeric, &tasks);
  if (status != TRISTAR_OK) {
    tsi_numeric_destroy(&numeric);
    return status;
  }
  *bytes = (double)(atomic_load(&env->memory.current) - before + tasks) +
           MESSAGE_BYTES * (double)(numeric->dag->sends + numeric->dag->receives);
  tsi_env_init(&dry);
  status = run_dry(env, &dry, numeric, passing, &peak);
  *bytes += peak;
  tsi_numeric_destroy(&numeric); /* before dry ends */
  return status;
}

static tristar_status weigh_fronts(tsi_env *env, const tsi_rank_source *s, double *bytes) {
  const tsi_front_owners owners = tsi_front_part_owners(s->part, s->process->share->rank);
  const tsi_pivot_sizes none = {.column = NULL};
  tsi_pattern pattern = {.n = s->part->tree->symbolic->n, .scalar = s->process->kind.user_scalar};
  tsi_numeric *numeric = NULL;
  TSI_SCRATCH_ZERO(env, struct tristar_analysis_s, an, 1);
  TSI_SCRATCH_ZERO(env, struct tristar_factor_s, factor, 1);
  TSI_SCRATCH(env, double, passing, s->part->tree->panels->count);
  TSI_TRY(weigh_passing(env, s, passing));
  an->ts = factor->ts = s->ts;
  an->pattern = &pattern;
  an->factor_scalar = s->process->kind.factor_scalar;
  an->symbolic = s->part->tree->symbolic;
  an->panels = s->part->tree->panels;
  an->stats.method = s->method;
  factor->analysis = an;
  factor->pivots = s->process->pivots; /* of another size, but not accessed */
  factor->inverse = s->process->inverse;
  const size_t before = atomic_load(&env->memory.current);
  TSI_TRY(tsi_numeric_create(factor, &none, &s->ts->fronts, &owners, false, &numeric));
  return weigh_run(env, s, numeric, before, passing, bytes);
}

/* ---- All of it ----------------------------------------------------------------------------------------- */

double tsi_rank_peak(const tsi_rank_bytes *bytes) {
  return tsi_double_max(bytes->run, tsi_double_max(bytes->deliver, bytes->bring));
}

tristar_status tsi_rank_forecast_make(tsi_env *env, const tsi_rank_source *source, tsi_rank_bytes *bytes) {
  const tsi_process *p = source->process;
  const sizes z = sizes_of(source);
  double fronts;
  TSI_TRY(weigh_fronts(env, source, &fronts));
  /* a gap of a triangle precedes the panels (tsi_place_share) */
  const double streams =
      (p->kind.lu ? 2 : 1) * z.scalar * (double)(p->begin[p->share->panels->count] + TSI_STREAM_PAD);
  /* by column of the part: its row, its panel, the largest entry, pivots */
  const double maps = 2 * sizeof(tsi_index) * z.columns + sizeof(double) * z.columns +
                      (p->kind.pivots ? sizeof(tsi_index) * z.columns : 0) +
                      (p->kind.indefinite ? 2 * z.scalar * z.columns : 0);
  const double scaled = source->method == TRISTAR_METHOD_LLT ? 0 : 2 * sizeof(double);
  const double scales = scaled * (z.n + z.columns);
  const double lists =
      z.listed * (sizeof(tsi_index) + z.user) + (p->kind.lu ? 2.0 : 1.0) * sizeof(tsi_count) * z.columns;
  const double rows =
      z.entries * (sizeof(tsi_index) + z.user) + sizeof(tsi_count) * z.n / tsi_layout_ranks(p->layout);
  const double matrix = rows * z.home * tsi_layout_ranks(p->layout) / tsi_double_max(z.n, 1);
  bytes->panels = streams - (p->kind.lu ? 2 : 1) * z.scalar * (double)(p->begin[0] + TSI_STREAM_PAD);
  bytes->deliver = maps + scales + lists + rows + sizeof(tsi_count) * (z.listed + z.entries) + FLOW_BYTES;
  bytes->run = maps + scales + lists + streams + fronts;
  bytes->bring = maps + streams + matrix + sizeof(tsi_index) * z.n + FLOW_BYTES;
  bytes->kept = maps + streams + matrix;
  bytes->present = rows + scaled * z.n;
  return TRISTAR_OK;
}
