/* Shares fronts out: see front_owners.h.
 *
 * A job is a subtree that is whole on a process, or a front above them. It goes by the supernode at its root.
 */
#include "dag/front_owners.h"

#include <math.h>
#include <stdlib.h>

typedef struct job {
  double urgency; /* flops from its begin to the end of the root */
  tsi_index root;
} job;

typedef struct chooser {
  const tsi_layout *layout;
  const tsi_symbolic *symbolic;
  const tsi_index *chunk;
  tsi_index *owner;
  double *flops;              /* supernodes: of the job that ends there, when all below are added */
  double *urgency;            /* supernodes that are roots of jobs */
  double *end;                /* the same: when it is factored */
  tsi_index *child, *sibling; /* jobs below a front: the first one, the next one; TSI_NONE */
  double *done;               /* processes: when they are through with what they have */
  double *load;               /* processes: flops of whole subtrees, and of the fronts that they got */
  double share;               /* of each process, if all had as much */
  job *job;
  tsi_index jobs;
} chooser;

static bool is_whole(const chooser *c, tsi_index s) {
  return c->layout->whole[c->chunk[c->symbolic->start[s]]];
}

/* The rows of a whole chunk are in whole chunks of the same process, or in spread ones. */
static bool is_root(const chooser *c, tsi_index s) {
  const tsi_index parent = c->symbolic->parent[s];
  return parent == TSI_NONE || !is_whole(c, parent) || !is_whole(c, s);
}

/* Jobs, and which are whose children. */
static void list_jobs(chooser *c, tristar_method method) {
  const tsi_symbolic *symbolic = c->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    c->flops[s] = tsi_front_flops(symbolic, method, s);
    c->child[s] = TSI_NONE;
    c->owner[s] = TSI_NONE;
    if (is_whole(c, s)) {
      const tsi_index k = c->chunk[symbolic->start[s]];
      c->owner[s] = tsi_layout_anchor(c->layout, k, tsi_layout_home(c->layout, c->layout->node[k]));
    }
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE) continue;
    if (!is_root(c, s)) {
      c->flops[parent] += c->flops[s];
    } else {
      c->sibling[s] = c->child[parent];
      c->child[parent] = s;
    }
  }
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const tsi_index parent = symbolic->parent[s];
    if (!is_root(c, s)) continue;
    if (c->owner[s] != TSI_NONE) c->load[c->owner[s]] += c->flops[s];
    c->share += c->flops[s] / tsi_layout_ranks(c->layout);
    c->urgency[s] = c->flops[s] + (parent == TSI_NONE ? 0 : c->urgency[parent]);
    c->job[c->jobs++] = (job){c->urgency[s], s};
  }
}

/* A job below another one comes first: it has more to the root, or as much, and a lower number. */
static int compare_jobs(const void *a, const void *b) {
  const job *x = a, *y = b;
  if (x->urgency != y->urgency) return x->urgency > y->urgency ? -1 : 1;
  return (x->root > y->root) - (x->root < y->root);
}

/* When the children of a front are factored. */
static double ready(const chooser *c, tsi_index s) {
  double last = 0;
  for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k]) last = fmax(last, c->end[k]);
  return last;
}

/* Who has the child that leaves most to the front; TSI_NONE: it has no children. */
static tsi_index owner_below(const chooser *c, tsi_index s) {
  const tsi_count *row_ptr = c->symbolic->row_ptr;
  tsi_index largest = c->child[s];
  for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k])
    if (row_ptr[k + 1] - row_ptr[k] > row_ptr[largest + 1] - row_ptr[largest]) largest = k;
  return largest == TSI_NONE ? TSI_NONE : c->owner[largest];
}

/* Of those that have the node of s, a process that is through with its front first. */
static tsi_index choose(const chooser *c, tsi_index s) {
  const tsi_layout *layout = c->layout;
  const tsi_index node = layout->node[c->chunk[c->symbolic->start[s]]], grid = layout->px * layout->py;
  const tsi_index first = grid * tsi_layout_home(layout, node);
  const tsi_index end = first + (grid << tsi_separator_level(layout->pz, node));
  const tsi_index below = owner_below(c, s);
  const double begin = ready(c, s);
  tsi_index best = first;
  for (tsi_index r = first + 1; r < end; r++) {
    const double sooner = fmax(c->done[best], begin) - fmax(c->done[r], begin);
    if (sooner > 0 || (sooner == 0 && c->load[r] < c->load[best])) best = r;
  }
  const bool stays = below >= first && below < end &&
                     fmax(c->done[below], begin) <= fmax(c->done[best], begin) &&
                     c->load[below] + c->flops[s] <= c->share;
  return stays ? below : best;
}

/* Gives when the last job has ended. */
static double schedule(chooser *c) {
  double path = 0;
  qsort(c->job, (size_t)c->jobs, sizeof *c->job, compare_jobs);
  for (tsi_index j = 0; j < c->jobs; j++) {
    const tsi_index s = c->job[j].root;
    if (c->owner[s] == TSI_NONE) {
      c->owner[s] = choose(c, s);
      c->load[c->owner[s]] += c->flops[s];
    }
    c->end[s] = c->done[c->owner[s]] = fmax(c->done[c->owner[s]], ready(c, s)) + c->flops[s];
    path = fmax(path, c->end[s]);
  }
  return path;
}

tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout, const tsi_symbolic *symbolic,
                                       tristar_method method, const tsi_index *chunk, tsi_index *owner,
                                       double *path) {
  tristar_status status = TRISTAR_OK;
  chooser c = {.layout = layout, .symbolic = symbolic, .chunk = chunk, .owner = owner};
  TSI_TRY(TSI_ALLOC(env, c.flops, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, c.urgency, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, c.end, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, c.child, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, c.sibling, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, c.job, symbolic->count));
  TSI_TRY(TSI_ALLOC_ZERO(env, c.done, tsi_layout_ranks(layout)));
  TSI_TRY(TSI_ALLOC_ZERO(env, c.load, tsi_layout_ranks(layout)));
  list_jobs(&c, method);
  const double last = schedule(&c);
  if (path != NULL) *path = last;
out:
  TSI_FREE(env, c.flops);
  TSI_FREE(env, c.urgency);
  TSI_FREE(env, c.end);
  TSI_FREE(env, c.child);
  TSI_FREE(env, c.sibling);
  TSI_FREE(env, c.job);
  TSI_FREE(env, c.done);
  TSI_FREE(env, c.load);
  return status;
}
