/* See shared_order.h. */
#include "partition/order/shared_order.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "partition/order/merged.h"
#include "partition/order/metis_call.h"
#include "partition/order/minimum_degree.h"
#include "partition/order/scotch_call.h"
#include "partition/order/separators.h"
#include "runtime/base/child.h"

/* With fewer edges, each counted twice, starting helpers costs more than they save. */
#define SHARED_EDGES 100000
/* Parts with fewer edges are ordered as a whole: the larger of a number and a share of the component. */
#define PIECE_EDGES 60000
#define PIECE_SHARE 64
#define HELPERS_MOST 64
/* Vertices of the largest part that is not separated. A merged vertex has several rows. */
#define LEAF_VERTICES 600
#define LEAF_MERGED 250
#define PROGRAM "order_part"

/* ---- Shared memory ------------------------------------------------------------------------------------- */

/* The job of a helper. */
typedef enum job { JOB_ORDER_PART, JOB_SEPARATE, JOB_COMPONENT } job;

/* The head of the shared memory. n + 1, edges, weighted * n, n and 2 * leaf_parts - 1 integers follow: the
 * arrays of a part except vertex, or of a component, and the sizes of nodes. */
typedef struct request {
  uint32_t version; /* VERSION of both programs */
  int32_t parent;   /* process id */
  int32_t job, kind, seed, weighted, leaf_parts;
  int32_t done; /* 1: the helper has written the result */
  int64_t n, halo, edges, leaf;
  tsi_fill fill; /* From AMD. */
} request;

#define VERSION (0x74733100u + IDXTYPEWIDTH)

typedef struct arrays {
  idx_t *xadj, *adj, *weight, *result, *sizes;
} arrays;

static int64_t nodes_of(const request *r) {
  return 2 * (int64_t)r->leaf_parts - 1;
}

static size_t bytes_of(const request *r) {
  const int64_t integers = r->n + 1 + r->edges + (r->weighted ? r->n : 0) + r->n + nodes_of(r);
  return sizeof *r + (size_t)integers * sizeof(idx_t);
}

static arrays arrays_of(request *r) {
  arrays a;
  a.xadj = (idx_t *)(void *)(r + 1);
  a.adj = a.xadj + r->n + 1;
  a.weight = a.adj + r->edges;
  a.result = a.weight + (r->weighted ? r->n : 0);
  a.sizes = a.result + r->n;
  return a;
}

/* Prepares the memory that a helper shares, with the graph in it. */
static tristar_status share(tsi_env *env, request head, const idx_t *xadj, const idx_t *adj,
                            const idx_t *weight, tsi_child *child) {
  head.version = VERSION;
  head.parent = (int32_t)getpid();
  head.weighted = weight != NULL;
  head.edges = xadj[head.n];
  TSI_TRY(tsi_child_prepare(env, bytes_of(&head), child));
  request *r = child->memory;
  *r = head;
  const arrays a = arrays_of(r);
  memcpy(a.xadj, xadj, ((size_t)r->n + 1) * sizeof *a.xadj);
  memcpy(a.adj, adj, (size_t)r->edges * sizeof *a.adj);
  if (weight != NULL) memcpy(a.weight, weight, (size_t)r->n * sizeof *a.weight);
  return TRISTAR_OK;
}

/* ---- Whole components ---------------------------------------------------------------------------------- */

static tristar_status run_method(tsi_env *env, const tsi_component *c, const tsi_method *method) {
  if (method->kind == TSI_ORDER_AMD) return tsi_approximate_minimum_degree(env, c, method->fill);
  if (method->kind == TSI_ORDER_SCOTCH)
    return tsi_scotch_order(env, c->n, c->xadj, c->adj, IDXTYPEWIDTH, method->seed, c->perm);
  return tsi_metis_order(env, c, method->leaf_parts, method->seed, method->sizes);
}

