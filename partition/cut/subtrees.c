/* Cuts the assembly tree into subtrees for processes: see subtrees.h. */
#include "partition/cut/subtrees.h"

#include <stdlib.h>

#include "runtime/base/heap.h"

/* The ancestors of the subtrees are solved with messages: they count more. */
#define ABOVE_FACTOR 1.5
/* Growth of the number of subtrees from one evaluated stage to the next. */
#define STAGE_GROWTH 1.1
/* The search ends at this number of subtrees per process. */
#define SUBTREES_PER_PROCESS 32

typedef struct cutter {
  const tsi_symbolic *symbolic;
  const tsi_index *node;
  double *weight;             /* supernodes: entries of the subtree */
  double *own;                /* supernodes: entries of the supernode itself */
  tsi_index *child, *sibling; /* First child, next sibling; TSI_NONE. */
  tsi_heap subtrees;          /* Of the current leaf: weights, roots. */
  tsi_keyed *sorted;          /* Scratch of deal(). */
  double *load;               /* processes: a heap with the lightest load first */
  tsi_index *process;
  tsi_index processes;
  double above; /* Entries of the ancestors of the subtrees. */
} cutter;

/* ---- Dealing ------------------------------------------------------------------------------------------ */

static int by_weight(const void *a, const void *b) {
  const tsi_keyed x = *(const tsi_keyed *)a, y = *(const tsi_keyed *)b;
  return tsi_comes_first(x, y) ? -1 : tsi_comes_first(y, x) ? 1 : 0;
}

static void push(cutter *cut, tsi_index root) {
  tsi_heap_push(&cut->subtrees, cut->weight[root], root);
}

/* Assigns each subtree to the process with the least load so far; label may be NULL. Returns the largest
 * load. */
static double deal(cutter *cut, tsi_index leaf, tsi_index *label) {
  double most = 0;
  memcpy(cut->sorted, cut->subtrees.entry, (size_t)cut->subtrees.count * sizeof *cut->sorted);
  qsort(cut->sorted, (size_t)cut->subtrees.count, sizeof *cut->sorted, by_weight);
  for (tsi_index r = 0; r < cut->processes; r++) {
    cut->load[r] = 0;
    cut->process[r] = r;
  }
  for (tsi_index k = 0; k < cut->subtrees.count; k++) {
    const tsi_index process = cut->process[0];
    const double load = cut->load[0] + cut->sorted[k].key;
    tsi_index at = 0;
    for (tsi_index child = 1; child < cut->processes; child = 2 * at + 1) {
      if (child + 1 < cut->processes && cut->load[child + 1] < cut->load[child]) child++;
      if (cut->load[child] >= load) break;
      cut->load[at] = cut->load[child];
      cut->process[at] = cut->process[child];
      at = child;
    }
    cut->load[at] = load;
    cut->process[at] = process;
    if (load > most) most = load;
    if (label) label[cut->sorted[k].item] = leaf * cut->processes + process;
  }
  return most;
}

/* ---- One leaf ----------------------------------------------------------------------------------------- */

static void start(cutter *cut, tsi_index leaf) {
  const tsi_symbolic *symbolic = cut->symbolic;
  cut->subtrees.count = 0;
  cut->above = 0;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (cut->node[s] == leaf && (symbolic->parent[s] == TSI_NONE || cut->node[symbolic->parent[s]] != leaf))
      push(cut, s);
}

/* Replaces the heaviest subtree by its children. */
static void split(cutter *cut) {
  const tsi_index root = tsi_heap_pop(&cut->subtrees).item;
  cut->above += cut->own[root];
  for (tsi_index s = cut->child[root]; s != TSI_NONE; s = cut->sibling[s]) push(cut, s);
}

/* The number of splits of the best stage. */
static tsi_index best_splits(cutter *cut, tsi_index leaf, double floor) {
  tsi_index best = 0, splits = 0;
  double lowest = -1, next = 0;
  for (start(cut, leaf); cut->subtrees.count > 0; split(cut), splits++) {
    if (cut->subtrees.count >= next || splits < 64) {
      const double cost = deal(cut, leaf, NULL) + ABOVE_FACTOR * cut->above / cut->processes;
      if (lowest < 0 || cost < lowest) {
        lowest = cost;
        best = splits;
      }
      next = STAGE_GROWTH * cut->subtrees.count;
    }
    if (cut->subtrees.entry[0].key <= floor || cut->subtrees.count > SUBTREES_PER_PROCESS * cut->processes)
      break;
  }
  return best;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static void describe_tree(cutter *cut, const tsi_panels *panels) {
  const tsi_symbolic *symbolic = cut->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    cut->own[s] = 0;
    cut->child[s] = TSI_NONE;
    for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++)
      cut->own[s] += (double)tsi_panel_entries(panels, p);
    cut->weight[s] = cut->own[s];
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE || cut->node[parent] != cut->node[s]) continue;
    cut->weight[parent] += cut->weight[s];
    cut->sibling[s] = cut->child[parent];
    cut->child[parent] = s;
  }
}

tristar_status tsi_assign_subtrees(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                   tsi_index leaves, const tsi_index *node, tsi_index processes, double floor,
                                   tsi_index *label) {
  TSI_SCRATCH(env, cutter, cut, 1);
  *cut = (cutter){.symbolic = symbolic, .node = node, .processes = processes};
  TSI_TRY(TSI_ALLOC_IN(cut, cut->weight, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->own, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->child, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->sibling, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->subtrees.entry, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->sorted, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->load, processes));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->process, processes));
  describe_tree(cut, panels);
  for (tsi_index leaf = 0; leaf < leaves; leaf++) {
    const tsi_index splits = best_splits(cut, leaf, floor);
    start(cut, leaf);
    for (tsi_index k = 0; k < splits; k++) split(cut);
    (void)deal(cut, leaf, label);
  }
  for (tsi_index s = symbolic->count; s-- > 0;) { /* parents come later: labels are passed down */
    const tsi_index parent = symbolic->parent[s];
    if (node[s] < leaves && parent != TSI_NONE && node[parent] == node[s] && label[parent] != TSI_NONE)
      label[s] = label[parent];
  }
  return TRISTAR_OK;
}
