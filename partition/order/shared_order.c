/* See shared_order.h. */
#include "partition/order/shared_order.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "partition/order/merged.h"
#include "partition/order/separators.h"
#include "runtime/base/child.h"

/* Helpers are not worth their start for fewer edges, each counted twice. */
#define SHARED_EDGES 100000
/* Parts of fewer edges are ordered as a whole: the larger of a number and a share of the component. */
#define PIECE_EDGES 60000
#define PIECE_SHARE 64
#define HELPERS_MOST 64
/* Vertices of the largest part that is not separated. Merged vertices are several rows each. */
#define LEAF_VERTICES 600
#define LEAF_MERGED 250
#define PROGRAM "order_part"

/* ---- Shared memory ------------------------------------------------------------------------------------- */

/* What the shared memory begins with; n + 1, edges, weighted * n and n integers follow, the arrays of a part
 * but for its vertices. */
typedef struct request {
  uint32_t version; /* VERSION, of both programs */
  int32_t parent;   /* process id */
  int32_t seed, separate, weighted;
  int32_t done; /* 1: the helper has written the result */
  int64_t n, halo, edges, leaf;
} request;

#define VERSION (0x74733000u + IDXTYPEWIDTH)

typedef struct arrays {
  idx_t *xadj, *adj, *weight, *result;
} arrays;

static size_t bytes_of(const request *r) {
  const int64_t integers = r->n + 1 + r->edges + (r->weighted ? r->n : 0) + r->n;
  return sizeof *r + (size_t)integers * sizeof(idx_t);
}

static arrays arrays_of(request *r) {
  arrays a;
  a.xadj = (idx_t *)(void *)(r + 1);
  a.adj = a.xadj + r->n + 1;
  a.weight = a.adj + r->edges;
  a.result = a.weight + (r->weighted ? r->n : 0);
  return a;
}

/* ---- In a helper --------------------------------------------------------------------------------------- */

static tristar_status serve(tsi_env *env, request *r) {
  const arrays a = arrays_of(r);
  TSI_OWNED tsi_order_part *p = NULL;
  TSI_TRY(tsi_order_part_create(env, (idx_t)r->n, (idx_t)r->edges, r->weighted != 0, &p));
  p->halo = (idx_t)r->halo;
  p->leaf = (idx_t)r->leaf;
  memcpy(p->xadj, a.xadj, ((size_t)r->n + 1) * sizeof *a.xadj);
  memcpy(p->adj, a.adj, (size_t)r->edges * sizeof *a.adj);
  if (r->weighted) memcpy(p->weight, a.weight, (size_t)r->n * sizeof *a.weight);
  for (idx_t v = 0; v < p->n; v++) p->vertex[v] = v;
  if (r->separate) {
    TSI_TRY(tsi_order_part_separate(env, p, r->seed));
    memcpy(a.result, p->result, (size_t)r->n * sizeof *a.result);
  } else
    TSI_TRY(tsi_separators_order(env, p, r->seed, a.result));
  r->done = 1;
  return TRISTAR_OK;
}

int tsi_shared_order_serve(void *memory, size_t bytes) {
  request *r = memory;
  tsi_env env;
  if (bytes < sizeof *r || r->version != VERSION || r->n < 0 || r->edges < 0 || bytes_of(r) != bytes)
    return 2;
  if (tsi_child_is_orphan(r->parent)) return 2;
  tsi_env_init(&env);
  return serve(&env, r) == TRISTAR_OK ? 0 : 1;
}

/* ---- In the program ------------------------------------------------------------------------------------ */

typedef struct helper {
  tsi_order_part *part; /* NULL: idle */
  tsi_child child;
} helper;

typedef struct shared_order {
  tsi_env *env;
  idx_t *order;
  int seed, cores;
  idx_t all, placed;       /* vertices */
  idx_t piece;             /* edges of the largest part that is ordered as a whole */
  bool alone;              /* no helper is started any more */
  char program[PATH_MAX];  /* of helpers */
  tsi_order_part *waiting; /* parts, owned one by one */
  helper helpers[HELPERS_MOST];
} shared_order;