/* Takes the result of a helper that has ended; returns false if there is none. */
static bool take_component(const tsi_component *c, const tsi_method *method, request *r) {
  const arrays a = arrays_of(r);
  if (!r->done) return false;
  memcpy(c->perm, a.result, (size_t)c->n * sizeof *c->perm);
  if (method->sizes != NULL) memcpy(method->sizes, a.sizes, (size_t)nodes_of(r) * sizeof *a.sizes);
  method->fill->entries += r->fill.entries;
  method->fill->flops += r->fill.flops;
  return true;
}

/* Lets a helper order, and kills it if the caller cancels. *done: it could be started, and did not fail. */
static tristar_status order_apart(tsi_env *env, const tsi_component *c, const tsi_method *method,
                                  const char *program, tsi_watch *watch, bool *done) {
  static const struct timespec pause = {0, 1000000};
  const request head = {.job = JOB_COMPONENT,
                        .kind = (int32_t)method->kind,
                        .seed = method->seed,
                        .leaf_parts = method->leaf_parts,
                        .n = c->n};
  tsi_child child = {.memory = NULL};
  tristar_status status = share(env, head, c->xadj, c->adj, NULL, &child);
  if (status == TRISTAR_OK) status = tsi_child_start(env, program, &child);
  const bool started = status == TRISTAR_OK;
  while (status == TRISTAR_OK && !tsi_child_has_ended(&child)) {
    nanosleep(&pause, NULL);
    status = tsi_watch_look(env, watch, "ordering");
  }
  if (status == TRISTAR_OK) *done = take_component(c, method, child.memory);
  if (!*done && status != TRISTAR_ERR_CANCELLED)
    tsi_log(env, TRISTAR_LOG_INFO, "ordering: cannot be cancelled: %s",
            status == TRISTAR_OK ? "a helper ended early" : tsi_error_text(env));
  tsi_child_finish(&child);
  return started ? status : TRISTAR_OK;
}

tristar_status tsi_component_order(tsi_env *env, const tsi_component *c, const tsi_method *method,
                                   tsi_watch *watch) {
  char program[PATH_MAX];
  bool done = false;
  if (watch != NULL && c->xadj[c->n] >= SHARED_EDGES && tsi_child_find(PROGRAM, program, sizeof program))
    TSI_TRY(order_apart(env, c, method, program, watch, &done));
  return done ? TRISTAR_OK : run_method(env, c, method);
}

/* ---- In a helper --------------------------------------------------------------------------------------- */

static tristar_status serve_component(tsi_env *env, request *r) {
  const arrays a = arrays_of(r);
  const tsi_component c = {.n = (idx_t)r->n, .xadj = a.xadj, .adj = a.adj, .perm = a.result};
  TSI_TRY(run_method(env, &c,
                     &(tsi_method){.kind = (tsi_ordering_kind)r->kind,
                                   .leaf_parts = r->leaf_parts,
                                   .seed = r->seed,
                                   .sizes = a.sizes,
                                   .fill = &r->fill}));
  r->done = 1;
  return TRISTAR_OK;
}

