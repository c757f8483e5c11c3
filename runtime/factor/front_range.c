/* Factors the fronts of a range one after the other, in the same memory: see numeric.h.
 *
 * Small complements that are used inside the range are on two stacks, one for even and one for odd depths in
 * the tree. When a front is assembled, its own complement is on top of one stack, and the complements of its
 * children are on top of the other one. All complements above these have been used. */
#include "runtime/factor/numeric.h"

typedef struct space {
  void *p, *q, *work;
  tsi_index *position;
  tsi_index first, last; /* The range. */
  bool *odd;             /* last - first + 1: the stack of each front. */
  char *stack[2];
  tsi_count top[2]; /* Scalars in use. */
} space;

#define STACKED_MOST 32768 /* Largest number of scalars of a complement on a stack. */

/* Scalars on a stack for the complement of s; 0: it has separate memory. */
static tsi_count stacked_scalars(const tsi_numeric *numeric, const space *stacks, tsi_index s) {
  const tsi_index parent = numeric->analysis->symbolic->parent[s];
  if (numeric->panel || s < stacks->first || parent == TSI_NONE || parent > stacks->last) return 0;
  const tsi_count scalars = tsi_numeric_complement_size(numeric, s);
  return scalars > STACKED_MOST ? 0 : (scalars + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE;
}

static bool *is_odd(const space *stacks, tsi_index s) {
  return &stacks->odd[s - stacks->first];
}

/* Removes the children's complements from their stack after the assembly of s. */
static void pop_children(tsi_numeric *numeric, space *stacks, tsi_index s) {
  for (tsi_index k = numeric->dag->child_ptr[s]; k < numeric->dag->child_ptr[s + 1]; k++) {
    const tsi_index child = numeric->dag->child[k];
    const tsi_count scalars = stacked_scalars(numeric, stacks, child);
    if (scalars == 0) continue;
    numeric->complement[child] = NULL;
    stacks->top[*is_odd(stacks, child)] -= scalars;
  }
}

static void push_complement(tsi_numeric *numeric, space *stacks, tsi_index s) {
  const tsi_count scalars = stacked_scalars(numeric, stacks, s);
  if (scalars == 0) return;
  tsi_count *top = &stacks->top[*is_odd(stacks, s)];
  numeric->complement[s] = stacks->stack[*is_odd(stacks, s)] + (size_t)*top * numeric->kernels->scalar_bytes;
  *top += scalars;
}

static void raise_to(tsi_count *largest, tsi_count size) {
  if (size > *largest) *largest = size;
}

/* Computes the largest size of each stack, and allocates them. */
static tristar_status allocate_stacks(tsi_numeric *numeric, space *stacks) {
  const tsi_index *parent = numeric->analysis->symbolic->parent;
  tsi_count most[2] = {0, 0};
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, stacks->odd, stacks->last - stacks->first + 1));
  for (tsi_index s = stacks->last; s >= stacks->first; s--)
    *is_odd(stacks, s) = parent[s] != TSI_NONE && parent[s] <= stacks->last && !*is_odd(stacks, parent[s]);
  for (tsi_index s = stacks->first; s <= stacks->last; s++) {
    const bool odd = *is_odd(stacks, s);
    stacks->top[odd] += stacked_scalars(numeric, stacks, s);
    raise_to(&most[odd], stacks->top[odd]);
    pop_children(numeric, stacks, s);
  }
  for (int odd = 0; odd < 2; odd++)
    TSI_TRY(tsi_front_allocate(numeric, most[odd], (void **)&stacks->stack[odd]));
  return TRISTAR_OK;
}

