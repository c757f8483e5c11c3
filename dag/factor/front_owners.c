/* Distributes fronts: see front_owners.h.
 *
 * A job is a subtree that is whole on a process, or a front above such subtrees. Its number is the supernode
 * at its root. */
#include "dag/factor/front_owners.h"

#include <math.h>
#include <stdlib.h>

typedef struct job {
  double urgency; /* Flops from the start of the job to the end of the root. */
  tsi_index root;
} job;

typedef struct chooser {
  const tsi_layout *layout;
  const tsi_front_structure *fronts;
  const tsi_symbolic *symbolic;
  tsi_index *owner;
  double *flops;   /* supernodes: flops of the job with this root, after the flops below it are added */
  double *urgency; /* supernodes that are roots of jobs */
  double *subtree; /* supernodes that are roots of jobs: flops of the job and of the jobs below it */
  double *end;     /* the same: the end of its factorization */
  tsi_index *child, *sibling; /* Jobs below a front: the first one, the next one; TSI_NONE: none. */
  bool *tiled;                /* supernodes */
  tsi_index *begin, *finish;  /* supernodes: processes begin .. finish - 1 have it */
  tsi_index *low, *high;      /* roots of jobs: lowest, highest process with fronts in the subtree */
  bool shared;                /* Some front is shared. */
  double *done;               /* processes: the end of their present jobs */
  double *load;               /* processes: flops of whole subtrees, and of assigned fronts */
  double share;               /* The load of each process, if all had the same. */
  job *job;
  tsi_index jobs;
} chooser;

/* The chunk with the first column of s. */
static tsi_index chunk_of(const chooser *c, tsi_index s) {
  return tsi_chunk_of(c->layout->chunks, c->symbolic->start[s]);
}

static bool is_whole(const chooser *c, tsi_index s) {
  return c->layout->whole[chunk_of(c, s)];
}

/* Is s the root of a job? The rows of a whole chunk are in whole chunks of the same process, or in spread
 * chunks. */
static bool is_root(const chooser *c, tsi_index s) {
  const tsi_index parent = c->symbolic->parent[s];
  return parent == TSI_NONE || !is_whole(c, parent) || !is_whole(c, s);
}

/* Lists the jobs and their children. */
static void list_jobs(chooser *c) {
  const tsi_symbolic *symbolic = c->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    c->flops[s] = tsi_front_flops(symbolic, c->fronts->method, s);
    c->child[s] = TSI_NONE;
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (!is_root(c, s)) {
      c->flops[parent] += c->flops[s];
      continue;
    }
    c->subtree[s] = c->flops[s];
    for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k]) c->subtree[s] += c->subtree[k];
    if (parent != TSI_NONE) {
      c->sibling[s] = c->child[parent];
      c->child[parent] = s;
    }
  }
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const tsi_index parent = symbolic->parent[s];
    if (!is_root(c, s)) continue;
    c->share += c->flops[s] / tsi_layout_ranks(c->layout);
    c->urgency[s] = c->flops[s] + (parent == TSI_NONE ? 0 : c->urgency[parent]);
    c->job[c->jobs++] = (job){c->urgency[s], s};
  }
}

/* A job is before the jobs above it: its path to the root has more flops, or as many, and its number is
 * lower. */
static int compare_jobs(const void *a, const void *b) {
  const job *x = a, *y = b;
  if (x->urgency != y->urgency) return x->urgency > y->urgency ? -1 : 1;
  return (x->root > y->root) - (x->root < y->root);
}

/* The time at which all children of a front are factored. */
static double ready(const chooser *c, tsi_index s) {
  double last = 0;
  for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k]) last = fmax(last, c->end[k]);
  return last;
}

/* The owner of the child with the largest complement; TSI_NONE: the front has no children. */
static tsi_index owner_below(const chooser *c, tsi_index s) {
  const tsi_count *row_ptr = c->symbolic->row_ptr;
  tsi_index largest = c->child[s];
  for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k])
    if (row_ptr[k + 1] - row_ptr[k] > row_ptr[largest + 1] - row_ptr[largest]) largest = k;
  return largest == TSI_NONE ? TSI_NONE : c->owner[largest];
}

/* The processes first .. end - 1 have the node of s. */
static tsi_index node_of(const chooser *c, tsi_index s, tsi_index *end) {
  const tsi_layout *layout = c->layout;
  const tsi_index node = layout->node[chunk_of(c, s)], grid = layout->px * layout->py;
  const tsi_index first = grid * tsi_layout_home(layout, node);
  *end = first + (grid << tsi_separator_level(layout->pz, node));
  return first;
}