static tristar_status serve_part(tsi_env *env, request *r) {
  const arrays a = arrays_of(r);
  TSI_OWNED tsi_order_part *p = NULL;
  TSI_TRY(tsi_order_part_create(env, (idx_t)r->n, (idx_t)r->edges, r->weighted != 0, &p));
  p->halo = (idx_t)r->halo;
  p->leaf = (idx_t)r->leaf;
  memcpy(p->xadj, a.xadj, ((size_t)r->n + 1) * sizeof *a.xadj);
  memcpy(p->adj, a.adj, (size_t)r->edges * sizeof *a.adj);
  if (r->weighted) memcpy(p->weight, a.weight, (size_t)r->n * sizeof *a.weight);
  for (idx_t v = 0; v < p->n; v++) p->vertex[v] = v;
  if (r->job == JOB_SEPARATE) {
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
  if (bytes < sizeof *r || r->version != VERSION || r->n < 0 || r->edges < 0 || r->leaf_parts < 1 ||
      bytes_of(r) != bytes)
    return 2;
  if (tsi_child_is_orphan(r->parent)) return 2;
  tsi_env_init(&env);
  return (r->job == JOB_COMPONENT ? serve_component : serve_part)(&env, r) == TRISTAR_OK ? 0 : 1;
}

/* ---- In the program ------------------------------------------------------------------------------------ */

typedef struct helper {
  tsi_order_part *part; /* NULL: idle */
  tsi_child child;
} helper;

typedef struct shared_order {
  tsi_env *env;
  idx_t *order;
  tsi_watch *watch; /* NULL: none */
  int seed, cores;
  idx_t all, placed;       /* vertices */
  idx_t piece;             /* Edges of the largest part that is ordered as a whole. */
  bool alone;              /* No more helpers are started. */
  char program[PATH_MAX];  /* The program of the helpers. */
  tsi_order_part *waiting; /* Parts; each is owned. */
  helper helpers[HELPERS_MOST];
} shared_order;

static bool separates(const shared_order *s, const tsi_order_part *p) {
  return p->xadj[p->n] > s->piece && p->n > p->leaf;
}

/* Takes the largest waiting part. */
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
  tsi_watch_note(s->watch, (double)s->placed / (double)s->all);
  tsi_log(s->env, TRISTAR_LOG_PROGRESS, "ordering %d%%", (int)(100.0 * (double)s->placed / (double)s->all));
}

/* Divides a part whose result is its sides: two parts wait instead, unless one side is empty. */
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

/* Does the work of a helper in this process. */
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

static void give_up_helpers(shared_order *s, const char *why) {
  if (!s->alone) tsi_log(s->env, TRISTAR_LOG_INFO, "ordering: one process goes on alone: %s", why);
  s->alone = true;
}

static helper *find_idle(shared_order *s) {
  for (int k = 0; k < s->cores; k++)
    if (s->helpers[k].part == NULL) return &s->helpers[k];
  return NULL;
}

/* Starts a helper with the part, which it then owns; if that fails, the part waits again. */
static void start(shared_order *s, helper *h, tsi_order_part *p) {
  const request head = {.job = separates(s, p) ? JOB_SEPARATE : JOB_ORDER_PART,
                        .seed = s->seed,
                        .leaf_parts = 1,
                        .n = p->n,
                        .halo = p->halo,
                        .leaf = p->leaf};
  tristar_status status = share(s->env, head, p->xadj, p->adj, p->weight, &h->child);
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

/* Takes the result of a helper that has ended, or does its work here. */
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

/* Takes the results of helpers that have ended; *running: number of the others. */
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
    TSI_TRY(tsi_watch_look(s->env, s->watch, "ordering"));
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
                            int cores, tsi_watch *watch) {
  TSI_SCRATCH_ZERO(env, shared_order, s, 1);
  s->env = env;
  s->order = c->perm;
  s->watch = watch;
  s->seed = seed;
  if (watch != NULL && cores < 1) cores = 1;
  s->cores = cores < HELPERS_MOST ? cores : HELPERS_MOST;
  s->all = c->n;
  s->piece = c->xadj[c->n] / PIECE_SHARE > PIECE_EDGES ? c->xadj[c->n] / PIECE_SHARE : PIECE_EDGES;
  s->alone = (cores < 2 && watch == NULL) || c->xadj[c->n] < SHARED_EDGES ||
             !tsi_child_find(PROGRAM, s->program, sizeof s->program);
  TSI_TRY(tsi_order_part_of_component(env, c, weight, &s->waiting));
  s->waiting->leaf = leaf;
  const tristar_status status = work(s);
  release(s);
  return status;
}

tristar_status tsi_shared_order(tsi_env *env, const tsi_component *c, int seed, int cores, tsi_watch *watch) {
  TSI_OWNED tsi_merged *merged = NULL;
  TSI_TRY(tsi_merged_create(env, c, &merged));
  if (merged == NULL) return order(env, c, NULL, LEAF_VERTICES, seed, cores, watch);
  TSI_TRY(order(env, &merged->groups, merged->weight, LEAF_MERGED, seed, cores, watch));
  tsi_merged_expand(merged, c->perm);
  return TRISTAR_OK;
}