static bool separates(const shared_order *s, const tsi_order_part *p) {
  return p->xadj[p->n] > s->piece && p->n > p->leaf;
}

/* The largest part that waits. */
static tsi_order_part *take_largest(shared_order *s) {
  tsi_order_part **best = &s->waiting;
  for (tsi_order_part **p = &s->waiting; *p != NULL; p = &(*p)->next)
    if ((*p)->n > (*best)->n) best = p;
  tsi_order_part *p = *best;
  if (p != NULL) *best = p->next;
  return p;
}

static void note_progress(shared_order *s, idx_t placed) {
  s->placed += placed;
  tsi_log(s->env, TRISTAR_LOG_PROGRESS, "ordering %d%%", (int)(100.0 * (double)s->placed / (double)s->all));
}

/* The result of a part has its sides: two parts wait instead, unless one side is empty. */
static tristar_status divide(shared_order *s, const tsi_order_part *p, bool *divided) {
  const tsi_order_part *last = s->waiting;
  idx_t sides = 0;
  TSI_TRY(tsi_separators_divide(s->env, p, s->order, &s->waiting, divided));
  for (const tsi_order_part *q = s->waiting; q != last; q = q->next) sides += q->n;
  if (*divided) note_progress(s, p->n - sides);
  return TRISTAR_OK;
}

/* Orders a part as a whole in this process. */
static tristar_status order_here(shared_order *s, tsi_order_part *p) {
  TSI_TRY(tsi_separators_order(s->env, p, s->seed, s->order));
  note_progress(s, p->n);
  return TRISTAR_OK;
}

/* What a helper would do. */
static tristar_status work_here(shared_order *s, tsi_order_part *p) {
  bool divided = false;
  if (separates(s, p)) {
    TSI_TRY(tsi_order_part_separate(s->env, p, s->seed));
    TSI_TRY(divide(s, p, &divided));
  }
  return divided ? TRISTAR_OK : order_here(s, p);
}

/* Takes the result of a helper. */
static tristar_status take(shared_order *s, tsi_order_part *p, const arrays *a) {
  bool divided;
  memcpy(p->result, a->result, (size_t)p->n * sizeof *a->result);
  if (separates(s, p)) {
    TSI_TRY(divide(s, p, &divided));
    return divided ? TRISTAR_OK : order_here(s, p);
  }
  tsi_separators_place(p, s->order);
  note_progress(s, p->n);
  return TRISTAR_OK;
}

/* The memory that a helper of this part shares. */
static tristar_status share(shared_order *s, const tsi_order_part *p, tsi_child *child) {
  const request head = {.version = VERSION,
                        .parent = (int32_t)getpid(),
                        .seed = s->seed,
                        .separate = separates(s, p),
                        .weighted = p->weight != NULL,
                        .n = p->n,
                        .halo = p->halo,
                        .edges = p->xadj[p->n],
                        .leaf = p->leaf};
  TSI_TRY(tsi_child_prepare(s->env, bytes_of(&head), child));
  request *r = child->memory;
  *r = head;
  const arrays a = arrays_of(r);
  memcpy(a.xadj, p->xadj, ((size_t)p->n + 1) * sizeof *a.xadj);
  memcpy(a.adj, p->adj, (size_t)p->xadj[p->n] * sizeof *a.adj);
  if (p->weight != NULL) memcpy(a.weight, p->weight, (size_t)p->n * sizeof *a.weight);
  return TRISTAR_OK;
}

static void give_up_helpers(shared_order *s, const char *why) {
  if (!s->alone) tsi_log(s->env, TRISTAR_LOG_INFO, "ordering: one process goes on alone: %s", why);
  s->alone = true;
}