/* Chooses one of these processes that completes its front first. */
static tsi_index choose(const chooser *c, tsi_index s) {
  tsi_index end;
  const tsi_index first = node_of(c, s, &end), below = owner_below(c, s);
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

/* ---- Teams -------------------------------------------------------------------------------------------- */

/* Finds the range of processes with fronts below s, or, once s has an owner, in the subtree of s. */
static void find_hull(chooser *c, tsi_index s) {
  c->low[s] = c->high[s] = c->owner[s];
  for (tsi_index k = c->child[s]; k != TSI_NONE; k = c->sibling[k]) {
    if (c->low[s] == TSI_NONE || c->low[k] < c->low[s]) c->low[s] = c->low[k];
    c->high[s] = tsi_index_max(c->high[s], c->high[k]);
  }
}

/* Time of a member of a team for its part of a front, in flops. */
static double part_flops(const chooser *c, tsi_index s, tsi_index size) {
  const tsi_symbolic *symbolic = c->symbolic;
  const double w = symbolic->start[s + 1] - symbolic->start[s],
               f = w + (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  const double scalars = (c->fronts->method == TRISTAR_METHOD_LLT ? 1 : 2) * w * f;
  return c->flops[s] / size + c->fronts->options->scalar_flops * scalars;
}

static double last_done(const chooser *c, tsi_index begin, tsi_index end) {
  double last = 0;
  for (tsi_index r = begin; r < end; r++) last = fmax(last, c->done[r]);
  return last;
}

/* Chooses a team for a front of a process, if it is faster. */
static void choose_team(const chooser *c, tsi_index s) {
  tsi_index last, begin = 0;
  const tsi_index first = node_of(c, s, &last), owner = c->owner[s];
  const tsi_front_tiles t = tsi_front_tiles_of(c->symbolic, c->fronts->panels, c->fronts->options->tile, s);
  const bool any = c->low[s] == TSI_NONE; /* No process has a front below it. */
  const tsi_index from = any ? first : tsi_index_max(first, tsi_index_min(c->low[s], owner)),
                  to = any ? last : tsi_index_min(last, tsi_index_max(c->high[s], owner) + 1);
  const double part = floor(c->subtree[s] / c->share + 0.5);
  tsi_index size = tsi_index_min(to - from, t.count); /* Each member has a tile. */
  if (part < size) size = (tsi_index)part;
  if (!c->tiled[s] || size < 2) return;
  double best = INFINITY;
  for (tsi_index b = tsi_index_max(from, owner - size + 1); b <= tsi_index_min(owner, to - size); b++) {
    const double done = last_done(c, b, b + size);
    if (done < best) begin = b;
    best = fmin(best, done);
  }
  const double alone = fmax(c->done[owner], ready(c, s)) + c->flops[s];
  if (fmax(best, ready(c, s)) + part_flops(c, s, size) >= alone) return;
  c->begin[s] = begin;
  c->finish[s] = begin + size;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

/* Schedules front s on its owner or its team. */
static void place(chooser *c, tsi_index s) {
  const tsi_index begin = c->begin[s], end = c->finish[s];
  const bool team = end - begin > 1;
  c->end[s] =
      fmax(last_done(c, begin, end), ready(c, s)) + (team ? part_flops(c, s, end - begin) : c->flops[s]);
  for (tsi_index r = begin; r < end; r++) c->done[r] = c->end[s];
  c->low[s] = c->low[s] == TSI_NONE ? begin : tsi_index_min(c->low[s], begin);
  c->high[s] = tsi_index_max(c->high[s], end - 1);
  c->shared = c->shared || team;
}

/* Resets the schedule. Whole subtrees have their owners. */
static void begin_schedule(chooser *c) {
  for (tsi_index r = 0; r < tsi_layout_ranks(c->layout); r++) c->done[r] = c->load[r] = 0;
  for (tsi_index s = 0; s < c->symbolic->count; s++) {
    const tsi_index k = chunk_of(c, s);
    c->owner[s] = is_whole(c, s)
                      ? tsi_layout_anchor(c->layout, k, tsi_layout_home(c->layout, c->layout->node[k]))
                      : TSI_NONE;
    c->begin[s] = c->owner[s];
    c->finish[s] = c->owner[s] + 1;
    if (is_whole(c, s) && is_root(c, s)) c->load[c->owner[s]] += c->flops[s];
  }
}

/* Returns the end of the last job. */
static double schedule(chooser *c, bool sharing) {
  double path = 0;
  begin_schedule(c);
  c->shared = false;
  for (tsi_index j = 0; j < c->jobs; j++) {
    const tsi_index s = c->job[j].root;
    find_hull(c, s);
    if (c->owner[s] == TSI_NONE) {
      c->owner[s] = c->begin[s] = choose(c, s);
      c->finish[s] = c->owner[s] + 1;
      if (sharing) choose_team(c, s);
      for (tsi_index r = c->begin[s]; r < c->finish[s]; r++)
        c->load[r] += c->flops[s] / (c->finish[s] - c->begin[s]);
    }
    place(c, s);
    path = fmax(path, c->end[s]);
  }
  return path;
}

/* Uses teams if they take no longer: they save memory. */
static double choose_best(chooser *c) {
  qsort(c->job, (size_t)c->jobs, sizeof *c->job, compare_jobs);
  const double without = schedule(c, false), with = schedule(c, true);
  return with <= without ? with : schedule(c, false);
}

tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout,
                                       const tsi_front_structure *fronts, tsi_index *owner,
                                       tsi_front_teams **teams, double *path) {
  const tsi_symbolic *symbolic = fronts->symbolic;
  *teams = NULL;
  TSI_SCRATCH(env, chooser, c, 1);
  *c = (chooser){.layout = layout, .fronts = fronts, .symbolic = symbolic, .owner = owner};
  TSI_TRY(TSI_ALLOC_IN(c, c->flops, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->urgency, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->subtree, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->end, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->child, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->sibling, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->tiled, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->begin, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->finish, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->low, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->high, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(c, c->job, symbolic->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->done, tsi_layout_ranks(layout)));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->load, tsi_layout_ranks(layout)));
  TSI_TRY(tsi_factorization_find_tiled(env, symbolic, fronts->method, fronts->options, c->tiled));
  list_jobs(c);
  const double last = choose_best(c);
  if (path != NULL) *path = last;
  TSI_OWNED tsi_front_teams *shared = NULL;
  if (c->shared)
    TSI_TRY(tsi_front_teams_create(env, symbolic, fronts->panels, fronts->method, fronts->options->tile,
                                   c->begin, c->finish, &shared));
  if (env->check && shared) TSI_TRY(tsi_front_teams_check(env, shared, owner));
  *teams = tsi_take(&shared);
  return TRISTAR_OK;
}
