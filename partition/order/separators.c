/* See separators.h. */
#include "partition/order/separators.h"

#include "partition/order/separator_job.h"
#include "partition/order/metis_call.h"

/* A part of a component, a place in its order, and its neighbours within the part. */
typedef struct part {
  struct part *next; /* on the list of parts that are to be done */
  idx_t n;
  idx_t at;          /* its first place in the order */
  idx_t *vertex;     /* n: their numbers in the component */
  idx_t *xadj, *adj; /* n + 1; xadj[n] */
  idx_t *result;     /* n, of a job */
} part;

/* What all parts of a dissection share. */
typedef struct dissection {
  tsi_env *env;
  const tsi_component *component;
  int seed;
  idx_t largest; /* part that METIS_NodeND orders */
  idx_t *number; /* component's n: scratch, numbers in a part that comes to be */
  part *waiting; /* parts; owned, each one apart */
  idx_t placed;  /* vertices that have their place */
} dissection;

/* More parts cost more than they help: a machine has so many cores that METIS can use at a time. */
#define PARTS_MOST 64
#define PART_VERTICES 25000 /* METIS_NodeND orders in a tenth of a second */

static void push(dissection *d, part *p) {
  p->next = d->waiting;
  d->waiting = p;
}

static part *pop(dissection *d) {
  part *p = d->waiting;
  if (p != NULL) d->waiting = p->next;
  return p;
}

static tristar_status make_part(tsi_env *env, idx_t n, idx_t edges, part **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, part, p, 1);
  p->n = n;
  TSI_TRY(TSI_ALLOC_IN(p, p->vertex, n));
  TSI_TRY(TSI_ALLOC_IN(p, p->xadj, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC_IN(p, p->adj, edges));
  TSI_TRY(TSI_ALLOC_IN(p, p->result, n));
  *out = p;
  p = NULL;
  return TRISTAR_OK;
}

/* The whole component as a part. */
static tristar_status make_root(dissection *d, part **out) {
  const tsi_component *c = d->component;
  TSI_TRY(make_part(d->env, c->n, c->xadj[c->n], out));
  for (idx_t v = 0; v < c->n; v++) (*out)->vertex[v] = v;
  memcpy((*out)->xadj, c->xadj, ((size_t)c->n + 1) * sizeof *c->xadj);
  memcpy((*out)->adj, c->adj, (size_t)c->xadj[c->n] * sizeof *c->adj);
  return TRISTAR_OK;
}

/* The vertices of one side (0 or 1) as a part, with their neighbours on this side. */
static tristar_status take_side(dissection *d, const part *p, idx_t side, idx_t at, part **out) {
  idx_t n = 0, edges = 0;
  for (idx_t v = 0; v < p->n; v++) {
    if (p->result[v] != side) continue;
    d->number[v] = n++;
    edges += p->xadj[v + 1] - p->xadj[v];
  }
  TSI_TRY(make_part(d->env, n, edges, out));
  part *q = *out;
  idx_t k = 0, to = 0;
  for (idx_t v = 0; v < p->n; v++) {
    if (p->result[v] != side) continue;
    q->vertex[k] = p->vertex[v];
    q->xadj[k++] = to;
    for (idx_t e = p->xadj[v]; e < p->xadj[v + 1]; e++)
      if (p->result[p->adj[e]] == side) q->adj[to++] = d->number[p->adj[e]];
  }
  q->xadj[k] = to;
  q->at = at;
  return TRISTAR_OK;
}

/* One call of METIS. */
static tristar_status run(dissection *d, const part *p, bool separate) {
  TSI_SCRATCH(d->env, idx_t, scratch, p->n);
  const tsi_separator_job job = {.separate = separate,
                                 .seed = d->seed,
                                 .n = p->n,
                                 .xadj = p->xadj,
                                 .adj = p->adj,
                                 .result = p->result,
                                 .scratch = scratch};
  pthread_mutex_lock(&tsi_metis_lock);
  const int code = tsi_separator_job_run(&job);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(d->env, code, (tsi_index)p->n, p->xadj[p->n]);
}

/* The separator gets its places; both sides become parts, unless one is empty. */
static tristar_status divide(dissection *d, const part *p, bool *divided) {
  idx_t count[3] = {0, 0, 0};
  for (idx_t v = 0; v < p->n; v++) count[p->result[v]]++;
  *divided = count[0] > 0 && count[1] > 0;
  if (!*divided) return TRISTAR_OK;
  idx_t at = p->at + count[0] + count[1];
  for (idx_t v = 0; v < p->n; v++)
    if (p->result[v] == 2) d->component->perm[at++] = p->vertex[v];
  d->placed += count[2];
  for (idx_t side = 0; side < 2; side++) {
    part *q;
    TSI_TRY(take_side(d, p, side, side == 0 ? p->at : p->at + count[0], &q));
    push(d, q);
  }
  return TRISTAR_OK;
}

static tristar_status treat(dissection *d, const part *p) {
  bool divided = false;
  if (p->n > d->largest) {
    TSI_TRY(run(d, p, true));
    TSI_TRY(divide(d, p, &divided));
    if (divided) return TRISTAR_OK;
  }
  TSI_TRY(run(d, p, false));
  for (idx_t k = 0; k < p->n; k++) d->component->perm[p->at + k] = p->vertex[p->result[k]];
  d->placed += p->n;
  tsi_log(d->env, TRISTAR_LOG_PROGRESS, "ordering %d%%",
          (int)(100.0 * (double)d->placed / (double)d->component->n));
  return TRISTAR_OK;
}

tristar_status tsi_order_by_separators(tsi_env *env, const tsi_component *c, int seed) {
  tristar_status status = TRISTAR_OK;
  part *p = NULL;
  dissection d = {.env = env, .component = c, .seed = seed};
  d.largest = c->n / PARTS_MOST > PART_VERTICES ? c->n / PARTS_MOST : PART_VERTICES;
  TSI_TRY_OUT(TSI_ALLOC(env, d.number, c->n));
  TSI_TRY_OUT(make_root(&d, &p));
  for (push(&d, p); (p = pop(&d)) != NULL;) {
    status = treat(&d, p);
    TSI_FREE(env, p);
    if (status != TRISTAR_OK) goto out;
  }
out:
  while ((p = pop(&d)) != NULL) TSI_FREE(env, p);
  TSI_FREE(env, d.number);
  return status;
}
