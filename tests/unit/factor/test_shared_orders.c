/* The steps of a factorization by several processes with numbers, on one thread. The factor has the bits of
 * one process, for each method: with any owners of fronts, any teams that share fronts in tiles, and any
 * legal order of the steps of all processes, with messages between them. No process waits forever, and
 * nothing leaks. */
#include "runtime/factor/factor.h"
#include "runtime/factor/numeric.h"
#include "runtime/exec/starpu/blas.h"
#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

enum { PROCESSES = 3 };

/* ---- Messages ------------------------------------------------------------------------------------------ */

struct world;

typedef struct node {
  struct world *world;
  tsi_index rank;
  tsi_numeric *numeric;
  char **mail;  /* for each received message: the bytes that were sent, until they are received */
  void **place; /* where they must be stored; NULL: not yet requested */
  bool *arrived;
  tsi_index *left; /* for each step: the number of steps that it still waits for; -1 after the step */
  tsi_adjacency *after;
  tsi_index steps; /* number of steps that are done */
} node;

typedef struct world {
  node node[PROCESSES];
} world;

static void deliver(node *to, tsi_index m) {
  if (to->mail[m] == NULL || to->place[m] == NULL) return;
  memcpy(to->place[m], to->mail[m],
         tsi_numeric_piece_bytes(to->numeric, true, &to->numeric->dag->receive[m]));
  free(to->mail[m]);
  to->mail[m] = NULL;
  to->arrived[m] = true;
  tsi_numeric_arrived(to->numeric, m);
}

static tristar_status port_begin(void *context, const bool *comes, tsi_index goes) {
  (void)context;
  (void)comes;
  (void)goes;
  return TRISTAR_OK;
}

/* Copies the message, because the sender may free its buffer at once. */
static tristar_status port_send_from(void *context, tsi_index m, void *buffer) {
  node *from = context;
  const tsi_front_message *message = &from->numeric->dag->send[m];
  node *to = &from->world->node[message->peer];
  const tsi_factorization *dag = to->numeric->dag;
  const size_t bytes = tsi_numeric_piece_bytes(from->numeric, false, message);
  tsi_index q = 0;
  while (q < dag->receives && (dag->receive[q].peer != from->rank || dag->receive[q].tag != message->tag))
    q++;
  CHECK(q < dag->receives && to->mail[q] == NULL && !to->arrived[q]);
  CHECK(tsi_numeric_piece_bytes(to->numeric, true, &dag->receive[q]) == bytes);
  to->mail[q] = xmalloc(bytes);
  memcpy(to->mail[q], buffer, bytes);
  tsi_numeric_departed(from->numeric, m);
  deliver(to, q);
  return TRISTAR_OK;
}

static tristar_status port_receive_into(void *context, tsi_index m, void *buffer) {
  node *to = context;
  CHECK(to->place[m] == NULL);
  to->place[m] = buffer;
  deliver(to, m);
  return TRISTAR_OK;
}