static helper *find_idle(shared_order *s) {
  for (int k = 0; k < s->cores; k++)
    if (s->helpers[k].part == NULL) return &s->helpers[k];
  return NULL;
}

/* Starts a helper with the part, which then is its own; where that fails the part waits again. */
static void start(shared_order *s, helper *h, tsi_order_part *p) {
  tristar_status status = share(s, p, &h->child);
  if (status == TRISTAR_OK) status = tsi_child_start(s->env, s->program, &h->child);
  if (status == TRISTAR_OK) {
    h->part = p;
    return;
  }
  tsi_child_finish(&h->child);
  give_up_helpers(s, tsi_error_text(s->env));
  p->next = s->waiting;
  s->waiting = p;
}

/* What a helper that has ended leaves. */
static tristar_status finish(shared_order *s, helper *h) {
  TSI_OWNED tsi_order_part *p = h->part;
  request *r = h->child.memory;
  tristar_status status;
  h->part = NULL;
  if (r->done) {
    const arrays a = arrays_of(r);
    status = take(s, p, &a);
  } else {
    give_up_helpers(s, "a helper ended early");
    status = work_here(s, p);
  }
  tsi_child_finish(&h->child);
  return status;
}

/* Takes what helpers have done; *running: how many go on. */
static tristar_status collect(shared_order *s, int *running) {
  *running = 0;
  for (int k = 0; k < s->cores; k++) {
    helper *h = &s->helpers[k];
    if (h->part == NULL) continue;
    if (!tsi_child_has_ended(&h->child))
      ++*running;
    else
      TSI_TRY(finish(s, h));
  }
  return TRISTAR_OK;
}

static tristar_status work(shared_order *s) {
  static const struct timespec pause = {0, 500000};
  for (int running = 0; s->waiting != NULL || running > 0;) {
    helper *idle = s->alone ? NULL : find_idle(s);
    if (s->waiting != NULL && idle != NULL)
      start(s, idle, take_largest(s));
    else if (s->waiting != NULL && s->alone) {
      TSI_OWNED tsi_order_part *p = take_largest(s);
      TSI_TRY(work_here(s, p));
    } else
      nanosleep(&pause, NULL);
    TSI_TRY(collect(s, &running));
  }
  return TRISTAR_OK;
}

static void release(shared_order *s) {
  for (int k = 0; k < s->cores; k++) {
    tsi_child_finish(&s->helpers[k].child);
    TSI_FREE(s->env, s->helpers[k].part);
  }
  tsi_separators_release(s->env, &s->waiting);
}

static tristar_status order(tsi_env *env, const tsi_component *c, const idx_t *weight, idx_t leaf, int seed,
                            int cores) {
  TSI_SCRATCH_ZERO(env, shared_order, s, 1);
  s->env = env;
  s->order = c->perm;
  s->seed = seed;
  s->cores = cores < HELPERS_MOST ? cores : HELPERS_MOST;
  s->all = c->n;
  s->piece = c->xadj[c->n] / PIECE_SHARE > PIECE_EDGES ? c->xadj[c->n] / PIECE_SHARE : PIECE_EDGES;
  s->alone =
      cores < 2 || c->xadj[c->n] < SHARED_EDGES || !tsi_child_find(PROGRAM, s->program, sizeof s->program);
  TSI_TRY(tsi_order_part_of_component(env, c, weight, &s->waiting));
  s->waiting->leaf = leaf;
  const tristar_status status = work(s);
  release(s);
  return status;
}

tristar_status tsi_shared_order(tsi_env *env, const tsi_component *c, int seed, int cores) {
  TSI_OWNED tsi_merged *merged = NULL;
  TSI_TRY(tsi_merged_create(env, c, &merged));
  if (merged == NULL) return order(env, c, NULL, LEAF_VERTICES, seed, cores);
  TSI_TRY(order(env, &merged->groups, merged->weight, LEAF_MERGED, seed, cores));
  tsi_merged_expand(merged, c->perm);
  return TRISTAR_OK;
}