/* Allocates memory for the largest front of supernodes first .. last. */
static tristar_status allocate_space(tsi_numeric *numeric, tsi_index first, tsi_index last, space *stacks) {
  const tsi_panels *panels = numeric->analysis->panels;
  tsi_count p = 0, q = 0, work = 0, position = 0;
  for (tsi_index s = first; s <= last; s++) {
    tsi_front front;
    if (tsi_numeric_skips(numeric, s)) continue;
    tsi_front_set_sizes(numeric, s, &front);
    raise_to(&p, (tsi_count)front.f * front.w);
    raise_to(&q, (tsi_count)front.w * front.m);
    raise_to(&work, tsi_pack_work(tsi_index_min(front.w, panels->width_max)));
    raise_to(&position, tsi_front_children_rows(numeric, s));
  }
  *stacks = (space){.first = first, .last = last};
  if (numeric->panel == NULL) TSI_TRY(allocate_stacks(numeric, stacks));
  TSI_TRY(tsi_front_allocate(numeric, p, &stacks->p));
  if (numeric->pivots) TSI_TRY(tsi_front_allocate(numeric, q, &stacks->q));
  TSI_TRY(tsi_front_allocate(numeric, work, &stacks->work));
  return TSI_ALLOC(numeric->env, stacks->position, position);
}

static void free_space(tsi_numeric *numeric, space *stacks) {
  for (tsi_index s = stacks->first; tsi_numeric_failed(numeric) && stacks->odd && s <= stacks->last; s++)
    if (stacked_scalars(numeric, stacks, s) > 0) numeric->complement[s] = NULL;
  TSI_FREE(numeric->env, stacks->p);
  TSI_FREE(numeric->env, stacks->q);
  TSI_FREE(numeric->env, stacks->work);
  TSI_FREE(numeric->env, stacks->position);
  TSI_FREE(numeric->env, stacks->odd);
  TSI_FREE(numeric->env, stacks->stack[0]);
  TSI_FREE(numeric->env, stacks->stack[1]);
}

static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

static tristar_status whole(tsi_numeric *numeric, tsi_index s, space *stacks) {
  const tsi_panels *panels = numeric->analysis->panels;
  tsi_open_front open = {.front = {.p = stacks->p, .q = stacks->q}, .s = s, .position = stacks->position};
  tsi_front_set_sizes(numeric, s, &open.front);
  push_complement(numeric, stacks, s);
  TSI_TRY(tsi_front_need_complement(numeric, &open));
  tsi_front_place_children(numeric, s, open.position);
  tsi_front_assemble(numeric, &open, 0, open.front.f);
  pop_children(numeric, stacks, s);
  tsi_front_free_children(numeric, s);
  if (numeric->dry) return TRISTAR_OK;
  const bool schur = tsi_analysis_is_schur(numeric->analysis, s);
  if (schur && !tsi_numeric_failed(numeric)) TSI_TRY(tsi_front_keep_schur(numeric, &open.front));
  if (!schur && tsi_front_takes_small(numeric, &open.front, s))
    return tsi_numeric_failed(numeric) ? TRISTAR_OK : tsi_front_small(numeric, &open.front, s);
  tsi_front_factor(numeric, &open.front, s);
  for (tsi_index p = panels->first[s]; p < panels->first[s + 1] && !tsi_numeric_failed(numeric); p++)
    TSI_TRY(tsi_front_pack_in(numeric, &open.front, p, stacks->work));
  return TRISTAR_OK;
}

void tsi_fronts_whole(tsi_numeric *numeric, tsi_index first, tsi_index last) {
  tristar_status status = TRISTAR_OK;
  space stacks = {.odd = NULL};
  if (tsi_numeric_failed(numeric)) return;
  TSI_TRY_OUT(allocate_space(numeric, first, last, &stacks));
  for (tsi_index s = first; s <= last && !tsi_numeric_failed(numeric); s++)
    if (!tsi_numeric_skips(numeric, s)) {
      TSI_TRY_OUT(tsi_numeric_look(numeric));
      TSI_TRY_OUT(whole(numeric, s, &stacks));
    }
  tsi_numeric_report(numeric, last - first + 1);
out:
  fail(numeric, status);
  free_space(numeric, &stacks);
}