static tristar_status port_wait(void *context, tsi_index m) {
  CHECK(((node *)context)->arrived[m]);
  return TRISTAR_OK;
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

static void *array_of(tsi_count count, size_t size) {
  void *array = xcalloc((size_t)count + 1, size);
  return array;
}

static void open_node(world *w, tsi_index rank, tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                      const tsi_factorization_options *options, const tsi_front_owners *owners, bool fixed) {
  node *n = &w->node[rank];
  *n = (node){.world = w, .rank = rank};
  CHECK_OK(tsi_numeric_create(factor, sizes, options, owners, fixed, &n->numeric));
  const tsi_factorization *dag = n->numeric->dag;
  n->numeric->port = (tsi_port){.context = n,
                                .begin = port_begin,
                                .receive_into = port_receive_into,
                                .send_from = port_send_from,
                                .wait = port_wait};
  n->mail = array_of(dag->receives, sizeof *n->mail);
  n->place = array_of(dag->receives, sizeof *n->place);
  n->arrived = array_of(dag->receives, sizeof *n->arrived);
  n->left = array_of(dag->steps->count, sizeof *n->left);
  CHECK_OK(tsi_adjacency_create(&factor->ts->env, dag->steps->count, dag->steps->edges, dag->steps->edge,
                                TSI_AFTER, &n->after));
  for (tsi_count e = 0; e < dag->steps->edges; e++) n->left[dag->steps->edge[e].item]++;
}

static void close_node(node *n, tristar_factor_t *factor) {
  const tsi_factorization *dag = n->numeric->dag;
  CHECK_OK(tsi_numeric_finish(n->numeric, factor));
  for (tsi_index m = 0; m < dag->receives; m++) CHECK(n->arrived[m]);
  for (tsi_index q = 0; q < dag->tiled_count;
       q++) { /* stripes are freed after their last use, not at the end */
    const tsi_front_tiles t = tsi_factorization_tiles(dag, dag->tiled[q]);
    for (tsi_index k = 0; n->numeric->tiled[q].stripe && k < t.count; k++)
      CHECK(n->numeric->tiled[q].stripe[k].memory == NULL && n->numeric->tiled[q].stripe[k].at.c == NULL);
  }
  for (tsi_index p = 0; dag->teams && p < dag->ins; p++) CHECK(n->numeric->in_part[p] == NULL);
  for (tsi_index p = 0; dag->teams && p < dag->outs; p++) CHECK(n->numeric->out_part[p] == NULL);
  TSI_FREE(&factor->ts->env, n->after);
  tsi_numeric_destroy(&n->numeric);
  free(n->mail);
  free(n->place);
  free(n->arrived);
  free(n->left);
}

static bool is_ready(const node *n, tsi_index k) {
  if (n->left[k] != 0) return false;
  const tsi_factorization *dag = n->numeric->dag;
  return dag->steps->step[k].kind != TSI_STEP_ARRIVAL || n->arrived[dag->part[k].message];
}

/* Returns the first ready step after a random position. */
static tsi_index next_step(const node *n, uint64_t *seed) {
  const tsi_index count = n->numeric->dag->steps->count;
  const tsi_index from = count > 0 ? (tsi_index)(next_random(seed) % (uint64_t)count) : 0;
  for (tsi_index k = from; k < count; k++)
    if (is_ready(n, k)) return k;
  for (tsi_index k = 0; k < from; k++)
    if (is_ready(n, k)) return k;
  return TSI_NONE;
}

static void run_step(node *n, tsi_index k) {
  tsi_numeric_run_step(n->numeric, k);
  n->left[k] = -1;
  n->steps++;
  for (tsi_count e = n->after->ptr[k]; e < n->after->ptr[k + 1]; e++) n->left[n->after->list[e]]--;
}

static void run_all(world *w, uint64_t seed) {
  for (tsi_index r = 0; r < PROCESSES; r++) tsi_numeric_expect_next(w->node[r].numeric, TSI_NONE);
  for (;;) {
    const tsi_index first = (tsi_index)(next_random(&seed) % PROCESSES);
    tsi_index k = TSI_NONE, open = 0;
    for (tsi_index r = 0; r < PROCESSES && k == TSI_NONE; r++) {
      node *n = &w->node[(first + r) % PROCESSES];
      k = next_step(n, &seed);
      if (k != TSI_NONE) run_step(n, k);
    }
    for (tsi_index r = 0; r < PROCESSES; r++)
      open += w->node[r].numeric->dag->steps->count - w->node[r].steps;
    if (open == 0) return;
    CHECK_MSG(k != TSI_NONE, "%d steps wait for ever", open);
  }
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

/* Chooses owners of supernodes, by subtrees or randomly, and teams around them. */
static void choose_owners(const tristar_analysis_t *an, const bool *tiled,
                          const tsi_factorization_options *options, uint64_t seed, tsi_index *owner,
                          tsi_index *begin, tsi_index *end) {
  const tsi_symbolic *symbolic = an->symbolic;
  const bool scattered = seed % 2;
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const bool below = symbolic->parent[s] != TSI_NONE && symbolic->count - s > symbolic->count / 10;
    owner[s] = below && !scattered ? owner[symbolic->parent[s]] : (tsi_index)(next_random(&seed) % PROCESSES);
    begin[s] = owner[s] - (tsi_index)(next_random(&seed) % (uint64_t)(owner[s] + 1));
    end[s] = owner[s] + 1 + (tsi_index)(next_random(&seed) % (uint64_t)(PROCESSES - owner[s]));
    const tsi_front_tiles t = tsi_front_tiles_of(symbolic, an->panels, options->tile, s);
    if (tiled[s] && t.count >= end[s] - begin[s]) continue;
    begin[s] = owner[s];
    end[s] = owner[s] + 1;
  }
}

static int shared; /* number of shared fronts in all runs */

/* The parts of all processes together must be the factor of one process. */
static void factor_together(tristar_factor_t *factor, const tsi_factorization_options *options,
                            uint64_t seed) {
  const tristar_analysis_t *an = factor->analysis;
  tsi_env *env = &factor->ts->env;
  const tsi_count count = an->symbolic->count;
  OWNED tsi_index *owner = array_of(count, sizeof *owner), *begin = array_of(count, sizeof *begin),
                  *end = array_of(count, sizeof *end);
  OWNED bool *tiled = array_of(count, sizeof *tiled);
  tsi_front_teams *teams;
  tsi_pivot_sizes sizes;
  world w;
  CHECK_OK(tsi_factorization_find_tiled(env, an->symbolic, an->stats.method, options, tiled));
  choose_owners(an, tiled, options, seed, owner, begin, end);
  CHECK_OK(tsi_front_teams_create(env, an->symbolic, an->panels, an->stats.method, options->tile, begin, end,
                                  &teams));
  for (tsi_index s = 0; s < an->symbolic->count; s++) shared += end[s] - begin[s] > 1;
  CHECK_OK(tsi_pivot_sizes_measure(factor, &sizes));
  for (tsi_index r = 0; r < PROCESSES; r++) {
    const tsi_front_owners owners = {.owner = owner, .rank = r, .teams = teams};
    open_node(&w, r, factor, &sizes, options, &owners, false);
  }
  run_all(&w, seed + 99);
  for (tsi_index r = 0; r < PROCESSES; r++) close_node(&w.node[r], factor);
  tsi_pivot_sizes_release(&sizes);
  TSI_FREE(env, teams);
}

/* The arrays of a factor. Parts that are not computed yet are zero. */
typedef struct contents {
  void *at[4];
  size_t size[4];
} contents;

static contents contents_of(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t stream = (size_t)an->panel_values[an->panels->count] * factor->scalar_bytes;
  const size_t n = (size_t)an->pattern->n;
  return (contents){{factor->lower, factor->upper, factor->pivots, factor->inverse},
                    {stream, stream, n * sizeof(tsi_index), 2 * n * factor->scalar_bytes}};
}

static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, tristar_inverse inverse,
                  const tsi_factorization_options *options) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options wish = DEFAULTS(tristar_analysis_options);
  char *bits[4] = {NULL};
  tristar_view view = generated_view(ts, kind, k, &matrix);
  wish.method = method;
  wish.inverse = inverse;
  wish.merge = TRISTAR_MERGE_NONE; /* panels of 8 columns */
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &wish);
  ts->fronts = *options;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  const contents all = contents_of(factor);
  for (int q = 0; q < 4; q++) {
    if (all.at[q] == NULL) continue;
    bits[q] = xmalloc(all.size[q] + 1);
    memcpy(bits[q], all.at[q], all.size[q]);
  }
  for (uint64_t seed = 1; seed <= 24; seed++) {
    for (int q = 0; q < 4; q++)
      if (all.at[q]) memset(all.at[q], 0, all.size[q]);
    factor_together(factor, options, seed);
    for (int q = 0; q < 4; q++)
      CHECK_MSG(all.at[q] == NULL || memcmp(all.at[q], bits[q], all.size[q]) == 0,
                "%s: other bits, part %d, seed %d", kind, q, (int)seed);
  }
  for (int q = 0; q < 4; q++) free(bits[q]);
}

int test_shared_orders(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tsi_factorization_options small = {16, 2e4, 2e5, 0}, large = {64, 2e5, 1e6, 0};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  tsi_blas_acquire();
  RUN(check(ts, "poisson3d7", 9, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_DIAGONAL, &small));
  RUN(check(ts, "poisson3d27", 10, TRISTAR_METHOD_LLT, TRISTAR_INVERSE_NONE, &large));
  RUN(check(ts, "convdiff3d", 8, TRISTAR_METHOD_LU, TRISTAR_INVERSE_DIAGONAL, &small));
  RUN(check(ts, "convdiff3d", 10, TRISTAR_METHOD_LU, TRISTAR_INVERSE_NONE, &large));
  RUN(check(ts, "kkt3d", 6, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_DIAGONAL, &small));
  RUN(check(ts, "maxwell3d", 6, TRISTAR_METHOD_LDLT, TRISTAR_INVERSE_NONE, &large));
  tsi_blas_release();
  printf("%d fronts were shared\n", shared);
  CHECK_TOTAL(shared > 50, "%d fronts were shared", shared);
  return 0;
}
